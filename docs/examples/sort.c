/* A sample sort: numbers that are spread over the ranks are sorted, and rank 0
 * has the smallest. Shows allgather, alltoall, alltoallv, exscan and allreduce.
 *
 *     prun -n 4 ./sort 100000 */
#include <catena/catena.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check(const char *what, catena_status_t status,
                  catena_context_t *context)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s: %s\n", what, catena_status_string(status));
        catena_abort(context, 1);
    }
}

/** Blocks that follow each other: where each begins. @return their sum */
static size_t place(const size_t counts[], ptrdiff_t places[], int size)
{
    size_t all = 0;
    for (int i = 0; i < size; i++) {
        places[i] = (ptrdiff_t)all;
        all += counts[i];
    }
    return all;
}

/** Random numbers (xorshift), others on each rank. */
static void fill(int64_t numbers[], size_t count, int rank)
{
    uint64_t random = 88172645463325252u + (uint64_t)rank;
    for (size_t i = 0; i < count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        numbers[i] = (int64_t)(random >> 16);
    }
}

/** How many of the sorted numbers each rank gets: those up to the limit of the
 * next one. */
static void deal(const int64_t numbers[], size_t count, const int64_t limits[],
                 size_t counts[], size_t ranks)
{
    size_t at = 0;
    for (size_t to = 0; to < ranks; to++) {
        size_t from = at;
        while (at < count &&
               (to + 1 == ranks || numbers[at] < limits[to + 1])) {
            at++;
        }
        counts[to] = at - from;
    }
}

int main(int argc, char **argv)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int size = catena_group_size(world);
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    size_t ranks = (size_t)size;

    int64_t *own = malloc((count + 1) * sizeof(*own));
    int64_t *samples = malloc(ranks * sizeof(*samples));
    size_t *counts = calloc(2 * ranks, sizeof(*counts));
    ptrdiff_t *places = calloc(2 * ranks, sizeof(*places));
    if (own == NULL || samples == NULL || counts == NULL || places == NULL) {
        catena_abort(context, 1);
    }
    fill(own, count, rank);
    qsort(own, count, sizeof(*own), compare);

    /* Each rank proposes one limit; all have the same limits afterwards. */
    int64_t proposal =
        count > 0 ? own[count * (size_t)rank / ranks] : INT64_MAX;
    check("allgather",
          catena_allgather(&proposal, 1, CATENA_INT64, samples, 1, CATENA_INT64,
                           world),
          context);
    qsort(samples, ranks, sizeof(*samples), compare);
    deal(own, count, samples, counts, ranks);

    size_t *received = counts + ranks;
    check("alltoall",
          catena_alltoall(counts, 1, CATENA_UINT64, received, 1, CATENA_UINT64,
                          world),
          context);
    place(counts, places, size);
    uint64_t mine = place(received, places + ranks, size);
    int64_t *sorted = malloc((mine + 1) * sizeof(*sorted));
    if (sorted == NULL) {
        catena_abort(context, 1);
    }
    check("alltoallv",
          catena_alltoallv(own, counts, places, CATENA_INT64, sorted, received,
                           places + ranks, CATENA_INT64, world),
          context);
    qsort(sorted, mine, sizeof(*sorted), compare);

    /* Where this rank's part begins, and how many numbers there are. */
    uint64_t before = 0, all = 0;
    check("exscan",
          catena_exscan(&mine, &before, 1, CATENA_UINT64, CATENA_SUM, world),
          context);
    check("allreduce",
          catena_allreduce(&mine, &all, 1, CATENA_UINT64, CATENA_SUM, world),
          context);
    if (all != count * ranks) {
        fprintf(stderr, "sort: %llu numbers, expected %zu\n",
                (unsigned long long)all, count * ranks);
        catena_abort(context, 1);
    }
    if (mine > 0) {
        printf("rank %d has numbers %llu to %llu of %llu, from %lld to %lld\n",
               rank, (unsigned long long)before,
               (unsigned long long)(before + mine - 1), (unsigned long long)all,
               (long long)sorted[0], (long long)sorted[mine - 1]);
    }
    free(sorted);
    free(places);
    free(counts);
    free(samples);
    free(own);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
