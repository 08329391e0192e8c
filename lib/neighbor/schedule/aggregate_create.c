/* NBR-4, uniform blocks: creates the aggregates (aggregate.h). Each leader
 * knows all edges that it leads for, in both directions. It takes memory for
 * areas, numbers the blocks of each aggregate, and tells the contributors and
 * consumers of its node. One sparse exchange, besides those that find the
 * leaders. */

#include <stdlib.h>
#include <string.h>

#include "exec/deaths.h"
#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"
#include "neighbor/schedule/aggregate.h"
#include "neighbor/schedule/builder.h"

/* An aggregate has up to 64 KiB, which is one message of the network. The areas
 * of a leader take up to 4 MiB each way, long aggregates in all generations
 * counted. */
#define AGGREGATE_MOST ((size_t)64 << 10)
#define AREAS_MOST ((size_t)4 << 20)

/* What a record tells its receiver. */
enum {
    CONTRIBUTES, /* the position of its block in an aggregate of its node */
    CONSUMES,    /* the position of a block for it in an aggregate */
    ARRIVES      /* where an aggregate that it contributes to will arrive */
};

/** A record from a leader. */
typedef struct record {
    uint32_t to, from; /* for ctn_sparse_exchange */
    uint32_t what;     /* CONTRIBUTES, CONSUMES or ARRIVES */
    uint32_t node;  /* the other node, seen from the receiver of the record */
    uint32_t index; /* of the edge in the receiver's list */
    /* As in ctn_neighbor_aggregate_block_t and _area_t. */
    uint32_t position;
    uint32_t blocks;
    uint32_t contributors;
    uint64_t process; /* the owner of the area, for ctn_exec_connect */
    uint64_t offset;  /* of the area in the arena of that process */
} record_t;

/** An aggregate that this rank leads: the edges with one node, one way. */
typedef struct led_aggregate {
    const ctn_lead_record_t *edge; /* [edges], sorted by by_source */
    uint32_t edges;
    uint32_t contributors;
    uint32_t blocks;
    bool in; /* it arrives here */
} led_aggregate_t;

/** The aggregates of a schedule under construction. */
typedef struct making {
    ctn_leading_t *leading;
    ctn_pattern_t pattern;
    catena_status_t status; /* this rank's */
    ctn_neighbor_aggregates_t *aggregates;
    ctn_schedule_builder_t builder; /* for the messages on the node */
    ctn_vector_t led;               /* led_aggregate_t */
    ctn_vector_t records;           /* record_t, to be sent */
} making_t;

/* ---- leaders: blocks ---- */

/** Sorts edges by the other node, so that those of one aggregate are
 * contiguous, then by source, so that both leaders find the same order. */
static int by_source(const void *a, const void *b)
{
    const ctn_lead_record_t *x = a;
    const ctn_lead_record_t *y = b;
    return ctn_compare_words(
        (const uint32_t[]){x->node, x->source, x->source_index},
        (const uint32_t[]){y->node, y->source, y->source_index}, 3);
}

/** Lists the aggregates of the edges from this node, or of those to it. */
static void list_led(making_t *m, ctn_vector_t *leds, bool in)
{
    ctn_vector_sort(leds, sizeof(ctn_lead_record_t), by_source);
    const ctn_lead_record_t *edge = leds->item;
    for (size_t i = 0; i < leds->count && m->status == CATENA_OK; i++, edge++) {
        bool first = i == 0 || edge->node != edge[-1].node;
        bool new_source = first || edge->source != edge[-1].source;
        if (first) {
            ctn_vector_put(&m->led, &(led_aggregate_t){.edge = edge, .in = in},
                           sizeof(led_aggregate_t), &m->status);
        }
        if (m->status == CATENA_OK) {
            led_aggregate_t *last = m->led.item;
            last += m->led.count - 1;
            last->edges++;
            last->contributors += new_source;
            last->blocks += new_source || m->pattern == CTN_PATTERN_ALLTOALL;
        }
    }
}

/** Length of the longest blocks that fit all aggregates of this leader; 0: an
 * aggregate has too many contributors. */
