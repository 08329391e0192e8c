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
 * each member fetches its block of every table and sorts the blocks.
 *
 * Rounds: 2 a search round, at most log4/3(N) search rounds, about log2(N);
 * then 1 for the blocks, 2 ceil(log2 P) + 1 before and ceil(log2 P) after.
 * Messages: 2 P per member and search round. Memory: three times the table, and
 * 6 P times the longest record.
 *
 * Differs from the paper: a member bids before it knows on which side of the
 * last pivot the splitter lies. So it makes a bid for each side, which saves
 * one exchange a search round. No bids are sent for a splitter that is found.
 * The number of records and a limit of search rounds end the search, never
 * comparisons alone, so the sort terminates for any comparator. */

#include <string.h>

#include "exec/slot.h"
#include "group/chain_coll.h"
#include "split/sort/exact.h"

/** What each member first sends to all others. */
typedef struct peer {
    uint64_t process;
    uint64_t slots; /* offset in its arena */
    uint64_t count; /* of its records */
} peer_t;

/** A record that a member bids for a splitter. */
typedef struct bid {
    uint32_t count;  /* of the member's records in question; 0: no record */
    uint32_t source; /* the member */
    unsigned char record[]; /* the middle one of them */
} bid_t;

/* A message of bids has a uint64_t: the member's records below the last pivot;
 * then two bids: if the splitter is below the last pivot, and if it is above.
 */

/** The verdict of member k on splitter k, sent to all members. */
typedef struct verdict {
    uint32_t above; /* 1: the splitter is above the last pivot; 0: below */
    uint32_t done;  /* 1: and adjacent to it, so it is found */
    bid_t pivot;    /* the new one, unless `done` */
} verdict_t;

/** Tells a member where its block of the sender's table lies. */
typedef struct split_block {
    uint64_t offset; /* in the sender's arena */
    uint64_t bytes;
    uint64_t contradiction; /* 1: the sender's splitters are not in order */
} split_block_t;

/* The slots of a member: for each kind of message one from each member, then
 * one for each message that it sends. A slot is a word, the number of the
 * search round, and a message. No member writes a slot again before the owner
 * has answered: a bid is answered by a verdict, a verdict by a bid of the next
 * search round. Blocks use the slots of bids. */
enum { BIDS, VERDICTS, OUTGOING, KINDS };

/** Where a splitter divides this member's own table; indices of records. */
typedef struct splitter {
    uint32_t low, high; /* the records from `low` to before `high` are still in
                           question; once found, it is before record `low` */
    uint32_t cut[2];    /* records before cut[0] are below the pivot, those from
                           cut[1] on above it; between them, the pivot itself */
    bool open;          /* not found yet */
} splitter_t;

typedef struct exact {
    /* arguments */
    const ctn_order_by_t *by;
    ctn_chain_t *chain;  /* of the members that sort */
    ctn_stream_t *table; /* this member's */
    /* working */
    uint32_t peers; /* number of members, including this one */
    uint32_t count; /* of own records */
    uint32_t open;  /* number of splitters that are not found yet */
    uint32_t round; /* its number, from 1 */
    uint32_t rounds_max;
    uint32_t seen;    /* messages received in this search round: of members 0 to
                         seen - 1 */
    uint64_t target;  /* number of all records below the own splitter */
    uint64_t longest; /* bytes of this member's longest record, then of all */
    uint64_t longest_left, longest_right; /* of the members on either side */
    bool contradiction;                   /* the comparator is inconsistent */
    peer_t *peer;                         /* [peers] */
    unsigned char *slots;                 /* [KINDS][peers], of slot_bytes */
    const ctn_record_t **record;          /* [count]: those in the table */
    splitter_t *splitter;                 /* [peers] */
    const ctn_record_t **bid; /* [2 * peers]: records bid for the own
                                 splitter */
    ctn_stream_t blocks;      /* fetched, then sorted */
} exact_t;

/** Phases that search rounds jump to. */
enum { PHASE_BIDS = 3, PHASE_SYNCHRONIZE = 9 };

/* ---- messages ---- */

static size_t slot_bytes(const exact_t *x)
{
    return 2 * (sizeof(uint64_t) + sizeof(bid_t) + x->longest);
}

/** Return the offset of a slot from the first one. */
static size_t slot_at(const exact_t *x, unsigned kind, uint32_t peer)
{
    return ((size_t)kind * x->peers + peer) * slot_bytes(x);
}

/** Return the message in one of this member's slots. */
static void *message_in(const exact_t *x, unsigned kind, uint32_t peer)
{
    return x->slots + slot_at(x, kind, peer) + sizeof(uint64_t);
}

