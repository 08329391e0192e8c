/* Erroneous calls of collectives: an error that names the expected and the
 * found value, on every rank that can know. Nothing is written out of bounds,
 * no rank deadlocks, and the next collective works. */

#include <stdint.h>
#include <stdlib.h>

#include "ranks/helpers/refuse.h"

enum { N = 4 };

/** A collective still works. */
static void still_works(rank_test_t *test, catena_group_t *group)
{
    int32_t one = 1, sum = 0;
    RANK_CHECK(test, catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM,
                                      group) == CATENA_OK);
    RANK_CHECK(test, sum == catena_group_size(group));
}

static void roots(rank_test_t *test)
{
    catena_group_t *g = test->world;
    int p = test->place.ranks;
    int32_t a[N] = {0}, *b = calloc((size_t)p * N, sizeof(*b));
    size_t *counts = calloc((size_t)p, sizeof(*counts));
    ptrdiff_t *places = calloc((size_t)p, sizeof(*places));
    const int wrong[] = {-1, p, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        int r = wrong[i];
        catena_request_t *request = NULL;
        REFUSED(test, "expected 0 to", catena_bcast(a, N, CATENA_INT32, r, g));
        REFUSED(test, "expected 0 to",
                catena_reduce(a, b, N, CATENA_INT32, CATENA_SUM, r, g));
        REFUSED(test, "expected 0 to",
                catena_gather(a, N, CATENA_INT32, b, N, CATENA_INT32, r, g));
        REFUSED(test, "expected 0 to",
                catena_gatherv(a, 0, CATENA_INT32, b, counts, places,
                               CATENA_INT32, r, g));
        REFUSED(test, "expected 0 to",
                catena_scatter(b, N, CATENA_INT32, a, N, CATENA_INT32, r, g));
        REFUSED(test, "expected 0 to",
                catena_scatterv(b, counts, places, CATENA_INT32, a, 0,
                                CATENA_INT32, r, g));
        REFUSED(test, "expected 0 to",
                catena_ibcast(a, N, CATENA_INT32, r, g, &request));
        REFUSED(test, "expected 0 to",
                catena_bcast_init(a, N, CATENA_INT32, r, g, &request));
        RANK_CHECK(test, request == NULL);
    }
    still_works(test, g);
    free(b);
    free(counts);
    free(places);
}

/** Messages about NULL arguments; test_arguments tries every argument. */
static void nulls(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t type = CATENA_INT32;
    size_t p = (size_t)test->place.ranks;
    int32_t a[N] = {0}, *b = calloc(p * N, sizeof(*b));
    size_t *counts = calloc(p, sizeof(*counts));
    ptrdiff_t *places = calloc(p, sizeof(*places));
    REFUSED(test, "expected 16 bytes", catena_bcast(NULL, N, type, 0, g));
    REFUSED(test, "the type of", catena_bcast(a, N, NULL, 0, g));
    REFUSED(test, "operation is NULL",
            catena_allreduce(a, b, N, type, NULL, g));
    REFUSED(test, "recv is NULL",
            catena_allgather(a, N, type, NULL, N, type, g));
    REFUSED(test, "recv_displacements is NULL; expected [",
            catena_allgatherv(a, 0, type, b, counts, NULL, type, g));
    REFUSED(test, "recv_counts is NULL; expected [",
            catena_reduce_scatter(a, b, NULL, type, CATENA_SUM, g));
    REFUSED(test, "send_counts is NULL; expected [",
            catena_alltoallv(a, NULL, NULL, type, b, counts, places, type, g));
    REFUSED(test, "alltoall: recv is NULL",
            catena_alltoall(b, 1, type, NULL, 1, type, g));
    REFUSED(test, "request is NULL",
            catena_ialltoall(b, 1, type, b, 1, type, g, NULL));
    still_works(test, g);
    free(b);
    free(counts);
    free(places);
}

/** More bytes than addresses. */
static void overflow(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t type = CATENA_DOUBLE;
    const char *words = "not fit the address space";
    size_t much = SIZE_MAX / 4;
    size_t p = (size_t)test->place.ranks;
    double a[N] = {0};
    size_t *counts = calloc(p, sizeof(*counts));
    counts[p - 1] = much;
    REFUSED(test, words, catena_bcast(a, much, type, 0, g));
    REFUSED(test, words, catena_allreduce(a, a, much, type, CATENA_SUM, g));
    REFUSED(test, words, catena_scan(a, a, much, type, CATENA_SUM, g));
    REFUSED(test, words, catena_alltoall(a, much, type, a, much, type, g));
    REFUSED(test, words, catena_allgather(a, 1, type, a, much, type, g));
    REFUSED(test, words,
            catena_reduce_scatter(a, a, counts, type, CATENA_SUM, g));
    REFUSED(test, words,
            catena_reduce_scatter_block(a, a, much, type, CATENA_SUM, g));
    still_works(test, g);
    free(counts);
}

