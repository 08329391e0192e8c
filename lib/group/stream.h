#ifndef CTN_GROUP_STREAM_H
#define CTN_GROUP_STREAM_H

#include "exec/exec.h"

/* Pieces of any lengths, one behind the other as they travel: the length, the
 * data, padded to 8 bytes. Streams are joined by laying them end to end. */

typedef struct ctn_rank_block {
    const void *data; /* aligned to 8 bytes where it is a result */
    size_t bytes;
} ctn_rank_block_t;

typedef struct ctn_stream {
    unsigned char *memory; /* in the own heap */
    size_t bytes;          /* in use */
    size_t capacity;
} ctn_stream_t;

/** What a piece takes. */
static inline size_t ctn_stream_bytes(size_t bytes)
{
    return sizeof(uint64_t) + ((bytes + 7) & ~(size_t)7);
}

/** Make room for `bytes` more. */
catena_status_t ctn_stream_reserve(ctn_exec_t *exec, ctn_stream_t *stream,
                                   size_t bytes);
/** Add a piece at the end. */
catena_status_t ctn_stream_put(ctn_exec_t *exec, ctn_stream_t *stream,
                               ctn_rank_block_t block);
/** Add what another stream, or part of one, consists of. */
catena_status_t ctn_stream_append(ctn_exec_t *exec, ctn_stream_t *stream,
                                  const void *records, size_t bytes);
void ctn_stream_release(ctn_exec_t *exec, ctn_stream_t *stream);

/** The piece at `*at`, which moves on to the next one. */
ctn_rank_block_t ctn_stream_next(const unsigned char *records, size_t *at);

#endif