/** Put the message in outgoing slot `from` into the slot of this member at
 * member `to`. The message must not change until op->pending is 0. */
static catena_status_t send(ctn_op_t *op, const exact_t *x, unsigned kind,
                            uint32_t to, uint32_t from, size_t bytes)
{
    uint64_t at = x->peer[to].slots + slot_at(x, kind, x->chain->place.rank);
    return ctn_op_put(op, x->peer[to].process, message_in(x, OUTGOING, from),
                      bytes, at + sizeof(uint64_t), at, x->round);
}

/** Return whether the message of this search round has arrived. */
static bool has_message(const exact_t *x, unsigned kind, uint32_t from)
{
    const void *word = x->slots + slot_at(x, kind, from);
    return ctn_word_load(word) == x->round;
}

/** Return whether the messages of this kind from all members have arrived. */
static bool has_all(exact_t *x, unsigned kind)
{
    while (x->seen < x->peers && has_message(x, kind, x->seen)) {
        x->seen++;
    }
    return x->seen == x->peers;
}

static size_t bid_bytes(const bid_t *bid)
{
    return sizeof(*bid) +
           (bid->count > 0 ? ctn_record_bytes((const void *)bid->record) : 0);
}

/* ---- the beginning ---- */

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** The fold of the scan that finds the longest record (ctn_fold_t). */
static void fold(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    *(uint64_t *)inout = longer(*(uint64_t *)inout, *(const uint64_t *)in);
}

/** List the own records; find the length of the longest of all. */
static ctn_step_t begin(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    x->peers = x->chain->place.size;
    x->count = ctn_record_table_list(x->table, NULL);
    x->record = ctn_scratch_alloc(op->exec, x->count * sizeof(*x->record));
    if (x->record == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    (void)ctn_record_table_list(x->table, x->record);
    for (uint32_t i = 0; i < x->count; i++) {
        x->longest = longer(x->longest, ctn_record_bytes(x->record[i]));
    }
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, x->chain, fold, &x->longest,
                                       &x->longest_left, &x->longest_right,
                                       sizeof(x->longest)));
}

