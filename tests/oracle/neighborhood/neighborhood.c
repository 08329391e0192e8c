/* Executes one call of a neighborhood collective; see neighborhood.h. */

#include "oracle/neighborhood/neighborhood.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"

enum { UNTOUCHED = 0xee, UINT64_TYPE = 8 };

static const ctn_description_t kinds[ORACLE_NBR_KINDS] = {
#define CTN_NEIGHBOR(NAME, name, PATTERN, ...)                                 \
    CTN_DESCRIPTION(NAME, name, __VA_ARGS__),
#include "core/calls.def"
};

const ctn_description_t *oracle_nbr_kind(unsigned kind)
{
    return &kinds[kind];
}

void oracle_nbr_describe(const oracle_nbr_call_t *call, char *text,
                         size_t bytes)
{
    static const char *const forms[] = {"", "i", "persistent "};
    snprintf(text, bytes, "%s%s%s of %zu %s%s, %s%s", forms[call->form],
             kinds[call->kind].name, call->in_place ? " in place" : "",
             call->count, oracle_type_name(call->type),
             oracle_element_name(call->element), oracle_op_name(call->op),
             call->uniform ? ", even" : "");
}

static bool reduces(const oracle_nbr_call_t *call)
{
    return ctn_has_trait(&kinds[call->kind], CTN_REDUCES);
}

/** Whether all targets get the same data. */
static bool to_all_alike(const oracle_nbr_call_t *call)
{
    return kinds[call->kind].send == CTN_SIDE_ONE;
}

/** Whether all blocks of both buffers have one length and are consecutive. */
static bool even(const oracle_nbr_call_t *call)
{
    return !ctn_has_lengths(&kinds[call->kind]);
}

static const oracle_list_t *sources_of(const oracle_nbr_call_t *call)
{
    return &call->graph->sources[call->rank];
}

static const oracle_list_t *targets_of(const oracle_nbr_call_t *call)
{
    return &call->graph->targets[call->rank];
}

/* ---- drawn values ---- */

void oracle_nbr_repair(oracle_nbr_call_t *call)
{
    call->rank =
        catena_group_rank(catena_neighborhood_group(call->neighborhood));
    if (reduces(call)) {
        call->type %= ORACLE_VECTOR;
        while (!oracle_op_takes(call->op, call->type)) {
            call->op = (call->op + 1) % ORACLE_OPS;
            call->type = (call->type + (call->op == 0)) % ORACLE_VECTOR;
        }
    } else {
        call->op = ORACLE_NO_OP;
        call->element = ORACLE_PLAIN;
    }
    bool may = call->kind == ORACLE_NEIGHBOR_REDUCE ||
               (call->kind >= ORACLE_NEIGHBOR_ALLTOALL &&
                call->kind <= ORACLE_NEIGHBOR_ALLTOALLW &&
                sources_of(call)->count == targets_of(call)->count &&
                (call->kind == ORACLE_NEIGHBOR_ALLTOALL || call->uniform));
    call->in_place = call->in_place && may;
    call->as_words = call->as_words && call->type == ORACLE_BYTE &&
                     even(call) && !reduces(call) && call->count % 8 == 0;
}

void oracle_nbr_draw(oracle_nbr_call_t *call, uint64_t *random, uint64_t *own,
                     size_t most)
{
    static const size_t counts[] = {0,  1,  1,   2,   3,    5,
                                    14, 37, 150, 700, 3000, 20000};
    enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };
    uint64_t mine = ctn_random(own);
    call->kind = (oracle_nbr_kind_t)ctn_random_below(random, ORACLE_NBR_KINDS);
    call->type = (unsigned)ctn_random_below(random, ORACLE_TYPES);
    call->op = 1 + (unsigned)ctn_random_below(random, ORACLE_OPS - 1);
    call->count = counts[ctn_random_below(random, COUNTS)];
    call->count = call->count > most ? most : call->count;
    call->element = (unsigned)ctn_random_below(
        random,
        most < counts[COUNTS - 1] ? ORACLE_LARGE : ORACLE_ELEMENT_VALUES);
    call->shape = ctn_random(random);
    call->uniform = ctn_random_below(random, 3) == 0;
    call->form = (oracle_form_t)ctn_random_below(random, ORACLE_FORMS);
    call->in_place = mine / 4 % 3 == 0;
    call->as_words = mine / 64 % 2 == 0;
    call->send_memory = (oracle_memory_t)(mine / 16 % 2);
    call->receive_memory = (oracle_memory_t)(mine / 32 % 2);
    oracle_nbr_repair(call);
}

static size_t some(const oracle_nbr_call_t *call, uint64_t a, uint64_t b)
{
    uint64_t h = oracle_hash(call->shape, a, b);
    return call->uniform   ? call->count
           : h >> 60 < 4   ? 0
           : h >> 60 == 15 ? call->count
                           : h % (call->count + 1);
}

