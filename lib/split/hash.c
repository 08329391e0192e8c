/* Split by hashing. Moody, Ahn, de Supinski: Exascale Algorithms for
 * Generalized MPI_Comm_split, EuroMPI 2011, section 3.3 (Hash and Hash64). Each
 * pass hashes the color to one of eight bins. A double exclusive scan of the
 * table of bins gives each member its neighbors within its bin. The bins are
 * then chains of their own, until each chain has one color.
 *
 * Rounds: ceil(log2 p) a pass, where p is the length of the chain at that pass.
 * Passes, expected: log8 of the number of colors, plus one or two. Messages:
 * two per member and round, of at most 112 bytes for any length of the color.
 * Memory: O(1), and that of bitonic sort where keys must be sorted.
 *
 * hash-plain is the algorithm as printed, with the four bins of figure 2 (the
 * paper has no other number). The scan carries the table alone: 64 bytes a
 * message. A pass that leaves a chain as long as it was is followed by an
 * allreduce, which tells whether the chain has one color; the paper does not
 * say how colors are compared, so here each member sends its record to its
 * right neighbor before, and the allreduce has the flags only. A chain that is
 * to be reordered is sorted whether its keys are in order or not. Two things
 * are not as printed, as in hash: the limit on passes, and that comparators of
 * keys that the application defines are left to bitonic sort at once.
 *
 * hash and hash64 differ from the paper:
 * - The test for a single color needs no allreduce: neighbors exchange color
 *   and key in the first round of the scan, and whether any differ travels with
 *   the scan. Of a color of more than 80 bytes only the hash is exchanged. If
 *   all hashes are equal in the end, members compare the colors themselves:
 *   each sends its record to its right neighbor once (one message, one scan).
 * - The same exchange finds whether keys are in order already: then nothing is
 *   sorted. If the application compares keys by a function of its own, bitonic
 *   sort of the whole parent replaces all passes after the first.
 * - Time is bounded, not only in expectation: passes that leave more than half
 *   of a chain together are counted, and after too many of them (colliding
 *   colors) bitonic sort takes over. So passes are always O(log p). The paper
 *   bounds time in probability only, and uses bitonic sort only to reorder. */

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "split/algorithms.h"
#include "split/shift.h"
#include "split/split.h"

/* Flags of a member; the scan forms their bitwise or over a chain. */
enum {
    DIFFER = 1u << 0,   /* its color and a neighbor's differ */
    LONG = 1u << 1,     /* its color is compared by its hash only */
    REORDER = 1u << 2,  /* it reorders */
    DISORDER = 1u << 3, /* its key and a neighbor's are not in order */
    OMITTED = 1u << 4,  /* its key is not sent to neighbors */
    /* One of these says how it compares keys. Valid arguments are the same on
     * all members, so two of them in one chain are an error of the caller. */
    KEY_BYTES = 1u << 5,
    KEY_INT64 = 1u << 6,   /* by catena_compare_int64 */
    KEY_CALLBACK = 1u << 7 /* by another comparator of the application */
};

enum { KEY_COMPARISONS = KEY_BYTES | KEY_INT64 | KEY_CALLBACK };

/* The longest color in an opening: 8 bytes are left for an integer key. */
enum { COLOR_MOST = 80 };
/* Values of hash_opening_t.color_bytes that are not lengths: the color is too
 * long; there is no color. */
enum { IS_LONG = 254, IS_NONE = 255 };
/* The value of hash_opening_t.key_bytes for a key that does not fit. */
enum { KEY_OMITTED = 255 };

/** What neighbors exchange in the first round of a scan: color and key, if they
 * fit. */
typedef struct hash_opening {
    uint64_t member;     /* packed address of the member's new control block */
    uint32_t hash;       /* of the color in this pass */
    uint8_t color_bytes; /* or IS_LONG, IS_NONE: `data` has no color */
    uint8_t key_bytes;   /* or KEY_OMITTED: `data` has no key */
    uint8_t flags;
    uint8_t unused;
    unsigned char data[CTN_SCAN_BYTES - 16]; /* color, then key */
} hash_opening_t;

_Static_assert(sizeof(hash_opening_t) == CTN_SCAN_BYTES, "fills a scan");

