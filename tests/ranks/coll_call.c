/* One call: its buffers, what is to be in them afterwards, and the comparison.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_case.h"

enum { GUARD = 64 };

static unsigned kind_of(const coll_call_t *call)
{
    return call->c.value[COLL_KIND];
}

static bool is_root(const coll_call_t *call)
{
    return call->rank == call->root;
}

/** Whether this rank's data are in the receive buffer at first (of a scatter:
 * stay in the send buffer). */
static bool in_place(const coll_call_t *call)
{
    unsigned kind = kind_of(call);
    return call->c.value[COLL_PLACE] == COLL_IN_PLACE &&
           (!coll_rooted(kind) || is_root(call));
}

static size_t before(const coll_call_t *call, size_t rank)
{
    size_t sum = 0;
    for (size_t r = 0; r < rank; r++) {
        sum += call->share[r];
    }
    return sum;
}

/* ---- settings ---- */

static void choose(rank_test_t *test, const coll_case_t *c,
                   catena_group_t *group, const char *what, const char *value)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_%s",
             coll_setting_name(c->value[COLL_KIND]), what);
    RANK_CHECK(test, catena_group_set(group, name, value) == CATENA_OK);
}

void coll_choose_hierarchy(rank_test_t *test, const coll_case_t *c,
                           catena_group_t *group)
{
    choose(test, c, group, "hierarchy",
           coll_hierarchy_name(c->value[COLL_HIERARCHY]));
}

void coll_choose_algorithm(rank_test_t *test, const coll_case_t *c,
                           catena_group_t *group)
{
    choose(test, c, group, "algorithm",
           coll_algorithm_name(c->value[COLL_KIND], c->value[COLL_ALGORITHM]));
}

/* ---- what goes where ---- */

/** Whether a side is cut into blocks, one for each rank. */
static bool in_blocks(const coll_call_t *call, bool receiving)
{
    switch (kind_of(call)) {
    case COLL_GATHER:
    case COLL_GATHERV:
        return receiving && is_root(call);
    case COLL_ALLGATHER:
    case COLL_ALLGATHERV:
        return receiving;
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return !receiving && is_root(call);
    default:
        return false;
    }
}

/** Elements that are not in blocks. */
static size_t plain_elements(const coll_call_t *call, bool receiving)
{
    bool place = in_place(call);
    switch (kind_of(call)) {
    case COLL_BARRIER:
        return 0;
    case COLL_BCAST:
        return receiving ? call->count : 0;
    case COLL_REDUCE:
        return receiving ? (is_root(call) ? call->count : 0)
                         : (place ? 0 : call->count);
    case COLL_ALLREDUCE:
    case COLL_SCAN:
    case COLL_EXSCAN:
        return receiving || !place ? call->count : 0;
    case COLL_REDUCE_SCATTER:
    case COLL_REDUCE_SCATTER_BLOCK:
        return receiving && !place   ? call->share[call->rank]
               : receiving || !place ? before(call, call->size)
                                     : 0;
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return receiving && !place ? call->share[call->rank] : 0;
    default: /* gather, allgather */
        return receiving || place ? 0 : call->share[call->rank];
    }
}

/** Where element i of a block is, in elements from the base. */
static size_t place_of(const coll_call_t *call, const coll_side_t *side,
                       size_t block, size_t i)
{
    return side->displacements != NULL ? (size_t)side->displacements[block] + i
                                       : block * call->count + i;
}

/** Blocks with lengths of their own lie backwards, with gaps. */
static size_t lay_out(const coll_call_t *call, coll_side_t *side)
{
    size_t at = 0;
    if (!coll_vector_counts(kind_of(call))) {
        return call->size * call->count;
    }
    side->counts = malloc(call->size * sizeof(*side->counts));
    side->displacements = malloc(call->size * sizeof(*side->displacements));
    for (size_t r = call->size; r-- > 0;) {
        side->counts[r] = call->share[r];
        side->displacements[r] = (ptrdiff_t)at;
        at += call->share[r] + 1;
    }
    return at;
}

