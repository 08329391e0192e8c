#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers that consist of blocks, their contents and their check. */

struct bench;
struct bench_call;
struct bench_mismatch;

/* The source or target of block i is ranks[i], or i if there are no ranks. */
enum { BENCH_EACH = -1 };

/* The blocks of a buffer: source, target and position. The source and target
 * decide the contents. A block is one row, or several rows if it is part of a
 * matrix. With counts, block i has counts[i] bytes at offset at[i]. A block of
 * CATENA_PROC_NULL in a receive buffer must stay unchanged. */
struct bench_blocks {
    int number;
    int source;        /* a rank, or BENCH_EACH */
    int target;        /* likewise; 0 if the source sends the same to all */
    const int *ranks;  /* [number]; NULL: 0, 1, 2, ... */
    const int *labels; /* [number]: distinguish blocks with the same source and
                        * target; NULL: there are none */
    size_t bytes;      /* of the buffer, without the guard */
    size_t rows;       /* of each block */
    size_t stride;     /* bytes from the begin of a row to that of the next */
    size_t row_bytes;  /* of each block; not used with counts */
    size_t *counts;    /* [number]; NULL: all blocks have row_bytes and are
                        * adjacent, with several rows side by side */
    ptrdiff_t *at;     /* [number] */
};

/* The buffers of one size, on one rank. */
struct bench_layout {
    struct bench_blocks sends;
    /* In a reduction: the vectors that are combined, in this order; only
     * recvs.bytes concerns the buffer. */
    struct bench_blocks recvs;
    bool in_place;   /* the send data is in the receive buffer */
    size_t sends_at; /* in place: its offset there */
    void *arrays;    /* arguments that only this collective has */
    size_t results;  /* in a reduction: elements that this rank receives */
    size_t first;    /* in a reduction: their place in the combined vector */
};

/** The blocks of a rank in an alltoall: in the send buffer for each rank, in
 * the receive buffer from each rank. The caller sets the lengths. */
struct bench_blocks bench_blocks_to_all(const struct bench_call *call);
struct bench_blocks bench_blocks_from_all(const struct bench_call *call);

/** Allocate counts[number] and at[number]. */
void bench_blocks_alloc(struct bench *bench, struct bench_blocks *blocks);
/** Free these of both sides: for drop_layout of struct bench_collective. */
void bench_blocks_free(struct bench_call *call);
/** Place blocks one after the other, by their counts. */
void bench_blocks_pack(struct bench_blocks *blocks);
/** Describes the lengths that bench_length returns. */
#define BENCH_RANDOM_LENGTHS "of random lengths, a quarter empty"
/** The random length of the block from `source` to `target`: zero in one case
 * of four, else up to 8/3 of `bytes`, which makes `bytes` the mean. For the
 * same ranks the length does not decrease with `bytes`, so buffers for the
 * largest size suffice for all. */
size_t bench_length(size_t bytes, int source, int target);

/** The seed of the contents of a block in the call `stamp`. */
uint64_t bench_block_seed(const struct bench_blocks *blocks, int index,
                          uint64_t stamp);
/** Whether the source or target of the block is CATENA_PROC_NULL. */
bool bench_block_is_null(const struct bench_blocks *blocks, int index);
/** Bytes of a row of the block. */
size_t bench_block_bytes(const struct bench_blocks *blocks, int index);
/** Offset of the block in the buffer. */
size_t bench_block_offset(const struct bench_blocks *blocks, int index);

/** Fill the send data, and the guard behind the receive buffer. */
void bench_fill_blocks(struct bench_call *call, uint64_t stamp);
/** Check both buffers and the guard. Returns the number of wrong bytes. */
uint64_t bench_verify_blocks(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

#endif
