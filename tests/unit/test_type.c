/* Datatypes without ranks: against explicit lists of byte offsets, written down
 * from MPI's definitions. */

#include <stdlib.h>
#include <string.h>

#include "type/datatype.h"

#include "unit.h"

/* ---- the oracle: a type map, byte by byte ---- */

enum {
    MOST_BYTES = 3000,
    MOST_COPIES = 3000,
    MOST_DIMS = 4,
    MOST_SPAN = 1 << 18
};

typedef struct map {
    size_t bytes;
    ptrdiff_t lower;
    ptrdiff_t upper;
    ptrdiff_t offset[MOST_BYTES];
} map_t;

/** Displacements in bytes of the copies of the old type. */
typedef struct copies {
    size_t count;
    ptrdiff_t at[MOST_COPIES];
} copies_t;

static bool copies_add(copies_t *copies, ptrdiff_t at)
{
    if (copies->count == MOST_COPIES) {
        return false;
    }
    copies->at[copies->count++] = at;
    return true;
}

static void map_fixed(map_t *map, catena_datatype_t type)
{
    map->bytes = catena_datatype_size(type);
    map->lower = 0;
    map->upper = (ptrdiff_t)map->bytes;
    for (size_t i = 0; i < map->bytes; i++) {
        map->offset[i] = (ptrdiff_t)i;
    }
}

static ptrdiff_t map_extent(const map_t *map)
{
    return map->upper - map->lower;
}

static ptrdiff_t true_low(const map_t *map)
{
    ptrdiff_t low = map->bytes > 0 ? map->offset[0] : 0;
    for (size_t i = 0; i < map->bytes; i++) {
        low = map->offset[i] < low ? map->offset[i] : low;
    }
    return low;
}

static ptrdiff_t true_high(const map_t *map)
{
    ptrdiff_t high = map->bytes > 0 ? map->offset[0] + 1 : 0;
    for (size_t i = 0; i < map->bytes; i++) {
        high = map->offset[i] >= high ? map->offset[i] + 1 : high;
    }
    return high;
}

/** @return false: too large for this test; *map is as it was */
static bool map_copy(map_t *map, const copies_t *copies)
{
    map_t old = *map;
    if (copies->count * old.bytes > MOST_BYTES) {
        return false;
    }
    map->bytes = 0;
    map->lower = 0;
    map->upper = 0;
    for (size_t c = 0; c < copies->count; c++) {
        ptrdiff_t at = copies->at[c];
        if (c == 0 || at + old.lower < map->lower) {
            map->lower = at + old.lower;
        }
        if (c == 0 || at + old.upper > map->upper) {
            map->upper = at + old.upper;
        }
        for (size_t i = 0; i < old.bytes; i++) {
            map->offset[map->bytes++] = at + old.offset[i];
        }
    }
    if (map->lower < -MOST_SPAN || map->upper > MOST_SPAN ||
        true_low(map) < -MOST_SPAN || true_high(map) > MOST_SPAN) {
        *map = old;
        return false;
    }
    return true;
}

/* ---- random types ---- */

static uint64_t random_state;

static size_t below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state * 0x2545f4914f6cdd1d) >> 33) % limit;
}

/** Usually positive; 0 and negative are found too. */
static ptrdiff_t any_stride(size_t usual)
{
    return (ptrdiff_t)below(usual + 3) - (below(3) == 0 ? (ptrdiff_t)usual : 0);
}

typedef struct step {
    map_t *map;
    catena_datatype_t old;
    catena_datatype_t type;
    copies_t copies;
} step_t;

static bool step_contiguous(step_t *s)
{
    size_t count = below(6);
    for (size_t i = 0; i < count; i++) {
        copies_add(&s->copies, (ptrdiff_t)i * map_extent(s->map));
    }
    if (!map_copy(s->map, &s->copies)) {
        return false;
    }
    ck_assert_int_eq(catena_type_contiguous(count, s->old, &s->type),
                     CATENA_OK);
    return true;
}

static bool step_vector(step_t *s)
{
    size_t count = below(7);
    size_t blocklength = below(5);
    bool in_bytes = below(2);
    ptrdiff_t stride = any_stride(in_bytes ? 64 : 6);
    ptrdiff_t unit = in_bytes ? 1 : map_extent(s->map);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < blocklength; j++) {
            copies_add(&s->copies, (ptrdiff_t)i * stride * unit +
                                       (ptrdiff_t)j * map_extent(s->map));
        }
    }
    if (!map_copy(s->map, &s->copies)) {
        return false;
    }
    ck_assert_int_eq(
        in_bytes
            ? catena_type_hvector(count, blocklength, stride, s->old, &s->type)
            : catena_type_vector(count, blocklength, stride, s->old, &s->type),
        CATENA_OK);
    return true;
}

