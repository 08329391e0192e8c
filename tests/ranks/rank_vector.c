#include "rank_vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 64, MOST_PARTS = 48, MOST_DIMS = 3 };

uint64_t rank_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t state = a * UINT64_C(0xff51afd7ed558ccd) +
                     b * UINT64_C(0xc4ceb9fe1a85ec53) +
                     c * UINT64_C(0x2545f4914f6cdd1d);
    return rank_random(&state);
}

static size_t below(uint64_t *random, size_t limit)
{
    return (size_t)(rank_random(random) >> 16) % limit;
}

static void *need(rank_test_t *test, void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "not ok - no memory\n");
        catena_abort(test->context, 3);
    }
    return memory;
}

static void *array(rank_test_t *test, size_t count, size_t bytes)
{
    return need(test, calloc(count + 1, bytes));
}

/* ---- types, and their data in a list ---- */

/** Runs of what is there already, at each of the places. */
static void list_copies(rank_test_t *test, rank_type_t *t, size_t count,
                        const ptrdiff_t *at)
{
    rank_run_t *run = array(test, count * t->runs, sizeof(*run));
    ptrdiff_t upper = t->lower + t->extent;
    ptrdiff_t low = at[0];
    ptrdiff_t high = at[0];
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < t->runs; i++) {
            run[c * t->runs + i] =
                (rank_run_t){t->run[i].at + at[c], t->run[i].bytes};
        }
        low = at[c] < low ? at[c] : low;
        high = at[c] > high ? at[c] : high;
    }
    free(t->run);
    t->run = run;
    t->runs *= count;
    t->bytes *= count;
    t->extent = high + upper - (low + t->lower);
    t->lower += low;
}

static void list_one(rank_test_t *test, rank_type_t *t, size_t bytes)
{
    t->run = array(test, 1, sizeof(*t->run));
    t->run[0] = (rank_run_t){0, bytes};
    t->runs = bytes > 0;
    t->bytes = bytes;
    t->lower = 0;
    t->extent = (ptrdiff_t)bytes;
}

/** Replace the type by one that was made of it. */
static void replace(rank_test_t *test, rank_type_t *t, catena_status_t status,
                    const catena_datatype_t *made)
{
    if (status != CATENA_OK) {
        rank_fail(test, "a type was refused: %s", catena_status_string(status));
        return;
    }
    if (t->derived) {
        RANK_CHECK(test, catena_type_free(&t->type) == CATENA_OK);
    }
    t->type = *made;
    t->derived = true;
}

/** `parts` pieces of `bytes` each at a distance, maybe backwards. */
static void make_rows(rank_test_t *test, rank_type_t *t, uint64_t *random,
                      size_t parts, size_t bytes)
{
    ptrdiff_t at[MOST_PARTS];
    ptrdiff_t stride = (ptrdiff_t)(bytes + below(random, 9));
    stride = below(random, 4) == 0 ? -stride : stride;
    for (size_t i = 0; i < parts; i++) {
        at[i] = (ptrdiff_t)i * stride;
    }
    catena_datatype_t made = NULL;
    list_one(test, t, bytes);
    list_copies(test, t, parts, at);
    replace(test, t,
            catena_type_hvector(parts, bytes, stride, CATENA_BYTE, &made),
            &made);
}