static void open_side(rank_test_t *test, coll_call_t *call, coll_side_t *side,
                      const coll_type_t *type, bool receiving)
{
    size_t elements = in_blocks(call, receiving)
                          ? lay_out(call, side)
                          : plain_elements(call, receiving);
    /* Guards begin and end at odd addresses where the buffer does. */
    size_t odd = call->c.value[COLL_MEMORY] >= COLL_ODD;
    side->bytes = elements * type->extent + 2 * (size_t)GUARD + odd;
    side->block = rank_take(test, side->memory, side->bytes);
    side->image = malloc(side->bytes);
    side->base = side->block + GUARD + odd;
}

/** Every size class is met from below and above. */
static size_t elements_of(unsigned size, size_t bytes)
{
    static const size_t limits[COLL_SIZES] = {
        0,     0,     0,     56,    57,     2048,   2049,  32768,
        32769, 65536, 65537, 70000, 100000, 131072, 163841};
    return size == 0   ? 0
           : size == 1 ? 1
           : size == 2 ? 7
                       : (limits[size] + bytes - 1) / bytes;
}

static void share_out(coll_call_t *call)
{
    uint64_t state = call->seed + 99;
    call->share = malloc(call->size * sizeof(*call->share));
    for (size_t r = 0; r < call->size; r++) {
        uint64_t h = rank_random(&state);
        bool own = coll_vector_counts(kind_of(call));
        call->share[r] = !own         ? call->count
                         : h % 4 == 0 ? 0
                                      : (h >> 4) % (2 * call->count + 1);
    }
}

void coll_open(rank_test_t *test, coll_call_t *call)
{
    const uint8_t *value = call->c.value;
    const coll_type_t *type = &call->table->send[value[COLL_TYPE]];
    call->size = (size_t)catena_group_size(call->group);
    call->rank = (size_t)catena_group_rank(call->group);
    call->root = value[COLL_ROOT] == COLL_FIRST  ? 0
                 : value[COLL_ROOT] == COLL_LAST ? call->size - 1
                                                 : call->size / 2;
    call->count = call->exactly > 0
                      ? call->exactly
                      : elements_of(value[COLL_SIZE], type->bytes);
    share_out(call);
    bool odd = call->rank % 2 == 1;
    unsigned memory = value[COLL_MEMORY];
    bool heap = memory == 0 || memory == COLL_ODD || (memory == 4 && odd);
    call->send.memory = heap || memory == 2 ? RANK_HEAP : RANK_MALLOC;
    call->receive.memory = heap || memory == 3 ? RANK_HEAP : RANK_MALLOC;
    open_side(test, call, &call->send, type, false);
    open_side(test, call, &call->receive,
              &call->table->receive[value[COLL_TYPE]], true);
}

static void close_side(rank_test_t *test, coll_side_t *side)
{
    rank_give(test, side->memory, side->block);
    free(side->image);
    free(side->counts);
    free(side->displacements);
}

void coll_close(rank_test_t *test, coll_call_t *call)
{
    close_side(test, &call->send);
    close_side(test, &call->receive);
    free(call->share);
}

/* ---- contents ---- */

/** Write an element's data to its place. */
static void put(unsigned char *base, const coll_type_t *type, size_t place,
                const unsigned char *data)
{
    unsigned char *at = base + place * type->extent;
    for (size_t i = 0; i < type->runs; i++) {
        memcpy(at + type->run[i].at, data, type->run[i].bytes);
        data += type->run[i].bytes;
    }
}

static void element(const coll_call_t *call, size_t rank, size_t index,
                    unsigned char *data)
{
    coll_element(call->c.value[COLL_TYPE], call->c.value[COLL_OP], call->seed,
                 rank, index, data);
}

/** What ranks `first` to `last` give, reduced. */
static void reduced(const coll_call_t *call, size_t first, size_t last,
                    size_t index, unsigned char *data)
{
    unsigned char next[COLL_ELEMENT_BYTES];
    element(call, first, index, data);
    for (size_t r = first + 1; r <= last; r++) {
        element(call, r, index, next);
        coll_combine(call->c.value[COLL_TYPE], call->c.value[COLL_OP], data,
                     next, data);
    }
}

/** Write what this rank gives, from `index` on, as one block. */
static void give(const coll_call_t *call, coll_side_t *side,
                 const coll_type_t *type, size_t block, size_t index,
                 size_t count)
{
    unsigned char data[COLL_ELEMENT_BYTES];
    for (size_t i = 0; i < count; i++) {
        element(call, call->rank, index + i, data);
        put(side->base, type, place_of(call, side, block, i), data);
    }
}

