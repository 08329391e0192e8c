/* Neighborhoods that are made while there is no memory for one thing after the
 * other: the creation ends on all ranks, and leaves nothing behind. */

#include <stdbool.h>
#include <stdlib.h>

#include "capture.h"
#include "job.h"
#include "neighbor/grid.h"
#include "refusal.h"
#include "unit.h"

/* ---- creations ---- */

enum { RANKS = 6, SEED = 2 };

bool refusal_applies(void)
{
    return true;
}

/** What is made. */
typedef struct creation {
    bool grid;             /* a ring; else pairs, which nothing joins */
    const char *algorithm; /* NULL: only new places are found */
    unsigned spare;        /* times that it does without some memory, at most */
} creation_t;

static creation_t creation;
static catena_status_t found[RANKS];

static void fill_in(job_t *job, ctn_graph_t *graph)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    if (creation.grid) {
        graph->grid = ctn_grid_create(1, dims, periods, CTN_NOT_DERIVED);
        graph->grid->coords[0] = (int)job->rank;
        JOB_CHECK(job, ctn_grid_edges(graph->grid, CATENA_UNWEIGHTED, graph) ==
                           CATENA_OK);
        return;
    }
    ctn_edge_t *edge = calloc(2, sizeof(*edge));
    edge[0].rank = edge[1].rank = (int)(job->rank ^ 1u);
    edge[0].weight = edge[1].weight = 1;
    graph->sources = graph->targets = 1;
    graph->source = &edge[0];
    graph->target = &edge[1];
}

static catena_status_t find_place(catena_group_t *group,
                                  const ctn_graph_t *graph)
{
    int place = -1;
    catena_status_t status = ctn_reorder_graph(group, graph, &place);
    status = ctn_neighbor_agree(group, status, 0, NULL, 0, NULL);
    (void)catena_group_free(group);
    return status == CATENA_OK && place < 0 ? CATENA_ERR_STATE : status;
}

/** On a group that is there already: only what makes the neighborhood has no
 * memory. */
static void make(job_t *job)
{
    ctn_graph_t graph = {.operations = CATENA_NEIGHBOR_ALL};
    catena_neighborhood_info_t info = {.algorithm = creation.algorithm};
    catena_group_t *own = NULL;
    catena_neighborhood_t *made = NULL;
    fill_in(job, &graph);
    JOB_CHECK(job, catena_group_dup(job->context->world, &own) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    const ctn_edge_t *lists[] = {graph.source, graph.target};
    refusal.armed = true; /* when the first rank comes here, */
    found[job->rank] =
        creation.algorithm != NULL
            ? ctn_neighborhood_make(own, &graph, &info, CATENA_OK, &made)
            : find_place(own, &graph);
    refusal.armed = false; /* until the first is through */
    if (made != NULL) {
        JOB_CHECK(job, catena_neighborhood_free(made) == CATENA_OK);
    }
    free((void *)(uintptr_t)lists[0]);
    if (creation.grid) {
        free((void *)(uintptr_t)lists[1]);
    }
}

/** @return whether it was made on all ranks; else it was on none. */
static bool expect_alike(bool all_taken)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_msg(found[rank] == found[0], "%lu refused: rank %d: %s",
                      refusal.which, rank, catena_status_string(found[rank]));
    }
    ck_assert_msg(found[0] == CATENA_OK ||
                      (found[0] == CATENA_ERR_NO_MEMORY && !all_taken),
                  "%lu refused: %s", refusal.which,
                  catena_status_string(found[0]));
    return found[0] == CATENA_OK;
}

START_TEST(creations)
{
    static const creation_t all[] = {
        {true, "combining", 4}, /* the heap has no caches */
        {false, "colored", 4},
        {true, "aggregated", 4},
        {false, NULL, 20},
    };
    bool all_taken = false;
    unsigned made = 0;
    creation = all[_i];
    for (refusal.which = 1; !all_taken; refusal.which++) {
        capture_t capture;
        refusal.taken = 0;
        capture_start(&capture);
        int failed = job_simulate(RANKS, SEED, make);
        capture_stop(&capture);
        all_taken = refusal.taken < refusal.which;
        ck_assert_msg(failed == 0, "%lu refused: %d ranks: %s", refusal.which,
                      failed, capture.text);
        made += expect_alike(all_taken);
    }
    ck_assert_uint_le(made, 1 + creation.spare);
    ck_assert_uint_gt(refusal.which, 100);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, creations, 0, 4);
}

int main(void)
{
    return unit_main("neighborhood_memory", 100, add_cases);
}
