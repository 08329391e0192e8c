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
} aggregation_t;

/* ---- messages ---- */

/** What one edge adds to a message. If all targets get the same block, the
 * items of one message with the same source share a block. */
typedef struct item {
    uint32_t peer;         /* rank at the other end of the message */
    uint32_t source;       /* of the edge */
    uint32_t source_index; /* of the edge in the source's list of targets */
    int weight;            /* of the edge */
    bool ends;      /* of a receive: the block is for this rank, which is the
                       target of the edge */
    uint32_t index; /* if it ends: block of the receive buffer */
    /* Where the block lies at this rank: set by a receive, used by the send of
     * a later round. NULL: a receive need not keep it, a send uses `from`. */
    ctn_block_ref_t *where;
    ctn_block_ref_t from;
} item_t;

/** Sorts items by message, then by source, then by target of the source. */
static int by_message(const void *a, const void *b)
{
    const item_t *x = a;
    const item_t *y = b;
    if (x->peer != y->peer) {
        return x->peer < y->peer ? -1 : 1;
    }
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    return (x->source_index > y->source_index) -
           (x->source_index < y->source_index);
}

/** Chooses where a received block goes that `count` items share. */
static ctn_block_ref_t place_block(aggregation_t *a, const item_t *item,
                                   uint32_t count, uint32_t round)
{
    ctn_block_ref_t place = {CTN_BLOCK_STAGED, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (item[i].ends) {
            ctn_schedule_builder_receive(&a->builder, item[i].index, round + 1,
                                         &place);
        }
    }
    if (place.of == CTN_BLOCK_STAGED) {
        place = ctn_schedule_builder_staged(&a->builder);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (item[i].where != NULL) {
            *item[i].where = place;
        }
    }
    return place;
}

/** Adds the block that `count` items share to the last message. */
static void add_block(aggregation_t *a, ctn_message_end_t way, uint32_t round,
                      const item_t *item, uint32_t count)
{
    int weight = 0;
    for (uint32_t i = 0; i < count; i++) {
        weight = weight > item[i].weight ? weight : item[i].weight;
    }
    ctn_block_ref_t block = way == CTN_RECEIVES
                                ? place_block(a, item, count, round)
                            : item[0].where != NULL ? *item[0].where
                                                    : item[0].from;
    ctn_schedule_builder_block(&a->builder, block, weight);
}

/** Builds the messages that this rank sends, or those that it receives, in a
 * round. Frees the items. Both ends find the same order of blocks. */
static void add_messages(aggregation_t *a, ctn_message_end_t way,
                         uint32_t round, ctn_vector_t *items)
{
    ctn_vector_sort(items, sizeof(item_t), by_message);
    const item_t *item = items->item;
    uint32_t end;
    for (uint32_t i = 0; i < items->count; i = end) {
        end = i + 1;
        while (a->pattern == CTN_PATTERN_ALLGATHER && end < items->count &&
               item[end].peer == item[i].peer &&
               item[end].source == item[i].source) {
            end++;
        }
        if (i == 0 || item[i - 1].peer != item[i].peer) {
            ctn_schedule_builder_message(&a->builder, way, item[i].peer, round);
        }
        add_block(a, way, round, &item[i], end - i);
    }
    ctn_vector_drop(items);
}

/** Adds an item. */
static void add(aggregation_t *a, ctn_vector_t *items, item_t item)
{
    ctn_vector_put(items, &item, sizeof(item), &a->builder.status);
}

