#ifndef CTN_SPLIT_SORT_EXACT_PARTS_H
#define CTN_SPLIT_SORT_EXACT_PARTS_H

#include "split/sort/exact.h"

/* What the parts of the exact sort share: exact.c has its course, exact_turn.c
 * the turns that find the splitters, exact_messages.c messages and memory. */

/** What each tells all others first. */
typedef struct ctn_exact_peer {
    uint64_t process;
    uint64_t slots; /* offset in its arena */
    uint64_t count; /* of its records */
} ctn_exact_peer_t;

/* Records that are longer than the room for them are fetched. */
enum { CTN_BID_BYTES = 40, CTN_PIVOT_BYTES = 96 };

/** For a splitter, from a member. [0]: if it is below the last pivot, [1]: if
 * it is above. */
typedef struct ctn_exact_bid {
    uint32_t below;    /* records below the last pivot */
    uint32_t count[2]; /* then in question */
    uint32_t bytes[2]; /* of the middle one */
    uint32_t unused;
    unsigned char record[2][CTN_BID_BYTES]; /* or its offset */
} ctn_exact_bid_t;

/** On a splitter, to all. */
typedef struct ctn_exact_verdict {
    uint32_t above;  /* it is above the last pivot */
    uint32_t done;   /* and right beside it */
    uint32_t source; /* whose record is the new pivot */
    uint32_t bytes;
    unsigned char record[CTN_PIVOT_BYTES]; /* or its offset */
} ctn_exact_verdict_t;

/* A board has a slot for each member on either of its sides. The words are
 * turns. Nobody writes a slot again before its reader has answered. */
enum { CTN_EXACT_BIDS, CTN_EXACT_VERDICTS, CTN_EXACT_SIDES };

/** A splitter as seen by a member: where it cuts its own table. */
typedef struct ctn_exact_splitter {
    uint32_t low, high;        /* between these records */
    uint32_t cut[2];           /* below and above the pivot */
    const ctn_record_t *pivot; /* while it is looked at */
    bool open;
} ctn_exact_splitter_t;

/** A bid that may become the pivot. */
typedef struct ctn_exact_candidate {
    const ctn_record_t *record;
    const unsigned char *bid; /* what to tell the others of it */
    uint32_t bytes;
    uint32_t source;
    uint64_t weight;
} ctn_exact_candidate_t;

/** Memory that records are fetched into. The count lies with it, since the
 * transport may come back to both when the operation has failed. */
typedef struct ctn_exact_pool {
    uint64_t pending;
    _Alignas(64) unsigned char data[];
} ctn_exact_pool_t;

typedef struct ctn_exact {
    /* arguments */
    const ctn_order_by_t *by;
    ctn_chain_t *chain;
    ctn_record_table_t *table;
    /* working */
    uint32_t peers; /* how many; this one included */
    uint32_t count; /* own records */
    uint32_t open;  /* splitters */
    uint32_t turn;
    uint32_t turns_max;
    uint32_t seen;   /* messages of this round */
    uint64_t target; /* records below the own splitter */
    bool contradiction;
    ctn_exact_peer_t *peer;
    ctn_slot_t *slots;
    const ctn_record_t **record; /* the table's */
    ctn_exact_splitter_t *splitter;
    ctn_exact_candidate_t *candidate;
    uint32_t candidates;
    ctn_exact_verdict_t verdict;
    size_t *run; /* where the pieces start, and the end */
    ctn_exact_pool_t *pool;
    size_t pool_bytes;
    size_t pool_used;
    ctn_record_table_t sorted;
    ctn_words_t words[3];
} ctn_exact_t;

/** Phases that turns lead back and on to. */
enum { CTN_EXACT_PHASE_BIDS = 2, CTN_EXACT_PHASE_SYNCHRONIZE = 10 };

/* ---- messages and memory ---- */

/** Where it lies in the heap, for others. */
uint64_t ctn_exact_offset(const ctn_exec_t *exec, const void *memory);

/** Memory for what is fetched next. */
catena_status_t ctn_exact_pool_open(ctn_op_t *op, ctn_exact_t *x, size_t bytes);
/** What is still on its way, of an operation that failed, stays until the heap
 * goes. */
void ctn_exact_pool_close(ctn_op_t *op, ctn_exact_t *x);
/** Whether all is there that was to be fetched. */
bool ctn_exact_pool_ready(const ctn_exact_t *x);
/** Begin to fetch what another member has at `offset`.
 * @param[out] data where it will be */
catena_status_t ctn_exact_fetch(ctn_op_t *op, ctn_exact_t *x, uint32_t from,
                                uint64_t offset, size_t bytes,
                                const void **data);

/** Put a message on a side of a member's board. */
catena_status_t ctn_exact_send(ctn_op_t *op, const ctn_exact_t *x, uint32_t to,
                               unsigned side, const void *data, size_t bytes);
/** What a member has put on a side of this one's. */
const void *ctn_exact_message(const ctn_exact_t *x, unsigned side,
                              uint32_t from);
bool ctn_exact_has_message(const ctn_exact_t *x, unsigned side, uint32_t from);
/** Whether all have posted on this side of the board. */
bool ctn_exact_has_all(ctn_exact_t *x, unsigned side);

static inline ctn_step_t ctn_exact_next(ctn_op_t *op, catena_status_t status)
{
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- phases of a turn ---- */

ctn_step_t ctn_exact_send_bids(ctn_op_t *op);
ctn_step_t ctn_exact_receive_bids(ctn_op_t *op);
ctn_step_t ctn_exact_send_verdict(ctn_op_t *op);
ctn_step_t ctn_exact_receive_verdicts(ctn_op_t *op);
/** The next turn, or on. */
ctn_step_t ctn_exact_narrow(ctn_op_t *op);

#endif
