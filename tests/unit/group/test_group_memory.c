/* Groups created while one allocation after the other fails: all ranks get a
 * group, or all get the error; nothing is leaked. */

#include <stdlib.h>
#include <string.h>

#include "unit/refusal.h"
#include "unit/said.h"
#include "unit/unit.h"

#include "heap/segment.h"
#include "transports/sim/engine.h"

#include <catena/neighbor.h>

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

void *__wrap_ctn_heap_alloc_sparse(ctn_heap_t *heap, unsigned use);
void *__real_ctn_heap_alloc_sparse(ctn_heap_t *heap, unsigned use);
bool __wrap_ctn_heap_take(ctn_heap_t *heap, const void *memory, size_t bytes);
bool __real_ctn_heap_take(ctn_heap_t *heap, const void *memory, size_t bytes);

void *__wrap_ctn_heap_alloc_sparse(ctn_heap_t *heap, unsigned use)
{
    return refusal_asks() ? NULL : __real_ctn_heap_alloc_sparse(heap, use);
}

bool __wrap_ctn_heap_take(ctn_heap_t *heap, const void *memory, size_t bytes)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(heap, memory, bytes, &offset);
    return (offset < heap->header->sparse_off || !refusal_asks()) &&
           __real_ctn_heap_take(heap, memory, bytes);
}

enum { RANKS = 5, LONG_COLOR = 300 };

/* ---- what is created ---- */

typedef struct making {
    catena_status_t (*make)(job_t *job, catena_group_t **out);
    const char *algorithm; /* of a split by a long color */
} making_t;

static making_t making;
static uint64_t seed;
static catena_status_t found[RANKS];
static unsigned inside; /* ranks that have not left it yet */
static int mistaken;    /* errors of all ranks */

static catena_status_t dup(job_t *job, catena_group_t **out)
{
    return catena_group_dup(job->context->world, out);
}

static catena_status_t split(job_t *job, catena_group_t **out)
{
    int color = job->rank % 3 == 2 ? CATENA_UNDEFINED : (int)(job->rank % 3);
    return catena_group_split(job->context->world, color, -(int)job->rank, out);
}

static catena_status_t split_by(job_t *job, catena_group_t **out)
{
    char color[LONG_COLOR];
    int64_t key = -(int64_t)job->rank;
    memset(color, (int)(job->rank % 2), sizeof(color));
    catena_split_t by = {.size = sizeof(by),
                         .color = color,
                         .color_bytes = sizeof(color),
                         .key = &key,
                         .key_bytes = sizeof(key),
                         .key_compare = catena_compare_int64,
                         .algorithm = making.algorithm};
    return catena_group_split_by(job->context->world, &by, out);
}

static catena_status_t split_numbers(job_t *job, catena_group_t **out)
{
    int64_t color = job->rank % 2;
    catena_split_t by = {.size = sizeof(by),
                         .color = &color,
                         .color_bytes = sizeof(color),
                         .color_compare = catena_compare_int64,
                         .key = &color,
                         .key_bytes = sizeof(color),
                         .key_compare = catena_compare_int64,
                         .algorithm = making.algorithm};
    return catena_group_split_by(job->context->world, &by, out);
}

/** Three ranks, in another order; the others do not call. */
static catena_status_t listed(job_t *job, catena_group_t **out)
{
    static const int list[] = {3, 0, 4};
    return job->rank == 1 || job->rank == 2
               ? CATENA_OK
               : catena_group_create(job->context->world, 3, list, out);
}

static catena_status_t listed_all(job_t *job, catena_group_t **out)
{
    static const int list[RANKS] = {2, 4, 1, 3, 0};
    return catena_group_create(job->context->world, RANKS, list, out);
}

/** The last rank is beyond the grid. */
static catena_status_t grid(job_t *job, catena_group_t **out)
{
    static const int dims[] = {2, 2};
    static const int periods[] = {1, 0};
    catena_neighborhood_t *made = NULL;
    catena_status_t status = catena_cart_create(job->context->world, 2, dims,
                                                periods, 1, NULL, &made);
    (void)out;
    if (made != NULL) {
        (void)catena_neighborhood_free(&made);
    }
    return status;
}

static catena_status_t sub(job_t *job, catena_group_t **out)
{
    static const int dims[] = {RANKS, 1};
    static const int periods[] = {1, 0};
    static const int remain[] = {0, 1};
    catena_neighborhood_t *whole = NULL;
    catena_neighborhood_t *part = NULL;
    catena_status_t status = catena_cart_create(job->context->world, 2, dims,
                                                periods, 0, NULL, &whole);
    (void)out;
    if (status == CATENA_OK) {
        status = catena_cart_sub(whole, remain, &part);
    }
    if (part != NULL) {
        (void)catena_neighborhood_free(&part);
    }
    if (whole != NULL) {
        (void)catena_neighborhood_free(&whole);
    }
    return status;
}