/** Exchange addresses of slots and numbers of records. */
static ctn_step_t exchange(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    const ctn_chain_place_t *place = &x->chain->place;
    size_t n = x->peers;
    x->longest = longer(x->longest, longer(x->longest_left, x->longest_right));
    x->peer = ctn_scratch_alloc(op->exec, n * sizeof(*x->peer));
    x->slots = ctn_scratch_alloc(op->exec, slot_at(x, KINDS, 0));
    x->splitter = ctn_scratch_alloc(op->exec, n * sizeof(*x->splitter));
    x->bid = ctn_scratch_alloc(op->exec, 2 * n * sizeof(*x->bid));
    if (x->peer == NULL || x->slots == NULL || x->splitter == NULL ||
        x->bid == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    memset(x->slots, 0, slot_at(x, OUTGOING, 0));
    peer_t *own = &x->peer[place->rank];
    *own = (peer_t){place->self.process,
                    ctn_heap_offset(op->exec->heap, x->slots), x->count};
    return ctn_op_call(op, ctn_chain_allgather_table(op->exec, x->chain, own,
                                                     sizeof(*own), x->peer));
}

/** Put all own records in question for every splitter. */
static ctn_step_t prepare(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        total += x->peer[i].count;
        if (i == x->chain->place.rank) {
            x->target = total;
        }
        x->splitter[i] = (splitter_t){
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
    return CTN_STEP_NEXT;
}

/* ---- a search round ---- */

/** Write a bid: the middle one of the own records from `low` to before `high`.
 * @return the end of the bid */
static unsigned char *write_bid(const exact_t *x, unsigned char *to,
                                uint32_t low, uint32_t high)
{
    bid_t *bid = (void *)to;
    *bid = (bid_t){.count = high - low, .source = x->chain->place.rank};
    if (low < high) {
        const ctn_record_t *record = x->record[low + (high - low) / 2];
        memcpy(bid->record, record, ctn_record_bytes(record));
    }
    return to + bid_bytes(bid);
}

/** Send bids for all splitters that are not found. */
static ctn_step_t send_bids(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (op->pending > 0) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t k = 0; status == CATENA_OK && k < x->peers; k++) {
        const splitter_t *splitter = &x->splitter[k];
        if (!splitter->open) {
            continue;
        }
        unsigned char *message = message_in(x, OUTGOING, k);
        uint64_t below = splitter->cut[0];
        memcpy(message, &below, sizeof(below));
        unsigned char *end = write_bid(x, message + sizeof(below),
                                       splitter->low, splitter->cut[0]);
        end = write_bid(x, end, splitter->cut[1], splitter->high);
        status = send(op, x, BIDS, k, k, (size_t)(end - message));
    }
    x->seen = 0;
    op->exec->tally.rounds += 2;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Return the bid of a member for the own splitter, if that is below the last
 * pivot, or above it. */
static const bid_t *bid_from(const exact_t *x, uint32_t from, bool above)
{
    const unsigned char *message = message_in(x, BIDS, from);
    const bid_t *low = (const void *)(message + sizeof(uint64_t));
    const void *high = (const unsigned char *)low + bid_bytes(low);
    return above ? high : low;
}

/** Return a bid such that the members which bid records below it have at most
 * half of all records in question, and so do those above it. By the numbers of
 * records there is a bid on the splitter's side, whatever the comparator
 * says. */
static const bid_t *weighted_median(exact_t *x, bool above)
{
    uint64_t total = 0;
    uint64_t before = 0;
    uint32_t bids = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        const bid_t *bid = bid_from(x, i, above);
        if (bid->count > 0) {
            x->bid[bids++] = (const void *)bid->record;
            total += bid->count;
        }
    }
    ctn_records_sort(x->by, x->bid, bids);
    for (uint32_t i = 0;; i++) {
        const bid_t *bid = (const void *)((const unsigned char *)x->bid[i] -
                                          offsetof(bid_t, record));
        before += bid->count;
        if (2 * before >= total) {
            return bid;
        }
    }
}

/** Decide on which side of the last pivot the own splitter is, from the number
 * of all records below the pivot; choose the next one.
 * @return the bytes of the verdict */
static size_t write_verdict(exact_t *x, verdict_t *verdict)
{
    uint64_t below = 0;
    for (uint32_t i = 0; i < x->peers; i++) {
        below += *(const uint64_t *)message_in(x, BIDS, i);
    }
    bool above = below < x->target;
    bool done = below == x->target || below + 1 == x->target; /* adjacent */
    *verdict = (verdict_t){.above = above, .done = done};
    if (!done) {
        const bid_t *pivot = weighted_median(x, above);
        memcpy(&verdict->pivot, pivot, bid_bytes(pivot));
    }
    return offsetof(verdict_t, pivot) + bid_bytes(&verdict->pivot);
}

/** Wait for the bids for the own splitter; send the verdict. */
static ctn_step_t send_verdict(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    uint32_t me = x->chain->place.rank;
    catena_status_t status = CATENA_OK;
    if (x->splitter[me].open) {
        if (!has_all(x, BIDS) || op->pending > 0) {
            return CTN_STEP_WAIT;
        }
        size_t bytes = write_verdict(x, message_in(x, OUTGOING, me));
        for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
            status = send(op, x, VERDICTS, i, me, bytes);
        }
    }
    x->seen = 0;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Return the index of the first record in question that is not below the
 * pivot. */
static uint32_t search(const exact_t *x, const splitter_t *splitter,
                       const bid_t *pivot)
{
    uint32_t low = splitter->low;
    uint32_t high = splitter->high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ctn_record_compare(x->by, x->record[middle],
                               (const void *)pivot->record) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** Reduce the own records in question to one side of the last pivot, and find
 * where the new pivot divides them. */
static void apply_verdict(exact_t *x, splitter_t *splitter,
                          const verdict_t *verdict)
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
    } else if (verdict->pivot.source ==
               x->chain->place.rank) { /* the one bid */
        splitter->cut[0] = splitter->low + (splitter->high - splitter->low) / 2;
        splitter->cut[1] = splitter->cut[0] + 1;
    } else {
        splitter->cut[0] = splitter->cut[1] =
            search(x, splitter, &verdict->pivot);
    }
}

/** Wait for the verdicts on all splitters; apply them to the own table. Begin
 * the next search round, unless all splitters are found, or there were too many
 * search rounds. */
static ctn_step_t narrow(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    for (; x->seen < x->peers; x->seen++) {
        if (x->splitter[x->seen].open && !has_message(x, VERDICTS, x->seen)) {
            return CTN_STEP_WAIT;
        }
    }
    for (uint32_t k = 0; k < x->peers; k++) {
        if (x->splitter[k].open) {
            apply_verdict(x, &x->splitter[k], message_in(x, VERDICTS, k));
        }
    }
    x->round++;
    if (x->open == 0) {
        return CTN_STEP_NEXT;
    }
    x->contradiction = x->round > x->rounds_max; /* the same on all members */
    return ctn_op_jump(op, x->contradiction ? PHASE_SYNCHRONIZE : PHASE_BIDS);
}

/* ---- the blocks ---- */

/** Return the block of the own table for member `k`: from splitter k - 1 to
 * splitter k. */
