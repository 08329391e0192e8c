/* catena-bench alltoall: block d of rank s goes to block s of rank d. */

#include "bench.h"

static void lay_out(struct bench_call *call)
{
    struct bench_blocks *sends = &call->layout.sends;
    struct bench_blocks *recvs = &call->layout.recvs;

    call->layout =
        (struct bench_layout){.sends = bench_blocks_to_all(call),
                              .recvs = bench_blocks_from_all(call),
                              .in_place = call->bench->options->in_place};
    sends->row_bytes = recvs->row_bytes = call->bytes;
    sends->bytes = recvs->bytes = call->bytes * (size_t)call->size;
}

static catena_status_t blocking(struct bench_call *call)
{
    return catena_alltoall(call->send, call->bytes, CATENA_BYTE, call->recv,
                           call->bytes, CATENA_BYTE, call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    return catena_ialltoall(call->send, call->bytes, CATENA_BYTE, call->recv,
                            call->bytes, CATENA_BYTE, call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    return catena_alltoall_init(call->send, call->bytes, CATENA_BYTE,
                                call->recv, call->bytes, CATENA_BYTE,
                                call->group, request);
}

const struct bench_collective bench_alltoall = {
    BENCH_ALLTOALL_MEMBERS,
    .name = "alltoall",
    .help = "every rank sends a block to every rank",
    .lay_out = lay_out,
    .blocking = blocking,
    .start = start,
    .init = init,
};
