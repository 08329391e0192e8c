#ifndef CTN_GROUP_WORLD_RANKS_H
#define CTN_GROUP_WORLD_RANKS_H

#include "group/group.h"

/* The world ranks of all members of a group. A member of a chain knows those of
 * its neighbors only, so the others are fetched once, and kept: 4 bytes for
 * each member, and 8 more for a search. */

/** Return whether they are known: of the world and of groups of one rank
 * always, of groups of listed ranks, and after catena_group_world_ranks. */
bool ctn_world_ranks_known(const catena_group_t *group);

/** Return that of a member. They are known. */
int ctn_world_rank(const catena_group_t *group, int rank);

/** Set them.
 * @param ranks [size], malloc'd; owned by the group on CATENA_OK */
catena_status_t ctn_world_ranks_set(catena_group_t *group, int *ranks);

#endif
