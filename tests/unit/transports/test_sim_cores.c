/* Simulated ranks that share a core: data/shared.json, round numbers. */

#include <math.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "unit/unit.h"

enum { CALLS = 100, MOST_RANKS = 16 };

typedef struct times {
    double barrier_ns[MOST_RANKS]; /* of a call, a mean */
    double alltoall_ns[MOST_RANKS];
} times_t;

static int time_calls(const catena_config_t *config, void *argument)
{
    times_t *times = argument;
    catena_context_t *context;
    int bytes[2 * MOST_RANKS] = {0};
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    double begin = 0;
    for (int i = -2; i < CALLS; i++) {
        begin = i == 0 ? catena_time(context) : begin;
        if (catena_barrier(world) != CATENA_OK) {
            return 1;
        }
    }
    times->barrier_ns[rank] = (catena_time(context) - begin) * 1e9 / CALLS;
    for (int i = -2; i < CALLS; i++) {
        begin = i == 0 ? catena_time(context) : begin;
        if (catena_alltoall(bytes, 4, CATENA_BYTE, bytes + MOST_RANKS, 4,
                            CATENA_BYTE, world) != CATENA_OK) {
            return 1;
        }
    }
    times->alltoall_ns[rank] = (catena_time(context) - begin) * 1e9 / CALLS;
    return catena_finalize(&context) != CATENA_OK;
}

static times_t times_of(int nodes, int ppn)
{
    times_t times = {0};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = TEST_DATA "/shared.json",
                                  .nodes = nodes,
                                  .ppn = ppn,
                                  .seed = 1};
    ck_assert_int_eq(catena_sim_run(&params, time_calls, &times, NULL),
                     CATENA_OK);
    return times;
}

/** The last rank that comes to a barrier goes on at once, into the next one:
 * the core changes hands once less than there are ranks. */
START_TEST(a_barrier_takes_a_turn_for_each_other_rank)
{
    static const int ranks[] = {2, 3, 5, 16};
    times_t times = times_of(1, ranks[_i]);
    for (int r = 0; r < ranks[_i]; r++) {
        double turns = times.barrier_ns[r] / 1000;
        ck_assert_msg(fabs(turns - (ranks[_i] - 1)) < 0.2 * ranks[_i],
                      "%d ranks: %g turns", ranks[_i], turns);
    }
}
END_TEST

/** Each rank's call costs 100 ns, and 400 ns more as others had the core. */
START_TEST(a_call_costs_more_on_a_cold_core)
{
    static const int ranks[] = {2, 3, 5};
    times_t times = times_of(1, ranks[_i]);
    for (int r = 0; r < ranks[_i]; r++) {
        double more = times.alltoall_ns[r] - times.barrier_ns[r];
        ck_assert_msg(more > 100 * ranks[_i] && more < 550 * ranks[_i],
                      "%d ranks: %g ns", ranks[_i], more);
    }
}
END_TEST

/** o of 1000 ns and L of 10000 ns; the gap of 2000 ns is not waited for. While
 * a message is under way the other rank has the core. */
START_TEST(emulated_nodes_have_no_wire)
{
    times_t times = times_of(2, 1);
    for (int r = 0; r < 2; r++) {
        ck_assert_msg(times.barrier_ns[r] >= 11000 &&
                          times.barrier_ns[r] < 12000,
                      "%g ns", times.barrier_ns[r]);
    }
}
END_TEST

UNIT_TEST(sim_cores)
{
    Suite *suite = suite_create("sim_cores");
    TCase *cores = tcase_create("cores");
    tcase_add_loop_test(cores, a_barrier_takes_a_turn_for_each_other_rank, 0,
                        4);
    tcase_add_loop_test(cores, a_call_costs_more_on_a_cold_core, 0, 3);
    tcase_add_test(cores, emulated_nodes_have_no_wire);
    suite_add_tcase(suite, cores);
    return unit_run(suite);
}
