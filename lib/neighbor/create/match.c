/* NBR-5. Matches both ends of every edge. Each rank sends its neighbors its
 * view of the edges, and compares what it receives with its own lists: both
 * ends find a difference. One sparse exchange of a record for each end of an
 * edge; O(degree) memory, O(degree log degree) time. */

#include <stdlib.h>

#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"

/** An edge, as one end sends it to the other. */
typedef struct edge_record {
    uint32_t to, from;  /* for ctn_sparse_exchange */
    uint32_t is_target; /* the origin lists the other rank as target, else as
                           source */
    uint32_t label;
    uint32_t index; /* in the origin's list */
    int32_t weight;
    uint32_t node; /* of the origin */
} edge_record_t;

/* Of more differences only the number is reported. */
enum { MOST_REPORTS = 4 };

/** A matching of the lists of this rank. */
typedef struct match {
    catena_neighborhood_t *neighborhood;
    uint32_t reports; /* differences found so far */
} match_t;

/* ---- order ---- */

static int by_key(const void *a, const void *b)
{
    return ctn_compare_words(a, b, sizeof(ctn_edge_key_t) / sizeof(uint32_t));
}

void ctn_edge_keys_sort(ctn_vector_t *keys)
{
    ctn_vector_sort(keys, sizeof(ctn_edge_key_t), by_key);
}

/** Adds the keys of a list in order, without edges to CATENA_PROC_NULL. */
static void add_keys(const ctn_edge_t *edge, uint32_t edges, ctn_vector_t *keys,
                     catena_status_t *status)
{
    for (uint32_t i = 0; i < edges; i++) {
        if (edge[i].rank != CATENA_PROC_NULL) {
            ctn_vector_put(
                keys,
                &(ctn_edge_key_t){(uint32_t)edge[i].rank, edge[i].label, i},
                sizeof(ctn_edge_key_t), status);
        }
    }
    ctn_edge_keys_sort(keys);
}

/* ---- reports ---- */

static const char *times(uint32_t count)
{
    return count == 1 ? "time" : "times";
}

/** Reports that rank `from` lists `to` as target `named` times, and `to` lists
 * `from` as source `known` times. */
static void report(match_t *match, uint32_t from, uint32_t to, uint32_t named,
                   uint32_t known)
{
    const ctn_log_t *log = match->neighborhood->exec->log;
    if (++match->reports > MOST_REPORTS) {
        return;
    }
    if (named == known) { /* grids that differ */
        ctn_error(log,
                  "neighborhood: ranks %u and %u disagree on the "
                  "edges from the first to the second",
                  from, to);
        return;
    }
    ctn_error(log,
              "neighborhood: rank %u names rank %u as target %u %s, rank %u "
              "names rank %u as source %u %s: either list must have every edge "
              "as often as the other",
              from, to, named, times(named), to, from, known, times(known));
}

/** Reports that this rank and `peer` differ in the edges between them in one
 * direction. A rank has edges to itself in both lists; they are reported once.
 * @param is_target they are targets of this rank
 * @param mine      number of these edges in the own list
 * @param theirs    the same in the peer's list */
static void differ(match_t *match, bool is_target, uint32_t peer, uint32_t mine,
                   uint32_t theirs)
{
    uint32_t own = match->neighborhood->group->chain.place.rank;
    if (is_target) {
        report(match, own, peer, mine, theirs);
    } else if (peer != own) {
        report(match, peer, own, theirs, mine);
    }
}

/* ---- comparison ---- */

/** One of the own two lists. */
typedef struct side {
    bool is_target; /* the list of targets */
    ctn_edge_t *edge;
    const ctn_edge_key_t *key; /* [keys] in order */
    uint32_t keys;
    uint32_t next; /* index of the first key that was not compared yet */
} side_t;

/** Whether `count` edges have the same labels at both ends. */
static bool same_labels(const ctn_edge_key_t *key, const edge_record_t *record,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (key[i].label != record[i].label) {
            return false;
        }
    }
    return true;
}

/** Completes an edge from what its other end has sent. */
static void join(ctn_edge_t *edge, const edge_record_t *record)
{
    edge->peer_index = record->index;
    edge->node = record->node;
    edge->weight =
        edge->weight > record->weight ? edge->weight : record->weight;
}

