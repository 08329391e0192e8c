#ifndef CATENA_GROUP_H
#define CATENA_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>
#include <catena/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A group is a chain ([Moody], section 2): each member knows its rank, the
 * size, and the addresses of its left and right neighbors. */

/** Levels of the machine that a group can be split by: ranks that share the
 * resource. A rank that is not bound to one resource of a level (it may run on
 * several) is counted by the next larger resource that it is bound to: levels
 * nest. */
typedef enum catena_level {
    CATENA_LEVEL_NODE = 1, /**< ranks that share a node */
    CATENA_LEVEL_SOCKET,   /**< a package */
    CATENA_LEVEL_NUMA,     /**< a NUMA domain */
    CATENA_LEVEL_L3,       /**< a third-level cache */
    CATENA_LEVEL_CORE      /**< a core */
} catena_level_t;

/** Return this rank's rank in the group; -1 for NULL. */
CATENA_API int catena_group_rank(const catena_group_t *group);
/** Return the number of ranks; 0 for NULL. */
CATENA_API int catena_group_size(const catena_group_t *group);

/** As color: this rank is in no group. As rank: not a member. */
#define CATENA_UNDEFINED (-32766)

/** As rank: no rank. As neighbor: nothing is sent to it or received from it,
 * and its block is not accessed. */
#define CATENA_PROC_NULL (-2)

/** Return the world ranks of all members. Collective at the first call on a
 * group, then local: a member of a chain knows its neighbors only, so the first
 * call is an allgather; it blocks. Of the world, of groups of one rank and of
 * groups made by catena_group_create it is always local. Memory: 4 bytes for
 * each member, on each of them, from the first call on.
 * @param[out] ranks [size] the world rank of each member; owned by the group
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY (where it is local),
 *         ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_group_world_ranks(catena_group_t *group,
                                                    const int **ranks);

/** Translate ranks of `from` to ranks of `to` (as MPI_Group_translate_ranks).
 * Local. The world ranks of both groups must be known: those of the world, of
 * groups of one rank and of groups made by catena_group_create always are,
 * those of other groups after catena_group_world_ranks. Memory: 8 bytes for
 * each member of `to`, from the first call on.
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
 * listed in several calls make them in the same order. Ordered with no
 * operation of the parent. ERR_ARG and ERR_STATE are of the rank that returns
 * them alone: if other listed ranks' arguments are right, these wait for it
 * until it calls again.
 * @param[in]  parent its world ranks must be known: see
 *                    catena_group_translate_ranks
 * @param[in]  ranks  [count] ranks of `parent`, each once: rank i of the new
 *                    group is ranks[i]
 * @param[out] out    the new group, NULL if this rank is not listed; free with
 *                    catena_group_free
 * @return CATENA_OK, ERR_ARG (NULL; not a rank of the parent, or twice;
 *         logged), ERR_STATE (the world ranks of the parent are not known;
 *         logged), ERR_NO_MEMORY (this rank is not listed), ERR_ENDED (a listed
 *         rank has no memory; or the rank listed before or after it has another
 *         list, which is logged; other differences between lists make ranks
 *         wait), ERR_PEER */
CATENA_API catena_status_t catena_group_create(catena_group_t *parent,
                                               size_t count, const int ranks[],
                                               catena_group_t **out);

/** Split into one group per color, ordered by key, ties by rank (as
 * MPI_Comm_split). Collective; blocks, also until the group's operations under
 * way are complete.
 * @param[in]  color 0 or more, or CATENA_UNDEFINED
 * @param[out] out   set only on CATENA_OK: NULL for CATENA_UNDEFINED, else free
 *                   with catena_group_free
 * @return CATENA_OK, ERR_ARG (see catena_group_split_by), ERR_ENDED,
 *         ERR_PEER */
CATENA_API catena_status_t catena_group_split(catena_group_t *group, int color,
                                              int key, catena_group_t **out);

/** Compare two values: below, at or above 0, as strcmp. It must be an order and
 * return the same on all ranks. With an inconsistent comparator a split fails
 * with CATENA_ERR_ARG on all ranks, or creates groups whose members agree; it
 * never hangs. */
typedef int (*catena_compare_t)(const void *a, size_t a_bytes, const void *b,
                                size_t b_bytes, void *argument);

/** Compare values of 8 bytes as int64_t. Shorter ones precede these, longer
 * ones follow, both bytewise; NULL has no bytes. Algorithms recognize it. */