static bool step_indexed(step_t *s)
{
    enum { MOST = 12 };
    size_t lengths[MOST];
    ptrdiff_t places[MOST];
    size_t count = below(MOST + 1);
    bool in_bytes = below(2);
    bool same = below(2);     /* lengths */
    bool touching = below(2); /* often what can be merged */
    ptrdiff_t unit = in_bytes ? 1 : map_extent(s->map);
    size_t length = below(4);
    ptrdiff_t end = 0;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = same ? length : below(5);
        places[i] = touching && below(2) ? end : any_stride(in_bytes ? 90 : 30);
        ptrdiff_t extent = in_bytes ? map_extent(s->map) : 1;
        end = places[i] + (ptrdiff_t)lengths[i] * extent;
        for (size_t j = 0; j < lengths[i]; j++) {
            copies_add(&s->copies,
                       places[i] * unit + (ptrdiff_t)j * map_extent(s->map));
        }
    }
    if (!map_copy(s->map, &s->copies)) {
        return false;
    }
    ck_assert_int_eq(
        in_bytes
            ? catena_type_hindexed(count, lengths, places, s->old, &s->type)
            : catena_type_indexed(count, lengths, places, s->old, &s->type),
        CATENA_OK);
    /* Nothing of the caller's was kept. */
    memset(lengths, 0xff, sizeof(lengths));
    memset(places, 0xff, sizeof(places));
    return true;
}

/** Is element `linear` of the whole array within the box? */
static bool in_box(size_t linear, size_t ndims, const size_t *sizes,
                   const size_t *subsizes, const size_t *starts, bool fortran)
{
    bool in = true;
    for (size_t i = 0; i < ndims; i++) {
        size_t d = fortran ? i : ndims - 1 - i;
        size_t index = linear % sizes[d];
        linear /= sizes[d];
        in &= index >= starts[d] && index < starts[d] + subsizes[d];
    }
    return in;
}

static bool step_subarray(step_t *s)
{
    size_t sizes[MOST_DIMS];
    size_t subsizes[MOST_DIMS];
    size_t starts[MOST_DIMS];
    size_t ndims = 1 + below(MOST_DIMS);
    bool fortran = below(2);
    size_t all = 1;
    for (size_t d = 0; d < ndims; d++) {
        sizes[d] = 1 + below(6);
        subsizes[d] = below(4) == 0    ? sizes[d]
                      : below(20) == 0 ? 0
                                       : 1 + below(sizes[d]);
        starts[d] = below(sizes[d] - subsizes[d] + 1);
        all *= sizes[d];
    }
    ptrdiff_t extent = map_extent(s->map);
    for (size_t i = 0; i < all; i++) {
        if (in_box(i, ndims, sizes, subsizes, starts, fortran)) {
            copies_add(&s->copies, (ptrdiff_t)i * extent);
        }
    }
    ptrdiff_t upper = (ptrdiff_t)all * extent;
    if (upper > MOST_SPAN || upper < -MOST_SPAN ||
        !map_copy(s->map, &s->copies)) {
        return false;
    }
    s->map->lower = 0;
    s->map->upper = upper;
    ck_assert_int_eq(
        catena_type_subarray(ndims, sizes, subsizes, starts,
                             fortran ? CATENA_ORDER_FORTRAN : CATENA_ORDER_C,
                             s->old, &s->type),
        CATENA_OK);
    return true;
}

static bool step_resized(step_t *s)
{
    ptrdiff_t lower = below(2) ? 0 : any_stride(20);
    ptrdiff_t extent = below(2) ? (ptrdiff_t)s->map->bytes : any_stride(100);
    s->map->lower = lower;
    s->map->upper = lower + extent;
    ck_assert_int_eq(catena_type_resized(s->old, lower, extent, &s->type),
                     CATENA_OK);
    return true;
}

/** Does the packed stream equal the memory, for any count? */
static bool map_dense(const map_t *map)
{
    bool dense = map->lower == 0 && map->upper == (ptrdiff_t)map->bytes;
    for (size_t i = 0; i < map->bytes; i++) {
        dense &= map->offset[i] == (ptrdiff_t)i;
    }
    return dense;
}

/** The invariants of struct catena_datatype. */
static void check_levels(catena_datatype_t type)
{
    size_t bytes = type->run;
    for (uint32_t i = 0; i < type->depth; i++) {
        const ctn_level_t *l = &type->level[i];
        ck_assert_uint_gt(l->count, 1);
        if (l->kind == CTN_LEVEL_INDEXED) {
            ck_assert_uint_eq(l->start[0], 0);
            ck_assert_uint_eq(l->start[l->count], l->bytes);
            for (size_t b = 0; b < l->count; b++) {
                ck_assert_uint_lt(l->start[b], l->start[b + 1]);
                ck_assert_uint_eq((l->start[b + 1] - l->start[b]) % bytes, 0);
            }
        } else {
            ck_assert_uint_eq(l->bytes, l->count * bytes);
        }
        bytes = l->bytes;
    }
    ck_assert_uint_eq(bytes, type->bytes);
}

