/* NBR-2. Rounds in which each rank sends at most one message and receives at
 * most one: an edge coloring, in which the edges from one rank differ and the
 * edges to one rank differ. [Hoefler], "Sparse Collective Operations", slides
 * "Optimization Potential" and "Weighted Performance": messages that share no
 * end do not hinder each other; heavy ones should share rounds, since a round
 * takes as long as its heaviest message.
 *
 * Rank 0 gathers the edges and colors them (edge_coloring.c), the heaviest
 * first, with as many colors as the greatest number of edges from a rank or to
 * a rank. Colors with heavier edges come first.
 *
 * Grids: a color for each direction, unless there are more directions than
 * that, or weights differ within a direction. In a round all ranks send in one
 * direction and receive from the opposite one, so in periodic dimensions the
 * number of rounds, and of heavy rounds, is minimal. Between open borders
 * directions share a round if no rank has edges along both.
 *
 * Two sparse exchanges. At rank 0 O(edges) memory; at others O(degree), and
 * what the exchanges carry through them: up to half of the edges. */

#include <stdlib.h>

#include "neighbor/create/sparse_exchange.h"
#include "neighbor/schedule/builder.h"
#include "neighbor/schedule/edge_coloring.h"
#include "neighbor/schedule/port_time.h"
#include "neighbor/schedule/select.h"

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

/** Whether all edges of each direction of a grid have the same weight, as
 * color_directions needs it. All ranks have the same directions. */
static bool has_even_directions(const catena_neighborhood_t *neighborhood,
                                const ctn_vector_t *edges,
                                catena_status_t *status)
{
    const colored_edge_t *edge = edges->item;
    const colored_edge_t **first =
        calloc(neighborhood->targets + 1u, sizeof(const colored_edge_t *));
    bool even = first != NULL;
    if (first == NULL) {
        *status = CATENA_ERR_NO_MEMORY;
        return false;
    }
    for (size_t i = 0; i < edges->count && even; i++) {
        const colored_edge_t **of = &first[edge[i].index];
        *of = *of != NULL ? *of : &edge[i];
        even = edge[i].weight == (*of)->weight;
    }
    free((void *)first);
    return even;
}

/** Where directions may share a color: which colors the edges of each rank
 * have. */
typedef struct direction_colors {
    size_t ranks;
    size_t words;    /* of a set of colors */
    uint64_t *taken; /* [2 * ranks][words] of senders, then of receivers */
    uint32_t count;  /* of colors */
} direction_colors_t;

/** The sets of colors of both ends of an edge. */
static void sets_of(const direction_colors_t *colors,
                    const ctn_bipartite_edge_t *edge, uint64_t *sets[2])
{
    sets[0] = &colors->taken[edge->from * colors->words];
    sets[1] = &colors->taken[(colors->ranks + edge->to) * colors->words];
}

/** Gives the edges of a direction the lowest color that all of them may have.
 */
static void color_direction(direction_colors_t *colors,
                            ctn_bipartite_edge_t *edge, size_t count)
{
    uint64_t *sets[2];
    uint64_t taken = UINT64_MAX;
    uint32_t word = 0;
    for (; taken == UINT64_MAX; word++) {
        taken = 0;
        for (size_t i = 0; i < count; i++) {
            sets_of(colors, &edge[i], sets);
            taken |= sets[0][word] | sets[1][word];
        }
    }
    word--;
    uint32_t color = word * 64 + (uint32_t)__builtin_ctzll(~taken);
    for (size_t i = 0; i < count; i++) {
        sets_of(colors, &edge[i], sets);
        sets[0][word] |= UINT64_C(1) << color % 64;
        sets[1][word] |= UINT64_C(1) << color % 64;
        edge[i].color = color;
    }
    colors->count = color >= colors->count ? color + 1 : colors->count;
}

/** Grids: colors the edges, which are the heaviest first, by directions. All
 * edges of a direction have the same weight.
 * @param[in]  edges  where they came from
 * @param[out] colors their number */
