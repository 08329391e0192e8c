/* Splits with comparators that lie, or err about some. */

#include <stdlib.h>
#include <string.h>

#include "rank_liar.h"
#include "split.h"

/** Each liar about colors, keys, or both, in turn. */
static void lie_to(rank_test_t *test, const char *algorithm, int i)
{
    bool color = i % 3 != 1;
    bool key = i % 3 != 0;
    rank_split_t split = {
        .algorithm = algorithm,
        .color = i % 2 == 0 ? RANK_COLOR_WORDS : RANK_COLOR_FEW,
        .key = i % 4 < 2 ? RANK_KEY_RANDOM : RANK_KEY_WORDS,
        /* as a comparator of the user's */
        .color_order = color ? RANK_ORDER_BYTES : RANK_ORDER_NULL,
        .key_order = key ? RANK_ORDER_BYTES : RANK_ORDER_NULL,
        .left_out = i % 5 == 4 ? RANK_OUT_ONE : RANK_OUT_NONE,
        .seed = (uint64_t)i};
    rank_liar_t liar = {.way = i % RANK_LIARS,
                        .random = (uint64_t)test->place.rank,
                        .turned = test->place.rank % 2 == 1};
    if (rank_split_fits(&split)) {
        rank_split_open(&split, test->place.size);
        rank_split_by_liar(test, &split, &liar, color, key);
        rank_split_close(&split);
    }
}

void split_lies(rank_test_t *test)
{
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        /* All pairs where that is quick; else half of those about colors. */
        for (int i = 0; i < 3 * RANK_LIARS; i++) {
            if (test->simulated || (i + a) % 2 == 0 || i % 3 == 1) {
                lie_to(test, rank_split_algorithms[a], i);
            }
        }
    }
    rank_split_t honest = {.algorithm = "auto", .color = RANK_COLOR_WORDS};
    rank_split_world(test, &honest);
}

/** In order of numbers; with an argument, from 2 on the other way round. */
static int compare_but_others(const void *a, size_t a_bytes, const void *b,
                              size_t b_bytes, void *argument)
{
    int64_t x;
    int64_t y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    int order = catena_compare_int64(a, a_bytes, b, b_bytes, NULL);
    return argument != NULL && x >= 2 && y >= 2 ? -order : order;
}

/** The first rank errs about the order of others: all links fit together, but
 * not what that rank takes the group to be. */
void split_errs_about_others(rank_test_t *test)
{
    int64_t key = test->place.rank;
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        catena_group_t *group = NULL;
        catena_split_t split = {.key = &key,
                                .key_bytes = sizeof(key),
                                .key_compare = compare_but_others,
                                .argument = key == 0 ? test : NULL,
                                .algorithm = rank_split_algorithms[a]};
        if (strncmp(split.algorithm, "radix", 5) == 0) {
            continue;
        }
        catena_status_t status =
            catena_group_split_by(test->world, &split, &group);
        RANK_CHECK(test, status == CATENA_OK || status == CATENA_ERR_ARG);
        if (status == CATENA_OK) {
            RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
            int32_t *told = rank_tell_members(test, group, test->place.rank);
            RANK_CHECK(test,
                       told[catena_group_rank(group)] == test->place.rank);
            free(told);
            RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
        }
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
}

/** Lengths may differ, and 8 bytes are then compared otherwise than the rest:
 * {0, 5, 0} lies between 256 and 1, byte for byte. */
void split_mixed_lengths(rank_test_t *test)
{
    static const unsigned char bytes[3] = {0, 5, 0};
    int p = test->place.size;
    int rank = test->place.rank;
    int64_t number = rank % 3 == 0 ? 256 : 1;
    bool is_number = rank % 3 != 2;
    /* Where it comes: the shorter ones, those of 1, those of 256. */
    int shorter = p / 3;
    int not_above = shorter + p / 3 + (p % 3 == 2);
    int place = (!is_number      ? 0
                 : rank % 3 == 1 ? shorter
                                 : not_above) +
                rank / 3;
    for (int a = 0; a < RANK_SPLIT_ALGORITHMS; a++) {
        catena_group_t *group = NULL;
        catena_split_t split = {
            .key = is_number ? (const void *)&number : bytes,
            .key_bytes = is_number ? sizeof(number) : sizeof(bytes),
            .key_compare = catena_compare_int64,
            .algorithm = rank_split_algorithms[a]};
        if (strncmp(split.algorithm, "radix", 5) == 0) {
            continue;
        }
        RANK_CHECK(test, catena_group_split_by(test->world, &split, &group) ==
                             CATENA_OK);
        RANK_CHECK(test, catena_group_size(group) == p);
        RANK_CHECK(test, catena_group_rank(group) == place);
        RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}
