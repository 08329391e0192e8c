#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers of blocks, of which every byte can be checked. */

struct bench;
struct bench_call;
struct bench_mismatch;

/* Of block i: rank i. */
enum { BENCH_EACH = -1 };

/* The blocks of a buffer: who sends them to whom, and where they lie. A block
 * is one row, or several where it is cut out of a matrix; block i has counts[i]
 * bytes at at[i]. */
struct bench_blocks {
    int number;
    int source;       /* BENCH_EACH, or a rank */
    int target;       /* likewise; 0 where all get the same */
    size_t bytes;     /* of the buffer; behind it stands a guard */
    size_t rows;      /* of each block */
    size_t stride;    /* bytes from row to row */
    size_t row_bytes; /* without counts: of each block */
    size_t *counts;   /* [number]; NULL: all have row_bytes, and one begins
                         where the other ends */
    ptrdiff_t *at;    /* [number] */
};

/* The buffers of one size, on one rank. */
struct bench_layout {
    struct bench_blocks sends; /* of a reduction only the bytes, here and */
    struct bench_blocks recvs; /* there */
    bool in_place;             /* what is sent is in the receive buffer, */
    size_t sends_at;           /* there */
    void *arrays;              /* of the collective */
    /* Of a reduction: elements that come to this rank, the first of them in
     * what is sent, and the last rank that takes part; -1: nothing comes. */
    size_t results;
    size_t first;
    int last;
};

/** A block for every rank out of every rank's buffer, on one of the two sides
 * of an alltoall; lengths are left to the caller. */
struct bench_blocks bench_blocks_to_all(const struct bench_call *call);
struct bench_blocks bench_blocks_from_all(const struct bench_call *call);

/** Room for counts[number] and at[number]; bench_blocks_free is a drop_layout
 * that frees those of both sides. */
void bench_blocks_alloc(struct bench *bench, struct bench_blocks *blocks);
void bench_blocks_free(struct bench_call *call);
/** One block behind the other, by their counts. */
void bench_blocks_pack(struct bench_blocks *blocks);
/** A random length that is `bytes` on average. What `source` sends to `target`:
 * nothing in one case of four, else up to 8/3 of `bytes`. Not less for more
 * bytes, so what the largest size needs is enough for all. */
size_t bench_length(size_t bytes, int source, int target);

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
