/* Blocks that are columns of a matrix: their widths and datatypes. */

#include "columns.h"

#include <stdlib.h>

#include "bench.h"

enum {
    ROWS = 8,       /* of a block of 64 bytes or more */
    LEAST_WIDTH = 8 /* bytes */
};

/* Bytes of a row of a block of `bytes`: an eighth of the block, but at least 8;
 * less if the block does not divide into such rows. */
static size_t width_of(size_t bytes)
{
    size_t width = bytes / ROWS > LEAST_WIDTH ? bytes / ROWS : LEAST_WIDTH;

    if (bytes == 0)
        return 0;
    while (bytes % width != 0)
        width--;
    return width;
}

/* The datatype of block `which`. */
static catena_type_t column_block(struct bench *bench,
                                  const struct bench_blocks *blocks, int which)
{
    size_t sizes[] = {blocks->rows, blocks->stride};
    size_t subsizes[] = {blocks->rows, blocks->row_bytes};
    size_t starts[] = {0, (size_t)which * blocks->row_bytes};
    catena_type_t type = NULL;
    catena_status_t status;

    status = catena_type_subarray(2, sizes, subsizes, starts, CATENA_ORDER_C,
                                  CATENA_BYTE, &type);
    if (status != CATENA_OK)
        bench_die(bench, "type of a column block", status);
    return type;
}

/* Set the layout of blocks of `bytes` that are columns. */
static void lay_out(struct bench_blocks *blocks, size_t bytes)
{
    size_t width = width_of(bytes), n = (size_t)blocks->number;

    blocks->bytes = bytes * n;
    blocks->rows = width > 0 ? bytes / width : 0;
    blocks->stride = width * n;
    blocks->row_bytes = width;
}

struct bench_columns bench_columns_open(struct bench *bench,
                                        struct bench_blocks *blocks,
                                        size_t bytes)
{
    struct bench_columns columns = {.number = blocks->number};
    size_t n = (size_t)blocks->number;

    lay_out(blocks, bytes);
    columns.counts = bench_alloc(bench, n, sizeof(*columns.counts));
    columns.displacements =
        bench_alloc(bench, n, sizeof(*columns.displacements));
    columns.types = bench_alloc(bench, n, sizeof(catena_type_t));
    for (int i = 0; i < columns.number; i++) {
        columns.counts[i] = 1;
        columns.types[i] = column_block(bench, blocks, i);
    }
    return columns;
}

void bench_columns_close(struct bench_columns *columns)
{
    for (int i = 0; i < columns->number; i++)
        catena_type_free(&columns->types[i]);
    free(columns->counts);
    free(columns->displacements);
    free(columns->types);
}
