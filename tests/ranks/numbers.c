/* Reuse of operation numbers. An operation is followed by others that do not
 * write its flags, until its number recurs. Then it executes again with other
 * data, and must not take the old flags for new ones. Only builds with tiny
 * limits (-Dtiny), which have 240 numbers, have this suite. Epoch barriers and
 * generation barriers take numbers too, so a range of distances is tried. */

#include "ranks/helpers/nbr_mix.h"

enum { NUMBERS = 240 };

/** Execute one collective.
 * @param bytes of a block, or of the vector
 * @param salt seed of the data */
static void collective(rank_test_t *test, catena_group_t *group, uint8_t kind,
                       size_t bytes, uint64_t salt)
{
    oracle_call_t call = {
        .c = {.value = {[ORACLE_KIND] = kind,
                        [ORACLE_OP] = oracle_reduces(kind) ? ORACLE_BXOR : 0,
                        [ORACLE_MEMORY] = 1}},
        .group = group,
        .table = rank_table(test),
        .exactly = bytes,
        .shape = salt};
    oracle_call_exercise(&test->oracle, &call, 1);
}

static void alltoalls(rank_test_t *test, const char *algorithm, size_t bytes)
{
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(group, "alltoall_algorithm", algorithm) ==
                         CATENA_OK);
    /* 9 or 12 of the numbers are epoch barriers. */
    for (uint32_t between = NUMBERS - 14; between < NUMBERS - 8; between++) {
        collective(test, group, ORACLE_ALLTOALL, bytes, 2 * between);
        for (uint32_t i = 0; i < between; i++) {
            RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
        }
        collective(test, group, ORACLE_ALLTOALL, bytes, 2 * between + 1);
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

static void run_direct(rank_test_t *test)
{
    static const size_t bytes[] = {8, 80, 400, 8000};
    for (int i = 0; i < 4; i++) {
        alltoalls(test, "direct", bytes[i]);
    }
}

static void run_leaders(rank_test_t *test)
{
    alltoalls(test, "onmpml", 8);
    alltoalls(test, "onmpml", 2800);
}

static void run_messages(rank_test_t *test)
{
    int32_t word = 0;
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(group, "hierarchy", "network:p2p") ==
                         CATENA_OK);
    for (uint32_t between = NUMBERS - 64; between < NUMBERS; between++) {
        collective(test, group, ORACLE_ALLREDUCE, 4, 2 * between);
        for (uint32_t i = 0; i < between; i++) {
            RANK_CHECK(test, catena_bcast(&word, 1, CATENA_INT32, 0, group) ==
                                 CATENA_OK);
        }
        collective(test, group, ORACLE_ALLREDUCE, 4, 2 * between + 1);
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** Exchange blocks with both neighbors on a ring; 0 bytes: no blocks. */
static void exchange(rank_test_t *test, const nbr_t *ring, size_t bytes,
                     uint64_t salt)
{
    oracle_nbr_call_t call = {.graph = &ring->graph,
                              .neighborhood = ring->neighborhood,
                              .table = &ring->table,
                              .kind = ORACLE_NEIGHBOR_ALLTOALLV,
                              .count = bytes,
                              .uniform = true,
                              .send_memory = ORACLE_MALLOC,
                              .receive_memory = ORACLE_MALLOC};
    oracle_nbr_repair(&call);
    oracle_nbr_open(&test->oracle, &call);
    oracle_nbr_fill(&call, salt);
    RANK_CHECK(test, oracle_nbr_run(&call) == CATENA_OK);
    oracle_nbr_check(&test->oracle, &call, test->name);
    oracle_nbr_close(&test->oracle, &call);
}

static void run_neighbors(rank_test_t *test)
{
    static const size_t bytes[] = {4, 160, 1200};
    nbr_t ring;
    oracle_graph_ring(&ring.graph, test->place.ranks, 1);
    nbr_open(test, &ring, NULL, 1);
    for (int k = 0; k < 3; k++) {
        for (uint32_t between = NUMBERS - 3; between < NUMBERS; between++) {
            exchange(test, &ring, bytes[k], 2 * between);
            for (uint32_t i = 0; i < between; i++) {
                exchange(test, &ring, 0, 0);
            }
            exchange(test, &ring, bytes[k], 2 * between + 1);
        }
    }
    nbr_close(&ring);
}

static const rank_case_t cases[] = {{"numbers direct", run_direct},
                                    {"numbers leaders", run_leaders},
                                    {"numbers messages", run_messages},
                                    {"numbers neighbors", run_neighbors},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_numbers = {
    .name = "numbers", .cases = cases, .ranks = 2, .most = 9};
