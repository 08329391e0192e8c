#ifndef CTN_EXEC_AGGREGATE_H
#define CTN_EXEC_AGGREGATE_H

#include "exec/span.h"

/* Aggregates: blocks of one length from ranks of a node, the contributors, to
 * ranks of another node, the consumers, in one message.
 *
 *   node A                                     node B
 *   block block block                          block block block
 *      \    |    /                                /\   |   /\
 *     area of a rank of A   == network ==>     area of a rank of B
 *
 * Each contributor copies its blocks into an area, memory that all ranks of the
 * node can write. The one that adds the last blocks sends the aggregate to an
 * area on the other node. The consumers read their blocks there, in place. A
 * single contributor needs no area: it sends its blocks from where they lie.
 *
 * An area has a word and the data. The word holds the number of the aggregate,
 * how many contributions were made, and the length of their blocks. A
 * contribution to another aggregate than the word has begins a new one, so a
 * word needs no reset. The word of the complete aggregate is also the one that
 * announces it to the consumers. A contributor whose blocks have another length
 * than the others' marks it; then no consumer takes data from it.
 *
 * The owner of the areas knows which aggregates there are, where they lie, in
 * which order their blocks are, and when an area may be used again. */

/** The longest block, and the most contributors, that a word can hold. */
#define CTN_AGGREGATE_BLOCK_BYTES ((size_t)64 << 10)
#define CTN_AGGREGATE_CONTRIBUTORS 8191u

/** In place of a length: the contributors have blocks of different lengths, or
 * blocks that are too long. */
#define CTN_AGGREGATE_MISMATCH UINT32_MAX

/* The count in a word: the lowest bits hold the length, then a bit marks a
 * mismatch, then the contributions; the highest bit is set, so that the word
 * differs from words of other messages. */
enum {
    CTN_AGGREGATE_CONTRIBUTION = 1 << 18,
    CTN_AGGREGATE_DIFFERS = 1 << 17,
    CTN_AGGREGATE_LENGTH = CTN_AGGREGATE_DIFFERS - 1
};
#define CTN_AGGREGATE_FLAG (UINT32_C(1) << 31)
_Static_assert(CTN_AGGREGATE_BLOCK_BYTES <= CTN_AGGREGATE_LENGTH &&
                   CTN_AGGREGATE_CONTRIBUTORS <=
                       (CTN_AGGREGATE_FLAG - 1) / CTN_AGGREGATE_CONTRIBUTION,
               "they fit the bits of a word");

/** An aggregate, as its contributors see it. */
typedef struct ctn_aggregate {
    uint64_t number;       /* as for ctn_flag */
    uint32_t contributors; /* at least 1 */
    uint32_t blocks;       /* of all contributors */
    uint64_t *word;        /* of the area */
    unsigned char *data;   /* of the area */
    ctn_put_t to;          /* where it goes; the value is set here */
} ctn_aggregate_t;

/** Add a block to the area, at a position that belongs to this rank. */
static inline void ctn_aggregate_add(ctn_op_t *op,
                                     const ctn_aggregate_t *aggregate,
                                     uint32_t position, const ctn_span_t *block)
{
    ctn_span_read(op->exec, block, 0, block->bytes,
                  aggregate->data + position * block->bytes);
}

/** This rank has added all its blocks. The last contributor sends the
 * aggregate; the area must not change until its op->pending is 0.
 * @param bytes length of each block; longer than CTN_AGGREGATE_BLOCK_BYTES:
 *              this rank could not add its blocks */
catena_status_t ctn_aggregate_join(ctn_op_t *op, ctn_aggregate_t *aggregate,
                                   size_t bytes);

/** A single contributor sends its blocks from where they lie; they may change
 * when op->pending is 0. The area is not used.
 * @return 1: sent, 0: the network uses all staging buffers, < 0: status */
int ctn_aggregate_send_alone(ctn_op_t *op, ctn_aggregate_t *aggregate,
                             const ctn_span_t *blocks, size_t bytes);

/** Whether a word announces blocks, or has contributions, of an aggregate with
 * this number. */
static inline bool ctn_aggregate_matches(uint64_t word, uint64_t number)
{
    return ctn_flag_matches(word, number) &&
           (ctn_flag_count(word) & CTN_AGGREGATE_FLAG) != 0;
}

/** The contributions that a word counts. */
static inline uint32_t ctn_aggregate_contributions(uint64_t word)
{
    return (ctn_flag_count(word) & ~CTN_AGGREGATE_FLAG) /
           CTN_AGGREGATE_CONTRIBUTION;
}

/** The length of the blocks that a word announces, or
 * CTN_AGGREGATE_MISMATCH. */
static inline uint32_t ctn_aggregate_bytes(uint64_t word)
{
    return (word & CTN_AGGREGATE_DIFFERS) != 0 ? CTN_AGGREGATE_MISMATCH
                                               : word & CTN_AGGREGATE_LENGTH;
}

#endif
