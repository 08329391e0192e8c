/* What docs/examples/fft.c computes, by FFTW's MPI transforms: slabs, output
 * transposed. And its exchange alone: FFTW's transpose of the slabs.
 * usage: fftw_mpi N [REPEAT] */

#include <complex.h>
#include <fftw3-mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/** The median of the times of the slowest rank, in ms. */
static double time_of(fftw_plan plan, fftw_complex *data, ptrdiff_t count,
                      int repeat)
{
    double *times = calloc((size_t)repeat, sizeof(*times));
    for (int i = -1; i < repeat; i++) { /* the first one touches memory */
        for (ptrdiff_t k = 0; k < count; k++) {
            data[k] = (double)(k % 97) - 48 + I * (double)(k % 89);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        double since = MPI_Wtime();
        fftw_execute(plan);
        double *time = &times[i < 0 ? 0 : i];
        *time = (MPI_Wtime() - since) * 1e3;
        MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE, MPI_MAX,
                      MPI_COMM_WORLD);
    }
    qsort(times, (size_t)repeat, sizeof(*times), compare_doubles);
    double median = times[repeat / 2];
    free(times);
    return median;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    ptrdiff_t n = argc > 1 ? atol(argv[1]) : 64;
    int repeat = argc > 2 ? atoi(argv[2]) : 5;
    int rank;
    int size;
    ptrdiff_t x_count, x_first, y_count, y_first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ptrdiff_t count = fftw_mpi_local_size_3d_transposed(
        n, n, n, MPI_COMM_WORLD, &x_count, &x_first, &y_count, &y_first);
    fftw_complex *in = fftw_alloc_complex((size_t)count);
    fftw_complex *out = fftw_alloc_complex((size_t)count);
    fftw_plan transform =
        fftw_mpi_plan_dft_3d(n, n, n, in, out, MPI_COMM_WORLD, FFTW_FORWARD,
                             FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan transpose = fftw_mpi_plan_many_transpose(
        n, n, 2 * n, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
        (double *)in, (double *)out, MPI_COMM_WORLD, FFTW_MEASURE);
    double exchange = time_of(transpose, in, x_count * n * n, repeat);
    double all = time_of(transform, in, x_count * n * n, repeat);
    if (rank == 0) {
        printf("%td^3 on %d ranks: %.3f ms, exchange alone %.3f ms\n", n, size,
               all, exchange);
    }
    fftw_destroy_plan(transform);
    fftw_destroy_plan(transpose);
    fftw_free(in);
    fftw_free(out);
    MPI_Finalize();
    return 0;
}
