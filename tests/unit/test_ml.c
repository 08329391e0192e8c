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

/* ---- values ---- */

/** x -> a x + b: combining them in order is associative and does not commute,
 * and no rank's part is lost. */
typedef struct map {
    uint32_t a;
    uint32_t b;
} map_t;

static map_t after(map_t left, map_t right)
{
    return (map_t){left.a * right.a, left.a * right.b + left.b};
}

static void combine(const void *in, void *inout, size_t count,
                    catena_datatype_t type, void *argument)
{
    const map_t *left = in;
    map_t *right = inout;
    (void)type;
    for (size_t i = 0; i < count; i++) {
        right[i] = after(left[i], right[i]);
    }
    ++*(uint64_t *)argument;
}

static map_t given(uint64_t salt, uint32_t rank, size_t i)
{
    uint64_t state = salt * 1000003 + rank * UINT64_C(65537) + i;
    uint64_t x = job_random(&state);
    return (map_t){(uint32_t)x | 1, (uint32_t)(x >> 32)};
}

/** What ranks `first` to `last` come to. As sums: element by element. */
static map_t expected(uint64_t salt, uint32_t first, uint32_t last, size_t i,
                      bool sum)
{
    map_t value = given(salt, first, i);
    for (uint32_t rank = first + 1; rank <= last; rank++) {
        map_t next = given(salt, rank, i);
        value = sum ? (map_t){value.a + next.a, value.b + next.b}
                    : after(value, next);
    }
    return value;
}

/* ---- one collective ---- */

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;
typedef enum which { BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, KINDS } which_t;

enum { MOST_COUNT = 20000, GUARD = 0x5a };
enum { SEND_BYTES = (MOST_COUNT + 1) * sizeof(map_t) };
enum { RECV_BYTES = (2 * MOST_COUNT + 1) * sizeof(map_t) };

typedef struct call {
    job_t *job;
    catena_group_t *group;
    uint32_t rank; /* in it */
    uint32_t size;
    which_t which;
    uint64_t salt;
    size_t count;
    uint32_t root;
    bool in_place;
    bool sum;    /* else the operation that does not commute */
    bool spread; /* bcast: elements with gaps between them */
    uint64_t combined;
    map_t *send;
    map_t *recv;
    catena_request_t *request;
} call_t;

static size_t stride(const call_t *call)
{
    return call->spread ? 2 : 1;
}

/** This rank's part where it is read; GUARD everywhere else. */
static void fill(call_t *call)
{
    memset(call->send, GUARD, SEND_BYTES);
    memset(call->recv, GUARD, RECV_BYTES);
    map_t *from =
        call->which == BCAST || call->in_place ? call->recv : call->send;
    bool reads = call->which != BCAST || call->rank == call->root;
    for (size_t i = 0; reads && i < call->count; i++) {
        from[i * stride(call)] = given(call->salt, call->rank, i);
    }
}

/** What element i is at the end on this rank; false: it is not written. */
static bool result(const call_t *call, size_t i, map_t *value)
{
    uint32_t me = call->rank;
    switch (call->which) {
    case BCAST:
        *value = given(call->salt, call->root, i);
        return true;
    case REDUCE:
        *value = expected(call->salt, 0, call->size - 1, i, call->sum);
        return me == call->root;
    case ALLREDUCE:
        *value = expected(call->salt, 0, call->size - 1, i, call->sum);
        return true;
    case SCAN:
        *value = expected(call->salt, 0, me, i, call->sum);
        return true;
    default:
        if (me > 0) {
            *value = expected(call->salt, 0, me - 1, i, call->sum);
        }
        return me > 0;
    }
}

static void check_result(const call_t *call)
{
    map_t untouched;
    memset(&untouched, GUARD, sizeof(untouched));
    for (size_t i = 0; i <= call->count * stride(call); i++) {
        map_t value = untouched;
        bool is_element =
            i % stride(call) == 0 && i / stride(call) < call->count;
        if (is_element && !result(call, i / stride(call), &value)) {
            value =
                call->in_place ? given(call->salt, call->rank, i) : untouched;
        }
        bool same = memcmp(&call->recv[i], &value, sizeof(value)) == 0;
        JOB_CHECK(call->job, same);
        if (!same) {
            fprintf(stderr,
                    "  collective %d, element %zu of %zu, root %u, in place "
                    "%d, sum %d, spread %d, %u ranks\n",
                    (int)call->which, i, call->count, call->root,
                    call->in_place, call->sum, call->spread, call->size);
            return;
        }
    }
}

/** The type of the elements, and the operation. They are freed right after the
 * call: operations under way keep what they need. */
static void make_type(const call_t *call, catena_datatype_t *type)
{
    catena_datatype_t pair;
    JOB_CHECK(call->job,
              catena_type_contiguous(2, CATENA_UINT32, &pair) == CATENA_OK);
    *type = pair;
    if (call->spread) {
        JOB_CHECK(call->job, catena_type_resized(pair, 0, 2 * sizeof(map_t),
                                                 type) == CATENA_OK);
        JOB_CHECK(call->job, catena_type_free(&pair) == CATENA_OK);
    }
}

