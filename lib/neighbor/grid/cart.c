/* Cartesian grids, graphs derived from them, and subgrids: the public
 * functions. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/entry.h"
#include "neighbor/grid/edges.h"
#include "split/call/call.h"

/** Text for the length of an array. */
#define NEGATIVE_MOST "most is %d; expected 0 or more"

/** The grid of a neighborhood; NULL: it has none, which is logged.
 * @param function the public function */
static const ctn_grid_t *grid_of(const catena_neighborhood_t *cart,
                                 const char *function)
{
    if (CTN_UNUSABLE(cart, CTN_NEIGHBORHOOD)) {
        (void)ctn_refuse_handle(function, "cart", cart);
        return NULL;
    }
    if (cart->grid == NULL) {
        (void)ctn_refuse(cart->exec->log, CATENA_ERR_ARG, function,
                         "cart is a neighborhood without a grid; expected one "
                         "of catena_cart_create, catena_cart_sub or "
                         "catena_cart_derive_graph");
    }
    return cart->grid;
}

/* ---- creation ---- */

/** Makes a neighborhood of a grid with as many places as the group has ranks.
 * The neighborhood owns grid and group; if it is not made, both are freed.
 * @param failed this rank's status so far; if an error, the grid may be NULL */
static catena_status_t make(const char *function, catena_group_t *group,
                            ctn_grid_t *grid, const int *weights,
                            const catena_neighborhood_info_t *info, int reorder,
                            catena_status_t failed, catena_neighborhood_t **out)
{
    ctn_graph_t graph = {.grid = grid};
    if (failed == CATENA_OK) {
        ctn_grid_coords(grid, catena_group_rank(group), grid->ndims,
                        grid->coords);
        failed = ctn_grid_edges(grid, weights, &graph);
    }
    return ctn_neighborhood_make(function, group, &graph, info, reorder, failed,
                                 out);
}

static catena_status_t check_dims(const ctn_log_t *log, int ndims,
                                  const int *dims, const int *periods)
{
    if (ndims < 0 || (ndims > 0 && (dims == NULL || periods == NULL))) {
        return ctn_refuse(log, CATENA_ERR_ARG, "catena_cart_create",
                          "ndims is %d, and %s; expected 0 or more, and an "
                          "array each for dims and periods",
                          ndims,
                          dims == NULL      ? "dims is NULL"
                          : periods == NULL ? "periods is NULL"
                                            : "there are arrays");
    }
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 1) {
            return ctn_refuse(log, CATENA_ERR_ARG, "catena_cart_create",
                              "dimension %d is %d; expected 1 or more", d,
                              dims[d]);
        }
    }
    return CATENA_OK;
}

/** Checks that the grid is not larger than the group.
 * @param[out] size number of places of the grid */
static catena_status_t check_size(const catena_group_t *group,
                                  const ctn_grid_t *grid, int *size)
{
    *size = ctn_grid_size(grid);
    if (*size < 0 || *size > catena_group_size(group)) {
        return ctn_refuse(
            group->exec->log, CATENA_ERR_ARG, "catena_cart_create",
            "the grid has %s%d ranks, the group %d; make it smaller",
            *size < 0 ? "more than " : "", *size < 0 ? INT_MAX : *size,
            catena_group_size(group));
    }
    return CATENA_OK;
}

/** A group of the first `size` ranks of a group, which is freed or, if it has
 * no other ranks, returned. NULL on other ranks. */
static catena_status_t first_ranks(catena_group_t *group, int size,
                                   catena_group_t **part)
{
    int rank = catena_group_rank(group);
    catena_group_t *made = NULL;
    if (size == catena_group_size(group)) {
        *part = group;
        return CATENA_OK;
    }
    catena_status_t status = catena_group_split(
        group, rank < size ? 0 : CATENA_UNDEFINED, rank, &made);
    catena_status_t freed = catena_group_free(&group);
    if (status == CATENA_OK && freed != CATENA_OK && made != NULL) {
        (void)catena_group_free(&made);
    }
    *part = made;
    return status != CATENA_OK ? status : freed;
}

/** Agrees on the status when parts of a group have made neighborhoods: all
 * ranks get theirs, or none does.
 * @param made this rank's neighborhood, or NULL */
