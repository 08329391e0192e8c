/* Split by the bits of integer colors and keys. Moody, Ahn, de Supinski:
 * Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 3.2
 * (Radix): chains are divided by the most significant bits, each part is sorted
 * by itself, and the sorted parts are joined again.
 *
 * A pass divides a chain into four bins by two bits, with a double exclusive
 * scan as in the split by hash. Color precedes key, so the first passes find
 * the groups (the members of one color). In the later ones a member adds up how
 * many members of its group are in lower bins; with its rank in the last chain
 * this makes its rank in the group. Members of a bin keep their order in the
 * parent, so equal keys need no further bits.
 *
 * All sorted parts are joined at the same time, when their members are done.
 * The limit between two bins of a chain is managed by that chain's first
 * member, the agent, whose address all members learn in the same scan. A member
 * of a bin thus knows the limits of its bin to the left and to the right (the
 * limit of the whole chain, if the bin is the lowest or the highest). In the
 * end the last member of the part to the left of a limit and the first of the
 * part to the right report to its agent, which sends each the address of the
 * other one. An agent may manage limits of many nested chains: it has a box for
 * each level of nesting, limit and side, which one member writes once.
 *
 * Rounds: ceil(log2 p) to find the bits that matter, as many a pass, where p is
 * the length of the chain at that pass, and two. Passes: at most half the bits
 * in which members differ; about log4 p for evenly distributed values.
 * Messages: two per member and round; two to four more in the end. Memory:
 * O(1): boxes and the slots of a sequence, 39 KiB, of which only the slots of
 * ceil(log2 p) rounds are touched. The passes do not run on the sequence of
 * `chain`, since parts take different numbers of passes, and the sequence
 * numbers of `chain` must be the same on all members of the new group.
 *
 * Differs from the paper: bits that are the same in a whole chain are skipped
 * (the bits in which neighbors differ travel with the scan; radix-plain takes
 * every bit, for comparison), and sorted parts are joined in two rounds in the
 * end, not on each level. */

#include <assert.h>
#include <string.h>

#include "exec/slot.h"
#include "split/algorithms.h"
#include "split/bins.h"

/* Color and key as four numbers of 64 bits (limbs), which are compared in this
 * order. The kind puts an empty value below all integers, and a member without
 * a color above all others. */
enum { COLOR_KIND, COLOR, KEY_KIND, KEY, LIMBS };
/* The values of a kind; KIND_BITS is the mask of their bits. */
enum { KIND_EMPTY, KIND_INTEGER, KIND_NONE, KIND_BITS };
_Static_assert(KIND_BITS == 3, "kinds are two bits");

/* Bins of a pass, and limits between them. Limit i is the lower end of bin
 * i + 1. */
enum { BINS = 4, LIMITS = BINS - 1 };
/* The most passes within a group, each of which adds a level of nested chains:
 * one for the kind of the key, 32 for two bits of the key each. */
enum { LEVELS = 1 + 32 };

/** The bits that a pass divides by: up to two bits of one limb. */
typedef struct window {
    unsigned limb;      /* index */
    uint64_t high, low; /* the bits as masks. `low` is 0: one bit only; both
                           are 0: none */
} window_t;

/** The value that a pass scans. */
typedef struct table {
    ctn_bin_t bin[BINS];
    uint32_t wrong; /* a value is not an integer of 8 bytes */
    uint32_t unused;
    uint64_t first; /* packed address of the leftmost member scanned; from the
                       left: of the chain's first member */
    uint64_t vary[LIMBS]; /* bits in which any two neighbors differ */
} table_t;

_Static_assert(sizeof(table_t) <= CTN_SCAN_BYTES, "tables fit a scan");

/** What neighbors exchange in the first round of a scan. */
typedef struct radix_opening {
    uint64_t member; /* packed address of the member's mailbox */
    uint64_t limb[LIMBS];
    uint64_t wrong; /* 1: a value is not an integer of 8 bytes */
} radix_opening_t;

/** The report of the member on one side of a limit. */
typedef struct split_box {
    uint64_t word;     /* 1 + the packed address of the reporter's new control
                          block; 0: no report yet */
    uint64_t reporter; /* packed address of its mailbox, for the answer */
} split_box_t;

