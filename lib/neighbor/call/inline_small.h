#ifndef CTN_NEIGHBOR_CALL_INLINE_SMALL_H
#define CTN_NEIGHBOR_CALL_INLINE_SMALL_H

#include "core/cache_line.h"
#include "exec/inline.h"
#include "neighbor/link/protocol.h"
#include "neighbor/schedule/schedule.h"

/* The data of the inline path for small blocks: of at most
 * CTN_NEIGHBOR_INLINE_BYTES bytes, which is less than CTN_LINK_POSTED_MIN, so
 * no buffers are posted for them. Ranks that share a core touch these data
 * whenever they run, so they take few cache lines, in few pages. */

/** One end of a link, mapped here. */
typedef struct ctn_inline_end {
    ctn_slot_t *slots; /* [generation] at the receiver */
    /* Eager buffers [generation]. */
    uint32_t eager;       /* cache lines from `slots` to the first one */
    uint16_t eager_lines; /* cache lines of each */
    uint16_t neighbor;    /* index in the list of targets or of sources */
} ctn_inline_end_t;

/** The slot of operation `seq`. */
static inline ctn_slot_t *ctn_inline_slot(const ctn_inline_end_t *end,
                                          uint64_t seq)
{
    return end->slots + ctn_link_generation(seq);
}

/** Where the data of a message lie: in the slot or in its eager buffer. */
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
    uint32_t send_step; /* bytes from one sent block to the next, or 0 */
    uint32_t bytes;     /* of a block; received blocks are adjacent */
} ctn_inline_small_t;

#endif
