#include "nbr_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_vector.h"

enum { GUARD = 64, UNTOUCHED = 0xee };

static const char *const kind_names[NBR_KINDS] = {
    "gather",    "gatherv", "alltoall", "alltoallv",
    "alltoallw", "reduce",  "reducev"};

const char *nbr_kind_name(nbr_kind_t kind)
{
    return kind_names[kind];
}

static bool reduces(const nbr_call_t *call)
{
    return call->kind >= NBR_REDUCE;
}

/** Whether all targets get the same. */
static bool to_all_alike(const nbr_call_t *call)
{
    return call->kind == NBR_GATHER || call->kind == NBR_GATHERV ||
           call->kind == NBR_REDUCE;
}

static const nbr_list_t *sources_of(const nbr_call_t *call)
{
    return &call->graph->sources[call->rank];
}

static const nbr_list_t *targets_of(const nbr_call_t *call)
{
    return &call->graph->targets[call->rank];
}

/* ---- what is drawn ---- */

void nbr_call_repair(nbr_call_t *call)
{
    bool dense = reduces(call);
    if (dense) {
        call->type %= COLL_VECTOR;
        while (!coll_op_takes(call->op, call->type)) {
            call->op = (call->op + 1) % COLL_OPS;
            if (call->op == 0) {
                call->type = (call->type + 1) % COLL_VECTOR;
            }
        }
    } else {
        call->op = COLL_NO_OP;
    }
    bool may = call->kind == NBR_REDUCE ||
               (call->kind >= NBR_ALLTOALL && call->kind <= NBR_ALLTOALLW &&
                sources_of(call)->count == targets_of(call)->count &&
                (call->kind == NBR_ALLTOALL || call->alike));
    call->in_place = call->in_place && may;
}

void nbr_call_draw(nbr_call_t *call, uint64_t *random, uint64_t *own,
                   size_t most)
{
    static const size_t counts[] = {0, 1, 1, 2, 3, 5, 14, 37, 150, 700, 3000};
    enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };
    uint64_t mine = rank_random(own);
    call->kind = (nbr_kind_t)(rank_random(random) % NBR_KINDS);
    call->type = (unsigned)(rank_random(random) % COLL_TYPES);
    call->op = 1 + (unsigned)(rank_random(random) % (COLL_OPS - 1));
    call->count = counts[rank_random(random) % COUNTS];
    call->count = call->count > most ? most : call->count;
    call->shape = rank_random(random);
    call->alike = rank_random(random) % 3 == 0;
    call->form = (nbr_form_t)(rank_random(random) % NBR_FORMS);
    call->in_place = mine / 4 % 3 == 0;
    call->send_memory = (rank_memory_t)(mine / 16 % 2);
    call->receive_memory = (rank_memory_t)(mine / 32 % 2);
    call->rank =
        catena_group_rank(catena_neighborhood_group(call->neighborhood));
    nbr_call_repair(call);
}

static size_t some(const nbr_call_t *call, uint64_t a, uint64_t b)
{
    uint64_t h = rank_hash(call->shape, a, b);
    return call->alike     ? call->count
           : h >> 60 < 4   ? 0
           : h >> 60 == 15 ? call->count
                           : h % (call->count + 1);
}

/** Elements of the block from a rank, to its target `index`, who is `to`. */
static size_t length_of(const nbr_call_t *call, int from, int index, int to)
{
    switch (call->kind) {
    case NBR_GATHERV:
        return some(call, (uint64_t)from, 0);
    case NBR_ALLTOALLV:
    case NBR_ALLTOALLW:
        return some(call, (uint64_t)from, (uint64_t)index);
    case NBR_REDUCEV:
        return some(call, (uint64_t)to, 1);
    default:
        return call->count;
    }
}

/** Which type it has. */
static unsigned type_of(const nbr_call_t *call, int from, int index)
{
    uint64_t h = rank_hash(call->shape + 1, (uint64_t)from, (uint64_t)index);
    return call->kind == NBR_ALLTOALLW && !call->alike
               ? (unsigned)(h % COLL_TYPES)
               : call->type;
}

