/* Collectives that are called wrongly: an error that says what was expected and
 * found, on every rank that can know; nothing is written beyond, nobody waits
 * for ever, and the next collective works. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rank_refuse.h"

enum { N = 4, GUARD = 0x77 };

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
    int p = test->place.size;
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

static void nulls(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_datatype_t type = CATENA_INT32;
    size_t p = (size_t)test->place.size;
    int32_t a[N] = {0}, *b = calloc(p * N, sizeof(*b));
    size_t *counts = calloc(p, sizeof(*counts));
    REFUSED(test, "expected 16 bytes", catena_bcast(NULL, N, type, 0, g));
    REFUSED(test, "the type of", catena_bcast(a, N, NULL, 0, g));
    REFUSED(test, "expected 16 bytes",
            catena_allreduce(NULL, b, N, type, CATENA_SUM, g));
    REFUSED(test, "expected 16 bytes",
            catena_allreduce(a, NULL, N, type, CATENA_SUM, g));
    REFUSED(test, "operation is NULL",
            catena_allreduce(a, b, N, type, NULL, g));
    REFUSED(test, "the type of", catena_scan(a, b, N, NULL, CATENA_SUM, g));
    REFUSED(test, "expected 16 bytes",
            catena_exscan(a, NULL, N, type, CATENA_SUM, g));
    REFUSED(test, "expected 16 bytes",
            catena_allgather(NULL, N, type, b, N, type, g));
    REFUSED(test, "recv is NULL",
            catena_allgather(a, N, type, NULL, N, type, g));
    REFUSED(test, "are NULL",
            catena_allgatherv(a, 0, type, b, counts, NULL, type, g));
    REFUSED(test, "are NULL",
            catena_allgatherv(a, 0, type, b, NULL, NULL, type, g));
    REFUSED(test, "counts are NULL",
            catena_reduce_scatter(a, b, NULL, type, CATENA_SUM, g));
    REFUSED(test, "send is NULL",
            catena_reduce_scatter_block(NULL, b, N, type, CATENA_SUM, g));
    RANK_CHECK(test, catena_bcast(a, N, type, 0, NULL) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_ibarrier(g, NULL) == CATENA_ERR_ARG);
    still_works(test, g);
    free(b);
    free(counts);
}

/** More bytes than addresses. */
static void overflow(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_datatype_t type = CATENA_DOUBLE;
    const char *words = "does not fit the address space";
    size_t much = SIZE_MAX / 4;
    size_t p = (size_t)test->place.size;
    double a[N] = {0};
    size_t *counts = calloc(p, sizeof(*counts));
    counts[p - 1] = much;
    REFUSED(test, words, catena_bcast(a, much, type, 0, g));
    REFUSED(test, words, catena_allreduce(a, a, much, type, CATENA_SUM, g));
    REFUSED(test, words, catena_scan(a, a, much, type, CATENA_SUM, g));
    REFUSED(test, words, catena_allgather(a, 1, type, a, much, type, g));
    REFUSED(test, words,
            catena_reduce_scatter(a, a, counts, type, CATENA_SUM, g));
    REFUSED(test, words,
            catena_reduce_scatter_block(a, a, much, type, CATENA_SUM, g));
    still_works(test, g);
    free(counts);
}

static void no_reduction(const void *in, void *inout, size_t count,
                         catena_datatype_t type, void *argument)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
    (void)argument;
}

