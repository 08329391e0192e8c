#ifndef ORACLE_CONTENT_H
#define ORACLE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Send data and expected results of collectives, by MPI's definitions. Plain C,
 * as programs that do not link catena use it too. */

/** The collectives of groups, without those of neighborhoods. */
typedef enum oracle_kind {
#define CTN_CALL(NAME, ...) ORACLE_##NAME,
#define CTN_VARIANT(NAME, ...) ORACLE_##NAME,
#define CTN_ALLTOALL(NAME, ...) ORACLE_##NAME,
#include "core/calls.def"
    ORACLE_KINDS
} oracle_kind_t;

/** As in catena_NAME. */
const char *oracle_kind_name(unsigned kind);
bool oracle_reduces(unsigned kind);
bool oracle_rooted(unsigned kind);
/** Whether all ranks have a block in one buffer. */
bool oracle_has_blocks(unsigned kind);
/** Whether every pair of ranks has data of its own. */
bool oracle_pairs(unsigned kind);
/** Whether lengths differ by rank, or pair. */
bool oracle_own_counts(unsigned kind);

/* ---- datatypes and operations ---- */

/** Fixed types, in the order of ORACLE_EACH_TYPE; then several uint64; from
 * ORACLE_VECTOR on non-contiguous types, or different types of the same data on
 * both sides, not for reductions. */
enum {
    ORACLE_BYTE = 0,
    ORACLE_DOUBLE = 10,
    ORACLE_FIXED = 20,
    ORACLE_PAIR = ORACLE_FIXED,
    ORACLE_TRIPLE, /* chunks are not multiples of these */
    ORACLE_VECTOR,
    ORACLE_INDEXED,
    ORACLE_RESIZED,
    ORACLE_TO_BYTES,
    ORACLE_DRAWN, /* another derived type on every side of every rank */
    ORACLE_TYPES
};
enum { ORACLE_UNIT_BYTES = 24 }; /* maximum, of data */

/** None, ORACLE_EACH_OP, a commutative user-defined operation, and a
 * noncommutative one. */
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
/** Data bytes of an element, without gaps. */
size_t oracle_unit_bytes(unsigned type);
bool oracle_op_takes(unsigned op, unsigned type);

/* ---- data ---- */

/** The bytes of `from` for `to`; `to` is 0 if all ranks get the same. They
 * begin at byte `at`, a multiple of 8. */
void oracle_stream(uint64_t seed, size_t from, size_t to, size_t at,
                   size_t bytes, void *out);
/** The same from a seed that is unique to the stream. */
void oracle_fill(uint64_t seed, size_t bytes, void *out);
/** The number of bytes that differ from oracle_fill's, and the position of the
 * first. */
size_t oracle_count_wrong(uint64_t seed, size_t bytes, const void *found,
                          size_t *first);
/** The first byte that differs; `bytes`: none. */
size_t oracle_stream_differs(uint64_t seed, size_t from, size_t to,
                             size_t bytes, const void *found);

/** Element `index` that `rank` contributes to a reduction. Results are exact in
 * any order. Elements repeat with a prime period. */
void oracle_element(unsigned type, unsigned op, uint64_t seed, size_t rank,
                    size_t index, void *element);
/** left op right; `out` may alias either. */
void oracle_combine(unsigned type, unsigned op, const void *left,
                    const void *right, void *out);
/** `elements` of ranks `first` to `last` from `index` on, reduced in rank
 * order. */
void oracle_reduced(unsigned type, unsigned op, uint64_t seed, size_t first,
                    size_t last, size_t index, size_t elements, void *out);
/** Give all zeros the same sign. */
void oracle_normalize(unsigned type, void *data, size_t elements);

/* ---- data movement ---- */

/** The contents of a block. */
typedef struct oracle_datum {
    enum {
        ORACLE_NOTHING,
        ORACLE_STREAM,   /* from `from` for `to` */
        ORACLE_ELEMENTS, /* of ranks `from` to `to`, reduced */
    } what;
    size_t from;
    size_t to;
    size_t skip; /* elements begin after the shares of so many ranks */
} oracle_datum_t;

/** A collective from a rank's point of view. */
typedef struct oracle_view {
    oracle_kind_t kind;
    size_t size;
    size_t rank;
    size_t root;
} oracle_view_t;

/** Whether the send or the receive buffer matters on this rank. */
bool oracle_matters(const oracle_view_t *view, bool receiving);
/** The number of blocks of the send or the receive buffer: none, one, or one
 * per rank. */
size_t oracle_blocks(const oracle_view_t *view, bool receiving);
/** Contents of a block of the send buffer. */
oracle_datum_t oracle_given(const oracle_view_t *view, size_t block);
/** Expected contents of a block of the receive buffer; nothing: unchanged. */
oracle_datum_t oracle_expected(const oracle_view_t *view, size_t block);

#endif
