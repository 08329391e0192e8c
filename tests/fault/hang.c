/* A job that hangs in the way that the argument names, on any number of ranks
 * from 4 on. Rank 0 prints its process, and all ranks that they are there.
 * usage: hang KIND */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/** Rank 1 does not take part in a nonblocking call of the world. After it, all
 * ranks complete a call of another group.
 * @param blocking whether that blocks */
static void other_group(bool blocking)
{
    catena_request_t *hangs = NULL, *other = NULL;
    catena_group_t *all;
    catena_group_dup(world, &all);
    if (rank != 1) {
        catena_iallreduce(send, receive, 1, CATENA_DOUBLE, CATENA_SUM, world,
                          &hangs);
    }
    if (blocking) {
        catena_barrier(all);
    } else {
        catena_ibarrier(all, &other);
        catena_request_wait(&other);
    }
    if (rank != 1) {
        catena_request_wait(&hangs);
    }
}

static void other(void)
{
    other_group(true);
}

static void other_request(void)
{
    other_group(false);
}

/** Ranks test a request in a loop. Rank 1 does not take part.
 * @param progress they call catena_progress only */
static void test_request(bool progress)
{
    catena_request_t *request;
    int done = rank == 1;
    if (rank != 1) {
        catena_iallreduce(send, receive, 1, CATENA_DOUBLE, CATENA_SUM, world,
                          &request);
    }
    while (!done) {
        if (progress) {
            catena_progress(context);
        } else {
            catena_request_test(&request, &done);
        }
        usleep(100); /* leave the cores to the other jobs */
    }
}

static void tests(void)
{
    test_request(false);
}

static void progress(void)
{
    test_request(true);
}

/** Ranks start a persistent request. Rank 1 leaves out the third start.
 * @param calls   of itself that rank 1 makes before that
 * @param instead what rank 1 starts then; NULL: nothing */
static void start(catena_request_t *request, int calls,
                  catena_request_t *instead)
{
    catena_group_t *own;
    catena_group_split(world, rank, 0, &own);
    for (int i = 0; i < 2; i++) {
        catena_request_start(request);
        catena_request_wait(&request);
    }
    for (int i = 0; rank == 1 && i < calls; i++) {
        catena_barrier(own);
    }
    if (rank == 1) {
        request = instead;
    }
    if (request != NULL) {
        catena_request_startall(1, &request);
        catena_request_wait(&request);
    }
}

static catena_request_t *init_allreduce(void)
{
    catena_request_t *request;
    catena_allreduce_init(send, receive, 1, CATENA_DOUBLE, CATENA_SUM, world,
                          &request);
    return request;
}

static void starts(void)
{
    start(init_allreduce(), 0, NULL);
}

static void start_other(void)
{
    catena_request_t *request = init_allreduce(), *instead;
    catena_barrier_init(world, &instead);
    start(request, 0, instead);
}

/** Rank 1 makes more calls than have records. */
static void start_long_ago(void)
{
    start(init_allreduce(), 300, NULL);
}

static void start_neighbors(void)
{
    catena_neighborhood_t *ring;
    catena_request_t *request;
    int dims[1] = {catena_group_size(world)};
    int periodic[1] = {1};
    catena_cart_create(world, 1, dims, periodic, 0, NULL, &ring);
    catena_neighbor_alltoall_init(send, 1, CATENA_DOUBLE, receive, 1,
                                  CATENA_DOUBLE, ring, &request);
    start(request, 0, NULL);
}

/** To the others, the first half of the call of rank 1 is theirs. */
static void cart(void)
{
    catena_neighborhood_t *ring;
    catena_group_t *all;
    int dims[1] = {catena_group_size(world)};
    int periodic[1] = {1};
    if (rank == 1) {
        catena_group_dup(world, &all);
    } else {
        catena_cart_create(world, 1, dims, periodic, 0, NULL, &ring);
    }
}

/** All ranks have created a grid. */
static void cart_made(void)
{
    catena_neighborhood_t *ring;
    int dims[1] = {catena_group_size(world)};
    int periodic[1] = {1};
    catena_cart_create(world, 1, dims, periodic, 0, NULL, &ring);
}

/** Rank 1 does not take part in the creation of a group of two. */
static void create(void)
{
    static const int list[2] = {0, 1};
    catena_group_t *pair;
    if (rank == 0) {
        catena_group_create(world, 2, list, &pair);
    }
}

/** Rank 1 does not take part in a call of the last of many groups. Some that
 * are freed do not count. */
static void last_of_groups(int count)
{
    catena_group_t *group = world;
    for (int i = 0; i < 300; i++) {
        catena_group_dup(world, &group);
        catena_group_free(&group);
    }
    for (int i = 0; i < count; i++) {
        catena_group_dup(world, &group);
    }
    if (rank != 1) {
        catena_barrier(group);
    }
}

static void many_groups(void)
{
    last_of_groups(1000);
}

/** The group is beyond those with ids. */
static void groups(void)
{
    last_of_groups(1040);
}

/** Rank 1 gives another length. The ranks that detect it go on. */
static void lengths(void)
{
    catena_group_set(world, "allreduce_algorithm", "shared");
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
             {"other", other},
             {"other_request", other_request},
             {"tests", tests},
             {"progress", progress},
             {"starts", starts},
             {"start_other", start_other},
             {"start_long_ago", start_long_ago},
             {"start_neighbors", start_neighbors},
             {"cart", cart},
             {"cart_made", cart_made},
             {"create", create},
             {"many_groups", many_groups},
             {"groups", groups},
             {"descriptors", never},
             {"lengths", lengths},
             {"loop", loop}};

/** The segment of the node gets a descriptor beyond the first 1,024. */
static void open_descriptors(void)
{
    struct rlimit limit;
    int last = 0;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    while (last >= 0 && last < 1100) {
        last = dup(STDIN_FILENO);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "descriptors") == 0) {
        open_descriptors();
    }
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
