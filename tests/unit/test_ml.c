/* Collectives put together from levels, in simulated jobs: results against
 * naive references from ranks that all know what each contributes, several
 * operations under way on several groups, and errors. usage: test_ml, or as a
 * rank under a launcher: test_ml --rank */

#include <catena/catena.h>
#include <catena/coll.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "coll/ml/ml.h"
#include "job.h"
#include "unit.h"
#include "vector_call.h"

/* ---- hierarchies ---- */

static const char *const hierarchies[] = {
    "auto",
    "network:p2p",
    "node:p2p,network:p2p",
    "node:shm,network:ucx",
    "user:p2p,network:p2p",
    "core:p2p,node:shm,network:p2p",
};

enum { HIERARCHIES = sizeof(hierarchies) / sizeof(hierarchies[0]) };

/** One of them; subgroups of "user" are drawn, too. */
static void set_hierarchy(job_t *job, catena_group_t *group, uint64_t *random)
{
    uint64_t which = job_random(random) % HIERARCHIES;
    uint64_t parts = job_random(random) % 4 + 1;
    uint64_t mine = job->seed * 77 + job->rank;
    char name[16];
    snprintf(name, sizeof(name), "part%u",
             (unsigned)(job_random(&mine) % parts));
    JOB_CHECK(job, catena_group_set(group, "subgroup", name) == CATENA_OK);
    JOB_CHECK(job, catena_group_set(group, "hierarchy", hierarchies[which]) ==
                       CATENA_OK);
}

/* ---- bodies ---- */

/** One collective after the other, each blocking. */
static void one_by_one(job_t *job)
{
    uint64_t random = job->seed * 31 + 7;
    catena_group_t *world = job->context->world;
    vector_call_t *call = vector_calls_new(job, &world, 1);
    set_hierarchy(job, world, &random);
    for (int i = 0; i < 12; i++) {
        vector_draw(call, &random);
        vector_start(call, BLOCKING);
        vector_check(call);
    }
    vector_calls_free(call, 1);
    JOB_CHECK(job, world->composed == 0);
}

/** Several are under way, on groups in opposite orders of ranks, which every
 * second rank starts in another order; and they are waited for in another. */
static void many_at_once(job_t *job)
{
    enum { AT_ONCE = 6 };
    uint64_t random = job->seed * 37 + 11;
    catena_group_t *group[2] = {job->context->world, NULL};
    catena_group_t *of[AT_ONCE];
    JOB_CHECK(job, catena_group_split(group[0], 0, -(int)job->rank,
                                      &group[1]) == CATENA_OK);
    set_hierarchy(job, group[0], &random);
    set_hierarchy(job, group[1], &random);
    for (int i = 0; i < AT_ONCE; i++) {
        of[i] = group[i / (AT_ONCE / 2)];
    }
    vector_call_t *call = vector_calls_new(job, of, AT_ONCE);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            vector_draw(&call[i], &random);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            vector_start(&call[(i + job->rank % 2 * (AT_ONCE / 2)) % AT_ONCE],
                         NONBLOCKING);
        }
        uint64_t first = job_random(&random) + job->rank;
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            vector_call_t *ended = &call[(first + 5 * i) % AT_ONCE];
            JOB_CHECK(job, catena_wait(&ended->request) == CATENA_OK);
            vector_check(ended);
        }
        JOB_CHECK(job, group[0]->composed == 0 && group[1]->composed == 0);
    }
    vector_calls_free(call, AT_ONCE);
    JOB_CHECK(job, catena_group_free(group[1]) == CATENA_OK);
}

/** Persistent ones, several of them started again and again. */
static void again_and_again(job_t *job)
{
    enum { AT_ONCE = 3 };
    uint64_t random = job->seed * 41 + 13;
    catena_group_t *world = job->context->world;
    catena_group_t *of[AT_ONCE] = {world, world, world};
    catena_request_t *request[AT_ONCE];
    vector_call_t *call = vector_calls_new(job, of, AT_ONCE);
    set_hierarchy(job, world, &random);
    for (int i = 0; i < AT_ONCE; i++) {
        vector_draw(&call[i], &random);
        vector_start(&call[i], PERSISTENT);
        request[i] = call[i].request;
    }
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            call[i].salt += 17;
            vector_fill(&call[i]);
        }
        JOB_CHECK(job, catena_startall(AT_ONCE, request) == CATENA_OK);
        JOB_CHECK(job, catena_waitall(AT_ONCE, request) == CATENA_OK);
        for (int i = 0; i < AT_ONCE; i++) {
            vector_check(&call[i]);
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        JOB_CHECK(job, catena_request_free(&request[i]) == CATENA_OK);
    }
    vector_calls_free(call, AT_ONCE);
}