static catena_status_t color_directions(size_t ranks, uint32_t directions,
                                        const colored_edge_t *edges,
                                        ctn_bipartite_edge_t *edge,
                                        size_t count, uint32_t *colors)
{
    /* No color is above the number of directions. */
    direction_colors_t made = {.ranks = ranks, .words = directions / 64 + 1};
    made.taken = calloc(2 * ranks * made.words, sizeof(*made.taken));
    if (made.taken == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    size_t end;
    for (size_t i = 0; i < count; i = end) {
        end = i + 1;
        while (end < count && edges[end].index == edges[i].index) {
            end++;
        }
        color_direction(&made, &edge[i], end - i);
    }
    free(made.taken);
    *colors = made.count;
    return ctn_edge_colors_order(edge, count, made.count);
}

/** Colors edges, which are the heaviest first.
 * @param by_direction try a color for each direction of the grid first */
static catena_status_t color_edges(const catena_neighborhood_t *neighborhood,
                                   bool by_direction,
                                   const colored_edge_t *edges,
                                   ctn_bipartite_edge_t *edge, size_t count)
{
    size_t ranks = neighborhood->group->chain.place.size;
    catena_status_t status = CATENA_OK;
    uint32_t colors = 0;
    if (by_direction) {
        uint32_t *degree = malloc(2 * ranks * sizeof(*degree));
        status = degree == NULL ? CATENA_ERR_NO_MEMORY
                                : color_directions(ranks, neighborhood->targets,
                                                   edges, edge, count, &colors);
        bool least = status == CATENA_OK &&
                     colors == ctn_edge_degrees(ranks, edge, count, degree);
        free(degree);
        if (least || status != CATENA_OK) {
            return status;
        }
    }
    return ctn_edge_coloring(ranks, edge, count, &colors);
}

/** Copies what the coloring needs of the edges. */
static void copy_edges(const ctn_vector_t *edges, ctn_bipartite_edge_t *edge)
{
    const colored_edge_t *from = edges->item;
    for (size_t i = 0; i < edges->count; i++) {
        edge[i] = (ctn_bipartite_edge_t){.from = from[i].from,
                                         .to = from[i].target,
                                         .weight = from[i].weight};
    }
}

/** Computes the times of ports all at once. The edges are in the order in which
 * ranks send. */
static catena_status_t time_at_once(size_t ranks,
                                    const ctn_bipartite_edge_t *edge,
                                    size_t count, ctn_port_times_t *times)
{
    times->lightest = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        times->lightest =
            edge[i].weight < times->lightest ? edge[i].weight : times->lightest;
    }
    catena_status_t status = CATENA_OK;
    for (int weighed = 0; weighed < 2 && status == CATENA_OK; weighed++) {
        status = ctn_port_time_at_once(ranks, edge, count, weighed > 0,
                                       &times->at_once[weighed]);
    }
    return status;
}

static catena_status_t time_rounds(const ctn_bipartite_edge_t *edge,
                                   size_t count, ctn_port_times_t *times)
{
    uint32_t colors = 0;
    catena_status_t status = CATENA_OK;
    for (size_t i = 0; i < count; i++) {
        colors = edge[i].color >= colors ? edge[i].color + 1 : colors;
    }
    for (int weighed = 0; weighed < 2 && status == CATENA_OK; weighed++) {
        status = ctn_port_time_rounds(edge, count, colors, weighed > 0,
                                      &times->rounds[weighed]);
    }
    return status;
}

/** Colors all edges, and makes the records for their ends.
 * @param times set if the network's buffer is known */
static catena_status_t color(const catena_neighborhood_t *neighborhood,
                             ctn_vector_t *edges, ctn_vector_t *records,
                             ctn_port_times_t *times)
{
    size_t ranks = neighborhood->group->chain.place.size;
    bool timed = neighborhood->chooser->costs.buffer > 0;
    ctn_bipartite_edge_t *edge = malloc(edges->count * sizeof(*edge));
    catena_status_t status = edge == NULL ? CATENA_ERR_NO_MEMORY : CATENA_OK;
    bool by_direction = status == CATENA_OK && neighborhood->grid != NULL &&
                        has_even_directions(neighborhood, edges, &status);
    if (status == CATENA_OK && timed) {
        copy_edges(edges, edge);
        status = time_at_once(ranks, edge, edges->count, times);
    }
    if (status != CATENA_OK) {
        free(edge);
        return status;
    }
    ctn_vector_sort(edges, sizeof(colored_edge_t), heaviest_first);
    const colored_edge_t *from = edges->item;
    copy_edges(edges, edge);
    status = color_edges(neighborhood, by_direction, from, edge, edges->count);
    if (status == CATENA_OK && timed) {
        status = time_rounds(edge, edges->count, times);
    }
    for (size_t i = 0; i < edges->count && status == CATENA_OK; i++) {
        const color_record_t ends[] = {
            {from[i].from, 0, true, from[i].index, edge[i].color},
            {from[i].target, 0, false, from[i].peer_index, edge[i].color}};
        ctn_vector_put(records, &ends[0], sizeof(ends[0]), &status);
        ctn_vector_put(records, &ends[1], sizeof(ends[1]), &status);
    }
    free(edge);
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
    ctn_port_times_t times = {.each = {0}};
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
        status = color(neighborhood, &edges, &records, &times);
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
    if (neighborhood->chooser->costs.buffer > 0) {
        status = ctn_neighbor_agree_maxima(
            group, status, sizeof(times.each) / sizeof(*times.each),
            times.each);
        neighborhood->chooser->port_times = times;
    }
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
