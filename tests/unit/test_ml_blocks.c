/* Collectives of blocks put together from levels (gather, scatter, allgather,
 * reduce_scatter, and those with lengths of their own), in simulated jobs:
 * every byte of the buffers against what each rank is known to give. */

#include <catena/catena.h>
#include <catena/coll.h>
#include <stdlib.h>
#include <string.h>

#include "block_call.h"
#include "capture.h"
#include "unit.h"

/* ---- jobs ---- */

static const int dealt[] = {0, 1, 2, 1, 2, 2, 1, 2, 2}; /* :3+1+5, in turn */
static const int uneven[] = {0, 0, 0, 1, 2, 2, 2, 2, 2};
static const int mixed[] = {2, 0, 0, 2, 1, 1, 0, 2, 1, 0, 0, 2, 1};

static const struct shape {
    int nodes;
    int ranks;          /* of node_of, or on each node */
    const int *node_of; /* NULL: in blocks */
    const char *topology;
} shapes[] = {
    {1, 1, NULL, ""},  {1, 5, NULL, ""},
    {5, 1, NULL, ""},  {3, 9, uneven, ""},
    {3, 9, dealt, ""}, {3, 13, mixed, "numa:2 core:2 pu:1"},
    {4, 4, NULL, ""},  {2, 8, NULL, "numa:2 core:4 pu:1"},
};

static const char *const hierarchies[] = {
    "auto",
    "network:p2p",
    "node:shm,network:ucx",
    "node:p2p,network:p2p",
    "numa:shm,node:shm,network:p2p",
    "user:p2p,network:p2p",
    "core:p2p,user:p2p,node:p2p,network:p2p",
};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void set_hierarchy(job_t *job, catena_group_t *group, uint64_t *random)
{
    uint64_t which = job_random(random) % (unsigned)COUNT(hierarchies);
    uint64_t parts = job_random(random) % 4 + 1;
    uint64_t mine = job->seed * 77 + job->rank;
    char name[16];
    snprintf(name, sizeof(name), "part%u",
             (unsigned)(job_random(&mine) % parts));
    JOB_CHECK(job, catena_group_set(group, "subgroup", name) == CATENA_OK);
    JOB_CHECK(job, catena_group_set(group, "hierarchy", hierarchies[which]) ==
                       CATENA_OK);
}

static int run_on(int number, job_body_t body)
{
    const struct shape *shape = &shapes[number % COUNT(shapes)];
    char topology[64];
    snprintf(topology, sizeof(topology), "TOPOLOGY=%s", shape->topology);
    const char *settings[] = {topology, NULL};
    catena_sim_params_t params = {
        .machine = "hpc-a",
        .nodes = shape->nodes,
        .ppn = shape->ranks,
        .ranks = shape->ranks,
        .node_of = shape->node_of,
        .seed = (uint64_t)number,
        .jitter = 0.5,
        .reorder = number % 3 != 0,
        .stack_bytes = JOB_STACK_BYTES,
        .settings = settings,
    };
    return job_simulate_on(&params, body);
}

static void start(block_call_t *call, form_t form)
{
    block_fill(call);
    JOB_CHECK(call->job, block_run(call, form) == CATENA_OK);
}

/** One after the other, each blocking. */
static void one_by_one(job_t *job)
{
    uint64_t random = job->seed * 31 + 7;
    catena_group_t *world = job->context->world;
    set_hierarchy(job, world, &random);
    for (int i = 0; i < 16; i++) {
        block_call_t call;
        block_draw(&call, job, world, &random);
        start(&call, BLOCKING);
        block_check(&call);
        block_release(&call);
    }
}

/** Several under way on groups in opposite orders of ranks, which every second
 * rank starts in another order; waited for in another. */
