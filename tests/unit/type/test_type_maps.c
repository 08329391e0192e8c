/* Random datatypes without ranks against explicit lists of byte offsets,
 * computed from MPI's definitions. */

#include <stdlib.h>
#include <string.h>

#include "oracle/elements.h"
#include "oracle/random.h"
#include "type/datatype.h"

#include "unit/unit.h"

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

static void map_fixed(map_t *map, catena_type_t type)
{
    map->bytes = catena_type_size(type);
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

/** Append one copy of an element. */
static void map_append(map_t *map, bool first, const map_t *element,
                       ptrdiff_t at)
{
    if (first || at + element->lower < map->lower) {
        map->lower = at + element->lower;
    }
    if (first || at + element->upper > map->upper) {
        map->upper = at + element->upper;
    }
    for (size_t i = 0; i < element->bytes; i++) {
        map->offset[map->bytes++] = at + element->offset[i];
    }
}

static bool map_fits(const map_t *map)
{
    return map->lower >= -MOST_SPAN && map->upper <= MOST_SPAN &&
           true_low(map) >= -MOST_SPAN && true_high(map) <= MOST_SPAN;
}

/** @return false: too large for this test; *map is unchanged */
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
        map_append(map, c == 0, &old, copies->at[c]);
    }
    if (!map_fits(map)) {
        *map = old;
        return false;
    }
    return true;
}

/* ---- random types ---- */

static uint64_t random_state;

static size_t below(size_t limit)
{
    return ctn_random_below(&random_state, limit);
}

/** Usually positive; sometimes 0 or negative. */
static ptrdiff_t any_stride(size_t usual)
{
    return (ptrdiff_t)below(usual + 3) - (below(3) == 0 ? (ptrdiff_t)usual : 0);
}

typedef struct step {
    map_t *map;
    catena_type_t old;
    catena_type_t type;
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
    bool touching = below(2); /* often blocks that can be merged */
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
    /* the constructor kept no pointer to the arrays */
    memset(lengths, 0xff, sizeof(lengths));
    memset(places, 0xff, sizeof(places));
    return true;
}

static bool step_blocks(step_t *s)
{
    enum { MOST = 12 };
    ptrdiff_t places[MOST];
    size_t count = below(MOST + 1);
    size_t length = below(4);
    bool in_bytes = below(2);
    ptrdiff_t unit = in_bytes ? 1 : map_extent(s->map);
    for (size_t i = 0; i < count; i++) {
        places[i] = any_stride(in_bytes ? 90 : 30);
        for (size_t j = 0; j < length; j++) {
            copies_add(&s->copies,
                       places[i] * unit + (ptrdiff_t)j * map_extent(s->map));
        }
    }
    if (!map_copy(s->map, &s->copies)) {
        return false;
    }
    ck_assert_int_eq(in_bytes ? catena_type_hindexed_block(
                                    count, length, places, s->old, &s->type)
                              : catena_type_indexed_block(count, length, places,
                                                          s->old, &s->type),
                     CATENA_OK);
    return true;
}

static catena_type_t some_fixed(void)
{
#define HANDLE(name, handle, ctype) handle,
    const catena_type_t fixed[] = {ORACLE_EACH_TYPE(HANDLE)};
#undef HANDLE
    return fixed[below(sizeof(fixed) / sizeof(fixed[0]))];
}

/** Members of the old type and of fixed types; often adjacent. */
static bool step_struct(step_t *s)
{
    enum { MOST = 6 };
    static map_t made, fixed;
    size_t lengths[MOST];
    ptrdiff_t places[MOST];
    catena_type_t types[MOST];
    size_t count = below(MOST + 1);
    ptrdiff_t end = 0;
    bool first = true;
    made = (map_t){.bytes = 0};
    for (size_t i = 0; i < count; i++) {
        types[i] = below(2) ? s->old : some_fixed();
        const map_t *map = s->map;
        if (types[i] != s->old) {
            map_fixed(&fixed, types[i]);
            map = &fixed;
        }
        lengths[i] = below(2) ? 1 : below(4);
        places[i] = below(2) ? end : any_stride(90);
        end = places[i] + (ptrdiff_t)lengths[i] * map_extent(map);
        for (size_t j = 0; j < lengths[i]; j++, first = false) {
            if (made.bytes + map->bytes > MOST_BYTES) {
                return false;
            }
            map_append(&made, first, map,
                       places[i] + (ptrdiff_t)j * map_extent(map));
        }
    }
    if (!map_fits(&made)) {
        return false;
    }
    *s->map = made;
    ck_assert_int_eq(
        catena_type_struct(count, lengths, places, types, &s->type), CATENA_OK);
    memset(lengths, 0xff, sizeof(lengths));
    memset(places, 0xff, sizeof(places));
    memset(types, 0xff, sizeof(types));
    return true;
}

