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
 * size, and the addresses of its left and right neighbours. */

/** Levels of the machine that a group can be split by: ranks that share the
 * resource. A rank that is not bound to one such resource (it may run on
 * several) shares the next larger one that it has to itself: levels nest. */
typedef enum catena_level {
    CATENA_LEVEL_NODE = 1, /**< ranks that share a node */
    CATENA_LEVEL_SOCKET,   /**< a package */
    CATENA_LEVEL_NUMA,     /**< a NUMA domain */
    CATENA_LEVEL_L3,       /**< a third-level cache */
    CATENA_LEVEL_CORE      /**< a core */
} catena_level_t;

/** This rank's in the group; -1 for NULL. */
CATENA_API int catena_group_rank(const catena_group_t *group);
/** How many ranks there are; 0 for NULL. */
CATENA_API int catena_group_size(const catena_group_t *group);

/** As color: be in no group. */
#define CATENA_UNDEFINED (-32766)

/** Split into one group per color, ordered by key, ties by rank (as
 * MPI_Comm_split). Collective; blocks, also until the group's operations under
 * way are complete.
 * @param[in]  color 0 or more, or CATENA_UNDEFINED
 * @param[out] out   set only on CATENA_OK: NULL for CATENA_UNDEFINED, else free
 *                   with catena_group_free
 * @return CATENA_OK, ERR_ARG (see catena_group_split_by), ERR_NO_MEMORY,
 *         ERR_PEER */
CATENA_API catena_status_t catena_group_split(catena_group_t *group, int color,
                                              int key, catena_group_t **out);

/** Order of two values: below, at or above 0, as strcmp. Must give the same on
 * all ranks and be an order; a split by one that is not ends with
 * CATENA_ERR_ARG on all ranks or with groups that fit together, never hangs. */
typedef int (*catena_compare_t)(const void *a, size_t a_bytes, const void *b,
                                size_t b_bytes, void *argument);

/** Compares values of 8 bytes as int64_t; shorter ones come before these,
 * longer ones after them, both byte for byte; NULL has no bytes. Algorithms
 * know it. */
CATENA_API int catena_compare_int64(const void *a, size_t a_bytes,
                                    const void *b, size_t b_bytes,
                                    void *argument);

enum {
    /** This rank is in no group. May differ between ranks. */
    CATENA_SPLIT_UNDEFINED = 1u << 0,
    /** All stay together whatever the color: reorder only. */
    CATENA_SPLIT_NO_SPLIT = 1u << 1,
    /** Ordered by rank whatever the key: split only. */
    CATENA_SPLIT_NO_REORDER = 1u << 2
};

/** What to split by ([Moody], sections 1 and 3). Colors and keys are any bytes;
 * their lengths may differ between ranks, 0 included. Zero all that you do not
 * set. Comparators, argument, algorithm, and flags but for UNDEFINED must be
 * the same on all ranks. */
typedef struct catena_split {
    const void *color;
    size_t color_bytes;
    /** When colors are the same, and their order; NULL: byte for byte. */
    catena_compare_t color_compare;
    const void *key;
    size_t key_bytes;
    /** Order within a group; NULL: byte for byte, a prefix first. Ties by
     * rank. */
    catena_compare_t key_compare;
    void *argument; /**< handed to the comparators */
    unsigned flags; /**< CATENA_SPLIT_... */
    /** allgather, allgather-fast, gather-scatter, cheng (of 1024), cheng:M (128
     * to 8192), bitonic, radix, radix-plain (as in the paper: by every bit),
     * hash, hash64; NULL or "auto": chosen by what
     * all know (docs/tuning.md). radix takes colors and keys compared by
     * catena_compare_int64; hash and hash64 colors without a comparator or with
     * that one. */
    const char *algorithm;
} catena_split_t;

/** Split by any data. Collective; blocks, also until the group's operations
 * under way are complete.
 * @param[in]  split may be released on return, as may what it points to
 * @param[out] out   as in catena_group_split
 *
 * What is wrong on one rank alone ends the split with ERR_ARG on all ranks if
 * they show each other what they bring anyhow: when none names an algorithm
 * (nor does who has NULL for split), in groups of up to 1,024 ranks, and with
 * allgather-fast. Likewise if some have no comparator, catena_compare_int64, or
 * one of their own where others have not. Other algorithms would need a round
 * more for that: whoever is called wrongly returns ERR_ARG at once, and the
 * others wait. So they do, always, where ranks name algorithms that are not the
 * same, or where group is NULL.
 *
 * @return CATENA_OK, ERR_ARG (algorithm unknown or not made for this; a
 *         comparator that contradicts itself; logged), ERR_NO_MEMORY (on
 *         all ranks and for good: see catena/coll.h),
 *         ERR_PEER */
CATENA_API catena_status_t catena_group_split_by(catena_group_t *group,
                                                 const catena_split_t *split,
                                                 catena_group_t **out);

/** The same, nonblocking: ordered with the other operations of the group.
 * Color, key and argument stay until it is complete, and *out is set then.
 * Whoever is called wrongly is told at once; the others' requests end as soon
 * as it makes progress. */
