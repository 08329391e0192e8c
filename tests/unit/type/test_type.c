/* Datatypes without ranks: levels, lifetimes, invalid arguments.
 * test_type_maps.c compares constructed types with lists of offsets. */

#include <stdlib.h>
#include <string.h>

#include "oracle/elements.h"
#include "type/datatype.h"

#include "unit/unit.h"

static void bounds_are(catena_type_t type, ptrdiff_t lower, ptrdiff_t extent)
{
    ptrdiff_t lower_found;
    ptrdiff_t extent_found;
    ck_assert_int_eq(catena_type_extent(type, &lower_found, &extent_found),
                     CATENA_OK);
    ck_assert_int_eq(lower_found, lower);
    ck_assert_int_eq(extent_found, extent);
}

/* ---- handles ---- */

/** Predefined handles are constants: they may stand in static initializers. */
static const struct {
    catena_type_t type;
    const char *name;
} fixed[] = {
#define ROW(name, handle, ctype) {handle, #name},
    ORACLE_EACH_TYPE(ROW)
#undef ROW
};
enum { FIXED = sizeof(fixed) / sizeof(fixed[0]) };

/** Every value below the first pointer is a fixed type or none, and each type
 * has one. A pointer is itself. */
START_TEST(handles)
{
    size_t found = 0;
    for (uintptr_t value = 0; value < CTN_FIRST_POINTER; value++) {
        const ctn_type_t *type = ctn_type_of((catena_type_t)value);
        for (size_t i = 0; type != NULL && i < FIXED; i++) {
            if (fixed[i].type == (catena_type_t)value) {
                ck_assert_str_eq(type->name, fixed[i].name);
                ck_assert_ptr_eq(ctn_type_handle(type), fixed[i].type);
                found++;
                type = NULL;
            }
        }
        ck_assert_ptr_null(type);
    }
    ck_assert_uint_eq(found, FIXED);
    catena_type_t derived;
    ck_assert_int_eq(catena_type_contiguous(2, CATENA_INT8, &derived),
                     CATENA_OK);
    ck_assert_ptr_eq(ctn_type_handle(ctn_type_of(derived)), derived);
    ck_assert_int_eq(catena_type_free(&derived), CATENA_OK);
}
END_TEST

/** NULL, an operation, an unused number. */
START_TEST(bad_handles)
{
    static const catena_type_t bad[] = {NULL, (catena_type_t)CATENA_SUM,
                                        (catena_type_t)0x1ff};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        catena_type_t type = bad[i];
        catena_type_t out = CATENA_INT16;
        ptrdiff_t lower, extent;
        ck_assert_int_eq(catena_type_contiguous(1, type, &out), CATENA_ERR_ARG);
        ck_assert_int_eq(catena_type_resized(type, 0, 8, &out), CATENA_ERR_ARG);
        ck_assert_ptr_eq(out, CATENA_INT16);
        ck_assert_uint_eq(catena_type_size(type), 0);
        ck_assert_int_eq(catena_type_extent(type, &lower, &extent),
                         CATENA_ERR_ARG);
        ck_assert_int_eq(catena_type_free(&type),
                         bad[i] == NULL ? CATENA_OK : CATENA_ERR_ARG);
        ck_assert_ptr_eq(type, bad[i]);
    }
}
END_TEST

static const catena_type_t untouched = CATENA_INT16;

static void refused(catena_status_t status, catena_type_t out)
{
    ck_assert_int_eq(status, CATENA_ERR_ARG);
    ck_assert_ptr_eq(out, untouched);
}

/* ---- levels ---- */

static void levels_are(catena_status_t made, catena_type_t *type,
                       uint32_t depth, size_t run)
{
    ck_assert_int_eq(made, CATENA_OK);
    ck_assert_uint_eq(ctn_type_of(*type)->depth, depth);
    ck_assert_uint_eq(ctn_type_of(*type)->run, run);
    ck_assert(depth == 0 ||
              ctn_type_of(*type)->level[0].kind == CTN_LEVEL_STRIDED);
    ck_assert_int_eq(catena_type_free(type), CATENA_OK);
}

/** A type has no more levels than its data needs, in whatever way it was
 * constructed. */
