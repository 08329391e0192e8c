/* NBR-4. Everything from one node to another is one message. For each other
 * node with which a node has edges, one of the ranks that have these edges is
 * the leader. So a node may have several leaders, each for different nodes.
 * Since a leader has edges, it runs the operation if the graph is connected.
 *
 * Rounds: 3. To the leaders on the node, together with messages on the node;
 * between leaders; from the leaders. Messages between nodes: one for each pair
 * of nodes with edges from one to the other. Blocks between nodes: one for each
 * edge, or if all targets get the same block, one for each source and node with
 * targets of it. Memory: the blocks that a leader forwards. */

#include <stdlib.h>

#include "core/vector.h"
#include "neighbor/schedule/aggregate.h"
#include "neighbor/schedule/builder.h"

/** The schedule under construction. */
typedef struct aggregation {
    const catena_neighborhood_t *neighborhood;
    ctn_pattern_t pattern;
    ctn_leading_t leading;
    ctn_schedule_builder_t builder;
    ctn_vector_t stops; /* stop_t */
} aggregation_t;

enum { TO_LEADERS, BETWEEN_LEADERS, FROM_LEADERS, ROUNDS };

#define NONE UINT32_MAX

/** The message that takes a block to this rank or from it. */
typedef struct hop {
    uint32_t round; /* NONE: no message does */
    uint32_t peer;  /* rank at the other end */
} hop_t;

#define NO_HOP ((hop_t){NONE, NONE})

/** A stop of the block of an edge at this rank, on its way from the source to
 * the target. If all targets get the same block, the edges in one message with
 * the same source share a block. */
typedef struct stop {
    hop_t hop[2];          /* by ctn_message_end_t */
    uint32_t source;       /* of the edge */
    uint32_t source_index; /* of the edge in the source's list of targets */
    int weight;            /* of the edge */
    uint32_t index; /* of the block in the receive buffer, if this rank is the
                       target; else NONE */
    ctn_block_ref_t where; /* where the block lies at this rank; unless it is
                              received, it is there from the start */
} stop_t;

/* ---- messages ---- */

/** Sorts stops by message, then by source, then by target of the source: both
 * ends find the same order of blocks. */
static int by_message(const void *a, const void *b, void *argument)
{
    const stop_t *x = a;
    const stop_t *y = b;
    const ctn_message_end_t *way = argument;
    const uint32_t p[] = {x->hop[*way].round, x->hop[*way].peer, x->source,
                          x->source_index};
    const uint32_t q[] = {y->hop[*way].round, y->hop[*way].peer, y->source,
                          y->source_index};
    return ctn_compare_words(p, q, 4);
}

static bool same_message(const stop_t *x, const stop_t *y,
                         ctn_message_end_t way)
{
    return x->hop[way].round == y->hop[way].round &&
           x->hop[way].peer == y->hop[way].peer;
}

/** Chooses where a received block goes that `count` stops share. */
static void place_block(aggregation_t *a, stop_t *stop, uint32_t count)
{
    uint32_t next = stop->hop[CTN_RECEIVES].round + 1;
    ctn_block_ref_t place = {CTN_BLOCK_STAGED, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (stop[i].index != NONE) {
            ctn_schedule_builder_receive(&a->builder, stop[i].index, next,
                                         &place);
        }
    }
    if (place.of == CTN_BLOCK_STAGED) {
        place = ctn_schedule_builder_staged(&a->builder);
    }
    for (uint32_t i = 0; i < count; i++) {
        stop[i].where = place;
    }
}

/** Adds the block that `count` stops share to the last message. */
static void add_block(aggregation_t *a, ctn_message_end_t way, stop_t *stop,
                      uint32_t count)
{
    int weight = 0;
    for (uint32_t i = 0; i < count; i++) {
        weight = weight > stop[i].weight ? weight : stop[i].weight;
    }
    if (way == CTN_RECEIVES) {
        place_block(a, stop, count);
    }
    ctn_schedule_builder_block(&a->builder, stop->where, weight);
}

/** Builds the messages that this rank sends in all rounds, or those that it
 * receives. */
static void add_messages(aggregation_t *a, ctn_message_end_t way)
{
    stop_t *stop = a->stops.item;
    size_t count = a->stops.count;
    if (count > 1) {
        qsort_r(stop, count, sizeof(*stop), by_message, &way);
    }
    size_t end;
    for (size_t i = 0; i < count && stop[i].hop[way].round != NONE; i = end) {
        end = i + 1;
        while (a->pattern == CTN_PATTERN_ALLGATHER && end < count &&
               same_message(&stop[end], &stop[i], way) &&
               stop[end].source == stop[i].source) {
            end++;
        }
        if (i == 0 || !same_message(&stop[i - 1], &stop[i], way)) {
            ctn_schedule_builder_message(&a->builder, way,
                                         stop[i].hop[way].peer,
                                         stop[i].hop[way].round);
        }
        add_block(a, way, &stop[i], (uint32_t)(end - i));
    }
}

/* ---- stops ---- */

static void add(aggregation_t *a, stop_t stop)
{
    ctn_vector_put(&a->stops, &stop, sizeof(stop), &a->builder.status);
}

