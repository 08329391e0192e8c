/* Reduction operations without ranks: every operation on every type against its
 * definition, element by element. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/affine.h"
#include "oracle/content.h"
#include "oracle/elements.h"
#include "oracle/random.h"
#include "type/kernels.h"
#include "type/op.h"

#include "unit/unit.h"

enum { MOST = 1000 };

static const catena_op_t ops[] = {
#define OP(name, handle) handle,
    ORACLE_EACH_OP(OP)
#undef OP
};
static const catena_type_t types[] = {
#define TYPE(name, handle, ctype) handle,
    ORACLE_EACH_TYPE(TYPE)
#undef TYPE
};
enum {
    OPS = sizeof(ops) / sizeof(ops[0]),
    TYPES = sizeof(types) / sizeof(types[0])
};

static bool takes(catena_op_t op, catena_type_t type)
{
    return ctn_reduce_op_valid(ctn_reduce_op_of(op), ctn_type_of(type));
}

static ctn_reducer_t reducer(catena_op_t op, catena_type_t type)
{
    return (ctn_reducer_t){.op = ctn_reduce_op_of(op),
                           .type = ctn_type_of(type)};
}

static uint64_t random_state;

static uint64_t random_word(void)
{
    return ctn_random(&random_state);
}

/* ---- elements ---- */

/** Return the bytes of the floats that a type consists of; 0: none. */
static size_t part_of(int type)
{
    catena_type_t of = types[type];
    return of == CATENA_FLOAT || of == CATENA_COMPLEX_FLOAT     ? sizeof(float)
           : of == CATENA_DOUBLE || of == CATENA_COMPLEX_DOUBLE ? sizeof(double)
                                                                : 0;
}

static void draw_float(unsigned char *out, size_t bytes)
{
    static const double special[] = {-1, -0.0, 0, 1, NAN, INFINITY, -INFINITY};
    uint64_t word = random_word();
    double wide =
        word % 4 == 0 ? special[word / 4 % 7] : (double)(int64_t)word / 0x1p50;
    float narrow = (float)wide;
    if (bytes == sizeof(narrow)) {
        memcpy(out, &narrow, sizeof(narrow));
    } else {
        memcpy(out, &wide, sizeof(wide));
    }
}

/** Few different values, so that indices often decide; padding is random.
 * @return whether it is a pair */
static bool draw_pair(catena_type_t of, unsigned char *out)
{
#define PAIR(name, handle, ctype)                                              \
    if (of == handle) {                                                        \
        ctype pair;                                                            \
        oracle_fill(random_word(), sizeof(pair), &pair);                       \
        pair.value = (int16_t)(random_word() % 4) - 2;                         \
        pair.index = (int32_t)(random_word() % 8) - 4;                         \
        memcpy(out, &pair, sizeof(pair));                                      \
        return true;                                                           \
    }
    ORACLE_EACH_PAIR(PAIR)
#undef PAIR
    return false;
}

/** Draw an element: the oracle's, except for floats, because the oracle's
 * floats give exact results. */
static void draw(int op, int type, unsigned char *out)
{
    size_t bytes = catena_type_size(types[type]);
    size_t part = part_of(type);
    if (part == 0 && !draw_pair(types[type], out)) {
        oracle_element((unsigned)type, (unsigned)op + 1, random_word(), 0, 0,
                       out);
    }
    for (size_t at = 0; part > 0 && at < bytes; at += part) {
        draw_float(out + at, part);
    }
}

/* Products by their definition, also of infinities. */
#define MULTIPLY_COMPLEX(name, handle, part)                                   \
    static void multiply_complex_##name(const void *left, const void *right,   \
                                        void *out)                             \
    {                                                                          \
        part a[2], b[2], result[2];                                            \
        memcpy(a, left, sizeof(a));                                            \
        memcpy(b, right, sizeof(b));                                           \
        result[0] = a[0] * b[0] - a[1] * b[1];                                 \
        result[1] = a[0] * b[1] + a[1] * b[0];                                 \
        memcpy(out, result, sizeof(result));                                   \
    }
ORACLE_EACH_FLOAT(MULTIPLY_COMPLEX)

/** Compute the expected result for two elements. */
static void expect(int op, int type, const void *left, const void *right,
                   void *out)
{
    catena_type_t of = types[type];
    if (ops[op] == CATENA_PROD && of == CATENA_COMPLEX_FLOAT) {
        multiply_complex_float(left, right, out);
    } else if (ops[op] == CATENA_PROD && of == CATENA_COMPLEX_DOUBLE) {
        multiply_complex_double(left, right, out);
    } else {
        oracle_combine((unsigned)type, (unsigned)op + 1, left, right, out);
    }
}

