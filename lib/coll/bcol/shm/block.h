#ifndef CTN_COLL_BCOL_SHM_BLOCK_H
#define CTN_COLL_BCOL_SHM_BLOCK_H

#include "coll/bcol/shm/shm.h"

/* Blocks: parts of any length, shown in the lines of members. Up to a segment
 * they are shown as vectors are. Longer ones are lent, or copied: up to
 * SHM_KEPT_BYTES into memory that this member keeps for such copies, so nobody
 * waits for the readers; beyond that into memory of their own, which is lent.
 */

#define SHM_KEPT_BYTES ((size_t)128 << 10)

/** A way for blocks. */
typedef struct shm_block_algorithm {
    shm_algorithm_t algorithm;
    size_t zcopy_bytes; /* so many bytes, of blocks in the shared heap */
    const char *what;   /* collective it is a way of */
} shm_block_algorithm_t;

/** Take memory for what a call shows, cannot lend, and does not fit a segment:
 * so many bytes in all. */
void shm_copy_area_take(shm_call_t *call, size_t bytes);
/** Give it back; nobody reads it any more. */
void shm_copy_area_release(shm_call_t *call);

/** Whether a part is to be lent, which its length and place decide. */
bool shm_may_zcopy(const shm_call_t *call, const void *data, size_t bytes);

/** Show a part in the line of member i. What must be copied and does not fit a
 * segment goes where there is room; if there is none, readers are told. */
void shm_publish_block(shm_call_t *call, uint32_t i, const void *data,
                       size_t bytes);

/** The part of `owner` in the line of member i, which has been heard. Remembers
 * whether it is lent. NULL: its owner had no memory, or it does not have so
 * many bytes, and the call fails. */
const void *shm_published_block(shm_call_t *call, uint32_t i, uint32_t owner,
                                size_t bytes);

/** The part at `data`, which this member has for itself. NULL: it expects
 * another length, and the call fails. */
const void *shm_own_block(shm_call_t *call, const void *data, size_t bytes,
                          size_t expected);

/** Whether this member has lent what it shows in the line of member i. */
bool shm_has_zcopy(const shm_call_t *call, uint32_t i);

/** Show so much from basic->in in the own line. */
void shm_publish_in(shm_call_t *call, size_t bytes);

/* ---- steps that several ways have ---- */

/** Show this member's part in its line. */
bool shm_publish_own(shm_call_t *call);
/** Set the own flag if something that was read was lent. */
bool shm_acknowledge(shm_call_t *call);
/** Wait until all have read what is lent, and all of them set their flags. */
bool shm_await_acknowledgments(shm_call_t *call);

/** When the component goes. */
void shm_release_kept(shm_t *shm);

#endif