/** Adds the item of an edge that this rank leads for. */
static void add_led(aggregation_t *a, ctn_vector_t *items, ctn_led_t *led,
                    uint32_t peer)
{
    add(a, items,
        (item_t){.peer = peer,
                 .source = led->edge.source,
                 .source_index = led->edge.source_index,
                 .weight = led->edge.weight,
                 .ends = led->edge.target == a->leading.rank,
                 .index = led->edge.target_index,
                 .where = &led->where});
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

/** Adds the items of this rank's sources on this node, or on others. */
static void add_sources(aggregation_t *a, ctn_vector_t *items, bool remote)
{
    const catena_neighborhood_t *neighborhood = a->neighborhood;
    for (uint32_t i = 0; i < neighborhood->sources; i++) {
        const ctn_edge_t *edge = &neighborhood->source[i];
        if (edge->link != CTN_NO_LINK &&
            ctn_leading_is_remote(&a->leading, edge) == remote &&
            peer_of(a, edge) != a->leading.rank) {
            add(a, items,
                (item_t){.peer = peer_of(a, edge),
                         .source = (uint32_t)edge->rank,
                         .source_index = edge->peer_index,
                         .weight = edge->weight,
                         .ends = true,
                         .index = i});
        }
    }
}

/* ---- round 0: on the node ---- */

/** What this rank sends to ranks on its node: to targets, and to leaders. */
static void send_on_node(aggregation_t *a)
{
    const catena_neighborhood_t *neighborhood = a->neighborhood;
    ctn_vector_t items = {0};
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        ctn_block_ref_t block = own_block(a, i);
        if (edge->rank == CATENA_PROC_NULL) {
            continue;
        }
        if (edge->link == CTN_NO_LINK) {
            ctn_schedule_builder_receive(&a->builder, edge->peer_index, 0,
                                         &block);
        } else if (peer_of(a, edge) != a->leading.rank) {
            add(a, &items,
                (item_t){.peer = peer_of(a, edge),
                         .source = a->leading.rank,
                         .source_index = i,
                         .weight = edge->weight,
                         .from = block});
        }
    }
    add_messages(a, CTN_SENDS, 0, &items);
}

/** What this rank receives from its node: from its sources, and as leader. */
static void receive_on_node(aggregation_t *a)
{
    ctn_vector_t items = {0};
    add_sources(a, &items, false);
    ctn_led_t *led = a->leading.led_out.item;
    for (uint32_t i = 0; i < a->leading.led_out.count; i++, led++) {
        if (led->edge.source == a->leading.rank) {
            led->where = own_block(a, led->edge.source_index);
        } else {
            add_led(a, &items, led, led->edge.source);
        }
    }
    add_messages(a, CTN_RECEIVES, 0, &items);
}

/* ---- round 1: between leaders ---- */

/** The messages of this rank as leader: sends for led_out, receives for led_in.
 */
static void exchange(aggregation_t *a, ctn_message_end_t way,
                     ctn_vector_t *leds)
{
    ctn_vector_t items = {0};
    ctn_led_t *led = leds->item;
    for (uint32_t i = 0; i < leds->count; i++, led++) {
        add_led(a, &items, led,
                ctn_leading_for(&a->leading.others, led->edge.node));
    }
    add_messages(a, way, 1, &items);
}

/* ---- round 2: on the node ---- */

static void send_from_leader(aggregation_t *a)
{
    ctn_vector_t items = {0};
    ctn_led_t *led = a->leading.led_in.item;
    for (uint32_t i = 0; i < a->leading.led_in.count; i++, led++) {
        if (led->edge.target != a->leading.rank) {
            add_led(a, &items, led, led->edge.target);
        }
    }
    add_messages(a, CTN_SENDS, 2, &items);
}

/** What this rank receives from leaders on its node. */
static void receive_from_leaders(aggregation_t *a)
{
    ctn_vector_t items = {0};
    add_sources(a, &items, true);
    add_messages(a, CTN_RECEIVES, 2, &items);
}

/* ---- all rounds ---- */

static void build(aggregation_t *a)
{
    a->builder.rounds = 3;
    send_on_node(a);
    receive_on_node(a);
    exchange(a, CTN_SENDS, &a->leading.led_out);
    exchange(a, CTN_RECEIVES, &a->leading.led_in);
    send_from_leader(a);
    receive_from_leaders(a);
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