typedef struct hash_split {
    /* arguments */
    ctn_split_args_t args;
    uint32_t below;     /* chains of fewer members are left to allgather */
    bool plain;         /* hash-plain */
    ctn_record_t *made; /* the record, if ctn_split_create allocated it */
    /* working */
    ctn_chain_t *chain; /* the chain to split: the parent, then the new one */
    unsigned pass;      /* its number, from 0 */
    unsigned wasted;    /* cost of passes that helped little: WASTE_MOST */
    hash_opening_t opening; /* this member's */
    ctn_bins_t own;         /* this member's table; its flags later those of the
                               chain */
    ctn_bins_t left;        /* exclusive scan of the tables to the left */
    ctn_bins_t right;       /* of those to the right */
    uint32_t left_flags;    /* flags that compare_left has found */
} hash_split_t;

/* ---- hashing ---- */

/** Jenkins's one-at-a-time hash of the color, its bytes rotated by the pass. No
 * color and the empty color have different hashes. */
static uint32_t hash_color(const ctn_record_t *record, unsigned pass)
{
    size_t bytes = ctn_record_color_bytes(record);
    size_t start = bytes > 0 ? pass % bytes : 0;
    uint32_t hash = record->color_bytes == CTN_NO_COLOR;
    hash = ctn_hash_jenkins(hash, record->data + start, bytes - start);
    hash = ctn_hash_jenkins(hash, record->data, start);
    return ctn_hash_jenkins_end(hash);
}

/* Of hash-plain: as figure 2 of the paper. */
enum { PLAIN_BIN_BITS = 2, PLAIN_BINS = 1 << PLAIN_BIN_BITS };

/** Return the bin of a color with the hash of the opening. Successive passes
 * use different bits of the hash. */
static unsigned hash_to_bin(const hash_split_t *split, uint32_t hash)
{
    unsigned bits = split->plain ? PLAIN_BIN_BITS : CTN_BIN_BITS;
    return hash >> (bits * (split->pass % (32 / bits))) & ((1u << bits) - 1);
}

/** The fold of hash-plain: its tables end after PLAIN_BINS bins. */
static void fold_plain(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left; /* as in ctn_fold_bins */
    ctn_bins_t *a = inout;
    const ctn_bins_t *b = in;
    ctn_bins_join(a->bin, b->bin, PLAIN_BINS);
    a->flags |= b->flags;
}

/* ---- neighbors ---- */

/** Return the flag that says how this member compares keys. */
static unsigned key_comparison(const ctn_order_by_t *by)
{
    return by->key == NULL                   ? KEY_BYTES
           : by->key == catena_compare_int64 ? KEY_INT64
                                             : KEY_CALLBACK;
}

/** Fill the parts of the opening that are the same in all passes. */
static void prepare(hash_split_t *split)
{
    const ctn_record_t *record = split->args.record;
    unsigned comparison = key_comparison(&split->args.by);
    hash_opening_t *opening = &split->opening;
    size_t color_bytes = ctn_record_color_bytes(record);
    bool is_long = color_bytes > COLOR_MOST;
    bool is_none = record->color_bytes == CTN_NO_COLOR;
    opening->color_bytes = is_none   ? IS_NONE
                           : is_long ? IS_LONG
                                     : (uint8_t)color_bytes;
    size_t key_at = is_long ? 0 : color_bytes;
    bool omitted = record->key_bytes > sizeof(opening->data) - key_at;
    opening->key_bytes = omitted ? KEY_OMITTED : (uint8_t)record->key_bytes;
    opening->flags = (uint8_t)(comparison | (is_long ? LONG : 0) |
                               (split->args.reorder ? REORDER : 0) |
                               (omitted ? OMITTED : 0));
    memcpy(opening->data, record->data, key_at);
    if (!omitted) {
        memcpy(opening->data + key_at, record->data + color_bytes,
               record->key_bytes);
    }
}

/** Return the bytes of the color in the opening itself. */
static size_t inline_color_bytes(const hash_opening_t *opening)
{
    return opening->color_bytes <= COLOR_MOST ? opening->color_bytes : 0;
}

static size_t opening_bytes(const hash_opening_t *opening)
{
    size_t key = opening->key_bytes != KEY_OMITTED ? opening->key_bytes : 0;
    return offsetof(hash_opening_t, data) + inline_color_bytes(opening) + key;
}

/** Compare two neighbors, `a` the left one. @return DIFFER, DISORDER or 0. Both
 * compute this and get the same result, because only the library's own
 * comparisons are used. */
