#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "coll/bcol/p2p/aggregate.h"
#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/rounds.h"

#include "core/hash.h"
#include "exec/deaths.h"
#include "exec/slot.h"

/* ---- operations ---- */

static const ctn_algorithm_t *choose(ctn_module_t *module,
                                     ctn_basic_kind_t kind,
                                     const ctn_basic_coll_t *basic)
{
    return ctn_p2p_choose((ctn_p2p_t *)module, kind, basic);
}

static void set(ctn_op_t *op, ctn_module_t *module, ctn_basic_kind_t kind,
                const ctn_basic_coll_t *basic)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    memset(call, 0, op->algorithm->state_bytes);
    call->p2p = (ctn_p2p_t *)module;
    call->kind = kind;
    call->basic = basic;
}

static void begin_signature(ctn_op_t *op, uint16_t signature)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    call->signature = signature;
    call->p2p->signature[op->seq % CTN_P2P_GENERATIONS] = signature;
    call->status = call->basic != NULL && call->basic->mismatch ? CATENA_ERR_ARG
                                                                : CATENA_OK;
    call->peer_checks = op->exec->peer_checks;
    call->queried = 0;
    ctn_op_set_network(op, call->p2p->remote);
}

void ctn_p2p_begin(ctn_op_t *op)
{
    begin_signature(op, CTN_P2P_NO_SIGNATURE);
}

static uint16_t signature_of(unsigned algorithm, uint64_t lengths)
{
    return (uint16_t)(lengths << CTN_P2P_LENGTHS_SHIFT |
                      algorithm << CTN_P2P_ALGORITHM_SHIFT);
}

/* A signature has the number of chunks (vectors) or of passes (blocks, in the
 * bits above the digest of lengths), modulo a prime. Lengths that differ by
 * mistake often differ by a factor that is a power of two, and so do then the
 * numbers of chunks or passes. The remainders of two such numbers differ for
 * any factor below 2^1019 (chunks) or 2^60 (passes), unless both are multiples
 * of the prime. */
enum { CHUNKS_MODULUS = 2039, PASSES_MODULUS = 61, PASSES_SHIFT = 5 };

_Static_assert(CHUNKS_MODULUS < 1 << CTN_P2P_LENGTHS_BITS &&
                   PASSES_MODULUS << PASSES_SHIFT < 1 << CTN_P2P_LENGTHS_BITS,
               "remainders fit");

void ctn_p2p_begin_vector(ctn_op_t *op, unsigned algorithm)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    const ctn_basic_coll_t *basic =
        call->basic; /* NULL: a generation barrier */
    uint32_t chunks = basic != NULL ? basic->chunks : 0;
    begin_signature(op, signature_of(algorithm, chunks % CHUNKS_MODULUS));
}

void ctn_p2p_begin_blocks(ctn_op_t *op, unsigned algorithm, uint32_t passes)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    uint64_t digest = ctn_p2p_blocks_digest(call->basic, call->p2p->size);
    uint32_t lengths = passes % PASSES_MODULUS << PASSES_SHIFT;
    begin_signature(
        op, signature_of(algorithm, lengths | digest >> (64 - PASSES_SHIFT)));
}

void ctn_p2p_begin_alltoall(ctn_op_t *op, uint32_t radix)
{
    const ctn_basic_coll_t *basic = ((ctn_p2p_call_t *)ctn_op_state(op))->basic;
    uint64_t digest = ctn_hash_mix(basic->bytes);
    /* 2: so that numbers of chunks and radices seldom make up for each other */
    uint32_t lengths = (radix + 2 * basic->chunks) % PASSES_MODULUS
                       << PASSES_SHIFT;
    begin_signature(op, signature_of(CTN_P2P_ALLTOALL,
                                     lengths | digest >> (64 - PASSES_SHIFT)));
}

void ctn_p2p_begin_ring(ctn_op_t *op)
{
    begin_signature(op, signature_of(CTN_P2P_RING, 0));
}

