/* Messages of any length. The count in a sequence flag holds turn and length,
 * so a message that fits its slot is one put_signal. A longer one is a
 * rendezvous in three steps: an RTS with the address of the data, a get (on the
 * node a copy), and an acknowledgement. Memory: the length of the message, once
 * at the sender and once at the receiver. */

#include "exec/message.h"

#include <assert.h>
#include <string.h>

#include "exec/slot.h"

/* The count of a sequence flag: length in the low bits, turn above. */
enum {
    LENGTH_BITS = 16,
    /* In place of a length: an RTS or its acknowledgement. All low bits are 1,
     * so this is also the mask of the length. */
    RENDEZVOUS = (1 << LENGTH_BITS) - 1,
    MISMATCH = RENDEZVOUS - 1 /* in place of a length: CTN_MESSAGE_MISMATCH */
};
_Static_assert(CTN_TURNS <= 1u << (32 - LENGTH_BITS) &&
                   (CTN_TURNS & (CTN_TURNS - 1)) == 0,
               "turns fit their bits");
_Static_assert(CTN_EAGER_BYTES < MISMATCH &&
                   CTN_MESSAGE_INLINE_BYTES < CTN_EAGER_BYTES,
               "lengths fit their bits");

/** The data in the slot of a rendezvous message. */
typedef struct message_rts {
    uint64_t offset; /* of the message in the sender's arena; NOWHERE */
    uint64_t bytes;  /* of the message */
} message_rts_t;

#define NOWHERE                                                                \
    UINT64_MAX /* the message is user data that have a size only               \
                */

/** Memory for a get. `pending` is allocated with `data` because the transport
 * may write both after the operation has failed. */
typedef struct fetched {
    uint64_t pending; /* 1 until the get is complete */
    _Alignas(64) unsigned char data[];
} fetched_t;

/** The count of a message. It holds the turn modulo CTN_TURNS: consecutive
 * turns of a slot differ by less, so an earlier message is not taken for the
 * expected one. */
static uint32_t count_of(uint32_t turn, size_t length)
{
    return turn % CTN_TURNS << LENGTH_BITS | (uint32_t)length;
}

static bool needs_rendezvous(const ctn_op_t *op, unsigned slot, size_t bytes)
{
    return bytes > ctn_slot_capacity(op->sequence, slot);
}

CTN_COLD catena_status_t ctn_message_report_length(const ctn_exec_t *exec,
                                                   const char *what,
                                                   uint32_t from, uint32_t to,
                                                   uint64_t found,
                                                   uint64_t expected)
{
    ctn_error(exec->log,
              "%s: the data from rank %u to rank %u have %llu bytes; expected "
              "%llu; give the same length where they are sent and where they "
              "are received",
              what, from, to, (unsigned long long)found,
              (unsigned long long)expected);
    return CATENA_ERR_ARG;
}

/* ---- the sender ---- */

/** In a rendezvous with a peer on another node, both sides need the network:
 * the get of the peer may need progress of this process. */
static void wait_for_network(ctn_op_t *op, const ctn_endpoint_t *endpoint)
{
    if (endpoint->arena == NULL) {
        ctn_op_set_network(op, true);
    }
}

static catena_status_t send_rts(ctn_op_t *op, ctn_address_t to, unsigned slot,
                                uint32_t turn, const void *data, size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    wait_for_network(op, endpoint);
    message_rts_t rts = {.offset = NOWHERE, .bytes = bytes};
    bool in_heap = data == NULL ||
                   ctn_heap_contains(op->exec->heap, data, bytes, &rts.offset);
    assert(in_heap);
    (void)in_heap;
    op->exec->tally.bytes += bytes;
    /* Discard the acknowledgement of an earlier turn. */
    ctn_word_store(&ctn_op_slot(op, slot)->word[1], 0);
    return ctn_op_send_count(op, to, slot, count_of(turn, RENDEZVOUS), &rts,
                             sizeof(rts));
}

catena_status_t ctn_message_send_zcopy(ctn_op_t *op, ctn_address_t to,
                                       unsigned slot, uint32_t turn,
                                       const void *data, size_t bytes)
{
    if (!needs_rendezvous(op, slot, bytes)) {
        return ctn_op_send_count(op, to, slot, count_of(turn, bytes), data,
                                 bytes);
    }
    return bytes == CTN_MESSAGE_MISMATCH
               ? ctn_op_send_count(op, to, slot, count_of(turn, MISMATCH), NULL,
                                   0)
               : send_rts(op, to, slot, turn, data, bytes);
}

