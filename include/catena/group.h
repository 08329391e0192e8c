#ifndef CATENA_GROUP_H
#define CATENA_GROUP_H

#include <stddef.h>

#include <catena/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A group is a chain ([Moody], section 2): each member knows its rank, the
 * size, and the addresses of its left and right neighbours. */

/** Levels of the machine that a group can be split by. */
typedef enum catena_level {
    CATENA_LEVEL_NODE = 1 /**< ranks that share a node */
} catena_level_t;

CATENA_API int catena_group_rank(const catena_group_t *group);
CATENA_API int catena_group_size(const catena_group_t *group);

/** As color: be in no group. */
#define CATENA_UNDEFINED (-32766)

/** Split into one group per color, ordered by key, ties by rank (as
 * MPI_Comm_split). Collective; blocks, also until the group's operations under
 * way are complete. Cost as catena_group_split_level.
 * @param[in]  color 0 or more, or CATENA_UNDEFINED
 * @param[out] out   set only on CATENA_OK: NULL for CATENA_UNDEFINED, else free
 *                   with catena_group_free
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_group_split(catena_group_t *group, int color,
                                              int key, catena_group_t **out);

/** Split into one group per `level` resource, ordered by key, ties by rank.
 * Collective; blocks. O(log p) rounds; O(1) memory when the keys are in order
 * of rank already, else O(members of the new group) at its rank 0.
 * @param[in]  key   position within the new group, see MPI_Comm_split
 * @param[out] out   the new group; free with catena_group_free
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_group_split_level(catena_group_t *group,
                                                    catena_level_t level,
                                                    int key,
                                                    catena_group_t **out);

/** The same ranks in a group of their own, whose operations do not mix with
 * those of `group`. Collective; blocks. */
CATENA_API catena_status_t catena_group_dup(catena_group_t *group,
                                            catena_group_t **out);

/** Collective; blocks until no peer can write into the group's memory.
 * @return CATENA_OK, ERR_ARG (the world: it goes with its context), ERR_STATE
 *         (operations are under way; nothing was freed), ERR_PEER */
CATENA_API catena_status_t catena_group_free(catena_group_t *group);

/** Choose how this group's collectives run; all ranks must set the same.
 * Names: "alltoall_algorithm" (auto, direct, shift, bruck, morton, l-a2a, mpml,
 * nmpml, onmpml), "alltoall_leaders" (a number per node), "alltoall_radix" (of
 * bruck), "alltoall_window" (rounds at once of direct and shift). They hold for
 * alltoall, alltoallv and alltoallw; "auto" undoes.
 * Holds for operations made later: started, or, if persistent, initialised.
 * @return CATENA_OK, ERR_ARG (unknown name or value; what is known is
 *         logged) */
CATENA_API catena_status_t catena_group_set(catena_group_t *group,
                                            const char *name,
                                            const char *value);

/** In words: how `collective` ("alltoall", which stands for v and w as well, or
 * "barrier") last ran on this group
 * and, where a faster way was refused, why: "key=value" pairs, separated by
 * blanks, the reason last. Truncated to `bytes`, always terminated. */
CATENA_API catena_status_t catena_group_explain(catena_group_t *group,
                                                const char *collective,
                                                char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