static bool is_nan(const unsigned char *data, size_t bytes)
{
    float narrow;
    double wide = 0;
    memcpy(&narrow, data, sizeof(narrow));
    if (bytes == sizeof(wide)) {
        memcpy(&wide, data, sizeof(wide));
    }
    return bytes == sizeof(wide) ? isnan(wide) : isnan(narrow);
}

/** Any NaN equals any other. */
static bool same(int type, const unsigned char *found,
                 const unsigned char *expected)
{
    size_t bytes = catena_type_size(types[type]);
    size_t part = part_of(type);
    for (size_t at = 0; part > 0 && at < bytes; at += part) {
        if (memcmp(found + at, expected + at, part) != 0 &&
            !(is_nan(found + at, part) && is_nan(expected + at, part))) {
            return false;
        }
    }
    return part > 0 || memcmp(found, expected, bytes) == 0;
}

/* ---- predefined operations ---- */

enum { LARGEST = 16, BYTES = MOST * LARGEST, GUARD = 64 };

/** The buffer of the result. */
typedef enum place { APART, ON_LEFT, ON_RIGHT, PLACES } place_t;

typedef struct operands {
    unsigned char left[BYTES + 2 * GUARD];
    unsigned char right[BYTES + 2 * GUARD];
    unsigned char out[BYTES + 2 * GUARD];
} operands_t;

/** @param[in] shift 0, or operands are unaligned */
static void check_reduce(const ctn_kernels_t *kernels, int op, int type,
                         size_t count, place_t place, size_t shift)
{
    static operands_t before, after;
    size_t element = catena_type_size(types[type]);
    memset(&before, 0xa5, sizeof(before));
    for (size_t i = 0; i < count; i++) {
        draw(op, type, before.left + GUARD + shift + i * element);
        draw(op, type, before.right + GUARD + 3 * shift + i * element);
    }
    after = before;
    unsigned char *left = after.left + GUARD + shift;
    unsigned char *right = after.right + GUARD + 3 * shift;
    unsigned char *outs[] = {after.out + GUARD + 5 * shift, left, right};
    (*kernels)[op][type](left, right, outs[place], count);
    for (size_t i = 0; i < count; i++) {
        unsigned char expected[LARGEST];
        size_t at = GUARD + i * element;
        /* Check's own assertions write to a file each time. */
        expect(op, type, before.left + at + shift,
               before.right + at + 3 * shift, expected);
        if (!same(type, outs[place] + i * element, expected)) {
            ck_abort_msg("%s of %s: element %zu of %zu, place %d, shift %zu",
                         oracle_op_name((unsigned)op + 1),
                         oracle_type_name((unsigned)type), i, count, place,
                         shift);
        }
    }
    /* no other byte was written */
    unsigned char *olds[] = {before.out + GUARD + 5 * shift,
                             before.left + GUARD + shift,
                             before.right + GUARD + 3 * shift};
    memcpy(outs[place], olds[place], count * element);
    ck_assert_mem_eq(&before, &after, sizeof(before));
}

static void check_forms(const ctn_kernels_t *kernels, int op, int type)
{
    static const size_t counts[] = {0, 1, 3, 17, MOST};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (place_t place = 0; place < PLACES; place++) {
            check_reduce(kernels, op, type, counts[c], place, 0);
            check_reduce(kernels, op, type, counts[c], place, 1);
        }
    }
}

/** Also with kernels that catena does not select on this processor. */
START_TEST(every_type)
{
    size_t tables = 0;
    random_state = 1 + (uint64_t)_i;
    for (; ctn_kernels(tables) != NULL; tables++) {
        for (int type = 0; type < TYPES; type++) {
            bool defined = oracle_op_takes((unsigned)_i + 1, (unsigned)type);
            ck_assert(takes(ops[_i], types[type]) == defined);
            ck_assert(((*ctn_kernels(tables))[_i][type] != NULL) == defined);
            if (defined) {
                check_forms(ctn_kernels(tables), _i, type);
            }
        }
    }
    ck_assert_uint_ge(tables, 1);
}
END_TEST

