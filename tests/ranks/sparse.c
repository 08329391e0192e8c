/* Sparse exchanges: every rank knows from a seed what all ranks send, so the
 * reference is the list of the blocks that name this rank as target. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/refuse.h"

/** Shapes of lists. */
enum { RANDOM, NOTHING, ALL_TO_ONE, SELF, REPEATED, SHAPES };

enum { MOST_TARGETS = 24, LONG_BYTES = 100000 };

/** What a rank sends: equal on all ranks that ask for it. */
typedef struct sent {
    int count;
    int targets[MOST_TARGETS];
    size_t bytes[MOST_TARGETS];
    size_t offsets[MOST_TARGETS];
    size_t extent; /* of the buffer */
    bool in_a_row; /* without gaps */
} sent_t;

static size_t draw_bytes(uint64_t *state, uint64_t longest)
{
    switch (ctn_random(state) % 8) {
    case 0:
        return 0;
    case 1:
        return ctn_random(state) % (longest + 1);
    case 2:
        return 4094 + ctn_random(state) % 5; /* around the limit */
    default:
        return ctn_random(state) % 200;
    }
}

static int draw_target(uint64_t *state, int shape, int rank, int ranks,
                       uint64_t seed)
{
    int any = (int)(ctn_random(state) % (uint64_t)ranks);
    return shape == ALL_TO_ONE ? (int)(seed % (uint64_t)ranks)
           : shape == SELF     ? rank
           : shape == REPEATED ? (rank + 1) % ranks
           : any % 11 == 10    ? CATENA_PROC_NULL
                               : any;
}

static void draw(sent_t *sent, uint64_t seed, int rank, int ranks)
{
    uint64_t state = rank_hash(seed, (uint64_t)rank, 7);
    int shape = (int)(seed % SHAPES);
    uint64_t longest = seed % 3 == 0 ? LONG_BYTES : 100;
    *sent = (sent_t){.in_a_row = ctn_random(&state) % 2 == 0};
    sent->count = shape == NOTHING ? 0 : (int)(ctn_random(&state) % 13);
    if (shape == RANDOM && seed % 4 == 0) {
        sent->count *= 2;
    }
    for (int i = 0; i < sent->count; i++) {
        sent->targets[i] = draw_target(&state, shape, rank, ranks, seed);
        sent->bytes[i] = draw_bytes(&state, longest);
        sent->offsets[i] =
            sent->extent + (sent->in_a_row ? 0 : ctn_random(&state) % 9);
        sent->extent = sent->offsets[i] + sent->bytes[i];
    }
}

static unsigned char byte_of(uint64_t seed, int from, int index, size_t i)
{
    return (unsigned char)(rank_hash(seed, (uint64_t)from, (uint64_t)index) +
                           i * 31 + (i >> 8));
}

static void fill(const sent_t *sent, uint64_t seed, int rank,
                 unsigned char *buffer)
{
    for (int k = 0; k < sent->count; k++) {
        for (size_t i = 0; i < sent->bytes[k]; i++) {
            buffer[sent->offsets[k] + i] = byte_of(seed, rank, k, i);
        }
    }
}

/** Whether block `at` is block k from a rank; advance *end past it. */
static bool holds(const catena_received_t *received, int at, uint64_t seed,
                  int from, int k, size_t bytes, size_t *end)
{
    if (at >= received->count || received->sources[at] != from ||
        received->bytes[at] != bytes || received->offsets[at] != *end) {
        return false;
    }
    const unsigned char *data = (const unsigned char *)received->data + *end;
    size_t i = 0;
    while (i < bytes && data[i] == byte_of(seed, from, k, i)) {
        i++;
    }
    *end += bytes;
    return i == bytes;
}

/** Compare with the reference: all lists, and those blocks that are for me. */
static bool is_right(const catena_received_t *received, uint64_t seed, int me,
                     int ranks)
{
    int at = 0;
    size_t end = 0;
    bool good = true;
    for (int from = 0; from < ranks; from++) {
        sent_t sent;
        draw(&sent, seed, from, ranks);
        for (int k = 0; good && k < sent.count; k++) {
            if (sent.targets[k] == me) {
                good =
                    holds(received, at++, seed, from, k, sent.bytes[k], &end);
            }
        }
    }
    return good && at == received->count && end == received->total_bytes;
}

static catena_received_t *one(rank_test_t *test, catena_group_t *group,
                              uint64_t seed, sent_t *sent)
{
    int me = catena_group_rank(group);
    int ranks = catena_group_size(group);
    catena_received_t *received = NULL;
    rank_memory_t memory =
        rank_hash(seed, (uint64_t)me, 1) % 2 == 0 ? RANK_HEAP : RANK_MALLOC;
    draw(sent, seed, me, ranks);
    unsigned char *buffer = rank_take(test, memory, sent->extent + 1);
    fill(sent, seed, me, buffer);
    catena_status_t status = catena_sparse_exchange(
        group, sent->count, sent->targets, buffer, sent->bytes,
        sent->in_a_row ? NULL : sent->offsets, &received);
    RANK_CHECK(test, status == CATENA_OK);
    memset(buffer, 0xee, sent->extent); /* it is the caller's again */
    if (received == NULL || !is_right(received, seed, me, ranks)) {
        rank_fail(test, "seed %llu: wrong blocks", (unsigned long long)seed);
    }
    rank_give(test, memory, buffer);
    return received;
}

static void exchange(rank_test_t *test, catena_group_t *group, uint64_t seed)
{
    sent_t sent;
    catena_received_t *received = one(test, group, seed, &sent);
    RANK_CHECK(test, catena_received_free(&received) == CATENA_OK);
    RANK_CHECK(test, received == NULL);
}