/** Element `at` of that block, without gaps. */
static void element_of(const nbr_call_t *call, int from, int index, size_t at,
                       unsigned char *element)
{
    uint64_t of = to_all_alike(call) ? 0 : (uint64_t)index + 1;
    coll_element(type_of(call, from, index), call->op,
                 call->seed + of * UINT64_C(0x9e3779b97f4a7c15), (size_t)from,
                 at, element);
}

/* ---- sides ---- */

/** So many blocks, of elements as counts[] and type[] say, anywhere: with gaps,
 * in any order, before and behind the base. `placed`: one after the other. */
static void lay_out(rank_test_t *test, const nbr_call_t *call, nbr_side_t *side,
                    bool placed, uint64_t random)
{
    bool bytewise = call->kind == NBR_ALLTOALLW;
    size_t end = 0;
    for (size_t n = side->blocks; n-- > 0;) {
        size_t i = placed ? side->blocks - 1 - n : n;
        size_t unit = side->type[i]->extent;
        if (!placed && !bytewise) {
            end += rank_random(&random) % 3 * unit;
        } else if (!placed) {
            end += rank_random(&random) % 7;
        }
        side->at[i] = end;
        end += side->counts[i] * unit;
    }
    size_t unit = side->blocks == 0 || bytewise ? 1 : side->type[0]->extent;
    size_t origin = placed ? 0 : end / unit / 2 * unit;
    side->bytes = end + 2 * GUARD;
    side->block = rank_take(test, side->memory, side->bytes);
    side->image = malloc(side->bytes);
    side->base = side->block + GUARD + origin;
    for (size_t i = 0; i < side->blocks; i++) {
        side->displacements[i] =
            ((ptrdiff_t)side->at[i] - (ptrdiff_t)origin) / (ptrdiff_t)unit;
        side->at[i] += GUARD;
    }
}

static void take_arrays(nbr_side_t *side, size_t blocks)
{
    side->blocks = blocks;
    side->counts = calloc(blocks + 1, sizeof(*side->counts));
    side->displacements = calloc(blocks + 1, sizeof(*side->displacements));
    side->at = calloc(blocks + 1, sizeof(*side->at));
    side->type = calloc(blocks + 1, sizeof(*side->type));
    side->types = calloc(blocks + 1, sizeof(catena_datatype_t));
}

static void set_block(nbr_side_t *side, size_t i, size_t count,
                      const coll_type_t *type)
{
    side->counts[i] = count;
    side->type[i] = type;
    side->types[i] = type->type;
}

static bool placed_in_order(const nbr_call_t *call)
{
    return call->kind == NBR_GATHER || call->kind == NBR_ALLTOALL ||
           call->kind == NBR_REDUCE;
}

static void open_send(rank_test_t *test, nbr_call_t *call)
{
    const nbr_list_t *targets = targets_of(call);
    nbr_side_t *side = &call->send;
    bool one = to_all_alike(call);
    side->memory = call->send_memory;
    take_arrays(side, one ? 1 : (size_t)targets->count);
    for (size_t i = 0; i < side->blocks; i++) {
        int to = one ? call->rank : targets->rank[i];
        unsigned type = type_of(call, call->rank, (int)i);
        size_t wrong = (int)i == call->wrong_index ? call->wrong_by : 0;
        set_block(side, i, wrong + length_of(call, call->rank, (int)i, to),
                  &call->table->send[type]);
    }
    lay_out(test, call, side, one || placed_in_order(call), call->shape + 3);
}

static void open_receive(rank_test_t *test, nbr_call_t *call)
{
    const nbr_list_t *sources = sources_of(call);
    nbr_side_t *side = &call->receive;
    side->memory = call->receive_memory;
    take_arrays(side, reduces(call) ? 1 : (size_t)sources->count);
    for (size_t i = 0; i < side->blocks; i++) {
        int from = reduces(call) ? CATENA_PROC_NULL : sources->rank[i];
        int index = from == CATENA_PROC_NULL ? 0 : sources->mate[i];
        unsigned type = type_of(call, from, index);
        set_block(side, i, length_of(call, from, index, call->rank),
                  &call->table->receive[type]);
    }
    lay_out(test, call, side, reduces(call) || placed_in_order(call),
            call->shape + 4);
}