/** Collectives that need the topology of a new group: it is built by messages.
 * A rank without memory to start one may call again. */
static catena_status_t use(job_t *job, catena_group_t **out)
{
    static int blocks[RANKS][2 * RANKS];
    int *own = blocks[job->rank];
    catena_status_t status = split_numbers(job, out);
    for (int i = 0; i < 2 && status == CATENA_OK; i++) {
        do {
            status = i == 0 ? catena_barrier(*out)
                            : catena_alltoall(own, 1, CATENA_INT32, own + RANKS,
                                              1, CATENA_INT32, *out);
        } while (status == CATENA_ERR_NO_MEMORY &&
                 job->exec->status == CATENA_OK);
    }
    return status;
}

static const making_t all[] = {
    {dup, NULL},
    {split, NULL},
    {split_by, NULL},
    {split_by, "allgather"},
    {split_by, "gather-scatter"},

    {split_by, "bitonic"},
    {split_by, "hash"},
    {split_by, "hash64"},
    {split_numbers, "radix"},
    {use, "radix"},
    {listed, NULL},
    {listed_all, NULL},
    {grid, NULL},
    {sub, NULL},
};

enum { MAKINGS = sizeof(all) / sizeof(all[0]), SEEDS = 2 };

static ctn_sim_t *machine;           /* runs the ranks */
static const ctn_sim_rank_t *victim; /* NULL: any rank is refused memory */

bool refusal_applies(void)
{
    return victim != NULL ? victim->sim->running == victim
                          : machine == NULL || machine->running != NULL;
}

/** A rank without memory for the barrier itself may call again. */
static catena_status_t barrier_with_retry(job_t *job)
{
    catena_status_t status;
    do {
        status = catena_barrier(job->context->world);
        JOB_CHECK(job, status != CATENA_ERR_NO_MEMORY ||
                           job->exec->status == CATENA_OK);
    } while (status == CATENA_ERR_NO_MEMORY && job->exec->status == CATENA_OK);
    return status;
}

/** A rank that got its group learns of others that did not when it waits for
 * them. */
static void body(job_t *job)
{
    catena_group_t *made = NULL;
    catena_status_t status = barrier_with_retry(job);
    JOB_CHECK(job, status == CATENA_OK);
    machine = job->context->sim->sim;
    refusal.armed = true;
    inside++;
    status = making.make(job, &made);
    refusal.armed = --inside > 0;
    JOB_CHECK(job,
              status != CATENA_ERR_NO_MEMORY || job->exec->status == CATENA_OK);
    found[job->rank] = status == CATENA_OK ? barrier_with_retry(job) : status;
    if (made != NULL) {
        status = catena_group_free(&made);
        JOB_CHECK(job, status == CATENA_OK || found[job->rank] != CATENA_OK);
    }
}

/* ---- each allocation refused in turn ---- */

static void expect_uniform(const char *logged)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_msg(found[rank] == found[0], "%lu refused: rank %d: %s, %s",
                      refusal.which, rank, catena_status_string(found[rank]),
                      logged);
    }
    ck_assert_msg(found[0] == CATENA_OK || found[0] == CATENA_ERR_ENDED ||
                      found[0] == CATENA_ERR_NO_MEMORY,
                  "%lu refused: %s", refusal.which,
                  catena_status_string(found[0]));
}

static long run(unsigned long refused)
{
    capture_t capture;
    long live = refusal.live;
    refusal.which = refused;
    refusal.taken = 0;
    inside = 0;
    capture_start(&capture);
    int failed = job_simulate(RANKS, seed, body);
    capture_stop(&capture);
    ck_assert_msg(failed >= 0, "%lu refused: %s", refused, capture.text);
    expect_uniform(capture.text);
    return refusal.live - live;
}

START_TEST(groups)
{
    unsigned failed = 0;
    making = all[_i % MAKINGS];
    seed = (uint64_t)_i / MAKINGS + 1;
    long usual = run(0); /* memory that remains: the C library's own */
    unsigned long most = refusal.taken;
    ck_assert_int_eq(found[0], CATENA_OK);
    for (unsigned long k = (unsigned long)seed; k <= most;
         k += SEEDS * (unsigned long)unit_step(3)) {
        long left = run(k);
        failed += found[0] != CATENA_OK;
        ck_assert_msg(left == usual, "%lu refused: %ld blocks are left", k,
                      left - usual);
    }
    ck_assert_uint_gt(failed, RANKS / (unsigned)unit_step(3));
}
END_TEST

/* ---- the same of one rank, where failures are returned ---- */

static catena_status_t shrink(job_t *job, catena_group_t **out)
{
    return catena_group_shrink(job->context->world, out);
}

