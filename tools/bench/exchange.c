/* Results between ranks, with the collectives the library has. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void bench_die(struct bench *bench, const char *what, catena_status_t status)
{
    fprintf(stderr, "catena-bench: rank %d: %s: %s\n", bench->place.rank, what,
            catena_status_string(status));
    catena_abort(bench->context, BENCH_FAILED);
}

void *bench_alloc(struct bench *bench, size_t count, size_t bytes)
{
    /* calloc(0) may give NULL */
    void *block = calloc(count != 0 ? count : 1, bytes != 0 ? bytes : 1);

    if (block == NULL)
        bench_die(bench, "memory for results", CATENA_ERR_NO_MEMORY);
    return block;
}

void bench_exchange(struct bench *bench, const void *send, void *recv,
                    size_t bytes)
{
    catena_status_t status;

    status = catena_alltoall(send, recv, bytes, CATENA_BYTE, bench->control);
    if (status != CATENA_OK)
        bench_die(bench, "exchanging results", status);
}

uint64_t bench_max(struct bench *bench, uint64_t value)
{
    size_t size = (size_t)bench->place.size;
    uint64_t *send = bench_alloc(bench, 2 * size, sizeof(*send));
    uint64_t *recv = send + size;

    for (size_t i = 0; i < size; i++)
        send[i] = value;
    bench_exchange(bench, send, recv, sizeof(value));
    for (size_t i = 0; i < size; i++)
        if (recv[i] > value)
            value = recv[i];
    free(send);
    return value;
}

/* Each rank takes a slice of the iterations, finds its maxima, and sends
 * them to rank 0, so that no rank needs memory for all times of all. */
void bench_max_times(struct bench *bench, double *times, size_t n)
{
    size_t size = (size_t)bench->place.size;
    size_t slice = (n + size - 1) / size;
    double *send = bench_alloc(bench, 2 * size * slice, sizeof(*send));
    double *recv = send + size * slice;

    memcpy(send, times, n * sizeof(*times));
    bench_exchange(bench, send, recv, slice * sizeof(*send));
    memset(send, 0, size * slice * sizeof(*send));
    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 0; i < slice; i++)
            if (recv[rank * slice + i] > send[i])
                send[i] = recv[rank * slice + i]; /* block for rank 0 */
    bench_exchange(bench, send, recv, slice * sizeof(*send));
    if (bench->place.rank == 0)
        memcpy(times, recv, n * sizeof(*times));
    free(send);
}

int bench_compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
