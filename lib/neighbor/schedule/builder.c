/* The schedule builder; see builder.h. */

#include "neighbor/schedule/builder.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor/create/create.h"

/* ---- building ---- */

void ctn_schedule_builder_message(ctn_schedule_builder_t *builder,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round)
{
    builder->last = way == CTN_SENDS ? &builder->send : &builder->receive;
    const ctn_edge_key_t key = {.rank = peer, .index = builder->last->count};
    const ctn_schedule_message_t message = {
        .link = builder->own_links ? key.index : peer,
        .round = round,
        .first = builder->block.count};
    if (builder->own_links) {
        ctn_vector_put(way == CTN_SENDS ? &builder->to : &builder->from, &key,
                       sizeof(key), &builder->status);
    }
    ctn_vector_put(builder->last, &message, sizeof(message), &builder->status);
}

void ctn_schedule_builder_block(ctn_schedule_builder_t *builder,
                                ctn_block_ref_t block, int weight)
{
    ctn_vector_put(&builder->block, &block, sizeof(block), &builder->status);
    if (builder->status != CATENA_OK) {
        return;
    }
    ctn_schedule_message_t *message = builder->last->item;
    message += builder->last->count - 1;
    message->count++;
    if (weight == builder->neighborhood->graph_facts.greatest_weight) {
        ctn_vector_put(&builder->heavy, &message->round, sizeof(message->round),
                       &builder->status);
    }
}

void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *builder,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round)
{
    const ctn_local_copy_t local_copy = {from, to, round};
    ctn_vector_put(&builder->local_copy, &local_copy, sizeof(local_copy),
                   &builder->status);
}

void ctn_schedule_builder_receive(ctn_schedule_builder_t *builder,
                                  uint32_t source, uint32_t round,
                                  ctn_block_ref_t *from)
{
    ctn_block_ref_t to = {CTN_BLOCK_RECV, source};
    if (from->of == CTN_BLOCK_STAGED) {
        *from = to;
    } else {
        ctn_schedule_builder_local_copy(builder, *from, to, round);
    }
}

/* ---- edges ---- */

static bool is_remote(const ctn_schedule_builder_t *builder,
                      const ctn_edge_t *edge)
{
    return edge->node != builder->neighborhood->node;
}

/** Adds a message of one block for an edge that has a link. */
static void add_edge(ctn_schedule_builder_t *builder, ctn_message_end_t way,
                     const ctn_edge_t *edge, ctn_block_ref_t block,
                     ctn_edges_t edges)
{
    uint32_t round = edges == CTN_EDGES_COLORED ? edge->round : 0;
    if (edge->link == CTN_NO_LINK ||
        (edges == CTN_EDGES_LOCAL && is_remote(builder, edge))) {
        return;
    }
    ctn_schedule_builder_message(
        builder, way, builder->own_links ? (uint32_t)edge->rank : edge->link,
        round);
    ctn_schedule_builder_block(builder, block, edge->weight);
    builder->rounds = builder->rounds > round ? builder->rounds : round + 1;
}

/** Adds the messages to targets on this node, or to those on other nodes. */
static void send_edges(ctn_schedule_builder_t *builder, ctn_pattern_t pattern,
                       ctn_edges_t edges, bool remote)
{
    const catena_neighborhood_t *n = builder->neighborhood;
    for (uint32_t i = 0; i < n->targets; i++) {
        const ctn_edge_t *edge = &n->target[i];
        ctn_block_ref_t block = {CTN_BLOCK_SEND,
                                 pattern == CTN_PATTERN_ALLGATHER ? 0 : i};
        if (is_remote(builder, edge) == remote) {
            add_edge(builder, CTN_SENDS, edge, block, edges);
        }
        if (edge->link == CTN_NO_LINK && edge->rank != CATENA_PROC_NULL &&
            !remote) {
            ctn_block_ref_t to = {CTN_BLOCK_RECV, edge->peer_index};
            ctn_schedule_builder_local_copy(builder, block, to, 0);
        }
    }
}

/** Sorts indices of sources by rank, then as that lists its targets: links of a
 * pair of ranks match in this order. */
