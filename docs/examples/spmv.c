/* Sparse matrix times vector. Rows of the matrix are dealt in blocks, and the
 * numbers of x that a block needs of others are its halo: a neighborhood, whose
 * edges weigh as much as they carry. Ranks find out who needs their rows by a
 * sparse exchange. With -r blocks that share heavy edges come onto one node.
 *
 *     cc -O2 spmv.c matrix.c -o spmv $(pkg-config --cflags --libs catena) -lm
 *     prun -n 16 --ppn 4 ./spmv -n 1000 -e 1 -r
 *     prun -n 4 ./spmv -f matrix.mtx */
#define _GNU_SOURCE
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "matrix.h"

enum { CHECKED = 5 }; /* products that are compared with serial ones */

/* How a product gets its halo. */
typedef enum way { BLOCKING, OVERLAP, PERSISTENT, WAYS } way_t;
static const char *const way_names[] = {"blocking", "overlap", "persistent"};

typedef struct options {
    matrix_kind_t kind;
    int reorder, steps, unchecked, brief;
} options_t;

/** A rank's block. */
typedef struct block {
    catena_group_t *group; /* rank i has block i */
    catena_neighborhood_t *neighborhood;
    catena_request_t *request; /* persistent */
    matrix_t matrix;
    halo_t halo;
    catena_received_t *wanted; /* rows that targets need, 8 bytes each */
    size_t sends;
    size_t *counts; /* [targets] of them */
    ptrdiff_t *send_at, *receive_at;
    double *send, *x, *y; /* x: own rows, then the halo */
    double scale;         /* by which products are multiplied */
} block_t;

static catena_context_t *context;

static void check(catena_status_t status, const char *what)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "spmv: %s: %s\n", what, catena_status_string(status));
        catena_abort(context, 1);
    }
}

static void *take(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    check(memory != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY, "memory");
    return memory;
}

static double reduce(const block_t *b, double value, catena_op_t op)
{
    double result = 0;
    check(catena_allreduce(&value, &result, 1, CATENA_DOUBLE, op, b->group),
          "allreduce");
    return result;
}

/* ---- a block and its neighbors ---- */

/** Loads this rank's block, and tells others which of their rows it needs. */
static void load(block_t *b, catena_group_t *group, const matrix_kind_t *kind)
{
    int ranks = catena_group_size(group);
    b->group = group;
    int64_t size = matrix_size(kind);
    int failed =
        size < 0 ||
        matrix_load(kind, size, ranks, catena_group_rank(group), &b->matrix) ||
        matrix_localize(&b->matrix, ranks, &b->halo);
    if (reduce(b, failed, CATENA_MAX) > 0) { /* rank 0 has printed its reason */
        if (!failed && catena_group_rank(b->group) == 0) {
            fprintf(stderr,
                    "spmv: another rank cannot load the matrix; expected "
                    "the file on all hosts\n");
        }
        catena_finalize(&context);
        exit(1);
    }
    size_t *bytes = take((size_t)b->halo.sources, sizeof(*bytes));
    for (int i = 0; i < b->halo.sources; i++) {
        bytes[i] = b->halo.counts[i] * sizeof(int64_t);
    }
    check(catena_sparse_exchange(group, b->halo.sources, b->halo.source,
                                 b->halo.column, bytes, NULL, &b->wanted),
          "sparse exchange");
    free(bytes);
}

static void unload(block_t *b)
{
    catena_received_free(&b->wanted);
    halo_free(&b->halo);
    matrix_free(&b->matrix);
}

/** The neighborhood of the blocks that this one needs and that need it. */
static void connect(block_t *b, int reorder)
{
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .reorder = reorder,
                                       .operations = CATENA_NEIGHBOR_ALLTOALL,
                                       .bytes = sizeof(double)};
    int targets = b->wanted->count;
    int *weights = take((size_t)(b->halo.sources + targets), sizeof(int));
    for (int i = 0; i < b->halo.sources; i++) {
        weights[i] = (int)b->halo.counts[i];
    }
    for (int i = 0; i < targets; i++) {
        weights[b->halo.sources + i] =
            (int)(b->wanted->bytes[i] / sizeof(int64_t));
    }
    check(catena_neighborhood_create(b->group, b->halo.sources, b->halo.source,
                                     weights, targets, b->wanted->sources,
                                     weights + b->halo.sources, &info,
                                     &b->neighborhood),
          "neighborhood");
    free(weights);
}

