#ifndef CTN_EXEC_SEQUENCE_H
#define CTN_EXEC_SEQUENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/address.h"
#include "core/tiny.h"
#include "exec/generations.h"

/** The longest eager buffer of a sequence: of p2p or ucx. */
#define CTN_EAGER_BYTES CTN_PICK(32768u, 4096u)
/** The length of eager buffers is a multiple of this. */
#define CTN_EAGER_UNIT CTN_PICK(512u, 256u)

/* See exec/exec.h. */
typedef struct ctn_exec ctn_exec_t;
typedef struct catena_request ctn_op_t; /* the internal name of a request */
typedef struct ctn_sequence ctn_sequence_t;
typedef struct ctn_failure ctn_failure_t; /* exec/deaths.h */

/** What the owner of a sequence provides for the barriers that exec inserts
 * into it. */
typedef struct ctn_sequence_hooks {
    /** Make a generation barrier or an epoch barrier (exec/generations.h): a
     * synchronizing operation. NULL: no memory. */
    ctn_op_t *(*make_barrier)(ctn_exec_t *exec, ctn_sequence_t *sequence);
    /** At epoch barrier B: zero the sequence flags that lie outside the slots;
     * NULL: there are none. */
    void (*clear)(ctn_exec_t *exec, ctn_sequence_t *sequence);
} ctn_sequence_hooks_t;

/** A numbered sequence of operations of a group or module. All ranks start the
 * same operations in the same order. See exec/generations.h for generations;
 * each sequence sets their number. */
struct ctn_sequence {
    ctn_slot_t *slots; /* in this rank's memory: [slot][generation]; NULL: the
                          words of its operations are elsewhere */
    uint64_t started;  /* number of the next operation */
    uint64_t complete; /* all operations below are complete here */
    uint64_t synchronized; /* all ranks have completed all operations below
                              synchronized - flight; 1 + the last synchronizing
                              operation completed here, if there was one */
    ctn_op_t *queue;       /* started, not active */
    ctn_op_t **queue_end;  /* the NULL link of its last operation */
    const ctn_sequence_hooks_t *hooks; /* NULL: exec inserts no barriers */
    uint32_t base;          /* offset of the slots in a member's memory */
    uint16_t detached;      /* operations under way that no caller waits for */
    uint8_t used_slots;     /* 1 + the last slot used */
    uint8_t done_mask;      /* bit i: operation complete + i is complete */
    uint8_t flight;         /* operations at once; at most generations / 2 */
    uint8_t generations;    /* a power of two */
    uint8_t unsynchronized; /* the number of operations started since the last
                               synchronizing one was */
    uint8_t eager_page;     /* offset of the eager buffers from the slots, in
                               pages of 4 KiB */
    uint8_t eager_slots;    /* number of first slots with an eager buffer */
    uint8_t eager_units;    /* length of these, in CTN_EAGER_UNIT */
    uint8_t sparse_pages;   /* of the slots, in a sparse block of the heap; its
                               first operation takes them. 0: they are taken */
    bool network_only : 1;  /* use the network also between members of a node */
    /* The algorithms control the reuse of their slots; the sequence only
     * numbers operations and limits how many run at once. */
    bool without_generations : 1;
    bool brittle : 1; /* where an operation runs out of memory, ctn_op_give_up,
                         unless it has done all that other ranks wait for
                         (op->clean) */
    bool ahead : 1;   /* generation barriers are twice as frequent, so that
                         blocking calls do not wait for the last one */
    ctn_failure_t *failure; /* that its operations share; NULL: none */
};

/** Take the pages of the slots (ctn_heap_take). @return false: no memory */
bool ctn_sequence_take_pages(ctn_exec_t *exec, ctn_sequence_t *sequence);
static inline bool ctn_sequence_take(ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    return sequence->sparse_pages == 0 ||
           ctn_sequence_take_pages(exec, sequence);
}

/** Zero the slots that were used. No effect after an abort: see ctn_exec_free.
 */
void ctn_sequence_clear(const ctn_exec_t *exec, ctn_sequence_t *sequence);

/** Initialize a sequence. The build sets its first number (first_sequence).
 * @param slots zeroed, [slot][generation]; NULL: the words of its operations
 *              are elsewhere
 * @param generations a power of two, at most 16
 * @param flight at most generations / 2 */
void ctn_sequence_set(ctn_sequence_t *sequence, ctn_slot_t *slots,
                      unsigned generations, unsigned flight);
/** Initialize a sequence of CTN_GENERATIONS generations in a control block.
 * @param base offset of its zeroed slots in the block */
void ctn_sequence_init(ctn_sequence_t *sequence, void *block, uint32_t base,
                       unsigned flight);

/** Byte offset of slot `slot` of operation `seq` from the first slot. */
static inline uint64_t ctn_slot_at(const ctn_sequence_t *sequence, uint64_t seq,
                                   unsigned slot)
{
    return (slot * (uint64_t)sequence->generations +
            (seq & (sequence->generations - 1u))) *
           sizeof(ctn_slot_t);
}