void ctn_p2p_begin_pass(ctn_op_t *op, uint32_t pass)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    call->signature =
        (uint16_t)((call->signature & ~CTN_P2P_PASS) | (pass / 2 & 1));
}

static unsigned algorithm_of(uint16_t signature)
{
    return signature >> CTN_P2P_ALGORITHM_SHIFT &
           ((1u << (CTN_P2P_LENGTHS_SHIFT - CTN_P2P_ALGORITHM_SHIFT)) - 1);
}

/** The bits of a signature, as a mask, that may differ while members still
 * exchange the same number of messages, only with other lengths. */
static uint16_t lengths_in(uint16_t signature)
{
    unsigned algorithm = algorithm_of(signature);
    return algorithm == CTN_P2P_BRUCK || algorithm == CTN_P2P_REDUCE_SCATTER ||
                   algorithm == CTN_P2P_ALLTOALL
               ? ((1u << PASSES_SHIFT) - 1) << CTN_P2P_LENGTHS_SHIFT
               : 0;
}

/** Whether a slot holds a message of operation `seq` whose signature does not
 * match that of this member. */
static bool mismatches(const ctn_sequence_t *sequence, uint64_t seq,
                       unsigned slot, uint16_t signature)
{
    /* The word of a vector's message has a signature where others have a
     * turn. */
    uint32_t turn;
    uint16_t same = (uint16_t) ~(lengths_in(signature) | CTN_P2P_PASS);
    return ctn_message_turn(sequence, seq, slot, &turn) &&
           ((turn ^ signature) % CTN_TURNS & same) != 0;
}

/** Whether any slot holds a message with another signature (`mismatches`). In a
 * ring algorithm only the last slot receives signatures; the words of the
 * others hold counts. */
static bool any_mismatches(const ctn_p2p_t *p2p, uint64_t seq,
                           uint16_t signature)
{
    unsigned slots = ctn_p2p_slots(p2p->rounds);
    unsigned s = algorithm_of(signature) == CTN_P2P_RING ? slots - 1 : 0;
    while (s < slots && !mismatches(&p2p->sequence, seq, s, signature)) {
        s++;
    }
    return s < slots;
}

/** A member sent its vector by another algorithm or in another number of
 * chunks: give the operation up. */
CTN_COLD static void give_up_mismatch(ctn_op_t *op, uint32_t member)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    const ctn_sbgp_t *sbgp = call->p2p->module.sbgp;
    ctn_error(op->exec->log,
              "%s: rank %u has %zu bytes of a vector of %u chunks, and "
              "received a message of a vector of another length while it waits "
              "for rank %u; give the same count on all ranks",
              call->basic != NULL ? call->basic->call : op->algorithm->name,
              sbgp->member[sbgp->me].rank,
              call->basic != NULL ? call->basic->bytes : 0,
              call->basic != NULL ? call->basic->chunks : 0,
              sbgp->member[member].rank);
    op->status = ctn_op_give_up(op, CATENA_ERR_ARG);
}

/** Send this member's signature to a member for which it has waited long. That
 * member may itself wait for this one, and learns so that their signatures
 * differ. If several members send theirs to one member, it may see any of
 * them. */
CTN_COLD static void query(ctn_op_t *op, ctn_p2p_call_t *call, uint32_t member)
{
    unsigned slot = ctn_p2p_slots(call->p2p->rounds) - 1;
    if (call->queried != member + 1) {
        call->queried = member + 1;
        (void)ctn_message_send_zcopy(
            op, call->p2p->module.sbgp->member[member].memory, slot,
            call->signature, NULL, 0);
        op->exec->needs_flush = true;
    }
}

void ctn_p2p_look_for_mismatch(ctn_op_t *op, uint32_t member, unsigned slot)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    bool mismatched = mismatches(op->sequence, op->seq, slot, call->signature);
    bool peer_checks = op->exec->peer_checks != call->peer_checks;
    if (peer_checks) {
        call->peer_checks = op->exec->peer_checks;
        mismatched |= any_mismatches(call->p2p, op->seq, call->signature);
    }
    if (mismatched) {
        give_up_mismatch(op, member);
    } else if (peer_checks) {
        query(op, call, member);
    }
}

