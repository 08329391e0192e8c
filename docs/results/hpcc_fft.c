/* A 1-D Fourier transform over all ranks, as HPCC's MPIFFT makes it: the
 * numbers are an n1 x n2 matrix whose rows are dealt to the ranks; three
 * transpositions, each an alltoall of n1 n2 / P^2 numbers a pair, with FFTW's
 * serial transforms and a multiplication by roots of unity between.
 *
 *   hpcc_fft BLOCK[,BLOCK...] REPEAT      by real ranks, blocks in bytes
 *   hpcc_fft -c RANKS BLOCK[,BLOCK...]    what a rank of RANKS computes:
 * seconds before, between (2) and after the alltoalls hpcc_fft -s NODES PPN
 * SETTINGS BLOCK BEFORE BETWEEN BETWEEN AFTER simulated on hpc-b, with these
 * seconds
 *                                         (-DSIMULATED)
 *
 * With -DWITH_MPI the exchange is MPI_Alltoall, otherwise catena's.
 *
 * [Peng] Peng, Liu, Xie, section 8.2 and figure 11. */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_MPI
#include <mpi.h>
#else
#include <catena/catena.h>
#endif
#ifdef SIMULATED
#include <catena/sim.h>
#endif

enum {
    PHASES = 4, /* of computing, with an alltoall after each but the last */
    CHECK_MOST = 1 << 20, /* numbers; longer transforms are not compared */
    TILE = 16             /* numbers of a line that is copied at once */
};

static void die(const char *what)
{
    fprintf(stderr, "hpcc_fft: %s\n", what);
    exit(1);
}

/* ---- what is communicated, by either library ---- */

static int rank, size;
#ifdef WITH_MPI

static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void finish(void)
{
    MPI_Finalize();
}

static void *allocate(size_t bytes)
{
    return fftw_malloc(bytes);
}

static void release(void *memory)
{
    fftw_free(memory);
}

static void alltoall(const fftw_complex *send, fftw_complex *receive,
                     size_t count)
{
    MPI_Alltoall(send, (int)(2 * count), MPI_DOUBLE, receive, (int)(2 * count),
                 MPI_DOUBLE, MPI_COMM_WORLD);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static double largest(double value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

#else

static catena_context_t *context;
static catena_group_t *world;

static void check(catena_status_t status)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "hpcc_fft: %s\n", catena_last_error());
        catena_abort(context, 1);
    }
}

static void start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    check(catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
}

static void finish(void)
{
    check(catena_finalize(&context));
}

static void *allocate(size_t bytes)
{
    return catena_malloc(context, bytes);
}

static void release(void *memory)
{
    catena_free(context, memory);
}

static void alltoall(const fftw_complex *send, fftw_complex *receive,
                     size_t count)
{
    check(catena_alltoall(send, count, CATENA_COMPLEX_DOUBLE, receive, count,
                          CATENA_COMPLEX_DOUBLE, world));
}

static void barrier(void)
{
    check(catena_barrier(world));
}

static double largest(double value)
{
    double most = 0;
    check(catena_allreduce(&value, &most, 1, CATENA_DOUBLE, CATENA_MAX, world));
    return most;
}

#endif

/* ---- the transform ---- */

typedef struct transform {
    int n1, n2; /* multiples of `ranks` */
    int ranks, rank;
    fftw_complex *a,
        *b; /* the matrix's rows, from one transposition to the next */
    fftw_complex *send, *receive;
    fftw_complex *roots; /* [n2 / ranks][n1] */
    fftw_plan rows_of_n1, rows_of_n2;
} transform_t;

static size_t numbers(const transform_t *t)
{
    return (size_t)t->n1 * (size_t)t->n2 / (size_t)t->ranks;
}

static fftw_plan plan_rows(int n, int count, fftw_complex *data)
{
    return fftw_plan_many_dft(1, &n, count, data, NULL, 1, n, data, NULL, 1, n,
                              FFTW_FORWARD, FFTW_MEASURE);
}

/** The transform with blocks of `block` numbers: n1 = n2 or n2 / 2. */
static void open_transform(transform_t *t, size_t block, int ranks, int me,
                           void *(*get)(size_t))
{
    size_t n = block * (size_t)ranks * (size_t)ranks;
    size_t n1 = (size_t)ranks;
    while (4 * n1 * n1 <= n && n % (2 * n1) == 0 &&
           n / (2 * n1) % (size_t)ranks == 0) {
        n1 *= 2;
    }
    *t = (transform_t){
        .n1 = (int)n1, .n2 = (int)(n / n1), .ranks = ranks, .rank = me};
    size_t bytes = numbers(t) * sizeof(fftw_complex);
    fftw_complex **arrays[] = {&t->a, &t->b, &t->send, &t->receive, &t->roots};
    for (int i = 0; i < 5; i++) {
        *arrays[i] = get(bytes);
        if (*arrays[i] == NULL) {
            die("no memory; catena: set CATENA_HEAP_SIZE");
        }
        memset(*arrays[i], 0, bytes);
    }
    t->rows_of_n1 = plan_rows(t->n1, t->n2 / ranks, t->b);
    t->rows_of_n2 = plan_rows(t->n2, t->n1 / ranks, t->a);
    for (int b = 0; b < t->n2 / ranks; b++) {
        double row = (double)(me * (t->n2 / ranks) + b);
        for (int k = 0; k < t->n1; k++) {
            double turn = fmod(row * k, (double)n) / (double)n;
            t->roots[(size_t)b * n1 + (size_t)k] =
                cexp(-2 * acos(-1) * I * turn);
        }
    }
}

