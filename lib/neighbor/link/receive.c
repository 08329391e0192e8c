/* Links, the receiver. What fits is looked at where it has arrived. A long
 * message on the node is copied from the sender's memory to where it belongs,
 * once, by whoever comes second; between nodes it arrives in the memory that
 * was granted for it. */

#include <assert.h>
#include <string.h>

#include "neighbor/link/protocol.h"

enum { RECEIVING_NEW, GRANTED, ANSWERED, HERE, HERE_LENT, RECEIVED };

/* ---- the receiver ---- */

/** Take memory for a message, unless it may go to `into`. */
static catena_status_t take_room(ctn_op_t *op, size_t bytes, void *into,
                                 ctn_link_receive_handle_t *r, uint64_t *offset)
{
    ctn_exec_t *exec = op->exec;
    r->room = into;
    r->room_bytes = bytes;
    if (into != NULL && ctn_heap_contains(exec->heap, into, bytes, offset)) {
        return CATENA_OK;
    }
    r->room = r->copy = ctn_scratch_alloc(exec, bytes);
    r->copy_bytes = bytes;
    if (r->copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    (void)ctn_heap_contains(exec->heap, r->copy, bytes, offset);
    return CATENA_OK;
}

static void give_back(ctn_op_t *op, ctn_link_receive_handle_t *r)
{
    ctn_scratch_free(op->exec, r->copy, r->copy_bytes);
    r->copy = NULL;
}

/** Take memory and tell the sender. `at`: its grant in the cell. */
static catena_status_t grant_room(ctn_op_t *op, ctn_link_in_t *in, size_t bytes,
                                  void *into, size_t at,
                                  ctn_link_receive_handle_t *r)
{
    ctn_link_cts_t grant = {.bytes = bytes};
    catena_status_t status = take_room(op, bytes, into, r, &grant.offset);
    status = status == CATENA_OK ? ctn_link_reach(op->exec, &in->peer) : status;
    if (status != CATENA_OK) {
        return status;
    }
    op->exec->tally.messages++;
    at += in->cell + ctn_link_entry(op->seq) * sizeof(ctn_link_cts_t);
    return ctn_put_signal(
        in->peer.endpoint, &grant.offset, 2 * sizeof(uint64_t),
        at + offsetof(ctn_link_cts_t, offset),
        at + offsetof(ctn_link_cts_t, word), ctn_flag64(op->seq), &op->pending);
}

static void take_straight(void *into, const void *data, size_t bytes)
{
    memcpy(into, data, bytes);
}

/** A message that comes unasked may go straight to where it belongs. */
static void expect_eager(const ctn_op_t *op, const ctn_link_in_t *in,
                         size_t bytes, void *into, ctn_link_receive_handle_t *r)
{
    const uint64_t *word = &in->slots[ctn_link_generation(op->seq)].word[0];
    if (into != NULL && bytes > CTN_INLINE_BYTES && !op->exec->drop_data &&
        ctn_expect(op->exec->network, word, ctn_flag(op->seq, bytes), bytes,
                   take_straight, into)) {
        r->word = word;
        r->room = into;
        r->room_bytes = bytes;
    }
}

/** On a node: say where the message is to go, for a sender that comes later. */
static void want(const ctn_op_t *op, ctn_link_in_t *in, size_t bytes,
                 void *into, ctn_link_receive_handle_t *r)
{
    uint64_t offset;
    if (ctn_link_may_post(op->exec, into, bytes, &offset) &&
        ctn_link_post(&in->slots[ctn_link_generation(op->seq)], op->seq, offset,
                      bytes)) {
        r->room = into;
        r->room_bytes = bytes;
    }
}

/** Whether what has come went there. What nobody expected has another length.
 */
static bool went_straight(const ctn_op_t *op, size_t bytes,
                          ctn_link_receive_handle_t *r)
{
    if (r->word == NULL) {
        return false;
    }
    ctn_unexpect(op->exec->network, r->word);
    r->word = NULL;
    r->room = r->room_bytes == bytes ? r->room : NULL;
    return r->room != NULL;
}

catena_status_t ctn_link_post_receive(ctn_op_t *op, ctn_link_in_t *in,
                                      size_t bytes, void *into,
                                      ctn_link_receive_handle_t *receiving)
{
    assert(receiving->stage == RECEIVING_NEW);
    if (in->peer.near) {
        want(op, in, bytes, into, receiving);
        return CATENA_OK;
    }
    if (bytes <= in->wide_bytes) {
        expect_eager(op, in, bytes, into, receiving);
        return CATENA_OK;
    }
    receiving->stage = GRANTED;
    return grant_room(op, in, bytes, into,
                      offsetof(ctn_link_control_t, unasked), receiving);
}

/** The sender asks: it has not seen the grant yet, or that is not what it
 * needs; then it will never use it. */
static catena_status_t answer(ctn_op_t *op, ctn_link_in_t *in, size_t bytes,
                              ctn_link_receive_handle_t *r)
{
    if (r->stage == ANSWERED || (r->stage == GRANTED && r->room_bytes == bytes))
        return CATENA_OK;
    give_back(op, r);
    r->stage = ANSWERED;
    return grant_room(op, in, bytes, NULL, offsetof(ctn_link_control_t, asked),
                      r);
}

CTN_HOT static ctn_step_t is_here(ctn_link_in_t *in, const ctn_op_t *op,
                                  const unsigned char *data, size_t bytes,
                                  ctn_link_receive_handle_t *r)
{
    ctn_link_peer_has_begun(in->reverse, op->seq);
    r->data = data;
    r->bytes = bytes;
    r->stage = HERE;
    return CTN_STEP_NEXT;
}

static ctn_step_t borrow(ctn_op_t *op, ctn_link_in_t *in,
                         const ctn_link_rts_t *notice,
                         ctn_link_receive_handle_t *r)
{
    catena_status_t status = ctn_link_reach(op->exec, &in->peer);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    const unsigned char *data =
        notice->offset != CTN_LINK_NOWHERE
            ? ctn_pointer(in->peer.endpoint, notice->offset)
            : NULL;
    (void)is_here(in, op, data, notice->bytes, r);
    r->layout = notice->layout;
    r->stage = HERE_LENT;
    return CTN_STEP_NEXT;
}

static ctn_step_t receive_notice(ctn_op_t *op, ctn_link_in_t *in,
                                 const ctn_slot_t *slot, uint32_t kind,
                                 ctn_link_receive_handle_t *r)
{
    if (kind == CTN_LINK_PUT) {
        return is_here(in, op, r->room, r->room_bytes, r);
    }
    ctn_link_rts_t notice;
    memcpy(&notice, slot->data, sizeof(notice));
    return kind == CTN_LINK_ZCOPY
               ? borrow(op, in, &notice, r)
               : ctn_link_go_on(op, answer(op, in, notice.bytes, r),
                                ctn_link_wait(op, &in->peer));
}

CTN_HOT ctn_step_t ctn_link_receive(ctn_op_t *op, ctn_link_in_t *in,
                                    ctn_link_receive_handle_t *r)
{
    if (r->stage >= HERE) {
        return CTN_STEP_NEXT;
    }
    const ctn_slot_t *slot = &in->slots[ctn_link_generation(op->seq)];
    if (r->stage != RECEIVING_NEW &&
        ctn_word_load(&slot->word[1]) == ctn_flag(op->seq, CTN_LINK_ARRIVED)) {
        return is_here(in, op, r->room, r->room_bytes, r);
    }
    uint64_t word = ctn_word_load(&slot->word[0]);
    if (!ctn_flag_matches(word, op->seq) || ctn_link_word_is_posted(word)) {
        return ctn_link_wait(op, &in->peer);
    }
    uint32_t count = ctn_flag_count(word);
    if (went_straight(op, count, r)) {
        return is_here(in, op, r->room, count, r);
    }
    if (count >= CTN_LINK_RTS) {
        return receive_notice(op, in, slot, count, r);
    }
    return is_here(in, op,
                   count <= CTN_INLINE_BYTES
                       ? slot->data
                       : in->wide +
                             ctn_link_generation(op->seq) * in->wide_bytes,
                   count, r);
}

/* ---- what has been received ---- */

/** Runs at an even stride as a type: an element is one of them. */
static struct catena_datatype type_of(const ctn_link_layout_t *layout)
{
    return (struct catena_datatype){
        .name = "lent",
        .bytes = layout->run,
        .extent = layout->stride,
        .run = layout->run,
        .stream_stride = layout->stride,
    };
}

/** Copy from position `at` of a message to a part of it. */
CTN_HOT static void copy_part(ctn_exec_t *exec, const ctn_span_t *source,
                              size_t at, const ctn_span_t *part)
{
    if (source->type == NULL) {
        if (source->base + at != part->base || part->type != NULL) {
            ctn_span_write(exec, part, 0, part->bytes, source->base + at);
        }
        return;
    }
    if (part->type == NULL) {
        ctn_span_read(exec, source, at, part->bytes, part->base);
        return;
    }
    unsigned char through[2048];
    for (size_t done = 0; done < part->bytes; done += sizeof(through)) {
        size_t now = part->bytes - done;
        now = now < sizeof(through) ? now : sizeof(through);
        ctn_span_read(exec, source, at + done, now, through);
        ctn_span_write(exec, part, done, now, through);
    }
}

CTN_HOT void ctn_link_copy(ctn_op_t *op,
                           const ctn_link_receive_handle_t *receiving,
                           const ctn_span_t *parts, uint32_t count)
{
    struct catena_datatype type = type_of(&receiving->layout);
    ctn_span_t source = {(unsigned char *)(uintptr_t)receiving->data,
                         receiving->bytes,
                         receiving->layout.run > 0 ? &type : NULL};
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].bytes > 0) {
            copy_part(op->exec, &source, at, &parts[i]);
            at += parts[i].bytes;
        }
    }
    assert(at == receiving->bytes);
}