static catena_status_t hand_out(catena_group_t *group, catena_status_t status,
                                catena_neighborhood_t *made,
                                catena_neighborhood_t **out)
{
    status = ctn_neighbor_agree_status(group, status);
    if (status == CATENA_OK) {
        *out = made;
    } else if (made != NULL) {
        (void)catena_neighborhood_free(&made);
    }
    return status;
}

/** catena_cart_create, until the rank has left it (ctn_call_ends). */
static catena_status_t create(const char *function, catena_group_t *group,
                              int ndims, const int dims[], const int periods[],
                              bool reorder,
                              const catena_neighborhood_info_t *info,
                              catena_neighborhood_t **out)
{
    catena_group_t *own;
    catena_status_t status =
        ctn_group_dup_for(CTN_CODE_CART_CREATE, function, group, &own);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_grid_t *grid = NULL;
    int size = 0;
    status = out != NULL ? check_dims(group->exec->log, ndims, dims, periods)
                         : ctn_refuse_null(group->exec->log, function, "out");
    if (status == CATENA_OK) {
        grid = ctn_grid_create(ndims, dims, periods, CTN_NOT_DERIVED);
        status = grid != NULL ? check_size(group, grid, &size)
                              : CATENA_ERR_NO_MEMORY;
    }
    status = ctn_neighbor_agree_same(
        function, own, status, 1, &(const uint64_t){(uint64_t)size},
        &(const char *const){"the number of ranks in the grid"});
    if (status != CATENA_OK) { /* another rank may have failed `own` later */
        free(grid);
        (void)catena_group_free(&own);
        return hand_out(group, status, NULL, out);
    }
    status = first_ranks(own, size, &own);
    catena_neighborhood_t *made = NULL;
    if (status == CATENA_OK && own != NULL) {
        status = make(function, own, grid, CATENA_UNWEIGHTED, info, reorder,
                      status, &made);
    } else { /* beyond the grid, or without a group: others wait for it */
        free(grid);
    }
    return hand_out(group, status, made, out);
}

catena_status_t catena_cart_create(catena_group_t *group, int ndims,
                                   const int dims[], const int periods[],
                                   int reorder,
                                   const catena_neighborhood_info_t *info,
                                   catena_neighborhood_t **out)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    catena_status_t status =
        create(__func__, group, ndims, dims, periods, reorder != 0, info, out);
    ctn_call_ends(group, CTN_CODE_CART_CREATE);
    return status;
}

/* ---- graphs from grids ---- */

static catena_status_t check_directions(const ctn_log_t *log, int ndims,
                                        int ndirs, const int *displacements,
                                        const int *weights)
{
    if (ndirs < 0 || (ndirs > 0 && ndims > 0 && displacements == NULL)) {
        return ctn_refuse(log, CATENA_ERR_ARG, "catena_cart_derive_graph",
                          "ndirs is %d%s; expected 0 or more, and as many "
                          "displacements",
                          ndirs,
                          ndirs < 0 ? "" : ", but displacements is NULL");
    }
    for (int i = 0; i < ndirs && weights != NULL; i++) {
        if (weights[i] < 0) {
            return ctn_refuse(
                log, CATENA_ERR_ARG, "catena_cart_derive_graph",
                "the weight of direction %d is %d; expected 0 or more", i,
                weights[i]);
        }
    }
    return CATENA_OK;
}