static size_t most_bytes_of(const making_t *m)
{
    const led_aggregate_t *led = m->led.item;
    uint32_t aggregates[2] = {0}; /* each way */
    uint32_t blocks[2] = {0};     /* of the longest of these */
    for (size_t i = 0; i < m->led.count; i++, led++) {
        if (led->contributors > CTN_AGGREGATE_CONTRIBUTORS) {
            return 0;
        }
        aggregates[led->in]++;
        blocks[led->in] =
            blocks[led->in] > led->blocks ? blocks[led->in] : led->blocks;
    }
    size_t least = AGGREGATE_MOST;
    for (int in = 0; in < 2; in++) {
        if (aggregates[in] > 0) {
            size_t most = AREAS_MOST / CTN_NEIGHBOR_AGGREGATE_GENERATIONS /
                          aggregates[in];
            most = (most < AGGREGATE_MOST ? most : AGGREGATE_MOST) / blocks[in];
            least = most < least ? most : least;
        }
    }
    return least;
}

/** Whether the list `other` of this rank has edges with all nodes that the list
 * `edge` has edges with. */
static bool covers(const ctn_leading_t *leading, const ctn_edge_t *edge,
                   uint32_t edges, const ctn_edge_t *other, uint32_t others)
{
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t k = 0;
        while (k < others && (!ctn_leading_is_remote(leading, &other[k]) ||
                              other[k].node != edge[i].node)) {
            k++;
        }
        if (ctn_leading_is_remote(leading, &edge[i]) && k == others) {
            return false;
        }
    }
    return true;
}

/** Agrees on whether aggregates are possible, and on the longest blocks. Each
 * contributor to an aggregate must consume the one that comes the other way,
 * and vice versa. Collective. */
static catena_status_t agree(making_t *m, bool *possible)
{
    const catena_neighborhood_t *n = m->leading->neighborhood;
    bool both =
        covers(m->leading, n->source, n->sources, n->target, n->targets) &&
        covers(m->leading, n->target, n->targets, n->source, n->sources);
    uint64_t most[] = {!both, ~(uint64_t)most_bytes_of(m)};
    catena_status_t status =
        ctn_neighbor_agree_maxima(n->group, m->status, 2, most);
    *possible = status == CATENA_OK && most[0] == 0 && ~most[1] > 0;
    if (*possible) {
        m->aggregates->most_bytes = (size_t)~most[1];
    }
    return status;
}

/* ---- leaders: areas ---- */

static size_t area_bytes(const making_t *m, const led_aggregate_t *led)
{
    return ctn_neighbor_aggregate_area_bytes(led->blocks,
                                             m->aggregates->most_bytes);
}

/** Adds the records about one aggregate: to its contributors or consumers on
 * this node; if it arrives here, also to its contributors on the other node,
 * which learn where it arrives.
 * @param offset of the area in this rank's arena */
static void describe(making_t *m, const led_aggregate_t *led, uint64_t offset)
{
    const ctn_lead_record_t *edge = led->edge;
    record_t record = {.position = UINT32_MAX,
                       .blocks = led->blocks,
                       .contributors = led->contributors,
                       .process =
                           m->leading->neighborhood->exec->locality->process,
                       .offset = offset};
    for (uint32_t i = 0; i < led->edges; i++, edge++) {
        bool new_source = i == 0 || edge->source != edge[-1].source;
        record.position += new_source || m->pattern == CTN_PATTERN_ALLTOALL;
        record.what = led->in ? CONSUMES : CONTRIBUTES;
        record.node = edge->node;
        record.to = led->in ? edge->target : edge->source;
        record.index = led->in ? edge->target_index : edge->source_index;
        ctn_vector_put(&m->records, &record, sizeof(record), &m->status);
        if (led->in && new_source) {
            record.what = ARRIVES;
            record.node = m->leading->neighborhood->node;
            record.to = edge->source;
            ctn_vector_put(&m->records, &record, sizeof(record), &m->status);
        }
    }
}

/** Takes memory for the areas that this rank leads, and adds the records about
 * them. */
static void lead(making_t *m)
{
    ctn_exec_t *exec = m->leading->neighborhood->exec;
    const led_aggregate_t *led = m->led.item;
    size_t bytes = 0;
    for (size_t i = 0; i < m->led.count; i++) {
        bytes += area_bytes(m, &led[i]);
    }
    if (bytes == 0) {
        return;
    }
    unsigned char *memory = ctn_heap_alloc(exec->heap, 4096, bytes);
    m->aggregates->memory = memory;
    if (memory == NULL) {
        m->status = CATENA_ERR_NO_MEMORY;
        return;
    }
    m->aggregates->leads = m->leading->led_in.count > 0;
    for (size_t i = 0; i < m->led.count; i++) {
        memset(memory, 0, CTN_NEIGHBOR_AGGREGATE_ZERO);
        describe(m, &led[i], ctn_link_offset(exec, memory));
        memory += area_bytes(m, &led[i]);
    }
}

