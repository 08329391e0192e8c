#ifndef CTN_COLL_BARRIER_H
#define CTN_COLL_BARRIER_H

#include "topo/topo.h"

/** An inactive barrier of `group`; NULL: no memory. */
ctn_op_t *ctn_barrier_create(catena_group_t *group);

/** Have exec put barriers between operations of this group where it needs them
 * (exec/sequence.h); to be called when it has been created. */
void ctn_barrier_set_hooks(catena_group_t *group);

/** An inactive barrier of the members of `group` on this node: on-node words
 * only. The topology must be built. NULL: no memory. */
ctn_op_t *ctn_fence_create(catena_group_t *group);

/** The same, but numbered apart: what a member has written to its card is seen
 * by all others on the node when it is over. */
ctn_op_t *ctn_publish_fence_create(catena_group_t *group);

/** Whether barriers of `group` are put together from levels, as its settings
 * may have it, and not made here. */
bool ctn_barrier_by_levels(catena_group_t *group);

/** What the last barrier did, for catena_group_explain. */
void ctn_barrier_explain(catena_group_t *group, char *text, size_t bytes);

#endif
