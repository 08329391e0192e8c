/* Orders that ranks do not share. RANK_TEST_SEED: which. */

#include "anyorder.h"

static void freed(rank_test_t *test)
{
    for (uint64_t i = 0; i < 10; i++) {
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
    for (uint64_t i = 0; i < 8; i++) {
        started_in_any_order(test, 1000 * rank_seed(1) + i, i < 6 ? 12 : 40);
    }
}

static const rank_case_t cases[] = {
    {"started in any order", started},
    {"freed in any order", freed},
    {"freed again and again", freed_again_and_again},
    {NULL, NULL}};
const rank_suite_t rank_suite_order = {.name = "order", .cases = cases};
