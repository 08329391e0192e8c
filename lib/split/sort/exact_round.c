/* One search round of the exact sort: bids for all splitters, verdicts on them.
 * Explained in exact.c; the structs are in exact_parts.h. */

#include <string.h>

#include "split/sort/exact_parts.h"

_Static_assert(sizeof(ctn_exact_bid_t) <= CTN_INLINE_BYTES &&
                   sizeof(ctn_exact_verdict_t) <= CTN_INLINE_BYTES,
               "messages fit slots");

/** Copy a record into a message, or its offset if it does not fit. */
static void pack_record(const ctn_op_t *op, const ctn_record_t *record,
                        unsigned char *to, size_t capacity)
{
    size_t bytes = ctn_record_bytes(record);
    if (bytes <= capacity) {
        memcpy(to, record, bytes);
    } else {
        uint64_t offset = ctn_heap_offset(op->exec->heap, record);
        memcpy(to, &offset, sizeof(offset));
    }
}

/** Bid the middle one of the own records from `low` to before `high`, in case
 * that the splitter is below the last pivot (`above` is 0) or above it (1). */
static void bid_middle(const ctn_op_t *op, const ctn_exact_t *x,
                       ctn_exact_bid_t *bid, int above, uint32_t low,
                       uint32_t high)
{
    bid->count[above] = high - low;
    bid->bytes[above] = 0;
    if (low < high) {
        const ctn_record_t *record = x->record[low + (high - low) / 2];
        bid->bytes[above] = (uint32_t)ctn_record_bytes(record);
        pack_record(op, record, bid->record[above], CTN_BID_BYTES);
    }
}

ctn_step_t ctn_exact_send_bids(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    for (uint32_t k = 0; k < x->peers; k++) {
        const ctn_exact_splitter_t *splitter = &x->splitter[k];
        if (!splitter->open) {
            continue;
        }
        ctn_exact_bid_t bid = {.below = splitter->cut[0]};
        bid_middle(op, x, &bid, 0, splitter->low, splitter->cut[0]);
        bid_middle(op, x, &bid, 1, splitter->cut[1], splitter->high);
        catena_status_t status =
            ctn_exact_send(op, x, k, CTN_EXACT_BIDS, &bid, sizeof(bid));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    x->seen = 0;
    op->exec->tally.rounds += 2;
    return CTN_STEP_NEXT;
}

/** Decide on which side of the last pivot the own splitter is, from the number
 * of all records below the pivot. */
static void judge(ctn_exact_t *x)
{
    uint64_t below = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        below +=
            ((const ctn_exact_bid_t *)ctn_exact_message(x, CTN_EXACT_BIDS, i))
                ->below;
    }
    x->verdict.above = below < x->target;
    /* the splitter is just below the pivot, or just above it */
    x->verdict.done = below == x->target || below + 1 == x->target;
}

/** List the bids of the members that have records in question on the splitter's
 * side of the last pivot. @return the bytes of the records to fetch */
static size_t list_candidates(ctn_exact_t *x)
{
    size_t long_bytes = 0;
    x->candidates = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        const ctn_exact_bid_t *bid = ctn_exact_message(x, CTN_EXACT_BIDS, i);
        unsigned above = x->verdict.above;
        if (bid->count[above] == 0) {
            continue;
        }
        const unsigned char *record = bid->record[above];
        uint32_t bytes = bid->bytes[above];
        x->candidate[x->candidates++] = (ctn_exact_candidate_t){
            .record = (const void *)record,
            .bid = record,
            .bytes = bytes,
            .source = i,
            .weight = bid->count[above],
        };
        long_bytes += bytes > CTN_BID_BYTES ? bytes : 0;
    }
    return long_bytes;
}

