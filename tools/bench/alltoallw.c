/* catena-bench alltoallw: both buffers are matrices of a column block for each
 * rank. Column block d of rank s goes to column block s of rank d. */

#include <stdlib.h>

#include "bench.h"

enum { ROWS = 8, LEAST_WIDTH = 8 };

/* A block of one element of its own type, from the begin of the matrix. The
 * same for what is sent and for what is received. */
struct columns {
    size_t *counts;
    ptrdiff_t *displacements;
    catena_datatype_t *types;
};

/* Bytes of a row of a block: 8, and from 8 rows on what makes 8 rows; less
 * where the rows would not come out even. */
static size_t width_of(size_t bytes)
{
    size_t width = bytes / ROWS > LEAST_WIDTH ? bytes / ROWS : LEAST_WIDTH;

    if (bytes == 0)
        return 0;
    while (bytes % width != 0)
        width--;
    return width;
}

static catena_datatype_t column_block(struct bench_call *call, int rank)
{
    const struct bench_blocks *blocks = &call->layout.sends;
    size_t sizes[] = {blocks->rows, blocks->stride};
    size_t subsizes[] = {blocks->rows, blocks->row_bytes};
    size_t starts[] = {0, (size_t)rank * blocks->row_bytes};
    catena_datatype_t type = NULL;
    catena_status_t status;

    status = catena_type_subarray(2, sizes, subsizes, starts, CATENA_ORDER_C,
                                  CATENA_BYTE, &type);
    if (status != CATENA_OK)
        bench_die(call->bench, "type of a column block", status);
    return type;
}

static void cut_columns(struct bench_blocks *blocks, size_t bytes, size_t width,
                        size_t ranks)
{
    blocks->bytes = bytes * ranks;
    blocks->rows = width > 0 ? bytes / width : 0;
    blocks->stride = width * ranks;
    blocks->row_bytes = width;
}

static void lay_out(struct bench_call *call)
{
    struct bench *bench = call->bench;
    size_t n = (size_t)call->size, width = width_of(call->bytes);
    struct columns *columns = bench_alloc(bench, 1, sizeof(*columns));

    call->layout = (struct bench_layout){.sends = bench_blocks_to_all(call),
                                         .recvs = bench_blocks_from_all(call),
                                         .in_place = bench->options->in_place,
                                         .arrays = columns};
    cut_columns(&call->layout.sends, call->bytes, width, n);
    cut_columns(&call->layout.recvs, call->bytes, width, n);
    columns->counts = bench_alloc(bench, n, sizeof(*columns->counts));
    columns->displacements =
        bench_alloc(bench, n, sizeof(*columns->displacements));
    columns->types = bench_alloc(bench, n, sizeof(catena_datatype_t));
    for (int i = 0; i < call->size; i++) {
        columns->counts[i] = 1;
        columns->types[i] = column_block(call, i);
    }
}

static void drop_layout(struct bench_call *call)
{
    struct columns *columns = call->layout.arrays;

    for (int i = 0; i < call->size; i++)
        catena_type_free(&columns->types[i]);
    free(columns->counts);
    free(columns->displacements);
    free(columns->types);
    free(columns);
}

static catena_status_t blocking(struct bench_call *call)
{
    const struct columns *c = call->layout.arrays;

    return catena_alltoallw(call->send, c->counts, c->displacements, c->types,
                            call->recv, c->counts, c->displacements, c->types,
                            call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    const struct columns *c = call->layout.arrays;

    return catena_ialltoallw(call->send, c->counts, c->displacements, c->types,
                             call->recv, c->counts, c->displacements, c->types,
                             call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    const struct columns *c = call->layout.arrays;

    return catena_alltoallw_init(
        call->send, c->counts, c->displacements, c->types, call->recv,
        c->counts, c->displacements, c->types, call->group, request);
}

const struct bench_collective bench_alltoallw = {
    BENCH_ALLTOALL_ROW,
    .name = "alltoallw",
    .help = "alltoall of column blocks of a matrix, a type for each",
    .blocks = "columns of a matrix that has some for every rank",
    .lay_out = lay_out,
    .drop_layout = drop_layout,
    .blocking = blocking,
    .start = start,
    .init = init,
};