/** The peer of the next key; UINT32_MAX: there is none. */
static uint32_t next_peer(const side_t *side)
{
    return side->next < side->keys ? side->key[side->next].rank : UINT32_MAX;
}

/** Compares the edges with a peer in one list with the peer's records of them.
 */
static void compare(match_t *match, side_t *side, uint32_t peer,
                    const edge_record_t *record, uint32_t theirs)
{
    const ctn_edge_key_t *key = side->key + side->next;
    uint32_t mine = 0;
    while (next_peer(side) == peer) {
        mine++;
        side->next++;
    }
    if (mine != theirs || !same_labels(key, record, mine)) {
        differ(match, side->is_target, peer, mine, theirs);
        return;
    }
    for (uint32_t k = 0; k < mine; k++) {
        join(&side->edge[key[k].index], &record[k]);
    }
}

/** Compares both lists with all records, peer by peer. A peer sends first those
 * of its targets. */
static void compare_all(match_t *match, side_t *source, side_t *target,
                        const edge_record_t *record, size_t count)
{
    const edge_record_t *end = record + count;
    for (;;) {
        uint32_t peer = record < end ? record->from : UINT32_MAX;
        uint32_t other = next_peer(source);
        peer = peer < other ? peer : other;
        other = next_peer(target);
        peer = peer < other ? peer : other;
        if (peer == UINT32_MAX) {
            return;
        }
        for (int list = 0; list < 2; list++) {
            const edge_record_t *first = record;
            while (record < end && record->from == peer &&
                   record->is_target == (list == 0)) {
                record++;
            }
            compare(match, list == 0 ? source : target, peer, first,
                    (uint32_t)(record - first));
        }
        if (record < end && record->from == peer) { /* not as peers send them */
            differ(match, false, peer, 0, (uint32_t)(end - record));
            return;
        }
    }
}

/* ---- records ---- */

/** Adds a record for each edge of a list. */
static void add_records(const side_t *side, uint32_t node,
                        ctn_vector_t *records, catena_status_t *status)
{
    for (uint32_t i = 0; i < side->keys; i++) {
        const ctn_edge_t *edge = &side->edge[side->key[i].index];
        const edge_record_t record = {.to = side->key[i].rank,
                                      .is_target = side->is_target,
                                      .label = edge->label,
                                      .index = side->key[i].index,
                                      .weight = edge->weight,
                                      .node = node};
        ctn_vector_put(records, &record, sizeof(record), status);
    }
}

catena_status_t ctn_neighbor_match(catena_neighborhood_t *neighborhood,
                                   uint32_t node)
{
    match_t match = {neighborhood, 0};
    catena_status_t status = CATENA_OK;
    ctn_vector_t keys[2] = {{0}, {0}}; /* of sources, of targets */
    ctn_vector_t records = {0};
    add_keys(neighborhood->source, neighborhood->sources, &keys[0], &status);
    add_keys(neighborhood->target, neighborhood->targets, &keys[1], &status);
    side_t source = {.is_target = false,
                     .edge = neighborhood->source,
                     .key = keys[0].item,
                     .keys = (uint32_t)keys[0].count};
    side_t target = {.is_target = true,
                     .edge = neighborhood->target,
                     .key = keys[1].item,
                     .keys = (uint32_t)keys[1].count};
    add_records(&target, node, &records, &status);
    add_records(&source, node, &records, &status);
    status = ctn_sparse_exchange(neighborhood->group, status, &records,
                                 sizeof(edge_record_t));
    if (status == CATENA_OK) {
        compare_all(&match, &source, &target, records.item, records.count);
    }
    ctn_vector_drop(&records);
    ctn_vector_drop(&keys[0]);
    ctn_vector_drop(&keys[1]);
    if (match.reports > MOST_REPORTS) {
        ctn_error(neighborhood->exec->log,
                  "neighborhood: %u more lists do not fit those of this rank",
                  match.reports - MOST_REPORTS);
    }
    return status == CATENA_OK && match.reports > 0 ? CATENA_ERR_ARG : status;
}
