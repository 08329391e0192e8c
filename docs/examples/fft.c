/* A 3-D Fourier transform of n x n x n complex numbers over FFTW's serial
 * transforms, with alltoalls between.
 *
 *   fft [N [slabs|pencils [REPEAT]]]
 *
 * The ranks form a grid of rows and columns. A rank begins with some planes of
 * constant x, and of these some lines of constant y; it ends with all x. Slabs
 * are a grid of one column: a plane is transformed along y and z at once. With
 * pencils it is transformed along z, exchanged along the row of the grid,
 * transformed along y. Then some planes at once are exchanged along the column,
 * and at the end all is transformed along x. Each exchange is a nonblocking
 * alltoall, under way while the next planes are transformed. The program copies
 * nothing before or after a call: derived types say which parts of lines and
 * planes are sent, and what is received is contiguous.
 *
 * cc -O2 fft.c -o fft $(pkg-config --cflags --libs catena fftw3) -lm */
#include <catena/catena.h>
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHECK_MOST = 64 }; /* longer transforms are not compared */

static catena_context_t *context;

static void check(catena_status_t status, const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s: %s\n", what, catena_status_string(status));
        catena_abort(context, EXIT_FAILURE);
    }
}

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/** Memory in the shared heap: the fastest to communicate from. */
static void *allocate(size_t bytes)
{
    void *memory = catena_calloc(context, 1, bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fprintf(stderr,
                "no memory for %zu bytes in the heap; set "
                "CATENA_HEAP_SIZE\n",
                bytes);
        catena_abort(context, EXIT_FAILURE);
    }
    return memory;
}

/** The part of 0..n-1 that belongs to one of `parts`. */
typedef struct part {
    int first;
    int count;
} part_t;

static part_t part_of(int n, int parts, int index)
{
    int first = (int)((long)n * index / parts);
    int next = (int)((long)n * (index + 1) / parts);
    return (part_t){first, next - first};
}

/** The arguments of an exchange by ialltoallw, and its request. */
typedef struct exchange {
    int size;
    size_t *send_counts, *receive_counts;
    ptrdiff_t *send_at, *receive_at; /* bytes */
    catena_type_t *send_types, *receive_types;
    catena_request_t *request;
} exchange_t;

typedef struct transform {
    int n;
    catena_group_t *row;    /* exchanges y for z */
    catena_group_t *column; /* exchanges x for y */
    int rows, columns;
    part_t x, y, z;     /* of the input: x, y; after the row's exchange z */
    part_t y_end;       /* after the column's exchange */
    fftw_complex *in;   /* [x][y][n], transformed along z in place */
    fftw_complex *by_y; /* [x][n][z], transformed along y in place; with slabs
                           it is `in` */
    fftw_complex *out;  /* [n][y_end][z]: all x */
    fftw_plan along_z, along_y, along_yz, along_x;
    exchange_t *row_exchange;    /* [x.count], of a plane each */
    exchange_t *column_exchange; /* [batches] */
    int batch;   /* planes that are exchanged along the column at once */
    int batches; /* of the rank that has most planes */
} transform_t;

static exchange_t new_exchange(int size)
{
    size_t n = (size_t)size;
    exchange_t e = {.size = size,
                    .send_counts = calloc(2 * n, sizeof(size_t)),
                    .send_at = calloc(2 * n, sizeof(ptrdiff_t)),
                    .send_types = calloc(2 * n, sizeof(catena_type_t))};
    if (e.send_counts == NULL || e.send_at == NULL || e.send_types == NULL) {
        catena_abort(context, EXIT_FAILURE);
    }
    e.receive_counts = e.send_counts + n;
    e.receive_at = e.send_at + n;
    e.receive_types = e.send_types + n;
    return e;
}

/** Rank i of an exchange: blocks that are sent, `stride` elements from one to
 * the next, and elements that are received. */
static void plan_rank(exchange_t *e, int i, int blocks, int length, int stride,
                      int first, size_t received, size_t received_first)
{
    check(catena_type_vector((size_t)blocks, (size_t)length, stride,
                             CATENA_COMPLEX_DOUBLE, &e->send_types[i]),
          "vector");
    e->send_counts[i] = 1;
    e->send_at[i] = (ptrdiff_t)sizeof(fftw_complex) * first;
    e->receive_types[i] = CATENA_COMPLEX_DOUBLE;
    e->receive_counts[i] = received;
    e->receive_at[i] = (ptrdiff_t)(sizeof(fftw_complex) * received_first);
}

