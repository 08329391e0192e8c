/* Contents of the vectors of a reduction, and the check of the result: each
 * element is compared with the combination of this element of all vectors. */

#include <string.h>

#include "bench.h"
#include "oracle/content.h"

/* The result is computed and checked in passes of so many elements. */
enum { PASS_ELEMENTS = 128 };

/* Stamps of the receive buffer before a call, and of the guard behind it; no
 * call has them. */
static const uint64_t stale_stamp = UINT64_MAX - 1;
static const uint64_t guard_stamp = UINT64_MAX;

/* Memory for PASS_ELEMENTS elements of any type. */
struct scratch {
    _Alignas(16) unsigned char at[PASS_ELEMENTS * ORACLE_UNIT_BYTES];
};

/* A reduction on this rank. */
struct reduction {
    const struct bench_type *type;
    unsigned op; /* its number in the oracle */
    uint64_t stamp;
};

static struct reduction reduction_of(const struct bench_call *call,
                                     uint64_t stamp)
{
    const struct bench_options *options = call->bench->options;

    return (struct reduction){
        .type = options->type, .op = options->op->oracle, .stamp = stamp};
}

static unsigned char *guard(const struct bench_call *call)
{
    return call->recv + call->layout.recvs.bytes;
}

struct bench_blocks bench_vector_of(const struct bench_call *call, size_t bytes)
{
    return (struct bench_blocks){.number = 1,
                                 .source = call->rank,
                                 .rows = 1,
                                 .row_bytes = bytes,
                                 .bytes = bytes};
}

struct bench_blocks bench_vectors_to(int last, size_t bytes)
{
    return (struct bench_blocks){
        .number = last + 1, .source = BENCH_EACH, .rows = 1, .bytes = bytes};
}

/* Write `count` elements of vector `which`, from element `first` on. */
static void make(const struct reduction *reduction,
                 const struct bench_blocks *vectors, int which, size_t first,
                 size_t count, unsigned char *out)
{
    const struct bench_type *type = reduction->type;
    uint64_t seed = bench_block_seed(vectors, which, reduction->stamp);

    for (size_t i = 0; i < count; i++)
        oracle_element(type->oracle, reduction->op, seed, 0, first + i,
                       out + i * type->bytes);
}

/* Write the combination of these elements of all vectors. */
static void combine(const struct reduction *reduction,
                    const struct bench_blocks *vectors, size_t first,
                    size_t count, unsigned char *out)
{
    const struct bench_type *type = reduction->type;
    struct scratch next;

    make(reduction, vectors, 0, first, count, out);
    for (int which = 1; which < vectors->number; which++) {
        make(reduction, vectors, which, first, count, next.at);
        for (size_t i = 0; i < count * type->bytes; i += type->bytes)
            oracle_combine(type->oracle, reduction->op, out + i, next.at + i,
                           out + i);
    }
}

void bench_fill_vector(struct bench_call *call, uint64_t stamp)
{
    const struct bench_layout *layout = &call->layout;
    const struct bench_blocks *sends = &layout->sends;
    struct reduction reduction = reduction_of(call, stamp);
    unsigned char *out =
        layout->in_place ? call->recv : (unsigned char *)call->send;

    if (!layout->in_place)
        bench_fill(call->recv, layout->recvs.bytes,
                   bench_seed(stale_stamp, call->rank, 0));
    for (int i = 0; i < sends->number; i++)
        make(&reduction, sends, i, 0,
             bench_block_bytes(sends, i) / reduction.type->bytes,
             out + bench_block_offset(sends, i));
    bench_fill(guard(call), BENCH_GUARD_BYTES,
               bench_seed(guard_stamp, call->rank, 0));
}

/* Whether two elements are equal; +0 and -0 are. */
static bool same(const struct bench_type *type, const unsigned char *expected,
                 const unsigned char *found)
{
    struct scratch a, b;

    memcpy(a.at, expected, type->bytes);
    memcpy(b.at, found, type->bytes);
    oracle_normalize(type->oracle, a.at, 1);
    oracle_normalize(type->oracle, b.at, 1);
    return memcmp(a.at, b.at, type->bytes) == 0;
}

/* Describe a wrong element of `bytes` by its first byte that differs. */
static struct bench_mismatch mismatch(const unsigned char *expected,
                                      const unsigned char *found, size_t bytes)
{
    size_t i = 0;

    while (i + 1 < bytes && expected[i] == found[i])
        i++;
    return (struct bench_mismatch){
        .offset = i, .expected = expected[i], .found = found[i]};
}

