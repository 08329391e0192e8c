/* Basic collectives that move data: each member that has some publishes them,
 * those that need them read them: one round.
 *
 * SHM-2, bcast: the root publishes its vector, all others read it.
 * SHM-6, gather: all others publish their blocks, the root reads them. Long
 * blocks they write to the root's buffer themselves, each its own while the
 * root copies its own: the root offers a place to each member as it arrives.
 * SHM-7, scatter: the root publishes each member's block in that member's
 * descriptor. Only the root needs to know where the blocks lie.
 * SHM-8, allgather: all publish their blocks and read those of all.
 *
 * Only members with zero-copy data wait at the end, until these have been read.
 * If oversubscribed, a copy for the readers is cheaper than that wait: a member
 * can then end and leave its core to the next one. For a bcast the wait took
 * longer than the copy in all measurements. */

#include "coll/bcol/shm/shm.h"
#include "core/hash.h"
#include "exec/attach.h"

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

/** Whether the root has what all others read. */
static bool from_root(const shm_call_t *call)
{
    return call->kind == CTN_BCAST || call->kind == CTN_SCATTER;
}

static bool publishes(const shm_call_t *call)
{
    return call->kind == CTN_ALLGATHER || is_root(call) == from_root(call);
}

static bool reads(const shm_call_t *call)
{
    return call->kind == CTN_ALLGATHER || is_root(call) != from_root(call);
}

static size_t bytes_of(const shm_call_t *call, uint32_t i)
{
    return call->basic->at[i + 1] - call->basic->at[i];
}

/** The block of member i in the root's send buffer. */
static const unsigned char *block_of(const shm_call_t *call, uint32_t i)
{
    return (const unsigned char *)call->basic->in + call->basic->at[i];
}

/** Scatter, at the root: publish the blocks of all others. */
static void publish_each(shm_call_t *call)
{
    uint64_t offset;
    size_t copies = 0; /* bytes that go to a copy area */
    for (uint32_t i = 0; i < call->shm->size; i++) {
        size_t bytes = bytes_of(call, i);
        if (i != call->shm->me && bytes > CTN_CHUNK_BYTES &&
            !shm_may_zcopy(call, i, block_of(call, i), bytes, &offset)) {
            copies += bytes;
        }
    }
    if (copies > 0) {
        shm_copy_area_take(call, copies);
    }
    for (uint32_t i = 0; i < call->shm->size; i++) {
        if (i != call->shm->me) {
            shm_publish(call, i, block_of(call, i), bytes_of(call, i));
        }
    }
}

/** The offer to member i. */
static shm_offer_t *offer_to(const shm_call_t *call, uint32_t i)
{
    _Static_assert(sizeof(shm_descriptor_t) + sizeof(shm_location_t) +
                           sizeof(shm_offer_t) <=
                       64,
                   "the least descriptor");
    return (void *)(shm_descriptor_of(call, i)->data + sizeof(shm_location_t));
}

/** Gather of two members with a core each: the shortest block that is written
 * to the root's buffer. What the root reads itself is in its own cache when the
 * program uses it (decision 0043). */
#define WRITTEN_BYTES CTN_PICK((size_t)1 << 18, (size_t)1 << 12)

/** Whether the data of a member are written to the root's buffer if the root
 * offers that. Both sides decide by their length. */
static bool is_long(const shm_call_t *call, size_t bytes)
{
    const shm_t *shm = call->shm;
    bool pair = shm->size == 2 && !shm->area.oversubscribed;
    return bytes >= call->zcopy_bytes &&
           bytes >= (pair ? WRITTEN_BYTES : CTN_ATTACH_BYTES);
}

static uint64_t tag_of(const shm_call_t *call, const shm_offer_t *offer)
{
    return ctn_hash_mix(ctn_hash_mix(call->seq ^ offer->place) ^ offer->bytes);
}

/** At the root: offer member i a place for its block, if it can write there. A
 * member with a short block may be staging it where the offer would be. */
static void offer_place(shm_call_t *call, uint32_t i)
{
    const ctn_exec_t *exec = call->shm->module.exec;
    unsigned char *to = (unsigned char *)call->basic->out + call->basic->at[i];
    shm_offer_t offer = {.bytes = bytes_of(call, i)};
    if (call->mismatch || !is_long(call, offer.bytes)) {
        return;
    }
    if (!ctn_heap_contains(exec->heap, to, offer.bytes, &offer.place)) {
        offer.place = (uintptr_t)to | CTN_BY_ADDRESS;
        if ((uintptr_t)to > CTN_PLACE_MOST ||
            offer.bytes < shm_attach_bytes(call->shm, SHM_KEPT_MOST + 1,
                                           SHM_KEPT_MOST + 1) ||
            !ctn_may_attach(exec, call->shm->peer[i].endpoint, offer.bytes)) {
            return;
        }
    }
    offer.tag = tag_of(call, &offer);
    *offer_to(call, i) = offer;
}

/** Gather, at the root: make all offers, and tell so by the own word. */
static bool make_offers(shm_call_t *call)
{
    if (!is_root(call)) {
        return true;
    }
    for (uint32_t i = 0; i < call->shm->size; i++) {
        if (i != call->shm->me) {
            offer_place(call, i);
        }
    }
    shm_set(call, &shm_descriptor_of(call, call->shm->me)->word);
    return true;
}

