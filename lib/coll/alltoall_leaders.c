/* A2A-2 l-a2a, A2A-3 mpml, A2A-4 nmpml, A2A-5 onmpml: alltoall through
 * leaders. Peng, Liu, Xie: GLEX-Alltoall, Algorithms 1 to 5; one
 * implementation with the number of leaders, their placement and the overlap
 * as parameters. Messages between nodes: one per pair of nodes and
 * CTN_STAGE_BYTES. Memory: CTN_STAGE_SLOTS pieces per virtual leader, for
 * each ring it receives on and each operation it sends for, whatever the size
 * of the message. Differs from the paper: virtual leaders, so nodes of any size
 * work; nodes are paired, so that in place needs no second buffer; blocks are
 * transposed in the gather, so that what arrives is copied once; blocks that
 * stay on the node go from member to member without a leader; the two barriers
 * are words that only those wait for who need them. Without overlap the steps
 * (gather, send, receive, scatter) follow each other for as many pieces as
 * there are staging slots, then again.
 *
 * Buffers in the heap are read and written by the leaders. A member whose
 * buffer is elsewhere fills its part into the opened piece itself, and takes
 * its part from the delivered piece: the leader's staging bounds the memory,
 * and each byte is still copied once. */

#include "coll/leaders.h"

/* ---- beginning ---- */

static ctn_step_t need_topology(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    return ctn_roster_need(op, a->call.group, &a->topo);
}

static ctn_step_t need_plan(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    return ctn_plan_need(op, a->topo, a->leading.leaders, a->leading.placement,
                         &a->plan);
}

/** Say to the node where this member's buffers are. */
static void announce(ctn_op_t *op, ctn_leaders_t *a)
{
    const ctn_alltoall_t *call = &a->call;
    size_t all = call->bytes * a->topo->roster.size;
    ctn_post_t *post = ctn_leaders_post(op, a, ctn_topo_local_rank(a->topo));
    post->send = ctn_heap_place(op->exec, call->send, all);
    post->receive = ctn_heap_place(op->exec, call->receive, all);
    a->push = post->send == CTN_STAGED;
    a->take = post->receive == CTN_STAGED;
    ctn_exec_post(op->exec, &post->word, ctn_tag(op->seq, 0));
}

static void begin_local(ctn_op_t *op, ctn_leaders_t *a)
{
    a->local = (ctn_pairwise_t){
        .topo = a->topo,
        .n = ctn_topo_local_size(a->topo),
        .me = ctn_topo_local_rank(a->topo),
        .send = a->call.send,
        .receive = a->call.receive,
        .bytes = a->call.bytes,
        .in_place = a->call.in_place,
    };
    ctn_pairwise_begin(op, &a->local);
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    a->geometry = ctn_geometry(a->plan, a->call.bytes, a->call.in_place);
    a->geometry.drop_data = op->exec->drop_data;
    a->set = op->seq % CTN_FLIGHT;
    a->here = 0;
    a->departed = 0;
    a->local_done = a->led = false;
    a->any_staged_send = a->any_staged_receive = false;
    announce(op, a);
    if (a->push || a->take) {
        ctn_service_begin(a);
    }
    ctn_ports_begin(a);
    begin_local(op, a);
    ctn_op_set_network(op, a->plan->ports > 0);
    return CTN_STEP_NEXT;
}

/** Learn where the buffers of the node's members are; leaders only. */
static bool all_here(ctn_op_t *op, ctn_leaders_t *a)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    const unsigned char **source = a->plan->source[a->set];
    unsigned char **target = a->plan->target[a->set];
    for (; a->here < n; a->here++) {
        uint32_t i = a->here;
        const ctn_post_t *post = ctn_leaders_post(op, a, i);
        if (ctn_word_load(&post->word) != ctn_tag(op->seq, 0)) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
        if (i == ctn_topo_local_rank(a->topo)) {
            source[i] = a->call.send; /* within reach wherever they are */
            target[i] = a->call.receive;
            continue;
        }
        ctn_endpoint_t *peer = a->topo->peer[i];
        source[i] =
            post->send != CTN_STAGED ? ctn_pointer(peer, post->send) : NULL;
        target[i] = post->receive != CTN_STAGED
                        ? ctn_pointer(peer, post->receive)
                        : NULL;
        a->any_staged_send |= source[i] == NULL;
        a->any_staged_receive |= target[i] == NULL;
    }
    return true;
}

/* ---- everything together ---- */

/** The hosted ports: NEXT when all are through. */
static ctn_step_t lead(ctn_op_t *op, ctn_leaders_t *a)
{
    ctn_plan_t *plan = a->plan;
    bool moved = false;
    bool done = true;
    if (plan->ports == 0) {
        return CTN_STEP_NEXT;
    }
    if (!all_here(op, a)) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t i = 0; i < plan->ports; i++) {
        ctn_port_t *port = &plan->port[i];
        if (!port->run[a->set].done) {
            int result = ctn_port_advance(op, a, port);
            if (result < 0) {
                return ctn_op_fail(op, (catena_status_t)result);
            }
            moved |= result > 0;
        }
        done &= port->run[a->set].done;
    }
    return done ? CTN_STEP_NEXT : moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/** A host says that it is through with the buffers of its node. */
static void depart(ctn_op_t *op, ctn_leaders_t *a)
{
    uint32_t me = ctn_topo_local_rank(a->topo);
    a->led = true;
    if (a->plan->ports > 0) {
        ctn_op_set_network(op, false);
        ctn_exec_post(op->exec, ctn_leaders_departed(op, a, me),
                      ctn_tag(op->seq, 0));
    }
}

static ctn_step_t exchange(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    ctn_step_t local =
        a->local_done ? CTN_STEP_NEXT : ctn_pairwise_advance(op, &a->local);
    ctn_step_t led = a->led ? CTN_STEP_NEXT : lead(op, a);
    if (local == CTN_STEP_FAIL || led == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    bool moved = local == CTN_STEP_MOVED || led == CTN_STEP_MOVED;
    if (local == CTN_STEP_NEXT && !a->local_done) {
        a->local_done = moved = true;
    }
    if (led == CTN_STEP_NEXT && !a->led) {
        depart(op, a);
        moved = true;
    }
    ctn_step_t served = ctn_service_advance(op, a);
    if (a->local_done && a->led && served == CTN_STEP_NEXT) {
        return CTN_STEP_NEXT;
    }
    return moved || served == CTN_STEP_MOVED ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/** Our buffers are our own again when all hosts on the node are through. */
static ctn_step_t wait_for_leaders(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    for (; a->departed < a->plan->leaders; a->departed++) {
        uint32_t host = a->plan->host[a->departed];
        if (ctn_word_load(ctn_leaders_departed(op, a, host)) !=
            ctn_tag(op->seq, 0)) {
            op->waits_for = ctn_topo_local(a->topo, host)->rank;
            return CTN_STEP_WAIT;
        }
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"topology", need_topology},
                                     {"plan", need_plan},
                                     {"begin", begin},
                                     {"exchange", exchange},
                                     {"wait for leaders", wait_for_leaders},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_leaders = {
    .name = "alltoall/leaders",
    .state_bytes = sizeof(ctn_leaders_t),
    .phases = phases,
    .synchronizing = true,
};

_Static_assert(sizeof(ctn_leaders_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");

ctn_leading_t *ctn_alltoall_leading(ctn_op_t *op)
{
    return &((ctn_leaders_t *)ctn_op_state(op))->leading;
}
