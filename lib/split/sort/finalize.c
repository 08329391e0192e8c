/* From sorted records to places: the end of the parallel sorts. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 3.2; after Mellor-Crummey et al., A New Vision for Coarray Fortran,
 * PGAS 2009. Each member of the parent holds one record, the item, in the order
 * of ranks. A part is a range of members whose items have one color. Items are
 * sent to the right neighbor; a double scan, segmented by part, then gives each
 * item the place of its owner (the member that brought the record), and a
 * message tells the owner. Rounds: ceil(log2 p) + 2. Messages: two per member
 * and round of the scan, and two. Memory: O(1).
 *
 * Differs from the paper: items are sent in one direction only. Whether a part
 * begins at a member is decided by this member alone, and the double scan tells
 * the others. So parts fit together even with a comparator that answers
 * differently on different members. The scan also carries the addresses of the
 * owners, and tells all members whether the items are the records that members
 * have brought, each of them once. */

#include <string.h>

#include "core/hash.h"
#include "split/shift.h"
#include "split/sort/sort.h"

/** The value that the scan folds: about the members scanned so far, on one side
 * of a member. */
typedef struct part {
    uint64_t balance; /* sum of hashes of the items minus those of the records
                         brought: 0 over all members if they are the same */
    uint32_t wrong;  /* number of items whose color is below that of the item to
                        the left */
    uint32_t closed; /* 1: the part ends among these members */
    /* How many of them belong to the part: [CTN_LEFT] if they are to the left,
     * [CTN_RIGHT] if to the right. */
    uint32_t count[2];
    ctn_address_t nearest; /* owner of the item of the nearest of them */
} part_t;

typedef struct finalize {
    /* arguments */
    ctn_split_args_t args;
    const ctn_record_t *item; /* the record that this member holds */
    /* working */
    int order;  /* the left item's color compared with this item's: != 0 if a
                   part begins here */
    part_t own; /* of the scan: this member's value */
    part_t from[2];          /* its results */
    ctn_chain_place_t place; /* of the item's owner, to which it is sent */
} finalize_t;

/** The fold of the scan (ctn_fold_t): members beyond an end of the part are not
 * counted. */
static void fold(void *inout_part, const void *in_part, int in_is_left)
{
    part_t *inout = inout_part;
    const part_t *in = in_part;
    unsigned side = in_is_left ? CTN_LEFT : CTN_RIGHT;
    inout->balance += in->balance;
    inout->wrong += in->wrong;
    if (inout->closed) {
        return;
    }
    if (inout->count[side] == 0) {
        inout->nearest = in->nearest;
    }
    inout->count[side] += in->count[side];
    inout->closed = in->closed;
}

/** Compare with the left neighbor's item (ctn_shift_receive_t). */
static void compare_left(void *context, const void *left)
{
    finalize_t *finalize = context;
    finalize->order = left != NULL
                          ? ctn_record_compare_colors(&finalize->args.by, left,
                                                      finalize->item)
                          : -1;
}

static ctn_step_t shift_item(ctn_op_t *op)
{
    finalize_t *finalize = ctn_op_state(op);
    return ctn_op_call(
        op, ctn_shift_right_create(op->exec, finalize->args.parent,
                                   finalize->item, compare_left, finalize));
}

/** Scan. If a part begins here, no member to the left belongs to it, so the
 * result from the left starts closed. */
static ctn_step_t scan_parts(ctn_op_t *op)
{
    finalize_t *finalize = ctn_op_state(op);
    const ctn_split_args_t *args = &finalize->args;
    bool begins = finalize->order != 0;
    finalize->own = (part_t){
        .balance = ctn_hash_mix(finalize->item->rank + UINT64_C(1)) -
                   ctn_hash_mix(args->record->rank + UINT64_C(1)),
        .wrong = finalize->order > 0,
        .closed = begins,
        .count = {[CTN_LEFT] = 1, [CTN_RIGHT] = !begins},
        .nearest = ctn_record_address(finalize->item),
    };
    ctn_op_t *child = ctn_scan_create(
        op->exec, args->parent, fold, &finalize->own, &finalize->from[CTN_LEFT],
        &finalize->from[CTN_RIGHT], sizeof(part_t));
    finalize->from[CTN_LEFT].closed = begins;
    return ctn_op_call(op, child);
}

/** Set the place of this member's chain (ctn_shift_receive_t). */
static void take_place(void *chain, const void *data)
{
    ctn_chain_place_t place;
    memcpy(&place, data, sizeof(place));
    ctn_chain_set_place(chain, place);
}

/** Check the sums over all members; send the item's owner its place. */
static ctn_step_t notify_owner(ctn_op_t *op)
{
    finalize_t *finalize = ctn_op_state(op);
    const part_t *left = &finalize->from[CTN_LEFT];
    const part_t *right = &finalize->from[CTN_RIGHT];
    if (finalize->own.balance + left->balance + right->balance != 0 ||
        finalize->own.wrong + left->wrong + right->wrong != 0) {
        return ctn_op_fail(op, CATENA_ERR_ARG); /* the same on all members */
    }
    finalize->place = (ctn_chain_place_t){
        .size = left->count[CTN_LEFT] + 1 + right->count[CTN_RIGHT],
        .rank = left->count[CTN_LEFT],
        .self = ctn_record_address(finalize->item),
        .left = left->count[CTN_LEFT] > 0 ? left->nearest : CTN_NO_ADDRESS,
        .right = right->count[CTN_RIGHT] > 0 ? right->nearest : CTN_NO_ADDRESS,
    };
    ctn_chain_t *chain = finalize->args.chain;
    const ctn_shift_t notification = {.to = finalize->place.self,
                                      .data = &finalize->place,
                                      .bytes = sizeof(finalize->place),
                                      .receives = true,
                                      .receive = take_place,
                                      .context = chain};
    return ctn_op_call(
        op, ctn_shift_create(op->exec, &chain->sequence, &notification));
}

static const ctn_phase_t phases[] = {{"shift item", shift_item},
                                     {"scan", scan_parts},
                                     {"notify owner", notify_owner},
                                     {NULL, NULL}};

static const ctn_algorithm_t finalize_algorithm = {
    .name = "split/finalize",
    .state_bytes = sizeof(finalize_t),
    .phases = phases,
};

ctn_op_t *ctn_split_finalize_create(const ctn_split_args_t *args,
                                    const ctn_record_t *item)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &finalize_algorithm, NULL);
    if (op != NULL) {
        finalize_t *finalize = ctn_op_state(op);
        finalize->args = *args;
        finalize->item = item;
    }
    return op;
}