static void check_shape(catena_datatype_t type, const map_t *map)
{
    ptrdiff_t lower;
    ptrdiff_t extent;
    ck_assert_int_eq(catena_datatype_extent(type, &lower, &extent), CATENA_OK);
    ck_assert_uint_eq(catena_datatype_size(type), map->bytes);
    ck_assert_int_eq(lower, map->lower);
    ck_assert_int_eq(extent, map_extent(map));
    ck_assert_int_eq(type->true_low, true_low(map));
    ck_assert_int_eq(type->true_high, true_high(map));
    ck_assert_int_eq(type->dense, map_dense(map));
    check_levels(type);
}

/* ---- elements in memory, and the oracle's stream ---- */

enum { MOST_ELEMENTS = 4 };

typedef struct elements {
    catena_datatype_t type;
    const map_t *map;
    size_t count;
    size_t total; /* bytes of the stream */
    size_t span;  /* bytes of memory */
    ptrdiff_t low;
    unsigned char *memory; /* as much as is touched: more is an error */
} elements_t;

static ptrdiff_t oracle(const elements_t *e, size_t at)
{
    return (ptrdiff_t)(at / e->map->bytes) * map_extent(e->map) +
           e->map->offset[at % e->map->bytes];
}

static void elements_make(elements_t *e, catena_datatype_t type,
                          const map_t *map, size_t count)
{
    ptrdiff_t low = 0;
    ptrdiff_t end = 0;
    e->type = type;
    e->map = map;
    e->count = count;
    e->total = count * map->bytes;
    for (size_t i = 0; i < e->total; i++) {
        ptrdiff_t at = oracle(e, i);
        low = i == 0 || at < low ? at : low;
        end = i == 0 || at >= end ? at + 1 : end;
    }
    if (e->total > 0) {
        ptrdiff_t reach = (ptrdiff_t)(count - 1) * type->extent;
        ck_assert_int_eq(type->true_low + (reach < 0 ? reach : 0), low);
        ck_assert_int_eq(type->true_high + (reach > 0 ? reach : 0), end);
    }
    e->low = low;
    e->span = (size_t)(end - low);
    e->memory = malloc(e->span + 1);
    for (size_t i = 0; i < e->span; i++) {
        e->memory[i] = (unsigned char)below(256);
    }
    e->memory = realloc(e->memory, e->span > 0 ? e->span : 1);
}

static size_t pack_wrong(const elements_t *e, size_t from, size_t bytes)
{
    size_t wrong = 0;
    unsigned char *out = malloc(bytes > 0 ? bytes : 1);
    size_t done = ctn_type_pack(e->type, e->memory - e->low, from, bytes, out);
    wrong += done != bytes;
    for (size_t i = 0; i < bytes; i++) {
        wrong += out[i] != e->memory[oracle(e, from + i) - e->low];
    }
    free(out);
    return wrong;
}

/** The whole stream in chunks, into memory of another content. */
static size_t unpack_wrong(const elements_t *e)
{
    unsigned char *expected = malloc(e->span + 1);
    unsigned char *found = malloc(e->span > 0 ? e->span : 1);
    memset(expected, 0xa5, e->span);
    memset(found, 0xa5, e->span);
    for (size_t from = 0; from < e->total;) {
        size_t bytes = 1 + below(below(3) ? 40 : e->total);
        bytes = bytes < e->total - from ? bytes : e->total - from;
        unsigned char *in = malloc(bytes);
        for (size_t i = 0; i < bytes; i++) {
            in[i] = (unsigned char)below(256);
            expected[oracle(e, from + i) - e->low] = in[i];
        }
        size_t done = ctn_type_unpack(e->type, found - e->low, from, bytes, in);
        ck_assert_uint_eq(done, bytes);
        free(in);
        from += bytes;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < e->span; i++) {
        wrong += expected[i] != found[i];
    }
    free(expected);
    free(found);
    return wrong;
}

static void check_copies(catena_datatype_t type, const map_t *map, size_t count)
{
    elements_t e;
    elements_make(&e, type, map, count);
    size_t wrong = pack_wrong(&e, 0, e.total);
    for (size_t from = 0; from < e.total;) {
        size_t bytes = 1 + below(below(3) ? 40 : e.total);
        bytes = bytes < e.total - from ? bytes : e.total - from;
        wrong += pack_wrong(&e, from, bytes);
        from += bytes;
    }
    for (size_t i = 0; e.total > 0 && i < 30; i++) {
        size_t from = below(e.total);
        wrong += pack_wrong(&e, from, below(e.total - from + 1));
    }
    wrong += unpack_wrong(&e);
    ck_assert_uint_eq(wrong, 0);
    free(e.memory);
}

static void check_all(catena_datatype_t type, const map_t *map)
{
    check_shape(type, map);
    check_copies(type, map, 1 + below(MOST_ELEMENTS));
}

