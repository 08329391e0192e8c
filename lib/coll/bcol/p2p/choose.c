/* Selects the algorithm by rules unless the caller names one. Why the rules
 * that ship (lib/model/tuning/default.json) are as they are: m is the number
 * of members, times are of one collective.
 *
 * If some host is oversubscribed, the number of messages decides, since few
 * cores do the work of all ranks. With few members a linear tree is best, and
 * up and down a tree, 2(m - 1) messages, beats algorithms with m log2 m
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
 * hpc-a, hpc-b, sierra (lib/model/machines), one rank on each of 4 to 64
 * nodes: Rabenseifner's allreduce of 32 KiB takes 0.37 to 0.94 of the time of
 * recursive doubling, of 1 KiB 1.4 to 1.9 times as much; they are equal at
 * about 8 KiB. On these and dawn, with 3 to 8 members and up to 256 B, linear
 * trees take 0.60 to 1.16 of the time of binomial ones for a bcast (median
 * 0.80), 0.36 to 1.07 for a reduce (0.76); above 1 on dawn only, from 6
 * members on. A vector of exactly one chunk is mostly part of a longer one, so
 * throughput counts: a bcast of 1 MiB in chunks of 32 KiB, 4 at a time, takes
 * by chains 0.53 to 0.63 of the time of binomial trees with 4 members, 0.53 to
 * 0.97 with 16, up to 2.3 times as much with 64.
 *
 * If members share nodes, recursive doubling sends the whole vectors of all
 * members of a node in each round between nodes. hpc-a and hpc-b, us by
 * recursive doubling, a tree, and Rabenseifner's allreduce: 8 nodes of 2
 * ranks, 1 KiB 12, 20, 15 and 7.2, 14, 12, 4 KiB 40, 44, 21 and 12, 20, 14; 4
 * nodes of 6, 1 KiB 23, 19, 21 and 9.2, 11, 16, 4 KiB 84, 48, 40 and 16, 19,
 * 20; 8 nodes of 24, 256 B 38, 18, 27 and 12, 14, 21, 1 KiB 128, 27, 28 and
 * 19, 16, 22, 4 KiB 524, 89, 58 and 79, 35, 29. At 4 KiB Rabenseifner's is a
 * compromise: on hpc-b recursive doubling is up to 1.3 times as fast with 2 to
 * 6 members on a node. */

#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/rounds.h"

/** Whether all children of a linear tree have an eager buffer. */
static bool fits_linear(const ctn_p2p_t *p2p)
{
    return p2p->size <= p2p->sequence.eager_slots + 1u;
}

ctn_p2p_shape_t ctn_p2p_choose_shape(ctn_p2p_t *p2p,
                                     const ctn_basic_coll_t *basic, bool up,
                                     size_t bytes)
{
    ctn_algorithm_set_t possible = CTN_P2P_SHAPES;
    if (!fits_linear(p2p)) {
        possible &= ~CTN_ALGORITHM_BIT(LINEAR);
    }
    if (up && basic->balanced) {
        possible &= ~CTN_ALGORITHM_BIT(CHAIN);
    }
    switch (ctn_basic_choose(&p2p->module, up ? CTN_REDUCE : CTN_BCAST,
                             possible, basic, bytes)) {
    case CTN_ALGORITHM_LINEAR:
        return CTN_P2P_LINEAR;
    case CTN_ALGORITHM_CHAIN:
        return CTN_P2P_CHAIN;
    default:
        return CTN_P2P_BINOMIAL;
    }
}

static const ctn_p2p_schedule_t *choose_barrier(ctn_p2p_t *p2p,
                                                const ctn_basic_coll_t *basic)
{
    switch (ctn_basic_choose(&p2p->module, CTN_BARRIER, CTN_P2P_BARRIERS, basic,
                             0)) {
    case CTN_ALGORITHM_TREE:
        return &ctn_p2p_up_and_down;
    case CTN_ALGORITHM_RECURSIVE_DOUBLING:
        return &ctn_p2p_pairwise_barrier;
    default:
        return &ctn_p2p_dissemination;
    }
}

static const ctn_p2p_schedule_t *choose_allreduce(ctn_p2p_t *p2p,
                                                  const ctn_basic_coll_t *basic)
{
    switch (ctn_basic_choose(&p2p->module, CTN_ALLREDUCE, CTN_P2P_ALLREDUCES,
                             basic, basic->bytes)) {
    case CTN_ALGORITHM_TREE:
        return &ctn_p2p_up_and_down;
    case CTN_ALGORITHM_RABENSEIFNER:
        return &ctn_p2p_halving;
    default:
        return &ctn_p2p_doubling;
    }
}

static const ctn_algorithm_t *choose_scan(ctn_p2p_t *p2p, ctn_basic_kind_t kind,
                                          const ctn_basic_coll_t *basic)
{
    ctn_algorithm_set_t possible =
        basic->serial ? CTN_ALGORITHM_BIT(CHAIN) : CTN_P2P_SCANS;
    if (ctn_basic_choose(&p2p->module, kind, possible, basic, basic->bytes) ==
        CTN_ALGORITHM_CHAIN) {
        return &ctn_p2p_chain_scan.algorithm;
    }
    return kind == CTN_SCAN ? &ctn_p2p_inclusive_scan.algorithm
                            : &ctn_p2p_exclusive_scan.algorithm;
}

/** Of a reduce or a fan-in, which has no data. ctn_p2p_up chooses its shape
 * when it begins. */
static const ctn_algorithm_t *choose_reduce(ctn_p2p_t *p2p,
                                            const ctn_basic_coll_t *basic)
{
    if (!basic->balanced) {
        return &ctn_p2p_up.algorithm;
    }
    return ctn_p2p_choose_shape(p2p, basic, true, basic->bytes) ==
                       CTN_P2P_LINEAR &&
                   p2p->size > 1 && p2p->size <= CTN_P2P_LINEAR_MEMBERS
               ? &ctn_p2p_balanced_linear.algorithm
               : &ctn_p2p_balanced_reduce.algorithm;
}

const ctn_algorithm_t *ctn_p2p_choose(ctn_p2p_t *p2p, ctn_basic_kind_t kind,
                                      const ctn_basic_coll_t *basic)
{
    switch (kind) {
    case CTN_BARRIER:
        return &choose_barrier(p2p, basic)->algorithm;
    case CTN_FANIN:
    case CTN_REDUCE:
        return choose_reduce(p2p, basic);
    case CTN_FANOUT:
    case CTN_BCAST:
        return &ctn_p2p_down.algorithm;
    case CTN_ALLREDUCE:
        return &choose_allreduce(p2p, basic)->algorithm;
    case CTN_SCAN:
    case CTN_EXSCAN:
        return choose_scan(p2p, kind, basic);
    case CTN_GATHER:
        return &ctn_p2p_gather;
    case CTN_SCATTER:
        return &ctn_p2p_scatter;
    case CTN_ALLGATHER:
        return ctn_p2p_allgather(p2p, basic);
    case CTN_ALLTOALL:
        return &ctn_p2p_alltoall;
    default:
        return ctn_p2p_reduce_scatter(p2p, basic);
    }
}
