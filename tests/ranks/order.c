/* Orders that differ between ranks. RANK_TEST_SEED selects them. */

#include <stdlib.h>

#include "ranks/helpers/anyorder.h"

static void freed(rank_test_t *test)
{
    for (uint64_t i = 0; i < 5; i++) {
        freed_in_any_order(test, 1000 * rank_seed(1) + i);
    }
}

/** The memory of freed groups is reused although no rank waits for its release:
 * after 100 groups the use is at its maximum. */
static void freed_again_and_again(rank_test_t *test)
{
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = {.size = sizeof(after)};
    catena_group_stats_t group = {.size = sizeof(group)};
    for (int i = 0; i < 500; i++) {
        catena_group_t *made = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &made) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(&made) == CATENA_OK);
        if (i == 100) {
            catena_heap_get_stats(test->context, &before);
        }
    }
    catena_heap_get_stats(test->context, &after);
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

/** A thousand started requests on each of 16 ranks of a node fit in 12 GB: the
 * share of one, including the fixed part. */
enum { REQUESTS = 80, REQUEST_BYTES = 750000, ONCE_BYTES = 40000000 };

static void little_memory(rank_test_t *test)
{
    int64_t in[REQUESTS], *out;
    catena_request_t *request[REQUESTS];
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = {.size = sizeof(after)};
    catena_group_t *world = test->world;
    size_t size = (size_t)test->place.ranks;
    if (test->place.nodes > 1 || size < 3) {
        return;
    }
    out = calloc(2 * REQUESTS * size, sizeof(*out));
    int64_t *from = out + REQUESTS * size;
    RANK_CHECK(test, catena_barrier(world) == CATENA_OK);
    catena_heap_get_stats(test->context, &before);
    for (int i = 0; i < REQUESTS; i++) {
        catena_request_t **r = &request[i];
        in[i] = 1;
        catena_status_t status =
            i % 4 == 0 ? catena_bcast_init(&in[i], 1, CATENA_INT64, 0, world, r)
            : i % 4 == 1 ? catena_scan_init(&in[i], &out[i], 1, CATENA_INT64,
                                            CATENA_SUM, world, r)
            : i % 4 == 2
                ? catena_alltoall_init(&from[(size_t)i * size], 1, CATENA_INT64,
                                       &out[(size_t)i * size], 1, CATENA_INT64,
                                       world, r)
                : catena_barrier_init(world, r);
        RANK_CHECK(test, status == CATENA_OK);
    }
    RANK_CHECK(test, catena_request_startall(REQUESTS, request) == CATENA_OK);
    RANK_CHECK(test, catena_request_waitall(REQUESTS, request) == CATENA_OK);
    RANK_CHECK(test, out[1] == test->place.rank + 1);
    catena_heap_get_stats(test->context, &after);
    RANK_CHECK(test, after.node_taken <= before.node_taken + ONCE_BYTES +
                                             REQUESTS * size * REQUEST_BYTES);
    RANK_CHECK(test, catena_barrier(world) == CATENA_OK);
    for (int i = 0; i < REQUESTS; i++) {
        RANK_CHECK(test, catena_request_free(&request[i]) == CATENA_OK);
    }
    free(out);
}

/** Settings changed while a request is active apply to its later starts only,
 * whatever the progress of the ranks. */
static void keep_order(const void *in, void *inout, size_t count,
                       catena_type_t type, void *argument)
{
    const int64_t *from = in;
    int64_t *to = inout;
    RANK_CHECK((rank_test_t *)argument, type == CATENA_INT64);
    for (size_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

static void set_while_active(rank_test_t *test)
{
    int64_t sum = (int64_t)test->place.ranks * (test->place.ranks + 1) / 2;
    catena_op_t op = NULL;
    RANK_CHECK(test, catena_op_create(keep_order, test, 0, &op) == CATENA_OK);
    for (int turn = 0; turn < 6; turn++) {
        int64_t in = test->place.rank + 1;
        int64_t out = 0;
        catena_group_t *group = NULL;
        catena_request_t *request = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        RANK_CHECK(test, catena_allreduce_init(&in, &out, 1, CATENA_INT64, op,
                                               group, &request) == CATENA_OK);
        for (int again = 0; again < 2; again++) {
            out = 0;
            RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
            RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
            int polls = test->place.rank == turn % 4 ? turn : 2000;
            for (int i = 0; i < polls; i++) {
                (void)catena_progress(test->context);
            }
            RANK_CHECK(test, catena_group_set(group, "allreduce_algorithm",
                                              turn % 2 ? "tree" : "auto") ==
                                 CATENA_OK);
            RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
            RANK_CHECK(test, out == sum);
        }
        RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
    RANK_CHECK(test, catena_op_free(&op) == CATENA_OK);
}

/** Freed requests on neighborhoods release all their memory. */
static void neighbors_freed(rank_test_t *test)
{
    int size = test->place.ranks;
    int source = (test->place.rank + size - 1) % size;
    int target = (test->place.rank + 1) % size;
    catena_neighborhood_t *ring = NULL;
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = {.size = sizeof(after)};
    RANK_CHECK(test, catena_neighborhood_create(
                         test->world, 1, &source, CATENA_UNWEIGHTED, 1, &target,
                         CATENA_UNWEIGHTED, NULL, &ring) == CATENA_OK);
    for (int i = 0; i < 300; i++) {
        int64_t in = test->place.rank + i;
        int64_t out = 0;
        catena_request_t *request = NULL;
        RANK_CHECK(test, catena_neighbor_alltoall_init(
                             &in, 1, CATENA_INT64, &out, 1, CATENA_INT64, ring,
                             &request) == CATENA_OK);
        RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
        RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
        RANK_CHECK(test, out == source + i);
        RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
        if (i == 100) {
            catena_heap_get_stats(test->context, &before);
        }
    }
    catena_heap_get_stats(test->context, &after);
    /* 200 requests take at least 4 KiB each on every rank. */
    RANK_CHECK(test, after.node_taken <
                         before.node_taken +
                             200 * 2048 * (size_t)test->place.local_size);
    RANK_CHECK(test, catena_neighborhood_free(&ring) == CATENA_OK);
}

static const rank_case_t cases[] = {
    {"started in any order", started},
    {"requests of little memory", little_memory},
    {"freed in any order", freed},
    {"freed again and again", freed_again_and_again},
    {"settings while a request is active", set_while_active},
    {"neighbor requests give memory back", neighbors_freed},
    {NULL, NULL}};
const rank_suite_t rank_suite_order = {.name = "order", .cases = cases};