/** Memory that other members write into; it starts on a page. */
typedef struct mailbox {
    _Alignas(64)
        split_box_t report[LEVELS][LIMITS][2]; /* to this agent; by side last */
    uint64_t neighbor[2]; /* in the group: 1 + packed address; 0: not known */
} mailbox_t;

/** A limit of this member's part on one side: the box to report to. */
typedef struct limit {
    uint64_t agent; /* packed address of its mailbox */
    unsigned level; /* of the chain that the limit divides */
    unsigned index; /* of the limit in that chain */
    bool exists;    /* false: the part ends where the group ends */
} limit_t;

typedef struct radix {
    ctn_split_args_t args; /* argument */
    /* working */
    ctn_chain_t *chain; /* the chain that is divided: the parent, then `work` */
    ctn_own_chain_t work; /* over the mailbox, which is its head */
    uint64_t vary[LIMBS]; /* at most these bits vary in the chain */
    uint64_t rest[LIMBS]; /* bits that are still to divide by */
    bool begun;           /* the first pass is over: `vary` is known */
    window_t window;      /* of this pass */
    unsigned bin;         /* this member's in this pass */
    radix_opening_t opening;
    table_t own;            /* of the scan: this member's table, ... */
    table_t left, right;    /* ... and the results */
    uint32_t size;          /* of the group; 0: not known yet */
    uint32_t base;          /* rank of the part's first member in the group */
    unsigned level;         /* passes that have divided the group so far */
    limit_t limit[2];       /* of the part, to the left and to the right */
    uint8_t awaits[LEVELS]; /* as agent: a bit for each limit of a level that
                               has not been joined */
} radix_t;

static mailbox_t *mailbox_of(const radix_t *radix)
{
    return radix->work.head;
}

/* ---- values ---- */

/** Convert an integer so that unsigned comparison orders it.
 * @return whether the data are an integer, or empty */
static bool read_integer(const unsigned char *data, size_t bytes,
                         uint64_t *kind, uint64_t *value)
{
    int64_t integer = 0;
    *kind = bytes > 0 ? KIND_INTEGER : KIND_EMPTY;
    if (bytes == sizeof(integer)) {
        memcpy(&integer, data, sizeof(integer));
    }
    *value = (uint64_t)integer ^ UINT64_C(1) << 63;
    return bytes == 0 || bytes == sizeof(integer);
}

/** Set the limbs of this member's record. */
static void read_record(radix_t *radix)
{
    const ctn_record_t *record = radix->args.record;
    uint64_t *limb = radix->opening.limb;
    size_t color_bytes = ctn_record_color_bytes(record);
    size_t key_bytes = radix->args.reorder ? record->key_bytes : 0;
    bool good = read_integer(record->data, color_bytes, &limb[COLOR_KIND],
                             &limb[COLOR]);
    good &= read_integer(record->data + color_bytes, key_bytes, &limb[KEY_KIND],
                         &limb[KEY]);
    if (record->color_bytes == CTN_NO_COLOR) {
        limb[COLOR_KIND] = KIND_NONE;
    }
    radix->opening.wrong = !good;
}

/** Return the top bit of `bits`; 0: there is none. */
static uint64_t top_bit(uint64_t bits)
{
    return bits != 0 ? UINT64_C(1) << (63 - __builtin_clzll(bits)) : 0;
}

/** Return the window of the two highest bits of the first limb in which bits
 * remain. */
static window_t next_window(const uint64_t *rest)
{
    window_t window = {0, 0, 0};
    while (window.limb < KEY && rest[window.limb] == 0) {
        window.limb++;
    }
    window.high = top_bit(rest[window.limb]);
    window.low = top_bit(rest[window.limb] & ~window.high);
    return window;
}

/** Return the bin of a member with these limbs. */
static unsigned bin_of(const window_t *window, const uint64_t *limb)
{
    unsigned high = (limb[window->limb] & window->high) != 0;
    unsigned low = (limb[window->limb] & window->low) != 0;
    return window->low != 0 ? 2 * high + low : high;
}

