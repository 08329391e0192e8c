/* NBR-2. Rounds in which each rank sends at most one message and receives at
 * most one: an edge coloring, in which the edges from one rank differ and the
 * edges to one rank differ. [Hoefler], "Sparse Collective Operations", slides
 * "Optimization Potential" and "Weighted Performance": messages that share no
 * end do not hinder each other; heavy ones should share rounds, since a round
 * takes as long as its heaviest message.
 *
 * Rank 0 gathers the edges and colors them greedily, the heaviest first, each
 * with the lowest color that no edge from the same rank and no edge to the same
 * rank has. At most 2 d - 1 colors for degree d; d if all weights are equal and
 * no rank is the k-th target of two ranks, for any k.
 *
 * Grids: a color for each direction. In a round all ranks send in one direction
 * and receive from the opposite one, so in periodic dimensions the number of
 * rounds, and of heavy rounds, is minimal. Between open borders directions
 * share a round if no rank has edges along both.
 *
 * Two sparse exchanges. At rank 0 O(edges) memory, and two bits for each rank
 * and color; at others O(degree), and what the exchanges carry through them: up
 * to half of the edges. */

#include <stdlib.h>

#include "neighbor/create/sparse_exchange.h"
#include "neighbor/schedule/builder.h"

/** An edge, from its sender to rank 0. */
typedef struct colored_edge {
    uint32_t to, from; /* for ctn_sparse_exchange */
    uint32_t index;    /* in the sender's list of targets; in a grid that is the
                          direction */
    uint32_t target;   /* rank */
    uint32_t peer_index; /* in the target's list of sources */
    uint32_t weight;
} colored_edge_t;

/** Its color, from rank 0 to both ends. */
typedef struct color_record {
    uint32_t to, from;  /* for ctn_sparse_exchange */
    uint32_t is_target; /* the edge is in the receiver's list of targets */
    uint32_t index;     /* in that list */
    uint32_t color;
} color_record_t;

/** The colors of the edges of each rank: sets of colors, [size][words] with a
 * bit for each color. */
typedef struct color_sets {
    size_t words;
    uint64_t *sends;    /* of the edges from a rank */
    uint64_t *receives; /* of the edges to a rank */
} color_sets_t;

/* ---- at rank 0 ---- */

/** Sorts edges, the heaviest first, then by index, then by sender. */
static int heaviest_first(const void *a, const void *b)
{
    const colored_edge_t *x = a;
    const colored_edge_t *y = b;
    return ctn_compare_words((const uint32_t[]){y->weight, x->index, x->from},
                             (const uint32_t[]){x->weight, y->index, y->from},
                             3);
}

/** Grids: gives all edges of a direction the weight of the heaviest. All ranks
 * have the same directions. */
static catena_status_t level(const catena_neighborhood_t *neighborhood,
                             ctn_vector_t *edges)
{
    colored_edge_t *edge = edges->item;
    uint32_t *most = calloc(neighborhood->targets + 1u, sizeof(*most));
    if (most == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < edges->count; i++) {
        uint32_t *heaviest = &most[edge[i].index];
        *heaviest = edge[i].weight > *heaviest ? edge[i].weight : *heaviest;
    }
    for (size_t i = 0; i < edges->count; i++) {
        edge[i].weight = most[edge[i].index];
    }
    free(most);
    return CATENA_OK;
}

/** The lowest color that all these edges may have. There are more colors than
 * edges that share an end with one of them, and than directions. */
static uint32_t lowest_free(const color_sets_t *sets,
                            const colored_edge_t *edge, size_t count)
{
    uint64_t taken = UINT64_MAX;
    uint32_t word = 0;
    for (; taken == UINT64_MAX; word++) {
        taken = 0;
        for (size_t i = 0; i < count; i++) {
            taken |= sets->sends[edge[i].from * sets->words + word] |
                     sets->receives[edge[i].target * sets->words + word];
        }
    }
    return (word - 1) * 64 + (uint32_t)__builtin_ctzll(~taken);
}

