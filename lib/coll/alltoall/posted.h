#ifndef CTN_COLL_ALLTOALL_POSTED_H
#define CTN_COLL_ALLTOALL_POSTED_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Exchange of blocks of one length that the members of a node copy directly
 * from each other's buffers; see posted.c. */

/** State of one exchange on this member: masks of members, by local rank. */
typedef struct ctn_posted {
    uint64_t undecided;   /* members whose descriptor has not been seen yet */
    uint64_t staged;      /* members whose blocks use slots, both ways */
    uint64_t awaited;     /* of the others, those that have not read their
                             block yet */
    uint32_t peer_checks; /* exec->peer_checks at the start or last check */
    unsigned char *copy;  /* of the blocks to send, in the heap, or NULL */
    size_t copy_bytes;
    bool past_caches; /* copies bypass the caches, which are smaller than
                             the data of the node */
} ctn_posted_t;

/** Publish this member's buffers to the node.
 * @param send   in place at the address of `receive`
 * @param rows   offset in the arena of this member's row (ctn_leader_block_t),
 *               or CTN_STAGED
 * @param posted of the exchange, which gets a copy of the blocks if others
 *               cannot read the buffer; NULL: no copy is made */
void ctn_posted_publish(const ctn_op_t *op, const ctn_topo_t *topo,
                        const ctn_blocks_t *send, const ctn_blocks_t *receive,
                        uint64_t rows, ctn_posted_t *posted);

/** The buffer descriptor of member i; NULL: it is not published yet, and
 * op->waits_for says so. */
static inline const ctn_buffer_descriptor_t *
ctn_posted_find(ctn_op_t *op, const ctn_topo_t *topo, uint32_t i)
{
    const ctn_buffer_descriptor_t *descriptor =
        ctn_topo_descriptor(topo, op->seq, i);
    if (ctn_word_load(&descriptor->word) != ctn_flag64(op->seq)) {
        op->waits_for = ctn_topo_local_to_group(topo, i);
        return NULL;
    }
    return descriptor;
}

/** Report that the blocks of rank `from` have another length than this member
 * expects. @return ERR_ARG */
catena_status_t ctn_posted_report_length(const ctn_topo_t *topo, uint32_t from,
                                         uint64_t found, uint64_t expected);

#endif
