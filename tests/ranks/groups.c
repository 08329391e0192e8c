/* Groups, barriers, and the shared heap. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/rank_test.h"

/** Allgather of a value over the world, by rank. The caller frees it. */
static uint64_t *gather_all(rank_test_t *test, uint64_t value)
{
    uint64_t *all = calloc((size_t)test->place.ranks, sizeof(uint64_t));
    RANK_CHECK(test, catena_allgather(&value, 1, CATENA_UINT64, all, 1,
                                      CATENA_UINT64, test->world) == CATENA_OK);
    return all;
}

static void dup_of_dup(rank_test_t *test)
{
    catena_group_t *node = NULL;
    catena_group_t *a = NULL;
    catena_group_t *b = NULL;
    RANK_CHECK(test,
               catena_group_split_level(test->world, CATENA_LEVEL_NODE,
                                        -test->place.rank, &node) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(node, &a) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(test->world, &b) == CATENA_OK);
    RANK_CHECK(test, catena_group_rank(a) == catena_group_rank(node));
    RANK_CHECK(test, catena_group_size(a) == catena_group_size(node));
    RANK_CHECK(test, catena_group_rank(b) == test->place.rank);
    RANK_CHECK(test, catena_group_free(&node) == CATENA_OK);
    rank_exchange(test, b, 74, 5);
    rank_exchange(test, a, 74, 5);
    RANK_CHECK(test, catena_group_free(&b) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&a) == CATENA_OK && a == NULL);
    catena_group_t *world = test->world;
    RANK_CHECK(test, catena_group_free(&world) == CATENA_ERR_ARG &&
                         world == test->world);
}

/** Wait until the memory in use is `expected`, but some seconds at most. */
static size_t in_use_soon(rank_test_t *test, size_t expected, double seconds)
{
    catena_heap_stats_t now = {.size = sizeof(now)};
    double until = catena_time(test->context) + seconds;
    do {
        RANK_CHECK(test, catena_progress(test->context) == CATENA_OK);
        catena_heap_get_stats(test->context, &now);
    } while (now.in_use != expected && catena_time(test->context) < until);
    return now.in_use;
}

/** Memory of a group that all ranks have freed is released a little later. */
static void give_back_memory(rank_test_t *test)
{
    size_t before = 0;
    for (int i = 0; i < 12; i++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        rank_exchange(test, group, 74, 5);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        if (i == 1) { /* the first calls allocate what stays */
            before = in_use_soon(test, 0, test->simulated ? 1e-3 : 0.2);
        } else if (i > 1) {
            RANK_CHECK(test, in_use_soon(test, before, 20) == before);
        }
    }
}

/** Short vectors in staging buffers: a group gets the memory of the one before,
 * whose members had other roles. */
