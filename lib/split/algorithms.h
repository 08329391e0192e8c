#ifndef CTN_SPLIT_ALGORITHMS_H
#define CTN_SPLIT_ALGORITHMS_H

#include "group/lane.h"
#include "split/record.h"

/* What every algorithm of the generalized split is given ([Moody], section 3),
 * and the operations that are these algorithms. Each sets the chain of `lane`
 * to the chain of the members with this member's color, in the order of their
 * keys, ties by rank in `parent`. Every member brings a zeroed block for its
 * new lane, whose address its record carries; nobody else's memory and no group
 * number is ever agreed on. Members without a color form a chain, too, which
 * nobody wants.
 *
 * `lane` may be the parent itself: then it becomes one of the parts it is split
 * into. All of them run on the parent's channel, as long as it is the parent's,
 * and may hand over the results on that of `lane`, whose sequence numbers are
 * the same among the members of a part and of the parent. No member completes
 * before all members of the parent have started. */

typedef struct ctn_split_args {
    ctn_chain_t *parent;
    ctn_chain_t *chain; /* its chain.self is set */
    ctn_order_by_t by;
    const ctn_record_t *record; /* this member's own; stays */
    bool reorder;               /* else keys are empty */
    uint32_t most;              /* cheng: records at a sorter */
    bool plain;                 /* radix: by every bit, as in the paper */
} ctn_split_args_t;

/* What `splitting` points to is copied but for what it points to in turn. NULL:
 * no memory. A comparator that contradicts itself ends with CATENA_ERR_ARG on
 * all members or with chains that fit together. */

/** Everybody gathers all records and sorts them (3.1, AllgatherGroup). Memory
 * O(N). */
ctn_op_t *ctn_split_allgather(const ctn_split_args_t *args);
/** Records are merged up a tree, results go down it (3.2, GatherScatter).
 * Memory O(N) at the root. */
ctn_op_t *ctn_split_gather_scatter(const ctn_split_args_t *args);
/** Cheng's sort on N / most members (3.2, ChengM). */
ctn_op_t *ctn_split_cheng(const ctn_split_args_t *args);
/** Batcher's bitonic sort (3.2, Bitonic). */
ctn_op_t *ctn_split_bitonic(const ctn_split_args_t *args);
/** Divide and conquer by bits of integer colors and keys (3.2, Radix): both
 * compared by catena_compare_int64 and 8 bytes, or of no bytes. O(1) memory. */
ctn_op_t *ctn_split_radix(const ctn_split_args_t *args);
/** Bins of hashed colors until one color is left (3.3, Hash), then, to reorder,
 * bitonic. O(1) memory when not reordering. */
ctn_op_t *ctn_split_hash(const ctn_split_args_t *args);
/** The same, ended by allgather from 64 members down (3.3, Hash64). */
ctn_op_t *ctn_split_hash64(const ctn_split_args_t *args);

/** The last part of the parallel sorts: the records are in order and this
 * member of the parent holds the one whose place is its rank; `item` stays.
 * Finds the parts' limits, scans, and tells each record's owner its chain. */
ctn_op_t *ctn_split_finalize_create(const ctn_split_args_t *args,
                                    const ctn_record_t *item);

/** Whether a comparator of the user's decides, who may be mistaken. */
static inline bool ctn_split_may_be_inconsistent(const ctn_split_args_t *args)
{
    const ctn_order_by_t *by = &args->by;
    return (by->color != NULL && by->color != catena_compare_int64) ||
           (by->key != NULL && by->key != catena_compare_int64);
}

/** Each member has found its new chain by itself: a double scan of the parent
 * tells whether they fit together; fails with CATENA_ERR_ARG on all if not.
 * @param digest of what the members of a chain must have found alike besides */
ctn_op_t *ctn_split_verify_create(const ctn_split_args_t *args,
                                  ctn_chain_place_t place, uint64_t digest);

/** Digest of a list, from that of what comes before `member`; 0: nothing. */
uint64_t ctn_split_verify_digest(uint64_t digest, ctn_address_t member);

#endif
