/* What exec keeps for groups: their list, and spare control blocks. */

#include <stdlib.h>

#include "group/group.h"

/* Control blocks of freed groups are kept for new ones: fresh memory costs page
 * faults, and zeroing a whole block costs more than zeroing its few used slots.
 */
enum { SPARE_BLOCKS = 8 };

typedef struct groups {
    ctn_exec_attachment_t attachment; /* first */
    catena_group_t *newest; /* of the list of groups, linked by `older` */
    ctn_control_block_t *spare[SPARE_BLOCKS];
    unsigned spares; /* number of blocks in `spare` */
} groups_t;

static const char groups_key;

static groups_t *groups_of(const ctn_exec_t *exec)
{
    return (groups_t *)ctn_exec_find(exec, &groups_key);
}

static bool free_spares(ctn_exec_t *exec, ctn_exec_attachment_t *attachment)
{
    groups_t *groups = (groups_t *)attachment;
    bool any = groups->spares > 0;
    while (groups->spares > 0) {
        ctn_heap_free(exec->heap, groups->spare[--groups->spares]);
    }
    return any;
}

static void release(ctn_exec_t *exec, ctn_exec_attachment_t *attachment)
{
    (void)free_spares(exec, attachment);
    free(attachment);
}

catena_status_t ctn_groups_open(ctn_exec_t *exec)
{
    groups_t *groups = calloc(1, sizeof(*groups));
    if (groups == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    groups->attachment.key = &groups_key;
    groups->attachment.reclaim = free_spares;
    groups->attachment.release = release;
    ctn_exec_attach(exec, &groups->attachment);
    return CATENA_OK;
}

/* ---- control blocks ---- */

ctn_control_block_t *ctn_control_block_get(ctn_exec_t *exec)
{
    groups_t *groups = groups_of(exec);
    if (groups->spares == 0 && exec->background != NULL) {
        (void)ctn_exec_poll_background(exec);
    }
    return groups->spares > 0
               ? groups->spare[--groups->spares]
               : ctn_heap_calloc(exec->heap, 4096, sizeof(ctn_control_block_t));
}

void ctn_control_block_put(ctn_exec_t *exec, ctn_control_block_t *block)
{
    groups_t *groups = groups_of(exec);
    if (block != NULL && groups->spares < SPARE_BLOCKS &&
        exec->status == CATENA_OK) {
        groups->spare[groups->spares++] = block;
    } else {
        ctn_exec_free(exec, block);
    }
}

/* ---- list ---- */

void ctn_groups_add(catena_group_t *group)
{
    groups_t *groups = groups_of(group->exec);
    group->older = groups->newest;
    groups->newest = group;
}

void ctn_groups_remove(const catena_group_t *group)
{
    catena_group_t **link = &groups_of(group->exec)->newest;
    while (*link != NULL && *link != group) {
        link = &(*link)->older;
    }
    if (*link != NULL) {
        *link = group->older;
    }
}

catena_group_t *ctn_groups_newest(const ctn_exec_t *exec)
{
    const groups_t *groups = groups_of(exec);
    return groups != NULL ? groups->newest : NULL; /* init ran out of memory */
}