/** A grid like `from` with displacement vectors. */
static catena_status_t derive(const ctn_grid_t *from, int ndirs,
                              const int *displacements, ctn_grid_t **grid)
{
    *grid = ctn_grid_create(from->ndims, from->dims, from->periods, ndirs);
    if (*grid == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    size_t count = (size_t)ndirs * (size_t)from->ndims;
    if (count > 0) {
        memcpy((*grid)->displacements, displacements,
               count * sizeof(*displacements));
    }
    return CATENA_OK;
}

catena_status_t catena_cart_derive_graph(catena_neighborhood_t *cart, int ndirs,
                                         const int displacements[],
                                         const int weights[], int reorder,
                                         const catena_neighborhood_info_t *info,
                                         catena_neighborhood_t **out)
{
    CTN_ENTRY;
    if (grid_of(cart, __func__) == NULL) {
        return CATENA_ERR_ARG;
    }
    catena_group_t *own;
    catena_status_t status = ctn_group_dup_for(CTN_CODE_CART_DERIVE_GRAPH,
                                               __func__, cart->group, &own);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_grid_t *grid = NULL;
    status = out != NULL ? check_directions(cart->exec->log, cart->grid->ndims,
                                            ndirs, displacements, weights)
                         : CTN_REFUSE_NULL(cart->exec->log, out);
    if (status == CATENA_OK) {
        status = derive(cart->grid, ndirs, displacements, &grid);
    }
    status =
        make(__func__, own, grid, weights, info, reorder != 0, status, out);
    ctn_call_ends(cart->group, CTN_CODE_CART_DERIVE_GRAPH);
    return status;
}

/* ---- subgrids ---- */

/** The grid of the dimensions d with remain[d] != 0. NULL: no memory. */
static ctn_grid_t *remaining(const ctn_grid_t *grid, const int *remain)
{
    ctn_grid_t *part = ctn_grid_create(grid->ndims, grid->dims, grid->periods,
                                       CTN_NOT_DERIVED);
    if (part != NULL) {
        part->ndims = 0;
        for (int d = 0; d < grid->ndims; d++) {
            if (remain[d]) {
                part->dims[part->ndims] = grid->dims[d];
                part->periods[part->ndims++] = grid->periods[d];
            }
        }
    }
    return part;
}

/** The number of this rank's subgrid: the row-major index of its coordinates in
 * the dropped dimensions. */
static int part_of(const ctn_grid_t *grid, const int *remain)
{
    int part = 0;
    for (int d = 0; d < grid->ndims; d++) {
        if (!remain[d]) {
            part = part * grid->dims[d] + grid->coords[d];
        }
    }
    return part;
}

/** The weights of a grid's edges in the dimensions that remain. NULL: it has
 * none, or no memory; *status says which. */
static int *remaining_weights(const catena_neighborhood_t *cart,
                              const int *remain, catena_status_t *status)
{
    const ctn_grid_t *grid = cart->grid;
    if (!cart->graph_facts.weighted || grid->displacements != NULL) {
        return NULL;
    }
    int *weights = malloc((2 * (size_t)grid->ndims + 1) * sizeof(*weights));
    int *at = weights;
    if (weights == NULL) {
        *status = CATENA_ERR_NO_MEMORY;
        return NULL;
    }
    for (int i = 0; i < 2 * grid->ndims; i++) {
        if (remain[i / 2]) {
            *at++ = cart->target[i].weight;
        }
    }
    return weights;
}

catena_status_t catena_cart_sub(catena_neighborhood_t *cart, const int remain[],
                                catena_neighborhood_t **out)
{
    CTN_ENTRY;
    if (grid_of(cart, __func__) == NULL) {
        return CATENA_ERR_ARG;
    }
    catena_group_t *own = NULL;
    bool valid = out != NULL && (remain != NULL || cart->grid->ndims == 0);
    catena_status_t status =
        ctn_group_split_for(CTN_CODE_CART_SUB, __func__, cart->group,
                            valid ? part_of(cart->grid, remain) : 0,
                            catena_group_rank(cart->group), &own);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_grid_t *grid = valid ? remaining(cart->grid, remain) : NULL;
    status = !valid         ? CTN_REFUSE_NULL(cart->exec->log, out, remain)
             : grid != NULL ? CATENA_OK
                            : CATENA_ERR_NO_MEMORY;
    if (grid != NULL && ctn_grid_size(grid) != catena_group_size(own)) {
        status =
            ctn_refuse(cart->exec->log, CATENA_ERR_ARG, "catena_cart_sub",
                       "a subgrid of %d ranks has %d members; the remaining "
                       "dimensions must be the same on all ranks",
                       ctn_grid_size(grid), catena_group_size(own));
    }
    int *weights =
        status == CATENA_OK ? remaining_weights(cart, remain, &status) : NULL;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .operations = cart->operations,
                                       .bytes = cart->bytes,
                                       .weights = weights};
    catena_neighborhood_t *made = NULL;
    status =
        make(__func__, own, grid, CATENA_UNWEIGHTED, &info, 0, status, &made);
    free(weights);
    status = hand_out(cart->group, status, made, out);
    ctn_call_ends(cart->group, CTN_CODE_CART_SUB);
    return status;
}

