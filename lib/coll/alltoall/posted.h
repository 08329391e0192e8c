#ifndef CTN_COLL_ALLTOALL_POSTED_H
#define CTN_COLL_ALLTOALL_POSTED_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Exchange of blocks of one length that the members of a node copy directly
 * into each other's buffers; see posted.c. */

/** State of one exchange on this member. */
typedef struct ctn_posted {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working: masks of members, by local rank */
    uint64_t unsent;     /* members that have not been sent their block */
    uint64_t staged;     /* members with a buffer that others cannot write
                            to: their blocks are sent by pairwise.c */
    uint64_t awaited;    /* members whose block has not arrived here */
    uint64_t mismatched; /* members whose blocks have another length */
    /* working: other state */
    uint32_t peer_checks;   /* exec->peer_checks at the start or last check */
    catena_status_t status; /* the final status */
    bool out_of_reach;      /* other members cannot write to this member's
                               buffer: it receives by pairwise.c */
    bool past_caches;       /* copies bypass the caches, which are smaller than
                               the data of the node */
} ctn_posted_t;

/** Whether posted buffers serve this number of members. */
static inline bool ctn_posted_suits(uint32_t members)
{
    return members <= CTN_EAGER_ROWS_MEMBERS;
}

/** Publish this member's buffers to the node.
 * @param rows offset in the arena of this member's row (ctn_leader_block_t),
 *             or CTN_STAGED */
void ctn_posted_publish(const ctn_op_t *op, const ctn_topo_t *topo,
                        const ctn_blocks_t *send, const ctn_blocks_t *receive,
                        bool in_place, uint64_t rows);

/** Initialize the working part. The buffers have been published. */
void ctn_posted_begin(ctn_op_t *op, ctn_posted_t *posted);
/** Send and receive what is possible. True: something was sent or received. */
bool ctn_posted_advance(ctn_op_t *op, ctn_posted_t *posted);

/** Whether member i receives its block by pairwise.c; not known as long as the
 * member is unsent. */
static inline bool ctn_posted_is_staged(const ctn_posted_t *posted, uint32_t i)
{
    return (posted->staged >> i & 1) != 0;
}

/** Whether the blocks of member i have another length. */
static inline bool ctn_posted_is_mismatched(const ctn_posted_t *posted,
                                            uint32_t i)
{
    return (posted->mismatched >> i & 1) != 0;
}

static inline bool ctn_posted_is_unsent(const ctn_posted_t *posted, uint32_t i)
{
    return (posted->unsent >> i & 1) != 0;
}

#endif
