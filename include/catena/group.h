#ifndef CATENA_GROUP_H
#define CATENA_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>
#include <catena/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * A group is an ordered set of ranks (MPI's communicator). It is stored as a
 * chain ([Moody], section 2): each member knows its rank, the size, and the
 * addresses of its left and right neighbors, the members of rank - 1 and + 1.
 * [Moody]: A. T. Moody, D. H. Ahn, B. R. de Supinski, Exascale Algorithms for
 * Generalized MPI_Comm_split, EuroMPI 2011. */

/** Hardware levels that a group can be split by: ranks that share a resource
 * of the level form a group. If a rank is not bound to one resource of a level
 * (it may run on several), the smallest larger resource that it is bound to
 * takes its place. */
typedef enum catena_level {
    CATENA_LEVEL_NODE = 1, /**< ranks that share a node */
    CATENA_LEVEL_SOCKET,   /**< ... a package, hwloc's word for a socket */
    CATENA_LEVEL_NUMA,     /**< ... a NUMA domain */
    CATENA_LEVEL_L3,       /**< ... a third-level cache */
    CATENA_LEVEL_CORE      /**< ... a core */
} catena_level_t;

/** Return this rank's rank in the group.
 * @param group that this rank belongs to
 * @return the rank, from 0; -1 for NULL */
CATENA_API int catena_group_rank(const catena_group_t *group);

/** Return the number of ranks of a group.
 * @param group that this rank belongs to
 * @return the number; 0 for NULL */
CATENA_API int catena_group_size(const catena_group_t *group);

/** As color of a split: this rank gets no new group. As rank: not a member. */
#define CATENA_UNDEFINED (-32766)

/** As rank: no rank. As source or target of a neighborhood (neighbor.h):
 * nothing is sent or received, and the block is not accessed. */
#define CATENA_PROC_NULL (-2)

/** Return the world ranks of all members. The first call on a group is
 * collective and blocks: a member of a chain knows its neighbors only, so the
 * members gather the world ranks of all. Later calls are local. For the world,
 * groups of one rank and groups made by catena_group_create every call is
 * local, with CATENA_FAILURES=return for all groups. Memory: each member keeps
 * 4 bytes for each member from the first call on.
 * @param[out] ranks [size] the world rank of each member; owned by the group
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY (where it is local),
 *         ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_group_world_ranks(catena_group_t *group,
                                                    const int **ranks);

/** Translate ranks of `from` to ranks of `to` (as MPI_Group_translate_ranks).
 * Local. The world ranks of both groups must be known: those of the world, of
 * groups of one rank and of groups made by catena_group_create always are,
 * those of other groups after catena_group_world_ranks. Memory: this rank keeps
 * 8 bytes for each member of `to` from the first call on.
 * @param[in]  ranks      [count] ranks of `from`, or CATENA_PROC_NULL
 * @param[out] translated [count] the same processes in `to`: CATENA_UNDEFINED
 *                        for one that is not a member, CATENA_PROC_NULL for
 *                        CATENA_PROC_NULL; may be `ranks`
 * @return CATENA_OK, ERR_ARG (NULL; not a rank of `from`; logged), ERR_STATE
 *         (the world ranks of a group are not known; logged), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_group_translate_ranks(
    const catena_group_t *from, size_t count, const int ranks[],
    const catena_group_t *to, int translated[]);

/** Create a group of listed ranks (as MPI_Comm_create_group, without its tag).
 * Collective over the listed ranks only, which pass the same list; other ranks
 * of `parent` need not call, and get NULL if they do. Blocks. Ranks that are
 * listed in several calls make them in the same order. The order of this call
 * and the operations of the parent is free: it may differ between ranks. It
 * fails if the parent has failed, also if no listed rank has died. A rank
 * that returns ERR_ARG or ERR_STATE has done nothing: listed ranks whose
 * arguments are valid wait until that rank calls again.
 * @param[in]  parent its world ranks must be known: see
 *                    catena_group_translate_ranks
 * @param[in]  ranks  [count] ranks of `parent`, each once: rank i of the new
 *                    group is ranks[i]
 * @param[out] out    the new group, NULL if this rank is not listed; free with
 *                    catena_group_free
 * @return CATENA_OK, ERR_ARG (NULL; `ranks` has a number that is no rank of the
 *         parent, or has one twice; logged), ERR_STATE (the world ranks of the
 *         parent are not known; logged), ERR_NO_MEMORY (only on a rank that is
 *         not listed), ERR_ENDED (a listed rank has no memory, or two adjacent
 *         ranks of the list have different lists, which is logged; with other
 *         differences between lists ranks wait), ERR_PEER */
