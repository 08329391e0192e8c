#ifndef CTN_EXEC_SEQUENCE_H
#define CTN_EXEC_SEQUENCE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/address.h"
#include "exec/generations.h"

/* See exec/exec.h. */
typedef struct ctn_exec ctn_exec_t;
typedef struct catena_request ctn_op_t; /* the internal name of a request */
typedef struct ctn_sequence ctn_sequence_t;

/** Operations and actions that exec inserts into a sequence. */
typedef struct ctn_sequence_hooks {
    /** Make a generation barrier: a synchronizing operation that exec inserts
     * before too many operations in a row do not synchronize, since those give
     * no information on which generations are free. Also makes epoch barriers
     * (exec/generations.h). NULL: no memory. */
    ctn_op_t *(*make_barrier)(ctn_exec_t *exec, ctn_sequence_t *sequence);
    /** At an epoch barrier: zero the flags outside the slots; NULL: there are
     * none. */
    void (*clear)(ctn_exec_t *exec, ctn_sequence_t *sequence);
} ctn_sequence_hooks_t;

/** A numbered sequence of operations of a group. All ranks start the same
 * operations in the same order. See exec/generations.h for generations; each
 * sequence sets their number. */
struct ctn_sequence {
    ctn_slot_t *slots; /* in this rank's memory: [slot][generation]; NULL: its
                          flags are elsewhere */
    uint64_t started;  /* number of the next operation */
    uint64_t complete; /* all operations below are complete here */
    uint64_t synchronized; /* 1 + the last synchronizing operation completed
                              here, or an equivalent: all ranks are known to
                              have completed all below synchronized - flight */
    ctn_op_t *queue;       /* started, not active */
    ctn_op_t **queue_end;
    const ctn_sequence_hooks_t *hooks; /* NULL: it needs none */
    uint32_t base;                     /* offset of the slots in the block */
    uint16_t detached;   /* under way, without a caller that waits */
    uint8_t used_slots;  /* 1 + the last slot used */
    uint8_t done_mask;   /* completed operations from `complete` on */
    uint8_t flight;      /* operations at once; at most half of generations */
    uint8_t generations; /* a power of two */
    uint8_t unsynchronized; /* last ones started that do not synchronize */
    uint8_t eager_page;     /* offset of the eager buffers from the slots */
    uint8_t eager_slots;    /* the first slots, which have an eager buffer */
    bool network_only;      /* also between members on a node */
    /* The algorithms control the reuse of their slots; the sequence only
     * numbers operations and limits how many run at once. */
    bool without_generations;
    bool brittle : 1; /* an unclean failure blocks the other ranks */
    bool ahead : 1;   /* blocking calls do not wait for the last barrier */
};

/** Zero the used slots. No effect after an abort: see ctn_exec_free. */
void ctn_sequence_clear(const ctn_exec_t *exec, ctn_sequence_t *sequence);

/** Initialize a sequence over zeroed slots, [slot][generations]; NULL: its
 * flags are elsewhere. The build sets its first number (first_sequence).
 * @param generations a power of two, at most 16
 * @param flight at most half of them */
void ctn_sequence_set(ctn_sequence_t *sequence, ctn_slot_t *slots,
                      unsigned generations, unsigned flight);
/** Initialize a sequence of CTN_GENERATIONS generations over the zeroed slots
 * of a block. */
void ctn_sequence_init(ctn_sequence_t *sequence, void *block, uint32_t base,
                       unsigned flight);

/** Offset of a slot in the slots of a sequence, in bytes. */
static inline uint64_t ctn_slot_at(const ctn_sequence_t *sequence, uint64_t seq,
                                   unsigned slot)
{
    return (slot * (uint64_t)sequence->generations +
            (seq & (sequence->generations - 1u))) *
           sizeof(ctn_slot_t);
}

/** Offsets of a flag and of a payload in a member's arena. */
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

/** Offset of an eager buffer from the slots of a sequence. */
static inline uint64_t ctn_slot_eager_at(const ctn_sequence_t *sequence,
                                         uint64_t seq, unsigned slot)
{
    uint64_t generation = seq & (sequence->generations - 1u);
    return sequence->eager_page * UINT64_C(4096) +
           (generation * sequence->eager_slots + slot) * CTN_EAGER_BYTES;
}

/** The longest message that a slot takes, with its eager buffer if it has one.
 */
static inline size_t ctn_slot_capacity(const ctn_sequence_t *sequence,
                                       unsigned slot)
{
    return slot < sequence->eager_slots ? CTN_EAGER_BYTES : CTN_INLINE_BYTES;
}

/** Operations that are started and not complete, including inserted barriers.
 */
static inline uint64_t ctn_sequence_under_way(const ctn_sequence_t *sequence)
{
    return sequence->started - sequence->complete -
           (unsigned)__builtin_popcount(sequence->done_mask);
}

/** Whether it has epoch barriers. Sequences in shared memory only (no slots)
 * use no numbers; links handle theirs themselves. */
static inline bool ctn_sequence_has_epochs(const ctn_sequence_t *sequence)
{
    return sequence->slots != NULL && sequence->hooks != NULL;
}

/** Operation `seq` may run when its generation is free on all ranks
 * (exec/generations.h). All ranks have started operation synchronized - 1, so
 * all have completed all below synchronized - flight. */
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

/** An operation of a sequence begins: if it is an epoch barrier, zero the old
 * flags. */
void ctn_sequence_zero_old(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           uint64_t seq);

/** Whether a generation barrier precedes the next operation if that does not
 * synchronize. An operation may use its generation only when one of the
 * generations - flight operations before it synchronizes
 * (exec/generations.h). If blocking calls do not wait for the last barrier,
 * that must be the one before it. */
static inline bool ctn_sequence_barrier_due(const ctn_sequence_t *sequence)
{
    unsigned most = (unsigned)(sequence->generations - sequence->flight);
    return sequence->unsynchronized + 1u >= (sequence->ahead ? most / 2 : most);
}

#endif