CTN_COLD void ctn_p2p_refuse_blocks(ctn_op_t *op, uint32_t member)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    if (call->status == CATENA_OK) {
        ctn_basic_report_counts(&call->p2p->module, call->basic, member);
        call->status = CATENA_ERR_ARG;
    }
}

/** Whether a message has arrived that differs from this operation only in the
 * lengths of blocks.
 * @param[out] turn of the message, if one has arrived */
static bool has_other_lengths(ctn_op_t *op, unsigned slot, uint32_t *turn)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    uint16_t lengths = lengths_in(call->signature);
    return lengths != 0 &&
           ctn_message_turn(op->sequence, op->seq, slot, turn) &&
           (*turn ^ call->signature) % CTN_TURNS != 0 &&
           ((*turn ^ call->signature) % CTN_TURNS & ~lengths) == 0;
}

ctn_step_t ctn_p2p_receive_blocks(ctn_op_t *op, uint32_t member, unsigned slot,
                                  size_t bytes, ctn_receive_handle_t *handle)
{
    ctn_p2p_call_t *call = ctn_op_state(op);
    const ctn_sbgp_member_t *from = &call->p2p->module.sbgp->member[member];
    uint32_t turn = call->signature;
    bool differ = handle->fetching && has_other_lengths(op, slot, &turn);
    ctn_step_t step = ctn_message_receive(op, from->memory, slot, turn, handle);
    op->waits_for = from->rank;
    if (step == CTN_STEP_WAIT && !handle->fetching) {
        differ = has_other_lengths(op, slot, &turn);
        if (!differ) {
            ctn_p2p_look_for_mismatch(op, member, slot);
            return step;
        }
        step = ctn_message_receive(op, from->memory, slot, turn, handle);
    }
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    call->found = handle->bytes;
    if (handle->bytes == CTN_MESSAGE_MISMATCH) {
        call->status = CATENA_ERR_ARG;
    } else if (differ && handle->bytes == bytes) {
        ctn_p2p_refuse_blocks(op, member);
    } else {
        (void)ctn_p2p_check_length(op, &call->status, member, handle->bytes,
                                   bytes);
    }
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_p2p_end_vector(ctn_op_t *op)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    return ctn_p2p_end(op, call->status);
}

bool ctn_p2p_check_length(ctn_op_t *op, catena_status_t *status,
                          uint32_t member, size_t bytes, size_t expected)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    if (bytes != expected && *status == CATENA_OK) {
        const ctn_sbgp_t *sbgp = call->p2p->module.sbgp;
        *status = ctn_message_report_length(
            op->exec, call->basic->call, sbgp->member[member].rank,
            sbgp->member[sbgp->me].rank, bytes, expected);
    }
    return bytes == expected;
}

ctn_step_t ctn_p2p_end(ctn_op_t *op, catena_status_t status)
{
    if (status == CATENA_OK) {
        return CTN_STEP_NEXT;
    }
    if (!op->clean) { /* members may wait for what this member sent last */
        op->clean = true;
        (void)ctn_op_flush(op);
    }
    if (op->pending > 0) {
        return CTN_STEP_WAIT;
    }
    if (op->algorithm->finish != NULL) {
        op->algorithm->finish(op); /* before the operation has failed, after
                                      which it would free nothing */
    }
    return ctn_op_fail(op, status);
}

void ctn_p2p_reduce(ctn_op_t *op, const void *left, const void *right,
                    void *out, size_t bytes)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, bytes);
    if (!op->exec->drop_data && call->status == CATENA_OK) {
        ctn_reduce(&call->basic->by, left, right, out, bytes);
    }
}

void ctn_p2p_copy(ctn_op_t *op, void *target, const void *source, size_t bytes)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    if (target != source && bytes > 0 && call->status == CATENA_OK) {
        ctn_exec_copy(op->exec, target, source, bytes);
    }
}

/* ---- modules ---- */

