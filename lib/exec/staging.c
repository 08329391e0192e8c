#include <stdlib.h>

#include "exec/exec.h"

/* Staging buffers, in which non-contiguous data are packed for the network.
 * Most puts are complete on return: then the next put uses the same buffer,
 * which is still in the caches. Buffers are kept between operations, since
 * fresh memory costs a page fault per 4 KiB: a direct alltoallw of 64 KiB among
 * 16 ranks on 4 hosts and 2 cores takes 4.1 ms if each operation allocates its
 * buffers, and 2.6 ms if they are kept. */

enum {
    MOST_BUFFERS = 64, /* in use at once; for more, wait for the network */
    KEPT_BUFFERS = 16  /* between operations */
};

/** Remove the first free buffer from the list; NULL: there is none. */
static ctn_staging_t *take_free(ctn_exec_t *exec)
{
    ctn_staging_t **link = &exec->staging_buffers;
    while (*link != NULL && (*link)->pending != 0) {
        link = &(*link)->next;
    }
    ctn_staging_t *staging = *link;
    if (staging != NULL) {
        *link = staging->next;
    }
    return staging;
}

catena_status_t ctn_staging_get(ctn_op_t *op, ctn_staging_t **result)
{
    ctn_exec_t *exec = op->exec;
    op->staged = true;
    ctn_staging_t *staging = take_free(exec);
    *result = NULL;
    if (staging == NULL) {
        if (exec->staging_count == MOST_BUFFERS) {
            return CATENA_OK;
        }
        staging = malloc(sizeof(*staging));
        if (staging == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        staging->pending = 0;
        exec->staging_count++;
    }
    staging->op = op;
    staging->next = exec->staging_buffers;
    exec->staging_buffers = staging;
    *result = staging;
    return CATENA_OK;
}

bool ctn_staging_busy(const ctn_op_t *op)
{
    const ctn_staging_t *staging =
        op->staged ? op->exec->staging_buffers : NULL;
    while (staging != NULL && (staging->op != op || staging->pending == 0)) {
        staging = staging->next;
    }
    return staging != NULL;
}

void ctn_staging_trim(ctn_exec_t *exec)
{
    /* A simulation has very many ranks and needs no warm caches. */
    unsigned kept = exec->virtual_time ? 0 : KEPT_BUFFERS;
    ctn_staging_t *staging;
    while (exec->staging_count > kept && (staging = take_free(exec)) != NULL) {
        free(staging);
        exec->staging_count--;
    }
}

void ctn_staging_release(ctn_exec_t *exec)
{
    while (exec->staging_buffers != NULL) {
        ctn_staging_t *staging = exec->staging_buffers;
        exec->staging_buffers = staging->next;
        free(staging);
    }
}