/** The row's exchange of a plane: of each line the part of z that a rank gets,
 * for lines with its y. */
static exchange_t plan_row(const transform_t *t)
{
    exchange_t e = new_exchange(t->columns);
    for (int i = 0; i < t->columns; i++) {
        part_t y = part_of(t->n, t->columns, i);
        part_t z = part_of(t->n, t->columns, i);
        size_t zs = (size_t)t->z.count;
        plan_rank(&e, i, t->y.count, z.count, t->n, z.first,
                  (size_t)y.count * zs, (size_t)y.first * zs);
    }
    return e;
}

/** How many of `count` planes are in a batch. */
static int in_batch(const transform_t *t, int count, int batch)
{
    int rest = count - batch * t->batch;
    return rest < 0 ? 0 : rest < t->batch ? rest : t->batch;
}

/** The column's exchange of a batch: of each plane the y that a rank gets, for
 * its planes. */
static exchange_t plan_column(const transform_t *t, int batch)
{
    exchange_t e = new_exchange(t->rows);
    int zs = t->z.count;
    size_t area = (size_t)t->y_end.count * (size_t)zs;
    for (int i = 0; i < t->rows; i++) {
        part_t y = part_of(t->n, t->rows, i);
        part_t x = part_of(t->n, t->rows, i);
        plan_rank(&e, i, in_batch(t, t->x.count, batch), y.count * zs,
                  t->n * zs, y.first * zs,
                  (size_t)in_batch(t, x.count, batch) * area,
                  (size_t)(x.first + batch * t->batch) * area);
    }
    return e;
}

/** Transforms in place, of `count` lines. */
static fftw_plan lines(int n, int count, fftw_complex *data, int stride,
                       int distance)
{
    return count == 0
               ? NULL
               : fftw_plan_many_dft(1, &n, count, data, NULL, stride, distance,
                                    data, NULL, stride, distance, FFTW_FORWARD,
                                    FFTW_MEASURE | FFTW_UNALIGNED);
}

static void plan_transforms(transform_t *t)
{
    int n = t->n;
    if (t->columns == 1) {
        t->along_yz = fftw_plan_dft_2d(n, n, t->in, t->in, FFTW_FORWARD,
                                       FFTW_MEASURE | FFTW_UNALIGNED);
    } else {
        t->along_z = lines(n, t->y.count, t->in, 1, n);
        t->along_y = lines(n, t->z.count, t->by_y, t->z.count, 1);
    }
    int area = t->y_end.count * t->z.count;
    t->along_x = lines(n, area, t->out, area, 1);
}

/** @param columns of the grid; 1: slabs */
static void open_transform(transform_t *t, int n, int columns)
{
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int i = rank / columns;
    int j = rank % columns;
    *t = (transform_t){
        .n = n, .columns = columns, .rows = catena_group_size(world) / columns};
    check(catena_group_split(world, i, rank, &t->row), "split");
    check(catena_group_split(world, j, rank, &t->column), "split");
    t->x = part_of(n, t->rows, i);
    t->y = part_of(n, columns, j);
    t->z = part_of(n, columns, j);
    t->y_end = part_of(n, t->rows, i);
    /* Two batches or more, so that one is under way while the next is
     * transformed; long blocks. */
    int planes_most = (n + t->rows - 1) / t->rows;
    t->batch = planes_most / 2 < 1   ? 1
               : planes_most / 2 < 8 ? planes_most / 2
                                     : 8;
    t->batches = (planes_most + t->batch - 1) / t->batch;
    size_t plane = sizeof(fftw_complex) * (size_t)n;
    size_t planes = (size_t)(t->x.count > 0 ? t->x.count : 1);
    size_t ys = (size_t)t->y.count;
    size_t zs = (size_t)t->z.count;
    /* FFTW plans overwrite one plane. */
    t->in = allocate(planes * ys * plane);
    t->by_y = columns > 1 ? allocate(planes * zs * plane) : t->in;
    t->out = allocate(plane * (size_t)t->y_end.count * zs);
    plan_transforms(t);
    t->row_exchange = calloc(planes, sizeof(exchange_t));
    t->column_exchange = calloc((size_t)t->batches, sizeof(exchange_t));
    for (int x = 0; x < t->x.count; x++) {
        t->row_exchange[x] = plan_row(t);
    }
    for (int batch = 0; batch < t->batches; batch++) {
        t->column_exchange[batch] = plan_column(t, batch);
    }
}

