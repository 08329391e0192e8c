#include "rank_liar.h"

#include <stdio.h>
#include <stdlib.h>

const char *const rank_liars[RANK_LIARS] = {
    "at random", "in a circle", "always above", "not the same on all ranks",
    "above or below, never equal"};

static uint64_t digest(const unsigned char *data, size_t bytes)
{
    uint64_t state = bytes;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 131 + data[i];
    }
    return rank_random(&state);
}

int rank_lie(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
             void *argument)
{
    rank_liar_t *liar = argument;
    int honest = rank_compare_bytes(a, a_bytes, b, b_bytes);
    uint64_t x = digest(a, a_bytes);
    uint64_t y = digest(b, b_bytes);
    switch (liar->way) {
    case 0:
        return (int)(rank_random(&liar->random) % 3) - 1;
    case 1: /* stone, scissors, paper */
        return ((int)(x % 3) - (int)(y % 3) + 4) % 3 - 1;
    case 2:
        return 1;
    case 3:
        return liar->turned ? -honest : honest;
    default:
        return x < y ? -1 : 1;
    }
}

/** What a member tells the world of the group it got. */
typedef struct told {
    int64_t status;
    int64_t least; /* the smallest world rank in it; -1: none */
    int64_t rank;
    int64_t size;
} told_t;

static told_t tell_of(rank_test_t *test, catena_status_t status,
                      catena_group_t *group)
{
    told_t told = {status, -1, 0, 0};
    if (group == NULL) {
        return told;
    }
    told.rank = catena_group_rank(group);
    told.size = catena_group_size(group);
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    int32_t *heard = rank_tell_members(test, group, test->place.rank);
    told.least = heard[0];
    for (int64_t i = 1; i < told.size; i++) {
        told.least = heard[i] < told.least ? heard[i] : told.least;
    }
    RANK_CHECK(test, heard[told.rank] == test->place.rank);
    free(heard);
    return told;
}

/** All have the same answer, and each group has as many members as it says,
 * one for each of its ranks. */
static void expect_fit(rank_test_t *test, const rank_split_t *split,
                       const told_t *told, const char *what)
{
    int p = test->place.size;
    unsigned char *taken = calloc((size_t)p * (size_t)p, 1);
    int64_t *left = calloc((size_t)p, sizeof(*left));
    for (int i = 0; i < p; i++) {
        const told_t *t = &told[i];
        bool none = t->status != CATENA_OK || split->item[i].left_out;
        if (t->status != told[0].status || (t->least < 0) != none) {
            rank_fail(test, "%s: status %d at rank 0, %d at rank %d, %s", what,
                      (int)told[0].status, (int)t->status, i,
                      t->least < 0 ? "no group" : "a group");
        } else if (!none) {
            size_t at = (size_t)(t->least * p + t->rank);
            if (t->rank >= t->size || t->size > p || taken[at]++ != 0) {
                rank_fail(test, "%s: rank %d is member %d of %d", what, i,
                          (int)t->rank, (int)t->size);
            }
            left[t->least] += t->least == i ? t->size - 1 : -1;
        }
    }
    for (int i = 0; i < p; i++) {
        if (left[i] != 0) {
            rank_fail(test, "%s: %d too few in the group of rank %d", what,
                      (int)left[i], i);
        }
    }
    free(left);
    free(taken);
}

void rank_split_by_liar(rank_test_t *test, const rank_split_t *split,
                        rank_liar_t *liar, bool color, bool key)
{
    size_t p = (size_t)test->place.size;
    char words[160];
    char what[240];
    catena_group_t *group = NULL;
    catena_split_t call = rank_split_call(split, test->place.rank);
    call.color_compare = color ? rank_lie : call.color_compare;
    call.key_compare = key ? rank_lie : call.key_compare;
    call.argument = liar;
    rank_split_describe(split, words, sizeof(words));
    snprintf(what, sizeof(what), "%s %s%s%s", rank_liars[liar->way],
             color ? "of colors, " : "", key ? "of keys, " : "", words);
    catena_request_t *request = NULL;
    catena_status_t status;
    if (split->seed % 2 == 0) {
        status = catena_group_split_by(test->world, &call, &group);
    } else {
        status = catena_group_isplit_by(test->world, &call, &group, &request);
        RANK_CHECK(test, status == CATENA_OK);
        status = catena_wait(&request);
    }
    RANK_CHECK(test, status == CATENA_OK || status == CATENA_ERR_ARG);
    RANK_CHECK(test, group == NULL || status == CATENA_OK);
    told_t *say = calloc(p, sizeof(*say));
    told_t *told = calloc(p, sizeof(*told));
    say[0] = tell_of(test, status, group);
    for (size_t i = 1; i < p; i++) {
        say[i] = say[0];
    }
    RANK_CHECK(test, catena_alltoall(say, told, sizeof(*say), CATENA_BYTE,
                                     test->world) == CATENA_OK);
    expect_fit(test, split, told, what);
    free(say);
    free(told);
    if (group != NULL) {
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}
