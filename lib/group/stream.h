#ifndef CTN_GROUP_STREAM_H
#define CTN_GROUP_STREAM_H

#include "exec/exec.h"

/* Streams: blocks of any lengths in the format in which they are sent: the
 * length, then the data, padded to 8 bytes. Streams are joined by
 * concatenation. */

typedef struct ctn_rank_block {
    const void *data; /* aligned to 8 bytes in results */
    size_t bytes;
} ctn_rank_block_t;

typedef struct ctn_stream {
    unsigned char *memory; /* in the own heap */
    size_t bytes;          /* in use */
    size_t capacity;
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
/** Append another stream, or a part of one. */
catena_status_t ctn_stream_append(ctn_exec_t *exec, ctn_stream_t *stream,
                                  const void *records, size_t bytes);
void ctn_stream_release(ctn_exec_t *exec, ctn_stream_t *stream);

/** Return the block at `*at`, and advance it to the next one. */
ctn_rank_block_t ctn_stream_next(const unsigned char *records, size_t *at);

#endif
