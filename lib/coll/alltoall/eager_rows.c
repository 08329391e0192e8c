/* Exchange of small blocks among the members of a node. Each member copies all
 * blocks that it sends into its eager row, contiguously and without its own
 * block, and publishes them with one word in front of them; each member copies
 * its block out of the rows of the others. With few members and bytes, word and
 * data share a cache line. The word also holds the length of the blocks. Rows
 * are reused by generation (exec/generations.h), so no member asks for a free
 * row and none waits at the end. A row of the shortest class takes two cache
 * lines, where a slot for each pair would take one line for each peer; 16 ranks
 * on 2 cores, 512 B: 16 us instead of 20. */

#include "coll/alltoall/eager_rows.h"

#include "coll/alltoall/posted.h"

/** A member's row of one generation. */
typedef struct alltoall_row {
    uint64_t word;
    unsigned char block[]; /* [other member] of this exchange's bytes */
} alltoall_row_t;

/* The lower bits of a row's word hold a length below this, the upper ones the
 * operation. */
enum { ROW_LENGTHS = 4096 };
_Static_assert(CTN_EAGER_ROWS_BLOCK_BYTES < ROW_LENGTHS &&
                   CTN_EAGER_ROWS_NODE_BYTES <= CTN_EAGER_ROWS_BLOCK_BYTES,
               "a length fits its bits");

/** Word of a row for operation `seq`. No other operation has the same: a row of
 * a class that is seldom used keeps an old word for long. */
static inline uint64_t row_word(uint64_t seq, size_t bytes)
{
    return ctn_flag64(seq) * ROW_LENGTHS + bytes;
}

/** The row of member i in one class, for operation `seq`. */
static inline alltoall_row_t *row_at(const ctn_topo_t *topo, uint64_t seq,
                                     unsigned class, uint32_t i)
{
    uint64_t generation = seq % CTN_GENERATIONS;
    size_t stride = ctn_eager_rows_stride(class);
    uint32_t n = ctn_topo_local_size(topo);
    if (topo->side_by_side == NULL) {
        return (void *)(topo->rows[i] + ctn_eager_rows_class_offset(class, 1) +
                        generation * stride);
    }
    return (void *)(topo->side_by_side + ctn_eager_rows_class_offset(class, n) +
                    (generation * n + i) * stride);
}

/** The row of member i in this exchange. */
static alltoall_row_t *row_of(const ctn_eager_rows_t *r, uint32_t i)
{
    return row_at(r->topo, r->seq, r->class, i);
}

bool ctn_eager_rows_find(const ctn_topo_t *topo, uint64_t seq, uint32_t i,
                         uint64_t *bytes)
{
    uint32_t n = ctn_topo_local_size(topo);
    size_t most = ctn_eager_rows_most_bytes(n, topo->oversubscribed);
    if (topo->rows == NULL && topo->side_by_side == NULL) {
        return false;
    }
    /* The longest blocks that may be in rows here have the highest class. */
    while (!ctn_eager_rows_fit(most, n, topo->oversubscribed)) {
        most--;
    }
    for (unsigned class = 0; class <= ctn_eager_rows_class((n - 1) * most);
         class ++) {
        uint64_t word = ctn_word_load(&row_at(topo, seq, class, i)->word);
        *bytes = word - row_word(seq, 0);
        if (*bytes < ROW_LENGTHS) {
            return true;
        }
    }
    return false;
}

/** Member i's block for member `reader` in the row of i, which omits its own
 * block. */
static unsigned char *block_in(alltoall_row_t *row, uint32_t i, uint32_t reader,
                               size_t bytes)
{
    return row->block + (reader - (reader > i)) * bytes;
}

uint32_t ctn_eager_rows_missing(const ctn_eager_rows_t *r)
{
    return ctn_topo_local_to_group(r->topo, (uint32_t)__builtin_ctzll(r->open));
}

/** Whether all members whose row is missing last ran on other cores. */
static bool all_elsewhere(const ctn_eager_rows_t *r)
{
    for (uint64_t left = r->open; left != 0; left &= left - 1) {
        if (!ctn_node_elsewhere(&r->topo->node_area,
                                (uint32_t)__builtin_ctzll(left))) {
            return false;
        }
    }
    return true;
}