/* ---- a pass ---- */

/** The fold of the scan (ctn_fold_t). */
static void fold(void *inout_table, const void *in_table, int in_is_left)
{
    table_t *inout = inout_table;
    const table_t *in = in_table;
    ctn_bins_join(inout->bin, in->bin, BINS);
    inout->wrong |= in->wrong;
    if (in_is_left) {
        inout->first = in->first;
    }
    for (unsigned i = 0; i < LIMBS; i++) {
        inout->vary[i] |= in->vary[i];
    }
}

/** Return the table with the one member that sent `opening`. */
static table_t table_of(const window_t *window, const radix_opening_t *opening)
{
    table_t table = {.wrong = (uint32_t)opening->wrong,
                     .first = opening->member};
    table.bin[bin_of(window, opening->limb)] =
        ctn_bin_of_one(ctn_address_unpack(opening->member));
    return table;
}

/** Fold the opening of the neighbor on `side` into the scan: its table, and the
 * bits in which the two members differ. See ctn_scan_t. */
static void fold_opening(ctn_scan_t *scan, unsigned side, const void *data)
{
    radix_t *radix = scan->context;
    radix_opening_t theirs;
    memcpy(&theirs, data, sizeof(theirs));
    table_t in = table_of(&radix->window, &theirs);
    fold(scan->exclusive[side], &in, side == CTN_LEFT);
    fold(ctn_scan_running(scan, side), &in, side == CTN_LEFT);
    for (unsigned i = 0; i < LIMBS; i++) {
        uint64_t vary = theirs.limb[i] ^ radix->opening.limb[i];
        ((table_t *)ctn_scan_running(scan, CTN_LEFT))->vary[i] |= vary;
        ((table_t *)ctn_scan_running(scan, CTN_RIGHT))->vary[i] |= vary;
        radix->own.vary[i] |= vary;
    }
}

