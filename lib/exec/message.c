/* Messages of any length. A word's count holds turn and length, so a message
 * that fits its slot is one put_signal. A long one takes three steps: a notice
 * of where its copy lies, the get (on the node a copy), and the
 * acknowledgement. Memory: the message, once at either side. */

#include "exec/message.h"

#include <assert.h>
#include <string.h>

#include "exec/slot.h"

/* Of a word's count: the lower bits are the length, those above the turn. */
enum { LENGTH_BITS = 16, LONG = (1 << LENGTH_BITS) - 1, UNFIT = LONG - 1 };
_Static_assert(CTN_TURNS <= 1u << (32 - LENGTH_BITS) &&
                   (CTN_TURNS & (CTN_TURNS - 1)) == 0,
               "turns fit their bits");
_Static_assert(CTN_WIDE_BYTES < UNFIT && CTN_MAIL_BYTES < CTN_WIDE_BYTES,
               "lengths fit their bits");

/** What is sent in place of a long message. */
typedef struct notice {
    uint64_t offset; /* in the sender's arena; NOWHERE: there is a size only */
    uint64_t bytes;
} notice_t;

#define NOWHERE UINT64_MAX

/** What a long message is fetched into. The count lies with it, since the
 * transport may come back to both when the operation has failed. */
typedef struct fetched {
    uint64_t pending;
    _Alignas(64) unsigned char data[];
} fetched_t;

/** Turns come again; those of a slot one after the other are 2 apart. */
static uint32_t count_of(uint32_t turn, size_t length)
{
    return turn % CTN_TURNS << LENGTH_BITS | (uint32_t)length;
}

static bool is_long(const ctn_op_t *op, unsigned slot, size_t bytes)
{
    return bytes > ctn_slot_room(op->channel, slot);
}

/* ---- the sender ---- */

/** Long messages wait for the peer to fetch, which may be one that needs this
 * process's progress, too. */
static void expect_network(ctn_op_t *op, const ctn_endpoint_t *endpoint)
{
    if (endpoint->arena == NULL) {
        ctn_op_set_network(op, true);
    }
}

static catena_status_t send_notice(ctn_op_t *op, ctn_address_t to,
                                   unsigned slot, uint32_t turn,
                                   const void *data, size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    expect_network(op, endpoint);
    notice_t notice = {.offset = NOWHERE, .bytes = bytes};
    bool inside = data == NULL || ctn_heap_contains(op->exec->heap, data, bytes,
                                                    &notice.offset);
    assert(inside);
    (void)inside;
    op->exec->tally.bytes += bytes;
    /* What acknowledged an earlier turn, which has been returned. */
    ctn_word_store(&ctn_op_slot(op, slot)->word[1], 0);
    return ctn_op_send_count(op, to, slot, count_of(turn, LONG), &notice,
                             sizeof(notice));
}

catena_status_t ctn_mail_lend(ctn_op_t *op, ctn_address_t to, unsigned slot,
                              uint32_t turn, const void *data, size_t bytes)
{
    return is_long(op, slot, bytes)
               ? send_notice(op, to, slot, turn, data, bytes)
               : ctn_op_send_count(op, to, slot, count_of(turn, bytes), data,
                                   bytes);
}

catena_status_t ctn_mail_send_unfit(ctn_op_t *op, ctn_address_t to,
                                    unsigned slot, uint32_t turn)
{
    return ctn_op_send_count(op, to, slot, count_of(turn, UNFIT), NULL, 0);
}

bool ctn_mail_turn(const ctn_channel_t *channel, uint64_t seq, unsigned slot,
                   uint32_t *turn)
{
    const unsigned char *slots = (const unsigned char *)channel->slots;
    const ctn_slot_t *at =
        (const void *)(slots + ctn_slot_at(channel, seq, slot));
    uint64_t word = ctn_word_load(&at->word[0]);
    *turn = ctn_tag_count(word) >> LENGTH_BITS;
    return ctn_tag_matches(word, seq);
}

bool ctn_mail_returned(const ctn_op_t *op, unsigned slot, uint32_t turn,
                       size_t bytes)
{
    if (!is_long(op, slot, bytes)) {
        return bytes <= CTN_MAIL_BYTES || op->pending == 0;
    }
    return ctn_word_load(&ctn_op_slot(op, slot)->word[1]) ==
           ctn_tag(op->seq, count_of(turn, LONG));
}

