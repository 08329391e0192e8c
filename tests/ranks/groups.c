/* Groups, barriers, and the heap as ranks share it. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rank_test.h"

/** What all ranks of the world say, by rank. The caller frees it. */
static uint64_t *tell_all(rank_test_t *test, uint64_t value)
{
    size_t p = (size_t)test->place.size;
    uint64_t *send = calloc(p, sizeof(uint64_t));
    uint64_t *receive = calloc(p, sizeof(uint64_t));
    for (size_t i = 0; i < p; i++) {
        send[i] = value;
    }
    RANK_CHECK(test, catena_alltoall(send, receive, 1, CATENA_UINT64,
                                     test->world) == CATENA_OK);
    free(send);
    return receive;
}

/** The rank that a split by node gives, from everybody's node and key. */
static void expect_split(rank_test_t *test, catena_group_t *group, int key)
{
    uint64_t *nodes = tell_all(test, (uint64_t)test->place.node);
    uint64_t *keys = tell_all(test, (uint64_t)(int64_t)key);
    int rank = 0;
    int size = 0;
    for (int i = 0; i < test->place.size; i++) {
        if ((int)nodes[i] != test->place.node) {
            continue;
        }
        size++;
        rank +=
            (int)keys[i] < key || ((int)keys[i] == key && i < test->place.rank);
    }
    RANK_CHECK(test, catena_group_size(group) == size);
    RANK_CHECK(test, catena_group_rank(group) == rank);
    free(nodes);
    free(keys);
}

static void split_by_node(rank_test_t *test)
{
    uint64_t state = 5 + (uint64_t)test->place.rank;
    int keys[] = {0, test->place.rank, -test->place.rank,
                  (int)(rank_random(&state) % 7)};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test,
                   catena_group_split_level(test->world, CATENA_LEVEL_NODE,
                                            keys[i], &group) == CATENA_OK);
        expect_split(test, group, keys[i]);
        rank_exchange(test, group, 74, 5);
        RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

/** Members of this rank's color, in order: a naive sort of all. */
static int expect_members(rank_test_t *test, int color, int key, int *members)
{
    uint64_t *colors = tell_all(test, (uint64_t)(int64_t)color);
    uint64_t *keys = tell_all(test, (uint64_t)(int64_t)key);
    int size = 0;
    for (int i = 0; i < test->place.size; i++) {
        int at = size;
        if ((int)colors[i] != color) {
            continue;
        }
        for (; at > 0 && (int)keys[members[at - 1]] > (int)keys[i]; at--) {
            members[at] = members[at - 1];
        }
        members[at] = i;
        size++;
    }
    free(colors);
    free(keys);
    return size;
}

/** Each member tells its rank in the world to the members of its group. */
static void expect_order(rank_test_t *test, catena_group_t *group,
                         const int *members, int size)
{
    int32_t *send = calloc((size_t)size, sizeof(*send));
    int32_t *receive = calloc((size_t)size, sizeof(*receive));
    for (int i = 0; i < size; i++) {
        send[i] = test->place.rank;
    }
    RANK_CHECK(test, catena_group_size(group) == size);
    if (catena_group_size(group) == size) {
        RANK_CHECK(test, catena_alltoall(send, receive, 1, CATENA_INT32,
                                         group) == CATENA_OK);
        RANK_CHECK(test, memcmp(receive, members,
                                (size_t)size * sizeof(int32_t)) == 0);
        RANK_CHECK(test, members[catena_group_rank(group)] == test->place.rank);
    }
    free(send);
    free(receive);
}

