/* Sorts tables of many records at few members by exact splitting. D. R. Cheng,
 * A. Edelman, J. R. Gilbert, V. Shah: A Novel Parallel Sorting Algorithm for
 * Contemporary Architectures, 2006; as used by P. Sack and W. Gropp: A Scalable
 * MPI_Comm_split Algorithm for Exascale Computing, EuroMPI 2010.
 *
 * P members have N records. Splitter k is the border, in the order of all N
 * records, between those that member k has in the end and those of the next
 * member. Member k searches it; all splitters are searched at once. In a search
 * round every member bids, for every splitter, the middle one of its records in
 * question (those that may be on either side of the splitter), and their
 * number. For its splitter member k chooses the weighted median of the bids as
 * the pivot, and sends it to all members as its verdict. This eliminates at
 * least a quarter of the records in question. When all splitters are found,
 * each member fetches its block of every table and merges the blocks.
 *
 * Rounds: 2 a search round, at most log4/3(N) search rounds, about log2(N);
 * then 1 for the blocks, ceil(log2 P) + 1 before and ceil(log2 P) after.
 * Messages: 2 P per member and search round. Memory: three times the table, and
 * O(P).
 *
 * Differs from the paper: a member bids before it knows on which side of the
 * last pivot the splitter lies. So it makes a bid for each side, which saves
 * one exchange a search round. No bids are sent for a splitter that is found.
 * The number of records and a limit of search rounds end the search, never
 * comparisons alone, so the sort terminates for any comparator. */

#include <assert.h>
#include <string.h>

#include "split/sort/exact_parts.h"

/** Tells a member where its block of the sender's table lies. */
typedef struct split_block {
    uint64_t offset; /* in the sender's arena */
    uint64_t bytes;
    uint64_t contradiction; /* 1: the sender's splitters are not in order */
} split_block_t;

_Static_assert(sizeof(split_block_t) <= CTN_INLINE_BYTES, "blocks fit slots");

/* ---- the beginning ---- */

static uint32_t count_records(const ctn_record_table_t *table)
{
    uint32_t count = 0;
    const void *end = table->records + table->bytes;
    for (const ctn_record_t *at = (const void *)table->records; at != end;
         at = ctn_record_next(at)) {
        count++;
    }
    return count;
}

static size_t slots_bytes(const ctn_exact_t *x)
{
    return CTN_EXACT_KINDS * (size_t)x->peers * sizeof(ctn_slot_t);
}

/** Allocate all arrays of ctn_exact_t; `finish` frees them. */
static catena_status_t take_memory(ctn_exec_t *exec, ctn_exact_t *x)
{
    size_t n = x->peers;
    x->peer = ctn_scratch_alloc(exec, n * sizeof(*x->peer));
    x->slots = ctn_scratch_alloc(exec, slots_bytes(x));
    x->record = ctn_scratch_alloc(exec, x->count * sizeof(*x->record));
    x->splitter = ctn_scratch_alloc(exec, n * sizeof(*x->splitter));
    x->candidate = ctn_scratch_alloc(exec, n * sizeof(*x->candidate));
    x->run = ctn_scratch_alloc(exec, (n + 1) * sizeof(*x->run));
    if (x->peer == NULL || x->slots == NULL || x->record == NULL ||
        x->splitter == NULL || x->candidate == NULL || x->run == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memset(x->slots, 0, slots_bytes(x));
    return CATENA_OK;
}

/** Exchange addresses of slots and numbers of records. */
static ctn_step_t begin(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    const ctn_chain_place_t *place = &x->chain->place;
    x->peers = place->size;
    x->count = count_records(x->table);
    catena_status_t status = take_memory(op->exec, x);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    x->peer[place->rank] =
        (ctn_exact_peer_t){place->self.process,
                           ctn_heap_offset(op->exec->heap, x->slots), x->count};
    return ctn_op_call(
        op, ctn_table_allgather_create(op->exec, x->chain, x->peer,
                                       sizeof(ctn_exact_peer_t), NULL));
}

/** Put all own records in question for every splitter. */
static ctn_step_t prepare(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        total += x->peer[i].count;
        if (i == x->chain->place.rank) {
            x->target = total;
        }
        x->splitter[i] = (ctn_exact_splitter_t){
            .high = x->count,
            .cut = {x->count, x->count},
            .open = i + 1 < x->peers,
        };
    }
    x->open = x->peers - 1;
    x->round = 1;
    /* Unless the comparator is inconsistent, at most (3/4)^n of the records are
     * in question after n search rounds: less than one after 2.41 log2(total)
     * search rounds. So 3 search rounds for each bit of `total` suffice. */
    x->rounds_max = 4;
    for (; total > 0; total /= 2) {
        x->rounds_max += 3;
    }
    const ctn_record_t *record = (const void *)x->table->records;
    for (uint32_t i = 0; i < x->count; i++) {
        x->record[i] = record;
        record = ctn_record_next(record);
    }
    return CTN_STEP_NEXT;
}

/* ---- the blocks ---- */

/** Return the block of the own table for member `k`: from splitter k - 1 to
 * splitter k. */
static split_block_t block_for(const ctn_op_t *op, const ctn_exact_t *x,
                               uint32_t k)
{
    uint32_t low = k > 0 ? x->splitter[k - 1].low : 0;
    uint32_t high = k + 1 < x->peers ? x->splitter[k].low : x->count;
    split_block_t block = {.contradiction = low > high};
    if (low < high) {
        const unsigned char *start = (const void *)x->record[low];
        const unsigned char *end = high < x->count
                                       ? (const void *)x->record[high]
                                       : x->table->records + x->table->bytes;
        block.offset = ctn_heap_offset(op->exec->heap, start);
        block.bytes = (uint64_t)(end - start);
    }
    return block;
}

