#ifndef CTN_EXEC_CONTROL_BLOCK_H
#define CTN_EXEC_CONTROL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/address.h"
#include "core/constants.h"

/* The control block of a member of a group: the one place, besides buffers
 * that were announced for an operation, where other members may put. Its size
 * does not depend on the group.
 *
 * - A block holds three service channels (of the group's chain, of the chain of
 *   its members on one node, of the chain of the nodes' first members), the
 *   user channel, one for parting, the node's board, and the user channel's
 *   wide slots. A member is known by its block's address on all of them.
 * - A channel has CTN_GENERATIONS rings; operation `seq` uses ring seq %
 * CTN_GENERATIONS.
 * - A ring has CTN_SLOTS slots, of a service channel CTN_CHAIN_SLOTS, each
 *   written by one sender at a time.
 *
 * Why a sender may write into ring seq % CTN_GENERATIONS without asking. Let F
 * be the operations that one rank lets run at once on a channel, and R the
 * rings. A rank starts operation n only when its own n - F is complete. An
 * operation is synchronizing when nobody completes it before all have started
 * it. So a rank that has completed the synchronizing operation s knows: all
 * have started s, hence all have completed s - F and everything before. It
 * may start n when n - R <= s - F. With R = 2F and synchronizing operations
 * only, that is always so: start costs no message. It is also so when of two
 * operations in a row at least one is synchronizing: exec puts a fence between
 * two that are not. (The service channels have F = 1: a fence precedes the
 * third such in a row.)
 *
 * Why no word of an old operation is taken for one of a new operation with the
 * same number. Numbers come again after CTN_NUMBERS operations, and a word
 * stays until something else is written there. So the last three operations of
 * every CTN_EPOCH of a sequence are barriers A, B and C that exec inserts (the
 * epoch barriers), each of which, and the operation after them, begins on a
 * rank when all before it are complete there.
 *
 * - Before B a rank zeroes its words, but for those of B's ring. A is complete
 *   here, so all ranks have begun A, so everything before is complete on all:
 *   nobody reads these words any more, also not those that a node shares. Of A
 *   everything has come that was aimed at this rank. B may have begun on
 * others, and writes to its own ring only. C begins nowhere before B is
 * complete, for which this rank must have begun B. So nothing that is still
 * needed is lost.
 * - Before C it zeroes those of B's ring: B is complete here, so nothing of B
 * is missing, and C, which has another ring, is all that others may have begun.
 * - C's words stay until the next epoch: its ring is not B's.
 *
 * A word for which nobody waits may be late and come after it was zeroed. It is
 * no older than an epoch then, and zeroed by the next. So every word is younger
 * than 2 CTN_EPOCH + CTN_GENERATIONS operations, which are fewer than
 * CTN_NUMBERS. Words that hold ctn_flag64 are compared in 64 bits and need none
 * of this. */

#define CTN_GENERATIONS 4u
#define CTN_FLIGHT (CTN_GENERATIONS / 2)

#define CTN_SLOTS 64u /* of the user channel */
#define CTN_CHAIN_SLOTS                                                        \
    128u                       /* 4 per round of a chain operation: 2^32 ranks \
                                */
#define CTN_TEARDOWN_SLOTS 64u /* 2 per round of a scan */
#define CTN_TEARDOWN_GENERATIONS 2u
#define CTN_INLINE_BYTES 112u  /* payload within a slot */
#define CTN_EAGER_SLOTS 32u    /* slots that have a wide payload as well */
#define CTN_EAGER_FRAGMENTS 2u /* parts of a wide payload, for pipelining */

#define CTN_NODE_AREA_BYTES (96u * 1024 - 64)

/** A message: what arrived is told by the word, see ctn_flag. */
typedef struct ctn_slot {
    uint64_t word[CTN_EAGER_FRAGMENTS]; /* word[0] also announces inline data */
    unsigned char data[CTN_INLINE_BYTES];
} ctn_slot_t;

/** A channel's slots. The rings lie side by side: operations of few rounds,
 * which are most, touch few pages. */
typedef struct ctn_slots {
    ctn_slot_t generation[CTN_GENERATIONS];
} ctn_slots_t;