static void free_exchanges(exchange_t *exchange, int count)
{
    for (exchange_t *e = exchange; e < exchange + count; e++) {
        for (int i = 0; i < e->size; i++) {
            check(catena_type_free(&e->send_types[i]), "type free");
        }
        free(e->send_types);
        free(e->send_counts);
        free(e->send_at);
    }
    free(exchange);
}

static void close_transform(transform_t *t)
{
    fftw_destroy_plan(t->along_z);
    fftw_destroy_plan(t->along_y);
    fftw_destroy_plan(t->along_yz);
    fftw_destroy_plan(t->along_x);
    free_exchanges(t->row_exchange, t->x.count);
    free_exchanges(t->column_exchange, t->batches);
    if (t->by_y != t->in) {
        catena_free(context, t->by_y);
    }
    catena_free(context, t->in);
    catena_free(context, t->out);
    check(catena_group_free(&t->row), "group free");
    check(catena_group_free(&t->column), "group free");
}

/* ---- the transform ---- */

/** A plan applied to a plane, unless there is nothing to transform. */
static void apply(fftw_plan plan, fftw_complex *plane)
{
    if (plan != NULL) {
        fftw_execute_dft(plan, plane, plane);
    }
}

static fftw_complex *in_plane(const transform_t *t, int x)
{
    return t->in + (size_t)x * (size_t)t->n * (size_t)t->y.count;
}

static fftw_complex *by_y_plane(const transform_t *t, int x)
{
    return t->by_y + (size_t)x * (size_t)t->n * (size_t)t->z.count;
}

static void start(exchange_t *e, const fftw_complex *send,
                  fftw_complex *receive, catena_group_t *group)
{
    check(catena_ialltoallw(send, e->send_counts, e->send_at, e->send_types,
                            receive, e->receive_counts, e->receive_at,
                            e->receive_types, group, &e->request),
          "ialltoallw");
}

static void finish(exchange_t *e)
{
    check(catena_request_wait(&e->request), "ialltoallw");
}

/** Planes `first` to `end` - 1 transformed along z and y. With pencils a plane
 * comes along the row while the next one is transformed along z.
 * @param computes false: they are only exchanged */
static void transform_planes(transform_t *t, int first, int end, bool computes)
{
    bool slabs = t->columns == 1;
    for (int x = first; slabs && computes && x < end; x++) {
        apply(t->along_yz, in_plane(t, x));
        catena_progress(context);
    }
    for (int x = first; !slabs && first < end && x <= end; x++) {
        if (x < end) {
            apply(computes ? t->along_z : NULL, in_plane(t, x));
            start(&t->row_exchange[x], in_plane(t, x), by_y_plane(t, x),
                  t->row);
        }
        if (x > first) {
            finish(&t->row_exchange[x - 1]);
            apply(computes ? t->along_y : NULL, by_y_plane(t, x - 1));
        }
        catena_progress(context);
    }
}

static void run(transform_t *t, bool computes)
{
    for (int i = 0; i < t->batches; i++) {
        int first = i * t->batch;
        int count = in_batch(t, t->x.count, i);
        transform_planes(t, first, first + count, computes);
        start(&t->column_exchange[i], by_y_plane(t, count > 0 ? first : 0),
              t->out, t->column);
    }
    for (int i = 0; i < t->batches; i++) {
        finish(&t->column_exchange[i]);
    }
    if (computes && t->along_x != NULL) {
        fftw_execute(t->along_x);
    }
}

/* ---- input and check ---- */

/** A number between -1 and 1 that follows from its place. */
static double value(uint64_t place)
{
    uint64_t z = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(z >> 11) * 0x1p-52 - 1;
}

static fftw_complex input(int n, int x, int y, int z)
{
    uint64_t place =
        ((uint64_t)x * (uint64_t)n + (uint64_t)y) * (uint64_t)n + (uint64_t)z;
    return value(2 * place) + value(2 * place + 1) * I;
}