/** Operations, and types that they do not take. */
static void operations(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_datatype_t gaps, large;
    catena_op_t op;
    static int64_t a[N], b[N];
    bool made =
        catena_type_vector(2, 1, 2, CATENA_INT32, &gaps) == CATENA_OK &&
        catena_type_contiguous(40000, CATENA_BYTE, &large) == CATENA_OK &&
        catena_op_create(no_reduction, NULL, 1, &op) == CATENA_OK;
    RANK_CHECK(test, made);
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
    REFUSED(test, "gap", catena_allreduce(a, b, 1, gaps, CATENA_SUM, g));
    REFUSED(test, "gap", catena_exscan(a, b, 1, gaps, op, g));
    FAILS(test, CATENA_ERR_UNSUPPORTED, "40000 bytes",
          catena_allreduce(a, b, 1, large, op, g));
    still_works(test, g);
    RANK_CHECK(test, catena_op_free(&op) == CATENA_OK);
    RANK_CHECK(test, catena_type_free(&gaps) == CATENA_OK);
    RANK_CHECK(test, catena_type_free(&large) == CATENA_OK);
}

static void in_place(rank_test_t *test)
{
    catena_group_t *g = test->world;
    catena_datatype_t type = CATENA_INT32;
    const char *words = "CATENA_IN_PLACE, which is not allowed";
    size_t p = (size_t)test->place.size;
    int32_t a[N] = {0}, *b = calloc(p * N, sizeof(*b));
    void *here = CATENA_IN_PLACE;
    REFUSED(test, words, catena_bcast(here, N, type, 0, g));
    REFUSED(test, words, catena_allreduce(a, here, N, type, CATENA_SUM, g));
    REFUSED(test, words, catena_scan(here, here, N, type, CATENA_SUM, g));
    REFUSED(test, words, catena_allgather(a, N, type, here, N, type, g));
    REFUSED(test, words,
            catena_reduce_scatter_block(a, here, N, type, CATENA_SUM, g));
    if (test->place.rank != 0) { /* who is not the root has no place */
        REFUSED(test, words, catena_reduce(here, b, N, type, CATENA_SUM, 0, g));
        REFUSED(test, words, catena_gather(here, N, type, b, N, type, 0, g));
        REFUSED(test, words, catena_scatter(b, N, type, here, N, type, 0, g));
    }
    still_works(test, g);
    free(b);
}

static void settings(rank_test_t *test)
{
    catena_group_t *g = test->world;
    REFUSED(test, "expected one of auto, ",
            catena_group_set(g, "bcast_algorithm", "magic"));
    REFUSED(test, "expected one of auto, ",
            catena_group_set(g, "scan_algorithm", ""));
    REFUSED(test, "COLLECTIVE_algorithm",
            catena_group_set(g, "exscan_algorithm", "auto"));
    REFUSED(test, "'planet'",
            catena_group_set(g, "hierarchy", "planet:shm,network:p2p"));
    REFUSED(test, "'magic'",
            catena_group_set(g, "hierarchy", "node:magic,network:p2p"));
    REFUSED(test, "node",
            catena_group_set(g, "reduce_hierarchy",
                             "node:shm,node:p2p,network:p2p"));
    REFUSED(test, "numa",
            catena_group_set(g, "reduce_hierarchy",
                             "node:shm,numa:shm,network:p2p"));
    RANK_CHECK(test, catena_group_set(g, NULL, "auto") == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(g, "hierarchy", NULL) == CATENA_ERR_ARG);
    still_works(test, g);
}

/** Of settings that differ all ranks hear; then they set the same. */
static void settings_differ(rank_test_t *test)
{
    catena_group_t *g;
    bool first = test->place.rank == 0;
    RANK_CHECK(test, catena_group_dup(test->world, &g) == CATENA_OK);
    for (int i = 0; i < 2 && test->place.size > 1; i++) {
        RANK_CHECK(test, catena_group_set(g, "hierarchy",
                                          first ? "network:p2p"
                                                : "node:p2p,network:p2p") ==
                             CATENA_OK);
        /* One of two that find it says so. */
        if (test->place.rank == 1) {
            REFUSED(test, "expected the same settings", catena_barrier(g));
        } else {
            RANK_CHECK(test, catena_barrier(g) == CATENA_ERR_ARG);
        }
        RANK_CHECK(test, catena_group_set(g, "hierarchy",
                                          "node:shm,network:p2p") == CATENA_OK);
        still_works(test, g);
    }
    RANK_CHECK(test, catena_group_free(g) == CATENA_OK);
}

