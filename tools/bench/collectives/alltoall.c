/* catena-bench alltoall: block d of rank s goes to block s of rank d. */

#include "levels.h"

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

BENCH_ON_GROUP(alltoall, call->send, call->bytes, CATENA_BYTE, call->recv,
               call->bytes, CATENA_BYTE)

const struct bench_collective bench_alltoall = {
    BENCH_ALLTOALL(alltoall),
    .hierarchy = "alltoall_hierarchy",
    .help = "every rank sends a block to every rank",
    .lay_out = lay_out,
};
