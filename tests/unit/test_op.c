/* Operations of reductions without ranks: every one on every type against its
 * definition, element by element. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/content.h"
#include "oracle/random.h"
#include "type/kernels.h"
#include "type/op.h"

#include "unit.h"

enum { MOST = 1000 };

static const struct {
    catena_op_t op;
    const char *name;
} ops[] = {
#define OP(name) {&catena_op_##name, #name},
    CATENA_PREDEFINED_OPS(OP)
#undef OP
};

static uint64_t random_state;

static uint64_t random_word(void)
{
    return oracle_random(&random_state);
}

/* ---- random elements ---- */

/** 0 and small values are found often. */
#define RANDOM_INTEGER(name, ctype)                                            \
    static void random_##name(void *out)                                       \
    {                                                                          \
        uint64_t word = random_word();                                         \
        ctype value = (ctype)(word % 4 == 0 ? word / 4 % 3 : word / 4);        \
        memcpy(out, &value, sizeof(value));                                    \
    }
#define RANDOM_FLOAT(name, ctype)                                              \
    static void random_##name(void *out)                                       \
    {                                                                          \
        static const ctype special[] = {-1,  -0.0,     0,        1,            \
                                        NAN, INFINITY, -INFINITY};             \
        uint64_t word = random_word();                                         \
        ctype value = word % 4 == 0 ? special[word / 4 % 7]                    \
                                    : (ctype)((double)(int64_t)word / 0x1p50); \
        memcpy(out, &value, sizeof(value));                                    \
    }                                                                          \
    static void random_complex_##name(void *out)                               \
    {                                                                          \
        random_##name(out);                                                    \
        random_##name((char *)out + sizeof(ctype));                            \
    }
/** Few values, so that indices decide often; padding is noise. */
#define RANDOM_PAIR(name, ctype)                                               \
    static void random_##name(void *out)                                       \
    {                                                                          \
        ctype pair;                                                            \
        for (size_t i = 0; i < sizeof(pair); i++) {                            \
            ((unsigned char *)&pair)[i] = (unsigned char)random_word();        \
        }                                                                      \
        pair.value = (int16_t)(random_word() % 4) - 2;                         \
        pair.index = (int32_t)(random_word() % 8) - 4;                         \
        memcpy(out, &pair, sizeof(pair));                                      \
    }
RANDOM_INTEGER(byte, unsigned char)
CATENA_INTEGER_TYPES(RANDOM_INTEGER)
CATENA_FLOAT_TYPES(RANDOM_FLOAT)
CATENA_PAIR_TYPES(RANDOM_PAIR)

/* Products by their definition, also of what is infinite. */
#define MULTIPLY_COMPLEX(name, part)                                           \
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
/** The bytes of the pair that wins, padding too. */
#define PICK_PAIR(name, ctype)                                                 \
    static void pick_##name(bool least, const void *left, const void *right,   \
                            void *out)                                         \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, left, sizeof(a));                                           \
        memcpy(&b, right, sizeof(b));                                          \
        bool wins = a.value == b.value ? b.index < a.index                     \
                                       : least == (b.value < a.value);         \
        memcpy(out, wins ? right : left, sizeof(a));                           \
    }
CATENA_FLOAT_TYPES(MULTIPLY_COMPLEX)
CATENA_PAIR_TYPES(PICK_PAIR)

#define SAME_BITS(name, ctype)                                                 \
    static bool same_##name(const void *a, const void *b)                      \
    {                                                                          \
        return memcmp(a, b, sizeof(ctype)) == 0;                               \
    }
/** Any NaN is as good as another. */
#define SAME_FLOAT(name, ctype)                                                \
    static bool same_##name(const void *found, const void *expected)           \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, found, sizeof(a));                                          \
        memcpy(&b, expected, sizeof(b));                                       \
        return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));       \
    }                                                                          \
    static bool same_complex_##name(const void *found, const void *expected)   \
    {                                                                          \
        return same_##name(found, expected) &&                                 \
               same_##name((const char *)found + sizeof(ctype),                \
                           (const char *)expected + sizeof(ctype));            \
    }
SAME_BITS(byte, unsigned char)
CATENA_INTEGER_TYPES(SAME_BITS)
CATENA_FLOAT_TYPES(SAME_FLOAT)
CATENA_PAIR_TYPES(SAME_BITS)