/** No group, but its ranks start other operations afterwards. */
static catena_status_t set(job_t *job, catena_group_t **out)
{
    (void)out;
    return catena_group_set(job->context->world, "barrier_hierarchy",
                            "node:shm,network:p2p");
}

/** Short and long blocks to two ranks. */
static catena_status_t sparse(job_t *job, catena_group_t **out)
{
    static unsigned char data[1 << 17];
    static const size_t bytes[] = {8, sizeof(data)};
    static const size_t offsets[] = {0, 0};
    int targets[] = {(int)(job->rank + 1) % RANKS,
                     (int)(job->rank + 3) % RANKS};
    catena_received_t *received = NULL;
    (void)out;
    catena_status_t status = catena_sparse_exchange(
        job->context->world, 2, targets, data, bytes, offsets, &received);
    if (status == CATENA_OK) {
        status = catena_received_free(&received);
    }
    return status;
}

static catena_status_t chain(job_t *job, catena_group_t **out)
{
    static unsigned char data[RANKS][2][1000];
    (void)out;
    return catena_chain_scan(data[job->rank][0], data[job->rank][1], 1000,
                             CATENA_UINT8, CATENA_SUM, job->context->world);
}

/** Add the first numbers of elements with gaps. */
static void add(const void *in, void *inout, size_t count, catena_type_t type,
                void *argument)
{
    ptrdiff_t lower, extent;
    (void)argument;
    (void)catena_type_extent(type, &lower, &extent);
    for (size_t i = 0; i < count; i++) {
        int64_t one, sum;
        memcpy(&one, (const char *)in + (ptrdiff_t)i * extent, sizeof(one));
        memcpy(&sum, (char *)inout + (ptrdiff_t)i * extent, sizeof(sum));
        sum += one;
        memcpy((char *)inout + (ptrdiff_t)i * extent, &sum, sizeof(sum));
    }
}

/** Elements of two numbers with gaps, and `add`. */
static void make_gaps(job_t *job, catena_type_t *gaps, catena_op_t *sum)
{
    bool armed = refusal.armed;
    refusal.armed = false;
    JOB_CHECK(job,
              catena_type_vector(2, 1, 2, CATENA_INT64, gaps) == CATENA_OK);
    JOB_CHECK(job, catena_op_create(add, NULL, 0, sum) == CATENA_OK);
    refusal.armed = armed;
}

/** A rank that has no memory to apply an operation sends no wrong data. */
static catena_status_t reduce_add(job_t *job, catena_group_t **out)
{
    enum { ELEMENTS = 500, WORDS = 3 }; /* of the extent */
    static int64_t data[RANKS][2][(ELEMENTS + 1) * WORDS];
    int64_t *own = data[job->rank][0], *result = data[job->rank][1];
    catena_group_t *world = job->context->world;
    catena_type_t gaps;
    catena_op_t sum;
    (void)out;
    for (int i = 0; i < ELEMENTS; i++) {
        own[i * WORDS] = 1;
    }
    make_gaps(job, &gaps, &sum);
    catena_status_t status =
        catena_allreduce(own, result, ELEMENTS, gaps, sum, world);
    for (int i = 0; status == CATENA_OK && i < ELEMENTS; i++) {
        JOB_CHECK(job, result[i * WORDS] == RANKS);
    }
    if (status == CATENA_OK) {
        status = catena_scan(own, result, ELEMENTS, gaps, sum, world);
    }
    for (int i = 0; status == CATENA_OK && i < ELEMENTS; i++) {
        JOB_CHECK(job, result[i * WORDS] == (int64_t)job->rank + 1);
    }
    (void)catena_op_free(&sum);
    (void)catena_type_free(&gaps);
    return status;
}

/** The same on a chain. */
static catena_status_t chain_add(job_t *job, catena_group_t **out)
{
    int64_t own[4] = {1}, left[4] = {0}, right[4] = {0};
    int before = (int)job->rank, after = RANKS - 1 - before;
    catena_type_t gaps;
    catena_op_t sum;
    (void)out;
    make_gaps(job, &gaps, &sum);
    catena_status_t status = catena_chain_double_scan(own, left, right, 1, gaps,
                                                      sum, job->context->world);
    JOB_CHECK(job,
              status != CATENA_OK || (left[0] == before && right[0] == after));
    if (status == CATENA_OK) {
        status =
            catena_chain_scan(own, left, 1, gaps, sum, job->context->world);
        JOB_CHECK(job, status != CATENA_OK || left[0] == before + 1);
    }
    if (status == CATENA_OK) {
        status = catena_chain_reduce(own, left, 1, gaps, sum, 0,
                                     job->context->world);
        JOB_CHECK(job, status != CATENA_OK || before > 0 || left[0] == RANKS);
    }
    (void)catena_op_free(&sum);
    (void)catena_type_free(&gaps);
    return status;
}

