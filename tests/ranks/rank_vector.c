#include "rank_vector.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 64 };

uint64_t rank_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t state = a * UINT64_C(0xff51afd7ed558ccd) +
                     b * UINT64_C(0xc4ceb9fe1a85ec53) +
                     c * UINT64_C(0x2545f4914f6cdd1d);
    return rank_random(&state);
}

/* ---- amounts ---- */

size_t rank_vector_bytes(const rank_vector_t *x, size_t from, size_t to)
{
    size_t unit = x->unit > 0 ? x->unit : 1;
    if (x->call == RANK_ALLTOALL) {
        return unit * x->amount(x, 0, 0);
    }
    return unit * (x->in_place && from > to ? x->amount(x, to, from)
                                            : x->amount(x, from, to));
}

size_t rank_amount_random(const rank_vector_t *x, size_t from, size_t to)
{
    uint64_t random = rank_hash(x->shape, from, to);
    if (rank_below(&random, 4) == 0 || x->limit == 0) {
        return 0;
    }
    return rank_below(&random, (x->limit >> rank_below(&random, 10)) + 1);
}

/* ---- layout of a side ---- */

typedef struct layout {
    const rank_vector_t *x;
    rank_side_t *side;
    uint64_t random;
    size_t rank;
    size_t size;
    bool sends;
} layout_t;

static size_t pair_bytes(const layout_t *l, size_t peer)
{
    return l->sends ? rank_vector_bytes(l->x, l->rank, peer)
                    : rank_vector_bytes(l->x, peer, l->rank);
}

/** Types that serve many peers; in alltoallw there are several, one without
 * data among them. */
static void common_types(rank_test_t *test, layout_t *l)
{
    rank_side_t *side = l->side;
    size_t unit = l->x->unit > 0 ? l->x->unit : 1;
    int types = l->x->call == RANK_ALLTOALLW ? 4 : 1;
    /* In an alltoall the count is the same on all ranks. */
    uint64_t shared = rank_hash(l->x->shape, 71, 1);
    uint64_t *sizes = l->x->call == RANK_ALLTOALL ? &shared : &l->random;
    for (; side->types < types; side->types++) {
        size_t bytes = rank_type_bytes(sizes, side->elements, unit);
        rank_type_make(test, &side->type[side->types], &l->random,
                       side->elements,
                       types > 1 && side->types == 0 ? 0 : bytes);
    }
}

/** The type of one block, and how many elements it is. */
static void choose_type(rank_test_t *test, layout_t *l, size_t peer)
{
    rank_side_t *side = l->side;
    size_t bytes = pair_bytes(l, peer);
    size_t used = 0;
    if (l->x->call == RANK_ALLTOALLW) {
        used = 1 + rank_below(&l->random, (size_t)side->types - 1);
        if (bytes == 0 && rank_below(&l->random, 2) == 0) {
            used = 0;
            side->counts[peer] = rank_below(&l->random, 3);
        }
        bool once = side->elements == RANK_DERIVED && bytes > 0 &&
                    side->types < RANK_TYPES && rank_below(&l->random, 3) == 0;
        if (once) {
            used = (size_t)side->types++;
            rank_type_make(test, &side->type[used], &l->random, side->elements,
                           bytes);
        } else if (bytes > 0 && side->type[used].bytes > 0 &&
                   bytes % side->type[used].bytes != 0) {
            used = 1; /* a peer's type made for it alone does not fit */
        }
    }
    side->used[peer] = (unsigned char)used;
    if (side->type[used].bytes > 0) {
        side->counts[peer] = bytes / side->type[used].bytes;
    }
    side->catena_types[peer] = side->type[used].type;
}

/** Memory of `count` elements, from the base of the first. */
static void span_of(const rank_type_t *t, size_t count, ptrdiff_t *low,
                    ptrdiff_t *high)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * t->extent;
    *low = PTRDIFF_MAX;
    *high = PTRDIFF_MIN;
    for (size_t i = 0; i < t->runs; i++) {
        ptrdiff_t at = t->run[i].at;
        ptrdiff_t end = at + (ptrdiff_t)t->run[i].bytes;
        *low = at < *low ? at : *low;
        *high = end > *high ? end : *high;
    }
    *low += last < 0 ? last : 0;
    *high += last > 0 ? last : 0;
}

