#include "neighbor/schedule/builder.h"

#include <stdlib.h>
#include <string.h>

/* ---- drawing ---- */

static void *add(ctn_schedule_builder_t *sketch, ctn_vector_t *pile,
                 size_t bytes)
{
    void *item = ctn_vector_add(pile, bytes);
    if (item == NULL) {
        sketch->status = CATENA_ERR_NO_MEMORY;
    }
    return item;
}

static void add_number(ctn_schedule_builder_t *sketch, ctn_vector_t *pile,
                       uint32_t number)
{
    uint32_t *item = add(sketch, pile, sizeof(*item));
    if (item != NULL) {
        *item = number;
    }
}

void ctn_schedule_builder_message(ctn_schedule_builder_t *sketch,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round)
{
    sketch->last = way == CTN_SENDS ? &sketch->send : &sketch->receive;
    uint32_t link = peer;
    if (sketch->own_links) {
        link = sketch->last->count;
        add_number(sketch, way == CTN_SENDS ? &sketch->to : &sketch->from,
                   peer);
    }
    ctn_schedule_message_t *message =
        add(sketch, sketch->last, sizeof(*message));
    if (message != NULL) {
        *message = (ctn_schedule_message_t){
            .link = link, .round = round, .first = sketch->part.count};
    }
}

void ctn_schedule_builder_block(ctn_schedule_builder_t *sketch,
                                ctn_block_ref_t part, int weight)
{
    ctn_block_ref_t *item = add(sketch, &sketch->part, sizeof(*item));
    if (item == NULL || sketch->status != CATENA_OK) {
        return;
    }
    ctn_schedule_message_t *message = sketch->last->item;
    message += sketch->last->count - 1;
    *item = part;
    message->count++;
    if (weight == sketch->neighborhood->graph_facts.greatest_weight) {
        add_number(sketch, &sketch->heavy, message->round);
    }
}

void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *sketch,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round)
{
    ctn_local_copy_t *item = add(sketch, &sketch->transfer, sizeof(*item));
    if (item != NULL) {
        *item = (ctn_local_copy_t){from, to, round};
    }
}

/* ---- finishing ---- */

static int by_round(const void *a, const void *b)
{
    const ctn_schedule_message_t *x = a;
    const ctn_schedule_message_t *y = b;
    uint64_t p = (uint64_t)x->round << 32 | x->first;
    uint64_t q = (uint64_t)y->round << 32 | y->first;
    return (p > q) - (p < q);
}

static int transfers_by_round(const void *a, const void *b)
{
    const ctn_local_copy_t *x = a;
    const ctn_local_copy_t *y = b;
    uint64_t p = (uint64_t)x->round << 32 | x->to.index;
    uint64_t q = (uint64_t)y->round << 32 | y->to.index;
    return (p > q) - (p < q);
}

/** Items of a pile, which may have none. */
static void copy(void *to, const ctn_vector_t *pile, size_t bytes)
{
    if (pile->count > 0) {
        memcpy(to, pile->item, pile->count * bytes);
    }
}

static ctn_schedule_t *pack(const ctn_schedule_builder_t *sketch)
{
    ctn_schedule_t *plan =
        ctn_schedule_create(sketch->send.count, sketch->receive.count,
                            sketch->transfer.count, sketch->part.count);
    if (plan == NULL) {
        return NULL;
    }
    plan->in_step = true;
    plan->passes_on = sketch->own_links;
    plan->stages = sketch->stages;
    copy(plan->send, &sketch->send, sizeof(*plan->send));
    copy(plan->receive, &sketch->receive, sizeof(*plan->receive));
    copy(plan->transfer, &sketch->transfer, sizeof(*plan->transfer));
    copy(plan->part, &sketch->part, sizeof(*plan->part));
    qsort(plan->send, plan->sends, sizeof(*plan->send), by_round);
    qsort(plan->receive, plan->receives, sizeof(*plan->receive), by_round);
    qsort(plan->transfer, plan->transfers, sizeof(*plan->transfer),
          transfers_by_round);
    return plan;
}

/** Which of some rounds carry an edge of the greatest weight, or go between
 * nodes, at this rank. */
static void look_at_rounds(const ctn_schedule_builder_t *sketch,
                           const ctn_schedule_t *plan, uint32_t from,
                           uint32_t count, uint64_t *heavy, uint64_t *far)
{
    const uint32_t *round = sketch->heavy.item;
    memset(heavy, 0, count * sizeof(*heavy));
    memset(far, 0, count * sizeof(*far));
    for (uint32_t i = 0; i < sketch->heavy.count; i++) {
        if (round[i] >= from && round[i] - from < count) {
            heavy[round[i] - from] = 1;
        }
    }
    for (uint32_t i = 0; i < plan->sends; i++) {
        const ctn_schedule_message_t *message = &plan->send[i];
        if (message->round >= from && message->round - from < count &&
            !plan->out[message->link].peer.near) {
            far[message->round - from] = 1;
        }
    }
}

