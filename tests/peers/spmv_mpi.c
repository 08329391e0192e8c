/* docs/examples/spmv.c with MPI: MPI_Neighbor_alltoallv and its nonblocking
 * form in the place of catena's. The rows that others need are found by
 * MPI_Alltoall and MPI_Alltoallv. Same options, but -u and -b: prints lines of
 * way, product and halo, in microseconds, and checks the products. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../docs/examples/matrix.h"

enum { CHECKED = 5 };

static MPI_Comm comm;
static int ranks, rank;
static matrix_t matrix;
static halo_t halo;
static int targets, *target, *send_counts, *send_at, *counts, *receive_at;
static size_t sends;
static int64_t *wanted; /* [sends] */
static double *send, *x, *y, scale;

static void *take(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "spmv_mpi: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static double reduce(double value, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return value;
}

/** Who needs which of this block's rows. */
static void find_targets(void)
{
    size_t n = (size_t)ranks;
    int *ask = take(n, sizeof(int)), *asked = take(n, sizeof(int));
    int *ask_at = take(n, sizeof(int)), *asked_at = take(n, sizeof(int));
    for (int i = 0, at = 0; i < halo.sources; i++) {
        ask[halo.source[i]] = (int)halo.counts[i];
        ask_at[halo.source[i]] = at;
        at += (int)halo.counts[i];
    }
    MPI_Alltoall(ask, 1, MPI_INT, asked, 1, MPI_INT, comm);
    target = take(n, sizeof(int));
    send_counts = take(n, sizeof(int));
    send_at = take(n, sizeof(int));
    targets = 0;
    sends = 0;
    for (int i = 0; i < ranks; i++) {
        asked_at[i] = (int)sends;
        if (asked[i] > 0) {
            target[targets] = i;
            send_counts[targets] = asked[i];
            send_at[targets++] = (int)sends;
            sends += (size_t)asked[i];
        }
    }
    wanted = take(sends, sizeof(*wanted));
    MPI_Alltoallv(halo.column, ask, ask_at, MPI_INT64_T, wanted, asked,
                  asked_at, MPI_INT64_T, comm);
    free(ask);
    free(asked);
    free(ask_at);
    free(asked_at);
}

static void load(const matrix_kind_t *kind)
{
    int64_t size = matrix_size(kind);
    MPI_Comm_rank(comm, &rank);
    if (size < 0 || matrix_load(kind, size, ranks, rank, &matrix) != 0 ||
        matrix_localize(&matrix, ranks, &halo) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    find_targets();
}

static void connect(int reorder)
{
    size_t sources = (size_t)halo.sources;
    MPI_Comm made;
    counts = take(sources, sizeof(int));
    for (int i = 0; i < halo.sources; i++) {
        counts[i] = (int)halo.counts[i];
    }
    MPI_Dist_graph_create_adjacent(comm, halo.sources, halo.source, counts,
                                   targets, target, send_counts, MPI_INFO_NULL,
                                   reorder, &made);
    comm = made;
}

static void place(void)
{
    int at = (int)matrix.rows;
    counts = take((size_t)halo.sources, sizeof(int));
    receive_at = take((size_t)halo.sources, sizeof(int));
    for (int i = 0; i < halo.sources; i++) {
        counts[i] = (int)halo.counts[i];
        receive_at[i] = at;
        at += counts[i];
    }
    send = take(sends, sizeof(double));
    x = take((size_t)at, sizeof(double));
    y = take(matrix.rows, sizeof(double));
}

static void multiply(int overlap, int compute)
{
    size_t rows = compute ? matrix.rows : 0;
    size_t inner = compute ? matrix.inner : 0;
    for (size_t i = 0; i < sends; i++) {
        send[i] = x[wanted[i] - matrix.first];
    }
    if (overlap) {
        MPI_Request request;
        MPI_Ineighbor_alltoallv(send, send_counts, send_at, MPI_DOUBLE, x,
                                counts, receive_at, MPI_DOUBLE, comm, &request);
        matrix_multiply(&matrix, 0, inner, x, y);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        matrix_multiply(&matrix, inner, rows, x, y);
    } else {
        MPI_Neighbor_alltoallv(send, send_counts, send_at, MPI_DOUBLE, x,
                               counts, receive_at, MPI_DOUBLE, comm);
        matrix_multiply(&matrix, 0, rows, x, y);
    }
}

static void begin_vector(double *vector, int64_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        vector[i] = 1 + (double)((first + (int64_t)i) % 17) / 17;
    }
}

static void next_vector(double *next, const double *product, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        next[i] = scale * product[i];
    }
}

