/* Splits by levels of the machine. */

#include <stdlib.h>
#include <string.h>

#include "rank_split.h"
#include "split.h"

/** Processing units that one resource of a level has, as CATENA_TOPOLOGY
 * describes it; all, where it has no such level and no larger one.
 * @param[out] all of the node */
static long units_of(const char *description, catena_level_t level, long *all)
{
    static const char *const names[LEVELS] = {[CATENA_LEVEL_SOCKET] = "pack",
                                              [CATENA_LEVEL_NUMA] = "numa",
                                              [CATENA_LEVEL_L3] = "l3",
                                              [CATENA_LEVEL_CORE] = "core"};
    long units = 0;
    *all = 1;
    for (const char *at = description; (at = strchr(at, ':')) != NULL; at++) {
        *all *= strtol(at + 1, NULL, 10);
    }
    for (int i = level; i > CATENA_LEVEL_NODE && units == 0; i--) {
        const char *at = strstr(description, names[i]);
        if (at == NULL) {
            continue;
        }
        units = 1;
        at = strchr(at, ':') + 1; /* their own number does not count */
        while ((at = strchr(at, ':')) != NULL) {
            units *= strtol(++at, NULL, 10);
        }
    }
    return units > 0 ? units : *all;
}

/** Which resource of a level a rank of this node is bound to. */
static long resource_of(const char *description, catena_level_t level,
                        int local_rank)
{
    long all;
    long units = units_of(description, level, &all);
    return local_rank % all / units;
}

/** The members of this rank's group of a level, the last rank first. */
static rank_members_t expect_level(rank_test_t *test, catena_level_t level,
                                   const char *description,
                                   const int32_t *nodes, const int32_t *locals)
{
    int p = test->place.size;
    rank_members_t made = {0, calloc((size_t)p, sizeof(int))};
    long own = resource_of(description, level, test->place.local_rank);
    for (int i = p; i-- > 0;) {
        if (nodes[i] == test->place.node &&
            resource_of(description, level, locals[i]) == own) {
            made.rank[made.size++] = i;
        }
    }
    return made;
}

/** Members share what the larger level has; a node is what the place says, and
 * so is a domain where `domains` is not NULL. */
static void expect_nested(rank_test_t *test, int32_t *const *group_of,
                          const int32_t *nodes, const int32_t *domains)
{
    int p = test->place.size;
    int own = test->place.rank;
    for (int i = 0; i < p; i++) {
        RANK_CHECK(test, (group_of[CATENA_LEVEL_NODE][i] ==
                          group_of[CATENA_LEVEL_NODE][own]) ==
                             (nodes[i] == test->place.node));
        for (int level = CATENA_LEVEL_SOCKET; level < LEVELS; level++) {
            RANK_CHECK(test,
                       group_of[level][i] != group_of[level][own] ||
                           group_of[level - 1][i] == group_of[level - 1][own]);
        }
        if (domains != NULL && nodes[i] == test->place.node) {
            RANK_CHECK(test, (group_of[CATENA_LEVEL_NUMA][i] ==
                              group_of[CATENA_LEVEL_NUMA][own]) ==
                                 (domains[i] == test->place.numa));
        }
    }
}

/** The first member of a group, which is the last rank of the world in it. */
static int32_t first_member(rank_test_t *test, catena_group_t *group)
{
    int32_t *heard = rank_tell_members(test, group, test->place.rank);
    int32_t first = heard[0];
    for (int i = 1; i < catena_group_size(group); i++) {
        RANK_CHECK(test, heard[i] < heard[i - 1]);
    }
    free(heard);
    return first;
}

void split_levels(rank_test_t *test)
{
    const char *description = getenv("CATENA_TOPOLOGY");
    int32_t *group_of[LEVELS] = {NULL};
    int32_t *nodes = rank_tell_members(test, test->world, test->place.node);
    int32_t *domains = rank_tell_members(test, test->world, test->place.numa);
    int32_t *locals =
        rank_tell_members(test, test->world, test->place.local_rank);
    for (int level = CATENA_LEVEL_NODE; level < LEVELS; level++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_split_level(
                             test->world, (catena_level_t)level,
                             -test->place.rank, &group) == CATENA_OK);
        if (group == NULL) {
            goto end; /* so do all */
        }
        group_of[level] =
            rank_tell_members(test, test->world, first_member(test, group));
        if (description != NULL) {
            rank_members_t expected = expect_level(test, (catena_level_t)level,
                                                   description, nodes, locals);
            rank_split_check(test, group, &expected, "level");
            rank_members_free(&expected);
        }
        rank_group_free(test, group);
    }
    /* A description stands for real machines, not for simulated ones. */
    bool known =
        test->place.numa >= 0 && !(test->simulated && description != NULL);
    expect_nested(test, group_of, nodes, known ? domains : NULL);
end:
    for (int level = 0; level < LEVELS; level++) {
        free(group_of[level]);
    }
    free(nodes);
    free(domains);
    free(locals);
}
