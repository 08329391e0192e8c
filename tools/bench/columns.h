#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stddef.h>

#include <catena/catena.h>

struct bench;
struct bench_blocks;

/* Blocks that are columns of a matrix: each is one element of its own type,
 * from the begin of the matrix. */
struct bench_columns {
    int number;
    size_t *counts;
    ptrdiff_t *displacements;
    catena_type_t *types;
};

/** Cut a matrix into columns for blocks->number blocks of this size. Sets the
 * positions in `blocks`. */
struct bench_columns bench_columns_open(struct bench *bench,
                                        struct bench_blocks *blocks,
                                        size_t bytes);
void bench_columns_close(struct bench_columns *columns);

/* The arguments of an alltoallw. */
#define BENCH_COLUMNS(columns)                                                 \
    (columns)->counts, (columns)->displacements, (columns)->types

#endif
