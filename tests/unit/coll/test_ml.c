/* Hierarchical collectives in simulated jobs: each collective with each
 * hierarchy on jobs of many shapes, and on a single level with each algorithm,
 * compared with the oracle. Also: heap exhausted, catena_group_explain, and
 * simulation without data. */

#include <catena/catena.h>
#include <catena/coll.h>
#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "coll/ml/ml.h"
#include "oracle/call.h"
#include "oracle/random.h"
#include "unit/job.h"
#include "unit/unit.h"

static const int dealt[] = {0, 1, 2, 1, 2,
                            2, 1, 2, 2}; /* :3+1+5, round-robin */
static const int mixed[] = {2, 0, 0, 2, 1, 1, 0, 2, 1, 0, 0, 2, 1};

static const struct shape {
    int nodes;
    int ranks;          /* of node_of, or on each node */
    const int *node_of; /* NULL: in blocks */
    const char *topology;
} shapes[] = {
    {1, 1, NULL, ""}, {1, 5, NULL, ""},  {5, 1, NULL, ""},
    {4, 4, NULL, ""}, {3, 9, dealt, ""}, {3, 13, mixed, "numa:2 core:2 pu:1"},
};

enum {
    SHAPES = sizeof(shapes) / sizeof(shapes[0]),
    KINDS = ORACLE_ALLTOALL + 1, /* hierarchical ones */
    HIERARCHIES = 6,
    SHM = 1, /* on one node */
    P2P = 2,
    OF_BLOCKS = (ORACLE_SCAN - ORACLE_GATHER) / 2
};

static catena_sim_params_t params_of(const struct shape *shape, uint64_t seed)
{
    static char topology[64];
    static const char *const settings[] = {topology, NULL};
    snprintf(topology, sizeof(topology), "TOPOLOGY=%s", shape->topology);
    return (catena_sim_params_t){
        .size = sizeof(catena_sim_params_t),
        .machine = "hpc-a",
        .nodes = shape->nodes,
        .ppn = shape->ranks,
        .ranks = shape->ranks,
        .node_of = shape->node_of,
        .seed = seed,
        .jitter = 0.5,
        .reorder = seed % 3 != 0,
        .stack_bytes = JOB_STACK_BYTES,
        .settings = settings,
    };
}

/** Draw a short call of a collective, and subgroups of "user". */
static oracle_call_t draw(job_t *job, const oracle_table_t *table,
                          unsigned kind, unsigned hierarchy, uint64_t *random)
{
    enum { SHORT_SIZES = 8 };
    catena_group_t *world = job->context->world;
    oracle_call_t call = {.group = world, .table = table};
    oracle_draw(&call.c, kind, true, random);
    call.c.value[ORACLE_HIERARCHY] = (uint8_t)hierarchy;
    call.c.value[ORACLE_SIZE] %= SHORT_SIZES;
    oracle_repair(&call.c);
    call.shape = ctn_random(random);
    return call;
}

/* ---- results ---- */

static unsigned kind_of, hierarchy_of, algorithm_of;
static int exhausted_errors; /* of all ranks */

/** One rank is late: by the common clock no rank leaves the barrier before the
 * late rank enters it. */
static void check_barrier(job_t *job, catena_group_t *group)
{
    for (uint32_t late = 0; late < job->size; late++) {
        double until = 0;
        if (job->rank == late) {
            JOB_CHECK(job, catena_compute(job->context, 2e-4) == CATENA_OK);
            until = catena_time(job->context);
        }
        JOB_CHECK(job, catena_barrier(group) == CATENA_OK);
        double through = catena_time(job->context);
        JOB_CHECK(job, catena_bcast(&until, 1, CATENA_DOUBLE, (int)late,
                                    group) == CATENA_OK);
        JOB_CHECK(job, through >= until);
    }
}

