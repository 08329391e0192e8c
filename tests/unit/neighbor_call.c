/* One operation on neighbors; see neighbor_call.h. */

#include "neighbor_call.h"

#include <catena/catena.h>
#include <stdlib.h>

const char *const neighbor_names[] = {
    "neighbor_gather",    "neighbor_gatherv",   "neighbor_alltoall",
    "neighbor_alltoallv", "neighbor_alltoallw", "neighbor_reduce",
    "neighbor_reducev"};

static bool gathers(const neighbor_call_t *call)
{
    return call->which == GATHER || call->which == GATHERV ||
           call->which == REDUCE;
}

static bool reduces(const neighbor_call_t *call)
{
    return call->which >= REDUCE;
}

static bool varies(const neighbor_call_t *call)
{
    return call->which == GATHERV || call->which == ALLTOALLV ||
           call->which == ALLTOALLW || call->which == REDUCEV;
}

/* ---- what is sent ---- */

static uint64_t mix(const neighbor_call_t *call, uint64_t a, uint64_t b)
{
    return words_mix(call->salt, a, b);
}

/** Elements of what a rank sends to one of its targets. */
static size_t length(const neighbor_call_t *call, int rank, int target)
{
    if (!varies(call) || call->in_place) {
        return call->count;
    }
    /* What is reduced has the receiver's length, what is gathered the
     * sender's. */
    uint64_t x =
        call->which == REDUCEV
            ? mix(call, (uint64_t)call->graph->targets[rank].rank[target], 7)
        : call->which == GATHERV
            ? mix(call, (uint64_t)rank, 8)
            : mix(call, (uint64_t)rank, 100 + (uint64_t)target);
    return words_length(x, call->count);
}

static uint64_t sent(const neighbor_call_t *call, int rank, int target,
                     size_t i)
{
    uint64_t block = gathers(call) ? 0 : 1 + (uint64_t)target;
    return mix(call, (uint64_t)rank * 64 + block, 1000 + i) | UINT64_C(1) << 32;
}

/** Element i of what is received from source s. */
static uint64_t received(const neighbor_call_t *call, int s, size_t i)
{
    const list_t *sources = call->recv.list;
    return sent(call, sources->rank[s], sources->other[s], i);
}

/** Element i of what all sources sent. @return false: there is none */
static bool combined(const neighbor_call_t *call, size_t i, uint64_t *value)
{
    bool any = false;
    for (int s = 0; s < call->recv.list->count; s++) {
        if (call->recv.list->rank[s] == CATENA_PROC_NULL) {
            continue;
        }
        uint64_t next = received(call, s, i);
        *value = any ? words_combine(call->sum, *value, next) : next;
        any = true;
    }
    return any;
}

/* ---- buffers ---- */

static size_t word_at(const neighbor_side_t *side, int i, size_t element)
{
    return ((size_t)side->displacements[i] + element) * (side->spread ? 2 : 1);
}

/** Blocks of a side, in any order, with gaps between them. */
static void lay_side(neighbor_call_t *call, neighbor_side_t *side, bool vector,
                     uint64_t random)
{
    int n = side->list->count;
    size_t end = 0;
    bool backwards = vector && job_random(&random) % 2 == 0;
    side->displacements = calloc((size_t)n + 1, sizeof(ptrdiff_t));
    side->bytes_at = calloc((size_t)n + 1, sizeof(ptrdiff_t));
    side->types = calloc((size_t)n + 1, sizeof(catena_datatype_t));
    for (int k = 0; k < n; k++) {
        int i = backwards ? n - 1 - k : k;
        side->displacements[i] = (ptrdiff_t)end;
        end += side->counts[i] + (backwards ? (size_t)i % 3 : 0);
        side->bytes_at[i] = (ptrdiff_t)(word_at(side, i, 0) * sizeof(uint64_t));
    }
    side->words = end * (side->spread ? 2 : 1) + 1;
    side->buffer = words_take(call->job, side->shared, side->words);
}

/** One block, of so many elements, that goes to all or comes of all. */
static void lay_one(neighbor_call_t *call, neighbor_side_t *side, size_t count)
{
    list_t one = {.count = 1};
    const list_t *list = side->list;
    side->counts[0] = count;
    side->list = &one;
    lay_side(call, side, false, 0);
    side->list = list;
}

static void count_side(neighbor_side_t *side)
{
    side->counts = calloc((size_t)side->list->count + 2, sizeof(size_t));
}

/** What this rank receives in all, of a reduction. */
static size_t result_length(const neighbor_call_t *call)
{
    return call->which == REDUCE
               ? call->count
               : words_length(mix(call, call->job->rank, 7), call->count);
}

