#ifndef CTN_GROUP_STREAM_H
#define CTN_GROUP_STREAM_H

#include "group/chain_place.h"

/* Block streams: blocks of any lengths in the format in which they are sent.
 * Each has its length, then the data, padded to 8 bytes. Block streams are
 * joined by concatenation. (The stream of a datatype is something else.) */

/** A block of one member. */
typedef struct ctn_rank_block {
    const void *data; /* aligned to 8 bytes in results */
    size_t bytes;
} ctn_rank_block_t;

/** A block stream; all zero when it is empty. */
typedef struct ctn_stream {
    unsigned char *memory; /* in this rank's heap */
    size_t bytes;          /* in use */
    size_t capacity;       /* bytes of `memory` */
} ctn_stream_t;

/** Return the bytes that a block takes in a stream. */
static inline size_t ctn_stream_bytes(size_t bytes)
{
    return sizeof(uint64_t) + ((bytes + 7) & ~(size_t)7);
}

/** Reserve capacity for `bytes` more. */
catena_status_t ctn_stream_reserve(ctn_exec_t *exec, ctn_stream_t *stream,
                                   size_t bytes);
/** Append a block. */
catena_status_t ctn_stream_put(ctn_exec_t *exec, ctn_stream_t *stream,
                               ctn_rank_block_t block);
/** Append the blocks of another stream.
 * @param blocks `bytes` of the other stream, whole blocks */
catena_status_t ctn_stream_append(ctn_exec_t *exec, ctn_stream_t *stream,
                                  const void *blocks, size_t bytes);
void ctn_stream_release(ctn_exec_t *exec, ctn_stream_t *stream);

/** Return the block at offset `*at` of a stream, and set `*at` to the offset of
 * the next block.
 * @param memory of the stream */
ctn_rank_block_t ctn_stream_next(const unsigned char *memory, size_t *at);

/** A result that has a block for each member, in rank order. */
typedef struct ctn_rank_blocks {
    ctn_rank_block_t *block; /* [count] */
    uint32_t count;
    ctn_stream_t stream[2]; /* what `block` points into */
} ctn_rank_blocks_t;

/** Make a list of blocks by rank from the block streams of a member's two
 * sides. The list takes over the memory of the streams.
 * @param stream each begins with this member's block, followed by the blocks of
 *               its side, the nearest first; of rank 0 the left one may be
 *               empty
 * @param head   bytes to skip before this member's block
 * @param rank   of this member among the `count` members */
catena_status_t ctn_rank_blocks_take(ctn_exec_t *exec,
                                     ctn_rank_blocks_t *blocks,
                                     ctn_stream_t *stream, size_t head,
                                     uint32_t rank, uint32_t count);
/** Free the memory of a result. */
void ctn_rank_blocks_release(ctn_exec_t *exec, ctn_rank_blocks_t *blocks);

#endif