static void find_scale(void)
{
    double most = 0;
    for (size_t row = 0; row < matrix.rows; row++) {
        double sum = 0;
        for (size_t i = matrix.begin[row]; i < matrix.begin[row + 1]; i++) {
            sum += fabs(matrix.value[i]);
        }
        most = fmax(most, sum);
    }
    most = reduce(most, MPI_MAX);
    scale = most > 0 ? 1 / most : 1;
}

static double measure(int overlap, int compute, int steps)
{
    begin_vector(x, matrix.first, matrix.rows);
    multiply(overlap, compute);
    MPI_Barrier(comm);
    double begin = MPI_Wtime();
    for (int i = 0; i < steps; i++) {
        multiply(overlap, compute);
        if (compute) {
            next_vector(x, y, matrix.rows);
        }
    }
    return reduce((MPI_Wtime() - begin) / steps * 1e6, MPI_MAX);
}

/** Some products of the whole matrix, at rank 0; else NULL. */
static double *multiply_serially(const matrix_kind_t *kind)
{
    matrix_t all = {0};
    size_t rows = (size_t)matrix.size;
    if (rank != 0) {
        return NULL;
    }
    double *own = take(rows, sizeof(*own)), *product = take(rows, sizeof(*own));
    if (matrix_load(kind, matrix.size, 1, 0, &all) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    begin_vector(own, 0, rows);
    for (int i = 0; i < CHECKED; i++) {
        matrix_multiply(&all, 0, rows, own, product);
        next_vector(own, product, rows);
    }
    matrix_free(&all);
    free(product);
    return own;
}

/** Rank 0 compares all products with the serial ones. */
static void verify(int overlap, const double *serial)
{
    size_t rows = serial != NULL ? (size_t)matrix.size : 0;
    int *lengths = take((size_t)ranks, sizeof(int));
    int *at = take((size_t)ranks, sizeof(int));
    double *all = take(rows, sizeof(*all));
    double difference = 0, largest = 0;
    for (int i = 0; i < ranks; i++) {
        at[i] = (int)matrix_first(matrix.size, ranks, i);
        lengths[i] = (int)matrix_first(matrix.size, ranks, i + 1) - at[i];
    }
    begin_vector(x, matrix.first, matrix.rows);
    for (int i = 0; i < CHECKED; i++) {
        multiply(overlap, 1);
        next_vector(x, y, matrix.rows);
    }
    MPI_Gatherv(x, (int)matrix.rows, MPI_DOUBLE, all, lengths, at, MPI_DOUBLE,
                0, comm);
    for (size_t i = 0; i < rows; i++) {
        double wrong = fabs(all[i] - serial[i]);
        if (!(wrong <= difference)) {
            difference = isnan(wrong) ? INFINITY : wrong;
        }
        largest = fmax(largest, fabs(serial[i]));
    }
    if (difference > 1e-12 * largest) {
        fprintf(stderr, "spmv_mpi: the product is wrong\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(all);
    free(at);
    free(lengths);
}

int main(int argc, char **argv)
{
    matrix_kind_t kind = {.dims = 2, .side = 500, .seed = 1};
    int option, reorder = 0, steps = 100, unchecked = 0;
    while ((option = getopt(argc, argv, "f:d:n:e:s:t:rub")) != -1) {
        switch (option) {
        case 'f':
            kind.file = optarg;
            break;
        case 'd':
            kind.dims = atoi(optarg);
            break;
        case 'n':
            kind.side = atoi(optarg);
            break;
        case 'e':
            kind.extra = atoi(optarg);
            break;
        case 's':
            kind.seed = (uint64_t)atoi(optarg);
            break;
        case 't':
            steps = atoi(optarg);
            break;
        case 'r':
            reorder = 1;
            break;
        case 'u':
            unchecked = 1;
            break;
        default:
            break;
        }
    }
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_size(comm, &ranks);
    load(&kind);
    connect(reorder);
    if (reorder) {
        load(&kind); /* the graph has the lists of the new ranks */
    }
    place();
    find_scale();
    double *serial = unchecked ? NULL : multiply_serially(&kind);
    for (int overlap = 0; overlap < 2; overlap++) {
        double product = measure(overlap, 1, steps);
        double exchange = measure(overlap, 0, steps);
        if (!unchecked) {
            verify(overlap, serial);
        }
        if (rank == 0) {
            printf("%s %.2f %.2f\n", overlap ? "overlap" : "blocking", product,
                   exchange);
        }
    }
    free(serial);
    MPI_Finalize();
    return 0;
}