/** Tell each member where its block of the own table lies. */
static ctn_step_t publish_blocks(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    bool contradiction = false;
    for (uint32_t k = 0; k < x->peers; k++) {
        contradiction |= block_for(op, x, k).contradiction != 0;
    }
    for (uint32_t k = 0; status == CATENA_OK && k < x->peers; k++) {
        split_block_t block = block_for(op, x, k);
        block.contradiction = contradiction;
        status =
            ctn_exact_send(op, x, k, CTN_EXACT_BIDS, &block, sizeof(block));
    }
    x->seen = 0;
    op->exec->tally.rounds++;
    return ctn_exact_next(op, status);
}

/** Fetch the own block of each table, into the pool. */
static ctn_step_t fetch_blocks(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    if (!ctn_exact_has_all(x, CTN_EXACT_BIDS)) {
        return CTN_STEP_WAIT;
    }
    x->run[0] = 0; /* the blocks are the first runs */
    for (uint32_t i = 0; i < x->peers; i++) {
        const split_block_t *block = ctn_exact_message(x, CTN_EXACT_BIDS, i);
        x->run[i + 1] = x->run[i] + block->bytes;
        x->contradiction |= block->contradiction != 0;
    }
    if (x->contradiction) { /* the sender has told all members */
        return ctn_op_jump(op, CTN_EXACT_PHASE_SYNCHRONIZE);
    }
    catena_status_t status = ctn_exact_pool_open(op, x, x->run[x->peers]);
    for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
        const split_block_t *block = ctn_exact_message(x, CTN_EXACT_BIDS, i);
        const void *unused;
        if (block->bytes > 0) {
            status =
                ctn_exact_fetch(op, x, i, block->offset, block->bytes, &unused);
        }
    }
    return ctn_exact_next(op, status);
}

/** Merge each two adjacent runs (sorted ranges of records) of `from` into one
 * run of `to`. @return the number of runs left */
static uint32_t merge_pairs(ctn_exact_t *x, uint32_t runs,
                            const unsigned char *from, unsigned char *to)
{
    size_t *run = x->run;
    uint32_t merged = 0;
    for (uint32_t i = 0; i < runs; i += 2) {
        size_t start = run[i];
        size_t middle = run[i + 1];
        size_t end = i + 2 <= runs ? run[i + 2] : middle;
        ctn_records_merge(x->by, from + start, middle - start, from + middle,
                          end - middle, to + start);
        run[merged++] = start;
        run[merged] = end;
    }
    return merged;
}

/** Merge the fetched blocks, pairwise, until there is one run. */
static ctn_step_t merge(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    if (!ctn_exact_pool_ready(x)) {
        return CTN_STEP_WAIT;
    }
    x->sorted.bytes = x->run[x->peers];
    x->sorted.records = ctn_scratch_alloc(op->exec, x->sorted.bytes);
    if (x->sorted.records == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    unsigned char *from = x->pool->data;
    unsigned char *to = x->sorted.records;
    for (uint32_t runs = x->peers; runs > 1;) {
        runs = merge_pairs(x, runs, from, to);
        unsigned char *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != x->sorted.records) {
        memcpy(x->sorted.records, from, x->sorted.bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, x->sorted.bytes);
    }
    ctn_exact_pool_close(op, x);
    assert(count_records(&x->sorted) == x->count);
    return CTN_STEP_NEXT;
}

/* ---- the end ---- */

/** After this scan no member accesses this member's table. */
static ctn_step_t synchronize(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    return ctn_op_call(op, ctn_scan_create(op->exec, x->chain, ctn_fold_sum,
                                           &x->words[0], &x->words[1],
                                           &x->words[2], sizeof(ctn_words_t)));
}

static ctn_step_t end(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    ctn_record_table_release(op->exec, x->table);
    *x->table = x->sorted;
    x->sorted = (ctn_record_table_t){NULL, 0};
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    size_t n = x->peers;
    ctn_exact_pool_close(op, x);
    ctn_record_table_release(op->exec, &x->sorted);
    ctn_scratch_free(op->exec, x->record, x->count * sizeof(*x->record));
    ctn_scratch_free(op->exec, x->splitter, n * sizeof(*x->splitter));
    ctn_scratch_free(op->exec, x->candidate, n * sizeof(*x->candidate));
    ctn_scratch_free(op->exec, x->run, (n + 1) * sizeof(*x->run));
    /* After an error other members may still write into these, which are kept
     * until the heap is destroyed. */
    if (op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, x->peer, n * sizeof(*x->peer));
        ctn_scratch_free(op->exec, x->slots, slots_bytes(x));
    }
}

static const ctn_phase_t phases[] = {
    {"begin", begin},
    {"prepare", prepare},
    {"send bids", ctn_exact_send_bids},
    {"receive bids", ctn_exact_receive_bids},
    {"send verdict", ctn_exact_send_verdict},
    {"receive verdicts", ctn_exact_receive_verdicts},
    {"narrow", ctn_exact_narrow},
    {"publish blocks", publish_blocks},
    {"fetch blocks", fetch_blocks},
    {"merge", merge},
    {"synchronize", synchronize},
    {"end", end},
    {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/exact sort",
    .state_bytes = sizeof(ctn_exact_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_chain_t *chain,
                           ctn_record_table_t *table)
{
    ctn_op_t *op = ctn_op_create(by->exec, &algorithm, NULL);
    if (op != NULL) {
        ctn_exact_t *x = ctn_op_state(op);
        x->by = by;
        x->chain = chain;
        x->table = table;
    }
    return op;
}