START_TEST(few_levels)
{
    catena_type_t type;
    catena_type_t row;
    const size_t ones[] = {1, 1, 1, 1};
    const ptrdiff_t even[] = {3, 5, 7, 9};
    const ptrdiff_t touching[] = {0, 1, 2, 3};
    levels_are(catena_type_vector(3, 2, 2, CATENA_INT32, &type), &type, 0, 24);
    levels_are(catena_type_vector(3, 2, 4, CATENA_INT32, &type), &type, 1, 8);
    levels_are(catena_type_indexed(4, ones, even, CATENA_INT32, &type), &type,
               1, 4);
    levels_are(catena_type_indexed(4, ones, touching, CATENA_INT32, &type),
               &type, 0, 16);
    levels_are(catena_type_subarray(
                   2, (const size_t[]){4, 5}, (const size_t[]){2, 5},
                   (const size_t[]){1, 0}, CATENA_ORDER_C, CATENA_INT32, &type),
               &type, 0, 40);
    /* Backwards by rows and by columns. */
    ck_assert_int_eq(catena_type_vector(4, 1, -1, CATENA_INT32, &row),
                     CATENA_OK);
    levels_are(catena_type_hvector(2, 1, -16, row, &type), &type, 1, 4);
    ck_assert_int_eq(catena_type_free(&row), CATENA_OK);
    /* One row for all elements. */
    ck_assert_int_eq(catena_type_resized(CATENA_INT32, -4, 12, &row),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_contiguous(3, row, &type), CATENA_OK);
    ck_assert_uint_eq(ctn_type_of(type)->stream_depth, 0);
    ck_assert_int_eq(ctn_type_of(type)->stream_stride, 12);
    ck_assert_int_eq(catena_type_free(&row), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
}
END_TEST

/** No data: nothing is copied or written. */
static void is_empty(catena_type_t type, ptrdiff_t extent)
{
    ck_assert_uint_eq(catena_type_size(type), 0);
    bounds_are(type, 0, extent);
    ck_assert_uint_eq(ctn_type_pack(ctn_type_of(type), NULL, 0, 8, NULL), 0);
    ck_assert_uint_eq(ctn_type_unpack(ctn_type_of(type), NULL, 0, 8, NULL), 0);
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
}

START_TEST(zero_counts)
{
    catena_type_t type;
    catena_type_t outer;
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
    ck_assert_uint_eq(
        ctn_type_pack(ctn_type_of(CATENA_INT32), NULL, 7, 0, &byte), 0);
}
END_TEST

/* ---- structs and addresses ---- */

/** A struct takes the form with the least work. */
START_TEST(forms_of_structs)
{
    static const catena_type_t types[] = {CATENA_INT32, CATENA_DOUBLE,
                                          CATENA_BYTE};
    const size_t ones[] = {1, 1, 1};
    const ptrdiff_t packed[] = {0, 4, 12};
    const ptrdiff_t aligned[] = {0, 8, 16};
    catena_type_t type, row, outer;
    levels_are(catena_type_struct(3, ones, packed, types, &type), &type, 0, 13);
    /* Bytes at displacements: no type for each member. */
    ck_assert_int_eq(catena_type_struct(3, ones, aligned, types, &type),
                     CATENA_OK);
    ck_assert_int_eq(ctn_type_of(type)->level[0].kind, CTN_LEVEL_INDEXED);
    ck_assert_uint_eq(ctn_type_of(type)->level[0].count, 2);
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
    /* A struct in a struct is replaced by its members. */
    ck_assert_int_eq(catena_type_vector(2, 1, 2, CATENA_INT16, &row),
                     CATENA_OK);
    ck_assert_int_eq(
        catena_type_struct(2, ones, aligned,
                           (const catena_type_t[]){row, CATENA_INT32}, &type),
        CATENA_OK);
    ck_assert_int_eq(catena_type_struct(2, ones, (const ptrdiff_t[]){100, 0},
                                        (const catena_type_t[]){type, row},
                                        &outer),
                     CATENA_OK);
    ck_assert_int_eq(catena_type_free(&row), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
    const ctn_type_t *of = ctn_type_of(outer);
    ck_assert_uint_eq(of->depth, 1);
    ck_assert_int_eq(of->level[0].kind, CTN_LEVEL_MEMBERS);
    ck_assert_uint_eq(of->level[0].count, 3);
    ck_assert_uint_eq(of->level[0].member[1]->depth, 0);
    ck_assert_int_eq(catena_type_free(&outer), CATENA_OK);
}
END_TEST

START_TEST(bad_structs)
{
    catena_type_t out = untouched;
    const size_t lengths[] = {1, SIZE_MAX / 4};
    const ptrdiff_t far[] = {PTRDIFF_MIN, PTRDIFF_MAX - 8};
    const ptrdiff_t zeros[] = {0, 0};
    const size_t ones[] = {1, 1};
    catena_type_t types[] = {CATENA_INT16, CATENA_DOUBLE};
    refused(catena_type_struct(2, lengths, zeros, types, &out), out);
    refused(catena_type_struct(2, ones, far, types, &out), out);
    types[1] = (catena_type_t)0x1ff;
    refused(catena_type_struct(2, ones, zeros, types, &out), out);
}
END_TEST

/** A type of two variables, from the address 0. */
START_TEST(absolute_addresses)
{
    int32_t first = 7;
    double second[] = {1.5, 2.5};
    const size_t lengths[] = {2, 1};
    const catena_type_t types[] = {CATENA_DOUBLE, CATENA_INT32};
    ptrdiff_t at[2];
    unsigned char expected[20], found[20];
    catena_type_t type;
    ck_assert_int_eq(catena_get_address(second, &at[0]), CATENA_OK);
    ck_assert_int_eq(catena_get_address(&first, &at[1]), CATENA_OK);
    ck_assert_int_eq(catena_type_struct(2, lengths, at, types, &type),
                     CATENA_OK);
    memcpy(expected, second, sizeof(second));
    memcpy(expected + sizeof(second), &first, sizeof(first));
    ck_assert_uint_eq(
        ctn_type_pack(ctn_type_of(type), CATENA_BOTTOM, 0, 20, found), 20);
    ck_assert_mem_eq(found, expected, 20);
    ck_assert(!ctn_type_is_missing(ctn_type_of(type), CATENA_BOTTOM, 1));
    ck_assert_int_eq(catena_type_free(&type), CATENA_OK);
}
END_TEST

/** NULL is a buffer only of types with addresses, and of no data. */
START_TEST(missing_buffers)
{
    const ctn_type_t *fixed_type = ctn_type_of(CATENA_INT32);
    catena_type_t near, far, empty;
    const size_t one = 1;
    ck_assert_int_eq(
        catena_type_hindexed(1, &one, &(ptrdiff_t){4095}, CATENA_INT8, &near),
        CATENA_OK);
    ck_assert_int_eq(
        catena_type_hindexed(1, &one, &(ptrdiff_t){4096}, CATENA_INT8, &far),
        CATENA_OK);
    ck_assert_int_eq(catena_type_contiguous(0, CATENA_INT8, &empty), CATENA_OK);
    ck_assert(ctn_type_is_missing(fixed_type, NULL, 1));
    ck_assert(!ctn_type_is_missing(fixed_type, NULL, 0));
    ck_assert(!ctn_type_is_missing(fixed_type, &one, 1));
    ck_assert(ctn_type_is_missing(ctn_type_of(near), NULL, 1));
    ck_assert(!ctn_type_is_missing(ctn_type_of(far), NULL, 1));
    ck_assert(!ctn_type_is_missing(ctn_type_of(empty), NULL, 1));
    ck_assert_int_eq(catena_type_free(&near), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&far), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&empty), CATENA_OK);
}
END_TEST