static bool step_dup(step_t *s)
{
    ck_assert_int_eq(catena_type_dup(s->old, &s->type), CATENA_OK);
    return true;
}

/** Return whether element `linear` of the whole array is within the box. */
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

/** Return whether the packed stream equals the memory, for any count. */
static bool map_dense(const map_t *map)
{
    bool dense = map->lower == 0 && map->upper == (ptrdiff_t)map->bytes;
    for (size_t i = 0; i < map->bytes; i++) {
        dense &= map->offset[i] == (ptrdiff_t)i;
    }
    return dense;
}

static void check_levels(const ctn_type_t *type);

static size_t check_members(const ctn_level_t *l)
{
    bool one_type = true;
    ck_assert_uint_eq(l->start[0], 0);
    for (size_t i = 0; i < l->count; i++) {
        const ctn_type_t *member = l->member[i];
        size_t bytes = l->start[i + 1] - l->start[i];
        ck_assert_uint_gt(bytes, 0);
        ck_assert_uint_eq(bytes % member->bytes, 0);
        ck_assert(bytes > member->bytes || member->depth != 1 ||
                  member->level[0].kind != CTN_LEVEL_MEMBERS);
        one_type &= member == l->member[0];
        check_levels(member);
    }
    ck_assert(!one_type);
    return l->start[l->count];
}

/** The invariants of ctn_type_t. */
static void check_levels(const ctn_type_t *type)
{
    size_t bytes = type->run;
    for (uint32_t i = 0; i < type->depth; i++) {
        const ctn_level_t *l = &type->level[i];
        ck_assert_uint_gt(l->count, 1);
        if (l->kind == CTN_LEVEL_MEMBERS) {
            ck_assert_uint_eq(i, 0);
            bytes = check_members(l);
            ck_assert_uint_eq(l->bytes, bytes);
            continue;
        }
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

static void check_shape(catena_type_t handle, const map_t *map)
{
    const ctn_type_t *type = ctn_type_of(handle);
    ptrdiff_t lower;
    ptrdiff_t extent;
    ck_assert_int_eq(catena_type_extent(handle, &lower, &extent), CATENA_OK);
    ck_assert_uint_eq(catena_type_size(handle), map->bytes);
    ck_assert_int_eq(lower, map->lower);
    ck_assert_int_eq(extent, map_extent(map));
    ck_assert_int_eq(catena_type_true_extent(handle, &lower, &extent),
                     CATENA_OK);
    ck_assert_int_eq(lower, true_low(map));
    ck_assert_int_eq(extent, true_high(map) - true_low(map));
    ck_assert_int_eq(type->dense, map_dense(map));
    check_levels(type);
}

/* ---- elements in memory, and the oracle's stream ---- */

enum { MOST_ELEMENTS = 4 };

typedef struct elements {
    const ctn_type_t *type;
    const map_t *map;
    size_t count;
    size_t total; /* bytes of the stream */
    size_t span;  /* bytes of memory */
    ptrdiff_t low;
    unsigned char *memory; /* exactly the accessed bytes, so that any other
                              access is an error */
} elements_t;

static ptrdiff_t oracle(const elements_t *e, size_t at)
{
    return (ptrdiff_t)(at / e->map->bytes) * map_extent(e->map) +
           e->map->offset[at % e->map->bytes];
}

static void elements_make(elements_t *e, const ctn_type_t *type,
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

/** Unpack the whole stream in chunks, into memory with other contents. */
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

static void check_copies(catena_type_t type, const map_t *map, size_t count)
{
    elements_t e;
    elements_make(&e, ctn_type_of(type), map, count);
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

static void check_all(catena_type_t type, const map_t *map)
{
    check_shape(type, map);
    check_copies(type, map, 1 + below(MOST_ELEMENTS));
}

/** Depth 1 to 6; the inner types are freed before, between and after. */
static void random_type(void)
{
    static bool (*const steps[])(step_t *) = {
        step_contiguous, step_vector, step_indexed, step_subarray, step_resized,
        step_blocks,     step_struct, step_struct,  step_dup};
    static map_t map;
    static step_t s;
    catena_type_t later[6];
    size_t kept = 0;
    catena_type_t type = some_fixed();
    map_fixed(&map, type);
    for (size_t depth = 1 + below(6); depth > 0; depth--) {
        s.map = &map;
        s.old = type;
        s.copies.count = 0;
        if (!steps[below(sizeof(steps) / sizeof(steps[0]))](&s)) {
            continue;
        }
        if (ctn_type_of(type)->derived) {
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
    if (ctn_type_of(type)->derived) {
        ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
    }
}

START_TEST(random_types_match_their_maps)
{
    for (uint64_t seed = 1; seed <= 500; seed += unit_step(2)) {
        random_state = (uint64_t)_i * 500 + seed;
        random_type();
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, random_types_match_their_maps, 0, 8);
}

UNIT_TEST(type_maps)
{
    return unit_main("type_maps", 100, add_cases);
}
