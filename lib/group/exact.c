/* Sorting tables of many records at few members by exact splitting. D. R.
 * Cheng, A. Edelman, J. R. Gilbert, V. Shah: A Novel Parallel Sorting Algorithm
 * for Contemporary Architectures, 2006; as P. Sack and W. Gropp use it: A
 * Scalable MPI_Comm_split Algorithm for Exascale Computing, EuroMPI 2010.
 *
 * Of P members with N records, member k looks for the splitter between its own
 * records and those of the next one, all of them at once. In each turn every
 * member bids, for every splitter, the middle one of its records that are still
 * in question, and how many these are. The weighted median of the bids is the
 * pivot: at least a quarter of the records in question go with every turn. Then
 * each member gets its pieces of all tables and merges them.
 * Rounds: 2 a turn, at most log4/3(N) turns, about log2(N); then 1 for the
 * pieces, ceil(log2 P) + 1 before and ceil(log2 P) after. Messages: 2 P per
 * member and turn. Memory: three times the table, and O(P).
 * Differs from the paper: where a bid is made it is not known yet on which side
 * of the last pivot the splitter is, so there is one for either side, and one
 * exchange less in each turn; members that are done are left alone. Numbers of
 * records decide, never comparisons alone, so that all ends whatever the
 * comparator says. */

#include "group/exact.h"

#include <assert.h>
#include <string.h>

/** What each tells all others first. */
typedef struct peer {
    uint64_t process;
    uint64_t board; /* offset in its arena */
    uint64_t count; /* of its records */
} peer_t;

/* Records that are longer than the room for them are fetched. */
enum { BID_BYTES = 40, PIVOT_BYTES = 96 };

/** For a splitter, from a member. [0]: if it is below the last pivot, [1]: if
 * it is above. */
typedef struct bid {
    uint32_t below;    /* records below the last pivot */
    uint32_t count[2]; /* then in question */
    uint32_t bytes[2]; /* of the middle one */
    uint32_t unused;
    unsigned char record[2][BID_BYTES]; /* or its offset */
} bid_t;

/** On a splitter, to all. */
typedef struct verdict {
    uint32_t above;  /* it is above the last pivot */
    uint32_t done;   /* and right beside it */
    uint32_t source; /* whose record is the new pivot */
    uint32_t bytes;
    unsigned char record[PIVOT_BYTES]; /* or its offset */
} verdict_t;

typedef struct piece {
    uint64_t offset;
    uint64_t bytes;
    uint64_t contradiction; /* the splitters are not in order */
} piece_t;

_Static_assert(sizeof(bid_t) <= CTN_INLINE_BYTES &&
                   sizeof(verdict_t) <= CTN_INLINE_BYTES &&
                   sizeof(piece_t) <= CTN_INLINE_BYTES,
               "messages fit slots");

/* A board has a slot for each member on either of its sides. The words are
 * turns. Nobody writes a slot again before its reader has answered. */
enum { BIDS, VERDICTS, SIDES };

/** A splitter as seen by a member: where it cuts its own table. */
typedef struct splitter {
    uint32_t low, high;        /* between these records */
    uint32_t cut[2];           /* below and above the pivot */
    const ctn_record_t *pivot; /* while it is looked at */
    bool open;
} splitter_t;

/** A bid that may become the pivot. */
typedef struct candidate {
    const ctn_record_t *record;
    const unsigned char *bid; /* what to tell the others of it */
    uint32_t bytes;
    uint32_t source;
    uint64_t weight;
} candidate_t;

/** Memory that records are fetched into. The count lies with it, since the
 * transport may come back to both when the operation has failed. */
typedef struct pool {
    uint64_t pending;
    _Alignas(64) unsigned char data[];
} pool_t;