static uint32_t compare_neighbors(const hash_split_t *split,
                                  const hash_opening_t *a,
                                  const hash_opening_t *b)
{
    ctn_exec_t *exec = split->args.by.exec;
    size_t bytes = inline_color_bytes(a);
    bool differ = a->color_bytes != b->color_bytes || a->hash != b->hash ||
                  memcmp(a->data, b->data, bytes) != 0;
    ctn_exec_charge(exec, CTN_WORK_COMPARE, 1);
    if (differ || !(a->flags & REORDER) || a->key_bytes == KEY_OMITTED ||
        b->key_bytes == KEY_OMITTED) {
        return differ ? DIFFER : 0;
    }
    const unsigned char *x = a->data + bytes;
    const unsigned char *y = b->data + bytes;
    ctn_exec_charge(exec, CTN_WORK_COMPARE, 1);
    int order =
        (a->flags & KEY_INT64) != 0
            ? catena_compare_int64(x, a->key_bytes, y, b->key_bytes, NULL)
            : ctn_compare_bytes(x, a->key_bytes, y, b->key_bytes);
    return order > 0 ? DISORDER : 0;
}

/** Fold the opening of the neighbor on `side` into the scan: the table that the
 * neighbor did not send, and the flags that follow from comparing the two
 * (`edge`). See ctn_scan_t. */
static void fold_opening(ctn_scan_t *scan, unsigned side, const void *data)
{
    hash_split_t *split = scan->context;
    hash_opening_t theirs;
    memcpy(&theirs, data, sizeof(theirs));
    const hash_opening_t *ours = &split->opening;
    uint32_t edge = side == CTN_LEFT ? compare_neighbors(split, &theirs, ours)
                                     : compare_neighbors(split, ours, &theirs);
    ctn_bins_t others;
    ctn_bins_set(&others, hash_to_bin(split, theirs.hash),
                 ctn_address_unpack(theirs.member));
    others.flags = theirs.flags;
    ctn_fold_bins(scan->exclusive[side], &others, side == CTN_LEFT);
    ctn_fold_bins(ctn_scan_running(scan, side), &others, side == CTN_LEFT);
    for (unsigned i = CTN_LEFT; i <= CTN_RIGHT; i++) {
        ((ctn_bins_t *)ctn_scan_running(scan, i))->flags |= edge;
    }
    split->own.flags |= edge;
}

/** Compare with the left neighbor's record: color and key in full. */
static void compare_left(void *context, const void *left)
{
    hash_split_t *split = context;
    const ctn_order_by_t *by = &split->args.by;
    const ctn_record_t *own = split->args.record;
    bool reorder = !split->plain && (split->own.flags & REORDER) != 0;
    split->left_flags = 0;
    if (left == NULL) {
        return;
    }
    if (ctn_record_compare_colors(by, left, own) != 0) {
        split->left_flags = DIFFER;
    } else if (reorder && ctn_record_compare(by, left, own) > 0) {
        split->left_flags = DISORDER;
    }
}

/* ---- the operation ---- */

enum { PHASE_PASS = 1, PHASE_LINK, PHASE_SHIFT, PHASE_SHARE, PHASE_DECIDE };
enum { PHASE_END = PHASE_DECIDE + 1 };

/* Passes may waste so much before bitonic sort takes over. A pass that leaves
 * more than half of a chain together costs 1, one that leaves it unchanged
 * costs 3. A color that most members have costs 1 a pass without any collision,
 * until log8 p passes have separated it from all others: 11 for p = 2^32. The
 * limit is about twice that. In hash-plain, whose four bins keep two colors
 * together more often, 32 passes may leave a chain unchanged. */
enum { WASTE_MOST = 24, PLAIN_WASTE_MOST = 3 * 32 };

static ctn_step_t begin(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    split->chain = split->args.parent;
    split->pass = 0;
    split->wasted = 0;
    prepare(split);
    return CTN_STEP_NEXT;
}

/** Leave the rest to another algorithm, on the chain as it is now. */
static ctn_step_t leave_to(ctn_op_t *op,
                           ctn_op_t *(*algorithm)(const ctn_split_args_t *))
{
    hash_split_t *split = ctn_op_state(op);
    ctn_split_args_t rest = split->args;
    rest.parent = split->chain;
    ctn_step_t step = ctn_op_call(op, algorithm(&rest));
    return step == CTN_STEP_FAIL ? step : ctn_op_jump(op, PHASE_END);
}

