#ifndef CTN_COLL_BCOL_SHM_BLOCK_H
#define CTN_COLL_BCOL_SHM_BLOCK_H

#include "coll/bcol/shm/shm.h"

/* Blocks of any length, published in the members' descriptors. A block is zcopy
 * if it lies in the shared heap and the algorithm wants that for its length.
 * Other blocks are copied. Up to a chunk they are staged, as vectors are.
 * Longer ones go to the copy area of the call: up to SHM_KEPT_BYTES to memory
 * that the module keeps until all members have ended the operation, so this
 * member does not wait for the readers; beyond that to memory allocated for the
 * call, which is zcopy: this member waits for the readers and frees it. */

#define SHM_KEPT_BYTES ((size_t)128 << 10)

/** An algorithm for blocks. */
typedef struct shm_block_algorithm {
    shm_algorithm_t algorithm; /* first */
    size_t zcopy_bytes; /* blocks from this length on are zcopy if they lie in
                           the shared heap */
    const char *what;   /* name of the collective */
} shm_block_algorithm_t;

/** Take memory for the blocks that a call publishes which are not zcopy and
 * longer than a chunk: `bytes` in all. */
void shm_copy_area_take(shm_call_t *call, size_t bytes);
/** Release it at the end of the call. */
void shm_copy_area_release(shm_call_t *call);

/** Whether a block will be zcopy, by its length and by where it lies. */
bool shm_may_zcopy(const shm_call_t *call, const void *data, size_t bytes);

/** Publish a block in the descriptor of member i. If it is to go to the copy
 * area and there is none, the descriptor says so, and the readers fail. */
void shm_publish_block(shm_call_t *call, uint32_t i, const void *data,
                       size_t bytes);

/** The block that member `owner` published in the descriptor of member i; its
 * word is set. Sets call->acknowledge if the block is zcopy. @return NULL: the
 * owner had no memory or no valid data, or the block has another length; the
 * call fails */
const void *shm_published_block(shm_call_t *call, uint32_t i, uint32_t owner,
                                size_t bytes);

/** Check the length of this member's own block. @return `data`; NULL: it has
 * another length than expected; the call fails */
const void *shm_own_block(shm_call_t *call, const void *data, size_t bytes,
                          size_t expected);

/** Whether the descriptor of member i refers to a zcopy block of this
 * member. */
bool shm_has_zcopy(const shm_call_t *call, uint32_t i);

/** Publish basic->in, of this length, as one block in this member's
 * descriptor. */
void shm_publish_in(shm_call_t *call, size_t bytes);

/* ---- steps that several algorithms share ---- */

/** Publish this member's block in its descriptor. */
bool shm_publish_own(shm_call_t *call);
/** Set this member's flag if anything that it read was zcopy. */
bool shm_acknowledge(shm_call_t *call);
/** If this member published zcopy data, wait until all have set their flags. */
bool shm_await_acknowledgments(shm_call_t *call);

/** Release all kept memory, when the module is destroyed. */
void shm_release_kept(shm_t *shm);

#endif
