/* Sent and expected contents; see content.h. Independent of the library's
 * kernels. */

#include "oracle/content.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "core/description.h"
#include "oracle/affine.h"
#include "oracle/elements.h"
#include "oracle/random.h"

enum { OF_BYTE, OF_INTEGER, OF_FLOAT = 9, OF_COMPLEX = 11, OF_PAIR = 13 };

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

static const ctn_description_t kinds[ORACLE_KINDS] = {
#define CTN_CALL(...) CTN_DESCRIPTION(__VA_ARGS__),
#define CTN_VARIANT(NAME, name, OF, ...)                                       \
    CTN_DESCRIPTION(NAME, name, __VA_ARGS__),
#define CTN_ALLTOALL(...) CTN_DESCRIPTION(__VA_ARGS__),
#include "core/calls.def"
};

static const char *const op_names[ORACLE_OPS] = {
    "none", "max",  "min",  "sum",    "prod",   "land", "band",        "lor",
    "bor",  "lxor", "bxor", "minloc", "maxloc", "user", "ordered user"};

#define NAME(name, handle, ctype) #name,
static const char *const type_names[ORACLE_TYPES] = {
    ORACLE_EACH_TYPE(NAME) "two uint64",
    "three uint64",
    "vector",
    "indexed",
    "resized",
    "vector to bytes",
    "drawn"};
#undef NAME

const char *oracle_kind_name(unsigned kind)
{
    return kinds[kind].name;
}

const char *oracle_type_name(unsigned type)
{
    return type_names[type];
}

const char *oracle_op_name(unsigned op)
{
    return op_names[op];
}

bool oracle_reduces(unsigned kind)
{
    return ctn_has_trait(&kinds[kind], CTN_REDUCES);
}

bool oracle_rooted(unsigned kind)
{
    return ctn_has_trait(&kinds[kind], CTN_ROOT_ARGUMENT);
}

bool oracle_has_blocks(unsigned kind)
{
    return ctn_has_blocks(kinds[kind].send) || ctn_has_blocks(kinds[kind].recv);
}

bool oracle_pairs(unsigned kind)
{
    return ctn_has_blocks(kinds[kind].send) && ctn_has_blocks(kinds[kind].recv);
}

bool oracle_own_counts(unsigned kind)
{
    return ctn_has_lengths(&kinds[kind]);
}

/** Whether an element consists of several uint64. */
static bool counts_whole(unsigned type)
{
    return type == ORACLE_PAIR || type == ORACLE_TRIPLE;
}

