/* NBR-6. Links, the receiver. Inline and eager messages are used where they
 * arrived. A longer message on the node is copied once, by the rank that comes
 * second: the sender copies it to the posted buffer, or the receiver copies a
 * zero-copy message from the sender's memory. Transfers arrive in the memory
 * that a CTS named. */

#include <assert.h>
#include <string.h>

#include "neighbor/link/protocol.h"

/* States of a receive handle. */
enum {
    RECEIVING_NEW,
    CTS_UNSOLICITED, /* a CTS was sent before an RTS came */
    CTS_SOLICITED,   /* an RTS was answered */
    ARRIVED,
    ARRIVED_ZCOPY, /* the RTS has arrived; the data are at the sender */
    RECEIVED       /* released by ctn_link_done */
};

/* ---- the receiver ---- */

/** Frees the memory that the handle owns, if any. */
static void give_back(ctn_op_t *op, ctn_link_receive_handle_t *r)
{
    ctn_transfer_recv_close(op, &r->transfer);
    ctn_scratch_free(op->exec, r->copy, r->copy_bytes);
    r->copy = NULL;
}

/** Begins a transfer to `into` if that lies in the heap, else to new memory.
 * @param solicited the CTS answers an RTS */
static catena_status_t send_cts(ctn_op_t *op, ctn_link_in_t *in, size_t bytes,
                                void *into, bool solicited,
                                ctn_link_receive_handle_t *r)
{
    uint64_t offset;
    if (into == NULL ||
        !ctn_heap_contains(op->exec->heap, into, bytes, &offset)) {
        into = r->copy = ctn_scratch_alloc(op->exec, bytes);
        r->copy_bytes = bytes;
    }
    if (into == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    r->buffer = into;
    r->buffer_bytes = bytes;
    const ctn_transfer_params_t params = {
        .from = {.process = in->peer.process},
        .cts = ctn_link_cts_at(in, op->seq, solicited),
        .own = &in->slots[ctn_link_generation(op->seq)],
        .bytes = ctn_link_cts_bytes(op->seq, bytes),
        .target = {into, bytes, NULL}};
    return ctn_transfer_recv_open(op, &r->transfer, &params);
}

/** Posts a receive at the network transport, which then copies an eager message
 * directly to its target. */
static void post_eager(const ctn_op_t *op, const ctn_link_in_t *in,
                       size_t bytes, void *into, ctn_link_receive_handle_t *r)
{
    const uint64_t *word = &in->slots[ctn_link_generation(op->seq)].word[0];
    const ctn_span_t target = {into, bytes, NULL};
    if (into != NULL && bytes > CTN_INLINE_BYTES &&
        ctn_transfer_post(op, NULL, word, (uint32_t)bytes, &target, 0, bytes)) {
        r->word = word;
        r->buffer = into;
        r->buffer_bytes = bytes;
    }
}

/** Whether the network has delivered an eager message to the buffer that was
 * posted there. A message of another length went to the eager buffer. Cancels
 * the posted receive. */
static bool took_posted(const ctn_op_t *op, size_t bytes,
                        ctn_link_receive_handle_t *r)
{
    if (r->word == NULL) {
        return false;
    }
    ctn_cancel_receive(op->exec->network, r->word);
    r->word = NULL;
    r->buffer = r->buffer_bytes == bytes ? r->buffer : NULL;
    return r->buffer != NULL;
}

catena_status_t ctn_link_post_receive(ctn_op_t *op, ctn_link_in_t *in,
                                      size_t bytes, void *into,
                                      ctn_link_receive_handle_t *receiving)
{
    assert(receiving->state == RECEIVING_NEW);
    uint64_t offset;
    if (in->peer.local ? ctn_link_may_post(op->exec, into, bytes, &offset)
                       : bytes > in->eager_bytes) {
        receiving->state = CTS_UNSOLICITED;
        return send_cts(op, in, bytes, into, false, receiving);
    }
    if (!in->peer.local) {
        post_eager(op, in, bytes, into, receiving);
    }
    return CATENA_OK;
}

/** Answers an RTS, unless a CTS of this length has been sent. The sender never
 * uses a CTS of another length. */
static catena_status_t send_solicited_cts(ctn_op_t *op, ctn_link_in_t *in,
                                          size_t bytes,
                                          ctn_link_receive_handle_t *r)
{
    if (r->state == CTS_SOLICITED ||
        (r->state == CTS_UNSOLICITED && r->buffer_bytes == bytes))
        return CATENA_OK;
    give_back(op, r);
    r->state = CTS_SOLICITED;
    return send_cts(op, in, bytes, NULL, true, r);
}

/** Notes that the message has arrived at `data`, so that its sender has begun
 * the operation. */
static ctn_step_t has_arrived(ctn_link_in_t *in, const ctn_op_t *op,
                              const unsigned char *data, size_t bytes,
                              ctn_link_receive_handle_t *r)
{
    ctn_link_peer_has_begun(in->reverse, op->seq);
    r->data = data;
    r->place = 0;
    r->bytes = bytes;
    r->state = ARRIVED;
    return CTN_STEP_NEXT;
}

/** A zero-copy message has arrived: finds its data in the sender's memory. */
static ctn_step_t take_zcopy(ctn_op_t *op, ctn_link_in_t *in,
                             const ctn_link_rts_t *rts,
                             ctn_link_receive_handle_t *r)
{
    catena_status_t status = ctn_link_reach(op->exec, &in->peer);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    bool attached = ctn_is_address(rts->place);
    const unsigned char *data = rts->place != CTN_STAGED && !attached
                                    ? ctn_pointer(in->peer.endpoint, rts->place)
                                    : NULL;
    (void)has_arrived(in, op, data, rts->bytes, r);
    r->layout = rts->layout;
    r->place = attached ? rts->place : 0;
    r->sender = in->peer.endpoint;
    r->state = ARRIVED_ZCOPY;
    return CTN_STEP_NEXT;
}

/** An RTS has come. */
static ctn_step_t receive_rts(ctn_op_t *op, ctn_link_in_t *in,
                              const ctn_slot_t *slot,
                              ctn_link_receive_handle_t *r)
{
    ctn_link_rts_t rts;
    memcpy(&rts, slot->data, sizeof(rts));
    return in->peer.local
               ? take_zcopy(op, in, &rts, r)
               : ctn_link_go_on(op, send_solicited_cts(op, in, rts.bytes, r),
                                ctn_link_wait(op, &in->peer));
}

ctn_step_t ctn_link_receive(ctn_op_t *op, ctn_link_in_t *in,
                            ctn_link_receive_handle_t *r)
{
    if (r->state >= ARRIVED) {
        return CTN_STEP_NEXT;
    }
    const ctn_slot_t *slot = &in->slots[ctn_link_generation(op->seq)];
    if (r->state != RECEIVING_NEW) {
        const ctn_span_t target = {r->buffer, r->buffer_bytes, NULL};
        ctn_step_t step = ctn_transfer_recv_block(op, &r->transfer, &target);
        if (step != CTN_STEP_WAIT) {
            return step == CTN_STEP_NEXT
                       ? has_arrived(in, op, r->buffer, r->buffer_bytes, r)
                       : step;
        }
    }
    uint64_t word = ctn_word_load(&slot->word[0]);
    uint32_t count = ctn_flag_count(word);
    if (!ctn_flag_matches(word, op->seq) || (count & CTN_FRAGMENT_COUNT) != 0) {
        return ctn_link_wait(op, &in->peer);
    }
    if (took_posted(op, count, r)) {
        return has_arrived(in, op, r->buffer, count, r);
    }
    if (count == CTN_LINK_RTS) {
        return receive_rts(op, in, slot, r);
    }
    return has_arrived(in, op,
                       count <= CTN_INLINE_BYTES
                           ? slot->data
                           : in->eager +
                                 ctn_link_eager_at(op->seq, in->peer.local,
                                                   in->eager_bytes, count),
                       count, r);
}

/* ---- what has been received ---- */

/** A datatype whose elements are the runs of a layout, one run each. */
static ctn_type_t type_of(const ctn_link_layout_t *layout)
{
    return (ctn_type_t){
        .name = "zero-copy layout",
        .bytes = layout->run,
        .extent = layout->stride,
        .run = layout->run,
        .stream_stride = layout->stride,
    };
}

void ctn_link_copy(ctn_op_t *op, const ctn_link_receive_handle_t *receiving,
                   const ctn_span_t *span)
{
    assert(span->bytes == receiving->bytes);
    if (span->bytes == 0) {
        return;
    }
    if (receiving->place != 0) {
        (void)ctn_read_place(op->exec, receiving->sender, receiving->place,
                             span);
        return;
    }
    ctn_type_t type = type_of(&receiving->layout);
    const ctn_span_t source = {(unsigned char *)(uintptr_t)receiving->data,
                               receiving->bytes,
                               receiving->layout.run > 0 ? &type : NULL};
    if (source.type != NULL || span->type != NULL ||
        source.base != span->base) {
        ctn_span_copy(op->exec, span, &source);
    }
}

catena_status_t ctn_link_make_contiguous(ctn_op_t *op,
                                         ctn_link_receive_handle_t *receiving)
{
    ctn_link_layout_t *layout = &receiving->layout;
    if (layout->run == 0 && receiving->place == 0) {
        return CATENA_OK;
    }
    void *copy = ctn_scratch_alloc(op->exec, receiving->bytes);
    if (copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_span_t together = {copy, receiving->bytes, NULL};
    ctn_link_copy(op, receiving, &together);
    receiving->copy = copy;
    receiving->copy_bytes = receiving->bytes;
    receiving->data = copy;
    receiving->place = 0;
    layout->run = 0;
    return CATENA_OK;
}

catena_status_t ctn_link_done(ctn_op_t *op, ctn_link_in_t *in,
                              ctn_link_receive_handle_t *receiving)
{
    assert(receiving->state == ARRIVED || receiving->state == ARRIVED_ZCOPY);
    bool zcopied = receiving->state == ARRIVED_ZCOPY;
    receiving->state = RECEIVED;
    give_back(op, receiving);
    return zcopied ? ctn_signal(in->peer.endpoint,
                                in->control +
                                    offsetof(ctn_link_control_t, zcopy_read) +
                                    ctn_link_entry(op->seq) * sizeof(uint64_t),
                                ctn_flag64(op->seq))
                   : CATENA_OK;
}

void ctn_link_receive_handle_drop(ctn_op_t *op,
                                  ctn_link_receive_handle_t *receiving)
{
    /* Memory that a CTS named stays until the heap is freed if nothing has
     * arrived there: something may still arrive. */
    if (receiving->state >= ARRIVED) {
        give_back(op, receiving);
    }
    ctn_transfer_recv_close(op, &receiving->transfer);
    (void)took_posted(op, 0, receiving);
    *receiving = (ctn_link_receive_handle_t){.state = RECEIVING_NEW};
}
