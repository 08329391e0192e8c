#ifndef CTN_GROUP_CHAIN_PLACE_H
#define CTN_GROUP_CHAIN_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/exec.h"

/* A member's place in a chain ([Moody], section 2): size, rank, own address and
 * the addresses of both neighbors, which is 56 bytes for any length of the
 * chain. Collectives find further members by forwarding addresses: the messages
 * of round d contain the addresses of the members 2^(d + 1) away.
 *
 * Two algorithms that need only such a place: a double scan of values that fit
 * a slot, and an allgather into tables. Splits and the building of the topology
 * use them. */

/** The sides of a member, as indices. */
enum { CTN_LEFT, CTN_RIGHT };

typedef struct ctn_chain_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t self;
    ctn_address_t left;  /* CTN_NO_ADDRESS at rank 0 */
    ctn_address_t right; /* CTN_NO_ADDRESS at rank size - 1 */
} ctn_chain_place_t;

/** Longest value of a scan: the data of a slot less the forwarded address,
 * which is packed into 8 bytes. */
#define CTN_SCAN_BYTES (CTN_INLINE_BYTES - sizeof(uint64_t))

/** Fold `in` into `inout`. `in` is the value of members that are further away
 * than those of `inout`, to the left if `in_is_left`, else to the right.
 * Associative. */
typedef void (*ctn_fold_t)(void *inout, const void *in, int in_is_left);

/** Arguments and results of a double scan; state of ctn_scan_algorithm. In
 * arrays of two, index 0 is the left side and 1 the right side. */
typedef struct ctn_scan ctn_scan_t;

struct ctn_scan {
    /* arguments */
    const ctn_chain_place_t *place;
    ctn_fold_t fold;
    size_t bytes;       /* of a value, at most CTN_SCAN_BYTES */
    unsigned char *own; /* this member's value */
    /* Results: the fold of all members to the left, and to the right. The
     * caller sets them to the identity. */
    unsigned char *from[2];
    /* The opening: what the messages of the first round carry in place of the
     * value, so that neighbors can compare theirs; NULL: they carry the value.
     * `fold_opening` folds the value that it derives from the opening of the
     * neighbor on `side` into from[side] and inclusive[side]. It may also add
     * to `own` and to both inclusive[] what it finds by comparing the openings.
     * A member's messages contain what it has added from the second round on.
     * So a member receives what every second member has added; if both
     * neighbors add the same value for each pair of neighbors, it receives the
     * values of all pairs. */
    const void *opening;
    size_t opening_bytes; /* at most CTN_SCAN_BYTES */
    void (*fold_opening)(ctn_scan_t *scan, int side, const void *opening);
    void *context; /* for fold_opening */
    /* working */
    /* The fold of this member and the members on a side that the rounds so far
     * have reached. */
    unsigned char inclusive[2][CTN_SCAN_BYTES];
    ctn_address_t partner[2]; /* of this round: the members 2^round away */
    unsigned round;
    unsigned sent;     /* bool: this round's messages were sent */
    unsigned received; /* bit `side`: its message was folded in this round */
};

/** Both exclusive scans at once, in ceil(log2 p) rounds and O(1) memory
 * ([Moody], section 2, figure 1). Synchronizing. In round d it uses slots 2d
 * (messages from the left) and 2d + 1 (from the right) of its sequence. */
extern const ctn_algorithm_t ctn_scan_algorithm;
/** Its phases, for operations whose state begins with a ctn_scan_t. */
ctn_step_t ctn_scan_begin(ctn_op_t *op);
ctn_step_t ctn_scan_rounds(ctn_op_t *op);

/** State of an allgather of records of one length into a table in each member's
 * arena, by rank. */
typedef struct ctn_table_allgather {
    /* arguments */
    const ctn_chain_place_t *place;
    uint64_t table;        /* offset of this member's table in its arena */
    unsigned char *memory; /* the address of the same table */
    size_t record_bytes;
    /* Member i contributes records first[i] .. first[i + 1] - 1; NULL: record i
     * only. The same on all members. */
    const uint32_t *first;
    /* working */
    struct ctn_table_allgather_peer {
        ctn_address_t address;
        uint64_t table; /* offset of its table in its arena */
    } partner[2]; /* of this round: 2^round away to the left, to the right */
    unsigned round;
    unsigned sent; /* bool: this round's messages were sent */
} ctn_table_allgather_t;

/** Recursive doubling in ceil(log2 p) + 1 rounds; every record is sent to each
 * member once. Synchronizing. */
extern const ctn_algorithm_t ctn_table_allgather_algorithm;

/* Folds of values that are a ctn_words_t. */

#define CTN_WORDS 6u

/** A value of six 64-bit integers. */
typedef struct ctn_words {
    uint64_t word[CTN_WORDS];
} ctn_words_t;

/** Add each of the integers. */
void ctn_fold_sum(void *inout, const void *in, int in_is_left);

/** Take the value of the farthest member: from[0] becomes the value of rank 0
 * (a broadcast), from[1] that of the last rank. At rank 0 from[0], and at the
 * last rank from[1], keep the value that the caller has set. */
void ctn_fold_farthest(void *inout, const void *in, int in_is_left);

#endif
