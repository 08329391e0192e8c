/* Each allocation of a collective fails once, on one rank. The call succeeds
 * all the same, or fails on the ranks that it concerns and the next call works,
 * or ends the context on all ranks. Where failures are returned, no context
 * ends: the group fails instead, and ranks make a new one. No rank deadlocks,
 * and the reason is logged. */

#include <string.h>

#include <catena/neighbor.h>

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
static bool returns; /* CATENA_FAILURES=return */
static uint64_t seed;
static catena_status_t found[RANKS]; /* of the call */
static catena_status_t later[RANKS]; /* of a barrier after it */
static int revoked;                  /* times that a rank found this */
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

/** The status of a call after the one that was refused memory. If the group has
 * failed, its ranks go on in a new one. */
static catena_status_t go_on(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_group_t *fresh = NULL;
    catena_status_t status = catena_barrier(world);
    if (returns && status != CATENA_OK) {
        revoked++;
        JOB_CHECK(job, status == CATENA_ERR_REVOKED);
        JOB_CHECK(job, strstr(catena_last_error(), "group") != NULL);
        JOB_CHECK(job, catena_group_shrink(world, &fresh) == CATENA_OK);
        status = fresh != NULL ? catena_barrier(fresh) : CATENA_ERR_ENDED;
        JOB_CHECK(job,
                  fresh == NULL || (catena_group_size(fresh) == RANKS &&
                                    catena_group_free(&fresh) == CATENA_OK));
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
    }
    later[job->rank] = go_on(job);
    mistakes += job->errors;
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

/* ---- scratch memory of a group that has failed ---- */

/** A reproducible scan, by an allgather, of a group that a rank revokes
 * meanwhile: members that have not learnt of it may still send, so the scratch
 * memory of the others stays. */
static void revoked_body(job_t *job)
{
    enum { COUNT = 128 };
    size_t bytes = COUNT * sizeof(double);
    catena_group_t *world = job->context->world;
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = {.size = sizeof(after)};
    double *in = catena_malloc(job->context, bytes);
    double *out = catena_malloc(job->context, bytes);
    memset(in, 0, bytes);
    JOB_CHECK(job, catena_group_set(world, "reproducible", "on") == CATENA_OK);
    JOB_CHECK(job, catena_scan(in, out, COUNT, CATENA_DOUBLE, CATENA_SUM,
                               world) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    JOB_CHECK(job, catena_heap_get_stats(job->context, &before) == CATENA_OK);
    if (job->rank == 0) {
        JOB_CHECK(job, catena_compute(job->context, 1e-3) == CATENA_OK);
        JOB_CHECK(job, catena_group_revoke(world) == CATENA_OK);
    } else {
        JOB_CHECK(job, catena_scan(in, out, COUNT, CATENA_DOUBLE, CATENA_SUM,
                                   world) == CATENA_ERR_REVOKED);
    }
    for (int i = 0; i < 100; i++) {
        JOB_CHECK(job, catena_progress(job->context) == CATENA_OK);
    }
    JOB_CHECK(job, catena_heap_get_stats(job->context, &after) == CATENA_OK);
    size_t kept = job->rank == 0 ? 0 : RANKS * bytes;
    JOB_CHECK(job, after.in_use >= before.in_use + kept);
    mistakes += job->errors;
}

/* ---- targets that cannot be exposed ---- */

/** All numbers of exposed regions are in use. */
static void expose_all(job_t *job)
{
    static unsigned char memory[RANKS];
    ctn_transport_t *network = job->exec->network;
    uint64_t offset;
    while (network->ops->expose(network, &memory[job->rank], 1, &offset)) {
        network->ops->conceal(network, offset, true);
    }
}

/** @return the most memory of an operation in the heap */
static size_t transpose(job_t *job, uint64_t *in, uint64_t *out, size_t count)
{
    for (size_t i = 0; i < RANKS * count; i++) {
        in[i] = (uint64_t)job->rank << 32 | i;
        out[i] = UINT64_MAX;
    }
    job->exec->tally.most_memory = 0;
    JOB_CHECK(job,
              catena_alltoall(in, count, CATENA_UINT64, out, count,
                              CATENA_UINT64, job->context->world) == CATENA_OK);
    for (size_t i = 0; i < RANKS * count; i++) {
        size_t from = i / count;
        JOB_CHECK(job, out[i] == ((uint64_t)from << 32 |
                                  (job->rank * count + i - from * count)));
    }
    return job->exec->tally.most_memory;
}

/** Long blocks for the heap: where they cannot be exposed they are staged. */
static void unexposed_body(job_t *job)
{
    enum { COUNT = 65536 };
    size_t bytes = (size_t)RANKS * COUNT * sizeof(uint64_t);
    uint64_t *in = catena_malloc(job->context, bytes);
    uint64_t *out = catena_malloc(job->context, bytes);
    size_t exposed = transpose(job, in, out, COUNT);
    expose_all(job);
    JOB_CHECK(job, transpose(job, in, out, COUNT) > exposed);
    mistakes += job->errors;
}

/* ---- neighborhood collectives ---- */

static unsigned mode; /* 0: blocking, 1: nonblocking, 2: persistent */

/** Exchange a block with the next ranks of a ring. */
static catena_status_t exchange(catena_neighborhood_t *ring, size_t count,
                                uint64_t *out, uint64_t *in,
                                catena_request_t **request)
{
    catena_status_t status =
        mode == 0 ? catena_neighbor_alltoall(out, count, CATENA_UINT64, in,
                                             count, CATENA_UINT64, ring)
        : mode == 1
            ? catena_ineighbor_alltoall(out, count, CATENA_UINT64, in, count,
                                        CATENA_UINT64, ring, request)
            : catena_neighbor_alltoall_init(out, count, CATENA_UINT64, in,
                                            count, CATENA_UINT64, ring,
                                            request);
    if (status == CATENA_OK && mode == 2) {
        status = catena_request_start(*request);
    }
    return status == CATENA_OK && mode > 0 ? catena_request_wait(request)
                                           : status;
}

enum { LONG_BLOCK = 4096 };

static void neighbors_body(job_t *job)
{
    static uint64_t blocks[RANKS][2][2 * LONG_BLOCK];
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    bool refused = job->rank == REFUSED_ON;
    size_t count = seed % 2 != 0 ? 1 : LONG_BLOCK;
    uint64_t *out = blocks[job->rank][0];
    uint64_t *in = blocks[job->rank][1];
    catena_neighborhood_t *ring = NULL;
    catena_request_t *request = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 1, dims, periods, 0,
                                      NULL, &ring) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    for (size_t i = 0; i < 2 * count; i++) {
        out[i] = 2 * job->rank + i / count;
        in[i] = 0;
    }
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    found[job->rank] = exchange(ring, count, out, in, &request);
    if (refused) {
        refusal.armed = false;
    }
    for (size_t i = 0; found[job->rank] == CATENA_OK && i < 2 * count; i++) {
        uint64_t left = (job->rank + RANKS - 1) % RANKS;
        uint64_t right = (job->rank + 1) % RANKS;
        JOB_CHECK(job, in[i] == (i < count ? 2 * left + 1 : 2 * right));
    }
    later[job->rank] = go_on(job);
    mistakes += job->errors;
    if (request != NULL) {
        (void)catena_request_free(&request);
    }
    (void)catena_neighborhood_free(&ring);
    victim = refused ? NULL : victim;
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

/** @return the number of ranks that have failed; -1: the job could not run */
static int simulate(job_body_t run_on_rank)
{
    static const char *const settings[] = {"HEAP_SIZE=1g", "FAILURES=return",
                                           NULL};
    static const int node_of[RANKS] = {0, 1, 0};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .node_of = node_of,
                                  .machine = "hpc-b",
                                  .settings = settings,
                                  .ranks = RANKS,
                                  .nodes = nodes,
                                  .seed = seed,
                                  .jitter = 0.5,
                                  .stack_bytes = JOB_STACK_BYTES};
    return returns ? job_simulate_on(&params, run_on_rank)
                   : job_simulate_nodes(RANKS, nodes, seed, run_on_rank);
}

/** @return whether the call failed on all ranks, and the later one did not */
static bool run(job_body_t run_on_rank, unsigned long which)
{
    capture_t capture;
    const char *name = run_on_rank == body             ? oracle_kind_name(kind)
                       : run_on_rank == neighbors_body ? "neighbor_alltoall"
                                                       : "reproducible";
    refusal.which = which;
    refusal.taken = 0;
    refusal.armed = false;
    victim = NULL;
    mistakes = 0;
    capture_start(&capture);
    int failed = simulate(run_on_rank);
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
                          !(returns && ended(later[0])) &&
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
    returns = _i >= ORACLE_KINDS;
    revoked = 0;
    for (nodes = 1 + returns; nodes <= RANKS - returns; nodes++) {
        for (seed = 1; seed <= SEEDS; seed += (uint64_t)unit_step(2)) {
            seed += (uint64_t)_i * 101;
            (void)run(body, 0);
            unsigned long most = refusal.taken;
            for (unsigned long k = 1; k <= most;
                 k += (unsigned long)unit_step(3)) {
                (void)run(body, k);
            }
            seed -= (uint64_t)_i * 101;
        }
    }
    ck_assert(!returns || unit_step(2) > 1 || kind == ORACLE_BARRIER ||
              revoked > 0);
}
END_TEST

/** On one node, and with a node for each rank, their own hierarchy serves them,
 * so the call fails with that only; on two nodes with the flat one, too. */
START_TEST(reproducible)
{
    int recovered = 0;
    returns = false;
    nodes = _i + 1;
    seed = 1;
    (void)run(reproducible_body, 0);
    for (unsigned long k = 1, most = refusal.taken; k <= most; k++) {
        recovered += run(reproducible_body, k);
    }
    ck_assert_int_gt(recovered, 0);
}
END_TEST

START_TEST(neighbors)
{
    mode = (unsigned)_i % 3;
    returns = _i >= 3;
    for (nodes = 1 + returns; nodes <= RANKS - returns; nodes++) {
        for (seed = 1; seed <= SEEDS; seed++) {
            (void)run(neighbors_body, 0);
            unsigned long most = refusal.taken;
            for (unsigned long k = 1; k <= most; k++) {
                (void)run(neighbors_body, k);
            }
        }
    }
}
END_TEST

static void simulate_right(job_body_t run_on_rank, uint64_t with_seed)
{
    capture_t capture;
    returns = true;
    nodes = 2;
    seed = with_seed;
    refusal.which = 0;
    mistakes = 0;
    capture_start(&capture);
    int failed = simulate(run_on_rank);
    capture_stop(&capture);
    ck_assert_msg(failed == 0 && mistakes == 0, "%d, %d: %s", failed, mistakes,
                  capture.text);
}

START_TEST(revoked_scan)
{
    simulate_right(revoked_body, (uint64_t)_i + 1);
}
END_TEST

START_TEST(unexposed)
{
    simulate_right(unexposed_body, (uint64_t)_i + 1);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, revoked_scan, 0, 4);
    tcase_add_loop_test(tcase, unexposed, 0, 4);
    tcase_add_loop_test(tcase, neighbors, 0, 6);
    tcase_add_loop_test(tcase, reproducible, 0, RANKS);
    tcase_add_loop_test(tcase, calls, 0, 2 * ORACLE_KINDS);
    tcase_add_loop_test(tcase, finalizing, 0, RANKS);
}

UNIT_TEST(call_memory)
{
    return unit_main("call_memory", 100, add_cases);
}