static catena_status_t fence(job_t *job, catena_group_t **out)
{
    (void)out;
    job->exec->pool.free = NULL; /* slabs are freed at the end */
    return catena_node_fence(job->context);
}

static const making_t returning[] = {
    {dup, NULL},    {split, NULL},      {split_by, "cheng"}, {split_by, "hash"},
    {listed, NULL}, {listed_all, NULL}, {grid, NULL},        {sub, NULL},
    {shrink, NULL}, {set, NULL},        {sparse, NULL},      {chain, NULL},
    {fence, NULL},  {chain_add, NULL},  {reduce_add, NULL},
};

enum { RETURNING = sizeof(returning) / sizeof(returning[0]), REFUSED_ON = 3 };

/** The ranks use what they get; those that get an error find the others. */
static void returning_body(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_group_t *made = NULL;
    bool refused = job->rank == REFUSED_ON;
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    catena_status_t status = making.make(job, &made);
    if (refused) {
        refusal.armed = false;
        victim = NULL;
    }
    if (status == CATENA_OK && made != NULL) {
        status = catena_barrier(made);
    }
    found[job->rank] = status == CATENA_OK ? catena_barrier(world) : status;
    JOB_CHECK(job, job->exec->status == CATENA_OK);
    if (made != NULL) {
        (void)catena_group_free(&made);
    }
}

/** @return the number of ranks that have failed; -1: the job could not run */
static int simulate_returning(job_body_t run_on_rank, capture_t *capture)
{
    static const char *const settings[] = {"HEAP_SIZE=1g", "FAILURES=return",
                                           NULL};
    static const int node_of[RANKS] = {0, 0, 1, 1, 1};
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .settings = settings,
                                  .ranks = RANKS,
                                  .nodes = 2,
                                  .node_of = node_of,
                                  .seed = seed,
                                  .jitter = 0.5,
                                  .stack_bytes = JOB_STACK_BYTES};
    refusal.taken = 0;
    capture_start(capture);
    int failed = job_simulate_on(&params, run_on_rank);
    capture_stop(capture);
    return failed;
}

static long run_returning(unsigned long refused)
{
    capture_t capture;
    long live = refusal.live;
    refusal.which = refused;
    int failed = simulate_returning(returning_body, &capture);
    ck_assert_msg(failed == 0, "%lu refused: %s", refused, capture.text);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_msg((found[rank] == CATENA_OK) == (found[0] == CATENA_OK),
                      "%lu refused: rank %d: %s, rank 0: %s: %s", refused, rank,
                      catena_status_string(found[rank]),
                      catena_status_string(found[0]), capture.text);
    }
    ck_assert_msg(found[0] == CATENA_OK || found[0] == CATENA_ERR_NO_MEMORY ||
                      strstr(capture.text, "memory") != NULL,
                  "%lu refused: no reason: %s", refused, capture.text);
    return refusal.live - live;
}

START_TEST(returned)
{
    unsigned failed = 0;
    making = returning[_i];
    seed = (uint64_t)_i + 1;
    long usual = run_returning(0);
    unsigned long most = refusal.taken;
    ck_assert_int_eq(found[0], CATENA_OK);
    unsigned long step = (unsigned long)unit_step(3);
    for (unsigned long k = 1 + (unsigned long)_i % step; k <= most; k += step) {
        long left = run_returning(k);
        failed += found[0] != CATENA_OK;
        /* The first run of a process may leave more, by the C library. Without
         * the hierarchy there are fewer of its strings, which the C
         * library allocates, uncounted; so is the result of an exchange. */
        ck_assert_msg(left <= usual || making.make == set ||
                          making.make == sparse || making.make == reduce_add,
                      "%lu refused: %ld blocks are left", k, left - usual);
    }
    ck_assert_uint_gt(failed, 0);
}
END_TEST

/* ---- groups that are made and freed ---- */

enum { ROUNDS = 40 };

static long kept; /* blocks that the second half of the rounds has left */