bool oracle_op_takes(unsigned op, unsigned type)
{
    bool pair = type >= OF_PAIR && type < ORACLE_FIXED;
    bool integer = type > OF_BYTE && type < OF_FLOAT;
    if (op == ORACLE_COMMUTING) {
        return strcmp(type_names[type], "uint64") == 0;
    }
    if (op == ORACLE_ORDERED) {
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

/* Wraps, computed as unsigned; narrow types through a wide one. For a logical
 * operation the decisive value is rare: otherwise the result is constant with
 * many ranks. */
#define INTEGER(name, handle, ctype)                                           \
    static void make_##name(op_t op, uint64_t h, void *out)                    \
    {                                                                          \
        bool logical = op == OP_LAND || op == OP_LOR || op == OP_LXOR;         \
        bool truth = (h % 16 == 0) == (op != OP_LAND);                         \
        ctype value = (ctype)(!logical ? h : truth ? h >> 5 | 1 : 0);          \
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

/* Sums of small integers and products of powers of two are exact. */
#define FLOAT(name, handle, ctype)                                             \
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

#define COMPLEX_(name, handle, ctype)                                          \
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

/* Few values, so that ties are frequent. */
#define PAIR(name, handle, ctype)                                              \
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
                         : b.index < a.index ? &b                              \
                                             : &a;                             \
        memmove(out, c, sizeof(*c));                                           \
    }

INTEGER(byte, CATENA_BYTE, unsigned char)
ORACLE_EACH_INTEGER(INTEGER)
ORACLE_EACH_FLOAT(FLOAT)
ORACLE_EACH_COMPLEX(COMPLEX_)
ORACLE_EACH_PAIR(PAIR)

static const struct {
    size_t bytes;
    void (*make)(op_t op, uint64_t h, void *out);
    void (*combine)(op_t op, const void *left, const void *right, void *out);
} fixed[ORACLE_FIXED] = {
#define ROW(name, handle, ctype) {sizeof(ctype), make_##name, combine_##name},
    ORACLE_EACH_TYPE(ROW)
#undef ROW
};

/* ---- any element ---- */

/* The period of elements: a prime, so that a misplaced fragment does not have
 * the expected contents. */
enum { PERIOD = 4099, UINT64_INDEX = 8, MOST_WORDS = 3 };

_Static_assert(ORACLE_UNIT_BYTES == MOST_WORDS * sizeof(uint64_t),
               "the longest element is three words");

size_t oracle_unit_bytes(unsigned type)
{
    static const size_t bytes[ORACLE_TYPES - ORACLE_FIXED] = {
        16, ORACLE_UNIT_BYTES, 12, 12, 3, 12, ORACLE_UNIT_BYTES};
    return type < ORACLE_FIXED ? fixed[type].bytes : bytes[type - ORACLE_FIXED];
}

void oracle_element(unsigned type, unsigned op, uint64_t seed, size_t rank,
                    size_t index, void *element)
{
    uint64_t h = ctn_hash_mix(
        ctn_hash_mix(seed ^ rank * UINT64_C(0xd6e8feb86659fd93) ^
                     (index % PERIOD + 1) * UINT64_C(0xff51afd7ed558ccd)));
    if (type < ORACLE_FIXED) {
        fixed[type].make((op_t)(op < ORACLE_COMMUTING ? op : OP_SUM), h,
                         element);
        return;
    }
    /* An even factor would lose the data to its left bit by bit. */
    uint64_t words[MOST_WORDS] = {h >> 3 | 1, ctn_hash_mix(h), h << 1};
    memcpy(element, words, oracle_unit_bytes(type));
}

void oracle_combine(unsigned type, unsigned op, const void *left,
                    const void *right, void *out)
{
    uint64_t a[MOST_WORDS], b[MOST_WORDS], c[MOST_WORDS];
    if (type < ORACLE_FIXED && op < ORACLE_COMMUTING) {
        fixed[type].combine((op_t)op, left, right, out);
        return;
    }
    size_t words = oracle_unit_bytes(type) / sizeof(*a);
    memcpy(a, left, words * sizeof(*a));
    memcpy(b, right, words * sizeof(*b));
    if (op == ORACLE_ORDERED) {
        oracle_affine(a, b, words, c);
    } else if (op == ORACLE_COMMUTING) {
        c[0] = oracle_add_modulo(a[0], b[0]);
    } else {
        for (size_t i = 0; i < words; i++) {
            fixed[UINT64_INDEX].combine((op_t)op, &a[i], &b[i], &c[i]);
        }
    }
    memcpy(out, c, words * sizeof(*c));
}

/** Reduce the elements of all ranks at this index only. */
static void reduce_one(unsigned type, unsigned op, uint64_t seed, size_t first,
                       size_t last, size_t index, void *out)
{
    unsigned char next[ORACLE_UNIT_BYTES];
    oracle_element(type, op, seed, first, index, out);
    for (size_t r = first + 1; r <= last; r++) {
        oracle_element(type, op, seed, r, index, next);
        oracle_combine(type, op, out, next, out);
    }
}

void oracle_reduced(unsigned type, unsigned op, uint64_t seed, size_t first,
                    size_t last, size_t index, size_t elements, void *out)
{
    size_t unit = oracle_unit_bytes(type);
    size_t fresh = elements < PERIOD ? elements : PERIOD;
    unsigned char *at = out;
    for (size_t i = 0; i < fresh; i++) {
        reduce_one(type, op, seed, first, last, index + i, at + i * unit);
    }
    for (size_t i = fresh; i < elements; i++) {
        memcpy(at + i * unit, at + (i - PERIOD) * unit, unit);
    }
}

void oracle_normalize(unsigned type, void *data, size_t elements)
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

/* ---- streams ---- */

static uint64_t stream_of(uint64_t seed, size_t from, size_t to)
{
    return oracle_hash(seed, from, to);
}

/** Write the stream that starts at a state. */
static void fill_from(uint64_t state, size_t bytes, void *out)
{
    unsigned char *to_byte = out;
    for (; bytes >= 8; bytes -= 8, to_byte += 8) {
        uint64_t word = ctn_random(&state);
        memcpy(to_byte, &word, 8);
    }
    if (bytes > 0) {
        uint64_t word = ctn_random(&state);
        memcpy(to_byte, &word, bytes);
    }
}

void oracle_stream(uint64_t seed, size_t from, size_t to, size_t at,
                   size_t bytes, void *out)
{
    fill_from(stream_of(seed, from, to) + at / 8 * CTN_RANDOM_STEP, bytes, out);
}

void oracle_fill(uint64_t seed, size_t bytes, void *out)
{
    fill_from(seed, bytes, out);
}

size_t oracle_count_wrong(uint64_t seed, size_t bytes, const void *found,
                          size_t *first)
{
    const unsigned char *in = found;
    unsigned char expected[512];
    size_t wrong = 0;
    for (size_t at = 0; at < bytes; at += sizeof(expected)) {
        size_t n =
            bytes - at < sizeof(expected) ? bytes - at : sizeof(expected);
        fill_from(seed + at / 8 * CTN_RANDOM_STEP, n, expected);
        if (memcmp(in + at, expected, n) == 0) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            if (in[at + i] != expected[i] && wrong++ == 0) {
                *first = at + i;
            }
        }
    }
    return wrong;
}

size_t oracle_stream_differs(uint64_t seed, size_t from, size_t to,
                             size_t bytes, const void *found)
{
    size_t first = bytes;
    (void)oracle_count_wrong(stream_of(seed, from, to), bytes, found, &first);
    return first;
}

/* ---- blocks ---- */

bool oracle_matters(const oracle_view_t *view, bool receiving)
{
    return view->rank == view->root ||
           !ctn_has_trait(&kinds[view->kind],
                          receiving ? CTN_RECV_ROOT_ONLY : CTN_SEND_ROOT_ONLY);
}

size_t oracle_blocks(const oracle_view_t *view, bool receiving)
{
    const ctn_description_t *kind = &kinds[view->kind];
    ctn_side_shape_t shape = receiving ? kind->recv : kind->send;
    if (shape == CTN_SIDE_NONE || !oracle_matters(view, receiving)) {
        return 0;
    }
    return ctn_has_blocks(shape) && !oracle_reduces(view->kind) ? view->size
                                                                : 1;
}

oracle_datum_t oracle_given(const oracle_view_t *view, size_t block)
{
    size_t me = view->rank;
    if (oracle_reduces(view->kind)) {
        return (oracle_datum_t){ORACLE_ELEMENTS, me, me, 0};
    }
    bool own = ctn_has_blocks(kinds[view->kind].send);
    return (oracle_datum_t){ORACLE_STREAM, me, own ? block : 0, 0};
}

oracle_datum_t oracle_expected(const oracle_view_t *view, size_t block)
{
    size_t me = view->rank;
    size_t last = view->size - 1;
    switch (view->kind) {
    case ORACLE_BARRIER:
        return (oracle_datum_t){ORACLE_NOTHING, 0, 0, 0};
    case ORACLE_BCAST:
        return (oracle_datum_t){ORACLE_STREAM, view->root, 0, 0};
    case ORACLE_GATHER:
    case ORACLE_GATHERV:
    case ORACLE_ALLGATHER:
    case ORACLE_ALLGATHERV:
        return (oracle_datum_t){ORACLE_STREAM, block, 0, 0};
    case ORACLE_SCATTER:
    case ORACLE_SCATTERV:
        return (oracle_datum_t){ORACLE_STREAM, view->root, me, 0};
    case ORACLE_REDUCE:
    case ORACLE_ALLREDUCE:
        return (oracle_datum_t){ORACLE_ELEMENTS, 0, last, 0};
    case ORACLE_REDUCE_SCATTER:
    case ORACLE_REDUCE_SCATTER_BLOCK:
        return (oracle_datum_t){ORACLE_ELEMENTS, 0, last, me};
    case ORACLE_SCAN:
        return (oracle_datum_t){ORACLE_ELEMENTS, 0, me, 0};
    case ORACLE_EXSCAN:
        return me == 0 ? (oracle_datum_t){ORACLE_NOTHING, 0, 0, 0}
                       : (oracle_datum_t){ORACLE_ELEMENTS, 0, me - 1, 0};
    case ORACLE_ALLTOALL:
    case ORACLE_ALLTOALLV:
    case ORACLE_ALLTOALLW:
    case ORACLE_KINDS:
        break;
    }
    return (oracle_datum_t){ORACLE_STREAM, block, me, 0};
}
