#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* What all alltoalls have in common: a buffer holds a block for each rank, and
 * every byte of them can be checked. */

struct bench_call;
struct bench_mismatch;

/* Where the blocks of a buffer lie. A block is one row, or several where it is
 * cut out of a matrix; block i has counts[i] bytes at at[i]. */
struct bench_blocks {
    size_t bytes;     /* of the buffer; behind it stands a guard */
    size_t rows;      /* of each block */
    size_t stride;    /* bytes from row to row */
    size_t row_bytes; /* without counts: of each block */
    size_t *counts;   /* [ranks]; NULL: all have row_bytes, and one begins where
                         the other ends */
    ptrdiff_t *at;    /* [ranks] */
};

/* The buffers of one size, on one rank. */
struct bench_layout {
    struct bench_blocks sends;
    struct bench_blocks recvs;
    void *arrays; /* of the collective */
};

/** Fill what is sent, and the guard behind the receive buffer. */
void bench_fill_blocks(struct bench_call *call, uint64_t stamp);
/** Number of wrong bytes in both buffers and the guard. */
uint64_t bench_verify_blocks(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

/* Those parts of a row in which no alltoall differs. */
#define BENCH_ALLTOALL_ROW                                                     \
    .min = 1, .max = 65536, .synced = true, .algorithm = "alltoall_algorithm", \
    .algorithm_names =                                                         \
        "auto, direct, shift, bruck, morton, l-a2a, mpml, nmpml, onmpml",      \
    .leaders = "alltoall_leaders", .fill = bench_fill_blocks,                  \
    .verify = bench_verify_blocks

#endif
