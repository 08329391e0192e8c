/* catena-bench barrier. The check covers the ranks of this node, whose memory
 * is readable: each writes the number of the call before it enters. After the
 * barrier no rank may be behind. */

#include <stdatomic.h>
#include <stdlib.h>

#include "levels.h"

struct words {
    _Atomic uint64_t *mine;
    int count; /* ranks of this node, including this one */
    struct peer {
        int rank;
        _Atomic uint64_t *word;
    } peers[];
};

/* The record that the ranks of a node exchange. */
struct record {
    uint64_t offset;
    int64_t rank;
};

static catena_status_t look_up(struct bench *bench, struct words *words,
                               const struct record *records, int count)
{
    for (int i = 0; i < count; i++) {
        struct peer *peer = &words->peers[words->count];
        catena_status_t status;
        void *local;

        status = catena_heap_pointer(bench->context, (int)records[i].rank,
                                     records[i].offset, &local);
        if (status != CATENA_OK)
            return status;
        peer->rank = (int)records[i].rank;
        peer->word = local;
        words->count++;
    }
    return CATENA_OK;
}

static catena_status_t find_peers(struct bench_call *call, struct words *words)
{
    struct bench *bench = call->bench;
    struct record record = {.rank = bench->place.rank};
    struct record *send, *recv;
    catena_group_t *node;
    catena_status_t status;
    size_t size;

    status =
        catena_heap_offset(bench->context, (void *)words->mine, &record.offset);
    if (status == CATENA_OK)
        status = catena_group_split_level(bench->control, CATENA_LEVEL_NODE, 0,
                                          &node);
    if (status != CATENA_OK)
        return status;
    size = (size_t)catena_group_size(node);
    send = bench_alloc(bench, 2 * size, sizeof(*send));
    recv = send + size;
    for (size_t i = 0; i < size; i++)
        send[i] = record;
    bench_exchange(bench, node, send, recv, sizeof(record));
    status = look_up(bench, words, recv, (int)size);
    free(send);
    if (status == CATENA_OK)
        status = catena_group_free(&node);
    return status;
}

static catena_status_t prepare(struct bench_call *call)
{
    struct bench *bench = call->bench;
    size_t peers = (size_t)bench->place.local_size;
    struct words *words;

    if (!bench->options->check)
        return CATENA_OK;
    words =
        bench_alloc(bench, 1, sizeof(*words) + peers * sizeof(words->peers[0]));
    words->mine = catena_calloc(bench->context, 1, 64);
    if (words->mine == NULL) {
        free(words);
        return CATENA_ERR_NO_MEMORY;
    }
    call->state = words;
    return find_peers(call, words);
}

/* Collective: no rank may read the words after they are freed. */
static void release(struct bench_call *call)
{
    struct words *words = call->state;

    if (words == NULL)
        return;
    (void)bench_max(call->bench, 0);
    catena_free(call->bench->context, (void *)words->mine);
    free(words);
    call->state = NULL;
}

static catena_status_t blocking(struct bench_call *call)
{
    return catena_barrier(call->group);
}

static catena_status_t start(struct bench_call *call,
                             catena_request_t **request)
{
    return catena_ibarrier(call->group, request);
}

static catena_status_t init(struct bench_call *call, catena_request_t **request)
{
    return catena_barrier_init(call->group, request);
}

/* Each rank in turn enters late, so that an early exit shows. */
static void fill(struct bench_call *call, uint64_t stamp)
{
    struct words *words = call->state;

    if (stamp % (uint64_t)call->size == (uint64_t)call->rank)
        (void)catena_compute(call->bench->context, 20e-6);
    /* Release: this must be visible before the barrier is entered. */
    atomic_store_explicit(words->mine, stamp, memory_order_release);
}

static uint64_t verify(struct bench_call *call, uint64_t stamp,
                       struct bench_mismatch *first)
{
    struct words *words = call->state;
    uint64_t wrong = 0;

    for (int i = 0; i < words->count; i++) {
        struct peer *peer = &words->peers[i];
        uint64_t seen = atomic_load_explicit(peer->word, memory_order_acquire);

        /* A peer may be one call ahead, never behind. */
        if (seen >= stamp)
            continue;
        if (wrong++ == 0)
            *first = (struct bench_mismatch){.where = "number of rank",
                                             .source = peer->rank,
                                             .expected = (unsigned)stamp,
                                             .found = (unsigned)seen};
    }
    return wrong;
}

const struct bench_collective bench_barrier = {
    .name = "barrier",
    .help = "every rank waits for every rank",
    .quick = true,
    BENCH_BY_HIERARCHY("barrier"),
    .prepare = prepare,
    .release = release,
    .blocking = blocking,
    .start = start,
    .init = init,
    .fill = fill,
    .verify = verify,
};
