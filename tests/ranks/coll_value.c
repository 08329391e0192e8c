/* Elements of all types, and what operations make of them, written down from
 * MPI's definitions; the library's kernels are not asked. */

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_case.h"

enum { INTEGERS = 9, FLOATS = 2, COMPLEX = 2, PAIRS = 7 };
enum {
    OF_BYTE,
    OF_INTEGER,
    OF_FLOAT = INTEGERS,
    OF_COMPLEX = 11,
    OF_PAIR = 13
};

typedef enum op {
    OP_NONE,
    OP_MAX,
    OP_MIN,
    OP_SUM,
    OP_PROD,
    OP_LAND,
    OP_BAND,
    OP_LOR,
    OP_BOR,
    OP_LXOR,
    OP_BXOR,
    OP_MINLOC,
    OP_MAXLOC
} op_t;

static const char *const op_names[COLL_OPS] = {
    "none", "max",  "min",  "sum",    "prod",   "land", "band",        "lor",
    "bor",  "lxor", "bxor", "minloc", "maxloc", "user", "ordered user"};

#define NAME(name, ctype) #name,
static const char *const type_names[COLL_TYPES] = {
    CATENA_FIXED_TYPES(NAME) "two uint64",
    "three uint64",
    "vector",
    "indexed",
    "resized",
    "vector to bytes"};
#undef NAME

const char *coll_type_name(unsigned type)
{
    return type_names[type];
}

const char *coll_op_name(unsigned op)
{
    return op_names[op];
}

/** Whether an element is several uint64. */
static bool counts_whole(unsigned type)
{
    return type == COLL_PAIR || type == COLL_TRIPLE;
}

bool coll_op_takes(unsigned op, unsigned type)
{
    bool pair = type >= OF_PAIR && type < COLL_FIXED;
    bool integer = type > OF_BYTE && type < OF_FLOAT;
    if (op == COLL_COMMUTING) {
        return strcmp(type_names[type], "uint64") == 0;
    }
    if (op == COLL_ORDERED) {
        return counts_whole(type);
    }
    switch ((op_t)op) {
    case OP_NONE:
        return false;
    case OP_MINLOC:
    case OP_MAXLOC:
        return pair;
    case OP_BAND:
    case OP_BOR:
    case OP_BXOR:
        return integer || type == OF_BYTE || counts_whole(type);
    case OP_MAX:
    case OP_MIN:
        return integer || (type >= OF_FLOAT && type < OF_COMPLEX) ||
               counts_whole(type);
    case OP_SUM:
    case OP_PROD:
        return integer || (type >= OF_FLOAT && type < OF_PAIR) ||
               counts_whole(type);
    default:
        return integer || counts_whole(type);
    }
}

/* ---- one element of a fixed type ---- */

/* Wrapped, as unsigned; narrow ones through a wide one. */
#define INTEGER(name, ctype)                                                   \
    static void make_##name(op_t op, uint64_t h, void *out)                    \
    {                                                                          \
        bool logical = op == OP_LAND || op == OP_LOR || op == OP_LXOR;         \
        ctype value = (ctype)(logical ? (h & 8 ? 0 : h >> 5) : h);             \
        memcpy(out, &value, sizeof(value));                                    \
    }                                                                          \
    static void combine_##name(op_t op, const void *left, const void *right,   \
                               void *out)                                      \
    {                                                                          \
        ctype a, b, c = 0;                                                     \
        memcpy(&a, left, sizeof(a));                                           \
        memcpy(&b, right, sizeof(b));                                          \
        switch (op) {                                                          \
        case OP_MAX:                                                           \
            c = a > b ? a : b;                                                 \
            break;                                                             \
        case OP_MIN:                                                           \
            c = a < b ? a : b;                                                 \
            break;                                                             \
        case OP_SUM:                                                           \
            c = (ctype)((uint64_t)a + (uint64_t)b);                            \
            break;                                                             \
        case OP_PROD:                                                          \
            c = (ctype)((uint64_t)a * (uint64_t)b);                            \
            break;                                                             \
        case OP_LAND:                                                          \
            c = a != 0 && b != 0;                                              \
            break;                                                             \
        case OP_LOR:                                                           \
            c = a != 0 || b != 0;                                              \
            break;                                                             \
        case OP_LXOR:                                                          \
            c = (a != 0) != (b != 0);                                          \
            break;                                                             \
        case OP_BAND:                                                          \
            c = (ctype)(a & b);                                                \
            break;                                                             \
        case OP_BOR:                                                           \
            c = (ctype)(a | b);                                                \
            break;                                                             \
        case OP_BXOR:                                                          \
            c = (ctype)(a ^ b);                                                \
            break;                                                             \
        default:                                                               \
            abort();                                                           \
        }                                                                      \
        memcpy(out, &c, sizeof(c));                                            \
    }