/** What is sent from where, and received to where. */
static void place(block_t *b)
{
    size_t targets = (size_t)b->wanted->count;
    b->counts = take(targets, sizeof(*b->counts));
    b->send_at = take(targets, sizeof(*b->send_at));
    b->receive_at = take((size_t)b->halo.sources, sizeof(*b->receive_at));
    for (size_t i = 0; i < targets; i++) {
        b->counts[i] = b->wanted->bytes[i] / sizeof(int64_t);
        b->send_at[i] = (ptrdiff_t)b->sends;
        b->sends += b->counts[i];
    }
    ptrdiff_t at = (ptrdiff_t)b->matrix.rows;
    for (int i = 0; i < b->halo.sources; i++) {
        b->receive_at[i] = at;
        at += (ptrdiff_t)b->halo.counts[i];
    }
    b->send = catena_calloc(context, b->sends + 1, sizeof(double));
    b->x = catena_calloc(context, (size_t)at + 1, sizeof(double));
    b->y = take(b->matrix.rows, sizeof(double));
    check(b->send != NULL && b->x != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY,
          "vectors");
    check(catena_neighbor_alltoallv_init(b->send, b->counts, b->send_at,
                                         CATENA_DOUBLE, b->x, b->halo.counts,
                                         b->receive_at, CATENA_DOUBLE,
                                         b->neighborhood, &b->request),
          "persistent request");
}

/* ---- products ---- */

static void pack(const block_t *b)
{
    const int64_t *row = b->wanted->data;
    for (size_t i = 0; i < b->sends; i++) {
        b->send[i] = b->x[row[i] - b->matrix.first];
    }
}

/** Gets the halo of x, and y = A x. Without `compute` the halo only. */
static void multiply(block_t *b, way_t way, int compute)
{
    size_t rows = compute ? b->matrix.rows : 0;
    size_t inner = compute ? b->matrix.inner : 0;
    catena_request_t *request = b->request;
    pack(b);
    if (way == BLOCKING) {
        check(catena_neighbor_alltoallv(b->send, b->counts, b->send_at,
                                        CATENA_DOUBLE, b->x, b->halo.counts,
                                        b->receive_at, CATENA_DOUBLE,
                                        b->neighborhood),
              "neighbor_alltoallv");
        matrix_multiply(&b->matrix, 0, rows, b->x, b->y);
        return;
    }
    if (way == OVERLAP) {
        check(catena_ineighbor_alltoallv(b->send, b->counts, b->send_at,
                                         CATENA_DOUBLE, b->x, b->halo.counts,
                                         b->receive_at, CATENA_DOUBLE,
                                         b->neighborhood, &request),
              "ineighbor_alltoallv");
    } else {
        check(catena_request_start(request), "start");
    }
    matrix_multiply(&b->matrix, 0, inner, b->x, b->y);
    check(catena_request_wait(&request), "wait");
    matrix_multiply(&b->matrix, inner, rows, b->x, b->y);
}

static void begin_vector(double *x, int64_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        x[i] = 1 + (double)((first + (int64_t)i) % 17) / 17;
    }
}

static void next_vector(double *x, const double *y, size_t rows, double scale)
{
    for (size_t i = 0; i < rows; i++) {
        x[i] = scale * y[i];
    }
}

/** By the largest sum of a row, so that vectors do not grow. */
static void find_scale(block_t *b)
{
    double most = 0;
    for (size_t row = 0; row < b->matrix.rows; row++) {
        double sum = 0;
        for (size_t i = b->matrix.begin[row]; i < b->matrix.begin[row + 1];
             i++) {
            sum += fabs(b->matrix.value[i]);
        }
        most = fmax(most, sum);
    }
    most = reduce(b, most, CATENA_MAX);
    b->scale = most > 0 ? 1 / most : 1;
}