/* ---- lifetimes ---- */

/** The types that it is derived from are freed first; it is freed while an
 * operation uses it. */
START_TEST(freed_while_used)
{
    catena_type_t inner;
    catena_type_t middle;
    catena_type_t outer;
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 5};
    const int32_t expected[] = {0, 1, 5, 10, 11, 15};
    int32_t numbers[16];
    int32_t out[6];
    for (int32_t i = 0; i < 16; i++) {
        numbers[i] = i;
    }
    ck_assert_int_eq(
        catena_type_indexed(2, lengths, places, CATENA_INT32, &inner),
        CATENA_OK);
    ck_assert_int_eq(catena_type_resized(inner, 0, 40, &middle), CATENA_OK);
    ck_assert_int_eq(catena_type_contiguous(2, middle, &outer), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&inner), CATENA_OK);
    ck_assert_int_eq(catena_type_free(&middle), CATENA_OK);
    const ctn_type_t *operation = ctn_type_hold(ctn_type_of(outer));
    ck_assert_int_eq(catena_type_free(&outer), CATENA_OK);
    ck_assert_ptr_null(outer);
    ck_assert_uint_eq(ctn_type_pack(operation, numbers, 0, sizeof(out), out),
                      sizeof(out));
    ck_assert_mem_eq(out, expected, sizeof(out));
    ctn_type_drop(operation);
    /* Predefined types cannot be freed. */
    outer = CATENA_DOUBLE;
    ctn_type_drop(ctn_type_hold(ctn_type_of(outer)));
    ck_assert_int_eq(catena_type_free(&outer), CATENA_ERR_ARG);
    ck_assert_ptr_eq(outer, CATENA_DOUBLE);
}
END_TEST

