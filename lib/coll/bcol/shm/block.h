#ifndef CTN_COLL_BCOL_SHM_BLOCK_H
#define CTN_COLL_BCOL_SHM_BLOCK_H

#include "coll/bcol/shm/shm.h"

/* Blocks of any length, published in the members' descriptors. Up to a chunk
 * they are published as vectors are. Longer ones are zcopy or copied: up to
 * SHM_KEPT_BYTES into memory that this member keeps for such copies, so it does
 * not wait for the readers; beyond that into allocated memory, which is
 * zcopy. */

#define SHM_KEPT_BYTES ((size_t)128 << 10)

/** An algorithm for blocks. */
typedef struct shm_block_algorithm {
    shm_algorithm_t algorithm;
    size_t zcopy_bytes; /* minimal length of zcopy, for blocks in the shared
                           heap */
    const char *what;   /* name of the collective */
} shm_block_algorithm_t;

/** Take memory for what a call publishes that is not zcopy and longer than a
 * chunk: `bytes` in all. */
void shm_copy_area_take(shm_call_t *call, size_t bytes);
/** Release it, when nobody reads it any more. */
void shm_copy_area_release(shm_call_t *call);

/** Whether a block will be zcopy, by its length and place. */
bool shm_may_zcopy(const shm_call_t *call, const void *data, size_t bytes);

/** Publish a block in the descriptor of member i. What must be copied and is
 * longer than a chunk goes to the copy area. If there is none, the readers
 * learn of it and fail. */
void shm_publish_block(shm_call_t *call, uint32_t i, const void *data,
                       size_t bytes);

/** The block of `owner` in the descriptor of member i, whose word has been
 * seen. Sets call->acknowledge if it is zcopy. @return NULL: the owner had no
 * memory, or the block has another length; the call fails */
const void *shm_published_block(shm_call_t *call, uint32_t i, uint32_t owner,
                                size_t bytes);

/** This member's own block. @return NULL: it has another length than expected;
 * the call fails */
const void *shm_own_block(shm_call_t *call, const void *data, size_t bytes,
                          size_t expected);

/** Whether the descriptor of member i refers to a zcopy block of this
 * member. */
bool shm_has_zcopy(const shm_call_t *call, uint32_t i);

/** Publish `bytes` from basic->in in this member's descriptor. */
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
