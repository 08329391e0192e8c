#ifndef CTN_COLL_BCOL_P2P_AGGREGATE_H
#define CTN_COLL_BCOL_P2P_AGGREGATE_H

#include "coll/bcol/p2p/tree.h"

/* Aggregates of a gather or scatter: the blocks of the members of a subtree, on
 * their way up or down the tree. An aggregate has one record for each of these
 * members, in the order of their places in the tree (tree.h): the block's
 * length and, if the block is short, the block. Long blocks are sent as
 * fragments, directly between their owner and the root; the owner is the member
 * that the block comes from (gather) or goes to (scatter). Aggregates laid end
 * to end form an aggregate, and the records of a subtree within an aggregate
 * are an aggregate, too. */

#define CTN_P2P_LONG_BLOCKS 4u /* that the root transfers at once, at most */
#define CTN_P2P_AGGREGATE_CHILDREN 24u /* at most, with 2^24 members */

/** What all members of a gather or scatter know. The message between a child
 * and its parent uses the slot of the child's index; long blocks use the slots
 * from `slots` on. */
typedef struct ctn_p2p_aggregation {
    ctn_ktree_t tree;
    size_t limit;   /* longest short block, in bytes */
    unsigned slots; /* number of slots for aggregates */
} ctn_p2p_aggregation_t;

/** Choose the tree and set what follows from it. */
void ctn_p2p_aggregation_set(ctn_p2p_aggregation_t *aggregation,
                             const ctn_p2p_call_t *call);

/** In place of a block's length: the rank that sends the block has no valid
 * data. */
#define CTN_P2P_AGGREGATE_MISMATCH (((size_t)1 << 56) - 1)

/** A member's record in an aggregate. */
typedef struct ctn_p2p_aggregate_record {
    size_t bytes;              /* of the block */
    const unsigned char *data; /* the block; when read, NULL if it is long */
    unsigned slot; /* scatter, long block: the root's slot for its CTS */
} ctn_p2p_aggregate_record_t;

/** Bytes of a record: the length, and a short block padded to 8 bytes. */
static inline size_t
ctn_p2p_aggregate_record_bytes(const ctn_p2p_aggregation_t *aggregation,
                               size_t bytes)
{
    return sizeof(uint64_t) +
           (bytes <= aggregation->limit ? (bytes + 7) & ~(size_t)7 : 0);
}

/** Write a record at `at`. record.slot is below 256.
 * @return where the next record begins */
unsigned char *ctn_p2p_aggregate_record_put(
    ctn_exec_t *exec, const ctn_p2p_aggregation_t *aggregation,
    unsigned char *at, ctn_p2p_aggregate_record_t record);

/** Read the record at `at`. @return where the next record begins */
const unsigned char *
ctn_p2p_aggregate_record_get(const ctn_p2p_aggregation_t *aggregation,
                             const unsigned char *at,
                             ctn_p2p_aggregate_record_t *record);

/** An aggregate that this member sends. */
typedef struct ctn_p2p_aggregate {
    unsigned char *memory; /* inline_memory if it fits that */
    size_t bytes;
    bool spare; /* it lies in eager buffers that receive no message */
    _Alignas(8) unsigned char inline_memory[CTN_INLINE_BYTES];
} ctn_p2p_aggregate_t;

/** Allocate an aggregate.
 * @param spare the eager buffers from this slot on receive no message; they are
 * used if there is no other memory
 * @return ERR_NO_MEMORY: it does not fit them either */
catena_status_t ctn_p2p_aggregate_make(const ctn_op_t *op,
                                       ctn_p2p_aggregate_t *aggregate,
                                       size_t bytes, unsigned spare);
/** Release an aggregate, made or not. Called by the algorithm's `finish`. */
void ctn_p2p_aggregate_drop(const ctn_op_t *op, ctn_p2p_aggregate_t *aggregate);

#endif
