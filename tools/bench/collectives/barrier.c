/* catena-bench barrier. With -c each rank stores the number of the call (the
 * stamp) in a word of its own before it calls the barrier. After the barrier it
 * reads the words of all ranks of its node; none may have a lower number. */

#include <stdatomic.h>
#include <stdlib.h>

#include "levels.h"

/* call->state, with -c */
struct words {
    _Atomic uint64_t *mine; /* the word that this rank writes */
    int count;              /* ranks of this node, including this one */
    struct peer {
        int rank; /* in the world */
        _Atomic uint64_t *word;
    } peers[];
};

/* What the ranks of a node exchange: the place of a rank's word. */
struct word_place {
    uint64_t offset; /* in the shared heap, see catena_heap_offset */
    int64_t rank;    /* in the world */
};

/* Set words->peers from the places of their words. */
static catena_status_t map_words(struct bench *bench, struct words *words,
                                 const struct word_place *places, int count)
{
    for (int i = 0; i < count; i++) {
        struct peer *peer = &words->peers[words->count];
        catena_status_t status;
        void *local;

        status = catena_heap_pointer(bench->context, (int)places[i].rank,
                                     places[i].offset, &local);
        if (status != CATENA_OK)
            return status;
        peer->rank = (int)places[i].rank;
        peer->word = local;
        words->count++;
    }
    return CATENA_OK;
}

/* Exchange the places of the words with the ranks of the node. Collective. */
static catena_status_t find_peers(struct bench_call *call, struct words *words)
{
    struct bench *bench = call->bench;
    struct word_place place = {.rank = bench->place.rank};
    struct word_place *send, *recv;
    catena_group_t *node;
    catena_status_t status;
    size_t size;

    status =
        catena_heap_offset(bench->context, (void *)words->mine, &place.offset);
    if (status == CATENA_OK)
        status = catena_group_split_level(bench->control, CATENA_LEVEL_NODE, 0,
                                          &node);
    if (status != CATENA_OK)
        return status;
    size = (size_t)catena_group_size(node);
    send = bench_alloc(bench, 2 * size, sizeof(*send));
    recv = send + size;
    for (size_t i = 0; i < size; i++)
        send[i] = place;
    bench_exchange(bench, node, send, recv, sizeof(place));
    status = map_words(bench, words, recv, (int)size);
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

BENCH_THREE_FORMS(barrier, call->group)

/* In each call another rank enters the barrier 20 microseconds late, so that a
 * rank that leaves too early is detected. */
static void fill(struct bench_call *call, uint64_t stamp)
{
    struct words *words = call->state;

    if (stamp % (uint64_t)call->size == (uint64_t)call->rank)
        (void)catena_compute(call->bench->context, 20e-6);
    /* Release: other ranks must see the stamp when the barrier is over. */
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

        /* A peer may have begun the next call already. */
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
    BENCH_CALL(barrier), .help = "every rank waits for every rank",
    .quick = true,       BENCH_BY_HIERARCHY("barrier"),
    .prepare = prepare,  .release = release,
    .fill = fill,        .verify = verify,
};
