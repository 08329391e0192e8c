/* Failures that are returned, in simulated jobs, in orders that real ones
 * seldom have. */

#include <stdlib.h>
#include <string.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "unit/capture.h"
#include "unit/unit.h"

enum { RANKS = 7, SEEDS = 20 };

/** Run a job of nodes with the same number of ranks, or one more.
 * @return the number of ranks that have not returned 0, or an error */
static int simulate(int ranks, int nodes, uint64_t seed, int *count,
                    int (*program)(const catena_config_t *config, void *count))
{
    static const char *const settings[] = {"FAILURES=return", "HEAP_SIZE=64m",
                                           "SINGLE_COPY=off", NULL};
    int node_of[RANKS];
    for (int r = 0; r < ranks; r++) {
        node_of[r] = r * nodes / ranks;
    }
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = nodes,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .settings = settings,
                                  .seed = seed,
                                  .memory_bytes = (size_t)ranks << 30,
                                  .jitter = 0.5,
                                  .reorder = (int)(seed % 2)};
    catena_sim_report_t report = {.size = sizeof(report)};
    capture_t said;
    capture_start(&said);
    catena_status_t status = catena_sim_run(&params, program, count, &report);
    capture_stop(&said);
    return status == CATENA_OK ? report.failed_ranks : status;
}

/* ---- a revoke while others join ---- */

static int revoke_at_once(const catena_config_t *config, void *count)
{
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    catena_group_t *rest = NULL;
    if (catena_group_rank(world) == *(int *)count) {
        catena_group_revoke(world);
    }
    bool good = catena_group_shrink(world, &rest) == CATENA_OK &&
                catena_barrier(rest) == CATENA_OK &&
                catena_group_free(&rest) == CATENA_OK;
    return catena_finalize(&context) != CATENA_OK || !good;
}

START_TEST(joining)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int one = (int)(seed % 4);
        ck_assert_int_eq(simulate(4, 4, seed, &one, revoke_at_once), 0);
        ck_assert_int_eq(simulate(RANKS, 3, seed, &one, revoke_at_once), 0);
    }
}
END_TEST

/* ---- a rank of a neighborhood without memory ---- */

enum { BYTES = 1 << 18, FIRST = 7, LATER = 0xa5 };

/** Rank 0 sends to 1, from the heap, and to 2, from memory that needs a copy,
 * for which there is no room; then it writes to what it has sent to 1. */
static int lack_memory(const catena_config_t *config, void *count)
{
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    catena_neighborhood_t *edges = NULL;
    int me = catena_group_rank(world);
    const int source = 0, degree = 2, targets[] = {1, 2};
    bool good =
        catena_dist_graph_create(world, me == 0, &source, &degree, targets,
                                 NULL, NULL, &edges) == CATENA_OK;
    unsigned char *send = catena_calloc(context, 1, BYTES);
    unsigned char *receive = catena_calloc(context, 1, BYTES);
    unsigned char *other = calloc(1, BYTES);
    memset(send, FIRST, BYTES);
    good = catena_barrier(world) == CATENA_OK && good;
    for (size_t bytes = 1 << 26; me == 0 && bytes >= 64; bytes /= 2) {
        while (catena_malloc(context, bytes) != NULL) {
        }
    }
    good = catena_barrier(world) == CATENA_OK && good;
    const size_t lengths[] = {BYTES, BYTES};
    const ptrdiff_t from[] = {0, other - send}, to[] = {0};
    catena_status_t status =
        catena_neighbor_alltoallv(send, lengths, from, CATENA_BYTE, receive,
                                  lengths, to, CATENA_BYTE, edges);
    if (me == 0) {
        good = status == CATENA_ERR_NO_MEMORY && good;
        memset(send, LATER, BYTES);
    } else if (status == CATENA_OK) {
        *(int *)count += 1;
        for (size_t i = 0; i < BYTES; i++) {
            good = receive[i] == FIRST && good;
        }
    } else {
        good = status == CATENA_ERR_REVOKED && good;
    }
    free(other);
    return catena_finalize(&context) != CATENA_OK || !good;
}

START_TEST(neighborhood)
{
    int received = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ck_assert_int_eq(simulate(3, 1, seed, &received, lack_memory), 0);
    }
    ck_assert_int_gt(received, 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, joining);
    tcase_add_test(tcase, neighborhood);
}

UNIT_TEST(returned)
{
    return unit_main("returned", 60, add_cases);
}
