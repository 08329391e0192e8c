/* Collectives on chains, on groups of all sizes, and on groups that are made
 * from neighbors. Every rank computes from a seed what all ranks pass, so the
 * reference combines the values one after the other. The operation composes
 * affine maps, which does not commute; its type has a gap. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/refuse.h"

/** An element of the type: x -> factor x + offset. */
typedef struct affine {
    uint64_t factor, gap, offset;
} affine_t;

enum { GAP = 77, CASES = 4 };
static const size_t counts[CASES] = {1, 0, 3, 4099};

/** What the cases share. */
typedef struct chain_test {
    rank_test_t *test;
    catena_group_t *group;
    int rank, ranks;
    uint64_t seed;
    size_t count;
    catena_type_t type;
    catena_op_t op;
} chain_test_t;

static void compose_one(affine_t *inout, const affine_t *first)
{
    inout->offset += inout->factor * first->offset;
    inout->factor *= first->factor;
}

/** inout = in, then inout (catena_op_function_t). */
static void compose(const void *in, void *inout, size_t count,
                    catena_type_t type, void *argument)
{
    (void)type, (void)argument;
    for (size_t i = 0; i < count; i++) {
        compose_one((affine_t *)inout + i, (const affine_t *)in + i);
    }
}

/** What a rank passes at index i. */
static affine_t value_of(const chain_test_t *of, int rank, size_t i)
{
    uint64_t random = rank_hash(of->seed, (uint64_t)rank, i);
    return (affine_t){random | 1, GAP, random >> 7};
}

/** The value of the ranks from `first` to before `end`. */
static affine_t reduced(const chain_test_t *of, int first, int end, size_t i)
{
    affine_t all = {1, GAP, 0};
    for (int rank = first; rank < end; rank++) {
        affine_t next = value_of(of, rank, i);
        compose_one(&next, &all);
        all = next;
    }
    return all;
}

/** Memory of elements that have not been written. */
static affine_t *blank(size_t count)
{
    affine_t *made = malloc((count + 1) * sizeof(*made));
    for (size_t i = 0; i <= count; i++) {
        made[i] = (affine_t){GAP, GAP, GAP};
    }
    return made;
}

/** A buffer has the value of these ranks, or is as it was if there are none. */
static void expect(const chain_test_t *of, const char *what,
                   const affine_t *found, int first, int end)
{
    const affine_t none = {GAP, GAP, GAP};
    size_t wrong = 0;
    for (size_t i = 0; i < of->count; i++) {
        affine_t expected = first < end ? reduced(of, first, end, i) : none;
        wrong += memcmp(&found[i], &expected, sizeof(expected)) != 0;
    }
    wrong += memcmp(&found[of->count], &none, sizeof(none)) != 0;
    if (wrong > 0) {
        rank_fail(of->test, "%s of %zu elements at rank %d of %d: %zu wrong",
                  what, of->count, of->rank, of->ranks, wrong);
    }
}

static affine_t *own(const chain_test_t *of)
{
    affine_t *made = blank(of->count);
    for (size_t i = 0; i < of->count; i++) {
        made[i] = value_of(of, of->rank, i);
    }
    return made;
}

static void scans(const chain_test_t *of)
{
    affine_t *send = own(of), *left = blank(of->count);
    affine_t *right = blank(of->count);
    RANK_CHECK(of->test,
               catena_chain_double_scan(send, left, right, of->count, of->type,
                                        of->op, of->group) == CATENA_OK);
    expect(of, "left", left, 0, of->rank);
    expect(of, "right", right, of->rank + 1, of->ranks);
    RANK_CHECK(of->test, catena_chain_scan(send, send, of->count, of->type,
                                           of->op, of->group) == CATENA_OK);
    expect(of, "scan", send, 0, of->rank + 1);
    free(send);
    free(left);
    free(right);
}

