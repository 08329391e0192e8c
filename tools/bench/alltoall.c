/* catena-bench alltoall: block d of rank s goes to block s of rank d. */

#include <string.h>

#include "bench.h"

/* The stamp of the guard behind the receive buffer, never that of a call. */
static const uint64_t guard_stamp = UINT64_MAX;

static size_t buffer_bytes(size_t bytes, int ranks)
{
    return bytes * (size_t)ranks;
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

static unsigned char *outgoing(struct bench_call *call)
{
    if (call->send == CATENA_IN_PLACE)
        return call->recv;
    return (unsigned char *)call->send; /* our own buffer, see collective.c */
}

static unsigned char *guard(struct bench_call *call)
{
    return call->recv + buffer_bytes(call->bytes, call->size);
}

/* What the call before left in the receive buffer has other contents, so a
 * block that does not arrive is seen without clearing the buffer. */
static void fill(struct bench_call *call, uint64_t stamp)
{
    unsigned char *out = outgoing(call);

    for (int target = 0; target < call->size; target++)
        bench_fill(out + (size_t)target * call->bytes, call->bytes,
                   bench_seed(stamp, call->rank, target));
    bench_fill(guard(call), BENCH_GUARD_BYTES,
               bench_seed(guard_stamp, call->rank, call->rank));
}

/* Add the wrong bytes of one block; the first of all goes to `first`. */
static uint64_t add(uint64_t wrong, const void *block, size_t bytes,
                    uint64_t seed, const char *where, int source,
                    struct bench_mismatch *first)
{
    struct bench_mismatch found = {.where = where, .source = source};
    uint64_t here = bench_compare(block, bytes, seed, &found);

    if (wrong == 0 && here != 0)
        *first = found;
    return wrong + here;
}

static uint64_t verify(struct bench_call *call, uint64_t stamp,
                       struct bench_mismatch *first)
{
    const unsigned char *out = outgoing(call);
    uint64_t wrong = 0;

    for (int source = 0; source < call->size; source++)
        wrong = add(wrong, call->recv + (size_t)source * call->bytes,
                    call->bytes, bench_seed(stamp, source, call->rank),
                    "receive buffer, block from rank", source, first);
    wrong = add(wrong, guard(call), BENCH_GUARD_BYTES,
                bench_seed(guard_stamp, call->rank, call->rank),
                "guard behind the receive buffer of rank", call->rank, first);
    if (call->send == CATENA_IN_PLACE)
        return wrong;
    for (int target = 0; target < call->size; target++)
        wrong =
            add(wrong, out + (size_t)target * call->bytes, call->bytes,
                bench_seed(stamp, call->rank, target),
                "send buffer (must not change), block for rank", target, first);
    return wrong;
}

const struct bench_collective bench_alltoall = {
    .name = "alltoall",
    .help = "every rank sends a block to every rank",
    .min = 1,
    .max = 65536,
    .synced = true,
    .algorithm = "alltoall_algorithm",
    .algorithm_names = "auto, direct, l-a2a, mpml, nmpml, onmpml",
    .leaders = "alltoall_leaders",
    .buffer_bytes = buffer_bytes,
    .blocking = blocking,
    .start = start,
    .init = init,
    .fill = fill,
    .verify = verify,
};