typedef struct exact {
    /* arguments */
    const ctn_order_by_t *by;
    ctn_lane_t *lane;
    ctn_table_t *table;
    /* working */
    uint32_t peers; /* how many; this one included */
    uint32_t count; /* own records */
    uint32_t open;  /* splitters */
    uint32_t turn;
    uint32_t turns_max;
    uint32_t seen;   /* messages of this round */
    uint64_t target; /* records below the own splitter */
    bool contradiction;
    peer_t *peer;
    ctn_slot_t *board;
    const ctn_record_t **record; /* the table's */
    splitter_t *splitter;
    candidate_t *candidate;
    uint32_t candidates;
    verdict_t verdict;
    size_t *run; /* where the pieces start, and the end */
    pool_t *pool;
    size_t pool_bytes;
    size_t pool_used;
    ctn_table_t sorted;
    ctn_words_t words[3];
} exact_t;

/* ---- memory and messages ---- */

static uint64_t offset_of(const ctn_exec_t *exec, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(exec->heap, memory, 1, &offset);
    return offset;
}

static catena_status_t pool_open(ctn_op_t *op, exact_t *x, size_t bytes)
{
    x->pool_bytes = sizeof(*x->pool) + bytes;
    x->pool_used = 0;
    x->pool = ctn_scratch_alloc(op->exec, x->pool_bytes);
    if (x->pool == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    x->pool->pending = 0;
    return CATENA_OK;
}

/** What is still on its way, of an operation that failed, stays until the heap
 * goes. */
static void pool_close(ctn_op_t *op, exact_t *x)
{
    if (x->pool != NULL && x->pool->pending == 0) {
        ctn_scratch_free(op->exec, x->pool, x->pool_bytes);
    }
    x->pool = NULL;
}

static bool pool_ready(const exact_t *x)
{
    return x->pool == NULL || x->pool->pending == 0;
}

/** Begin to fetch what another member has at `offset`.
 * @param[out] data where it will be */
static catena_status_t pool_fetch(ctn_op_t *op, exact_t *x, uint32_t from,
                                  uint64_t offset, size_t bytes,
                                  const void **data)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, x->peer[from].process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned char *to = x->pool->data + x->pool_used;
    x->pool_used += bytes;
    *data = to;
    if (endpoint->arena == NULL) {
        ctn_op_set_network(op, true);
    }
    op->exec->tally.bytes += bytes;
    return endpoint->transport->ops->get(endpoint, to, bytes, offset,
                                         &x->pool->pending);
}

/** A record as part of a message. */
static void enclose(const ctn_op_t *op, const ctn_record_t *record,
                    unsigned char *to, size_t room)
{
    size_t bytes = ctn_record_bytes(record);
    if (bytes <= room) {
        memcpy(to, record, bytes);
    } else {
        uint64_t offset = offset_of(op->exec, record);
        memcpy(to, &offset, sizeof(offset));
    }
}

static catena_status_t post(ctn_op_t *op, const exact_t *x, uint32_t to,
                            unsigned side, const void *data, size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, x->peer[to].process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t slot = (uint64_t)side * x->peers + x->lane->chain.rank;
    uint64_t at = x->peer[to].board + slot * sizeof(ctn_slot_t);
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    return ctn_put_signal(endpoint, data, bytes,
                          at + offsetof(ctn_slot_t, data), at, x->turn,
                          &op->pending);
}

static const void *posted(const exact_t *x, unsigned side, uint32_t from)
{
    return x->board[(size_t)side * x->peers + from].data;
}

static bool has_posted(const exact_t *x, unsigned side, uint32_t from)
{
    const ctn_slot_t *slot = &x->board[(size_t)side * x->peers + from];
    return ctn_word_load(&slot->word[0]) == x->turn;
}

/** Whether all have posted on this side of the board. */
static bool all_posted(exact_t *x, unsigned side)
{
    while (x->seen < x->peers && has_posted(x, side, x->seen)) {
        x->seen++;
    }
    return x->seen == x->peers;
}

