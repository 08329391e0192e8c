/* Split by hashing. Moody, Ahn, de Supinski: Exascale Algorithms for
 * Generalized MPI_Comm_split, EuroMPI 2011, section 3.3 (Hash).
 * Rounds: ceil(log2 p) + 1 a pass, p being what the passes before left of the
 * chain; passes: log4 of the number of colors and one more, expected. Memory:
 * O(1). Each pass hashes the color to one of four bins, a double exclusive scan
 * of the table of bins gives each member its neighbours within its bin, and the
 * bins are chains of their own from then on. Differs from the paper: four bins,
 * so that a table fits one slot; the test for a single color travels with the
 * same scan (each member compares its left neighbour's color byte for byte),
 * where the paper adds an allreduce when a pass did not shorten the chain. */

#include <stdlib.h>
#include <string.h>

#include "group/split.h"

typedef struct split {
    /* arguments */
    ctn_lane_t *parent;
    ctn_lane_t *lane;
    const unsigned char *color;
    size_t color_bytes;
    /* working */
    ctn_bins_t own;
    ctn_bins_t left;
    ctn_bins_t right;
    unsigned bin;
    unsigned pass;
    unsigned char *neighbour; /* the left neighbour's color */
    size_t neighbour_bytes;
} split_t;

/* ---- bins ---- */

void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member)
{
    memset(bins, 0, sizeof(*bins));
    bins->nearest[bin] = member;
    bins->count[bin] = 1;
}

void ctn_fold_bins(void *near, const void *far, int leftwards)
{
    (void)leftwards; /* the nearest is the nearest in both directions */
    ctn_bins_t *a = near;
    const ctn_bins_t *b = far;
    for (unsigned i = 0; i < CTN_BINS; i++) {
        if (a->count[i] == 0) {
            a->nearest[i] = b->nearest[i];
        }
        a->count[i] += b->count[i];
    }
    a->differ += b->differ;
}

ctn_chain_t ctn_bins_chain(const ctn_bins_t *left, const ctn_bins_t *right,
                           unsigned bin, ctn_address_t member)
{
    ctn_chain_t chain;
    chain.rank = left->count[bin];
    chain.size = left->count[bin] + 1 + right->count[bin];
    chain.self = member;
    chain.left = left->count[bin] > 0 ? left->nearest[bin] : CTN_NO_ADDRESS;
    chain.right = right->count[bin] > 0 ? right->nearest[bin] : CTN_NO_ADDRESS;
    return chain;
}

/* ---- the operation ---- */

/** Jenkins's one-at-a-time hash of the color, its bytes rotated by the pass;
 * each pass looks at other bits ([Moody], 3.3). */
static unsigned hash_to_bin(const unsigned char *color, size_t bytes,
                            unsigned pass)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < bytes; i++) {
        hash += color[(i + pass) % bytes];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash >> (2 * (pass % 16)) & (CTN_BINS - 1);
}

static ctn_lane_t *current_lane(const split_t *split)
{
    return split->pass == 0 ? split->parent : split->lane;
}

static ctn_step_t begin(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    split->pass = 0;
    split->neighbour = malloc(CTN_SHIFT_BYTES);
    return split->neighbour != NULL ? CTN_STEP_NEXT
                                    : ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
}

static ctn_step_t show_color(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    ctn_lane_t *lane = current_lane(split);
    ctn_op_t *child =
        ctn_op_create(op->exec, &ctn_shift_algorithm, &lane->channel);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_shift_t *shift = ctn_op_state(child);
    shift->chain = &lane->chain;
    shift->send = split->color;
    shift->send_bytes = split->color_bytes;
    shift->receive = split->neighbour;
    shift->received = &split->neighbour_bytes;
    return ctn_op_call(op, child);
}

static bool differs_from_left(const split_t *split, const ctn_lane_t *lane)
{
    return ctn_address_exists(lane->chain.left) &&
           (split->neighbour_bytes != split->color_bytes ||
            memcmp(split->neighbour, split->color, split->color_bytes) != 0);
}

static ctn_step_t scan_bins(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    ctn_lane_t *lane = current_lane(split);
    split->bin = hash_to_bin(split->color, split->color_bytes, split->pass);
    ctn_exec_charge(op->exec, CTN_WORK_HASH, split->color_bytes);
    ctn_bins_set(&split->own, split->bin, split->lane->chain.self);
    split->own.differ = differs_from_left(split, lane);
    ctn_exec_charge(op->exec, CTN_WORK_COMPARE, 1);
    return ctn_op_call(op, ctn_scan_create(op->exec, lane, ctn_fold_bins,
                                           &split->own, &split->left,
                                           &split->right, sizeof(ctn_bins_t)));
}

enum { PHASE_SHOW_COLOR = 1 };

/** The bin is a chain of its own; another pass unless it has one color. */
static ctn_step_t link_bin(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    ctn_chain_t *chain = &split->lane->chain;
    *chain =
        ctn_bins_chain(&split->left, &split->right, split->bin, chain->self);
    split->pass++;
    bool one_color =
        split->own.differ + split->left.differ + split->right.differ == 0;
    return one_color || chain->size == 1 ? CTN_STEP_NEXT
                                         : ctn_op_jump(op, PHASE_SHOW_COLOR);
}

static void finish(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    free(split->neighbour);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"show color", show_color},
                                     {"bins", scan_bins},
                                     {"link", link_bin},
                                     {NULL, NULL}};

static const ctn_algorithm_t split_algorithm = {
    .name = "split/hash",
    .state_bytes = sizeof(split_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_lane_t *parent,
                           ctn_lane_t *lane, const void *color,
                           size_t color_bytes)
{
    ctn_op_t *op = ctn_op_create(exec, &split_algorithm, NULL);
    if (op != NULL) {
        split_t *split = ctn_op_state(op);
        split->parent = parent;
        split->lane = lane;
        split->color = color;
        split->color_bytes = color_bytes;
    }
    return op;
}
