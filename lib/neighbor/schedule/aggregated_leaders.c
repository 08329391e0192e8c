/* NBR-4. Selects the leaders of each node for the other nodes, see
 * aggregated.h. The lowest rank of each node, its coordinator, decides. Each
 * rank then sends its edges to their leaders, so that both leaders of a pair of
 * nodes know all edges between the two nodes. Three sparse exchanges; O(degree)
 * memory, at leaders O(edges that they lead for). */

#include <stdlib.h>

#include "neighbor/create/sparse_exchange.h"
#include "neighbor/schedule/aggregated.h"

/* Values of ctn_lead_record_t.what, in the order of the exchanges; `node` and
 * `number` are members of the record. */
enum {
    /* To the coordinator: the sender has `number` edges with `node`. */
    HAS_EDGES,
    /* From the coordinator to the ranks that have edges with `node`: `number`
     * is the leader on their node for `node`. */
    LEADER,
    /* To the coordinator of another node, and on to the leader there for
     * `node`: `number` is the leader on `node` for that other node. */
    OTHER,
    /* To a leader: an edge from its node to `node`, or from `node` to its node.
     */
    EDGE_OUT,
    EDGE_IN
};

/** Adds a record. */
static void put(ctn_leading_t *leading, ctn_vector_t *vector,
                ctn_lead_record_t record)
{
    ctn_vector_put(vector, &record, sizeof(record), &leading->status);
}

/** The record of a node; NULL: none. */
static ctn_lead_record_t *find(const ctn_vector_t *vector, uint32_t node)
{
    ctn_lead_record_t *record = vector->item;
    for (uint32_t i = 0; i < vector->count; i++) {
        if (record[i].node == node) {
            return &record[i];
        }
    }
    return NULL;
}

uint32_t ctn_leading_for(const ctn_vector_t *leaders, uint32_t node)
{
    return find(leaders, node)->number;
}

/* ---- selection ---- */

/** Tells the coordinator how many edges of a list lead to each other node, in
 * one record for each. */
static void count_list(ctn_leading_t *leading, const ctn_edge_t *edge,
                       uint32_t count, ctn_vector_t *nodes)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!ctn_leading_is_remote(leading, &edge[i])) {
            continue;
        }
        ctn_lead_record_t *known = find(nodes, edge[i].node);
        if (known != NULL) {
            known->number++;
        } else {
            put(leading, nodes,
                (ctn_lead_record_t){.to = leading->neighborhood->node,
                                    .what = HAS_EDGES,
                                    .node = edge[i].node,
                                    .number = 1});
        }
    }
}

static int by_node(const void *a, const void *b)
{
    const ctn_lead_record_t *x = a;
    const ctn_lead_record_t *y = b;
    return ctn_compare_words((const uint32_t[]){x->node, x->from},
                             (const uint32_t[]){y->node, y->from}, 2);
}

/** The load of a possible leader, as its coordinator counts it. */
typedef struct load {
    uint32_t rank;
    uint64_t edges; /* that it leads for so far */
} load_t;

/** The load of a rank; NULL: the rank is not in the vector. */
static load_t *load_of(const ctn_vector_t *loads, uint32_t rank)
{
    load_t *load = loads->item;
    for (uint32_t i = 0; i < loads->count; i++) {
        if (load[i].rank == rank) {
            return &load[i];
        }
    }
    return NULL;
}

/** Selects a leader of the ranks that have edges with a node: the least loaded
 * one; on oversubscribed cores the most loaded one, so that few ranks poll the
 * network. All these ranks and the other node's coordinator learn of it.
 * @param record [count] the requests of these ranks */
static void choose_leader(ctn_leading_t *leading,
                          const ctn_lead_record_t *record, uint32_t count,
                          const ctn_vector_t *loads, ctn_vector_t *answers)
{
    load_t *best = load_of(loads, record[0].from);
    uint64_t edges = 0;
    for (uint32_t i = 0; i < count; i++) {
        load_t *load = load_of(loads, record[i].from);
        best = (leading->neighborhood->exec->oversubscribed
                    ? load->edges > best->edges
                    : load->edges < best->edges)
                   ? load
                   : best;
        edges += record[i].number;
    }
    best->edges += edges;
    put(leading, &leading->chosen,
        (ctn_lead_record_t){.node = record[0].node, .number = best->rank});
    ctn_lead_record_t answer = {.what = LEADER, .node = record[0].node};
    answer.number = best->rank;
    for (uint32_t i = 0; i < count; i++) {
        answer.to = record[i].from;
        put(leading, answers, answer);
    }
    put(leading, answers,
        (ctn_lead_record_t){.to = record[0].node,
                            .what = OTHER,
                            .node = leading->neighborhood->node,
                            .number = best->rank});
}

