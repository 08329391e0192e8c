/* From records in order to chains: the end of the parallel sorts. Moody, Ahn,
 * de Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI
 * 2011, section 3.2; after Mellor-Crummey et al., A New Vision for Coarray
 * Fortran, PGAS 2009. Rounds: ceil(log2 p) + 2. Messages: two per member and
 * round of the scan, and two. Memory: O(1). Differs from the paper: records go
 * one way only. The receiver alone decides whether its part begins with it, and
 * the others learn that from the double scan, which is segmented and tells the
 * neighbours' addresses as well; with a comparator that says different things
 * to different members, their parts fit together all the same. The scan also
 * tells everybody whether the records that are held are those that were
 * brought. */

#include <string.h>

#include "exec/slot.h"
#include "split/shift.h"
#include "split/sort/sort.h"

enum { LEFT, RIGHT };

/** Of members side by side, as seen from one end. */
typedef struct part {
    uint64_t balance;  /* records held less those brought: 0 over all members */
    uint32_t wrong;    /* whose left neighbour's color is above theirs */
    uint32_t closed;   /* a part begins among them */
    uint32_t count[2]; /* members that the part reaches on its way left (0) or
                          right (1) */
    ctn_address_t nearest; /* of the first record of these */
} part_t;

typedef struct settle {
    ctn_splitting_t splitting;
    const ctn_record_t *item;
    int order; /* of the left neighbour's color and the item's */
    part_t own;
    part_t from[2];
} settle_t;

static void fold(void *near_part, const void *far_part, int leftwards)
{
    part_t *near = near_part;
    const part_t *far = far_part;
    unsigned side = leftwards ? LEFT : RIGHT;
    near->balance += far->balance;
    near->wrong += far->wrong;
    if (near->closed) {
        return;
    }
    if (near->count[side] == 0) {
        near->nearest = far->nearest;
    }
    near->count[side] += far->count[side];
    near->closed = far->closed;
}

/* ---- each owner is told its place ---- */

typedef struct telling {
    ctn_chain_t *chain;
    ctn_address_t owner;
    ctn_owner_place_t place; /* of the owner */
} telling_t;

static ctn_step_t tell(ctn_op_t *op)
{
    telling_t *telling = ctn_op_state(op);
    catena_status_t status = ctn_op_send(op, telling->owner, 0, &telling->place,
                                         sizeof(telling->place));
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t hear(ctn_op_t *op)
{
    telling_t *telling = ctn_op_state(op);
    if (!ctn_op_arrived(op, 0)) {
        return CTN_STEP_WAIT;
    }
    ctn_owner_place_t place;
    memcpy(&place, ctn_op_slot(op, 0)->data, sizeof(place));
    ctn_owner_place_apply(telling->chain, &place);
    return CTN_STEP_NEXT;
}

static const ctn_phase_t telling_phases[] = {
    {"tell", tell}, {"hear", hear}, {NULL, NULL}};

static const ctn_algorithm_t telling_algorithm = {
    .name = "split/tell",
    .state_bytes = sizeof(telling_t),
    .phases = telling_phases,
};

/* ---- the operation ---- */

static void see(void *context, const ctn_record_t *left)
{
    settle_t *settle = context;
    settle->order = left != NULL
                        ? ctn_record_compare_colors(&settle->splitting.by, left,
                                                    settle->item)
                        : -1;
}

static ctn_step_t show_item(ctn_op_t *op)
{
    settle_t *settle = ctn_op_state(op);
    return ctn_op_call(op,
                       ctn_showing_create(op->exec, settle->splitting.parent,
                                          settle->item, see, settle));
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static ctn_step_t scan_parts(ctn_op_t *op)
{
    settle_t *settle = ctn_op_state(op);
    const ctn_splitting_t *splitting = &settle->splitting;
    bool begins = settle->order != 0;
    settle->own = (part_t){
        .balance = mix(settle->item->rank + UINT64_C(1)) -
                   mix(splitting->record->rank + UINT64_C(1)),
        .wrong = settle->order > 0,
        .closed = begins,
        .count = {[LEFT] = 1, [RIGHT] = !begins},
        .nearest = ctn_record_address(settle->item),
    };
    ctn_op_t *child = ctn_scan_create(op->exec, splitting->parent, fold,
                                      &settle->own, &settle->from[LEFT],
                                      &settle->from[RIGHT], sizeof(part_t));
    settle->from[LEFT].closed = begins;
    return ctn_op_call(op, child);
}

static ctn_step_t tell_place(ctn_op_t *op)
{
    settle_t *settle = ctn_op_state(op);
    const part_t *left = &settle->from[LEFT];
    const part_t *right = &settle->from[RIGHT];
    if (settle->own.balance + left->balance + right->balance != 0 ||
        settle->own.wrong + left->wrong + right->wrong != 0) {
        return ctn_op_fail(op, CATENA_ERR_ARG); /* the same on all members */
    }
    ctn_chain_t *chain = settle->splitting.chain;
    ctn_op_t *child =
        ctn_op_create(op->exec, &telling_algorithm, &chain->sequence);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    telling_t *telling = ctn_op_state(child);
    telling->chain = chain;
    telling->owner = ctn_record_address(settle->item);
    telling->place = (ctn_owner_place_t){
        .size = left->count[LEFT] + 1 + right->count[RIGHT],
        .rank = left->count[LEFT],
        .left = left->count[LEFT] > 0 ? left->nearest : CTN_NO_ADDRESS,
        .right = right->count[RIGHT] > 0 ? right->nearest : CTN_NO_ADDRESS,
    };
    return ctn_op_call(op, child);
}

static const ctn_phase_t phases[] = {{"show item", show_item},
                                     {"scan", scan_parts},
                                     {"tell place", tell_place},
                                     {NULL, NULL}};

static const ctn_algorithm_t settle_algorithm = {
    .name = "split/settle",
    .state_bytes = sizeof(settle_t),
    .phases = phases,
};

ctn_op_t *ctn_settle_create(const ctn_splitting_t *splitting,
                            const ctn_record_t *item)
{
    ctn_op_t *op = ctn_op_create(splitting->by.exec, &settle_algorithm, NULL);
    if (op != NULL) {
        settle_t *settle = ctn_op_state(op);
        settle->splitting = *splitting;
        settle->item = item;
    }
    return op;
}