CATENA_API int catena_compare_int64(const void *a, size_t a_bytes,
                                    const void *b, size_t b_bytes,
                                    void *argument);

enum {
    /** This rank is in no group. May differ between ranks. */
    CATENA_SPLIT_UNDEFINED = 1u << 0,
    /** Ignore the color: all ranks stay together, and are only reordered. */
    CATENA_SPLIT_NO_SPLIT = 1u << 1,
    /** Ignore the key: ranks keep their order, and are only split. */
    CATENA_SPLIT_NO_REORDER = 1u << 2
};

/** Arguments of a split ([Moody], sections 1 and 3). Colors and keys are any
 * bytes; their lengths may differ between ranks, 0 included. Zero all members
 * that you do not set. Comparators, argument, algorithm, and flags except
 * UNDEFINED must be the same on all ranks. */
typedef struct catena_split {
    size_t size; /**< sizeof this struct, set by the caller */
    const void *color;
    size_t color_bytes;
    /** Whether colors are equal, and their order; NULL: bytewise. */
    catena_compare_t color_compare;
    const void *key;
    size_t key_bytes;
    /** Order within a group; NULL: bytewise, a prefix first. Ties by rank. */
    catena_compare_t key_compare;
    void *argument; /**< passed to the comparators */
    unsigned flags; /**< CATENA_SPLIT_... */
    /** allgather, allgather-fast, gather-scatter, cheng (of 1024), cheng:M (128
     * to 8192), bitonic, radix, radix-plain (as in the paper: by every bit),
     * hash, hash64; NULL or "auto": selected by facts that all ranks share
     * (docs/tuning.md). radix needs colors and keys compared by
     * catena_compare_int64; hash and hash64 need colors without a comparator or
     * with that one. */
    const char *algorithm;
} catena_split_t;

/** Split by arbitrary data. Collective; blocks, also until the group's
 * operations under way are complete.
 * @param[in]  split may be released on return, as may what it points to
 * @param[out] out   as in catena_group_split
 *
 * Invalid arguments on one rank fail the split with ERR_ARG on all ranks if
 * ranks exchange their records anyway: if no rank names an algorithm (a rank
 * that passes NULL for split, or no size in it, names none), in groups of up to
 * 1,024 ranks, and with allgather-fast. The same holds if ranks differ in the
 * kind of their comparators: none, catena_compare_int64, or one of the
 * application. Other algorithms would need one more round for this: a rank with
 * invalid arguments returns ERR_ARG immediately, and the others wait. They
 * always wait if ranks name different algorithms, or if group is NULL.
 *
 * @return CATENA_OK, ERR_ARG (algorithm unknown or not applicable; inconsistent
 *         comparator; logged), ERR_UNSUPPORTED (this rank set a member that
 *         the library does not know; the others get ERR_ARG), ERR_ENDED (a rank
 *         has no memory for it), ERR_PEER */
CATENA_API catena_status_t catena_group_split_by(catena_group_t *group,
                                                 const catena_split_t *split,
                                                 catena_group_t **out);

/** Nonblocking catena_group_split_by: ordered with the other operations of the
 * group. Color, key and argument must stay valid until it is complete; *out is
 * set then. A rank with invalid arguments gets the error immediately; the
 * others' requests end when it makes progress. */
CATENA_API catena_status_t catena_group_isplit_by(catena_group_t *group,
                                                  const catena_split_t *split,
                                                  catena_group_t **out,
                                                  catena_request_t **request);

/** Split by a string, ordered by key, ties by rank. NULL: in no group. */
CATENA_API catena_status_t catena_group_split_string(catena_group_t *group,
                                                     const char *color, int key,
                                                     catena_group_t **out);

/** Split by any 64-bit integers, ordered by key, ties by rank. */
CATENA_API catena_status_t catena_group_split_int64(catena_group_t *group,
                                                    int64_t color, int64_t key,
                                                    catena_group_t **out);

