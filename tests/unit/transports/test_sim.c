/* The simulator: its times against the model, reproducibility, and every way in
 * which a run can end. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <catena/catena.h>
#include <catena/sim.h>

#include "oracle/random.h"
#include "transports/sim/queue.h"

#include "unit/capture.h"
#include "unit/said.h"
#include "unit/unit.h"

/* ---- the queue ---- */

START_TEST(queue_is_in_order)
{
    ctn_queue_t queue = {0};
    uint64_t state = (uint64_t)_i + 1;
    uint64_t last = 0;
    size_t inside = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t drawn = ctn_random(&state);
        if (drawn >> 62 != 0 || inside == 0) {
            /* Never before the last event removed: time increases. */
            uint64_t time = last + (drawn >> 33) % 1000;
            ck_assert(ctn_queue_push(&queue, time, (uint64_t)i, &queue));
            inside++;
        } else {
            ctn_queue_entry_t entry = ctn_queue_pop(&queue);
            ck_assert_uint_ge(entry.time, last);
            last = entry.time;
            inside--;
        }
    }
    for (; inside > 0; inside--) {
        ctn_queue_entry_t entry = ctn_queue_pop(&queue);
        ck_assert_uint_ge(entry.time, last);
        last = entry.time;
    }
    ck_assert(queue.count == 0);
    ctn_vector_drop(&queue);
}
END_TEST

START_TEST(queue_keeps_the_order_of_equals)
{
    ctn_queue_t queue = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        ck_assert(ctn_queue_push(&queue, i / 100, i * 7919 % 5000, NULL));
    }
    uint64_t time = 0;
    uint64_t order = 0;
    for (int i = 0; i < 5000; i++) {
        ctn_queue_entry_t entry = ctn_queue_pop(&queue);
        ck_assert(entry.time > time || entry.order >= order);
        time = entry.time;
        order = entry.order;
    }
    ctn_vector_drop(&queue);
}
END_TEST

/* ---- programs on a machine of round numbers: data/round.json ---- */

typedef struct shared {
    double times[64];
    uint64_t sum;
    catena_status_t status;
    size_t bytes;
    int skip; /* rank that does nothing */
} shared_t;

typedef struct rank {
    catena_context_t *context;
    catena_group_t *world;
    int rank;
    int size;
} rank_t;

static int join(const catena_config_t *config, rank_t *r)
{
    if (catena_init(config, &r->context) != CATENA_OK) {
        return 1;
    }
    r->world = catena_world(r->context);
    r->rank = catena_group_rank(r->world);
    r->size = catena_group_size(r->world);
    return 0;
}

static int time_barrier(const catena_config_t *config, void *argument)
{
    shared_t *shared = argument;
    rank_t r;
    if (join(config, &r) != 0) {
        return 1;
    }
    catena_barrier(r.world);
    catena_compute(r.context, 1e-3 - fmod(catena_time(r.context), 1e-3));
    double begin = catena_time(r.context);
    if (catena_barrier(r.world) != CATENA_OK) {
        return 1;
    }
    shared->times[r.rank] = (catena_time(r.context) - begin) * 1e9;
    return catena_finalize(&r.context) != CATENA_OK;
}

static catena_sim_params_t on_round(int nodes, int ppn)
{
    return (catena_sim_params_t){.size = sizeof(catena_sim_params_t),
                                 .machine = TEST_DATA "/round.json",
                                 .nodes = nodes,
                                 .ppn = ppn,
                                 .seed = 1};
}

/** o, L, and the flag's 8 bytes at 1 ns each; and the flags on the node, 100 ns
 * each, before and after. */
START_TEST(a_message_takes_what_loggp_says)
{
    shared_t shared = {0};
    catena_sim_params_t params = on_round(2, 1);
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &shared, NULL),
                     CATENA_OK);
    for (int i = 0; i < 2; i++) {
        double late = shared.times[i] - (1000 + 10000 + 8);
        ck_assert_msg(late >= 0 && late <= 300, "%g ns", shared.times[i]);
    }
}
END_TEST

/** Two ranks, on the same socket and on two; by default they are distributed.
 */