static int by_sender(const void *a, const void *b, void *argument)
{
    const ctn_edge_t *source = argument;
    const ctn_edge_t *x = &source[*(const uint32_t *)a];
    const ctn_edge_t *y = &source[*(const uint32_t *)b];
    return ctn_compare_words(
        (const uint32_t[]){(uint32_t)x->rank, x->peer_index},
        (const uint32_t[]){(uint32_t)y->rank, y->peer_index}, 2);
}

void ctn_schedule_builder_edges(ctn_schedule_builder_t *builder,
                                ctn_pattern_t pattern, ctn_edges_t edges)
{
    const catena_neighborhood_t *n = builder->neighborhood;
    uint32_t *order = malloc(((size_t)n->sources + 1) * sizeof(*order));
    if (order == NULL) {
        builder->status = CATENA_ERR_NO_MEMORY;
        return;
    }
    for (uint32_t i = 0; i < n->sources; i++) {
        order[i] = i;
    }
    if (builder->own_links) {
        qsort_r(order, n->sources, sizeof(*order), by_sender, n->source);
    }
    send_edges(builder, pattern, edges, true); /* first: they take longer */
    send_edges(builder, pattern, edges, false);
    for (uint32_t i = 0; i < n->sources; i++) {
        ctn_block_ref_t block = {CTN_BLOCK_RECV, order[i]};
        add_edge(builder, CTN_RECEIVES, &n->source[order[i]], block, edges);
    }
    free(order);
}

/* ---- finishing ---- */

/** Sorts messages by round, then in the order in which they were added. */
static int by_round(const void *a, const void *b)
{
    const ctn_schedule_message_t *x = a;
    const ctn_schedule_message_t *y = b;
    return ctn_compare_words((const uint32_t[]){x->round, x->first},
                             (const uint32_t[]){y->round, y->first}, 2);
}

static int local_copies_by_round(const void *a, const void *b)
{
    const ctn_local_copy_t *x = a;
    const ctn_local_copy_t *y = b;
    return ctn_compare_words((const uint32_t[]){x->round, x->to.index},
                             (const uint32_t[]){y->round, y->to.index}, 2);
}

/** Gives the items of a vector to the schedule. */
static void give(ctn_vector_t *vector, void *array, uint32_t *count)
{
    *(void **)array = vector->item;
    *count = (uint32_t)vector->count;
    *vector = (ctn_vector_t){0};
}

static void drop(ctn_schedule_builder_t *builder)
{
    ctn_vector_drop(&builder->send);
    ctn_vector_drop(&builder->receive);
    ctn_vector_drop(&builder->local_copy);
    ctn_vector_drop(&builder->block);
    ctn_vector_drop(&builder->heavy);
    ctn_vector_drop(&builder->to);
    ctn_vector_drop(&builder->from);
}

/** As ctn_schedule_builder_pack, but keeps the builder. */
static ctn_schedule_t *pack(ctn_schedule_builder_t *builder)
{
    ctn_schedule_t *schedule =
        builder->status == CATENA_OK ? calloc(1, sizeof(*schedule)) : NULL;
    if (schedule == NULL) {
        return NULL;
    }
    ctn_vector_sort(&builder->send, sizeof(*schedule->send), by_round);
    ctn_vector_sort(&builder->receive, sizeof(*schedule->receive), by_round);
    ctn_vector_sort(&builder->local_copy, sizeof(*schedule->local_copy),
                    local_copies_by_round);
    schedule->in_step = true;
    schedule->forwards = builder->own_links;
    schedule->staged = builder->staged;
    schedule->rounds = builder->rounds;
    give(&builder->send, &schedule->send, &schedule->sends);
    give(&builder->receive, &schedule->receive, &schedule->receives);
    give(&builder->local_copy, &schedule->local_copy, &schedule->local_copies);
    give(&builder->block, &schedule->block, &schedule->blocks);
    return schedule;
}

ctn_schedule_t *ctn_schedule_builder_pack(ctn_schedule_builder_t *builder)
{
    ctn_schedule_t *schedule = pack(builder);
    drop(builder);
    return schedule;
}

