#include "grid_case.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor/grid.h"

/* ---- cases ---- */

int grid_case_ranks(const grid_case_t *grid)
{
    int ranks = 1;
    for (int d = 0; d < grid->ndims; d++) {
        ranks *= grid->dims[d];
    }
    return ranks;
}

grid_case_t grid_case_draw(uint64_t seed)
{
    static const int extents[] = {1, 2, 3, 5};
    grid_case_t grid;
    do {
        grid = (grid_case_t){.ndims = 1 + (int)(job_random(&seed) % GRID_DIMS)};
        for (int d = 0; d < grid.ndims; d++) {
            grid.dims[d] = extents[job_random(&seed) % 4];
            grid.periods[d] = (int)(job_random(&seed) % 2);
        }
    } while (grid_case_ranks(&grid) > 60);
    grid.vectors = (int)(job_random(&seed) % 12);
    int reach = job_random(&seed) % 4 == 0 ? 7 : 2;
    for (int i = 0; i < grid.vectors; i++) {
        grid.weight[i] = 1 + (int)(job_random(&seed) % 3);
        for (int d = 0; d < grid.ndims; d++) {
            grid.vector[i][d] =
                (int)(job_random(&seed) % (2u * (unsigned)reach + 1)) - reach;
        }
    }
    return grid;
}

grid_case_t grid_case_moore(int ndims, int extent)
{
    grid_case_t grid = {.ndims = ndims};
    int all = 1;
    for (int d = 0; d < ndims; d++) {
        grid.dims[d] = extent;
        grid.periods[d] = 1;
        all *= 3;
    }
    for (int i = 0; i < all; i++) {
        int rest = i;
        if (i == all / 2) {
            continue; /* the rank itself */
        }
        for (int d = 0; d < ndims; d++, rest /= 3) {
            grid.vector[grid.vectors][d] = rest % 3 - 1;
        }
        grid.weight[grid.vectors++] = 1;
    }
    return grid;
}

/* ---- making them ---- */

static int count_of(const grid_case_t *grid)
{
    return grid->vectors > 0 ? grid->vectors : 2 * grid->ndims;
}

static int vector_of(const grid_case_t *grid, int i, int d)
{
    return grid->vectors > 0 ? grid->vector[i][d]
           : i / 2 == d      ? 2 * (i % 2) - 1
                             : 0;
}

static ctn_grid_t *make_grid(const grid_case_t *grid, int rank)
{
    ctn_grid_t *made =
        ctn_grid_create(grid->ndims, grid->dims, grid->periods,
                        grid->vectors > 0 ? grid->vectors : CTN_NOT_DERIVED);
    for (int i = 0; i < grid->vectors; i++) {
        memcpy(&made->displacements[i * grid->ndims], grid->vector[i],
               (size_t)grid->ndims * sizeof(int));
    }
    ctn_grid_coords(made, rank, grid->ndims, made->coords);
    return made;
}

catena_status_t grid_case_make(job_t *job, const grid_case_t *grid,
                               catena_neighborhood_t **out)
{
    catena_group_t *group = NULL;
    ctn_graph_t graph = {.operations = CATENA_NEIGHBOR_ALL,
                         .weighted = grid->vectors > 0,
                         .grid = make_grid(grid, (int)job->rank)};
    catena_status_t status = ctn_grid_edges(
        graph.grid, grid->vectors > 0 ? grid->weight : CATENA_UNWEIGHTED,
        &graph);
    if (status == CATENA_OK) {
        status = catena_group_dup(job->context->world, &group);
    }
    if (status == CATENA_OK) {
        status = ctn_neighborhood_make(group, &graph, NULL, status, out);
    }
    free((void *)(uintptr_t)graph.source);
    free((void *)(uintptr_t)graph.target);
    return status;
}

/* ---- what combining promises ---- */

/** Along a ring, of ways to the same place the same one. */
static int hop(const grid_case_t *grid, int i, int d)
{
    int along = vector_of(grid, i, d);
    int n = grid->dims[d];
    return grid->periods[d] ? ((along % n) + n) % n : along;
}

static bool is_new_hop(const grid_case_t *grid, int i, int d)
{
    for (int j = 0; j < i; j++) {
        if (hop(grid, j, d) == hop(grid, i, d)) {
            return false;
        }
    }
    return hop(grid, i, d) != 0;
}

void grid_case_check(job_t *job, const grid_case_t *grid,
                     catena_neighborhood_t *const made[], ctn_pattern_t pattern)
{
    uint32_t messages = 0;
    uint32_t blocks = 0;
    uint32_t rounds = 0;
    bool rings = true;
    for (int d = 0; d < grid->ndims; d++) {
        uint32_t hops = 0;
        for (int i = 0; i < count_of(grid); i++) {
            hops += is_new_hop(grid, i, d);
            blocks += hop(grid, i, d) != 0;
        }
        messages += hops;
        rounds += hops > 0;
        rings = rings && grid->periods[d];
    }
    for (uint32_t r = 0; r < job->size; r++) {
        const ctn_plan_t *plan = made[r]->plan[CTN_SCHEME_COMBINING][pattern];
        uint32_t parts = 0;
        for (uint32_t i = 0; i < plan->sends; i++) {
            parts += plan->send[i].count;
        }
        bool each = pattern == CTN_PATTERN_ALLTOALL;
        JOB_CHECK(job,
                  rings ? plan->sends == messages : plan->sends <= messages);
        JOB_CHECK(job, rings ? plan->rounds == rounds : plan->rounds <= rounds);
        JOB_CHECK(job, rings && each ? parts == blocks : parts <= blocks);
    }
}
