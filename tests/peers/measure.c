/* measure COLLECTIVE MIN:MAX [MILLISECONDS]: time a collective over block
 * sizes, each for about so many milliseconds, as the OSU benchmarks do: a
 * barrier, then the time that one call takes on each rank, averaged over calls
 * and ranks. The contents are new in every call, so no library profits from
 * data that is still where it was. The first and last calls are checked byte by
 * byte. "split" has no sizes: groups of every other rank, other ones in every
 * call, and their first barrier; freeing them is not timed. Rank 0 prints:
 * name,collective,ranks,bytes,avg_us,max_us,calls,errors
 */

#include "peer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_CALLS = 5, MOST_CALLS = 2000, CHECKED_CALLS = 2 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t seed_of(unsigned call, int source, int target)
{
    return mix((uint64_t)call << 32 ^ (uint64_t)source << 16 ^
               (uint64_t)target);
}

/* Fast, so that contents can change in every call. */
static void fill_row(unsigned char *row, size_t bytes, uint64_t seed)
{
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += 0x0101010101010101u)
        memcpy(row + i, &seed, 8);
    memcpy(row + i, &seed, bytes - i);
}

static uint64_t row_errors(const unsigned char *row, size_t bytes,
                           uint64_t seed)
{
    uint64_t errors = 0;
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += 0x0101010101010101u)
        errors += memcmp(row + i, &seed, 8) != 0;
    return errors + (memcmp(row + i, &seed, bytes - i) != 0);
}

/* Two groups, then one, with other colors in every call; and every other call
 * turns the order of the ranks round: no library profits from the group of the
 * call before. */
static unsigned groups_in(unsigned number)
{
    return number / 2 % 2 + 1;
}

static void choose_group(struct peer_call *call, unsigned number)
{
    call->color =
        (int)(((unsigned)call->rank % groups_in(number) + number) % 2);
    call->key = number % 2 == 0 ? call->rank : -call->rank;
}

static uint64_t group_errors(const struct peer_call *call, unsigned number)
{
    int groups = (int)groups_in(number);
    int size = (call->size + groups - 1 - call->rank % groups) / groups;
    int rank = call->rank / groups;

    if (number % 2 != 0)
        rank = size - 1 - rank;
    return (uint64_t)(call->new_size != size) + (call->new_rank != rank);
}

static void fill(struct peer_call *call, unsigned number)
{
    if (call->split)
        choose_group(call, number);
    for (int d = 0; d < call->size; d++) {
        const struct peer_block *b = &call->sends[d];

        for (size_t r = 0; r < b->rows; r++)
            fill_row(call->send + b->offset + r * b->stride, b->row_bytes,
                     seed_of(number, call->rank, d) + r);
    }
}

static uint64_t check(const struct peer_call *call, unsigned number)
{
    uint64_t errors = call->split ? group_errors(call, number) : 0;

    for (int s = 0; s < call->size; s++) {
        const struct peer_block *b = &call->recvs[s];

        for (size_t r = 0; r < b->rows; r++)
            errors +=
                row_errors(call->recv + b->offset + r * b->stride, b->row_bytes,
                           seed_of(number, s, call->rank) + r);
    }
    return errors;
}

/* ---- what goes where ---- */

/* Random counts for alltoallv: a quarter is zero, the rest up to such a size
 * that the mean is `bytes`. */
static size_t count_between(size_t bytes, int source, int target)
{
    uint64_t random = seed_of(12345, source, target);

    if (random % 4 == 0)
        return 0;
    return (size_t)((random >> 8) % (8 * bytes / 3 + 1));
}

static void lay_out(const char *collective, size_t bytes, int rank, int size,
                    bool sending, struct peer_block *blocks, size_t *row_length)
{
    bool v = strcmp(collective, "alltoallv") == 0;
    bool w = strcmp(collective, "alltoallw") == 0;
    size_t width = bytes / 8 > 8 ? bytes / 8 : bytes < 8 ? bytes : 8;
    size_t at = 0;

    *row_length = width * (size_t)size;
    for (int p = 0; p < size; p++) {
        struct peer_block *b = &blocks[p];

        *b = (struct peer_block){at, 1, bytes, 0};
        if (v)
            b->row_bytes = sending ? count_between(bytes, rank, p)
                                   : count_between(bytes, p, rank);
        if (w) /* columns of a matrix of all ranks' columns */
            *b = (struct peer_block){(size_t)p * width, bytes / width, width,
                                     *row_length};
        at += b->row_bytes;
    }
}

static size_t extent(const struct peer_block *blocks, int size)
{
    size_t end = 1;

    for (int p = 0; p < size; p++) {
        const struct peer_block *b = &blocks[p];
        size_t last = b->offset + (b->rows - 1) * b->stride + b->row_bytes;

        end = last > end ? last : end;
    }
    return end;
}

