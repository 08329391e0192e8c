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
 * are an aggregate, too.
 *
 * These differ from the aggregates of exec/aggregate.h, whose blocks have one
 * length and are read where the aggregate arrives: here blocks have different
 * lengths, and each level of the tree forwards them. */

#define CTN_P2P_LONG_BLOCKS 4u /* that the root transfers at once, at most */
#define CTN_P2P_AGGREGATE_CHILDREN 24u /* radix 2: among 2^24 members */

/** An aggregate that this member sends. */
typedef struct ctn_p2p_aggregate {
    unsigned char *memory; /* inline_memory if it fits that */
    size_t bytes;
    bool spare; /* it lies in eager buffers that receive no message */
    _Alignas(8) unsigned char inline_memory[CTN_INLINE_BYTES];
} ctn_p2p_aggregate_t;

/** A long block that is received or sent. */
typedef struct ctn_p2p_long_block {
    ctn_span_t span; /* 0 bytes before and after */
    bool receives;
    union {
        ctn_transfer_recv_t in;
        ctn_transfer_send_t out;
    };
} ctn_p2p_long_block_t;

/** First member of the state of a gather or scatter. The message between a
 * child and its parent uses the slot of the child's index; long blocks use the
 * slots from `slots` on. */
typedef struct ctn_p2p_aggregation {
    ctn_p2p_call_t call; /* first */
    ctn_ktree_t tree;
    size_t limit;           /* longest short block, in bytes */
    unsigned slots;         /* number of slots for aggregates */
    catena_status_t status; /* that the operation will end with */
    ctn_p2p_aggregate_t aggregate;
    ctn_p2p_long_block_t block[CTN_P2P_LONG_BLOCKS]; /* that are under way */
} ctn_p2p_aggregation_t;

/** Choose the tree and set what follows from it; nothing is under way. */
void ctn_p2p_aggregation_begin(ctn_op_t *op);
/** Release aggregate and blocks. Called by the algorithm's `finish`. */
void ctn_p2p_aggregation_finish(ctn_op_t *op);

static inline const ctn_sbgp_member_t *
ctn_p2p_aggregation_member(const ctn_p2p_aggregation_t *aggregation,
                           uint32_t member)
{
    return &aggregation->call.p2p->module.sbgp->member[member];
}

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

/** Allocate the aggregate.
 * @param spare the eager buffers from this slot on receive no message; they are
 * used if there is no other memory
 * @return ERR_NO_MEMORY: it does not fit them either */
catena_status_t ctn_p2p_aggregate_make(ctn_op_t *op, size_t bytes,
                                       unsigned spare);

/* ---- long blocks ---- */

/** Begin to send a block.
 * @param i        a free entry of `block`
 * @param cts_slot at this member: receives the CTS */
void ctn_p2p_long_block_send(ctn_op_t *op, unsigned i, uint32_t to,
                             unsigned cts_slot, const void *data, size_t bytes);
/** Begin to receive a block, or refuse it if there is no memory.
 * @param i        a free entry of `block`
 * @param slot     at this member: counts fragments
 * @param cts_slot at the sender: receives the CTS
 * @return NEXT or FAIL */
ctn_step_t ctn_p2p_long_block_receive(ctn_op_t *op, unsigned i, uint32_t from,
                                      unsigned slot, unsigned cts_slot,
                                      void *target, size_t bytes);
/** Send a CTS that refuses a block: its sender must not wait for another one.
 * @return NEXT or FAIL */
ctn_step_t ctn_p2p_long_block_refuse(ctn_op_t *op, uint32_t from,
                                     unsigned cts_slot);
/** Send and receive fragments. NEXT: no block is under way; else MOVED, WAIT or
 * FAIL. */
ctn_step_t ctn_p2p_long_blocks_advance(ctn_op_t *op);

#endif