/** Check the slots of completed operations for messages of another signature.
 * The senders of such messages had vectors of other lengths, and may still
 * wait. */
static void check_completed(ctn_watch_t *watch)
{
    unsigned char *base = (unsigned char *)watch - offsetof(ctn_p2p_t, watch);
    ctn_p2p_t *p2p = (ctn_p2p_t *)(void *)base;
    const ctn_sequence_t *sequence = &p2p->sequence;
    if (sequence->failure != NULL && sequence->failure->status != CATENA_OK) {
        return; /* operations have ended without their messages */
    }
    for (uint64_t age = 1; age <= CTN_P2P_GENERATIONS; age++) {
        uint64_t seq = sequence->started - age;
        uint16_t signature = p2p->signature[seq % CTN_P2P_GENERATIONS];
        if (seq < sequence->complete && signature != CTN_P2P_NO_SIGNATURE &&
            any_mismatches(p2p, seq, signature)) {
            ctn_error(p2p->module.exec->log,
                      "rank %u received a message of an earlier collective in "
                      "which its own vector had another length; give the same "
                      "count on all ranks",
                      p2p->module.sbgp->member[p2p->me].rank);
            (void)ctn_exec_give_up(p2p->module.exec, sequence->failure,
                                   CATENA_ERR_ARG);
            return;
        }
    }
}

static ctn_op_t *make_generation_barrier(ctn_exec_t *exec,
                                         ctn_sequence_t *sequence)
{
    (void)exec;
    unsigned char *p2p =
        (unsigned char *)sequence - offsetof(ctn_p2p_t, sequence);
    ctn_op_t *op =
        ctn_op_take(exec, &ctn_p2p_dissemination.algorithm, sequence);
    if (op != NULL) {
        set(op, &((ctn_p2p_t *)(void *)p2p)->module, CTN_BARRIER, NULL);
    }
    return op;
}

static const ctn_sequence_hooks_t hooks = {.make_barrier =
                                               make_generation_barrier};

/** Bytes of the slots, rounded up to a page: eager buffers follow. */
static size_t slots_bytes(const ctn_p2p_t *p2p)
{
    size_t bytes = (size_t)ctn_p2p_slots(p2p->rounds) * CTN_P2P_GENERATIONS *
                   sizeof(ctn_slot_t);
    return (bytes + CTN_MEMBER_ALIGNMENT - 1) & ~(CTN_MEMBER_ALIGNMENT - 1);
}

/** Allocate a module's memory. Slots have to be zero, eager buffers do not. */
static void *take_memory(ctn_exec_t *exec, const ctn_p2p_t *p2p)
{
    size_t bytes = slots_bytes(p2p) + (size_t)CTN_P2P_GENERATIONS *
                                          ctn_p2p_eager_slots(p2p->rounds) *
                                          CTN_EAGER_BYTES;
    return ctn_heap_alloc_zeroed(exec->heap, CTN_MEMBER_ALIGNMENT, bytes,
                                 slots_bytes(p2p));
}

static void set_sequence(ctn_p2p_t *p2p)
{
    _Static_assert(CTN_CHUNK_BYTES <= CTN_EAGER_BYTES,
                   "a vector fits a message");
    ctn_sequence_t *sequence = &p2p->sequence;
    ctn_sequence_set(sequence, p2p->memory, CTN_P2P_GENERATIONS,
                     CTN_P2P_FLIGHT);
    sequence->eager_page = (uint8_t)(slots_bytes(p2p) / CTN_MEMBER_ALIGNMENT);
    sequence->eager_slots = (uint8_t)ctn_p2p_eager_slots(p2p->rounds);
    sequence->eager_units = CTN_EAGER_BYTES / CTN_EAGER_UNIT;
    sequence->used_slots = (uint8_t)ctn_p2p_slots(p2p->rounds); /* see query */
    sequence->hooks = &hooks;
    sequence->brittle = true;
    sequence->ahead = true;
    p2p->module.sequence = sequence;
}