/** Also: freeing a long chain of types does not recurse. */
START_TEST(long_chains_are_dropped)
{
    catena_type_t type;
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 5};
    ck_assert_int_eq(
        catena_type_indexed(2, lengths, places, CATENA_INT32, &type),
        CATENA_OK);
    for (size_t i = 0; i < 100000; i++) {
        catena_type_t next;
        ck_assert_int_eq(catena_type_resized(type, 0, 24, &next), CATENA_OK);
        catena_type_free(&type);
        type = next;
    }
    catena_type_free(&type);
}
END_TEST

/* ---- invalid arguments ---- */

/** Invalid subarrays; test_arguments.c tests NULL. */
START_TEST(bad_boxes)
{
    static const struct {
        size_t ndims, size, subsize, start;
        catena_order_t order;
    } boxes[] = {{0, 1, 1, 0, CATENA_ORDER_C},
                 {1, 1, 1, 0, (catena_order_t)7},
                 {1, 1, 2, 0, CATENA_ORDER_C},
                 {1, 2, 1, 2, CATENA_ORDER_C},
                 {1, 2, 1, SIZE_MAX, CATENA_ORDER_C}};
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        catena_type_t out = untouched;
        catena_status_t status = catena_type_subarray(
            boxes[i].ndims, &boxes[i].size, &boxes[i].subsize, &boxes[i].start,
            boxes[i].order, CATENA_INT8, &out);
        refused(status, out);
    }
}
END_TEST

START_TEST(overflows)
{
    catena_type_t out = untouched;
    catena_type_t wide;
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
    /* irregular, to take the slow path */
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
    /* Merged lengths, and the stream of overlapping elements. */
    ck_assert_int_eq(catena_type_resized(CATENA_DOUBLE, 0, 0, &wide),
                     CATENA_OK);
    refused(
        catena_type_hindexed(3, many, (const ptrdiff_t[]){0, 0, 0}, wide, &out),
        out);
    refused(
        catena_type_hindexed(3, many, (const ptrdiff_t[]){0, 8, 5}, wide, &out),
        out);
    catena_type_free(&wide);
    /* the largest possible type */
    ck_assert_int_eq(catena_type_contiguous(PTRDIFF_MAX, CATENA_BYTE, &out),
                     CATENA_OK);
    ck_assert_int_eq(ctn_type_of(out)->true_high, PTRDIFF_MAX);
    catena_type_free(&out);
}
END_TEST

/** Alternately twice in the same place and 1 byte apart: no two levels merge,
 * and the stream outgrows size_t before there are more levels than its bits. */
START_TEST(deepest)
{
    catena_type_t type;
    ck_assert_int_eq(catena_type_contiguous(1, CATENA_BYTE, &type), CATENA_OK);
    for (uint32_t depth = 0; depth < 63; depth++) {
        catena_type_t next;
        ck_assert_int_eq(
            catena_type_hvector(2, 1, depth % 2 ? 3 : 0, type, &next),
            CATENA_OK);
        ck_assert_uint_eq(ctn_type_of(next)->depth, depth + 1);
        catena_type_free(&type);
        type = next;
    }
    catena_type_t out = untouched;
    refused(catena_type_hvector(2, 1, 3, type, &out), out);
    unsigned char memory[94];
    unsigned char copied[100];
    ck_assert_int_eq(ctn_type_of(type)->true_high, sizeof(memory));
    for (size_t i = 0; i < sizeof(memory); i++) {
        memory[i] = (unsigned char)i;
    }
    size_t from = ((size_t)1 << 63) - sizeof(copied);
    ctn_type_pack(ctn_type_of(type), memory, from, sizeof(copied), copied);
    for (size_t i = 0; i < sizeof(copied); i++) {
        size_t odd_bits = (from + i) & 0xaaaaaaaaaaaaaaaa;
        ck_assert_uint_eq(copied[i], 3 * __builtin_popcountll(odd_bits));
    }
    catena_type_free(&type);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, handles);
    tcase_add_test(tcase, bad_handles);
    tcase_add_test(tcase, few_levels);
    tcase_add_test(tcase, zero_counts);
    tcase_add_test(tcase, forms_of_structs);
    tcase_add_test(tcase, bad_structs);
    tcase_add_test(tcase, absolute_addresses);
    tcase_add_test(tcase, missing_buffers);
    tcase_add_test(tcase, freed_while_used);
    tcase_add_test(tcase, long_chains_are_dropped);
    tcase_add_test(tcase, bad_boxes);
    tcase_add_test(tcase, overflows);
    tcase_add_test(tcase, deepest);
}

UNIT_TEST(type)
{
    return unit_main("type", 100, add_cases);
}
