/* Collectives of blocks put together from levels (gather, scatter, allgather,
 * reduce_scatter, and those with lengths of their own), in simulated jobs:
 * every byte of the buffers against what each rank is known to give. */

#include <catena/catena.h>
#include <catena/coll.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "job.h"

/* ---- one collective ---- */

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT } form_t;

typedef enum which {
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    KINDS
} which_t;

static const char *const names[] = {
    "gather",    "gatherv",    "scatter",        "scatterv",
    "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block"};

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

/* An element is 8 bytes; where it is spread, 8 bytes of gap follow. */
typedef struct call {
    job_t *job;
    catena_group_t *group;
    uint32_t rank; /* in it */
    uint32_t size;
    which_t which;
    uint64_t salt;
    size_t count; /* of each block, or the most */
    uint32_t root;
    bool in_place;
    bool one_spread; /* this rank's block */
    bool all_spread; /* those of all ranks */
    bool shuffled;   /* those lie in another order, with gaps between them */
    bool sum;        /* else an operation that does not commute */
    size_t *counts;
    ptrdiff_t *displacements;
    size_t ones; /* words of `one`, gaps included, and one behind */
    size_t alls;
    uint64_t *one;
    uint64_t *all;
    catena_request_t *request;
} call_t;

static bool has_lengths(const call_t *call)
{
    return call->which == GATHERV || call->which == SCATTERV ||
           call->which == ALLGATHERV || call->which == REDUCE_SCATTER;
}

static bool reduces(const call_t *call)
{
    return call->which >= REDUCE_SCATTER;
}

static bool scatters(const call_t *call)
{
    return call->which == SCATTER || call->which == SCATTERV;
}

static bool has_all(const call_t *call)
{
    return call->which >= ALLGATHER || call->rank == call->root;
}

static uint64_t given(const call_t *call, uint32_t rank, size_t i)
{
    uint64_t state = call->salt * 1000003 + rank * UINT64_C(65537) + i;
    return job_random(&state) | UINT64_C(1) << 32;
}

/** x -> a x + b, both modulo 2^32: applied one after the other. */
static uint64_t after(uint64_t left, uint64_t right)
{
    uint32_t a = (uint32_t)(left >> 32);
    uint32_t b = (uint32_t)left;
    uint32_t c = (uint32_t)(right >> 32);
    uint32_t d = (uint32_t)right;
    return (uint64_t)(a * c) << 32 | (uint32_t)(a * d + b);
}

static void apply(const void *in, void *inout, size_t count,
                  catena_datatype_t type, void *argument)
{
    const uint64_t *left = in;
    uint64_t *right = inout;
    (void)type;
    (void)argument;
    for (size_t i = 0; i < count; i++) {
        right[i] = after(left[i], right[i]);
    }
}

/** Element i of all ranks' vectors, combined. */
static uint64_t combined(const call_t *call, size_t i)
{
    uint64_t value = given(call, 0, i);
    for (uint32_t rank = 1; rank < call->size; rank++) {
        uint64_t next = given(call, rank, i);
        value = call->sum ? value + next : after(value, next);
    }
    return value;
}

/* ---- buffers ---- */

static size_t one_at(const call_t *call, size_t i)
{
    return i * (call->one_spread ? 2 : 1);
}

static size_t all_at(const call_t *call, uint32_t rank, size_t i)
{
    return ((size_t)call->displacements[rank] + i) * (call->all_spread ? 2 : 1);
}

static uint64_t *new_words(const call_t *call, bool shared, size_t words)
{
    uint64_t *memory =
        shared ? catena_malloc(call->job->context, words * sizeof(uint64_t))
               : malloc(words * sizeof(uint64_t));
    JOB_CHECK(call->job, memory != NULL);
    return memory;
}