/** Elements of the block from a rank to `to`, its target `index`. */
static size_t length_of(const oracle_nbr_call_t *call, int from, int index,
                        int to)
{
    switch (call->kind) {
    case ORACLE_NEIGHBOR_ALLGATHERV:
        return some(call, (uint64_t)from, 0);
    case ORACLE_NEIGHBOR_ALLTOALLV:
    case ORACLE_NEIGHBOR_ALLTOALLW:
        return some(call, (uint64_t)from, (uint64_t)index);
    case ORACLE_NEIGHBOR_REDUCEV:
        return some(call, (uint64_t)to, 1);
    default:
        return call->count;
    }
}

/** The same, in whole elements of a reduction. */
static size_t whole_length_of(const oracle_nbr_call_t *call, int from,
                              int index, int to)
{
    size_t length = length_of(call, from, index, to);
    return (length + call->units - 1) / call->units * call->units;
}

/** The type of that block. */
static unsigned type_of(const oracle_nbr_call_t *call, int from, int index)
{
    uint64_t h = oracle_hash(call->shape + 1, (uint64_t)from, (uint64_t)index);
    return call->kind == ORACLE_NEIGHBOR_ALLTOALLW && !call->uniform
               ? (unsigned)(h % ORACLE_DRAWN)
               : call->type;
}

/** The data of `count` elements of that block, without gaps. */
static void content_of(const oracle_nbr_call_t *call, int from, int index,
                       size_t count, unsigned char *data)
{
    size_t of = to_all_alike(call) ? 0 : (size_t)index + 1;
    size_t unit = oracle_unit_bytes(type_of(call, from, index));
    if (!reduces(call)) {
        oracle_stream(call->seed, (size_t)from, of, 0, count * unit, data);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        oracle_element(call->type, call->op, call->seed + of * CTN_RANDOM_STEP,
                       (size_t)from, i, data + i * unit);
    }
}

/* ---- sides ---- */

/** The type of a side; a drawn type is drawn at first use. */
static const oracle_type_t *type_at(const oracle_t *oracle,
                                    const oracle_nbr_call_t *call,
                                    oracle_side_t *side, unsigned type,
                                    size_t *count)
{
    const oracle_type_t *table =
        side == &call->send ? call->table->send : call->table->receive;
    if (side == &call->send && call->as_words) {
        *count /= sizeof(uint64_t);
        return &table[UINT64_TYPE];
    }
    if (call->element != ORACLE_PLAIN) {
        uint64_t shared = oracle_hash(call->shape, 6, 6);
        if (side->drawings == 0) {
            oracle_element_draw(oracle, &side->drawn[side->drawings++], &shared,
                                call->table, type, call->units, call->element);
        }
        *count /= call->units;
        return &side->drawn[0];
    }
    if (type != ORACLE_DRAWN) {
        return &table[type];
    }
    if (side->drawings == 0) {
        uint64_t random =
            oracle_hash(call->shape, (uint64_t)call->rank, side == &call->send);
        size_t bytes =
            oracle_type_bytes(&random, ORACLE_DERIVED, ORACLE_UNIT_BYTES);
        (void)oracle_side_draw(oracle, side, &random, ORACLE_DERIVED, bytes);
    }
    *count *= ORACLE_UNIT_BYTES / side->drawn[0].bytes;
    return &side->drawn[0];
}

static void open_side(const oracle_t *oracle, oracle_nbr_call_t *call,
                      oracle_side_t *side)
{
    bool sends = side == &call->send;
    const oracle_list_t *list = sends ? targets_of(call) : sources_of(call);
    bool one = sends ? to_all_alike(call) : reduces(call);
    side->memory = sends ? call->send_memory : call->receive_memory;
    side->blocks = one ? 1 : (size_t)list->count;
    oracle_side_open(side, side->blocks);
    for (size_t i = 0; i < side->blocks; i++) {
        int peer = one ? CATENA_PROC_NULL : list->rank[i];
        int from = sends ? call->rank : peer;
        int to = sends ? peer : call->rank;
        int index = sends                      ? (int)i
                    : peer == CATENA_PROC_NULL ? 0
                                               : list->mate[i];
        unsigned type = type_of(call, from, index);
        size_t count = whole_length_of(call, from, index, to);
        if (sends && (int)i == call->wrong_index) {
            count += (size_t)call->wrong_by * call->units;
        }
        side->type[i] = type_at(oracle, call, side, type, &count);
        side->types[i] = side->type[i]->type;
        side->counts[i] = count;
    }
    if (one || even(call) || side->blocks == 0) {
        oracle_side_place_in_order(side);
    } else {
        uint64_t random = call->shape + 3 + sends;
        bool bytewise = call->kind == ORACLE_NEIGHBOR_ALLTOALLW;
        oracle_side_place_anywhere(side, bytewise ? 1 : side->type[0]->extent,
                                   0, false, &random);
    }
    (void)oracle_side_take(oracle, side, 0);
}