/** The blocks of both sides of an alltoall have one length. */
static void sides(rank_test_t *test)
{
    catena_group_t *g = test->world;
    const char *words = "a block of send has 4 bytes; expected 8";
    catena_type_t type = CATENA_INT32;
    size_t p = (size_t)test->place.ranks;
    int32_t *a = calloc(2 * p, sizeof(*a)), *b = calloc(2 * p, sizeof(*b));
    catena_request_t *request = NULL;
    REFUSED(test, words, catena_alltoall(a, 1, type, b, 2, type, g));
    REFUSED(test, words, catena_alltoall(a, 1, type, b, 1, CATENA_INT64, g));
    REFUSED(test, words,
            catena_ialltoall(a, 4, CATENA_BYTE, b, 2, type, g, &request));
    REFUSED(test, words,
            catena_alltoall_init(a, 1, type, b, 2, type, g, &request));
    RANK_CHECK(test, request == NULL);
    RANK_CHECK(test,
               catena_alltoall(a, 8, CATENA_BYTE, b, 2, type, g) == CATENA_OK);
    still_works(test, g);
    free(a);
    free(b);
}

/** Blocks that are empty for all ranks, but this rank's own is not. */
static void own_blocks(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t type = CATENA_INT32;
    int32_t *a = calloc((size_t)test->place.ranks * N, sizeof(*a));
    int32_t b[N] = {0};
    const char *sent = "send has 16 bytes; expected 0, like recv";
    const char *received = "recv has 16 bytes; expected 0, like send";
    catena_request_t *request = NULL;
    REFUSED(test, sent, catena_allgather(b, N, type, a, 0, type, g));
    if (test->place.rank == 0) {
        REFUSED(test, sent, catena_gather(b, N, type, a, 0, type, 0, g));
        REFUSED(test, sent,
                catena_igather(b, N, type, a, 0, type, 0, g, &request));
        REFUSED(test, sent,
                catena_gather_init(b, N, type, a, 0, type, 0, g, &request));
        REFUSED(test, received, catena_scatter(a, 0, type, b, N, type, 0, g));
        REFUSED(test, received,
                catena_scatter_init(a, 0, type, b, N, type, 0, g, &request));
        RANK_CHECK(test, request == NULL);
    } else { /* as if the root's call were right: no rank waits */
        RANK_CHECK(test,
                   catena_gather(b, 0, type, NULL, N, NULL, 0, g) == CATENA_OK);
        RANK_CHECK(test, catena_scatter(NULL, N, NULL, b, 0, type, 0, g) ==
                             CATENA_OK);
    }
    still_works(test, g);
    free(a);
}

/** Operations, and types that they do not take. */
static void operations(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t mixed = NULL;
    RANK_CHECK(test, catena_type_struct(
                         2, (const size_t[]){1, 1}, (const ptrdiff_t[]){0, 8},
                         (const catena_type_t[]){CATENA_INT64, CATENA_DOUBLE},
                         &mixed) == CATENA_OK);
    static int64_t a[N], b[N];
    REFUSED(test, "band",
            catena_allreduce(a, b, 1, CATENA_DOUBLE, CATENA_BAND, g));
    REFUSED(test, "max",
            catena_allreduce(a, b, 1, CATENA_COMPLEX_FLOAT, CATENA_MAX, g));
    REFUSED(test, "sum",
            catena_scan(a, b, 1, CATENA_DOUBLE_INT32, CATENA_SUM, g));
    REFUSED(test, "minloc",
            catena_reduce(a, b, 1, CATENA_INT32, CATENA_MINLOC, 0, g));
    REFUSED(test, "sum",
            catena_reduce_scatter_block(a, b, 1, CATENA_BYTE, CATENA_SUM, g));
    REFUSED(test, "several fixed types",
            catena_allreduce(a, b, 1, mixed, CATENA_SUM, g));
    RANK_CHECK(test, catena_type_free(&mixed) == CATENA_OK);
    still_works(test, g);
}

