#ifndef CTN_EXEC_MESSAGE_H
#define CTN_EXEC_MESSAGE_H

#include "exec/exec.h"

/* Messages of any length, one slot each. Up to CTN_MESSAGE_INLINE_BYTES travel
 * in the slot, up to ctn_slot_capacity in its wide payload, where the channel
 * has those; of longer ones the sender keeps a copy that the receiver fetches
 * and then acknowledges, so nobody needs to know lengths beforehand.
 *
 * `turn` tells apart the messages that use a slot one after the other within
 * one operation: turn t + 1 may be sent only when the receiver is known to be
 * done with turn t. For partners who exchange messages in both directions that
 * is so for turn t + 2 once turn t + 1 of the partner is here, so two slots in
 * alternation suffice. There may be any number of turns. A
 * long message must have been returned before its slot takes the next one.
 *
 * A long message is acknowledged in the slot of the same number at its sender:
 * those that a sender has under way to different members differ in slot. */

#define CTN_MESSAGE_INLINE_BYTES CTN_INLINE_BYTES

/** Length of a message that holds nothing, since what its sender got did not
 * have the length that it should have. */
#define CTN_MESSAGE_MISMATCH SIZE_MAX

/** Send such a message. */
catena_status_t ctn_message_send_mismatch(ctn_op_t *op, ctn_address_t to,
                                          unsigned slot, uint32_t turn);

/** Whether a slot holds a message of operation `seq`.
 * @param[out] turn of the message, modulo CTN_TURNS */
bool ctn_message_turn(const ctn_sequence_t *sequence, uint64_t seq,
                      unsigned slot, uint32_t *turn);

/** The sender's side of a message; zeroed before the first use. */
typedef struct ctn_send_handle {
    void *copy; /* in the own heap, until the receiver has it */
    size_t bytes;
    unsigned slot;
    uint32_t turn;
} ctn_send_handle_t;

/** Send `bytes` of `data`, free on return. `parcel` must have been taken. */
catena_status_t ctn_message_send(ctn_op_t *op, ctn_address_t to, unsigned slot,
                                 uint32_t turn, const void *data, size_t bytes,
                                 ctn_send_handle_t *handle);

/** Whether the receiver has it (short ones: always); releases the copy. To be
 * asked until it says so before the operation ends. */
bool ctn_message_send_done(ctn_op_t *op, ctn_send_handle_t *handle);

/** The same for data that stay as they are until ctn_message_zcopy_done says
 * that they may go: nothing is copied. What does not fit the slot lies in the
 * own heap. NULL: users' data that have a size only. */
catena_status_t ctn_message_send_zcopy(ctn_op_t *op, ctn_address_t to,
                                       unsigned slot, uint32_t turn,
                                       const void *data, size_t bytes);
/** Whether what was lent may go (short messages: always). */
bool ctn_message_zcopy_done(const ctn_op_t *op, unsigned slot, uint32_t turn,
                            size_t bytes);

/** The receiver's side; zeroed before the first use. */
typedef struct ctn_receive_handle {
    const unsigned char *data; /* once it is here; aligned to 8 bytes */
    size_t bytes;
    void *copy; /* of a long one, in the own heap */
    /** Set by who receives, before it is asked for: where a long one goes
     * instead. It stays there until the operation ends. */
    void *into;
    bool fetching;
} ctn_receive_handle_t;

/** NEXT: it is here, and stays until ctn_receive_handle_release (a long one) or
 * until the sender may use the slot again (one that fits it). Until then it is
 * this member's to write, too. Else WAIT or FAIL. */
ctn_step_t ctn_message_receive(ctn_op_t *op, ctn_address_t from, unsigned slot,
                               uint32_t turn, ctn_receive_handle_t *handle);
/** Also for finish, of one that may not be here yet. */
void ctn_receive_handle_release(ctn_op_t *op, ctn_receive_handle_t *handle);

/** For finish: releases what an operation that failed still holds. */
void ctn_send_handle_release(ctn_op_t *op, ctn_send_handle_t *handle);

#endif