static void close_transform(transform_t *t, void (*give)(void *))
{
    fftw_destroy_plan(t->rows_of_n1);
    fftw_destroy_plan(t->rows_of_n2);
    give(t->a);
    give(t->b);
    give(t->send);
    give(t->receive);
    give(t->roots);
}

/** For each rank its columns of the own rows, as rows. */
static void pack(const transform_t *t, const fftw_complex *from, int rows,
                 int columns)
{
    fftw_complex *to = t->send;
    for (int column = 0; column < columns; column += TILE) {
        int end = column + TILE < columns ? column + TILE : columns;
        for (int row = 0; row < rows; row++) {
            for (int c = column; c < end; c++) {
                to[(size_t)c * (size_t)rows + (size_t)row] =
                    from[(size_t)row * (size_t)columns + (size_t)c];
            }
        }
    }
}

/** Rows of `length` numbers, of which each rank has sent a part. */
static void unpack(const transform_t *t, fftw_complex *to, int rows, int length)
{
    size_t part = (size_t)(length / t->ranks);
    const fftw_complex *from = t->receive;
    for (int q = 0; q < t->ranks; q++) {
        for (int row = 0; row < rows; row++) {
            memcpy(to + (size_t)row * (size_t)length + (size_t)q * part, from,
                   part * sizeof(*to));
            from += part;
        }
    }
}

/** What a rank computes in phase 0 to 3. */
static void compute(transform_t *t, int phase)
{
    int r1 = t->n1 / t->ranks;
    int r2 = t->n2 / t->ranks;
    switch (phase) {
    case 0:
        pack(t, t->a, r1, t->n2);
        break;
    case 1:
        unpack(t, t->b, r2, t->n1);
        fftw_execute(t->rows_of_n1);
        for (size_t i = 0; i < numbers(t); i++) {
            t->b[i] *= t->roots[i];
        }
        pack(t, t->b, r2, t->n1);
        break;
    case 2:
        unpack(t, t->a, r1, t->n2);
        fftw_execute(t->rows_of_n2);
        pack(t, t->a, r1, t->n2);
        break;
    default:
        unpack(t, t->b, r2, t->n1);
    }
}

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 2];
}

