/* The memory of control blocks, and the list of all groups, which exec keeps.
 */

#include "core/list.h"
#include "group/group.h"

/* ---- control blocks ---- */

ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec)
{
    return ctn_heap_alloc_sparse(exec->heap, CTN_CONTROL_BLOCKS);
}

void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block)
{
    if (ctn_exec_may_free(exec)) {
        ctn_heap_free_sparse(exec->heap, block, CTN_CONTROL_BLOCKS);
    }
}

/* ---- list ---- */

void ctn_groups_add(catena_group_t *group)
{
    CTN_LIST_PUSH(&group->exec->upper, group);
    group->listed = true;
}

void ctn_groups_remove(catena_group_t *group)
{
    if (group->listed) {
        CTN_LIST_REMOVE(&group->exec->upper, group);
        group->listed = false;
    }
}

catena_group_t *ctn_groups_newest(const ctn_exec_t *exec)
{
    return exec->upper;
}
