#include "rank_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 48, MOST_DIMS = 3 };

size_t rank_below(uint64_t *random, size_t limit)
{
    return (size_t)(rank_random(random) >> 16) % limit;
}

void *rank_need(rank_test_t *test, void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "not ok - no memory\n");
        catena_abort(test->context, 3);
    }
    return memory;
}

void *rank_array(rank_test_t *test, size_t count, size_t bytes)
{
    return rank_need(test, calloc(count + 1, bytes));
}

/* ---- types, and their data in a list ---- */

/** Runs of what is there already, at each of the places. */
static void list_copies(rank_test_t *test, rank_type_t *t, size_t count,
                        const ptrdiff_t *at)
{
    rank_run_t *run = rank_array(test, count * t->runs, sizeof(*run));
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
    t->run = rank_array(test, 1, sizeof(*t->run));
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
    ptrdiff_t stride = (ptrdiff_t)(bytes + rank_below(random, 9));
    stride = rank_below(random, 4) == 0 ? -stride : stride;
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
    size_t n = 1 + rank_below(random, BLOCKS);
    size_t left = bytes;
    size_t first = rank_below(random, n); /* the lowest; then round */
    ptrdiff_t cursor = (ptrdiff_t)rank_below(random, 40) - 20;
    rank_run_t *run = rank_array(test, BLOCKS, sizeof(*run));
    for (size_t i = 0; i < n; i++) {
        length[i] = i + 1 == n ? left : rank_below(random, left + 1);
        left -= length[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = (first + k) % n;
        at[i] = cursor;
        cursor += (ptrdiff_t)(length[i] + rank_below(random, 9));
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
    bool fortran = rank_below(random, 2);
    size_t planes = parts % 2 == 0 && parts > 0 ? 2 : 1;
    size_t box[MOST_DIMS] = {bytes, parts / planes, planes}; /* fastest first */
    size_t whole[MOST_DIMS];
    size_t start[MOST_DIMS];
    size_t n = planes > 1 ? 3 : 2;
    size_t given[3][MOST_DIMS] = {{0}};
    for (size_t d = 0; d < MOST_DIMS; d++) {
        start[d] = rank_below(random, 3);
        whole[d] = box[d] + start[d] + rank_below(random, 3);
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
    ptrdiff_t lower = t->lower - (ptrdiff_t)rank_below(random, 9);
    ptrdiff_t extent = t->extent < 0 ? -t->extent : t->extent;
    extent += (ptrdiff_t)rank_below(random, 17);
    extent = rank_below(random, 4) == 0 ? -extent : extent;
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
    ptrdiff_t stride = 1 + (ptrdiff_t)rank_below(random, 2);
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
        size_t parts = 1 + rank_below(random, most);
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
    size_t way = rank_below(random, 5);
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
    if (rank_below(random, 3) == 0) {
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
    size_t first = rank_below(random, FIXED);
    for (size_t i = 0; i < FIXED; i++) {
        t->type = fixed[(first + i) % FIXED];
        if (catena_datatype_size(t->type) == bytes) {
            break;
        }
    }
    list_one(test, t, catena_datatype_size(t->type));
}

void rank_type_make(rank_test_t *test, rank_type_t *t, uint64_t *random,
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

size_t rank_type_bytes(uint64_t *random, rank_elements_t elements, size_t unit)
{
    static const size_t sizes[] = {8, 4, 16, 2};
    if (elements == RANK_DERIVED) {
        return unit / any_parts(random, unit, 8);
    }
    size_t first = rank_below(random, 4);
    for (size_t i = 0; elements == RANK_FIXED && i < 4; i++) {
        if (unit % sizes[(first + i) % 4] == 0) {
            return sizes[(first + i) % 4];
        }
    }
    return 1;
}
