/* NBR-3. J. L. Traeff, A. Carpen-Amarie, S. Hunold, A. Rougier,
 * Message-combining algorithms for isomorphic, sparse collective communication,
 * arXiv 1606.07676, 2016, sections 3 and 4.
 *
 * All ranks have edges along the same displacement vectors. A block for vector
 * v travels along one dimension after the other, v_d in dimension d; each
 * dimension in which blocks move is a step. All blocks at a rank that have the
 * same v_d in a step are one message. Rounds: one per step. Messages: the
 * different nonzero v_d of each dimension, so 4 in two dimensions and 6 in
 * three for neighbors at distance 1, with or without diagonals. Blocks sent:
 * the number of nonzero v_d, over all vectors; if all targets get the same
 * block, one for each edge of the tree of the vectors' prefixes. Memory: the
 * blocks that are forwarded.
 *
 * Unlike in the paper, borders may be open. Then the blocks of some origins are
 * missing, and both ends of a message can tell which: if origin and target of a
 * block are in the grid, so is all of its way. Vectors that lead to the same
 * rank in periodic dimensions travel as one. Forwarding ranks must run the
 * operation, so the algorithm requires that edges connect all ranks with edges,
 * and that no rank without edges forwards. */

#include <stdlib.h>
#include <string.h>

#include "core/region.h"
#include "neighbor/schedule/builder.h"

/** The schedule under construction. Displacement i leads from each rank to its
 * target i; its component along a dimension is a *hop*. Displacements are the
 * same on all ranks; where one would cross an open border, the target is
 * CATENA_PROC_NULL. A `place` is an index in `order`, and stands for a vector;
 * vectors that share a block are adjacent places. */
typedef struct combine {
    ctn_schedule_builder_t builder;
    const ctn_grid_t *grid;
    ctn_pattern_t pattern;
    ctn_region_t region; /* of the arrays */
    int *hop; /* [displacements][ndims]; along a periodic dimension of n places
                 the shortest to the same place, from -(n - 1) / 2 to n / 2 */
    int *dimension;   /* [steps]: the dimension of each step */
    int steps;        /* number of dimensions with a nonzero displacement */
    uint32_t places;  /* their number */
    uint32_t *order;  /* [places]: the displacements that fit anywhere in the
                         grid, those with the same prefix together */
    uint32_t *shared; /* [places]: length, in steps, of the prefix that the
                         vector shares with the one before */
    ctn_block_ref_t *where; /* [places]: where a block that travels along the
                               vector lies at this rank after the steps so far;
                               it is of this rank or of another one */
    int *coords, *way;      /* [ndims]: used by is_here */
} combine_t;

/* ---- displacements ---- */

/** The shortest displacement on a ring of n places; 0 for multiples of n. */
static int shortest(int hop, int n)
{
    hop %= n;
    hop += hop < 0 ? n : 0;
    return hop > n / 2 ? hop - n : hop;
}

/** Displacement i along a dimension, as the caller gave it. */
static int raw_displacement(const ctn_grid_t *grid, uint32_t i, int dimension)
{
    if (grid->ndirs > 0) {
        return grid->displacements[(size_t)i * (size_t)grid->ndims +
                                   (size_t)dimension];
    }
    bool own_dimension = (int)(i / 2) == dimension;
    return !own_dimension ? 0 : i % 2 == 0 ? -1 : 1;
}

/** The hops of displacement i by dimension. */
static int *hops_of(const combine_t *c, uint32_t i)
{
    return &c->hop[(size_t)i * (size_t)c->grid->ndims];
}

/** Sets the hops of displacement i. @return whether it joins two ranks anywhere
 * in the grid */
static bool set_hops(const combine_t *c, uint32_t i)
{
    const ctn_grid_t *grid = c->grid;
    bool fits = true;
    for (int d = 0; d < grid->ndims; d++) {
        int hop = raw_displacement(grid, i, d);
        int most = grid->dims[d] - 1;
        fits = fits && (grid->periods[d] || (hop <= most && hop >= -most));
        hops_of(c, i)[d] = grid->periods[d] ? shortest(hop, most + 1) : hop;
    }
    return fits;
}

/* ---- order ---- */

/** The hop v_d of a displacement v in a step. */
static int hop_of(const combine_t *c, uint32_t displacement, int step)
{
    return hops_of(c, displacement)[c->dimension[step]];
}

/** Number of different nonzero displacements along a dimension. */
static uint32_t count_hops(const combine_t *c, int dimension)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->places; i++) {
        int hop = hops_of(c, c->order[i])[dimension];
        uint32_t j = 0;
        while (j < i && hops_of(c, c->order[j])[dimension] != hop) {
            j++;
        }
        count += j == i && hop != 0;
    }
    return count;
}

/** Dimensions with few different displacements come first: then the tree of the
 * vectors has few edges (section 4).
 * @param hops [ndims] memory */
static void order_dimensions(combine_t *c, uint32_t *hops)
{
    for (int d = 0; d < c->grid->ndims; d++) {
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
}

/** Sorts displacements by their hops in the order of the steps. */
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

/** Sets the arrays except for `where`. */
static catena_status_t prepare(combine_t *c)
{
    uint32_t count = c->builder.neighborhood->targets;
    size_t ndims = (size_t)c->grid->ndims;
    c->hop = ctn_region_take(&c->region, count * ndims, sizeof(*c->hop));
    c->dimension = ctn_region_take(&c->region, ndims, sizeof(*c->dimension));
    c->coords = ctn_region_take(&c->region, ndims, sizeof(*c->coords));
    c->way = ctn_region_take(&c->region, ndims, sizeof(*c->way));
    uint32_t *hops = ctn_region_take(&c->region, ndims, sizeof(*hops));
    c->order = ctn_region_take(&c->region, count, sizeof(*c->order));
    c->shared = ctn_region_take(&c->region, count, sizeof(*c->shared));
    c->where = ctn_region_take(&c->region, count, sizeof(*c->where));
    if (c->region.failed) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (set_hops(c, i)) {
            c->order[c->places++] = i;
        }
    }
    order_dimensions(c, hops);
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
    return CATENA_OK;
}

