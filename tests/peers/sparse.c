/* A sparse data exchange: each rank sends blocks to random targets that do not
 * expect them. With catena one call; with MPI the algorithm that applications
 * write by hand (T. Hoefler, C. Siebert, A. Lumsdaine, PPoPP 2010): synchronous
 * sends, probes, and a nonblocking barrier once the sends are complete.
 *
 * usage: sparse BYTES TARGETS CALLS
 * Rank 0 prints the median over the calls of the slowest rank's microseconds.
 * The blocks are checked. With MPI: mpicc -DWITH_MPI. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_MPI
#include <mpi.h>
#else
#include <catena/catena.h>
#endif

enum { TAG = 7 };

static int ranks, me;
static size_t bytes;
static int targets;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void fail(const char *what)
{
    fprintf(stderr, "sparse: rank %d: %s\n", me, what);
    exit(1);
}

/** Add what a block contributes to a rank's checksum. */
static void add(const unsigned char *block, size_t length, int from, long *sum)
{
    if (length != bytes || block[0] != (unsigned char)from ||
        block[bytes - 1] != (unsigned char)from) {
        fail("wrong block");
    }
    *sum += from + 1;
}

#ifdef WITH_MPI
static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void stop(void)
{
    MPI_Finalize();
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static double reduce(double value, int most)
{
    double result;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, most ? MPI_MAX : MPI_SUM,
                  MPI_COMM_WORLD);
    return result;
}

static long exchange(const int *target, const unsigned char *send)
{
    static unsigned char *received;
    static MPI_Request *request;
    MPI_Request over = MPI_REQUEST_NULL;
    int done = 0, sent, any, length;
    long sum = 0;
    received = received != NULL ? received : malloc(bytes);
    request =
        request != NULL ? request : malloc((size_t)targets * sizeof(*request));
    for (int i = 0; i < targets; i++) {
        MPI_Issend(send + (size_t)i * bytes, (int)bytes, MPI_BYTE, target[i],
                   TAG, MPI_COMM_WORLD, &request[i]);
    }
    while (!done) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &any, &status);
        if (any) {
            MPI_Get_count(&status, MPI_BYTE, &length);
            MPI_Recv(received, length, MPI_BYTE, status.MPI_SOURCE, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            add(received, (size_t)length, status.MPI_SOURCE, &sum);
        }
        if (over != MPI_REQUEST_NULL) {
            MPI_Test(&over, &done, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(targets, request, &sent, MPI_STATUSES_IGNORE);
            if (sent) {
                MPI_Ibarrier(MPI_COMM_WORLD, &over);
            }
        }
    }
    return sum;
}
#else
static catena_context_t *context;
static catena_group_t *world;

static void start(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (catena_init(NULL, &context) != CATENA_OK) {
        fail("catena_init");
    }
    world = catena_world(context);
    me = catena_group_rank(world);
    ranks = catena_group_size(world);
}

static void stop(void)
{
    catena_finalize(&context);
}

static void barrier(void)
{
    catena_barrier(world);
}

static double reduce(double value, int most)
{
    double result;
    catena_allreduce(&value, &result, 1, CATENA_DOUBLE,
                     most ? CATENA_MAX : CATENA_SUM, world);
    return result;
}

static long exchange(const int *target, const unsigned char *send)
{
    static size_t *lengths;
    catena_received_t *received;
    long sum = 0;
    if (lengths == NULL) {
        lengths = malloc((size_t)targets * sizeof(*lengths));
        for (int i = 0; i < targets; i++) {
            lengths[i] = bytes;
        }
    }
    if (catena_sparse_exchange(world, targets, target, send, lengths, NULL,
                               &received) != CATENA_OK) {
        fail("catena_sparse_exchange");
    }
    for (int i = 0; i < received->count; i++) {
        add((unsigned char *)received->data + received->offsets[i],
            received->bytes[i], received->sources[i], &sum);
    }
    catena_received_free(&received);
    return sum;
}
#endif

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int calls = argc == 4 ? atoi(argv[3]) : 0;
    bytes = argc == 4 ? (size_t)atol(argv[1]) : 0;
    targets = argc == 4 ? atoi(argv[2]) : 0;
    if (bytes < 1 || targets < 1 || calls < 1) {
        fail("usage: sparse BYTES TARGETS CALLS");
    }
    unsigned char *send = malloc(bytes * (size_t)targets);
    int *target = malloc((size_t)targets * sizeof(*target));
    double *time = malloc((size_t)calls * sizeof(*time));
    memset(send, me, bytes * (size_t)targets);
    srand((unsigned)me + 1);
    for (int call = -10; call < calls; call++) {
        for (int i = 0; i < targets; i++) {
            target[i] = rand() % ranks;
        }
        barrier();
        double begin = now_us();
        long sum = exchange(target, send);
        double took = reduce(now_us() - begin, 1);
        if (reduce((double)sum, 0) != reduce((me + 1.0) * targets, 0)) {
            fail("a block is missing");
        }
        if (call >= 0) {
            time[call] = took;
        }
    }
    qsort(time, (size_t)calls, sizeof(*time), ascending);
    if (me == 0) {
        printf("%.1f\n", time[calls / 2]);
    }
    stop();
    return 0;
}
