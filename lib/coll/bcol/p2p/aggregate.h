#ifndef CTN_COLL_BCOL_P2P_AGGREGATE_H
#define CTN_COLL_BCOL_P2P_AGGREGATE_H

#include "coll/bcol/p2p/ktree.h"
#include "coll/bcol/p2p/p2p.h"
#include "coll/bcol/p2p/vector.h"

/* Aggregates: the blocks of the members of a subtree, on their way up or down
 * the tree of a gather or scatter. For each member, in the order of places, an
 * aggregate has the block's length and, if the block is short, the block. Long
 * blocks are sent as fragments between their owner and the root; the length
 * tells which blocks are long. Aggregates laid end to end form an aggregate,
 * and the records of a subtree within one are an aggregate, too. */

#define CTN_P2P_LONG_BLOCKS 4u         /* at once, at the root */
#define CTN_P2P_AGGREGATE_CHILDREN 24u /* at most: of 2^24 members */

/** What all members of a gather or scatter know. Slots: for children and the
 * parent by the child's index, then from `slots` on those of long blocks. */
typedef struct ctn_p2p_aggregation {
    ctn_ktree_t tree;
    size_t limit; /* longest short block */
    unsigned slots;
} ctn_p2p_aggregation_t;

void ctn_p2p_aggregation_set(ctn_p2p_aggregation_t *aggregation,
                             const ctn_p2p_call_t *call);

/** Names of trees, NULL-terminated. */
extern const char *const ctn_p2p_aggregation_shapes[];

/** Stands for a length: the owner of the block has no valid data. */
#define CTN_P2P_AGGREGATE_MISMATCH (((size_t)1 << 56) - 1)

typedef struct ctn_p2p_aggregate_record {
    size_t bytes;
    const unsigned char *data; /* NULL: the block is long */
    unsigned slot; /* of a long block: as the writer of the record set it */
} ctn_p2p_aggregate_record_t;

/** Bytes of a record: the length, and a short block padded to 8 bytes. */
static inline size_t
ctn_p2p_aggregate_record_bytes(const ctn_p2p_aggregation_t *aggregation,
                               size_t bytes)
{
    return sizeof(uint64_t) +
           (bytes <= aggregation->limit ? (bytes + 7) & ~(size_t)7 : 0);
}

/** Write a record at `at`. `slot`, below 256, tells the reader of a long
 * block's record where to send.
 * @return where the next record begins */
unsigned char *ctn_p2p_aggregate_record_put(
    ctn_exec_t *exec, const ctn_p2p_aggregation_t *aggregation,
    unsigned char *at, ctn_p2p_aggregate_record_t record);

/** Read the record at `at`. @return where the next record begins */
const unsigned char *
ctn_p2p_aggregate_record_get(const ctn_p2p_aggregation_t *aggregation,
                             const unsigned char *at,
                             ctn_p2p_aggregate_record_t *record);

/** Memory of an aggregate; a small one lies in the operation. */
typedef struct ctn_p2p_aggregate {
    unsigned char *memory;
    size_t bytes;
    bool spare; /* it lies in spare eager buffers */
    _Alignas(8) unsigned char inline_memory[CTN_INLINE_BYTES];
} ctn_p2p_aggregate_t;

/** Allocate an aggregate.
 * @param spare the first slot whose eager buffer, like the following ones,
 * receives no message: used if there is no other memory
 * @return ERR_NO_MEMORY: it does not fit there either */
catena_status_t ctn_p2p_aggregate_make(const ctn_op_t *op,
                                       ctn_p2p_aggregate_t *aggregate,
                                       size_t bytes, unsigned spare);
/** Release an aggregate, made or not; for finish. */
void ctn_p2p_aggregate_drop(const ctn_op_t *op, ctn_p2p_aggregate_t *aggregate);

#endif