/** Offset of a slot's word in a member's arena.
 * @param fragment index of the word */
static inline uint64_t ctn_slot_word_offset(const ctn_sequence_t *sequence,
                                            ctn_address_t member, uint64_t seq,
                                            unsigned slot, unsigned fragment)
{
    return member.offset + sequence->base + ctn_slot_at(sequence, seq, slot) +
           fragment * sizeof(uint64_t);
}

/** Offset of a slot's data in a member's arena. */
static inline uint64_t ctn_slot_data_offset(const ctn_sequence_t *sequence,
                                            ctn_address_t member, uint64_t seq,
                                            unsigned slot)
{
    return ctn_slot_word_offset(sequence, member, seq, slot, 0) +
           offsetof(ctn_slot_t, data);
}

/** Return the length of an eager buffer. */
static inline size_t ctn_sequence_eager_bytes(const ctn_sequence_t *sequence)
{
    return sequence->eager_units * (size_t)CTN_EAGER_UNIT;
}

/** Byte offset of a slot's eager buffer from the first slot. */
static inline uint64_t ctn_slot_eager_at(const ctn_sequence_t *sequence,
                                         uint64_t seq, unsigned slot)
{
    uint64_t generation = seq & (sequence->generations - 1u);
    return sequence->eager_page * UINT64_C(4096) +
           (generation * sequence->eager_slots + slot) *
               ctn_sequence_eager_bytes(sequence);
}

/** The offset where a message of `bytes` goes: in the slot, or in its eager
 * buffer. */
static inline uint64_t ctn_slot_room_offset(const ctn_sequence_t *sequence,
                                            ctn_address_t member, uint64_t seq,
                                            unsigned slot, size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? ctn_slot_data_offset(sequence, member, seq, slot)
               : member.offset + sequence->base +
                     ctn_slot_eager_at(sequence, seq, slot);
}

/** The longest message that a slot takes, with its eager buffer if it has one.
 */
static inline size_t ctn_slot_capacity(const ctn_sequence_t *sequence,
                                       unsigned slot)
{
    return slot < sequence->eager_slots ? ctn_sequence_eager_bytes(sequence)
                                        : CTN_INLINE_BYTES;
}

/** Operations that are started and not complete, including inserted barriers.
 */
static inline uint64_t ctn_sequence_under_way(const ctn_sequence_t *sequence)
{
    return sequence->started - sequence->complete -
           (unsigned)__builtin_popcount(sequence->done_mask);
}

/** Whether a sequence has epoch barriers. A sequence without slots needs none:
 * its words in shared memory hold 64-bit numbers, which never recur, and links
 * zero their own words. Into a sequence without hooks exec inserts no barriers
 * at all. */
static inline bool ctn_sequence_has_epochs(const ctn_sequence_t *sequence)
{
    return sequence->slots != NULL && sequence->hooks != NULL;
}

/** Whether the generation of operation `seq` is free on all ranks
 * (exec/generations.h). */
static inline bool ctn_sequence_is_free(const ctn_sequence_t *sequence,
                                        uint64_t seq)
{
    bool is_free =
        sequence->without_generations ||
        seq + sequence->flight < sequence->synchronized + sequence->generations;
    assert(is_free || sequence->hooks != NULL);
    return is_free;
}

/** Whether operation `seq` may run: fewer than `flight` operations are under
 * way, it does not belong to the epoch barriers or all operations before it are
 * complete, and its generation is free. */
static inline bool ctn_sequence_may_run(const ctn_sequence_t *sequence,
                                        uint64_t seq)
{
    return seq < sequence->complete + sequence->flight &&
           (seq == sequence->complete || !ctn_sequence_has_epochs(sequence) ||
            ctn_epoch_place(seq) > CTN_EPOCH_BARRIERS) &&
           ctn_sequence_is_free(sequence, seq);
}

/** Whether the next operation is an epoch barrier. */
static inline bool ctn_sequence_epoch_due(const ctn_sequence_t *sequence)
{
    return ctn_sequence_has_epochs(sequence) &&
           ctn_epoch_place(sequence->started) < CTN_EPOCH_BARRIERS;
}

/** Called when operation `seq` begins: if it is epoch barrier B or C, zero old
 * words of the slots. */
void ctn_sequence_zero_old(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           uint64_t seq);

/** Whether exec inserts a generation barrier before the next operation if that
 * does not synchronize. Of generations - flight consecutive operations one has
 * to synchronize (exec/generations.h), or with `ahead` of half as many. */
static inline bool ctn_sequence_barrier_due(const ctn_sequence_t *sequence)
{
    unsigned most = (unsigned)(sequence->generations - sequence->flight);
    return sequence->unsynchronized + 1u >= (sequence->ahead ? most / 2 : most);
}

#endif