static void fill_send(coll_call_t *call, const coll_type_t *type)
{
    coll_side_t *side = &call->send;
    if (in_blocks(call, false)) {
        for (size_t r = 0; r < call->size; r++) {
            give(call, side, type, r, before(call, r), call->share[r]);
        }
    } else {
        give(call, side, type, 0, 0, plain_elements(call, false));
    }
}

static void fill_receive(coll_call_t *call, const coll_type_t *type)
{
    coll_side_t *side = &call->receive;
    unsigned kind = kind_of(call);
    if (kind == COLL_BCAST) {
        if (is_root(call)) {
            give(call, side, type, 0, 0, call->count);
        }
    } else if (!in_place(call)) {
        return;
    } else if (in_blocks(call, true)) {
        give(call, side, type, call->rank, 0, call->share[call->rank]);
    } else if (coll_reduces(kind)) {
        give(call, side, type, 0, 0, plain_elements(call, true));
    }
}

void coll_fill(coll_call_t *call, uint64_t seed)
{
    call->seed = seed;
    memset(call->send.block, 0x5a, call->send.bytes);
    memset(call->receive.block, 0xa5, call->receive.bytes);
    fill_send(call, &call->table->send[call->c.value[COLL_TYPE]]);
    fill_receive(call, &call->table->receive[call->c.value[COLL_TYPE]]);
    memcpy(call->send.image, call->send.block, call->send.bytes);
    memcpy(call->receive.image, call->receive.block, call->receive.bytes);
}

/* ---- expectations ---- */

/** Element i of output block `block`. False: nothing is to be written. */
static bool expected(const coll_call_t *call, size_t block, size_t i,
                     unsigned char *data)
{
    size_t me = call->rank;
    switch (kind_of(call)) {
    case COLL_BCAST:
        element(call, call->root, i, data);
        return true;
    case COLL_SCATTER:
    case COLL_SCATTERV:
        element(call, call->root, before(call, me) + i, data);
        return true;
    case COLL_REDUCE:
    case COLL_ALLREDUCE:
        reduced(call, 0, call->size - 1, i, data);
        return true;
    case COLL_REDUCE_SCATTER:
    case COLL_REDUCE_SCATTER_BLOCK:
        reduced(call, 0, call->size - 1, before(call, me) + i, data);
        return true;
    case COLL_SCAN:
        reduced(call, 0, me, i, data);
        return true;
    case COLL_EXSCAN:
        if (me > 0) {
            reduced(call, 0, me - 1, i, data);
        }
        return me > 0;
    default:
        element(call, block, i, data);
        return true;
    }
}

static size_t output_elements(const coll_call_t *call)
{
    bool scatters = kind_of(call) == COLL_REDUCE_SCATTER ||
                    kind_of(call) == COLL_REDUCE_SCATTER_BLOCK;
    return scatters ? call->share[call->rank] : plain_elements(call, true);
}

/** Where the image has what is to be in the buffer. */
static unsigned char *image_of(const coll_side_t *side)
{
    return side->image + (side->base - side->block);
}

static void expect_block(coll_call_t *call, const coll_type_t *type,
                         size_t block, size_t count)
{
    coll_side_t *side = &call->receive;
    unsigned char data[COLL_ELEMENT_BYTES];
    for (size_t i = 0; i < count && expected(call, block, i, data); i++) {
        put(image_of(side), type, place_of(call, side, block, i), data);
    }
}

static void expect(coll_call_t *call, const coll_type_t *type)
{
    if (in_blocks(call, true)) {
        for (size_t r = 0; r < call->size; r++) {
            expect_block(call, type, r, call->share[r]);
        }
        return;
    }
    size_t count = output_elements(call);
    size_t all = plain_elements(call, true);
    expect_block(call, type, 0, count);
    /* In place a reduce_scatter may leave anything behind its result. */
    memcpy(image_of(&call->receive) + count * type->extent,
           call->receive.base + count * type->extent,
           (all - count) * type->extent);
    if (coll_reduces(kind_of(call))) {
        coll_normalize(call->c.value[COLL_TYPE], image_of(&call->receive),
                       count);
        coll_normalize(call->c.value[COLL_TYPE], call->receive.base, count);
    }
}

