/* Every alltoall algorithm over sizes around every threshold, kinds of
 * buffers, in place, without barriers between the calls. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_test.h"

static const char *const algorithms[] = {"direct", "shift",  "bruck",
                                         "morton", "l-a2a",  "mpml",
                                         "nmpml",  "onmpml", "auto"};
static const char *const leaders[] = {"1", "2", "5", "auto"};

enum {
    ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]),
    LEADERS = sizeof(leaders) / sizeof(leaders[0])
};

typedef struct shape {
    size_t count;
    rank_memory_t send[2];    /* on even and odd ranks */
    rank_memory_t receive[2]; /* likewise */
    bool in_place;
} shape_t;

static void run_shape(rank_test_t *test, const shape_t *shape,
                      catena_datatype_t type, const char *algorithm,
                      const char *leader_count)
{
    int odd = test->place.rank % 2;
    rank_exchange_t x = {
        .group = test->world,
        .count = shape->count,
        .type = type,
        .send_memory = shape->send[odd],
        .receive_memory = shape->receive[odd],
        .in_place = shape->in_place,
    };
    char what[96];
    snprintf(what, sizeof(what), "%s, %s leaders%s", algorithm, leader_count,
             shape->in_place ? ", in place" : "");
    rank_exchange_open(test, &x);
    catena_group_set(test->world, "alltoall_algorithm", algorithm);
    catena_group_set(test->world, "alltoall_leaders", leader_count);
    uint64_t calls = shape->count > 9000 ? 2 : 6; /* over the rings once */
    for (uint64_t i = 0; i < calls; i++) {
        rank_exchange_fill(test, &x, i + shape->count);
        RANK_CHECK(test,
                   catena_alltoall(rank_exchange_source(&x), x.receive, x.count,
                                   x.type, test->world) == CATENA_OK);
        rank_exchange_check(test, &x, what);
    }
    rank_exchange_close(test, &x);
}

static void all_algorithms(rank_test_t *test, const shape_t *shape)
{
    for (int a = 0; a < ALGORITHMS; a++) {
        /* The leader count matters to three of them only. */
        int counts = strstr(algorithms[a], "mpml") != NULL ? LEADERS : 1;
        for (int l = 0; l < counts; l++) {
            run_shape(test, shape, CATENA_BYTE, algorithms[a], leaders[l]);
        }
    }
}

static const size_t small_sizes[] = {0, 1, 3, 8, 112, 113};
static const size_t large_sizes[] = {1000, 8192, 8193, 40000};

static void sweep(rank_test_t *test, const size_t *sizes, size_t n,
                  shape_t shape)
{
    for (size_t i = 0; i < n; i++) {
        shape.count = sizes[i];
        all_algorithms(test, &shape);
    }
}

#define SWEEPS(name, ...)                                                      \
    static void small_##name(rank_test_t *test)                                \
    {                                                                          \
        sweep(test, small_sizes, sizeof(small_sizes) / sizeof(size_t),         \
              (shape_t){__VA_ARGS__});                                         \
    }                                                                          \
    static void large_##name(rank_test_t *test)                                \
    {                                                                          \
        sweep(test, large_sizes, sizeof(large_sizes) / sizeof(size_t),         \
              (shape_t){__VA_ARGS__});                                         \
    }

SWEEPS(heap, .send = {RANK_HEAP, RANK_HEAP}, .receive = {RANK_HEAP, RANK_HEAP})
SWEEPS(malloc, .send = {RANK_MALLOC, RANK_MALLOC},
       .receive = {RANK_MALLOC, RANK_MALLOC})
SWEEPS(mixed, .send = {RANK_HEAP, RANK_MALLOC},
       .receive = {RANK_MALLOC, RANK_HEAP})
SWEEPS(in_place, .send = {RANK_HEAP, RANK_MALLOC},
       .receive = {RANK_HEAP, RANK_MALLOC}, .in_place = true)

/** Parameters of two of them: any radix, any window. */
static void parameters(rank_test_t *test)
{
    static const char *const radix[] = {"2", "3", "7", "65536", "auto"};
    static const char *const window[] = {"1", "2", "5", "32", "auto"};
    static const size_t sizes[] = {1, 100, 3000, 20000};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 4; k++) {
            shape_t shape = {.count = sizes[k]};
            catena_group_set(test->world, "alltoall_radix", radix[i]);
            catena_group_set(test->world, "alltoall_window", window[i]);
            run_shape(test, &shape, CATENA_BYTE, "bruck", "auto");
            run_shape(test, &shape, CATENA_BYTE, "shift", "auto");
            run_shape(test, &shape, CATENA_BYTE, "direct", "auto");
            run_shape(test, &shape, CATENA_BYTE, "onmpml", "2");
        }
    }
    RANK_CHECK(test, catena_group_set(test->world, "alltoall_radix", "1") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(test->world, "alltoall_window", "33") ==
                         CATENA_ERR_ARG);
}

static void types(rank_test_t *test)
{
    shape_t shape = {.count = 5};
    run_shape(test, &shape, CATENA_INT32, "direct", "auto");
    run_shape(test, &shape, CATENA_COMPLEX_DOUBLE, "onmpml", "auto");
    run_shape(test, &shape, CATENA_UINT16, "l-a2a", "auto");
}

/** More bytes than the staging of any leader holds. */
static void huge(rank_test_t *test)
{
    shape_t shape = {.count = 300000};
    for (int a = 0; a < ALGORITHMS; a++) {
        run_shape(test, &shape, CATENA_BYTE, algorithms[a], "2");
    }
}

static void bad_arguments(rank_test_t *test)
{
    char block[64] = {0};
    catena_group_t *world = test->world;
    RANK_CHECK(test,
               catena_alltoall(block, block, 1, NULL, world) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, block, 1, CATENA_BYTE, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(NULL, block, 1, CATENA_BYTE, world) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, NULL, 1, CATENA_BYTE, world) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_alltoall(block, block, SIZE_MAX / 2, CATENA_DOUBLE,
                                     world) == CATENA_ERR_ARG);
    RANK_CHECK(test,
               catena_alltoall(NULL, NULL, 0, CATENA_BYTE, world) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(world, "alltoall_algorithm", "magic") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_set(world, "alltoall_leaders", "0") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test,
               catena_group_set(world, "colour", "blue") == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_free(world) == CATENA_ERR_ARG);
}

static const rank_case_t cases[] = {{"small_heap", small_heap},
                                    {"small_malloc", small_malloc},
                                    {"small_mixed", small_mixed},
                                    {"small_in_place", small_in_place},
                                    {"large_heap", large_heap},
                                    {"large_malloc", large_malloc},
                                    {"large_mixed", large_mixed},
                                    {"large_in_place", large_in_place},
                                    {"parameters", parameters},
                                    {"types", types},
                                    {"huge", huge},
                                    {"bad_arguments", bad_arguments},
                                    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