/* ---- all ranks: contributed and consumed blocks ---- */

/** Sets an area of a leader on this node, which sent the record. */
static catena_status_t find_area(const making_t *m, const record_t *record,
                                 ctn_neighbor_aggregate_area_t *area)
{
    ctn_exec_t *exec = m->leading->neighborhood->exec;
    ctn_endpoint_t *endpoint;
    catena_status_t status = CATENA_OK;
    area->blocks = record->blocks;
    if (record->from == m->leading->rank) { /* own memory: no endpoint */
        unsigned char *memory = m->aggregates->memory;
        area->base = memory + (record->offset - ctn_link_offset(exec, memory));
        return CATENA_OK;
    }
    status = ctn_exec_connect(exec, record->process, &endpoint);
    if (status == CATENA_OK) {
        area->base = ctn_pointer(endpoint, record->offset);
    }
    return status;
}

/** Processes a record CONTRIBUTES or CONSUMES. Those of one aggregate come one
 * after the other.
 * @param all    the aggregates this rank contributes to, or consumes
 * @param blocks the blocks of these */
static catena_status_t take_block(const making_t *m, const record_t *record,
                                  ctn_vector_t *all, ctn_vector_t *blocks)
{
    /* one block for all ranks of a node that it goes to */
    bool shared =
        record->what == CONTRIBUTES && m->pattern == CTN_PATTERN_ALLGATHER;
    ctn_neighbor_aggregate_t *last = all->item;
    last += all->count;
    bool first = all->count == 0 || last[-1].node != record->node;
    if (!first && shared) {
        return CATENA_OK;
    }
    ctn_neighbor_aggregate_block_t *block =
        ctn_vector_add(blocks, sizeof(*block));
    last = first ? ctn_vector_add(all, sizeof(*last)) : last - 1;
    if (block == NULL || last == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    block->position = record->position;
    block->index = shared ? 0 : record->index;
    if (first) {
        last->node = record->node;
        last->leader = record->from;
        last->contributors = record->contributors;
        last->first = blocks->count - 1;
    }
    last->blocks++;
    return first ? find_area(m, record, &last->area) : CATENA_OK;
}

/** Processes a record ARRIVES. Any contributor may be the one that sends the
 * aggregate, so each connects to the leader on the other node, and does it now,
 * while all ranks poll the network. */
static catena_status_t take_arrival(const making_t *m, const record_t *record)
{
    ctn_neighbor_aggregate_t *out = m->aggregates->out.item;
    uint32_t i = 0;
    while (i < m->aggregates->out.count && out[i].node != record->node) {
        i++;
    }
    if (i == m->aggregates->out.count) {
        return CATENA_ERR_ARG;
    }
    out[i].offset = record->offset;
    return ctn_exec_connect(m->leading->neighborhood->exec, record->process,
                            &out[i].there);
}

/** Processes the received records. */
static void take_records(making_t *m, const ctn_vector_t *came)
{
    const record_t *record = came->item;
    for (uint32_t i = 0; i < came->count && m->status == CATENA_OK; i++) {
        if (record[i].what == CONTRIBUTES) {
            m->status = take_block(m, &record[i], &m->aggregates->out,
                                   &m->aggregates->contributed);
        } else if (record[i].what == CONSUMES) {
            m->status = take_block(m, &record[i], &m->aggregates->in,
                                   &m->aggregates->consumed);
        }
    }
    for (uint32_t i = 0; i < came->count && m->status == CATENA_OK; i++) {
        if (record[i].what == ARRIVES) {
            m->status = take_arrival(m, &record[i]);
        }
    }
}

/* ---- all steps ---- */

void ctn_neighbor_aggregates_free(ctn_neighbor_aggregates_t *aggregates)
{
    if (aggregates != NULL) {
        ctn_vector_drop(&aggregates->out);
        ctn_vector_drop(&aggregates->in);
        ctn_vector_drop(&aggregates->contributed);
        ctn_vector_drop(&aggregates->consumed);
        free(aggregates);
    }
}

/** Makes the areas and connects all ranks to them. Collective; all ranks agree
 * on the status. */
static catena_status_t connect(making_t *m)
{
    catena_group_t *group = m->leading->neighborhood->group;
    lead(m);
    m->status =
        ctn_sparse_exchange(group, m->status, &m->records, sizeof(record_t));
    if (m->status == CATENA_OK) {
        take_records(m, &m->records);
    }
    ctn_vector_drop(&m->records);
    if (m->status == CATENA_OK) {
        m->status = ctn_link_finalize(m->leading->neighborhood->exec);
    }
    return ctn_neighbor_agree_status(group, m->status);
}

/** Counts the aggregates and contributed blocks of this rank. */
static void count(making_t *m)
{
    const led_aggregate_t *led = m->led.item;
    uint64_t *sent = m->builder.counts[CTN_SENDS];
    for (size_t i = 0; i < m->led.count; i++) {
        uint64_t *counts = m->builder.counts[led[i].in];
        counts[CTN_COUNT_MESSAGES + CTN_REMOTE]++;
        counts[CTN_COUNT_BLOCKS + CTN_REMOTE] += led[i].blocks;
    }
    sent[CTN_COUNT_CONTRIBUTED] = m->aggregates->contributed.count;
    m->aggregates->led = (uint32_t)sent[CTN_COUNT_MESSAGES + CTN_REMOTE];
}

/** Makes the schedule: messages on the node, and the aggregates. Collective. */
static catena_status_t finish(making_t *m, ctn_schedule_t **schedule)
{
    m->builder.rounds = 1;
    count(m);
    ctn_schedule_builder_edges(&m->builder, m->pattern, CTN_EDGES_LOCAL);
    catena_status_t status = ctn_schedule_builder_finish(
        &m->builder, CTN_NEIGHBOR_AGGREGATED, m->pattern, false, schedule);
    if (status == CATENA_OK) {
        ctn_schedule_t *made = *schedule;
        made->in_step = false;
        made->forwards = false;
        made->aggregates = m->aggregates;
        made->facts.rounds++;
        made->facts.heavy_rounds = made->facts.remote_rounds = 1;
        made->facts.most_bytes = m->aggregates->most_bytes;
    }
    return status;
}

/** After ERR_NO_MEMORY, on which all ranks have agreed: they all use the
 * general schedule, without aggregates. If operations were aborted, the error
 * stays. */
static catena_status_t go_without_aggregates(const making_t *m)
{
    const catena_group_t *group = m->leading->neighborhood->group;
    if (group->exec->status != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (m->leading->rank == 0) {
        ctn_info(
            group->exec->log,
            "neighborhood: a rank has no memory for aggregates of blocks of "
            "equal length (%s); they use the general schedule",
            m->pattern == CTN_PATTERN_ALLGATHER ? "allgather" : "alltoall");
    }
    return CATENA_OK;
}

catena_status_t ctn_schedule_aggregated_uniform(ctn_leading_t *leading,
                                                ctn_pattern_t pattern,
                                                ctn_schedule_t **schedule)
{
    catena_neighborhood_t *neighborhood = leading->neighborhood;
    making_t m = {
        .leading = leading,
        .pattern = pattern,
        .aggregates = calloc(1, sizeof(*m.aggregates)),
        .builder = {.neighborhood = neighborhood, .own_links = true},
    };
    *schedule = NULL;
    m.status = m.aggregates != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
    list_led(&m, &leading->led_out, false);
    list_led(&m, &leading->led_in, true);
    bool possible = false;
    catena_status_t status = agree(&m, &possible);
    if (possible) {
        status = connect(&m);
        status = status == CATENA_OK ? finish(&m, schedule) : status;
    }
    if (status == CATENA_ERR_NO_MEMORY) {
        status = go_without_aggregates(&m);
    }
    ctn_vector_drop(&m.led);
    if (*schedule == NULL && m.aggregates != NULL) {
        ctn_failure_free(neighborhood->exec, neighborhood->sequence.failure,
                         m.aggregates->memory);
        ctn_neighbor_aggregates_free(m.aggregates);
    }
    return status;
}