static void compare(rank_test_t *test, const coll_call_t *call,
                    const coll_side_t *side, const char *name, const char *what)
{
    if (memcmp(side->block, side->image, side->bytes) == 0) {
        return;
    }
    size_t i = 0;
    while (side->block[i] == side->image[i]) {
        i++;
    }
    char text[256];
    coll_describe(&call->c, text, sizeof(text));
    rank_fail(test,
              "%s%s: %s buffer of member %zu of %zu, byte %td: expected %02x, "
              "found %02x",
              what, text, name, call->rank, call->size,
              side->block + i - side->base, side->image[i], side->block[i]);
}

void coll_check(rank_test_t *test, coll_call_t *call, const char *what)
{
    expect(call, &call->table->receive[call->c.value[COLL_TYPE]]);
    compare(test, call, &call->send, "send", what);
    compare(test, call, &call->receive, "receive", what);
}

/* ---- the call ---- */

/* Blocking, nonblocking or prepared, with the same arguments. */
#define RUN(name, ...)                                                         \
    (mode == COLL_BLOCKING ? catena_##name(__VA_ARGS__)                        \
     : mode == COLL_NONBLOCKING                                                \
         ? catena_i##name(__VA_ARGS__, &call->request)                         \
         : catena_##name##_init(__VA_ARGS__, &call->request))

static catena_status_t run_reduction(coll_call_t *call, const void *send,
                                     void *recv)
{
    unsigned mode = call->c.value[COLL_MODE];
    catena_datatype_t type = call->table->send[call->c.value[COLL_TYPE]].type;
    catena_op_t op = call->table->op[call->c.value[COLL_OP]];
    catena_group_t *group = call->group;
    size_t n = call->count;
    switch (kind_of(call)) {
    case COLL_REDUCE:
        return RUN(reduce, send, recv, n, type, op, (int)call->root, group);
    case COLL_ALLREDUCE:
        return RUN(allreduce, send, recv, n, type, op, group);
    case COLL_REDUCE_SCATTER:
        return RUN(reduce_scatter, send, recv, call->share, type, op, group);
    case COLL_REDUCE_SCATTER_BLOCK:
        return RUN(reduce_scatter_block, send, recv, n, type, op, group);
    case COLL_SCAN:
        return RUN(scan, send, recv, n, type, op, group);
    default:
        return RUN(exscan, send, recv, n, type, op, group);
    }
}

static catena_status_t run_movement(coll_call_t *call, const void *send,
                                    void *recv)
{
    unsigned mode = call->c.value[COLL_MODE];
    catena_datatype_t from = call->table->send[call->c.value[COLL_TYPE]].type;
    catena_datatype_t to = call->table->receive[call->c.value[COLL_TYPE]].type;
    const coll_side_t *in = &call->send;
    const coll_side_t *out = &call->receive;
    catena_group_t *group = call->group;
    int root = (int)call->root;
    size_t n = call->share[call->rank];
    switch (kind_of(call)) {
    case COLL_BARRIER:
        return RUN(barrier, group);
    case COLL_BCAST:
        return RUN(bcast, recv, n, to, root, group);
    case COLL_GATHER:
        return RUN(gather, send, n, from, recv, n, to, root, group);
    case COLL_GATHERV:
        return RUN(gatherv, send, n, from, recv, out->counts,
                   out->displacements, to, root, group);
    case COLL_SCATTER:
        return RUN(scatter, send, n, from, recv, n, to, root, group);
    case COLL_SCATTERV:
        return RUN(scatterv, send, in->counts, in->displacements, from, recv, n,
                   to, root, group);
    case COLL_ALLGATHER:
        return RUN(allgather, send, n, from, recv, n, to, group);
    default:
        return RUN(allgatherv, send, n, from, recv, out->counts,
                   out->displacements, to, group);
    }
}

catena_status_t coll_run(coll_call_t *call)
{
    unsigned kind = kind_of(call);
    bool scatters = kind == COLL_SCATTER || kind == COLL_SCATTERV;
    void *send = call->send.base;
    void *recv = call->receive.base;
    if (in_place(call)) {
        *(scatters ? &recv : &send) = CATENA_IN_PLACE;
    }
    if (coll_rooted(kind) && !is_root(call) && kind != COLL_BCAST) {
        *(scatters ? &send : &recv) = NULL; /* does not matter there */
    }
    return coll_reduces(kind) ? run_reduction(call, send, recv)
                              : run_movement(call, send, recv);
}