CATENA_API catena_status_t catena_group_isplit_by(catena_group_t *group,
                                                  const catena_split_t *split,
                                                  catena_group_t **out,
                                                  catena_request_t **request);

/** By a string, ordered by key, ties by rank. NULL: in no group. */
CATENA_API catena_status_t catena_group_split_string(catena_group_t *group,
                                                     const char *color, int key,
                                                     catena_group_t **out);

/** By any 64-bit integers, ordered by key, ties by rank. */
CATENA_API catena_status_t catena_group_split_int64(catena_group_t *group,
                                                    int64_t color, int64_t key,
                                                    catena_group_t **out);

/** Split into one group per `level` resource, ordered by key, ties by rank:
 * a split by the resource's name.
 * @param[in]  key   position within the new group, see MPI_Comm_split
 * @param[out] out   the new group; free with catena_group_free
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_group_split_level(catena_group_t *group,
                                                    catena_level_t level,
                                                    int key,
                                                    catena_group_t **out);

/** What a group takes, and what the last split of it took on this rank. */
typedef struct catena_group_stats {
    size_t handle_bytes; /**< of any group */
    size_t block_bytes;  /**< of its control block, in the shared heap */
    const char *split_algorithm; /**< of the last split; NULL: none yet */
    uint64_t split_rounds;       /**< of messages that this rank took part in */
    uint64_t split_messages;     /**< sent by this rank */
    uint64_t split_bytes;        /**< sent by this rank */
    uint64_t split_memory;       /**< most bytes held at once, but for the new
                                      group's */
} catena_group_stats_t;

CATENA_API catena_status_t catena_group_get_stats(const catena_group_t *group,
                                                  catena_group_stats_t *stats);

/** The same ranks in a group of their own, whose operations do not mix with
 * those of `group`. Collective; blocks. */
CATENA_API catena_status_t catena_group_dup(catena_group_t *group,
                                            catena_group_t **out);

/** Collective, but does not block: the handle is gone, and the memory goes back
 * when all members have freed the group. Ranks may free groups in any order.
 * Persistent requests of the group stay as they are, also active ones: what
 * they need is freed with them.
 * @return CATENA_OK, ERR_ARG (the world: it goes with its context), ERR_STATE
 *         (this rank has operations under way, which it logs; nothing was freed
 *         here, and the group can still be used), ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_group_free(catena_group_t *group);

/** Choose how this group's collectives run; all ranks must set the same.
 *
 *   alltoall_algorithm  direct, shift, bruck, morton, l-a2a, mpml, nmpml,
 *                       onmpml
 *   alltoall_leaders    on every node, 1 to 64
 *   alltoall_radix      of bruck, 2 to 65536
 *   alltoall_window     rounds at once of direct and shift, 1 to 32
 *   hierarchy           levels of the other collectives, from the lowest up:
 *                       "rule:component,rule:component,...", such as
 *                       "node:shm,network:ucx"
 *   <c>_hierarchy       the same for one of them; comes before "hierarchy"
 *   <c>_algorithm       of one of them, by the name that a component has for
 *                       it; where none of that name is it chooses as if nothing
 *                       was said
 *   subgroup            any text: by the rule "user" ranks of the same are
 *                       together; this alone may differ between ranks
 *
 * <c> is barrier, bcast, reduce, allreduce, gather, scatter, allgather,
 * reduce_scatter or scan, and stands for its variants, too (gatherv, exscan,
 * reduce_scatter_block, ...), as alltoall does. "auto" leaves algorithms and
 * numbers to the library, hierarchies to the environment. docs/tuning.md has
 * all rules, components and algorithms.
 *
 * After hierarchy, <c>_hierarchy, <c>_algorithm and subgroup all ranks agree on
 * them again: all have to call, or none. Levels that do not fit the group, and
 * settings of these and of the environment that differ, are found out when they
 * are used: the collective fails with ERR_ARG on all ranks, until they are set
 * again. Barriers go by levels only where a hierarchy or barrier_algorithm is
 * set: there ranks of which some have neither wait for each other for ever.
 * Holds for operations started later; of persistent alltoalls, and for whether
 * a persistent barrier goes by levels, for those initialised later.
 * @return CATENA_OK, ERR_ARG (unknown name or value; what is known is
 *         logged), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_group_set(catena_group_t *group,
                                            const char *name,
                                            const char *value);

/** In words: how `collective` ("alltoall", which stands for v and w as well,
 * "split", or any other by its own name: "gatherv") last ran on this group and,
 * where a faster way was refused, why: "key=value" pairs, separated by blanks,
 * the reason last. Of collectives of levels these are algorithm, hierarchy
 * (that it went by), levels (this rank's, with the sizes of its subgroups),
 * segments and segment_bytes. Small blocking calls of these, which run at once,
 * leave no trace. Truncated to `bytes`, always terminated.
 * @return CATENA_OK, ERR_ARG (NULL, no such collective) */
CATENA_API catena_status_t catena_group_explain(catena_group_t *group,
                                                const char *collective,
                                                char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
