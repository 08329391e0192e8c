/* catena-bench alltoallw: both buffers are matrices. A block is a number of
 * adjacent columns, with a datatype of its own; there is one for each rank.
 * Block d of rank s goes to block s of rank d. */

#include <stdlib.h>

#include "columns.h"
#include "levels.h"

/* The matrices for sending and receiving have the same layout. */
static void lay_out(struct bench_call *call)
{
    struct bench *bench = call->bench;
    struct bench_columns *columns = bench_alloc(bench, 1, sizeof(*columns));
    struct bench_blocks *sends = &call->layout.sends;
    struct bench_blocks *recvs = &call->layout.recvs;

    call->layout = (struct bench_layout){.sends = bench_blocks_to_all(call),
                                         .in_place = bench->options->in_place,
                                         .arrays = columns};
    *columns = bench_columns_open(bench, sends, call->bytes);
    *recvs = *sends;
    recvs->source = BENCH_EACH;
    recvs->target = call->rank;
}

static void drop_layout(struct bench_call *call)
{
    bench_columns_close(call->layout.arrays);
    free(call->layout.arrays);
}

#define COLUMNS BENCH_COLUMNS((const struct bench_columns *)call->layout.arrays)

BENCH_ON_GROUP(alltoallw, call->send, COLUMNS, call->recv, COLUMNS)

const struct bench_collective bench_alltoallw = {
    BENCH_ALLTOALL(alltoallw),
    .help = "alltoall of column blocks of a matrix, a type for each",
    .blocks = "columns of a matrix that has some for every rank",
    .lay_out = lay_out,
    .drop_layout = drop_layout,
};
