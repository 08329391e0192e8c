/* NBR-6. Links, the sender. Inline and eager messages are one put with a
 * signal, or on the node a copy and a store. For a longer message on the node
 * the slot says where the data lie. If the receiver has posted a buffer, and
 * between nodes, it is a transfer; between nodes the sender sends an RTS if
 * there is no CTS of the right length. */

#include <assert.h>

#include "neighbor/link/protocol.h"

/* States of a send handle. */
enum {
    SENDING_NEW,
    SENDING_RTS,      /* an RTS was sent; waits for a CTS */
    SENDING_TRANSFER, /* puts fragments */
    SENDING_ZCOPY,    /* waits until the receiver has read the data */
    SENT
};

enum {
    /* Shorter runs, in bytes, are packed instead of read by the receiver. */
    RUN_LEAST = 256,
    SPINS_MOST = 200 /* polls for an unsolicited CTS before an RTS is sent */
};

/** Puts an RTS into the slot. */
static catena_status_t put_rts(ctn_op_t *op, const ctn_link_out_t *out,
                               const ctn_link_rts_t *rts)
{
    op->exec->tally.messages++;
    return ctn_put_signal(out->peer.endpoint, rts, sizeof(*rts),
                          ctn_link_data_at(out, op->seq),
                          ctn_link_word_at(out, op->seq),
                          ctn_flag(op->seq, CTN_LINK_RTS), &op->pending);
}

/* ---- zero-copy ---- */

/** Whether the receiver should read these runs; if they adjoin, the layout
 * becomes contiguous. A receiver reads short runs slower than this rank packs
 * them. */
static bool is_worth_zcopy(ctn_link_layout_t *layout)
{
    if (layout->stride == (ptrdiff_t)layout->run) {
        layout->run = 0;
        return true;
    }
    return layout->run >= RUN_LEAST && layout->stride > (ptrdiff_t)layout->run;
}

/** The layout of a span. False: it is not runs at an even stride, or they are
 * too short. */
static bool layout_of(const ctn_span_t *span, ctn_link_layout_t *layout,
                      const unsigned char **start)
{
    const ctn_type_t *type = span->type;
    *start = span->base;
    *layout = (ctn_link_layout_t){.run = 0};
    if (type == NULL) {
        return true;
    }
    *start += type->shift;
    layout->run = type->run;
    layout->count = span->bytes / type->run;
    if (type->stream_depth == 0) { /* elements continue the stride of their
                                      runs */
        layout->stride = type->stream_stride;
    } else if (type->depth == 1 && span->bytes == type->bytes &&
               type->level[0].kind == CTN_LEVEL_STRIDED) {
        layout->stride = type->level[0].stride;
    } else {
        return false;
    }
    return is_worth_zcopy(layout);
}

/** The same for several spans: each is one run. False also if one is not
 * contiguous, or their lengths or distances differ. */
static bool layout_of_all(const ctn_span_t *spans, uint32_t count,
                          ctn_link_layout_t *layout,
                          const unsigned char **start)
{
    if (count == 1) {
        return layout_of(spans, layout, start);
    }
    ptrdiff_t stride = spans[1].base - spans[0].base;
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].type != NULL || spans[i].bytes != spans[0].bytes ||
            spans[i].base != spans[0].base + (ptrdiff_t)i * stride) {
            return false;
        }
    }
    *start = spans[0].base;
    *layout = (ctn_link_layout_t){spans[0].bytes, count, stride};
    return is_worth_zcopy(layout);
}

/** Whether the receiver can read the spans where they lie. Sets the layout and
 * the place in the RTS. */
static bool can_zcopy(const ctn_exec_t *exec, const ctn_link_out_t *out,
                      const ctn_span_t *spans, uint32_t count,
                      ctn_link_rts_t *rts)
{
    const unsigned char *start;
    ctn_link_layout_t *layout = &rts->layout;
    if (!layout_of_all(spans, count, layout, &start)) {
        return false;
    }
    if (layout->run > 0) {
        size_t bytes =
            layout->run + (layout->count - 1) * (size_t)layout->stride;
        return ctn_heap_contains(exec->heap, start, bytes, &rts->place);
    }
    rts->place = ctn_place_for(exec, out->peer.endpoint, start, rts->bytes);
    return rts->place != CTN_STAGED;
}

