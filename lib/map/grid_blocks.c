/* ORD-3: a grid is divided into blocks (boxes of cells), one for each node of
 * the machine if the sizes fit. The cells are numbered block by block, in a
 * serpentine order within each and from one to the next, and the nodes take
 * consecutive cells, the largest node first. So this also works if blocks do
 * not fill the grid or nodes differ in size. The shapes of a block that are
 * tried have about as many cells as the largest node has ranks, and the least
 * weight of edges that leave the block (its surface). */

#include "map/map.h"

#include <stdlib.h>
#include <string.h>

#include "core/region.h"

enum { SHAPES = 8 }; /* number of shapes tried */

/** The shape of a block. */
typedef struct map_shape {
    uint64_t surface; /* weight that leaves the block, per cell, in 1/65536 */
    int *side;        /* [ndims]: extents */
} map_shape_t;

/** The search for the best shapes. */
typedef struct cutting {
    const ctn_grid_t *grid;
    const int *weights;       /* as of ctn_map_grid */
    uint64_t cells;           /* that a block should have */
    map_shape_t best[SHAPES]; /* those with the least surface, in order */
    uint32_t shapes;          /* their number */
    int *side;                /* [ndims] of the current shape */
} cutting_t;

/** Return the weight of the edges of direction k. */
static uint64_t weight_of(const int weights[], int k)
{
    return weights == NULL ? 1 : (uint64_t)weights[k];
}

/** Return the weight that leaves a block of the current shape, per cell, in
 * 1/65536. No edge leaves it along a dimension that it spans: there the edges
 * lead back into the block, or end at the border of the grid. */
static uint64_t surface_of(const cutting_t *cutting)
{
    const ctn_grid_t *grid = cutting->grid;
    uint64_t surface = 0;
    uint64_t all = 1;
    for (int d = 0; d < grid->ndims; d++) {
        all *= (uint64_t)cutting->side[d];
    }
    for (int k = 0; k < grid->ndirs; k++) {
        uint64_t within = 1; /* cells whose edge of direction k stays inside */
        for (int d = 0; d < grid->ndims; d++) {
            int side = cutting->side[d];
            int64_t step =
                llabs((long long)grid->displacements[k * grid->ndims + d]);
            if (side == grid->dims[d]) {
                step = 0;
            }
            within *= (uint64_t)(step < side ? side - step : 0);
        }
        surface +=
            weight_of(cutting->weights, k) * (((all - within) << 16) / all);
    }
    return surface;
}

/** Insert the current shape into best[] if it is among the best. */
static void offer(cutting_t *cutting)
{
    size_t bytes = (size_t)cutting->grid->ndims * sizeof(int);
    uint64_t surface = surface_of(cutting);
    uint32_t at = cutting->shapes;
    if (at == SHAPES) {
        at--;
        if (surface >= cutting->best[at].surface) {
            return;
        }
    } else {
        cutting->shapes++;
    }
    /* the memory of this entry's side[] is used for the new shape */
    map_shape_t shape = cutting->best[at];
    while (at > 0 && surface < cutting->best[at - 1].surface) {
        cutting->best[at] = cutting->best[at - 1];
        at--;
    }
    memcpy(shape.side, cutting->side, bytes);
    shape.surface = surface;
    cutting->best[at] = shape;
}

/** Try all shapes with the current sides in the dimensions below `dimension`;
 * `cells` is the product of these. The last side follows from the others,
 * rounded down and up. */
static void try_sides(cutting_t *cutting, int dimension, uint64_t cells)
{
    const ctn_grid_t *grid = cutting->grid;
    int most = grid->dims[dimension];
    if (dimension == grid->ndims - 1) {
        uint64_t side = cutting->cells / cells;
        cutting->side[dimension] = side < (uint64_t)most ? (int)side : most;
        offer(cutting);
        if (cutting->cells % cells != 0 && side < (uint64_t)most) {
            cutting->side[dimension] = (int)side + 1;
            offer(cutting);
        }
        return;
    }
    for (int side = 1; side <= most && cells * (uint64_t)side <= cutting->cells;
         side++) {
        cutting->side[dimension] = side;
        try_sides(cutting, dimension + 1, cells * (uint64_t)side);
    }
}

/** Set at[] to the k-th cell of a serpentine walk through a box with the
 * extents extent[]: consecutive cells are adjacent. */