static ctn_step_t next_or_fail(ctn_op_t *op, catena_status_t status)
{
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- the beginning ---- */

static uint32_t count_records(const ctn_table_t *table)
{
    uint32_t count = 0;
    const void *end = table->records + table->bytes;
    for (const ctn_record_t *at = (const void *)table->records; at != end;
         at = ctn_record_next(at)) {
        count++;
    }
    return count;
}

static size_t board_bytes(const exact_t *x)
{
    return SIDES * (size_t)x->peers * sizeof(ctn_slot_t);
}

static catena_status_t take_memory(ctn_exec_t *exec, exact_t *x)
{
    size_t n = x->peers;
    x->peer = ctn_scratch_alloc(exec, n * sizeof(*x->peer));
    x->board = ctn_scratch_alloc(exec, board_bytes(x));
    x->record = ctn_scratch_alloc(exec, x->count * sizeof(*x->record));
    x->splitter = ctn_scratch_alloc(exec, n * sizeof(*x->splitter));
    x->candidate = ctn_scratch_alloc(exec, n * sizeof(*x->candidate));
    x->run = ctn_scratch_alloc(exec, (n + 1) * sizeof(*x->run));
    if (x->peer == NULL || x->board == NULL || x->record == NULL ||
        x->splitter == NULL || x->candidate == NULL || x->run == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memset(x->board, 0, board_bytes(x));
    return CATENA_OK;
}

static ctn_step_t begin(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    const ctn_chain_t *chain = &x->lane->chain;
    x->peers = chain->size;
    x->count = count_records(x->table);
    catena_status_t status = take_memory(op->exec, x);
    ctn_op_t *child =
        ctn_op_create(op->exec, &ctn_gather_algorithm, &x->lane->channel);
    if (status != CATENA_OK || child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    x->peer[chain->rank] =
        (peer_t){chain->self.process, offset_of(op->exec, x->board), x->count};
    ctn_gather_t *gather = ctn_op_state(child);
    gather->chain = chain;
    gather->memory = (unsigned char *)x->peer;
    gather->table = offset_of(op->exec, x->peer);
    gather->record_bytes = sizeof(peer_t);
    return ctn_op_call(op, child);
}

static ctn_step_t prepare(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        total += x->peer[i].count;
        if (i == x->lane->chain.rank) {
            x->target = total;
        }
        x->splitter[i] = (splitter_t){
            .high = x->count,
            .cut = {x->count, x->count},
            .open = i + 1 < x->peers,
        };
    }
    x->open = x->peers - 1;
    x->turn = 1;
    /* (3/4)^n of the records are in question after n turns, unless the
     * comparator contradicts itself: less than one after 2.41 log2 of them. */
    x->turns_max = 4;
    for (; total > 0; total /= 2) {
        x->turns_max += 3;
    }
    const ctn_record_t *record = (const void *)x->table->records;
    for (uint32_t i = 0; i < x->count; i++) {
        x->record[i] = record;
        record = ctn_record_next(record);
    }
    return CTN_STEP_NEXT;
}

/* ---- a turn ---- */

/** The middle one of the records from `low` on and before `high`. */
static void bid_middle(const ctn_op_t *op, const exact_t *x, bid_t *bid,
                       int above, uint32_t low, uint32_t high)
{
    bid->count[above] = high - low;
    bid->bytes[above] = 0;
    if (low < high) {
        const ctn_record_t *record = x->record[low + (high - low) / 2];
        bid->bytes[above] = (uint32_t)ctn_record_bytes(record);
        enclose(op, record, bid->record[above], BID_BYTES);
    }
}

static ctn_step_t place_bids(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    for (uint32_t k = 0; k < x->peers; k++) {
        const splitter_t *splitter = &x->splitter[k];
        if (!splitter->open) {
            continue;
        }
        bid_t bid = {.below = splitter->cut[0]};
        bid_middle(op, x, &bid, 0, splitter->low, splitter->cut[0]);
        bid_middle(op, x, &bid, 1, splitter->cut[1], splitter->high);
        catena_status_t status = post(op, x, k, BIDS, &bid, sizeof(bid));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    x->seen = 0;
    op->exec->tally.rounds += 2;
    return CTN_STEP_NEXT;
}

/** On which side of the last pivot the own splitter is. */
static void judge(exact_t *x)
{
    uint64_t below = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        below += ((const bid_t *)posted(x, BIDS, i))->below;
    }
    x->verdict.above = below < x->target;
    x->verdict.done = below == x->target || below + 1 == x->target;
}

/** The bids of those who have records on that side. */
static size_t list_candidates(exact_t *x)
{
    size_t long_bytes = 0;
    x->candidates = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        const bid_t *bid = posted(x, BIDS, i);
        unsigned above = x->verdict.above;
        if (bid->count[above] == 0) {
            continue;
        }
        const unsigned char *record = bid->record[above];
        uint32_t bytes = bid->bytes[above];
        x->candidate[x->candidates++] = (candidate_t){
            .record = (const void *)record,
            .bid = record,
            .bytes = bytes,
            .source = i,
            .weight = bid->count[above],
        };
        long_bytes += bytes > BID_BYTES ? bytes : 0;
    }
    return long_bytes;
}

static catena_status_t fetch_candidates(ctn_op_t *op, exact_t *x, size_t bytes)
{
    catena_status_t status = pool_open(op, x, bytes);
    for (uint32_t i = 0; status == CATENA_OK && i < x->candidates; i++) {
        candidate_t *candidate = &x->candidate[i];
        if (candidate->bytes > BID_BYTES) {
            uint64_t offset;
            const void *record = NULL;
            memcpy(&offset, candidate->bid, sizeof(offset));
            status = pool_fetch(op, x, candidate->source, offset,
                                candidate->bytes, &record);
            candidate->record = record;
        }
    }
    return status;
}

static bool own_is_open(const exact_t *x)
{
    return x->splitter[x->lane->chain.rank].open;
}

static ctn_step_t take_bids(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (!own_is_open(x)) {
        return CTN_STEP_NEXT;
    }
    if (!all_posted(x, BIDS)) {
        return CTN_STEP_WAIT;
    }
    judge(x);
    size_t long_bytes = x->verdict.done ? 0 : list_candidates(x);
    return next_or_fail(op, long_bytes > 0 ? fetch_candidates(op, x, long_bytes)
                                           : CATENA_OK);
}

static void swap(candidate_t *a, candidate_t *b)
{
    candidate_t c = *a;
    *a = *b;
    *b = c;
}

/** Put those below the first of `list` in front of it. @return its new index;
 * *below: what those weigh */
static uint32_t part(const ctn_order_by_t *by, candidate_t *list,
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

/** Candidates below it weigh at most half of all, as do those above it: by
 * quickselect. The list gets shorter each time and is never empty, whatever
 * the comparator says. */
static const candidate_t *weighted_median(const ctn_order_by_t *by,
                                          candidate_t *list, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += list[i].weight;
    }
    uint64_t before = 0;
    for (;;) {
        uint64_t below;
        swap(&list[0], &list[count / 2]);
        uint32_t edge = part(by, list, count, &below);
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

static void choose_pivot(const ctn_order_by_t *by, exact_t *x)
{
    const candidate_t *median =
        weighted_median(by, x->candidate, x->candidates);
    verdict_t *verdict = &x->verdict;
    verdict->source = median->source;
    verdict->bytes = median->bytes;
    if (median->bytes > PIVOT_BYTES) { /* the offset, as it was bid */
        memcpy(verdict->record, median->bid, sizeof(uint64_t));
    } else {
        memcpy(verdict->record, median->record, median->bytes);
    }
}

static ctn_step_t give_verdict(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (!pool_ready(x)) {
        return CTN_STEP_WAIT;
    }
    if (own_is_open(x)) {
        if (!x->verdict.done) {
            choose_pivot(x->by, x);
        }
        pool_close(op, x);
        for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
            status = post(op, x, i, VERDICTS, &x->verdict, sizeof(x->verdict));
        }
    }
    x->seen = 0;
    return next_or_fail(op, status);
}

/** Whether the pivot of an open splitter is to be fetched. Others' only: the
 * own records are found by their index. */
static bool is_far(const exact_t *x, const verdict_t *verdict)
{
    return !verdict->done && verdict->bytes > PIVOT_BYTES &&
           verdict->source != x->lane->chain.rank;
}

static catena_status_t fetch_pivots(ctn_op_t *op, exact_t *x)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < x->peers; k++) {
        const verdict_t *verdict = posted(x, VERDICTS, k);
        x->splitter[k].pivot = (const void *)verdict->record;
        bytes += x->splitter[k].open && is_far(x, verdict) ? verdict->bytes : 0;
    }
    catena_status_t status = bytes > 0 ? pool_open(op, x, bytes) : CATENA_OK;
    for (uint32_t k = 0; status == CATENA_OK && bytes > 0 && k < x->peers;
         k++) {
        const verdict_t *verdict = posted(x, VERDICTS, k);
        if (x->splitter[k].open && is_far(x, verdict)) {
            uint64_t offset;
            const void *record = NULL;
            memcpy(&offset, verdict->record, sizeof(offset));
            status = pool_fetch(op, x, verdict->source, offset, verdict->bytes,
                                &record);
            x->splitter[k].pivot = record;
        }
    }
    return status;
}

