/* Splits and the checks of their results; see split.h. */

#include "oracle/split/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"

static int world_rank(const oracle_t *oracle)
{
    return catena_group_rank(catena_world(oracle->context));
}

static int world_size(const oracle_t *oracle)
{
    return catena_group_size(catena_world(oracle->context));
}

/* ---- groups ---- */

oracle_members_t oracle_members_world(int ranks)
{
    oracle_members_t members = {ranks,
                                oracle_zeros((size_t)ranks, sizeof(int))};
    for (int r = 0; r < ranks; r++) {
        members.rank[r] = r;
    }
    return members;
}

void oracle_members_free(oracle_members_t *members)
{
    free(members->rank);
    *members = (oracle_members_t){0};
}

int32_t *oracle_gather_value(const oracle_t *oracle, catena_group_t *group,
                             int32_t value)
{
    size_t size = (size_t)catena_group_size(group);
    int32_t *send = oracle_zeros(size, sizeof(*send));
    int32_t *receive = oracle_zeros(size, sizeof(*receive));
    for (size_t i = 0; i < size; i++) {
        send[i] = value;
        receive[i] = -1;
    }
    ORACLE_CHECK(oracle, catena_alltoall(send, 1, CATENA_INT32, receive, 1,
                                         CATENA_INT32, group) == CATENA_OK);
    free(send);
    return receive;
}

void oracle_group_check(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members, const char *what)
{
    int size = catena_group_size(group);
    int rank = catena_group_rank(group);
    if (size != members->size || rank < 0 || rank >= size ||
        members->rank[rank] != world_rank(oracle)) {
        oracle_fail(oracle, "%s: rank %d of %d; expected a size of %d", what,
                    rank, size, members->size);
    }
    ORACLE_CHECK(oracle, catena_barrier(group) == CATENA_OK);
    int32_t *heard = oracle_gather_value(oracle, group, world_rank(oracle));
    for (int i = 0; i < size && i < members->size; i++) {
        if (heard[i] != members->rank[i]) {
            oracle_fail(oracle, "%s: member %d is rank %d; expected rank %d",
                        what, i, (int)heard[i], members->rank[i]);
            break;
        }
    }
    free(heard);
}

void oracle_group_free(const oracle_t *oracle, catena_group_t *group)
{
    ORACLE_CHECK(oracle, catena_group_free(&group) == CATENA_OK);
}

/* ---- splits ---- */

static catena_status_t split_by(catena_group_t *parent, catena_split_t call,
                                bool blocking, catena_group_t **group)
{
    catena_request_t *request = NULL;
    if (blocking) {
        return catena_group_split_by(parent, &call, group);
    }
    catena_status_t status =
        catena_group_isplit_by(parent, &call, group, &request);
    return status == CATENA_OK ? catena_request_wait(&request) : status;
}

catena_group_t *oracle_split_run(const oracle_t *oracle,
                                 const oracle_split_t *split,
                                 catena_group_t *parent,
                                 const oracle_members_t *members,
                                 oracle_members_t *made)
{
    char what[200];
    int rank = world_rank(oracle);
    catena_group_t *group = NULL;
    oracle_members_t expected = oracle_split_expect(split, members, rank);
    catena_status_t status = split_by(parent, oracle_split_call(split, rank),
                                      split->seed % 3 > 0, &group);
    oracle_split_describe(split, what, sizeof(what));
    if (status != CATENA_OK) {
        oracle_fail(oracle, "%s: %s", what, catena_status_string(status));
    } else if (group == parent || (group == NULL) != (expected.size == 0)) {
        oracle_fail(oracle, "%s: expected %s", what,
                    expected.size == 0 ? "no group" : "a group");
    }
    if (group != NULL) {
        oracle_group_check(oracle, group, &expected, what);
    }
    if (made != NULL) {
        *made = expected;
    } else {
        oracle_members_free(&expected);
    }
    return group;
}

void oracle_split_world(const oracle_t *oracle, oracle_split_t *split)
{
    oracle_members_t world = oracle_members_world(world_size(oracle));
    oracle_split_open(split, world.size);
    oracle_group_free(oracle, oracle_split_run(oracle, split,
                                               catena_world(oracle->context),
                                               &world, NULL));
    oracle_split_close(split);
    oracle_members_free(&world);
}