/* Sums of small whole numbers and products of powers of two are exact. */
#define FLOAT(name, ctype)                                                     \
    static void make_##name(op_t op, uint64_t h, void *out)                    \
    {                                                                          \
        static const ctype factors[] = {1, -1, 2, (ctype)0.5};                 \
        ctype value =                                                          \
            op == OP_PROD ? factors[h % 4] : (ctype)((int)(h % 17) - 8);       \
        memcpy(out, &value, sizeof(value));                                    \
    }                                                                          \
    static void combine_##name(op_t op, const void *left, const void *right,   \
                               void *out)                                      \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, left, sizeof(a));                                           \
        memcpy(&b, right, sizeof(b));                                          \
        ctype c = op == OP_MAX   ? (a > b ? a : b)                             \
                  : op == OP_MIN ? (a < b ? a : b)                             \
                  : op == OP_SUM ? a + b                                       \
                                 : a * b;                                      \
        memcpy(out, &c, sizeof(c));                                            \
    }

#define COMPLEX_(name, ctype)                                                  \
    static void make_##name(op_t op, uint64_t h, void *out)                    \
    {                                                                          \
        static const ctype factors[] = {1, -1, I, -I};                         \
        ctype value = op == OP_PROD ? factors[h % 4]                           \
                                    : (ctype)((int)(h % 17) - 8) +             \
                                          (ctype)(h / 17 % 9) * I;             \
        memcpy(out, &value, sizeof(value));                                    \
    }                                                                          \
    static void combine_##name(op_t op, const void *left, const void *right,   \
                               void *out)                                      \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, left, sizeof(a));                                           \
        memcpy(&b, right, sizeof(b));                                          \
        ctype c = op == OP_SUM ? a + b : a * b;                                \
        memcpy(out, &c, sizeof(c));                                            \
    }

/* Few values, so that ties are common. */
#define PAIR(name, ctype)                                                      \
    static void make_##name(op_t op, uint64_t h, void *out)                    \
    {                                                                          \
        (void)op;                                                              \
        ctype pair;                                                            \
        memset(&pair, 0, sizeof(pair)); /* padding, too */                     \
        pair.value = (__typeof__(pair.value))(h % 5);                          \
        pair.index = (__typeof__(pair.index))(h / 5 % 100);                    \
        memcpy(out, &pair, sizeof(pair));                                      \
    }                                                                          \
    static void combine_##name(op_t op, const void *left, const void *right,   \
                               void *out)                                      \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, left, sizeof(a));                                           \
        memcpy(&b, right, sizeof(b));                                          \
        bool first = op == OP_MINLOC ? a.value < b.value : a.value > b.value;  \
        bool second = op == OP_MINLOC ? b.value < a.value : b.value > a.value; \
        const ctype *c = first               ? &a                              \
                         : second            ? &b                              \
                         : a.index < b.index ? &a                              \
                                             : &b;                             \
        memmove(out, c, sizeof(*c));                                           \
    }

INTEGER(byte, unsigned char)
CATENA_INTEGER_TYPES(INTEGER)
CATENA_FLOAT_TYPES(FLOAT)
CATENA_COMPLEX_TYPES(COMPLEX_)
CATENA_PAIR_TYPES(PAIR)

static const struct {
    size_t bytes;
    void (*make)(op_t op, uint64_t h, void *out);
    void (*combine)(op_t op, const void *left, const void *right, void *out);
} fixed[COLL_FIXED] = {
#define ROW(name, ctype) {sizeof(ctype), make_##name, combine_##name},
    CATENA_FIXED_TYPES(ROW)
#undef ROW
};

