/* Nonblocking calls. A call of catena is under a generalized request of MPI,
 * which the MPI library's own functions test, wait for and free. Its progress
 * engine calls preload_progress while a rank waits in any of them. */

#include <stdlib.h>
#include <string.h>

#include "preload.h"

/* The requests under way. */
static struct {
    catena_request_t **request; /* [preload.pending] */
    preload_started_t **call;   /* [preload.pending] */
    size_t *index;              /* for catena_request_testsome */
    catena_status_t *status;
    size_t space; /* of the arrays */
} pending;

static void *resize(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes);
    if (more == NULL) {
        preload_no_memory(bytes);
    }
    return more;
}

static void add(preload_started_t *c)
{
    if (preload.pending == pending.space) {
        size_t space = pending.space > 0 ? 2 * pending.space : 16;
        pending.request =
            resize(pending.request, space * sizeof(*pending.request));
        pending.call = resize(pending.call, space * sizeof(*pending.call));
        pending.index = resize(pending.index, space * sizeof(*pending.index));
        pending.status =
            resize(pending.status, space * sizeof(*pending.status));
        pending.space = space;
    }
    pending.request[preload.pending] = c->request;
    pending.call[preload.pending] = c;
    preload.pending++;
    preload_keep_comm(c);
}

static int query(void *argument, MPI_Status *status)
{
    const preload_started_t *c = argument;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return preload_code(c->status);
}

static int release(void *argument)
{
    free(argument);
    return MPI_SUCCESS;
}

/* A collective cannot be cancelled. */
static int cancel(void *argument, int complete)
{
    (void)argument, (void)complete;
    return MPI_SUCCESS;
}

int preload_start(preload_started_t *c, MPI_Request *request)
{
    c->since = preload_begin();
    c->status = preload_call(c);
    if (c->status != CATENA_OK) {
        preload_close(c, false);
        int code = preload_end(c);
        free(c);
        return code;
    }
    preload_keep_side(&c->from);
    preload_keep_side(&c->to);
    (void)preload_end(c);
    int code = PMPI_Grequest_start(query, release, cancel, c, request);
    c->mpi_request = *request;
    if (c->request != NULL) {
        add(c);
    } else { /* it is complete */
        preload_close(c, true);
        PMPI_Grequest_complete(c->mpi_request);
    }
    return code;
}

/** Order of indices, which testsome gives ascending: the last one first, so
 * that its place can be taken by the last request. */
static void complete(size_t index, catena_status_t status)
{
    preload_started_t *c = pending.call[index];
    size_t last = --preload.pending;
    pending.call[index] = pending.call[last];
    pending.request[index] = pending.request[last];
    c->status = status;
    preload_drop_comm(c);
    preload_close(c, status == CATENA_OK);
    PMPI_Grequest_complete(c->mpi_request);
}

int preload_progress(void)
{
    size_t completed = 0;
    int done;
    (void)catena_request_testsome(preload.pending, pending.request, &completed,
                                  pending.index, pending.status, &done);
    for (size_t i = completed; i > 0; i--) {
        complete(pending.index[i - 1], pending.status[i - 1]);
    }
    return (int)completed;
}

void preload_requests_free(void)
{
    free(pending.request);
    free(pending.call);
    free(pending.index);
    free(pending.status);
    memset(&pending, 0, sizeof(pending));
}