static ctn_step_t take_verdicts(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    for (; x->seen < x->peers; x->seen++) {
        if (x->splitter[x->seen].open && !has_posted(x, VERDICTS, x->seen)) {
            return CTN_STEP_WAIT;
        }
    }
    return next_or_fail(op, fetch_pivots(op, x));
}

/** How many of the records in question are below the pivot. */
static uint32_t search(const exact_t *x, const splitter_t *splitter)
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

static void obey(exact_t *x, splitter_t *splitter, const verdict_t *verdict)
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
    } else if (verdict->source == x->lane->chain.rank) {
        splitter->cut[0] = splitter->low + (splitter->high - splitter->low) / 2;
        splitter->cut[1] = splitter->cut[0] + 1;
    } else {
        splitter->cut[0] = splitter->cut[1] = search(x, splitter);
    }
}

enum { PHASE_BIDS = 2, PHASE_MEET = 10 };

static ctn_step_t narrow(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (!pool_ready(x)) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t k = 0; k < x->peers; k++) {
        if (x->splitter[k].open) {
            obey(x, &x->splitter[k], posted(x, VERDICTS, k));
        }
    }
    pool_close(op, x);
    x->turn++;
    if (x->open == 0) {
        return CTN_STEP_NEXT;
    }
    x->contradiction = x->turn > x->turns_max; /* the same at all */
    return ctn_op_jump(op, x->contradiction ? PHASE_MEET : PHASE_BIDS);
}