static ctn_op_t *scan_bins(hash_split_t *split)
{
    return ctn_scan_create(split->args.by.exec, split->chain,
                           split->plain ? fold_plain : ctn_fold_bins,
                           &split->own, &split->left, &split->right,
                           split->plain ? offsetof(ctn_bins_t, bin[PLAIN_BINS])
                                        : sizeof(ctn_bins_t));
}

/** Begin a pass: scan the bins. */
static ctn_step_t pass(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    hash_opening_t *opening = &split->opening;
    const ctn_record_t *record = split->args.record;
    ctn_address_t self = split->args.chain->place.self;
    if (split->chain->place.size < split->below) {
        return leave_to(op, ctn_split_allgather);
    }
    opening->member = ctn_address_pack(self);
    opening->hash = hash_color(record, split->pass);
    ctn_exec_charge(op->exec, CTN_WORK_HASH, ctn_record_color_bytes(record));
    ctn_bins_set(&split->own, hash_to_bin(split, opening->hash), self);
    split->own.flags = opening->flags;
    ctn_op_t *child = scan_bins(split);
    if (child != NULL && !split->plain) {
        ctn_scan_t *scan = ctn_op_state(child);
        scan->opening = opening;
        scan->opening_bytes = opening_bytes(opening);
        scan->fold_opening = fold_opening;
        scan->context = split;
    }
    return ctn_op_call(op, child);
}

/** Run another pass, unless passes do not help. */
static ctn_step_t pass_again(ctn_op_t *op, uint32_t size_before)
{
    hash_split_t *split = ctn_op_state(op);
    uint32_t size = split->chain->place.size;
    split->wasted += size == size_before ? 3 : size > size_before / 2 ? 1 : 0;
    unsigned most = split->plain ? PLAIN_WASTE_MOST : WASTE_MOST;
    return split->wasted < most ? ctn_op_jump(op, PHASE_PASS)
                                : leave_to(op, ctn_split_bitonic);
}

/** There were several colors in the chain before this pass: run another pass on
 * what is left of it, unless that is one member, or passes do not help. */
static ctn_step_t divide(ctn_op_t *op, uint32_t size_before)
{
    hash_split_t *split = ctn_op_state(op);
    ctn_chain_place_t *place = &split->chain->place;
    if (size_before == 2) { /* two colors: each member is alone */
        *place = (ctn_chain_place_t){.size = 1,
                                     .self = place->self,
                                     .left = CTN_NO_ADDRESS,
                                     .right = CTN_NO_ADDRESS};
    }
    if (place->size == 1) {
        return ctn_op_jump(op, PHASE_END);
    }
    return pass_again(op, size_before);
}

/** The chain has one color, unless long colors with the same hash differ: sort
 * it, compare the records in full, or end. */
static ctn_step_t conclude(ctn_op_t *op, uint32_t flags)
{
    bool reorder = (flags & REORDER) != 0;
    if (reorder && (flags & OMITTED) == 0 && (flags & DISORDER) != 0) {
        return leave_to(op, ctn_split_bitonic);
    }
    bool doubtful = (flags & LONG) != 0 || (reorder && (flags & OMITTED) != 0);
    return ctn_op_jump(op, doubtful ? PHASE_SHIFT : PHASE_END);
}

/** Return whether keys matter and are compared by a function of the
 * application, or differently on different members. Such a comparison may
 * contradict itself, and then all members of the parent must get the error: so
 * bitonic sort sorts all records together. */
static bool may_be_inconsistent(uint32_t flags)
{
    uint32_t comparisons = flags & KEY_COMPARISONS;
    return (flags & REORDER) != 0 && comparisons != KEY_BYTES &&
           comparisons != KEY_INT64;
}

/** hash-plain: run another pass on a shorter chain; compare the colors of one
 * that this pass has left as it was. */
static ctn_step_t divide_plain(ctn_op_t *op, uint32_t size_before)
{
    const hash_split_t *split = ctn_op_state(op);
    uint32_t size = split->chain->place.size;
    return size == 1             ? ctn_op_jump(op, PHASE_END)
           : size == size_before ? ctn_op_jump(op, PHASE_SHIFT)
                                 : pass_again(op, size_before);
}

