#ifndef CTN_EXEC_GENERATIONS_H
#define CTN_EXEC_GENERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/address.h"
#include "core/tiny.h"

/** How many numbers operations have in sequence flags: 2^32 - 16. Divisible by
 * every number of generations, so operations of one number use the same
 * generation. */
#define CTN_NUMBERS CTN_PICK(UINT32_MAX - 15u, 240u)
/** Operations of an epoch; its last three are the epoch barriers. */
#define CTN_EPOCH CTN_PICK(UINT64_C(1) << 30, UINT64_C(64))

/* Slots, their generations, and sequence flags. The members of a sequence put
 * only into its slots and into buffers that were published for an operation.
 *
 * - A sequence has R generations; operation `seq` uses generation seq % R.
 * - A generation has a fixed number of slots. Each slot has one writer at a
 *   time.
 * - A sequence flag (below: flag) is the value that a word of a slot holds: the
 *   number of an operation, and a count within the operation.
 *
 * Why a sender may write into generation seq % R without asking. Let F be the
 * number of operations that a rank runs at once in a sequence. A rank starts
 * operation n only when its own operation n - F is complete. An operation is
 * synchronizing if no rank completes it before all ranks have started it. So a
 * rank that has completed the synchronizing operation s knows that all ranks
 * have started s, and hence have completed s - F and everything before. The
 * rank may start operation n when n - R <= s - F. With R = 2F this always holds
 * if all operations are synchronizing, so starting costs no message. With R = 4
 * and F = 2 it also holds when at least one of any two consecutive operations
 * is synchronizing: exec inserts a generation barrier between two that are not.
 * (With R = 4 and F = 1 a generation barrier precedes the third such operation
 * in a row.)
 *
 * Why a flag of an old operation is never taken for one of a new operation with
 * the same number. Numbers recur after CTN_NUMBERS operations, and a flag stays
 * until its word is overwritten. So the last three of every CTN_EPOCH
 * operations of a sequence are barriers A, B and C that exec inserts (the epoch
 * barriers). Each of them, and the operation after them, begins on a rank when
 * all operations before it are complete there.
 *
 * - Before B a rank zeroes the words of its slots, except those of B's
 *   generation. A is complete here, so all ranks have begun A, so everything
 *   before A is complete on all ranks: no rank reads these words any more. All
 *   flags of A aimed at this rank have arrived. Other ranks may have begun B,
 *   which writes only to its own generation. C begins on no rank before B is
 *   complete there, and for that this rank must have begun B. So no flag that
 *   is still needed is lost.
 * - Before C it zeroes the words of B's generation. B is complete here, so no
 *   flag of B is missing. Other ranks may have begun C only, which uses another
 *   generation.
 * - C's flags stay until the next epoch, since its generation is not B's.
 *
 * A flag that no rank waits for may arrive after its word was zeroed. It is
 * then at most an epoch old, and the barriers of the next epoch zero it. So
 * every flag is younger than 2 CTN_EPOCH + R operations, which is less than
 * CTN_NUMBERS. Words that hold ctn_flag64 are compared in 64 bits and need none
 * of this. */

/** R of a group's sequences, except that of its teardown; and F of the sequence
 * that applications use. See group/control_block.h. */
#define CTN_GENERATIONS 4u
#define CTN_FLIGHT (CTN_GENERATIONS / 2)

#define CTN_INLINE_BYTES 112u  /* data in a slot */
#define CTN_EAGER_FRAGMENTS 2u /* of an eager buffer, for pipelining */

/** A message slot. A word holds a sequence flag (ctn_flag): word[0] that of the
 * data in the slot, word[1] that of an acknowledgement, and word[f % 2] that of
 * fragment f in the eager buffer. */
typedef struct ctn_slot {
    uint64_t word[CTN_EAGER_FRAGMENTS];
    unsigned char data[CTN_INLINE_BYTES];
} ctn_slot_t;

/** A slot in all of its generations, which are adjacent. Most operations have
 * few rounds, hence use few slots and touch few pages. */
typedef struct ctn_slots {
    ctn_slot_t generation[CTN_GENERATIONS];
} ctn_slots_t;

_Static_assert(sizeof(ctn_slot_t) == 128, "a slot is two cache lines");

#define CTN_EPOCH_BARRIERS 3u /* A, B and C */

/** Which epoch barrier operation `seq` is: 0, 1, 2 for A, B, C. 3: the first
 * operation after them; more: another operation. The first 4 operations of a
 * sequence are no epoch barriers, since they may run before there is a chain.
 */
static inline uint64_t ctn_epoch_place(uint64_t seq)
{
    uint64_t place = (seq + CTN_EPOCH_BARRIERS) % CTN_EPOCH;
    if (place > CTN_EPOCH_BARRIERS) {
        return place;
    }
    uint64_t barrier_a = seq - place;
    bool too_early = (int64_t)(barrier_a - CTN_FIRST_SEQUENCE) < 4;
    return too_early ? CTN_EPOCH : place;
}

_Static_assert((CTN_EPOCH & (CTN_EPOCH - 1)) == 0 &&
                   2 * CTN_EPOCH + 16 < CTN_NUMBERS,
               "old words are gone before their numbers come again");
_Static_assert(CTN_NUMBERS % 16 == 0 && CTN_NUMBERS % CTN_GENERATIONS == 0,
               "operations of one number use the same generation");

/** The number of an operation in a flag. Never 0, which is what fresh memory
 * holds. */
static inline uint32_t ctn_number(uint64_t seq)
{
    return 1 + (uint32_t)(seq % CTN_NUMBERS);
}

/** A sequence flag: the number of an operation and a count within it. */
static inline uint64_t ctn_flag(uint64_t seq, uint64_t count)
{
    return (uint64_t)ctn_number(seq) << 32 | (count & UINT32_MAX);
}

/** The value of a word that needs no count: the operation in all 64 bits, so
 * the value never recurs. Never 0. */
static inline uint64_t ctn_flag64(uint64_t seq)
{
    return seq + 1;
}

/** Whether `word` holds a flag of operation `seq`, with any count. */
static inline int ctn_flag_matches(uint64_t word, uint64_t seq)
{
    return word >> 32 == ctn_number(seq);
}

static inline uint32_t ctn_flag_count(uint64_t word)
{
    return (uint32_t)word;
}

#endif