/** Whether the receiver can read the spans where they lie, in the heap. */
static bool lie_in_heap(const ctn_exec_t *exec, const ctn_link_out_t *out,
                        const ctn_span_t *spans, uint32_t count, size_t bytes)
{
    ctn_link_rts_t rts = {.bytes = bytes};
    return can_zcopy(exec, out, spans, count, &rts) &&
           !ctn_is_address(rts.place);
}

/** Begins a zero-copy send: of the spans where they lie, or of a packed copy.
 */
static ctn_step_t send_zcopy(ctn_op_t *op, ctn_link_out_t *out,
                             const ctn_span_t *spans, uint32_t count,
                             size_t bytes, ctn_link_send_handle_t *sending)
{
    ctn_exec_t *exec = op->exec;
    ctn_link_rts_t rts = {.bytes = bytes, .place = CTN_STAGED};
    if (!exec->drop_data && !can_zcopy(exec, out, spans, count, &rts)) {
        sending->copy = ctn_scratch_alloc(exec, bytes);
        if (sending->copy == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        sending->copy_bytes = bytes;
        unsigned char *to = sending->copy;
        for (uint32_t i = 0; i < count; i++) {
            ctn_span_read(exec, &spans[i], 0, spans[i].bytes, to);
            to += spans[i].bytes;
        }
        rts.layout = (ctn_link_layout_t){.run = 0};
        (void)ctn_heap_contains(exec->heap, sending->copy, bytes, &rts.place);
    }
    exec->tally.bytes += bytes;
    sending->state = SENDING_ZCOPY;
    return ctn_link_go_on(op, put_rts(op, out, &rts), CTN_STEP_WAIT);
}

/** Whether the receiver has read the zero-copy data. */
static bool zcopy_is_read(const ctn_op_t *op, const ctn_link_out_t *out)
{
    return ctn_word_load(&out->control->zcopy_read[ctn_link_entry(op->seq)]) ==
           ctn_flag64(op->seq);
}

static void drop_copy(ctn_exec_t *exec, ctn_link_send_handle_t *sending)
{
    ctn_scratch_free(exec, sending->copy, sending->copy_bytes);
    sending->copy = NULL;
}

/* ---- rendezvous ---- */

/** Sends what the CTS allows of the message. */
static ctn_step_t send_transfer(ctn_op_t *op, const ctn_link_out_t *out,
                                const ctn_span_t *spans, size_t bytes,
                                ctn_link_send_handle_t *sending)
{
    ctn_step_t step =
        ctn_transfer_send_block(op, &sending->transfer, spans, bytes);
    sending->state = step == CTN_STEP_NEXT ? SENT : SENDING_TRANSFER;
    return step == CTN_STEP_WAIT ? ctn_link_wait(op, &out->peer) : step;
}

/** Whether there is a CTS for a message of this length: an unsolicited one, or
 * one that answers an RTS. */
static bool has_cts(const ctn_op_t *op, ctn_link_out_t *out, size_t bytes,
                    ctn_link_send_handle_t *sending)
{
    unsigned entry = ctn_link_entry(op->seq);
    ctn_transfer_send_t *t = &sending->transfer;
    *t = (ctn_transfer_send_t){.slot = ctn_link_word_at(out, op->seq),
                               .endpoint = out->peer.endpoint,
                               .digest = ctn_link_cts_bytes(op->seq, bytes),
                               .cts = &out->control->unsolicited[entry]};
    if (ctn_transfer_has_cts(op, t)) {
        out->expects_cts = true;
        return true;
    }
    t->cts = &out->control->solicited[entry];
    return sending->state == SENDING_RTS && ctn_transfer_has_cts(op, t);
}

/** Whether to send an RTS now. If the last long message got an unsolicited CTS,
 * the sender first polls for one SPINS_MOST times. */
static bool shall_send_rts(const ctn_op_t *op, const ctn_link_out_t *out,
                           ctn_link_send_handle_t *sending)
{
    if (!out->expects_cts || sending->spins == SPINS_MOST) {
        return true;
    }
    sending->spins++;
    op->exec->counts_polls = true;
    return false;
}

/** Sends the message if there is a CTS for it. One with another length is
 * ignored: the receiver gets the right length with the RTS and sends another
 * CTS. */
static ctn_step_t begin_transfer(ctn_op_t *op, ctn_link_out_t *out,
                                 const ctn_span_t *spans, size_t bytes,
                                 ctn_link_send_handle_t *sending)
{
    if (!has_cts(op, out, bytes, sending)) {
        return ctn_link_wait(op, &out->peer);
    }
    ctn_link_peer_has_begun(out, op->seq);
    return send_transfer(op, out, spans, bytes, sending);
}

/** Sends the RTS of a rendezvous. */
static ctn_step_t send_rts(ctn_op_t *op, ctn_link_out_t *out, size_t bytes,
                           ctn_link_send_handle_t *sending)
{
    out->expects_cts = false;
    ctn_link_rts_t rts = {.bytes = bytes, .place = CTN_STAGED};
    sending->state = SENDING_RTS;
    return ctn_link_go_on(op, put_rts(op, out, &rts),
                          ctn_link_wait(op, &out->peer));
}

/* ---- the sender ---- */

/** Puts a message into the slot or its eager buffer. */
static ctn_step_t send_eager(ctn_op_t *op, ctn_link_out_t *out,
                             const ctn_span_t *spans, size_t bytes,
                             ctn_link_send_handle_t *sending)
{
    uint64_t to = bytes <= CTN_INLINE_BYTES
                      ? ctn_link_data_at(out, op->seq)
                      : out->eager + ctn_link_eager_at(op->seq, out->peer.local,
                                                       out->eager_bytes, bytes);
    const ctn_put_t put = {.endpoint = out->peer.endpoint,
                           .offset = to,
                           .word = ctn_link_word_at(out, op->seq),
                           .value = ctn_flag(op->seq, bytes)};
    ctn_span_cursor_t cursor = {spans, 0};
    int result = ctn_put_spans(op, &put, &cursor, bytes);
    if (result < 0) {
        return ctn_op_fail(op, (catena_status_t)result);
    }
    if (result == 0) { /* no staging buffer is free now */
        return ctn_link_wait(op, &out->peer);
    }
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    sending->state = SENT;
    return CTN_STEP_NEXT;
}

static ctn_step_t send_new(ctn_op_t *op, ctn_link_out_t *out,
                           const ctn_span_t *spans, uint32_t count,
                           size_t bytes, ctn_link_send_handle_t *sending)
{
    catena_status_t status = ctn_link_reach(op->exec, &out->peer);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    bool local = out->peer.local;
    bool is_long = bytes > ctn_link_most_bytes(local, out->eager_bytes);
    if (local ? ctn_link_uses_posted(op->exec, bytes) : is_long) {
        ctn_step_t step = begin_transfer(op, out, spans, bytes, sending);
        if (step != CTN_STEP_WAIT || sending->state != SENDING_NEW) {
            return step;
        }
    }
    if (!ctn_link_has_credit(out, op->seq) ||
        (is_long && !local && !shall_send_rts(op, out, sending))) {
        return ctn_link_wait(op, &out->peer);
    }
    if (local &&
        (is_long || (ctn_link_prefers_zcopy(op->exec, bytes) &&
                     lie_in_heap(op->exec, out, spans, count, bytes)))) {
        return send_zcopy(op, out, spans, count, bytes, sending);
    }
    return is_long ? send_rts(op, out, bytes, sending)
                   : send_eager(op, out, spans, bytes, sending);
}

ctn_step_t ctn_link_send(ctn_op_t *op, ctn_link_out_t *out,
                         const ctn_span_t *spans, uint32_t count, size_t bytes,
                         ctn_link_send_handle_t *sending)
{
    ctn_step_t step;
    switch (sending->state) {
    case SENDING_NEW:
        step = send_new(op, out, spans, count, bytes, sending);
        if (sending->state != SENDING_NEW) {
            ctn_link_has_sent(out, op->seq);
        }
        return step;
    case SENDING_RTS:
        return begin_transfer(op, out, spans, bytes, sending);
    case SENDING_TRANSFER:
        return send_transfer(op, out, spans, bytes, sending);
    case SENDING_ZCOPY:
        if (!zcopy_is_read(op, out)) {
            return CTN_STEP_WAIT;
        }
        drop_copy(op->exec, sending);
        sending->state = SENT;
        break;
    default:
        assert(sending->state == SENT);
        break;
    }
    return CTN_STEP_NEXT;
}

void ctn_link_send_handle_drop(ctn_link_send_handle_t *sending)
{
    /* A copy that was not read stays until the heap is freed: the receiver may
     * be reading it. */
    *sending = (ctn_link_send_handle_t){.state = SENDING_NEW};
}