static ctn_step_t begin(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    ctn_split_args_t args = radix->args;
    memset(radix, 0, sizeof(*radix));
    radix->args = args;
    radix->chain = args.parent;
    read_record(radix);
    /* No other member knows this memory before the first scan, whose messages
     * use two slots a round. */
    catena_status_t status = ctn_own_chain_open(
        op->exec, &radix->work, sizeof(mailbox_t), 2, args.parent->place.size);
    radix->opening.member = ctn_address_pack(radix->work.chain.place.self);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Scan the tables of the chain's members. In the first pass no bit is known to
 * vary, so all members are in one bin; the pass finds the bits that do. */
static ctn_step_t pass(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    radix->window = next_window(radix->rest);
    radix->bin = bin_of(&radix->window, radix->opening.limb);
    radix->own = table_of(&radix->window, &radix->opening);
    ctn_op_t *child =
        ctn_scan_create(op->exec, radix->chain, fold, &radix->own, &radix->left,
                        &radix->right, sizeof(table_t));
    if (child != NULL) {
        ctn_scan_t *scan = ctn_op_state(child);
        scan->opening = &radix->opening;
        scan->opening_bytes = sizeof(radix_opening_t);
        scan->fold_opening = fold_opening;
        scan->context = radix;
    }
    return ctn_op_call(op, child);
}

/** Return the number of the chain's members in a bin. */
static uint32_t count_of(const radix_t *radix, unsigned bin)
{
    return radix->own.bin[bin].count + radix->left.bin[bin].count +
           radix->right.bin[bin].count;
}

/** A part of a group has been divided into bins: find the rank in the group at
 * which the own bin begins, and the limits of that bin. */
static void find_limits(radix_t *radix)
{
    const ctn_chain_place_t *part = &radix->chain->place;
    bool is_agent = part->rank == 0;
    limit_t limit = {
        .agent = is_agent ? radix->opening.member : radix->left.first,
        .level = radix->level,
        .exists = true,
    };
    assert(radix->level < LEVELS);
    uint32_t before = part->size; /* members in the bins below `bin` */
    bool divided = false;
    for (unsigned bin = BINS - 1; bin > 0; bin--) {
        uint32_t count = count_of(radix, bin);
        before -= count;
        if (count == 0 || before == 0) {
            continue;
        }
        divided = true;
        limit.index = bin - 1;
        if (is_agent) {
            radix->awaits[radix->level] |= (uint8_t)(1u << limit.index);
        }
        if (bin > radix->bin) {
            radix->limit[CTN_RIGHT] = limit;
        } else if (bin == radix->bin) {
            radix->limit[CTN_LEFT] = limit;
            radix->base += before;
        }
    }
    radix->level += divided;
}

/** Return the bits of a limb to divide by: those that vary, or every bit, as in
 * the paper. */
static uint64_t rest_of(const radix_t *radix, unsigned limb)
{
    const ctn_split_args_t *args = &radix->args;
    if (!args->every_bit) {
        return radix->vary[limb];
    }
    if (radix->begun) {
        return limb == radix->window.limb
                   ? radix->rest[limb] &
                         ~(radix->window.high | radix->window.low)
                   : radix->rest[limb];
    }
    if (limb == COLOR_KIND || limb == KEY_KIND) {
        return KIND_BITS;
    }
    bool used = limb == COLOR ? args->by.color != NULL : args->by.key != NULL;
    return used ? UINT64_MAX : 0;
}

enum { PHASE_PASS = 1 };

/** Make the own bin the chain to divide; run another pass unless all its
 * members have the same color and key. */
static ctn_step_t link_bin(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    ctn_chain_place_t *place = &radix->work.chain.place;
    uint64_t rest = 0;
    if (radix->own.wrong | radix->left.wrong | radix->right.wrong) {
        return ctn_op_fail(
            op, CATENA_ERR_ARG); /* on all members: in the first pass */
    }
    if (radix->size > 0) {
        find_limits(radix);
    }
    *place = ctn_bin_place(&radix->left.bin[radix->bin],
                           &radix->right.bin[radix->bin], place->self);
    radix->chain = &radix->work.chain;
    for (unsigned i = 0; i < LIMBS; i++) {
        radix->vary[i] =
            radix->own.vary[i] | radix->left.vary[i] | radix->right.vary[i];
        if (i == radix->window.limb) {
            radix->vary[i] &= ~(radix->window.high | radix->window.low);
        }
        radix->rest[i] = rest_of(radix, i);
        rest |= radix->rest[i];
    }
    radix->begun = true;
    bool one_color = (radix->vary[COLOR_KIND] | radix->vary[COLOR]) == 0;
    if (radix->size == 0 && (one_color || place->size == 1)) {
        radix->size = place->size;
    }
    return place->size > 1 && rest != 0 ? ctn_op_jump(op, PHASE_PASS)
                                        : CTN_STEP_NEXT;
}

/* ---- joining ---- */

/** Send a member, whose mailbox is at `to`, the address of its neighbor on
 * `side`, as 1 + packed address. */
static catena_status_t introduce(ctn_op_t *op, ctn_address_t to, unsigned side,
                                 uint64_t neighbor)
{
    return ctn_op_put(op, to.process, NULL, 0, 0,
                      to.offset + offsetof(mailbox_t, neighbor) +
                          side * sizeof(uint64_t),
                      neighbor);
}

/** Report to the agent of the limit on `side`, as the part's last member on
 * that side. `self`: 1 + packed address of this member in its group. */
static catena_status_t report(ctn_op_t *op, const radix_t *radix, unsigned side,
                              uint64_t self)
{
    const limit_t *limit = &radix->limit[side];
    if (!limit->exists) {
        return CATENA_OK; /* an end of the group */
    }
    ctn_address_t agent = ctn_address_unpack(limit->agent);
    size_t index = (limit->level * LIMITS + limit->index) * 2 + !side;
    uint64_t box = agent.offset + offsetof(mailbox_t, report) +
                   index * sizeof(split_box_t);
    return ctn_op_put(op, agent.process, &radix->opening.member,
                      sizeof(radix->opening.member),
                      box + offsetof(split_box_t, reporter),
                      box + offsetof(split_box_t, word), self);
}

/** Neighbors within a part exchange addresses; its ends report. */
static ctn_step_t introduce_neighbors(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    const ctn_chain_place_t *part = &radix->work.chain.place;
    uint64_t self = 1 + ctn_address_pack(radix->args.chain->place.self);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_address_t next = side == CTN_LEFT ? part->left : part->right;
        catena_status_t status = ctn_address_exists(next)
                                     ? introduce(op, next, !side, self)
                                     : report(op, radix, side, self);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    op->exec->tally.rounds += radix->size > 1 ? 2 : 0;
    return CTN_STEP_NEXT;
}

/** Introduce the members on both sides of a limit to each other, if both have
 * reported. */
static catena_status_t join(ctn_op_t *op, radix_t *radix, unsigned level,
                            unsigned index)
{
    const split_box_t *box = mailbox_of(radix)->report[level][index];
    uint64_t word[2];
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        word[side] = ctn_word_load(&box[side].word);
        if (word[side] == 0) {
            return CATENA_OK;
        }
    }
    radix->awaits[level] &= (uint8_t) ~(1u << index);
    catena_status_t status = CATENA_OK;
    for (unsigned side = CTN_LEFT; status == CATENA_OK && side <= CTN_RIGHT;
         side++) {
        status = introduce(op, ctn_address_unpack(box[side].reporter), !side,
                           word[!side]);
    }
    return status;
}