/** Start to fetch the records bid that did not fit their bids. */
static catena_status_t fetch_candidates(ctn_op_t *op, ctn_exact_t *x,
                                        size_t bytes)
{
    catena_status_t status = ctn_exact_pool_open(op, x, bytes);
    for (uint32_t i = 0; status == CATENA_OK && i < x->candidates; i++) {
        ctn_exact_candidate_t *candidate = &x->candidate[i];
        if (candidate->bytes > CTN_BID_BYTES) {
            uint64_t offset;
            const void *record = NULL;
            memcpy(&offset, candidate->bid, sizeof(offset));
            status = ctn_exact_fetch(op, x, candidate->source, offset,
                                     candidate->bytes, &record);
            candidate->record = record;
        }
    }
    return status;
}

/** Return whether the own splitter is not found yet. */
static bool own_is_open(const ctn_exact_t *x)
{
    return x->splitter[x->chain->place.rank].open;
}

ctn_step_t ctn_exact_receive_bids(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    if (!own_is_open(x)) {
        return CTN_STEP_NEXT;
    }
    if (!ctn_exact_has_all(x, CTN_EXACT_BIDS)) {
        return CTN_STEP_WAIT;
    }
    judge(x);
    size_t long_bytes = x->verdict.done ? 0 : list_candidates(x);
    return ctn_exact_next(
        op, long_bytes > 0 ? fetch_candidates(op, x, long_bytes) : CATENA_OK);
}

static void swap(ctn_exact_candidate_t *a, ctn_exact_candidate_t *b)
{
    ctn_exact_candidate_t c = *a;
    *a = *b;
    *b = c;
}

/** Move the candidates that are below the first of `list` in front of it.
 * @param[out] below the sum of their weights
 * @return the new index of the one that was first */
static uint32_t partition(const ctn_order_by_t *by, ctn_exact_candidate_t *list,
                          uint32_t count, uint64_t *below)
{
    uint32_t edge = 0;
    *below = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (ctn_record_compare(by, list[i].record, list[0].record) < 0) {
            *below += list[i].weight;
            swap(&list[++edge], &list[i]);
        }
    }
    swap(&list[0], &list[edge]);
    return edge;
}

/** Return a candidate such that those below it have at most half of all weight,
 * and so do those above it (quickselect). With any comparator, also an
 * inconsistent one, the list gets shorter in each iteration and is never
 * empty. */
static const ctn_exact_candidate_t *weighted_median(const ctn_order_by_t *by,
                                                    ctn_exact_candidate_t *list,
                                                    uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += list[i].weight;
    }
    uint64_t before = 0; /* weight of the candidates in front of the list */
    for (;;) {
        uint64_t below;
        swap(&list[0], &list[count / 2]);
        uint32_t edge = partition(by, list, count, &below);
        if (2 * (before + below) > total) {
            count = edge;
        } else if (2 * (before + below + list[edge].weight) >= total) {
            return &list[edge];
        } else {
            before += below + list[edge].weight;
            list += edge + 1;
            count -= edge + 1;
        }
    }
}

/** Write the weighted median of the bids into the verdict. */
static void choose_pivot(const ctn_order_by_t *by, ctn_exact_t *x)
{
    const ctn_exact_candidate_t *median =
        weighted_median(by, x->candidate, x->candidates);
    ctn_exact_verdict_t *verdict = &x->verdict;
    verdict->source = median->source;
    verdict->bytes = median->bytes;
    if (median->bytes > CTN_PIVOT_BYTES) { /* the bid has the offset, too */
        memcpy(verdict->record, median->bid, sizeof(uint64_t));
    } else {
        memcpy(verdict->record, median->record, median->bytes);
    }
}

ctn_step_t ctn_exact_send_verdict(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (!ctn_exact_pool_ready(x)) {
        return CTN_STEP_WAIT;
    }
    if (own_is_open(x)) {
        if (!x->verdict.done) {
            choose_pivot(x->by, x);
        }
        ctn_exact_pool_close(op, x);
        for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
            status = ctn_exact_send(op, x, i, CTN_EXACT_VERDICTS, &x->verdict,
                                    sizeof(x->verdict));
        }
    }
    x->seen = 0;
    return ctn_exact_next(op, status);
}

