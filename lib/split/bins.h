#ifndef CTN_SPLIT_BINS_H
#define CTN_SPLIT_BINS_H

#include "group/scan.h"

/* Bins ([Moody], section 3.3). Each member of a chain is in one bin. A double
 * exclusive scan over a table of bins gives each member the nearest members of
 * its own bin; from then on the members of a bin form a chain. */

/** One bin, as a scan from one side sees it. */
typedef struct ctn_bin {
    uint32_t count;      /* of its members among those scanned */
    uint32_t nearest[2]; /* packed address of the nearest of them: low half,
                            high half. With a uint64_t a bin would take 16
                            bytes, and eight bins would not fit a slot. */
} ctn_bin_t;

/** Return a bin with one member. */
ctn_bin_t ctn_bin_of_one(ctn_address_t member);
/** Fold a table of `bins` bins, `in`, into the table of the members nearer to
 * this one, `inout`; the same in both directions. */
void ctn_bins_join(ctn_bin_t *inout, const ctn_bin_t *in, unsigned bins);
/** Return the place of `member` in the chain of its bin. `left`, `right`: the
 * bin as the scan from that side sees it. */
ctn_chain_place_t ctn_bin_place(const ctn_bin_t *left, const ctn_bin_t *right,
                                ctn_address_t member);

/* A table of eight bins: scanned by the split by hash, and by the topology and
 * by hierarchies to find node leaders and subgroups. */

#define CTN_BIN_BITS 3u
#define CTN_BINS (1u << CTN_BIN_BITS)

typedef struct ctn_bins {
    uint32_t flags; /* with a meaning for the caller; the scan forms their
                       bitwise or */
    uint32_t unused;
    ctn_bin_t bin[CTN_BINS]; /* last: a scan of fewer bins leaves out the end */
} ctn_bins_t;

_Static_assert(sizeof(ctn_bins_t) == CTN_SCAN_BYTES, "bins fill a scan");

/** The fold of the scan (ctn_fold_t). */
void ctn_fold_bins(void *inout, const void *in, int in_is_left);
/** Initialize a table with one member, in `bin`. */
void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member);
#endif
