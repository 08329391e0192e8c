/* Small blocks among the members of a node. Each copies all it sends into a row
 * of its own, one block after the other, and announces it with one word in
 * front of them; each takes its block out of the others' rows. With few members
 * and bytes, word and data share a cache line. Rows are used in turn like the
 * rings (exec/control.h), so nobody asks and nobody waits at the end. Against a
 * slot for each pair: two lines are written instead of one a peer; 16 ranks on
 * 2 cores, 512 B: 16 us instead of 20. */

#include "coll/pairwise.h"

/** A member's row in one ring. */
typedef struct row {
    uint64_t word;
    unsigned char block[]; /* [member] of this exchange's bytes */
} row_t;

/** In front of all rows of a member. */
typedef struct rows_head {
    uint32_t cpu; /* 1 + where it ran last; 0: it does not say */
} rows_head_t;

static row_t *row_at(unsigned char *rows, uint32_t members, uint64_t ring)
{
    return (void *)(rows + CTN_ROWS_HEAD_BYTES +
                    ring * ctn_rows_stride(members));
}

static uint32_t rank_here(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_topo_t *topo = x->topo;
    return topo->roster.member[topo->roster.first[topo->node_index] + i].rank;
}

bool ctn_rows_suit(const ctn_pairwise_t *x)
{
    uint32_t limit = x->topo->crowded ? CTN_CROWDED_EAGER : CTN_NEAR_EAGER;
    /* Two ranks with a core each are quicker with a slot for the pair. */
    return (x->topo->crowded || x->n > 2) && x->list == NULL &&
           x->window == 0 && x->receive->counts == NULL &&
           x->receive->bytes <= limit && x->n <= CTN_ROWS_MEMBERS &&
           x->n == ctn_topo_local_size(x->topo);
}

static void say_cpu(ctn_op_t *op, const ctn_topo_t *topo)
{
    if (!op->exec->crowded || topo->nodes > 1 || topo->rows == NULL) {
        return;
    }
    rows_head_t *head = (void *)topo->rows[ctn_topo_local_rank(topo)];
    uint32_t cpu = ctn_exec_cpu(op->exec);
    if (head->cpu != cpu) {
        __atomic_store_n(&head->cpu, cpu, __ATOMIC_RELAXED); /* a hint */
    }
}

/** Whether those that are missing run on other cores, as far as they said: then
 * it pays to look again at once, and with more ranks than cores, too. */
static void look_again(ctn_op_t *op, const ctn_topo_t *topo, uint64_t missing)
{
    if (!op->exec->crowded || topo->nodes > 1 || topo->rows == NULL) {
        return;
    }
    const rows_head_t *own = (void *)topo->rows[ctn_topo_local_rank(topo)];
    for (; missing != 0; missing &= missing - 1) {
        const rows_head_t *head = (void *)topo->rows[__builtin_ctzll(missing)];
        uint32_t cpu = __atomic_load_n(&head->cpu, __ATOMIC_RELAXED);
        if (cpu == 0 || cpu == own->cpu) {
            return;
        }
    }
    op->exec->look_again = true;
}

/** Copy what goes to each member into the own row. */
static void fill_row(ctn_op_t *op, const ctn_pairwise_t *x, row_t *row)
{
    size_t bytes = x->send->bytes;
    if (x->topo->nodes == 1 && x->send->type->dense &&
        x->topo->roster.member[x->n - 1].rank == x->n - 1) {
        ctn_exec_copy(op->exec, row->block, x->send->base, x->n * bytes);
        return;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        ctn_span_t block = ctn_blocks_at(x->send, rank_here(x, i));
        ctn_span_read(op->exec, &block, 0, bytes, row->block + i * bytes);
    }
}

void ctn_rows_begin(ctn_op_t *op, ctn_pairwise_t *x)
{
    uint32_t me = ctn_topo_local_rank(x->topo);
    unsigned char *rows = x->topo->rows[me];
    row_t *row = row_at(rows, x->n, op->seq % CTN_RINGS);
    fill_row(op, x, row);
    ctn_exec_post(op->exec, &row->word, ctn_tag(op->seq, 0));
    say_cpu(op, x->topo);
    x->open = (x->n == 64 ? UINT64_MAX : (UINT64_C(1) << x->n) - 1) &
              ~(UINT64_C(1) << me);
    if (!x->in_place) {
        ctn_span_t target = ctn_blocks_at(x->receive, rank_here(x, me));
        ctn_span_write(op->exec, &target, 0, target.bytes,
                       row->block + me * target.bytes);
    }
}

ctn_step_t ctn_rows_advance(ctn_op_t *op, ctn_pairwise_t *x)
{
    uint32_t me = ctn_topo_local_rank(x->topo);
    uint64_t before = x->open;
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const row_t *row = row_at(x->topo->rows[i], x->n, op->seq % CTN_RINGS);
        if (ctn_word_load(&row->word) == ctn_tag(op->seq, 0)) {
            ctn_span_t block = ctn_blocks_at(x->receive, rank_here(x, i));
            ctn_span_write(op->exec, &block, 0, block.bytes,
                           row->block + me * block.bytes);
            x->open &= ~(UINT64_C(1) << i);
        }
    }
    if (x->open == 0) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = rank_here(x, (uint32_t)__builtin_ctzll(x->open));
    look_again(op, x->topo, x->open);
    return x->open == before ? CTN_STEP_WAIT : CTN_STEP_MOVED;
}