/** Microseconds of a product, or of an exchange, at the slowest rank. */
static double measure(block_t *b, way_t way, int compute, int steps)
{
    begin_vector(b->x, b->matrix.first, b->matrix.rows);
    multiply(b, way, compute);
    check(catena_barrier(b->group), "barrier");
    double begin = catena_time(context);
    for (int i = 0; i < steps; i++) {
        multiply(b, way, compute);
        if (compute) {
            next_vector(b->x, b->y, b->matrix.rows, b->scale);
        }
    }
    return reduce(b, (catena_time(context) - begin) / steps * 1e6, CATENA_MAX);
}

/* ---- the check ---- */

/** Some products of the whole matrix, at rank 0. */
static double *multiply_serially(const block_t *b, const matrix_kind_t *kind)
{
    matrix_t all = {0};
    size_t rows = (size_t)b->matrix.size;
    double *x = take(rows, sizeof(*x));
    double *y = take(rows, sizeof(*y));
    if (matrix_load(kind, b->matrix.size, 1, 0, &all) != 0) {
        catena_abort(context, 1);
    }
    begin_vector(x, 0, rows);
    for (int i = 0; i < CHECKED; i++) {
        matrix_multiply(&all, 0, rows, x, y);
        next_vector(x, y, rows, b->scale);
    }
    matrix_free(&all);
    free(y);
    return x;
}

/** The largest difference to the serial products, relative to the largest
 * number. The same at all ranks. */
static double verify(block_t *b, way_t way, const double *serial)
{
    int ranks = catena_group_size(b->group);
    size_t *counts = take((size_t)ranks, sizeof(*counts));
    ptrdiff_t *at = take((size_t)ranks, sizeof(*at));
    double *all =
        take(serial != NULL ? (size_t)b->matrix.size : 0, sizeof(*all));
    for (int i = 0; i < ranks; i++) {
        at[i] = matrix_first(b->matrix.size, ranks, i);
        counts[i] =
            (size_t)(matrix_first(b->matrix.size, ranks, i + 1) - at[i]);
    }
    begin_vector(b->x, b->matrix.first, b->matrix.rows);
    for (int i = 0; i < CHECKED; i++) {
        multiply(b, way, 1);
        next_vector(b->x, b->y, b->matrix.rows, b->scale);
    }
    check(catena_gatherv(b->x, b->matrix.rows, CATENA_DOUBLE, all, counts, at,
                         CATENA_DOUBLE, 0, b->group),
          "gatherv");
    double difference = 0, largest = 0;
    for (int64_t i = 0; serial != NULL && i < b->matrix.size; i++) {
        double wrong = fabs(all[i] - serial[i]);
        if (!(wrong <= difference)) {
            difference = isnan(wrong) ? INFINITY : wrong;
        }
        largest = fmax(largest, fabs(serial[i]));
    }
    free(all);
    free(at);
    free(counts);
    return reduce(b, largest > 0 ? difference / largest : 0, CATENA_MAX);
}

/* ---- the program ---- */

static void describe(const block_t *b, const options_t *options, int ranks)
{
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    const matrix_kind_t *kind = &options->kind;
    check(catena_neighborhood_get_stats(b->neighborhood, &stats), "stats");
    double entries =
        reduce(b, (double)b->matrix.begin[b->matrix.rows], CATENA_SUM);
    double sources = reduce(b, b->halo.sources, CATENA_MAX);
    double halo = reduce(b, (double)b->halo.count, CATENA_MAX);
    double inner = reduce(b, (double)b->matrix.inner, CATENA_SUM);
    if (catena_group_rank(b->group) != 0 || options->brief) {
        return;
    }
    if (kind->file != NULL) {
        printf("%s: ", kind->file);
    } else {
        printf("%d-D Laplacian, side %d, %d random entries a row: ", kind->dims,
               kind->side, kind->extra);
    }
    printf("%lld rows, %.0f entries\n", (long long)b->matrix.size, entries);
    printf("%d ranks of %lld rows; up to %.0f sources, %.0f numbers of halo; "
           "%.1f%% of the rows need none\n",
           ranks, (long long)(b->matrix.size / ranks), sources, halo,
           100 * inner / (double)b->matrix.size);
    printf("%llu of %llu numbers go between nodes",
           (unsigned long long)stats.weight_between,
           (unsigned long long)stats.weight_all);
    if (options->reorder) {
        printf(", %llu before ranks were reordered",
               (unsigned long long)stats.weight_before);
    }
    printf("\n\n%-12s %12s %12s %9s\n", "", "product, us", "halo, us",
           "GFLOP/s");
}