/** Barriers of a hierarchy: nobody leaves before all have come. */
static void barriers(job_t *job)
{
    uint64_t random = job->seed * 43 + 17;
    catena_group_t *world = job->context->world;
    set_hierarchy(job, world, &random);
    for (uint32_t i = 0; i < 4; i++) {
        if (job->rank == i % job->size) {
            JOB_CHECK(job, catena_compute(job->context, 1e-3) == CATENA_OK);
        }
        double before = catena_time(job->context);
        catena_request_t *request = NULL;
        if (i % 2 == 0) {
            JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
        } else {
            JOB_CHECK(job, catena_barrier_init(world, &request) == CATENA_OK);
            JOB_CHECK(job, catena_start(request) == CATENA_OK);
            JOB_CHECK(job, catena_wait(&request) == CATENA_OK);
            JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
        }
        double latest = before;
        JOB_CHECK(job, catena_allreduce(&before, &latest, 1, CATENA_DOUBLE,
                                        CATENA_MAX, world) == CATENA_OK);
        double left = catena_time(job->context);
        JOB_CHECK(job, left >= latest);
    }
}

/** A rank with a collective under way does not free its group; what is left
 * then is as before. */
static void freed_too_early(job_t *job)
{
    uint64_t random = job->seed * 47 + 19;
    catena_group_t *group;
    JOB_CHECK(job, catena_group_dup(job->context->world, &group) == CATENA_OK);
    vector_call_t *call = vector_calls_new(job, &group, 1);
    set_hierarchy(job, group, &random);
    do {
        vector_draw(call, &random);
    } while (call->which != ALLREDUCE || call->count == 0);
    for (int turn = 0; turn < 2; turn++) {
        if ((job->rank == 0) == (turn == 0)) {
            vector_start(call, NONBLOCKING);
        }
        JOB_CHECK(job, job->rank > 0 || job->size == 1 || turn > 0 ||
                           catena_group_free(group) == CATENA_ERR_STATE);
    }
    JOB_CHECK(job, catena_wait(&call->request) == CATENA_OK);
    vector_check(call);
    vector_calls_free(call, 1);
    JOB_CHECK(job, catena_group_free(group) == CATENA_OK);
}

/** Until a rank dies, and then until all know. What the network may still have
 * parts of after that lies in the heap. */
static void until_death(job_t *job)
{
    enum { AT_ONCE = 4 };
    uint64_t random = job->seed * 53 + 23;
    catena_group_t *world = job->context->world;
    catena_request_t *request[AT_ONCE];
    size_t most = 40000;
    unsigned char *memory = catena_malloc(job->context, 2 * AT_ONCE * most);
    catena_status_t status = catena_group_set(
        world, "hierarchy", hierarchies[job_random(&random) % HIERARCHIES]);
    for (int turn = 0; status == CATENA_OK && turn < 50; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            unsigned char *send = memory + 2 * (size_t)i * most;
            size_t count = job_random(&random) % (most / sizeof(int64_t));
            int root = (int)(job_random(&random) % job->size);
            request[i] = NULL;
            (void)(root % 2 == 0
                       ? catena_ireduce(send, send + most, count, CATENA_INT64,
                                        CATENA_SUM, root, world, &request[i])
                       : catena_iallreduce(send, send + most, count,
                                           CATENA_INT64, CATENA_SUM, world,
                                           &request[i]));
        }
        status = catena_waitall(AT_ONCE, request);
    }
    JOB_CHECK(job, world->composed == 0);
    catena_free(job->context, memory);
}

/* ---- arguments ---- */

typedef struct refusal {
    const char *text; /* in the message */
    catena_status_t (*call)(catena_group_t *group);
} refusal_t;

static int64_t four[4];

static catena_status_t bad_root(catena_group_t *group)
{
    return catena_bcast(four, 1, CATENA_INT64, 1, group);
}

static catena_status_t negative_root(catena_group_t *group)
{
    return catena_reduce(four, four + 1, 1, CATENA_INT64, CATENA_SUM, -1,
                         group);
}

static catena_status_t no_buffer(catena_group_t *group)
{
    return catena_bcast(NULL, 1, CATENA_INT64, 0, group);
}

static catena_status_t no_type(catena_group_t *group)
{
    return catena_allreduce(four, four + 1, 1, NULL, CATENA_SUM, group);
}

static catena_status_t no_operation(catena_group_t *group)
{
    return catena_scan(four, four + 1, 1, CATENA_INT64, NULL, group);
}