static void many_at_once(job_t *job)
{
    enum { AT_ONCE = 6 };
    uint64_t random = job->seed * 37 + 11;
    catena_group_t *group[2] = {job->context->world, NULL};
    JOB_CHECK(job, catena_group_split(group[0], 0, -(int)job->rank,
                                      &group[1]) == CATENA_OK);
    set_hierarchy(job, group[0], &random);
    set_hierarchy(job, group[1], &random);
    for (int turn = 0; turn < 3; turn++) {
        block_call_t call[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            block_draw(&call[i], job, group[i / (AT_ONCE / 2)], &random);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            start(&call[(i + (int)job->rank % 2 * (AT_ONCE / 2)) % AT_ONCE],
                  NONBLOCKING);
        }
        uint64_t first = job_random(&random) + job->rank;
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            block_call_t *ended = &call[(first + 5 * i) % AT_ONCE];
            JOB_CHECK(job, catena_wait(&ended->request) == CATENA_OK);
            block_check(ended);
            block_release(ended);
        }
    }
    JOB_CHECK(job, catena_group_free(group[1]) == CATENA_OK);
}

/** Persistent ones, several of them started again and again. */
static void again_and_again(job_t *job)
{
    enum { AT_ONCE = 3 };
    uint64_t random = job->seed * 41 + 13;
    catena_request_t *request[AT_ONCE];
    block_call_t call[AT_ONCE];
    set_hierarchy(job, job->context->world, &random);
    for (int i = 0; i < AT_ONCE; i++) {
        block_draw(&call[i], job, job->context->world, &random);
        start(&call[i], PERSISTENT);
        request[i] = call[i].request;
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            block_fill(&call[i]);
        }
        JOB_CHECK(job, catena_startall(AT_ONCE, request) == CATENA_OK);
        JOB_CHECK(job, catena_waitall(AT_ONCE, request) == CATENA_OK);
        for (int i = 0; i < AT_ONCE; i++) {
            block_check(&call[i]);
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        JOB_CHECK(job, catena_request_free(&request[i]) == CATENA_OK);
        block_release(&call[i]);
    }
}

#define SEEDS 96

START_TEST(each_by_itself)
{
    ck_assert_int_eq(run_on(_i, one_by_one), 0);
}
END_TEST

START_TEST(several_at_once)
{
    ck_assert_int_eq(run_on(_i, many_at_once), 0);
}
END_TEST

START_TEST(persistent_ones)
{
    ck_assert_int_eq(run_on(_i, again_and_again), 0);
}
END_TEST

/* ---- lengths that differ from what was expected ---- */

/** One rank gives more than the root expects of it: the root says so, and
 * writes nothing beyond; the others do not notice. */
static void too_much_given(job_t *job)
{
    uint64_t recv[64];
    size_t counts[16];
    ptrdiff_t displacements[16];
    const uint64_t mine[3] = {job->rank, job->rank, job->rank};
    uint32_t root = job->size - 1;
    memset(recv, 0x5a, sizeof(recv));
    for (uint32_t i = 0; i < job->size; i++) {
        counts[i] = 1;
        displacements[i] = 2 * (ptrdiff_t)i;
    }
    catena_status_t status = catena_gatherv(
        mine, job->rank == 1 ? 3 : 1, CATENA_UINT64, recv, counts,
        displacements, CATENA_UINT64, (int)root, job->context->world);
    JOB_CHECK(job, status == (job->rank == root ? CATENA_ERR_ARG : CATENA_OK));
    for (uint32_t i = 0; job->rank == root && i < job->size; i++) {
        JOB_CHECK(job, recv[2 * i] == i && recv[2 * i + 1] == UNTOUCHED);
    }
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
}

static void too_much_sent(job_t *job)
{
    uint64_t send[64];
    uint64_t recv[3] = {UNTOUCHED, UNTOUCHED, UNTOUCHED};
    size_t counts[16];
    ptrdiff_t displacements[16];
    for (uint32_t i = 0; i < job->size; i++) {
        counts[i] = i == 1 ? 3 : 1;
        displacements[i] = 3 * (ptrdiff_t)i;
        send[3 * i] = send[3 * i + 1] = send[3 * i + 2] = i;
    }
    catena_status_t status =
        catena_scatterv(send, counts, displacements, CATENA_UINT64, recv, 1,
                        CATENA_UINT64, (int)job->size - 1, job->context->world);
    JOB_CHECK(job, status == (job->rank == 1 ? CATENA_ERR_ARG : CATENA_OK));
    JOB_CHECK(job, recv[0] == job->rank && recv[1] == UNTOUCHED);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
}

