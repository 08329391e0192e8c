/* NBR-5. Both ends of every edge find each other. Each rank tells its neighbors
 * how it names them, and compares what it hears with its own lists: so what
 * does not fit is seen at both ends. One delivery of a record for each edge at
 * either end; O(degree) memory, O(degree log degree) time. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/create/create.h"

/** What the rank at one end says of an edge to the one at the other. */
typedef struct said {
    uint32_t
        rank; /* for ctn_sparse_exchange: who it is for, then who it is from */
    uint32_t is_target; /* it names the other one as target, else as source */
    uint32_t label;
    uint32_t index; /* in its list */
    int32_t weight;
    uint32_t node;
} said_t;

/* More ranks that do not agree with this one are counted only. */
enum { MOST_COMPLAINTS = 4 };

typedef struct match {
    catena_neighborhood_t *neighborhood;
    uint32_t complaints;
} match_t;

/* ---- order ---- */

static int by_key(const void *a, const void *b)
{
    const ctn_edge_key_t *x = a;
    const ctn_edge_key_t *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->label != y->label) {
        return x->label < y->label ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

ctn_edge_key_t *ctn_edge_keys(const ctn_edge_t *edge, uint32_t edges,
                              uint32_t *count)
{
    ctn_edge_key_t *key = malloc(((size_t)edges + 1) * sizeof(*key));
    *count = 0;
    for (uint32_t i = 0; key != NULL && i < edges; i++) {
        if (edge[i].rank != CATENA_PROC_NULL) {
            key[(*count)++] =
                (ctn_edge_key_t){(uint32_t)edge[i].rank, edge[i].label, i};
        }
    }
    if (*count > 1) {
        qsort(key, *count, sizeof(*key), by_key);
    }
    return key;
}

/* ---- complaints ---- */

static const char *times(uint32_t count)
{
    return count == 1 ? "time" : "times";
}

/** `named` times rank `from` names `to` as target, `known` times that one
 * names it as source. */
static void complain(match_t *match, uint32_t from, uint32_t to, uint32_t named,
                     uint32_t known)
{
    const ctn_log_t *log = match->neighborhood->exec->log;
    if (++match->complaints > MOST_COMPLAINTS) {
        return;
    }
    if (named == known) { /* grids that are not the same */
        ctn_error(log,
                  "neighborhood: ranks %u and %u do not mean the same by the "
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

/** This rank and `peer` do not agree on the edges between them in one
 * direction. Edges to itself are in both of its lists: it says so once. */
static void differ(match_t *match, bool is_target, uint32_t peer, uint32_t mine,
                   uint32_t theirs)
{
    uint32_t own = match->neighborhood->group->chain.place.rank;
    if (is_target) {
        complain(match, own, peer, mine, theirs);
    } else if (peer != own) {
        complain(match, peer, own, theirs, mine);
    }
}

/* ---- comparing ---- */

/** What one of the own lists is compared with. */
typedef struct side {
    bool is_target; /* the own list is that of targets */
    ctn_edge_t *edge;
    const ctn_edge_key_t *key; /* in order */
    uint32_t keys;
    const said_t *said; /* by those at the other ends, in order */
    uint32_t count;
} side_t;

static bool same_labels(const ctn_edge_key_t *key, const said_t *said,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (key[i].label != said[i].label) {
            return false;
        }
    }
    return true;
}

static void join(ctn_edge_t *edge, const said_t *said)
{
    edge->peer_index = said->index;
    edge->node = said->node;
    edge->weight = edge->weight > said->weight ? edge->weight : said->weight;
}

static void compare(match_t *match, const side_t *side)
{
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < side->keys || j < side->count) {
        uint32_t peer =
            j == side->count ||
                    (i < side->keys && side->key[i].rank < side->said[j].rank)
                ? side->key[i].rank
                : side->said[j].rank;
        uint32_t mine = 0;
        uint32_t theirs = 0;
        while (i + mine < side->keys && side->key[i + mine].rank == peer) {
            mine++;
        }
        while (j + theirs < side->count &&
               side->said[j + theirs].rank == peer) {
            theirs++;
        }
        if (mine != theirs ||
            !same_labels(side->key + i, side->said + j, mine)) {
            differ(match, side->is_target, peer, mine, theirs);
        } else {
            for (uint32_t k = 0; k < mine; k++) {
                join(&side->edge[side->key[i + k].index], &side->said[j + k]);
            }
        }
        i += mine;
        j += theirs;
    }
}

/** What is said of targets comes first, both in the order it came. */
static uint32_t part(said_t *said, uint32_t count, said_t *room)
{
    uint32_t of_targets = 0;
    uint32_t rest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (said[i].is_target) {
            said[of_targets++] = said[i];
        } else {
            room[rest++] = said[i];
        }
    }
    memcpy(said + of_targets, room, rest * sizeof(*said));
    return of_targets;
}

/* ---- saying ---- */

static void say(const side_t *side, uint32_t node, said_t *said)
{
    for (uint32_t i = 0; i < side->keys; i++) {
        const ctn_edge_t *edge = &side->edge[side->key[i].index];
        said[i] = (said_t){.rank = side->key[i].rank,
                           .is_target = side->is_target,
                           .label = edge->label,
                           .index = side->key[i].index,
                           .weight = edge->weight,
                           .node = node};
    }
}

static catena_status_t exchange(match_t *match, side_t *source, side_t *target,
                                uint32_t node)
{
    size_t count = (size_t)source->keys + target->keys;
    size_t came_count = 0;
    void *came = NULL;
    said_t *said = malloc((count + 1) * sizeof(*said));
    if (said != NULL && source->key != NULL && target->key != NULL) {
        say(target, node, said);
        say(source, node, said + target->keys);
    } else { /* tells all */
        free(said);
        said = NULL;
        count = 1;
    }
    catena_status_t status =
        ctn_sparse_exchange(match->neighborhood->group, sizeof(*said), count,
                            said, &came, &came_count);
    free(said);
    if (status != CATENA_OK) {
        return status;
    }
    said_t *room = malloc((came_count + 1) * sizeof(*room));
    if (room == NULL) {
        free(came);
        return CATENA_ERR_NO_MEMORY;
    }
    source->said = came;
    source->count = part(came, (uint32_t)came_count, room);
    target->said = source->said + source->count;
    target->count = (uint32_t)came_count - source->count;
    compare(match, source);
    compare(match, target);
    free(room);
    free(came);
    return CATENA_OK;
}

catena_status_t ctn_neighbor_match(catena_neighborhood_t *neighborhood,
                                   uint32_t node)
{
    match_t match = {neighborhood, 0};
    side_t source = {.is_target = false, .edge = neighborhood->source};
    side_t target = {.is_target = true, .edge = neighborhood->target};
    ctn_edge_key_t *sources = ctn_edge_keys(
        neighborhood->source, neighborhood->sources, &source.keys);
    ctn_edge_key_t *targets = ctn_edge_keys(
        neighborhood->target, neighborhood->targets, &target.keys);
    source.key = sources;
    target.key = targets;
    catena_status_t status = exchange(&match, &source, &target, node);
    free(sources);
    free(targets);
    if (match.complaints > MOST_COMPLAINTS) {
        ctn_error(neighborhood->exec->log,
                  "neighborhood: %u more lists do not fit those of this rank",
                  match.complaints - MOST_COMPLAINTS);
    }
    return status == CATENA_OK && match.complaints > 0 ? CATENA_ERR_ARG
                                                       : status;
}
