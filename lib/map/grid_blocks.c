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

/** Return the number of edges that leave a cell; these are the directions. */
static int directions(const ctn_grid_t *grid)
{
    return grid->displacements != NULL ? grid->ndirs : 2 * grid->ndims;
}

/** Return how far an edge of direction k leads along a dimension. */
static int step_of(const ctn_grid_t *grid, int k, int dimension)
{
    if (grid->displacements != NULL) {
        return grid->displacements[k * grid->ndims + dimension];
    }
    return k / 2 != dimension ? 0 : k % 2 == 0 ? -1 : 1;
}

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
    for (int k = 0; k < directions(grid); k++) {
        uint64_t within = 1; /* cells whose edge of direction k stays inside */
        for (int d = 0; d < grid->ndims; d++) {
            int side = cutting->side[d];
            int64_t step = llabs((long long)step_of(grid, k, d));
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

/** Assign the cells of one block to nodes.
 * @param at   which block, counted in blocks along each dimension
 * @param work [2][ndims] working memory */
static void deal_block(const ctn_grid_t *grid, const int side[], const int at[],
                       int work[], dealing_t *dealing, uint32_t part[])
{
    int ndims = grid->ndims;
    int *extent = work;
    int *within = work + ndims;
    for (int d = 0; d < ndims; d++) {
        int rest = grid->dims[d] - at[d] * side[d]; /* up to the border */
        extent[d] = rest < side[d] ? rest : side[d];
    }
    uint64_t cells = volume(ndims, extent);
    for (uint64_t k = 0; k < cells; k++) {
        walk(ndims, extent, k, within);
        uint64_t cell = 0;
        for (int d = 0; d < ndims; d++) {
            cell = cell * (uint64_t)grid->dims[d] +
                   (uint64_t)(at[d] * side[d] + within[d]);
        }
        part[cell] = deal(dealing);
    }
}

/** Assign the cells to nodes block by block, then the vertices outside of the
 * grid. `work`: [4][ndims] working memory. */
static void deal_all(const ctn_map_problem_t *problem, const ctn_grid_t *grid,
                     const int side[], const uint32_t sorted[], int work[],
                     uint32_t part[])
{
    int ndims = grid->ndims;
    int *blocks = work;
    int *at = work + ndims;
    dealing_t dealing = {.problem = problem, .sorted = sorted};
    for (int d = 0; d < ndims; d++) {
        blocks[d] = (grid->dims[d] + side[d] - 1) / side[d];
    }
    uint64_t count = volume(ndims, blocks);
    for (uint64_t k = 0; k < count; k++) {
        walk(ndims, blocks, k, at);
        deal_block(grid, side, at, work + 2 * ndims, &dealing, part);
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
    const ctn_grid_t *grid = cutting->grid;
    size_t bytes = problem->count * sizeof(uint32_t);
    uint32_t *sorted = malloc((problem->nodes + 1) * sizeof(*sorted));
    uint32_t *trial = malloc(bytes + 1);
    int *work = malloc((4 * (size_t)grid->ndims + 1) * sizeof(*work));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (sorted != NULL && trial != NULL && work != NULL) {
        order_nodes(problem, sorted);
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < cutting->shapes; i++) {
            deal_all(problem, grid, cutting->best[i].side, sorted, work, trial);
            uint64_t between = ctn_map_cut_weight(problem, trial);
            if (between < least) {
                memcpy(part, trial, bytes);
                least = between;
            }
        }
        status = CATENA_OK;
    }
    free(sorted);
    free(trial);
    free(work);
    return status;
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

catena_status_t ctn_map_blocks(const ctn_map_problem_t *problem,
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

/** Find the neighbor of the cell with coordinates at[] in direction k.
 * @param[out] cell its rank in the grid
 * @return false: it is outside of the grid */
static bool neighbor_of(const ctn_grid_t *grid, const int at[], int k,
                        uint32_t *cell)
{
    uint64_t to = 0;
    for (int d = 0; d < grid->ndims; d++) {
        int64_t size = grid->dims[d];
        int64_t c = (int64_t)at[d] + step_of(grid, k, d);
        if (grid->periods[d]) {
            c = (c % size + size) % size;
        } else if (c < 0 || c >= size) {
            return false;
        }
        to = to * (uint64_t)size + (uint64_t)c;
    }
    *cell = (uint32_t)to;
    return true;
}

/** List all edges of the grid. `at`: [ndims] working memory. @return their
 * number */
static size_t list_edges(const ctn_grid_t *grid, const int weights[], int at[],
                         ctn_map_edge_t edge[])
{
    size_t edges = 0;
    uint64_t cells = volume(grid->ndims, grid->dims);
    for (uint64_t cell = 0; cell < cells; cell++) {
        uint64_t rest = cell;
        for (int d = grid->ndims; d-- > 0;) {
            at[d] = (int)(rest % (uint64_t)grid->dims[d]);
            rest /= (uint64_t)grid->dims[d];
        }
        for (int k = 0; k < directions(grid); k++) {
            uint32_t to;
            if (neighbor_of(grid, at, k, &to)) {
                edge[edges++] =
                    (ctn_map_edge_t){(uint32_t)cell, to, weight_of(weights, k)};
            }
        }
    }
    return edges;
}

catena_status_t ctn_map_grid(uint32_t count, const uint32_t node[],
                             const ctn_grid_t *grid, const int weights[],
                             uint32_t place[], uint64_t *before,
                             uint64_t *after)
{
    size_t most = volume(grid->ndims, grid->dims) * (size_t)directions(grid);
    ctn_map_edge_t *edge = malloc((most + 1) * sizeof(*edge));
    int *at = malloc(((size_t)grid->ndims + 1) * sizeof(*at));
    uint32_t *part = malloc(((size_t)count + 1) * sizeof(*part));
    ctn_map_problem_t problem = {0};
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (edge != NULL && at != NULL && part != NULL) {
        size_t edges = list_edges(grid, weights, at, edge);
        status = ctn_map_open(&problem, count, node, edges, edge);
    }
    free(edge);
    free(at);
    if (status == CATENA_OK) {
        status = ctn_map_blocks(&problem, grid, weights, part);
    }
    if (status == CATENA_OK) {
        status = ctn_map_place(&problem, part, place, before, after);
    }
    ctn_map_close(&problem);
    free(part);
    return status;
}
