/* One collective of blocks; see block_call.h. */

#include "block_call.h"

#include <catena/catena.h>
#include <catena/coll.h>
#include <stdlib.h>

const char *const block_names[] = {
    "gather",    "gatherv",    "scatter",        "scatterv",
    "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block"};

static bool has_lengths(const block_call_t *call)
{
    return call->which == GATHERV || call->which == SCATTERV ||
           call->which == ALLGATHERV || call->which == REDUCE_SCATTER;
}

bool block_reduces(const block_call_t *call)
{
    return call->which >= REDUCE_SCATTER;
}

static bool scatters(const block_call_t *call)
{
    return call->which == SCATTER || call->which == SCATTERV;
}

static bool has_all(const block_call_t *call)
{
    return call->which >= ALLGATHER || call->rank == call->root;
}

static uint64_t given(const block_call_t *call, uint32_t rank, size_t i)
{
    return words_mix(call->salt, rank, i) | UINT64_C(1) << 32;
}

/** Element i of all ranks' vectors, combined. */
static uint64_t combined(const block_call_t *call, size_t i)
{
    uint64_t value = given(call, 0, i);
    for (uint32_t rank = 1; rank < call->size; rank++) {
        value = words_combine(call->sum, value, given(call, rank, i));
    }
    return value;
}

/* ---- buffers ---- */

static size_t one_at(const block_call_t *call, size_t i)
{
    return i * (call->one_spread ? 2 : 1);
}

static size_t all_at(const block_call_t *call, uint32_t rank, size_t i)
{
    return ((size_t)call->displacements[rank] + i) * (call->all_spread ? 2 : 1);
}

/** Lengths, places, and buffers; some in the shared heap, some elsewhere. */
static void lay(block_call_t *call)
{
    size_t end = 0;
    call->counts = calloc(call->size, sizeof(*call->counts));
    call->displacements = calloc(call->size, sizeof(*call->displacements));
    for (uint32_t i = 0; i < call->size; i++) {
        uint64_t random = call->salt + i;
        call->counts[i] = has_lengths(call)
                              ? words_length(job_random(&random), call->count)
                              : call->count;
    }
    for (uint32_t k = 0; k < call->size; k++) {
        uint32_t i = call->shuffled ? call->size - 1 - k : k;
        call->displacements[i] = (ptrdiff_t)end;
        end += call->counts[i] + (call->shuffled ? i % 3 : 0);
    }
    call->ones = one_at(call, call->counts[call->rank]) + 1;
    call->alls = end * (call->all_spread ? 2 : 1) + 1;
    call->one = words_take(call->job, false, call->ones);
    call->all = words_take(call->job, true, call->alls);
}

void block_release(block_call_t *call)
{
    free(call->counts);
    free(call->displacements);
    words_give(call->job, false, call->one);
    words_give(call->job, true, call->all);
}