/** All ranks get the same bits, although sums are rounded. */
static void same_bits(job_t *job, catena_group_t *group)
{
    enum { COUNT = 300 };
    float sum[COUNT], first[COUNT];
    uint64_t random = job->seed * 100 + job->rank;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t x = ctn_random(&random);
        sum[i] = (float)x / (float)(1 + x % 1000000);
    }
    JOB_CHECK(job, catena_allreduce(CATENA_IN_PLACE, sum, COUNT, CATENA_FLOAT,
                                    CATENA_SUM, group) == CATENA_OK);
    memcpy(first, sum, sizeof(sum));
    JOB_CHECK(job,
              catena_bcast(first, COUNT, CATENA_FLOAT, 0, group) == CATENA_OK);
    JOB_CHECK(job, memcmp(first, sum, sizeof(sum)) == 0);
}

static void results_of_one(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = job->seed;
    char name[16];
    snprintf(name, sizeof(name), "part%u",
             (unsigned)(oracle_hash(job->seed, job->rank, 1) % 3));
    JOB_CHECK(job, catena_group_set(job->context->world, "subgroup", name) ==
                       CATENA_OK);
    oracle_table_open(&oracle, &table);
    for (int i = 0; i < 3; i++) {
        oracle_call_t call = draw(job, &table, kind_of, hierarchy_of, &random);
        if (i == 0) {
            oracle_choose_hierarchy(&oracle, &call.c, call.group);
        }
        oracle_choose_algorithm(&oracle, &call.c, call.group);
        oracle_call_exercise(&oracle, &call, 2);
    }
    if (kind_of == ORACLE_BARRIER) {
        check_barrier(job, job->context->world);
    }
    oracle_table_close(&oracle, &table);
    JOB_CHECK(job, job->context->world->composed == 0);
}

/** Each collective in each hierarchy on two shapes; over all rounds each
 * collective and each hierarchy runs on all shapes. With few rounds, every
 * second collective. */
START_TEST(results)
{
    unsigned round = (unsigned)_i;
    hierarchy_of = round % HIERARCHIES;
    unsigned step = (unsigned)unit_step(2);
    for (kind_of = round % step; kind_of < KINDS; kind_of += step) {
        unsigned shape = (kind_of + round + round / HIERARCHIES * 2) % SHAPES;
        catena_sim_params_t params =
            params_of(&shapes[shape], round * KINDS + kind_of + 1);
        ck_assert_msg(job_simulate_on(&params, results_of_one) == 0,
                      "%s in hierarchy %u", oracle_kind_name(kind_of),
                      hierarchy_of);
    }
}
END_TEST

/* ---- each algorithm, on a single level ---- */

/** Whether the component of a hierarchy has an algorithm of that name. */
static bool has(unsigned hierarchy, const char *name)
{
    const ctn_bcol_t *bcol = hierarchy == SHM ? &ctn_bcol_shm : &ctn_bcol_p2p;
    ctn_algorithm_set_t all = 0;
    for (int kind = 0; kind < CTN_BASICS; kind++) {
        all |= bcol->algorithms[kind];
    }
    for (unsigned i = 1; i < CTN_ALGORITHMS; i++) {
        if (strcmp(ctn_algorithm_names[i], name) == 0 &&
            ctn_algorithm_in(all, i)) {
            return true;
        }
    }
    return strcmp(name, "auto") == 0;
}

/** Short calls, and one of any length. The group's teardown frees all memory.
 */