typedef struct ctn_control_block {
    ctn_slots_t service[CTN_CHAIN_SLOTS];
    ctn_slots_t node[CTN_CHAIN_SLOTS];
    ctn_slots_t leaders[CTN_CHAIN_SLOTS];
    ctn_slots_t user[CTN_SLOTS];
    /* Members part here, whatever the other channels have under way. */
    ctn_slot_t teardown[CTN_TEARDOWN_SLOTS][CTN_TEARDOWN_GENERATIONS];
    /* What members on a node share, in the block of the first of them; its
     * layout is the topology's. Zero in a new group. */
    unsigned char node_area[CTN_NODE_AREA_BYTES];
    /* Of the world's alone, in which all blocks lie at the same offset; see
     * ctn_exec_abort. */
    uint64_t abort_flag;
    unsigned char unused[64 - sizeof(uint64_t)];
    /* What follows need not be zero. */
    unsigned char eager[CTN_GENERATIONS][CTN_EAGER_SLOTS][CTN_EAGER_FRAGMENTS]
                       [CTN_EAGER_FRAGMENT_BYTES];
} ctn_control_block_t;

/** A block of up to CTN_SMALL_MEMBERS members that holds operations of one
 * kind, one after the other: the same parts with fewer slots, a board as long
 * as the members need, and maybe shorter wide payloads. */
#define CTN_SMALL_MEMBERS 64u

typedef struct ctn_small_control_block {
    ctn_slots_t service[CTN_CHAIN_SLOTS / 2];
    ctn_slots_t node[CTN_CHAIN_SLOTS / 4];
    ctn_slots_t leaders[CTN_CHAIN_SLOTS / 4];
    ctn_slots_t user[CTN_SLOTS];
    ctn_slot_t teardown[CTN_TEARDOWN_SLOTS][CTN_TEARDOWN_GENERATIONS];
    unsigned char node_area[];
} ctn_small_control_block_t;

/** Where the parts of a block are. */
typedef struct ctn_control_block_layout {
    uint32_t service, node, leaders, user, teardown, node_area;
} ctn_control_block_layout_t;

#define CTN_CONTROL_BLOCK_LAYOUT(type)                                         \
    {                                                                          \
        offsetof(type, service), offsetof(type, node),                         \
            offsetof(type, leaders), offsetof(type, user),                     \
            offsetof(type, teardown), offsetof(type, node_area)                \
    }

_Static_assert(sizeof(ctn_slot_t) == 128, "a slot is two cache lines");
_Static_assert(offsetof(ctn_control_block_t, eager) % 4096 == 0,
               "wide slots start on a page");

static inline uint64_t ctn_eager_offset(ctn_address_t member, uint64_t seq,
                                        unsigned slot, unsigned fragment)
{
    return member.offset + offsetof(ctn_control_block_t, eager) +
           (((seq % CTN_GENERATIONS) * CTN_EAGER_SLOTS + slot) *
                CTN_EAGER_FRAGMENTS +
            fragment) *
               CTN_EAGER_FRAGMENT_BYTES;
}

#define CTN_EPOCH_BARRIERS 3u

/** Which of the epoch barriers operation `seq` is, 0 to 2; 3: it is the first
 * after them; more: neither. There are none where a sequence begins, with
 * operations that may be before there is a chain. */
static inline uint64_t ctn_epoch_place(uint64_t seq)
{
    uint64_t place = (seq + CTN_EPOCH_BARRIERS) % CTN_EPOCH;
    bool begins = (int64_t)(seq - place - CTN_FIRST_SEQUENCE) < 4;
    return place <= CTN_EPOCH_BARRIERS && begins ? CTN_EPOCH : place;
}

_Static_assert((CTN_EPOCH & (CTN_EPOCH - 1)) == 0 &&
                   2 * CTN_EPOCH + 16 < CTN_NUMBERS,
               "old words are gone before their numbers come again");
_Static_assert(CTN_NUMBERS % 16 == 0 && CTN_NUMBERS % CTN_GENERATIONS == 0,
               "numbers and rings stay aligned");

/** The number of an operation in a word. Never 0, which fresh memory holds. */
static inline uint32_t ctn_number(uint64_t seq)
{
    return 1 + (uint32_t)(seq % CTN_NUMBERS);
}

/** What a word holds that counts: the number of an operation, and a count
 * within it. */
static inline uint64_t ctn_flag(uint64_t seq, uint64_t count)
{
    return (uint64_t)ctn_number(seq) << 32 | (count & UINT32_MAX);
}

/** What a word holds that does not count: the operation in all 64 bits, so it
 * is never drawn twice. Never 0, either. */
static inline uint64_t ctn_flag64(uint64_t seq)
{
    return seq + 1;
}

/** Whether `word` is of operation `seq`; its count then. */
static inline int ctn_flag_matches(uint64_t word, uint64_t seq)
{
    return word >> 32 == ctn_number(seq);
}

static inline uint32_t ctn_flag_count(uint64_t word)
{
    return (uint32_t)word;
}

#endif