/** Make a group, use it, and free it. */
static void make_and_free(job_t *job)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    catena_group_t *world = job->context->world;
    catena_group_t *group = NULL;
    catena_neighborhood_t *ring = NULL;
    catena_request_t *request[2] = {NULL};
    int32_t in[2 * RANKS] = {0}, out[2 * RANKS];
    JOB_CHECK(job, split(job, &group) == CATENA_OK);
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    JOB_CHECK(job, dup(job, &group) == CATENA_OK);
    JOB_CHECK(job, catena_cart_create(group, 1, dims, periods, 0, NULL,
                                      &ring) == CATENA_OK);
    JOB_CHECK(job, catena_allreduce_init(in, out, 1, CATENA_INT32, CATENA_SUM,
                                         group, &request[0]) == CATENA_OK);
    JOB_CHECK(job, catena_neighbor_alltoall_init(in, 1, CATENA_INT32, out, 1,
                                                 CATENA_INT32, ring,
                                                 &request[1]) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(&ring) == CATENA_OK);
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    for (int i = 0; i < 2; i++) { /* which the groups wait for */
        JOB_CHECK(job, catena_request_start(request[i]) == CATENA_OK);
        JOB_CHECK(job, catena_request_wait(&request[i]) == CATENA_OK);
        JOB_CHECK(job, catena_request_free(&request[i]) == CATENA_OK);
    }
    for (int i = 0; i < 4; i++) {
        JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    }
}

static void rounds_body(job_t *job)
{
    for (int i = 0; i < 2 * ROUNDS; i++) {
        if (i == ROUNDS && job->rank == 0) {
            kept = -refusal.live;
        }
        make_and_free(job);
    }
    if (job->rank == 0) {
        kept += refusal.live;
    }
    mistaken += job->errors;
}

/** No group that has been freed leaves memory where failures are returned. */
START_TEST(freed)
{
    capture_t capture;
    seed = (uint64_t)_i + 1;
    refusal.which = 0;
    mistaken = 0;
    ck_assert_int_eq(simulate_returning(rounds_body, &capture), 0);
    ck_assert_int_eq(mistaken, 0);
    ck_assert_int_lt(kept, ROUNDS);
}
END_TEST

/** Heap that this rank uses. */
static size_t heap_used(const job_t *job)
{
    catena_heap_stats_t stats = {.size = sizeof(stats)};
    (void)catena_heap_get_stats(job->context, &stats);
    return stats.in_use;
}

/** Free a group; its teardown runs in polls of the `finish` of an operation
 * whose group has failed, which keeps memory. */
static size_t free_amid_finish(job_t *job, bool keeps)
{
    catena_group_t *world = job->context->world;
    catena_group_t *group = NULL;
    JOB_CHECK(job, dup(job, &group) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(group) == CATENA_OK);
    JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
    job->exec->keeps_memory = keeps;
    while (job->exec->background != NULL) {
        JOB_CHECK(job, catena_progress(job->context) == CATENA_OK);
    }
    job->exec->keeps_memory = false;
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    return heap_used(job);
}

static void amid_finish_body(job_t *job)
{
    size_t before = free_amid_finish(job, false);
    for (int i = 0; i < 3; i++) {
        JOB_CHECK(job, free_amid_finish(job, true) <= before);
    }
    mistaken += job->errors;
}

START_TEST(freed_amid_finish)
{
    capture_t capture;
    seed = (uint64_t)_i + 1;
    refusal.which = 0;
    mistaken = 0;
    int failed = simulate_returning(amid_finish_body, &capture);
    ck_assert_msg(failed == 0 && mistaken == 0, "%d, %d: %s", failed, mistaken,
                  capture.text);
}
END_TEST

/* ---- what a rank without memory has used, and frees ---- */

/** What a rank of the group has. */
typedef struct used {
    catena_group_t *group;
    catena_neighborhood_t *ring;
    catena_request_t *request;
    int32_t in[2 * RANKS], out[2 * RANKS];
} used_t;

typedef struct using
{
    bool neighbors;
    bool begins; /* with the request that `init` makes, which has been used */
    catena_status_t (*call)(used_t * used);
    catena_status_t (*init)(used_t * used);
}
using_t;

static using_t using;

static catena_status_t bcast(used_t *used)
{
    return catena_bcast(used->out, 1, CATENA_INT32, 0, used->group);
}

static catena_status_t barrier_init(used_t *used)
{
    return catena_barrier_init(used->group, &used->request);
}

static catena_status_t allreduce_init(used_t *used)
{
    return catena_allreduce_init(used->in, used->out, 1, CATENA_INT32,
                                 CATENA_SUM, used->group, &used->request);
}

static catena_status_t alltoall_init(used_t *used)
{
    return catena_alltoall_init(used->in, 1, CATENA_INT32, used->out, 1,
                                CATENA_INT32, used->group, &used->request);
}

static catena_status_t neighbor_init(used_t *used)
{
    return catena_neighbor_alltoall_init(used->in, 1, CATENA_INT32, used->out,
                                         1, CATENA_INT32, used->ring,
                                         &used->request);
}

/** Start a request and wait for it. */
static catena_status_t run_request(used_t *used)
{
    catena_status_t status = catena_request_start(used->request);
    return status == CATENA_OK ? catena_request_wait(&used->request) : status;
}