CATENA_API catena_status_t catena_group_create(catena_group_t *parent,
                                               size_t count, const int ranks[],
                                               catena_group_t **out);

/** @name Failures
 * With CATENA_FAILURES=return the death of a rank is an error of the groups
 * that it belongs to, as [Bland] proposes for MPI (User-Level Failure
 * Mitigation): their operations end on the living ranks with
 * CATENA_ERR_PROC_FAILED. This holds for operations under way and for later
 * ones. An operation that is almost complete may still succeed on some ranks.
 * Local calls and calls without data still succeed. Other groups go on. A new
 * group or neighborhood may exist on some ranks only: its ranks agree by
 * catena_group_agree of the old group before they use it. The ranks of a failed
 * group go on with a new one of those that live (catena_group_shrink). The heap
 * memory of a failed group is not released before catena_finalize, even after
 * catena_group_free.
 *
 * A rank that cannot do its part of a call, since it has no memory or lengths
 * differ, fails the group, too, not the job. It logs why, and returns
 * CATENA_ERR_NO_MEMORY or CATENA_ERR_ARG, or as the other ranks
 * CATENA_ERR_REVOKED, where CATENA_ERR_ENDED is documented otherwise. A
 * neighborhood has a group of its own, so only calls of that neighborhood fail.
 * In catena_group_agree and catena_group_shrink, which work in failed groups, a
 * vote that cannot be sent for lack of memory ends the job.
 *
 * Before a call returns such an error, the rank waits until the other ranks no
 * longer access its buffers. For a rank that makes no call of catena, or that
 * is on another node, it waits half a second at most, unless long data are on
 * their way to that rank: they must leave the buffers first, so it waits until
 * that rank calls catena. One case remains, where puts are by RMA (the network
 * has RDMA, or CATENA_UCX_PUT=rma): a rank of another node that is stopped for
 * longer in the middle of a call may write to the buffers afterwards.
 *
 * If a connection to a living rank breaks, that rank counts as dead, and its
 * context ends with CATENA_ERR_PEER. If the network falls into parts that
 * cannot reach each other, each part takes the other one for dead.
 * [Bland]: W. Bland, A. Bouteiller, T. Herault, G. Bosilca, J. Dongarra,
 * Post-failure recovery of MPI communication capability, International Journal
 * of High Performance Computing Applications 27(3), 2013.
 * @{ */

/** End all operations of a group on all of its ranks, with
 * CATENA_ERR_REVOKED: for a rank that will not make the next call of the group,
 * since an error concerns it alone (as MPIX_Comm_revoke). Local; the other
 * ranks learn of it when they wait in catena, or call it. No effect on a group
 * that has failed already.
 * @param group whose operations end
 * @return CATENA_OK, ERR_ARG (NULL), ERR_UNSUPPORTED (CATENA_FAILURES is not
 *         return; logged), or the error that ended the context */
CATENA_API catena_status_t catena_group_revoke(catena_group_t *group);

/** Return the ranks of a group that have died, as far as this rank knows (as
 * MPIX_Comm_get_failed). Local: a rank learns of deaths when it waits or
 * polls. Where failures end the job there are none.
 * @param[out] count number of them
 * @param[out] ranks [*count] ascending; NULL: only the number is wanted. At
 *                   most catena_group_size(group)
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_group_failed(catena_group_t *group,
                                               size_t *count, int ranks[]);

/** Combine flags of all living ranks by AND; all of them get the same result,
 * whatever ranks die meanwhile (as MPIX_Comm_agree). Collective over the living
 * ranks of a group, which may have failed or been revoked; blocks.
 * @param[in,out] flags this rank's; the result
 * @return CATENA_OK, ERR_ARG (NULL; with CATENA_CHECK=on, and if the group has
 *         not failed, other ranks call something else), ERR_UNSUPPORTED
 *         (CATENA_FAILURES is not return; logged), or the error that ended the
 *         context */
CATENA_API catena_status_t catena_group_agree(catena_group_t *group,
                                              uint64_t *flags);

/** Create a group of the living ranks, in the order of the old one (as
 * MPIX_Comm_shrink). Collective over the living ranks of a group, which may
 * have failed or been revoked; blocks. All of them agree on the members. A
 * member may die at any time: then the new group fails, and can be shrunk in
 * its turn. A rank that has left for catena_finalize is waited for, except in
 * the world: there it is an error.
 * @param[out] out set only on CATENA_OK; free with catena_group_free
 * @return CATENA_OK, ERR_ARG (NULL; a rank calls catena_group_agree or, of the
 *         world, catena_finalize, or has no memory for a group; logged; with
 *         CATENA_CHECK=on as catena_group_agree), ERR_NO_MEMORY (for the table
 *         of members; the new group fails on the other ranks), ERR_UNSUPPORTED
 *         (CATENA_FAILURES is not return; logged), or the error that ended the
 *         context */
