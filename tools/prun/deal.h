#ifndef PRUN_DEAL_H
#define PRUN_DEAL_H

#include "prun.h"

/* Dealing ranks to bins: nodes, or objects of the machine. */

/** Choose the number of ranks in each bin: fill one bin after the other, or
 * round-robin over the bins that are not full. When all bins are full, they
 * take as many ranks again.
 * @param[in] room [bins] ranks that fit into each bin, at least 1
 * @param[out] size [bins] */
void prun_deal_sizes(uint32_t np, uint32_t bins, const uint32_t *room,
                     bool round_robin, uint32_t *size);

/** Choose the bin of each rank.
 * @param[in] size [bins] of prun_deal_sizes, np together
 * @param span consecutive ranks are in successive bins; else they fill a bin
 * @param[out] bin_of [np] */
void prun_deal_ranks(uint32_t np, uint32_t bins, const uint32_t *size,
                     bool span, uint32_t *bin_of);

#endif