static catena_status_t start_combining(call_t *call, form_t form,
                                       catena_datatype_t type, catena_op_t op)
{
    const void *send = call->in_place ? CATENA_IN_PLACE : call->send;
    void *recv = call->recv;
    size_t n = call->count;
    catena_group_t *g = call->group;
    catena_request_t **request = &call->request;
    int root = (int)call->root;
#define FORMS_OF(name, ...)                                                    \
    (form == BLOCKING ? catena_##name(send, recv, n, type, __VA_ARGS__)        \
     : form == NONBLOCKING                                                     \
         ? catena_i##name(send, recv, n, type, __VA_ARGS__, request)           \
         : catena_##name##_init(send, recv, n, type, __VA_ARGS__, request))
    switch (call->which) {
    case REDUCE:
        recv = call->rank == call->root ? recv : NULL;
        return FORMS_OF(reduce, op, root, g);
    case ALLREDUCE:
        return FORMS_OF(allreduce, op, g);
    case SCAN:
        return FORMS_OF(scan, op, g);
    default:
        return FORMS_OF(exscan, op, g);
    }
#undef FORMS_OF
}

static catena_status_t start_bcast(call_t *call, form_t form,
                                   catena_datatype_t type)
{
    int root = (int)call->root;
    return form == BLOCKING
               ? catena_bcast(call->recv, call->count, type, root, call->group)
           : form == NONBLOCKING
               ? catena_ibcast(call->recv, call->count, type, root, call->group,
                               &call->request)
               : catena_bcast_init(call->recv, call->count, type, root,
                                   call->group, &call->request);
}

static void start(call_t *call, form_t form)
{
    catena_datatype_t type;
    catena_op_t op = CATENA_SUM;
    make_type(call, &type);
    if (!call->sum) {
        JOB_CHECK(call->job, catena_op_create(combine, &call->combined, 0,
                                              &op) == CATENA_OK);
    }
    call->request = NULL;
    fill(call);
    JOB_CHECK(call->job,
              (call->which == BCAST
                   ? start_bcast(call, form, type)
                   : start_combining(call, form, type, op)) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&type) == CATENA_OK);
    if (!call->sum) {
        JOB_CHECK(call->job, catena_op_free(&op) == CATENA_OK);
    }
}

/** Draw what all ranks of the group agree on, and what they need not. */
static void draw(call_t *call, uint64_t *random)
{
    static const size_t most[] = {1, 3, 40, 500, 4096, 4097, MOST_COUNT};
    call->rank = (uint32_t)catena_group_rank(call->group);
    call->size = (uint32_t)catena_group_size(call->group);
    call->which = (which_t)(job_random(random) % KINDS);
    call->salt = job_random(random);
    call->root = (uint32_t)(job_random(random) % call->size);
    size_t up_to = most[job_random(random) % 7];
    call->count =
        job_random(random) % 3 == 0 ? up_to : job_random(random) % (up_to + 1);
    call->in_place = job_random(random) % 2 == 0 && call->which != BCAST;
    call->sum = job_random(random) % 2 == 0;
    call->spread = call->which == BCAST && job_random(random) % 2 == 0;
    if (call->which == REDUCE && call->rank != call->root) {
        call->in_place = false;
    }
}

/** With a buffer in the shared heap, and one elsewhere. */
static call_t *new_calls(job_t *job, catena_group_t *const *groups,
                         size_t count)
{
    call_t *calls = calloc(count, sizeof(*calls));
    for (size_t i = 0; i < count; i++) {
        calls[i].job = job;
        calls[i].group = groups[i];
        calls[i].send = catena_malloc(job->context, SEND_BYTES);
        calls[i].recv = malloc(RECV_BYTES);
    }
    return calls;
}

static void free_calls(call_t *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        catena_free(calls[i].job->context, calls[i].send);
        free(calls[i].recv);
    }
    free(calls);
}

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
    call_t *call = new_calls(job, &world, 1);
    set_hierarchy(job, world, &random);
    for (int i = 0; i < 12; i++) {
        draw(call, &random);
        start(call, BLOCKING);
        check_result(call);
    }
    free_calls(call, 1);
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
    call_t *call = new_calls(job, of, AT_ONCE);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            draw(&call[i], &random);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            start(&call[(i + job->rank % 2 * (AT_ONCE / 2)) % AT_ONCE],
                  NONBLOCKING);
        }
        uint64_t first = job_random(&random) + job->rank;
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            call_t *ended = &call[(first + 5 * i) % AT_ONCE];
            JOB_CHECK(job, catena_wait(&ended->request) == CATENA_OK);
            check_result(ended);
        }
        JOB_CHECK(job, group[0]->composed == 0 && group[1]->composed == 0);
    }
    free_calls(call, AT_ONCE);
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
    call_t *call = new_calls(job, of, AT_ONCE);
    set_hierarchy(job, world, &random);
    for (int i = 0; i < AT_ONCE; i++) {
        draw(&call[i], &random);
        start(&call[i], PERSISTENT);
        request[i] = call[i].request;
    }
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            call[i].salt += 17;
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
    }
    free_calls(call, AT_ONCE);
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

/** A group with a collective under way anywhere, as it is where it was started
 * first, is freed nowhere; what is left then is as before. */
static void freed_too_early(job_t *job)
{
    uint64_t random = job->seed * 47 + 19;
    catena_group_t *group;
    JOB_CHECK(job, catena_group_dup(job->context->world, &group) == CATENA_OK);
    call_t *call = new_calls(job, &group, 1);
    set_hierarchy(job, group, &random);
    do {
        draw(call, &random);
    } while (call->which != ALLREDUCE || call->count == 0);
    start(call, NONBLOCKING);
    JOB_CHECK(job,
              job->size == 1 || catena_group_free(group) == CATENA_ERR_STATE);
    JOB_CHECK(job, catena_wait(&call->request) == CATENA_OK);
    check_result(call);
    free_calls(call, 1);
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
    JOB_CHECK(job, catena_op_create(combine, &combined, 0, &op) == CATENA_OK);
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