static catena_status_t create(const ctn_bcol_t *bcol, ctn_exec_t *exec,
                              uint32_t size, uint32_t me, bool oversubscribed,
                              ctn_module_t **module, uint64_t *offset)
{
    (void)oversubscribed;
    bool network_only = bcol == &ctn_bcol_ucx;
    if (network_only && exec->network == NULL) {
        ctn_error(exec->log,
                  "a hierarchy requires ucx, but all ranks share a node and "
                  "no network was opened; set CATENA_NETWORK=y, or use shm or "
                  "p2p");
        return CATENA_ERR_ARG;
    }
    ctn_p2p_t *p2p = calloc(1, sizeof(*p2p));
    if (p2p == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    p2p->module = (ctn_module_t){.bcol = bcol, .exec = exec};
    p2p->size = size;
    p2p->me = me;
    while (UINT64_C(1) << p2p->rounds < size) {
        p2p->rounds++;
    }
    p2p->memory = take_memory(exec, p2p);
    if (p2p->memory == NULL) {
        free(p2p);
        return CATENA_ERR_NO_MEMORY;
    }
    set_sequence(p2p);
    p2p->sequence.network_only = network_only;
    memset(p2p->signature, UINT8_MAX,
           sizeof(p2p->signature)); /* CTN_P2P_NO_SIGNATURE */
    p2p->watch.check = check_completed;
    ctn_exec_watch(exec, &p2p->watch);
    (void)ctn_heap_contains(exec->heap, p2p->memory, 1, offset);
    *module = &p2p->module;
    return CATENA_OK;
}

static catena_status_t link(ctn_module_t *module, const ctn_sbgp_t *sbgp)
{
    ctn_p2p_t *p2p = (ctn_p2p_t *)module;
    assert(sbgp->size == p2p->size && sbgp->me == p2p->me);
    module->sbgp = sbgp;
    p2p->remote = p2p->sequence.network_only && p2p->size > 1;
    for (uint32_t i = 0; i < p2p->size && !p2p->remote; i++) {
        p2p->remote =
            !ctn_exec_is_local(module->exec, sbgp->member[i].memory.process);
    }
    return CATENA_OK;
}

static void destroy(ctn_module_t *module)
{
    ctn_p2p_t *p2p = (ctn_p2p_t *)module;
    ctn_exec_unwatch(module->exec, &p2p->watch);
    ctn_exec_free(module->exec, p2p->memory);
    free(p2p);
}

/* ---- the components ---- */

/* Trees without data have the shapes of reduce and bcast. */
#define P2P(its_name, its_help)                                                \
    {                                                                          \
        .name = (its_name), .help = (its_help), .create = create,              \
        .link = link, .destroy = destroy, .choose = choose, .set = set,        \
        .algorithms = {                                                        \
            [CTN_BARRIER] = CTN_P2P_BARRIERS,                                  \
            [CTN_FANIN] = CTN_P2P_SHAPES,                                      \
            [CTN_FANOUT] = CTN_P2P_SHAPES,                                     \
            [CTN_BCAST] = CTN_P2P_SHAPES,                                      \
            [CTN_REDUCE] = CTN_P2P_SHAPES,                                     \
            [CTN_ALLREDUCE] = CTN_P2P_ALLREDUCES,                              \
            [CTN_SCAN] = CTN_P2P_SCANS,                                        \
            [CTN_EXSCAN] = CTN_P2P_SCANS,                                      \
            [CTN_GATHER] = CTN_P2P_AGGREGATIONS,                               \
            [CTN_SCATTER] = CTN_P2P_AGGREGATIONS,                              \
            [CTN_ALLGATHER] = CTN_P2P_ALLGATHERS,                              \
            [CTN_REDUCE_SCATTER] = CTN_P2P_REDUCE_SCATTERS,                    \
            [CTN_ALLTOALL] = CTN_P2P_ALLTOALLS                                 \
        }                                                                      \
    }

const ctn_bcol_t ctn_bcol_p2p =
    P2P("p2p", "messages, through the shared heap or the network");
const ctn_bcol_t ctn_bcol_ucx =
    P2P("ucx", "messages, through the network also on a node");
