/* Split by hashing. Moody, Ahn, de Supinski: Exascale Algorithms for
 * Generalized MPI_Comm_split, EuroMPI 2011, section 3.3 (Hash).
 * Rounds: 2 ceil(log2 p) + 1 a pass; passes: log4 of the number of colors,
 * expected. Memory: O(1). Each pass hashes the color to one of four bins, a
 * double exclusive scan of the table of bins gives each member its neighbours
 * within its bin, and the bins are chains of their own from then on. Differs
 * from the paper: four bins, so that a table fits one slot; the test for a
 * single color compares each member's color with its left neighbour's byte for
 * byte, after every pass, instead of an allreduce of the color when a pass did
 * not shorten the chain. */

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
    ctn_words_t differs;
    ctn_words_t differ_left;
    ctn_words_t differ_right;
} split_t;

/* ---- bins ---- */

void ctn_bins_clear(ctn_bins_t *bins)
{
    for (unsigned b = 0; b < CTN_BINS; b++) {
        bins->nearest[b] = CTN_NO_ADDRESS;
        bins->count[b] = 0;
    }
}

void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member)
{
    ctn_bins_clear(bins);
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
}

ctn_chain_t ctn_bins_chain(const ctn_bins_t *left, const ctn_bins_t *right,
                           unsigned bin, ctn_address_t member)
{
    ctn_chain_t chain;
    chain.rank = (uint32_t)left->count[bin];
    chain.size = (uint32_t)(left->count[bin] + 1 + right->count[bin]);
    chain.self = member;
    chain.left = left->count[bin] > 0 ? left->nearest[bin] : CTN_NO_ADDRESS;
    chain.right = right->count[bin] > 0 ? right->nearest[bin] : CTN_NO_ADDRESS;
    return chain;
}

/* ---- lanes ---- */

catena_status_t ctn_lane_create(ctn_exec_t *exec, ctn_lane_t *lane,
                                size_t bytes, uint64_t process)
{
    lane->block = ctn_heap_calloc(exec->heap, 4096, bytes);
    if (lane->block == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memset(&lane->chain, 0, sizeof(lane->chain));
    lane->chain.self.process = process;
    (void)ctn_heap_contains(exec->heap, lane->block, bytes,
                            &lane->chain.self.offset);
    ctn_channel_init(&lane->channel, lane->block,
                     offsetof(ctn_block_t, service), 1);
    return CATENA_OK;
}

void ctn_lane_release(ctn_exec_t *exec, ctn_lane_t *lane)
{
    if (lane->block != NULL) {
        ctn_heap_free(exec->heap, lane->block);
        lane->block = NULL;
    }
}

/* ---- the operation ---- */

ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_lane_t *lane, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes)
{
    ctn_op_t *op = ctn_op_create(exec, &ctn_scan_algorithm, &lane->channel);
    if (op == NULL) {
        return NULL;
    }
    ctn_scan_t *scan = ctn_op_state(op);
    scan->chain = &lane->chain;
    scan->fold = fold;
    scan->bytes = bytes;
    scan->own = own;
    scan->from[0] = left;
    scan->from[1] = right;
    memset(left, 0, bytes);
    memset(right, 0, bytes);
    return op;
}

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

static ctn_step_t scan_bins(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    split->bin = hash_to_bin(split->color, split->color_bytes, split->pass);
    ctn_exec_charge(op->exec, CTN_WORK_HASH, split->color_bytes);
    ctn_bins_set(&split->own, split->bin, split->lane->chain.self);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, current_lane(split),
                                       ctn_fold_bins, &split->own, &split->left,
                                       &split->right, sizeof(ctn_bins_t)));
}

static ctn_step_t link_bin(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    split->lane->chain = ctn_bins_chain(&split->left, &split->right, split->bin,
                                        split->lane->chain.self);
    split->pass++;
    return CTN_STEP_NEXT;
}

static ctn_step_t show_color(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    ctn_op_t *child =
        ctn_op_create(op->exec, &ctn_shift_algorithm, &split->lane->channel);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_shift_t *shift = ctn_op_state(child);
    shift->chain = &split->lane->chain;
    shift->send = split->color;
    shift->send_bytes = split->color_bytes;
    shift->receive = split->neighbour;
    shift->received = &split->neighbour_bytes;
    return ctn_op_call(op, child);
}

static ctn_step_t scan_differences(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    bool differs =
        ctn_address_exists(split->lane->chain.left) &&
        (split->neighbour_bytes != split->color_bytes ||
         memcmp(split->neighbour, split->color, split->color_bytes) != 0);
    ctn_exec_charge(op->exec, CTN_WORK_COMPARE, 1);
    memset(&split->differs, 0, sizeof(split->differs));
    split->differs.word[0] = differs;
    return ctn_op_call(op, ctn_scan_create(op->exec, split->lane, ctn_fold_sum,
                                           &split->differs, &split->differ_left,
                                           &split->differ_right,
                                           sizeof(ctn_words_t)));
}

enum { PHASE_SCAN_BINS = 1 };

static ctn_step_t judge(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    if (split->differs.word[0] + split->differ_left.word[0] +
            split->differ_right.word[0] >
        0) {
        return ctn_op_jump(op, PHASE_SCAN_BINS);
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    split_t *split = ctn_op_state(op);
    free(split->neighbour);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"bins", scan_bins},
                                     {"link", link_bin},
                                     {"show color", show_color},
                                     {"compare", scan_differences},
                                     {"judge", judge},
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