static void many(rank_test_t *test)
{
    const char *count = getenv("SPARSE_SEEDS");
    uint64_t first = 1000 * rank_seed(1);
    uint64_t seeds = count != NULL ? strtoull(count, NULL, 10) : 30;
    for (uint64_t i = 0; i < seeds; i++) {
        exchange(test, test->world, first + i);
    }
}

/** In turns with other calls of several groups. */
static void groups(rank_test_t *test)
{
    catena_group_t *half = NULL, *backwards = NULL;
    int rank = test->place.rank;
    RANK_CHECK(test, catena_group_split(test->world, rank % 2, rank, &half) ==
                         CATENA_OK);
    RANK_CHECK(test,
               catena_group_split(test->world, 0, test->place.ranks - rank,
                                  &backwards) == CATENA_OK);
    for (uint64_t i = 0; i < 10; i++) {
        exchange(test, half, 50 + i);
        rank_exchange(test, half, 64, 1);
        exchange(test, backwards, 70 + i);
        exchange(test, test->world, 90 + i);
        RANK_CHECK(test, catena_barrier(backwards) == CATENA_OK);
    }
    RANK_CHECK(test, catena_group_free(&half) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&backwards) == CATENA_OK);
}

/** The lists make a neighborhood, whose alltoall brings the same sources. */
static void neighborhood(rank_test_t *test)
{
    for (uint64_t seed = 10; seed < 16; seed++) {
        sent_t sent;
        catena_neighborhood_t *made = NULL;
        catena_received_t *received = one(test, test->world, seed, &sent);
        int to[MOST_TARGETS];
        int *from = calloc((size_t)received->count + 1, sizeof(*from));
        for (int i = 0; i < sent.count; i++) {
            to[i] = test->place.rank * 100 + i;
        }
        RANK_CHECK(test, catena_neighborhood_create(
                             test->world, received->count, received->sources,
                             CATENA_UNWEIGHTED, sent.count, sent.targets,
                             CATENA_UNWEIGHTED, NULL, &made) == CATENA_OK);
        RANK_CHECK(test,
                   catena_neighbor_alltoall(to, 1, CATENA_INT32, from, 1,
                                            CATENA_INT32, made) == CATENA_OK);
        for (int i = 0; i < received->count; i++) {
            RANK_CHECK(test, from[i] / 100 == received->sources[i]);
            RANK_CHECK(test, i == 0 || from[i - 1] < from[i]);
        }
        RANK_CHECK(test, catena_neighborhood_free(&made) == CATENA_OK);
        free(from);
        (void)catena_received_free(&received);
    }
}

/** One rank passes wrong arguments: the call fails on all, and the next one
 * works. */
static void refused(rank_test_t *test)
{
    int ranks = test->place.ranks, me = test->place.rank;
    const int good[] = {0, 0}, outside[] = {0, ranks};
    const size_t bytes[] = {1, 1}, huge[] = {SIZE_MAX, 2};
    for (int wrong = 0; wrong < 5; wrong++) {
        catena_received_t *received = NULL;
        bool mine = me == (wrong + 1) % ranks;
        catena_status_t status = catena_sparse_exchange(
            test->world, mine && wrong == 0 ? -1 : 2,
            mine && wrong == 1 ? outside : good,
            mine && wrong == 2 ? NULL : "ab", mine && wrong == 3 ? huge : bytes,
            NULL, mine && wrong == 4 ? NULL : &received);
        RANK_CHECK(test, status == CATENA_ERR_ARG);
        RANK_CHECK(test, received == NULL);
        exchange(test, test->world, 200 + (uint64_t)wrong);
    }
}

/** The same long block, beside another one, to all ranks. */
static void shared_block(rank_test_t *test)
{
    int ranks = test->place.ranks, me = test->place.rank;
    size_t count = 2 * (size_t)ranks;
    int *targets = calloc(count, sizeof(*targets));
    size_t *bytes = calloc(count, sizeof(*bytes));
    size_t *offsets = calloc(count, sizeof(*offsets));
    unsigned char *send = rank_take(test, RANK_MALLOC, LONG_BYTES + 1);
    catena_received_t *received = NULL;
    memset(send, me, LONG_BYTES);
    send[LONG_BYTES] = (unsigned char)(me + 1);
    for (size_t i = 0; i < count; i++) {
        targets[i] = (int)(i % (size_t)ranks);
        bytes[i] = LONG_BYTES;
        offsets[i] = i / (size_t)ranks; /* the second one ends otherwise */
    }
    RANK_CHECK(test,
               catena_sparse_exchange(test->world, (int)count, targets, send,
                                      bytes, offsets, &received) == CATENA_OK);
    RANK_CHECK(test, received != NULL && received->count == 2 * ranks);
    for (int i = 0; received != NULL && i < received->count; i++) {
        const unsigned char *block =
            (unsigned char *)received->data + received->offsets[i];
        RANK_CHECK(test, received->sources[i] == i / 2);
        RANK_CHECK(test, block[0] == i / 2 && block[LONG_BYTES / 2] == i / 2);
        RANK_CHECK(test, block[LONG_BYTES - 1] == i / 2 + i % 2);
    }
    (void)catena_received_free(&received);
    rank_give(test, RANK_MALLOC, send);
    free(targets);
    free(bytes);
    free(offsets);
}

static const rank_case_t cases[] = {{"sparse: random lists", many},
                                    {"sparse: several groups", groups},
                                    {"sparse: a neighborhood", neighborhood},
                                    {"sparse: shared block", shared_block},
                                    {"sparse: refused", refused},
                                    {NULL, NULL}};

const rank_suite_t rank_suite_sparse = {.name = "sparse", .cases = cases};