/** Blocks of uneven lengths, not in the order of memory. */
static void make_blocks(rank_test_t *test, rank_type_t *t, uint64_t *random,
                        size_t bytes)
{
    enum { BLOCKS = 9 };
    size_t length[BLOCKS] = {0};
    ptrdiff_t at[BLOCKS];
    size_t n = 1 + below(random, BLOCKS);
    size_t left = bytes;
    size_t first = below(random, n); /* the lowest; then round */
    ptrdiff_t cursor = (ptrdiff_t)below(random, 40) - 20;
    rank_run_t *run = array(test, BLOCKS, sizeof(*run));
    for (size_t i = 0; i < n; i++) {
        length[i] = i + 1 == n ? left : below(random, left + 1);
        left -= length[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = (first + k) % n;
        at[i] = cursor;
        cursor += (ptrdiff_t)(length[i] + below(random, 9));
    }
    ptrdiff_t low = PTRDIFF_MAX;
    ptrdiff_t high = PTRDIFF_MIN;
    for (size_t i = 0; i < n; i++) {
        if (length[i] == 0) {
            continue;
        }
        run[t->runs++] = (rank_run_t){at[i], length[i]};
        low = at[i] < low ? at[i] : low;
        high = at[i] + (ptrdiff_t)length[i] > high
                   ? at[i] + (ptrdiff_t)length[i]
                   : high;
    }
    t->run = run;
    t->bytes = bytes;
    t->lower = low;
    t->extent = high - low;
    catena_datatype_t made = NULL;
    replace(test, t, catena_type_hindexed(n, length, at, CATENA_BYTE, &made),
            &made);
}

/** A box of `parts` lines of `bytes`, in two or three dimensions, either
 * order. */
static void make_box(rank_test_t *test, rank_type_t *t, uint64_t *random,
                     size_t parts, size_t bytes)
{
    bool fortran = below(random, 2);
    size_t planes = parts % 2 == 0 && parts > 0 ? 2 : 1;
    size_t box[MOST_DIMS] = {bytes, parts / planes, planes}; /* fastest first */
    size_t whole[MOST_DIMS];
    size_t start[MOST_DIMS];
    size_t n = planes > 1 ? 3 : 2;
    size_t given[3][MOST_DIMS] = {{0}};
    for (size_t d = 0; d < MOST_DIMS; d++) {
        start[d] = below(random, 3);
        whole[d] = box[d] + start[d] + below(random, 3);
        size_t place = fortran ? d : n - 1 - d;
        if (d < n) {
            given[0][place] = whole[d];
            given[1][place] = box[d];
            given[2][place] = start[d];
        }
    }
    if (n == 2) {
        whole[2] = 1;
        start[2] = 0;
    }
    ptrdiff_t at[MOST_PARTS];
    for (size_t i = 0; i < parts; i++) {
        size_t line = start[1] + i % box[1];
        size_t plane = start[2] + i / box[1];
        at[i] = (ptrdiff_t)((plane * whole[1] + line) * whole[0] + start[0]);
    }
    catena_datatype_t made = NULL;
    list_one(test, t, bytes);
    list_copies(test, t, parts, at);
    t->lower = 0;
    t->extent = (ptrdiff_t)(whole[0] * whole[1] * whole[2]);
    replace(
        test, t,
        catena_type_subarray(n, given[0], given[1], given[2],
                             fortran ? CATENA_ORDER_FORTRAN : CATENA_ORDER_C,
                             CATENA_BYTE, &made),
        &made);
}

/** Other bounds, wide enough for elements one after the other. */
static void make_resized(rank_test_t *test, rank_type_t *t, uint64_t *random)
{
    ptrdiff_t lower = t->lower - (ptrdiff_t)below(random, 9);
    ptrdiff_t extent = t->extent < 0 ? -t->extent : t->extent;
    extent += (ptrdiff_t)below(random, 17);
    extent = below(random, 4) == 0 ? -extent : extent;
    catena_datatype_t made = NULL;
    replace(test, t, catena_type_resized(t->type, lower, extent, &made), &made);
    t->lower = lower;
    t->extent = extent;
}

/** Rows of what is there. */
static void make_nested(rank_test_t *test, rank_type_t *t, uint64_t *random,
                        size_t parts)
{
    ptrdiff_t at[MOST_PARTS];
    ptrdiff_t stride = 1 + (ptrdiff_t)below(random, 2);
    for (size_t i = 0; i < parts; i++) {
        at[i] = (ptrdiff_t)i * stride * t->extent;
    }
    catena_datatype_t made = NULL;
    list_copies(test, t, parts, at);
    replace(test, t, catena_type_vector(parts, 1, stride, t->type, &made),
            &made);
}

/** A divisor of `bytes`, often more than 1. */
static size_t any_parts(uint64_t *random, size_t bytes, size_t most)
{
    for (int i = 0; i < 4; i++) {
        size_t parts = 1 + below(random, most);
        if (bytes % parts == 0 && parts > 1) {
            return parts;
        }
    }
    return 1;
}

static void make_derived(rank_test_t *test, rank_type_t *t, uint64_t *random,
                         size_t bytes)
{
    size_t outer = any_parts(random, bytes, 6);
    size_t way = below(random, 5);
    size_t inside = way == 3 ? bytes / outer : bytes;
    size_t parts = any_parts(random, inside, MOST_PARTS);
    switch (way) {
    case 0:
        make_rows(test, t, random, parts, bytes / parts);
        break;
    case 1:
        make_blocks(test, t, random, bytes);
        break;
    case 2:
        make_box(test, t, random, parts, bytes / parts);
        break;
    case 3:
        make_rows(test, t, random, parts, inside / parts);
        make_nested(test, t, random, outer);
        break;
    default:
        make_box(test, t, random, parts, bytes / parts);
        make_resized(test, t, random);
    }
    if (below(random, 3) == 0) {
        make_resized(test, t, random);
    }
}

static void make_fixed(rank_test_t *test, rank_type_t *t, uint64_t *random,
                       size_t bytes)
{
#define ENTRY(name, ctype) &catena_type_##name,
    static const catena_datatype_t fixed[] = {CATENA_FIXED_TYPES(ENTRY)};
#undef ENTRY
    enum { FIXED = sizeof(fixed) / sizeof(fixed[0]) };
    size_t first = below(random, FIXED);
    for (size_t i = 0; i < FIXED; i++) {
        t->type = fixed[(first + i) % FIXED];
        if (catena_datatype_size(t->type) == bytes) {
            break;
        }
    }
    list_one(test, t, catena_datatype_size(t->type));
}

/** An element of `bytes`. */
static void make_type(rank_test_t *test, rank_type_t *t, uint64_t *random,
                      rank_elements_t elements, size_t bytes)
{
    *t = (rank_type_t){.type = CATENA_BYTE};
    if (bytes == 0) {
        catena_datatype_t made = NULL;
        list_one(test, t, 0);
        replace(test, t, catena_type_contiguous(0, CATENA_DOUBLE, &made),
                &made);
    } else if (elements == RANK_DERIVED) {
        make_derived(test, t, random, bytes);
    } else {
        make_fixed(test, t, random, bytes);
    }
    RANK_CHECK(test, t->bytes == bytes);
}

/** How large an element may be, that a unit is some of them. */
static size_t element_bytes(uint64_t *random, rank_elements_t elements,
                            size_t unit)
{
    static const size_t sizes[] = {8, 4, 16, 2};
    if (elements == RANK_DERIVED) {
        return unit / any_parts(random, unit, 8);
    }
    size_t first = below(random, 4);
    for (size_t i = 0; elements == RANK_FIXED && i < 4; i++) {
        if (unit % sizes[(first + i) % 4] == 0) {
            return sizes[(first + i) % 4];
        }
    }
    return 1;
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
    if (below(&random, 4) == 0 || x->limit == 0) {
        return 0;
    }
    return below(&random, (x->limit >> below(&random, 10)) + 1);
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
        size_t bytes = element_bytes(sizes, side->elements, unit);
        make_type(test, &side->type[side->types], &l->random, side->elements,
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
        used = 1 + below(&l->random, (size_t)side->types - 1);
        if (bytes == 0 && below(&l->random, 2) == 0) {
            used = 0;
            side->counts[peer] = below(&l->random, 3);
        }
        bool once = side->elements == RANK_DERIVED && bytes > 0 &&
                    side->types < RANK_TYPES && below(&l->random, 3) == 0;
        if (once) {
            used = (size_t)side->types++;
            make_type(test, &side->type[used], &l->random, side->elements,
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
    size_t *order = array(test, l->size, sizeof(*order));
    ptrdiff_t cursor = 0;
    for (size_t i = 0; i < l->size; i++) {
        size_t j = l->x->ordered ? i : below(&l->random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < l->size; i++) {
        size_t peer = order[i];
        l->side->displacements[peer] = 1000 - (ptrdiff_t)(peer * 977 % 2000);
        if (pair_bytes(l, peer) > 0) {
            bool gap = !l->x->ordered && below(&l->random, 3) == 0;
            cursor += gap ? (ptrdiff_t)below(&l->random, 50) : 0;
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
            : moves[below(&l->random, sizeof(moves) / sizeof(*moves))];
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
    side->counts = array(test, l->size, sizeof(*side->counts));
    side->displacements = array(test, l->size, sizeof(*side->displacements));
    side->catena_types = array(test, l->size, sizeof(catena_datatype_t));
    side->used = array(test, l->size, 1);
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
    side->image = array(test, side->bytes, 1);
    side->block = need(test, side->memory == RANK_HEAP
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
            stream = array(test, bytes, 1);
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