static catena_status_t count_rounds(const ctn_schedule_builder_t *sketch,
                                    ctn_schedule_t *plan)
{
    enum { AT_ONCE = 8 };
    for (uint32_t from = 0; from < plan->rounds; from += AT_ONCE) {
        uint64_t carries[2 * AT_ONCE];
        look_at_rounds(sketch, plan, from, AT_ONCE, carries, carries + AT_ONCE);
        catena_status_t status =
            ctn_neighbor_agree(sketch->neighborhood->group, CATENA_OK, 0, NULL,
                               2 * AT_ONCE, carries);
        if (status != CATENA_OK) {
            return status;
        }
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            plan->heavy_rounds += carries[i] > 0;
            plan->facts.far_rounds += carries[AT_ONCE + i] > 0;
        }
    }
    return CATENA_OK;
}

/* What is counted at either end of messages; by reach where there are two. */
enum {
    MESSAGES,
    BLOCKS = MESSAGES + CTN_REACHES,
    PACKED = BLOCKS + CTN_REACHES,
    COUNTS
};

static void count(uint64_t *counts, const ctn_schedule_message_t *message,
                  bool near)
{
    int reach = near ? CTN_LOCAL : CTN_REMOTE;
    counts[MESSAGES + reach]++;
    counts[BLOCKS + reach] += message->count;
    counts[PACKED] += message->count > 1 ? message->count : 0;
}

catena_status_t
ctn_schedule_agree_facts(const catena_neighborhood_t *neighborhood,
                         ctn_schedule_t *plan)
{
    ctn_schedule_facts_t *facts = &plan->facts;
    uint64_t sent[COUNTS] = {0};
    uint64_t most[COUNTS] = {0};
    for (uint32_t i = 0; i < plan->sends; i++) {
        count(sent, &plan->send[i], plan->out[plan->send[i].link].peer.near);
    }
    for (uint32_t i = 0; i < plan->receives; i++) {
        count(most, &plan->receive[i],
              plan->in[plan->receive[i].link].peer.near);
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

/** Its links are there. */
static catena_status_t find_facts(const ctn_schedule_builder_t *sketch,
                                  ctn_schedule_t *plan)
{
    catena_status_t status = count_rounds(sketch, plan);
    return status == CATENA_OK
               ? ctn_schedule_agree_facts(sketch->neighborhood, plan)
               : status;
}

static catena_status_t give_links(const ctn_schedule_builder_t *sketch,
                                  ctn_schedule_t *plan)
{
    catena_neighborhood_t *neighborhood = sketch->neighborhood;
    if (sketch->own_links) {
        return ctn_schedule_connect(neighborhood, sketch->to.count,
                                    sketch->to.item, sketch->from.count,
                                    sketch->from.item, plan);
    }
    plan->out = neighborhood->out;
    plan->in = neighborhood->in;
    plan->outs = neighborhood->outs;
    plan->ins = neighborhood->ins;
    return CATENA_OK;
}

static void drop(ctn_schedule_builder_t *sketch)
{
    ctn_vector_drop(&sketch->send);
    ctn_vector_drop(&sketch->receive);
    ctn_vector_drop(&sketch->transfer);
    ctn_vector_drop(&sketch->part);
    ctn_vector_drop(&sketch->heavy);
    ctn_vector_drop(&sketch->to);
    ctn_vector_drop(&sketch->from);
}

catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *sketch,
                                            ctn_neighbor_algorithm_t scheme,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **plan)
{
    ctn_schedule_t *made =
        sketch->status == CATENA_OK && !impossible ? pack(sketch) : NULL;
    if (made == NULL && !impossible) {
        sketch->status = CATENA_ERR_NO_MEMORY;
    }
    uint64_t maxima[] = {impossible, sketch->rounds};
    catena_status_t status = ctn_neighbor_agree(
        sketch->neighborhood->group, sketch->status, 0, NULL, 2, maxima);
    bool none = status != CATENA_OK || maxima[0] > 0;
    if (!none) {
        made->algorithm = ctn_neighbor_algorithm_names[scheme];
        made->pattern = pattern;
        made->rounds = (uint32_t)maxima[1];
        status = give_links(sketch, made);
    }
    if (!none && status == CATENA_OK) {
        status = find_facts(sketch, made);
    }
    if (none || status != CATENA_OK) {
        ctn_schedule_free(made);
        made = NULL;
    }
    *plan = made;
    drop(sketch);
    return status;
}
