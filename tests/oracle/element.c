/* Elements of reductions; see element.h. */

#include "oracle/element.h"

#include <stdlib.h>

#include "oracle/random.h"

/* Above the chunks of usual builds, and of builds with small constants. */
enum { LARGE_BYTES = 32768, TINY_LARGE_BYTES = 4096, UINT64 = 8, BLOCKS = 5 };

const char *oracle_element_name(unsigned element)
{
    static const char *const names[ORACLE_ELEMENT_VALUES] = {
        "", " gapped", " large", " large gapped"};
    return names[element];
}

size_t oracle_element_units(uint64_t random, unsigned element, unsigned type)
{
    size_t limit = random % 4 == 0 ? TINY_LARGE_BYTES : LARGE_BYTES;
    size_t more = 1 + random / 4 % 4;
    return element == ORACLE_PLAIN    ? 1
           : element == ORACLE_GAPPED ? more
                                      : limit / oracle_unit_bytes(type) + more;
}

/** `count` consecutive atoms of `bytes` bytes are blocks at any positions. */
static void draw_blocks(oracle_type_t *t, uint64_t *random, size_t count,
                        size_t bytes, size_t *length, ptrdiff_t *at)
{
    size_t first =
        ctn_random_below(random, BLOCKS); /* the lowest; then cyclic */
    ptrdiff_t cursor = (ptrdiff_t)ctn_random_below(random, 40) - 20;
    size_t left = count;
    for (size_t i = 0; i < BLOCKS; i++) {
        length[i] = i + 1 == BLOCKS ? left : ctn_random_below(random, left + 1);
        left -= length[i];
    }
    for (size_t k = 0; k < BLOCKS; k++) {
        size_t i = (first + k) % BLOCKS;
        at[i] = cursor;
        cursor += (ptrdiff_t)(length[i] * bytes + ctn_random_below(random, 9));
    }
    t->run = oracle_zeros(BLOCKS, sizeof(*t->run));
    for (size_t i = 0; i < BLOCKS; i++) {
        if (length[i] > 0) {
            t->run[t->runs++] = (oracle_run_t){at[i], length[i] * bytes};
        }
    }
    t->bytes = count * bytes;
}

/** Bounds that leave room for consecutive elements; the lower one is any, also
 * negative, and so may be the extent. */
static void draw_bounds(oracle_type_t *t, uint64_t *random)
{
    ptrdiff_t low, high;
    t->extent = 0;
    oracle_type_span(t, 1, &low, &high);
    t->extent = high - low + 1 + (ptrdiff_t)ctn_random_below(random, 17);
    t->extent = ctn_random_below(random, 4) == 0 ? -t->extent : t->extent;
    t->lower = low - (ptrdiff_t)ctn_random_below(random, 40) + 10;
}

void oracle_element_draw(const oracle_t *oracle, oracle_type_t *t,
                         uint64_t *random, const oracle_table_t *table,
                         unsigned type, size_t units, unsigned element)
{
    unsigned base = type < ORACLE_FIXED ? type : UINT64;
    size_t bytes = oracle_unit_bytes(base);
    size_t atoms = units * (oracle_unit_bytes(type) / bytes);
    catena_type_t atom = table->send[base].type;
    *t = (oracle_type_t){.derived = true};
    if (element == ORACLE_LARGE) {
        t->run = oracle_zeros(1, sizeof(*t->run));
        t->run[0] = (oracle_run_t){0, atoms * bytes};
        t->runs = 1;
        t->bytes = atoms * bytes;
        t->extent = (ptrdiff_t)t->bytes;
        ORACLE_CHECK(oracle, catena_type_contiguous(atoms, atom, &t->type) ==
                                 CATENA_OK);
        return;
    }
    size_t length[BLOCKS];
    ptrdiff_t at[BLOCKS];
    catena_type_t blocks = NULL;
    draw_blocks(t, random, atoms, bytes, length, at);
    draw_bounds(t, random);
    ORACLE_CHECK(oracle, catena_type_hindexed(BLOCKS, length, at, atom,
                                              &blocks) == CATENA_OK);
    ORACLE_CHECK(oracle, catena_type_resized(blocks, t->lower, t->extent,
                                             &t->type) == CATENA_OK);
    ORACLE_CHECK(oracle, catena_type_free(&blocks) == CATENA_OK);
}

static void apply(const void *in, void *inout, size_t count, catena_type_t type,
                  void *argument)
{
    const oracle_function_t *function = argument;
    const oracle_type_t *t = function->t;
    size_t unit = oracle_unit_bytes(function->type);
    unsigned char *a = oracle_zeros(2, t->bytes);
    unsigned char *b = a + t->bytes;
    const unsigned char *left = in;
    unsigned char *right = inout;
    if (catena_type_size(type) != t->bytes) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        oracle_type_get(t, left, 1, a);
        oracle_type_get(t, right, 1, b);
        for (size_t from = 0; from < t->bytes; from += unit) {
            oracle_combine(function->type, function->op, a + from, b + from,
                           b + from);
        }
        oracle_type_put(t, right, 1, b);
        left += t->extent;
        right += t->extent;
    }
    free(a);
}

catena_op_t oracle_function_create(const oracle_t *oracle,
                                   oracle_function_t *function)
{
    catena_op_t op = NULL;
    ORACLE_CHECK(oracle, catena_op_create(apply, function,
                                          function->op == ORACLE_COMMUTING,
                                          &op) == CATENA_OK);
    return op;
}
