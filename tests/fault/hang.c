/* A job that hangs in the way that the argument names, on any number of ranks
 * from 4 on. Rank 0 prints its process, and all ranks that they are there.
 * usage: hang KIND */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <catena/catena.h>

enum { LONG = 1 << 16 };

static catena_context_t *context;
static catena_group_t *world;
static int rank;
static char send[8 * LONG], receive[8 * LONG];

static void forever(void)
{
    for (;;) {
        pause();
    }
}

static void allreduce(size_t count)
{
    catena_allreduce(send, receive, count, CATENA_DOUBLE, CATENA_SUM, world);
}

/** Rank 1 never calls. */
static void never(void)
{
    if (rank == 1) {
        forever();
    }
    allreduce(1);
}

/** Rank 1's call is refused for its root. */
static void refused(void)
{
    catena_bcast(send, 1, CATENA_DOUBLE, rank == 1 ? -1 : 0, world);
    catena_barrier(world);
}

static void barrier_allreduce(void)
{
    if (rank == 1) {
        catena_barrier(world);
    } else {
        allreduce(1);
    }
}

static void roots(void)
{
    catena_gather(send, LONG, CATENA_BYTE, receive, LONG, CATENA_BYTE,
                  rank == 1, world);
    catena_reduce(send, receive, 1, CATENA_DOUBLE, CATENA_SUM, rank == 1,
                  world);
    catena_barrier(world);
    forever();
}

static void stopped(void)
{
    if (rank == 1) {
        (void)raise(SIGSTOP);
    }
    catena_barrier(world);
}

static void split_barrier(void)
{
    catena_group_t *group;
    if (rank == 1) {
        catena_barrier(world);
    } else {
        catena_group_split(world, 0, 0, &group);
    }
}

static void two_groups(void)
{
    catena_group_t *half, *all;
    catena_group_dup(world, &all);
    catena_group_split(world, rank / 2, 0, &half);
    catena_barrier(rank == 1 ? all : half);
    catena_barrier(rank == 1 ? half : all);
}

/** Rank 1 does not take part in the exchange with its neighbors in a ring. */
static void neighbors(void)
{
    catena_neighborhood_t *ring;
    int dims[1] = {catena_group_size(world)};
    int periodic[1] = {1};
    catena_cart_create(world, 1, dims, periodic, 0, NULL, &ring);
    if (rank == 1) {
        forever();
    }
    catena_neighbor_alltoall(send, 1, CATENA_DOUBLE, receive, 1, CATENA_DOUBLE,
                             ring);
}

static void finalize(void)
{
    if (rank == 1) {
        catena_finalize(&context);
    } else {
        catena_barrier(world);
    }
}

/** Rank 1 comes late to a nonblocking call. */
static void late(void)
{
    catena_request_t *request;
    if (rank == 1) {
        sleep(100);
    }
    catena_iallreduce(send, receive, 1, CATENA_DOUBLE, CATENA_SUM, world,
                      &request);
    catena_request_wait(&request);
}

/** Rank 1 gives another length. The ranks that detect it go on. */
static void lengths(void)
{
    allreduce(rank == 1 ? LONG : 1);
    catena_barrier(world);
    forever();
}

static void loop(void)
{
    for (volatile unsigned i = 0; rank == 1; i++) {
    }
    catena_bcast(send, 1, CATENA_DOUBLE, 0, world);
    catena_barrier(world);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {{"never", never},
             {"refused", refused},
             {"barrier_allreduce", barrier_allreduce},
             {"roots", roots},
             {"stopped", stopped},
             {"split_barrier", split_barrier},
             {"two_groups", two_groups},
             {"neighbors", neighbors},
             {"finalize", finalize},
             {"late", late},
             {"lengths", lengths},
             {"loop", loop}};

int main(int argc, char **argv)
{
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    world = catena_world(context);
    rank = catena_group_rank(world);
    allreduce(1);
    if (rank == 0) {
        printf("%ld\n", (long)getpid());
        fflush(stdout);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            forever();
        }
    }
    return 2;
}