/** The same of algorithms, when the hierarchy is there already. */
static void algorithms_differ(rank_test_t *test)
{
    catena_group_t *g;
    bool first = test->place.rank == 0;
    int32_t one = 1, sum = 0;
    RANK_CHECK(test, catena_group_dup(test->world, &g) == CATENA_OK);
    for (int i = 0; i < 2 && test->place.size > 1; i++) {
        still_works(test, g);
        RANK_CHECK(test,
                   catena_group_set(g, "allreduce_algorithm",
                                    first ? "flat" : "tree") == CATENA_OK);
        capture_t said;
        capture_start(&said);
        catena_status_t status =
            catena_allreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM, g);
        capture_stop(&said);
        rank_hold_against(test, "allreduce", CATENA_ERR_ARG, status,
                          test->place.rank == 1 ? "expected the same settings"
                                                : "",
                          said.text);
        RANK_CHECK(test,
                   catena_group_set(g, "allreduce_algorithm",
                                    i == 0 ? "auto" : "tree") == CATENA_OK);
        still_works(test, g);
    }
    RANK_CHECK(test, catena_group_free(g) == CATENA_OK);
}

/* ---- lengths that do not agree ---- */

typedef struct lengths {
    rank_test_t *test;
    catena_group_t *group;
    size_t given;    /* elements of each block */
    size_t expected; /* by who receives, of the last rank's */
} lengths_t;

static const char *const ways[] = {"network:p2p", "node:shm,network:p2p",
                                   "node:p2p,network:p2p"};

/** A call that one rank alone is told is wrong. */
#define REFUSED_WHERE(test, here, call)                                        \
    do {                                                                       \
        if (here) {                                                            \
            REFUSED(test, "expected", call);                                   \
        } else {                                                               \
            RANK_CHECK(test, (call) == CATENA_OK);                             \
        }                                                                      \
    } while (0)

/** What is sent, zeros; room for what is received, guarded; and the blocks of
 * one of them, one behind the other. */
typedef struct blocks {
    int32_t *send;
    int32_t *recv;
    size_t room; /* elements */
    size_t *counts;
    ptrdiff_t *places;
    size_t end; /* of the blocks */
} blocks_t;

/** Blocks of the usual length, but for the last: of that. */
static blocks_t take_blocks(const lengths_t *l, size_t sent, size_t room,
                            size_t last)
{
    size_t p = (size_t)l->test->place.size;
    blocks_t blocks = {.send = calloc(sent, sizeof(int32_t)),
                       .recv = malloc((room + N) * sizeof(int32_t)),
                       .room = room + N,
                       .counts = calloc(p, sizeof(size_t)),
                       .places = calloc(p, sizeof(ptrdiff_t))};
    memset(blocks.recv, GUARD, blocks.room * sizeof(int32_t));
    for (size_t r = 0; r < p; r++) {
        blocks.counts[r] = r + 1 < p ? l->given : last;
        blocks.places[r] = (ptrdiff_t)blocks.end;
        blocks.end += blocks.counts[r];
    }
    return blocks;
}

/** Nothing was written behind so many elements. */
static void drop_blocks(const lengths_t *l, blocks_t *blocks, size_t written)
{
    rank_test_t *test = l->test;
    const unsigned char *bytes = (const unsigned char *)blocks->recv;
    for (size_t i = written * sizeof(int32_t);
         i < blocks->room * sizeof(int32_t); i++) {
        RANK_CHECK(test, bytes[i] == GUARD);
    }
    still_works(test, l->group);
    free(blocks->send);
    free(blocks->recv);
    free(blocks->counts);
    free(blocks->places);
}

