/* A2A-9 l-a2a-plain, A2A-10 mpml-plain, A2A-11 nmpml-plain: alltoall through
 * leaders, one step after the other. Peng, Liu, Xie: GLEX-Alltoall, Algorithms
 * 1 to 4, as printed; baselines for A2A-2 to A2A-5.
 *
 * Gather: every member copies its blocks for each node to the leader of that
 * round, [round][member][member of the other node]. Fence of the node. The
 * leaders transpose all blocks. Exchange: in round i a leader sends to node
 * A + i and waits for the message of node A - i. Fence. Scatter: every member
 * copies its blocks from the leaders. Fence. A member's buffers may be any
 * memory, and in place needs nothing else, since all blocks are gathered before
 * any is scattered.
 *
 * Rounds: M, dealt to the leaders; round 0 is the node itself and has no
 * message. Messages: one for each pair of nodes, and a CTS for each. Memory: on
 * each node all blocks of its members three times, in the heaps of the leaders.
 * Differs from the paper: Algorithm 3 lets the leaders get and put the blocks;
 * its text and its model (equations 7 to 9) have one copy by each member at a
 * time. Leaders put into memory of the call, which a CTS announces, where the
 * paper has buffers that are registered beforehand. The blocks are transposed
 * once; Algorithm 3 does that before and after the exchange. */

#include "coll/alltoall/leaders/rounds.h"

#include <string.h>

#include "exec/observe.h"

static ctn_step_t begin(ctn_op_t *op)
{
    return ctn_leader_rounds_begin(op, true);
}

/* ---- gather and scatter ---- */

/** Copy this member's blocks for (`outgoing`), or from, the members of a node
 * to or from contiguous memory. Blocks of consecutive ranks are one copy. */
static void copy_blocks(ctn_op_t *op, const ctn_leader_rounds_t *a,
                        uint32_t node, bool outgoing, unsigned char *memory)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    const ctn_member_t *member = &table->member[table->first[node]];
    uint32_t n = ctn_member_table_count(table, node);
    const ctn_blocks_t *blocks = outgoing ? a->call.send : a->call.receive;
    for (uint32_t i = 0, run; i < n; i += run) {
        ctn_span_t block = ctn_blocks_at(blocks, member[i].rank);
        bool dense =
            block.type == NULL && blocks->step == (ptrdiff_t)blocks->bytes;
        for (run = 1; dense && i + run < n &&
                      member[i + run].rank == member[i].rank + run;
             run++) {
            block.bytes += blocks->bytes;
        }
        if (outgoing) {
            ctn_span_read(op->exec, &block, 0, block.bytes, memory);
        } else {
            ctn_span_write(op->exec, &block, 0, block.bytes, memory);
        }
        memory += block.bytes;
    }
}

/** Copy this member's blocks to (`outgoing`) or from the leaders. */
static void copy_all(ctn_op_t *op, const ctn_leader_rounds_t *a, bool outgoing)
{
    ctn_leader_round_places_t places = {0};
    size_t me = ctn_topo_local_rank(a->topo);
    uint64_t began = ctn_observe_begins(op->exec);
    size_t all = 0;
    for (uint32_t number = 0; number < a->topo->nodes; number++) {
        ctn_leader_round_t r = ctn_leader_round_at(a, number);
        size_t bytes = outgoing ? r.out : r.in;
        copy_blocks(op, a, outgoing ? r.to : r.from, outgoing,
                    ctn_leader_round_message(op, a, &r, outgoing, &places) +
                        me * (bytes / a->here));
        all += bytes / a->here;
    }
    ctn_observe_ends(op->exec, began, outgoing ? "gather" : "scatter", all);
}

static ctn_step_t gather(ctn_op_t *op)
{
    const ctn_leader_rounds_t *a = ctn_op_state(op);
    copy_all(op, a, true);
    ctn_node_arrive(op->exec, &a->topo->node_area, op->seq);
    return CTN_STEP_NEXT;
}

static ctn_step_t scatter(ctn_op_t *op)
{
    const ctn_leader_rounds_t *a = ctn_op_state(op);
    copy_all(op, a, false);
    ctn_node_set(op->exec,
                 ctn_node_departed(&a->topo->node_area, op->seq,
                                   ctn_topo_local_rank(a->topo)),
                 op->seq);
    return CTN_STEP_NEXT;
}

/* ---- the leaders ---- */

/** Transpose a message from [member here][member there] to [member there]
 * [member here]. */
static void transpose_message(ctn_op_t *op, const ctn_leader_rounds_t *a,
                              const ctn_leader_round_t *r,
                              const unsigned char *from, unsigned char *to)
{
    size_t bytes = a->bytes;
    size_t here = a->here;
    size_t there = r->out / bytes / here;
    for (size_t j = 0; j < there && !op->exec->drop_data; j++) {
        for (size_t i = 0; i < here; i++) {
            memcpy(to + (j * here + i) * bytes, from + (i * there + j) * bytes,
                   bytes);
        }
    }
    ctn_exec_charge(op->exec,
                    bytes < CTN_LINE ? CTN_WORK_TRANSPOSE : CTN_WORK_COPY,
                    r->out);
}

/** A leader transposes all that was gathered; the blocks that stay on the node
 * are then received. */
static ctn_step_t transpose(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    ctn_leader_round_t r = {0};
    uint64_t began = ctn_observe_begins(op->exec);
    for (bool more = a->area != NULL && ctn_leader_round_find(a, &r); more;
         more = ctn_leader_round_next(a, &r)) {
        unsigned char *to =
            r.number > 0 ? a->sent_from + r.out_at : a->received + r.in_at;
        transpose_message(op, a, &r, a->area + CTN_LINE + r.out_at + CTN_LINE,
                          to + CTN_LINE);
    }
    if (a->area != NULL) {
        ctn_observe_ends(op->exec, began, "transpose", r.out_at);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {
    {"begin", begin},
    {"fence before gather", ctn_leader_rounds_await_started},
    {"gather", gather},
    {"fence after gather", ctn_leader_rounds_await_gathered},
    {"transpose", transpose},
    {"exchange", ctn_leader_rounds_exchange},
    {"fence before scatter", ctn_leader_rounds_await_received},
    {"scatter", scatter},
    {"fence after scatter", ctn_leader_rounds_await_scattered},
    {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_leaders_plain = {
    .name = "alltoall/leaders-plain",
    .state_bytes = sizeof(ctn_leader_rounds_t),
    .phases = phases,
    .synchronizing = true,
    .finish = ctn_leader_rounds_finish,
    .release = ctn_alltoall_release,
};
