#include "rank_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rank_split_describe(const rank_split_t *split, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "%s, colors %d by %d, keys %d by %d, left out %d, flags %u, seed "
             "%llu",
             split->algorithm, (int)split->color, (int)split->color_order,
             (int)split->key, (int)split->key_order, (int)split->left_out,
             split->flags, (unsigned long long)split->seed);
}

/* ---- what has to come of it ---- */

rank_members_t rank_members_world(int ranks)
{
    rank_members_t members = {ranks, calloc((size_t)ranks, sizeof(int))};
    for (int r = 0; r < ranks; r++) {
        members.rank[r] = r;
    }
    return members;
}

void rank_members_free(rank_members_t *members)
{
    free(members->rank);
    *members = (rank_members_t){0};
}

/** Before which of the members so far `next` belongs: the first whose key puts
 * it after. */
static int place_of(const rank_split_t *split, const rank_members_t *made,
                    int next)
{
    int low = 0;
    int high = made->size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (rank_split_after(split, made->rank[middle], next)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

rank_members_t rank_split_expect(const rank_split_t *split,
                                 const rank_members_t *parent, int rank)
{
    rank_members_t made = {0, calloc((size_t)parent->size + 1, sizeof(int))};
    for (int i = 0; i < parent->size; i++) {
        int next = parent->rank[i];
        if (rank_split_together(split, rank, next)) {
            int at = place_of(split, &made, next);
            memmove(&made.rank[at + 1], &made.rank[at],
                    (size_t)(made.size - at) * sizeof(int));
            made.rank[at] = next;
            made.size++;
        }
    }
    return made;
}

int32_t *rank_tell_members(rank_test_t *test, catena_group_t *group,
                           int32_t value)
{
    size_t size = (size_t)catena_group_size(group);
    int32_t *send = calloc(size, sizeof(*send));
    int32_t *receive = calloc(size, sizeof(*receive));
    for (size_t i = 0; i < size; i++) {
        send[i] = value;
        receive[i] = -1;
    }
    RANK_CHECK(test, catena_alltoall(send, receive, 1, CATENA_INT32, group) ==
                         CATENA_OK);
    free(send);
    return receive;
}

void rank_split_check(rank_test_t *test, catena_group_t *group,
                      const rank_members_t *members, const char *what)
{
    int size = catena_group_size(group);
    int rank = catena_group_rank(group);
    if (size != members->size || rank < 0 || rank >= size ||
        members->rank[rank] != test->place.rank) {
        rank_fail(test, "%s: rank %d of %d; expected a size of %d", what, rank,
                  size, members->size);
    }
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    int32_t *heard = rank_tell_members(test, group, test->place.rank);
    for (int i = 0; i < size && i < members->size; i++) {
        if (heard[i] != members->rank[i]) {
            rank_fail(test, "%s: member %d is rank %d; expected rank %d", what,
                      i, (int)heard[i], members->rank[i]);
            break;
        }
    }
    free(heard);
}

catena_group_t *rank_split_run(rank_test_t *test, const rank_split_t *split,
                               catena_group_t *parent,
                               const rank_members_t *members,
                               rank_members_t *made)
{
    char what[160];
    int rank = test->place.rank;
    catena_group_t *group = NULL;
    catena_split_t call = rank_split_call(split, rank);
    rank_members_t expected = rank_split_expect(split, members, rank);
    rank_split_describe(split, what, sizeof(what));
    catena_status_t status = catena_group_split_by(parent, &call, &group);
    if (status != CATENA_OK) {
        rank_fail(test, "%s: %s", what, catena_status_string(status));
    } else if (group == parent || (group == NULL) != (expected.size == 0)) {
        rank_fail(test, "%s: expected %s", what,
                  expected.size == 0 ? "no group" : "a group");
    }
    if (group != NULL) {
        rank_split_check(test, group, &expected, what);
    }
    if (made != NULL) {
        *made = expected;
    } else {
        rank_members_free(&expected);
    }
    return group;
}

void rank_group_free(rank_test_t *test, catena_group_t *group)
{
    if (group != NULL) {
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

void rank_split_world(rank_test_t *test, rank_split_t *split)
{
    rank_members_t world = rank_members_world(test->place.size);
    rank_split_open(split, test->place.size);
    rank_group_free(test,
                    rank_split_run(test, split, test->world, &world, NULL));
    rank_split_close(split);
    rank_members_free(&world);
}

/* ---- without blocking ---- */

void rank_split_start(rank_test_t *test, catena_group_t *group,
                      const rank_members_t *members, rank_flight_t *flight)
{
    rank_split_open(&flight->split, test->place.size);
    flight->expected =
        rank_split_expect(&flight->split, members, test->place.rank);
    flight->made = NULL;
    catena_split_t call = rank_split_call(&flight->split, test->place.rank);
    RANK_CHECK(test, catena_group_isplit_by(group, &call, &flight->made,
                                            &flight->request) == CATENA_OK);
    memset(&call, 0xa5, sizeof(call)); /* it may be released */
}

catena_group_t *rank_split_end(rank_test_t *test, rank_flight_t *flight)
{
    char what[160];
    rank_split_describe(&flight->split, what, sizeof(what));
    if ((flight->made == NULL) != (flight->expected.size == 0)) {
        rank_fail(test, "in flight: %s: expected %s", what,
                  flight->made == NULL ? "a group" : "no group");
    }
    if (flight->made != NULL) {
        rank_split_check(test, flight->made, &flight->expected, what);
    }
    rank_members_free(&flight->expected);
    rank_split_close(&flight->split);
    return flight->made;
}

/* ---- splits of splits ---- */

/** Make `groups` [RANK_DEPTH], each a part of the one before; NULL from where
 * this rank is left out. */
static void make_deep(rank_test_t *test, const char *algorithm,
                      uint64_t *random, size_t most_bytes,
                      catena_group_t **groups, rank_members_t *members)
{
    rank_members_t world = rank_members_world(test->place.size);
    for (int d = 0; d < RANK_DEPTH; d++) {
        rank_split_t split = {.algorithm = algorithm};
        catena_group_t *parent = d == 0 ? test->world : groups[d - 1];
        rank_split_draw(&split, random, most_bytes);
        if (split.color == RANK_COLOR_DIFFERENT ||
            split.left_out > RANK_OUT_ONE) {
            split.left_out = RANK_OUT_ONE;
            split.flags |= CATENA_SPLIT_NO_SPLIT;
        }
        groups[d] = NULL;
        members[d] = (rank_members_t){0};
        if (parent == NULL) {
            continue; /* the draw is the same on all */
        }
        rank_split_open(&split, test->place.size);
        groups[d] =
            rank_split_run(test, &split, parent,
                           d == 0 ? &world : &members[d - 1], &members[d]);
        rank_split_close(&split);
    }
    rank_members_free(&world);
}

/** Parents first, children first, and in between; what is left works on. */
static void free_deep(rank_test_t *test, int order, catena_group_t **groups,
                      rank_members_t *members)
{
    static const int orders[][RANK_DEPTH] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    for (int i = 0; i < RANK_DEPTH; i++) {
        int d = orders[order % 4][i];
        rank_group_free(test, groups[d]);
        groups[d] = NULL;
        for (int e = 0; e < RANK_DEPTH; e++) {
            if (groups[e] != NULL) {
                rank_split_check(test, groups[e], &members[e],
                                 "when another was freed");
            }
        }
        rank_members_free(&members[d]);
    }
}

void rank_split_deep(rank_test_t *test, const char *algorithm, uint64_t *random,
                     size_t most_bytes, int order)
{
    catena_group_t *groups[RANK_DEPTH];
    rank_members_t members[RANK_DEPTH];
    make_deep(test, algorithm, random, most_bytes, groups, members);
    free_deep(test, order, groups, members);
}