CATENA_API catena_status_t catena_group_shrink(catena_group_t *group,
                                               catena_group_t **out);
/** @} */

/** Split into one group per color, ordered by key, ties by rank (as
 * MPI_Comm_split). Collective; blocks: it begins when all operations of the
 * group that were started before are complete.
 * @param[in]  color 0 or more, or CATENA_UNDEFINED
 * @param[out] out   set only on CATENA_OK: NULL for CATENA_UNDEFINED, else free
 *                   with catena_group_free
 * @return CATENA_OK, ERR_ARG (see catena_group_split_by), ERR_ENDED,
 *         ERR_PEER */
CATENA_API catena_status_t catena_group_split(catena_group_t *group, int color,
                                              int key, catena_group_t **out);

/** A comparator: compares `a` and `b`, which have a_bytes and b_bytes bytes,
 * and returns a number below, at or above 0, as strcmp. It must define an order
 * of all values, the same on all ranks. If it does not, a split fails with
 * ERR_ARG on all ranks, or creates groups, each of one set of ranks on which
 * all its members agree; it never deadlocks. */
typedef int (*catena_compare_t)(const void *a, size_t a_bytes, const void *b,
                                size_t b_bytes, void *argument);

/** A comparator for values of 8 bytes, as int64_t. Shorter values come before
 * them and longer values after them; those are ordered bytewise. NULL counts as
 * no bytes. Some algorithms of a split need this comparator (see
 * catena_split_t). `argument` is not used.
 * @return below, at or above 0: `a` is below, equal to or above `b` */
CATENA_API int catena_compare_int64(const void *a, size_t a_bytes,
                                    const void *b, size_t b_bytes,
                                    void *argument);

/** Values of catena_split_t.flags, as a mask. */
enum {
    /** This rank gets no new group. May differ between ranks. */
    CATENA_SPLIT_UNDEFINED = 1u << 0,
    /** Ignore the color: one group of all ranks, ordered by key. */
    CATENA_SPLIT_NO_SPLIT = 1u << 1,
    /** Ignore the key: ranks of one color keep their order. */
    CATENA_SPLIT_NO_REORDER = 1u << 2
};

/** Arguments of a split ([Moody], sections 1 and 3). Colors and keys are any
 * bytes; their lengths may differ between ranks, 0 included. Zero all members
 * that you do not set. Comparators, argument, algorithm, and flags except
 * CATENA_SPLIT_UNDEFINED must be the same on all ranks. */
typedef struct catena_split {
    size_t size;        /**< sizeof this struct, set by the caller */
    const void *color;  /**< ranks of equal colors form a group */
    size_t color_bytes; /**< length of `color` */
    /** Tells which colors are equal (0); NULL: those of equal bytes. Algorithms
     * that sort also use its order. */
    catena_compare_t color_compare;
    const void *key;  /**< orders the ranks of a group */
    size_t key_bytes; /**< length of `key` */
    /** Order of the keys in a group; NULL: bytewise, a prefix comes first.
     * Equal keys are ordered by rank. */
    catena_compare_t key_compare;
    void *argument; /**< passed to the comparators */
    unsigned flags; /**< CATENA_SPLIT_... */
    /** The algorithm: "allgather", "allgather-fast", "gather-scatter", "cheng",
     * "cheng:M" (one of up to M members sorts for all of them; M is 128 to
     * 8192, and 1024 for "cheng"), "bitonic", "radix", "radix-plain" (as in
     * [Moody]: sorts by every bit, not only by those that differ), "hash",
     * "hash-plain" (as in [Moody], too) or "hash64"; docs/algorithms.md, SPL-1
     * to SPL-8, describes them. NULL or "auto": selected by facts that all
     * ranks share (docs/tuning.md). radix and radix-plain need
     * catena_compare_int64 for colors and keys; hash, hash-plain and hash64
     * need it, or none, for colors. */
    const char *algorithm;
} catena_split_t;