/** Selects all leaders, at the coordinator. */
static void decide(ctn_leading_t *leading, ctn_vector_t *requests,
                   ctn_vector_t *answers)
{
    ctn_vector_t loads = {0};
    const ctn_lead_record_t *record = requests->item;
    for (uint32_t i = 0; i < requests->count; i++) {
        if (load_of(&loads, record[i].from) == NULL) {
            ctn_vector_put(&loads, &(load_t){.rank = record[i].from},
                           sizeof(load_t), &leading->status);
        }
    }
    ctn_vector_sort(requests, sizeof(*record), by_node);
    uint32_t end;
    for (uint32_t i = 0; i < requests->count && leading->status == CATENA_OK;
         i = end) {
        end = i;
        while (end < requests->count && record[end].node == record[i].node) {
            end++;
        }
        choose_leader(leading, &record[i], end - i, &loads, answers);
    }
    ctn_vector_drop(&loads);
}

/* ---- edges of leaders ---- */

/** Takes the leaders on this node. A coordinator has also received the leaders
 * on other nodes for this node, and forwards each to the leader that this node
 * has for that node. */
static void take_leaders(ctn_leading_t *leading, const ctn_vector_t *answers,
                         ctn_vector_t *records)
{
    const ctn_lead_record_t *record = answers->item;
    for (uint32_t i = 0; i < answers->count; i++) {
        if (record[i].what == LEADER) {
            put(leading, &leading->leaders, record[i]);
            continue;
        }
        ctn_lead_record_t other = record[i];
        other.to = ctn_leading_for(&leading->chosen, other.node);
        put(leading, records, other);
    }
}

/** Sends the edges of a list of this rank to their leaders. */
static void send_edges(ctn_leading_t *leading, const ctn_edge_t *edge,
                       uint32_t count, bool out, ctn_vector_t *records)
{
    for (uint32_t i = 0; i < count; i++, edge++) {
        if (!ctn_leading_is_remote(leading, edge)) {
            continue;
        }
        uint32_t peer = (uint32_t)edge->rank;
        put(leading, records,
            (ctn_lead_record_t){
                .to = ctn_leading_for(&leading->leaders, edge->node),
                .what = out ? EDGE_OUT : EDGE_IN,
                .node = edge->node,
                .source = out ? leading->rank : peer,
                .source_index = out ? i : edge->peer_index,
                .target = out ? peer : leading->rank,
                .target_index = out ? edge->peer_index : i,
                .weight = edge->weight});
    }
}

/** Takes what a leader has received: its edges, and the leaders on the other
 * nodes. */
static void take_edges(ctn_leading_t *leading, const ctn_vector_t *came)
{
    const ctn_lead_record_t *record = came->item;
    for (uint32_t i = 0; i < came->count; i++) {
        put(leading,
            record[i].what == OTHER      ? &leading->others
            : record[i].what == EDGE_OUT ? &leading->led_out
                                         : &leading->led_in,
            record[i]);
    }
}

/** Processes the records received in the sparse exchange before this one, and
 * makes those to be sent in this one; the last call only receives. */
static void fill_records(ctn_leading_t *leading, int exchange,
                         ctn_vector_t *came, ctn_vector_t *records)
{
    const catena_neighborhood_t *n = leading->neighborhood;
    switch (exchange) {
    case 0:
        count_list(leading, n->target, n->targets, records);
        count_list(leading, n->source, n->sources, records);
        break;
    case 1:
        decide(leading, came, records);
        break;
    case 2:
        take_leaders(leading, came, records);
        if (leading->status == CATENA_OK) {
            send_edges(leading, n->target, n->targets, true, records);
            send_edges(leading, n->source, n->sources, false, records);
        }
        break;
    default:
        take_edges(leading, came);
        break;
    }
}

void ctn_leading_find(catena_neighborhood_t *neighborhood,
                      ctn_leading_t *leading)
{
    enum { EXCHANGES = 3 };
    catena_group_t *group = neighborhood->group;
    ctn_vector_t came = {0};
    *leading = (ctn_leading_t){.neighborhood = neighborhood,
                               .rank = group->chain.place.rank};
    for (int exchange = 0; exchange <= EXCHANGES; exchange++) {
        ctn_vector_t records = {0};
        if (leading->status == CATENA_OK) {
            fill_records(leading, exchange, &came, &records);
        }
        ctn_vector_drop(&came);
        came = records;
        if (exchange < EXCHANGES) {
            leading->status = ctn_sparse_exchange(group, leading->status, &came,
                                                  sizeof(ctn_lead_record_t));
        }
    }
}

void ctn_leading_drop(ctn_leading_t *leading)
{
    ctn_vector_drop(&leading->leaders);
    ctn_vector_drop(&leading->chosen);
    ctn_vector_drop(&leading->others);
    ctn_vector_drop(&leading->led_out);
    ctn_vector_drop(&leading->led_in);
}