static const using_t usings[] = {
    {false, false, bcast, NULL},
    {false, false, run_request, barrier_init},
    {false, false, run_request, allreduce_init},
    {false, false, run_request, alltoall_init},
    {true, false, run_request, neighbor_init},
    {false, true, NULL, allreduce_init},
    {true, true, NULL, neighbor_init},
};

enum { USINGS = sizeof(usings) / sizeof(usings[0]) };

/** A group that nothing has used yet. Whatever fails, it can be freed, and the
 * world is not concerned. */
static void using_body(job_t *job)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    catena_group_t *world = job->context->world;
    bool refused = job->rank == REFUSED_ON;
    catena_status_t status = CATENA_OK;
    used_t used = {.group = NULL};
    JOB_CHECK(job, catena_group_dup(world, &used.group) == CATENA_OK);
    JOB_CHECK(job, !using.neighbors ||
                       catena_cart_create(used.group, 1, dims, periods, 0, NULL,
                                          &used.ring) == CATENA_OK);
    JOB_CHECK(job, !using.begins || (using.init(&used) == CATENA_OK &&
                                     run_request(&used) == CATENA_OK));
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    if (refused) {
        victim = job->context->sim;
        refusal.armed = true;
    }
    if (!using.begins && using.init != NULL) {
        status = using.init(&used);
    }
    if (status == CATENA_OK && using.call != NULL) {
        status = using.call(&used);
    }
    JOB_CHECK(job, catena_request_free(&used.request) == CATENA_OK);
    if (refused) {
        refusal.armed = false;
        victim = NULL;
    }
    found[job->rank] = using.neighbors || status != CATENA_OK
                           ? status
                           : catena_barrier(used.group);
    JOB_CHECK(job, catena_neighborhood_free(&used.ring) == CATENA_OK);
    JOB_CHECK(job, catena_group_free(&used.group) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    mistaken += job->errors;
}

START_TEST(used)
{
    capture_t capture;
    using = usings[_i];
    seed = (uint64_t)_i + 1;
    refusal.which = 0;
    mistaken = 0;
    (void)simulate_returning(using_body, &capture);
    unsigned long most = refusal.taken;
    for (unsigned long k = 1; k <= most; k++) {
        refusal.which = k;
        int failed = simulate_returning(using_body, &capture);
        ck_assert_msg(failed >= 0 && mistaken == 0, "%lu refused: %d, %d: %s",
                      k, failed, mistaken, capture.text);
        for (int rank = 0; rank < RANKS && !using.neighbors; rank++) {
            ck_assert_msg((found[rank] == CATENA_OK) == (found[0] == CATENA_OK),
                          "%lu refused: rank %d: %s, rank 0: %s: %s", k, rank,
                          catena_status_string(found[rank]),
                          catena_status_string(found[0]), capture.text);
        }
    }
}
END_TEST

/* ---- after the failure of another group ---- */

/** Initializations on the neighborhood of a group that has failed say so. */
static void failed_neighborhood(job_t *job)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    static const size_t counts[] = {1, 1};
    static const ptrdiff_t offsets[] = {0, 1};
    int in[2] = {1, 2}, out[2];
    catena_neighborhood_t *ring = NULL;
    catena_request_t *request = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 1, dims, periods, 0,
                                      NULL, &ring) == CATENA_OK);
    JOB_CHECK(job, catena_group_revoke(catena_neighborhood_group(ring)) ==
                       CATENA_OK);
    size_t taken = heap_used(job);
    for (int turn = 0; turn < 100; turn++) {
        JOB_CHECK(job, catena_neighbor_allgather_init(
                           in, 1, CATENA_INT32, out, 1, CATENA_INT32, ring,
                           &request) == CATENA_ERR_REVOKED);
        JOB_CHECK(job, catena_neighbor_alltoall_init(
                           in, 1, CATENA_INT32, out, 1, CATENA_INT32, ring,
                           &request) == CATENA_ERR_REVOKED);
        JOB_CHECK(job,
                  catena_neighbor_alltoallv_init(
                      in, counts, offsets, CATENA_INT32, out, counts, offsets,
                      CATENA_INT32, ring, &request) == CATENA_ERR_REVOKED);
        JOB_CHECK(job, request == NULL);
    }
    JOB_CHECK(job, heap_used(job) <= taken);
    JOB_CHECK(job, catena_neighborhood_free(&ring) == CATENA_OK);
}

