/* Orders that ranks do not share. RANK_TEST_SEED: which. */

#include <stdlib.h>

#include "ranks/helpers/anyorder.h"

static void freed(rank_test_t *test)
{
    for (uint64_t i = 0; i < 5; i++) {
        freed_in_any_order(test, 1000 * rank_seed(1) + i);
    }
}

/** The memory of groups that are freed is used again, though nobody waits for
 * it: 100 blocks are more than may be left. */
static void freed_again_and_again(rank_test_t *test)
{
    catena_heap_stats_t before = {0};
    catena_heap_stats_t after = {0};
    catena_group_stats_t group = {0};
    for (int i = 0; i < 500; i++) {
        catena_group_t *made = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &made) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(made) == CATENA_OK);
        if (i == 100) {
            catena_heap_stats(test->context, &before);
        }
    }
    catena_heap_stats(test->context, &after);
    catena_group_get_stats(test->world, &group);
    RANK_CHECK(test, after.node_taken < before.node_taken +
                                            100 * group.block_bytes *
                                                (size_t)test->place.local_size);
}

static void started(rank_test_t *test)
{
    for (uint64_t i = 0; i < 4; i++) {
        started_in_any_order(test, 1000 * rank_seed(1) + i, i < 3 ? 12 : 40, 4);
    }
}

/** A thousand of them, started, on each of 16 ranks of a node fit 12 GB: so
 * much of that takes one, with what is there once for all. */
enum { REQUESTS = 80, REQUEST_BYTES = 750000, ONCE_BYTES = 40000000 };

static void little_memory(rank_test_t *test)
{
    int64_t in[REQUESTS], *out;
    catena_request_t *request[REQUESTS];
    catena_heap_stats_t before = {0};
    catena_heap_stats_t after = {0};
    catena_group_t *world = test->world;
    size_t size = (size_t)test->place.size;
    if (test->place.nodes > 1 || size < 3) {
        return;
    }
    out = calloc(2 * REQUESTS * size, sizeof(*out));
    int64_t *from = out + REQUESTS * size;
    RANK_CHECK(test, catena_barrier(world) == CATENA_OK);
    catena_heap_stats(test->context, &before);
    for (int i = 0; i < REQUESTS; i++) {
        catena_request_t **r = &request[i];
        in[i] = 1;
        catena_status_t status =
            i % 4 == 0 ? catena_bcast_init(&in[i], 1, CATENA_INT64, 0, world, r)
            : i % 4 == 1 ? catena_scan_init(&in[i], &out[i], 1, CATENA_INT64,
                                            CATENA_SUM, world, r)
            : i % 4 == 2 ? catena_alltoall_init(&from[(size_t)i * size],
                                                &out[(size_t)i * size], 1,
                                                CATENA_INT64, world, r)
                         : catena_barrier_init(world, r);
        RANK_CHECK(test, status == CATENA_OK);
    }
    RANK_CHECK(test, catena_startall(REQUESTS, request) == CATENA_OK);
    RANK_CHECK(test, catena_waitall(REQUESTS, request) == CATENA_OK);
    RANK_CHECK(test, out[1] == test->place.rank + 1);
    catena_heap_stats(test->context, &after);
    RANK_CHECK(test, after.node_taken <= before.node_taken + ONCE_BYTES +
                                             REQUESTS * size * REQUEST_BYTES);
    RANK_CHECK(test, catena_barrier(world) == CATENA_OK);
    for (int i = 0; i < REQUESTS; i++) {
        RANK_CHECK(test, catena_request_free(&request[i]) == CATENA_OK);
    }
    free(out);
}

static const rank_case_t cases[] = {
    {"started in any order", started},
    {"requests of little memory", little_memory},
    {"freed in any order", freed},
    {"freed again and again", freed_again_and_again},
    {NULL, NULL}};
const rank_suite_t rank_suite_order = {.name = "order", .cases = cases};
