/* Exchange of larger blocks among the members of a node. Each member publishes
 * a descriptor of its buffers. When it sees the descriptor of another member,
 * it copies its block from that member's send buffer, and sets the flag of the
 * pair. If one of a pair cannot read the other's buffer, both send their blocks
 * in slots. A descriptor holds the length of the blocks, and members with
 * different lengths exchange no block. One cache line tells all members what
 * would otherwise take a CTS for each, and all flags that a member waits for
 * are adjacent. Descriptors and flags are reused by generation
 * (exec/generations.h).
 *
 * The receiver copies since its program uses the data next: they are in its
 * cache then (decision 0043). */

#include "coll/alltoall/pairwise.h"

#include "core/copy.h"
#include "exec/attach.h"
#include "exec/message.h"

/** The most bytes of all blocks of a member that it copies into the heap if
 * others can read them in no other way (8 ranks on 2 cores, 8 KiB: 31 us
 * instead of 42; from 256 KiB on slots are as fast). */
#define COPY_MOST CTN_PICK((size_t)1 << 17, (size_t)1 << 13)

_Static_assert(CTN_SOURCE_COPY > CTN_PLACE_MOST &&
                   CTN_SOURCE_SCATTERS < CTN_BY_ADDRESS,
               "free bits of a place");

/** Whether all other members of the node may read `bytes` of this one by their
 * address. */
static bool may_all_attach(const ctn_op_t *op, const ctn_topo_t *topo,
                           size_t bytes)
{
    bool may = bytes >= CTN_ATTACH_BYTES;
    for (uint32_t i = 0; may && i < ctn_topo_local_size(topo); i++) {
        may = i == ctn_topo_local_rank(topo) ||
              ctn_may_attach(op->exec, topo->peer[i], bytes);
    }
    return may;
}

/** Whether blocks that others cannot read are sent eager in slots, not copied
 * into the heap: of two members with a core each (8 KiB: 2.2 us, not 2.5). */
static bool are_eager(const ctn_topo_t *topo, size_t bytes)
{
    return ctn_topo_local_size(topo) == 2 && !topo->oversubscribed &&
           bytes <= ctn_group_eager_bytes(topo->group);
}

/** Copy the blocks for the others into the heap, to posted->copy.
 * @return its offset and CTN_SOURCE_COPY; CTN_STAGED: none is made */
static uint64_t copy_blocks(const ctn_op_t *op, const ctn_topo_t *topo,
                            const ctn_blocks_t *send, ctn_posted_t *posted)
{
    uint32_t n = ctn_topo_local_size(topo);
    size_t bytes = send->bytes;
    uint64_t offset = CTN_STAGED;
    posted->copy_bytes = n * bytes;
    posted->copy = posted->copy_bytes <= COPY_MOST
                       ? ctn_scratch_alloc(op->exec, posted->copy_bytes)
                       : NULL;
    for (uint32_t i = 0; posted->copy != NULL && i < n; i++) {
        ctn_span_t block =
            ctn_blocks_at(send, ctn_topo_local_to_group(topo, i));
        if (i != ctn_topo_local_rank(topo)) {
            ctn_span_read(op->exec, &block, 0, bytes, posted->copy + i * bytes);
        }
    }
    if (posted->copy != NULL) {
        (void)ctn_heap_contains(op->exec->heap, posted->copy, 1, &offset);
        offset |= CTN_SOURCE_COPY;
    }
    return offset;
}

/** Where other members may read the blocks that this one sends: in the heap, by
 * their address, or in a copy.
 * @param offset of them in the arena; CTN_STAGED: not there, or in place
 * @param posted NULL: no copy is made */
static uint64_t source_of(const ctn_op_t *op, const ctn_topo_t *topo,
                          const ctn_blocks_t *send, const ctn_blocks_t *receive,
                          uint64_t offset, ctn_posted_t *posted)
{
    bool scatters = ctn_blocks_at(receive, 0).type != NULL;
    if (offset == CTN_STAGED && !scatters && send->base != receive->base &&
        ctn_blocks_at(send, 0).type == NULL &&
        (uintptr_t)send->base <= CTN_PLACE_MOST &&
        may_all_attach(op, topo, send->bytes)) {
        return (uintptr_t)send->base | CTN_BY_ADDRESS;
    }
    if (offset == CTN_STAGED && posted != NULL &&
        !are_eager(topo, send->bytes)) {
        offset = copy_blocks(op, topo, send, posted);
    }
    return offset != CTN_STAGED && scatters ? offset | CTN_SOURCE_SCATTERS
                                            : offset;
}

