/* Splits that are refused, and say so on all ranks. */

#include <stdlib.h>
#include <string.h>

#include "rank_split.h"
#include "split.h"

/** Refused on all ranks: nothing happens, nothing is set. */
static void refuse(rank_test_t *test, const catena_split_t *call,
                   const char *what)
{
    catena_group_t *untouched = test->world;
    catena_request_t *request = (void *)test;
    if (catena_group_split_by(test->world, call, &untouched) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused", what);
    }
    if (catena_group_isplit_by(test->world, call, &untouched, &request) !=
        CATENA_ERR_ARG) {
        rank_fail(test, "%s: not refused without blocking", what);
    }
    RANK_CHECK(test, untouched == test->world);
    RANK_CHECK(test, request == (void *)test);
    RANK_CHECK(test, catena_group_split_by(test->world, call, NULL) ==
                         CATENA_ERR_ARG);
}

static void refuse_algorithms(rank_test_t *test)
{
    static const char *const unknown[] = {
        "",           "nonsense", "Hash",        "hash65",      "bitonic ",
        "cheng:",     "cheng:5",  "cheng:127",   "cheng:8193",  "cheng:1024x",
        "cheng:-128", "radix:2",  "cheng:0x400", "cheng: 1024", "allgather-"};
    rank_split_t split = {.algorithm = "auto"};
    rank_split_open(&split, test->place.size);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        catena_split_t call = rank_split_call(&split, test->place.rank);
        call.algorithm = unknown[i];
        refuse(test, &call, unknown[i]);
    }
    rank_split_close(&split);
}

/** Algorithms that are not made for such data. */
static void refuse_misfits(rank_test_t *test)
{
    int refused = 0;
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        for (int orders = 0; orders < RANK_ORDERS * RANK_ORDERS; orders++) {
            rank_split_t split = {
                .algorithm = rank_split_algorithms[a],
                .color_order = (rank_order_t)(orders % RANK_ORDERS),
                .key_order = (rank_order_t)(orders / RANK_ORDERS)};
            if (!rank_split_fits(&split)) {
                rank_split_open(&split, test->place.size);
                catena_split_t call = rank_split_call(&split, test->place.rank);
                refuse(test, &call, split.algorithm);
                rank_split_close(&split);
                refused++;
            }
        }
    }
    RANK_CHECK(test, refused > RANK_ORDERS);
}

static void refuse_nothing(rank_test_t *test)
{
    rank_split_t split = {.algorithm = "auto", .color = RANK_COLOR_WORDS};
    rank_split_open(&split, test->place.size);
    catena_split_t call = rank_split_call(&split, test->place.rank);
    catena_group_t *untouched = test->world;
    catena_request_t *request = NULL;
    refuse(test, NULL, "no split");
    call.color = NULL;
    refuse(test, &call, "no color");
    call = rank_split_call(&split, test->place.rank);
    call.key = NULL;
    refuse(test, &call, "no key");
    call = rank_split_call(&split, test->place.rank);
    RANK_CHECK(test, catena_group_split_by(NULL, &call, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_isplit_by(test->world, &call, NULL,
                                            &request) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_isplit_by(test->world, &call, &untouched,
                                            NULL) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_string(test->world, "a", 0, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_string(NULL, "a", 0, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_int64(test->world, 1, 0, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_split_int64(NULL, 1, 0, &untouched) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_dup(NULL, &untouched) == CATENA_ERR_ARG);
    for (int level = 0; level <= LEVELS; level += LEVELS) {
        RANK_CHECK(test,
                   catena_group_split_level(test->world, (catena_level_t)level,
                                            0, &untouched) == CATENA_ERR_ARG);
    }
    RANK_CHECK(test, untouched == test->world && request == NULL);
    rank_split_close(&split);
}

void split_refused(rank_test_t *test)
{
    refuse_algorithms(test);
    refuse_misfits(test);
    refuse_nothing(test);
    rank_split_t split = {.algorithm = "auto", .color = RANK_COLOR_WORDS};
    rank_split_world(test, &split);
}
