#include "oracle/type.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/affine.h"
#include "oracle/elements.h"
#include "oracle/random.h"

enum { MOST_PARTS = 48, MOST_DIMS = 3, FIXED = ORACLE_FIXED };

#define ENTRY(name, handle, ctype) handle,
static const catena_type_t fixed[] = {ORACLE_EACH_TYPE(ENTRY)};
#undef ENTRY

/* ---- types, and the list of their data ---- */

/** The existing runs, copied to each of the places. */
static void list_copies(oracle_type_t *t, size_t count, const ptrdiff_t *at)
{
    oracle_run_t *run = oracle_zeros(count * t->runs, sizeof(*run));
    ptrdiff_t upper = t->lower + t->extent;
    ptrdiff_t low = at[0];
    ptrdiff_t high = at[0];
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < t->runs; i++) {
            run[c * t->runs + i] =
                (oracle_run_t){t->run[i].at + at[c], t->run[i].bytes};
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

static void list_one(oracle_type_t *t, size_t bytes)
{
    t->run = oracle_zeros(1, sizeof(*t->run));
    t->run[0] = (oracle_run_t){0, bytes};
    t->runs = bytes > 0;
    t->bytes = bytes;
    t->lower = 0;
    t->extent = (ptrdiff_t)bytes;
}

/** Replace the type by one built from it. */
static void replace(const oracle_t *oracle, oracle_type_t *t,
                    catena_status_t status, const catena_type_t *made)
{
    if (status != CATENA_OK) {
        oracle_fail(oracle, "a type was refused: %s",
                    catena_status_string(status));
        return;
    }
    if (t->derived) {
        ORACLE_CHECK(oracle, catena_type_free(&t->type) == CATENA_OK);
    }
    t->type = *made;
    t->derived = true;
}

/** `parts` fragments of `bytes` each at a distance, maybe negative. */
static void make_rows(const oracle_t *oracle, oracle_type_t *t,
                      uint64_t *random, size_t parts, size_t bytes)
{
    ptrdiff_t at[MOST_PARTS];
    ptrdiff_t stride = (ptrdiff_t)(bytes + ctn_random_below(random, 9));
    stride = ctn_random_below(random, 4) == 0 ? -stride : stride;
    for (size_t i = 0; i < parts; i++) {
        at[i] = (ptrdiff_t)i * stride;
    }
    catena_type_t made = NULL;
    list_one(t, bytes);
    list_copies(t, parts, at);
    replace(
        oracle, t,
        ctn_random_below(random, 2)
            ? catena_type_hvector(parts, bytes, stride, CATENA_BYTE, &made)
            : catena_type_hindexed_block(parts, bytes, at, CATENA_BYTE, &made),
        &made);
}

/** Blocks of unequal lengths, not in memory order. */
static void make_blocks(const oracle_t *oracle, oracle_type_t *t,
                        uint64_t *random, size_t bytes)
{
    enum { BLOCKS = 9 };
    size_t length[BLOCKS] = {0};
    ptrdiff_t at[BLOCKS];
    size_t n = 1 + ctn_random_below(random, BLOCKS);
    size_t left = bytes;
    size_t first = ctn_random_below(random, n); /* the lowest; then cyclic */
    ptrdiff_t cursor = (ptrdiff_t)ctn_random_below(random, 40) - 20;
    oracle_run_t *run = oracle_zeros(BLOCKS, sizeof(*run));
    for (size_t i = 0; i < n; i++) {
        length[i] = i + 1 == n ? left : ctn_random_below(random, left + 1);
        left -= length[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = (first + k) % n;
        at[i] = cursor;
        cursor += (ptrdiff_t)(length[i] + ctn_random_below(random, 9));
    }
    ptrdiff_t low = PTRDIFF_MAX;
    ptrdiff_t high = PTRDIFF_MIN;
    for (size_t i = 0; i < n; i++) {
        if (length[i] == 0) {
            continue;
        }
        run[t->runs++] = (oracle_run_t){at[i], length[i]};
        low = at[i] < low ? at[i] : low;
        high = at[i] + (ptrdiff_t)length[i] > high
                   ? at[i] + (ptrdiff_t)length[i]
                   : high;
    }
    t->run = run;
    t->bytes = bytes;
    t->lower = low;
    t->extent = high - low;
    catena_type_t made = NULL;
    replace(oracle, t, catena_type_hindexed(n, length, at, CATENA_BYTE, &made),
            &made);
}

/** Add `bytes` at a place to the runs: contiguous, or two halves with a gap.
 * @return the type of that, at the place; to be freed unless CATENA_BYTE */
static catena_type_t make_member(const oracle_t *oracle, oracle_type_t *t,
                                 uint64_t *random, ptrdiff_t at, size_t bytes,
                                 size_t *length)
{
    *length = bytes;
    if (bytes % 2 == 1 || ctn_random_below(random, 2) == 0) {
        t->run[t->runs++] = (oracle_run_t){at, bytes};
        return CATENA_BYTE;
    }
    size_t half = bytes / 2;
    ptrdiff_t stride = (ptrdiff_t)(half + 1 + ctn_random_below(random, 5));
    catena_type_t made = CATENA_BYTE;
    t->run[t->runs++] = (oracle_run_t){at, half};
    t->run[t->runs++] = (oracle_run_t){at + stride, half};
    ORACLE_CHECK(oracle, catena_type_hvector(2, half, stride, CATENA_BYTE,
                                             &made) == CATENA_OK);
    *length = 1;
    return made;
}

/** Members of several types, each behind the last one or before all. */
static void make_struct(const oracle_t *oracle, oracle_type_t *t,
                        uint64_t *random, size_t bytes)
{
    enum { MEMBERS = 5 };
    size_t length[MEMBERS];
    ptrdiff_t at[MEMBERS];
    catena_type_t types[MEMBERS];
    ptrdiff_t low = (ptrdiff_t)ctn_random_below(random, 40) - 20;
    ptrdiff_t high = low;
    size_t n = 0;
    t->run = oracle_zeros(2 * MEMBERS, sizeof(*t->run));
    for (size_t left = bytes; left > 0; n++) {
        size_t more =
            n + 1 == MEMBERS ? left : 1 + ctn_random_below(random, left);
        bool before = n > 0 && ctn_random_below(random, 2);
        ptrdiff_t gap = (ptrdiff_t)ctn_random_below(random, 9);
        at[n] = before ? low - gap - 2 * (ptrdiff_t)(more + 5)
                       : high + (n > 0 ? gap : 0);
        types[n] = make_member(oracle, t, random, at[n], more, &length[n]);
        const oracle_run_t *last = &t->run[t->runs - 1];
        ptrdiff_t end = last->at + (ptrdiff_t)last->bytes;
        low = at[n] < low ? at[n] : low;
        high = end > high ? end : high;
        left -= more;
    }
    t->bytes = bytes;
    t->lower = low;
    t->extent = high - low;
    catena_type_t made = NULL;
    replace(oracle, t, catena_type_struct(n, length, at, types, &made), &made);
    for (size_t i = 0; i < n; i++) {
        ORACLE_CHECK(oracle, types[i] == CATENA_BYTE ||
                                 catena_type_free(&types[i]) == CATENA_OK);
    }
}

/** A box of `parts` lines of `bytes`, in two or three dimensions, in either
 * order. */
static void make_box(const oracle_t *oracle, oracle_type_t *t, uint64_t *random,
                     size_t parts, size_t bytes)
{
    bool fortran = ctn_random_below(random, 2);
    size_t planes = parts % 2 == 0 && parts > 0 ? 2 : 1;
    size_t box[MOST_DIMS] = {bytes, parts / planes, planes}; /* fastest first */
    size_t whole[MOST_DIMS];
    size_t start[MOST_DIMS];
    size_t n = planes > 1 ? 3 : 2;
    size_t given[3][MOST_DIMS] = {{0}};
    for (size_t d = 0; d < MOST_DIMS; d++) {
        start[d] = ctn_random_below(random, 3);
        whole[d] = box[d] + start[d] + ctn_random_below(random, 3);
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
    catena_type_t made = NULL;
    list_one(t, bytes);
    list_copies(t, parts, at);
    t->lower = 0;
    t->extent = (ptrdiff_t)(whole[0] * whole[1] * whole[2]);
    replace(
        oracle, t,
        catena_type_subarray(n, given[0], given[1], given[2],
                             fortran ? CATENA_ORDER_FORTRAN : CATENA_ORDER_C,
                             CATENA_BYTE, &made),
        &made);
}

/** Other bounds, wide enough for consecutive elements. */
static void make_resized(const oracle_t *oracle, oracle_type_t *t,
                         uint64_t *random)
{
    ptrdiff_t lower = t->lower - (ptrdiff_t)ctn_random_below(random, 9);
    ptrdiff_t extent = t->extent < 0 ? -t->extent : t->extent;
    extent += (ptrdiff_t)ctn_random_below(random, 17);
    extent = ctn_random_below(random, 4) == 0 ? -extent : extent;
    catena_type_t made = NULL;
    replace(oracle, t, catena_type_resized(t->type, lower, extent, &made),
            &made);
    t->lower = lower;
    t->extent = extent;
}

/** Rows of the existing type. */
static void make_nested(const oracle_t *oracle, oracle_type_t *t,
                        uint64_t *random, size_t parts)
{
    ptrdiff_t at[MOST_PARTS];
    ptrdiff_t stride = 1 + (ptrdiff_t)ctn_random_below(random, 2);
    for (size_t i = 0; i < parts; i++) {
        at[i] = (ptrdiff_t)i * stride * t->extent;
    }
    catena_type_t made = NULL;
    list_copies(t, parts, at);
    replace(oracle, t, catena_type_vector(parts, 1, stride, t->type, &made),
            &made);
}

/** A divisor of `bytes`, often more than 1. */
static size_t any_parts(uint64_t *random, size_t bytes, size_t most)
{
    for (int i = 0; i < 4; i++) {
        size_t parts = 1 + ctn_random_below(random, most);
        if (bytes % parts == 0 && parts > 1) {
            return parts;
        }
    }
    return 1;
}

static void make_derived(const oracle_t *oracle, oracle_type_t *t,
                         uint64_t *random, size_t bytes)
{
    size_t outer = any_parts(random, bytes, 6);
    size_t way = ctn_random_below(random, 6);
    size_t inside = way == 3 ? bytes / outer : bytes;
    size_t parts = any_parts(random, inside, MOST_PARTS);
    switch (way) {
    case 0:
        make_rows(oracle, t, random, parts, bytes / parts);
        break;
    case 1:
        make_blocks(oracle, t, random, bytes);
        break;
    case 2:
        make_box(oracle, t, random, parts, bytes / parts);
        break;
    case 3:
        make_rows(oracle, t, random, parts, inside / parts);
        make_nested(oracle, t, random, outer);
        break;
    case 4:
        make_struct(oracle, t, random, bytes);
        break;
    default:
        make_box(oracle, t, random, parts, bytes / parts);
        make_resized(oracle, t, random);
    }
    if (ctn_random_below(random, 4) == 0) {
        catena_type_t made = NULL;
        replace(oracle, t, catena_type_dup(t->type, &made), &made);
    }
    if (ctn_random_below(random, 3) == 0) {
        make_resized(oracle, t, random);
    }
}

static void make_fixed(oracle_type_t *t, uint64_t *random, size_t bytes)
{
    size_t first = ctn_random_below(random, FIXED);
    for (size_t i = 0; i < FIXED; i++) {
        t->type = fixed[(first + i) % FIXED];
        if (catena_type_size(t->type) == bytes) {
            break;
        }
    }
    list_one(t, catena_type_size(t->type));
}

void oracle_type_draw(const oracle_t *oracle, oracle_type_t *t,
                      uint64_t *random, oracle_elements_t elements,
                      size_t bytes)
{
    *t = (oracle_type_t){.type = CATENA_BYTE};
    if (bytes == 0) {
        catena_type_t made = NULL;
        list_one(t, 0);
        replace(oracle, t, catena_type_contiguous(0, CATENA_DOUBLE, &made),
                &made);
    } else if (elements == ORACLE_DERIVED) {
        make_derived(oracle, t, random, bytes);
    } else {
        make_fixed(t, random, bytes);
    }
    ORACLE_CHECK(oracle, t->bytes == bytes);
}

size_t oracle_type_bytes(uint64_t *random, oracle_elements_t elements,
                         size_t unit)
{
    static const size_t sizes[] = {8, 4, 16, 2};
    if (elements == ORACLE_DERIVED) {
        return unit / any_parts(random, unit, 8);
    }
    size_t first = ctn_random_below(random, 4);
    for (size_t i = 0; elements == ORACLE_ANY_FIXED && i < 4; i++) {
        if (unit % sizes[(first + i) % 4] == 0) {
            return sizes[(first + i) % 4];
        }
    }
    return 1;
}

void oracle_type_release(const oracle_t *oracle, oracle_type_t *t)
{
    if (t->derived) {
        ORACLE_CHECK(oracle, catena_type_free(&t->type) == CATENA_OK);
        t->derived = false;
    }
}

void oracle_type_drop(const oracle_t *oracle, oracle_type_t *t)
{
    oracle_type_release(oracle, t);
    free(t->run);
    t->run = NULL;
}

/* ---- positions of data ---- */

void oracle_type_span(const oracle_type_t *t, size_t count, ptrdiff_t *low,
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

void oracle_type_get(const oracle_type_t *t, const unsigned char *base,
                     size_t count, unsigned char *data)
{
    for (size_t element = 0; element < count; element++) {
        for (size_t i = 0; i < t->runs; i++) {
            memcpy(data, base + t->run[i].at, t->run[i].bytes);
            data += t->run[i].bytes;
        }
        base += t->extent;
    }
}

void oracle_type_put(const oracle_type_t *t, unsigned char *base, size_t count,
                     const unsigned char *data)
{
    if (t->runs == 1 && (size_t)t->extent == t->bytes) {
        memcpy(base + t->run[0].at, data, count * t->bytes);
        return;
    }
    for (size_t element = 0; element < count; element++) {
        for (size_t i = 0; i < t->runs; i++) {
            memcpy(base + t->run[i].at, data, t->run[i].bytes);
            data += t->run[i].bytes;
        }
        base += t->extent;
    }
}

/* ---- the table ---- */

static void list_two(oracle_type_t *t, oracle_run_t first, oracle_run_t second,
                     ptrdiff_t extent)
{
    t->run = oracle_zeros(2, sizeof(*t->run));
    t->run[0] = first;
    t->run[1] = second;
    t->runs = 2;
    t->bytes = first.bytes + second.bytes;
    t->extent = extent;
}

/** `count` consecutive elements of a fixed type. */
static void make_several(const oracle_t *oracle, oracle_type_t *t, size_t count,
                         catena_type_t of)
{
    catena_type_t made = NULL;
    list_one(t, count * catena_type_size(of));
    replace(oracle, t, catena_type_contiguous(count, of, &made), &made);
}

static void make_vector(const oracle_t *oracle, oracle_type_t *t)
{
    catena_type_t made = NULL;
    list_two(t, (oracle_run_t){0, 6}, (oracle_run_t){10, 6}, 16);
    replace(oracle, t, catena_type_vector(2, 3, 5, CATENA_INT16, &made), &made);
}

static void make_derived_of_table(const oracle_t *oracle, oracle_type_t *side)
{
    static const size_t lengths[] = {2, 1};
    static const ptrdiff_t places[] = {3, 0};
    catena_type_t made = NULL;
    make_several(oracle, &side[ORACLE_PAIR], 2, CATENA_UINT64);
    make_several(oracle, &side[ORACLE_TRIPLE], 3, CATENA_UINT64);
    make_vector(oracle, &side[ORACLE_VECTOR]);
    list_two(&side[ORACLE_INDEXED], (oracle_run_t){12, 8}, (oracle_run_t){0, 4},
             20);
    replace(oracle, &side[ORACLE_INDEXED],
            catena_type_indexed(2, lengths, places, CATENA_INT32, &made),
            &made);
    oracle_type_t *resized = &side[ORACLE_RESIZED];
    make_several(oracle, resized, 3, CATENA_BYTE);
    replace(oracle, resized, catena_type_resized(resized->type, 0, 8, &made),
            &made);
    resized->extent = 8;
}

static void apply_affine(const void *in, void *inout, size_t count,
                         catena_type_t type, void *argument)
{
    (void)argument;
    size_t words = catena_type_size(type) / sizeof(uint64_t);
    const uint64_t *a = in;
    uint64_t *b = inout;
    for (size_t i = 0; i < count; i++) {
        oracle_affine(a + words * i, b + words * i, words, b + words * i);
    }
}

static void apply_modulo(const void *in, void *inout, size_t count,
                         catena_type_t type, void *argument)
{
    (void)type;
    (void)argument;
    const uint64_t *a = in;
    uint64_t *b = inout;
    for (size_t i = 0; i < count; i++) {
        b[i] = oracle_add_modulo(a[i], b[i]);
    }
}

void oracle_table_open(const oracle_t *oracle, oracle_table_t *table)
{
#define HANDLE(name, handle) handle,
    static const catena_op_t predefined[] = {ORACLE_EACH_OP(HANDLE)};
#undef HANDLE
    *table = (oracle_table_t){.op = {NULL}};
    memcpy(&table->op[1], predefined, sizeof(predefined));
    ORACLE_CHECK(oracle,
                 catena_op_create(apply_modulo, NULL, 1,
                                  &table->op[ORACLE_COMMUTING]) == CATENA_OK);
    ORACLE_CHECK(oracle,
                 catena_op_create(apply_affine, NULL, 0,
                                  &table->op[ORACLE_ORDERED]) == CATENA_OK);
    oracle_type_t *sides[] = {table->send, table->receive};
    for (int s = 0; s < 2; s++) {
        for (unsigned i = 0; i < ORACLE_FIXED; i++) {
            sides[s][i].type = fixed[i];
            list_one(&sides[s][i], oracle_unit_bytes(i));
        }
        make_derived_of_table(oracle, sides[s]);
    }
    make_vector(oracle, &table->send[ORACLE_TO_BYTES]);
    make_several(oracle, &table->receive[ORACLE_TO_BYTES], 12, CATENA_BYTE);
}

void oracle_table_close(const oracle_t *oracle, oracle_table_t *table)
{
    for (unsigned i = 0; i < ORACLE_DRAWN; i++) {
        oracle_type_drop(oracle, &table->send[i]);
        oracle_type_drop(oracle, &table->receive[i]);
    }
    ORACLE_CHECK(oracle,
                 catena_op_free(&table->op[ORACLE_COMMUTING]) == CATENA_OK);
    ORACLE_CHECK(oracle,
                 catena_op_free(&table->op[ORACLE_ORDERED]) == CATENA_OK);
}