/** Split into one group per resource of `level`, ordered by key, ties by rank:
 * a split by the resource's name.
 * @param[in]  key   position within the new group, see MPI_Comm_split
 * @param[out] out   the new group; free with catena_group_free
 * @return CATENA_OK, ERR_ARG, ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_group_split_level(catena_group_t *group,
                                                    catena_level_t level,
                                                    int key,
                                                    catena_group_t **out);

/** The memory of a group, and the cost of its last split on this rank. */
typedef struct catena_group_stats {
    size_t size;         /**< sizeof this struct, set by the caller */
    size_t handle_bytes; /**< of any group */
    size_t block_bytes;  /**< of its control block, in the shared heap */
    const char *split_algorithm; /**< of the last split; NULL: none yet */
    uint64_t split_rounds;   /**< of messages in which this rank took part */
    uint64_t split_messages; /**< sent by this rank */
    uint64_t split_bytes;    /**< sent by this rank */
    uint64_t split_memory;   /**< peak of memory, without the new group's */
} catena_group_stats_t;

/** Return the memory of a group, and the cost of its last split here.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_group_get_stats(const catena_group_t *group,
                                                  catena_group_stats_t *stats);

/** Duplicate: a group of the same ranks, whose operations are separate from
 * those of `group`. Collective; blocks. */
CATENA_API catena_status_t catena_group_dup(catena_group_t *group,
                                            catena_group_t **out);

/** Free a group. Collective, but does not block: the handle is NULL on return,
 * and the memory is released when all members have freed the group. Ranks may
 * free groups in any order. Persistent requests of the group, also active ones,
 * are not affected: their resources are freed with them.
 * @param[in,out] group NULL afterwards, except with ERR_ARG and ERR_STATE
 * @return CATENA_OK, ERR_ARG (NULL; the world or self: freed with its context),
 *         ERR_STATE (this rank has operations under way; logged; nothing was
 *         freed here, and the group can still be used), ERR_ENDED,
 *         ERR_PEER */
CATENA_API catena_status_t catena_group_free(catena_group_t **group);

/** Change how this group's collectives run; all ranks must set the same.
 *
 *   alltoall_algorithm  direct, shift, bruck, morton, l-a2a, mpml, nmpml,
 *                       onmpml
 *   alltoall_leaders    on every node, 1 to 64
 *   alltoall_radix      of bruck, 2 to 65536
 *   alltoall_window     rounds at a time of direct and shift, 1 to 32
 *   hierarchy           levels of the other collectives, from the lowest up:
 *                       "rule:component,rule:component,...", such as
 *                       "node:shm,network:ucx"
 *   <c>_hierarchy       the same for one of them; overrides "hierarchy"
 *   <c>_algorithm       of one of them, by the component's name for it; a
 *                       component without this algorithm selects as if it were
 *                       not set
 *   subgroup            any text: the rule "user" joins ranks with the same
 *                       text; only this may differ between ranks
 *
 * <c> is barrier, bcast, reduce, allreduce, gather, scatter, allgather,
 * reduce_scatter or scan, and includes its variants (gatherv, exscan,
 * reduce_scatter_block, ...), as alltoall does. "auto" leaves algorithms and
 * numbers to the library, hierarchies to the environment. docs/tuning.md has
 * all rules, components and algorithms.
 *
 * After hierarchy, <c>_hierarchy, <c>_algorithm and subgroup all ranks agree on
 * them again: all ranks must call, or none. Levels that do not fit the group,
 * and settings of these or of the environment that differ, are detected when
 * they are used: the collective fails with ERR_ARG on all ranks until they are
 * set again. Barriers are hierarchical only where a hierarchy or
 * barrier_algorithm is set: if some ranks have neither, the ranks deadlock.
 * Settings apply to operations started later; for persistent alltoalls, and for
 * whether a persistent barrier is hierarchical, to those initialized later.
 * @return CATENA_OK, ERR_ARG (unknown name or value; the known ones are
 *         logged), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_group_set(catena_group_t *group,
                                            const char *name,
                                            const char *value);

/** Describe how `collective` ("alltoall", which includes v and w, "split", or
 * any other by its own name: "gatherv") last ran on this group and, if a faster
 * algorithm was not applicable, why: "key=value" pairs separated by blanks, the
 * reason last. For hierarchical collectives the keys are algorithm, hierarchy
 * (that was used), levels (this rank's, with the sizes of its subgroups),
 * segments and segment_bytes. Small blocking calls of these, which run inline,
 * are not recorded. Truncated to `bytes`, always terminated.
 * @return CATENA_OK, ERR_ARG (NULL, no such collective) */
CATENA_API catena_status_t catena_group_explain(const catena_group_t *group,
                                                const char *collective,
                                                char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
