#ifndef CTN_SPLIT_BINS_H
#define CTN_SPLIT_BINS_H

#include "group/chain_place.h"

/* Bins ([Moody], section 3.3): a double exclusive scan over a table of bins
 * gives each member the nearest members of its own bin. From then on these form
 * a chain. */

/** The number of members of a bin in one direction, and the nearest: packed and
 * split in two halves, so that eight bins fit a message. */
typedef struct ctn_bin {
    uint32_t count;
    uint32_t nearest[2];
} ctn_bin_t;

/** A bin with one member. */
ctn_bin_t ctn_bin_of_one(ctn_address_t member);
/** Fold `in` into `inout`; the same in both directions. */
void ctn_bins_join(ctn_bin_t *inout, const ctn_bin_t *in, unsigned bins);
/** Return the place of `member` in the chain of its bin, from the scans from
 * the left and from the right. */
ctn_chain_place_t ctn_bin_place(const ctn_bin_t *left, const ctn_bin_t *right,
                                ctn_address_t member);

/* The table scanned by splits by hash and by the topology. */

#define CTN_BIN_BITS 3u
#define CTN_BINS (1u << CTN_BIN_BITS)

typedef struct ctn_bins {
    ctn_bin_t bin[CTN_BINS];
    uint32_t flags; /* bitwise or over all members */
    uint32_t unused;
} ctn_bins_t;

_Static_assert(sizeof(ctn_bins_t) == CTN_SCAN_BYTES, "bins fill a scan");

void ctn_fold_bins(void *inout, const void *in, int in_is_left);
/** Initialize a table with one member, in `bin`. */
void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member);
/** Return the place of `member` in the chain of `bin`. */
ctn_chain_place_t ctn_bins_place(const ctn_bins_t *left,
                                 const ctn_bins_t *right, unsigned bin,
                                 ctn_address_t member);

#endif