void block_fill(block_call_t *call)
{
    size_t own = call->counts[call->rank];
    words_untouch(call->one, call->ones);
    words_untouch(call->all, call->alls);
    if (block_reduces(call)) {
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
static void expect(const block_call_t *call, uint64_t *one, uint64_t *all)
{
    size_t own = call->counts[call->rank];
    words_untouch(one, call->ones);
    words_untouch(all, call->alls);
    for (size_t i = 0; i < own && !block_reduces(call); i++) {
        if (!call->in_place) {
            one[one_at(call, i)] = given(call, call->rank, i);
        }
    }
    for (uint32_t rank = 0; rank < call->size && !block_reduces(call); rank++) {
        for (size_t i = 0; has_all(call) && i < call->counts[rank]; i++) {
            all[all_at(call, rank, i)] = given(call, rank, i);
        }
    }
    size_t from = (size_t)call->displacements[call->rank];
    for (size_t i = 0; block_reduces(call) && i + 1 < call->alls; i++) {
        all[i] = given(call, call->rank, i);
    }
    for (size_t i = 0; block_reduces(call) && i < own; i++) {
        *(call->in_place ? &all[i] : &one[i]) = combined(call, from + i);
    }
}

static void check_words(const block_call_t *call, const char *what,
                        const uint64_t *words, const uint64_t *expected,
                        size_t count)
{
    size_t i = words_alike(words, expected, count);
    JOB_CHECK(call->job, i == count);
    if (i < count && call->job->errors < 3) {
        fprintf(stderr,
                "  %s, word %zu of %s, root %u, count %zu, in place %d, "
                "spread %d %d, shuffled %d, sum %d: %llx, not %llx\n",
                block_names[call->which], i, what, call->root, call->count,
                call->in_place, call->one_spread, call->all_spread,
                call->shuffled, call->sum, (unsigned long long)words[i],
                (unsigned long long)expected[i]);
    }
}

void block_check(const block_call_t *call)
{
    uint64_t *one = malloc(call->ones * sizeof(uint64_t));
    uint64_t *all = malloc(call->alls * sizeof(uint64_t));
    size_t defined = block_reduces(call) && call->in_place
                         ? call->counts[call->rank]
                         : call->alls;
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

#define FORMS_OF(name, ...)                                                    \
    (form == BLOCKING      ? catena_##name(__VA_ARGS__, g)                     \
     : form == NONBLOCKING ? catena_i##name(__VA_ARGS__, g, request)           \
                           : catena_##name##_init(__VA_ARGS__, g, request))

static catena_status_t call_reduction(block_call_t *call, form_t form)
{
    catena_group_t *g = call->group;
    catena_request_t **request = &call->request;
    const void *send = call->in_place ? CATENA_IN_PLACE : call->all;
    void *recv = call->in_place ? call->all : call->one;
    catena_op_t op = words_op(call->job, call->sum);
    catena_status_t status = call->which == REDUCE_SCATTER
                                 ? FORMS_OF(reduce_scatter, send, recv,
                                            call->counts, CATENA_UINT64, op)
                                 : FORMS_OF(reduce_scatter_block, send, recv,
                                            call->count, CATENA_UINT64, op);
    words_op_drop(call->job, call->sum, op);
    return status;
}

static catena_status_t call_moving(block_call_t *call, form_t form,
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

catena_status_t block_run(block_call_t *call, form_t form)
{
    call->request = NULL;
    if (block_reduces(call)) {
        return call_reduction(call, form);
    }
    catena_datatype_t one_type = words_type(call->job, call->one_spread);
    catena_datatype_t all_type = words_type(call->job, call->all_spread);
    catena_status_t status = call_moving(call, form, one_type, all_type);
    JOB_CHECK(call->job, catena_type_free(&one_type) == CATENA_OK);
    JOB_CHECK(call->job, catena_type_free(&all_type) == CATENA_OK);
    return status;
}

void block_draw(block_call_t *call, job_t *job, catena_group_t *group,
                uint64_t *random)
{
    static const size_t most[] = {0, 1, 3, 40, 300, 700, 6000};
    *call = (block_call_t){.job = job, .group = group};
    call->rank = (uint32_t)catena_group_rank(group);
    call->size = (uint32_t)catena_group_size(group);
    call->which = (block_which_t)(job_random(random) % KINDS);
    call->salt = job_random(random);
    call->root = (uint32_t)(job_random(random) % call->size);
    size_t up_to = most[job_random(random) % 7];
    call->count =
        words_draw_bool(random) ? up_to : job_random(random) % (up_to + 1);
    call->in_place = words_draw_bool(random);
    call->one_spread = words_draw_bool(random);
    call->all_spread = words_draw_bool(random);
    call->shuffled = words_draw_bool(random) && has_lengths(call);
    call->sum = words_draw_bool(random);
    if (call->which < ALLGATHER && call->rank != call->root) {
        call->in_place = false;
    }
    if (call->rank % 3 == call->salt % 3) { /* not what others have */
        call->one_spread = false;
    }
    if (block_reduces(call)) {
        call->one_spread = call->all_spread = call->shuffled = false;
    }
    lay(call);
}