/* ---- the pieces ---- */

/** The own records for member `k`: those between its splitters. */
static piece_t piece_for(const ctn_op_t *op, const exact_t *x, uint32_t k)
{
    uint32_t low = k > 0 ? x->splitter[k - 1].low : 0;
    uint32_t high = k + 1 < x->peers ? x->splitter[k].low : x->count;
    piece_t piece = {.contradiction = low > high};
    if (low < high) {
        const unsigned char *start = (const void *)x->record[low];
        const unsigned char *end = high < x->count
                                       ? (const void *)x->record[high]
                                       : x->table->records + x->table->bytes;
        piece.offset = offset_of(op->exec, start);
        piece.bytes = (uint64_t)(end - start);
    }
    return piece;
}

static ctn_step_t offer_pieces(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    bool contradiction = false;
    for (uint32_t k = 0; k < x->peers; k++) {
        contradiction |= piece_for(op, x, k).contradiction != 0;
    }
    for (uint32_t k = 0; status == CATENA_OK && k < x->peers; k++) {
        piece_t piece = piece_for(op, x, k);
        piece.contradiction = contradiction;
        status = post(op, x, k, BIDS, &piece, sizeof(piece));
    }
    x->seen = 0;
    op->exec->tally.rounds++;
    return next_or_fail(op, status);
}