/** Lengths, places, and buffers; some in the shared heap, some elsewhere. */
static void lay(call_t *call)
{
    size_t end = 0;
    call->counts = calloc(call->size, sizeof(*call->counts));
    call->displacements = calloc(call->size, sizeof(*call->displacements));
    for (uint32_t i = 0; i < call->size; i++) {
        uint64_t random = call->salt + i;
        uint64_t x = job_random(&random);
        call->counts[i] = !has_lengths(call) ? call->count
                          : x % 4 == 0       ? 0
                                             : x / 4 % (call->count + 1);
    }
    for (uint32_t k = 0; k < call->size; k++) {
        uint32_t i = call->shuffled ? call->size - 1 - k : k;
        call->displacements[i] = (ptrdiff_t)end;
        end += call->counts[i] + (call->shuffled ? i % 3 : 0);
    }
    call->ones = one_at(call, call->counts[call->rank]) + 1;
    call->alls = end * (call->all_spread ? 2 : 1) + 1;
    call->one = new_words(call, false, call->ones);
    call->all = new_words(call, true, call->alls);
}

static void unlay(call_t *call)
{
    free(call->counts);
    free(call->displacements);
    free(call->one);
    catena_free(call->job->context, call->all);
}

static void fill(call_t *call)
{
    size_t own = call->counts[call->rank];
    memset(call->one, 0x5a, call->ones * sizeof(uint64_t));
    memset(call->all, 0x5a, call->alls * sizeof(uint64_t));
    if (reduces(call)) {
        for (size_t i = 0; i + 1 < call->alls; i++) {
            call->all[i] = given(call, call->rank, i);
        }
        return;
    }
    for (uint32_t rank = 0; scatters(call) && rank < call->size; rank++) {
        for (size_t i = 0; has_all(call) && i < call->counts[rank]; i++) {
            call->all[all_at(call, rank, i)] = given(call, rank, i);
        }
    }
    for (size_t i = 0; !scatters(call) && i < own; i++) {
        if (call->in_place) {
            call->all[all_at(call, call->rank, i)] = given(call, call->rank, i);
        } else {
            call->one[one_at(call, i)] = given(call, call->rank, i);
        }
    }
}

/** What this rank's buffers are to hold at the end. */
static void expect(const call_t *call, uint64_t *one, uint64_t *all)
{
    size_t own = call->counts[call->rank];
    memset(one, 0x5a, call->ones * sizeof(uint64_t));
    memset(all, 0x5a, call->alls * sizeof(uint64_t));
    for (size_t i = 0; i < own && !reduces(call); i++) {
        if (!call->in_place) {
            one[one_at(call, i)] = given(call, call->rank, i);
        }
    }
    for (uint32_t rank = 0; rank < call->size && !reduces(call); rank++) {
        for (size_t i = 0; has_all(call) && i < call->counts[rank]; i++) {
            all[all_at(call, rank, i)] = given(call, rank, i);
        }
    }
    size_t from = (size_t)call->displacements[call->rank];
    for (size_t i = 0; reduces(call) && i + 1 < call->alls; i++) {
        all[i] = given(call, call->rank, i);
    }
    for (size_t i = 0; reduces(call) && i < own; i++) {
        *(call->in_place ? &all[i] : &one[i]) = combined(call, from + i);
    }
}

static void check_words(const call_t *call, const char *what,
                        const uint64_t *words, const uint64_t *expected,
                        size_t count)
{
    size_t i = 0;
    while (i < count && words[i] == expected[i]) {
        i++;
    }
    JOB_CHECK(call->job, i == count);
    if (i < count && call->job->errors < 3) {
        fprintf(stderr,
                "  %s, word %zu of %s, root %u, count %zu, in place %d, "
                "spread %d %d, shuffled %d, sum %d: %llx, not %llx\n",
                names[call->which], i, what, call->root, call->count,
                call->in_place, call->one_spread, call->all_spread,
                call->shuffled, call->sum, (unsigned long long)words[i],
                (unsigned long long)expected[i]);
    }
}

static void check_result(const call_t *call)
{
    uint64_t *one = malloc(call->ones * sizeof(uint64_t));
    uint64_t *all = malloc(call->alls * sizeof(uint64_t));
    size_t defined =
        reduces(call) && call->in_place ? call->counts[call->rank] : call->alls;
    expect(call, one, all);
    check_words(call, "its own", call->one, one, call->ones);
    check_words(call, "all", call->all, all, defined);
    if (call->alls > 0) {
        JOB_CHECK(call->job, call->all[call->alls - 1] == UNTOUCHED);
    }
    free(one);
    free(all);
}