static catena_datatype_t some_fixed(void)
{
#define POINTER(name, ctype) &catena_type_##name,
    const catena_datatype_t fixed[] = {CATENA_FIXED_TYPES(POINTER)};
#undef POINTER
    return fixed[below(sizeof(fixed) / sizeof(fixed[0]))];
}

/** Depth 1 to 6; the types below are freed before, between and after. */
static void random_type(void)
{
    static bool (*const steps[])(step_t *) = {step_contiguous, step_vector,
                                              step_indexed, step_subarray,
                                              step_resized};
    static map_t map;
    static step_t s;
    catena_datatype_t later[6];
    size_t kept = 0;
    catena_datatype_t type = some_fixed();
    map_fixed(&map, type);
    for (size_t depth = 1 + below(6); depth > 0; depth--) {
        s.map = &map;
        s.old = type;
        s.copies.count = 0;
        if (!steps[below(5)](&s)) {
            continue;
        }
        if (type->derived) {
            if (below(2)) {
                ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
            } else {
                later[kept++] = type;
            }
        }
        type = s.type;
        check_shape(type, &map);
    }
    check_all(type, &map);
    while (kept > 0) {
        ck_assert_int_eq(catena_type_free(&later[--kept]), CATENA_OK);
        if (below(2)) {
            check_all(type, &map);
        }
    }
    if (type->derived) {
        ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
    }
}

START_TEST(random_types_match_their_maps)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        random_state = ((uint64_t)_i * 500 + seed) * 0x9e3779b97f4a7c15;
        random_type();
    }
}
END_TEST

/* ---- each constructor, by hand ---- */

/** Pack `count` elements of ints and compare with the list. */
static void packs_to(catena_datatype_t type, const int32_t *base, size_t count,
                     const int32_t *expected, size_t length)
{
    int32_t out[64];
    size_t bytes = count * catena_datatype_size(type);
    ck_assert_uint_eq(bytes, length * sizeof(int32_t));
    ck_assert_uint_eq(ctn_type_pack(type, base, 0, bytes, out), bytes);
    for (size_t i = 0; i < length; i++) {
        ck_assert_int_eq(out[i], expected[i]);
    }
}

