#ifndef CTN_NEIGHBOR_LINK_PROTOCOL_H
#define CTN_NEIGHBOR_LINK_PROTOCOL_H

#include "core/tiny.h"
#include "exec/attach.h"
#include "exec/slot.h"
#include "neighbor/link/link.h"

/** Shortest message for which a receiver posts its buffer. */
#define CTN_LINK_POSTED_MIN CTN_PICK(2048u, 256u)

/* The protocol between both ends of a link; for link/send.c, link/receive.c and
 * the inline path (call/inline.h).
 *
 * Word 0 of a slot is the sequence flag of the message. Its count is the length
 * of an inline or eager message, or CTN_LINK_RTS. Both words may also count the
 * fragments of a transfer (CTN_FRAGMENT_COUNT).
 */

/* A ctn_link_rts_t stands in the slot. On a node the data lie at the sender
 * (zero-copy), between nodes the sender waits for a CTS. */
#define CTN_LINK_RTS (UINT32_C(1) << 31)
/** RTS: the header of a rendezvous or a zero-copy message, in the slot. */
typedef struct ctn_link_rts {
    uint64_t bytes;
    uint64_t place; /* at the sender, see exec/attach.h; CTN_STAGED: in a
                       rendezvous, or if only sizes are simulated */
    ctn_link_layout_t layout;
} ctn_link_rts_t;

_Static_assert(sizeof(ctn_link_rts_t) <= 64 - offsetof(ctn_slot_t, data),
               "one cache line with its word");

/** Bits of the length in a CTS. Addresses have 48 bits, so lengths fit. */
#define CTN_LINK_LENGTH_BITS 48

static inline unsigned ctn_link_generation(uint64_t seq)
{
    return seq % CTN_LINK_GENERATIONS;
}

/** Where a message begins in the eager buffers of a link. */
static inline size_t ctn_link_eager_at(uint64_t seq, bool local,
                                       uint32_t eager_bytes, size_t bytes)
{
    return ctn_link_generation(seq) * (size_t)eager_bytes +
           (local ? ctn_eager_rotate(seq, CTN_LINK_GENERATIONS, eager_bytes,
                                     bytes)
                  : 0);
}

/** Index of an operation's entries in the link control. */
static inline unsigned ctn_link_entry(uint64_t seq)
{
    return seq % CTN_LINK_FLIGHT;
}

/** Offset of the operation's slot, which begins with its word, in the
 * receiver's arena. */
static inline uint64_t ctn_link_word_at(const ctn_link_out_t *out, uint64_t seq)
{
    return out->slots + ctn_link_generation(seq) * sizeof(ctn_slot_t);
}

/** The same for the data of the slot. */
static inline uint64_t ctn_link_data_at(const ctn_link_out_t *out, uint64_t seq)
{
    return ctn_link_word_at(out, seq) + offsetof(ctn_slot_t, data);
}

/** Offset of the operation's CTS in the sender's arena.
 * @param solicited it answers an RTS */
static inline uint64_t ctn_link_cts_at(const ctn_link_in_t *in, uint64_t seq,
                                       bool solicited)
{
    return in->control +
           (solicited ? offsetof(ctn_link_control_t, solicited)
                      : offsetof(ctn_link_control_t, unsolicited)) +
           ctn_link_entry(seq) * sizeof(ctn_cts_t);
}

/** The length field in the CTS of an operation: the length, and above it how
 * often the numbers of operations have wrapped around. */
static inline uint64_t ctn_link_cts_bytes(uint64_t seq, size_t bytes)
{
    return bytes | (seq / CTN_NUMBERS) << CTN_LINK_LENGTH_BITS;
}

/** Least number of operations complete at a peer that has begun operation
 * `seq`: at most CTN_LINK_FLIGHT are under way there. */
static inline uint64_t ctn_link_completed_before(uint64_t seq)
{
    return seq + 1 > CTN_LINK_FLIGHT ? seq + 1 - CTN_LINK_FLIGHT : 0;
}