START_TEST(lengths_that_differ)
{
    static const job_body_t bodies[] = {too_much_given, too_much_sent};
    capture_t capture;
    capture_start(&capture);
    int failed = run_on(3 + _i / 2, bodies[_i % 2]);
    capture_stop(&capture);
    ck_assert_int_eq(failed, 0);
    ck_assert_ptr_nonnull(
        strstr(capture.text, "the block of rank 1 has 24 bytes; expected 8"));
}
END_TEST

/* ---- data that are not moved ---- */

static int run_sizes(job_body_t body)
{
    catena_sim_params_t params = {.machine = "hpc-a",
                                  .nodes = 3,
                                  .ppn = 3,
                                  .payload = CATENA_SIM_SIZES,
                                  .stack_bytes = JOB_STACK_BYTES};
    return job_simulate_on(&params, body);
}

/** Everything runs but what sends lengths as data, which says so. */
static void sizes_only(job_t *job)
{
    catena_group_t *world = job->context->world;
    uint64_t random = 5;
    JOB_CHECK(job, catena_group_set(world, "hierarchy",
                                    "node:shm,network:p2p") == CATENA_OK);
    for (int i = 0; i < 40; i++) {
        block_call_t call;
        block_draw(&call, job, world, &random);
        bool asks = call.which == GATHERV || call.which == SCATTERV;
        catena_status_t status = block_run(&call, BLOCKING);
        JOB_CHECK(job, status == (asks ? CATENA_ERR_UNSUPPORTED : CATENA_OK));
        block_release(&call);
    }
}

START_TEST(sizes)
{
    capture_t capture;
    capture_start(&capture);
    int failed = run_sizes(sizes_only);
    capture_stop(&capture);
    ck_assert_int_eq(failed, 0);
    ck_assert_ptr_nonnull(strstr(capture.text, "lengths go ahead as data"));
}
END_TEST

/* ---- what is told ---- */

static void explained(job_t *job)
{
    catena_group_t *world = job->context->world;
    uint64_t random = job->seed;
    char text[512];
    JOB_CHECK(job, catena_group_set(world, "hierarchy",
                                    "node:shm,network:p2p") == CATENA_OK);
    for (int which = 0; which < KINDS; which++) {
        block_call_t call;
        do {
            block_draw(&call, job, world, &random);
            if (call.which != (block_which_t)which || call.count == 0) {
                block_release(&call);
            }
        } while (call.which != (block_which_t)which || call.count == 0);
        start(&call, BLOCKING);
        block_check(&call);
        block_release(&call);
        JOB_CHECK(job, catena_group_explain(world, block_names[which], text,
                                            sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "node:shm(4) network:p2p(4)") != NULL ||
                           job->rank % 4 != 0);
    }
}

START_TEST(explains)
{
    ck_assert_int_eq(run_on(6, explained), 0);
}
END_TEST

/** What comes of it is that it comes to an end. */
static void until_death(job_t *job)
{
    uint64_t random = job->seed * 53 + 23;
    set_hierarchy(job, job->context->world, &random);
    for (int i = 0; i < 8 && job->exec->status == CATENA_OK; i++) {
        block_call_t call;
        block_draw(&call, job, job->context->world, &random);
        job->errors = 3; /* errors are expected */
        start(&call, BLOCKING);
        block_release(&call);
    }
}

START_TEST(deaths)
{
    job_simulate_death(11, (uint64_t)_i, 2000 + (uint64_t)(_i * _i) * 41,
                       until_death);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, each_by_itself, 0, SEEDS);
    tcase_add_loop_test(tcase, several_at_once, 0, SEEDS);
    tcase_add_loop_test(tcase, persistent_ones, 0, SEEDS);
    tcase_add_loop_test(tcase, lengths_that_differ, 0, 8);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, explains);
    tcase_add_loop_test(tcase, deaths, 1, 25);
}

int main(void)
{
    return unit_main("ml_blocks", 60, add_cases);
}
