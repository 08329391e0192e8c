/* Selects the algorithm unless the caller requests one. The choice depends on
 * facts that all members share: their number m, the bytes, and whether some
 * host is oversubscribed. Times below are of one collective.
 *
 * If some host is oversubscribed, the number of messages decides, since
 * few cores do the work of all ranks. With few members a linear tree is best,
 * and up and down a tree, 2(m - 1) messages, beats algorithms with m log2 m
 * messages. 8 emulated hosts that share 2 cores, over tcp, 8 B and 32 KiB:
 * allreduce up and down 50 and 81 us, recursive doubling 60 and 116; barrier
 * 47, dissemination 53 us; reduce linear 11 and 16, binomial 18 and 23. From
 * the root linear trees are better still, since a member that forwards data
 * must run before the next one can: bcast of 8 B to 64 KiB, time of binomial /
 * linear, 4 such hosts of 4 ranks 1.1 to 1.5, 6 and 8 of 2 ranks 1.0 to 1.9,
 * but once 0.94.
 *
 * If each rank has a core, the number of rounds decides for short vectors, and
 * the bytes that the busiest member sends for long ones. Simulated machines
 * hpc-a, hpc-b, sierra (lib/model/machines), one rank on each of 4 to 64 nodes:
 * Rabenseifner's allreduce of 32 KiB takes 0.37 to 0.94 of the time of
 * recursive doubling, of 1 KiB 1.4 to 1.9 times as much; they are equal at
 * about 8 KiB. A vector of exactly one chunk is mostly part of a longer one, so
 * throughput counts: a bcast of 1 MiB in chunks of 32 KiB, 4 at a time, takes
 * by chains 0.53 to 0.63 of the time of binomial trees with 4 members, 0.53 to
 * 0.97 with 16, up to 2.3 times as much with 64. */

#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/rounds.h"

enum {
    CHAIN_MEMBERS = 8,  /* at most, for a chain; only for whole chunks */
    LINEAR_MEMBERS = 4, /* at most, for a linear tree; only to the root */
    OVERSUBSCRIBED_MEMBERS =
        8,                    /* at most, for a linear tree if oversubscribed */
    HALVING_BYTES = 8192 + 1, /* at least, for Rabenseifner's allreduce */
    HALVING_MEMBERS = 4       /* at least, for Rabenseifner's allreduce */
};

const char *const ctn_p2p_shapes[] = {
    [CTN_P2P_BINOMIAL] = "binomial",
    [CTN_P2P_CHAIN] = "chain",
    [CTN_P2P_LINEAR] = "linear",
    NULL,
};

const char *const ctn_p2p_barriers[] = {"dissemination", "tree", NULL};

const char *const ctn_p2p_allreduces[] = {"recursive-doubling", "rabenseifner",
                                          "tree", NULL};

static bool is_oversubscribed(const ctn_p2p_t *p2p)
{
    return p2p->module.sbgp->oversubscribed;
}

/** Whether all children of a linear tree have an eager buffer. */
static bool fits_linear(const ctn_p2p_t *p2p)
{
    return p2p->size <= p2p->sequence.eager_slots + 1u;
}

/** Whether a vector has the length of a whole chunk. */
static bool is_chunk(size_t bytes)
{
    return bytes == CTN_CHUNK_BYTES;
}

/** @param up data go to the root */
static ctn_p2p_shape_t best_shape(const ctn_p2p_t *p2p, bool up, size_t bytes)
{
    bool oversubscribed = is_oversubscribed(p2p);
    if (is_chunk(bytes) && !oversubscribed && p2p->size <= CHAIN_MEMBERS) {
        return CTN_P2P_CHAIN;
    }
    uint32_t linear = oversubscribed ? OVERSUBSCRIBED_MEMBERS
                      : up           ? LINEAR_MEMBERS
                                     : 0;
    return p2p->size <= linear ? CTN_P2P_LINEAR : CTN_P2P_BINOMIAL;
}

ctn_p2p_shape_t ctn_p2p_choose_shape(const ctn_p2p_t *p2p,
                                     const ctn_basic_coll_t *basic, bool up,
                                     size_t bytes)
{
    ctn_p2p_shape_t shape = best_shape(p2p, up, bytes);
    for (unsigned i = 0; ctn_p2p_shapes[i] != NULL; i++) {
        if (ctn_p2p_requested(basic, ctn_p2p_shapes[i])) {
            shape = (ctn_p2p_shape_t)i;
        }
    }
    return shape == CTN_P2P_LINEAR && !fits_linear(p2p) ? CTN_P2P_BINOMIAL
                                                        : shape;
}

static const ctn_p2p_schedule_t *choose_barrier(const ctn_p2p_t *p2p,
                                                const ctn_basic_coll_t *basic)
{
    bool tree =
        ctn_p2p_requested(basic, "tree") ||
        (is_oversubscribed(p2p) && !ctn_p2p_requested(basic, "dissemination"));
    return tree ? &ctn_p2p_up_and_down : &ctn_p2p_dissemination;
}

static const ctn_p2p_schedule_t *choose_allreduce(const ctn_p2p_t *p2p,
                                                  const ctn_basic_coll_t *basic)
{
    bool doubling = ctn_p2p_requested(basic, "recursive-doubling");
    bool halving = ctn_p2p_requested(basic, "rabenseifner");
    bool tree = ctn_p2p_requested(basic, "tree");
    if (!doubling && !halving && !tree) {
        tree = is_oversubscribed(p2p);
        halving = !tree && basic->bytes >= HALVING_BYTES &&
                  p2p->size >= HALVING_MEMBERS;
    }
    return tree      ? &ctn_p2p_up_and_down
           : halving ? &ctn_p2p_halving
                     : &ctn_p2p_doubling;
}

const ctn_algorithm_t *ctn_p2p_choose(const ctn_p2p_t *p2p,
                                      ctn_basic_kind_t kind,
                                      const ctn_basic_coll_t *basic)
{
    switch (kind) {
    case CTN_BARRIER:
        return &choose_barrier(p2p, basic)->algorithm;
    case CTN_FANIN:
    case CTN_REDUCE:
        return &ctn_p2p_up.algorithm;
    case CTN_FANOUT:
    case CTN_BCAST:
        return &ctn_p2p_down.algorithm;
    case CTN_ALLREDUCE:
        return &choose_allreduce(p2p, basic)->algorithm;
    case CTN_SCAN:
        return &ctn_p2p_inclusive_scan.algorithm;
    case CTN_EXSCAN:
        return &ctn_p2p_exclusive_scan.algorithm;
    case CTN_GATHER:
        return &ctn_p2p_gather;
    case CTN_SCATTER:
        return &ctn_p2p_scatter;
    case CTN_ALLGATHER:
        return ctn_p2p_allgather(p2p, basic);
    default:
        return ctn_p2p_reduce_scatter(p2p, basic);
    }
}
