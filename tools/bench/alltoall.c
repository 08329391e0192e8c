/* catena-bench alltoall: block d of rank s goes to block s of rank d. */

#include "bench.h"

static void lay_out(struct bench_call *call)
{
    struct bench_blocks *blocks = &call->layout.sends;

    *blocks = (struct bench_blocks){.bytes = call->bytes * (size_t)call->size,
                                    .rows = 1,
                                    .row_bytes = call->bytes};
    call->layout.recvs = *blocks;
}

static catena_status_t blocking(struct bench_call *call)
{
    return catena_alltoall(call->send, call->recv, call->bytes, CATENA_BYTE,
                           call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    return catena_ialltoall(call->send, call->recv, call->bytes, CATENA_BYTE,
                            call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    return catena_alltoall_init(call->send, call->recv, call->bytes,
                                CATENA_BYTE, call->group, request);
}

const struct bench_collective bench_alltoall = {
    BENCH_ALLTOALL_ROW,
    .name = "alltoall",
    .help = "every rank sends a block to every rank",
    .lay_out = lay_out,
    .blocking = blocking,
    .start = start,
    .init = init,
};
