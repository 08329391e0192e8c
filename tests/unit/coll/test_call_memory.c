/* Each allocation of a collective fails once, on one rank. The call succeeds
 * all the same, or fails on the ranks that it concerns and the next call works,
 * or ends the context on all ranks. No rank deadlocks, and the reason is
 * logged. */

#include <string.h>

#include "unit/capture.h"
#include "unit/job.h"
#include "unit/refusal.h"
#include "unit/unit.h"

#include "heap/segment.h"
#include "oracle/call.h"
#include "transports/sim/engine.h"

enum { RANKS = 3, REFUSED_ON = 1, SEEDS = 2 };

/* The shared heap counts as memory, too, but not the simulator's own memory for
 * messages under way. */
void *__wrap_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero);
void *__real_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero);
void *__wrap_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero)
{
    return refusal_asks()
               ? NULL
               : __real_ctn_heap_alloc_zeroed(heap, alignment, bytes, zero);
}

/* Memory of the tests' own reduction functions. */
void *__wrap_oracle_zeros(size_t count, size_t bytes);
void *__real_oracle_zeros(size_t count, size_t bytes);

void *__wrap_oracle_zeros(size_t count, size_t bytes)
{
    bool armed = refusal.armed;
    refusal.armed = false;
    void *zeros = __real_oracle_zeros(count, bytes);
    refusal.armed = armed;
    return zeros;
}

static const ctn_sim_rank_t *victim; /* its memory is refused */

bool refusal_applies(void)
{
    return victim != NULL && victim->sim->running == victim;
}

/* ---- one call ---- */

static unsigned kind;
static int nodes;
static uint64_t seed;
static catena_status_t found[RANKS]; /* of the call */
static catena_status_t later[RANKS]; /* of a barrier after it */
static int mistakes;                 /* wrong data where the call succeeded */

/** Run the call to its end; a persistent one is started once. */
static catena_status_t run_call(const oracle_t *oracle, oracle_call_t *call)
{
    catena_status_t status = oracle_call_run(oracle, call);
    if (status == CATENA_OK && call->request != NULL) {
        if (call->c.value[ORACLE_MODE] == ORACLE_PERSISTENT) {
            status = catena_request_start(call->request);
        }
        if (status == CATENA_OK) {
            status = catena_request_wait(&call->request);
        }
    }
    return status;
}

static void body(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = job->seed;
    catena_group_t *world = job->context->world;
    bool refused = job->rank == REFUSED_ON;
    oracle_table_open(&oracle, &table);
    oracle_call_t call = {.group = world, .table = &table};
    oracle_draw(&call.c, kind, nodes > 1, &random);
    call.shape = ctn_random(&random);
    oracle_choose_hierarchy(&oracle, &call.c, world);
    oracle_choose_algorithm(&oracle, &call.c, world);
    oracle_call_open(&oracle, &call);
    oracle_call_fill(&call, 1);
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    found[job->rank] = run_call(&oracle, &call);
    if (refused) {
        refusal.armed = false;
    }
    if (found[job->rank] == CATENA_OK) {
        oracle_call_check(&oracle, &call, "");
        mistakes += job->errors;
    }
    later[job->rank] = catena_barrier(world);
    if (call.request != NULL) {
        (void)catena_request_free(&call.request);
    }
    oracle_call_close(&oracle, &call);
    oracle_table_close(&oracle, &table);
    victim = refused ? NULL : victim;
}

/* ---- reproducible reductions ---- */

/** Start an allreduce of ones and wait for it. */
static catena_status_t add_ones(job_t *job)
{
    double one = 1, sum = 0;
    catena_request_t *request;
    catena_status_t status =
        catena_iallreduce(&one, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                          job->context->world, &request);
    status = status == CATENA_OK ? catena_request_wait(&request) : status;
    JOB_CHECK(job, status != CATENA_OK || sum == RANKS);
    return status;
}

/** The first reproducible reduction requests the flat hierarchy, too: where the
 * first of its hierarchies cannot be built, settings build both again. */
static void reproducible_body(job_t *job)
{
    catena_group_t *world = job->context->world;
    bool refused = job->rank == REFUSED_ON;
    JOB_CHECK(job, catena_group_set(world, "reproducible", "on") == CATENA_OK);
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    found[job->rank] = add_ones(job);
    if (refused) {
        refusal.armed = false;
        victim = NULL;
    }
    later[job->rank] = catena_group_set(world, "hierarchy", "auto");
    if (later[job->rank] == CATENA_OK) {
        later[job->rank] = add_ones(job);
    }
    mistakes += job->errors;
}