/** Bytes from the base to the block of a peer. */
static ptrdiff_t place_of(const rank_vector_t *x, const rank_side_t *side,
                          size_t peer)
{
    ptrdiff_t step =
        x->call == RANK_ALLTOALLW ? 1 : side->type[side->used[peer]].extent;
    return side->displacements[peer] * step;
}

/** Put the block of a peer behind `cursor`. @return where it ends */
static ptrdiff_t place_block(layout_t *l, size_t peer, ptrdiff_t cursor)
{
    rank_side_t *side = l->side;
    const rank_type_t *t = &side->type[side->used[peer]];
    ptrdiff_t low;
    ptrdiff_t high;
    span_of(t, side->counts[peer], &low, &high);
    ptrdiff_t step = l->x->call == RANK_ALLTOALLW ? 1 : t->extent;
    ptrdiff_t unit = step < 0 ? -step : step;
    ptrdiff_t bytes = cursor - low;
    ptrdiff_t steps = bytes > 0 ? (bytes + unit - 1) / unit : -(-bytes / unit);
    side->displacements[peer] = step < 0 ? -steps : steps;
    return place_of(l->x, side, peer) + high;
}

/** Blocks in any order with gaps between them, and the base anywhere.
 * @param[out] end of all, from the first byte of data at 0 on */