/** As agent, join the parts at the limits of all levels. */
static ctn_step_t join_parts(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    bool waits = false;
    for (unsigned i = 0; i < radix->level * LIMITS; i++) {
        unsigned level = i / LIMITS;
        unsigned bit = 1u << i % LIMITS;
        if ((radix->awaits[level] & bit) != 0) {
            catena_status_t status = join(op, radix, level, i % LIMITS);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
            waits |= (radix->awaits[level] & bit) != 0;
        }
    }
    return waits ? CTN_STEP_WAIT : CTN_STEP_NEXT;
}

/** Wait for the addresses of both neighbors; set the place in the new chain. */
static ctn_step_t take_place(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    ctn_chain_t *chain = radix->args.chain;
    ctn_chain_place_t place = {
        .size = radix->size,
        .rank = radix->base + radix->work.chain.place.rank,
        .self = chain->place.self,
        .left = CTN_NO_ADDRESS,
        .right = CTN_NO_ADDRESS,
    };
    const uint64_t *neighbor = mailbox_of(radix)->neighbor;
    uint64_t left = ctn_word_load(&neighbor[CTN_LEFT]);
    uint64_t right = ctn_word_load(&neighbor[CTN_RIGHT]);
    if ((place.rank > 0 && left == 0) ||
        (place.rank + 1 < place.size && right == 0)) {
        return CTN_STEP_WAIT;
    }
    if (place.rank > 0) {
        place.left = ctn_address_unpack(left - 1);
    }
    if (place.rank + 1 < place.size) {
        place.right = ctn_address_unpack(right - 1);
    }
    ctn_log_chain_drop(chain); /* it belongs to the previous chain */
    chain->place = place;
    return CTN_STEP_NEXT;
}

/** On success, and on an argument error in the first pass, no put to the
 * mailbox is pending; otherwise it is kept until the heap is destroyed. */
static void finish(ctn_op_t *op)
{
    radix_t *radix = ctn_op_state(op);
    if (op->status == CATENA_OK || op->status == CATENA_ERR_ARG) {
        ctn_own_chain_close(op->exec, &radix->work);
    }
}

static const ctn_phase_t phases[] = {
    {"begin", begin},
    {"bins", pass},
    {"link", link_bin},
    {"introduce neighbors", introduce_neighbors},
    {"join parts", join_parts},
    {"take place", take_place},
    {NULL, NULL}};

static const ctn_algorithm_t radix_algorithm = {
    .name = "split/radix",
    .state_bytes = sizeof(radix_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_split_radix(const ctn_split_args_t *args)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &radix_algorithm, NULL);
    if (op != NULL) {
        ((radix_t *)ctn_op_state(op))->args = *args;
    }
    return op;
}