/** The block of the send buffer for target `index`. */
static ctn_block_ref_t own_block(const aggregation_t *a, uint32_t index)
{
    bool gathers = a->pattern == CTN_PATTERN_ALLGATHER;
    return (ctn_block_ref_t){CTN_BLOCK_SEND, gathers ? 0 : index};
}

/** The rank on this node that this rank exchanges the blocks of an edge with:
 * its other end, or the leader. */
static uint32_t peer_of(const aggregation_t *a, const ctn_edge_t *edge)
{
    return ctn_leading_is_remote(&a->leading, edge)
               ? ctn_leading_for(&a->leading.leaders, edge->node)
               : (uint32_t)edge->rank;
}

/** The edges from this rank, but those that it leads for. */
static void add_targets(aggregation_t *a)
{
    for (uint32_t i = 0; i < a->neighborhood->targets; i++) {
        const ctn_edge_t *edge = &a->neighborhood->target[i];
        ctn_block_ref_t block = own_block(a, i);
        if (edge->rank == CATENA_PROC_NULL) {
            continue;
        }
        if (edge->link == CTN_NO_LINK) {
            ctn_schedule_builder_receive(&a->builder, edge->peer_index, 0,
                                         &block);
        } else if (peer_of(a, edge) != a->leading.rank) {
            add(a,
                (stop_t){.hop = {[CTN_SENDS] = {TO_LEADERS, peer_of(a, edge)},
                                 [CTN_RECEIVES] = NO_HOP},
                         .source = a->leading.rank,
                         .source_index = i,
                         .weight = edge->weight,
                         .index = NONE,
                         .where = block});
        }
    }
}

/** The edges to this rank, but those that it leads for. */
static void add_sources(aggregation_t *a)
{
    for (uint32_t i = 0; i < a->neighborhood->sources; i++) {
        const ctn_edge_t *edge = &a->neighborhood->source[i];
        bool remote = ctn_leading_is_remote(&a->leading, edge);
        if (edge->link != CTN_NO_LINK && peer_of(a, edge) != a->leading.rank) {
            add(a, (stop_t){.hop = {[CTN_SENDS] = NO_HOP,
                                    [CTN_RECEIVES] = {remote ? FROM_LEADERS
                                                             : TO_LEADERS,
                                                      peer_of(a, edge)}},
                            .source = (uint32_t)edge->rank,
                            .source_index = edge->peer_index,
                            .weight = edge->weight,
                            .index = i});
        }
    }
}

/** The edges between nodes that this rank leads for: those from this node, or
 * those to it. */
static void add_led(aggregation_t *a, const ctn_vector_t *leds, bool out)
{
    const ctn_lead_record_t *led = leds->item;
    for (size_t i = 0; i < leds->count; i++, led++) {
        uint32_t other = ctn_leading_for(&a->leading.others, led->node);
        uint32_t end = out ? led->source : led->target; /* on this node */
        bool own = end == a->leading.rank;
        hop_t between = {BETWEEN_LEADERS, other};
        hop_t on_node =
            own ? NO_HOP : (hop_t){out ? TO_LEADERS : FROM_LEADERS, end};
        add(a, (stop_t){.hop = {[CTN_SENDS] = out ? between : on_node,
                                [CTN_RECEIVES] = out ? on_node : between},
                        .source = led->source,
                        .source_index = led->source_index,
                        .weight = led->weight,
                        .index = own && !out ? led->target_index : NONE,
                        .where = own_block(a, led->source_index)});
    }
}

/* ---- all rounds ---- */

/** The receives come first, since they set where the blocks lie that are sent
 * in later rounds. */
static void build(aggregation_t *a)
{
    a->builder.rounds = ROUNDS;
    add_targets(a);
    add_sources(a);
    add_led(a, &a->leading.led_out, true);
    add_led(a, &a->leading.led_in, false);
    add_messages(a, CTN_RECEIVES);
    add_messages(a, CTN_SENDS);
    ctn_vector_drop(&a->stops);
}

catena_status_t ctn_schedule_aggregated(catena_neighborhood_t *neighborhood,
                                        ctn_pattern_t pattern,
                                        ctn_schedule_t **schedule)
{
    *schedule = NULL;
    if (neighborhood->graph_facts.nodes < 2 ||
        !neighborhood->graph_facts.connected) {
        return CATENA_OK;
    }
    aggregation_t a = {
        .neighborhood = neighborhood,
        .pattern = pattern,
        .builder = {.neighborhood = neighborhood, .own_links = true},
    };
    ctn_leading_find(neighborhood, &a.leading);
    a.builder.status = a.leading.status;
    if (a.builder.status == CATENA_OK) {
        build(&a);
    }
    catena_status_t status = ctn_schedule_builder_finish(
        &a.builder, CTN_NEIGHBOR_AGGREGATED, pattern, false, schedule);
    if (status == CATENA_OK) {
        status = ctn_schedule_aggregated_uniform(&a.leading, pattern,
                                                 &(*schedule)->uniform);
    }
    ctn_leading_drop(&a.leading);
    return status;
}