static fftw_complex input(size_t place)
{
    uint64_t z = ((uint64_t)place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    return (double)(z >> 40) * 0x1p-23 - 1 +
           I * ((double)(z & 0xffffff) * 0x1p-23 - 1);
}

static void fill(transform_t *t)
{
    for (size_t i = 0; i < numbers(t); i++) {
        t->a[i] = input((size_t)t->rank * numbers(t) + i);
    }
}

/** The largest difference from a serial transform, relative to its largest
 * number. */
static double difference(const transform_t *t)
{
    size_t n = (size_t)t->n1 * (size_t)t->n2;
    fftw_complex *all = fftw_alloc_complex(n);
    fftw_plan plan =
        fftw_plan_dft_1d((int)n, all, all, FFTW_FORWARD, FFTW_ESTIMATE);
    for (size_t i = 0; i < n; i++) {
        all[i] = input(i);
    }
    fftw_execute(plan);
    double most = 0;
    double scale = 0;
    for (size_t i = 0; i < numbers(t); i++) {
        fftw_complex right = all[(size_t)t->rank * numbers(t) + i];
        most = fmax(most, cabs(t->b[i] - right));
        scale = fmax(scale, cabs(right));
    }
    fftw_destroy_plan(plan);
    fftw_free(all);
    return scale > 0 ? most / scale : 0;
}

/* ---- the three ways to run it ---- */

static void computing_alone(int ranks, size_t block)
{
    enum { REPEAT = 15 };
    static double times[PHASES][REPEAT];
    transform_t t;
    open_transform(&t, block / sizeof(fftw_complex), ranks, 0, fftw_malloc);
    for (int i = -1; i < REPEAT; i++) {
        fill(&t);
        for (int phase = 0; phase < PHASES; phase++) {
            double since = now();
            compute(&t, phase);
            times[phase][i < 0 ? 0 : i] = now() - since;
            /* an alltoall would have written it */
            memcpy(t.receive, t.send, numbers(&t) * sizeof(*t.send));
        }
    }
    printf("%zu", block);
    for (int phase = 0; phase < PHASES; phase++) {
        printf(",%.9f", median(times[phase], REPEAT));
    }
    printf("\n");
    close_transform(&t, fftw_free);
}

#ifdef SIMULATED

typedef struct job {
    size_t block;
    double seconds[PHASES];
    double slowest,
        in_alltoall; /* ranks are in one process, and run in turns */
} job_t;

static int simulated_rank(const catena_config_t *config, void *argument)
{
    enum { CALLS = 2 };
    job_t *job = argument;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_context_t *own = context; /* others overwrite it */
    catena_group_t *all = catena_world(own);
    size_t bytes = job->block * (size_t)catena_group_size(all);
    char *send = catena_malloc(own, bytes);
    char *receive = catena_malloc(own, bytes);
    catena_status_t status =
        send != NULL && receive != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
    for (int call = 0; call < CALLS && status == CATENA_OK; call++) {
        catena_barrier(all);
        double since = catena_time(own);
        double between = 0;
        for (int phase = 0; phase < PHASES && status == CATENA_OK; phase++) {
            catena_compute(own, job->seconds[phase]);
            double entered = catena_time(own);
            if (phase + 1 < PHASES) {
                status = catena_alltoall(send, job->block, CATENA_BYTE, receive,
                                         job->block, CATENA_BYTE, all);
            }
            between += catena_time(own) - entered;
        }
        double seconds = catena_time(own) - since;
        if (call == CALLS - 1 && seconds > job->slowest) {
            job->slowest = seconds;
            job->in_alltoall = between;
        }
    }
    catena_free(own, send);
    catena_free(own, receive);
    return catena_finalize(&own) != CATENA_OK || status != CATENA_OK;
}

static int simulate(char **argument)
{
    job_t job = {.block = strtoul(argument[3], NULL, 10)};
    for (int phase = 0; phase < PHASES; phase++) {
        job.seconds[phase] = strtod(argument[4 + phase], NULL);
    }
    enum { MOST = 8 };
    const char *settings[MOST + 1] = {NULL};
    int count = 0;
    for (char *word = strtok(argument[2], " "); word != NULL && count < MOST;
         word = strtok(NULL, " ")) {
        settings[count++] = word;
    }
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = atoi(argument[0]),
                                  .ppn = atoi(argument[1]),
                                  .payload = CATENA_SIM_SIZES,
                                  .settings = settings,
                                  .seed = 1};
    catena_sim_report_t report = {.size = sizeof(report)};
    if (catena_sim_run(&params, simulated_rank, &job, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        die("the simulation failed");
    }
    printf("%.9f,%.9f\n", job.slowest, job.in_alltoall);
    return 0;
}

#endif

static void one_size(size_t block, int repeat)
{
    transform_t t;
    double *times = calloc((size_t)repeat * 2, sizeof(*times));
    double *exchanges = times + repeat;
    open_transform(&t, block / sizeof(fftw_complex), size, rank, allocate);
    for (int i = -1; i < repeat; i++) { /* the first one touches memory */
        fill(&t);
        barrier();
        double since = now();
        double exchange = 0;
        for (int phase = 0; phase < PHASES; phase++) {
            compute(&t, phase);
            double entered = now();
            if (phase + 1 < PHASES) {
                alltoall(t.send, t.receive, numbers(&t) / (size_t)size);
            }
            exchange += now() - entered;
        }
        double seconds = now() - since;
        times[i < 0 ? 0 : i] = largest(seconds);
        exchanges[i < 0 ? 0 : i] = largest(exchange);
    }
    double n = (double)t.n1 * (double)t.n2;
    double wrong = n <= CHECK_MOST ? largest(difference(&t)) : 0;
    double seconds = median(times, repeat);
    if (rank == 0) {
        printf("%d,%zu,%.0f,%.6f,%.6f,%.3f\n", size, block, n, seconds * 1e3,
               median(exchanges, repeat) * 1e3, 5e-9 * n * log2(n) / seconds);
        fflush(stdout);
    }
    if (wrong > 1e-12) {
        fprintf(stderr, "hpcc_fft: differs from a serial transform by %g\n",
                wrong);
        exit(1);
    }
    close_transform(&t, release);
    free(times);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef SIMULATED
    if (argc == 10 && strcmp(argv[1], "-s") == 0) {
        return simulate(argv + 2);
    }
#endif
    if (argc == 4 && strcmp(argv[1], "-c") == 0) {
        for (char *word = strtok(argv[3], ","); word != NULL;
             word = strtok(NULL, ",")) {
            computing_alone(atoi(argv[2]), strtoul(word, NULL, 10));
        }
        return 0;
    }
    if (argc != 3) {
        die("usage: hpcc_fft BLOCK[,BLOCK...] REPEAT");
    }
    start(&argc, &argv);
    for (char *word = strtok(argv[1], ","); word != NULL;
         word = strtok(NULL, ",")) {
        one_size(strtoul(word, NULL, 10), atoi(argv[2]));
    }
    finish();
    return 0;
}
