#ifndef CTN_SPLIT_SORT_EXACT_PARTS_H
#define CTN_SPLIT_SORT_EXACT_PARTS_H

#include "split/sort/exact.h"

/* Shared by the files of the exact sort: exact.c has its phases, exact_round.c
 * the rounds that find the splitters, exact_messages.c messages and memory. */

/** Sent by each member to all others first. */
typedef struct ctn_exact_peer {
    uint64_t process;
    uint64_t slots; /* offset in its arena */
    uint64_t count; /* of its records */
} ctn_exact_peer_t;

/* Records that do not fit are fetched. */
enum { CTN_BID_BYTES = 40, CTN_PIVOT_BYTES = 96 };

/** A member's bid for a splitter. [0]: if the splitter is below the last pivot,
 * [1]: if it is above. */
typedef struct ctn_exact_bid {
    uint32_t below;    /* records below the last pivot */
    uint32_t count[2]; /* then in question */
    uint32_t bytes[2]; /* of the middle one */
    uint32_t unused;
    unsigned char record[2][CTN_BID_BYTES]; /* or its offset */
} ctn_exact_bid_t;

/** A verdict on a splitter, sent to all members. */
typedef struct ctn_exact_verdict {
    uint32_t above;  /* the splitter is above the last pivot */
    uint32_t done;   /* and adjacent to it */
    uint32_t source; /* the owner of the new pivot */
    uint32_t bytes;
    unsigned char record[CTN_PIVOT_BYTES]; /* or its offset */
} ctn_exact_verdict_t;

/* Each side has a slot for each member. The words are rounds. No member writes
 * a slot again before its reader has answered. */
enum { CTN_EXACT_BIDS, CTN_EXACT_VERDICTS, CTN_EXACT_SIDES };

/** A member's view of a splitter: where it cuts its own table. */
typedef struct ctn_exact_splitter {
    uint32_t low, high;        /* between these records */
    uint32_t cut[2];           /* below and above the pivot */
    const ctn_record_t *pivot; /* while it is compared */
    bool open;
} ctn_exact_splitter_t;

/** A bid that may become the pivot. */
typedef struct ctn_exact_candidate {
    const ctn_record_t *record;
    const unsigned char *bid; /* what to send to the others */
    uint32_t bytes;
    uint32_t source;
    uint64_t weight;
} ctn_exact_candidate_t;

/** Memory that records are fetched into. The counter is in it, because the
 * transport may access both after the operation has failed. */
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
    uint32_t peers; /* their number, including this member */
    uint32_t count; /* own records */
    uint32_t open;  /* splitters */
    uint32_t round;
    uint32_t rounds_max;
    uint32_t seen;   /* messages received in this round */
    uint64_t target; /* records below the own splitter */
    bool contradiction;
    ctn_exact_peer_t *peer;
    ctn_slot_t *slots;
    const ctn_record_t **record; /* the table's */
    ctn_exact_splitter_t *splitter;
    ctn_exact_candidate_t *candidate;
    uint32_t candidates;
    ctn_exact_verdict_t verdict;
    size_t *run; /* where the blocks start, and the end */
    ctn_exact_pool_t *pool;
    size_t pool_bytes;
    size_t pool_used;
    ctn_record_table_t sorted;
    ctn_words_t words[3];
} ctn_exact_t;

/** Phases that rounds jump to. */
enum { CTN_EXACT_PHASE_BIDS = 2, CTN_EXACT_PHASE_SYNCHRONIZE = 10 };

/* ---- messages and memory ---- */

/** Return the offset of memory in the heap. */
uint64_t ctn_exact_offset(const ctn_exec_t *exec, const void *memory);

/** Allocate memory for the next fetches. */
catena_status_t ctn_exact_pool_open(ctn_op_t *op, ctn_exact_t *x, size_t bytes);
/** Release it. If a fetch of a failed operation is pending, it is kept until
 * the heap is destroyed. */
void ctn_exact_pool_close(ctn_op_t *op, ctn_exact_t *x);
/** Return whether all fetches are complete. */
bool ctn_exact_pool_ready(const ctn_exact_t *x);
/** Start to fetch another member's memory at `offset`.
 * @param[out] data where it will be */
catena_status_t ctn_exact_fetch(ctn_op_t *op, ctn_exact_t *x, uint32_t from,
                                uint64_t offset, size_t bytes,
                                const void **data);

/** Put a message into this member's slot on a side of another member. */
catena_status_t ctn_exact_send(ctn_op_t *op, const ctn_exact_t *x, uint32_t to,
                               unsigned side, const void *data, size_t bytes);
/** Return the message of a member on a side of this one. */
const void *ctn_exact_message(const ctn_exact_t *x, unsigned side,
                              uint32_t from);
bool ctn_exact_has_message(const ctn_exact_t *x, unsigned side, uint32_t from);
/** Return whether the messages of all members on this side are here. */
bool ctn_exact_has_all(ctn_exact_t *x, unsigned side);

static inline ctn_step_t ctn_exact_next(ctn_op_t *op, catena_status_t status)
{
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- phases of a round ---- */

ctn_step_t ctn_exact_send_bids(ctn_op_t *op);
ctn_step_t ctn_exact_receive_bids(ctn_op_t *op);
ctn_step_t ctn_exact_send_verdict(ctn_op_t *op);
ctn_step_t ctn_exact_receive_verdicts(ctn_op_t *op);
/** Go to the next round, or on. */
ctn_step_t ctn_exact_narrow(ctn_op_t *op);

#endif