/** Notes that the peer has begun operation `seq`.
 * @param out a link to the peer, or NULL */
static inline void ctn_link_peer_has_begun(ctn_link_out_t *out, uint64_t seq)
{
    uint64_t complete = ctn_link_completed_before(seq);
    if (out != NULL && complete > out->complete) {
        out->complete = complete;
    }
}

/** Whether receivers on a node post buffers for messages of this length, by an
 * unsolicited CTS, and senders look for them. Below CTN_LINK_POSTED_MIN bytes
 * the two copies of an eager message cost less than posting. Only on
 * oversubscribed cores: of two ranks with a core each, both copy what they
 * receive at the same time, and to look for a posted buffer costs 60 ns. */
static inline bool ctn_link_uses_posted(const ctn_exec_t *exec, size_t bytes)
{
    return bytes >= CTN_LINK_POSTED_MIN && exec->oversubscribed;
}

/** Receiver: whether to post this buffer. */
static inline bool ctn_link_may_post(const ctn_exec_t *exec, const void *into,
                                     size_t bytes, uint64_t *offset)
{
    return ctn_link_uses_posted(exec, bytes) && into != NULL &&
           ctn_heap_contains(exec->heap, into, bytes, offset);
}

/** Sender on a node: whether the receiver has posted a buffer of that length,
 * and where. */
static inline bool ctn_link_is_posted(const ctn_exec_t *exec,
                                      const ctn_link_control_t *control,
                                      uint64_t seq, size_t bytes,
                                      uint64_t *offset)
{
    const ctn_cts_t *cts = &control->unsolicited[ctn_link_entry(seq)];
    if (!ctn_link_uses_posted(exec, bytes) ||
        !ctn_transfer_is_offered(cts, seq, ctn_link_cts_bytes(seq, bytes))) {
        return false;
    }
    *offset = cts->place & CTN_CTS_OFFSET;
    return true;
}

/** Sender: whether the generation of an operation is free. */
static inline bool ctn_link_has_credit(ctn_link_out_t *out, uint64_t seq)
{
    if (seq < out->complete + CTN_LINK_GENERATIONS) {
        return true;
    }
    uint64_t reported = ctn_word_load(&out->control->complete);
    if (reported > out->complete) {
        out->complete = reported;
    }
    return seq < out->complete + CTN_LINK_GENERATIONS;
}

/** Sender: notes that a message has been sent in operation `seq`. */
static inline void ctn_link_has_sent(ctn_link_out_t *out, uint64_t seq)
{
    if (seq >= out->sent) {
        out->sent = seq + 1;
    }
}

/** Receiver: the own messages on the link in the other direction have told the
 * sender how many operations are complete here: updates in->reported. */
static inline void ctn_link_note_sent(ctn_link_in_t *in)
{
    const ctn_link_out_t *reverse = in->reverse;
    if (reverse != NULL && reverse->sent > 0) {
        uint64_t seen = ctn_link_completed_before(reverse->sent - 1);
        in->reported = seen > in->reported ? seen : in->reported;
    }
}

/** Connects to the peer if there is no endpoint yet. */
static inline catena_status_t ctn_link_reach(ctn_exec_t *exec,
                                             ctn_link_peer_t *peer)
{
    return peer->endpoint != NULL
               ? CATENA_OK
               : ctn_exec_connect(exec, peer->process, &peer->endpoint);
}

/** WAIT. If the peer is on another node, this rank polls the network while the
 * operation waits. */
static inline ctn_step_t ctn_link_wait(ctn_op_t *op,
                                       const ctn_link_peer_t *peer)
{
    if (!peer->local && !op->network) {
        ctn_op_set_network(op, true);
    }
    return CTN_STEP_WAIT;
}

/** The step that follows from a status: `step`, or the failure of the
 * operation. */
static inline ctn_step_t ctn_link_go_on(ctn_op_t *op, catena_status_t status,
                                        ctn_step_t step)
{
    return status == CATENA_OK ? step : ctn_op_fail(op, status);
}

#endif