/** Make the own bin the chain to split, and decide what to do with it. */
static ctn_step_t link_bin(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    uint32_t size_before = split->chain->place.size;
    uint32_t flags = split->own.flags | split->left.flags | split->right.flags;
    if (may_be_inconsistent(flags)) {
        return leave_to(op, ctn_split_bitonic);
    }
    unsigned bin = hash_to_bin(split, split->opening.hash);
    split->chain = split->args.chain;
    ctn_log_chain_drop(split->chain); /* it belongs to the previous chain */
    split->chain->place =
        ctn_bin_place(&split->left.bin[bin], &split->right.bin[bin],
                      split->chain->place.self);
    split->pass++;
    split->own.flags = flags;
    return split->plain            ? divide_plain(op, size_before)
           : (flags & DIFFER) != 0 ? divide(op, size_before)
           : size_before == 1      ? ctn_op_jump(op, PHASE_END)
                                   : conclude(op, flags);
}

/** Compare the records of neighbors in full. */
static ctn_step_t shift_record(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    return ctn_op_call(op, ctn_shift_right_create(op->exec, split->chain,
                                                  split->args.record,
                                                  compare_left, split));
}

/** All members of the chain get the flags that any of them has found in
 * compare_left. */
static ctn_step_t share_flags(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    uint32_t reorder = split->own.flags & REORDER; /* of any member */
    memset(&split->own, 0, sizeof(split->own));
    split->own.flags = split->left_flags | reorder;
    return ctn_op_call(op, scan_bins(split));
}

/** If the comparison in full has found a difference, sort the chain; hash-plain
 * runs another pass, and sorts a chain of one color. */
static ctn_step_t decide(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    uint32_t flags = split->own.flags | split->left.flags | split->right.flags;
    if (split->plain && (flags & DIFFER) != 0) {
        return pass_again(op, split->chain->place.size);
    }
    uint32_t sorted = split->plain ? REORDER : DIFFER | DISORDER;
    return (flags & sorted) != 0 ? leave_to(op, ctn_split_bitonic)
                                 : CTN_STEP_NEXT;
}

static void release(ctn_op_t *op)
{
    hash_split_t *split = ctn_op_state(op);
    if (split->made != NULL && op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, split->made, ctn_record_bytes(split->made));
    } /* after an error a neighbor may still read it */
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"bins", pass},
                                     {"link", link_bin},
                                     {"shift", shift_record},
                                     {"share flags", share_flags},
                                     {"decide", decide},
                                     {NULL, NULL}};

static const ctn_algorithm_t hash_algorithm = {
    .name = "split/hash",
    .state_bytes = sizeof(hash_split_t),
    .phases = phases,
    .release = release,
};

/** @param below chains of fewer members are left to allgather
 *  @param plain hash-plain */
static ctn_op_t *create(const ctn_split_args_t *args, uint32_t below,
                        bool plain)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &hash_algorithm, NULL);
    if (op != NULL) {
        hash_split_t *split = ctn_op_state(op);
        split->args = *args;
        split->args.by.color = NULL; /* colors are equal if their bytes are */
        split->below = below;
        split->plain = plain;
    }
    return op;
}

ctn_op_t *ctn_split_hash(const ctn_split_args_t *args)
{
    return create(args, 0, false);
}

ctn_op_t *ctn_split_hash_plain(const ctn_split_args_t *args)
{
    return create(args, 0, true);
}

ctn_op_t *ctn_split_hash64(const ctn_split_args_t *args)
{
    return create(args, 64, false);
}

ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_chain_t *parent,
                           ctn_chain_t *chain, const void *color,
                           size_t color_bytes)
{
    ctn_record_t head = {
        .rank = parent->place.rank,
        .process = (uint32_t)chain->place.self.process,
        .offset = chain->place.self.offset,
        .color_bytes = (uint32_t)color_bytes,
    };
    size_t bytes = ctn_record_bytes(&head);
    ctn_record_t *record = ctn_scratch_alloc(exec, bytes);
    if (record == NULL) {
        return NULL;
    }
    ctn_record_fill(record, &head, color, NULL);
    ctn_split_args_t args = {
        .parent = parent,
        .chain = chain,
        .by = {.exec = exec},
        .record = record,
    };
    ctn_op_t *op = ctn_split_hash(&args);
    if (op == NULL) {
        ctn_scratch_free(exec, record, bytes);
        return NULL;
    }
    ((hash_split_t *)ctn_op_state(op))->made = record;
    return op;
}
