#ifndef CTN_EXEC_MESSAGE_H
#define CTN_EXEC_MESSAGE_H

#include "core/tiny.h"
#include "exec/exec.h"
#include "exec/span.h"

/** The sequence flags of messages hold the turn modulo this. */
#define CTN_TURNS CTN_PICK(65536u, 8u)

/* Messages of any length, one slot each. A message of up to
 * CTN_MESSAGE_INLINE_BYTES travels in the slot, one of up to ctn_slot_capacity
 * in the slot's eager buffer if it has one. A longer message stays at the
 * sender; the receiver reads and then acknowledges it (a rendezvous). The
 * receiver need not know the length beforehand.
 *
 * `turn` numbers the messages that use a slot one after the other within one
 * operation. Turn t + 1 of a slot may be sent only when the receiver is known
 * to be done with turn t. Partners that exchange messages repeatedly alternate
 * between two slots and count turns over both: turn t + 2 may be sent once the
 * partner's turn t + 1 has arrived. The number of turns is not limited. After a
 * rendezvous message the next message may use the slot only after the
 * acknowledgement.
 *
 * The receiver acknowledges a rendezvous message in the sender's slot of the
 * same index. So rendezvous messages that a sender has under way at the same
 * time use different slots, even if they go to different members. */

#define CTN_MESSAGE_INLINE_BYTES CTN_INLINE_BYTES

/** In place of a length: the message has no data, and says that its sender has
 * received a message of a wrong length. */
#define CTN_MESSAGE_MISMATCH SIZE_MAX

/** Whether a slot holds a message of operation `seq`.
 * @param[out] turn of the message, modulo CTN_TURNS */
bool ctn_message_turn(const ctn_sequence_t *sequence, uint64_t seq,
                      unsigned slot, uint32_t *turn);

/** Report that data from one rank to another have `found` bytes where the
 * receiver expects `expected`: nothing of them is written to its buffer.
 * @param what name of the collective or algorithm
 * @return ERR_ARG */
catena_status_t ctn_message_report_length(const ctn_exec_t *exec,
                                          const char *what, uint32_t from,
                                          uint32_t to, uint64_t found,
                                          uint64_t expected);

/** Send a message, without a copy of it.
 * @param data must not change until ctn_message_zcopy_done is true, and lie in
 *             this rank's heap if they do not fit the slot. NULL: user data
 *             that have a size only (exec->drop_data) */
catena_status_t ctn_message_send_zcopy(ctn_op_t *op, ctn_address_t to,
                                       unsigned slot, uint32_t turn,
                                       const void *data, size_t bytes);
/** Send the stream of consecutive spans, which fits the slot and must not
 * change until op->pending is 0.
 * @return 1: sent, 0: the network uses all staging buffers, < 0: status */
int ctn_message_send_spans(ctn_op_t *op, ctn_address_t to, unsigned slot,
                           uint32_t turn, const ctn_span_t *spans,
                           size_t bytes);
/** Whether the data of a zero-copy send may change. Always true for inline
 * messages. */
bool ctn_message_zcopy_done(const ctn_op_t *op, unsigned slot, uint32_t turn,
                            size_t bytes);
/** The same for a rendezvous message. */
bool ctn_message_acknowledged(const ctn_op_t *op, unsigned slot, uint32_t turn);

/** The state of a receive; zeroed before the first use. */
typedef struct ctn_receive_handle {
    const unsigned char *data; /* NULL until arrival; aligned to 8 bytes */
    size_t bytes;
    void *copy; /* memory for a rendezvous message, in this rank's heap */
    /** NULL, or memory that takes a rendezvous message instead of `copy`: set
     * by the receiver before the first ctn_message_receive, and kept by it
     * until the operation ends. */
    void *into;
    bool fetching; /* the get has begun */
} ctn_receive_handle_t;

/** Receive a message. NEXT: it has arrived, at handle->data. A rendezvous
 * message stays there until ctn_receive_handle_release, others until the sender
 * may use the slot again; until then the receiver may also write there.
 * Otherwise WAIT or FAIL. */
ctn_step_t ctn_message_receive(ctn_op_t *op, ctn_address_t from, unsigned slot,
                               uint32_t turn, ctn_receive_handle_t *handle);
/** Free what a receive holds. The `finish` of an algorithm calls it, too, for
 * messages that may not have arrived. */
void ctn_receive_handle_release(ctn_op_t *op, ctn_receive_handle_t *handle);

#endif
