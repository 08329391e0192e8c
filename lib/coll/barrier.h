#ifndef CTN_COLL_BARRIER_H
#define CTN_COLL_BARRIER_H

#include "topo/topo.h"

/** How the barriers that users call run: the values of group->barrier. */
typedef enum ctn_barrier_algorithm {
    CTN_BARRIER_UNKNOWN, /* the settings have not been read yet */
    CTN_BARRIER_NODES,   /* BAR-1, in barrier.c */
    CTN_BARRIER_LEVELS   /* HIER-1, in ml/barrier.c */
} ctn_barrier_algorithm_t;

/** Create an inactive operation that runs a barrier of `group` (BAR-1).
 * @return NULL: no memory */
ctn_op_t *ctn_barrier_create(catena_group_t *group);

/** Let exec insert barriers between operations of this group where it needs
 * them (exec/sequence.h); to be called after the group's creation. */
void ctn_barrier_set_hooks(catena_group_t *group);

/** Create an inactive node fence: a barrier of the members of `group` on this
 * node. It only uses words of the node area. The topology must be built.
 * @return NULL: no memory */
ctn_op_t *ctn_fence_create(catena_group_t *group);

/** Create the node fence of a split, which has words and numbers of its own:
 * when it is over, each member of the node can read the records that the others
 * have published. */
ctn_op_t *ctn_publish_fence_create(catena_group_t *group);

/** Whether the barriers that users call go through hierarchy levels, since
 * settings name a hierarchy or an algorithm for barriers. */
bool ctn_barrier_by_levels(catena_group_t *group);

/** Describe the last barrier, for catena_group_explain. */
void ctn_barrier_explain(const catena_group_t *group, char *text, size_t bytes);

#endif
