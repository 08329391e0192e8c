/* NBR-3. J. L. Traeff, A. Carpen-Amarie, S. Hunold, A. Rougier,
 * Message-combining algorithms for isomorphic, sparse collective communication,
 * arXiv 1606.07676, 2016, sections 3 and 4.
 *
 * All ranks have edges along the same displacement vectors. A block for vector
 * v travels along one dimension after the other, v_d in dimension d. All blocks
 * at a rank with the same v_d in a dimension are one message. Rounds: one per
 * dimension. Messages: the different v_d of each dimension, so 4 in two
 * dimensions and 6 in three, with or without diagonals. Blocks sent: the number
 * of nonzero v_d, over all vectors; if all targets get the same block, one for
 * each edge of the tree of the vectors' prefixes. Scratch: the blocks that are
 * forwarded.
 *
 * Unlike in the paper, borders may be open: then the blocks of some origins are
 * missing, which both ends of a message know. If a vector fits into a box, so
 * does all of its path. Vectors that are equal along a ring travel as one.
 * Forwarding ranks must take part in the operation, so the algorithm requires
 * graphs in which they do. */

#include <stdlib.h>

#include "neighbor/grid/displacements.h"
#include "neighbor/grid/edges.h"
#include "neighbor/schedule/builder.h"

typedef struct combine {
    ctn_schedule_builder_t builder;
    ctn_displacements_t displacements;
    ctn_pattern_t pattern;
    int *dimension; /* [steps] in the order of travel */
    int steps;      /* dimensions with a nonzero displacement */
    uint32_t places;
    uint32_t *order;  /* [places] vectors that fit anywhere, those with the
                         same prefix together */
    uint32_t *shared; /* [place in order]: length of the prefix it shares
                         with the one before */
    ctn_block_ref_t *where; /* [place in order]: location of its block, of
                               this rank or of another rank */
    int *origin;            /* [ndims], scratch */
} combine_t;

/* ---- order ---- */

static int hop_of(const combine_t *c, uint32_t displacement, int step)
{
    return ctn_displacement(&c->displacements,
                            displacement)[c->dimension[step]];
}

/** Different displacements along a dimension. */
static uint32_t count_hops(const combine_t *c, int dimension)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->places; i++) {
        int hop = ctn_displacement(&c->displacements, c->order[i])[dimension];
        uint32_t j = 0;
        while (j < i && ctn_displacement(&c->displacements,
                                         c->order[j])[dimension] != hop) {
            j++;
        }
        count += j == i && hop != 0;
    }
    return count;
}

/** Dimensions with few different displacements come first: then the tree of the
 * vectors has few edges (section 4). */
