/* Types and operations of reductions. */

#include "elements.h"

#include <complex.h>
#include <stdio.h>
#include <string.h>

#define BIT(op) (1u << BENCH_OP_##op)

enum {
    OF_BITS = BIT(band) | BIT(bor) | BIT(bxor),
    OF_ORDER = BIT(max) | BIT(min),
    OF_COMPLEX = BIT(sum) | BIT(prod),
    OF_FLOATS = OF_COMPLEX | OF_ORDER,
    OF_INTEGERS = OF_FLOATS | OF_BITS | BIT(land) | BIT(lor) | BIT(lxor),
    OF_PAIRS = BIT(minloc) | BIT(maxloc)
};

/* ---- integers: they wrap, so all values will do ---- */

/* What is rare decides: with many ranks, `land` of anything else is 0. */
static uint64_t integer(enum bench_op_id op, uint64_t word)
{
    bool rare = word % 16 == 0;

    switch (op) {
    case BENCH_OP_land:
        return rare ? 0 : 1;
    case BENCH_OP_lor:
    case BENCH_OP_lxor:
        return rare ? 1 : 0;
    default:
        return word;
    }
}

static uint64_t combine_words(enum bench_op_id op, uint64_t a, uint64_t b)
{
    switch (op) {
    case BENCH_OP_sum:
        return a + b;
    case BENCH_OP_prod:
        return a * b;
    case BENCH_OP_land:
        return a != 0 && b != 0;
    case BENCH_OP_lor:
        return a != 0 || b != 0;
    case BENCH_OP_lxor:
        return (a != 0) != (b != 0);
    case BENCH_OP_band:
        return a & b;
    case BENCH_OP_bor:
        return a | b;
    default:
        return a ^ b;
    }
}

#define INTEGER(name, ctype)                                                   \
    static void make_##name(void *element, enum bench_op_id op, uint64_t word) \
    {                                                                          \
        *(ctype *)element = (ctype)integer(op, word);                          \
    }                                                                          \
    static void combine_##name(void *left, const void *right,                  \
                               enum bench_op_id op)                            \
    {                                                                          \
        ctype *a = left, b = *(const ctype *)right;                            \
        if (op == BENCH_OP_max || op == BENCH_OP_min)                          \
            *a = (*a > b) == (op == BENCH_OP_max) ? *a : b;                    \
        else                                                                   \
            *a = (ctype)combine_words(op, (uint64_t)*a, (uint64_t)b);          \
    }                                                                          \
    static bool same_##name(const void *a, const void *b)                      \
    {                                                                          \
        return memcmp(a, b, sizeof(ctype)) == 0;                               \
    }

INTEGER(byte, unsigned char)
CATENA_INTEGER_TYPES(INTEGER)

/* ---- floats: small whole numbers, whose sums are exact in any order ---- */

static double whole(uint64_t word)
{
    return (double)(word % 16) - 8;
}

static double real(enum bench_op_id op, uint64_t word)
{
    switch (op) {
    case BENCH_OP_sum:
        return whole(word);
    case BENCH_OP_prod:
        return word % 2 == 0 ? 1 : -1;
    default:
        return (double)(word % 65536) - 32768;
    }
}

/* Not by bits: 0 may have either sign. A NaN is not the same as anything. */
#define ALIKE(a, b) ((a) <= (b) && (a) >= (b))

#define FLOAT(name, ctype)                                                     \
    static void make_##name(void *element, enum bench_op_id op, uint64_t word) \
    {                                                                          \
        *(ctype *)element = (ctype)real(op, word);                             \
    }                                                                          \
    static void combine_##name(void *left, const void *right,                  \
                               enum bench_op_id op)                            \
    {                                                                          \
        ctype *a = left, b = *(const ctype *)right;                            \
        if (op == BENCH_OP_sum)                                                \
            *a += b;                                                           \
        else if (op == BENCH_OP_prod)                                          \
            *a *= b;                                                           \
        else                                                                   \
            *a = (*a > b) == (op == BENCH_OP_max) ? *a : b;                    \
    }                                                                          \
    static bool same_##name(const void *a, const void *b)                      \
    {                                                                          \
        return ALIKE(*(const ctype *)a, *(const ctype *)b);                    \
    }

CATENA_FLOAT_TYPES(FLOAT)

/* Factors are 1, i, -1, -i. */
static double complex complex_number(enum bench_op_id op, uint64_t word)
{
    static const int cosines[] = {1, 0, -1, 0};

    if (op == BENCH_OP_sum)
        return whole(word) + whole(word >> 8) * I;
    return cosines[word % 4] + cosines[(word + 3) % 4] * I;
}