void oracle_nbr_open(const oracle_t *oracle, oracle_nbr_call_t *call)
{
    call->units = oracle_element_units(oracle_hash(call->shape, 5, 5),
                                       call->element, call->type);
    open_side(oracle, call, &call->send);
    open_side(oracle, call, &call->receive);
    call->request = NULL;
    call->own_op = NULL;
    if (call->element != ORACLE_PLAIN && call->op >= ORACLE_COMMUTING) {
        call->function =
            (oracle_function_t){call->op, call->type, &call->receive.drawn[0]};
        call->own_op = oracle_function_create(oracle, &call->function);
    }
}

void oracle_nbr_release(const oracle_t *oracle, oracle_nbr_call_t *call)
{
    oracle_side_release(oracle, &call->send);
    oracle_side_release(oracle, &call->receive);
    ORACLE_CHECK(oracle, call->own_op == NULL ||
                             catena_op_free(&call->own_op) == CATENA_OK);
}

void oracle_nbr_close(const oracle_t *oracle, oracle_nbr_call_t *call)
{
    oracle_nbr_release(oracle, call);
    oracle_side_close(oracle, &call->send);
    oracle_side_close(oracle, &call->receive);
}

/* ---- contents ---- */

/** Write the data that rank `from` sends to its target `index` to block i of
 * the side's image. */
static void write_block(const oracle_nbr_call_t *call, oracle_side_t *side,
                        size_t i, int from, int index)
{
    size_t bytes = side->counts[i] * side->type[i]->bytes;
    size_t count = bytes / oracle_unit_bytes(type_of(call, from, index));
    unsigned char *data = oracle_zeros(bytes, 1);
    content_of(call, from, index, count, data);
    oracle_side_put(side, i, bytes, data);
    free(data);
}

/** Combine the data of all sources, in their order. */
static void write_reduced(oracle_nbr_call_t *call)
{
    const oracle_list_t *sources = sources_of(call);
    oracle_side_t *side = &call->receive;
    size_t unit = oracle_unit_bytes(call->type);
    size_t count = side->counts[0] * call->units;
    unsigned char *out = oracle_zeros(count, unit);
    unsigned char *data = oracle_zeros(count, unit);
    bool first = true;
    for (int i = 0; i < sources->count; i++) {
        if (sources->rank[i] == CATENA_PROC_NULL) {
            continue;
        }
        content_of(call, sources->rank[i], sources->mate[i], count, data);
        for (size_t at = 0; at < count * unit; at += unit) {
            if (first) {
                memcpy(out + at, data + at, unit);
            } else {
                oracle_combine(call->type, call->op, out + at, data + at,
                               out + at);
            }
        }
        first = false;
    }
    oracle_side_put(side, 0, first ? 0 : count * unit, out);
    free(out);
    free(data);
}

void oracle_nbr_fill(oracle_nbr_call_t *call, uint64_t seed)
{
    const oracle_list_t *sources = sources_of(call);
    oracle_side_t *send = &call->send;
    oracle_side_t *receive = &call->receive;
    call->seed = seed;
    memset(send->image, UNTOUCHED, send->bytes);
    memset(receive->image, UNTOUCHED, receive->bytes);
    for (size_t i = 0; i < send->blocks; i++) {
        write_block(call, send, i, call->rank, (int)i);
    }
    for (size_t i = 0; call->in_place && i < receive->blocks; i++) {
        if (reduces(call) || targets_of(call)->rank[i] != CATENA_PROC_NULL) {
            write_block(call, receive, i, call->rank, (int)i);
        }
    }
    memcpy(send->block, send->image, send->bytes);
    memcpy(receive->block, receive->image, receive->bytes);
    if (reduces(call)) {
        write_reduced(call);
        return;
    }
    for (int i = 0; i < sources->count; i++) {
        if (sources->rank[i] != CATENA_PROC_NULL) {
            write_block(call, receive, (size_t)i, sources->rank[i],
                        sources->mate[i]);
        }
    }
}

static void compare(const oracle_t *oracle, const oracle_nbr_call_t *call,
                    const char *what)
{
    char text[160], all[300];
    oracle_nbr_describe(call, text, sizeof(text));
    snprintf(all, sizeof(all), "%s: %s", what, text);
    oracle_side_compare(oracle, &call->send, "send", all);
    oracle_side_compare(oracle, &call->receive, "receive", all);
}

void oracle_nbr_check(const oracle_t *oracle, const oracle_nbr_call_t *call,
                      const char *what)
{
    if (reduces(call)) {
        oracle_side_normalize(&call->receive, call->type,
                              call->receive.counts[0] * call->units);
    }
    compare(oracle, call, what);
}