static catena_status_t wrong_type(catena_group_t *group)
{
    return catena_allreduce(four, four + 1, 1, CATENA_DOUBLE, CATENA_BAND,
                            group);
}

static catena_status_t in_place_bcast(catena_group_t *group)
{
    return catena_bcast(CATENA_IN_PLACE, 1, CATENA_INT64, 0, group);
}

static catena_status_t in_place_recv(catena_group_t *group)
{
    return catena_allreduce(four, CATENA_IN_PLACE, 1, CATENA_INT64, CATENA_SUM,
                            group);
}

static catena_status_t too_long(catena_group_t *group)
{
    return catena_exscan(four, four, SIZE_MAX / 4, CATENA_INT64, CATENA_SUM,
                         group);
}

static catena_status_t with_gaps(catena_group_t *group)
{
    catena_datatype_t type;
    if (catena_type_vector(2, 1, 2, CATENA_INT64, &type) != CATENA_OK) {
        return CATENA_OK;
    }
    catena_status_t status =
        catena_allreduce(four, four, 1, type, CATENA_SUM, group);
    (void)catena_type_free(&type);
    return status;
}

static catena_status_t no_algorithm(catena_group_t *group)
{
    return catena_group_set(group, "allreduce_algorithm", "magic");
}

static const refusal_t refusals[] = {
    {"bcast: root is 1; expected 0 to 0", bad_root},
    {"reduce: root is -1; expected 0 to 0", negative_root},
    {"bcast: the buffer is NULL; expected 8 bytes", no_buffer},
    {"allreduce: the type of the data is NULL", no_type},
    {"scan: the operation is NULL", no_operation},
    {"allreduce: operation band does not take elements of type double",
     wrong_type},
    {"bcast: the buffer is CATENA_IN_PLACE", in_place_bcast},
    {"allreduce: recv is CATENA_IN_PLACE", in_place_recv},
    {"exscan: recv of 4611686018427387903 elements does not fit", too_long},
    {"allreduce: type", with_gaps},
    {"allreduce_algorithm is 'magic'; expected one of auto", no_algorithm},
};

enum { REFUSALS = sizeof(refusals) / sizeof(refusals[0]) };

static int refused;

static void refuse(job_t *job)
{
    capture_t capture;
    catena_group_t *world = job->context->world;
    capture_start(&capture);
    catena_status_t status = refusals[refused].call(world);
    capture_stop(&capture);
    JOB_CHECK(job, status == CATENA_ERR_ARG);
    JOB_CHECK(job, strstr(capture.text, refusals[refused].text) != NULL);
    if (job->errors > 0) {
        fprintf(stderr, "  found: %s\n", capture.text);
    }
    JOB_CHECK(job, world->composed == 0);
    JOB_CHECK(job, catena_allreduce(four, four + 1, 1, CATENA_INT64, NULL,
                                    NULL) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_ibcast(four, 1, CATENA_INT64, 0, world, NULL) ==
                       CATENA_ERR_ARG);
}

/** Nothing to move: nobody is waited for, and no rank is told. */
static void nothing(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_request_t *request = NULL;
    char text[256];
    if (job->rank == 0) {
        JOB_CHECK(job,
                  catena_bcast(NULL, 0, CATENA_INT64, 0, world) == CATENA_OK);
        JOB_CHECK(job,
                  catena_iallreduce(NULL, NULL, 0, CATENA_INT64, CATENA_SUM,
                                    world, &request) == CATENA_OK);
        JOB_CHECK(job, request == NULL);
        JOB_CHECK(job, catena_scan_init(NULL, NULL, 0, CATENA_INT64, CATENA_SUM,
                                        world, &request) == CATENA_OK);
        JOB_CHECK(job, catena_start(request) == CATENA_OK);
        JOB_CHECK(job, catena_wait(&request) == CATENA_OK);
        JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
        JOB_CHECK(job, catena_group_explain(world, "allreduce", text,
                                            sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "has not run yet") != NULL);
    }
}