void oracle_split_start(const oracle_t *oracle, catena_group_t *group,
                        const oracle_members_t *members,
                        oracle_flight_t *flight)
{
    int rank = world_rank(oracle);
    oracle_split_open(&flight->split, world_size(oracle));
    flight->expected = oracle_split_expect(&flight->split, members, rank);
    flight->made = NULL;
    catena_split_t call = oracle_split_call(&flight->split, rank);
    ORACLE_CHECK(oracle, catena_group_isplit_by(group, &call, &flight->made,
                                                &flight->request) == CATENA_OK);
    memset(&call, 0xa5, sizeof(call)); /* the caller may release it */
}

void oracle_split_end(const oracle_t *oracle, oracle_flight_t *flight)
{
    char what[200];
    oracle_split_describe(&flight->split, what, sizeof(what));
    if ((flight->made == NULL) != (flight->expected.size == 0)) {
        oracle_fail(oracle, "in flight: %s: expected %s", what,
                    flight->made == NULL ? "a group" : "no group");
    }
    if (flight->made != NULL) {
        oracle_group_check(oracle, flight->made, &flight->expected, what);
    }
    oracle_members_free(&flight->expected);
    oracle_split_close(&flight->split);
    oracle_group_free(oracle, flight->made);
}

/* ---- splits of splits ---- */

/** Make `groups`, each a part of the one before; NULL from the first group that
 * does not contain this rank. */
static void make_deep(const oracle_t *oracle, const char *algorithm,
                      uint64_t *random, size_t most_bytes,
                      catena_group_t **groups, oracle_members_t *members)
{
    oracle_members_t world = oracle_members_world(world_size(oracle));
    for (int d = 0; d < ORACLE_DEPTH; d++) {
        oracle_split_t split = {.algorithm = algorithm};
        catena_group_t *parent =
            d == 0 ? catena_world(oracle->context) : groups[d - 1];
        oracle_split_draw(&split, random, most_bytes);
        if (split.color == ORACLE_COLOR_DIFFERENT ||
            split.left_out > ORACLE_OUT_ONE) {
            split.left_out = ORACLE_OUT_ONE;
            split.flags |= CATENA_SPLIT_NO_SPLIT;
        }
        groups[d] = NULL;
        members[d] = (oracle_members_t){0};
        if (parent == NULL) {
            continue; /* all ranks draw the same */
        }
        oracle_split_open(&split, world.size);
        groups[d] =
            oracle_split_run(oracle, &split, parent,
                             d == 0 ? &world : &members[d - 1], &members[d]);
        oracle_split_close(&split);
    }
    oracle_members_free(&world);
}

void oracle_split_deep(const oracle_t *oracle, const char *algorithm,
                       uint64_t *random, size_t most_bytes, int order)
{
    static const int orders[][ORACLE_DEPTH] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    catena_group_t *groups[ORACLE_DEPTH];
    oracle_members_t members[ORACLE_DEPTH];
    make_deep(oracle, algorithm, random, most_bytes, groups, members);
    for (int i = 0; i < ORACLE_DEPTH; i++) {
        int d = orders[order % 4][i];
        oracle_group_free(oracle, groups[d]);
        groups[d] = NULL;
        for (int e = 0; e < ORACLE_DEPTH; e++) {
            if (groups[e] != NULL) {
                oracle_group_check(oracle, groups[e], &members[e],
                                   "when another was freed");
            }
        }
        oracle_members_free(&members[d]);
    }
}

/* ---- inconsistent comparators ---- */

const char *const oracle_liars[ORACLE_LIARS] = {
    "at random", "in a circle", "always above", "not the same on all ranks",
    "above or below, never equal"};

static uint64_t digest(const unsigned char *data, size_t bytes)
{
    uint64_t state = bytes;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 131 + data[i];
    }
    return ctn_random(&state);
}

int oracle_lie(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
               void *argument)
{
    oracle_liar_t *liar = argument;
    size_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
    int honest = both > 0 ? memcmp(a, b, both) : 0;
    uint64_t x = digest(a, a_bytes);
    uint64_t y = digest(b, b_bytes);
    switch (liar->way) {
    case 0:
        return (int)ctn_random_below(&liar->random, 3) - 1;
    case 1: /* rock, paper, scissors */
        return ((int)(x % 3) - (int)(y % 3) + 4) % 3 - 1;
    case 2:
        return 1;
    case 3:
        honest =
            honest != 0 ? honest : (a_bytes > b_bytes) - (a_bytes < b_bytes);
        return liar->turned ? -honest : honest;
    default:
        return x < y ? -1 : 1;
    }
}