/** Return whether the pivot of an open splitter must be fetched. A pivot from
 * the own table is not: its index is known, see apply_verdict. */
static bool is_remote(const ctn_exact_t *x, const ctn_exact_verdict_t *verdict)
{
    return !verdict->done && verdict->bytes > CTN_PIVOT_BYTES &&
           verdict->source != x->chain->place.rank;
}

/** Start to fetch the pivots that did not fit their verdicts. */
static catena_status_t fetch_pivots(ctn_op_t *op, ctn_exact_t *x)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < x->peers; k++) {
        const ctn_exact_verdict_t *verdict =
            ctn_exact_message(x, CTN_EXACT_VERDICTS, k);
        x->splitter[k].pivot = (const void *)verdict->record;
        bytes +=
            x->splitter[k].open && is_remote(x, verdict) ? verdict->bytes : 0;
    }
    catena_status_t status =
        bytes > 0 ? ctn_exact_pool_open(op, x, bytes) : CATENA_OK;
    for (uint32_t k = 0; status == CATENA_OK && bytes > 0 && k < x->peers;
         k++) {
        const ctn_exact_verdict_t *verdict =
            ctn_exact_message(x, CTN_EXACT_VERDICTS, k);
        if (x->splitter[k].open && is_remote(x, verdict)) {
            uint64_t offset;
            const void *record = NULL;
            memcpy(&offset, verdict->record, sizeof(offset));
            status = ctn_exact_fetch(op, x, verdict->source, offset,
                                     verdict->bytes, &record);
            x->splitter[k].pivot = record;
        }
    }
    return status;
}

ctn_step_t ctn_exact_receive_verdicts(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    for (; x->seen < x->peers; x->seen++) {
        if (x->splitter[x->seen].open &&
            !ctn_exact_has_message(x, CTN_EXACT_VERDICTS, x->seen)) {
            return CTN_STEP_WAIT;
        }
    }
    return ctn_exact_next(op, fetch_pivots(op, x));
}

/** Return the index of the first record in question that is not below the
 * pivot. */
static uint32_t search(const ctn_exact_t *x,
                       const ctn_exact_splitter_t *splitter)
{
    uint32_t low = splitter->low;
    uint32_t high = splitter->high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ctn_record_compare(x->by, x->record[middle], splitter->pivot) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** Reduce the own records in question to one side of the last pivot, and find
 * where the new pivot divides them. */
static void apply_verdict(ctn_exact_t *x, ctn_exact_splitter_t *splitter,
                          const ctn_exact_verdict_t *verdict)
{
    if (verdict->above) {
        splitter->low = splitter->cut[1];
    } else {
        splitter->high = splitter->cut[0];
    }
    if (verdict->done) {
        splitter->low = splitter->cut[verdict->above];
        splitter->open = false;
        x->open--;
    } else if (verdict->source == x->chain->place.rank) { /* the record bid */
        splitter->cut[0] = splitter->low + (splitter->high - splitter->low) / 2;
        splitter->cut[1] = splitter->cut[0] + 1;
    } else {
        splitter->cut[0] = splitter->cut[1] = search(x, splitter);
    }
}

ctn_step_t ctn_exact_narrow(ctn_op_t *op)
{
    ctn_exact_t *x = ctn_op_state(op);
    if (!ctn_exact_pool_ready(x)) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t k = 0; k < x->peers; k++) {
        if (x->splitter[k].open) {
            apply_verdict(x, &x->splitter[k],
                          ctn_exact_message(x, CTN_EXACT_VERDICTS, k));
        }
    }
    ctn_exact_pool_close(op, x);
    x->round++;
    if (x->open == 0) {
        return CTN_STEP_NEXT;
    }
    x->contradiction = x->round > x->rounds_max; /* the same on all members */
    return ctn_op_jump(op, x->contradiction ? CTN_EXACT_PHASE_SYNCHRONIZE
                                            : CTN_EXACT_PHASE_BIDS);
}
