#ifndef CTN_GROUP_CHAIN_H
#define CTN_GROUP_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"

/* A group as a chain ([Moody], section 2): size, rank, own address and the
 * addresses of both neighbours. Fixed memory for any size. Collectives on it
 * find further members by forwarding addresses: after round d a member knows
 * those 2^d away. The operations here are what splits and topology are made
 * of; each takes its channel's slots 2d (from the left) and 2d + 1 (from the
 * right) in round d. */

typedef struct ctn_chain_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t self;
    ctn_address_t left;  /* CTN_NO_ADDRESS at rank 0 */
    ctn_address_t right; /* CTN_NO_ADDRESS at rank size - 1 */
} ctn_chain_place_t;

/** Bytes that a scan can carry: a slot less the forwarded address, packed. */
#define CTN_SCAN_BYTES (CTN_INLINE_BYTES - sizeof(uint64_t))

/** Fold `far`, the value of members further away, into `near`, the value of
 * members between them and this one. Associative. `leftwards`: the far ones
 * are to the left. */
typedef void (*ctn_fold_t)(void *inout, const void *in, int in_is_left);

/** Arguments and results of a double scan: state of ctn_scan_algorithm. */
typedef struct ctn_scan ctn_scan_t;

struct ctn_scan {
    /* arguments */
    const ctn_chain_place_t *place;
    ctn_fold_t fold;
    size_t bytes;           /* of a value, at most CTN_SCAN_BYTES */
    unsigned char *own;     /* this member's value */
    unsigned char *from[2]; /* results: exclusive scan of the members to the
                               left (0) and to the right (1); set to the
                               identity by the caller */
    /* What neighbours tell each other in the first round in place of their
     * values; NULL: just these. `meet` folds what follows from it into
     * from[side] and inclusive[side]. What it knows only then (how neighbours
     * differ) it may add to `own` and to inclusive[] on both sides: that goes
     * along from the second round on, so each member sees the additions of
     * every second one. Both ends of an edge add it: then all see all edges. */
    const void *opening;
    size_t opening_bytes; /* at most CTN_SCAN_BYTES */
    void (*fold_opening)(ctn_scan_t *scan, int side, const void *opening);
    void *context; /* for it */
    /* working */
    unsigned char inclusive[2][CTN_SCAN_BYTES];
    ctn_address_t partner[2];
    unsigned round;
    unsigned sent;
    unsigned received;
};

/** Both exclusive scans at once, ceil(log2 p) rounds, O(1) memory ([Moody],
 * section 2, figure 1). Synchronizing. */
extern const ctn_algorithm_t ctn_scan_algorithm;
/** Its phases, for operations whose state begins with a ctn_scan_t. */
ctn_step_t ctn_scan_begin(ctn_op_t *op);
ctn_step_t ctn_scan_rounds(ctn_op_t *op);

/** Arguments of an allgather into a table in each member's arena: record i
 * is member i's. */
typedef struct ctn_table_allgather {
    /* arguments */
    const ctn_chain_place_t *place;
    uint64_t table;        /* offset of this member's table in its arena */
    unsigned char *memory; /* the same, as memory */
    size_t record_bytes;
    /* Member i contributes records first[i] .. first[i + 1] - 1; NULL: one
     * each. Known to all. */
    const uint32_t *first;
    /* working */
    struct ctn_table_allgather_peer {
        ctn_address_t address;
        uint64_t table;
    } partner[2];
    unsigned round;
    unsigned sent;
    unsigned received;
} ctn_table_allgather_t;

/** ceil(log2 p) + 1 rounds of doubling, every record travels to each member
 * once. Synchronizing. */
extern const ctn_algorithm_t ctn_table_allgather_algorithm;

/* Folds. */

#define CTN_WORDS 6u

/** Values are uint64_t[]: added word by word. */
typedef struct ctn_words {
    uint64_t word[CTN_WORDS];
} ctn_words_t;
void ctn_fold_sum(void *inout, const void *in, int in_is_left);

/** The value of the farthest member: from[0] is that of rank 0 (what it tells
 * all), from[1] that of the last; those two have only their own. */
void ctn_fold_farthest(void *inout, const void *in, int in_is_left);

#endif
