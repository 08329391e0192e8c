/* Reductions. The members' vectors are published, and reduced in the order of
 * members, each as soon as it is there; or by the balanced tree of members
 * (type/balanced.h), when all are there.
 *
 * SHM-3, reduce, SHM-4, allreduce, SHM-5, scan and exscan, "flat": all publish
 * their vectors, and each member that gets a result reduces those that it
 * needs: one round.
 *
 * Reduce and allreduce, "shared": all publish their vectors, each member
 * reduces one fragment of all vectors and publishes it, and those that get the
 * result collect the fragments: two rounds, but each vector is reduced only
 * once.
 *
 * Allreduce, "last": the last member to publish its vector reduces all of them
 * and publishes the result. If oversubscribed, that is as fast as one round: a
 * member that has published must wait for a core anyway, and finds the result
 * then.
 *
 * Scans, "chain", for long vectors: each member reduces its own vector with the
 * result of the member before it, and publishes that: up to size - 1 rounds,
 * but no work is done twice.
 *
 * All members get the same bits: each fragment is reduced by one member, and in
 * "flat" all members reduce in the same order. */

#include "coll/bcol/shm/shm.h"

/* Vectors of an allreduce from this length on are zero-copy. */
enum { ZCOPY_BYTES = 1024 };

/** A fragment of a vector. */
typedef struct fragment {
    size_t at; /* offset in the vector */
    size_t bytes;
} fragment_t;

/** The fragment that is all of the vector. */
static fragment_t all_of(const shm_call_t *call)
{
    return (fragment_t){0, call->basic->bytes};
}

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

/** Whether this member gets a result. */
static bool gets_result(const shm_call_t *call)
{
    return call->kind != CTN_REDUCE || is_root(call);
}

/* ---- folding ---- */

/** The fragment that member i reduces for all: whole elements, aligned to cache
 * lines if possible; it may be empty. */
static fragment_t fragment_of(const shm_call_t *call, uint32_t i)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t unit = basic->by.type->bytes;
    if (64 % unit == 0) { /* whole cache lines */
        unit = 64;
    }
    size_t units = (basic->bytes + unit - 1) / unit;
    size_t first = units * i / call->shm->size * unit;
    size_t end = units * (i + 1) / call->shm->size * unit;
    first = first < basic->bytes ? first : basic->bytes;
    end = end < basic->bytes ? end : basic->bytes;
    return (fragment_t){first, end - first};
}

/** Find the vector that member i has published; NULL: it has another length.
 * @return false: it is not published yet */
static bool find_vector(shm_call_t *call, uint32_t i,
                        const unsigned char **vector)
{
    if (i == call->shm->me) {
        *vector = call->own;
        return true;
    }
    if (!shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
        return false;
    }
    *vector = shm_published(call, i, i, call->basic->bytes);
    return true;
}

/** A fragment of all vectors. */
typedef struct operands {
    shm_call_t *call;
    size_t at; /* of the fragment */
} operands_t;

/** Of a member whose vector is published and valid. */
static const unsigned char *operand_of(void *from, uint32_t i)
{
    const operands_t *operands = from;
    const unsigned char *vector;
    (void)find_vector(operands->call, i, &vector);
    return vector + operands->at;
}

/** Reduce a fragment of the vectors of all members into `out`, by the balanced
 * tree, when all are published. Otherwise as `fold`. */
static bool fold_balanced(shm_call_t *call, fragment_t fragment, void *out)
{
    uint32_t size = call->shm->size;
    for (; call->next < size; call->next++) {
        const unsigned char *vector;
        if (!find_vector(call, call->next, &vector)) {
            return call->mismatch && !call->algorithm->base.synchronizing;
        }
    }
    if (!call->mismatch) {
        operands_t operands = {call, fragment.at};
        ctn_basic_reduce(&call->shm->module, call->basic, operand_of, &operands,
                         fragment.bytes, out);
    }
    return true;
}

/** Reduce a fragment of the vectors of members 0 to end - 1 into `out`, in the
 * order of members, each as soon as it is published; or, if the call says so,
 * by the balanced tree. Begins at member call->next, those before it were
 * reduced in earlier calls; stops at the first vector that is not published
 * yet. This member's vector is call->own, which may be `out` (shm_in_stays).
 * @return true: all are reduced */
static bool fold(shm_call_t *call, uint32_t end, fragment_t fragment, void *out)
{
    if (shm_is_balanced(call->shm, call->basic)) {
        return fold_balanced(call, fragment, out);
    }
    for (; call->next < end; call->next++) {
        const unsigned char *vector;
        if (!find_vector(call, call->next, &vector)) {
            /* After a mismatch other members may run another algorithm. In that
             * of a synchronizing collective all members publish, so wait for
             * them; otherwise some may not. */
            return call->mismatch && !call->algorithm->base.synchronizing;
        }
        if (call->mismatch) {
            continue;
        }
        if (call->next == 0) {
            call->left = vector + fragment.at; /* nothing to reduce yet */
        } else {
            shm_reduce(call, call->left, vector + fragment.at, out,
                       fragment.bytes);
            call->left = out;
        }
    }
    if (call->left != out && !call->mismatch) {
        shm_copy(call, out, call->left, fragment.bytes);
    }
    return true;
}