static void lay(neighbor_call_t *call)
{
    neighbor_side_t *send = &call->send;
    neighbor_side_t *recv = &call->recv;
    int rank = (int)call->job->rank;
    count_side(send);
    count_side(recv);
    for (int t = 0; t < send->list->count; t++) {
        send->counts[t] = send->list->rank[t] != CATENA_PROC_NULL
                              ? length(call, rank, t)
                              : call->count;
    }
    for (int s = 0; s < recv->list->count; s++) {
        recv->counts[s] =
            recv->list->rank[s] != CATENA_PROC_NULL
                ? length(call, recv->list->rank[s], recv->list->other[s])
                : call->count;
    }
    if (gathers(call)) {
        lay_one(call, send, length(call, rank, 0));
    } else {
        lay_side(call, send, varies(call), call->salt + (unsigned)rank);
    }
    if (reduces(call)) {
        lay_one(call, recv, result_length(call));
    } else {
        lay_side(call, recv, varies(call), call->salt + 3 * (unsigned)rank);
    }
}

static void release_side(const neighbor_call_t *call, neighbor_side_t *side)
{
    free(side->counts);
    free(side->displacements);
    free(side->bytes_at);
    free(side->types);
    words_give(call->job, side->shared, side->buffer);
}

void neighbor_release(neighbor_call_t *call)
{
    release_side(call, &call->send);
    release_side(call, &call->recv);
}

/** Write what this rank sends where `side` has it; nobody gets nothing. */
static void write_sent(const neighbor_call_t *call, const neighbor_side_t *side,
                       uint64_t *words)
{
    int blocks = gathers(call) ? 1 : side->list->count;
    for (int t = 0; t < blocks; t++) {
        for (size_t i = 0; i < side->counts[t]; i++) {
            words[word_at(side, t, i)] = sent(call, (int)call->job->rank, t, i);
        }
    }
}

void neighbor_fill(neighbor_call_t *call)
{
    neighbor_side_t *sides[] = {&call->send, &call->recv};
    for (int s = 0; s < 2; s++) {
        words_untouch(sides[s]->buffer, sides[s]->words);
    }
    write_sent(call, call->in_place ? &call->recv : &call->send,
               call->in_place ? call->recv.buffer : call->send.buffer);
}

/** What this rank's receive buffer is to hold at the end. */
static void expect(const neighbor_call_t *call, uint64_t *words)
{
    const neighbor_side_t *recv = &call->recv;
    words_untouch(words, recv->words);
    if (call->in_place) {
        write_sent(call, recv, words);
    }
    for (size_t i = 0; reduces(call) && i < recv->counts[0]; i++) {
        (void)combined(call, i, &words[word_at(recv, 0, i)]);
    }
    for (int s = 0; !reduces(call) && s < recv->list->count; s++) {
        for (size_t i = 0;
             recv->list->rank[s] != CATENA_PROC_NULL && i < recv->counts[s];
             i++) {
            words[word_at(recv, s, i)] = received(call, s, i);
        }
    }
}

void neighbor_check(const neighbor_call_t *call)
{
    const neighbor_side_t *recv = &call->recv;
    uint64_t *words = malloc(recv->words * sizeof(uint64_t));
    expect(call, words);
    size_t i = words_alike(recv->buffer, words, recv->words);
    JOB_CHECK(call->job, i == recv->words);
    if (i < recv->words && call->job->errors < 3) {
        fprintf(stderr,
                "  %s, word %zu of %zu, count %zu, in place %d, spread %d %d, "
                "sum %d: %llx, not %llx\n",
                neighbor_names[call->which], i, recv->words, call->count,
                call->in_place, call->send.spread, recv->spread, call->sum,
                (unsigned long long)recv->buffer[i],
                (unsigned long long)words[i]);
    }
    JOB_CHECK(call->job, recv->buffer[recv->words - 1] == UNTOUCHED);
    free(words);
}

/* ---- calling ---- */