/** What is said of the last ones. */
static void explained(job_t *job)
{
    catena_group_t *world = job->context->world;
    char text[400];
    uint64_t own[4] = {job->rank};
    uint64_t all[4];
    catena_op_t op;
    uint64_t combined = 0;
    char *vector = calloc(100000, 1);
    JOB_CHECK(job, catena_group_set(world, "hierarchy",
                                    "node:shm,network:p2p") == CATENA_OK);
    JOB_CHECK(job,
              catena_bcast(vector, 100000, CATENA_BYTE, 0, world) == CATENA_OK);
    JOB_CHECK(job, catena_group_explain(world, "bcast", text, sizeof(text)) ==
                       CATENA_OK);
    JOB_CHECK(job, strstr(text, "algorithm=auto") != NULL &&
                       strstr(text, "hierarchy=\"node:shm,network:p2p\"") &&
                       strstr(text, "segments=4 ") != NULL &&
                       strstr(text, "segment_bytes=32768") != NULL);
    catena_request_t *request = NULL;
    JOB_CHECK(job, catena_ibarrier(world, &request) == CATENA_OK);
    JOB_CHECK(job, catena_wait(&request) == CATENA_OK);
    JOB_CHECK(job, catena_group_explain(world, "barrier", text, sizeof(text)) ==
                       CATENA_OK);
    JOB_CHECK(job, strstr(text, "hierarchy=\"node:shm,network:p2p\""));
    JOB_CHECK(job,
              catena_op_create(vector_combine, &combined, 0, &op) == CATENA_OK);
    JOB_CHECK(job, catena_allreduce(own, all, 4, CATENA_UINT64, op, world) ==
                       CATENA_OK);
    JOB_CHECK(job, catena_op_free(&op) == CATENA_OK);
    JOB_CHECK(job, catena_group_explain(world, "allreduce", text,
                                        sizeof(text)) == CATENA_OK);
    /* Ranks are dealt to nodes: only the flat one is in their order. */
    JOB_CHECK(job, strstr(text, "levels=\"network:p2p(6)\"") != NULL &&
                       strstr(text, "the order of ranks counts") != NULL);
    JOB_CHECK(job, catena_group_explain(world, "magic", text, sizeof(text)) ==
                       CATENA_ERR_ARG);
    free(vector);
}

/* ---- tests ---- */

static uint32_t ranks_of(int seed)
{
    static const uint32_t ranks[] = {1, 2, 3, 5, 8, 13, 24};
    return ranks[seed % 7];
}

START_TEST(results)
{
    ck_assert_int_eq(job_simulate(ranks_of(_i), (uint64_t)_i, one_by_one), 0);
}
END_TEST

START_TEST(results_of_many)
{
    ck_assert_int_eq(job_simulate(ranks_of(_i), (uint64_t)_i, many_at_once), 0);
}
END_TEST

START_TEST(results_of_persistent)
{
    ck_assert_int_eq(job_simulate(ranks_of(_i), (uint64_t)_i, again_and_again),
                     0);
}
END_TEST

START_TEST(barriers_hold)
{
    ck_assert_int_eq(job_simulate(ranks_of(_i), (uint64_t)_i, barriers), 0);
}
END_TEST

START_TEST(groups_under_way)
{
    capture_t capture;
    uint32_t ranks = ranks_of(_i);
    capture_start(&capture);
    int failed = job_simulate(ranks, (uint64_t)_i, freed_too_early);
    capture_stop(&capture);
    ck_assert_msg(failed == 0, "%d ranks: %s", failed, capture.text);
    ck_assert(ranks == 1 || strstr(capture.text, "1 of its operations"));
}
END_TEST

START_TEST(deaths)
{
    job_simulate_death(9, (uint64_t)_i, 300 + (uint64_t)(_i * _i) * 53,
                       until_death);
}
END_TEST

START_TEST(arguments)
{
    refused = _i;
    ck_assert_int_eq(job_simulate(1, 1, refuse), 0);
}
END_TEST

START_TEST(zero_counts)
{
    ck_assert_int_eq(job_simulate(5, 1, nothing), 0);
}
END_TEST

START_TEST(in_words)
{
    static const int dealt[] = {0, 1, 0, 1, 0, 1};
    catena_sim_params_t params = {.machine = "hpc-a",
                                  .nodes = 2,
                                  .ranks = 6,
                                  .node_of = dealt,
                                  .seed = 3,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(job_simulate_on(&params, explained), 0);
}
END_TEST

static void all_bodies(job_t *job)
{
    one_by_one(job);
    many_at_once(job);
    again_and_again(job);
    freed_too_early(job);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, results, 0, 56);
    tcase_add_loop_test(tcase, results_of_many, 0, 42);
    tcase_add_loop_test(tcase, results_of_persistent, 0, 42);
    tcase_add_loop_test(tcase, barriers_hold, 0, 28);
    tcase_add_loop_test(tcase, groups_under_way, 0, 14);
    tcase_add_loop_test(tcase, deaths, 1, 25);
    tcase_add_loop_test(tcase, arguments, 0, REFUSALS);
    tcase_add_test(tcase, zero_counts);
    tcase_add_test(tcase, in_words);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, all_bodies)
                                   : unit_main("ml", 60, add_cases);
}