/* ---- flat ---- */

/** The root reads its own vector in place. But if the result is written there
 * before the root's vector is reduced, the vector is copied first. */
static void keep_own(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    call->own = basic->in;
    if (!shm_in_stays(call->shm, basic)) {
        void *place = shm_place_of(call, call->shm->me, basic->bytes);
        shm_copy(call, place, basic->in, basic->bytes);
        call->own = place;
    }
}

/** In place, the result of an allreduce would overwrite what other members may
 * still read. */
static bool publish_flat(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (call->kind == CTN_REDUCE && is_root(call)) {
        keep_own(call);
        return true;
    }
    if (basic->in == basic->out) {
        call->zcopy_bytes = SIZE_MAX;
    }
    shm_publish_own(call, basic->in, basic->bytes);
    if (shm_in_stays(call->shm, basic)) {
        call->own = basic->in;
    }
    return true;
}

/** Allreduce: if lengths differ, some members may run "last". All members fail
 * then, and count themselves, so that the counter is right for the next
 * operation that uses it. */
static void count_once(shm_call_t *call)
{
    if (call->kind == CTN_ALLREDUCE && call->mismatch && call->arrival == 0) {
        call->arrival = shm_count(call->shm, call->seq);
    }
}

static bool fold_flat(shm_call_t *call)
{
    uint32_t end = call->kind == CTN_SCAN     ? call->shm->me + 1
                   : call->kind == CTN_EXSCAN ? call->shm->me
                                              : call->shm->size;
    if (gets_result(call) && end > 0 &&
        !fold(call, end, all_of(call), call->basic->out)) {
        return false;
    }
    if (call->kind == CTN_REDUCE && is_root(call) && call->mismatch) {
        shm_publish_mark(call->shm, call->basic, call->seq);
    }
    count_once(call);
    return true;
}

/** Of reduce and scans. */
const shm_algorithm_t shm_flat = {.base = SHM_ALGORITHM("flat", false),
                                  .step = {publish_flat, fold_flat},
                                  .zcopy_bytes = SIZE_MAX,
                                  .vector = true,
                                  .runs_inline = true};

const shm_algorithm_t shm_flat_allreduce = {
    .base = SHM_ALGORITHM("flat", true),
    .step = {publish_flat, fold_flat, shm_finish},
    .zcopy_bytes = ZCOPY_BYTES,
    .vector = true,
    .runs_inline = true};

/* ---- shared ---- */

/** Reduce this member's fragment and publish it in its staging buffer. This
 * member's vector must not lie there. */
static bool fold_fragment(shm_call_t *call)
{
    uint32_t me = call->shm->me;
    fragment_t fragment = fragment_of(call, me);
    if (!fold(call, call->shm->size, fragment,
              shm_staging_of(call, me, call->basic->bytes) + fragment.at)) {
        return false;
    }
    ctn_node_arrive(call->shm->module.exec, &call->shm->area, call->seq);
    return true;
}

/** Wait for the fragments of all members, and if `copy`, copy them to
 * basic->out. That may be where this member's vector is: only the member that
 * publishes a fragment reads this fragment of the vectors, and it has done so.
 * @return true: all have arrived */
static bool collect_fragments(shm_call_t *call, bool copy)
{
    for (; call->next < call->shm->size; call->next++) {
        if (call->mismatch) {
            return true;
        }
        if (!shm_is_set(call, ctn_node_arrived(&call->shm->area, call->seq,
                                               call->next))) {
            return false;
        }
        fragment_t fragment = fragment_of(call, call->next);
        if (copy) {
            shm_copy(call, (unsigned char *)call->basic->out + fragment.at,
                     shm_staging_of(call, call->next, call->basic->bytes) +
                         fragment.at,
                     fragment.bytes);
        }
    }
    return true;
}

/** Vectors may be zero-copy even if the call is in place: a fragment of the
 * result is written when the only member that reads this fragment of the
 * vectors has read it. */
static bool publish(shm_call_t *call)
{
    (void)shm_publish_in(call);
    /* Not in the staging buffer, which is for this member's fragment. */
    call->own = call->basic->in;
    return true;
}

/** Copy the fragments of all members to the result. A member that gets none,
 * but whose vector is zero-copy, waits for all fragments, too: no member reads
 * the vectors any more then. */
static bool collect(shm_call_t *call)
{
    count_once(call);
    return (!gets_result(call) && !call->zcopy) ||
           collect_fragments(call, gets_result(call));
}

