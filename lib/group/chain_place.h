#ifndef CTN_GROUP_CHAIN_PLACE_H
#define CTN_GROUP_CHAIN_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"

/* A member's place in a chain ([Moody], section 2): size, rank, own address and
 * the addresses of both neighbors. Its size is fixed for any length of the
 * chain. Collectives find further members by forwarding addresses: after round
 * d a member knows those 2^d away. Splits and the topology are made of the
 * operations here; each uses slots 2d (from the left) and 2d + 1 (from the
 * right) of its sequence in round d. */

typedef struct ctn_chain_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t self;
    ctn_address_t left;  /* CTN_NO_ADDRESS at rank 0 */
    ctn_address_t right; /* CTN_NO_ADDRESS at rank size - 1 */
} ctn_chain_place_t;

/** Bytes that a scan can carry: a slot less the forwarded packed address. */
#define CTN_SCAN_BYTES (CTN_INLINE_BYTES - sizeof(uint64_t))

/** Fold `in`, the value of members further away, into `inout`, the value of the
 * members between them and this one. Associative. `in_is_left`: those members
 * are to the left. */
typedef void (*ctn_fold_t)(void *inout, const void *in, int in_is_left);

/** Arguments and results of a double scan; state of ctn_scan_algorithm. */
typedef struct ctn_scan ctn_scan_t;

struct ctn_scan {
    /* arguments */
    const ctn_chain_place_t *place;
    ctn_fold_t fold;
    size_t bytes;       /* of a value, at most CTN_SCAN_BYTES */
    unsigned char *own; /* this member's value */
    unsigned char
        *from[2]; /* results: exclusive scan of the members to the left (0) and
                     to the right (1); the caller sets them to the identity */
    /* Sent in the first round in place of the value; NULL: the value.
     * `fold_opening` folds what it derives from the neighbor's opening into
     * from[side] and inclusive[side]. It may also add what it finds by
     * comparing the openings to `own` and to inclusive[] on both sides.
     * Additions travel from the second round on, so each member sees those of
     * every second member. If both ends of an edge add the same, all members
     * see all edges. */
    const void *opening;
    size_t opening_bytes; /* at most CTN_SCAN_BYTES */
    void (*fold_opening)(ctn_scan_t *scan, int side, const void *opening);
    void *context; /* for fold_opening */
    /* working */
    unsigned char inclusive[2][CTN_SCAN_BYTES];
    ctn_address_t partner[2];
    unsigned round;
    unsigned sent;
    unsigned received;
};

/** Both exclusive scans at once, in ceil(log2 p) rounds and O(1) memory
 * ([Moody], section 2, figure 1). Synchronizing. */
extern const ctn_algorithm_t ctn_scan_algorithm;
/** Its phases, for operations whose state begins with a ctn_scan_t. */
ctn_step_t ctn_scan_begin(ctn_op_t *op);
ctn_step_t ctn_scan_rounds(ctn_op_t *op);

/** Arguments of an allgather into a table in each member's arena: record i is
 * member i's. */
typedef struct ctn_table_allgather {
    /* arguments */
    const ctn_chain_place_t *place;
    uint64_t table;        /* offset of this member's table in its arena */
    unsigned char *memory; /* the same table in memory */
    size_t record_bytes;
    /* Member i contributes records first[i] .. first[i + 1] - 1; NULL: one
     * each. The same on all members. */
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

/** Recursive doubling in ceil(log2 p) + 1 rounds; every record is sent to each
 * member once. Synchronizing. */
extern const ctn_algorithm_t ctn_table_allgather_algorithm;

/* Folds. */

#define CTN_WORDS 6u

/** Values are uint64_t[], added word by word. */
typedef struct ctn_words {
    uint64_t word[CTN_WORDS];
} ctn_words_t;
void ctn_fold_sum(void *inout, const void *in, int in_is_left);

/** The value of the farthest member: from[0] becomes rank 0's (a broadcast),
 * from[1] that of the last rank. These two ranks get no value from their own
 * side. */
void ctn_fold_farthest(void *inout, const void *in, int in_is_left);

#endif
