#ifndef CTN_COLL_ALLTOALL_POSTED_H
#define CTN_COLL_ALLTOALL_POSTED_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Blocks of one length that the members of a node put straight into each
 * other's buffers; see posted.c. */

typedef struct ctn_posted {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working: sets of members */
    uint64_t unsent;  /* who are to get their block yet */
    uint64_t staged;  /* whose buffers are out of reach: their blocks do not go
                         this way */
    uint64_t awaited; /* whose block has not come */
    uint64_t
        mismatched; /* whose blocks have another length: none is exchanged */
    uint32_t peer_checks;   /* exec's, when it began */
    catena_status_t status; /* to end with */
    bool out_of_reach;      /* as is this member's: nothing comes this way */
    bool past_caches;       /* what the node copies does not fit them */
} ctn_posted_t;

/** Whether this is a way for the blocks of so many members. */
static inline bool ctn_posted_suits(uint32_t members)
{
    return members <= CTN_EAGER_ROWS_MEMBERS;
}

/** Say to the node where this member's buffers are.
 * @param rows offset of what it says of each block, or CTN_STAGED */
void ctn_posted_publish(const ctn_op_t *op, const ctn_topo_t *topo,
                        const ctn_blocks_t *send, const ctn_blocks_t *receive,
                        bool in_place, uint64_t rows);

/** Everybody is still to be sent to; the buffers have been announced. */
void ctn_posted_begin(ctn_op_t *op, ctn_posted_t *posted);
/** Send and take what can be. True: something was. */
bool ctn_posted_advance(ctn_op_t *op, ctn_posted_t *posted);

/** Whether member i takes blocks in another way; only sent ones are known. */
static inline bool ctn_posted_is_staged(const ctn_posted_t *posted, uint32_t i)
{
    return (posted->staged >> i & 1) != 0;
}

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