void ctn_posted_publish(const ctn_op_t *op, const ctn_topo_t *topo,
                        const ctn_blocks_t *send, const ctn_blocks_t *receive,
                        uint64_t rows, ctn_posted_t *posted)
{
    uint32_t n = topo->member_table.size;
    bool in_place = send->base == receive->base;
    ctn_buffer_descriptor_t *descriptor =
        ctn_topo_descriptor(topo, op->seq, ctn_topo_local_rank(topo));
    descriptor->rows = rows;
    descriptor->send = ctn_blocks_base(op->exec, send, n);
    descriptor->receive = ctn_blocks_base(op->exec, receive, n);
    descriptor->bytes = receive->counts == NULL ? receive->bytes : 0;
    descriptor->source =
        receive->counts == NULL
            ? source_of(op, topo, send, receive,
                        in_place ? CTN_STAGED : descriptor->send, posted)
            : CTN_STAGED;
    ctn_exec_post(op->exec, &descriptor->word, ctn_flag64(op->seq));
}

catena_status_t ctn_posted_report_length(const ctn_topo_t *topo, uint32_t from,
                                         uint64_t found, uint64_t expected)
{
    const catena_group_t *group = topo->group;
    return ctn_message_report_length(group->exec, "alltoall", from,
                                     group->chain.place.rank, found, expected);
}

void ctn_posted_begin(ctn_op_t *op, ctn_pairwise_t *x)
{
    ctn_posted_t *posted = &x->posted;
    if (!x->published) {
        ctn_posted_publish(op, x->topo, x->send, x->receive, CTN_STAGED,
                           posted);
    }
    uint32_t n = ctn_topo_local_size(x->topo);
    uint32_t me = ctn_topo_local_rank(x->topo);
    posted->undecided =
        (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) & ~(UINT64_C(1) << me);
    const ctn_buffer_descriptor_t *own =
        ctn_topo_descriptor(x->topo, op->seq, me);
    /* Then no CTS need wait for a descriptor. */
    posted->staged = own->source == CTN_STAGED ? posted->undecided : 0;
    posted->awaited = 0;
    posted->peer_checks = op->exec->peer_checks;
    posted->past_caches =
        ctn_copy_exceeds_caches(2 * (size_t)n * n * x->receive->bytes);
}

/** Copy the block of member i for this one.
 * @param source see its descriptor
 * @return whether it is there. A peer that has aborted may have used its buffer
 *         for something else */
static bool read_block(ctn_op_t *op, const ctn_pairwise_t *x, uint32_t i,
                       uint64_t source)
{
    const ctn_topo_t *topo = x->topo;
    uint32_t me = ctn_topo_local_rank(topo);
    uint32_t number = (source & CTN_SOURCE_COPY) != 0
                          ? me
                          : ctn_topo_local_to_group(topo, me);
    ctn_span_t block =
        ctn_blocks_at(x->receive, ctn_topo_local_to_group(topo, i));
    uint64_t at = (source & ~(CTN_SOURCE_COPY | CTN_SOURCE_SCATTERS)) +
                  number * block.bytes;
    bool there = true;
    if (!ctn_is_address(at) && x->posted.past_caches && block.type == NULL &&
        !op->exec->drop_data) {
        ctn_copy_past_caches(block.base, ctn_pointer(topo->peer[i], at),
                             block.bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, block.bytes);
    } else {
        there = ctn_read_place(op->exec, topo->peer[i], at, &block);
    }
    ctn_exec_check_abort_flag(op->exec);
    return there && op->exec->status == CATENA_OK;
}

/** Whether two members read their blocks from each other, given the sources in
 * their descriptors. */
static bool are_read(uint64_t a, uint64_t b)
{
    return a != CTN_STAGED && b != CTN_STAGED &&
           (((a | b) & CTN_BY_ADDRESS) == 0 ||
            ((a | b) & CTN_SOURCE_SCATTERS) == 0);
}

