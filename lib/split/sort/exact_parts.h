#ifndef CTN_SPLIT_SORT_EXACT_PARTS_H
#define CTN_SPLIT_SORT_EXACT_PARTS_H

#include "split/sort/exact.h"

/* Shared by the files of the exact sort. exact.c explains it and has its
 * phases, exact_round.c the search rounds that find the splitters,
 * exact_messages.c messages and memory. Bids, verdicts, splitters and pivots
 * are explained in exact.c. */

/** What each member first sends to all others. */
typedef struct ctn_exact_peer {
    uint64_t process;
    uint64_t slots; /* offset in its arena */
    uint64_t count; /* of its records */
} ctn_exact_peer_t;

/* Bytes for a record in a bid and in a verdict, such that these fit a slot.
 * Longer records are fetched: the message has their offset. */
enum { CTN_BID_BYTES = 40, CTN_PIVOT_BYTES = 96 };

/** A member's two bids for a splitter. [0]: if the splitter is below the last
 * pivot, [1]: if it is above. */
typedef struct ctn_exact_bid {
    uint32_t below;    /* the member's records below the last pivot */
    uint32_t count[2]; /* of its records that are then in question */
    uint32_t bytes[2]; /* of the middle one of these */
    uint32_t unused;
    unsigned char record[2][CTN_BID_BYTES]; /* the middle one, or its offset */
} ctn_exact_bid_t;

/** The verdict of member k on splitter k, sent to all members. */
typedef struct ctn_exact_verdict {
    uint32_t above;  /* 1: the splitter is above the last pivot; 0: below */
    uint32_t done;   /* 1: and adjacent to it, so it is found */
    uint32_t source; /* the member that has the new pivot in its table */
    uint32_t bytes;  /* of the new pivot */
    unsigned char record[CTN_PIVOT_BYTES]; /* the new pivot, or its offset */
} ctn_exact_verdict_t;

/* The slots of a member: for each kind of message one from each member. The
 * word of a slot is the number of the search round. No member writes a slot
 * again before the owner has answered: a bid is answered by a verdict, a
 * verdict by a bid of the next search round. */
enum { CTN_EXACT_BIDS, CTN_EXACT_VERDICTS, CTN_EXACT_KINDS };

/** Where a splitter divides this member's own table; indices of records. */
typedef struct ctn_exact_splitter {
    uint32_t low, high; /* the records from `low` to before `high` are still in
                           question; once found, it is before record `low` */
    uint32_t cut[2];    /* records before cut[0] are below the pivot, those from
                           cut[1] on above it; between them, the pivot itself */
    const ctn_record_t *pivot; /* while records are compared with it */
    bool open;                 /* not found yet */
} ctn_exact_splitter_t;

/** A bid that may become the pivot. */
typedef struct ctn_exact_candidate {
    const ctn_record_t *record; /* in the bid, or fetched */
    const unsigned char *bid;   /* the record in the bid, or its offset */
    uint32_t bytes;             /* of the record */
    uint32_t source;            /* the member that bids it */
    uint64_t weight; /* number of that member's records in question */
} ctn_exact_candidate_t;

/** Memory that records are fetched into. It contains the counter of the
 * fetches, because the transport may access both after the operation has
 * failed. */
typedef struct ctn_exact_pool {
    uint64_t pending; /* fetches that are not complete */
    _Alignas(64) unsigned char data[];
} ctn_exact_pool_t;

