/* catena-bench flag, the raw flag exchange: each of two ranks stores a number
 * in its own word and waits until the other rank's word has this number. No
 * function of catena is called in the timed loop. The result is the lower limit
 * for a barrier of two ranks. */

#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"

/* Each word has 128 bytes of its own, because processors fetch cache lines in
 * pairs. */
enum { LINE_PAIR = 128 };

/* call->state */
struct flag {
    _Atomic uint64_t *mine;   /* the word that this rank writes */
    _Atomic uint64_t *theirs; /* the word that the other rank writes */
    uint64_t count;           /* of exchanges so far */
};

static const char *refuse(const struct bench *bench)
{
    if (bench->place.ranks != 2 || bench->place.nodes != 1)
        return "the raw flag exchange needs exactly 2 ranks on one node";
    return NULL;
}

static catena_status_t prepare(struct bench_call *call)
{
    struct bench *bench = call->bench;
    struct flag *flag = bench_alloc(bench, 1, sizeof(*flag));
    uint64_t send[2], recv[2], offset;
    catena_status_t status;
    void *block, *local;
    int peer = 1 - call->rank;

    block = catena_aligned_alloc(bench->context, LINE_PAIR, LINE_PAIR);
    if (block == NULL) {
        free(flag);
        return CATENA_ERR_NO_MEMORY;
    }
    flag->mine = block;
    atomic_init(flag->mine, 0);
    call->state = flag;
    status = catena_heap_offset(bench->context, block, &offset);
    if (status != CATENA_OK)
        return status;
    send[0] = send[1] = offset;
    bench_exchange(bench, bench->control, send, recv, sizeof(offset));
    status = catena_heap_pointer(bench->context, peer, recv[peer], &local);
    if (status != CATENA_OK)
        return status;
    flag->theirs = local;
    return CATENA_OK;
}

/* Collective: before it frees its word, a rank waits until the peer no longer
 * reads it. */
static void release(struct bench_call *call)
{
    struct flag *flag = call->state;

    if (flag == NULL)
        return;
    (void)bench_max(call->bench, 0);
    catena_free(call->bench->context, (void *)flag->mine);
    free(flag);
    call->state = NULL;
}

static catena_status_t batch(struct bench_call *call, size_t calls)
{
    struct flag *flag = call->state;
    _Atomic uint64_t *mine = flag->mine;
    _Atomic uint64_t *theirs = flag->theirs;
    uint64_t count = flag->count;
    uint64_t end = count + calls;

    while (count < end) {
        count++;
        /* Release and acquire as in the library, where they order the data of a
         * message and its flag. On x86 they are plain moves. */
        atomic_store_explicit(mine, count, memory_order_release);
        while (atomic_load_explicit(theirs, memory_order_acquire) < count)
            ;
    }
    flag->count = count;
    return CATENA_OK;
}

const struct bench_collective bench_flag = {
    .name = "flag",
    .help = "two ranks exchange a raw flag (limit for barriers)",
    .quick = true,
    .full = true,
    .refuse = refuse,
    .prepare = prepare,
    .release = release,
    .batch = batch,
};