catena_status_t ctn_link_make_contiguous(ctn_op_t *op,
                                         ctn_link_receive_handle_t *receiving)
{
    ctn_link_layout_t *layout = &receiving->layout;
    if (layout->run == 0) {
        return CATENA_OK;
    }
    void *copy = ctn_scratch_alloc(op->exec, receiving->bytes);
    if (copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_span_t together = {copy, receiving->bytes, NULL};
    ctn_link_copy(op, receiving, &together, 1);
    receiving->copy = copy;
    receiving->copy_bytes = receiving->bytes;
    receiving->data = copy;
    layout->run = 0;
    return CATENA_OK;
}

CTN_HOT catena_status_t ctn_link_done(ctn_op_t *op, ctn_link_in_t *in,
                                      ctn_link_receive_handle_t *receiving)
{
    assert(receiving->stage == HERE || receiving->stage == HERE_LENT);
    bool lent = receiving->stage == HERE_LENT;
    receiving->stage = RECEIVED;
    give_back(op, receiving);
    return lent ? ctn_signal(in->peer.endpoint,
                             in->cell + offsetof(ctn_link_control_t, taken) +
                                 ctn_link_entry(op->seq) * sizeof(uint64_t),
                             ctn_flag64(op->seq))
                : CATENA_OK;
}

void ctn_link_receive_handle_drop(ctn_op_t *op,
                                  ctn_link_receive_handle_t *receiving)
{
    /* Memory that was granted, and that nothing has come to, stays until the
     * heap goes: something may come yet. */
    if (receiving->stage >= HERE) {
        give_back(op, receiving);
    }
    (void)went_straight(op, 0, receiving);
    *receiving = (ctn_link_receive_handle_t){.stage = RECEIVING_NEW};
}