static void rooted(const chain_test_t *of, int root)
{
    bool is_root = of->rank == root;
    affine_t *send = own(of), *recv = blank(of->count);
    affine_t *all = blank(is_root ? of->count * (size_t)of->ranks : 0);
    RANK_CHECK(of->test,
               catena_chain_reduce(send, recv, of->count, of->type, of->op,
                                   root, of->group) == CATENA_OK);
    expect(of, "reduce", recv, 0, is_root ? of->ranks : 0);
    RANK_CHECK(of->test,
               catena_chain_gather(send, is_root ? all : NULL, of->count,
                                   of->type, root, of->group) == CATENA_OK);
    chain_test_t block = *of;
    affine_t after = all[is_root ? of->count * (size_t)of->ranks : 0];
    for (int rank = 0; is_root && rank < of->ranks; rank++) {
        affine_t *at = &all[(size_t)rank * of->count];
        affine_t next = at[of->count];
        at[of->count] = after; /* `expect` looks behind the block */
        expect(&block, "gather", at, rank, rank + 1);
        at[of->count] = next;
    }
    RANK_CHECK(of->test, catena_chain_bcast(send, of->count, of->type, root,
                                            of->group) == CATENA_OK);
    expect(of, "bcast", send, root, root + 1);
    free(send);
    free(recv);
    free(all);
}

/** All calls on a group, mixed with another operation of it. */
static void all_calls(rank_test_t *test, catena_group_t *group, uint64_t seed)
{
    chain_test_t of = {.test = test,
                       .group = group,
                       .rank = catena_group_rank(group),
                       .ranks = catena_group_size(group)};
    int32_t one = 1, sum = 0;
    RANK_CHECK(test, catena_type_vector(2, 1, 2, CATENA_UINT64, &of.type) ==
                         CATENA_OK);
    RANK_CHECK(test, catena_op_create(compose, NULL, 0, &of.op) == CATENA_OK);
    for (int i = 0; i < CASES; i++) {
        of.count = of.ranks > 40 && counts[i] > 100 ? 50 : counts[i];
        of.seed = seed * CASES + (uint64_t)i;
        catena_request_t *request = NULL;
        RANK_CHECK(test,
                   catena_iallreduce(&one, &sum, 1, CATENA_INT32, CATENA_SUM,
                                     group, &request) == CATENA_OK);
        scans(&of);
        RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
        RANK_CHECK(test, sum == of.ranks);
        rooted(&of, (int)(of.seed % (uint64_t)of.ranks));
        rooted(&of, of.ranks - 1);
    }
    RANK_CHECK(test, catena_type_free(&of.type) == CATENA_OK);
    RANK_CHECK(test, catena_op_free(&of.op) == CATENA_OK);
}

static void groups(rank_test_t *test)
{
    int me = test->place.rank;
    all_calls(test, test->world, 1);
    for (int parts = 2; parts <= 3; parts++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_split(test->world, me % parts, -me,
                                            &group) == CATENA_OK);
        all_calls(test, group, (uint64_t)parts);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
    all_calls(test, catena_self(test->context), 5);
}

/** A dense type, the predefined operations, and one buffer for both. */
static void numbers(rank_test_t *test)
{
    int me = test->place.rank, ranks = test->place.ranks;
    int32_t mine[] = {me, -me, 1}, most[3] = {0}, left[3] = {-1, -1, -1};
    int32_t right[3] = {-1, -1, -1};
    RANK_CHECK(test, catena_chain_scan(mine, mine, 3, CATENA_INT32, CATENA_SUM,
                                       test->world) == CATENA_OK);
    RANK_CHECK(test, mine[0] == me * (me + 1) / 2 && mine[1] == -mine[0] &&
                         mine[2] == me + 1);
    RANK_CHECK(test,
               catena_chain_reduce(mine, most, 3, CATENA_INT32, CATENA_MAX,
                                   ranks / 2, test->world) == CATENA_OK);
    RANK_CHECK(test, me != ranks / 2 || (most[1] == 0 && most[2] == ranks));
    RANK_CHECK(test, catena_chain_double_scan(
                         &(int32_t[]){me, 1, 1}, left, right, 3, CATENA_INT32,
                         CATENA_SUM, test->world) == CATENA_OK);
    RANK_CHECK(test, left[1] == (me > 0 ? me : -1) && left[2] == left[1]);
    RANK_CHECK(test, right[1] == (me + 1 < ranks ? ranks - 1 - me : -1));
}

