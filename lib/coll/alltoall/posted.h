#ifndef CTN_COLL_ALLTOALL_POSTED_H
#define CTN_COLL_ALLTOALL_POSTED_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Exchange of blocks of one length that the members of a node copy directly
 * into each other's buffers; see posted.c. */

typedef struct ctn_posted {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working: sets of members */
    uint64_t unsent;        /* that have not been sent their block */
    uint64_t staged;        /* whose buffers are out of reach: their blocks take
                               another path */
    uint64_t awaited;       /* whose block has not arrived */
    uint64_t mismatched;    /* whose blocks have another length */
    uint32_t peer_checks;   /* exec's, at the start */
    catena_status_t status; /* the final status */
    bool out_of_reach;      /* this member's buffer is: nothing arrives here */
    bool past_caches;       /* the data of the node exceed the caches */
} ctn_posted_t;

/** Whether posted buffers serve this number of members. */
static inline bool ctn_posted_suits(uint32_t members)
{
    return members <= CTN_EAGER_ROWS_MEMBERS;
}

/** Publish this member's buffers to the node.
 * @param rows offset of its table of blocks, or CTN_STAGED */
void ctn_posted_publish(const ctn_op_t *op, const ctn_topo_t *topo,
                        const ctn_blocks_t *send, const ctn_blocks_t *receive,
                        bool in_place, uint64_t rows);

/** Start with all members unsent; the buffers have been published. */
void ctn_posted_begin(ctn_op_t *op, ctn_posted_t *posted);
/** Send and receive what is possible. True: something was. */
bool ctn_posted_advance(ctn_op_t *op, ctn_posted_t *posted);

/** Whether member i receives its block by another path; known once it is not
 * unsent. */
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
