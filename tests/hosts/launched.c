/* What a job does under each launcher: an alltoall, a barrier, a split into
 * uneven groups and a neighborhood exchange, each compared with a naive
 * expectation. Rank 0 prints the layout and a digest of all data that the ranks
 * received, which depends on the number of ranks only.
 * usage: launched [SECONDS]: afterwards make no call for this time */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <catena/catena.h>

enum { MOST = 64, LARGEST = 4000, COLORS = 5 };

typedef struct job {
    catena_context_t *context;
    catena_group_t *world;
    int rank;
    int ranks;
    uint64_t digest; /* of what this rank received */
} job_t;

/** Print what went wrong and end the job. */
static void fail(const job_t *job, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "launched: rank %d: ", job->rank);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    catena_abort(job->context, 1);
}

static void check(const job_t *job, const char *call, catena_status_t status)
{
    if (status != CATENA_OK) {
        fail(job, "%s: %s", call, catena_status_string(status));
    }
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
    for (int i = 0; i < 8; i++) { /* FNV-1a */
        digest = (digest ^ (value >> 8 * i & 0xff)) * 0x100000001b3;
    }
    return digest;
}

/** Element i of what one rank of the world sends to another. */
static int64_t content(int from, int to, size_t i)
{
    return (int64_t)from * 1000003 + (int64_t)to * 10007 + (int64_t)i;
}

/** Fill the block for a rank. */
static void fill(const job_t *job, int to, size_t count, int64_t *block)
{
    for (size_t i = 0; i < count; i++) {
        block[i] = content(job->rank, to, i);
    }
}

/** Compare the block of a rank, and add it to the digest. */
static void expect(job_t *job, const char *call, int from, size_t count,
                   const int64_t *block)
{
    for (size_t i = 0; i < count; i++) {
        int64_t expected = content(from, job->rank, i);
        if (block[i] != expected) {
            fail(job, "%s: element %zu of rank %d: expected %lld, found %lld",
                 call, i, from, (long long)expected, (long long)block[i]);
        }
        job->digest = mix(job->digest, (uint64_t)block[i]);
    }
}

/** An alltoall of a group. @param members their ranks in the world */
static void exchange(job_t *job, const char *call, catena_group_t *group,
                     const int members[], size_t count)
{
    static int64_t send[MOST * LARGEST];
    static int64_t receive[MOST * LARGEST];
    int size = catena_group_size(group);
    for (int i = 0; i < size; i++) {
        fill(job, members[i], count, send + (size_t)i * count);
    }
    check(job, call,
          catena_alltoall(send, count, CATENA_INT64, receive, count,
                          CATENA_INT64, group));
    for (int i = 0; i < size; i++) {
        expect(job, call, members[i], count, receive + (size_t)i * count);
    }
}

static void run_alltoall(job_t *job)
{
    const size_t counts[] = {1, 13, 500, LARGEST};
    int members[MOST];
    for (int i = 0; i < job->ranks; i++) {
        members[i] = i;
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        exchange(job, "alltoall", job->world, members, counts[i]);
    }
}

