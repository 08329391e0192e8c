/* Dealing ranks to bins, for --map-by and --rank-by. */
#include "deal.h"

#include <stdlib.h>

void prun_deal_sizes(uint32_t np, uint32_t bins, const uint32_t *room,
                     bool round_robin, uint32_t *size)
{
    uint32_t left = np;
    for (uint32_t b = 0; b < bins; b++)
        size[b] = 0;
    for (uint64_t turn = 1; left > 0; turn++) {
        bool full = false;
        while (left > 0 && !full) {
            full = true;
            for (uint32_t b = 0; b < bins && left > 0; b++) {
                uint64_t free_places = turn * room[b] - size[b];
                uint64_t most = round_robin ? 1 : left;
                uint64_t more = free_places < most ? free_places : most;
                size[b] += (uint32_t)more;
                left -= (uint32_t)more;
                full &= more == 0;
            }
        }
    }
}

void prun_deal_ranks(uint32_t np, uint32_t bins, const uint32_t *size,
                     bool span, uint32_t *bin_of)
{
    uint32_t *used = prun_alloc(bins, sizeof *used);
    uint32_t bin = 0;
    for (uint32_t rank = 0; rank < np; rank++) {
        while (used[bin] == size[bin])
            bin = (bin + 1) % bins;
        bin_of[rank] = bin;
        used[bin]++;
        if (span)
            bin = (bin + 1) % bins;
    }
    free(used);
}
