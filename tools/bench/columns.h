#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stddef.h>

#include <catena/catena.h>

struct bench;
struct bench_blocks;

/* Blocks that are adjacent columns of a matrix, as arguments of an alltoallw.
 * Each block is one element of a subarray type that begins, as all do, at the
 * begin of the matrix. */
struct bench_columns {
    int number;               /* of blocks */
    size_t *counts;           /* [number]: 1 */
    ptrdiff_t *displacements; /* [number]: 0 */
    catena_type_t *types;     /* [number] */
};

/** Divide a matrix into columns: blocks->number blocks of `bytes` each. Sets
 * the bytes, rows and stride of `blocks`. */
struct bench_columns bench_columns_open(struct bench *bench,
                                        struct bench_blocks *blocks,
                                        size_t bytes);
void bench_columns_close(struct bench_columns *columns);

/* The arguments of an alltoallw for one side, behind the buffer. */
#define BENCH_COLUMNS(columns)                                                 \
    (columns)->counts, (columns)->displacements, (columns)->types

#endif