/** Gives a color to an edge. */
static void give(const color_sets_t *sets, const colored_edge_t *edge,
                 uint32_t color, ctn_vector_t *records, catena_status_t *status)
{
    uint64_t bit = UINT64_C(1) << color % 64;
    sets->sends[edge->from * sets->words + color / 64] |= bit;
    sets->receives[edge->target * sets->words + color / 64] |= bit;
    const color_record_t ends[] = {
        {edge->from, 0, true, edge->index, color},
        {edge->target, 0, false, edge->peer_index, color}};
    ctn_vector_put(records, &ends[0], sizeof(ends[0]), status);
    ctn_vector_put(records, &ends[1], sizeof(ends[1]), status);
}

/** Colors all edges, and makes the records for their ends. */
static catena_status_t color(const catena_neighborhood_t *neighborhood,
                             ctn_vector_t *edges, ctn_vector_t *records)
{
    bool grid = neighborhood->grid != NULL;
    catena_status_t status = grid ? level(neighborhood, edges) : CATENA_OK;
    color_sets_t sets = {
        .words = 2 * (size_t)neighborhood->graph_facts.most_degree / 64 + 1};
    size_t words = neighborhood->group->chain.place.size * sets.words;
    sets.sends = calloc(2 * words, sizeof(*sets.sends));
    if (sets.sends == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    sets.receives = sets.sends + words;
    ctn_vector_sort(edges, sizeof(colored_edge_t), heaviest_first);
    const colored_edge_t *edge = edges->item;
    size_t end;
    for (size_t i = 0; status == CATENA_OK && i < edges->count; i = end) {
        end = i + 1;
        while (grid && end < edges->count && edge[end].index == edge[i].index) {
            end++;
        }
        uint32_t lowest = lowest_free(&sets, &edge[i], end - i);
        for (size_t k = i; k < end; k++) {
            give(&sets, &edge[k], lowest, records, &status);
        }
    }
    free(sets.sends);
    return status;
}

/* ---- all ranks ---- */

/** Sets the rounds of all edges. @return this rank's status */
static catena_status_t set_rounds(catena_neighborhood_t *neighborhood)
{
    catena_group_t *group = neighborhood->group;
    catena_status_t status = CATENA_OK;
    ctn_vector_t edges = {0};
    ctn_vector_t records = {0};
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        if (edge->link != CTN_NO_LINK) {
            ctn_vector_put(&edges,
                           &(colored_edge_t){.index = i,
                                             .target = (uint32_t)edge->rank,
                                             .peer_index = edge->peer_index,
                                             .weight = (uint32_t)edge->weight},
                           sizeof(colored_edge_t), &status);
        }
    }
    status = ctn_sparse_exchange(group, status, &edges, sizeof(colored_edge_t));
    if (status == CATENA_OK && edges.count > 0) {
        status = color(neighborhood, &edges, &records);
    }
    ctn_vector_drop(&edges);
    status =
        ctn_sparse_exchange(group, status, &records, sizeof(color_record_t));
    const color_record_t *record = records.item;
    for (size_t i = 0; i < records.count; i++, record++) {
        ctn_edge_t *edge =
            record->is_target ? neighborhood->target : neighborhood->source;
        edge[record->index].round = record->color;
    }
    ctn_vector_drop(&records);
    return status;
}

catena_status_t ctn_schedule_colored(catena_neighborhood_t *neighborhood,
                                     ctn_pattern_t pattern,
                                     ctn_schedule_t **schedule)
{
    ctn_schedule_t *const *made = neighborhood->schedule[CTN_NEIGHBOR_COLORED];
    bool is_colored = made[CTN_PATTERN_ALLTOALL] || made[CTN_PATTERN_ALLGATHER];
    ctn_schedule_builder_t builder = {.neighborhood = neighborhood};
    builder.status = is_colored ? CATENA_OK : set_rounds(neighborhood);
    if (builder.status == CATENA_OK) {
        ctn_schedule_builder_edges(&builder, pattern, CTN_EDGES_COLORED);
    }
    return ctn_schedule_builder_finish(&builder, CTN_NEIGHBOR_COLORED, pattern,
                                       false, schedule);
}