static void in_place(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t type = CATENA_INT32;
    const char *words = "CATENA_IN_PLACE, which is not allowed";
    size_t p = (size_t)test->place.ranks;
    int32_t a[N] = {0}, *b = calloc(p * N, sizeof(*b));
    void *here = CATENA_IN_PLACE;
    REFUSED(test, words, catena_bcast(here, N, type, 0, g));
    REFUSED(test, words, catena_allreduce(a, here, N, type, CATENA_SUM, g));
    REFUSED(test, words, catena_scan(here, here, N, type, CATENA_SUM, g));
    REFUSED(test, words, catena_alltoall(b, 1, type, here, 1, type, g));
    REFUSED(test, words, catena_allgather(a, N, type, here, N, type, g));
    REFUSED(test, words,
            catena_reduce_scatter_block(a, here, N, type, CATENA_SUM, g));
    if (test->place.rank != 0) { /* ranks other than the root have no place */
        REFUSED(test, words, catena_reduce(here, b, N, type, CATENA_SUM, 0, g));
        REFUSED(test, words, catena_gather(here, N, type, b, N, type, 0, g));
        REFUSED(test, words, catena_scatter(b, N, type, here, N, type, 0, g));
    }
    still_works(test, g);
    free(b);
}

/** What a call does not read may hold anything: the other side of a rooted
 * collective, and the side that is in place. */