/** Write the block to the place that the root offers. */
static catena_status_t write_block(shm_call_t *call, const shm_offer_t *offer)
{
    ctn_endpoint_t *root = call->shm->peer[call->basic->root].endpoint;
    const void *block = call->basic->in;
    if ((offer->place & CTN_BY_ADDRESS) != 0) {
        return ctn_attach_write(call->shm->module.exec, root, block,
                                offer->bytes, offer->place & ~CTN_BY_ADDRESS);
    }
    shm_copy(call, ctn_pointer(root, offer->place), block, offer->bytes);
    return CATENA_OK;
}

/** Gather, at the others: write the block to its place, or publish it. */
static bool place_block(shm_call_t *call)
{
    ctn_exec_t *exec = call->shm->module.exec;
    uint32_t root = call->basic->root;
    if (is_root(call)) {
        return true;
    }
    if (call->mismatch || !is_long(call, call->basic->bytes)) {
        return shm_publish_in(call);
    }
    if (!shm_is_set_by(call, root, &shm_descriptor_of(call, root)->word)) {
        return false;
    }
    shm_offer_t offer = *offer_to(call, call->shm->me);
    if (offer.tag != tag_of(call, &offer) ||
        offer.bytes != call->basic->bytes) {
        return shm_publish_in(call);
    }
    /* A root that has failed uses its buffer for something else. */
    ctn_exec_check_abort_flag(exec);
    catena_status_t status =
        exec->status == CATENA_OK ? write_block(call, &offer) : exec->status;
    if (status == CATENA_OK) {
        shm_publish_placed(call, offer.bytes);
    } else {
        (void)ctn_exec_give_up(exec, call->shm->module.sequence->failure,
                               status);
    }
    return true;
}

/** The longest own block that the root of a scatter copies before it publishes
 * the others: stores to lines that others have read are slow, and those of the
 * own block would wait for them (2 ranks with a core each, 2
 * KiB: 0.52 us, not 0.70). */
#define OWN_FIRST_BYTES CTN_PICK(8192u, 256u)

/** Copy this member's own block to its place in the receive buffer. */
static void copy_own_block(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    const void *from = basic->in;
    void *to = basic->out;
    if (call->kind == CTN_SCATTER) {
        from = block_of(call, me);
    } else {
        to = (unsigned char *)to + basic->at[me];
    }
    bool valid = call->kind == CTN_SCATTER
                     ? shm_check_own(call, bytes_of(call, me), basic->bytes)
                     : shm_check_own(call, basic->bytes, bytes_of(call, me));
    if (valid && from != to) {
        shm_copy(call, to, from, basic->bytes);
    }
}

/** The same while the others arrive, unless it was done. */
static bool copy_own(shm_call_t *call)
{
    if (call->kind == CTN_ALLGATHER ||
        (is_root(call) &&
         (call->kind != CTN_SCATTER || call->basic->bytes > OWN_FIRST_BYTES))) {
        copy_own_block(call);
    }
    return true;
}

static bool publish(shm_call_t *call)
{
    if (publishes(call) && call->kind == CTN_SCATTER) {
        if (call->basic->bytes <= OWN_FIRST_BYTES) {
            copy_own_block(call);
        }
        publish_each(call);
    } else if (publishes(call)) {
        (void)shm_publish_in(call);
    }
    return true;
}

/** Copy what the root has published for this member. */
static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t i = call->kind == CTN_BCAST ? basic->root : call->shm->me;
    if (!reads(call)) {
        return true;
    }
    if (!shm_is_set_by(call, basic->root, &shm_descriptor_of(call, i)->word)) {
        return false;
    }
    return shm_take(call, i, basic->root, basic->out, basic->bytes);
}

/** Copy what all others have published. */
static bool take_all(shm_call_t *call)
{
    for (uint32_t i; reads(call) && (i = call->next) < call->shm->size;
         call->next++) {
        if (i == call->shm->me) {
            continue;
        }
        if (!shm_is_set(call, &shm_descriptor_of(call, i)->word) ||
            !shm_take(call, i, i,
                      (unsigned char *)call->basic->out + call->basic->at[i],
                      bytes_of(call, i))) {
            return false;
        }
    }
    return true;
}

const shm_algorithm_t shm_bcast = {.base = SHM_ALGORITHM("bcast", false),
                                   .step = {publish, take, shm_finish},
                                   .by_rule = true,
                                   .vector = true,
                                   .runs_inline = true};

const shm_algorithm_t shm_gather = {
    .base = SHM_ALGORITHM("gather", false),
    .step = {make_offers, place_block, copy_own, take_all, shm_finish},
    .by_rule = true};

const shm_algorithm_t shm_scatter = {
    .base = SHM_ALGORITHM("scatter", false),
    .step = {publish, copy_own, take, shm_finish},
    .by_rule = true,
    .by_address = true};

const shm_algorithm_t shm_allgather = {
    .base = SHM_ALGORITHM("allgather", true),
    .step = {publish, copy_own, take_all, shm_finish},
    .by_rule = true,
    .by_address = true,
    .runs_inline = true};
