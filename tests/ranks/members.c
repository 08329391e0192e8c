/* World ranks, translation of ranks, groups of listed ranks, and the group of
 * one rank. */

#include <stdlib.h>

#include "ranks/helpers/rank_test.h"
#include "ranks/helpers/refuse.h"

enum { GROUPS = 4, ROUNDS = 12 };

/** A group and what is expected of it: the world rank of each member. */
typedef struct members {
    catena_group_t *group;
    int size;
    int *world;
} members_t;

/** The world, this rank alone, ranks of this one's parity from the last one
 * down, and all from the last one down. */
static void open_groups(rank_test_t *test, members_t members[GROUPS])
{
    int p = test->place.ranks;
    int own = test->place.rank;
    members[0].group = test->world;
    members[1].group = catena_self(test->context);
    RANK_CHECK(test, catena_group_split(test->world, own % 2, -own,
                                        &members[2].group) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(test->world, 0, -own,
                                        &members[3].group) == CATENA_OK);
    for (int g = 0; g < GROUPS; g++) {
        members[g].size = 0;
        members[g].world = calloc((size_t)p, sizeof(int));
        for (int i = 0; i < p; i++) {
            int rank = g < 2 ? i : p - 1 - i;
            if ((g != 1 || rank == own) && (g != 2 || rank % 2 == own % 2)) {
                members[g].world[members[g].size++] = rank;
            }
        }
    }
}

static void close_groups(rank_test_t *test, members_t members[GROUPS])
{
    for (int g = 0; g < GROUPS; g++) {
        free(members[g].world);
        RANK_CHECK(test,
                   g < 2 || catena_group_free(&members[g].group) == CATENA_OK);
    }
}

static int naive_rank(const members_t *members, int world)
{
    for (int i = 0; i < members->size; i++) {
        if (members->world[i] == world) {
            return i;
        }
    }
    return CATENA_UNDEFINED;
}

/** Translate all ranks and CATENA_PROC_NULL, in place. */
static void check_translation(rank_test_t *test, const members_t *from,
                              const members_t *to)
{
    size_t count = (size_t)from->size + 1;
    int *ranks = calloc(count, sizeof(int));
    for (int i = 0; i < from->size; i++) {
        ranks[i] = from->size - 1 - i;
    }
    ranks[from->size] = CATENA_PROC_NULL;
    RANK_CHECK(test,
               catena_group_translate_ranks(from->group, count, ranks,
                                            to->group, ranks) == CATENA_OK);
    for (int i = 0; i < from->size; i++) {
        RANK_CHECK(test,
                   ranks[i] == naive_rank(to, from->world[from->size - 1 - i]));
    }
    RANK_CHECK(test, ranks[from->size] == CATENA_PROC_NULL);
    free(ranks);
}

static void world_ranks(rank_test_t *test)
{
    members_t members[GROUPS];
    open_groups(test, members);
    for (int g = 0; g < GROUPS; g++) {
        for (int turn = 0; turn < 2; turn++) { /* fetched, then known */
            const int *ranks = NULL;
            RANK_CHECK(test, catena_group_world_ranks(members[g].group,
                                                      &ranks) == CATENA_OK);
            RANK_CHECK(test,
                       catena_group_size(members[g].group) == members[g].size);
            for (int i = 0; i < members[g].size; i++) {
                RANK_CHECK(test, ranks[i] == members[g].world[i]);
            }
        }
    }
    for (int i = 0; i < GROUPS * GROUPS; i++) {
        check_translation(test, &members[i / GROUPS], &members[i % GROUPS]);
    }
    close_groups(test, members);
}

/* ---- groups of listed ranks ---- */

/** Draw a list of ranks in any order, the same on all ranks: often all of them,
 * or two. */
static size_t draw_list(uint64_t *random, int size, int *list)
{
    size_t sort = ctn_random_below(random, 3);
    size_t count = sort == 0   ? (size_t)size
                   : sort == 1 ? 2
                               : ctn_random_below(random, (size_t)size) + 1;
    count = count < (size_t)size ? count : (size_t)size;
    for (int i = 0; i < size; i++) {
        size_t at = ctn_random_below(random, (size_t)i + 1);
        list[i] = list[at];
        list[at] = i;
    }
    return count;
}