static void after_failure_body(job_t *job)
{
    enum { TURNS = 40 };
    catena_group_t *world = job->context->world;
    catena_group_t *failed;
    catena_request_t *request = NULL;
    int in = 1, out;
    size_t most = 0;
    JOB_CHECK(job, catena_group_dup(world, &failed) == CATENA_OK);
    JOB_CHECK(job, catena_group_revoke(failed) == CATENA_OK);
    JOB_CHECK(job, catena_barrier_init(failed, &request) == CATENA_ERR_REVOKED);
    JOB_CHECK(job,
              catena_allreduce_init(&in, &out, 1, CATENA_INT32, CATENA_SUM,
                                    failed, &request) == CATENA_ERR_REVOKED);
    JOB_CHECK(job,
              catena_alltoall_init(&in, 0, CATENA_INT32, &out, 0, CATENA_INT32,
                                   failed, &request) != CATENA_ERR_NO_MEMORY);
    JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
    failed_neighborhood(job);
    for (int turn = 0; turn < TURNS; turn++) {
        JOB_CHECK(job,
                  catena_allreduce_init(&in, &out, 1, CATENA_INT32, CATENA_SUM,
                                        world, &request) == CATENA_OK);
        JOB_CHECK(job, catena_request_start(request) == CATENA_OK &&
                           catena_request_wait(&request) == CATENA_OK);
        JOB_CHECK(job, catena_request_free(&request) == CATENA_OK);
        JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
        /* The background frees some later. */
        size_t taken = heap_used(job);
        JOB_CHECK(job, turn < TURNS / 2 || taken <= most + most / 4);
        most = turn < TURNS / 2 && taken > most ? taken : most;
    }
    JOB_CHECK(job, catena_group_free(&failed) == CATENA_OK);
    mistaken += job->errors;
}

/** Memory of requests of groups that have not failed is freed. */
START_TEST(after_failure)
{
    capture_t capture;
    seed = 1;
    refusal.which = 0;
    mistaken = 0;
    int failed = simulate_returning(after_failure_body, &capture);
    ck_assert_msg(failed == 0 && mistaken == 0, "%d, %d: %s", failed, mistaken,
                  capture.text);
}
END_TEST

/* ---- a job that is joined without memory ---- */

static int join(const catena_config_t *config, void *argument)
{
    catena_status_t *joined = argument;
    catena_context_t *context;
    refusal.taken = 0;
    refusal.armed = true;
    *joined = catena_init(config, &context);
    refusal.armed = false;
    return *joined == CATENA_OK && catena_finalize(&context) != CATENA_OK;
}

static catena_status_t run_join(unsigned long refused)
{
    capture_t capture;
    catena_status_t joined = CATENA_ERR_SYSTEM;
    catena_sim_params_t params = {
        .size = sizeof(params), .machine = "hpc-b", .nodes = 1, .ppn = 1};
    refusal.which = refused;
    capture_start(&capture);
    (void)catena_sim_run(&params, join, &joined, NULL);
    capture_stop(&capture);
    ck_assert_msg(joined != CATENA_ERR_NO_MEMORY ||
                      strstr(capture.text, "memory") != NULL,
                  "%lu refused: no reason: %s", refused, capture.text);
    return joined;
}

START_TEST(joining)
{
    ck_assert_int_eq(run_join(0), CATENA_OK);
    unsigned long most = refusal.taken;
    unsigned failed = 0;
    for (unsigned long k = 1; k <= most; k++) {
        catena_status_t joined = run_join(k);
        failed += joined != CATENA_OK; /* some memory is not essential */
        ck_assert_msg(joined == CATENA_OK || joined == CATENA_ERR_NO_MEMORY ||
                          joined == CATENA_ERR_ENDED,
                      "%lu refused: %s", k, catena_status_string(joined));
    }
    ck_assert_uint_gt(failed, 10);
}
END_TEST

/* ---- groups that exist at the end ---- */

static bool forgets;

/** With all that groups have: topology, levels, settings, a neighborhood's
 * schedules and links. */
static void forget(job_t *job)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    int own = (int)job->rank;
    int blocks[2 * RANKS] = {0};
    catena_group_t *world = job->context->world;
    catena_group_t *group = NULL;
    catena_group_t *part = NULL;
    catena_neighborhood_t *ring = NULL;
    JOB_CHECK(job, catena_group_dup(world, &group) == CATENA_OK);
    JOB_CHECK(job, catena_group_split(group, own % 2, 0, &part) == CATENA_OK);
    JOB_CHECK(job, catena_cart_create(part, 1, dims, periods, 0, NULL, &ring) ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(group, 1, dims, periods, 0, NULL,
                                      &ring) == CATENA_OK);
    JOB_CHECK(job, catena_neighbor_allgather(&own, 1, CATENA_INT32, blocks, 1,
                                             CATENA_INT32, ring) == CATENA_OK);
    JOB_CHECK(job, catena_group_set(part, "hierarchy",
                                    "node:shm,network:p2p") == CATENA_OK);
    JOB_CHECK(job, catena_allgather(&own, 1, CATENA_INT32, blocks, 1,
                                    CATENA_INT32, part) == CATENA_OK);
    JOB_CHECK(job, catena_alltoall(blocks, 1, CATENA_INT32, blocks + RANKS, 1,
                                   CATENA_INT32, group) == CATENA_OK);
    if (!forgets) {
        JOB_CHECK(job, catena_neighborhood_free(&ring) == CATENA_OK);
        JOB_CHECK(job, catena_group_free(&group) == CATENA_OK);
        JOB_CHECK(job, catena_group_free(&part) == CATENA_OK);
    }
}