static double now(void)
{
    struct timespec time; /* the emulated hosts have one clock */
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/** One rank after the other is late: no rank leaves before it has entered. */
static void run_barrier(job_t *job)
{
    const struct timespec late = {0, 20 * 1000 * 1000};
    for (int turn = 0; turn < job->ranks; turn++) {
        double times[2];
        double all[2 * MOST];
        if (job->rank == turn) {
            nanosleep(&late, NULL);
        }
        times[0] = now();
        check(job, "barrier", catena_barrier(job->world));
        times[1] = now();
        check(job, "allgather",
              catena_allgather(times, 2, CATENA_DOUBLE, all, 2, CATENA_DOUBLE,
                               job->world));
        for (int i = 0; i < job->ranks; i++) {
            if (all[2 * i] > times[1]) {
                fail(job, "barrier: left %g ms before rank %d entered",
                     1e3 * (all[2 * i] - times[1]), i);
            }
        }
    }
}

/** The last of several ranks gets no group. */
static int color_of(const job_t *job, int rank)
{
    return rank > 0 && rank == job->ranks - 1 ? CATENA_UNDEFINED
                                              : rank * rank % COLORS;
}

/** Groups of 2, 3 and 3 of 9 ranks, in descending order. */
static void run_split(job_t *job)
{
    int members[MOST];
    int size = 0;
    int rank = -1;
    int color = color_of(job, job->rank);
    catena_group_t *group;
    check(job, "group_split",
          catena_group_split(job->world, color, -job->rank, &group));
    for (int i = job->ranks - 1; i >= 0 && color != CATENA_UNDEFINED; i--) {
        if (color_of(job, i) == color) {
            rank = i == job->rank ? size : rank;
            members[size++] = i;
        }
    }
    if (catena_group_size(group) != size || catena_group_rank(group) != rank) {
        fail(job, "group_split: expected rank %d of %d, found %d of %d", rank,
             size, catena_group_rank(group), catena_group_size(group));
    }
    if (group != NULL) {
        exchange(job, "alltoall of a split group", group, members, 100);
        check(job, "group_free", catena_group_free(&group));
    }
}

/** A rank has 1 to 3 targets: the ranks after it. */
static int targets_of(const job_t *job, int rank, int targets[])
{
    int count = 0;
    for (int i = 1; i <= 1 + rank % 3; i++) {
        targets[count++] = (rank + i) % job->ranks;
    }
    return count;
}

static void run_neighbors(job_t *job)
{
    enum { COUNT = 300 };
    static int64_t send[3 * COUNT];
    static int64_t receive[3 * MOST * COUNT];
    int targets[3];
    int sources[3 * MOST] = {0};
    int source_count = 0;
    int target_count = targets_of(job, job->rank, targets);
    catena_neighborhood_t *graph;
    for (int i = 0; i < job->ranks; i++) {
        int others[3];
        int count = targets_of(job, i, others);
        for (int k = 0; k < count; k++) {
            if (others[k] == job->rank) {
                sources[source_count++] = i;
            }
        }
    }
    check(job, "neighborhood_create",
          catena_neighborhood_create(job->world, source_count, sources,
                                     CATENA_UNWEIGHTED, target_count, targets,
                                     CATENA_UNWEIGHTED, NULL, &graph));
    for (int i = 0; i < target_count; i++) {
        fill(job, targets[i], COUNT, send + (size_t)i * COUNT);
    }
    check(job, "neighbor_alltoall",
          catena_neighbor_alltoall(send, COUNT, CATENA_INT64, receive, COUNT,
                                   CATENA_INT64, graph));
    for (int i = 0; i < source_count; i++) {
        expect(job, "neighbor_alltoall", sources[i], COUNT,
               receive + (size_t)i * COUNT);
    }
    check(job, "neighborhood_free", catena_neighborhood_free(&graph));
}

/** Rank 0 prints a line of the layout and one of the digest. */
static void report(const job_t *job)
{
    catena_place_t place = {.size = sizeof(place)};
    uint64_t own[2] = {0, job->digest};
    uint64_t all[2 * MOST];
    int nodes[MOST] = {0};
    uint64_t digest = 0xcbf29ce484222325;
    check(job, "get_place", catena_get_place(job->context, &place));
    own[0] = (uint64_t)place.node;
    check(job, "gather",
          catena_gather(own, 2, CATENA_UINT64, all, 2, CATENA_UINT64, 0,
                        job->world));
    if (job->rank > 0) {
        return;
    }
    for (int i = 0; i < job->ranks; i++) {
        nodes[all[2 * i] % MOST]++;
        digest = mix(digest, all[2 * i + 1]);
    }
    printf("layout %d", nodes[0]);
    for (int i = 1; i < place.nodes; i++) {
        printf("+%d", nodes[i]);
    }
    printf(", boot %s\ndigest %016llx of %d ranks\n", place.launcher,
           (unsigned long long)digest, job->ranks);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    job_t job = {.digest = 0xcbf29ce484222325};
    if (catena_init(NULL, &job.context) != CATENA_OK) {
        return 1;
    }
    job.world = catena_world(job.context);
    job.rank = catena_group_rank(job.world);
    job.ranks = catena_group_size(job.world);
    if (job.ranks > MOST) {
        fail(&job, "expected up to %d ranks, found %d", MOST, job.ranks);
    }
    run_alltoall(&job);
    run_barrier(&job);
    run_split(&job);
    run_neighbors(&job);
    report(&job);
    if (argc > 1) {
        sleep((unsigned)atoi(argv[1]));
    }
    return catena_finalize(&job.context) != CATENA_OK;
}