static void check_listed(rank_test_t *test, catena_group_t *group,
                         const int *list, size_t count, const int *world)
{
    const int *ranks = NULL;
    int own = catena_group_rank(group);
    RANK_CHECK(test, catena_group_size(group) == (int)count);
    RANK_CHECK(test, own >= 0 && world[list[own]] == test->place.rank);
    RANK_CHECK(test, catena_group_world_ranks(group, &ranks) == CATENA_OK);
    for (size_t i = 0; i < count; i++) {
        RANK_CHECK(test, ranks[i] == world[list[i]]);
    }
    rank_exchange(test, group, 20, 2);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** Groups one after the other, without anything that keeps the ranks in step:
 * ranks that are not listed are at later ones. */
static void listed_of(rank_test_t *test, const members_t *parent, uint64_t seed)
{
    uint64_t random = rank_seed(seed);
    uint64_t own = oracle_hash(random, (uint64_t)test->place.rank, 1);
    int *list = calloc((size_t)parent->size, sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = draw_list(&random, parent->size, list);
        int rank = catena_group_rank(parent->group);
        bool listed = false;
        for (size_t i = 0; i < count; i++) {
            listed = listed || list[i] == rank;
        }
        if (!listed && ctn_random_below(&own, 2) == 0) {
            continue; /* the call is optional */
        }
        catena_group_t *group = test->world;
        RANK_CHECK(test, catena_group_create(parent->group, count, list,
                                             &group) == CATENA_OK);
        RANK_CHECK(test, (group != NULL) == listed);
        if (listed) {
            check_listed(test, group, list, count, parent->world);
        }
    }
    free(list);
}

static void listed(rank_test_t *test)
{
    members_t members[GROUPS];
    open_groups(test, members);
    for (int g = 0; g < GROUPS; g++) {
        const int *ranks;
        RANK_CHECK(test, catena_group_world_ranks(members[g].group, &ranks) ==
                             CATENA_OK);
        /* Groups of each parity are made at the same time. */
        listed_of(test, &members[g], 70 + (uint64_t)g);
    }
    close_groups(test, members);
}

/** All ranks in pairs with rank 0, which reaches them one by one. */
static void listed_pairs(rank_test_t *test)
{
    int own = test->place.rank;
    for (int i = test->place.ranks - 1; i > 0; i--) {
        const int pair[] = {i, 0};
        catena_group_t *group = NULL;
        if (own == 0 || own == i) {
            RANK_CHECK(test, catena_group_create(test->world, 2, pair,
                                                 &group) == CATENA_OK);
            RANK_CHECK(test, catena_group_rank(group) == (own == 0));
            RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
            RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
        }
    }
}

static void refused(rank_test_t *test)
{
    const int twice[] = {0, 0};
    const int beyond[] = {0, test->place.ranks};
    int out[2] = {7, 7};
    catena_group_t *group = NULL;
    catena_group_t *made = test->world;
    REFUSED(test, "again", catena_group_create(test->world, 2, twice, &made));
    REFUSED(test, "expected ranks of the parent",
            catena_group_create(test->world, 2, beyond, &made));
    RANK_CHECK(test,
               catena_group_create(test->world, 0, NULL, &made) == CATENA_OK);
    RANK_CHECK(test, made == NULL);
    REFUSED(
        test, "expected 0 to",
        catena_group_translate_ranks(test->world, 2, beyond, test->world, out));
    RANK_CHECK(test, out[0] == 7);
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    /* Where failures are returned each group knows its members. */
    if (test->place.ranks > 1 &&
        catena_group_translate_ranks(group, 1, twice, group, out) !=
            CATENA_OK) {
        FAILS(test, CATENA_ERR_STATE, "catena_group_world_ranks",
              catena_group_create(group, 1, twice, &made));
        FAILS(test, CATENA_ERR_STATE, "catena_group_world_ranks",
              catena_group_translate_ranks(test->world, 1, twice, group, out));
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A rank that is refused alone, and calls again: the other one waits. */
static void refused_alone(rank_test_t *test)
{
    const int pair[] = {1, 0};
    const int beyond[] = {1, test->place.ranks};
    int own = test->place.rank;
    catena_group_t *group = NULL;
    if (test->place.ranks == 1 || own > 1) {
        return;
    }
    if (own == 0) {
        REFUSED(test, "expected ranks of the parent",
                catena_group_create(test->world, 2, beyond, &group));
    }
    RANK_CHECK(test,
               catena_group_create(test->world, 2, pair, &group) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/* ---- the group of one rank ---- */

static void self(rank_test_t *test)
{
    catena_group_t *alone = catena_self(test->context);
    catena_group_t *copy = NULL;
    catena_request_t *request = NULL;
    int32_t value = test->place.rank;
    int32_t sum = -1;
    RANK_CHECK(test, alone != NULL && alone == catena_self(test->context));
    RANK_CHECK(test, catena_group_size(alone) == 1);
    RANK_CHECK(test, catena_group_rank(alone) == 0);
    RANK_CHECK(test, catena_group_free(&alone) == CATENA_ERR_ARG);
    rank_exchange(test, alone, 100, 9);
    for (int i = 0; i < 9; i++) {
        RANK_CHECK(test, catena_allreduce(&value, &sum, 1, CATENA_INT32,
                                          CATENA_SUM, alone) == CATENA_OK);
        RANK_CHECK(test, sum == value);
        RANK_CHECK(test, catena_barrier(alone) == CATENA_OK);
    }
    RANK_CHECK(test, catena_barrier_init(alone, &request) == CATENA_OK);
    RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
    RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
    RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(alone, &copy) == CATENA_OK);
    rank_exchange(test, copy, 8, 2);
    RANK_CHECK(test, catena_group_free(&copy) == CATENA_OK);
}

static const rank_case_t cases[] = {{"world_ranks", world_ranks},
                                    {"listed", listed},
                                    {"listed_pairs", listed_pairs},
                                    {"refused", refused},
                                    {"refused_alone", refused_alone},
                                    {"self", self},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_members = {.name = "members", .cases = cases};