static ctn_step_t take_pieces(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (!all_posted(x, BIDS)) {
        return CTN_STEP_WAIT;
    }
    x->run[0] = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        const piece_t *piece = posted(x, BIDS, i);
        x->run[i + 1] = x->run[i] + piece->bytes;
        x->contradiction |= piece->contradiction != 0;
    }
    if (x->contradiction) { /* all have seen it */
        return ctn_op_jump(op, PHASE_MEET);
    }
    catena_status_t status = pool_open(op, x, x->run[x->peers]);
    for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
        const piece_t *piece = posted(x, BIDS, i);
        const void *unused;
        if (piece->bytes > 0) {
            status = pool_fetch(op, x, i, piece->offset, piece->bytes, &unused);
        }
    }
    return next_or_fail(op, status);
}

/** Merge pairs of neighbouring runs. @return how many are left */
static uint32_t merge_pairs(exact_t *x, uint32_t runs,
                            const unsigned char *from, unsigned char *to)
{
    size_t *run = x->run;
    uint32_t left = 0;
    for (uint32_t i = 0; i < runs; i += 2) {
        size_t start = run[i];
        size_t middle = run[i + 1];
        size_t end = i + 2 <= runs ? run[i + 2] : middle;
        ctn_records_merge(x->by, from + start, middle - start, from + middle,
                          end - middle, to + start);
        run[left++] = start;
        run[left] = end;
    }
    return left;
}

static ctn_step_t merge(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (!pool_ready(x)) {
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
    pool_close(op, x);
    assert(count_records(&x->sorted) == x->count);
    return CTN_STEP_NEXT;
}

/* ---- the end ---- */

/** Then all have what they wanted of this member's table. */
static ctn_step_t meet(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    return ctn_op_call(op, ctn_scan_create(op->exec, x->lane, ctn_fold_sum,
                                           &x->words[0], &x->words[1],
                                           &x->words[2], sizeof(ctn_words_t)));
}

static ctn_step_t end(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    ctn_table_release(op->exec, x->table);
    *x->table = x->sorted;
    x->sorted = (ctn_table_t){NULL, 0};
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    size_t n = x->peers;
    pool_close(op, x);
    ctn_table_release(op->exec, &x->sorted);
    ctn_scratch_free(op->exec, x->record, x->count * sizeof(*x->record));
    ctn_scratch_free(op->exec, x->splitter, n * sizeof(*x->splitter));
    ctn_scratch_free(op->exec, x->candidate, n * sizeof(*x->candidate));
    ctn_scratch_free(op->exec, x->run, (n + 1) * sizeof(*x->run));
    /* Others may still write into these if it failed: they stay until the heap
     * goes. */
    if (op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, x->peer, n * sizeof(*x->peer));
        ctn_scratch_free(op->exec, x->board, board_bytes(x));
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"prepare", prepare},
                                     {"place bids", place_bids},
                                     {"take bids", take_bids},
                                     {"give verdict", give_verdict},
                                     {"take verdicts", take_verdicts},
                                     {"narrow", narrow},
                                     {"offer pieces", offer_pieces},
                                     {"take pieces", take_pieces},
                                     {"merge", merge},
                                     {"meet", meet},
                                     {"end", end},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/exact sort",
    .state_bytes = sizeof(exact_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_lane_t *lane,
                           ctn_table_t *table)
{
    ctn_op_t *op = ctn_op_create(by->exec, &algorithm, NULL);
    if (op != NULL) {
        exact_t *x = ctn_op_state(op);
        x->by = by;
        x->lane = lane;
        x->table = table;
    }
    return op;
}