static void walk(int ndims, const int extent[], uint64_t k, int at[])
{
    for (int d = ndims; d-- > 0;) {
        uint64_t rows = k / (uint64_t)extent[d];
        int place = (int)(k % (uint64_t)extent[d]);
        at[d] = rows % 2 == 0 ? place : extent[d] - 1 - place;
        k = rows;
    }
}

/** Return the number of cells of a box. */
static uint64_t volume(int ndims, const int extent[])
{
    uint64_t cells = 1;
    for (int d = 0; d < ndims; d++) {
        cells *= (uint64_t)extent[d];
    }
    return cells;
}

/** Sort the nodes, the largest first, so that nodes of one size follow each
 * other. */
static void order_nodes(const ctn_map_problem_t *problem, uint32_t sorted[])
{
    for (uint32_t b = 0; b < problem->nodes; b++) {
        uint32_t at = b;
        while (at > 0 &&
               problem->capacity[b] > problem->capacity[sorted[at - 1]]) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = b;
    }
}

/** An iterator: the node of the next cell. */
typedef struct dealing {
    const ctn_map_problem_t *problem;
    const uint32_t *sorted; /* [nodes]: the largest first */
    uint32_t node;          /* index in `sorted` of the node being filled */
    uint32_t taken;         /* number of cells that it has */
} dealing_t;

/** Return the node of the next cell. */
static uint32_t deal(dealing_t *dealing)
{
    while (dealing->taken ==
           dealing->problem->capacity[dealing->sorted[dealing->node]]) {
        dealing->node++;
        dealing->taken = 0;
    }
    dealing->taken++;
    return dealing->sorted[dealing->node];
}

/** Working memory: arrays of [ndims]. */
typedef struct dealing_work {
    int *blocks; /* number of blocks along each dimension */
    int *at;     /* the current block */
    int *extent; /* its extents */
    int *cell;   /* coordinates of a cell */
} dealing_work_t;

/** Assign the cells of the block at work->at to nodes. */
static void deal_block(const ctn_grid_t *grid, const int side[],
                       const dealing_work_t *work, dealing_t *dealing,
                       uint32_t part[])
{
    for (int d = 0; d < grid->ndims; d++) {
        int rest = grid->dims[d] - work->at[d] * side[d]; /* to the border */
        work->extent[d] = rest < side[d] ? rest : side[d];
    }
    uint64_t cells = volume(grid->ndims, work->extent);
    for (uint64_t k = 0; k < cells; k++) {
        walk(grid->ndims, work->extent, k, work->cell);
        for (int d = 0; d < grid->ndims; d++) {
            work->cell[d] += work->at[d] * side[d];
        }
        part[ctn_grid_rank(grid, work->cell, NULL, 1)] = deal(dealing);
    }
}

/** Assign the cells to nodes block by block, then the vertices outside of the
 * grid. */
static void deal_all(const ctn_map_problem_t *problem, const ctn_grid_t *grid,
                     const int side[], const uint32_t sorted[],
                     const dealing_work_t *work, uint32_t part[])
{
    int ndims = grid->ndims;
    dealing_t dealing = {.problem = problem, .sorted = sorted};
    for (int d = 0; d < ndims; d++) {
        work->blocks[d] = (grid->dims[d] + side[d] - 1) / side[d];
    }
    uint64_t count = volume(ndims, work->blocks);
    for (uint64_t k = 0; k < count; k++) {
        walk(ndims, work->blocks, k, work->at);
        deal_block(grid, side, work, &dealing, part);
    }
    for (uint64_t v = volume(ndims, grid->dims); v < problem->count; v++) {
        part[v] = deal(&dealing);
    }
}

/** Assign the cells to nodes with each of the best shapes, and keep the mapping
 * with the least weight between nodes. */
static catena_status_t deal_best(const ctn_map_problem_t *problem,
                                 const cutting_t *cutting, uint32_t part[])
{
    size_t bytes = problem->count * sizeof(uint32_t);
    ctn_region_t memory = {0};
    uint32_t *sorted =
        ctn_region_take(&memory, problem->nodes, sizeof(*sorted));
    uint32_t *trial = ctn_region_take(&memory, bytes, 1);
    dealing_work_t work;
    int **const arrays[] = {&work.blocks, &work.at, &work.extent, &work.cell};
    for (size_t i = 0; i < 4; i++) {
        *arrays[i] =
            ctn_region_take(&memory, (size_t)cutting->grid->ndims, sizeof(int));
    }
    if (memory.failed) {
        return ctn_region_release(&memory);
    }
    order_nodes(problem, sorted);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < cutting->shapes; i++) {
        deal_all(problem, cutting->grid, cutting->best[i].side, sorted, &work,
                 trial);
        uint64_t between = ctn_map_cut_weight(problem, trial);
        if (between < least) {
            memcpy(part, trial, bytes);
            least = between;
        }
    }
    return ctn_region_release(&memory);
}

