/* BAR-1: barrier. On one node with few members, or with more ranks than cores,
 * every member writes one word and reads the words of all (flat: one step, in
 * which no member depends on another one being scheduled twice). Otherwise each
 * node has a root, its node leader, which reads the words of its members
 * (gather) and writes one word that all of them read (release). Between gather
 * and release the roots of all nodes run a dissemination barrier (Hensgen,
 * Finkel, Manber: Two algorithms for barrier synchronization, IJPP 17, 1988).
 * Rounds between nodes: ceil(log2 nodes). Messages between nodes: one per root
 * and round. The two levels, node and network, are those of [Graham], figure 2.
 * If settings name a hierarchy or an algorithm for barriers, the barriers that
 * users call run in coll/ml/barrier.c instead. */

#include "coll/barrier.h"
#include "core/entry.h"
#include "group/recovery.h"
#include "split/call/call.h"

#include <catena/coll.h>
#include <stdio.h>

#include "coll/call/call.h"
#include "core/refuse.h"
#include "exec/inline.h"
#include "exec/slot.h"

/** State of a barrier or of a node fence. */
typedef struct group_barrier {
    /* argument */
    catena_group_t *group;
    /* working */
    ctn_topo_t *topo;
    const ctn_node_entries_t *flags; /* by which the members arrive */
    uint64_t seq;     /* of the barrier among those that use these flags */
    uint32_t arrived; /* the members below this local rank have arrived */
    bool flat;      /* every member waits for all others; else only the root */
    bool publishes; /* the node fence of a split */
    unsigned round; /* of the dissemination */
    bool sent;      /* the message of this round has been sent */
} group_barrier_t;

/** Whether all members that have not arrived last ran on other cores. */
static bool all_elsewhere(const group_barrier_t *barrier)
{
    const ctn_node_area_t *area = &barrier->topo->node_area;
    for (uint32_t i = barrier->arrived; i < area->members; i++) {
        if (!ctn_node_is_set(
                ctn_node_entry(area, barrier->flags, barrier->seq, i),
                barrier->seq, 1) &&
            !ctn_node_elsewhere(area, i)) {
            return false;
        }
    }
    return true;
}

/** Tell the node that this member has arrived. */
static inline void arrive(ctn_exec_t *exec, group_barrier_t *barrier,
                          const ctn_node_entries_t *flags, uint64_t seq)
{
    ctn_node_area_t *area = &barrier->topo->node_area;
    barrier->arrived = 0;
    barrier->flags = flags;
    barrier->seq = seq;
    ctn_node_set(exec, ctn_node_entry(area, flags, seq, area->me), seq);
    ctn_topo_report_cpu(exec, barrier->topo);
}

/** Whether all members have arrived. On an oversubscribed host, let the rank
 * spin if none of the missing members needs this core.
 * @param loads how often a missing member's flag is read */
static bool all_arrived(ctn_exec_t *exec, group_barrier_t *barrier,
                        uint32_t loads)
{
    if (ctn_node_all_set(&barrier->topo->node_area, barrier->flags,
                         barrier->seq, &barrier->arrived, loads)) {
        return true;
    }
    exec->spin_polls =
        exec->oversubscribed && all_elsewhere(barrier) ? CTN_SPIN_FOR_SOME : 0;
    return false;
}

/** Wait for the members of the node: in a flat barrier every member does, in
 * others only the root. */
static ctn_step_t gather(ctn_op_t *op)
{
    group_barrier_t *barrier = ctn_op_state(op);
    const ctn_topo_t *topo = barrier->topo;
    if ((!barrier->flat && ctn_topo_local_rank(topo) != 0) ||
        all_arrived(op->exec, barrier, 1)) {
        return barrier->flat ? CTN_STEP_DONE : CTN_STEP_NEXT;
    }
    op->waits_for = ctn_topo_local(topo, barrier->arrived)->rank;
    return CTN_STEP_WAIT;
}

