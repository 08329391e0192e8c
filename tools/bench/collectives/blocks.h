#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffers of blocks, of which every byte can be checked. */

struct bench;
struct bench_call;
struct bench_mismatch;

/* Of block i: rank i, or ranks[i]. */
enum { BENCH_EACH = -1 };

/* The blocks of a buffer: who sends them to whom, and where they lie. A block
 * is one row, or several where it is cut out of a matrix; block i has counts[i]
 * bytes at at[i]. A block of CATENA_PROC_NULL stays as it was. */
struct bench_blocks {
    int number;
    int source;        /* BENCH_EACH, or a rank */
    int target;        /* likewise; 0 where all get the same */
    const int *ranks;  /* [number]; NULL: block i is of rank i */
    const int *labels; /* [number], where several may go from one rank to
                          another; NULL: one may */
    size_t bytes;      /* of the buffer; behind it stands a guard */
    size_t rows;       /* of each block */
    size_t stride;     /* bytes from row to row */
    size_t row_bytes;  /* without counts: of each block */
    size_t *counts;    /* [number]; NULL: all have row_bytes, and one begins
                          where the other ends */
    ptrdiff_t *at;     /* [number] */
};

/* The buffers of one size, on one rank. */
struct bench_layout {
    /* Of a reduction recvs are what is combined, in this order, and only
     * their bytes are those of the buffer. */
    struct bench_blocks sends;
    struct bench_blocks recvs;
    bool in_place;   /* what is sent is in the receive buffer, */
    size_t sends_at; /* there */
    void *arrays;    /* of the collective */
    /* Of a reduction: elements that come to this rank, and the first of them
     * in what is sent. */
    size_t results;
    size_t first;
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
#define BENCH_RANDOM_LENGTHS "of random lengths, a quarter empty"
size_t bench_length(size_t bytes, int source, int target);

/** Contents of a block. */
uint64_t bench_block_seed(const struct bench_blocks *blocks, int index,
                          uint64_t stamp);
bool bench_block_of_nobody(const struct bench_blocks *blocks, int index);
/** Bytes of a block that is one row, and its place in the buffer. */
size_t bench_block_bytes(const struct bench_blocks *blocks, int index);
size_t bench_block_offset(const struct bench_blocks *blocks, int index);

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