/** Return how many cells a block should have: as many as the largest node has
 * ranks, because all or most nodes have this size. */
static uint64_t cells_of(const ctn_map_problem_t *problem)
{
    uint32_t most = 1;
    for (uint32_t b = 0; b < problem->nodes; b++) {
        most = problem->capacity[b] > most ? problem->capacity[b] : most;
    }
    return most;
}

/** Build mappings whose nodes are blocks of a grid, and take the best.
 * `weights` as of ctn_map_grid; the grid has displacements. */
static catena_status_t map_blocks(const ctn_map_problem_t *problem,
                                  const ctn_grid_t *grid, const int weights[],
                                  uint32_t part[])
{
    size_t ndims = (size_t)grid->ndims;
    int *sides = calloc((SHAPES + 1) * ndims + 1, sizeof(*sides));
    if (sides == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    cutting_t cutting = {.grid = grid,
                         .weights = weights,
                         .cells = cells_of(problem),
                         .side = sides + SHAPES * ndims};
    for (size_t i = 0; i < SHAPES; i++) {
        cutting.best[i].side = sides + i * ndims;
    }
    if (ndims > 0) {
        try_sides(&cutting, 0, 1);
    } else {
        offer(&cutting);
    }
    catena_status_t status = deal_best(problem, &cutting, part);
    free(sides);
    return status;
}

/** List all edges of the grid. `at`: [ndims] working memory. @return their
 * number */
static size_t list_edges(const ctn_grid_t *grid, const int weights[], int at[],
                         ctn_map_edge_t edge[])
{
    size_t edges = 0;
    uint64_t cells = volume(grid->ndims, grid->dims);
    for (uint32_t cell = 0; cell < cells; cell++) {
        ctn_grid_coords(grid, (int)cell, grid->ndims, at);
        for (int k = 0; k < grid->ndirs; k++) {
            int to = ctn_grid_rank(grid, at,
                                   &grid->displacements[k * grid->ndims], 1);
            if (to >= 0) {
                edge[edges++] =
                    (ctn_map_edge_t){cell, (uint32_t)to, weight_of(weights, k)};
            }
        }
    }
    return edges;
}

/** Give a grid without displacements those to the next cells along each
 * dimension. `steps`: [2 * ndims][ndims], zero */
static void set_steps(ctn_grid_t *grid, int steps[])
{
    grid->ndirs = 2 * grid->ndims;
    grid->displacements = steps;
    for (int k = 0; k < grid->ndirs; k++) {
        steps[k * grid->ndims + k / 2] = k % 2 == 0 ? -1 : 1;
    }
}

catena_status_t ctn_map_grid(uint32_t count, const uint32_t node[],
                             const ctn_grid_t *given, const int weights[],
                             uint32_t place[], uint64_t *before,
                             uint64_t *after)
{
    ctn_grid_t grid = *given;
    size_t ndims = (size_t)grid.ndims;
    ctn_region_t memory = {0};
    int *steps = ctn_region_take(&memory, 2 * ndims * ndims, sizeof(*steps));
    int *at = ctn_region_take(&memory, ndims, sizeof(*at));
    uint32_t *part = ctn_region_take(&memory, count, sizeof(*part));
    if (steps != NULL && grid.displacements == NULL) {
        set_steps(&grid, steps);
    }
    size_t most = volume(grid.ndims, grid.dims) * (size_t)grid.ndirs;
    ctn_map_edge_t *edge = ctn_region_take(&memory, most, sizeof(*edge));
    if (memory.failed) {
        return ctn_region_release(&memory);
    }
    ctn_map_problem_t problem;
    size_t edges = list_edges(&grid, weights, at, edge);
    catena_status_t status = ctn_map_open(&problem, count, node, edges, edge);
    if (status == CATENA_OK) {
        status = map_blocks(&problem, &grid, weights, part);
    }
    if (status == CATENA_OK) {
        status = ctn_map_place(&problem, part, place, before, after);
    }
    ctn_map_close(&problem);
    (void)ctn_region_release(&memory);
    return status;
}