void nbr_call_open(rank_test_t *test, nbr_call_t *call)
{
    open_send(test, call);
    open_receive(test, call);
    call->request = NULL;
}

static void close_side(rank_test_t *test, nbr_side_t *side)
{
    rank_give(test, side->memory, side->block);
    free(side->image);
    free(side->counts);
    free(side->displacements);
    free(side->at);
    free(side->type);
    free(side->types);
}

void nbr_call_close(rank_test_t *test, nbr_call_t *call)
{
    close_side(test, &call->send);
    close_side(test, &call->receive);
}

/* ---- contents ---- */

/** Data of an element into memory of its type. */
static void scatter(const coll_type_t *type, const unsigned char *data,
                    unsigned char *memory)
{
    for (size_t i = 0; i < type->runs; i++) {
        memcpy(memory + type->run[i].at, data, type->run[i].bytes);
        data += type->run[i].bytes;
    }
}

/** Block i of `side` in `memory` becomes the one from a rank to its target
 * `index`. */
static void write_block(const nbr_call_t *call, const nbr_side_t *side,
                        unsigned char *memory, size_t i, int from, int index)
{
    unsigned char element[COLL_ELEMENT_BYTES];
    const coll_type_t *type = side->type[i];
    for (size_t at = 0; at < side->counts[i]; at++) {
        element_of(call, from, index, at, element);
        scatter(type, element, memory + side->at[i] + at * type->extent);
    }
}

/** Combine what all sources send, in their order. */
static void write_reduced(const nbr_call_t *call)
{
    const nbr_list_t *sources = sources_of(call);
    const nbr_side_t *side = &call->receive;
    size_t bytes = side->type[0]->bytes;
    unsigned char *image = side->image + side->at[0];
    unsigned char element[COLL_ELEMENT_BYTES];
    bool first = true;
    for (int i = 0; i < sources->count; i++) {
        int from = sources->rank[i];
        if (from == CATENA_PROC_NULL) {
            continue;
        }
        for (size_t at = 0; at < side->counts[0]; at++) {
            unsigned char *out = image + at * bytes;
            element_of(call, from, sources->mate[i], at, element);
            if (first) {
                memcpy(out, element, bytes);
            } else {
                coll_combine(call->type, call->op, out, element, out);
            }
        }
        first = false;
    }
}

/** What this rank sends, where it is received into. */
static void fill_in_place(nbr_call_t *call)
{
    const nbr_side_t *side = &call->receive;
    for (size_t i = 0; i < side->blocks; i++) {
        if (reduces(call) || targets_of(call)->rank[i] != CATENA_PROC_NULL) {
            write_block(call, side, side->block, i, call->rank, (int)i);
        }
    }
}

void nbr_call_fill(nbr_call_t *call, uint64_t seed)
{
    const nbr_list_t *sources = sources_of(call);
    nbr_side_t *send = &call->send;
    nbr_side_t *receive = &call->receive;
    call->seed = seed;
    memset(send->block, UNTOUCHED, send->bytes);
    memset(receive->block, UNTOUCHED, receive->bytes);
    for (size_t i = 0; i < send->blocks; i++) {
        write_block(call, send, send->block, i, call->rank, (int)i);
    }
    if (call->in_place) {
        fill_in_place(call);
    }
    memcpy(send->image, send->block, send->bytes);
    memcpy(receive->image, receive->block, receive->bytes);
    if (reduces(call)) {
        write_reduced(call);
        return;
    }
    for (int i = 0; i < sources->count; i++) {
        if (sources->rank[i] != CATENA_PROC_NULL) {
            write_block(call, receive, receive->image, (size_t)i,
                        sources->rank[i], sources->mate[i]);
        }
    }
}

/* ---- calls ---- */