#define PACKS_TO(type, base, count, ...)                                       \
    packs_to(type, base, count, (const int32_t[]){__VA_ARGS__},                \
             sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static int32_t numbers[256];

static void count_numbers(void)
{
    for (int32_t i = 0; i < 256; i++) {
        numbers[i] = i;
    }
}

static void bounds_are(catena_datatype_t type, ptrdiff_t lower,
                       ptrdiff_t extent)
{
    ptrdiff_t lower_found;
    ptrdiff_t extent_found;
    ck_assert_int_eq(catena_datatype_extent(type, &lower_found, &extent_found),
                     CATENA_OK);
    ck_assert_int_eq(lower_found, lower);
    ck_assert_int_eq(extent_found, extent);
}

START_TEST(fixed_types_are_dense)
{
    bounds_are(CATENA_DOUBLE, 0, 8);
    ck_assert(CATENA_DOUBLE->dense);
    ck_assert_ptr_eq(ctn_type_hold(CATENA_DOUBLE), CATENA_DOUBLE);
    ctn_type_drop(CATENA_DOUBLE);
    catena_datatype_t type = CATENA_DOUBLE;
    ck_assert_int_eq(catena_type_free(&type), CATENA_ERR_ARG);
    ck_assert_ptr_eq(type, CATENA_DOUBLE);
}
END_TEST

START_TEST(contiguous_stays_dense)
{
    catena_datatype_t inner;
    catena_datatype_t outer;
    count_numbers();
    ck_assert_int_eq(catena_type_contiguous(3, CATENA_INT32, &inner),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_contiguous(2, inner, &outer), CATENA_OK);
    bounds_are(outer, 0, 24);
    ck_assert(outer->dense);
    PACKS_TO(outer, numbers, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    catena_type_free(&inner);
    catena_type_free(&outer);
    ck_assert_ptr_null(outer);
}
END_TEST

START_TEST(vectors)
{
    catena_datatype_t type;
    count_numbers();
    ck_assert_int_eq(catena_type_vector(3, 2, 4, CATENA_INT32, &type),
                     CATENA_OK);
    bounds_are(type, 0, 40);
    ck_assert_uint_eq(type->depth, 1);
    ck_assert_uint_eq(type->run, 8);
    PACKS_TO(type, numbers, 2, 0, 1, 4, 5, 8, 9, 10, 11, 14, 15, 18, 19);
    catena_type_free(&type);
    ck_assert_int_eq(catena_type_vector(3, 2, 2, CATENA_INT32, &type),
                     CATENA_OK);
    ck_assert(type->dense);
    catena_type_free(&type);
    ck_assert_int_eq(catena_type_hvector(2, 1, 12, CATENA_INT32, &type),
                     CATENA_OK);
    PACKS_TO(type, numbers, 1, 0, 3);
    catena_type_free(&type);
}
END_TEST

START_TEST(negative_strides)
{
    catena_datatype_t type;
    catena_datatype_t outer;
    count_numbers();
    ck_assert_int_eq(catena_type_vector(3, 2, -4, CATENA_INT32, &type),
                     CATENA_OK);
    bounds_are(type, -32, 40);
    PACKS_TO(type, numbers + 20, 1, 20, 21, 16, 17, 12, 13);
    catena_type_free(&type);
    /* Backwards by rows and by columns: one level. */
    ck_assert_int_eq(catena_type_vector(4, 1, -1, CATENA_INT32, &type),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_hvector(2, 1, -16, type, &outer), CATENA_OK);
    bounds_are(outer, -28, 32);
    ck_assert_uint_eq(outer->depth, 1);
    PACKS_TO(outer, numbers + 20, 1, 20, 19, 18, 17, 16, 15, 14, 13);
    catena_type_free(&type);
    catena_type_free(&outer);
    ck_assert_int_eq(catena_type_resized(CATENA_INT32, 0, -4, &type),
                     CATENA_OK);
    PACKS_TO(type, numbers + 9, 3, 9, 8, 7);
    catena_type_free(&type);
}
END_TEST

START_TEST(indexed_types)
{
    catena_datatype_t type;
    const size_t lengths[] = {2, 0, 1, 3};
    const ptrdiff_t places[] = {4, 100, -1, 8};
    count_numbers();
    ck_assert_int_eq(
        catena_type_indexed(4, lengths, places, CATENA_INT32, &type),
        CATENA_OK);
    bounds_are(type, -4, 48);
    PACKS_TO(type, numbers + 1, 2, 5, 6, 0, 9, 10, 11, 17, 18, 12, 21, 22, 23);
    catena_type_free(&type);
    const ptrdiff_t bytes[] = {16, 0, 24, 36};
    ck_assert_int_eq(
        catena_type_hindexed(4, lengths, bytes, CATENA_INT32, &type),
        CATENA_OK);
    PACKS_TO(type, numbers, 1, 4, 5, 6, 9, 10, 11);
    ck_assert_uint_eq(type->level[0].count, 2); /* 4 and 6 were merged */
    catena_type_free(&type);
}
END_TEST

START_TEST(indexed_types_become_regular)
{
    catena_datatype_t type;
    const size_t ones[] = {1, 1, 1, 1};
    const ptrdiff_t even[] = {3, 5, 7, 9};
    const ptrdiff_t touching[] = {0, 1, 2, 3};
    const ptrdiff_t uneven[] = {0, 5, 2, 9};
    ck_assert_int_eq(catena_type_indexed(4, ones, even, CATENA_INT32, &type),
                     CATENA_OK);
    ck_assert_int_eq(type->level[0].kind, CTN_LEVEL_STRIDED);
    catena_type_free(&type);
    ck_assert_int_eq(
        catena_type_indexed(4, ones, touching, CATENA_INT32, &type), CATENA_OK);
    ck_assert(type->dense);
    catena_type_free(&type);
    ck_assert_int_eq(catena_type_indexed(4, ones, uneven, CATENA_INT32, &type),
                     CATENA_OK);
    ck_assert_int_eq(type->level[0].kind, CTN_LEVEL_SCATTERED);
    count_numbers();
    PACKS_TO(type, numbers, 1, 0, 5, 2, 9);
    catena_type_free(&type);
}
END_TEST

START_TEST(subarrays)
{
    catena_datatype_t type;
    const size_t sizes[] = {4, 5};
    const size_t subsizes[] = {2, 3};
    const size_t starts[] = {1, 2};
    count_numbers();
    ck_assert_int_eq(catena_type_subarray(2, sizes, subsizes, starts,
                                          CATENA_ORDER_C, CATENA_INT32, &type),
                     CATENA_OK);
    bounds_are(type, 0, 80);
    ck_assert_int_eq(type->true_low, 28);
    ck_assert_int_eq(type->true_high, 60);
    PACKS_TO(type, numbers, 2, 7, 8, 9, 12, 13, 14, 27, 28, 29, 32, 33, 34);
    catena_type_free(&type);
    /* Element (i, j) is number i + 4 j. */
    ck_assert_int_eq(catena_type_subarray(2, sizes, subsizes, starts,
                                          CATENA_ORDER_FORTRAN, CATENA_INT32,
                                          &type),
                     CATENA_OK);
    bounds_are(type, 0, 80);
    PACKS_TO(type, numbers, 1, 9, 10, 13, 14, 17, 18);
    catena_type_free(&type);
    /* Whole rows are one run. */
    ck_assert_int_eq(catena_type_subarray(2, sizes, (const size_t[]){2, 5},
                                          (const size_t[]){1, 0},
                                          CATENA_ORDER_C, CATENA_INT32, &type),
                     CATENA_OK);
    ck_assert_uint_eq(type->depth, 0);
    ck_assert_uint_eq(type->run, 40);
    catena_type_free(&type);
}
END_TEST

START_TEST(resized_has_gaps)
{
    catena_datatype_t gapped;
    catena_datatype_t type;
    count_numbers();
    ck_assert_int_eq(catena_type_resized(CATENA_INT32, -4, 12, &gapped),
                     CATENA_OK);
    bounds_are(gapped, -4, 12);
    ck_assert(!gapped->dense);
    PACKS_TO(gapped, numbers, 3, 0, 3, 6);
    ck_assert_int_eq(catena_type_contiguous(3, gapped, &type), CATENA_OK);
    bounds_are(type, -4, 36);
    PACKS_TO(type, numbers, 2, 0, 3, 6, 9, 12, 15);
    ck_assert_uint_eq(type->stream_depth, 0); /* one row for all elements */
    ck_assert_int_eq(type->stream_stride, 12);
    /* Blocks of such rows are longer rows. */
    catena_datatype_t indexed;
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 9};
    ck_assert_int_eq(catena_type_indexed(2, lengths, places, type, &indexed),
                     CATENA_OK);
    ck_assert_uint_eq(indexed->depth, 1);
    PACKS_TO(indexed, numbers, 1, 0, 3, 6, 9, 12, 15, 81, 84, 87);
    catena_type_free(&indexed);
    catena_type_free(&type);
    catena_type_free(&gapped);
}
END_TEST

START_TEST(columns_transpose)
{
    catena_datatype_t column;
    catena_datatype_t type;
    count_numbers();
    ck_assert_int_eq(catena_type_vector(3, 1, 4, CATENA_INT32, &column),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_resized(column, 0, 4, &type), CATENA_OK);
    PACKS_TO(type, numbers, 4, 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    int32_t in[12];
    int32_t out[12];
    ctn_type_pack(type, numbers, 0, sizeof(in), in);
    ctn_type_unpack(type, out, 0, 17, in);
    ctn_type_unpack(type, out, 17, sizeof(out) - 17,
                    (const unsigned char *)in + 17);
    ck_assert_mem_eq(out, numbers, sizeof(out));
    catena_type_free(&type);
    catena_type_free(&column);
}
END_TEST

/** No data: nothing is copied, nothing is touched. */
static void is_empty(catena_datatype_t type, ptrdiff_t extent)
{
    ck_assert_uint_eq(catena_datatype_size(type), 0);
    bounds_are(type, 0, extent);
    ck_assert_uint_eq(ctn_type_pack(type, NULL, 0, 8, NULL), 0);
    ck_assert_uint_eq(ctn_type_unpack(type, NULL, 0, 8, NULL), 0);
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
}

START_TEST(zero_counts)
{
    catena_datatype_t type;
    catena_datatype_t outer;
    const size_t zeros[] = {0, 0};
    const ptrdiff_t far[] = {PTRDIFF_MAX, PTRDIFF_MIN};
    const size_t sizes[] = {4, 5};
    const size_t none[] = {2, 0};
    const size_t starts[] = {2, 5};
    ck_assert_int_eq(catena_type_contiguous(0, CATENA_DOUBLE, &type),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_resized(type, 0, 16, &outer), CATENA_OK);
    is_empty(type, 0);
    ck_assert_int_eq(catena_type_contiguous(3, outer, &type), CATENA_OK);
    is_empty(outer, 16);
    is_empty(type, 48);
    ck_assert_int_eq(
        catena_type_vector(0, 3, PTRDIFF_MAX, CATENA_DOUBLE, &type), CATENA_OK);
    is_empty(type, 0);
    ck_assert_int_eq(
        catena_type_vector(3, 0, PTRDIFF_MAX, CATENA_DOUBLE, &type), CATENA_OK);
    is_empty(type, 0);
    ck_assert_int_eq(catena_type_indexed(0, NULL, NULL, CATENA_INT8, &type),
                     CATENA_OK);
    is_empty(type, 0);
    ck_assert_int_eq(catena_type_indexed(2, zeros, far, CATENA_DOUBLE, &type),
                     CATENA_OK);
    is_empty(type, 0);
    ck_assert_int_eq(catena_type_subarray(2, sizes, none, starts,
                                          CATENA_ORDER_C, CATENA_INT32, &type),
                     CATENA_OK);
    is_empty(type, 80);
    unsigned char byte;
    ck_assert_uint_eq(ctn_type_pack(CATENA_INT32, NULL, 7, 0, &byte), 0);
}
END_TEST

/* ---- lives ---- */

START_TEST(freed_while_used)
{
    catena_datatype_t inner;
    catena_datatype_t middle;
    catena_datatype_t outer;
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 5};
    count_numbers();
    ck_assert_int_eq(
        catena_type_indexed(2, lengths, places, CATENA_INT32, &inner),
        CATENA_OK);
    ck_assert_int_eq(catena_type_resized(inner, 0, 40, &middle), CATENA_OK);
    ck_assert_int_eq(catena_type_contiguous(2, middle, &outer), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&inner), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&middle), CATENA_OK);
    PACKS_TO(outer, numbers, 1, 0, 1, 5, 10, 11, 15);
    catena_datatype_t operation = ctn_type_hold(outer);
    ck_assert_int_eq(catena_type_free(&outer), CATENA_OK);
    ck_assert_ptr_null(outer);
    PACKS_TO(operation, numbers, 1, 0, 1, 5, 10, 11, 15);
    ctn_type_drop(operation);
    ck_assert_int_eq(catena_type_free(&outer), CATENA_ERR_ARG);
}
END_TEST

