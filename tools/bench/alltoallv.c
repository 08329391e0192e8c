/* catena-bench alltoallv: as alltoall, with blocks of random lengths, one
 * behind the other. */

#include <stdlib.h>

#include "bench.h"

/* Never that of a call. Of many that were tried this one is right for few
 * ranks, too: among 1, 2, 4, 8, 9 and 16 the mean is at most 9% off, and one
 * rank alone sends something. */
static const uint64_t length_stamp = UINT64_MAX - 544375;

/* What `source` sends to `target`: nothing in one case of four, else up to 8/3
 * of `bytes`, which makes `bytes` on average. Not less for more bytes, so what
 * the largest size needs is enough for all. */
static size_t length_between(size_t bytes, int source, int target)
{
    uint64_t random = bench_seed(length_stamp, source, target);
    uint64_t range = 8 * (uint64_t)bytes + 3; /* thirds of a byte */
    uint64_t part = random >> 32;             /* of 2^32 */

    if (random % 4 == 0)
        return 0;
    return ((range >> 32) * part + ((range & UINT32_MAX) * part >> 32)) / 3;
}

/* In place, a block is as long as the one that replaces it. */
static size_t length(const struct bench_call *call, int source, int target)
{
    if (call->bench->options->in_place && source > target)
        return length_between(call->bytes, target, source);
    return length_between(call->bytes, source, target);
}

static void pack(struct bench_blocks *blocks, int ranks)
{
    blocks->rows = 1;
    blocks->bytes = 0;
    for (int i = 0; i < ranks; i++) {
        blocks->at[i] = (ptrdiff_t)blocks->bytes;
        blocks->bytes += blocks->counts[i];
    }
}

static void lay_out(struct bench_call *call)
{
    struct bench_blocks *sends = &call->layout.sends;
    struct bench_blocks *recvs = &call->layout.recvs;
    size_t n = (size_t)call->size;

    call->layout = (struct bench_layout){0};
    sends->counts = bench_alloc(call->bench, 2 * n, sizeof(*sends->counts));
    recvs->counts = sends->counts + n;
    sends->at = bench_alloc(call->bench, 2 * n, sizeof(*sends->at));
    recvs->at = sends->at + n;
    for (int i = 0; i < call->size; i++) {
        sends->counts[i] = length(call, call->rank, i);
        recvs->counts[i] = length(call, i, call->rank);
    }
    pack(sends, call->size);
    pack(recvs, call->size);
}

static void drop_layout(struct bench_call *call)
{
    free(call->layout.sends.counts);
    free(call->layout.sends.at);
}

static catena_status_t blocking(struct bench_call *call)
{
    const struct bench_blocks *out = &call->layout.sends;
    const struct bench_blocks *in = &call->layout.recvs;

    return catena_alltoallv(call->send, out->counts, out->at, CATENA_BYTE,
                            call->recv, in->counts, in->at, CATENA_BYTE,
                            call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    const struct bench_blocks *out = &call->layout.sends;
    const struct bench_blocks *in = &call->layout.recvs;

    return catena_ialltoallv(call->send, out->counts, out->at, CATENA_BYTE,
                             call->recv, in->counts, in->at, CATENA_BYTE,
                             call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    const struct bench_blocks *out = &call->layout.sends;
    const struct bench_blocks *in = &call->layout.recvs;

    return catena_alltoallv_init(call->send, out->counts, out->at, CATENA_BYTE,
                                 call->recv, in->counts, in->at, CATENA_BYTE,
                                 call->group, request);
}

const struct bench_collective bench_alltoallv = {
    BENCH_ALLTOALL_ROW,
    .name = "alltoallv",
    .help = "alltoall with blocks of random lengths, a quarter empty",
    .blocks = "of random lengths, a quarter empty",
    .lay_out = lay_out,
    .drop_layout = drop_layout,
    .blocking = blocking,
    .start = start,
    .init = init,
};