/* One of the three forms: the arguments are the same but for the request. */
#define CALL(name, ...)                                                        \
    (call->form == NBR_BLOCKING ? catena_neighbor_##name(__VA_ARGS__)          \
     : call->form == NBR_NONBLOCKING                                           \
         ? catena_ineighbor_##name(__VA_ARGS__, &call->request)                \
         : catena_neighbor_##name##_init(__VA_ARGS__, &call->request))

catena_status_t nbr_call_run(nbr_call_t *call)
{
    nbr_side_t *s = &call->send;
    nbr_side_t *r = &call->receive;
    catena_neighborhood_t *n = call->neighborhood;
    catena_datatype_t sent = call->table->send[call->type].type;
    catena_datatype_t received = call->table->receive[call->type].type;
    catena_op_t op = call->table->op[call->op];
    const void *send = call->in_place ? CATENA_IN_PLACE : s->base;
    switch (call->kind) {
    case NBR_GATHER:
        return CALL(gather, send, call->count, sent, r->base, call->count,
                    received, n);
    case NBR_GATHERV:
        return CALL(gatherv, send, s->counts[0], sent, r->base, r->counts,
                    r->displacements, received, n);
    case NBR_ALLTOALL:
        return CALL(alltoall, send, call->count, sent, r->base, call->count,
                    received, n);
    case NBR_ALLTOALLV:
        return CALL(alltoallv, send, s->counts, s->displacements, sent, r->base,
                    r->counts, r->displacements, received, n);
    case NBR_ALLTOALLW:
        return CALL(alltoallw, send, s->counts, s->displacements, s->types,
                    r->base, r->counts, r->displacements, r->types, n);
    case NBR_REDUCE:
        return CALL(reduce, send, r->base, call->count, sent, op, n);
    default:
        return CALL(reducev, send, s->counts, s->displacements, r->base,
                    r->counts[0], sent, op, n);
    }
}

static void compare(rank_test_t *test, const nbr_call_t *call,
                    const nbr_side_t *side, const char *what, const char *name)
{
    for (size_t i = 0; i < side->bytes; i++) {
        if (side->block[i] != side->image[i]) {
            rank_fail(test,
                      "%s: neighbor_%s of %zu %s, %s, %s buffer, byte %td "
                      "of %zu: expected %02x, found %02x",
                      what, nbr_kind_name(call->kind), call->count,
                      coll_type_name(call->type), coll_op_name(call->op), name,
                      (ptrdiff_t)i - GUARD, side->bytes - 2 * GUARD,
                      side->image[i], side->block[i]);
            return;
        }
    }
}

void nbr_call_check(rank_test_t *test, const nbr_call_t *call, const char *what)
{
    if (reduces(call)) {
        const nbr_side_t *side = &call->receive;
        coll_normalize(call->type, side->block + side->at[0], side->counts[0]);
        coll_normalize(call->type, side->image + side->at[0], side->counts[0]);
    }
    compare(test, call, &call->send, what, "send");
    compare(test, call, &call->receive, what, "receive");
}

/** Start it, again with other contents, and check every time. */
static void restart(rank_test_t *test, nbr_call_t *call, uint64_t seed,
                    const char *what)
{
    for (uint64_t i = 0; i < 3; i++) {
        nbr_call_fill(call, seed + i);
        RANK_CHECK(test, catena_start(call->request) == CATENA_OK);
        RANK_CHECK(test, catena_wait(&call->request) == CATENA_OK);
        nbr_call_check(test, call, what);
    }
    RANK_CHECK(test, catena_request_free(&call->request) == CATENA_OK);
}

void nbr_call_all(rank_test_t *test, nbr_call_t *call, uint64_t seed,
                  const char *what)
{
    nbr_call_open(test, call);
    nbr_call_fill(call, seed);
    catena_status_t status = nbr_call_run(call);
    RANK_CHECK(test, status == CATENA_OK);
    if (status != CATENA_OK) {
        nbr_call_close(test, call);
        return;
    }
    if (call->form == NBR_PERSISTENT) {
        restart(test, call, seed, what);
    } else {
        rank_complete(test, &call->request, 1, (int)(seed % RANK_WAYS));
        nbr_call_check(test, call, what);
    }
    nbr_call_close(test, call);
}
