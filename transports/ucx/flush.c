#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* A flush completes all earlier puts at their targets. UCP's own flush does
 * that for UCP's puts. After it, active messages are only in the network layer
 * of their target, where they may wait for progress. So a flush has two steps:
 * UCP's flush, and then a SYNC to each target of active messages. The SYNC
 * cannot overtake these messages any more, so its reply says that they have
 * arrived. */

/** The link to the record of a flush, or to the end of the list. */
static ctn_ucx_sync_t **find_sync(ctn_ucx_t *transport, uint64_t cookie)
{
    ctn_ucx_sync_t **link = &transport->syncs;
    while (*link != NULL && (*link)->cookie != cookie)
        link = &(*link)->next;
    return link;
}

/** UCP's flush or one SYNC of a flush is complete. The flush is complete with
 * the last of them. */
static void complete_one(const ctn_ucx_t *transport, ctn_ucx_sync_t **link)
{
    ctn_ucx_sync_t *sync = *link;
    if (--sync->answers_left > 0)
        return;
    if (sync->pending != NULL && !transport->abandoned)
        (*sync->pending)--;
    *link = sync->next;
    free(sync);
}

/** UCP's flush is complete; SYNCs are sent when progress returns. */
static void flush_done(void *request, ucs_status_t status, void *user_data)
{
    ctn_ucx_op_t *op = user_data;
    ctn_ucx_t *transport = op->transport;
    ctn_ucx_control_header_t control = op->header.control;

    ctn_ucx_op_put(op);
    ucp_request_free(request);
    if (transport->closing)
        return;
    catena_status_t result = ctn_ucx_status(status);
    if (result == CATENA_OK ||
        (result == CATENA_ERR_PEER && transport->died != NULL))
        result = ctn_ucx_defer(transport, CTN_UCX_AM_SYNCED, control, NULL, 0);
    if (result != CATENA_OK)
        ctn_ucx_fail(transport, result);
}

catena_status_t ctn_ucx_flush(ctn_transport_t *base, uint64_t *pending)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    ctn_ucx_op_t *op = ctn_ucx_op_get(transport, NULL);
    ctn_ucx_sync_t *sync = malloc(sizeof(*sync));
    if (op == NULL || sync == NULL) {
        ctn_error(transport->params.log,
                  "no memory to flush the network; free memory, or raise the "
                  "limit of the process");
        if (op != NULL)
            ctn_ucx_op_put(op);
        free(sync);
        return CATENA_ERR_NO_MEMORY;
    }
    uint64_t cookie = ++transport->last_cookie;
    *sync = (ctn_ucx_sync_t){transport->syncs, cookie, 1, pending};
    transport->syncs = sync;
    if (pending != NULL)
        (*pending)++;

    op->header.control.cookie = cookie;
    ucp_request_param_t param = ctn_ucx_op_param(op);
    param.cb.send = flush_done;
    ucs_status_ptr_t request = ucp_worker_flush_nbx(transport->worker, &param);
    if (UCS_PTR_IS_PTR(request))
        return CATENA_OK;
    ctn_ucx_op_put(op);
    if (request == NULL ||
        (transport->died != NULL &&
         ctn_ucx_status(UCS_PTR_RAW_STATUS(request)) == CATENA_ERR_PEER)) {
        ctn_ucx_flushed(transport, cookie);
        return CATENA_OK;
    }
    complete_one(transport, find_sync(transport, cookie));
    return ctn_ucx_status(UCS_PTR_RAW_STATUS(request));
}

void ctn_ucx_flushed(ctn_ucx_t *transport, uint64_t cookie)
{
    ctn_ucx_sync_t *sync = *find_sync(transport, cookie);
    if (sync == NULL)
        return;
    for (size_t i = 0; i < transport->endpoints.slots; i++) {
        ctn_ucx_endpoint_t *endpoint = transport->endpoints.entry[i].value;
        if (endpoint == NULL || endpoint->failed || endpoint->disconnected ||
            (!endpoint->unsynced && endpoint->sync_cookie == 0))
            continue;
        endpoint->unsynced = false;
        endpoint->sync_cookie = cookie;
        sync->answers_left++;
        catena_status_t status =
            ctn_ucx_send_control(endpoint, CTN_UCX_AM_SYNC, cookie);
        if (status != CATENA_OK)
            ctn_ucx_fail_unless_died(transport, status);
    }
    complete_one(transport, find_sync(transport, cookie));
}

void ctn_ucx_synced(ctn_ucx_t *transport, uint64_t process, uint64_t cookie)
{
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, process);
    if (endpoint != NULL && endpoint->sync_cookie == cookie)
        endpoint->sync_cookie = 0;
    ctn_ucx_sync_t **link = find_sync(transport, cookie);
    if (*link != NULL)
        complete_one(transport, link);
}

void ctn_ucx_free_syncs(ctn_ucx_t *transport)
{
    while (transport->syncs != NULL) {
        ctn_ucx_sync_t *next = transport->syncs->next;
        free(transport->syncs);
        transport->syncs = next;
    }
}
