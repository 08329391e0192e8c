/* A2A-8: all blocks of a node in Morton order. Li, Zhang, Hoefler:
 * Cache-oblivious MPI all-to-all communications based on Morton order, IEEE
 * TPDS 29 (3), 2018. A Z curve passes through the p x p blocks, [receiver]
 * [sender], and is divided into p shares. Each member copies the blocks of its
 * share from send buffers to receive buffers, so that it accesses few senders
 * and few receivers at a time. Cost: one copy per byte, two waits for all
 * members, no memory. It requires one node, and all buffers in the heap and
 * contiguous; otherwise the operation becomes the direct alltoall. */

#include <string.h>

#include "coll/alltoall/alltoall.h"

/** State of the operation. */
typedef struct morton {
    ctn_alltoall_t call;
    ctn_topo_t *topo;
    uint32_t next; /* the member to wait for, by local rank */
    bool in_reach; /* of the members read, all buffers are in the heap and
                      contiguous */
    catena_status_t status;
} morton_t;

/** Publish this member's buffers. */
static ctn_step_t begin(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    m->topo = m->call.topo;
    ctn_posted_publish(op, m->topo, m->call.send, m->call.receive,
                       m->call.in_place, CTN_STAGED);
    m->next = 0;
    m->in_reach = true;
    m->status = CATENA_OK;
    return CTN_STEP_NEXT;
}

/** Wait for the buffer descriptors of all members. All members read the same
 * descriptors, so all of them copy, or all of them become the direct alltoall.
 */
static ctn_step_t gather(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    for (; m->next < ctn_topo_local_size(m->topo); m->next++) {
        const ctn_buffer_descriptor_t *descriptor =
            ctn_posted_find(op, m->topo, m->next);
        if (descriptor == NULL) {
            return CTN_STEP_WAIT;
        }
        if (descriptor->bytes != m->call.send->bytes) {
            m->status = ctn_posted_report_length(
                m->topo, ctn_topo_local_to_group(m->topo, m->next),
                descriptor->bytes, m->call.send->bytes);
        }
        m->in_reach &=
            descriptor->send != CTN_STAGED && descriptor->receive != CTN_STAGED;
    }
    if (m->status !=
        CATENA_OK) { /* so on all members, and none of them copies */
        return ctn_op_fail(op, m->status);
    }
    return m->in_reach ? CTN_STEP_NEXT
                       : ctn_op_become(op, &ctn_alltoall_direct);
}

/** Copy one block from the sender's to the receiver's buffer. */
static void copy_block(ctn_op_t *op, const morton_t *m, uint32_t receiver,
                       uint32_t sender)
{
    const ctn_topo_t *topo = m->topo;
    size_t bytes = m->call.send->bytes;
    const unsigned char *from = ctn_pointer(
        topo->peer[sender], ctn_topo_descriptor(topo, op->seq, sender)->send);
    unsigned char *to =
        ctn_pointer(topo->peer[receiver],
                    ctn_topo_descriptor(topo, op->seq, receiver)->receive);
    ctn_exec_copy(op->exec, to + ctn_topo_local(topo, sender)->rank * bytes,
                  from + ctn_topo_local(topo, receiver)->rank * bytes, bytes);
}

/** A part of the p x p blocks that the curve passes through in one piece: row
 * and column of its first block, and its side. */
typedef struct square {
    uint32_t row, column, side;
} square_t;

/** Blocks of a square that exist: those within the first n rows and columns. */
static uint64_t blocks_within(const square_t *s, uint32_t n)
{
    uint64_t rows = s->row >= n ? 0 : n - s->row;
    uint64_t columns = s->column >= n ? 0 : n - s->column;
    return (rows < s->side ? rows : s->side) *
           (columns < s->side ? columns : s->side);
}

/** Copy the square's blocks with the numbers [first, end) on the curve. *number
 * is the number of the square's first block, then of the one after its last. */
static void walk(ctn_op_t *op, const morton_t *m, square_t s, uint64_t first,
                 uint64_t end, uint64_t *number)
{
    uint64_t within = blocks_within(&s, ctn_topo_local_size(m->topo));
    if (within == 0 || *number + within <= first || *number >= end) {
        *number += within;
        return;
    }
    if (s.side == 1) {
        copy_block(op, m, s.row, s.column);
        ++*number;
        return;
    }
    uint32_t half = s.side / 2;
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        square_t quarter_square = {s.row + quarter / 2 * half,
                                   s.column + quarter % 2 * half, half};
        walk(op, m, quarter_square, first, end, number);
    }
}

/** Copy this member's share, and tell the other members. */
static ctn_step_t copy(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    uint64_t n = ctn_topo_local_size(m->topo);
    uint64_t me = ctn_topo_local_rank(m->topo);
    uint64_t number = 0;
    square_t all = {0, 0, 1};
    while (all.side < n) {
        all.side *= 2;
    }
    walk(op, m, all, me * n, (me + 1) * n, &number);
    m->next = 0;
    ctn_exec_post(op->exec,
                  ctn_node_departed(&m->topo->node_area, op->seq, (uint32_t)me),
                  ctn_flag64(op->seq));
    return CTN_STEP_NEXT;
}

/** Wait until all members have copied their shares. */
static ctn_step_t wait_for_all(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    const ctn_node_area_t *area = &m->topo->node_area;
    if (!ctn_node_all_set(area, &area->departed, op->seq, &m->next, 1)) {
        op->waits_for = ctn_topo_local(m->topo, m->next)->rank;
        return CTN_STEP_WAIT;
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"gather", gather},
                                     {"copy", copy},
                                     {"wait for all", wait_for_all},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_morton = {
    .name = "alltoall/morton",
    .state_bytes = sizeof(morton_t),
    .phases = phases,
    .synchronizing = true,
    .finish = ctn_alltoall_finish,
    .release = ctn_alltoall_release,
};
