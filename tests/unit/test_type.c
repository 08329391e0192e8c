/* Datatypes without ranks, each by hand: constructors, lives, refusals. */

#include <stdlib.h>
#include <string.h>

#include "type/datatype.h"

#include "unit.h"

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