/** @return blocks that remain */
static long run_to_the_end(capture_t *capture)
{
    long live = refusal.live;
    capture_start(capture);
    int failed = job_simulate(RANKS, seed, forget);
    capture_stop(capture);
    ck_assert_msg(failed == 0, "%d ranks: %s", failed, capture->text);
    return refusal.live - live;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

/** The number of groups that had not been freed is logged, once for all ranks.
 */
START_TEST(forgotten)
{
    capture_t capture;
    seed = (uint64_t)_i + 1;
    forgets = false;
    (void)run_to_the_end(&capture); /* once, by the C library */
    long usual = run_to_the_end(&capture);
    int others = lines(capture.text); /* logged for other reasons */
    forgets = true;
    long left = run_to_the_end(&capture);
    ck_assert_msg(left == usual, "%ld blocks are left", left - usual);
    ck_assert_int_eq(lines(capture.text) - others, 1);
    said_facts(&capture, "3", NULL);
}
END_TEST

/* ---- calls after the context has ended ---- */

enum { CALLS = 10 };

/** Calls without memory for their operation. */
static catena_status_t call(job_t *job, catena_neighborhood_t *ring, int which)
{
    static int in[2 * RANKS], out[2 * RANKS];
    catena_group_t *world = job->context->world;
    catena_request_t *request;
    switch (which) {
    case 0:
        return catena_barrier(world);
    case 1:
        return catena_ibarrier(world, &request);
    case 2:
        return catena_barrier_init(world, &request);
    case 3:
        return catena_node_fence(job->context);
    case 4:
        return catena_alltoall(in, 1, CATENA_INT32, out, 1, CATENA_INT32,
                               world);
    case 5:
        return catena_alltoall_init(in, 1, CATENA_INT32, out, 1, CATENA_INT32,
                                    world, &request);
    case 6:
        return catena_bcast(out, 1, CATENA_INT32, 0, world);
    case 7:
        return catena_igather(in, 1, CATENA_INT32, out, 1, CATENA_INT32, 0,
                              world, &request);
    case 8:
        return catena_neighbor_allgather(in, 1, CATENA_INT32, out, 1,
                                         CATENA_INT32, ring);
    default:
        return catena_ineighbor_allgather(in, 1, CATENA_INT32, out, 1,
                                          CATENA_INT32, ring, &request);
    }
}

static void end(job_t *job)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    catena_neighborhood_t *ring = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 1, dims, periods, 0,
                                      NULL, &ring) == CATENA_OK);
    JOB_CHECK(job, call(job, ring, 6) == CATENA_OK); /* makes hierarchies */
    JOB_CHECK(job, call(job, ring, 0) == CATENA_OK);
    machine = job->context->sim->sim;
    (void)ctn_exec_abort(job->exec, CATENA_ERR_NO_MEMORY);
    for (int i = 0; i < CALLS; i++) {
        job->exec->pool.free = NULL; /* slabs are freed at the end */
        refusal.taken = 0;
        refusal.which = 1;
        refusal.armed = true;
        catena_status_t status = call(job, ring, i);
        refusal.armed = false;
        if (refusal.taken == 0 || status != CATENA_ERR_ENDED) {
            fprintf(stderr, "call %d, %lu refused: %s\n", i, refusal.taken,
                    catena_status_string(status));
            mistaken++;
        }
    }
    (void)catena_neighborhood_free(&ring);
}

/** No call returns an error that says that the context still works. */
START_TEST(ended)
{
    mistaken = 0;
    ck_assert_int_ge(job_simulate(RANKS, (uint64_t)_i + 1, end), 0);
    ck_assert_int_eq(mistaken, 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, joining);
    tcase_add_loop_test(tcase, returned, 0, RETURNING);
    tcase_add_loop_test(tcase, freed, 0, 2);
    tcase_add_loop_test(tcase, freed_amid_finish, 0, 2);
    tcase_add_loop_test(tcase, used, 0, USINGS);
    tcase_add_test(tcase, after_failure);
    tcase_add_loop_test(tcase, ended, 0, 4);
    for (int i = 0; i < 8; i += unit_step(4)) {
        tcase_add_loop_test(tcase, forgotten, i, i + 1);
    }
    tcase_add_loop_test(tcase, groups, 0, MAKINGS * SEEDS);
}

UNIT_TEST(group_memory)
{
    return unit_main("group_memory", 100, add_cases);
}