/** Also: a long way down does not recurse. */
START_TEST(long_chains_are_dropped)
{
    catena_datatype_t type;
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 5};
    ck_assert_int_eq(
        catena_type_indexed(2, lengths, places, CATENA_INT32, &type),
        CATENA_OK);
    for (size_t i = 0; i < 100000; i++) {
        catena_datatype_t next;
        ck_assert_int_eq(catena_type_resized(type, 0, 24, &next), CATENA_OK);
        catena_type_free(&type);
        type = next;
    }
    catena_type_free(&type);
}
END_TEST

/* ---- refusals ---- */

static catena_datatype_t untouched = CATENA_INT16;

static void refused(catena_status_t status, catena_datatype_t out)
{
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    ck_assert_ptr_eq(out, untouched);
}

START_TEST(bad_arguments)
{
    catena_datatype_t out = untouched;
    catena_datatype_t null = NULL;
    const size_t one[] = {1};
    const size_t two[] = {2};
    const size_t zero[] = {0};
    const ptrdiff_t place[] = {1};
    ptrdiff_t bound;
    refused(catena_type_contiguous(1, NULL, &out), out);
    refused(catena_type_vector(1, 1, 1, NULL, &out), out);
    refused(catena_type_hvector(1, 1, 1, NULL, &out), out);
    refused(catena_type_indexed(1, one, place, NULL, &out), out);
    refused(catena_type_indexed(1, NULL, place, CATENA_INT8, &out), out);
    refused(catena_type_indexed(1, one, NULL, CATENA_INT8, &out), out);
    refused(catena_type_hindexed(1, one, place, NULL, &out), out);
    refused(catena_type_resized(NULL, 0, 1, &out), out);
    refused(catena_type_contiguous(1, CATENA_INT8, NULL), out);
    refused(catena_type_vector(1, 1, 1, CATENA_INT8, NULL), out);
    refused(catena_type_indexed(1, one, place, CATENA_INT8, NULL), out);
    refused(catena_type_hindexed(1, one, place, CATENA_INT8, NULL), out);
    refused(catena_type_resized(CATENA_INT8, 0, 1, NULL), out);
    refused(catena_type_free(NULL), out);
    refused(catena_type_free(&null), out);
    refused(catena_datatype_extent(NULL, &bound, &bound), out);
    refused(catena_datatype_extent(CATENA_INT8, NULL, &bound), out);
    ck_assert_uint_eq(catena_datatype_size(NULL), 0);
#define SUBARRAY(ndims, sizes, subsizes, starts, order, old)                   \
    refused(catena_type_subarray(ndims, sizes, subsizes, starts, order, old,   \
                                 &out),                                        \
            out)
    SUBARRAY(0, one, one, zero, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, NULL, one, zero, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, one, NULL, zero, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, one, one, NULL, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, one, one, zero, (catena_order_t)7, CATENA_INT8);
    SUBARRAY(1, one, one, zero, CATENA_ORDER_C, NULL);
    SUBARRAY(1, one, two, zero, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, two, one, two, CATENA_ORDER_C, CATENA_INT8);
    SUBARRAY(1, two, one, &(size_t){SIZE_MAX}, CATENA_ORDER_C, CATENA_INT8);
}
END_TEST