void oracle_nbr_check_around(const oracle_t *oracle, oracle_nbr_call_t *call,
                             const char *what)
{
    oracle_side_accept_blocks(&call->receive);
    compare(oracle, call, what);
}

/* ---- calls ---- */

/* One of the three forms: the arguments differ only in the request. */
#define CALL(name, ...)                                                        \
    (call->form == ORACLE_FORM_BLOCKING ? catena_neighbor_##name(__VA_ARGS__)  \
     : call->form == ORACLE_FORM_NONBLOCKING                                   \
         ? catena_ineighbor_##name(__VA_ARGS__, &call->request)                \
         : catena_neighbor_##name##_init(__VA_ARGS__, &call->request))

catena_status_t oracle_nbr_run(oracle_nbr_call_t *call)
{
    oracle_side_t *s = &call->send;
    oracle_side_t *r = &call->receive;
    catena_neighborhood_t *n = call->neighborhood;
    catena_type_t byte = CATENA_BYTE;
    catena_type_t sent = s->blocks > 0 ? s->types[0] : byte;
    catena_type_t received = r->blocks > 0 ? r->types[0] : byte;
    size_t count = s->blocks > 0 ? s->counts[0] : 0;
    size_t expected = r->blocks > 0 ? r->counts[0] : 0;
    catena_op_t op =
        call->own_op != NULL ? call->own_op : call->table->op[call->op];
    const void *send = call->in_place ? CATENA_IN_PLACE : s->base;
    switch (call->kind) {
    case ORACLE_NEIGHBOR_ALLGATHER:
        return CALL(allgather, send, count, sent, r->base, expected, received,
                    n);
    case ORACLE_NEIGHBOR_ALLGATHERV:
        return CALL(allgatherv, send, count, sent, r->base, r->counts,
                    r->displacements, received, n);
    case ORACLE_NEIGHBOR_ALLTOALL:
        return CALL(alltoall, send, count, sent, r->base, expected, received,
                    n);
    case ORACLE_NEIGHBOR_ALLTOALLV:
        return CALL(alltoallv, send, s->counts, s->displacements, sent, r->base,
                    r->counts, r->displacements, received, n);
    case ORACLE_NEIGHBOR_ALLTOALLW:
        return CALL(alltoallw, send, s->counts, s->displacements, s->types,
                    r->base, r->counts, r->displacements, r->types, n);
    case ORACLE_NEIGHBOR_REDUCE:
        return CALL(reduce, send, r->base, count, sent, op, n);
    case ORACLE_NEIGHBOR_REDUCEV:
        return CALL(reducev, send, s->counts, s->displacements, r->base,
                    expected, received, op, n);
    case ORACLE_NBR_KINDS:
        break;
    }
    return CATENA_ERR_ARG;
}

catena_status_t oracle_nbr_run_to_end(oracle_nbr_call_t *call)
{
    catena_status_t status = oracle_nbr_run(call);
    if (status == CATENA_OK && call->form == ORACLE_FORM_PERSISTENT) {
        status = catena_request_start(call->request);
    }
    if (status != CATENA_OK || call->form == ORACLE_FORM_BLOCKING) {
        return status;
    }
    status = catena_request_wait(&call->request);
    catena_status_t freed =
        call->request != NULL ? catena_request_free(&call->request) : CATENA_OK;
    return status != CATENA_OK ? status : freed;
}

void oracle_nbr_all(const oracle_t *oracle, oracle_nbr_call_t *call,
                    uint64_t seed, const char *what)
{
    bool persistent = call->form == ORACLE_FORM_PERSISTENT;
    catena_status_t status = CATENA_OK;
    oracle_nbr_open(oracle, call);
    for (uint64_t i = 0; i < 3 && status == CATENA_OK; i++) {
        oracle_nbr_fill(call, seed + i);
        if (i == 0 || !persistent) {
            status = oracle_nbr_run(call);
        }
        if (status == CATENA_OK && persistent) {
            status = catena_request_start(call->request);
        }
        if (status == CATENA_OK && call->form != ORACLE_FORM_BLOCKING) {
            int done = 0;
            while (seed % 2 == 0 && status == CATENA_OK && !done) {
                status = catena_request_test(&call->request, &done);
            }
            status = done ? status : catena_request_wait(&call->request);
        }
        if (status == CATENA_OK) {
            oracle_nbr_check(oracle, call, what);
        }
    }
    if (persistent && call->request != NULL) {
        ORACLE_CHECK(oracle, catena_request_free(&call->request) == CATENA_OK);
    }
    if (status != CATENA_OK) {
        oracle_fail(oracle, "%s: %s", what, catena_status_string(status));
    }
    oracle_nbr_close(oracle, call);
}
