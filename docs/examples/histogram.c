/* Rank 0 has data and wants a histogram, drawn as text. Shows bcast, scatter,
 * reduce_scatter_block, scan, gather and reduce.
 *
 *     prun -n 4 ./histogram */
#include <catena/catena.h>
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS_EACH = 6, VALUES_EACH = 20000, WIDTH = 60 };

typedef struct range {
    double low, high;
} range_t;

static void check(const char *what, catena_status_t status,
                  catena_context_t *context)
{
    if (status != CATENA_OK) {
        fprintf(stderr, "%s: %s\n", what, catena_status_string(status));
        catena_abort(context, 1);
    }
}

/** About a bell curve: the sum of some random numbers. */
static double draw(uint64_t *random)
{
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*random >> 40) / (1 << 24);
    }
    return sum;
}

/** @param all of each rank BINS_EACH numbers of values in a bin, then as many
 *            of values up to and with it */
static void paint(const uint64_t all[], size_t bins, size_t values,
                  range_t range)
{
    uint64_t most = 1;
    for (size_t i = 0; i < bins; i++) {
        uint64_t here = all[i / BINS_EACH * 2 * BINS_EACH + i % BINS_EACH];
        most = here > most ? here : most;
    }
    double width = (range.high - range.low) / (double)bins;
    for (size_t i = 0; i < bins; i++) {
        const uint64_t *of =
            all + i / BINS_EACH * 2 * BINS_EACH + i % BINS_EACH;
        printf("%5.2f %5.1f%% ", range.low + width * (double)i,
               100.0 * (double)of[BINS_EACH] / (double)values);
        for (uint64_t k = 0; k < of[0] * WIDTH / most; k++) {
            putchar('#');
        }
        putchar('\n');
    }
}

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    size_t ranks = (size_t)catena_group_size(world);
    size_t bins = ranks * BINS_EACH;
    size_t values = ranks * VALUES_EACH;

    double *data = rank == 0 ? malloc(values * sizeof(*data)) : NULL;
    double *own = malloc(VALUES_EACH * sizeof(*own));
    uint64_t *found = calloc(bins, sizeof(*found));
    uint64_t *all = calloc(2 * bins, sizeof(*all));
    if ((rank == 0 && data == NULL) || own == NULL || found == NULL ||
        all == NULL) {
        catena_abort(context, 1);
    }
    range_t range = {DBL_MAX, -DBL_MAX};
    uint64_t random = 1;
    for (size_t i = 0; rank == 0 && i < values; i++) {
        data[i] = draw(&random);
        range.low = data[i] < range.low ? data[i] : range.low;
        range.high = data[i] > range.high ? data[i] : range.high;
    }

    /* All get the range, and each a part of the data. */
    check("bcast", catena_bcast(&range, 2, CATENA_DOUBLE, 0, world), context);
    check("scatter",
          catena_scatter(data, VALUES_EACH, CATENA_DOUBLE, own, VALUES_EACH,
                         CATENA_DOUBLE, 0, world),
          context);
    double sum = 0, total = 0;
    for (int i = 0; i < VALUES_EACH; i++) {
        double part = (own[i] - range.low) / (range.high - range.low);
        size_t bin = (size_t)(part * (double)bins);
        found[bin < bins ? bin : bins - 1]++;
        sum += own[i];
    }

    /* Each gets some bins of all ranks, summed, and how many lie below. */
    uint64_t mine[2 * BINS_EACH] = {0};
    check("reduce_scatter_block",
          catena_reduce_scatter_block(found, mine, BINS_EACH, CATENA_UINT64,
                                      CATENA_SUM, world),
          context);
    uint64_t inside = 0, up_to = 0;
    for (int i = 0; i < BINS_EACH; i++) {
        inside += mine[i];
    }
    check("scan",
          catena_scan(&inside, &up_to, 1, CATENA_UINT64, CATENA_SUM, world),
          context);
    for (int i = BINS_EACH - 1; i >= 0; i--) { /* up to and with each bin */
        mine[BINS_EACH + i] = up_to;
        up_to -= mine[i];
    }

    /* Rank 0 gets all of it, and the mean, and draws. */
    check("gather",
          catena_gather(mine, sizeof(mine), CATENA_BYTE, all, sizeof(mine),
                        CATENA_BYTE, 0, world),
          context);
    check("reduce",
          catena_reduce(&sum, &total, 1, CATENA_DOUBLE, CATENA_SUM, 0, world),
          context);
    if (rank == 0) {
        paint(all, bins, values, range);
        printf("mean %.4f of %zu values\n", total / (double)values, values);
    }
    free(all);
    free(found);
    free(own);
    free(data);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
