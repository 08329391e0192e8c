#ifndef CTN_EXEC_SEQUENCE_H
#define CTN_EXEC_SEQUENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/address.h"
#include "exec/control_block.h"

/* See exec/exec.h. */
typedef struct ctn_exec ctn_exec_t;
typedef struct catena_request ctn_op_t; /* what a request is, inside */
typedef struct ctn_sequence ctn_sequence_t;

/** What exec inserts into a channel. */
typedef struct ctn_sequence_hooks {
    /** Operations in a row that do not synchronize leave nothing to tell when
     * rings are free again: before they are too many, exec puts a fence, a
     * synchronizing operation made here. Epoch barriers (exec/control_block.h)
     * are made here, too. NULL: no memory. */
    ctn_op_t *(*make)(ctn_exec_t *exec, ctn_sequence_t *sequence);
    /** At an epoch barrier: zero what holds numbers beside the slots; NULL:
     * nothing does. */
    void (*clear)(ctn_exec_t *exec, ctn_sequence_t *sequence);
} ctn_sequence_hooks_t;

/** One numbered sequence of operations of a group: all its ranks start the
 * same operations in the same order. See exec/control_block.h for the rings;
 * how many there are is the channel's. */
struct ctn_sequence {
    ctn_slot_t *slots;     /* in this rank's memory: [slot][ring]; NULL: what
                              has rings are words elsewhere */
    uint64_t started;      /* sequence number of the next operation */
    uint64_t complete;     /* all below are complete here */
    uint64_t synchronized; /* 1 + last synchronizing one completed here, or what
                              follows as much: all ranks are known to have
                              completed all below synchronized - flight */
    ctn_op_t *queue;       /* started, not yet active */
    ctn_op_t **queue_end;
    const ctn_sequence_hooks_t *hooks; /* NULL: it needs none */
    uint32_t base;                     /* of the slots in the block */
    uint16_t detached;                 /* under way, that nobody waits for */
    uint8_t used_slots;                /* 1 + the last slot looked at */
    uint8_t done_mask;                 /* completed ones from `complete` on */
    uint8_t flight;         /* operations at once; at most half the rings */
    uint8_t generations;    /* a power of two */
    uint8_t unsynchronized; /* the last ones started that do not synchronize */
    uint8_t eager_page;     /* where wide payloads begin, from the slots on */
    uint8_t eager_slots;    /* those that have one, from the first on */
    bool network_only;      /* also between members on one node */
    /* Algorithms see by themselves to where their messages go and when that is
     * free; the channel only numbers them and says how many run at once. */
    bool without_generations;
    bool brittle : 1; /* others wait for one that fails and is not clean */
    bool ahead : 1;   /* blocking calls do not wait for the last fence */
};

/** A control block whose slots are zero, from those given back or from the
 * heap; NULL: no memory. */
ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec);
/** Give it back. Nobody may put into it any more, and its channels' slots are
 * zero again (ctn_sequence_clear). */
void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block);
/** Zero the slots that were used. Not when all has failed: see ctn_exec_free.
 */
void ctn_sequence_clear(const ctn_exec_t *exec, ctn_sequence_t *sequence);

/** A channel over zeroed slots, [slot][rings]; NULL: its words are elsewhere.
 * Its first operation is the one that the build says (first_sequence).
 * @param rings a power of two, at most 16
 * @param flight at most half of them */
void ctn_sequence_set(ctn_sequence_t *sequence, ctn_slot_t *slots,
                      unsigned generations, unsigned flight);
/** A channel of CTN_GENERATIONS rings, over the zeroed slots of a block. */
void ctn_sequence_init(ctn_sequence_t *sequence, ctn_control_block_t *block,
                       uint32_t base, unsigned flight);