/* ---- any element ---- */

enum { UINT64_INDEX = 8, PRIME = 1000003, MOST_WORDS = 3 };

_Static_assert(COLL_ELEMENT_BYTES == MOST_WORDS * sizeof(uint64_t),
               "the longest element is three words");

static uint64_t mix(uint64_t x)
{
    return rank_random(&x);
}

void coll_element(unsigned type, unsigned op, uint64_t seed, size_t rank,
                  size_t index, void *element)
{
    uint64_t h = mix(seed ^ rank * UINT64_C(0xd6e8feb86659fd93) ^
                     index * UINT64_C(0xff51afd7ed558ccd));
    if (type < COLL_FIXED) {
        fixed[type].make((op_t)(op < COLL_COMMUTING ? op : OP_SUM), h, element);
        return;
    }
    uint64_t words[MOST_WORDS] = {h >> 3, mix(h), h << 1};
    static const size_t bytes[COLL_TYPES - COLL_FIXED] = {16, 24, 12,
                                                          12, 3,  12};
    memcpy(element, words, bytes[type - COLL_FIXED]);
}

/** Maps x to factor x + term, one after the other: the first word is the
 * factor, all others are terms. */
static void affine(const uint64_t *a, const uint64_t *b, size_t words,
                   uint64_t *out)
{
    uint64_t factor = b[0];
    out[0] = a[0] * factor;
    for (size_t i = 1; i < words; i++) {
        out[i] = a[i] * factor + b[i];
    }
}

static void add_modulo(const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    *out = (*a % PRIME + *b % PRIME) % PRIME;
}

void coll_combine(unsigned type, unsigned op, const void *left,
                  const void *right, void *out)
{
    uint64_t a[MOST_WORDS], b[MOST_WORDS], c[MOST_WORDS];
    if (type < COLL_FIXED && op < COLL_COMMUTING) {
        fixed[type].combine((op_t)op, left, right, out);
        return;
    }
    size_t words = type == COLL_PAIR ? 2 : type == COLL_TRIPLE ? 3 : 1;
    memcpy(a, left, words * sizeof(*a));
    memcpy(b, right, words * sizeof(*b));
    if (op == COLL_ORDERED) {
        affine(a, b, words, c);
    } else if (op == COLL_COMMUTING) {
        add_modulo(a, b, c);
    } else {
        for (size_t i = 0; i < words; i++) {
            fixed[UINT64_INDEX].combine((op_t)op, &a[i], &b[i], &c[i]);
        }
    }
    memcpy(out, c, words * sizeof(*c));
}

void coll_normalize(unsigned type, void *data, size_t elements)
{
    bool narrow = type == OF_FLOAT || type == OF_COMPLEX;
    if (type < OF_FLOAT || type >= OF_PAIR) {
        return;
    }
    size_t n = elements * (type >= OF_COMPLEX ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        if (narrow) {
            ((float *)data)[i] += 0.0F;
        } else {
            ((double *)data)[i] += 0.0;
        }
    }
}

/* ---- as catena sees them ---- */

static void apply_affine(const void *in, void *inout, size_t count,
                         catena_datatype_t type, void *argument)
{
    (void)argument;
    size_t words = catena_datatype_size(type) / sizeof(uint64_t);
    const uint64_t *a = in;
    uint64_t *b = inout;
    for (size_t i = 0; i < count; i++) {
        affine(a + words * i, b + words * i, words, b + words * i);
    }
}

static void apply_modulo(const void *in, void *inout, size_t count,
                         catena_datatype_t type, void *argument)
{
    (void)type;
    (void)argument;
    const uint64_t *a = in;
    uint64_t *b = inout;
    for (size_t i = 0; i < count; i++) {
        add_modulo(a + i, b + i, b + i);
    }
}

