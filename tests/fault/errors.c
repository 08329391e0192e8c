/* A job that fails in the way that the argument names, on any number of ranks
 * from 2 on. Ranks leave late, as in a job that goes on.
 * usage: errors KIND */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/catena.h>

static catena_context_t *context;
static catena_group_t *world;
static int rank;
static double send[1 << 16], receive[1 << 16];

static void nothing(void)
{
}

/** All ranks name a root that does not exist, twice. */
static void root(void)
{
    for (int i = 0; i < 2; i++) {
        catena_bcast(send, 1, CATENA_DOUBLE, -1, world);
    }
}

/** Rank 1 alone does. */
static void root_of_one(void)
{
    if (rank == 1) {
        catena_bcast(send, 1, CATENA_DOUBLE, -1, world);
    }
}

/** Where a call fails, each rank knows why. */
static void expect_reason(catena_status_t status)
{
    if (status != CATENA_OK && catena_last_error()[0] == '\0') {
        fprintf(stderr, "[catena] rank %d has no last error\n", rank);
    }
}

static void barrier(void)
{
    expect_reason(catena_barrier(world));
}

/** Rank 1 gives another length. All ranks use one algorithm, so each of them
 * finds that, whatever the limits of rules are. */
static void length(void)
{
    catena_group_set(world, "allreduce_algorithm", "shared");
    catena_allreduce(send, receive, rank == 1 ? 1 << 16 : 1, CATENA_DOUBLE,
                     CATENA_SUM, world);
}

/** The same, but some ranks only learn that another one has ended the job. */
static void length_found_late(void)
{
    catena_group_set(world, "allreduce_algorithm", "last");
    expect_reason(catena_allreduce(send, receive, rank == 1 ? 512 : 1,
                                   CATENA_DOUBLE, CATENA_SUM, world));
}

/** Rank 1 gives an element more. */
static void length_by_one(void)
{
    catena_allreduce(send, receive, rank == 1 ? 2 : 1, CATENA_DOUBLE,
                     CATENA_SUM, world);
}

/** All ranks ask for more memory than there is. */
static void memory(void)
{
    (void)catena_malloc(context, (size_t)1 << 50);
}

/** All ranks keep a group. */
static void keep(void)
{
    catena_group_t *group;
    catena_group_dup(world, &group);
}

static void killed(void)
{
    if (rank == 1) {
        (void)raise(SIGKILL);
    }
    catena_barrier(world);
}

static void exits(void)
{
    if (rank == 1) {
        exit(3);
    }
    catena_barrier(world);
}

static void aborts(void)
{
    if (rank == 1) {
        catena_abort(context, 3);
    }
    catena_barrier(world);
}

/** Rank 1 forgets catena_finalize. */
static void leaves(void)
{
    if (rank == 1) {
        exit(0);
    }
    catena_barrier(world);
}

/** Rank 1 does not call. */
static void hang(void)
{
    if (rank == 1) {
        pause();
    }
    catena_barrier(world);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {{"nothing", nothing},
             {"root", root},
             {"root_of_one", root_of_one},
             {"barrier", barrier},
             {"length", length},
             {"length_found_late", length_found_late},
             {"length_by_one", length_by_one},
             {"memory", memory},
             {"keep", keep},
             {"killed", killed},
             {"exits", exits},
             {"aborts", aborts},
             {"leaves", leaves},
             {"hang", hang}};

int main(int argc, char **argv)
{
    catena_status_t status = catena_init(NULL, &context);
    if (status != CATENA_OK) {
        catena_abort(context, -(int)status); /* which adds no message */
    }
    world = catena_world(context);
    rank = catena_group_rank(world);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            return catena_finalize(&context) == CATENA_OK ? 0 : 1;
        }
    }
    return 2;
}