/* The expected contents of a part of a buffer. */
struct contents {
    const char *where; /* for struct bench_mismatch */
    int rank;          /* likewise, printed behind `where` */
    const struct bench_blocks *vectors;
    int which;    /* one of the vectors, or COMBINED */
    size_t first; /* element of the vector */
    size_t count; /* of elements */
};

enum { COMBINED = -1 };

/* Write `count` elements of the contents, from their element `begin` on. */
static void make_contents(const struct reduction *reduction,
                          const struct contents *contents, size_t begin,
                          size_t count, unsigned char *out)
{
    if (contents->which == COMBINED)
        combine(reduction, contents->vectors, contents->first + begin, count,
                out);
    else
        make(reduction, contents->vectors, contents->which,
             contents->first + begin, count, out);
}

/* Check a part of a buffer; returns the number of wrong bytes. `before`: wrong
 * bytes that were found before; if 0, `first` gets the first one. */
static uint64_t verify(const struct reduction *reduction,
                       const unsigned char *vector,
                       const struct contents *contents, uint64_t before,
                       struct bench_mismatch *first)
{
    size_t bytes = reduction->type->bytes;
    struct scratch scratch;
    uint64_t wrong = 0;

    for (size_t begin = 0; begin < contents->count; begin += PASS_ELEMENTS) {
        size_t left = contents->count - begin,
               n = left < PASS_ELEMENTS ? left : PASS_ELEMENTS;

        make_contents(reduction, contents, begin, n, scratch.at);
        for (size_t i = 0; i < n; i++) {
            const unsigned char *found = vector + (begin + i) * bytes;
            const unsigned char *expected = scratch.at + i * bytes;

            if (same(reduction->type, expected, found))
                continue;
            if (before + wrong == 0) {
                *first = mismatch(expected, found, bytes);
                first->where = contents->where;
                first->source = contents->rank;
                first->offset += (begin + i) * bytes;
            }
            wrong += bytes;
        }
    }
    return wrong;
}

/* Check the receive buffer: it has the result, or must be unchanged. */
static uint64_t verify_result(const struct bench_call *call,
                              const struct reduction *reduction,
                              struct bench_mismatch *first)
{
    const struct bench_layout *layout = &call->layout;
    const struct bench_blocks *from = &layout->recvs;
    struct contents contents = {
        .where = from->ranks != NULL ? "result of sources, the last is rank"
                                     : "result of ranks 0 to",
        .vectors = from,
        .which = COMBINED,
        .first = layout->first,
        .count = layout->results};

    if (from->number > 0) {
        contents.rank = from->ranks != NULL ? from->ranks[from->number - 1]
                                            : from->number - 1;
        return verify(reduction, call->recv, &contents, 0, first);
    }
    if (layout->in_place) {
        contents.where = "receive buffer (must not change) of rank";
        contents.rank = call->rank;
        contents.vectors = &layout->sends;
        contents.which = 0;
        return verify(reduction, call->recv, &contents, 0, first);
    }
    first->where = "receive buffer (must not change) of rank";
    first->source = call->rank;
    return bench_compare(call->recv, layout->recvs.bytes,
                         bench_seed(stale_stamp, call->rank, 0), first);
}

static uint64_t verify_guard(const struct bench_call *call, uint64_t before,
                             struct bench_mismatch *first)
{
    struct bench_mismatch found = {
        .where = "guard behind the receive buffer of rank",
        .source = call->rank};
    uint64_t wrong =
        bench_compare(guard(call), BENCH_GUARD_BYTES,
                      bench_seed(guard_stamp, call->rank, 0), &found);

    if (wrong != 0 && before == 0)
        *first = found;
    return wrong;
}

static uint64_t verify_sent(const struct bench_call *call,
                            const struct reduction *reduction, uint64_t before,
                            struct bench_mismatch *first)
{
    const struct bench_blocks *sends = &call->layout.sends;
    const unsigned char *buffer = call->send;
    uint64_t wrong = 0;

    for (int i = 0; i < sends->number; i++) {
        struct contents own = {.where = "send buffer (must not change) of rank",
                               .rank = call->rank,
                               .vectors = sends,
                               .which = i,
                               .count = bench_block_bytes(sends, i) /
                                        reduction->type->bytes};

        wrong += verify(reduction, buffer + bench_block_offset(sends, i), &own,
                        before + wrong, first);
    }
    return wrong;
}

uint64_t bench_verify_vector(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first)
{
    struct reduction reduction = reduction_of(call, stamp);
    uint64_t wrong = verify_result(call, &reduction, first);

    wrong += verify_guard(call, wrong, first);
    if (!call->layout.in_place)
        wrong += verify_sent(call, &reduction, wrong, first);
    return wrong;
}
