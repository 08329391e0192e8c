/* The schedule builder; see builder.h. */

#include "neighbor/schedule/builder.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor/create/create.h"

/* ---- building ---- */

/** Adds an item to a vector. NULL: no memory, which `status` keeps. */
static void *add(ctn_schedule_builder_t *builder, ctn_vector_t *vector,
                 size_t bytes)
{
    void *item = ctn_vector_add(vector, bytes);
    if (item == NULL) {
        builder->status = CATENA_ERR_NO_MEMORY;
    }
    return item;
}

void ctn_schedule_builder_message(ctn_schedule_builder_t *builder,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round)
{
    builder->last = way == CTN_SENDS ? &builder->send : &builder->receive;
    uint32_t link = peer;
    if (builder->own_links) {
        link = builder->last->count;
        ctn_edge_key_t *key =
            add(builder, way == CTN_SENDS ? &builder->to : &builder->from,
                sizeof(*key));
        if (key != NULL) {
            *key = (ctn_edge_key_t){.rank = peer, .index = link};
        }
    }
    ctn_schedule_message_t *message =
        add(builder, builder->last, sizeof(*message));
    if (message != NULL) {
        *message = (ctn_schedule_message_t){
            .link = link, .round = round, .first = builder->block.count};
    }
}

void ctn_schedule_builder_block(ctn_schedule_builder_t *builder,
                                ctn_block_ref_t block, int weight)
{
    ctn_block_ref_t *item = add(builder, &builder->block, sizeof(*item));
    if (item == NULL || builder->status != CATENA_OK) {
        return;
    }
    ctn_schedule_message_t *message = builder->last->item;
    message += builder->last->count - 1;
    *item = block;
    message->count++;
    if (weight == builder->neighborhood->graph_facts.greatest_weight) {
        uint32_t *round = add(builder, &builder->heavy, sizeof(*round));
        if (round != NULL) {
            *round = message->round;
        }
    }
}

void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *builder,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round)
{
    ctn_local_copy_t *item = add(builder, &builder->local_copy, sizeof(*item));
    if (item != NULL) {
        *item = (ctn_local_copy_t){from, to, round};
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
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->peer_index > y->peer_index) -
                                    (x->peer_index < y->peer_index);
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
    uint64_t p = (uint64_t)x->round << 32 | x->first;
    uint64_t q = (uint64_t)y->round << 32 | y->first;
    return (p > q) - (p < q);
}

static int local_copies_by_round(const void *a, const void *b)
{
    const ctn_local_copy_t *x = a;
    const ctn_local_copy_t *y = b;
    uint64_t p = (uint64_t)x->round << 32 | x->to.index;
    uint64_t q = (uint64_t)y->round << 32 | y->to.index;
    return (p > q) - (p < q);
}

/** Copies the items of a vector, which may be empty. */
static void copy(void *to, const ctn_vector_t *vector, size_t bytes)
{
    if (vector->count > 0) {
        memcpy(to, vector->item, vector->count * bytes);
    }
}

/** Makes a schedule of what was added. It has no links and no facts yet. NULL:
 * no memory. */
static ctn_schedule_t *pack(const ctn_schedule_builder_t *builder)
{
    ctn_schedule_t *schedule =
        ctn_schedule_create(builder->send.count, builder->receive.count,
                            builder->local_copy.count, builder->block.count);
    if (schedule == NULL) {
        return NULL;
    }
    schedule->in_step = true;
    schedule->forwards = builder->own_links;
    schedule->staged = builder->staged;
    copy(schedule->send, &builder->send, sizeof(*schedule->send));
    copy(schedule->receive, &builder->receive, sizeof(*schedule->receive));
    copy(schedule->local_copy, &builder->local_copy,
         sizeof(*schedule->local_copy));
    copy(schedule->block, &builder->block, sizeof(*schedule->block));
    qsort(schedule->send, schedule->sends, sizeof(*schedule->send), by_round);
    qsort(schedule->receive, schedule->receives, sizeof(*schedule->receive),
          by_round);
    qsort(schedule->local_copy, schedule->local_copies,
          sizeof(*schedule->local_copy), local_copies_by_round);
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
        schedule->heavy_rounds += heavy[i] > 0;
        schedule->facts.remote_rounds += remote[i] > 0;
    }
    free(heavy);
    return status;
}

/* Indices of counters: MESSAGES and BLOCKS have one for each reach. */
enum {
    MESSAGES,
    BLOCKS = MESSAGES + CTN_REACHES,
    PACKED = BLOCKS + CTN_REACHES,
    COUNTS
};

/** Counts a message. */
static void count(uint64_t *counts, const ctn_schedule_message_t *message,
                  bool local)
{
    int reach = local ? CTN_LOCAL : CTN_REMOTE;
    counts[MESSAGES + reach]++;
    counts[BLOCKS + reach] += message->count;
    counts[PACKED] += message->count > 1 ? message->count : 0;
}

/** Sets schedule->facts except for remote_rounds and those of contributors:
 * counts messages and blocks at this rank, and agrees on sums and maxima. */
static catena_status_t agree_facts(const catena_neighborhood_t *neighborhood,
                                   ctn_schedule_t *schedule)
{
    ctn_schedule_facts_t *facts = &schedule->facts;
    uint64_t sent[COUNTS] = {0};
    uint64_t most[COUNTS] = {0};
    for (uint32_t i = 0; i < schedule->sends; i++) {
        count(sent, &schedule->send[i],
              schedule->out[schedule->send[i].link].peer.local);
    }
    for (uint32_t i = 0; i < schedule->receives; i++) {
        count(most, &schedule->receive[i],
              schedule->in[schedule->receive[i].link].peer.local);
    }
    for (int i = 0; i < COUNTS; i++) {
        most[i] = most[i] > sent[i] ? most[i] : sent[i];
    }
    catena_status_t status = ctn_neighbor_agree(neighborhood->group, CATENA_OK,
                                                COUNTS, sent, COUNTS, most);
    memcpy(facts->messages, &sent[MESSAGES], sizeof(facts->messages));
    memcpy(facts->blocks, &sent[BLOCKS], sizeof(facts->blocks));
    memcpy(facts->most_messages, &most[MESSAGES], sizeof(facts->most_messages));
    memcpy(facts->most_blocks, &most[BLOCKS], sizeof(facts->most_blocks));
    facts->packed = sent[PACKED];
    facts->most_packed = most[PACKED];
    return status;
}

/** Sets the facts and the number of heavy rounds. The links are set. */
static catena_status_t find_facts(const ctn_schedule_builder_t *builder,
                                  ctn_schedule_t *schedule)
{
    catena_status_t status = count_rounds(builder, schedule);
    return status == CATENA_OK ? agree_facts(builder->neighborhood, schedule)
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

catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *builder,
                                            ctn_neighbor_algorithm_t algorithm,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **schedule)
{
    ctn_schedule_t *made =
        builder->status == CATENA_OK && !impossible ? pack(builder) : NULL;
    if (made == NULL && !impossible) {
        builder->status = CATENA_ERR_NO_MEMORY;
    }
    uint64_t maxima[] = {impossible, builder->rounds};
    catena_status_t status = ctn_neighbor_agree(
        builder->neighborhood->group, builder->status, 0, NULL, 2, maxima);
    bool none = status != CATENA_OK || maxima[0] > 0; /* no schedule */
    if (!none) {
        made->algorithm = ctn_neighbor_algorithm_words[1 + algorithm];
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
