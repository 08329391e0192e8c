#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers of blocks in which every byte is checkable. */

struct bench;
struct bench_call;
struct bench_mismatch;

/* Block i belongs to rank i, or to ranks[i]. */
enum { BENCH_EACH = -1 };

/* The blocks of a buffer: source, target and position. A block is one row, or
 * several rows if it is part of a matrix. Block i has counts[i] bytes at at[i].
 * A block of CATENA_PROC_NULL stays unchanged. */
struct bench_blocks {
    int number;
    int source;        /* BENCH_EACH, or a rank */
    int target;        /* likewise; 0 if all get the same */
    const int *ranks;  /* [number]; NULL: block i belongs to rank i */
    const int *labels; /* [number], if several blocks may go from one rank to
                        * another; NULL: at most one */
    size_t bytes;      /* of the buffer; a guard follows */
    size_t rows;       /* of each block */
    size_t stride;     /* bytes from row to row */
    size_t row_bytes;  /* of each block, without counts */
    size_t *counts;    /* [number]; NULL: all blocks have row_bytes and are
                        * consecutive */
    ptrdiff_t *at;     /* [number] */
};

/* The buffers of one size, on one rank. */
struct bench_layout {
    /* In a reduction, recvs are the combined vectors, in this order; only their
     * bytes are those of the buffer. */
    struct bench_blocks sends;
    struct bench_blocks recvs;
    bool in_place;   /* the send data is in the receive buffer, */
    size_t sends_at; /* at this offset */
    void *arrays;    /* of the collective */
    /* In a reduction: elements that this rank receives, and the first of them
     * in the send buffer. */
    size_t results;
    size_t first;
};

/** A block for each rank from each rank's buffer, on one of the two sides of an
 * alltoall. The caller sets the lengths. */
struct bench_blocks bench_blocks_to_all(const struct bench_call *call);
struct bench_blocks bench_blocks_from_all(const struct bench_call *call);

/** Allocate counts[number] and at[number]. bench_blocks_free is a drop_layout
 * that frees them on both sides. */
void bench_blocks_alloc(struct bench *bench, struct bench_blocks *blocks);
void bench_blocks_free(struct bench_call *call);
/** Place blocks consecutively, by their counts. */
void bench_blocks_pack(struct bench_blocks *blocks);
/** A random length with mean `bytes`, sent by `source` to `target`: zero in one
 * case of four, else up to 8/3 of `bytes`. It does not decrease with `bytes`,
 * so the memory for the largest size suffices for all. */
#define BENCH_RANDOM_LENGTHS "of random lengths, a quarter empty"
size_t bench_length(size_t bytes, int source, int target);

/** Contents of a block. */
uint64_t bench_block_seed(const struct bench_blocks *blocks, int index,
                          uint64_t stamp);
bool bench_block_is_null(const struct bench_blocks *blocks, int index);
/** Bytes of a one-row block, and its offset in the buffer. */
size_t bench_block_bytes(const struct bench_blocks *blocks, int index);
size_t bench_block_offset(const struct bench_blocks *blocks, int index);

/** Fill the send data, and the guard behind the receive buffer. */
void bench_fill_blocks(struct bench_call *call, uint64_t stamp);
/** Number of wrong bytes in both buffers and the guard. */
uint64_t bench_verify_blocks(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

/* The members of a row that are equal for all alltoalls. */
#define BENCH_ALLTOALL_ROW                                                     \
    .min = 1, .max = 65536, .synced = true, .algorithm = "alltoall_algorithm", \
    .algorithm_names =                                                         \
        "auto, direct, shift, bruck, morton, l-a2a, mpml, nmpml, onmpml",      \
    .leaders = "alltoall_leaders", .fill = bench_fill_blocks,                  \
    .verify = bench_verify_blocks

#endif
