/* What exec keeps for groups: their list; and the memory of control blocks. */

#include <stdlib.h>

#include "group/group.h"

typedef struct groups {
    ctn_exec_attachment_t attachment; /* first */
    catena_group_t *newest; /* of the list of groups, linked by `older` */
} groups_t;

static const char groups_key;

static groups_t *groups_of(const ctn_exec_t *exec)
{
    return (groups_t *)ctn_exec_find(exec, &groups_key);
}

static void release(ctn_exec_t *exec, ctn_exec_attachment_t *attachment)
{
    (void)exec;
    free(attachment);
}

catena_status_t ctn_groups_open(ctn_exec_t *exec)
{
    groups_t *groups = calloc(1, sizeof(*groups));
    if (groups == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    groups->attachment.key = &groups_key;
    groups->attachment.release = release;
    ctn_exec_attach(exec, &groups->attachment);
    return CATENA_OK;
}

/* ---- control blocks ---- */

ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec)
{
    return ctn_heap_alloc_sparse(exec->heap, CTN_CONTROL_BLOCKS);
}

void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block)
{
    if (exec->status == CATENA_OK) { /* see ctn_exec_free */
        ctn_heap_free_sparse(exec->heap, block, CTN_CONTROL_BLOCKS);
    }
}

/* ---- list ---- */

void ctn_groups_add(catena_group_t *group)
{
    groups_t *groups = groups_of(group->exec);
    group->older = groups->newest;
    group->newer = NULL;
    if (group->older != NULL) {
        group->older->newer = group;
    }
    groups->newest = group;
    group->listed = true;
}

void ctn_groups_remove(catena_group_t *group)
{
    if (!group->listed) {
        return;
    }
    if (group->older != NULL) {
        group->older->newer = group->newer;
    }
    if (group->newer != NULL) {
        group->newer->older = group->older;
    } else {
        groups_of(group->exec)->newest = group->older;
    }
    group->listed = false;
}

catena_group_t *ctn_groups_newest(const ctn_exec_t *exec)
{
    const groups_t *groups = groups_of(exec);
    return groups != NULL ? groups->newest : NULL; /* init ran out of memory */
}