/* ---- blocks ---- */

/** The place where the next block begins after the block at `place`. If all
 * targets get the same block, vectors with the same prefix up to and including
 * `step` share a block. */
static uint32_t next_block(const combine_t *c, uint32_t place, int step)
{
    do {
        place++;
    } while (c->pattern == CTN_PATTERN_ALLGATHER && place < c->places &&
             c->shared[place] > (uint32_t)step);
    return place;
}

/** Whether a block that travels along the vectors at `place` to `end` - 1 is at
 * this rank after `steps` steps: whether its origin and at least one of its
 * targets are in the grid. */
static bool is_here(const combine_t *c, uint32_t place, uint32_t end, int steps)
{
    const ctn_grid_t *grid = c->grid;
    memset(c->way, 0, (size_t)grid->ndims * sizeof(*c->way));
    for (int step = 0; step < steps; step++) {
        c->way[c->dimension[step]] = hop_of(c, c->order[place], step);
    }
    int origin = ctn_grid_rank(grid, grid->coords, c->way, -1);
    if (origin == CATENA_PROC_NULL) {
        return false;
    }
    ctn_grid_coords(grid, origin, grid->ndims, c->coords);
    while (place < end &&
           ctn_grid_rank(grid, c->coords, hops_of(c, c->order[place]), 1) ==
               CATENA_PROC_NULL) {
        place++;
    }
    return place < end;
}

/** Whether the vector at `place` ends after `steps` steps: whether the rest of
 * it is zero. */
static bool is_final(const combine_t *c, uint32_t place, int steps)
{
    for (int step = steps; step < c->steps; step++) {
        if (hop_of(c, c->order[place], step) != 0) {
            return false;
        }
    }
    return true;
}

/** The index of the source from which the block for the vector at `place`
 * comes. In a grid that is not derived, targets and sources are listed as lower
 * and upper neighbor of each dimension. A message to the upper neighbor comes
 * there from the lower one, and the other way round. */
static uint32_t source_of(const combine_t *c, uint32_t place)
{
    return c->grid->ndirs == 0 ? c->order[place] ^ 1u : c->order[place];
}

/** Chooses where a block goes that this rank receives and that has then made
 * `steps` steps. */
static ctn_block_ref_t place_block(combine_t *c, uint32_t place, uint32_t end,
                                   int steps)
{
    ctn_block_ref_t where = {CTN_BLOCK_STAGED, 0};
    for (uint32_t i = place; i < end; i++) {
        if (is_final(c, i, steps)) {
            ctn_schedule_builder_receive(&c->builder, source_of(c, i),
                                         (uint32_t)steps, &where);
        }
    }
    if (where.of == CTN_BLOCK_STAGED) {
        where = ctn_schedule_builder_staged(&c->builder);
    }
    for (uint32_t i = place; i < end; i++) {
        c->where[i] = where;
    }
    return where;
}

/** Sets where the blocks of this rank lie before the first step, and adds local
 * copies for blocks that stay at this rank. */
static void start(combine_t *c)
{
    for (uint32_t i = 0; i < c->places; i++) {
        bool gathers = c->pattern == CTN_PATTERN_ALLGATHER;
        c->where[i] =
            (ctn_block_ref_t){CTN_BLOCK_SEND, gathers ? 0 : c->order[i]};
        if (is_final(c, i, 0)) {
            ctn_schedule_builder_receive(&c->builder, source_of(c, i), 0,
                                         &c->where[i]);
        }
    }
}

/* ---- messages ---- */

/** The greatest weight of the vectors at `place` to `end` - 1. */
static int heaviest(const combine_t *c, uint32_t place, uint32_t end)
{
    int most = 0;
    for (; place < end; place++) {
        int weight = c->builder.neighborhood->target[c->order[place]].weight;
        most = most > weight ? most : weight;
    }
    return most;
}

/** Builds one end of the message of all blocks with this hop in a step. */
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
            int peer = ctn_grid_along(c->grid, c->dimension[step],
                                      way == CTN_SENDS ? hop : -(int64_t)hop);
            ctn_schedule_builder_message(&c->builder, way, (uint32_t)peer,
                                         (uint32_t)step);
            begun = true;
        }
        ctn_block_ref_t block =
            way == CTN_SENDS ? c->where[i] : place_block(c, i, end, steps);
        ctn_schedule_builder_block(&c->builder, block, heaviest(c, i, end));
    }
}

/** Whether the hop of a vector in a step is not zero and appears at no earlier
 * place. */
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

/** Builds the messages of a step. The sends come first, since receives change
 * `where`. */
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

/* ---- all steps ---- */

/** Whether this rank forwards blocks, but may not start the operation while
 * others wait for it: it has no edges, or edges do not connect all ranks that
 * have edges. */
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
                   .grid = neighborhood->grid,
                   .pattern = pattern};
    c.builder.status = prepare(&c);
    if (c.builder.status == CATENA_OK) {
        start(&c);
        for (int step = 0; step < c.steps; step++) {
            add_step(&c, step);
        }
        c.builder.rounds = (uint32_t)c.steps;
    }
    catena_status_t status =
        ctn_schedule_builder_finish(&c.builder, CTN_NEIGHBOR_COMBINING, pattern,
                                    is_in_the_way(&c), schedule);
    (void)ctn_region_release(&c.region);
    return status;
}