catena_status_t ctn_mail_send(ctn_op_t *op, ctn_address_t to, unsigned slot,
                              uint32_t turn, const void *data, size_t bytes,
                              ctn_parcel_t *parcel)
{
    assert(parcel->copy == NULL);
    if (bytes <= CTN_MAIL_BYTES) {
        return ctn_mail_lend(op, to, slot, turn, data, bytes);
    }
    void *copy = ctn_scratch_alloc(op->exec, bytes);
    if (copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memcpy(copy, data, bytes);
    ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    *parcel = (ctn_parcel_t){copy, bytes, slot, turn};
    return ctn_mail_lend(op, to, slot, turn, copy, bytes);
}

bool ctn_mail_taken(ctn_op_t *op, ctn_parcel_t *parcel)
{
    if (parcel->copy == NULL) {
        return true;
    }
    if (!ctn_mail_returned(op, parcel->slot, parcel->turn, parcel->bytes)) {
        return false;
    }
    ctn_scratch_free(op->exec, parcel->copy, parcel->bytes);
    parcel->copy = NULL;
    return true;
}

void ctn_parcel_drop(ctn_op_t *op, ctn_parcel_t *parcel)
{
    /* One that was not taken stays until the heap goes: the receiver may be
     * fetching it. */
    (void)ctn_mail_taken(op, parcel);
    parcel->copy = NULL;
}

/* ---- the receiver ---- */

static catena_status_t fetch(ctn_op_t *op, ctn_address_t from, unsigned slot,
                             ctn_letter_t *letter)
{
    notice_t notice;
    memcpy(&notice, ctn_op_slot(op, slot)->data, sizeof(notice));
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, from.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    letter->bytes = notice.bytes;
    unsigned char *target = letter->into;
    uint64_t *pending = &op->pending;
    if (target == NULL) {
        fetched_t *fetched =
            ctn_scratch_alloc(op->exec, sizeof(*fetched) + notice.bytes);
        if (fetched == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        fetched->pending = 0;
        letter->copy = fetched;
        target = fetched->data;
        pending = &fetched->pending;
    }
    letter->fetching = true;
    bool nowhere = notice.offset == NOWHERE;
    const void *near = ctn_pointer(endpoint, nowhere ? 0 : notice.offset);
    if (near != NULL) {
        if (!nowhere) {
            memcpy(target, near, notice.bytes);
        }
        ctn_exec_charge(op->exec, CTN_WORK_COPY, notice.bytes);
        return CATENA_OK;
    }
    expect_network(op, endpoint);
    return endpoint->transport->ops->get(endpoint, nowhere ? NULL : target,
                                         notice.bytes,
                                         nowhere ? 0 : notice.offset, pending);
}

/** Whether what is fetched is here. What goes into memory of the caller's is
 * counted with all else the operation waits for, since that outlives it. */
static bool fetched_all(const ctn_op_t *op, const ctn_letter_t *letter)
{
    const fetched_t *fetched = letter->copy;
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
                      ctn_slot_word_offset(op->channel, to, op->seq, slot, 1),
                      ctn_tag(op->seq, count_of(turn, LONG)));
}

ctn_step_t ctn_mail_receive(ctn_op_t *op, ctn_address_t from, unsigned slot,
                            uint32_t turn, ctn_letter_t *letter)
{
    if (letter->data != NULL) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = CATENA_OK;
    if (!letter->fetching) {
        ctn_slot_t *at = ctn_op_slot(op, slot);
        uint64_t word = ctn_word_load(&at->word[0]);
        uint32_t count = ctn_tag_count(word);
        if (!ctn_tag_matches(word, op->seq) ||
            count >> LENGTH_BITS != turn % CTN_TURNS) {
            return CTN_STEP_WAIT;
        }
        if ((count & LONG) == UNFIT) {
            letter->bytes = CTN_MAIL_UNFIT;
            letter->data = at->data;
            return CTN_STEP_NEXT;
        }
        if ((count & LONG) != LONG) {
            letter->bytes = count & LONG;
            letter->data = letter->bytes <= CTN_MAIL_BYTES
                               ? at->data
                               : ctn_op_wide(op, slot, 1, letter->bytes);
            return CTN_STEP_NEXT;
        }
        status = fetch(op, from, slot, letter);
    }
    if (status == CATENA_OK && !fetched_all(op, letter)) {
        return CTN_STEP_WAIT;
    }
    if (status == CATENA_OK) {
        const fetched_t *fetched = letter->copy;
        letter->data = fetched != NULL ? fetched->data : letter->into;
        status = acknowledge(op, from, slot, turn);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

void ctn_letter_release(ctn_op_t *op, ctn_letter_t *letter)
{
    fetched_t *fetched = letter->copy;
    /* One that is still on its way, of an operation that failed, stays until
     * the heap goes: the transport may write it yet. */
    if (fetched != NULL && fetched->pending == 0) {
        ctn_scratch_free(op->exec, fetched, sizeof(*fetched) + letter->bytes);
    }
    *letter = (ctn_letter_t){.data = NULL};
}