/** The rules of catena/op.h, in numbers. */
START_TEST(promises)
{
    ctn_reducer_t max = reducer(CATENA_MAX, CATENA_DOUBLE);
    double a[] = {NAN, 1, 0.0, -0.0};
    double b[] = {1, NAN, -0.0, 0.0};
    double c[4];
    ctn_reduce(&max, a, b, c, sizeof(c));
    ck_assert(c[0] == 1 && isnan(c[1]) && signbit(c[2]) && !signbit(c[3]));

    ctn_reducer_t sum = reducer(CATENA_SUM, CATENA_INT64);
    int64_t most = INT64_MAX;
    ctn_reduce(&sum, &most, &(int64_t){1}, &most, sizeof(most));
    ck_assert(most == INT64_MIN);

    ctn_reducer_t at = reducer(CATENA_MINLOC, CATENA_DOUBLE_INT32);
    catena_double_int32_t left = {2.5, 7}, right = {2.5, 3};
    ctn_reduce(&at, &left, &right, &left, sizeof(left));
    ck_assert(left.value == 2.5 && left.index == 3);
    ck_assert_uint_eq(catena_type_size(CATENA_DOUBLE_INT32), sizeof(left));
}
END_TEST

/* ---- handles ---- */

/** Every value below the first pointer is a predefined operation or none, and
 * each operation has one. */
START_TEST(handles_of_operations)
{
    size_t found = 0;
    for (uintptr_t value = 0; value < CTN_FIRST_POINTER; value++) {
        const ctn_reduce_op_t *op = ctn_reduce_op_of((catena_op_t)value);
        for (int i = 0; op != NULL && i < OPS; i++) {
            if (ops[i] == (catena_op_t)value) {
                ck_assert_str_eq(op->name, oracle_op_name((unsigned)i + 1));
                found++;
                op = NULL;
            }
        }
        ck_assert_ptr_null(op);
    }
    ck_assert_uint_eq(found, OPS);
    ck_assert(ctn_reduce_op_of((catena_op_t)CATENA_INT32) == NULL);
}
END_TEST

/* ---- derived types ---- */

static void compose(const void *in, void *inout, size_t count,
                    catena_type_t type, void *argument);

/** Operands are streams, whatever the layout of the type. */
START_TEST(derived_types)
{
    catena_type_t row, rows, gaps, wide, nothing;
    ck_assert(catena_type_contiguous(7, CATENA_INT32, &row) == CATENA_OK);
    ck_assert(catena_type_vector(2, 3, 3, row, &rows) == CATENA_OK);
    ck_assert(catena_type_vector(2, 1, 2, CATENA_INT32, &gaps) == CATENA_OK);
    ck_assert(catena_type_resized(CATENA_INT32, 0, 8, &wide) == CATENA_OK);
    ck_assert(catena_type_contiguous(0, row, &nothing) == CATENA_OK);
    ck_assert(takes(CATENA_SUM, row) && takes(CATENA_SUM, rows));
    ck_assert(!takes(CATENA_MINLOC, rows));
    ck_assert(takes(CATENA_SUM, gaps) && takes(CATENA_SUM, wide));
    ck_assert(
        ctn_reduce_op_unit(ctn_reduce_op_of(CATENA_SUM), ctn_type_of(gaps)) ==
        ctn_type_of(CATENA_INT32));

    int32_t a[84], b[84];
    for (int i = 0; i < 84; i++) {
        a[i] = i;
        b[i] = 1000 * i;
    }
    ctn_reducer_t by = reducer(CATENA_SUM, rows);
    ctn_reduce(&by, a, b, b, sizeof(b));
    for (int i = 0; i < 84; i++) {
        ck_assert_int_eq(b[i], 1001 * i);
    }
    by.type = ctn_type_of(nothing);
    ck_assert(ctn_reduce_op_valid(by.op, by.type));
    ctn_reduce(&by, a, b, b, 0);
    ck_assert(catena_type_free(&row) == CATENA_OK);
    ck_assert(catena_type_free(&rows) == CATENA_OK);
    ck_assert(catena_type_free(&gaps) == CATENA_OK);
    ck_assert(catena_type_free(&wide) == CATENA_OK);
    ck_assert(catena_type_free(&nothing) == CATENA_OK);
}
END_TEST