START_TEST(ranks_sit_where_they_are_told)
{
    static const int places[][2] = {{1, 0}, {2, 3}, {3, 0}, {1, 2}};
    shared_t spread = {0};
    catena_sim_params_t params = on_round(1, 2);
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &spread, NULL),
                     CATENA_OK);
    shared_t stored = {0};
    params.cores = places[_i];
    params.core_count = 2;
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &stored, NULL),
                     CATENA_OK);
    for (int r = 0; r < 2; r++) { /* 100 ns on a socket, 300 between them */
        double less = spread.times[r] - stored.times[r];
        ck_assert_msg(fabs(less - (_i < 2 ? 200 : 0)) < 1, "%g ns", less);
    }
}
END_TEST

/** One message in each direction between two ranks of a node: each rank spends
 * the overhead of both ends, and both cores work at once. */
START_TEST(messages_within_a_node_have_their_overhead)
{
    static const char *const settings[] = {"BARRIER_HIERARCHY=node:p2p", NULL};
    shared_t without = {0};
    shared_t with = {0};
    catena_sim_params_t params = on_round(1, 2);
    params.settings = settings;
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &without, NULL),
                     CATENA_OK);
    params.node_overhead_s = 250e-9;
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &with, NULL),
                     CATENA_OK);
    for (int r = 0; r < 2; r++) {
        double more = with.times[r] - without.times[r];
        ck_assert_msg(fabs(more - 500) < 1, "%g ns", more);
    }
}
END_TEST

/** n ranks copy m bytes each at once; the time of each. */
static int time_copy(const catena_config_t *config, void *argument)
{
    shared_t *shared = argument;
    rank_t r;
    uint64_t offset;
    if (join(config, &r) != 0) {
        return 1;
    }
    char *from = catena_malloc(r.context, shared->bytes);
    char *to = catena_malloc(r.context, shared->bytes);
    memset(from, 1, shared->bytes);
    catena_heap_offset(r.context, to, &offset);
    catena_compute(r.context, 1e-3 - fmod(catena_time(r.context), 1e-3));
    double begin = catena_time(r.context);
    catena_node_put(r.context, r.rank, offset, from, shared->bytes);
    shared->times[r.rank] = (catena_time(r.context) - begin) * 1e9;
    catena_free(r.context, from);
    catena_free(r.context, to);
    return catena_finalize(&r.context) != CATENA_OK;
}

/** Cores 0, 1 are one domain, 2, 3 the other. */
START_TEST(copies_share_a_domain)
{
    static const double posted[] = {0, 250000, 250000, 0, 333333};
    static const int ppn[] = {1, 2, 4}; /* 2: one in each domain */
    shared_t shared = {.bytes = 1000000};
    catena_sim_params_t params = on_round(1, ppn[_i]);
    ck_assert_int_eq(catena_sim_run(&params, time_copy, &shared, NULL),
                     CATENA_OK);
    for (int i = 0; i < ppn[_i]; i++) {
        ck_assert_msg(fabs(shared.times[i] - posted[ppn[_i]]) < 50,
                      "%d ranks: %g ns", ppn[_i], shared.times[i]);
    }
}
END_TEST

/* ---- the same twice ---- */

static int exchange(const catena_config_t *config, void *argument)
{
    shared_t *shared = argument;
    rank_t r;
    if (join(config, &r) != 0) {
        return 1;
    }
    size_t n = shared->bytes;
    unsigned char *send = catena_malloc(r.context, n * (size_t)r.size);
    unsigned char *receive = catena_malloc(r.context, n * (size_t)r.size);
    for (size_t i = 0; i < n * (size_t)r.size; i++) {
        send[i] = (unsigned char)((size_t)r.rank * 31 + i * 7);
    }
    catena_group_set(r.world, "alltoall_algorithm", "onmpml");
    for (int i = 0; i < 3; i++) {
        if (catena_alltoall(send, n, CATENA_BYTE, receive, n, CATENA_BYTE,
                            r.world) != CATENA_OK) {
            return 1;
        }
    }
    for (size_t i = 0; i < n * (size_t)r.size; i++) {
        shared->sum = shared->sum * 31 + receive[i] * ((uint64_t)r.rank + 1);
    }
    shared->times[r.rank] = catena_time(r.context);
    catena_free(r.context, send);
    catena_free(r.context, receive);
    return catena_finalize(&r.context) != CATENA_OK;
}