/* ---- calling ---- */

/** Two words to an element where it is spread; freed right after the call. */
static catena_datatype_t make_type(const call_t *call, bool spread)
{
    catena_datatype_t type;
    JOB_CHECK(call->job,
              catena_type_resized(CATENA_UINT64, 0,
                                  (spread ? 2 : 1) * sizeof(uint64_t),
                                  &type) == CATENA_OK);
    return type;
}

#define FORMS_OF(name, ...)                                                    \
    (form == BLOCKING      ? catena_##name(__VA_ARGS__, g)                     \
     : form == NONBLOCKING ? catena_i##name(__VA_ARGS__, g, request)           \
                           : catena_##name##_init(__VA_ARGS__, g, request))

static catena_status_t call_reduction(call_t *call, form_t form)
{
    catena_group_t *g = call->group;
    catena_request_t **request = &call->request;
    const void *send = call->in_place ? CATENA_IN_PLACE : call->all;
    void *recv = call->in_place ? call->all : call->one;
    catena_op_t op = CATENA_SUM;
    if (!call->sum) {
        JOB_CHECK(call->job,
                  catena_op_create(apply, NULL, 0, &op) == CATENA_OK);
    }
    catena_status_t status = call->which == REDUCE_SCATTER
                                 ? FORMS_OF(reduce_scatter, send, recv,
                                            call->counts, CATENA_UINT64, op)
                                 : FORMS_OF(reduce_scatter_block, send, recv,
                                            call->count, CATENA_UINT64, op);
    if (!call->sum) {
        JOB_CHECK(call->job, catena_op_free(&op) == CATENA_OK);
    }
    return status;
}

static catena_status_t call_moving(call_t *call, form_t form,
                                   catena_datatype_t one_type,
                                   catena_datatype_t all_type)
{
    catena_group_t *g = call->group;
    catena_request_t **request = &call->request;
    void *one = call->in_place ? CATENA_IN_PLACE : call->one;
    void *all = has_all(call) ? call->all : NULL;
    const size_t *counts = has_all(call) ? call->counts : NULL;
    const ptrdiff_t *places = has_all(call) ? call->displacements : NULL;
    size_t n = call->count;
    size_t own = call->counts[call->rank];
    int root = (int)call->root;
    switch (call->which) {
    case GATHER:
        return FORMS_OF(gather, one, own, one_type, all, n, all_type, root);
    case GATHERV:
        return FORMS_OF(gatherv, one, own, one_type, all, counts, places,
                        all_type, root);
    case SCATTER:
        return FORMS_OF(scatter, all, n, all_type, one, own, one_type, root);
    case SCATTERV:
        return FORMS_OF(scatterv, all, counts, places, all_type, one, own,
                        one_type, root);
    case ALLGATHER:
        return FORMS_OF(allgather, one, own, one_type, all, n, all_type);
    default:
        return FORMS_OF(allgatherv, one, own, one_type, all, counts, places,
                        all_type);
    }
}

static void start(call_t *call, form_t form)
{
    call->request = NULL;
    fill(call);
    if (reduces(call)) {
        JOB_CHECK(call->job, call_reduction(call, form) == CATENA_OK);
        return;
    }
    catena_datatype_t one_type = make_type(call, call->one_spread);
    catena_datatype_t all_type = make_type(call, call->all_spread);
    JOB_CHECK(call->job,
              call_moving(call, form, one_type, all_type) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&one_type) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&all_type) == CATENA_OK);
}

static bool draw_bool(uint64_t *random)
{
    return job_random(random) % 2 == 0;
}

