/* Long blocks in a ring both ways: in memory of either kind, in any order of
 * coming, now and then of another length than the neighbors expect. */

#include "nbr_long.h"

#include "rank_refuse.h"

enum { LONGEST = 70000 };

/** What all ranks of a ring do: some calls in a row, the third of which one of
 * them, unless it is -1, makes with blocks of half the length. */
typedef struct long_calls {
    bool gather;
    size_t bytes;
    int wrong;
} long_calls_t;

static unsigned char long_byte(int from, int block, int turn, size_t i)
{
    return (unsigned char)(from * 31 + block * 17 + turn * 5 + (int)i * 3 +
                           (int)(i >> 8));
}

static catena_status_t call_long(const long_calls_t *calls, uint64_t form,
                                 const void *a, void *b, size_t bytes,
                                 catena_neighborhood_t *ring)
{
    const catena_datatype_t type = CATENA_BYTE;
    catena_request_t *request = NULL;
    if (form == 0) {
        catena_status_t status =
            calls->gather ? catena_ineighbor_gather(a, bytes, type, b, bytes,
                                                    type, ring, &request)
                          : catena_ineighbor_alltoall(a, bytes, type, b, bytes,
                                                      type, ring, &request);
        return status == CATENA_OK ? catena_wait(&request) : status;
    }
    return calls->gather
               ? catena_neighbor_gather(a, bytes, type, b, bytes, type, ring)
               : catena_neighbor_alltoall(a, bytes, type, b, bytes, type, ring);
}

static void check_long(rank_test_t *test, const long_calls_t *calls, int turn,
                       const unsigned char *b)
{
    int p = test->place.size;
    for (int k = 0; k < 2; k++) {
        int from = (test->place.rank + (k == 0 ? p - 1 : 1)) % p;
        int block = calls->gather ? 0 : p > 2 ? 1 - k : k;
        size_t i = 0;
        while (i < calls->bytes && b[(size_t)k * calls->bytes + i] ==
                                       long_byte(from, block, turn, i)) {
            i++;
        }
        RANK_CHECK(test, i == calls->bytes);
    }
}

static void long_turn(rank_test_t *test, const long_calls_t *calls, int turn,
                      uint64_t own, catena_neighborhood_t *ring)
{
    int p = test->place.size;
    int rank = test->place.rank;
    rank_memory_t send = own % 3 == 0 ? RANK_MALLOC : RANK_HEAP;
    rank_memory_t receive = (own >> 8) % 3 == 0 ? RANK_MALLOC : RANK_HEAP;
    unsigned char *a = rank_take(test, send, 2 * (size_t)LONGEST);
    unsigned char *b = rank_take(test, receive, 2 * (size_t)LONGEST);
    bool errs = turn == 2 && calls->wrong >= 0;
    bool is_wrong = errs && rank == calls->wrong;
    bool finds = errs && (is_wrong || (rank + 1) % p == calls->wrong ||
                          (rank + p - 1) % p == calls->wrong);
    size_t bytes = is_wrong ? calls->bytes / 2 : calls->bytes;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < bytes; i++) {
            a[(size_t)k * bytes + i] = long_byte(rank, k, turn, i);
        }
    }
    FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
          call_long(calls, (own >> 16) % 4, a, b, bytes, ring));
    if (!finds) {
        check_long(test, calls, turn, b);
    }
    rank_give(test, send, a);
    rank_give(test, receive, b);
}

void nbr_long(rank_test_t *test)
{
    static const size_t lengths_of[] = {1000, 2048,  4096,   8192,
                                        8200, 20000, LONGEST};
    enum { LENGTHS = sizeof(lengths_of) / sizeof(lengths_of[0]) };
    int p = test->place.size;
    int peer[2] = {(test->place.rank + p - 1) % p, (test->place.rank + 1) % p};
    uint64_t all = 3;
    uint64_t own = (uint64_t)test->place.rank;
    catena_neighborhood_t *ring = NULL;
    RANK_CHECK(test,
               catena_neighborhood_create(test->world, 2, peer, NULL, 2, peer,
                                          NULL, NULL, &ring) == CATENA_OK);
    for (int i = 0; i < 60; i++) {
        uint64_t n = rank_random(&all);
        long_calls_t calls = {
            .gather = (n >> 8) % 2 == 0,
            .bytes = lengths_of[n % LENGTHS],
            .wrong =
                p > 1 && (n >> 16) % 2 == 0 ? (int)((n >> 24) % 64) % p : -1,
        };
        for (int turn = 0; turn < 5; turn++) {
            long_turn(test, &calls, turn, rank_random(&own), ring);
        }
    }
    RANK_CHECK(test, catena_neighborhood_free(ring) == CATENA_OK);
}