static void run_algorithm(job_t *job, const oracle_table_t *table,
                          unsigned algorithm, uint64_t *random)
{
    oracle_t oracle = job_oracle(job);
    catena_group_t *group = NULL;
    ctn_backoff_t backoff = {0};
    uint64_t memory = job->exec->tally.memory;
    JOB_CHECK(job, catena_group_dup(job->context->world, &group) == CATENA_OK);
    for (int i = 0; i < 4; i++) {
        oracle_call_t call = draw(job, table, kind_of, hierarchy_of, random);
        call.group = group;
        call.c.value[ORACLE_ALGORITHM] = (uint8_t)algorithm;
        if (i % 2 == 1 && oracle_reduces(kind_of)) { /* detects the order */
            call.c.value[ORACLE_OP] = ORACLE_ORDERED;
            call.c.value[ORACLE_TYPE] = ORACLE_PAIR;
        }
        if (i == 3 && job->size < 10) {
            call.c.value[ORACLE_SIZE] =
                (uint8_t)ctn_random_below(random, ORACLE_SIZES);
            oracle_repair(&call.c);
        }
        oracle_choose_hierarchy(&oracle, &call.c, group);
        oracle_choose_algorithm(&oracle, &call.c, group);
        oracle_call_exercise(&oracle, &call, 2);
    }
    if (kind_of == ORACLE_BARRIER) {
        check_barrier(job, group);
    } else if (kind_of == ORACLE_ALLREDUCE) {
        same_bits(job, group);
    }
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    while (job->exec->background != NULL) { /* teardown of the group */
        ctn_exec_poll_or_idle(job->exec, &backoff);
    }
    JOB_CHECK(job, job->exec->tally.memory == memory);
}

static void run_algorithms(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = job->seed;
    oracle_table_open(&oracle, &table);
    for (unsigned i = 0; i < oracle_algorithms(kind_of); i++) {
        if (has(hierarchy_of, oracle_algorithm_name(kind_of, i))) {
            run_algorithm(job, &table, i, &random);
        }
    }
    oracle_table_close(&oracle, &table);
}

/** Ranks of one node for shm, any layout for messages. */
static int simulate(uint32_t ranks, uint64_t seed, job_body_t body)
{
    return hierarchy_of == SHM ? job_simulate_node(ranks, seed, body)
                               : job_simulate(ranks, seed, body);
}

START_TEST(every_algorithm)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13};
    kind_of = (unsigned)_i / 2;
    hierarchy_of = _i % 2 == 0 ? SHM : P2P;
    size_t step = (size_t)unit_step(3);
    for (size_t i = kind_of % step; i < sizeof(sizes) / sizeof(sizes[0]);
         i += step) {
        ck_assert_msg(simulate(sizes[i], (uint64_t)_i + i, run_algorithms) == 0,
                      "%s of %u", oracle_kind_name(kind_of), sizes[i]);
    }
}
END_TEST

/* ---- heap exhausted ---- */

/** Every second rank has no memory left for long blocks. All calls return, and
 * if no rank had to abort, the next collective works. */
static void exhaust_heap(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = job->seed;
    job_hoard_t *hoard = calloc(1, sizeof(*hoard));
    catena_group_t *world = job->context->world;
    job->context->log.level =
        CATENA_LOG_ERROR; /* no warnings: they are expected */
    oracle_table_open(&oracle, &table);
    oracle_call_t call = draw(job, &table, kind_of, hierarchy_of, &random);
    call.c.value[ORACLE_ALGORITHM] = (uint8_t)algorithm_of;
    call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
    call.c.value[ORACLE_SIZE] = ORACLE_LONG - 1;
    call.c.value[ORACLE_MEMORY] = ORACLE_MALLOC; /* needs staging */
    oracle_choose_hierarchy(&oracle, &call.c, world);
    oracle_choose_algorithm(&oracle, &call.c, world);
    oracle_call_t before = call; /* builds the hierarchy */
    oracle_call_t after = call;
    oracle_call_exercise(&oracle, &before, 1);
    oracle_call_open(&oracle, &call);
    oracle_call_fill(&call, 1);
    JOB_CHECK(job,
              ctn_op_run(job->exec, ctn_barrier_create(world)) == CATENA_OK);
    if (job->rank % 2 == job->seed % 2) {
        job_take_heap(job, hoard);
    }
    JOB_CHECK(job,
              ctn_op_run(job->exec, ctn_barrier_create(world)) == CATENA_OK);
    catena_status_t status = oracle_call_run(&oracle, &call);
    JOB_CHECK(job,
              status == CATENA_OK || status == (job->exec->status == CATENA_OK
                                                    ? CATENA_ERR_NO_MEMORY
                                                    : CATENA_ERR_ENDED));
    if (status == CATENA_OK) {
        oracle_call_check(&oracle, &call, "heap exhausted");
    }
    status = ctn_op_run(job->exec, ctn_barrier_create(world));
    job_give_heap(job, hoard);
    if (status == CATENA_OK &&
        ctn_op_run(job->exec, ctn_barrier_create(world)) == CATENA_OK) {
        oracle_call_exercise(&oracle, &after, 1);
    }
    oracle_call_close(&oracle, &call);
    oracle_table_close(&oracle, &table);
    free(hoard);
    exhausted_errors += job->errors;
}

