/* One collective of vectors; see vector_call.h. */

#include "vector_call.h"

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COUNT = 20000, GUARD = 0x5a };
enum { SEND_BYTES = (MOST_COUNT + 1) * sizeof(vector_map_t) };
enum { RECV_BYTES = (2 * MOST_COUNT + 1) * sizeof(vector_map_t) };

static vector_map_t after(vector_map_t left, vector_map_t right)
{
    return (vector_map_t){left.a * right.a, left.a * right.b + left.b};
}

void vector_combine(const void *in, void *inout, size_t count,
                    catena_datatype_t type, void *argument)
{
    const vector_map_t *left = in;
    vector_map_t *right = inout;
    (void)type;
    for (size_t i = 0; i < count; i++) {
        right[i] = after(left[i], right[i]);
    }
    ++*(uint64_t *)argument;
}

static vector_map_t given(uint64_t salt, uint32_t rank, size_t i)
{
    uint64_t state = salt * 1000003 + rank * UINT64_C(65537) + i;
    uint64_t x = job_random(&state);
    return (vector_map_t){(uint32_t)x | 1, (uint32_t)(x >> 32)};
}

/** What ranks `first` to `last` come to. As sums: element by element. */
static vector_map_t expected(uint64_t salt, uint32_t first, uint32_t last,
                             size_t i, bool sum)
{
    vector_map_t value = given(salt, first, i);
    for (uint32_t rank = first + 1; rank <= last; rank++) {
        vector_map_t next = given(salt, rank, i);
        value = sum ? (vector_map_t){value.a + next.a, value.b + next.b}
                    : after(value, next);
    }
    return value;
}

static size_t stride(const vector_call_t *call)
{
    return call->spread ? 2 : 1;
}

void vector_fill(vector_call_t *call)
{
    memset(call->send, GUARD, SEND_BYTES);
    memset(call->recv, GUARD, RECV_BYTES);
    vector_map_t *from =
        call->which == BCAST || call->in_place ? call->recv : call->send;
    bool reads = call->which != BCAST || call->rank == call->root;
    for (size_t i = 0; reads && i < call->count; i++) {
        from[i * stride(call)] = given(call->salt, call->rank, i);
    }
}

/** What element i is at the end on this rank; false: it is not written. */
static bool result(const vector_call_t *call, size_t i, vector_map_t *value)
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

void vector_check(const vector_call_t *call)
{
    vector_map_t untouched;
    memset(&untouched, GUARD, sizeof(untouched));
    for (size_t i = 0; i <= call->count * stride(call); i++) {
        vector_map_t value = untouched;
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
static void make_type(const vector_call_t *call, catena_datatype_t *type)
{
    catena_datatype_t pair;
    JOB_CHECK(call->job,
              catena_type_contiguous(2, CATENA_UINT32, &pair) == CATENA_OK);
    *type = pair;
    if (call->spread) {
        JOB_CHECK(call->job,
                  catena_type_resized(pair, 0, 2 * sizeof(vector_map_t),
                                      type) == CATENA_OK);
        JOB_CHECK(call->job, catena_type_free(&pair) == CATENA_OK);
    }
}

static catena_status_t start_combining(vector_call_t *call, form_t form,
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

static catena_status_t start_bcast(vector_call_t *call, form_t form,
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

void vector_start(vector_call_t *call, form_t form)
{
    catena_datatype_t type;
    catena_op_t op = CATENA_SUM;
    make_type(call, &type);
    if (!call->sum) {
        JOB_CHECK(call->job, catena_op_create(vector_combine, &call->combined,
                                              0, &op) == CATENA_OK);
    }
    call->request = NULL;
    vector_fill(call);
    JOB_CHECK(call->job,
              (call->which == BCAST
                   ? start_bcast(call, form, type)
                   : start_combining(call, form, type, op)) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&type) == CATENA_OK);
    if (!call->sum) {
        JOB_CHECK(call->job, catena_op_free(&op) == CATENA_OK);
    }
}

void vector_draw(vector_call_t *call, uint64_t *random)
{
    static const size_t most[] = {1, 3, 40, 500, 4096, 4097, MOST_COUNT};
    call->rank = (uint32_t)catena_group_rank(call->group);
    call->size = (uint32_t)catena_group_size(call->group);
    call->which = (vector_which_t)(job_random(random) % KINDS);
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

vector_call_t *vector_calls_new(job_t *job, catena_group_t *const *groups,
                                size_t count)
{
    vector_call_t *calls = calloc(count, sizeof(*calls));
    for (size_t i = 0; i < count; i++) {
        calls[i].job = job;
        calls[i].group = groups[i];
        calls[i].send = catena_malloc(job->context, SEND_BYTES);
        calls[i].recv = malloc(RECV_BYTES);
    }
    return calls;
}

void vector_calls_free(vector_call_t *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        catena_free(calls[i].job->context, calls[i].send);
        free(calls[i].recv);
    }
    free(calls);
}