/** Counts heavy rounds and rounds with messages between nodes. Collective. */
static catena_status_t count_rounds(const ctn_schedule_builder_t *builder,
                                    ctn_schedule_t *schedule)
{
    uint32_t rounds = schedule->rounds;
    /* By round: 1 if this rank has a block of an edge of the greatest weight,
     * and 1 if it sends to another node. */
    uint64_t *heavy = calloc(2 * (size_t)rounds + 1, sizeof(*heavy));
    uint64_t *remote = heavy + rounds;
    const uint32_t *round = builder->heavy.item;
    for (uint32_t i = 0; heavy != NULL && i < builder->heavy.count; i++) {
        heavy[round[i]] = 1;
    }
    for (uint32_t i = 0; heavy != NULL && i < schedule->sends; i++) {
        const ctn_schedule_message_t *message = &schedule->send[i];
        remote[message->round] |= !schedule->out[message->link].peer.local;
    }
    catena_status_t status = ctn_neighbor_agree_maxima(
        builder->neighborhood->group,
        heavy != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY, 2 * (size_t)rounds,
        heavy);
    for (uint32_t i = 0; status == CATENA_OK && i < rounds; i++) {
        schedule->facts.heavy_rounds += heavy[i] > 0;
        schedule->facts.remote_rounds += remote[i] > 0;
    }
    free(heavy);
    return status;
}

/** Counts messages of a link end. */
static void count(uint64_t *counts, const ctn_schedule_message_t *message,
                  bool local)
{
    int reach = local ? CTN_LOCAL : CTN_REMOTE;
    counts[CTN_COUNT_MESSAGES + reach]++;
    counts[CTN_COUNT_BLOCKS + reach] += message->count;
    counts[CTN_COUNT_PACKED] += message->count > 1 ? message->count : 0;
}

/** Sets the facts. The links are set. Collective. */
static catena_status_t find_facts(ctn_schedule_builder_t *builder,
                                  ctn_schedule_t *schedule)
{
    ctn_schedule_facts_t *facts = &schedule->facts;
    uint64_t *sent = builder->counts[CTN_SENDS];
    uint64_t *received = builder->counts[CTN_RECEIVES];
    *facts = (ctn_schedule_facts_t){
        .possible = true, .rounds = schedule->rounds, .most_bytes = SIZE_MAX};
    catena_status_t status = count_rounds(builder, schedule);
    for (uint32_t i = 0; i < schedule->sends; i++) {
        count(sent, &schedule->send[i],
              schedule->out[schedule->send[i].link].peer.local);
    }
    for (uint32_t i = 0; i < schedule->receives; i++) {
        count(received, &schedule->receive[i],
              schedule->in[schedule->receive[i].link].peer.local);
    }
    for (int i = 0; i < CTN_COUNTS; i++) {
        facts->all[i] = sent[i];
        facts->most[i] = sent[i] > received[i] ? sent[i] : received[i];
    }
    return status == CATENA_OK
               ? ctn_neighbor_agree(builder->neighborhood->group, status,
                                    CTN_COUNTS, facts->all, CTN_COUNTS,
                                    facts->most)
               : status;
}

/** Sets the links of a schedule: those of the edges, or new ones. */
static catena_status_t give_links(ctn_schedule_builder_t *builder,
                                  ctn_schedule_t *schedule)
{
    catena_neighborhood_t *neighborhood = builder->neighborhood;
    if (builder->own_links) {
        return ctn_schedule_connect(neighborhood, &builder->to, &builder->from,
                                    schedule);
    }
    schedule->out = neighborhood->out;
    schedule->in = neighborhood->in;
    schedule->outs = neighborhood->outs;
    schedule->ins = neighborhood->ins;
    return CATENA_OK;
}

catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *builder,
                                            ctn_neighbor_algorithm_t algorithm,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **schedule)
{
    ctn_schedule_t *made = !impossible ? pack(builder) : NULL;
    if (made == NULL && !impossible) {
        builder->status = CATENA_ERR_NO_MEMORY;
    }
    uint64_t maxima[] = {impossible, builder->rounds};
    catena_status_t status = ctn_neighbor_agree_maxima(
        builder->neighborhood->group, builder->status, 2, maxima);
    bool none = status != CATENA_OK || maxima[0] > 0; /* no schedule */
    if (!none) {
        made->algorithm = algorithm;
        made->pattern = pattern;
        made->rounds = (uint32_t)maxima[1];
        status = give_links(builder, made);
    }
    if (!none && status == CATENA_OK) {
        status = find_facts(builder, made);
    }
    if (none || status != CATENA_OK) {
        ctn_schedule_free(made);
        made = NULL;
    }
    *schedule = made;
    drop(builder);
    return status;
}
