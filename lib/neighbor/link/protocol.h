#ifndef CTN_NEIGHBOR_LINK_PROTOCOL_H
#define CTN_NEIGHBOR_LINK_PROTOCOL_H

#include "neighbor/link/link.h"

/* The protocol between both ends of a link; for link/send.c, link/receive.c and
 * the inline path.
 *
 * Word 0 of a slot carries the message: its count is a length, or one of these,
 * and an RTS stands in the slot. */
#define CTN_LINK_ZCOPY                                                         \
    (UINT32_C(1) << 31)                  /* zero-copy: the data lie at the     \
                                            sender */
#define CTN_LINK_RTS (UINT32_C(1) << 30) /* the data wait for a CTS */
#define CTN_LINK_PUT                                                           \
    (UINT32_C(3) << 30) /* the data are in the posted                          \
                           buffer */
/* Before the message comes, the receiver may write word 0: this flag and a
 * length from CTN_LINK_POSTED_MIN on. Word 1 is then the offset of the posted
 * buffer in its arena. */
#define CTN_LINK_POSTED (UINT32_C(1) << 29)
/* Between nodes word 1 belongs to a rendezvous: this count says that all data
 * are there. */
#define CTN_LINK_ARRIVED 1u

/** The header of a rendezvous or a zero-copy message, in the slot. */
typedef struct ctn_link_rts {
    uint64_t bytes;
    uint64_t offset; /* in the sender's arena, or CTN_LINK_NOWHERE */
    ctn_link_layout_t layout;
} ctn_link_rts_t;

_Static_assert(sizeof(ctn_link_rts_t) <= 64 - offsetof(ctn_slot_t, data),
               "one cache line with its word");

#define CTN_LINK_NOWHERE UINT64_MAX /* only sizes are simulated */

static inline unsigned ctn_link_generation(uint64_t seq)
{
    return seq % CTN_LINK_GENERATIONS;
}

/** Index in the link control for an operation under way. */
static inline unsigned ctn_link_entry(uint64_t seq)
{
    return seq % CTN_LINK_FLIGHT;
}

/** Offsets in the receiver's arena: of the words of a slot, and of its data. */
static inline uint64_t ctn_link_word_at(const ctn_link_out_t *out, uint64_t seq,
                                        unsigned word)
{
    return out->slots + ctn_link_generation(seq) * sizeof(ctn_slot_t) +
           word * sizeof(uint64_t);
}

static inline uint64_t ctn_link_data_at(const ctn_link_out_t *out, uint64_t seq)
{
    return ctn_link_word_at(out, seq, 0) + offsetof(ctn_slot_t, data);
}

/** Operations that are complete at a peer that has begun operation `seq`. */
static inline uint64_t ctn_link_completed_before(uint64_t seq)
{
    return seq + 1 > CTN_LINK_FLIGHT ? seq + 1 - CTN_LINK_FLIGHT : 0;
}

/** The peer of a link (or NULL) has begun operation `seq`. */
static inline void ctn_link_peer_has_begun(ctn_link_out_t *out, uint64_t seq)
{
    uint64_t complete = ctn_link_completed_before(seq);
    if (out != NULL && complete > out->complete) {
        out->complete = complete;
    }
}

/* Below CTN_LINK_POSTED_MIN bytes two copies cost less than posting a buffer.
 */

/** Whether receivers post buffers and senders look for them. Only on
 * oversubscribed cores: two ranks with a core each copy at the same time what
 * they receive, and looking first costs 60 ns. The simulator cannot swap words.
 */
static inline bool ctn_link_uses_posted(const ctn_exec_t *exec, size_t bytes)
{
    return bytes >= CTN_LINK_POSTED_MIN && bytes < CTN_LINK_POSTED &&
           exec->oversubscribed && !exec->virtual_time;
}

/** Receiver: whether to post this buffer. */
static inline bool ctn_link_may_post(const ctn_exec_t *exec, const void *into,
                                     size_t bytes, uint64_t *offset)
{
    return ctn_link_uses_posted(exec, bytes) && into != NULL &&
           ctn_heap_contains(exec->heap, into, bytes, offset);
}

/** Whether a word of an operation was written by the receiver. */
static inline bool ctn_link_word_is_posted(uint64_t word)
{
    return (ctn_flag_count(word) & ~(CTN_LINK_POSTED - 1)) == CTN_LINK_POSTED;
}

/** Receiver, before the message arrives: posts a buffer. False: the message has
 * arrived in the meantime. */
static inline bool ctn_link_post(ctn_slot_t *slot, uint64_t seq,
                                 uint64_t offset, size_t bytes)
{
    uint64_t before = ctn_word_load(&slot->word[0]);
    if (ctn_flag_matches(before, seq)) {
        return false;
    }
    ctn_word_store(&slot->word[1], offset);
    return ctn_word_replace(&slot->word[0], before,
                            ctn_flag(seq, CTN_LINK_POSTED | bytes));
}

/** Sender: whether a buffer of that length is posted, and where. */
static inline bool ctn_link_is_posted(const ctn_exec_t *exec,
                                      const ctn_slot_t *slot, uint64_t seq,
                                      size_t bytes, uint64_t *offset)
{
    if (!ctn_link_uses_posted(exec, bytes) ||
        ctn_word_load(&slot->word[0]) !=
            ctn_flag(seq, CTN_LINK_POSTED | bytes)) {
        return false;
    }
    *offset = ctn_word_load(&slot->word[1]);
    return true;
}

/** Whether the generation of an operation is free. */
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

/** A message has been sent in operation `seq`. */
static inline void ctn_link_has_sent(ctn_link_out_t *out, uint64_t seq)
{
    if (seq >= out->sent) {
        out->sent = seq + 1;
    }
}

/** Updates what the sender knows from the messages in the other direction. */
static inline void ctn_link_note_sent(ctn_link_in_t *in)
{
    const ctn_link_out_t *reverse = in->reverse;
    if (reverse != NULL && reverse->sent > 0) {
        uint64_t seen = ctn_link_completed_before(reverse->sent - 1);
        in->reported = seen > in->reported ? seen : in->reported;
    }
}

static inline catena_status_t ctn_link_reach(ctn_exec_t *exec,
                                             ctn_link_peer_t *peer)
{
    return peer->endpoint != NULL
               ? CATENA_OK
               : ctn_exec_connect(exec, peer->process, &peer->endpoint);
}

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