static void split_once(rank_test_t *test, int color, int key)
{
    catena_group_t *group = test->world; /* to be replaced in any case */
    int *members = calloc((size_t)test->place.size, sizeof(*members));
    int size = expect_members(test, color, key, members);
    RANK_CHECK(test, catena_group_split(test->world, color, key, &group) ==
                         CATENA_OK);
    if (color == CATENA_UNDEFINED) {
        RANK_CHECK(test, group == NULL);
    } else if (group == NULL || group == test->world) {
        rank_fail(test, "no group of color %d", color);
    } else {
        catena_group_t *again = NULL;
        expect_order(test, group, members, size);
        rank_exchange(test, group, 74, 5);
        RANK_CHECK(test, catena_group_split(group, 7, 0, &again) == CATENA_OK);
        expect_order(test, again, members, size);
        RANK_CHECK(test, catena_group_free(again) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
    free(members);
}

/** Colors of few or many, keys in order, backwards, with ties, extreme. */
static void split_by_color(rank_test_t *test)
{
    int rank = test->place.rank;
    uint64_t state = 11 + (uint64_t)rank;
    split_once(test, 0, 0);
    split_once(test, rank, rank);
    split_once(test, rank % 3, -rank);
    split_once(test, INT_MAX - rank / 2, rank % 2 == 0 ? INT_MAX : INT_MIN);
    split_once(test, CATENA_UNDEFINED, rank);
    split_once(test, rank == 0 ? CATENA_UNDEFINED : 0, 5);
    split_once(test, rank == 0 ? 0 : CATENA_UNDEFINED, 5);
    for (int i = 0; i < 8; i++) {
        uint64_t what = rank_random(&state);
        split_once(test,
                   what % 4 == 0 ? CATENA_UNDEFINED : (int)(what >> 8 & 3),
                   (int)(what >> 16 & 3) - 1);
    }
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_split(test->world, -1, 0, &group) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split(NULL, 0, 0, &group) == CATENA_ERR_ARG);
    RANK_CHECK(test,
               catena_group_split(test->world, 0, 0, NULL) == CATENA_ERR_ARG);
    RANK_CHECK(test, group == NULL);
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
    RANK_CHECK(test, catena_group_free(node) == CATENA_OK);
    rank_exchange(test, b, 74, 5);
    rank_exchange(test, a, 74, 5);
    RANK_CHECK(test, catena_group_free(b) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(a) == CATENA_OK);
}

/** Until what is in use is `expected`, but for some seconds at most. */
static size_t in_use_soon(rank_test_t *test, size_t expected, double seconds)
{
    catena_heap_stats_t now;
    double until = catena_time(test->context) + seconds;
    do {
        RANK_CHECK(test, catena_progress(test->context) == CATENA_OK);
        catena_heap_stats(test->context, &now);
    } while (now.in_use != expected && catena_time(test->context) < until);
    return now.in_use;
}

/** Memory of a group that all have freed is given back a little later. */
static void give_back_memory(rank_test_t *test)
{
    size_t before = 0;
    for (int i = 0; i < 12; i++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        rank_exchange(test, group, 74, 5);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        if (i == 1) { /* the first ones build what stays */
            before = in_use_soon(test, 0, test->simulated ? 1e-3 : 0.2);
        } else if (i > 1) {
            RANK_CHECK(test, in_use_soon(test, before, 20) == before);
        }
    }
}

static void busy_group(rank_test_t *test)
{
    catena_group_t *group = NULL;
    catena_request_t *request = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_ibarrier(group, &request) == CATENA_OK);
    if (test->place.size > 1 && test->place.rank == 0) {
        /* Whether it is complete by now depends on the others. */
        char text[64];
        catena_request_describe(request, text, sizeof(text));
        RANK_CHECK(test, text[0] != '\0');
    }
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    RANK_CHECK(test, catena_group_split_level(test->world, (catena_level_t)99,
                                              0, &group) == CATENA_ERR_ARG);
}

/** Nobody leaves a barrier before all have come: a rank that comes late says
 * so in its heap before; its node reads that after. */
static void barrier_holds(rank_test_t *test)
{
    uint64_t *come = catena_calloc(test->context, 1, sizeof(*come));
    uint64_t offset = 0;
    RANK_CHECK(test,
               catena_heap_offset(test->context, come, &offset) == CATENA_OK);
    uint64_t *offsets = tell_all(test, offset);
    uint64_t *nodes = tell_all(test, (uint64_t)test->place.node);
    for (int round = 0; round < 30; round++) {
        if (round % test->place.size == test->place.rank) {
            rank_pause(test, 2000);
        }
        __atomic_store_n(come, (uint64_t)round + 1, __ATOMIC_RELEASE);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        for (int i = 0; i < test->place.size; i++) {
            void *peer;
            if ((int)nodes[i] == test->place.node &&
                catena_local_pointer(test->context, i, offsets[i], &peer) ==
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
    uint64_t *offsets = tell_all(test, offset);
    uint64_t *nodes = tell_all(test, (uint64_t)test->place.node);
    uint64_t *values = malloc(WORDS * sizeof(*values));
    for (int i = 0; i < test->place.size; i++) {
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
        RANK_CHECK(test, catena_local_pointer(test->context, i, offsets[i],
                                              &pointer) == expected);
    }
    RANK_CHECK(test, catena_node_fence(test->context) == CATENA_OK);
    for (int i = 0; i < test->place.size; i++) {
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

/** A heap that is full says no, and goes on when something was freed. */
static void full_heap(rank_test_t *test)
{
    enum { BLOCK = 1 << 20 };
    catena_heap_stats_t stats;
    catena_heap_stats(test->context, &stats);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    RANK_CHECK(test, catena_malloc(test->context, stats.limit) == NULL);
    RANK_CHECK(test, catena_calloc(test->context, SIZE_MAX / 2, 3) == NULL);
    void *block = catena_malloc(test->context, BLOCK);
    RANK_CHECK(test, block != NULL);
    catena_free(test->context, block);
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
}

static const rank_case_t cases[] = {{"split_by_node", split_by_node},
                                    {"split_by_color", split_by_color},
                                    {"dup_of_dup", dup_of_dup},
                                    {"give_back_memory", give_back_memory},
                                    {"busy_group", busy_group},
                                    {"barrier_holds", barrier_holds},
                                    {"node_memory", node_memory},
                                    {"full_heap", full_heap},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_groups = {.name = "groups", .cases = cases};
