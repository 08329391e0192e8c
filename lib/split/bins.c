/* Tables of bins, see split/bins.h. */

#include "split/bins.h"

#include <string.h>

ctn_bin_t ctn_bin_of_one(ctn_address_t member)
{
    uint64_t packed = ctn_address_pack(member);
    return (ctn_bin_t){1, {(uint32_t)packed, (uint32_t)(packed >> 32)}};
}

/** Return the nearest member of a bin, which has none if it is zeroed. */
static ctn_address_t nearest(const ctn_bin_t *bin)
{
    return bin->count > 0 ? ctn_address_unpack((uint64_t)bin->nearest[1] << 32 |
                                               bin->nearest[0])
                          : CTN_NO_ADDRESS;
}

void ctn_bins_join(ctn_bin_t *inout, const ctn_bin_t *in, unsigned bins)
{
    for (unsigned i = 0; i < bins; i++) {
        uint32_t count = inout[i].count + in[i].count;
        if (inout[i].count == 0) {
            inout[i] = in[i];
        }
        inout[i].count = count;
    }
}

ctn_chain_place_t ctn_bin_place(const ctn_bin_t *left, const ctn_bin_t *right,
                                ctn_address_t member)
{
    return (ctn_chain_place_t){
        .size = left->count + 1 + right->count,
        .rank = left->count,
        .self = member,
        .left = nearest(left),
        .right = nearest(right),
    };
}

void ctn_fold_bins(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left; /* in both directions the nearer bin is `inout` */
    ctn_bins_t *a = inout;
    const ctn_bins_t *b = in;
    ctn_bins_join(a->bin, b->bin, CTN_BINS);
    a->flags |= b->flags;
}

void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member)
{
    memset(bins, 0, sizeof(*bins));
    bins->bin[bin] = ctn_bin_of_one(member);
}
