/* Kinds of random runs: splits. */

#include "sim/random.h"

#include <stdlib.h>

#include "ranks/helpers/split_mix.h"

enum { SPLITS = 4 };

/** The data of all ranks are stored on each: the more ranks, the less each. */
static size_t most_bytes(const draw_t *draw)
{
    size_t most = 4000000 / ((size_t)draw->ranks * (size_t)draw->ranks);
    return most < 300 ? 300 : most > 100000 ? 100000 : most;
}

/** The splits of a run, stored once for all ranks. */
static const oracle_split_t *open_shared(draw_t *draw, uint64_t random)
{
    if (draw->shared == NULL) {
        oracle_split_t *all = calloc(SPLITS, sizeof(*all));
        for (int i = 0; i < SPLITS; i++) {
            oracle_split_draw(&all[i], &random, most_bytes(draw));
            oracle_split_open(&all[i], draw->ranks);
        }
        draw->shared = all;
        draw->asked = draw->ranks;
    }
    return draw->shared;
}

static void close_shared(draw_t *draw)
{
    oracle_split_t *all = draw->shared;
    if (--draw->asked > 0) {
        return;
    }
    for (int i = 0; i < SPLITS; i++) {
        oracle_split_close(&all[i]);
    }
    free(all);
    draw->shared = NULL;
}

void splits(rank_test_t *test, draw_t *draw, uint64_t random)
{
    const oracle_split_t *all = open_shared(draw, random);
    oracle_members_t world = oracle_members_world(draw->ranks);
    for (uint64_t i = 0; i < SPLITS; i++) {
        pause_somewhere(test, random + i);
        oracle_group_free(&test->oracle,
                          oracle_split_run(&test->oracle, &all[i], test->world,
                                           &world, NULL));
    }
    oracle_members_free(&world);
    close_shared(draw);
}

void splits_of_splits(rank_test_t *test, draw_t *draw, uint64_t random)
{
    int order = (int)(ctn_random(&random) % 4);
    oracle_split_deep(&test->oracle, NULL, &random, most_bytes(draw), order);
}

void splits_in_flight(rank_test_t *test, draw_t *draw, uint64_t random)
{
    split_mix(test, NULL, random, most_bytes(draw));
}

void splits_by_liars(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int i = 0; i < SPLITS; i++) {
        oracle_split_t split;
        int way = (int)ctn_random_below(&random, ORACLE_LIARS);
        size_t what = ctn_random_below(&random, 3);
        bool color = what != 0;
        bool key = what != 1;
        do {
            split.algorithm = NULL;
            oracle_split_draw(&split, &random, most_bytes(draw));
            /* as a user's comparator; the other has no argument */
            split.color_order = color ? ORACLE_ORDER_BYTES : ORACLE_ORDER_NULL;
            split.key_order = key ? ORACLE_ORDER_BYTES : ORACLE_ORDER_NULL;
        } while (!oracle_split_fits(&split));
        oracle_split_open(&split, draw->ranks);
        oracle_split_lie(&test->oracle, &split, way, color, key);
        oracle_split_close(&split);
    }
}

/** Errors are expected: all ranks end with one and release everything. */
void dying_splits(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_status_t status = CATENA_OK;
    while (status == CATENA_OK) {
        oracle_split_t split = {.algorithm = NULL};
        catena_group_t *group = NULL;
        oracle_split_draw(&split, &random, 300);
        oracle_split_open(&split, draw->ranks);
        catena_split_t call = oracle_split_call(&split, test->place.rank);
        status = catena_group_split_by(test->world, &call, &group);
        RANK_CHECK(test, group == NULL || status == CATENA_OK);
        if (group != NULL) {
            status = catena_barrier(group);
            catena_status_t freed = catena_group_free(&group);
            status = status == CATENA_OK ? freed : status;
        }
        oracle_split_close(&split);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
}