#define FORMS_OF(name, ...)                                                    \
    (form == BLOCKING ? catena_neighbor_##name(__VA_ARGS__, n)                 \
     : form == NONBLOCKING                                                     \
         ? catena_ineighbor_##name(__VA_ARGS__, n, request)                    \
         : catena_neighbor_##name##_init(__VA_ARGS__, n, request))

static catena_status_t call_reduction(neighbor_call_t *call, form_t form)
{
    catena_neighborhood_t *n = call->neighborhood;
    catena_request_t **request = &call->request;
    const neighbor_side_t *from = &call->send;
    void *recv = call->recv.buffer;
    const void *send = call->in_place ? CATENA_IN_PLACE : from->buffer;
    catena_op_t op = words_op(call->job, call->sum);
    catena_status_t status =
        call->which == REDUCE
            ? FORMS_OF(reduce, send, recv, call->count, CATENA_UINT64, op)
            : FORMS_OF(reducev, send, from->counts, from->displacements, recv,
                       call->recv.counts[0], CATENA_UINT64, op);
    words_op_drop(call->job, call->sum, op);
    return status;
}

static catena_status_t call_typed(neighbor_call_t *call, form_t form)
{
    catena_neighborhood_t *n = call->neighborhood;
    catena_request_t **request = &call->request;
    neighbor_side_t *sides[] = {&call->send, &call->recv};
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < sides[s]->list->count; i++) {
            bool is_null = sides[s]->list->rank[i] == CATENA_PROC_NULL &&
                           (!call->in_place ||
                            sides[1 - s]->list->rank[i] == CATENA_PROC_NULL);
            sides[s]->types[i] =
                is_null ? NULL : words_type(call->job, sides[s]->spread);
        }
    }
    const void *send = call->in_place ? CATENA_IN_PLACE : call->send.buffer;
    catena_status_t status =
        FORMS_OF(alltoallw, send, call->send.counts, call->send.bytes_at,
                 call->send.types, call->recv.buffer, call->recv.counts,
                 call->recv.bytes_at, call->recv.types);
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < sides[s]->list->count; i++) {
            if (sides[s]->types[i] != NULL) {
                JOB_CHECK(call->job,
                          catena_type_free(&sides[s]->types[i]) == CATENA_OK);
            }
        }
    }
    return status;
}

static catena_status_t call_moving(neighbor_call_t *call, form_t form,
                                   catena_datatype_t send_type,
                                   catena_datatype_t recv_type)
{
    catena_neighborhood_t *n = call->neighborhood;
    catena_request_t **request = &call->request;
    const neighbor_side_t *from = &call->send;
    const neighbor_side_t *to = &call->recv;
    const void *send = call->in_place ? CATENA_IN_PLACE : from->buffer;
    switch (call->which) {
    case GATHER:
        return FORMS_OF(gather, send, call->count, send_type, to->buffer,
                        call->count, recv_type);
    case GATHERV:
        return FORMS_OF(gatherv, send, from->counts[0], send_type, to->buffer,
                        to->counts, to->displacements, recv_type);
    case ALLTOALL:
        return FORMS_OF(alltoall, send, call->count, send_type, to->buffer,
                        call->count, recv_type);
    default:
        return FORMS_OF(alltoallv, send, from->counts, from->displacements,
                        send_type, to->buffer, to->counts, to->displacements,
                        recv_type);
    }
}

catena_status_t neighbor_run(neighbor_call_t *call, form_t form)
{
    call->request = NULL;
    if (reduces(call)) {
        return call_reduction(call, form);
    }
    if (call->which == ALLTOALLW) {
        return call_typed(call, form);
    }
    catena_datatype_t send_type = words_type(call->job, call->send.spread);
    catena_datatype_t recv_type = words_type(call->job, call->recv.spread);
    catena_status_t status = call_moving(call, form, send_type, recv_type);
    JOB_CHECK(call->job, catena_type_free(&send_type) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&recv_type) == CATENA_OK);
    return status;
}

/** What this rank decides alone. */
static void draw_own(neighbor_call_t *call)
{
    uint64_t random = call->salt + 77 * call->job->rank;
    call->send.spread = words_draw_bool(&random) && !reduces(call);
    call->recv.spread = words_draw_bool(&random) && !reduces(call);
    call->send.shared = words_draw_bool(&random);
    call->recv.shared = words_draw_bool(&random);
}

void neighbor_draw(neighbor_call_t *call, job_t *job, const graph_t *graph,
                   catena_neighborhood_t *neighborhood, bool balanced,
                   size_t most, uint64_t *random)
{
    *call = (neighbor_call_t){
        .job = job, .graph = graph, .neighborhood = neighborhood};
    call->which = (neighbor_which_t)(job_random(random) % KINDS);
    call->salt = job_random(random);
    call->count =
        words_draw_bool(random) ? most : job_random(random) % (most + 1);
    call->sum = words_draw_bool(random);
    call->in_place = words_draw_bool(random) &&
                     (call->which == REDUCE ||
                      (balanced && !gathers(call) && !reduces(call)));
    call->send.list = &graph->targets[job->rank];
    call->recv.list = &graph->sources[job->rank];
    draw_own(call);
    lay(call);
}
