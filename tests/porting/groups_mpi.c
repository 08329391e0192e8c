/* Groups of listed ranks that only these make, translation of ranks, and the
 * group of one rank. */

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

static int rank, size;

/** Print ranks of `from` as ranks of `to`. */
static void translate(const char *name, MPI_Comm from, MPI_Comm to)
{
    int count;
    MPI_Group group_from, group_to;
    MPI_Comm_group(from, &group_from);
    MPI_Comm_group(to, &group_to);
    MPI_Comm_size(from, &count);
    int *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    int *translated = calloc((size_t)count + 1, sizeof(*translated));
    for (int i = 0; i < count; i++) {
        ranks[i] = count - 1 - i;
    }
    ranks[count] = MPI_PROC_NULL;
    MPI_Group_translate_ranks(group_from, count + 1, ranks, group_to,
                              translated);
    printf("%d: %s:", rank, name);
    for (int i = 0; i <= count; i++) {
        if (translated[i] == MPI_UNDEFINED) {
            printf(" undefined");
        } else if (translated[i] == MPI_PROC_NULL) {
            printf(" none");
        } else {
            printf(" %d", translated[i]);
        }
    }
    printf("\n");
    free(ranks);
    free(translated);
    MPI_Group_free(&group_from);
    MPI_Group_free(&group_to);
}

/** Print the members of a group, in its order. */
static void print_members(const char *name, MPI_Comm comm)
{
    int own, count, sum;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    int *members = calloc((size_t)count, sizeof(*members));
    MPI_Allgather(&rank, 1, MPI_INT, members, 1, MPI_INT, comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
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
    int count = 0;
    int *list = calloc((size_t)size, sizeof(*list));
    MPI_Group world, half;
    MPI_Comm comm;
    for (int i = size - 1; i >= 0; i -= 2) {
        list[count++] = i;
    }
    if ((size - 1 - rank) % 2 == 0) {
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, count, list, &half);
        MPI_Comm_create_group(MPI_COMM_WORLD, half, 0, &comm);
        print_members("half", comm);
        translate("half in world", comm, MPI_COMM_WORLD);
        translate("world in half", MPI_COMM_WORLD, comm);
        translate("half in self", comm, MPI_COMM_SELF);
        MPI_Comm_free(&comm);
        MPI_Group_free(&world);
        MPI_Group_free(&half);
    }
    free(list);
}

/** Pairs of neighbors: each rank is in two, which it makes in order. */
static void pairs(void)
{
    for (int i = 0; i + 1 < size; i++) {
        const int list[] = {i + 1, i};
        MPI_Group world, pair;
        MPI_Comm comm;
        if (rank != i && rank != i + 1) {
            continue;
        }
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 2, list, &pair);
        MPI_Comm_create_group(MPI_COMM_WORLD, pair, 0, &comm);
        print_members("pair", comm);
        MPI_Comm_free(&comm);
        MPI_Group_free(&world);
        MPI_Group_free(&pair);
    }
}

/** The first and the last rank of a group that a split made. */
static void of_a_part(void)
{
    int own, count;
    MPI_Comm part, ends;
    MPI_Group members, listed;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0, -rank, &part);
    MPI_Comm_rank(part, &own);
    MPI_Comm_size(part, &count);
    MPI_Comm_group(part, &members);
    translate("part in world", part, MPI_COMM_WORLD);
    if (own == 0 || own == count - 1) {
        const int list[] = {count - 1, 0};
        MPI_Group_incl(members, count > 1 ? 2 : 1, list, &listed);
        MPI_Comm_create_group(part, listed, 0, &ends);
        print_members("ends of a part", ends);
        translate("ends in part", ends, part);
        MPI_Comm_free(&ends);
        MPI_Group_free(&listed);
    }
    MPI_Group_free(&members);
    MPI_Comm_free(&part);
}

/** All ranks of the world call; some get no group. */
static void with_others(void)
{
    const int list[] = {size - 1};
    MPI_Group world, last;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, list, &last);
    MPI_Comm_create(MPI_COMM_WORLD, last, &comm);
    printf("%d: %s\n", rank, comm == MPI_COMM_NULL ? "not last" : "last");
    if (comm != MPI_COMM_NULL) {
        print_members("last", comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&last);
}

static void alone(void)
{
    int value = 10 * rank;
    MPI_Comm copy;
    print_members("self", MPI_COMM_SELF);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, copy);
    printf("%d: value %d\n", rank, value);
    translate("self in world", MPI_COMM_SELF, MPI_COMM_WORLD);
    translate("world in self", MPI_COMM_WORLD, MPI_COMM_SELF);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    without_others();
    pairs();
    of_a_part();
    with_others();
    alone();
    MPI_Finalize();
    return 0;
}