/** With each algorithm of the collectives that move blocks. */
START_TEST(without_memory)
{
    kind_of = ORACLE_GATHERV + (unsigned)_i / 2 * 2; /* every second one */
    hierarchy_of = _i % 2 == 0 ? SHM : P2P;
    exhausted_errors = 0;
    for (algorithm_of = 0; algorithm_of < oracle_algorithms(kind_of);
         algorithm_of++) {
        if (has(hierarchy_of, oracle_algorithm_name(kind_of, algorithm_of))) {
            /* A rank that aborts ends with an error. */
            ck_assert_int_ge(
                simulate(5, (uint64_t)_i + algorithm_of, exhaust_heap), 0);
        }
    }
    ck_assert_int_eq(exhausted_errors, 0);
}
END_TEST

/* ---- simulation without data ---- */

/** Everything runs except collectives that send lengths as data, which return
 * an error. */
static void sizes_only(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = 5;
    catena_request_t *none = NULL;
    oracle_table_open(&oracle, &table);
    for (unsigned i = 0; i < 3 * KINDS; i++) {
        oracle_call_t call = draw(job, &table, i % KINDS, 1, &random);
        bool sends_lengths =
            i % KINDS == ORACLE_GATHERV || i % KINDS == ORACLE_SCATTERV;
        call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
        oracle_choose_hierarchy(&oracle, &call.c, call.group);
        oracle_call_open(&oracle, &call);
        oracle_call_fill(&call, i);
        JOB_CHECK(job,
                  oracle_call_run(&oracle, &call) ==
                      (sends_lengths ? CATENA_ERR_UNSUPPORTED : CATENA_OK));
        JOB_CHECK(job, call.request == none);
        oracle_call_close(&oracle, &call);
    }
    oracle_table_close(&oracle, &table);
}

START_TEST(sizes)
{
    catena_sim_params_t params = params_of(&shapes[3], 1);
    params.payload = CATENA_SIM_SIZES;
    ck_assert_int_eq(job_simulate_on(&params, sizes_only), 0);
}
END_TEST

/** With no data to move, no rank waits for another or sends a message. */
static void nothing(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_request_t *request = NULL;
    if (job->rank == 0) {
        JOB_CHECK(job,
                  catena_bcast(NULL, 0, CATENA_INT64, 0, world) == CATENA_OK);
        JOB_CHECK(job,
                  catena_iallreduce(NULL, NULL, 0, CATENA_INT64, CATENA_SUM,
                                    world, &request) == CATENA_OK);
        JOB_CHECK(job, request == NULL);
        JOB_CHECK(job, catena_scan_init(NULL, NULL, 0, CATENA_INT64, CATENA_SUM,
                                        world, &request) == CATENA_OK);
        JOB_CHECK(job, catena_request_start(request) == CATENA_OK);
        JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
        JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
    }
}

START_TEST(zero_counts)
{
    ck_assert_int_eq(job_simulate(5, 1, nothing), 0);
}
END_TEST

/** A rank with a collective in progress cannot free its group; the group stays
 * unchanged. */