/** Split by arbitrary data. Collective; blocks as catena_group_split.
 * @param[in]  split may be released on return, as may what it points to
 * @param[out] out   as in catena_group_split
 *
 * The algorithm allgather-fast exchanges the records of all ranks. It runs if
 * all ranks name it, or if no rank names an algorithm and the group has up to
 * 1,024 ranks; a rank that passes NULL for split, or no size in it, names none.
 * With allgather-fast the split returns ERR_ARG on all ranks if the arguments
 * of one are invalid, or if ranks differ in the kind of their comparators:
 * none, catena_compare_int64, or one of the application. With other algorithms
 * only the rank with invalid arguments returns ERR_ARG, immediately, and the
 * other ranks wait: a report to them would take one more round. Ranks always
 * wait if they name different algorithms, or if one passes NULL as group.
 *
 * @return CATENA_OK, ERR_ARG (algorithm unknown or not applicable; inconsistent
 *         comparator; logged), ERR_UNSUPPORTED (this rank set a member that
 *         the library does not have; the other ranks get ERR_ARG), ERR_ENDED (a
 *         rank has no memory for the split), ERR_PEER */
CATENA_API catena_status_t catena_group_split_by(catena_group_t *group,
                                                 const catena_split_t *split,
                                                 catena_group_t **out);

/** Nonblocking catena_group_split_by: ordered with the other operations of the
 * group. Color, key and argument must stay valid until the request is complete;
 * *out is set then. A rank with invalid arguments gets the error immediately;
 * where the other ranks learn of it (see catena_group_split_by), their requests
 * end when that rank makes progress.
 * @param[out] request set only on CATENA_OK
 * @return as catena_group_split_by, and ERR_NO_MEMORY */
CATENA_API catena_status_t catena_group_isplit_by(catena_group_t *group,
                                                  const catena_split_t *split,
                                                  catena_group_t **out,
                                                  catena_request_t **request);

/** Split by a string, ordered by key, ties by rank. Collective; blocks.
 * @param[in]  color terminated; NULL: this rank gets no new group
 * @param[out] out   as in catena_group_split
 * @return as catena_group_split */
CATENA_API catena_status_t catena_group_split_string(catena_group_t *group,
                                                     const char *color, int key,
                                                     catena_group_t **out);

/** Split by 64-bit integers, negative ones included, ordered by key, ties by
 * rank. Collective; blocks.
 * @param[out] out as in catena_group_split
 * @return as catena_group_split */
CATENA_API catena_status_t catena_group_split_int64(catena_group_t *group,
                                                    int64_t color, int64_t key,
                                                    catena_group_t **out);

/** Split into one group per resource of `level` (as MPI_Comm_split_type),
 * ordered by key, ties by rank. Collective; blocks.
 * @param[out] out the new group; free with catena_group_free
 * @return as catena_group_split */
CATENA_API catena_status_t catena_group_split_level(catena_group_t *group,
                                                    catena_level_t level,
                                                    int key,
                                                    catena_group_t **out);

/** The memory of a group, and the cost of the last call on this rank that split
 * it. */
typedef struct catena_group_stats {
    size_t size;         /**< sizeof this struct, set by the caller */
    size_t handle_bytes; /**< of the handle; the same for all groups */
    size_t block_bytes;  /**< addresses of its control block in the shared heap;
                              memory counts as it is used */
    const char *split_algorithm; /**< of the last split; NULL: none yet */
    uint64_t split_rounds;   /**< of messages in which this rank took part */
    uint64_t split_messages; /**< sent by this rank */
    uint64_t split_bytes;    /**< sent by this rank */
    uint64_t split_memory; /**< peak memory in bytes, without the new group's */
} catena_group_stats_t;

