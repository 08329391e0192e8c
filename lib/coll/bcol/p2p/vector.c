#include "coll/bcol/p2p/vector.h"

#include "exec/slot.h"

/* Counts in words: of pieces that may be sent, in the slot of grants; of pieces
 * that have arrived, in the receiver's. Words sent over one endpoint become
 * visible in order, so the last one says all. */

/** The first grant. Later ones are only words. */
typedef struct grant {
    uint64_t offset; /* of the target or of the stages, in the receiver's arena
                      */
    uint32_t stage_bytes; /* 0: it is the target */
    uint32_t slot;        /* where the receiver counts pieces; or REFUSED */
    uint64_t digest;      /* of the lengths */
} grant_t;

#define REFUSED UINT32_MAX

/** Added to a count of steps. Counts of pieces are smaller. */
#define STEPS (UINT32_C(1) << 31)

/** What a slot counts; 0: nothing has come. */
static uint32_t count_in(const ctn_op_t *op, unsigned slot)
{
    uint64_t word = ctn_word_load(&ctn_op_slot(op, slot)->word[0]);
    return ctn_flag_matches(word, op->seq) ? ctn_flag_count(word) : 0;
}

/* ---- the receiver ---- */

/** Where pieces are to go to: straight, or to stages. */
static catena_status_t find_place(ctn_op_t *op, ctn_inflow_t *flow,
                                  const ctn_inflow_plan_t *plan, grant_t *grant)
{
    ctn_heap_t *heap = op->exec->heap;
    if (plan->longest == 0 ||
        (plan->target != NULL &&
         ctn_heap_contains(heap, plan->target, plan->target_bytes,
                           &grant->offset))) {
        return CATENA_OK;
    }
    flow->stage_bytes = (plan->longest + 63) & ~(size_t)63;
    size_t bytes = CTN_FLOW_STAGES * flow->stage_bytes;
    flow->stage = ctn_scratch_alloc(op->exec, bytes);
    if (flow->stage == NULL) {
        flow->spare = true;
        flow->stage =
            ctn_op_eager(op, plan->spare_slot, plan->spare_slots, bytes);
    }
    if (flow->stage == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    grant->stage_bytes = (uint32_t)flow->stage_bytes;
    return ctn_heap_contains(heap, flow->stage, bytes, &grant->offset)
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

catena_status_t ctn_inflow_open(ctn_op_t *op, ctn_inflow_t *flow,
                                const ctn_inflow_plan_t *plan)
{
    *flow = (ctn_inflow_t){.from = plan->from,
                           .pieces = plan->pieces,
                           .slot = (uint8_t)plan->slot,
                           .grant_slot = (uint8_t)plan->grant_slot};
    grant_t grant = {.slot = plan->slot, .digest = plan->digest};
    catena_status_t status = find_place(op, flow, plan, &grant);
    if (status != CATENA_OK) {
        return status;
    }
    /* What another flow counted there is over, since nobody else was granted
     * anything. */
    ctn_word_store(&ctn_op_slot(op, flow->slot)->word[0], 0);
    uint32_t granted = flow->stage != NULL && flow->pieces > CTN_FLOW_STAGES
                           ? CTN_FLOW_STAGES
                           : flow->pieces;
    return ctn_op_send_count(op, flow->from, flow->grant_slot, granted, &grant,
                             sizeof(grant));
}

ctn_step_t ctn_inflow_next(const ctn_op_t *op, const ctn_inflow_t *flow,
                           const unsigned char **data)
{
    uint32_t count = count_in(op, flow->slot);
    if (count <= flow->taken || count >= STEPS) {
        return CTN_STEP_WAIT;
    }
    *data = flow->stage != NULL ? flow->stage + flow->taken % CTN_FLOW_STAGES *
                                                    flow->stage_bytes
                                : NULL;
    return CTN_STEP_NEXT;
}

catena_status_t ctn_inflow_took(ctn_op_t *op, ctn_inflow_t *flow)
{
    flow->taken++;
    if (flow->stage == NULL || flow->pieces - flow->taken < CTN_FLOW_STAGES) {
        return CATENA_OK; /* all are granted */
    }
    return ctn_op_send_count(op, flow->from, flow->grant_slot,
                             flow->taken + CTN_FLOW_STAGES, NULL, 0);
}

ctn_step_t ctn_inflow_take(ctn_op_t *op, ctn_inflow_t *flow,
                           unsigned char *target, size_t bytes)
{
    const unsigned char *data;
    ctn_step_t step = ctn_inflow_next(op, flow, &data);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (data != NULL && bytes > 0) {
        ctn_exec_copy(op->exec, target, data, bytes);
    }
    op->exec->tally.bytes += bytes;
    catena_status_t status = ctn_inflow_took(op, flow);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

void ctn_inflow_close(const ctn_op_t *op, ctn_inflow_t *flow)
{
    /* After a failure the sender may still write to the stages. */
    if (op->status == CATENA_OK && !flow->spare) {
        ctn_scratch_free(op->exec, flow->stage,
                         CTN_FLOW_STAGES * flow->stage_bytes);
    }
    flow->stage = NULL;
}

/* ---- the sender ---- */

void ctn_outflow_clear(const ctn_op_t *op, unsigned grant_slot)
{
    ctn_word_store(&ctn_op_slot(op, grant_slot)->word[0], 0);
}

static grant_t granted_by(const ctn_op_t *op, const ctn_outflow_t *flow)
{
    grant_t grant;
    memcpy(&grant, ctn_op_slot(op, flow->grant_slot)->data, sizeof(grant));
    return grant;
}

bool ctn_outflow_granted(const ctn_op_t *op, const ctn_outflow_t *flow)
{
    return count_in(op, flow->grant_slot) > flow->sent &&
           (flow->digest == 0 || granted_by(op, flow).digest == flow->digest);
}

/* ---- rings of members whose lengths differ ---- */

bool ctn_inflow_is_unfit(const ctn_op_t *op, const ctn_inflow_t *flow)
{
    return count_in(op, flow->slot) >= STEPS;
}

bool ctn_outflow_differs(const ctn_op_t *op, const ctn_outflow_t *flow)
{
    return count_in(op, flow->grant_slot) > 0 &&
           granted_by(op, flow).digest != flow->digest;
}

ctn_step_t ctn_flow_tell(ctn_op_t *op, ctn_flow_unfit_t *mismatch,
                         const ctn_inflow_t *in, const ctn_outflow_t *out,
                         unsigned slot, uint32_t heard, uint32_t steps)
{
    uint32_t count = count_in(op, in->slot);
    heard = count >= STEPS ? count - STEPS : heard;
    mismatch->heard = heard > mismatch->heard ? heard : mismatch->heard;
    uint32_t end = mismatch->heard < steps ? mismatch->heard + 1 : steps;
    /* The next member clears the slot before it sends its grant. A word that
     * comes earlier would be lost. */
    if (mismatch->told < end && count_in(op, out->grant_slot) > 0) {
        mismatch->told = end;
        catena_status_t status =
            ctn_op_send_count(op, out->to, slot, STEPS + end, NULL, 0);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    return mismatch->told == steps && mismatch->heard == steps ? CTN_STEP_NEXT
                                                               : CTN_STEP_WAIT;
}

catena_status_t ctn_outflow_put(ctn_op_t *op, ctn_outflow_t *flow,
                                const void *data, size_t bytes, uint64_t at,
                                uint64_t *pending)
{
    grant_t grant = granted_by(op, flow);
    uint32_t index = flow->sent++;
    if (bytes == 0) {
        return ctn_op_send_count(op, flow->to, grant.slot, flow->sent, NULL, 0);
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, flow->to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t offset =
        grant.offset + (grant.stage_bytes > 0 ? index % CTN_FLOW_STAGES *
                                                    (uint64_t)grant.stage_bytes
                                              : at);
    op->exec->tally.messages++;
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, data), bytes, offset,
        ctn_slot_word_offset(op->sequence, flow->to, op->seq, grant.slot, 0),
        ctn_flag(op->seq, flow->sent), pending);
}

/* ---- parts by themselves ---- */

catena_status_t ctn_part_expect(ctn_op_t *op, ctn_part_in_t *part,
                                ctn_address_t from, unsigned slot,
                                unsigned grant_slot, void *target, size_t bytes)
{
    *part = (ctn_part_in_t){.target = target, .bytes = bytes};
    ctn_inflow_plan_t plan = {.from = from,
                              .slot = slot,
                              .grant_slot = grant_slot,
                              .pieces = ctn_flow_pieces(bytes),
                              .longest = ctn_flow_piece(bytes, 0),
                              .target = target,
                              .target_bytes = bytes};
    return ctn_inflow_open(op, &part->flow, &plan);
}

catena_status_t ctn_part_refuse(ctn_op_t *op, ctn_address_t from,
                                unsigned grant_slot)
{
    grant_t grant = {.slot = REFUSED};
    return ctn_op_send_count(op, from, grant_slot, 1, &grant, sizeof(grant));
}

ctn_step_t ctn_part_receive(ctn_op_t *op, ctn_part_in_t *part)
{
    bool moved = false;
    while (part->taken < part->bytes) {
        size_t piece = ctn_flow_piece(part->bytes, part->taken);
        ctn_step_t step =
            ctn_inflow_take(op, &part->flow, part->target + part->taken, piece);
        if (step != CTN_STEP_NEXT) {
            return step == CTN_STEP_WAIT && moved ? CTN_STEP_MOVED : step;
        }
        part->taken += piece;
        moved = true;
    }
    ctn_inflow_close(op, &part->flow);
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_part_send(ctn_op_t *op, ctn_part_out_t *part)
{
    bool moved = false;
    while (part->sent < part->bytes) {
        if (!ctn_outflow_granted(op, &part->flow)) {
            return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
        }
        if (granted_by(op, &part->flow).slot == REFUSED) {
            return CTN_STEP_NEXT;
        }
        size_t piece = ctn_flow_piece(part->bytes, part->sent);
        catena_status_t status =
            ctn_outflow_put(op, &part->flow, part->data + part->sent, piece,
                            part->sent, &op->pending);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        part->sent += piece;
        moved = true;
    }
    return CTN_STEP_NEXT;
}