static void freed_too_early(job_t *job)
{
    catena_group_t *group;
    catena_request_t *request = NULL;
    uint64_t own = job->rank;
    uint64_t sum = 0;
    JOB_CHECK(job, catena_group_dup(job->context->world, &group) == CATENA_OK);
    for (int turn = 0; turn < 2; turn++) {
        if ((job->rank == 0) == (turn == 0)) {
            JOB_CHECK(job, catena_iallreduce(&own, &sum, 1, CATENA_UINT64,
                                             CATENA_SUM, group,
                                             &request) == CATENA_OK);
        }
        JOB_CHECK(job, job->rank > 0 || job->size == 1 || turn > 0 ||
                           catena_group_free(&group) == CATENA_ERR_STATE);
    }
    JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
    JOB_CHECK(job, sum == job->size * (job->size - 1) / 2);
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
}

START_TEST(groups_under_way)
{
    static const uint32_t ranks[] = {1, 2, 3, 5, 8, 13, 24};
    ck_assert_int_eq(job_simulate(ranks[_i], (uint64_t)_i, freed_too_early), 0);
}
END_TEST

/* ---- explain ---- */

static bool explains_fact(job_t *job, const char *collective, const char *fact)
{
    char text[512];
    JOB_CHECK(job, catena_group_explain(job->context->world, collective, text,
                                        sizeof(text)) == CATENA_OK);
    return strstr(text, fact) != NULL;
}

/** Explanations of the last collectives. */
static void explained(job_t *job)
{
    catena_group_t *world = job->context->world;
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t own[4] = {job->rank, 1, 2, 3};
    uint64_t all[4];
    char text[8];
    char *vector = calloc(100000, 1);
    static const char levels[] = "node:shm,network:p2p";
    oracle_table_open(&oracle, &table);
    JOB_CHECK(job, catena_group_set(world, "hierarchy", levels) == CATENA_OK);
    JOB_CHECK(job,
              catena_bcast(vector, 100000, CATENA_BYTE, 0, world) == CATENA_OK);
    JOB_CHECK(job, explains_fact(job, "bcast", levels));
    JOB_CHECK(job, explains_fact(job, "bcast", "chunks=4 "));
    JOB_CHECK(job, explains_fact(job, "bcast", "chunk_bytes=32768"));
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    JOB_CHECK(job, explains_fact(job, "barrier", levels));
    JOB_CHECK(job,
              catena_allreduce(own, all, 2, table.send[ORACLE_PAIR].type,
                               table.op[ORACLE_ORDERED], world) == CATENA_OK);
    /* Ranks are placed round-robin: only the flat hierarchy is in their order.
     */
    JOB_CHECK(job, explains_fact(job, "allreduce", "network:p2p(9)"));
    JOB_CHECK(job, !explains_fact(job, "allreduce", "messages=0 "));
    JOB_CHECK(job, catena_group_explain(world, "magic", text, sizeof(text)) ==
                       CATENA_ERR_ARG);
    oracle_table_close(&oracle, &table);
    free(vector);
}

START_TEST(explains)
{
    catena_sim_params_t params = params_of(&shapes[4], 3);
    ck_assert_int_eq(job_simulate_on(&params, explained), 0);
}
END_TEST

/** On one node a group that a split made needs no message to build its
 * hierarchy, and takes few pages of the heap. A long vector works, too. */
