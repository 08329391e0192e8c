#ifndef CTN_EXEC_SLOT_H
#define CTN_EXEC_SLOT_H

#include "exec/exec.h"

/* Messages that fit a slot of a sequence, or its eager buffer. For messages of
 * any length see exec/message.h. */

/** Longer messages rotate through their buffer; of 512 B and less they gain
 * nothing. */
#define CTN_ROTATE_ABOVE CTN_PICK(1024u, 64u)

/** Where a message of `bytes` begins in an eager buffer that takes `room`
 * bytes: messages rotate through it. Those that use a generation one after the
 * other lie at successive places, each of at least a page (decision 0044).
 * @param generations of the buffer; operation `seq` uses one of them */
static inline size_t ctn_eager_rotate(uint64_t seq, uint32_t generations,
                                      size_t room, size_t bytes)
{
    const size_t page = CTN_PICK(4096, 64);
    if (bytes <= CTN_ROTATE_ABOVE) {
        return 0;
    }
    uint32_t lines = (uint32_t)((bytes > page ? bytes : page) + 63) / 64 | 1;
    uint32_t places = (uint32_t)room / (lines * 64);
    return places > 1 ? (uint32_t)(seq / generations) % places * (lines * 64)
                      : 0;
}

/** This rank's slot `slot` in the generation of an operation. */
static inline ctn_slot_t *ctn_op_slot(const ctn_op_t *op, unsigned slot)
{
    if (slot >= op->sequence->used_slots) {
        op->sequence->used_slots = (uint8_t)(slot + 1);
    }
    return &op->sequence->slots[slot * op->sequence->generations +
                                (op->seq & (op->sequence->generations - 1u))];
}

/** The endpoint for messages of an operation's sequence to a process: with
 * `network_only` that of the network, even to a process of the node. */
catena_status_t ctn_op_connect(const ctn_op_t *op, uint64_t process,
                               ctn_endpoint_t **endpoint);

/** Put `bytes` of data to an offset in a process's arena, then a word; without
 * data the word only. The data must not change until op->pending is 0, unless
 * they have at most CTN_INLINE_BYTES. */
catena_status_t ctn_op_put(ctn_op_t *op, uint64_t process, const void *data,
                           size_t bytes, uint64_t offset, uint64_t word_offset,
                           uint64_t value);

/** Put a message of at most ctn_slot_capacity into a slot of `member`, with
 * `count` in its sequence flag.
 * @param data beyond CTN_INLINE_BYTES they must not change until op->pending is
 *             0. NULL: user data that have a size only (exec->drop_data) */
catena_status_t ctn_op_send_count(ctn_op_t *op, ctn_address_t member,
                                  unsigned slot, uint32_t count,
                                  const void *data, size_t bytes);

/** Put a message with a count of 0. */
static inline catena_status_t ctn_op_send(ctn_op_t *op, ctn_address_t member,
                                          unsigned slot, const void *data,
                                          size_t bytes)
{
    return ctn_op_send_count(op, member, slot, 0, data, bytes);
}

/** Whether the message that ctn_op_send put into `slot` has arrived. */
static inline bool ctn_op_arrived(const ctn_op_t *op, unsigned slot)
{
    return ctn_word_load(&ctn_op_slot(op, slot)->word[0]) ==
           ctn_flag(op->seq, 0);
}

/** Flush the network: the operation does not end before its puts have reached
 * their targets. For words that perhaps no rank waits for: without the flush
 * they could arrive after the memory of the group was freed. */
catena_status_t ctn_op_flush(ctn_op_t *op);

/** The eager buffers of `slots` slots from `slot` on, which are contiguous: for
 * reading a message, or as memory for other uses while no messages arrive
 * there. NULL: they have less than `bytes`. */
static inline void *ctn_op_eager(const ctn_op_t *op, unsigned slot,
                                 unsigned slots, size_t bytes)
{
    const ctn_sequence_t *sequence = op->sequence;
    return slot + slots <= sequence->eager_slots &&
                   bytes <= slots * ctn_sequence_eager_bytes(sequence)
               ? (unsigned char *)sequence->slots +
                     ctn_slot_eager_at(sequence, op->seq, slot)
               : NULL;
}

#endif