START_TEST(overflows)
{
    catena_datatype_t out = untouched;
    catena_datatype_t wide;
    const size_t huge = (size_t)PTRDIFF_MAX / 8 + 1;
    const ptrdiff_t far = PTRDIFF_MAX / 8 + 1;
    const size_t ones[] = {1, 1, 1};
    const size_t many[] = {SIZE_MAX / 2, SIZE_MAX / 2, 2};
    const size_t sizes[] = {huge, 2};
    refused(catena_type_contiguous(huge, CATENA_DOUBLE, &out), out);
    refused(catena_type_contiguous(SIZE_MAX, CATENA_DOUBLE, &out), out);
    refused(catena_type_vector(2, 1, far, CATENA_DOUBLE, &out), out);
    refused(catena_type_vector(2, 1, -far - 1, CATENA_DOUBLE, &out), out);
    refused(catena_type_hvector(2, 1, PTRDIFF_MAX, CATENA_DOUBLE, &out), out);
    refused(catena_type_hvector(3, 1, PTRDIFF_MIN, CATENA_DOUBLE, &out), out);
    refused(catena_type_hvector(SIZE_MAX, 3, 0, CATENA_DOUBLE, &out), out);
    refused(catena_type_indexed(1, ones, &far, CATENA_DOUBLE, &out), out);
    refused(catena_type_indexed(1, many, (const ptrdiff_t[]){0}, CATENA_DOUBLE,
                                &out),
            out);
    refused(catena_type_hindexed(1, ones, &(ptrdiff_t){PTRDIFF_MAX},
                                 CATENA_DOUBLE, &out),
            out);
    refused(catena_type_hindexed(
                2, ones, (const ptrdiff_t[]){PTRDIFF_MIN, PTRDIFF_MAX - 8},
                CATENA_DOUBLE, &out),
            out);
    /* Uneven, so that it takes the longer way. */
    refused(catena_type_hindexed(3, ones,
                                 (const ptrdiff_t[]){0, 99, PTRDIFF_MAX - 7},
                                 CATENA_DOUBLE, &out),
            out);
    refused(catena_type_hindexed(3, ones,
                                 (const ptrdiff_t[]){0, -PTRDIFF_MAX / 2 - 9,
                                                     PTRDIFF_MAX / 2 + 9},
                                 CATENA_DOUBLE, &out),
            out);
    refused(catena_type_subarray(2, sizes, ones, (const size_t[]){0, 0},
                                 CATENA_ORDER_C, CATENA_INT64, &out),
            out);
    refused(catena_type_resized(CATENA_DOUBLE, PTRDIFF_MAX, 1, &out), out);
    refused(catena_type_resized(CATENA_DOUBLE, -1, PTRDIFF_MIN, &out), out);
    /* Merged lengths, and the stream of elements that overlap. */
    ck_assert_int_eq(catena_type_resized(CATENA_DOUBLE, 0, 0, &wide),
                     CATENA_OK);
    refused(
        catena_type_hindexed(3, many, (const ptrdiff_t[]){0, 0, 0}, wide, &out),
        out);
    refused(
        catena_type_hindexed(3, many, (const ptrdiff_t[]){0, 8, 5}, wide, &out),
        out);
    catena_type_free(&wide);
    /* The largest there is. */
    ck_assert_int_eq(catena_type_contiguous(PTRDIFF_MAX, CATENA_BYTE, &out),
                     CATENA_OK);
    ck_assert_int_eq(out->true_high, PTRDIFF_MAX);
    catena_type_free(&out);
}
END_TEST