static split_block_t block_for(const ctn_op_t *op, const exact_t *x, uint32_t k)
{
    uint32_t low = k > 0 ? x->splitter[k - 1].low : 0;
    uint32_t high = k + 1 < x->peers ? x->splitter[k].low : x->count;
    split_block_t block = {.contradiction = x->contradiction};
    if (low < high) {
        const unsigned char *start = (const void *)x->record[low];
        const unsigned char *end = high < x->count
                                       ? (const void *)x->record[high]
                                       : x->table->memory + x->table->bytes;
        block.offset = ctn_heap_offset(op->exec->heap, start);
        block.bytes = (uint64_t)(end - start);
    }
    return block;
}

/** Tell each member where its block of the own table lies. */
static ctn_step_t publish_blocks(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (op->pending > 0) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t k = 1; k + 1 < x->peers; k++) {
        x->contradiction |= x->splitter[k - 1].low > x->splitter[k].low;
    }
    for (uint32_t k = 0; status == CATENA_OK && k < x->peers; k++) {
        split_block_t *block = message_in(x, OUTGOING, k);
        *block = block_for(op, x, k);
        status = send(op, x, BIDS, k, k, sizeof(*block));
    }
    x->seen = 0;
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Fetch the own block of member `from`'s table. */
static catena_status_t fetch(ctn_op_t *op, exact_t *x, uint32_t from)
{
    const split_block_t *block = message_in(x, BIDS, from);
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, x->peer[from].process, &endpoint);
    if (status != CATENA_OK || block->bytes == 0) {
        return status;
    }
    unsigned char *to = x->blocks.memory + x->blocks.bytes;
    x->blocks.bytes += block->bytes;
    op->exec->tally.bytes += block->bytes;
    const void *mapped = ctn_pointer(endpoint, block->offset);
    if (mapped != NULL) { /* on the node: there may be no `get` */
        memcpy(to, mapped, block->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, block->bytes);
        return CATENA_OK;
    }
    ctn_op_set_network(op, true);
    return endpoint->transport->ops->get(endpoint, to, block->bytes,
                                         block->offset, &op->pending);
}

static ctn_step_t fetch_blocks(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    size_t bytes = 0;
    if (!has_all(x, BIDS)) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t i = 0; i < x->peers; i++) {
        const split_block_t *block = message_in(x, BIDS, i);
        bytes += block->bytes;
        x->contradiction |= block->contradiction != 0;
    }
    if (x->contradiction) { /* the sender has told all members */
        return ctn_op_jump(op, PHASE_SYNCHRONIZE);
    }
    catena_status_t status = ctn_stream_reserve(op->exec, &x->blocks, bytes);
    for (uint32_t i = 0; status == CATENA_OK && i < x->peers; i++) {
        status = fetch(op, x, i);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t sort_blocks(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (op->pending > 0) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = ctn_record_table_sort(x->by, &x->blocks);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- the end ---- */

/** After this barrier no member accesses this member's table. */
static ctn_step_t synchronize(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    return ctn_op_call(op, ctn_chain_barrier(op->exec, x->chain));
}

static ctn_step_t end(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    if (!x->contradiction) {
        ctn_stream_release(op->exec, x->table);
        *x->table = x->blocks;
        x->blocks = (ctn_stream_t){NULL, 0, 0};
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    exact_t *x = ctn_op_state(op);
    size_t n = x->peers;
    ctn_scratch_free(op->exec, x->record, x->count * sizeof(*x->record));
    ctn_scratch_free(op->exec, x->splitter, n * sizeof(*x->splitter));
    ctn_scratch_free(op->exec, x->bid, 2 * n * sizeof(*x->bid));
    /* After an error other members and the transport may still access these,
     * which are kept until the heap is destroyed. */
    if (op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, x->peer, n * sizeof(*x->peer));
        ctn_scratch_free(op->exec, x->slots, slot_at(x, KINDS, 0));
        ctn_stream_release(op->exec, &x->blocks);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"exchange", exchange},
                                     {"prepare", prepare},
                                     {"send bids", send_bids},
                                     {"send verdict", send_verdict},
                                     {"narrow", narrow},
                                     {"publish blocks", publish_blocks},
                                     {"fetch blocks", fetch_blocks},
                                     {"sort blocks", sort_blocks},
                                     {"synchronize", synchronize},
                                     {"end", end},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/exact sort",
    .state_bytes = sizeof(exact_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_chain_t *chain,
                           ctn_stream_t *table)
{
    ctn_op_t *op = ctn_op_create(by->exec, &algorithm, NULL);
    if (op != NULL) {
        exact_t *x = ctn_op_state(op);
        x->by = by;
        x->chain = chain;
        x->table = table;
    }
    return op;
}