/* No member ends before all have started. Still a reduce is not marked as
 * synchronizing: members with another length may run "flat", which is not, and
 * all members must insert generation barriers at the same operation. */
const shm_algorithm_t shm_shared_reduce = {
    .base = SHM_ALGORITHM("shared", false),
    .step = {publish, fold_fragment, collect},
    .vector = true,
    .stages = true};

const shm_algorithm_t shm_shared_allreduce = {
    .base = SHM_ALGORITHM("shared", true),
    .step = {publish, fold_fragment, collect},
    .zcopy_bytes = ZCOPY_BYTES,
    .vector = true,
    .stages = true};

/* ---- allreduce: last ---- */

/** The last member to count itself reduces: all members have published their
 * vectors then. */
static bool fold_if_last(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    shm_last_t *last = shm_last_of(call);
    uint32_t size = call->shm->size;
    if (call->arrival == 0) {
        /* Acquire: see what the others published. Release: the last member sees
         * this member's vector. */
        call->arrival = shm_count(call->shm, call->seq);
    }
    if (call->arrival % size != 0) { /* not the last one */
        return true;
    }
    /* In the simulator a store reaches other ranks later, so a descriptor may
     * not be visible yet. */
    if (!fold(call, size, all_of(call),
              shm_place_of(call, call->shm->me, basic->bytes))) {
        return false;
    }
    last->folder = call->shm->me + (call->mismatch ? size : 0);
    shm_set(call, &last->word);
    return true;
}

/** After a long wait: members with another length may run another algorithm,
 * and count themselves only when they fail. So check all published lengths; if
 * one differs, all members fail.
 * @return whether there is a mismatch */
static bool check_lengths(shm_call_t *call)
{
    uint32_t size = call->shm->size;
    call->peer_checks = call->shm->module.exec->peer_checks;
    for (uint32_t i = 0; i < size; i++) {
        if (i != call->shm->me &&
            !shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < size; i++) {
        if (i != call->shm->me) {
            (void)shm_published(call, i, i, call->basic->bytes);
        }
    }
    return call->mismatch;
}

/** Copy the result of the last member. */
static bool take_last(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    const shm_last_t *last = shm_last_of(call);
    call->next = call->shm->size; /* no particular member */
    if (ctn_word_load(&last->word) != ctn_flag64(call->seq)) {
        return call->shm->module.exec->peer_checks != call->peer_checks &&
               check_lengths(call);
    }
    if (last->folder >= call->shm->size) {
        call->mismatch = true;
        call->status = CATENA_ERR_ARG;
        return true;
    }
    shm_copy(call, basic->out,
             shm_place_of(call, (uint32_t)last->folder, basic->bytes),
             basic->bytes);
    return true;
}

const shm_algorithm_t shm_last_allreduce = {
    .base = SHM_ALGORITHM("last", true),
    .step = {publish, fold_if_last, take_last},
    .zcopy_bytes = ZCOPY_BYTES,
    .vector = true};

/* ---- scans: chain ---- */

static bool is_last(const shm_call_t *call)
{
    return call->shm->me + 1 == call->shm->size;
}

/** Publish the reduction of the members up to this one, and set call->left to
 * that of the members before it. */
static bool publish_next(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    void *place = shm_place_of(call, me, basic->bytes);
    if (me == 0) {
        return shm_publish_in(call);
    }
    call->next = me - 1;
    if (!shm_is_set(call, &shm_descriptor_of(call, me - 1)->word)) {
        return false;
    }
    call->left = shm_published(call, me - 1, me - 1, basic->bytes);
    if (!is_last(call)) {
        if (call->left != NULL) {
            shm_reduce(call, call->left, basic->in, place, basic->bytes);
        }
        shm_publish(call, me, place, basic->bytes);
    }
    return true;
}

/** Scan: write the result. */
static bool take_inclusive(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (call->mismatch) {
        return true;
    }
    if (is_last(call) && call->shm->me > 0) {
        shm_reduce(call, call->left, basic->in, basic->out, basic->bytes);
    } else {
        shm_copy(call, basic->out,
                 shm_place_of(call, call->shm->me, basic->bytes), basic->bytes);
    }
    return true;
}

/** Exscan: write the result. */
static bool take_exclusive(shm_call_t *call)
{
    if (call->shm->me > 0 && !call->mismatch) {
        shm_copy(call, call->basic->out, call->left, call->basic->bytes);
    }
    return true;
}

#define CHAIN(second)                                                          \
    {                                                                          \
        .base = SHM_ALGORITHM("chain", false), .step = {publish_next, second}, \
        .zcopy_bytes = SIZE_MAX, .vector = true,                               \
    }

const shm_algorithm_t shm_chain_scan = CHAIN(take_inclusive);
const shm_algorithm_t shm_chain_exscan = CHAIN(take_exclusive);
