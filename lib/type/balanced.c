/* HIER-13: the balanced tree of operands that are all at hand. They are reduced
 * a part at a time, so that partial results stay in the first-level cache. */

#include "type/balanced.h"

#include <assert.h>

/* Memory for the partial results of one part, and what each of them is a
 * multiple of: whole elements of any type, whole cache lines. */
enum { SPARE_BYTES = 4096, PART_UNIT = 64 };

typedef struct tree {
    const ctn_reducer_t *by;
    uint32_t pairs;
    ctn_operand_t operand;
    void *from;
    size_t at;    /* of the part, in the operands */
    size_t bytes; /* of the part */
} tree_t;

static const unsigned char *operand_of(const tree_t *tree, uint32_t i)
{
    return tree->operand(tree->from, i) + tree->at;
}

/** Reduce 2^level units.
 * @param out   memory for the result
 * @param spare memory for a partial result of each level
 * @return the result: `out`, or the only operand */
static const unsigned char *reduce_units(const tree_t *tree, uint32_t unit,
                                         unsigned level, unsigned char *out,
                                         unsigned char *spare)
{
    const unsigned char *left, *right;
    if (level > 0) {
        uint32_t half = UINT32_C(1) << (level - 1);
        unsigned char *next = spare + tree->bytes;
        left = reduce_units(tree, unit, level - 1, out, next);
        right = reduce_units(tree, unit + half, level - 1, spare, next);
    } else {
        uint32_t first = ctn_balanced_first(tree->pairs, unit);
        left = operand_of(tree, first);
        if (unit >= tree->pairs) {
            return left;
        }
        right = operand_of(tree, first + 1);
    }
    ctn_reduce(tree->by, left, right, out, tree->bytes);
    return out;
}

void ctn_balanced_reduce(const ctn_reducer_t *by, uint32_t operands,
                         ctn_operand_t operand, void *from, size_t bytes,
                         unsigned char *out)
{
    _Alignas(64) unsigned char spare[SPARE_BYTES];
    assert(operands >= 2);
    unsigned levels = ctn_balanced_levels(operands);
    size_t most = SPARE_BYTES / levels / PART_UNIT * PART_UNIT;
    tree_t tree = {.by = by,
                   .pairs = ctn_balanced_pairs(operands),
                   .operand = operand,
                   .from = from};
    for (; tree.at < bytes; tree.at += tree.bytes) {
        tree.bytes = bytes - tree.at < most ? bytes - tree.at : most;
        (void)reduce_units(&tree, 0, levels, out + tree.at, spare);
    }
}