static void fill(transform_t *t)
{
    fftw_complex *at = t->in;
    if (t->by_y != t->in) {
        memset(t->by_y, 1,
               (size_t)t->x.count * sizeof(*at) * (size_t)t->n *
                   (size_t)t->z.count);
    }
    for (int x = 0; x < t->x.count; x++) {
        for (int y = 0; y < t->y.count; y++) {
            for (int z = 0; z < t->n; z++) {
                *at++ = input(t->n, t->x.first + x, t->y.first + y, z);
            }
        }
    }
}

/** The largest difference from a serial transform, relative to its largest
 * number. */
static double difference(const transform_t *t)
{
    int n = t->n;
    fftw_complex *all = fftw_alloc_complex((size_t)n * (size_t)n * (size_t)n);
    fftw_plan plan =
        fftw_plan_dft_3d(n, n, n, all, all, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_complex *at = all;
    double most = 0;
    double largest = 0;
    for (int i = 0; i < n * n * n; i++) {
        *at++ = input(n, i / n / n, i / n % n, i % n);
    }
    fftw_execute(plan);
    const fftw_complex *own = t->out;
    for (int x = 0; x < n; x++) {
        for (int y = 0; y < t->y_end.count; y++) {
            for (int z = 0; z < t->z.count; z++) {
                fftw_complex right =
                    all[(x * n + t->y_end.first + y) * n + t->z.first + z];
                most = fmax(most, cabs(*own++ - right));
                largest = fmax(largest, cabs(right));
            }
        }
    }
    fftw_destroy_plan(plan);
    fftw_free(all);
    return largest > 0 ? most / largest : 0;
}

/* ---- the program ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/** The median of the times of the slowest rank. */
static double time_of(transform_t *t, bool computes, int repeat)
{
    catena_group_t *world = catena_world(context);
    double *times = calloc((size_t)repeat, sizeof(*times));
    if (times == NULL) {
        catena_abort(context, EXIT_FAILURE);
    }
    for (int i = -1; i < repeat; i++) { /* the first one touches memory */
        fill(t);                        /* new contents in each */
        check(catena_barrier(world), "barrier");
        double since = now();
        run(t, computes);
        double *time = &times[i < 0 ? 0 : i];
        *time = now() - since;
        check(catena_allreduce(CATENA_IN_PLACE, time, 1, CATENA_DOUBLE,
                               CATENA_MAX, world),
              "allreduce");
    }
    qsort(times, (size_t)repeat, sizeof(*times), compare_doubles);
    double median = times[repeat / 2];
    free(times);
    return median;
}

/** The divisor of `size` next to its square root, from below. */
static int square_columns(int size)
{
    int columns = 1;
    for (int i = 1; i * i <= size; i++) {
        columns = size % i == 0 ? i : columns;
    }
    return columns;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64;
    bool slabs = argc > 2 && strcmp(argv[2], "slabs") == 0;
    int repeat = argc > 3 ? atoi(argv[3]) : 5;
    bool known = argc <= 2 || slabs || strcmp(argv[2], "pencils") == 0;
    if (n < 1 || n > 2048 || repeat < 1 || !known || argc > 4) {
        fprintf(stderr, "usage: fft [N [slabs|pencils [REPEAT]]]\n");
        return EXIT_FAILURE;
    }
    if (catena_init(NULL, &context) != CATENA_OK) {
        return EXIT_FAILURE;
    }
    catena_group_t *world = catena_world(context);
    int size = catena_group_size(world);
    transform_t t;
    open_transform(&t, n, slabs ? 1 : square_columns(size));
    double exchange = time_of(&t, false, repeat);
    double all = time_of(&t, true, repeat);
    double error = n <= CHECK_MOST ? difference(&t) : 0;
    check(catena_allreduce(CATENA_IN_PLACE, &error, 1, CATENA_DOUBLE,
                           CATENA_MAX, world),
          "allreduce");
    if (catena_group_rank(world) == 0) {
        printf("%d^3 on %d ranks, %d x %d: %.3f ms, exchange alone %.3f ms", n,
               size, t.rows, t.columns, all * 1e3, exchange * 1e3);
        if (n <= CHECK_MOST) {
            printf(", difference from a serial transform %.1e", error);
        }
        printf("\n");
    }
    close_transform(&t);
    check(catena_finalize(&context), "finalize");
    return error <= 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