/* ---- groups from neighbors ---- */

/** The rank of the world at `place` of a chain that takes every `step`-th rank,
 * from `from` down. */
static int member(const rank_test_t *test, int from, int step, int place)
{
    int ranks = test->place.ranks;
    return ((from - place * step) % ranks + ranks * step) % ranks;
}

static void chains(rank_test_t *test)
{
    int ranks = test->place.ranks, me = test->place.rank;
    for (int round = 0; round < 6; round++) {
        int step = 1 + round % 2;
        int from = (round * 5 + ranks - 1) % ranks;
        int size = round == 5 ? 1 : (ranks + step - 1) / step;
        int place = 0;
        catena_group_t *group = NULL;
        while (place < size && member(test, from, step, place) != me) {
            place++;
        }
        if (place == size) {
            continue; /* other ranks make no call */
        }
        int left =
            place > 0 ? member(test, from, step, place - 1) : CATENA_PROC_NULL;
        int right = place + 1 < size ? member(test, from, step, place + 1)
                                     : CATENA_PROC_NULL;
        RANK_CHECK(test, catena_chain_create(test->world, left, right, place,
                                             size, &group) == CATENA_OK);
        RANK_CHECK(test, catena_group_rank(group) == place);
        RANK_CHECK(test, catena_group_size(group) == size);
        all_calls(test, group, (uint64_t)round + 10);
        const int *world;
        RANK_CHECK(test, catena_group_world_ranks(group, &world) == CATENA_OK);
        for (int i = 0; i < size; i++) {
            RANK_CHECK(test, world[i] == member(test, from, step, i));
        }
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
}

static void refused(rank_test_t *test)
{
    int ranks = test->place.ranks, me = test->place.rank;
    int32_t one = 1, two = 2;
    catena_group_t *none = NULL, *world = test->world;
    REFUSED(test, "root is -1; expected 0 to",
            catena_chain_bcast(&one, 1, CATENA_INT32, -1, world));
    REFUSED(test, "root is ",
            catena_chain_gather(&one, &two, 1, CATENA_INT32, ranks, world));
    REFUSED(test, "send is NULL",
            catena_chain_scan(NULL, &two, 1, CATENA_INT32, CATENA_SUM, world));
    REFUSED(test, "right is NULL",
            catena_chain_double_scan(&one, &two, NULL, 1, CATENA_INT32,
                                     CATENA_SUM, world));
    REFUSED(test, "fit the address space",
            catena_chain_reduce(&one, &two, SIZE_MAX / 4, CATENA_INT64,
                                CATENA_SUM, 0, world));
    REFUSED(test, "type is NULL, freed, or no datatype",
            catena_chain_scan(&one, &two, 1, NULL, CATENA_SUM, world));
    REFUSED(test, "operation is NULL, freed, or none",
            catena_chain_scan(&one, &two, 1, CATENA_INT32, NULL, world));
    REFUSED(test, "band",
            catena_chain_scan(&one, &two, 1, CATENA_FLOAT, CATENA_BAND, world));
    REFUSED(test, "left is 0; expected CATENA_PROC_NULL",
            catena_chain_create(world, 0, CATENA_PROC_NULL, 0, 1, &none));
    REFUSED(test, "rank 1 of 1; expected",
            catena_chain_create(world, me, me, 1, 1, &none));
    REFUSED(test, "expected a size from 1",
            catena_chain_create(world, CATENA_PROC_NULL, CATENA_PROC_NULL, 0,
                                ranks + 1, &none));
    RANK_CHECK(test, none == NULL && two == 2);
    numbers(test);
}

static const rank_case_t cases[] = {{"chain: groups", groups},
                                    {"chain: numbers", numbers},
                                    {"chain: from neighbors", chains},
                                    {"chain: refused", refused},
                                    {NULL, NULL}};

const rank_suite_t rank_suite_chain = {.name = "chain", .cases = cases};