/** Member i has blocks of another length: exclude it. */
CTN_COLD static void drop_member(ctn_pairwise_t *x, uint32_t i, uint64_t bytes)
{
    uint64_t bit = UINT64_C(1) << i;
    x->posted.undecided &= ~bit;
    x->posted.staged &= ~bit;
    x->status = ctn_posted_report_length(
        x->topo, ctn_topo_local_to_group(x->topo, i), bytes, x->receive->bytes);
}

/** For long waits: exclude members that have sent shorter blocks, in eager
 * rows. True: there were some. */
CTN_COLD static bool check_mismatch(ctn_op_t *op, ctn_pairwise_t *x)
{
    uint64_t before = x->posted.undecided;
    x->posted.peer_checks = op->exec->peer_checks;
    for (uint64_t left = x->posted.undecided; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        uint64_t bytes;
        if (ctn_eager_rows_find(x->topo, op->seq, i, &bytes)) {
            drop_member(x, i, bytes);
        }
    }
    return x->posted.undecided != before;
}

/** Copy the block of member i, and tell it so, if its descriptor has been
 * published. */
static bool exchange_with(ctn_op_t *op, ctn_pairwise_t *x, uint32_t i)
{
    const ctn_topo_t *topo = x->topo;
    ctn_posted_t *posted = &x->posted;
    uint32_t me = ctn_topo_local_rank(topo);
    const ctn_buffer_descriptor_t *own = ctn_topo_descriptor(topo, op->seq, me);
    const ctn_buffer_descriptor_t *descriptor = ctn_posted_find(op, topo, i);
    uint64_t bit = UINT64_C(1) << i;
    if (descriptor == NULL) {
        return false;
    }
    if (descriptor->bytes != x->send->bytes) {
        drop_member(x, i, descriptor->bytes);
        return true;
    }
    posted->undecided &= ~bit;
    if (!are_read(own->source, descriptor->source)) {
        posted->staged |= bit;
        return true;
    }
    posted->awaited |= bit;
    if (read_block(op, x, i, descriptor->source)) {
        ctn_exec_post(op->exec, ctn_topo_read_flag(topo, op->seq, i, me),
                      ctn_flag64(op->seq));
    }
    return true;
}

/** The same with each of these members. */
static bool exchange_with_all(ctn_op_t *op, ctn_pairwise_t *x, uint64_t members)
{
    bool moved = false;
    for (uint64_t left = members; left != 0; left &= left - 1) {
        moved |= exchange_with(op, x, (uint32_t)__builtin_ctzll(left));
    }
    return moved;
}

/** Check which awaited members have read their block. True: some have. */
static bool take(ctn_op_t *op, ctn_pairwise_t *x)
{
    uint32_t me = ctn_topo_local_rank(x->topo);
    uint64_t before = x->posted.awaited;
    for (uint64_t left = x->posted.awaited; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (ctn_word_load(ctn_topo_read_flag(x->topo, op->seq, me, i)) ==
            ctn_flag64(op->seq)) {
            x->posted.awaited &= ~(UINT64_C(1) << i);
        }
    }
    return x->posted.awaited != before;
}

void ctn_posted_finish(const ctn_op_t *op, ctn_pairwise_t *x)
{
    /* After a failure others may still read it. */
    if (op->status == CATENA_OK || op->clean) {
        ctn_scratch_free(op->exec, x->posted.copy, x->posted.copy_bytes);
    }
    x->posted.copy = NULL;
}

bool ctn_posted_advance(ctn_op_t *op, ctn_pairwise_t *x)
{
    /* From the member after this one on, so that not all members copy from the
     * same one. */
    uint64_t before = (UINT64_C(1) << ctn_topo_local_rank(x->topo)) - 1;
    bool moved = exchange_with_all(op, x, x->posted.undecided & ~before);
    moved |= exchange_with_all(op, x, x->posted.undecided & before);
    moved |= take(op, x);
    if (!moved && op->exec->peer_checks != x->posted.peer_checks) {
        moved = check_mismatch(op, x);
    }
    uint64_t missing = x->posted.undecided | x->posted.awaited;
    if (missing != 0) {
        op->waits_for = ctn_topo_local_to_group(
            x->topo, (uint32_t)__builtin_ctzll(missing));
    }
    return moved;
}