static uint64_t digest(const shared_t *shared)
{
    /* Combined by rank, not in the order in which they end. */
    uint64_t sum = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t bits;
        memcpy(&bits, &shared->times[i], sizeof(bits));
        sum = sum * 1099511628211u + bits;
    }
    return sum;
}

START_TEST(one_seed_one_run)
{
    shared_t runs[4];
    catena_sim_report_t reports[4];
    static const uint64_t seeds[] = {5, 5, 6, 7};
    for (int i = 0; i < 4; i++) {
        memset(&runs[i], 0, sizeof(runs[i]));
        runs[i].bytes = 200;
        reports[i].size = sizeof(reports[i]);
        catena_sim_params_t params = {.size = sizeof(params),
                                      .machine = "hpc-b",
                                      .nodes = 5,
                                      .ppn = 7,
                                      .seed = seeds[i],
                                      .jitter = 0.5,
                                      .reorder = _i};
        ck_assert_int_eq(
            catena_sim_run(&params, exchange, &runs[i], &reports[i]),
            CATENA_OK);
        ck_assert_int_eq(reports[i].failed_ranks, 0);
    }
    ck_assert_uint_eq(digest(&runs[0]), digest(&runs[1]));
    ck_assert_uint_eq(runs[0].sum, runs[1].sum);
    ck_assert_uint_eq(reports[0].events, reports[1].events);
    ck_assert(reports[0].virtual_s == reports[1].virtual_s);
    ck_assert_uint_ne(digest(&runs[0]), digest(&runs[2]));
    ck_assert_uint_ne(digest(&runs[2]), digest(&runs[3]));
    ck_assert_uint_eq(reports[0].messages, reports[2].messages);
    ck_assert_uint_eq(reports[0].bytes, reports[2].bytes);
}
END_TEST

/** The same messages and times without the data. */
START_TEST(sizes_only_changes_no_time)
{
    shared_t runs[3];
    catena_sim_report_t reports[3];
    for (int i = 0; i < 3; i++) {
        memset(&runs[i], 0, sizeof(runs[i]));
        runs[i].bytes = 3000;
        reports[i].size = sizeof(reports[i]);
        catena_sim_params_t params = {.size = sizeof(params),
                                      .machine = "hpc-a",
                                      .nodes = 4,
                                      .ppn = 6,
                                      .payload = (catena_sim_payload_t)i};
        ck_assert_int_eq(
            catena_sim_run(&params, exchange, &runs[i], &reports[i]),
            CATENA_OK);
        ck_assert_uint_eq(reports[i].messages, reports[0].messages);
        ck_assert_uint_eq(reports[i].bytes, reports[0].bytes);
        ck_assert_uint_eq(digest(&runs[i]), digest(&runs[0]));
    }
    ck_assert_uint_ne(runs[0].sum, runs[1].sum);
}
END_TEST

/* ---- hooks ---- */

static double slow_link(void *argument, const catena_sim_message_t *message)
{
    int *seen = argument;
    (*seen)++;
    return message->source == 1 ? 50e-6 : 0;
}

START_TEST(a_delay_is_added)
{
    shared_t shared = {0};
    int seen = 0;
    catena_sim_params_t params = on_round(2, 1);
    params.delay = slow_link;
    params.delay_argument = &seen;
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &shared, NULL),
                     CATENA_OK);
    ck_assert_int_gt(seen, 4);
    ck_assert(shared.times[0] > 60000);
    ck_assert(shared.times[1] < 15000);
}
END_TEST

/* ---- ends ---- */

static int skip_barrier(const catena_config_t *config, void *argument)
{
    shared_t *shared = argument;
    rank_t r;
    if (join(config, &r) != 0) {
        return 1;
    }
    catena_status_t status =
        r.rank == shared->skip ? CATENA_OK : catena_barrier(r.world);
    shared->status = status != CATENA_OK ? status : shared->status;
    (void)catena_finalize(&r.context);
    return status != CATENA_OK;
}