static ctn_step_t begin(ctn_op_t *op)
{
    group_barrier_t *barrier = ctn_op_state(op);
    ctn_step_t step = ctn_topo_need(op, barrier->group, &barrier->topo);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    const ctn_topo_t *topo = barrier->topo;
    barrier->flat = topo->nodes == 1 && ctn_node_is_flat(&topo->node_area);
    barrier->round = 0;
    barrier->sent = false;
    arrive(op->exec, barrier, &topo->node_area.arrived, op->seq);
    op->phase++;
    return gather(op);
}

/** The roots only: run the dissemination barrier between the nodes. */
static ctn_step_t disseminate(ctn_op_t *op)
{
    group_barrier_t *barrier = ctn_op_state(op);
    const ctn_topo_t *topo = barrier->topo;
    if (ctn_topo_local_rank(topo) != 0) {
        return CTN_STEP_NEXT;
    }
    while (barrier->round < ctn_rounds(topo->nodes)) {
        const ctn_partner_t *partner =
            topo->leaders.log->round[barrier->round].side;
        if (!barrier->sent) {
            catena_status_t status = ctn_op_send(op, partner[CTN_RIGHT].address,
                                                 barrier->round, NULL, 0);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
            barrier->sent = true;
        }
        if (!ctn_op_arrived(op, barrier->round)) {
            op->waits_for = (int64_t)partner[CTN_LEFT].rank;
            ctn_op_set_network(op, true);
            return CTN_STEP_WAIT;
        }
        barrier->sent = false;
        barrier->round++;
    }
    return CTN_STEP_NEXT;
}

/** The root releases the members of its node, and these wait for it. */
static ctn_step_t release(ctn_op_t *op)
{
    group_barrier_t *barrier = ctn_op_state(op);
    const ctn_topo_t *topo = barrier->topo;
    op->waits_for = ctn_topo_local(topo, 0)->rank;
    return ctn_node_release(op->exec, &topo->node_area, op->seq, 0, 1)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"gather", gather},
                                     {"disseminate", disseminate},
                                     {"release", release},
                                     {NULL, NULL}};