static ptrdiff_t place_blocks(rank_test_t *test, layout_t *l)
{
    size_t *order = rank_array(test, l->size, sizeof(*order));
    ptrdiff_t cursor = 0;
    for (size_t i = 0; i < l->size; i++) {
        size_t j = l->x->ordered ? i : rank_below(&l->random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < l->size; i++) {
        size_t peer = order[i];
        l->side->displacements[peer] = 1000 - (ptrdiff_t)(peer * 977 % 2000);
        if (pair_bytes(l, peer) > 0) {
            bool gap = !l->x->ordered && rank_below(&l->random, 3) == 0;
            cursor += gap ? (ptrdiff_t)rank_below(&l->random, 50) : 0;
            cursor = place_block(l, peer, cursor);
        }
    }
    free(order);
    return cursor;
}

/** The base away from the data: displacements say the rest. */
static void move_base(layout_t *l)
{
    static const ptrdiff_t moves[] = {0, 0, 1, -3, 100, 20000, -20000};
    rank_side_t *side = l->side;
    ptrdiff_t move =
        l->x->ordered
            ? 0
            : moves[rank_below(&l->random, sizeof(moves) / sizeof(*moves))];
    ptrdiff_t step = l->x->call == RANK_ALLTOALLW ? 1 : side->type[0].extent;
    for (size_t i = 0; i < l->size; i++) {
        side->displacements[i] += move;
    }
    side->origin -= move * step;
}

/** In an alltoall block i is at i * count extents. @return the end */
static ptrdiff_t place_evenly(layout_t *l)
{
    rank_side_t *side = l->side;
    ptrdiff_t low;
    ptrdiff_t high;
    if (side->counts[0] == 0) {
        return 0;
    }
    for (size_t i = 0; i < l->size; i++) {
        side->displacements[i] = (ptrdiff_t)(i * side->counts[0]);
    }
    span_of(&side->type[0], side->counts[0] * l->size, &low, &high);
    side->origin -= low;
    return high - low;
}

static void lay_out(rank_test_t *test, layout_t *l)
{
    rank_side_t *side = l->side;
    side->counts = rank_array(test, l->size, sizeof(*side->counts));
    side->displacements =
        rank_array(test, l->size, sizeof(*side->displacements));
    side->catena_types = rank_array(test, l->size, sizeof(catena_datatype_t));
    side->used = rank_array(test, l->size, 1);
    side->types = 0;
    side->origin = GUARD_BYTES;
    common_types(test, l);
    for (size_t i = 0; i < l->size; i++) {
        choose_type(test, l, i);
    }
    ptrdiff_t end;
    if (l->x->call == RANK_ALLTOALL) {
        end = place_evenly(l);
    } else {
        end = place_blocks(test, l);
        move_base(l);
    }
    side->bytes = (size_t)end + 2 * GUARD_BYTES;
    side->image = rank_array(test, side->bytes, 1);
    side->block =
        rank_need(test, side->memory == RANK_HEAP
                            ? catena_malloc(test->context, side->bytes)
                            : malloc(side->bytes));
    /* Buffers without data may be anything; some are NULL. */
    side->base = end == 0 && l->rank % 2 == 0
                     ? NULL
                     : (unsigned char *)((uintptr_t)side->block +
                                         (uintptr_t)side->origin);
}

void rank_vector_open(rank_test_t *test, rank_vector_t *x)
{
    layout_t l = {.x = x,
                  .rank = (size_t)catena_group_rank(x->group),
                  .size = (size_t)catena_group_size(x->group)};
    l.random = rank_hash(x->shape, l.rank, 4711);
    l.side = &x->receive;
    lay_out(test, &l);
    if (!x->in_place) {
        l.side = &x->send;
        l.sends = true;
        if (x->call == RANK_ALLTOALL) { /* one type for both */
            l.random = rank_hash(x->shape, l.rank, 4711);
            x->send.elements = x->receive.elements;
        }
        lay_out(test, &l);
    }
}

static void close_side(rank_test_t *test, rank_side_t *side)
{
    for (int i = 0; i < side->types; i++) {
        if (side->type[i].derived) {
            RANK_CHECK(test,
                       catena_type_free(&side->type[i].type) == CATENA_OK);
        }
        free(side->type[i].run);
    }
    if (side->memory == RANK_HEAP) {
        catena_free(test->context, side->block);
    } else {
        free(side->block);
    }
    free(side->image);
    free(side->counts);
    free(side->displacements);
    free(side->catena_types);
    free(side->used);
}

void rank_vector_close(rank_test_t *test, rank_vector_t *x)
{
    close_side(test, &x->receive);
    if (!x->in_place) {
        close_side(test, &x->send);
    }
}

void rank_vector_free_types(rank_test_t *test, rank_vector_t *x)
{
    rank_side_t *sides[] = {&x->receive, &x->send};
    for (int s = 0; s < (x->in_place ? 1 : 2); s++) {
        for (int i = 0; i < sides[s]->types; i++) {
            rank_type_t *t = &sides[s]->type[i];
            if (t->derived) {
                RANK_CHECK(test, catena_type_free(&t->type) == CATENA_OK);
                t->derived = false;
            }
        }
    }
}

/* ---- contents ---- */

/** What `from` sends to `to`, in the order of the data. */
static void write_stream(uint64_t seed, size_t from, size_t to, size_t bytes,
                         unsigned char *out)
{
    uint64_t random = rank_hash(seed, from, to);
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = rank_random(&random);
        memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

/** Write a stream into the image where the block of a peer is. */
static void put_stream(const rank_vector_t *x, const rank_side_t *side,
                       size_t peer, const unsigned char *stream)
{
    const rank_type_t *t = &side->type[side->used[peer]];
    ptrdiff_t base = side->origin + place_of(x, side, peer);
    for (size_t element = 0; element < side->counts[peer]; element++) {
        for (size_t i = 0; i < t->runs; i++) {
            memcpy(side->image + base + t->run[i].at, stream, t->run[i].bytes);
            stream += t->run[i].bytes;
        }
        base += t->extent;
    }
}

static void put_background(const rank_side_t *side, uint64_t seed)
{
    for (size_t i = 0; i < side->bytes; i++) {
        side->image[i] = (unsigned char)(seed + i * 167 + 13);
    }
}

/** All blocks of a side, as this rank sends them, or as it receives them. */
static void put_blocks(rank_test_t *test, const rank_vector_t *x,
                       const rank_side_t *side, bool sent)
{
    size_t rank = (size_t)catena_group_rank(x->group);
    size_t size = (size_t)catena_group_size(x->group);
    unsigned char *stream = NULL;
    size_t room = 0;
    for (size_t peer = 0; peer < size; peer++) {
        size_t from = sent ? rank : peer;
        size_t to = sent ? peer : rank;
        size_t bytes = rank_vector_bytes(x, from, to);
        if (bytes > room) {
            free(stream);
            stream = rank_array(test, bytes, 1);
            room = bytes;
        }
        if (bytes > 0) {
            write_stream(x->seed, from, to, bytes, stream);
            put_stream(x, side, peer, stream);
        }
    }
    free(stream);
}

void rank_vector_fill(rank_test_t *test, rank_vector_t *x, uint64_t seed)
{
    x->seed = seed;
    put_background(&x->receive, seed + 1);
    if (x->in_place) {
        put_blocks(test, x, &x->receive, true);
    } else {
        put_background(&x->send, seed);
        put_blocks(test, x, &x->send, true);
        memcpy(x->send.block, x->send.image, x->send.bytes);
    }
    memcpy(x->receive.block, x->receive.image, x->receive.bytes);
    put_blocks(test, x, &x->receive, false);
}

static void check_side(rank_test_t *test, const rank_vector_t *x,
                       const rank_side_t *side, const char *what)
{
    if (memcmp(side->block, side->image, side->bytes) == 0) {
        return;
    }
    size_t at = 0;
    while (side->block[at] == side->image[at]) {
        at++;
    }
    rank_fail(test,
              "%s: %s buffer (%s), byte %zu of %zu: expected %02x, found %02x",
              what, side == &x->receive ? "receive" : "send",
              side->memory == RANK_HEAP ? "heap" : "malloc", at, side->bytes,
              side->image[at], side->block[at]);
}

void rank_vector_check(rank_test_t *test, const rank_vector_t *x,
                       const char *what)
{
    check_side(test, x, &x->receive, what);
    if (!x->in_place) {
        check_side(test, x, &x->send, what);
    }
}

/* ---- calls ---- */

typedef enum way { WAY_BLOCK, WAY_START, WAY_INIT } way_t;

static catena_status_t call_alltoall(rank_vector_t *x, const void *send,
                                     way_t way)
{
    rank_side_t *r = &x->receive;
    size_t count = r->counts[0];
    catena_datatype_t type = r->type[0].type;
    switch (way) {
    case WAY_BLOCK:
        return catena_alltoall(send, r->base, count, type, x->group);
    case WAY_START:
        return catena_ialltoall(send, r->base, count, type, x->group,
                                &x->request);
    default:
        return catena_alltoall_init(send, r->base, count, type, x->group,
                                    &x->request);
    }
}

static catena_status_t call_alltoallv(rank_vector_t *x, const void *send,
                                      way_t way)
{
    rank_side_t *s = &x->send; /* in place: all NULL */
    rank_side_t *r = &x->receive;
    switch (way) {
    case WAY_BLOCK:
        return catena_alltoallv(send, s->counts, s->displacements,
                                s->type[0].type, r->base, r->counts,
                                r->displacements, r->type[0].type, x->group);
    case WAY_START:
        return catena_ialltoallv(send, s->counts, s->displacements,
                                 s->type[0].type, r->base, r->counts,
                                 r->displacements, r->type[0].type, x->group,
                                 &x->request);
    default:
        return catena_alltoallv_init(send, s->counts, s->displacements,
                                     s->type[0].type, r->base, r->counts,
                                     r->displacements, r->type[0].type,
                                     x->group, &x->request);
    }
}

static catena_status_t call_alltoallw(rank_vector_t *x, const void *send,
                                      way_t way)
{
    rank_side_t *s = &x->send;
    rank_side_t *r = &x->receive;
    switch (way) {
    case WAY_BLOCK:
        return catena_alltoallw(send, s->counts, s->displacements,
                                s->catena_types, r->base, r->counts,
                                r->displacements, r->catena_types, x->group);
    case WAY_START:
        return catena_ialltoallw(send, s->counts, s->displacements,
                                 s->catena_types, r->base, r->counts,
                                 r->displacements, r->catena_types, x->group,
                                 &x->request);
    default:
        return catena_alltoallw_init(send, s->counts, s->displacements,
                                     s->catena_types, r->base, r->counts,
                                     r->displacements, r->catena_types,
                                     x->group, &x->request);
    }
}

static catena_status_t call(rank_vector_t *x, way_t way)
{
    const void *send = x->in_place ? CATENA_IN_PLACE : x->send.base;
    switch (x->call) {
    case RANK_ALLTOALL:
        return call_alltoall(x, send, way);
    case RANK_ALLTOALLV:
        return call_alltoallv(x, send, way);
    default:
        return call_alltoallw(x, send, way);
    }
}

catena_status_t rank_vector_run(rank_vector_t *x)
{
    return call(x, WAY_BLOCK);
}

catena_status_t rank_vector_start(rank_vector_t *x)
{
    return call(x, WAY_START);
}

catena_status_t rank_vector_init(rank_vector_t *x)
{
    return call(x, WAY_INIT);
}