static const struct {
    catena_datatype_t type;
    const char *name;
    void (*random)(void *out);
    bool (*same)(const void *found, const void *expected);
} types[] = {
#define TYPE(name, ctype)                                                      \
    {&catena_type_##name, #name, random_##name, same_##name},
    CATENA_FIXED_TYPES(TYPE)
#undef TYPE
};
enum {
    OPS = sizeof(ops) / sizeof(ops[0]),
    TYPES = sizeof(types) / sizeof(types[0])
};

/* ---- predefined operations ---- */

enum { LARGEST = 16, BYTES = MOST * LARGEST, GUARD = 64 };

/** Where the result goes. */
typedef enum place { APART, ON_LEFT, ON_RIGHT, PLACES } place_t;

typedef struct operands {
    unsigned char left[BYTES + 2 * GUARD];
    unsigned char right[BYTES + 2 * GUARD];
    unsigned char out[BYTES + 2 * GUARD];
} operands_t;

/** How to reduce: what the library chooses, or a table of kernels. */
static void reduce(const ctn_kernels_t *kernels, int op, int type,
                   const void *left, const void *right, void *out, size_t count)
{
    size_t element = catena_datatype_size(types[type].type);
    if (kernels != NULL) {
        (*kernels)[op][type](left, right, out, count);
    } else {
        ctn_reducer_t by = {ops[op].op, types[type].type};
        ck_assert(ctn_reduce(&by, left, right, out, count * element));
    }
}

/** What comes of two elements. */
static void expect(int op, int type, const void *left, const void *right,
                   void *out)
{
    catena_datatype_t of = types[type].type;
#define PICK(name, ctype)                                                      \
    if (of == &catena_type_##name) {                                           \
        pick_##name(ops[op].op == CATENA_MINLOC, left, right, out);            \
        return;                                                                \
    }
    CATENA_PAIR_TYPES(PICK)
#undef PICK
    if (ops[op].op == CATENA_PROD && of == CATENA_COMPLEX_FLOAT) {
        multiply_complex_float(left, right, out);
    } else if (ops[op].op == CATENA_PROD && of == CATENA_COMPLEX_DOUBLE) {
        multiply_complex_double(left, right, out);
    } else {
        oracle_combine((unsigned)type, (unsigned)op + 1, left, right, out);
    }
}

/** @param[in] shift 0, or: operands have no alignment */
static void check_reduce(const ctn_kernels_t *kernels, int op, int type,
                         size_t count, place_t place, size_t shift)
{
    static operands_t before, after;
    size_t element = catena_datatype_size(types[type].type);
    memset(&before, 0xa5, sizeof(before));
    for (size_t i = 0; i < count; i++) {
        types[type].random(before.left + GUARD + shift + i * element);
        types[type].random(before.right + GUARD + 3 * shift + i * element);
    }
    after = before;
    unsigned char *left = after.left + GUARD + shift;
    unsigned char *right = after.right + GUARD + 3 * shift;
    unsigned char *outs[] = {after.out + GUARD + 5 * shift, left, right};
    reduce(kernels, op, type, left, right, outs[place], count);
    for (size_t i = 0; i < count; i++) {
        unsigned char expected[LARGEST];
        size_t at = GUARD + i * element;
        /* Check's own assertions write to a file each time. */
        expect(op, type, before.left + at + shift,
               before.right + at + 3 * shift, expected);
        if (!types[type].same(outs[place] + i * element, expected)) {
            ck_abort_msg("%s of %s: element %zu of %zu, place %d, shift %zu",
                         ops[op].name, types[type].name, i, count, place,
                         shift);
        }
    }
    /* Nothing else was touched. */
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

static bool defined(int op, int type)
{
    return oracle_op_takes((unsigned)op + 1, (unsigned)type);
}

START_TEST(every_type)
{
    random_state = 1 + (uint64_t)_i;
    for (int type = 0; type < TYPES; type++) {
        ck_assert_msg(ctn_op_valid(ops[_i].op, types[type].type) ==
                          defined(_i, type),
                      "%s of %s", ops[_i].name, types[type].name);
        if (defined(_i, type)) {
            check_forms(NULL, _i, type);
        }
    }
}
END_TEST

/** Not only those that this processor would choose. */
START_TEST(every_kernel)
{
    random_state = 100 + (uint64_t)_i;
    size_t tables = 0;
    for (; ctn_kernels(tables) != NULL; tables++) {
        for (int type = 0; type < TYPES; type++) {
            ck_assert(((*ctn_kernels(tables))[_i][type] != NULL) ==
                      defined(_i, type));
            if (defined(_i, type)) {
                check_forms(ctn_kernels(tables), _i, type);
            }
        }
    }
    ck_assert_uint_ge(tables, 1);
}
END_TEST

/** What catena/op.h says of them, in numbers. */
START_TEST(promises)
{
    ctn_reducer_t max = {CATENA_MAX, CATENA_DOUBLE};
    double a[] = {NAN, 1, 0.0, -0.0};
    double b[] = {1, NAN, -0.0, 0.0};
    double c[4];
    ck_assert(ctn_reduce(&max, a, b, c, sizeof(c)));
    ck_assert(c[0] == 1 && isnan(c[1]) && signbit(c[2]) && !signbit(c[3]));

    ctn_reducer_t sum = {CATENA_SUM, CATENA_INT64};
    int64_t most = INT64_MAX;
    ck_assert(ctn_reduce(&sum, &most, &(int64_t){1}, &most, sizeof(most)));
    ck_assert(most == INT64_MIN);

    ctn_reducer_t at = {CATENA_MINLOC, CATENA_DOUBLE_INT32};
    catena_double_int32_t left = {2.5, 7}, right = {2.5, 3};
    ck_assert(ctn_reduce(&at, &left, &right, &left, sizeof(left)));
    ck_assert(left.value == 2.5 && left.index == 3);
    ck_assert_uint_eq(catena_datatype_size(CATENA_DOUBLE_INT32), sizeof(left));
}
END_TEST

/* ---- types made of others ---- */

START_TEST(dense_types)
{
    catena_datatype_t row, rows, gaps, wide, nothing;
    ck_assert(catena_type_contiguous(7, CATENA_INT32, &row) == CATENA_OK);
    ck_assert(catena_type_vector(2, 3, 3, row, &rows) == CATENA_OK);
    ck_assert(catena_type_vector(2, 1, 2, CATENA_INT32, &gaps) == CATENA_OK);
    ck_assert(catena_type_resized(CATENA_INT32, 0, 8, &wide) == CATENA_OK);
    ck_assert(catena_type_contiguous(0, row, &nothing) == CATENA_OK);
    ck_assert(ctn_op_valid(CATENA_SUM, row) && ctn_op_valid(CATENA_SUM, rows));
    ck_assert(!ctn_op_valid(CATENA_MINLOC, rows));
    ck_assert(!ctn_op_valid(CATENA_SUM, gaps));
    ck_assert(!ctn_op_valid(CATENA_SUM, wide));

    int32_t a[84], b[84];
    for (int i = 0; i < 84; i++) {
        a[i] = i;
        b[i] = 1000 * i;
    }
    ctn_reducer_t by = {CATENA_SUM, rows};
    ck_assert(ctn_reduce(&by, a, b, b, sizeof(b)));
    for (int i = 0; i < 84; i++) {
        ck_assert_int_eq(b[i], 1001 * i);
    }
    by.type = nothing;
    ck_assert(ctn_op_valid(by.op, nothing));
    ck_assert(ctn_reduce(&by, a, b, b, 0));
    ck_assert(catena_type_free(&row) == CATENA_OK);
    ck_assert(catena_type_free(&rows) == CATENA_OK);
    ck_assert(catena_type_free(&gaps) == CATENA_OK);
    ck_assert(catena_type_free(&wide) == CATENA_OK);
    ck_assert(catena_type_free(&nothing) == CATENA_OK);
}
END_TEST

START_TEST(refusals_say_what_is_taken)
{
    char text[300];
    const char *said =
        ctn_op_refusal(CATENA_PROD, CATENA_BYTE, text, sizeof(text));
    for (int type = 0; type < TYPES; type++) {
        ck_assert((strstr(said, types[type].name) != NULL) ==
                  (types[type].type == CATENA_BYTE ||
                   ctn_op_valid(CATENA_PROD, types[type].type)));
    }
    for (size_t bytes = 1; bytes < sizeof(text); bytes++) {
        memset(text, 'x', sizeof(text));
        ctn_op_refusal(CATENA_SUM, CATENA_BYTE, text, bytes);
        ck_assert_uint_lt(strnlen(text, bytes), bytes);
        ck_assert(text[bytes] == 'x');
    }
}
END_TEST

/* ---- functions of users ---- */

/** x -> factor * x + constant: composition is associative and does not
 * commute. */
typedef struct map {
    uint64_t factor;
    uint64_t constant;
} map_t;

typedef struct calls {
    catena_datatype_t type;
    size_t maps; /* in an element */
    size_t elements;
} calls_t;

/** First `in`, then `inout`. */
static void compose(const void *in, void *inout, size_t count,
                    catena_datatype_t type, void *argument)
{
    calls_t *calls = argument;
    ck_assert(type == calls->type && count > 0);
    calls->elements += count;
    const map_t *first = in;
    map_t *second = inout;
    for (size_t i = 0; i < count * calls->maps; i++) {
        second[i] =
            (map_t){second[i].factor * first[i].factor,
                    second[i].factor * first[i].constant + second[i].constant};
    }
}

static void check_compose(catena_op_t op, calls_t *calls, size_t count,
                          place_t place)
{
    static map_t left[MOST], right[MOST], out[MOST], old[2][MOST];
    size_t maps = count * calls->maps;
    ck_assert_uint_le(maps, MOST);
    for (size_t i = 0; i < maps; i++) {
        old[0][i] = left[i] = (map_t){random_word(), random_word()};
        old[1][i] = right[i] = (map_t){random_word(), random_word()};
    }
    calls->elements = 0;
    map_t *outs[] = {out, left, right};
    ctn_reducer_t by = {op, calls->type};
    ck_assert(ctn_reduce(&by, left, right, outs[place], maps * sizeof(map_t)));
    ck_assert_uint_eq(calls->elements, count);
    for (size_t i = 0; i < maps; i++) {
        uint64_t x = random_word();
        uint64_t y = old[0][i].factor * x + old[0][i].constant;
        ck_assert_uint_eq(outs[place][i].factor * x + outs[place][i].constant,
                          old[1][i].factor * y + old[1][i].constant);
    }
    if (place != ON_LEFT) {
        ck_assert_mem_eq(left, old[0], maps * sizeof(map_t));
    }
    if (place != ON_RIGHT) {
        ck_assert_mem_eq(right, old[1], maps * sizeof(map_t));
    }
}

/** Elements that fill pieces, that do not, and that are larger than one. */
START_TEST(functions_of_users)
{
    static const size_t maps[] = {1, 3, 300};
    random_state = 7;
    for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
        calls_t calls = {.maps = maps[m]};
        ck_assert(catena_type_contiguous(2 * maps[m], CATENA_UINT64,
                                         &calls.type) == CATENA_OK);
        catena_op_t op;
        ck_assert(catena_op_create(compose, &calls, 0, &op) == CATENA_OK);
        ck_assert(ctn_op_valid(op, calls.type) && !ctn_op_commutes(op));
        for (size_t count = 1; count * maps[m] <= MOST; count = 2 * count + 1) {
            for (place_t place = 0; place < PLACES; place++) {
                check_compose(op, &calls, count, place);
            }
        }
        ck_assert(catena_op_free(&op) == CATENA_OK);
        ck_assert(catena_type_free(&calls.type) == CATENA_OK);
    }
}
END_TEST

START_TEST(held_operations_stay)
{
    calls_t calls = {.type = CATENA_COMPLEX_DOUBLE, .maps = 1};
    catena_op_t op;
    ck_assert(catena_op_create(compose, &calls, 1, &op) == CATENA_OK);
    ck_assert(ctn_op_commutes(op));
    catena_op_t held = ctn_op_hold(op);
    ck_assert(catena_op_free(&op) == CATENA_OK);
    ck_assert_ptr_null(op);
    check_compose(held, &calls, 3, APART);
    ctn_op_drop(held);
}
END_TEST

START_TEST(predefined_operations_stay)
{
    for (int i = 0; i < OPS; i++) {
        catena_op_t op = ops[i].op;
        ck_assert(ctn_op_commutes(op));
        ck_assert(ctn_op_hold(op) == op);
        ctn_op_drop(op);
        ctn_op_drop(op);
        ck_assert(catena_op_free(&op) == CATENA_ERR_ARG);
        ck_assert_ptr_eq(op, ops[i].op);
    }
    catena_op_t none = NULL;
    ck_assert(catena_op_free(&none) == CATENA_ERR_ARG);
    ck_assert(catena_op_free(NULL) == CATENA_ERR_ARG);
    ck_assert(catena_op_create(NULL, NULL, 1, &none) == CATENA_ERR_ARG);
    ck_assert(catena_op_create(compose, NULL, 1, NULL) == CATENA_ERR_ARG);
    ck_assert_ptr_null(none);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, every_type, 0, OPS);
    tcase_add_loop_test(tcase, every_kernel, 0, OPS);
    tcase_add_test(tcase, promises);
    tcase_add_test(tcase, dense_types);
    tcase_add_test(tcase, refusals_say_what_is_taken);
    tcase_add_test(tcase, functions_of_users);
    tcase_add_test(tcase, held_operations_stay);
    tcase_add_test(tcase, predefined_operations_stay);
}

int main(void)
{
    return unit_main("op", 60, add_cases);
}