static void gather_lengths(const lengths_t *l)
{
    rank_test_t *test = l->test;
    size_t p = (size_t)test->place.size;
    blocks_t x =
        take_blocks(l, l->given, p * (l->given + l->expected), l->expected);
    REFUSED_WHERE(test, test->place.rank == 0,
                  catena_gatherv(x.send, l->given, CATENA_INT32, x.recv,
                                 x.counts, x.places, CATENA_INT32, 0,
                                 l->group));
    drop_blocks(l, &x, x.end);
}

static void scatter_lengths(const lengths_t *l)
{
    rank_test_t *test = l->test;
    size_t p = (size_t)test->place.size;
    bool last = test->place.rank + 1 == test->place.size;
    size_t mine = last ? l->expected : l->given;
    blocks_t x = take_blocks(l, p * l->given, l->given + l->expected, l->given);
    REFUSED_WHERE(test, last,
                  catena_scatterv(x.send, x.counts, x.places, CATENA_INT32,
                                  x.recv, mine, CATENA_INT32, 0, l->group));
    drop_blocks(l, &x, mine);
}

/** The last rank's block is not as long as all expect, itself included. */
static void allgather_lengths(const lengths_t *l)
{
    rank_test_t *test = l->test;
    size_t p = (size_t)test->place.size;
    bool last = test->place.rank + 1 == test->place.size;
    size_t mine = last ? l->expected : l->given;
    blocks_t x = take_blocks(l, mine + N, p * l->given, l->given);
    memset(x.send, 1, (mine + N) * sizeof(*x.send));
    REFUSED_WHERE(test, last,
                  catena_allgather(x.send, mine, CATENA_INT32, x.recv, l->given,
                                   CATENA_INT32, l->group));
    for (size_t i = 0; i < (p - 1) * l->given * sizeof(*x.recv); i++) {
        RANK_CHECK(test, ((unsigned char *)x.recv)[i] == 1);
    }
    drop_blocks(l, &x, p * l->given);
}

static void lengths(rank_test_t *test, void (*run)(const lengths_t *l))
{
    static const size_t sizes[][2] = {{10, 7},      {7, 10},      {10, 0},
                                      {5000, 4000}, {4000, 5000}, {30000, 1},
                                      {1, 30000}};
    lengths_t l = {.test = test};
    for (size_t w = 0; w < 3 && test->place.size > 1; w++) {
        RANK_CHECK(test, catena_group_dup(test->world, &l.group) == CATENA_OK);
        RANK_CHECK(test, catena_group_set(l.group, "hierarchy", ways[w]) ==
                             CATENA_OK);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            l.given = sizes[i][0];
            l.expected = sizes[i][1];
            run(&l);
        }
        RANK_CHECK(test, catena_group_free(l.group) == CATENA_OK);
    }
}

static void gatherv_lengths(rank_test_t *test)
{
    lengths(test, gather_lengths);
}

static void scatterv_lengths(rank_test_t *test)
{
    lengths(test, scatter_lengths);
}

static void allgather_other(rank_test_t *test)
{
    int32_t a[N] = {0}, b;
    REFUSED(
        test, "expected 0, as recv says",
        catena_allgather(a, N, CATENA_INT32, &b, 0, CATENA_INT32, test->world));
    lengths(test, allgather_lengths);
}

static const rank_case_t cases[] = {
    {"roots", roots},
    {"NULL", nulls},
    {"more than there are addresses", overflow},
    {"operations and types", operations},
    {"in place where there is no place", in_place},
    {"settings that make no sense", settings},
    {"settings that differ", settings_differ},
    {"algorithms that differ", algorithms_differ},
    {"gatherv of other lengths", gatherv_lengths},
    {"scatterv of other lengths", scatterv_lengths},
    {"allgather of other lengths", allgather_other},
    {NULL, NULL}};
const rank_suite_t rank_suite_collbad = {
    .name = "collbad", .cases = cases, .ranks = 2, .real = true};