static catena_status_t order_dimensions(combine_t *c)
{
    int ndims = c->displacements.ndims;
    uint32_t *hops = malloc(((size_t)ndims + 1) * sizeof(*hops));
    if (hops == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (int d = 0; d < ndims; d++) {
        hops[d] = count_hops(c, d);
        if (hops[d] == 0) {
            continue;
        }
        int at = c->steps++;
        while (at > 0 && hops[c->dimension[at - 1]] > hops[d]) {
            c->dimension[at] = c->dimension[at - 1];
            at--;
        }
        c->dimension[at] = d;
    }
    free(hops);
    return CATENA_OK;
}

static int compare_displacements(const void *a, const void *b, void *argument)
{
    const combine_t *c = argument;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    for (int step = 0; step < c->steps; step++) {
        int p = hop_of(c, x, step);
        int q = hop_of(c, y, step);
        if (p != q) {
            return p < q ? -1 : 1;
        }
    }
    return x < y ? -1 : 1;
}

static catena_status_t prepare(combine_t *c)
{
    size_t count = (size_t)c->displacements.count + 1;
    size_t ndims = (size_t)c->displacements.ndims + 1;
    c->dimension = malloc(ndims * sizeof(*c->dimension));
    c->origin = malloc(ndims * sizeof(*c->origin));
    c->order = malloc(count * sizeof(*c->order));
    c->shared = malloc(count * sizeof(*c->shared));
    c->where = malloc(count * sizeof(*c->where));
    if (c->dimension == NULL || c->origin == NULL || c->order == NULL ||
        c->shared == NULL || c->where == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < c->displacements.count; i++) {
        if (ctn_displacement_fits_anywhere(&c->displacements, i)) {
            c->order[c->places++] = i;
        }
    }
    catena_status_t status = order_dimensions(c);
    if (status != CATENA_OK) {
        return status;
    }
    qsort_r(c->order, c->places, sizeof(*c->order), compare_displacements, c);
    for (uint32_t i = 0; i < c->places; i++) {
        int step = 0;
        while (i > 0 && step < c->steps &&
               hop_of(c, c->order[i], step) ==
                   hop_of(c, c->order[i - 1], step)) {
            step++;
        }
        c->shared[i] = (uint32_t)step;
    }
    return status;
}

static void release(combine_t *c)
{
    ctn_displacements_free(&c->displacements);
    free(c->dimension);
    free(c->origin);
    free(c->order);
    free(c->shared);
    free(c->where);
}

/* ---- blocks ---- */

/** If all targets get the same block, vectors with the same prefix up to and
 * including `step` share a block. Returns the place where the next block
 * begins. */
static uint32_t next_block(const combine_t *c, uint32_t place, int step)
{
    do {
        place++;
    } while (c->pattern == CTN_PATTERN_ALLGATHER && place < c->places &&
             c->shared[place] > (uint32_t)step);
    return place;
}

/** Whether a block that travels along the vectors from `place` up to `end` is
 * at this rank after `steps` steps: whether it has an origin and a target in
 * the grid. */
static bool is_here(const combine_t *c, uint32_t place, uint32_t end, int steps)
{
    const ctn_grid_t *grid = c->displacements.grid;
    for (int d = 0; d < grid->ndims; d++) {
        c->origin[d] = grid->coords[d];
    }
    for (int step = 0; step < steps; step++) {
        int d = c->dimension[step];
        int64_t at =
            (int64_t)grid->coords[d] - hop_of(c, c->order[place], step);
        if (!grid->periods[d] && (at < 0 || at >= grid->dims[d])) {
            return false;
        }
        c->origin[d] =
            (int)((at % grid->dims[d] + grid->dims[d]) % grid->dims[d]);
    }
    for (; place < end; place++) {
        if (ctn_displacement_fits(&c->displacements, c->order[place],
                                  c->origin)) {
            return true;
        }
    }
    return false;
}

/** Whether a vector is complete after `steps` steps. */
static bool is_final(const combine_t *c, uint32_t place, int steps)
{
    for (int step = steps; step < c->steps; step++) {
        if (hop_of(c, c->order[place], step) != 0) {
            return false;
        }
    }
    return true;
}

static ctn_block_ref_t received(const combine_t *c, uint32_t place)
{
    return (ctn_block_ref_t){
        CTN_BLOCK_RECV,
        ctn_displacement_source(&c->displacements, c->order[place])};
}

/** The location of a block that this rank receives in step `steps`. If vectors
 * end here, one receives it and the others get local copies. */
static ctn_block_ref_t place_block(combine_t *c, uint32_t place, uint32_t end,
                                   int steps)
{
    bool ends = false;
    ctn_block_ref_t first = {CTN_BLOCK_STAGED, 0};
    for (uint32_t i = place; i < end; i++) {
        if (is_final(c, i, steps) && ends) {
            ctn_schedule_builder_local_copy(&c->builder, first, received(c, i),
                                            (uint32_t)steps);
        } else if (is_final(c, i, steps)) {
            ends = true;
            first = received(c, i);
        }
    }
    if (!ends) {
        first = ctn_schedule_builder_staged(&c->builder);
    }
    for (uint32_t i = place; i < end; i++) {
        c->where[i] = first;
    }
    return first;
}

/** Locations before the first step. Blocks that stay at this rank are copied.
 */
static void start(combine_t *c)
{
    for (uint32_t i = 0; i < c->places; i++) {
        bool gathers = c->pattern == CTN_PATTERN_ALLGATHER;
        c->where[i] =
            (ctn_block_ref_t){CTN_BLOCK_SEND, gathers ? 0 : c->order[i]};
        if (ctn_displacement_is_zero(&c->displacements, c->order[i])) {
            ctn_schedule_builder_local_copy(&c->builder, c->where[i],
                                            received(c, i), 0);
        }
    }
}

/* ---- messages ---- */

/** The rank that is `hop` away along the dimension of a step. */
static uint32_t rank_away(const combine_t *c, int step, int64_t hop)
{
    const ctn_grid_t *grid = c->displacements.grid;
    int d = c->dimension[step];
    for (int i = 0; i < grid->ndims; i++) {
        c->origin[i] = grid->coords[i];
    }
    int64_t at = (grid->coords[d] + hop) % grid->dims[d];
    c->origin[d] = (int)(at < 0 ? at + grid->dims[d] : at);
    return (uint32_t)ctn_grid_rank(grid, c->origin, NULL, 1);
}

static int heaviest(const combine_t *c, uint32_t place, uint32_t end)
{
    int most = 0;
    for (; place < end; place++) {
        int weight = c->displacements.weight[c->order[place]];
        most = most > weight ? most : weight;
    }
    return most;
}

/** Builds one end of the message of all blocks with displacement `hop` in a
 * step. */
static void add_message(combine_t *c, ctn_message_end_t way, int step, int hop)
{
    bool begun = false;
    int steps = way == CTN_SENDS ? step : step + 1; /* that the blocks have
                                                       made */
    uint32_t end;
    for (uint32_t i = 0; i < c->places; i = end) {
        end = next_block(c, i, step);
        if (hop_of(c, c->order[i], step) != hop || !is_here(c, i, end, steps)) {
            continue;
        }
        if (!begun) {
            int64_t away = way == CTN_SENDS ? hop : -(int64_t)hop;
            ctn_schedule_builder_message(
                &c->builder, way, rank_away(c, step, away), (uint32_t)step);
            begun = true;
        }
        ctn_block_ref_t block =
            way == CTN_SENDS ? c->where[i] : place_block(c, i, end, steps);
        ctn_schedule_builder_block(&c->builder, block, heaviest(c, i, end));
    }
}

/** Whether a displacement appears first at this place of the order. */
static bool is_new(const combine_t *c, uint32_t place, int step)
{
    int hop = hop_of(c, c->order[place], step);
    for (uint32_t i = 0; i < place; i++) {
        if (hop_of(c, c->order[i], step) == hop) {
            return false;
        }
    }
    return hop != 0;
}

/** The sends of a step come first: their blocks are here before it. */
static void add_step(combine_t *c, int step)
{
    for (ctn_message_end_t way = CTN_SENDS; way <= CTN_RECEIVES; way++) {
        for (uint32_t i = 0; i < c->places; i++) {
            if (is_new(c, i, step)) {
                add_message(c, way, step, hop_of(c, c->order[i], step));
            }
        }
    }
}

/* ---- */

/** Whether blocks pass this rank although it has no edge to another: it may
 * never start the operation. With edges it does, if the graph is connected. */
static bool is_in_the_way(const combine_t *c)
{
    const catena_neighborhood_t *neighborhood = c->builder.neighborhood;
    bool connected = neighborhood->graph_facts.connected &&
                     neighborhood->outs + neighborhood->ins > 0;
    return c->builder.staged > 0 && !connected;
}

catena_status_t ctn_schedule_combining(catena_neighborhood_t *neighborhood,
                                       ctn_pattern_t pattern,
                                       ctn_schedule_t **schedule)
{
    *schedule = NULL;
    if (neighborhood->grid == NULL) {
        return CATENA_OK;
    }
    combine_t c = {.builder = {.neighborhood = neighborhood, .own_links = true},
                   .pattern = pattern};
    catena_status_t status =
        ctn_displacements_make(neighborhood, &c.displacements);
    if (status != CATENA_OK) {
        return status;
    }
    c.builder.status = prepare(&c);
    if (c.builder.status == CATENA_OK) {
        start(&c);
        for (int step = 0; step < c.steps; step++) {
            add_step(&c, step);
        }
        c.builder.rounds = (uint32_t)c.steps;
    }
    status = ctn_schedule_builder_finish(&c.builder, CTN_NEIGHBOR_COMBINING,
                                         pattern, is_in_the_way(&c), schedule);
    release(&c);
    return status;
}