#define COMPLEX(name, ctype)                                                   \
    static void make_##name(void *element, enum bench_op_id op, uint64_t word) \
    {                                                                          \
        *(ctype *)element = (ctype)complex_number(op, word);                   \
    }                                                                          \
    static void combine_##name(void *left, const void *right,                  \
                               enum bench_op_id op)                            \
    {                                                                          \
        ctype *a = left, b = *(const ctype *)right;                            \
        *a = op == BENCH_OP_sum ? *a + b : *a * b;                             \
    }                                                                          \
    static bool same_##name(const void *a, const void *b)                      \
    {                                                                          \
        ctype x = *(const ctype *)a, y = *(const ctype *)b;                    \
        return ALIKE(creal(x), creal(y)) && ALIKE(cimag(x), cimag(y));         \
    }

CATENA_COMPLEX_TYPES(COMPLEX)

/* ---- pairs: of few values, so that often the index decides ---- */

#define PAIR(name, ctype)                                                      \
    static void make_##name(void *element, enum bench_op_id op, uint64_t word) \
    {                                                                          \
        ctype *pair = element;                                                 \
        (void)op;                                                              \
        memset(pair, 0, sizeof(*pair)); /* gaps */                             \
        pair->value = word % 8;                                                \
        pair->index = (word >> 8) % 1000;                                      \
    }                                                                          \
    static void combine_##name(void *left, const void *right,                  \
                               enum bench_op_id op)                            \
    {                                                                          \
        ctype *a = left;                                                       \
        const ctype *b = right;                                                \
        bool alike = ALIKE(a->value, b->value);                                \
        bool mine =                                                            \
            op == BENCH_OP_minloc ? a->value < b->value : a->value > b->value; \
        if (alike ? b->index < a->index : !mine)                               \
            *a = *b;                                                           \
    }                                                                          \
    static bool same_##name(const void *left, const void *right)               \
    {                                                                          \
        const ctype *a = left, *b = right;                                     \
        return ALIKE(a->value, b->value) && a->index == b->index;              \
    }

CATENA_PAIR_TYPES(PAIR)

/* ---- all of them ---- */

#define ROW(shown, ctype, taken_by)                                            \
    {.name = #shown,                                                           \
     .type = &catena_type_##shown,                                             \
     .bytes = sizeof(ctype),                                                   \
     .ops = (taken_by),                                                        \
     .make = make_##shown,                                                     \
     .combine = combine_##shown,                                               \
     .same = same_##shown},
#define INTEGER_ROW(name, ctype) ROW(name, ctype, OF_INTEGERS)
#define FLOAT_ROW(name, ctype) ROW(name, ctype, OF_FLOATS)
#define COMPLEX_ROW(name, ctype) ROW(name, ctype, OF_COMPLEX)
#define PAIR_ROW(name, ctype) ROW(name, ctype, OF_PAIRS)

static const struct bench_type types[] = {
    ROW(byte, unsigned char, OF_BITS) CATENA_INTEGER_TYPES(INTEGER_ROW)
        CATENA_FLOAT_TYPES(FLOAT_ROW) CATENA_COMPLEX_TYPES(COMPLEX_ROW)
            CATENA_PAIR_TYPES(PAIR_ROW)};

#define OP_ROW(shown)                                                          \
    {.name = #shown, .id = BENCH_OP_##shown, .op = &catena_op_##shown},

static const struct bench_op ops[] = {CATENA_PREDEFINED_OPS(OP_ROW)};

enum {
    TYPES = sizeof(types) / sizeof(types[0]),
    OPS = sizeof(ops) / sizeof(ops[0])
};

const struct bench_type *bench_find_type(const char *name)
{
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

const struct bench_op *bench_find_op(const char *name)
{
    for (size_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

bool bench_takes(const struct bench_op *op, const struct bench_type *type)
{
    return (type->ops >> op->id & 1) != 0;
}

static void append(char *text, size_t bytes, const char *name)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
}

void bench_list_types(char *text, size_t bytes, const struct bench_op *taking)
{
    text[0] = '\0';
    for (size_t i = 0; i < TYPES; i++)
        if (taking == NULL || bench_takes(taking, &types[i]))
            append(text, bytes, types[i].name);
}

void bench_list_ops(char *text, size_t bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < OPS; i++)
        append(text, bytes, ops[i].name);
}