START_TEST(nobody_can_go_on)
{
    shared_t shared = {.skip = 3};
    catena_sim_params_t params = on_round(3, 3);
    catena_sim_report_t report = {.size = sizeof(report)};
    ck_assert_int_eq(catena_sim_run(&params, skip_barrier, &shared, &report),
                     CATENA_ERR_STATE);
    ck_assert_int_eq(shared.status, CATENA_ERR_TRANSPORT);
    ck_assert_int_gt(report.failed_ranks, 0);
}
END_TEST

static int abandon(const catena_config_t *config, void *argument)
{
    rank_t r;
    (void)argument;
    if (join(config, &r) != 0) {
        return 1;
    }
    if (r.rank == 2) {
        catena_abort(r.context, 17);
    }
    (void)catena_barrier(r.world);
    return 0;
}

/** The memory of the ranks is freed with the process, as after abort(3); leak
 * detection would report it. */
START_TEST(a_rank_aborts)
{
#if defined(__SANITIZE_ADDRESS__)
    return;
#endif
    catena_sim_params_t params = on_round(2, 2);
    catena_sim_report_t report = {.size = sizeof(report)};
    ck_assert_int_eq(catena_sim_run(&params, abandon, NULL, &report),
                     CATENA_ERR_SYSTEM);
    ck_assert_int_eq(report.exit_code, 17);
}
END_TEST

static int deep(int depth)
{
    volatile char room[512];
    for (size_t i = 0; i < sizeof(room); i++) { /* also what marks the end */
        room[i] = (char)depth;
    }
    volatile int below = depth > 0 ? deep(depth - 1) : 0; /* no loop */
    return below + room[511];
}

static int run_over(const catena_config_t *config, void *argument)
{
    (void)config;
    (void)argument;
    return deep(33) == 1; /* beyond 16 KiB, within the next stack */
}

/** AddressSanitizer needs larger stacks, and checks them itself. */
START_TEST(a_stack_runs_over)
{
#if defined(__SANITIZE_ADDRESS__)
    return;
#endif
    catena_sim_params_t params = on_round(1, 4);
    params.stack_bytes = 16384;
    ck_assert_int_eq(catena_sim_run(&params, run_over, NULL, NULL),
                     CATENA_ERR_SYSTEM);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__)
/** Under a limit of address space the default reservation cannot be had: an
 * error, and with memory_bytes a run. */
START_TEST(a_reservation_that_fits)
{
    struct rlimit before;
    shared_t shared = {0};
    catena_sim_params_t params = on_round(2, 2);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit limit = {(rlim_t)1 << 34, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &shared, NULL),
                     CATENA_ERR_NO_MEMORY);
    params.memory_bytes = (size_t)1 << 30;
    ck_assert_int_eq(catena_sim_run(&params, time_barrier, &shared, NULL),
                     CATENA_OK);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert(shared.times[0] > 0);
}
END_TEST
#endif

/** The ranks share a variable for their contexts. */
static int share_context(const catena_config_t *config, void *argument)
{
    catena_context_t **context = argument;
    if (catena_init(config, context) != CATENA_OK) {
        return 1;
    }
    catena_barrier(catena_world(*context));
    return catena_finalize(context) != CATENA_OK;
}

START_TEST(ranks_share_a_context)
{
#if defined(__SANITIZE_ADDRESS__)
    return; /* the run ends with what its ranks have */
#endif
    catena_context_t *context = NULL;
    catena_sim_params_t params = on_round(_i, 4);
    capture_t said;
    capture_start(&said);
    catena_status_t status =
        catena_sim_run(&params, share_context, &context, NULL);
    capture_stop(&said);
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    said_facts(&said, "rank", "uses the context of rank", "static variables",
               NULL);
}
END_TEST

/** The rank does not pass its config. @param argument whether it passes
 * another one */
static int join_another_job(const catena_config_t *config, void *argument)
{
    catena_context_t *context = NULL;
    catena_config_t own = {.size = sizeof(own)};
    (void)config;
    return catena_init(*(int *)argument != 0 ? &own : NULL, &context);
}