static void open_ops(rank_test_t *test, coll_table_t *table)
{
#define ADDRESS(name) &catena_op_##name,
    static const catena_op_t predefined[] = {CATENA_PREDEFINED_OPS(ADDRESS)};
#undef ADDRESS
    memcpy(&table->op[1], predefined, sizeof(predefined));
    RANK_CHECK(test, catena_op_create(apply_modulo, NULL, 1,
                                      &table->op[COLL_COMMUTING]) == CATENA_OK);
    RANK_CHECK(test, catena_op_create(apply_affine, NULL, 0,
                                      &table->op[COLL_ORDERED]) == CATENA_OK);
}

void coll_table_open(rank_test_t *test, coll_table_t *table)
{
    static const size_t lengths[] = {2, 1};
    static const ptrdiff_t places[] = {3, 0};
    catena_datatype_t three;
    coll_type_t *t = table->send;
    *table = (coll_table_t){0};
    open_ops(test, table);
#define ADDRESS(name, ctype) &catena_type_##name,
    static const catena_datatype_t types[] = {CATENA_FIXED_TYPES(ADDRESS)};
#undef ADDRESS
    for (unsigned i = 0; i < COLL_FIXED; i++) {
        t[i] = (coll_type_t){.type = types[i],
                             .bytes = fixed[i].bytes,
                             .extent = fixed[i].bytes,
                             .runs = 1,
                             .run = {{0, fixed[i].bytes}}};
    }
    t[COLL_PAIR] =
        (coll_type_t){.bytes = 16, .extent = 16, .runs = 1, .run = {{0, 16}}};
    t[COLL_TRIPLE] =
        (coll_type_t){.bytes = 24, .extent = 24, .runs = 1, .run = {{0, 24}}};
    t[COLL_VECTOR] = (coll_type_t){
        .bytes = 12, .extent = 16, .runs = 2, .run = {{0, 6}, {10, 6}}};
    t[COLL_INDEXED] = (coll_type_t){
        .bytes = 12, .extent = 20, .runs = 2, .run = {{12, 8}, {0, 4}}};
    t[COLL_RESIZED] =
        (coll_type_t){.bytes = 3, .extent = 8, .runs = 1, .run = {{0, 3}}};
    t[COLL_TO_BYTES] = t[COLL_VECTOR];
    bool made =
        catena_type_contiguous(2, CATENA_UINT64, &t[COLL_PAIR].type) ==
            CATENA_OK &&
        catena_type_contiguous(3, CATENA_UINT64, &t[COLL_TRIPLE].type) ==
            CATENA_OK &&
        catena_type_vector(2, 3, 5, CATENA_INT16, &t[COLL_VECTOR].type) ==
            CATENA_OK &&
        catena_type_indexed(2, lengths, places, CATENA_INT32,
                            &t[COLL_INDEXED].type) == CATENA_OK &&
        catena_type_contiguous(3, CATENA_BYTE, &three) == CATENA_OK &&
        catena_type_resized(three, 0, 8, &t[COLL_RESIZED].type) == CATENA_OK &&
        catena_type_vector(2, 3, 5, CATENA_INT16, &t[COLL_TO_BYTES].type) ==
            CATENA_OK &&
        catena_type_free(&three) == CATENA_OK;
    RANK_CHECK(test, made);
    memcpy(table->receive, t, sizeof(table->receive));
    coll_type_t *dense = &table->receive[COLL_TO_BYTES];
    *dense =
        (coll_type_t){.bytes = 12, .extent = 12, .runs = 1, .run = {{0, 12}}};
    RANK_CHECK(test, catena_type_contiguous(12, CATENA_BYTE, &dense->type) ==
                         CATENA_OK);
}

void coll_table_close(rank_test_t *test, coll_table_t *table)
{
    for (unsigned i = COLL_PAIR; i < COLL_TYPES; i++) {
        RANK_CHECK(test, catena_type_free(&table->send[i].type) == CATENA_OK);
    }
    RANK_CHECK(test, catena_type_free(&table->receive[COLL_TO_BYTES].type) ==
                         CATENA_OK);
    RANK_CHECK(test, catena_op_free(&table->op[COLL_COMMUTING]) == CATENA_OK);
    RANK_CHECK(test, catena_op_free(&table->op[COLL_ORDERED]) == CATENA_OK);
}
