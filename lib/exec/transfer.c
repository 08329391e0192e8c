/* Transfers: the CTS and the fragments of long data; see transfer.h. */

#include "exec/transfer.h"

#include "exec/attach.h"

/* The place in a CTS: the offset in the low bits, or an address; above it the
 * slot whose words count fragments, then the binary logarithm of the bytes of a
 * fragment, and two bits that say whether it is an address, and whether
 * fragments are staged. */
enum { SLOT_SHIFT = 48, LOG_SHIFT = 56 };
#define PLACE_ADDRESS (UINT64_C(1) << 62)
#define PLACE_STAGED (UINT64_C(1) << 63)

static unsigned place_shift(uint64_t place)
{
    return place >> LOG_SHIFT & 63;
}

/** Number of fragments of a block. */
static uint32_t fragments_of(size_t bytes, unsigned shift)
{
    return (uint32_t)((bytes + ((size_t)1 << shift) - 1) >> shift);
}

/** Bytes of fragment `index` of a block. */
static size_t fragment_bytes(size_t bytes, unsigned shift, uint32_t index)
{
    size_t rest = bytes - ((size_t)index << shift);
    return rest < (size_t)1 << shift ? rest : (size_t)1 << shift;
}

/** Binary logarithm, rounded up; of at least 64, for aligned staging buffers.
 */
static unsigned log2_up(size_t bytes)
{
    return bytes <= 64 ? 6 : 64 - (unsigned)__builtin_clzll(bytes - 1);
}

/** The count of fragments in a word; 0: none. */
static uint32_t count_in(const ctn_op_t *op, uint64_t word)
{
    uint32_t count = ctn_flag_count(word);
    return ctn_flag_matches(word, op->seq) && (count & CTN_FRAGMENT_COUNT) != 0
               ? count & (CTN_FRAGMENT_COUNT - 1)
               : 0;
}

/** The number of fragments that the words of a slot count; 0: none. */
static uint32_t arrived_in(const ctn_op_t *op, const ctn_slot_t *slot)
{
    uint32_t most = 0;
    for (unsigned i = 0; i < CTN_STAGING_FRAGMENTS; i++) {
        uint32_t count = count_in(op, ctn_word_load(&slot->word[i]));
        most = count > most ? count : most;
    }
    return most;
}

/* ---- the receiver ---- */

static catena_status_t put_cts(ctn_exec_t *exec, ctn_endpoint_t *endpoint,
                               uint64_t at, uint64_t word, uint64_t place,
                               uint64_t bytes)
{
    uint64_t what[] = {place, bytes};
    _Static_assert(sizeof(what) <= CTN_INJECT_BYTES, "needs no `pending`");
    exec->tally.messages++;
    return ctn_put_signal(endpoint, what, sizeof(what),
                          at + offsetof(ctn_cts_t, place),
                          at + offsetof(ctn_cts_t, word), word, NULL);
}

catena_status_t ctn_transfer_send_cts(ctn_op_t *op, ctn_address_t to,
                                      uint64_t at, uint32_t allowed,
                                      uint64_t place, uint64_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to.process, &endpoint);
    return status == CATENA_OK
               ? put_cts(op->exec, endpoint, at, ctn_flag(op->seq, allowed),
                         place, bytes)
               : status;
}

catena_status_t ctn_transfer_offer(ctn_exec_t *exec, ctn_endpoint_t *from,
                                   uint64_t cts, uint64_t seq, uint64_t offset,
                                   size_t bytes, uint64_t digest)
{
    return put_cts(exec, from, cts, ctn_flag(seq, ctn_transfer_whole(bytes)),
                   offset | (uint64_t)log2_up(CTN_FRAGMENT_BYTES) << LOG_SHIFT,
                   digest);
}