/* ---- queries ---- */

catena_status_t catena_cart_ndims(const catena_neighborhood_t *cart, int *ndims)
{
    const ctn_grid_t *grid = grid_of(cart, __func__);
    if (grid == NULL) {
        return CATENA_ERR_ARG;
    }
    if (ndims == NULL) {
        return CTN_REFUSE_NULL(cart->exec->log, ndims);
    }
    *ndims = grid->ndims;
    return CATENA_OK;
}

catena_status_t catena_cart_get(const catena_neighborhood_t *cart, int most,
                                int dims[], int periods[], int coords[])
{
    const ctn_grid_t *grid = grid_of(cart, __func__);
    if (grid == NULL) {
        return CATENA_ERR_ARG;
    }
    if (most < 0) {
        return ctn_refuse(cart->exec->log, CATENA_ERR_ARG, __func__,
                          NEGATIVE_MOST, most);
    }
    if (most > 0 && grid->ndims > 0 &&
        (dims == NULL || periods == NULL || coords == NULL)) {
        return CTN_REFUSE_NULL(cart->exec->log, dims, periods, coords);
    }
    for (int d = 0; d < grid->ndims && d < most; d++) {
        dims[d] = grid->dims[d];
        periods[d] = grid->periods[d];
        coords[d] = grid->coords[d];
    }
    return CATENA_OK;
}

catena_status_t catena_cart_coords(const catena_neighborhood_t *cart, int rank,
                                   int most, int coords[])
{
    const ctn_grid_t *grid = grid_of(cart, __func__);
    if (grid == NULL) {
        return CATENA_ERR_ARG;
    }
    if (rank < 0 || rank >= ctn_grid_size(grid)) {
        return ctn_refuse(cart->exec->log, CATENA_ERR_ARG, __func__,
                          "rank is %d; expected 0 to %d", rank,
                          ctn_grid_size(grid) - 1);
    }
    if (most < 0) {
        return ctn_refuse(cart->exec->log, CATENA_ERR_ARG, __func__,
                          NEGATIVE_MOST, most);
    }
    if (most > 0 && grid->ndims > 0 && coords == NULL) {
        return CTN_REFUSE_NULL(cart->exec->log, coords);
    }
    ctn_grid_coords(grid, rank, most, coords);
    return CATENA_OK;
}

catena_status_t catena_cart_rank(const catena_neighborhood_t *cart,
                                 const int coords[], int *rank)
{
    const ctn_grid_t *grid = grid_of(cart, __func__);
    if (grid == NULL) {
        return CATENA_ERR_ARG;
    }
    if (rank == NULL || (coords == NULL && grid->ndims > 0)) {
        return CTN_REFUSE_NULL(cart->exec->log, rank, coords);
    }
    int found = ctn_grid_rank(grid, coords, NULL, 0);
    if (found == CATENA_PROC_NULL) {
        return ctn_refuse(cart->exec->log, CATENA_ERR_ARG, __func__,
                          "coords are outside the grid; expected 0 to the "
                          "dimension minus 1 where it is not periodic");
    }
    *rank = found;
    return CATENA_OK;
}

catena_status_t catena_cart_shift(const catena_neighborhood_t *cart,
                                  int dimension, int displacement, int *source,
                                  int *target)
{
    const ctn_grid_t *grid = grid_of(cart, __func__);
    if (grid == NULL) {
        return CATENA_ERR_ARG;
    }
    if (source == NULL || target == NULL) {
        return CTN_REFUSE_NULL(cart->exec->log, source, target);
    }
    if (dimension < 0 || dimension >= grid->ndims) {
        return ctn_refuse(cart->exec->log, CATENA_ERR_ARG, __func__,
                          "dimension is %d; the grid has %d, from 0 up",
                          dimension, grid->ndims);
    }
    *source = ctn_grid_along(grid, dimension, -(int64_t)displacement);
    *target = ctn_grid_along(grid, dimension, displacement);
    return CATENA_OK;
}