/** Copy the blocks for members [first, end), which do not include the writer.
 */
static void fill_blocks(ctn_exec_t *exec, const ctn_eager_rows_t *r,
                        uint32_t first, uint32_t end, unsigned char *to)
{
    size_t bytes = r->send->bytes;
    if (first == end) {
        return;
    }
    if (r->topo->nodes == 1 && r->send->type->dense) {
        ctn_exec_copy(exec, to, r->send->base + first * bytes,
                      (end - first) * bytes);
        return;
    }
    for (uint32_t i = first; i < end; i++, to += bytes) {
        ctn_span_t block =
            ctn_blocks_at(r->send, ctn_topo_local_to_group(r->topo, i));
        ctn_span_read(exec, &block, 0, bytes, to);
    }
}

/** Copy this member's block for itself. */
static void copy_own_block(ctn_exec_t *exec, const ctn_eager_rows_t *r,
                           uint32_t me)
{
    uint32_t rank = ctn_topo_local_to_group(r->topo, me);
    ctn_span_t source = ctn_blocks_at(r->send, rank);
    ctn_span_t target = ctn_blocks_at(r->receive, rank);
    ctn_span_copy(exec, &target, &source);
}

void ctn_eager_rows_begin(ctn_exec_t *exec, ctn_eager_rows_t *r)
{
    uint32_t n = ctn_topo_local_size(r->topo);
    uint32_t me = ctn_topo_local_rank(r->topo);
    size_t bytes = r->send->bytes;
    r->class = (uint8_t)ctn_eager_rows_class((n - 1) * bytes);
    alltoall_row_t *row = row_of(r, me);
    fill_blocks(exec, r, 0, me, row->block);
    fill_blocks(exec, r, me + 1, n, row->block + me * bytes);
    ctn_exec_post(exec, &row->word, row_word(r->seq, bytes));
    r->peer_checks = exec->peer_checks;
    r->status = CATENA_OK;
    ctn_topo_report_cpu(exec, r->topo);
    r->open =
        (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) & ~(UINT64_C(1) << me);
    if (!r->in_place) {
        copy_own_block(exec, r, me);
    }
}

/** For long waits: stop waiting for members whose blocks have another length.
 * Such blocks are in rows or, if they are longer, announced by a buffer
 * descriptor. */
CTN_COLD static void check_mismatch(ctn_exec_t *exec, ctn_eager_rows_t *r)
{
    r->peer_checks = exec->peer_checks;
    for (uint64_t left = r->open; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const ctn_buffer_descriptor_t *descriptor =
            ctn_topo_descriptor(r->topo, r->seq, i);
        bool posted = ctn_word_load(&descriptor->word) == ctn_flag64(r->seq);
        uint64_t bytes = descriptor->bytes;
        if ((posted || ctn_eager_rows_find(r->topo, r->seq, i, &bytes)) &&
            bytes != r->receive->bytes) {
            r->open &= ~(UINT64_C(1) << i);
            r->status = ctn_posted_report_length(
                r->topo, ctn_topo_local_to_group(r->topo, i), bytes,
                r->receive->bytes);
        }
    }
}

bool ctn_eager_rows_advance(ctn_exec_t *exec, ctn_eager_rows_t *r)
{
    uint32_t me = ctn_topo_local_rank(r->topo);
    uint64_t word = row_word(r->seq, r->receive->bytes);
    for (uint64_t left = r->open; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        alltoall_row_t *row = row_of(r, i);
        if (ctn_word_load(&row->word) == word) {
            ctn_span_t block =
                ctn_blocks_at(r->receive, ctn_topo_local_to_group(r->topo, i));
            ctn_span_write(exec, &block, 0, block.bytes,
                           block_in(row, i, me, block.bytes));
            r->open &= ~(UINT64_C(1) << i);
        }
    }
    if (r->open == 0) {
        return true;
    }
    if (exec->peer_checks != r->peer_checks) {
        check_mismatch(exec, r);
    }
    exec->spin_polls =
        exec->oversubscribed && all_elsewhere(r) ? CTN_SPIN_FOR_SOME : 0;
    return r->open == 0;
}