/** Twice over, in the same place and 1 byte on in turn: no two levels merge,
 * and the stream outgrows size_t before there are more levels than its bits. */
START_TEST(deepest)
{
    catena_datatype_t type;
    ck_assert_int_eq(catena_type_contiguous(1, CATENA_BYTE, &type), CATENA_OK);
    for (uint32_t depth = 0; depth < 63; depth++) {
        catena_datatype_t next;
        ck_assert_int_eq(
            catena_type_hvector(2, 1, depth % 2 ? 3 : 0, type, &next),
            CATENA_OK);
        ck_assert_uint_eq(next->depth, depth + 1);
        catena_type_free(&type);
        type = next;
    }
    catena_datatype_t out = untouched;
    refused(catena_type_hvector(2, 1, 3, type, &out), out);
    unsigned char memory[94];
    unsigned char copied[100];
    ck_assert_int_eq(type->true_high, sizeof(memory));
    for (size_t i = 0; i < sizeof(memory); i++) {
        memory[i] = (unsigned char)i;
    }
    size_t from = ((size_t)1 << 63) - sizeof(copied);
    ctn_type_pack(type, memory, from, sizeof(copied), copied);
    for (size_t i = 0; i < sizeof(copied); i++) {
        size_t odd_bits = (from + i) & 0xaaaaaaaaaaaaaaaa;
        ck_assert_uint_eq(copied[i], 3 * __builtin_popcountll(odd_bits));
    }
    catena_type_free(&type);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, random_types_match_their_maps, 0, 8);
    tcase_add_test(tcase, fixed_types_are_dense);
    tcase_add_test(tcase, contiguous_stays_dense);
    tcase_add_test(tcase, vectors);
    tcase_add_test(tcase, negative_strides);
    tcase_add_test(tcase, indexed_types);
    tcase_add_test(tcase, indexed_types_become_regular);
    tcase_add_test(tcase, subarrays);
    tcase_add_test(tcase, resized_has_gaps);
    tcase_add_test(tcase, columns_transpose);
    tcase_add_test(tcase, zero_counts);
    tcase_add_test(tcase, freed_while_used);
    tcase_add_test(tcase, long_chains_are_dropped);
    tcase_add_test(tcase, bad_arguments);
    tcase_add_test(tcase, overflows);
    tcase_add_test(tcase, deepest);
}

int main(void)
{
    return unit_main("type", 100, add_cases);
}
