/* catena-bench alltoallv: alltoall of blocks of random lengths, which are
 * adjacent in both buffers. */

#include "bench.h"

/* The length of a block. In place the block from one rank to another and the
 * one back have the same length, because each replaces the other. */
static size_t length(const struct bench_call *call, int source, int target)
{
    if (call->bench->options->in_place && source > target)
        return bench_length(call->bytes, target, source);
    return bench_length(call->bytes, source, target);
}

static void lay_out(struct bench_call *call)
{
    struct bench_blocks *sends = &call->layout.sends;
    struct bench_blocks *recvs = &call->layout.recvs;

    call->layout =
        (struct bench_layout){.sends = bench_blocks_to_all(call),
                              .recvs = bench_blocks_from_all(call),
                              .in_place = call->bench->options->in_place};
    bench_blocks_alloc(call->bench, sends);
    bench_blocks_alloc(call->bench, recvs);
    for (int i = 0; i < call->size; i++) {
        sends->counts[i] = length(call, call->rank, i);
        recvs->counts[i] = length(call, i, call->rank);
    }
    bench_blocks_pack(sends);
    bench_blocks_pack(recvs);
}

static catena_status_t blocking(struct bench_call *call)
{
    const struct bench_blocks *sends = &call->layout.sends;
    const struct bench_blocks *recvs = &call->layout.recvs;

    return catena_alltoallv(call->send, sends->counts, sends->at, CATENA_BYTE,
                            call->recv, recvs->counts, recvs->at, CATENA_BYTE,
                            call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    const struct bench_blocks *sends = &call->layout.sends;
    const struct bench_blocks *recvs = &call->layout.recvs;

    return catena_ialltoallv(call->send, sends->counts, sends->at, CATENA_BYTE,
                             call->recv, recvs->counts, recvs->at, CATENA_BYTE,
                             call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    const struct bench_blocks *sends = &call->layout.sends;
    const struct bench_blocks *recvs = &call->layout.recvs;

    return catena_alltoallv_init(call->send, sends->counts, sends->at,
                                 CATENA_BYTE, call->recv, recvs->counts,
                                 recvs->at, CATENA_BYTE, call->group, request);
}

const struct bench_collective bench_alltoallv = {
    BENCH_ALLTOALL_MEMBERS,
    .name = "alltoallv",
    .help = "alltoall with blocks " BENCH_RANDOM_LENGTHS,
    .blocks = BENCH_RANDOM_LENGTHS,
    .lay_out = lay_out,
    .drop_layout = bench_blocks_free,
    .blocking = blocking,
    .start = start,
    .init = init,
};