/* ---- the end of a job ---- */

/** A group and a request are left. */
static void finalize(job_t *job)
{
    bool refused = job->rank == REFUSED_ON;
    catena_group_t *group = NULL;
    catena_request_t *request = NULL;
    JOB_CHECK(job, catena_group_dup(job->context->world, &group) == CATENA_OK);
    JOB_CHECK(job, catena_barrier_init(group, &request) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    catena_status_t status = catena_finalize(&job->context);
    JOB_CHECK(job, status == CATENA_OK || status == CATENA_ERR_ENDED);
    JOB_CHECK(job, job->context == NULL);
    if (refused) {
        refusal.armed = false;
        victim = NULL;
    }
}

START_TEST(finalizing)
{
    capture_t capture;
    unsigned long most = 1;
    nodes = _i + 1;
    for (unsigned long k = 0; k <= most; k++) {
        refusal.which = k;
        refusal.taken = 0;
        capture_start(&capture);
        int failed = job_simulate_nodes(RANKS, nodes, 1, finalize);
        capture_stop(&capture);
        ck_assert_msg(failed == 0, "%lu refused: %d failed: %s", k, failed,
                      capture.text);
        most = k == 0 ? refusal.taken : most;
    }
}
END_TEST

/* ---- each allocation refused in turn ---- */

static bool ended(catena_status_t status)
{
    return status <= CATENA_ERR_PEER;
}

/** @return whether the call failed on all ranks, and the later one did not */
static bool run(job_body_t run_on_rank, unsigned long which)
{
    capture_t capture;
    const char *name =
        run_on_rank == body ? oracle_kind_name(kind) : "reproducible";
    refusal.which = which;
    refusal.taken = 0;
    refusal.armed = false;
    victim = NULL;
    mistakes = 0;
    capture_start(&capture);
    int failed = job_simulate_nodes(RANKS, nodes, seed, run_on_rank);
    capture_stop(&capture);
    bool any = false;
    bool all = true;
    for (int rank = 0; rank < RANKS; rank++) {
        any |= found[rank] != CATENA_OK;
        all &= found[rank] != CATENA_OK;
    }
    ck_assert_msg(
        failed >= 0 && mistakes == 0,
        "%s, %d nodes, seed %llu, %lu refused: %d failed, %d mistakes: %s",
        name, nodes, (unsigned long long)seed, which, failed, mistakes,
        capture.text);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_msg(ended(later[rank]) == ended(later[0]) &&
                          (!ended(found[rank]) || ended(later[0])) &&
                          (ended(later[0]) || later[rank] == CATENA_OK),
                      "%s, %d nodes, seed %llu, %lu refused: rank %d: %s, then "
                      "%s; rank 0: %s, then %s: %s",
                      name, nodes, (unsigned long long)seed, which, rank,
                      catena_status_string(found[rank]),
                      catena_status_string(later[rank]),
                      catena_status_string(found[0]),
                      catena_status_string(later[0]), capture.text);
    }
    ck_assert_msg(!any || strstr(capture.text, "memory") != NULL,
                  "%s, %d nodes, seed %llu, %lu refused: no reason: %s", name,
                  nodes, (unsigned long long)seed, which, capture.text);
    return all && !ended(later[0]);
}

START_TEST(calls)
{
    kind = (unsigned)_i % ORACLE_KINDS;
    for (nodes = 1; nodes <= RANKS; nodes++) {
        for (seed = 1; seed <= SEEDS; seed += (uint64_t)unit_step(2)) {
            seed += (uint64_t)_i * 100;
            (void)run(body, 0);
            unsigned long most = refusal.taken;
            for (unsigned long k = 1; k <= most;
                 k += (unsigned long)unit_step(3)) {
                (void)run(body, k);
            }
            seed -= (uint64_t)_i * 100;
        }
    }
}
END_TEST

/** On one node, and with a node for each rank, their own hierarchy serves them,
 * so the call fails with that only; on two nodes with the flat one, too. */
START_TEST(reproducible)
{
    int recovered = 0;
    nodes = _i + 1;
    seed = 1;
    (void)run(reproducible_body, 0);
    for (unsigned long k = 1, most = refusal.taken; k <= most; k++) {
        recovered += run(reproducible_body, k);
    }
    ck_assert_int_gt(recovered, 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, reproducible, 0, RANKS);
    tcase_add_loop_test(tcase, calls, 0, ORACLE_KINDS);
    tcase_add_loop_test(tcase, finalizing, 0, RANKS);
}

UNIT_TEST(call_memory)
{
    return unit_main("call_memory", 100, add_cases);
}