static void reused_memory(rank_test_t *test)
{
    for (int i = 0; i < 8; i++) {
        catena_group_t *group = NULL;
        uint64_t sum = 0;
        int sign = i % 2 == 0 ? 1 : -1;
        RANK_CHECK(test,
                   catena_group_split(test->world, 0, sign * test->place.rank,
                                      &group) == CATENA_OK);
        RANK_CHECK(test, catena_group_set(group, "allreduce_algorithm",
                                          "shared") == CATENA_OK);
        for (uint64_t one = 1; one <= 40; one++) {
            RANK_CHECK(test, catena_allreduce(&one, &sum, 1, CATENA_UINT64,
                                              CATENA_SUM, group) == CATENA_OK);
            RANK_CHECK(test, sum == one * (uint64_t)test->place.ranks);
        }
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
}

/** No rank leaves a barrier before all have entered: a late rank records its
 * entry in its heap; its node reads that afterwards. */
static void barrier_holds(rank_test_t *test)
{
    uint64_t *come = catena_calloc(test->context, 1, sizeof(*come));
    uint64_t offset = 0;
    RANK_CHECK(test,
               catena_heap_offset(test->context, come, &offset) == CATENA_OK);
    uint64_t *offsets = gather_all(test, offset);
    uint64_t *nodes = gather_all(test, (uint64_t)test->place.node);
    for (int round = 0; round < 30; round++) {
        if (round % test->place.ranks == test->place.rank) {
            rank_pause(test, 2000);
        }
        __atomic_store_n(come, (uint64_t)round + 1, __ATOMIC_RELEASE);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        for (int i = 0; i < test->place.ranks; i++) {
            void *peer;
            if ((int)nodes[i] == test->place.node &&
                catena_heap_pointer(test->context, i, offsets[i], &peer) ==
                    CATENA_OK) {
                RANK_CHECK(test,
                           __atomic_load_n((uint64_t *)peer, __ATOMIC_ACQUIRE) >
                               (uint64_t)round);
            }
        }
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    catena_free(test->context, come);
    free(offsets);
    free(nodes);
}

static void node_memory(rank_test_t *test)
{
    enum { WORDS = 1000 };
    uint64_t *mine = catena_calloc(test->context, WORDS, sizeof(*mine));
    uint64_t offset = 0;
    catena_heap_offset(test->context, mine, &offset);
    uint64_t *offsets = gather_all(test, offset);
    uint64_t *nodes = gather_all(test, (uint64_t)test->place.node);
    uint64_t *values = malloc(WORDS * sizeof(*values));
    for (int i = 0; i < test->place.ranks; i++) {
        uint64_t value = 0;
        void *pointer;
        bool here = (int)nodes[i] == test->place.node;
        catena_status_t expected = here ? CATENA_OK : CATENA_ERR_ARG;
        if (!here && i > 2) {
            continue; /* a few refusals are enough: each is logged */
        }
        value = 1000 + (uint64_t)test->place.rank;
        RANK_CHECK(test,
                   catena_node_put(test->context, i,
                                   offsets[i] + 8 * (uint64_t)test->place.rank,
                                   &value, 8) == expected);
        RANK_CHECK(test, catena_heap_pointer(test->context, i, offsets[i],
                                             &pointer) == expected);
    }
    RANK_CHECK(test, catena_node_fence(test->context) == CATENA_OK);
    for (int i = 0; i < test->place.ranks; i++) {
        if ((int)nodes[i] != test->place.node) {
            continue;
        }
        RANK_CHECK(test, mine[i] == 1000 + (uint64_t)i);
        RANK_CHECK(test, catena_node_get(test->context, i, offsets[i], values,
                                         WORDS * 8) == CATENA_OK);
        RANK_CHECK(test, values[test->place.rank] ==
                             1000 + (uint64_t)test->place.rank);
    }
    RANK_CHECK(test, catena_node_fence(test->context) == CATENA_OK);
    RANK_CHECK(test,
               catena_node_get(test->context, test->place.rank, UINT64_MAX - 4,
                               values, 8) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_heap_offset(test->context, values, &offset) ==
                         CATENA_ERR_ARG);
    free(values);
    free(offsets);
    free(nodes);
    catena_free(test->context, mine);
}

/** A full heap refuses requests, and works again after a free. */
static void full_heap(rank_test_t *test)
{
    enum { BLOCK = 1 << 20 };
    catena_heap_stats_t stats = {.size = sizeof(stats)};
    catena_heap_get_stats(test->context, &stats);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    RANK_CHECK(test, catena_malloc(test->context, stats.limit) == NULL);
    RANK_CHECK(test, strstr(catena_last_error(), "heap: exhausted") != NULL);
    RANK_CHECK(test, catena_calloc(test->context, SIZE_MAX / 2, 3) == NULL);
    RANK_CHECK(test, strstr(catena_last_error(), "catena_calloc: ") != NULL);
    void *block = catena_malloc(test->context, BLOCK);
    RANK_CHECK(test, block != NULL);
    catena_free(test->context, block);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

/** A group that is not used takes few pages of the heap. */
static void unused_groups(rank_test_t *test)
{
    enum { GROUPS = 40, MOST = 64 << 10 };
    catena_group_t *group[GROUPS] = {NULL};
    catena_heap_stats_t before = {.size = sizeof(before)};
    catena_heap_stats_t after = before;
    RANK_CHECK(test, catena_group_dup(test->world, &group[0]) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    catena_heap_get_stats(test->context, &before);
    for (int i = 1; i < GROUPS; i++) {
        RANK_CHECK(test, catena_group_dup(test->world, &group[i]) == CATENA_OK);
    }
    catena_heap_get_stats(test->context, &after);
    RANK_CHECK(test, after.taken < before.taken + GROUPS * (size_t)MOST);
    for (int i = 0; i < GROUPS; i += 7) { /* they work */
        rank_exchange(test, group[i], 74, 5);
    }
    for (int i = 0; i < GROUPS; i++) {
        RANK_CHECK(test, catena_group_free(&group[i]) == CATENA_OK);
    }
}

static const rank_case_t cases[] = {
    {"dup_of_dup", dup_of_dup},       {"give_back_memory", give_back_memory},
    {"reused_memory", reused_memory}, {"unused_groups", unused_groups},
    {"barrier_holds", barrier_holds}, {"node_memory", node_memory},
    {"full_heap", full_heap},         {NULL, NULL}};
const rank_suite_t rank_suite_groups = {.name = "groups", .cases = cases};
