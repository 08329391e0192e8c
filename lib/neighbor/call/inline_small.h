#ifndef CTN_NEIGHBOR_CALL_INLINE_SMALL_H
#define CTN_NEIGHBOR_CALL_INLINE_SMALL_H

#include "core/cache_line.h"
#include "neighbor/link/protocol.h"
#include "neighbor/schedule/schedule.h"

/* What small blocks are sent and received through. Ranks that share a core
 * touch it in every turn: few cache lines, in few pages. */

/* Blocks of at most CTN_NEIGHBOR_INLINE_BYTES bytes use a copy with a low start
 * cost. They are never posted (CTN_LINK_POSTED_MIN). */

/** One end of a link, mapped here. */
typedef struct ctn_inline_end {
    ctn_slot_t *slots; /* [generation] at the receiver */
    /* Eager buffers [generation], in cache lines: distance from the slots, and
     * from one buffer to the next. */
    uint32_t eager;
    uint16_t eager_lines;
    uint16_t neighbor; /* in the list of targets or of sources */
} ctn_inline_end_t;

static inline ctn_slot_t *ctn_inline_slot(const ctn_inline_end_t *end,
                                          uint64_t seq)
{
    return end->slots + ctn_link_generation(seq);
}

/** The payload of a message within the eager limit. */
static inline unsigned char *ctn_inline_payload(const ctn_inline_end_t *end,
                                                uint64_t seq, size_t bytes)
{
    if (bytes <= CTN_INLINE_BYTES) {
        return ctn_inline_slot(end, seq)->data;
    }
    size_t lines =
        end->eager + ctn_link_generation(seq) * (size_t)end->eager_lines;
    return (unsigned char *)end->slots + lines * CTN_LINE;
}

/** An exchange of small blocks of one length: where they lie in the caller's
 * buffers, and their link ends. */
typedef struct ctn_inline_small {
    const ctn_inline_end_t *end; /* [sends], then [receives] */
    const unsigned char *send;
    unsigned char *recv;
    const ctn_schedule_t *local_copies; /* a schedule with local copies, else
                                           NULL */
    uint32_t sends, receives;
    uint32_t send_step; /* from one block to the next */
    uint32_t bytes;     /* also from one received block to the next */
} ctn_inline_small_t;

#endif