int ctn_message_send_spans(ctn_op_t *op, ctn_address_t to, unsigned slot,
                           uint32_t turn, const ctn_span_t *spans, size_t bytes)
{
    const ctn_sequence_t *sequence = op->sequence;
    assert(!needs_rendezvous(op, slot, bytes));
    ctn_put_t put = {
        .offset = ctn_slot_room_offset(sequence, to, op->seq, slot, bytes),
        .word = ctn_slot_word_offset(sequence, to, op->seq, slot, 0),
        .value = ctn_flag(op->seq, count_of(turn, bytes))};
    ctn_span_cursor_t cursor = {spans, 0};
    catena_status_t status = ctn_op_connect(op, to.process, &put.endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    int sent = ctn_put_spans(op, &put, &cursor, bytes);
    if (sent > 0) {
        op->exec->tally.messages++;
        op->exec->tally.bytes += bytes;
    }
    return sent;
}

bool ctn_message_turn(const ctn_sequence_t *sequence, uint64_t seq,
                      unsigned slot, uint32_t *turn)
{
    const unsigned char *slots = (const unsigned char *)sequence->slots;
    const ctn_slot_t *at =
        (const void *)(slots + ctn_slot_at(sequence, seq, slot));
    uint64_t word = ctn_word_load(&at->word[0]);
    *turn = ctn_flag_count(word) >> LENGTH_BITS;
    return ctn_flag_matches(word, seq);
}

bool ctn_message_zcopy_done(const ctn_op_t *op, unsigned slot, uint32_t turn,
                            size_t bytes)
{
    if (!needs_rendezvous(op, slot, bytes)) {
        return bytes <= CTN_MESSAGE_INLINE_BYTES || op->pending == 0;
    }
    return ctn_message_acknowledged(op, slot, turn);
}

bool ctn_message_acknowledged(const ctn_op_t *op, unsigned slot, uint32_t turn)
{
    return ctn_word_load(&ctn_op_slot(op, slot)->word[1]) ==
           ctn_flag(op->seq, count_of(turn, RENDEZVOUS));
}

/* ---- the receiver ---- */

/** Begin to get the data of a rendezvous message: over the network, or by a
 * copy on the node. */
static catena_status_t fetch(ctn_op_t *op, ctn_address_t from, unsigned slot,
                             ctn_receive_handle_t *handle)
{
    message_rts_t rts;
    memcpy(&rts, ctn_op_slot(op, slot)->data, sizeof(rts));
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, from.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    handle->bytes = rts.bytes;
    unsigned char *target = handle->into;
    uint64_t *pending = &op->pending;
    if (target == NULL) {
        fetched_t *fetched =
            ctn_scratch_alloc(op->exec, sizeof(*fetched) + rts.bytes);
        if (fetched == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        fetched->pending = 0;
        handle->copy = fetched;
        target = fetched->data;
        pending = &fetched->pending;
    }
    handle->fetching = true;
    bool nowhere = rts.offset == NOWHERE;
    const void *mapped = ctn_pointer(endpoint, nowhere ? 0 : rts.offset);
    if (mapped != NULL) {
        if (!nowhere) {
            memcpy(target, mapped, rts.bytes);
        }
        ctn_exec_charge(op->exec, CTN_WORK_COPY, rts.bytes);
        return CATENA_OK;
    }
    wait_for_network(op, endpoint);
    return endpoint->transport->ops->get(endpoint, nowhere ? NULL : target,
                                         rts.bytes, nowhere ? 0 : rts.offset,
                                         pending);
}

/** Whether the get is complete. A get into handle->into is counted in
 * op->pending: that memory outlives the operation, so it needs no counter of
 * its own. */
static bool fetched_all(const ctn_op_t *op, const ctn_receive_handle_t *handle)
{
    const fetched_t *fetched = handle->copy;
    return (fetched != NULL ? fetched->pending : op->pending) == 0;
}

static catena_status_t acknowledge(ctn_op_t *op, ctn_address_t to,
                                   unsigned slot, uint32_t turn)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    op->exec->tally.messages++;
    return ctn_signal(endpoint,
                      ctn_slot_word_offset(op->sequence, to, op->seq, slot, 1),
                      ctn_flag(op->seq, count_of(turn, RENDEZVOUS)));
}

ctn_step_t ctn_message_receive(ctn_op_t *op, ctn_address_t from, unsigned slot,
                               uint32_t turn, ctn_receive_handle_t *handle)
{
    if (handle->data != NULL) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = CATENA_OK;
    if (!handle->fetching) {
        ctn_slot_t *at = ctn_op_slot(op, slot);
        uint64_t word = ctn_word_load(&at->word[0]);
        uint32_t count = ctn_flag_count(word);
        if (!ctn_flag_matches(word, op->seq) ||
            count >> LENGTH_BITS != turn % CTN_TURNS) {
            return CTN_STEP_WAIT;
        }
        if ((count & RENDEZVOUS) == MISMATCH) {
            handle->bytes = CTN_MESSAGE_MISMATCH;
            handle->data = at->data;
            return CTN_STEP_NEXT;
        }
        if ((count & RENDEZVOUS) != RENDEZVOUS) {
            handle->bytes = count & RENDEZVOUS;
            handle->data = handle->bytes <= CTN_MESSAGE_INLINE_BYTES
                               ? at->data
                               : ctn_op_eager(op, slot, 1, handle->bytes);
            return CTN_STEP_NEXT;
        }
        status = fetch(op, from, slot, handle);
    }
    if (status == CATENA_OK && !fetched_all(op, handle)) {
        return CTN_STEP_WAIT;
    }
    if (status == CATENA_OK) {
        const fetched_t *fetched = handle->copy;
        handle->data = fetched != NULL ? fetched->data : handle->into;
        status = acknowledge(op, from, slot, turn);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

void ctn_receive_handle_release(ctn_op_t *op, ctn_receive_handle_t *handle)
{
    fetched_t *fetched = handle->copy;
    /* After a failure the transport may still write to the memory: then it
     * stays until the heap is released. */
    if (fetched != NULL && fetched->pending == 0) {
        ctn_scratch_free(op->exec, fetched, sizeof(*fetched) + handle->bytes);
    }
    *handle = (ctn_receive_handle_t){.data = NULL};
}