/** Predefined operations take structs of one fixed type only. */
START_TEST(structs)
{
    const size_t lengths[] = {2, 1};
    const ptrdiff_t places[] = {0, 8};
    catena_type_t of[] = {CATENA_INT32, CATENA_DOUBLE};
    catena_type_t mixed, alike, rows;
    catena_op_t op;
    char text[300];
    ck_assert(catena_op_create(compose, NULL, 1, &op) == CATENA_OK);
    ck_assert(catena_type_struct(2, lengths, places, of, &mixed) == CATENA_OK);
    of[1] = CATENA_INT32;
    ck_assert(catena_type_struct(2, lengths, places, of, &alike) == CATENA_OK);
    ck_assert(catena_type_contiguous(2, mixed, &rows) == CATENA_OK);
    ck_assert(takes(CATENA_SUM, alike) && takes(op, alike));
    ck_assert(!takes(CATENA_SUM, mixed) && !takes(CATENA_BOR, mixed));
    ck_assert(takes(op, mixed) && takes(op, rows) && !takes(CATENA_SUM, rows));
    (void)ctn_reduce_op_mismatch(ctn_reduce_op_of(CATENA_SUM),
                                 ctn_type_of(rows), text, sizeof(text));
    ck_assert(strstr(text, "several fixed types") != NULL);
    ck_assert(catena_type_free(&mixed) == CATENA_OK);
    ck_assert(catena_type_free(&alike) == CATENA_OK);
    ck_assert(catena_type_free(&rows) == CATENA_OK);
    ck_assert(catena_op_free(&op) == CATENA_OK);
}
END_TEST

START_TEST(mismatches_are_described)
{
    char text[300];
    const char *said =
        ctn_reduce_op_mismatch(ctn_reduce_op_of(CATENA_PROD),
                               ctn_type_of(CATENA_BYTE), text, sizeof(text));
    for (int type = 0; type < TYPES; type++) {
        ck_assert(
            (strstr(said, oracle_type_name((unsigned)type)) != NULL) ==
            (types[type] == CATENA_BYTE || takes(CATENA_PROD, types[type])));
    }
    for (size_t bytes = 1; bytes < sizeof(text); bytes++) {
        memset(text, 'x', sizeof(text));
        ctn_reduce_op_mismatch(ctn_reduce_op_of(CATENA_SUM),
                               ctn_type_of(CATENA_BYTE), text, bytes);
        ck_assert_uint_lt(strnlen(text, bytes), bytes);
        ck_assert(text[bytes] == 'x');
    }
}
END_TEST

/* ---- functions of the application ---- */

typedef struct composing {
    catena_type_t type; /* expected */
    size_t calls;
} composing_t;

static void compose(const void *in, void *inout, size_t count,
                    catena_type_t type, void *argument)
{
    composing_t *composing = argument;
    size_t words = catena_type_size(type) / sizeof(uint64_t);
    const uint64_t *first = in;
    uint64_t *second = inout;
    ck_assert_ptr_eq(type, composing->type);
    composing->calls += count;
    for (size_t at = 0; at < count * words; at += words) {
        oracle_affine(first + at, second + at, words, second + at);
    }
}

/** Elements that fill the chunks of a reduction exactly, elements that do not,
 * and elements larger than a chunk. */
START_TEST(functions_of_users)
{
    static const size_t words[] = {2, 3, 600};
    static uint64_t left[MOST], right[MOST], expected[MOST];
    size_t n = words[_i];
    composing_t composing = {.calls = 0};
    catena_op_t op;
    catena_type_t type;
    ck_assert(catena_op_create(compose, &composing, 0, &op) == CATENA_OK);
    ck_assert(catena_type_contiguous(n, CATENA_UINT64, &type) == CATENA_OK);
    composing.type = type;
    ctn_copies_t copies = {NULL, 0};
    ctn_reducer_t by = reducer(op, type);
    ck_assert(ctn_reducer_reserve(&by, &copies));
    ck_assert_uint_eq(copies.bytes, n == 600 ? n * sizeof(uint64_t) : 0);
    (void)ctn_reduce_op_hold(by.op);
    ck_assert(catena_op_free(&op) == CATENA_OK && op == NULL);
    ck_assert(ctn_reduce_op_valid(by.op, by.type) &&
              !ctn_reduce_op_commutes(by.op));
    for (int on_left = 0; on_left < 2; on_left++) {
        oracle_fill(1, sizeof(left), left);
        oracle_fill(2, sizeof(right), right);
        for (size_t at = 0; at + n <= MOST; at += n) {
            oracle_affine(left + at, right + at, n, expected + at);
        }
        composing.calls = 0;
        size_t bytes = MOST / n * n * sizeof(uint64_t);
        ctn_reduce(&by, left, right, on_left ? left : right, bytes);
        ck_assert_mem_eq(on_left ? left : right, expected, bytes);
        ck_assert_uint_eq(composing.calls, MOST / n);
    }
    free(copies.memory);
    ctn_reduce_op_drop(by.op);
    ck_assert(catena_type_free(&type) == CATENA_OK);
}
END_TEST

/** A type with gaps, in another order than memory: word 1 before word 0. */
enum { WORD_0 = 24, WORD_1 = 0, GAP = 8, ELEMENTS = 1500 };

