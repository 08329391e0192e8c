#ifndef CTN_EXEC_MESSAGE_H
#define CTN_EXEC_MESSAGE_H

#include "exec/exec.h"

/* Messages of any length, one slot each. Up to CTN_MESSAGE_INLINE_BYTES travel
 * in the slot, up to ctn_slot_capacity in its eager buffer if the sequence has
 * those. For longer messages the sender keeps a copy, which the receiver reads
 * and then acknowledges (a rendezvous). So no rank needs to know lengths
 * beforehand.
 *
 * `turn` distinguishes the messages that use a slot one after another in one
 * operation. Turn t + 1 may be sent only when the receiver is known to be done
 * with turn t. For partners that exchange messages in both directions this
 * holds for turn t + 2 once turn t + 1 of the partner has arrived, so two
 * alternating slots suffice. The number of turns is not limited. The slot of a
 * rendezvous message takes the next message only after the acknowledgement.
 *
 * A rendezvous message is acknowledged in the slot of the same number at its
 * sender: those that a sender has under way to different members use different
 * slots. */

#define CTN_MESSAGE_INLINE_BYTES CTN_INLINE_BYTES

/** Length of a message without data: its sender received a message of a wrong
 * length. */
#define CTN_MESSAGE_MISMATCH SIZE_MAX

/** Send such a message. */
catena_status_t ctn_message_send_mismatch(ctn_op_t *op, ctn_address_t to,
                                          unsigned slot, uint32_t turn);

/** Whether a slot holds a message of operation `seq`.
 * @param[out] turn of the message, modulo CTN_TURNS */
bool ctn_message_turn(const ctn_sequence_t *sequence, uint64_t seq,
                      unsigned slot, uint32_t *turn);

/** The state of a send; zeroed before the first use. */
typedef struct ctn_send_handle {
    void *copy; /* in the own heap, until the receiver has the data */
    size_t bytes;
    unsigned slot;
    uint32_t turn;
} ctn_send_handle_t;

/** Send `bytes` of `data`, which is free on return. The previous send with
 * `handle` must be done. */
catena_status_t ctn_message_send(ctn_op_t *op, ctn_address_t to, unsigned slot,
                                 uint32_t turn, const void *data, size_t bytes,
                                 ctn_send_handle_t *handle);

/** Whether the receiver has the data (true for short messages); frees the copy.
 * The operation must not end before this is true. */
bool ctn_message_send_done(ctn_op_t *op, ctn_send_handle_t *handle);

/** Send without a copy: `data` must not change until ctn_message_zcopy_done is
 * true. Data that do not fit the slot lie in the own heap. NULL: user data that
 * have a size only. */
catena_status_t ctn_message_send_zcopy(ctn_op_t *op, ctn_address_t to,
                                       unsigned slot, uint32_t turn,
                                       const void *data, size_t bytes);
/** Whether the data of a zero-copy send may change (true for inline messages).
 */
bool ctn_message_zcopy_done(const ctn_op_t *op, unsigned slot, uint32_t turn,
                            size_t bytes);

/** The state of a receive; zeroed before the first use. */
typedef struct ctn_receive_handle {
    const unsigned char *data; /* after arrival; aligned to 8 bytes */
    size_t bytes;
    void *copy; /* of a rendezvous message, in the own heap */
    /** Set by the receiver before the first ctn_message_receive: where the data
     * of a rendezvous message go instead. They stay there until the operation
     * ends. */
    void *into;
    bool fetching;
} ctn_receive_handle_t;

/** NEXT: the message has arrived. It stays until ctn_receive_handle_release
 * (rendezvous) or until the sender may use the slot again (other messages), and
 * until then the receiver may write to it. Otherwise WAIT or FAIL. */
ctn_step_t ctn_message_receive(ctn_op_t *op, ctn_address_t from, unsigned slot,
                               uint32_t turn, ctn_receive_handle_t *handle);
/** Also called by finish, for a message that may not have arrived. */
void ctn_receive_handle_release(ctn_op_t *op, ctn_receive_handle_t *handle);

/** Called by finish: releases what a failed operation still holds. */
void ctn_send_handle_release(ctn_op_t *op, ctn_send_handle_t *handle);

#endif
