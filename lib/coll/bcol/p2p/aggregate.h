#ifndef CTN_COLL_BCOL_P2P_AGGREGATE_H
#define CTN_COLL_BCOL_P2P_AGGREGATE_H

#include "coll/bcol/p2p/ktree.h"
#include "coll/bcol/p2p/p2p.h"
#include "coll/bcol/p2p/vector.h"

/* Parts of the members of a subtree on their way up or down the tree of a
 * gather or scatter: for each of them, in the order of places, its length and,
 * if it is short, the part itself. Long ones go by themselves, in flows between
 * their owner and the root; which are long follows from the length. Bundles
 * laid end to end are a bundle, and what one holds of a subtree is one. */

#define CTN_P2P_LONG_BLOCKS 4u         /* at once, of the root */
#define CTN_P2P_AGGREGATE_CHILDREN 24u /* the most: of 2^24 members */

/** What all members of a gather or scatter know. Its slots: for children and
 * the parent by the child's index, then from `slots` on those of flows. */
typedef struct ctn_p2p_aggregation {
    ctn_ktree_t tree;
    size_t limit; /* longer parts are long */
    unsigned slots;
} ctn_p2p_aggregation_t;

void ctn_p2p_aggregation_set(ctn_p2p_aggregation_t *aggregation,
                             const ctn_p2p_call_t *call);

/** Names of trees, NULL-terminated. */
extern const char *const ctn_p2p_aggregation_shapes[];

/** In place of a length: the owner of the part has no valid data. */
#define CTN_P2P_AGGREGATE_MISMATCH (((size_t)1 << 56) - 1)

typedef struct ctn_p2p_aggregate_record {
    size_t bytes;
    const unsigned char *data; /* NULL: it is long */
    unsigned slot;             /* of a long one: what its writer said */
} ctn_p2p_aggregate_record_t;

/** What a part takes: its length, itself, padding to 8 bytes. */
static inline size_t
ctn_p2p_aggregate_record_bytes(const ctn_p2p_aggregation_t *aggregation,
                               size_t bytes)
{
    return sizeof(uint64_t) +
           (bytes <= aggregation->limit ? (bytes + 7) & ~(size_t)7 : 0);
}

/** Write a record at `at`; `slot`, below 256, of a long one is for its reader.
 * @return where the next one begins */
unsigned char *ctn_p2p_aggregate_record_put(
    ctn_exec_t *exec, const ctn_p2p_aggregation_t *aggregation,
    unsigned char *at, ctn_p2p_aggregate_record_t record);

/** Read the record at `at`. @return where the next one begins */
const unsigned char *
ctn_p2p_aggregate_record_get(const ctn_p2p_aggregation_t *aggregation,
                             const unsigned char *at,
                             ctn_p2p_aggregate_record_t *record);

/** Memory for a bundle; small ones lie in the operation. */
typedef struct ctn_p2p_aggregate {
    unsigned char *memory;
    size_t bytes;
    bool spare; /* it is wide payloads */
    _Alignas(8) unsigned char inline_memory[CTN_INLINE_BYTES];
} ctn_p2p_aggregate_t;

/** @param spare the first slot from which on no messages lie in payloads: there
 *               it is when there is no other memory
 * @return ERR_NO_MEMORY: it is too long for that, too */
catena_status_t ctn_p2p_aggregate_make(const ctn_op_t *op,
                                       ctn_p2p_aggregate_t *aggregate,
                                       size_t bytes, unsigned spare);
/** For finish, also of one that was not made. */
void ctn_p2p_aggregate_drop(const ctn_op_t *op, ctn_p2p_aggregate_t *aggregate);

#endif