static const ctn_algorithm_t barrier_algorithm = {
    .name = "barrier",
    .state_bytes = sizeof(group_barrier_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_barrier_create(catena_group_t *group)
{
    ctn_op_t *op =
        ctn_op_take(group->exec, &barrier_algorithm, &group->sequence);
    if (op != NULL) {
        group_barrier_t *barrier = ctn_op_state(op);
        barrier->group = group;
        barrier->publishes = false;
    }
    return op;
}

/** Hook: make a generation barrier or an epoch barrier. */
static ctn_op_t *make_barrier(ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    (void)exec;
    return ctn_barrier_create(ctn_group_of(sequence));
}

/** Hook: at an epoch barrier, zero the flags that the group's attachments keep
 * outside the slots. */
static void clear(ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    ctn_attachment_t *attachment = ctn_group_of(sequence)->attachments;
    for (; attachment != NULL; attachment = attachment->next) {
        if (attachment->clear != NULL) {
            attachment->clear(exec, attachment);
        }
    }
}

static const ctn_sequence_hooks_t hooks = {make_barrier, clear};

void ctn_barrier_set_hooks(catena_group_t *group)
{
    group->sequence.hooks = &hooks;
}

/* ---- node fence ---- */

/** Fences have no sequence, so their flags count them. */
static ctn_step_t begin_fence(ctn_op_t *op)
{
    group_barrier_t *barrier = ctn_op_state(op);
    ctn_topo_t *topo = ctn_topo_of(barrier->group);
    barrier->topo = topo;
    barrier->flat = true;
    if (barrier->publishes) {
        arrive(op->exec, barrier, &topo->publish_flags, topo->published++);
    } else {
        arrive(op->exec, barrier, &topo->fence_flags, topo->fences++);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t fence_phases[] = {
    {"begin", begin_fence}, {"gather", gather}, {NULL, NULL}};

static const ctn_algorithm_t fence_algorithm = {
    .name = "node fence",
    .state_bytes = sizeof(group_barrier_t),
    .phases = fence_phases,
};

ctn_op_t *ctn_fence_create(catena_group_t *group)
{
    ctn_op_t *op = ctn_op_create(group->exec, &fence_algorithm, NULL);
    if (op != NULL) {
        op->failure = ctn_group_failure(group);
        ((group_barrier_t *)ctn_op_state(op))->group = group;
    }
    return op;
}

ctn_op_t *ctn_publish_fence_create(catena_group_t *group)
{
    ctn_op_t *op = ctn_fence_create(group);
    if (op != NULL) {
        ((group_barrier_t *)ctn_op_state(op))->publishes = true;
    }
    return op;
}

/* ---- public ---- */

void ctn_barrier_explain(const catena_group_t *group, char *text, size_t bytes)
{
    const ctn_topo_t *topo = ctn_topo_known(group);
    if (group->barrier == CTN_BARRIER_UNKNOWN || topo == NULL ||
        topo->state != CTN_BUILT) {
        snprintf(text, bytes, "algorithm=none reason=\"has not run yet\"");
        return;
    }
    bool flat = ctn_node_is_flat(&topo->node_area);
    bool leads = ctn_topo_local_rank(topo) == 0;
    snprintf(text, bytes,
             "algorithm=%s nodes=%u messages=%u reason=\"no setting names a "
             "hierarchy or an algorithm\"",
             topo->nodes > 1 ? "root+dissemination"
             : flat          ? "flat"
                             : "root",
             topo->nodes, leads ? ctn_rounds(topo->nodes) : 0);
}

bool ctn_barrier_by_levels(catena_group_t *group)
{
    if (group->barrier == CTN_BARRIER_UNKNOWN) {
        group->barrier = ctn_hierarchy_is_configured(group, CTN_COLL_BARRIER)
                             ? CTN_BARRIER_LEVELS
                             : CTN_BARRIER_NODES;
    }
    return group->barrier == CTN_BARRIER_LEVELS;
}

/** Run a barrier through hierarchy levels, or create its request. */
static catena_status_t run_levels(catena_group_t *group, ctn_mode_t mode,
                                  catena_request_t **request)
{
    const ctn_arguments_t args = {.collective = &ctn_call_barrier};
    return ctn_ml_run(&ctn_ml_barrier, &args, group, mode, request);
}

/** Run a flat barrier inline if no other operation is in progress. False: it
 * must run as an operation.
 * @param record of the call; NULL: it has none yet, and gets it if this returns
 *               true. The other ranks wait for the arrival, so it is stored
 *               before the record */
static bool run_inline(catena_group_t *group, ctn_recorded_call_t **record,
                       catena_status_t *status)
{
    ctn_exec_t *exec = group->exec;
    group_barrier_t barrier = {.topo = ctn_topo_known(group)};
    const ctn_topo_t *topo = barrier.topo;
    uint64_t seq;
    if (topo == NULL || topo->state != CTN_BUILT || topo->nodes > 1 ||
        !ctn_node_is_flat(&topo->node_area) ||
        !ctn_inline_begin(exec, &group->sequence, &seq)) {
        return false;
    }
    ctn_backoff_t backoff = {0};
    arrive(exec, &barrier, &topo->node_area.arrived, seq);
    if (*record == NULL) {
        *record = ctn_call_enters(group, CTN_CODE_BARRIER, -1);
    }
    ctn_exec_wake(exec);
    uint32_t loads = exec->wait_policy.loads; /* for the first attempt */
    while (!all_arrived(exec, &barrier, loads) &&
           ctn_inline_yield(exec, &backoff)) {
        loads = 1;
    }
    *status = ctn_inline_end(exec, &group->sequence);
    return true;
}

/** What all ranks call; those of barriers by levels are checked with them. */
static const ctn_signature_t calls = {.root = -1, .code = CTN_CODE_BARRIER};
static const ctn_signature_t initializes = {
    .root = -1, .code = CTN_CODE_BARRIER, .form = CTN_SIGNED_PERSISTENT};

catena_status_t catena_barrier(catena_group_t *group)
{
    CTN_ENTRY;
    catena_status_t status;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return ctn_refuse_handle(ctn_call_barrier.name, "group", group);
    }
    if (group->barrier != CTN_BARRIER_NODES && ctn_barrier_by_levels(group)) {
        return run_levels(group, CTN_BLOCKING, NULL);
    }
    ctn_recorded_call_t *record = NULL;
    if (ctn_group_checks(group) || group->exec->observer != NULL) {
        record = ctn_call_enters(group, CTN_CODE_BARRIER, -1);
    }
    if (ctn_group_checks(group)) {
        status = ctn_check_call(group, &calls);
        if (status != CATENA_OK) {
            ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
            return status;
        }
    }
    if (!run_inline(group, &record, &status)) {
        if (record == NULL) {
            record = ctn_call_enters(group, CTN_CODE_BARRIER, -1);
        }
        status = ctn_group_run(group, ctn_barrier_create(group));
    }
    ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
    if (__builtin_expect(status != CATENA_OK, 0)) {
        ctn_log_returns_error(ctn_call_barrier.name, status);
    }
    return status;
}

/** Let an operation run on a hidden duplicate of the group, as a persistent
 * request. */
static catena_status_t make_persistent(ctn_op_t *op, catena_group_t *group,
                                       const ctn_signature_t *signature)
{
    ctn_hidden_t *hidden;
    op->persistent = true;
    catena_status_t status = ctn_hidden_make(group, signature, &hidden);
    if (status != CATENA_OK) {
        ctn_op_release(op);
        return status;
    }
    ((group_barrier_t *)ctn_op_state(op))->group = &hidden->group;
    op->sequence = &hidden->group.sequence;
    ctn_hidden_own(op, hidden);
    return CATENA_OK;
}

/** Create the request of a nonblocking or persistent flat barrier. */
static catena_status_t make_request(catena_group_t *group, ctn_mode_t mode,
                                    catena_request_t **request)
{
    const ctn_signature_t *checked = !ctn_group_checks(group) ? NULL
                                     : mode == CTN_PERSISTENT ? &initializes
                                                              : &calls;
    ctn_op_t *op = ctn_barrier_create(group);
    if (op == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    if (mode == CTN_PERSISTENT) {
        catena_status_t status = make_persistent(op, group, checked);
        if (status != CATENA_OK) {
            return status;
        }
    } else {
        ctn_call_start(group, checked, op, NULL);
    }
    *request = op;
    return CATENA_OK;
}

/** Body of both entry points of requests. */
static catena_status_t run_request(catena_group_t *group, ctn_mode_t mode,
                                   catena_request_t **request)
{
    const ctn_arguments_t args = {.collective = &ctn_call_barrier};
    ctn_recorded_call_t *record;
    if (!CTN_UNUSABLE(group, CTN_GROUP) && ctn_barrier_by_levels(group)) {
        return run_levels(group, mode, request);
    }
    catena_status_t status =
        ctn_arguments_begin(&args, group, mode, request, &record);
    if (status != CATENA_OK) {
        return status;
    }
    status = make_request(group, mode, request);
    ctn_arguments_returns(&args, group, record, mode, status, request);
    return status;
}

catena_status_t catena_ibarrier(catena_group_t *group,
                                catena_request_t **request)
{
    CTN_ENTRY;
    return run_request(group, CTN_NONBLOCKING, request);
}

catena_status_t catena_barrier_init(catena_group_t *group,
                                    catena_request_t **request)
{
    CTN_ENTRY;
    return run_request(group, CTN_PERSISTENT, request);
}
