#ifndef CTN_COLL_BARRIER_H
#define CTN_COLL_BARRIER_H

#include "topo/topo.h"

/** How the barriers of a group run: group->barrier. */
typedef enum ctn_barrier_algorithm {
    CTN_BARRIER_UNKNOWN, /* the settings have not been read yet */
    CTN_BARRIER_NODES,
    CTN_BARRIER_LEVELS
} ctn_barrier_algorithm_t;

/** Create an inactive barrier of `group`; NULL: no memory. */
ctn_op_t *ctn_barrier_create(catena_group_t *group);

/** Let exec insert barriers between operations of this group where it needs
 * them (exec/sequence.h); to be called after the group's creation. */
void ctn_barrier_set_hooks(catena_group_t *group);

/** Create an inactive barrier of the members of `group` on this node, which
 * uses words of the node only. The topology must be built. NULL: no memory. */
ctn_op_t *ctn_fence_create(catena_group_t *group);

/** The same with separate numbers: when it is over, all members of the node see
 * what each has written to its record. */
ctn_op_t *ctn_publish_fence_create(catena_group_t *group);

/** Whether barriers of `group` are composed of levels because of its settings.
 */
bool ctn_barrier_by_levels(catena_group_t *group);

/** Describe the last barrier, for catena_group_explain. */
void ctn_barrier_explain(const catena_group_t *group, char *text, size_t bytes);

#endif
