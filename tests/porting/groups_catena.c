/* Groups of listed ranks that only these make, translation of ranks, and the
 * group of one rank. */

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static catena_context_t *context;
static catena_group_t *world;
static int rank, size;

/** Print ranks of `from` as ranks of `to`. */
static void translate(const char *name, catena_group_t *from,
                      catena_group_t *to)
{
    int count = catena_group_size(from);
    int *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    int *translated = calloc((size_t)count + 1, sizeof(*translated));
    for (int i = 0; i < count; i++) {
        ranks[i] = count - 1 - i;
    }
    ranks[count] = CATENA_PROC_NULL;
    check(context, catena_group_translate_ranks(from, (size_t)count + 1, ranks,
                                                to, translated));
    printf("%d: %s:", rank, name);
    for (int i = 0; i <= count; i++) {
        if (translated[i] == CATENA_UNDEFINED) {
            printf(" undefined");
        } else if (translated[i] == CATENA_PROC_NULL) {
            printf(" none");
        } else {
            printf(" %d", translated[i]);
        }
    }
    printf("\n");
    free(ranks);
    free(translated);
}

/** Print the members of a group, in its order. */
static void print_members(const char *name, catena_group_t *comm)
{
    int sum;
    int own = catena_group_rank(comm);
    int count = catena_group_size(comm);
    int *members = calloc((size_t)count, sizeof(*members));
    check(context, catena_allgather(&rank, 1, CATENA_INT32, members, 1,
                                    CATENA_INT32, comm));
    check(context,
          catena_allreduce(&rank, &sum, 1, CATENA_INT32, CATENA_SUM, comm));
    printf("%d: %s: rank %d of %d, sum %d:", rank, name, own, count, sum);
    for (int i = 0; i < count; i++) {
        printf(" %d", members[i]);
    }
    printf("\n");
    free(members);
}

/** Every second rank, from the last one down; the others do not call. */
static void without_others(void)
{
    size_t count = 0;
    int *list = calloc((size_t)size, sizeof(*list));
    catena_group_t *comm;
    for (int i = size - 1; i >= 0; i -= 2) {
        list[count++] = i;
    }
    if ((size - 1 - rank) % 2 == 0) {
        check(context, catena_group_create(world, count, list, &comm));
        print_members("half", comm);
        translate("half in world", comm, world);
        translate("world in half", world, comm);
        translate("half in self", comm, catena_self(context));
        check(context, catena_group_free(&comm));
    }
    free(list);
}

/** Pairs of neighbors: each rank is in two, which it makes in order. */
static void pairs(void)
{
    for (int i = 0; i + 1 < size; i++) {
        const int list[] = {i + 1, i};
        catena_group_t *comm;
        if (rank != i && rank != i + 1) {
            continue;
        }
        check(context, catena_group_create(world, 2, list, &comm));
        print_members("pair", comm);
        check(context, catena_group_free(&comm));
    }
}

/** The first and the last rank of a group that a split made. */
static void of_a_part(void)
{
    const int *members;
    catena_group_t *part, *ends;
    check(context, catena_group_split(world, rank % 3 == 0, -rank, &part));
    int own = catena_group_rank(part);
    int count = catena_group_size(part);
    check(context, catena_group_world_ranks(part, &members));
    translate("part in world", part, world);
    if (own == 0 || own == count - 1) {
        const int list[] = {count - 1, 0};
        check(context,
              catena_group_create(part, count > 1 ? 2 : 1, list, &ends));
        print_members("ends of a part", ends);
        translate("ends in part", ends, part);
        check(context, catena_group_free(&ends));
    }
    check(context, catena_group_free(&part));
}

/** All ranks of the world call; some get no group. */
static void with_others(void)
{
    const int list[] = {size - 1};
    catena_group_t *comm;
    check(context, catena_group_create(world, 1, list, &comm));
    printf("%d: %s\n", rank, comm == NULL ? "not last" : "last");
    if (comm != NULL) {
        print_members("last", comm);
        check(context, catena_group_free(&comm));
    }
}

static void alone(void)
{
    int value = 10 * rank;
    catena_group_t *copy;
    print_members("self", catena_self(context));
    check(context,
          catena_bcast(&value, 1, CATENA_INT32, 0, catena_self(context)));
    check(context, catena_group_dup(catena_self(context), &copy));
    check(context, catena_allreduce(CATENA_IN_PLACE, &value, 1, CATENA_INT32,
                                    CATENA_MAX, copy));
    printf("%d: value %d\n", rank, value);
    translate("self in world", catena_self(context), world);
    translate("world in self", world, catena_self(context));
    check(context, catena_group_free(&copy));
}

int main(void)
{
    check(NULL, catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
    without_others();
    pairs();
    of_a_part();
    with_others();
    alone();
    check(NULL, catena_finalize(&context));
    return 0;
}