/** Draw what all ranks of the group agree on, and what they need not. */
static void draw(call_t *call, job_t *job, catena_group_t *group,
                 uint64_t *random)
{
    static const size_t most[] = {0, 1, 3, 40, 300, 700, 6000};
    *call = (call_t){.job = job, .group = group};
    call->rank = (uint32_t)catena_group_rank(group);
    call->size = (uint32_t)catena_group_size(group);
    call->which = (which_t)(job_random(random) % KINDS);
    call->salt = job_random(random);
    call->root = (uint32_t)(job_random(random) % call->size);
    size_t up_to = most[job_random(random) % 7];
    call->count = draw_bool(random) ? up_to : job_random(random) % (up_to + 1);
    call->in_place = draw_bool(random);
    call->one_spread = draw_bool(random);
    call->all_spread = draw_bool(random);
    call->shuffled = draw_bool(random) && has_lengths(call);
    call->sum = draw_bool(random);
    if (call->which < ALLGATHER && call->rank != call->root) {
        call->in_place = false;
    }
    if (call->rank % 3 == call->salt % 3) { /* not what others have */
        call->one_spread = false;
    }
    if (reduces(call)) {
        call->one_spread = call->all_spread = call->shuffled = false;
    }
    lay(call);
}

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

/** One after the other, each blocking. */
static void one_by_one(job_t *job)
{
    uint64_t random = job->seed * 31 + 7;
    catena_group_t *world = job->context->world;
    set_hierarchy(job, world, &random);
    for (int i = 0; i < 16; i++) {
        call_t call;
        draw(&call, job, world, &random);
        start(&call, BLOCKING);
        check_result(&call);
        unlay(&call);
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
        call_t call[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            draw(&call[i], job, group[i / (AT_ONCE / 2)], &random);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            start(&call[(i + (int)job->rank % 2 * (AT_ONCE / 2)) % AT_ONCE],
                  NONBLOCKING);
        }
        uint64_t first = job_random(&random) + job->rank;
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            call_t *ended = &call[(first + 5 * i) % AT_ONCE];
            JOB_CHECK(job, catena_wait(&ended->request) == CATENA_OK);
            check_result(ended);
            unlay(ended);
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
    call_t call[AT_ONCE];
    set_hierarchy(job, job->context->world, &random);
    for (int i = 0; i < AT_ONCE; i++) {
        draw(&call[i], job, job->context->world, &random);
        start(&call[i], PERSISTENT);
        request[i] = call[i].request;
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            fill(&call[i]);
        }
        JOB_CHECK(job, catena_startall(AT_ONCE, request) == CATENA_OK);
        JOB_CHECK(job, catena_waitall(AT_ONCE, request) == CATENA_OK);
        for (int i = 0; i < AT_ONCE; i++) {
            check_result(&call[i]);
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        JOB_CHECK(job, catena_request_free(&request[i]) == CATENA_OK);
        unlay(&call[i]);
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
        call_t call;
        draw(&call, job, world, &random);
        call.one_spread = call.all_spread = false;
        bool asks = call.which == GATHERV || call.which == SCATTERV;
        catena_status_t status =
            reduces(&call)
                ? call_reduction(&call, BLOCKING)
                : call_moving(&call, BLOCKING, CATENA_UINT64, CATENA_UINT64);
        JOB_CHECK(job, status == (asks ? CATENA_ERR_UNSUPPORTED : CATENA_OK));
        unlay(&call);
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
        call_t call;
        do {
            draw(&call, job, world, &random);
            if (call.which != (which_t)which || call.count == 0) {
                unlay(&call);
            }
        } while (call.which != (which_t)which || call.count == 0);
        start(&call, BLOCKING);
        check_result(&call);
        unlay(&call);
        JOB_CHECK(job, catena_group_explain(world, names[which], text,
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
        call_t call;
        draw(&call, job, job->context->world, &random);
        job->errors = 3; /* errors are expected */
        start(&call, BLOCKING);
        unlay(&call);
    }
}

START_TEST(deaths)
{
    job_simulate_death(11, (uint64_t)_i, 2000 + (uint64_t)(_i * _i) * 41,
                       until_death);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ml_blocks");
    TCase *tcase = tcase_create("ml_blocks");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_by_itself, 0, SEEDS);
    tcase_add_loop_test(tcase, several_at_once, 0, SEEDS);
    tcase_add_loop_test(tcase, persistent_ones, 0, SEEDS);
    tcase_add_loop_test(tcase, lengths_that_differ, 0, 8);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, explains);
    tcase_add_loop_test(tcase, deaths, 1, 25);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