/* ---- the loop ---- */

struct result {
    double avg_us, max_us;
    double errors;
    unsigned calls;
};

static double timed_call(struct peer_call *call, unsigned number)
{
    double begin, end;

    fill(call, number);
    peer_barrier();
    begin = now_us();
    peer_run(call);
    end = now_us();
    if (call->split)
        peer_finish(call);
    return end - begin;
}

static double largest(const double *values, int n)
{
    double most = values[0];

    for (int i = 1; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static double sum(const double *values, int n)
{
    double all = 0;

    for (int i = 0; i < n; i++)
        all += values[i];
    return all;
}

/* How many calls take about `budget_us`, with all that is around them. */
static unsigned plan(struct peer_call *call, double budget_us, double *all,
                     unsigned *number, double *errors)
{
    double begin = now_us(), calls;

    for (int i = 0; i < CHECKED_CALLS; i++) {
        timed_call(call, ++*number);
        *errors += (double)check(call, *number);
    }
    for (int i = 0; i < LEAST_CALLS; i++) {
        if (i == 1)
            begin = now_us();
        timed_call(call, ++*number);
    }
    peer_gather(now_us() - begin, all, call->size);
    calls = budget_us * (LEAST_CALLS - 1) / largest(all, call->size);
    if (calls > MOST_CALLS)
        return MOST_CALLS;
    return calls < LEAST_CALLS ? LEAST_CALLS : (unsigned)calls;
}

static struct result measure(struct peer_call *call, double budget_us)
{
    static unsigned number;
    double *all = calloc((size_t)call->size, sizeof(*all));
    struct result result = {0};
    double errors = 0, time_us = 0;

    if (all == NULL)
        peer_abort("no memory");
    result.calls = plan(call, budget_us, all, &number, &errors);
    for (unsigned i = 0; i < result.calls; i++)
        time_us += timed_call(call, ++number);
    errors += (double)check(call, number);
    peer_gather(time_us / result.calls, all, call->size);
    result.avg_us = sum(all, call->size) / call->size;
    result.max_us = largest(all, call->size);
    peer_gather(errors, all, call->size);
    result.errors = sum(all, call->size);
    free(all);
    return result;
}

static bool run_size(const char *collective, size_t bytes, double budget_us,
                     int rank, int size)
{
    struct peer_block *blocks = calloc(2 * (size_t)size, sizeof(*blocks));
    struct peer_call call = {.collective = collective,
                             .rank = rank,
                             .size = size,
                             .bytes = bytes,
                             .split = strcmp(collective, "split") == 0,
                             .sends = blocks,
                             .recvs = blocks + size};
    struct result result;

    if (blocks == NULL)
        peer_abort("no memory");
    lay_out(collective, bytes, rank, size, true, blocks, &call.row_length);
    lay_out(collective, bytes, rank, size, false, blocks + size,
            &call.row_length);
    call.send = peer_alloc(extent(call.sends, size));
    call.recv = peer_alloc(extent(call.recvs, size));
    memset(call.recv, 0, extent(call.recvs, size));
    if (!peer_prepare(&call)) {
        if (rank == 0)
            fprintf(stderr, "measure: %s has no %s\n", peer_name, collective);
        return false;
    }
    result = measure(&call, budget_us);
    if (rank == 0)
        printf("%s,%s,%d,%zu,%.3f,%.3f,%u,%.0f\n", peer_name, collective, size,
               bytes, result.avg_us, result.max_us, result.calls,
               result.errors);
    peer_release(&call);
    peer_free(call.send);
    peer_free(call.recv);
    free(blocks);
    return result.errors == 0;
}

int main(int argc, char **argv)
{
    size_t min, max;
    double budget_us = 30e3;
    bool good = true;
    int rank, size;

    peer_start(&argc, &argv, &rank, &size);
    if (argc < 3 || sscanf(argv[2], "%zu:%zu", &min, &max) != 2 || min == 0 ||
        (argc > 3 && (budget_us = 1e3 * atof(argv[3])) <= 0)) {
        if (rank == 0)
            fprintf(stderr, "usage: %s COLLECTIVE MIN:MAX [MILLISECONDS]\n",
                    argv[0]);
        peer_stop();
        return 2;
    }
    if (strcmp(argv[1], "split") == 0)
        min = max = 0;
    for (size_t bytes = min; bytes <= max; bytes *= 2) {
        good &= run_size(argv[1], bytes, budget_us, rank, size);
        if (bytes == 0)
            break;
    }
    peer_stop();
    return good ? 0 : 1;
}
