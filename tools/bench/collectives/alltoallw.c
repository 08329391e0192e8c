/* catena-bench alltoallw: both buffers are matrices. A block is a number of
 * adjacent columns, with a datatype of its own; there is one for each rank.
 * Block d of rank s goes to block s of rank d. */

#include <stdlib.h>

#include "bench.h"
#include "columns.h"

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

static catena_status_t blocking(struct bench_call *call)
{
    const struct bench_columns *columns = call->layout.arrays;

    return catena_alltoallw(call->send, BENCH_COLUMNS(columns), call->recv,
                            BENCH_COLUMNS(columns), call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    const struct bench_columns *columns = call->layout.arrays;

    return catena_ialltoallw(call->send, BENCH_COLUMNS(columns), call->recv,
                             BENCH_COLUMNS(columns), call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    const struct bench_columns *columns = call->layout.arrays;

    return catena_alltoallw_init(call->send, BENCH_COLUMNS(columns), call->recv,
                                 BENCH_COLUMNS(columns), call->group, request);
}

const struct bench_collective bench_alltoallw = {
    BENCH_ALLTOALL_MEMBERS,
    .name = "alltoallw",
    .help = "alltoall of column blocks of a matrix, a type for each",
    .blocks = "columns of a matrix that has some for every rank",
    .lay_out = lay_out,
    .drop_layout = drop_layout,
    .blocking = blocking,
    .start = start,
    .init = init,
};