static void not_significant(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_type_t type = CATENA_INT32;
    catena_type_t bad = (catena_type_t)(uintptr_t)0x7fdeadbeef00; /* no type */
    void *none = (void *)(uintptr_t)0x7fdeadbeef00;
    void *here = CATENA_IN_PLACE;
    size_t much = SIZE_MAX / 2;
    size_t p = (size_t)test->place.ranks;
    int32_t *a = calloc(p * N, sizeof(*a)), *b = calloc(p * N, sizeof(*b));
    catena_request_t *request;
    if (test->place.rank == 0) {
#define EACH_FORM(name, ...)                                                   \
    RANK_CHECK(test, catena_##name(__VA_ARGS__, g) == CATENA_OK);              \
    RANK_CHECK(test, catena_i##name(__VA_ARGS__, g, &request) == CATENA_OK &&  \
                         catena_request_wait(&request) == CATENA_OK);          \
    RANK_CHECK(test,                                                           \
               catena_##name##_init(__VA_ARGS__, g, &request) == CATENA_OK &&  \
                   catena_request_start(request) == CATENA_OK &&               \
                   catena_request_wait(&request) == CATENA_OK &&               \
                   catena_request_free(&request) == CATENA_OK)
        EACH_FORM(gather, here, much, bad, b, N, type, 0);
        EACH_FORM(scatter, b, N, type, here, much, bad, 0);
    } else {
        EACH_FORM(gather, a, N, type, none, much, bad, 0);
        EACH_FORM(scatter, none, much, bad, a, N, type, 0);
    }
    EACH_FORM(allgather, here, much, bad, b, N, type);
    EACH_FORM(alltoall, here, much, bad, b, N, type);
#undef EACH_FORM
    still_works(test, g);
    free(a);
    free(b);
}

static void settings(rank_test_t *test)
{
    catena_group_t *g = test->world;
    static const char *const wrong[][3] = {
        {"bcast_algorithm", "magic", "expected one of auto, "},
        {"scan_algorithm", "", "expected one of auto, "},
        {"alltoall_algorithm", "magic", "expected one of auto, "},
        {"exscan_algorithm", "auto", "COLLECTIVE_algorithm"},
        {"alltoall_leaders", "0", ""},
        {"alltoall_radix", "1", ""},
        {"alltoall_window", "33", ""},
        {"colour", "blue", ""},
        {"hierarchy", "planet:shm,network:p2p", "'planet'"},
        {"hierarchy", "node:magic,network:p2p", "'magic'"},
        {"reduce_hierarchy", "node:shm,node:p2p,network:p2p", "node"},
        {"reduce_hierarchy", "node:shm,numa:shm,network:p2p", "numa"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        REFUSED(test, wrong[i][2],
                catena_group_set(g, wrong[i][0], wrong[i][1]));
    }
    still_works(test, g);
}

/** If settings differ, the call fails on all ranks, and one of them logs it.
 * Then all ranks set the same, and calls work.
 * @param built the hierarchy has been built before */
static void differ(rank_test_t *test, bool built, const char *setting,
                   const char *const value[2], const char *const then[2])
{
    catena_group_t *g;
    int32_t one = 1, sum = 0;
    int rank = test->place.rank;
    RANK_CHECK(test, catena_group_dup(test->world, &g) == CATENA_OK);
    for (int i = 0; i < 2; i++) {
        if (built) {
            still_works(test, g);
        }
        RANK_CHECK(test,
                   catena_group_set(g, setting, value[rank > 0]) == CATENA_OK);
        REFUSED(test, rank == 1 ? "expected the same settings" : "",
                catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM, g));
        RANK_CHECK(test, catena_group_set(g, setting, then[i]) == CATENA_OK);
        still_works(test, g);
    }
    RANK_CHECK(test, catena_group_free(&g) == CATENA_OK);
}

static void settings_differ(rank_test_t *test)
{
    static const char *const value[] = {"network:p2p", "node:p2p,network:p2p"};
    static const char *const then[] = {"node:shm,network:p2p",
                                       "node:shm,network:p2p"};
    differ(test, false, "hierarchy", value, then);
}

static void algorithms_differ(rank_test_t *test)
{
    static const char *const value[] = {"flat", "tree"};
    static const char *const then[] = {"auto", "tree"};
    differ(test, true, "allreduce_algorithm", value, then);
}

/** Two ranks make a call with different lengths. What the longer one has stored
 * is not taken for words of larger groups that use the same memory. Each word
 * of it is `value`, as words of operation `value` - 1 are. */
static void mismatch_before(rank_test_t *test, uint64_t value,
                            catena_group_t **larger)
{
    int rank = test->place.rank;
    uint64_t data[128];
    catena_group_t *pair;
    for (size_t i = 0; i < 128; i++) {
        data[i] = value;
    }
    RANK_CHECK(test, catena_group_split(test->world, rank < 2, rank, &pair) ==
                         CATENA_OK);
    if (rank < 2) {
        FAILS(test, rank == 0 ? CATENA_ERR_ARG : CATENA_OK, "",
              catena_bcast(data, rank == 0 ? 1 : 128, CATENA_UINT64, 1, pair));
    }
    RANK_CHECK(test, catena_group_free(&pair) == CATENA_OK);
    for (int i = 0; i < 20; i++) { /* the pair's memory is freed meanwhile */
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    RANK_CHECK(test, catena_group_dup(test->world, larger) == CATENA_OK);
    for (uint64_t i = 0; i < value; i++) {
        if (i + 1 == value && rank + 1 == test->place.ranks) {
            rank_pause(test, 1000);
        }
        still_works(test, *larger);
    }
}

static void old_data(rank_test_t *test)
{
    enum { MOST = 16 };
    catena_group_t *group[MOST];
    if (test->place.ranks < 3) {
        return;
    }
    for (uint64_t i = 0; i < MOST; i++) {
        mismatch_before(test, i + 1, &group[i]);
    }
    for (size_t i = 0; i < MOST; i++) {
        RANK_CHECK(test, catena_group_free(&group[i]) == CATENA_OK);
    }
}

/** Rank 1 divides a vector of the same length in another way. Over messages the
 * lengths of blocks differ, which the suite mismatch covers. */
static void other_blocks(rank_test_t *test)
{
    int p = test->place.ranks;
    catena_group_t *group;
    if (test->place.nodes > 1) {
        return;
    }
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_set(group, "hierarchy", "node:shm") == CATENA_OK);
    int32_t *send = calloc((size_t)p * N, sizeof(*send));
    int32_t receive[N + 1] = {0};
    size_t *counts = calloc((size_t)p, sizeof(*counts));
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < p; i++) {
            counts[i] = N - 1;
        }
        if (test->place.rank == 1) {
            counts[0] = N;
            counts[1] = N - 2;
        }
        FAILS(test, CATENA_ERR_ARG, "have different counts",
              catena_reduce_scatter(send, receive, counts, CATENA_INT32,
                                    CATENA_SUM, group));
        still_works(test, group);
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    free(send);
    free(counts);
}

static const rank_case_t cases[] = {
    {"roots", roots},
    {"NULL", nulls},
    {"more than there are addresses", overflow},
    {"sides of different lengths", sides},
    {"own blocks that are not empty", own_blocks},
    {"operations and types", operations},
    {"in place where there is no place", in_place},
    {"arguments that are not significant", not_significant},
    {"settings that make no sense", settings},
    {"settings that differ", settings_differ},
    {"algorithms that differ", algorithms_differ},
    {"blocks of other lengths, and as many elements", other_blocks},
    {"data of other lengths before a larger group", old_data},
    {NULL, NULL}};
const rank_suite_t rank_suite_collbad = {.name = "collbad",
                                         .cases = cases,
                                         .ranks = 2,
                                         .real = true,
                                         .unchecked = true};