static void first_call(job_t *job)
{
    enum { LONG = 3000, MOST = 64 << 10 };
    static double one[LONG], sum[16][LONG];
    uint32_t me = job->rank;
    catena_heap_stats_t before, after;
    catena_group_t *group = NULL;
    uint64_t messages = 0;
    for (int i = 0; i < LONG; i++) {
        one[i] = 1;
    }
    for (int i = 0; i < 3; i++) {
        ctn_heap_get_stats(job->exec->heap, &before);
        JOB_CHECK(job,
                  catena_group_dup(job->context->world, &group) == CATENA_OK);
        JOB_CHECK(job, catena_group_set(group, "hierarchy",
                                        "node:shm,network:p2p") == CATENA_OK);
        messages = job->exec->tally.messages;
        JOB_CHECK(job, catena_allreduce(one, sum[me], 1, CATENA_DOUBLE,
                                        CATENA_SUM, group) == CATENA_OK);
        /* later a teardown may send some */
        JOB_CHECK(job, i > 0 || job->exec->tally.messages == messages);
        ctn_heap_get_stats(job->exec->heap, &after);
        JOB_CHECK(job, i == 0 || job->rank == 0 ||
                           after.in_use <= before.in_use + MOST);
        JOB_CHECK(job, sum[me][0] == (double)job->size);
        JOB_CHECK(job, catena_allreduce(one, sum[me], LONG, CATENA_DOUBLE,
                                        CATENA_SUM, group) == CATENA_OK);
        JOB_CHECK(job, sum[me][LONG - 1] == (double)job->size);
        JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    }
}

START_TEST(first_calls_on_a_node)
{
    ck_assert_int_eq(job_simulate_node(_i, (uint64_t)_i, first_call), 0);
}
END_TEST

/* ---- alltoall with blocks of different lengths ---- */

/** Lengths of blocks, of which one is cut and one is not, or none is, or both
 * are: into equally many parts, or not; and where one rank's blocks end with a
 * part. */
static const size_t block_bytes[][2] = {
    {8, 12},         {8, 40000},     {40000, 40008},
    {40000, 500000}, {58304, 60000}, {29120, 29121},
};

static int unexpected; /* results, on all ranks */

/** One rank has blocks of another length: no rank waits for ever, and if the
 * job has not ended, the next call is right. */
static void other_lengths(job_t *job)
{
    const size_t *bytes = block_bytes[job->seed % 6];
    catena_group_t *world = job->context->world;
    bool other = job->rank == job->seed / 6 % job->size;
    size_t count = bytes[other];
    unsigned char *send = calloc(job->size, bytes[1]);
    unsigned char *recv = calloc(job->size, bytes[1]);
    job->context->log.level = CATENA_LOG_FATAL; /* they are expected */
    unexpected +=
        catena_group_set(world, "alltoall_hierarchy",
                         job->seed / 6 % 2 == 0 ? "node:shm,network:p2p"
                                                : "network:p2p") != CATENA_OK;
    catena_status_t status = catena_alltoall(send, count, CATENA_BYTE, recv,
                                             count, CATENA_BYTE, world);
    unexpected += status != CATENA_ERR_ARG && status != CATENA_ERR_ENDED &&
                  (status != CATENA_OK || other);
    status = catena_alltoall(send, 1, CATENA_BYTE, recv, 1, CATENA_BYTE, world);
    unexpected += status != CATENA_OK && status != CATENA_ERR_ENDED;
    free(send);
    free(recv);
}

START_TEST(lengths_that_differ)
{
    bool cut = block_bytes[_i % 6][1] > 100; /* then the job ends */
    catena_sim_params_t params = params_of(&shapes[4], (uint64_t)_i);
    unexpected = 0;
    int failed = job_simulate_on(&params, other_lengths);
    ck_assert_int_eq(unexpected, 0);
    ck_assert_int_eq(failed, cut ? params.ranks : 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, first_calls_on_a_node, 2, 9);
    tcase_add_loop_test(tcase, results, 0, 2 * HIERARCHIES / unit_step(2));
    tcase_add_loop_test(tcase, every_algorithm, 0, 2 * KINDS);
    for (int i = 0; i < 2 * OF_BLOCKS; i += unit_step(5)) {
        tcase_add_loop_test(tcase, without_memory, i, i + 1);
    }
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, zero_counts);
    tcase_add_loop_test(tcase, groups_under_way, 0, 7);
    tcase_add_test(tcase, explains);
    for (int i = 0; i < 54; i += unit_step(7)) {
        tcase_add_loop_test(tcase, lengths_that_differ, i, i + 1);
    }
}

UNIT_TEST(ml)
{
    return unit_main("ml", 60, add_cases);
}
