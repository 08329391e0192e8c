#ifndef CTN_SPLIT_ALGORITHMS_H
#define CTN_SPLIT_ALGORITHMS_H

#include "group/chain.h"
#include "split/record.h"

/* The arguments of the generalized split ([Moody], section 3), and its
 * algorithms as operations. Each algorithm sets the place of `chain` in the
 * chain of all members with the same color, ordered by key, then by rank in
 * `parent`. Every member brings a zeroed control block for its new chain; its
 * record carries the address. Nothing else is agreed on: no memory of other
 * members and no group number. Members without a color form a chain as well,
 * which is discarded.
 *
 * `chain` may be `parent` itself: its place then changes from that in the whole
 * chain to that in the new one. An algorithm runs on the parent's sequence at
 * first. It may send the new places on the sequence of `chain`, and run there
 * once `chain` has one; so before the split the sequence numbers of `chain` are
 * the same on all members of the parent. No member completes before all members
 * of the parent have started. */

typedef struct ctn_split_args {
    ctn_chain_t *parent;        /* the chain that is split */
    ctn_chain_t *chain;         /* gets the place; its place.self is set */
    ctn_order_by_t by;          /* the comparators */
    const ctn_record_t *record; /* this member's own; must stay valid; in the
                                   heap if it is longer than a slot takes */
    bool reorder;               /* order by key; false: keys are empty */
    uint32_t most;              /* cheng: largest number of records that one
                                   member sorts */
    bool every_bit; /* radix: divide by every bit, as in the paper; false: by
                       the bits that vary */
} ctn_split_args_t;

/* `args` is copied, but not what it points to. NULL: no memory. With an
 * inconsistent comparator an algorithm either fails with CATENA_ERR_ARG on all
 * members or sets chains that fit together. */

/** Every member gathers and sorts all records (3.1, AllgatherGroup). Memory
 * O(N). */
ctn_op_t *ctn_split_allgather(const ctn_split_args_t *args);
/** Records are gathered up a tree, sorted at its root, and sent down by
 * position (3.2, GatherScatter): cheng with one sorter. Memory O(N) at the
 * root. */
ctn_op_t *ctn_split_gather_scatter(const ctn_split_args_t *args);
/** Cheng's sort on about N / most members (3.2, ChengM). */
ctn_op_t *ctn_split_cheng(const ctn_split_args_t *args);
/** Batcher's bitonic sort (3.2, Bitonic). */
ctn_op_t *ctn_split_bitonic(const ctn_split_args_t *args);
/** Divide and conquer by the bits of colors and keys (3.2, Radix), which must
 * be integers of 8 bytes, compared by catena_compare_int64, or empty. O(1)
 * memory. */
ctn_op_t *ctn_split_radix(const ctn_split_args_t *args);
/** Divides chains into bins by a hash of the color until each has one color
 * (3.3, Hash); then bitonic sort, if keys are not in order. O(1) memory when
 * not reordering. */
ctn_op_t *ctn_split_hash(const ctn_split_args_t *args);
/** The same as printed: four bins, and an allreduce where a pass does not
 * shorten a chain (hash-plain). */
ctn_op_t *ctn_split_hash_plain(const ctn_split_args_t *args);
/** The same, finished by allgather below 64 members (3.3, Hash64). */
ctn_op_t *ctn_split_hash64(const ctn_split_args_t *args);

/** The last part of the parallel sorts. The records are in order, and each
 * member of the parent holds the one whose position is its rank: `item`, which
 * must stay valid. Finds where the color changes, scans, and sends each
 * record's owner (the member that brought it) its place. */
ctn_op_t *ctn_split_finalize_create(const ctn_split_args_t *args,
                                    const ctn_record_t *item);

/** Return whether the split uses a comparator of the application, which may be
 * inconsistent. */
static inline bool ctn_split_may_be_inconsistent(const ctn_split_args_t *args)
{
    const ctn_order_by_t *by = &args->by;
    return (by->color != NULL && by->color != catena_compare_int64) ||
           (by->key != NULL && by->key != catena_compare_int64);
}

#endif