START_TEST(init_without_its_config)
{
    catena_sim_params_t params = on_round(1, 2);
    catena_sim_report_t report = {.size = sizeof(report)};
    capture_t said;
    capture_start(&said);
    catena_status_t status =
        catena_sim_run(&params, join_another_job, &_i, &report);
    capture_stop(&said);
    ck_assert_int_eq(status, CATENA_OK);
    ck_assert_int_eq(report.failed_ranks, 2);
    ck_assert_int_eq(report.exit_code, CATENA_ERR_ARG);
    said_facts(&said, "catena_init", "config is NULL, or not that of",
               "pass the argument config of the simulated program", NULL);
    /* After the simulation the thread may join a real job. */
    catena_context_t *context = NULL;
    ck_assert_int_eq(catena_init(NULL, &context), CATENA_OK);
    ck_assert_int_eq(catena_finalize(&context), CATENA_OK);
}
END_TEST

static int never_runs(const catena_config_t *config, void *argument)
{
    (void)config;
    *(int *)argument = 1;
    return 0;
}

START_TEST(bad_parameters)
{
    static const int two_of_three[] = {0, 2};
    static const int beyond[] = {0, 3};
    static const int no_core[] = {0, 4};
    static const int twice[] = {1, 1};
    static const catena_sim_kill_t no_rank = {.rank = 4, .event = 1};
    enum { BAD = 14 };
    catena_sim_params_t good = on_round(2, 2);
    catena_sim_params_t bad[BAD];
    int ran = 0;
    for (int i = 0; i < BAD; i++) {
        bad[i] = good;
    }
    bad[0].machine = "nowhere";
    bad[1].nodes = 0;
    bad[2].ppn = 0;
    bad[3].jitter = -1;
    bad[4].ports = -1;
    bad[5].kills = &no_rank;
    bad[5].kill_count = 1;
    bad[6].payload = (catena_sim_payload_t)7;
    bad[7].nodes = 3;
    bad[7].ranks = 2;
    bad[7].node_of = two_of_three;
    bad[8].ranks = 2;
    bad[8].node_of = beyond;
    bad[9].cores = no_core;
    bad[9].core_count = 2;
    bad[10].cores = twice;
    bad[10].core_count = 2;
    bad[11].cores = twice;
    bad[12].node_overhead_s = -1;
    bad[13].deaths = 1; /* without `choose` */
    for (int i = 0; i < BAD; i++) {
        ck_assert_int_eq(catena_sim_run(&bad[i], never_runs, &ran, NULL),
                         CATENA_ERR_ARG);
    }
    ck_assert_int_eq(ran, 0);
    ck_assert_int_eq(catena_sim_run(NULL, never_runs, &ran, NULL),
                     CATENA_ERR_ARG);
}
END_TEST

UNIT_TEST(sim)
{
    Suite *suite = suite_create("sim");
    TCase *queue = tcase_create("queue");
    TCase *sim = tcase_create("sim");
    tcase_add_loop_test(queue, queue_is_in_order, 0, 5);
    tcase_add_test(queue, queue_keeps_the_order_of_equals);
    tcase_add_test(sim, a_message_takes_what_loggp_says);
    tcase_add_loop_test(sim, ranks_sit_where_they_are_told, 0, 4);
    tcase_add_test(sim, messages_within_a_node_have_their_overhead);
    tcase_add_loop_test(sim, copies_share_a_domain, 0, 3);
    tcase_add_loop_test(sim, one_seed_one_run, 0, 2);
    tcase_add_test(sim, sizes_only_changes_no_time);
    tcase_add_test(sim, a_delay_is_added);
    tcase_add_test(sim, nobody_can_go_on);
    tcase_add_test(sim, a_rank_aborts);
    tcase_add_test(sim, a_stack_runs_over);
#if !defined(__SANITIZE_ADDRESS__) /* which reserves address space itself */
    tcase_add_test(sim, a_reservation_that_fits);
#endif
    tcase_add_loop_test(sim, ranks_share_a_context, 1, 3);
    tcase_add_loop_test(sim, init_without_its_config, 0, 2);
    tcase_add_test(sim, bad_parameters);
    suite_add_tcase(suite, queue);
    suite_add_tcase(suite, sim);
    return unit_run(suite);
}
