/* catena-bench alltoallv: alltoall of blocks of random lengths, which are
 * adjacent in both buffers. */

#include "levels.h"

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

#define SENDS call->layout.sends
#define RECVS call->layout.recvs

BENCH_ON_GROUP(alltoallv, call->send, SENDS.counts, SENDS.at, CATENA_BYTE,
               call->recv, RECVS.counts, RECVS.at, CATENA_BYTE)

const struct bench_collective bench_alltoallv = {
    BENCH_ALLTOALL(alltoallv),
    .help = "alltoall with blocks " BENCH_RANDOM_LENGTHS,
    .blocks = BENCH_RANDOM_LENGTHS,
    .lay_out = lay_out,
    .drop_layout = bench_blocks_free,
};
