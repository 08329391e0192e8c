#ifndef ORACLE_CONTENT_H
#define ORACLE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What ranks give to a collective and what they have to get, written down from
 * MPI's definitions. Plain C: programs that do not link catena use it, too. */

typedef enum oracle_kind {
    ORACLE_BARRIER,
    ORACLE_BCAST,
    ORACLE_REDUCE,
    ORACLE_ALLREDUCE,
    ORACLE_GATHER,
    ORACLE_GATHERV,
    ORACLE_SCATTER,
    ORACLE_SCATTERV,
    ORACLE_ALLGATHER,
    ORACLE_ALLGATHERV,
    ORACLE_REDUCE_SCATTER,
    ORACLE_REDUCE_SCATTER_BLOCK,
    ORACLE_SCAN,
    ORACLE_EXSCAN,
    ORACLE_ALLTOALL,
    ORACLE_ALLTOALLV,
    ORACLE_ALLTOALLW,
    ORACLE_KINDS
} oracle_kind_t;

/** As in catena_NAME. */
const char *oracle_kind_name(unsigned kind);
bool oracle_reduces(unsigned kind);
bool oracle_rooted(unsigned kind);
/** Whether every pair of ranks has data of its own. */
bool oracle_pairs(unsigned kind);
/** Whether lengths differ by rank, or pair. */
bool oracle_own_counts(unsigned kind);

/* ---- datatypes and operations ---- */

/** Fixed types, in the order of CATENA_FIXED_TYPES; then several uint64; from
 * ORACLE_VECTOR on types with gaps, or different types of the same data on
 * both sides, not for reductions. */
enum {
    ORACLE_BYTE = 0,
    ORACLE_DOUBLE = 10,
    ORACLE_FIXED = 20,
    ORACLE_PAIR = ORACLE_FIXED,
    ORACLE_TRIPLE, /* chunks are no whole number of these */
    ORACLE_VECTOR,
    ORACLE_INDEXED,
    ORACLE_RESIZED,
    ORACLE_TO_BYTES,
    ORACLE_DRAWN, /* another derived type on every side of every rank */
    ORACLE_TYPES
};
enum { ORACLE_UNIT_BYTES = 24 }; /* of data, at most */

/** None, those of CATENA_PREDEFINED_OPS, a user's that commutes, and one that
 * does not. */
enum {
    ORACLE_NO_OP,
    ORACLE_SUM = 3,
    ORACLE_BXOR = 10,
    ORACLE_COMMUTING = 13,
    ORACLE_ORDERED,
    ORACLE_OPS
};

const char *oracle_type_name(unsigned type);
const char *oracle_op_name(unsigned op);
/** Data of an element, without gaps. */
size_t oracle_unit_bytes(unsigned type);
bool oracle_op_takes(unsigned op, unsigned type);

/* ---- data ---- */

/** Bytes that `from` has for `to`; where all get the same `to` is 0. From byte
 * `at` on, a multiple of 8. */
void oracle_stream(uint64_t seed, size_t from, size_t to, size_t at,
                   size_t bytes, void *out);
/** The same from a seed that is the stream's alone. */
void oracle_fill(uint64_t seed, size_t bytes, void *out);
/** How many bytes are not what oracle_fill makes; where the first of them is,
 * if there is one. */
size_t oracle_count_wrong(uint64_t seed, size_t bytes, const void *found,
                          size_t *first);
/** The first byte that is not that; `bytes`: there is none. */
size_t oracle_stream_differs(uint64_t seed, size_t from, size_t to,
                             size_t bytes, const void *found);

/** Element `index` of what `rank` gives to a reduction. What comes of it is
 * exact in any order. Elements recur after a prime number of them. */
void oracle_element(unsigned type, unsigned op, uint64_t seed, size_t rank,
                    size_t index, void *element);
/** left op right; `out` may be either. */
void oracle_combine(unsigned type, unsigned op, const void *left,
                    const void *right, void *out);
/** `elements` of ranks `first` to `last` from `index` on, reduced in their
 * order. */
void oracle_reduced(unsigned type, unsigned op, uint64_t seed, size_t first,
                    size_t last, size_t index, size_t elements, void *out);
/** Zeros have one sign afterwards. */
void oracle_normalize(unsigned type, void *data, size_t elements);

/* ---- who gives and gets what ---- */

/** What a block consists of. */
typedef struct oracle_datum {
    enum {
        ORACLE_NOTHING,
        ORACLE_STREAM,   /* of `from` for `to` */
        ORACLE_ELEMENTS, /* of `from` to `to`, reduced */
    } what;
    size_t from;
    size_t to;
    size_t skip; /* elements begin behind the shares of so many ranks */
} oracle_datum_t;

/** A collective, from a rank's point of view. */
typedef struct oracle_view {
    oracle_kind_t kind;
    size_t size;
    size_t rank;
    size_t root;
} oracle_view_t;

/** How many blocks the send or the receive buffer has: none, one, or one for
 * each rank. */
size_t oracle_blocks(const oracle_view_t *view, bool receiving);
/** What is in a block of the send buffer. */
oracle_datum_t oracle_given(const oracle_view_t *view, size_t block);
/** What has to be in a block of the receive buffer; nothing: what was there. */
oracle_datum_t oracle_expected(const oracle_view_t *view, size_t block);

#endif