/** A rank's record of its new group, for the world. */
typedef struct result {
    int64_t status;
    int64_t least; /* its smallest world rank; -1: none */
    int64_t rank;
    int64_t size;
} split_result_t;

static split_result_t result_of(const oracle_t *oracle, catena_status_t status,
                                catena_group_t *group)
{
    split_result_t result = {status, -1, 0, 0};
    if (group == NULL) {
        return result;
    }
    result.rank = catena_group_rank(group);
    result.size = catena_group_size(group);
    ORACLE_CHECK(oracle, catena_barrier(group) == CATENA_OK);
    int32_t *heard = oracle_gather_value(oracle, group, world_rank(oracle));
    result.least = heard[0];
    for (int64_t i = 1; i < result.size; i++) {
        result.least = heard[i] < result.least ? heard[i] : result.least;
    }
    ORACLE_CHECK(oracle, heard[result.rank] == world_rank(oracle));
    free(heard);
    return result;
}

/** All ranks have the same status, and each group has exactly one member for
 * each of its ranks. */
static void expect_fit(const oracle_t *oracle, const oracle_split_t *split,
                       const split_result_t *result, const char *what)
{
    int p = split->ranks;
    unsigned char *taken = oracle_zeros((size_t)p * (size_t)p, 1);
    int64_t *left = oracle_zeros((size_t)p, sizeof(*left));
    for (int i = 0; i < p; i++) {
        const split_result_t *t = &result[i];
        bool none = t->status != CATENA_OK || split->item[i].left_out;
        if (t->status != result[0].status || (t->least < 0) != none) {
            oracle_fail(oracle, "%s: status %d at rank 0, %d at rank %d, %s",
                        what, (int)result[0].status, (int)t->status, i,
                        t->least < 0 ? "no group" : "a group");
        } else if (!none) {
            size_t at = (size_t)(t->least * p + t->rank);
            if (t->rank >= t->size || t->size > p || taken[at]++ != 0) {
                oracle_fail(oracle, "%s: rank %d is member %d of %d", what, i,
                            (int)t->rank, (int)t->size);
            }
            left[t->least] += t->least == i ? t->size - 1 : -1;
        }
    }
    for (int i = 0; i < p; i++) {
        if (left[i] != 0) {
            oracle_fail(oracle, "%s: %d too few in the group of rank %d", what,
                        (int)left[i], i);
        }
    }
    free(left);
    free(taken);
}

void oracle_split_lie(const oracle_t *oracle, const oracle_split_t *split,
                      int way, bool color, bool key)
{
    size_t p = (size_t)world_size(oracle);
    uint64_t rank = (uint64_t)world_rank(oracle);
    catena_group_t *world = catena_world(oracle->context);
    oracle_liar_t liar = {
        .way = way, .random = rank, .turned = (split->seed + rank) % 3 == 0};
    char words[200];
    char what[300];
    catena_group_t *group = NULL;
    catena_split_t call = oracle_split_call(split, (int)rank);
    call.color_compare = color ? oracle_lie : call.color_compare;
    call.key_compare = key ? oracle_lie : call.key_compare;
    call.argument = &liar;
    oracle_split_describe(split, words, sizeof(words));
    snprintf(what, sizeof(what), "%s %s%s%s", oracle_liars[way],
             color ? "of colors, " : "", key ? "of keys, " : "", words);
    catena_status_t status =
        split_by(world, call, split->seed % 2 == 0, &group);
    ORACLE_CHECK(oracle, status == CATENA_OK || status == CATENA_ERR_ARG);
    ORACLE_CHECK(oracle, group == NULL || status == CATENA_OK);
    split_result_t *say = oracle_zeros(p, sizeof(*say));
    split_result_t *result = oracle_zeros(p, sizeof(*result));
    say[0] = result_of(oracle, status, group);
    for (size_t i = 1; i < p; i++) {
        say[i] = say[0];
    }
    ORACLE_CHECK(oracle, catena_alltoall(say, sizeof(*say), CATENA_BYTE, result,
                                         sizeof(*say), CATENA_BYTE,
                                         world) == CATENA_OK);
    expect_fit(oracle, split, result, what);
    free(say);
    free(result);
    oracle_group_free(oracle, group);
}