/** Set the staging buffers and the number of fragments. */
static catena_status_t find_staging(ctn_op_t *op, ctn_transfer_recv_t *t,
                                    const ctn_transfer_params_t *p)
{
    size_t bytes = p->target.bytes;
    size_t longest = p->fragments > 0             ? p->longest
                     : bytes < CTN_FRAGMENT_BYTES ? bytes
                                                  : CTN_FRAGMENT_BYTES;
    unsigned shift = log2_up(longest);
    unsigned spare_shift = log2_up(p->spare_bytes / CTN_STAGING_FRAGMENTS + 1);
    bool fits = p->fragments == 0 && bytes <= p->spare_bytes;
    size_t need = longest;
    if (p->fragments > 1 || bytes > longest) {
        need += (CTN_STAGING_FRAGMENTS - 1) * ((size_t)1 << shift);
    }
    if (!fits && t->memory_bytes < need) {
        ctn_scratch_free(op->exec, t->memory, t->memory_bytes);
        t->memory = ctn_scratch_alloc(op->exec, need);
        t->memory_bytes = t->memory != NULL ? need : 0;
    }
    t->staging = fits ? p->spare : t->memory;
    if (t->staging == NULL && p->spare_bytes > 0 &&
        (p->fragments == 0 || need <= p->spare_bytes)) {
        t->staging = p->spare;
        fits = p->fragments == 0;
    }
    t->shift = (uint8_t)(fits ? spare_shift - 1 : shift);
    t->fragments =
        p->fragments > 0 ? p->fragments : fragments_of(bytes, t->shift);
    return t->staging != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/** Expose the target to a sender of another node.
 * @param[out] place the part of the place */
static bool expose(const ctn_op_t *op, ctn_transfer_recv_t *t,
                   const ctn_transfer_params_t *p, uint64_t *place)
{
    ctn_transport_t *network = op->exec->network;
    t->exposed = network != NULL && network->ops->expose != NULL &&
                 network->ops->expose(network, p->target.base, p->target.bytes,
                                      &t->offset);
    *place = t->exposed ? t->offset : 0;
    return t->exposed;
}

/** Whether the sender can write the block outside the heap: by its address, or
 * by the offset that the network gives it.
 * @param[out] place the part of the place */
static bool find_outside(const ctn_op_t *op, ctn_transfer_recv_t *t,
                         const ctn_transfer_params_t *p, uint64_t *place)
{
    if (p->fragments > 0 || p->indirect || p->target.type != NULL) {
        return false;
    }
    if (ctn_pointer(t->from, 0) != NULL) {
        *place = PLACE_ADDRESS | (uintptr_t)p->target.base;
        return (uintptr_t)p->target.base <= CTN_CTS_OFFSET &&
               ctn_may_attach(op->exec, t->from, p->target.bytes);
    }
    return expose(op, t, p, place);
}

/** Whether a target in the heap must be concealed when the operation ends.
 * Where failures are returned, a member of another node may still send when the
 * operation has failed, and this one has waited long enough for it. */
static bool must_conceal(const ctn_op_t *op, const ctn_transfer_recv_t *t,
                         const ctn_transfer_params_t *p)
{
    const ctn_transport_t *network = op->exec->network;
    return op->exec->deaths != NULL && network != NULL &&
           (network->caps & CTN_CAP_EXPOSE) != 0 &&
           ctn_pointer(t->from, 0) == NULL &&
           (p->fragments > 0 ? p->longest : p->target.bytes) > 0;
}

/** Set where fragments go. @param[out] place for the CTS */
static catena_status_t find_place(ctn_op_t *op, ctn_transfer_recv_t *t,
                                  const ctn_transfer_params_t *p,
                                  uint64_t *place)
{
    uint64_t offset = 0;
    *place = 0;
    t->staging = NULL;
    t->shift = (uint8_t)log2_up(CTN_FRAGMENT_BYTES);
    t->fragments = p->fragments > 0 ? p->fragments
                                    : fragments_of(p->target.bytes, t->shift);
    if (p->fragments == 0 || p->longest > 0) {
        offset =
            p->indirect ? CTN_STAGED : ctn_span_offset(op->exec, &p->target);
    }
    bool direct = offset != CTN_STAGED;
    if (!direct) {
        direct = find_outside(op, t, p, place);
        offset = 0;
    } else if (must_conceal(op, t, p)) {
        direct = expose(op, t, p, place);
        offset = 0;
    }
    if (!direct) {
        catena_status_t status = find_staging(op, t, p);
        if (status != CATENA_OK) {
            return status;
        }
        *place = PLACE_STAGED;
        (void)ctn_heap_contains(op->exec->heap, t->staging, 1, &offset);
    }
    *place |= offset | (uint64_t)p->slot << SLOT_SHIFT |
              (uint64_t)t->shift << LOG_SHIFT;
    return CATENA_OK;
}

/** The target is not exposed any more. @param more data may still come */
static void conceal(const ctn_op_t *op, ctn_transfer_recv_t *t, bool more)
{
    ctn_transport_t *network = op->exec->network;
    if (t->exposed) {
        network->ops->conceal(network, t->offset, more);
        t->exposed = false;
    }
}

static void copy_plain(void *context, const void *data, size_t bytes)
{
    memcpy(context, data, bytes);
}

static void unpack_typed(void *context, const void *data, size_t bytes)
{
    const ctn_posted_span_t *posted = context;
    ctn_span_write(posted->exec, &posted->span, posted->from, bytes, data);
}

bool ctn_transfer_post(const ctn_op_t *op, ctn_posted_span_t *record,
                       const uint64_t *word, uint32_t count,
                       const ctn_span_t *span, size_t from, size_t bytes)
{
    bool plain = span->type == NULL;
    if (op->exec->drop_data || (!plain && record == NULL)) {
        return false;
    }
    if (!plain) {
        *record = (ctn_posted_span_t){op->exec, *span, from};
    }
    return ctn_post_receive(op->exec->network, word, ctn_flag(op->seq, count),
                            bytes, plain ? copy_plain : unpack_typed,
                            plain ? (void *)(span->base + from) : record);
}

/** Post a receive for a staged fragment. */
static void post_fragment(const ctn_op_t *op, ctn_transfer_recv_t *t,
                          const ctn_span_t *block, uint32_t index)
{
    unsigned word = index % CTN_STAGING_FRAGMENTS;
    t->posted &= (uint8_t) ~(1u << word);
    if (t->posts && ctn_transfer_post(
                        op, t->records != NULL ? &t->records[word] : NULL,
                        &t->slot->word[word], CTN_FRAGMENT_COUNT | (index + 1),
                        block, (size_t)index << t->shift,
                        fragment_bytes(block->bytes, t->shift, index))) {
        t->posted |= (uint8_t)(1u << word);
    }
}

catena_status_t ctn_transfer_recv_open(ctn_op_t *op, ctn_transfer_recv_t *t,
                                       const ctn_transfer_params_t *p)
{
    uint64_t place;
    conceal(op, t, false); /* of an earlier transfer that ended early */
    t->cts = p->cts;
    t->slot = p->own;
    t->taken = 0;
    t->posted = 0;
    t->records = p->records;
    catena_status_t status = ctn_op_connect(op, p->from.process, &t->from);
    if (status == CATENA_OK) {
        status = find_place(op, t, p, &place);
    }
    if (status != CATENA_OK) {
        return status;
    }
    t->posts = p->posts && t->staging != NULL &&
               ctn_pointer(t->from, 0) == NULL; /* by the network */
    /* Zero the counts of an earlier transfer in this slot. No sender writes
     * counts to the slot: that transfer has ended, and only this CTS permits
     * the next. An RTS of a direct alltoall there is no count. */
    if (arrived_in(op, t->slot) > 0) {
        ctn_word_store(&t->slot->word[0], 0);
        ctn_word_store(&t->slot->word[1], 0);
    }
    uint32_t allowed = t->fragments;
    if (t->staging != NULL && allowed > CTN_STAGING_FRAGMENTS) {
        allowed = CTN_STAGING_FRAGMENTS;
    }
    for (uint32_t i = 0; t->posts && i < allowed; i++) {
        post_fragment(op, t, &p->target, i);
    }
    return put_cts(op->exec, t->from, t->cts, ctn_flag(op->seq, allowed), place,
                   p->bytes);
}

/** The staging buffer of the next fragment. */
static const unsigned char *staged(const ctn_transfer_recv_t *t)
{
    return t->staging +
           ((size_t)(t->taken % CTN_STAGING_FRAGMENTS) << t->shift);
}

ctn_step_t ctn_transfer_recv_next(const ctn_op_t *op,
                                  const ctn_transfer_recv_t *t,
                                  const unsigned char **data)
{
    if (arrived_in(op, t->slot) <= t->taken) {
        return CTN_STEP_WAIT;
    }
    *data = t->staging != NULL ? staged(t) : NULL;
    return CTN_STEP_NEXT;
}

catena_status_t ctn_transfer_recv_consumed(ctn_op_t *op, ctn_transfer_recv_t *t)
{
    t->taken++;
    if (t->staging == NULL || t->fragments - t->taken < CTN_STAGING_FRAGMENTS) {
        return CATENA_OK; /* a CTS was sent for all */
    }
    op->exec->tally.messages++;
    return ctn_signal(t->from, t->cts + offsetof(ctn_cts_t, word),
                      ctn_flag(op->seq, t->taken + CTN_STAGING_FRAGMENTS));
}

ctn_step_t ctn_transfer_recv_block(ctn_op_t *op, ctn_transfer_recv_t *t,
                                   const ctn_span_t *block)
{
    if (t->taken == t->fragments) {
        return CTN_STEP_NEXT;
    }
    uint32_t arrived = arrived_in(op, t->slot);
    if (arrived <= t->taken) {
        return CTN_STEP_WAIT;
    }
    if (t->staging == NULL) {
        t->taken = arrived;
        if (t->taken < t->fragments) {
            return CTN_STEP_WAIT;
        }
        op->exec->tally.bytes += block->bytes;
        conceal(op, t, false);
        return CTN_STEP_NEXT;
    }
    uint32_t index = t->taken;
    size_t bytes = fragment_bytes(block->bytes, t->shift, index);
    op->exec->tally.bytes += bytes;
    if ((t->posted >> index % CTN_STAGING_FRAGMENTS & 1) == 0) {
        ctn_span_write(op->exec, block, (size_t)index << t->shift, bytes,
                       staged(t));
    }
    if (t->posts && index + CTN_STAGING_FRAGMENTS < t->fragments) {
        post_fragment(op, t, block, index + CTN_STAGING_FRAGMENTS);
    }
    catena_status_t status = ctn_transfer_recv_consumed(op, t);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    return t->taken == t->fragments ? CTN_STEP_NEXT : CTN_STEP_MOVED;
}

void ctn_transfer_recv_close(const ctn_op_t *op, ctn_transfer_recv_t *t)
{
    /* After a failure the sender may still write to the staging buffers, unless
     * this member did all that others wait for. */
    if (t->memory != NULL && (op->status == CATENA_OK || op->clean)) {
        ctn_scratch_free(op->exec, t->memory, t->memory_bytes);
    }
    conceal(op, t, op->status != CATENA_OK && !op->clean);
    for (unsigned i = 0;
         op->status != CATENA_OK && t->posted != 0 && i < CTN_STAGING_FRAGMENTS;
         i++) {
        ctn_cancel_receive(op->exec->network, &t->slot->word[i]);
    }
    t->memory = NULL;
    t->memory_bytes = 0;
    t->posted = 0;
}

/* ---- the sender ---- */

bool ctn_transfer_has_cts(const ctn_op_t *op, const ctn_transfer_send_t *t)
{
    uint64_t word = ctn_word_load(&t->cts->word);
    return ctn_flag_matches(word, op->seq) && ctn_flag_count(word) > t->sent &&
           (t->digest == 0 || t->cts->bytes == t->digest);
}

unsigned ctn_transfer_send_shift(const ctn_transfer_send_t *t)
{
    return place_shift(t->cts->place);
}

static catena_status_t connect_to(const ctn_op_t *op, ctn_transfer_send_t *t)
{
    return t->endpoint != NULL
               ? CATENA_OK
               : ctn_op_connect(op, t->to.process, &t->endpoint);
}

/** The put of the fragments up to `last`: to offset `at` of the target, or to a
 * staging buffer.
 * @param word index of the word of the slot */
static ctn_put_t put_of(const ctn_op_t *op, const ctn_transfer_send_t *t,
                        uint64_t at, uint32_t last, unsigned word)
{
    uint64_t place = t->cts->place;
    if ((place & PLACE_STAGED) != 0) {
        at = (uint64_t)(t->sent % CTN_STAGING_FRAGMENTS) << place_shift(place);
    }
    uint64_t slot = t->slot != 0
                        ? t->slot
                        : ctn_slot_word_offset(op->sequence, t->to, op->seq,
                                               place >> SLOT_SHIFT & 255, 0);
    return (ctn_put_t){.endpoint = t->endpoint,
                       .offset = (place & CTN_CTS_OFFSET) + at,
                       .address = (place & PLACE_ADDRESS) != 0,
                       .word = slot + word * sizeof(uint64_t),
                       .value =
                           ctn_flag(op->seq, CTN_FRAGMENT_COUNT | (last + 1))};
}

catena_status_t ctn_transfer_put(ctn_op_t *op, ctn_transfer_send_t *t,
                                 const void *data, size_t bytes, uint64_t at,
                                 uint64_t *pending)
{
    catena_status_t status = connect_to(op, t);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_put_t put = put_of(op, t, at, t->sent, t->sent % CTN_STAGING_FRAGMENTS);
    t->sent++;
    op->exec->tally.messages++;
    return bytes == 0
               ? ctn_signal(t->endpoint, put.word, put.value)
               : ctn_put_signal(t->endpoint, ctn_exec_data(op->exec, data),
                                bytes, put.offset, put.word, put.value,
                                pending);
}

/** Put the next fragment of a block; to the target itself all of them in one
 * put, if they are contiguous here or this process can write there. As
 * ctn_put_spans. */
static int put_next(ctn_op_t *op, ctn_transfer_send_t *t,
                    const ctn_span_t *spans, size_t bytes, uint32_t fragments)
{
    uint64_t place = t->cts->place;
    unsigned shift = place_shift(place);
    size_t from = (size_t)t->sent << shift;
    bool whole = (place & PLACE_STAGED) == 0 &&
                 ((spans->type == NULL && spans->bytes == bytes) ||
                  ((place & PLACE_ADDRESS) == 0 &&
                   ctn_pointer(t->endpoint, place & CTN_CTS_OFFSET) != NULL));
    uint32_t last = whole ? fragments - 1 : t->sent;
    ctn_put_t put =
        put_of(op, t, from, last, whole ? 0 : last % CTN_STAGING_FRAGMENTS);
    ctn_span_cursor_t cursor = {spans, from};
    while (cursor.from > cursor.span->bytes) {
        cursor.from -= cursor.span++->bytes;
    }
    int sent = ctn_put_spans(op, &put, &cursor,
                             whole ? bytes - from
                                   : fragment_bytes(bytes, shift, t->sent));
    if (sent > 0) {
        t->sent = last + 1;
        op->exec->tally.messages++;
    }
    return sent;
}

ctn_step_t ctn_transfer_send_block(ctn_op_t *op, ctn_transfer_send_t *t,
                                   const ctn_span_t *spans, size_t bytes)
{
    if (!ctn_transfer_has_cts(op, t)) {
        return CTN_STEP_WAIT;
    }
    if (t->cts->place == CTN_CTS_REFUSED) {
        return CTN_STEP_NEXT;
    }
    uint32_t fragments = fragments_of(bytes, ctn_transfer_send_shift(t));
    catena_status_t status = connect_to(op, t);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    uint32_t before = t->sent;
    int sent;
    do {
        sent = put_next(op, t, spans, bytes, fragments);
    } while (sent > 0 && t->sent < fragments && ctn_transfer_has_cts(op, t));
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    return t->sent == fragments ? CTN_STEP_NEXT
           : t->sent > before   ? CTN_STEP_MOVED
                                : CTN_STEP_WAIT;
}
