#ifndef CTN_GROUP_SCAN_H
#define CTN_GROUP_SCAN_H

#include "group/scan_rounds.h"

/** Combine the value `in` into the value `inout`. Associative; it need not be
 * commutative, since the order of members is kept. `in` is the value of members
 * adjacent to those of `inout`: to their left if `in_is_left`, else to their
 * right. */
typedef void (*ctn_combine_t)(void *inout, const void *in, size_t bytes,
                              bool in_is_left, void *argument);

typedef struct ctn_operator {
    ctn_combine_t combine;
    void *argument; /* passed to `combine` */
} ctn_operator_t;

/** The same for values of a length that the function knows. */
typedef void (*ctn_fold_t)(void *inout, const void *in, int in_is_left);

/** Longest value of a scan whose messages fit a slot. */
#define CTN_SCAN_BYTES (CTN_INLINE_BYTES - CTN_DOUBLE_SCAN_HEAD_BYTES)

/** State of a scan. */
typedef struct ctn_scan ctn_scan_t;

struct ctn_scan {
    ctn_double_scan_t double_scan; /* first; its `place` is an argument */
    /* arguments */
    ctn_fold_t fold;   /* NULL: `by` */
    ctn_operator_t by; /* significant without `fold` */
    const void *own;   /* this member's value */
    size_t bytes;      /* of a value */
    bool scanned[2];   /* by side: whether values are scanned from there */
    bool identity;     /* the caller has set exclusive[] to the identity; false:
                          a side without members leaves it as it is */
    /* Results; NULL: not requested. */
    void *exclusive[2]; /* by side: of the members there */
    void *inclusive;    /* of rank 0 to this member */
    void *total;        /* of all members */
    /* The opening: what the messages of the first round carry in place of the
     * value, so that neighbors can compare theirs; NULL: they carry the value.
     * `fold_opening` folds the value that it derives from the opening of the
     * neighbor on `side` into exclusive[side] and the value at running[side].
     * It may also add to `own` and to both running values what it finds by
     * comparing the openings. A member's messages contain what it has added
     * from the second round on. So a member receives what every second member
     * has added; if both neighbors add the same value for each pair of
     * neighbors, it receives the values of all pairs. */
    const void *opening;
    size_t opening_bytes; /* at most CTN_SCAN_BYTES */
    void (*fold_opening)(ctn_scan_t *scan, unsigned side, const void *opening);
    void *context; /* for fold_opening */
    /* working */
    /* By side: space for the head of a message, then the value of this member
     * and the members on that side that the rounds so far have reached. */
    unsigned char *running[2];
    unsigned char *right; /* exclusive result of the right side, for `total` */
    bool any[2];          /* by side: a value has arrived from there */
    /* Memory for values up to CTN_SCAN_BYTES; the last two also for messages
     * with the opening. */
    _Alignas(8) unsigned char inline_value[4][CTN_INLINE_BYTES];
};

/** Return the value of this member and the members on a side that the rounds so
 * far have reached. */
static inline void *ctn_scan_running(const ctn_scan_t *scan, unsigned side)
{
    return scan->running[side] + CTN_DOUBLE_SCAN_HEAD_BYTES;
}

/** Initialize a scan in zeroed memory: of both sides, with values of at most
 * CTN_SCAN_BYTES. The results are set to zero here, which has to be the
 * identity of `fold`. */
void ctn_scan_init(ctn_scan_t *scan, const ctn_chain_place_t *place,
                   ctn_fold_t fold, const void *own, void *left, void *right,
                   size_t bytes);
/** The first phase of operations whose state begins with a ctn_scan_t;
 * ctn_double_scan_rounds is the second one. They need no `finish`, if values
 * have at most CTN_SCAN_BYTES. */
ctn_step_t ctn_scan_begin(ctn_op_t *op);

/* Folds of values that are a ctn_words_t. */

#define CTN_WORDS 6u

/** A value of six 64-bit integers. */
typedef struct ctn_words {
    uint64_t word[CTN_WORDS];
} ctn_words_t;

/** Add each of the integers. */
void ctn_fold_sum(void *inout, const void *in, int in_is_left);

#endif
