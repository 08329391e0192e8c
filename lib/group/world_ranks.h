#ifndef CTN_GROUP_WORLD_RANKS_H
#define CTN_GROUP_WORLD_RANKS_H

#include "group/group.h"

/* The world ranks of all members of a group. A member of a chain knows the
 * world ranks of its neighbors only. catena_group_world_ranks gathers those of
 * all members once, and keeps them with the group: 4 bytes for each member, and
 * 8 more for searches. */

/** Return whether the world ranks are known. They always are for the world, for
 * groups of one rank and for groups of listed ranks; for other groups after
 * catena_group_world_ranks. */
bool ctn_world_ranks_known(const catena_group_t *group);

/** Return the world rank of a member. The world ranks must be known. */
int ctn_world_rank(const catena_group_t *group, int rank);

/** Set the world ranks.
 * @param ranks [size], malloc'd; owned by the group on CATENA_OK */
catena_status_t ctn_world_ranks_set(catena_group_t *group, int *ranks);

#endif