/** Return the memory of a group, and the cost of its last split on this rank.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_group_get_stats(const catena_group_t *group,
                                                  catena_group_stats_t *stats);

/** Duplicate a group: create a group of the same ranks in the same order, whose
 * operations are separate from those of `group`. Collective; blocks.
 * @param[out] out the new group; free with catena_group_free
 * @return CATENA_OK, ERR_ARG (NULL), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_group_dup(catena_group_t *group,
                                            catena_group_t **out);

/** Free a group. Collective, but does not block: the handle is NULL on return,
 * and the memory is released when all members have freed the group. Ranks may
 * free groups in any order. Persistent requests of the group, also active ones,
 * are not affected: their resources are freed with them. With CATENA_CHECK=on
 * all operations end if other members call something else.
 * @param[in,out] group NULL afterwards, except with ERR_ARG and ERR_STATE
 * @return CATENA_OK, ERR_ARG (NULL; the groups of catena_world and catena_self,
 *         which are freed with their context), ERR_STATE (this rank has
 *         operations under way; logged; this rank freed nothing, and the group
 *         can still be used), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_group_free(catena_group_t **group);

/** Change a setting of this group's collectives. Local; all ranks must set the
 * same values. The names and values are:
 *
 *   - alltoall_algorithm: direct, shift, bruck, morton, l-a2a, mpml, nmpml,
 *     onmpml, l-a2a-plain, mpml-plain or nmpml-plain; if a hierarchy is set for
 *     alltoall, direct and bruck apply to its levels, and the others run
 *     without
 *   - alltoall_leaders: leaders on every node, 1 to 64
 *   - alltoall_radix: radix of bruck, 2 to 65536
 *   - alltoall_window: rounds that direct and shift run at once, 1 to 32
 *   - hierarchy: levels of collectives, from the lowest up:
 *     "rule:component,rule:component,...", such as "node:shm,network:ucx"
 *   - `<c>_hierarchy`: the same for one collective; overrides "hierarchy"
 *   - `<c>_algorithm`: algorithm of one collective within each subgroup, by the
 *     component's name for it; a component that does not have this algorithm
 *     selects one of its own
 *   - subgroup: any text; the rule "user" joins ranks with the same text. Only
 *     this may differ between ranks
 *   - reproducible: "on": sums and products of float, double and complex
 *     numbers have the same bits for every algorithm, hierarchy, length and
 *     layout of the ranks; "off"; or "auto": as CATENA_REPRODUCIBLE. Where all
 *     nodes have the same number of consecutive ranks, a power of two, and so
 *     have all NUMA domains, allreduces and other reductions of short vectors
 *     take as long as without it; long reduces and reduce_scatters over several
 *     nodes take up to about twice as long. Elsewhere reductions may take
 *     longer. Scans may take longer everywhere, and need heap memory for up to
 *     three vectors. The first nonblocking reduction or scan of a group builds
 * one more hierarchy, of all ranks. If the setting differs between ranks, a
 *     nonblocking reduction or scan may end the context of each rank that has
 *     it on
 *
 * `<c>` is barrier, bcast, reduce, allreduce, gather, scatter, allgather,
 * reduce_scatter, scan or alltoall. The settings of `<c>` and of alltoall also
 * apply to its variants (gatherv, exscan, reduce_scatter_block, alltoallv,
 * ...), but alltoallv and alltoallw have no hierarchy. The value "auto" leaves
 * algorithms and numbers to the library, and hierarchies to the environment
 * (CATENA_HIERARCHY, `CATENA_<C>_HIERARCHY`). docs/tuning.md has all rules,
 * components and algorithms.
 *
 * After a call with hierarchy, `<c>_hierarchy`, `<c>_algorithm`, subgroup or
 * reproducible the next collective compares these settings on all ranks: so all
 * ranks must make such a call, or none. Levels that do not fit the group, and
 * settings (or environment variables) that differ between ranks, are detected
 * by that collective: it fails with ERR_ARG on all ranks until they are set
 * again. Barriers are hierarchical only if a hierarchy or barrier_algorithm is
 * set, alltoalls only if a hierarchy is: if it is set on some ranks only, the
 * ranks deadlock. A setting applies to operations started later; with
 * CATENA_CHECK=on this function waits until all ranks have made the calls that
 * this rank started before, and collectives fail with ERR_ARG on all ranks as
 * long as the values that were set differ. Exceptions are persistent alltoalls,
 * whether a persistent barrier or alltoall is hierarchical, and whether a
 * persistent reduction is reproducible: there it applies to requests
 * initialized later. Groups made from this one (catena_group_dup,
 * catena_group_split, ...) do not take over its settings.
 * @param group whose setting it is
 * @param name  of the setting, as above
 * @param value as text, such as "4" or "auto"
 * @return CATENA_OK, ERR_ARG (unknown name or value; the known ones are
 *         logged), ERR_NO_MEMORY (a group of several ranks fails with it, if
 *         failures are returned), ERR_ENDED (no memory, and other ranks may
 *         have the setting) */
CATENA_API catena_status_t catena_group_set(catena_group_t *group,
                                            const char *name,
                                            const char *value);

/** Describe how a collective last ran on this group and, if a faster algorithm
 * was not applicable, why: "key=value" pairs separated by blanks; the key
 * "reason" comes last, before it messages: those that this rank sent while the
 * collective ran, also for other operations under way. For hierarchical
 * collectives the other keys are algorithm, hierarchy (the one that was used),
 * levels (of this rank, with the sizes of its subgroups), chunks (their
 * number) and chunk_bytes. Local.
 * @param[in]  collective "alltoall" (also for alltoallv and alltoallw),
 *                        "split", or the name of another one: "gatherv"
 * @param[out] text       at most `bytes` bytes, truncated if longer, terminated
 * @return CATENA_OK, ERR_ARG (NULL, no such collective) */
CATENA_API catena_status_t catena_group_explain(const catena_group_t *group,
                                                const char *collective,
                                                char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
