#include <stdlib.h>

#include "exec/exec.h"

/* Where data that are no plain memory are packed for the network. Most puts
 * have left when they return: then the same memory, still in the caches, serves
 * the next. It is kept from operation to operation, since fresh memory costs a
 * page fault for each 4 KiB: alltoallw of 64 KiB directly, 16 ranks on 4 hosts
 * and 2 cores, 4.1 ms with memory of each operation's own, 2.6 ms without the
 * faults. */

enum {
    MOST = 64, /* at a time: beyond, wait until the network has fewer */
    KEPT = 16  /* from operation to operation */
};

/** Take the first free one out of the list; NULL: there is none. */
static ctn_bounce_t *take_free(ctn_exec_t *exec)
{
    ctn_bounce_t **link = &exec->bounces;
    while (*link != NULL && (*link)->pending != 0) {
        link = &(*link)->next;
    }
    ctn_bounce_t *bounce = *link;
    if (bounce != NULL) {
        *link = bounce->next;
    }
    return bounce;
}

catena_status_t ctn_bounce_get(const ctn_op_t *op, ctn_bounce_t **result)
{
    ctn_exec_t *exec = op->exec;
    ctn_bounce_t *bounce = take_free(exec);
    *result = NULL;
    if (bounce == NULL) {
        if (exec->bounce_count == MOST) {
            return CATENA_OK;
        }
        bounce = malloc(sizeof(*bounce));
        if (bounce == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        bounce->pending = 0;
        exec->bounce_count++;
    }
    bounce->op = op;
    bounce->next = exec->bounces;
    exec->bounces = bounce;
    *result = bounce;
    return CATENA_OK;
}

bool ctn_bounce_has(const ctn_op_t *op)
{
    const ctn_bounce_t *bounce = op->exec->bounces;
    while (bounce != NULL && (bounce->op != op || bounce->pending == 0)) {
        bounce = bounce->next;
    }
    return bounce != NULL;
}

void ctn_bounce_trim(ctn_exec_t *exec)
{
    /* A simulation has very many ranks, and no caches to mind. */
    unsigned kept = exec->virtual_time ? 0 : KEPT;
    ctn_bounce_t *bounce;
    while (exec->bounce_count > kept && (bounce = take_free(exec)) != NULL) {
        free(bounce);
        exec->bounce_count--;
    }
}

void ctn_bounce_release(ctn_exec_t *exec)
{
    while (exec->bounces != NULL) {
        ctn_bounce_t *bounce = exec->bounces;
        exec->bounces = bounce->next;
        free(bounce);
    }
}