/** Where a slot is among the slots of a channel, in bytes. */
static inline uint64_t ctn_slot_at(const ctn_sequence_t *sequence, uint64_t seq,
                                   unsigned slot)
{
    return (slot * (uint64_t)sequence->generations +
            (seq & (sequence->generations - 1u))) *
           sizeof(ctn_slot_t);
}

/** Offsets of a word and of a payload in a member's arena. */
static inline uint64_t ctn_slot_word_offset(const ctn_sequence_t *sequence,
                                            ctn_address_t member, uint64_t seq,
                                            unsigned slot, unsigned fragment)
{
    return member.offset + sequence->base + ctn_slot_at(sequence, seq, slot) +
           fragment * sizeof(uint64_t);
}

static inline uint64_t ctn_slot_data_offset(const ctn_sequence_t *sequence,
                                            ctn_address_t member, uint64_t seq,
                                            unsigned slot)
{
    return ctn_slot_word_offset(sequence, member, seq, slot, 0) +
           offsetof(ctn_slot_t, data);
}

/** Where a wide payload is, from the slots of a channel on. */
static inline uint64_t ctn_slot_eager_at(const ctn_sequence_t *sequence,
                                         uint64_t seq, unsigned slot)
{
    uint64_t generation = seq & (sequence->generations - 1u);
    return sequence->eager_page * UINT64_C(4096) +
           (generation * sequence->eager_slots + slot) * CTN_EAGER_BYTES;
}

/** The longest message that a slot takes, with its wide payload if it has
 * one. */
static inline size_t ctn_slot_capacity(const ctn_sequence_t *sequence,
                                       unsigned slot)
{
    return slot < sequence->eager_slots ? CTN_EAGER_BYTES : CTN_INLINE_BYTES;
}

/** Operations that have been started and are not complete, fences included. */
static inline uint64_t ctn_sequence_under_way(const ctn_sequence_t *sequence)
{
    return sequence->started - sequence->complete -
           (unsigned)__builtin_popcount(sequence->done_mask);
}

/** Whether it has epoch barriers. Those of shared memory alone (no slots) hold
 * no numbers; links see to theirs by themselves. */
static inline bool ctn_sequence_has_epochs(const ctn_sequence_t *sequence)
{
    return sequence->slots != NULL && sequence->hooks != NULL;
}

/** See exec/control_block.h: op `seq` may run when the ring it uses is free at
 * all ranks, which follows from what completed here: everybody has started
 * operation synchronized - 1, so everybody has completed all below
 * synchronized - flight. */
static inline bool ctn_sequence_may_run(const ctn_sequence_t *sequence,
                                        uint64_t seq)
{
    if (seq >= sequence->complete + sequence->flight ||
        (ctn_epoch_place(seq) <= CTN_EPOCH_BARRIERS &&
         seq != sequence->complete && ctn_sequence_has_epochs(sequence))) {
        return false;
    }
    bool is_free =
        sequence->without_generations ||
        seq + sequence->flight < sequence->synchronized + sequence->generations;
    assert(is_free || sequence->hooks != NULL);
    return is_free;
}

/** Whether the next operation is an epoch barrier. */
static inline bool ctn_sequence_epoch_due(const ctn_sequence_t *sequence)
{
    return ctn_epoch_place(sequence->started) < CTN_EPOCH_BARRIERS &&
           ctn_sequence_has_epochs(sequence);
}

/** An operation of a channel is about to begin: if it is an epoch barrier, zero
 * what it has to. */
void ctn_sequence_zero_old(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           uint64_t seq);

/** Whether the next operation, if it does not synchronize, follows a fence:
 * whatever is started may use its ring only when of the rings - flight
 * operations before it one synchronizes (exec/control_block.h). Where the last
 * fence is not waited for that must be the one before it. */
static inline bool ctn_sequence_barrier_due(const ctn_sequence_t *sequence)
{
    unsigned most = (unsigned)(sequence->generations - sequence->flight);
    return sequence->unsynchronized + 1u >= (sequence->ahead ? most / 2 : most);
}

#endif