typedef struct ctn_exact {
    /* arguments */
    const ctn_order_by_t *by;
    ctn_chain_t *chain;        /* of the members that sort */
    ctn_record_table_t *table; /* this member's */
    /* working */
    uint32_t peers; /* number of members, including this one */
    uint32_t count; /* of own records */
    uint32_t open;  /* number of splitters that are not found yet */
    uint32_t round; /* its number, from 1 */
    uint32_t rounds_max;
    uint32_t seen;   /* messages received in this search round: of members 0 to
                        seen - 1 */
    uint64_t target; /* number of all records below the own splitter */
    bool contradiction;               /* the comparator is inconsistent */
    ctn_exact_peer_t *peer;           /* [peers] */
    ctn_slot_t *slots;                /* [CTN_EXACT_KINDS * peers], by kind */
    const ctn_record_t **record;      /* [count]: those in the table */
    ctn_exact_splitter_t *splitter;   /* [peers] */
    ctn_exact_candidate_t *candidate; /* [peers], for the own splitter */
    uint32_t candidates;              /* their number */
    ctn_exact_verdict_t verdict;      /* on the own splitter */
    size_t *run;               /* [peers + 1]: where the runs to merge start in
                                  the pool, and where the last one ends */
    ctn_exact_pool_t *pool;    /* NULL: nothing is fetched */
    size_t pool_bytes;         /* of the allocation */
    size_t pool_used;          /* of pool->data */
    ctn_record_table_t sorted; /* the result */
    ctn_words_t words[3];      /* of the last scan; not significant */
} ctn_exact_t;

/** Phases that search rounds jump to. */
enum { CTN_EXACT_PHASE_BIDS = 2, CTN_EXACT_PHASE_SYNCHRONIZE = 10 };

/* ---- messages and memory ---- */

/** Allocate memory for the next fetches. */
catena_status_t ctn_exact_pool_open(ctn_op_t *op, ctn_exact_t *x, size_t bytes);
/** Release the pool, if there is one. If a fetch of a failed operation is
 * pending, the memory is kept until the heap is destroyed. */
void ctn_exact_pool_close(ctn_op_t *op, ctn_exact_t *x);
/** Return whether all fetches are complete. */
bool ctn_exact_pool_ready(const ctn_exact_t *x);
/** Start to fetch `bytes` at `offset` in the arena of member `from`.
 * @param[out] data where they will be, in the pool */
catena_status_t ctn_exact_fetch(ctn_op_t *op, ctn_exact_t *x, uint32_t from,
                                uint64_t offset, size_t bytes,
                                const void **data);

/** Put a message of a kind, CTN_EXACT_BIDS or CTN_EXACT_VERDICTS, into this
 * member's slot at member `to`. Blocks use the slots of bids. */
catena_status_t ctn_exact_send(ctn_op_t *op, const ctn_exact_t *x, uint32_t to,
                               unsigned kind, const void *data, size_t bytes);
/** Return the data of the message of a kind from member `from`. */
const void *ctn_exact_message(const ctn_exact_t *x, unsigned kind,
                              uint32_t from);
/** Return whether the message of this search round has arrived. */
bool ctn_exact_has_message(const ctn_exact_t *x, unsigned kind, uint32_t from);
/** Return whether the messages of this kind from all members have arrived. */
bool ctn_exact_has_all(ctn_exact_t *x, unsigned kind);

/** Return the step of a phase that is over, or has failed with `status`. */
static inline ctn_step_t ctn_exact_next(ctn_op_t *op, catena_status_t status)
{
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- phases of a search round, in this order ---- */

/** Send bids for all splitters that are not found. */
ctn_step_t ctn_exact_send_bids(ctn_op_t *op);
/** Wait for the bids for the own splitter; fetch those that did not fit. */
ctn_step_t ctn_exact_receive_bids(ctn_op_t *op);
/** Choose the pivot for the own splitter; send the verdict. */
ctn_step_t ctn_exact_send_verdict(ctn_op_t *op);
/** Wait for the verdicts on all splitters; fetch pivots that did not fit. */
ctn_step_t ctn_exact_receive_verdicts(ctn_op_t *op);
/** Apply the verdicts to the own table. Begin the next search round, unless all
 * splitters are found, or there were too many search rounds. */
ctn_step_t ctn_exact_narrow(ctn_op_t *op);

#endif