/** Measures each way, and compares it with the serial product. */
static void run(block_t *b, const options_t *options)
{
    int root = catena_group_rank(b->group) == 0;
    double *serial = root && !options->unchecked
                         ? multiply_serially(b, &options->kind)
                         : NULL;
    double entries =
        reduce(b, (double)b->matrix.begin[b->matrix.rows], CATENA_SUM);
    double worst = 0;
    for (way_t way = 0; way < WAYS; way++) {
        double product = measure(b, way, 1, options->steps);
        double halo = measure(b, way, 0, options->steps);
        if (!options->unchecked) {
            worst = fmax(worst, verify(b, way, serial));
        }
        if (root) {
            printf(options->brief ? "%s %.2f %.2f\n"
                                  : "%-12s %12.1f %12.1f %9.2f\n",
                   way_names[way], product, halo, 2e-3 * entries / product);
        }
    }
    if (root && !options->unchecked && !options->brief) {
        printf("\ndifference from serial products: %.1e\n", worst);
    }
    free(serial);
    if (worst > 1e-12) {
        check(CATENA_ERR_ARG, "the product is wrong");
    }
}

static int number(const char *text, int least)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= least &&
                   value <= 1000000000
               ? (int)value
               : -1;
}

/** @return 0: a wrong option, or none of the numbers that it takes */
static int read_options(int argc, char **argv, options_t *options)
{
    int option, good = 1;
    *options = (options_t){
        .kind = {.dims = 2, .side = 500, .extra = 0, .seed = 1}, .steps = 100};
    while (good && (option = getopt(argc, argv, "f:d:n:e:s:t:rub")) != -1) {
        int value = strchr("dnest", option) != NULL
                        ? number(optarg, strchr("es", option) != NULL ? 0 : 1)
                        : 1;
        good = value >= 0 && option != '?';
        switch (option) {
        case 'f':
            options->kind.file = optarg;
            break;
        case 'd':
            options->kind.dims = value;
            break;
        case 'n':
            options->kind.side = value;
            break;
        case 'e':
            options->kind.extra = value;
            break;
        case 's':
            options->kind.seed = (uint64_t)value;
            break;
        case 't':
            options->steps = value;
            break;
        case 'r':
            options->reorder = 1;
            break;
        case 'u':
            options->unchecked = 1;
            break;
        case 'b':
            options->brief = 1;
            break;
        default:
            break;
        }
    }
    return good && optind == argc && options->kind.dims <= 3 &&
           pow(options->kind.side, options->kind.dims) < 1e9;
}

int main(int argc, char **argv)
{
    options_t options;
    block_t block = {0};
    if (!read_options(argc, argv, &options)) {
        fprintf(
            stderr,
            "usage: spmv [-f FILE | -d DIMENSIONS -n SIDE -e EXTRA -s SEED] "
            "[-t STEPS] [-r] [-u] [-b]\n"
            "  -f  a Matrix Market file; else the Laplacian of a grid of 1 "
            "to 3 dimensions (2),\n"
            "      SIDE points along each (500), with random entries in "
            "each row (0)\n"
            "  -r  reorder ranks   -u  not checked   -b  brief: lines of "
            "way, product and halo\n");
        return 2;
    }
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    options.kind.quiet = catena_group_rank(catena_world(context)) != 0;
    load(&block, catena_world(context), &options.kind);
    connect(&block, options.reorder);
    if (options.reorder) { /* this rank may have got another block */
        unload(&block);
        load(&block, catena_neighborhood_group(block.neighborhood),
             &options.kind);
    }
    place(&block);
    find_scale(&block);
    describe(&block, &options, catena_group_size(block.group));
    run(&block, &options);
    catena_request_free(&block.request);
    catena_neighborhood_free(&block.neighborhood);
    catena_free(context, block.x);
    catena_free(context, block.send);
    free(block.y);
    free(block.counts);
    free(block.send_at);
    free(block.receive_at);
    unload(&block);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
