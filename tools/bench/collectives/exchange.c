/* Exchanges results between ranks: on real ranks by catena_alltoall, on
 * simulated ranks through memory. */

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
    /* For zero bytes calloc may return NULL. */
    void *block = calloc(count != 0 ? count : 1, bytes != 0 ? bytes : 1);

    if (block == NULL)
        bench_die(bench, "memory for results", CATENA_ERR_NO_MEMORY);
    return block;
}

void bench_exchange(struct bench *bench, catena_group_t *group,
                    const void *send, void *recv, size_t bytes)
{
    catena_status_t status;

    status = catena_alltoall(send, bytes, CATENA_BYTE, recv, bytes, CATENA_BYTE,
                             group);
    if (status != CATENA_OK)
        bench_die(bench, "exchanging results", status);
}

void bench_fold(struct bench *bench, void *data, size_t bytes,
                bench_fold_t fold)
{
    size_t size = (size_t)bench->place.ranks;
    char *send, *recv;

    if (bench->simulation != NULL) {
        bench_simulation_fold(bench, data, bytes, fold);
        return;
    }
    send = bench_alloc(bench, 2 * size, bytes);
    recv = send + size * bytes;
    for (size_t i = 0; i < size; i++)
        memcpy(send + i * bytes, data, bytes);
    bench_exchange(bench, bench->control, send, recv, bytes);
    memcpy(data, recv, bytes);
    for (size_t i = 1; i < size; i++)
        fold(data, recv + i * bytes, bytes);
    free(send);
}

static void fold_max(void *into, const void *from, size_t bytes)
{
    uint64_t *a = into;
    const uint64_t *b = from;

    for (size_t i = 0; i < bytes / sizeof(*a); i++)
        if (b[i] > a[i])
            a[i] = b[i];
}

uint64_t bench_max(struct bench *bench, uint64_t value)
{
    bench_fold(bench, &value, sizeof(value), fold_max);
    return value;
}

static void fold_max_times(void *into, const void *from, size_t bytes)
{
    double *a = into;
    const double *b = from;

    for (size_t i = 0; i < bytes / sizeof(*a); i++)
        if (b[i] > a[i])
            a[i] = b[i];
}

/* Each rank gets the times of all ranks for a slice of the n iterations,
 * computes the maxima and sends them to rank 0. So no rank needs memory for all
 * times of all ranks. */
void bench_max_times(struct bench *bench, double *times, size_t n)
{
    size_t size = (size_t)bench->place.ranks;
    size_t slice = (n + size - 1) / size; /* iterations per rank */
    double *send, *recv;

    if (bench->simulation != NULL) {
        bench_simulation_fold(bench, times, n * sizeof(*times), fold_max_times);
        return;
    }
    send = bench_alloc(bench, 2 * size * slice, sizeof(*send));
    recv = send + size * slice;
    memcpy(send, times, n * sizeof(*times));
    bench_exchange(bench, bench->control, send, recv, slice * sizeof(*send));
    memset(send, 0, size * slice * sizeof(*send));
    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 0; i < slice; i++)
            if (recv[rank * slice + i] > send[i])
                send[i] = recv[rank * slice + i]; /* the block for rank 0 */
    bench_exchange(bench, bench->control, send, recv, slice * sizeof(*send));
    if (bench->place.rank == 0)
        memcpy(times, recv, n * sizeof(*times));
    free(send);
}

int bench_compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