typedef struct laid_out {
    ptrdiff_t extent;
    size_t elements;
    size_t calls;
    size_t wrong;
} laid_out_t;

static void compose_laid_out(const void *in, void *inout, size_t count,
                             catena_type_t type, void *argument)
{
    laid_out_t *seen = argument;
    const unsigned char *left = in;
    unsigned char *right = inout;
    ptrdiff_t lower, extent;
    seen->calls++;
    seen->elements += count;
    seen->wrong += catena_type_extent(type, &lower, &extent) != CATENA_OK ||
                   lower != -8 || extent != seen->extent;
    seen->wrong += (uintptr_t)left % 16 != 0 || (uintptr_t)right % 16 != 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t a[2], b[2], gap[2];
        memcpy(&a[0], left + WORD_0, 8);
        memcpy(&a[1], left + WORD_1, 8);
        memcpy(&b[0], right + WORD_0, 8);
        memcpy(&b[1], right + WORD_1, 8);
        memcpy(&gap[0], left + GAP, 8);
        memcpy(&gap[1], right + GAP, 8);
        seen->wrong += gap[0] != 0 || gap[1] != 0;
        oracle_affine(a, b, 2, b);
        memcpy(right + WORD_0, &b[0], 8);
        memcpy(right + WORD_1, &b[1], 8);
        left += extent;
        right += extent;
    }
}

/** The function gets elements with the layout of the type, in few calls; the
 * operands and the result are streams. */
START_TEST(functions_get_the_layout)
{
    static const ptrdiff_t extents[] = {48, -48, 1000000};
    static uint64_t left[2 * ELEMENTS], right[2 * ELEMENTS], out[2 * ELEMENTS],
        expected[2 * ELEMENTS];
    static const size_t lengths[] = {1, 1};
    static const ptrdiff_t at[] = {WORD_0, WORD_1};
    size_t elements = _i < 2 ? ELEMENTS : 3;
    laid_out_t seen = {.extent = extents[_i]};
    catena_type_t words, type;
    catena_op_t op;
    ck_assert(catena_op_create(compose_laid_out, &seen, 0, &op) == CATENA_OK);
    ck_assert(catena_type_hindexed(2, lengths, at, CATENA_UINT64, &words) ==
              CATENA_OK);
    ck_assert(catena_type_resized(words, -8, seen.extent, &type) == CATENA_OK);
    ctn_copies_t copies = {NULL, 0};
    ctn_reducer_t by = reducer(op, type);
    ck_assert(ctn_reducer_reserve(&by, &copies));
    uint64_t *const results[] = {out, left, right};
    for (int r = 0; r < 3; r++) {
        seen.elements = seen.calls = 0;
        oracle_fill(1, sizeof(left), left);
        oracle_fill(2, sizeof(right), right);
        for (size_t i = 0; i < 2 * elements; i += 2) {
            oracle_affine(left + i, right + i, 2, expected + i);
        }
        ctn_reduce(&by, left, right, results[r], elements * 16);
        ck_assert_mem_eq(results[r], expected, elements * 16);
        ck_assert_uint_eq(seen.elements, elements);
        ck_assert_uint_eq(seen.calls, 3);
    }
    ck_assert_uint_eq(seen.wrong, 0);
    free(copies.memory);
    ck_assert(catena_op_free(&op) == CATENA_OK);
    ck_assert(catena_type_free(&words) == CATENA_OK);
    ck_assert(catena_type_free(&type) == CATENA_OK);
}
END_TEST

START_TEST(predefined_operations_stay)
{
    for (int i = 0; i < OPS; i++) {
        catena_op_t op = ops[i];
        const ctn_reduce_op_t *constant = ctn_reduce_op_of(op);
        ck_assert(ctn_reduce_op_commutes(constant));
        ck_assert(ctn_reduce_op_hold(constant) == constant);
        ctn_reduce_op_drop(constant);
        ctn_reduce_op_drop(constant);
        ck_assert(catena_op_free(&op) == CATENA_ERR_ARG);
        ck_assert_ptr_eq(op, ops[i]);
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, every_type, 0, OPS);
    tcase_add_test(tcase, promises);
    tcase_add_test(tcase, handles_of_operations);
    tcase_add_test(tcase, derived_types);
    tcase_add_test(tcase, structs);
    tcase_add_test(tcase, mismatches_are_described);
    tcase_add_loop_test(tcase, functions_of_users, 0, 3);
    tcase_add_loop_test(tcase, functions_get_the_layout, 0, 3);
    tcase_add_test(tcase, predefined_operations_stay);
}

UNIT_TEST(op)
{
    return unit_main("op", 60, add_cases);
}
