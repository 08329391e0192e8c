#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* The records of UCP calls under way (ctn_ucx_op_t) come from a pool, so a
 * message that cannot be sent at once needs no malloc for its header. */

#define OPS_PER_SLAB 64u

ctn_ucx_op_t *ctn_ucx_op_get(ctn_ucx_t *transport, ctn_ucx_endpoint_t *endpoint)
{
    ctn_ucx_op_t *op = ctn_pool_get(&transport->ops, sizeof(*op), OPS_PER_SLAB);
    if (op == NULL) {
        ctn_error(transport->params.log,
                  "no memory for a message to the network; free memory, or "
                  "raise the limit of the process");
        return NULL;
    }
    op->transport = transport;
    op->endpoint = endpoint;
    op->pending = NULL;
    op->fetches = false;
    return op;
}

void ctn_ucx_op_put(ctn_ucx_op_t *op)
{
    free(op->copy);
    op->copy = NULL;
    ctn_pool_put(&op->transport->ops, op);
}

/** UCP has completed the call. */
static void op_done(void *request, ucs_status_t status, void *user_data)
{
    ctn_ucx_op_t *op = user_data;
    ctn_ucx_t *transport = op->transport;

    if (op->pending != NULL && !transport->abandoned) {
        (*op->pending)--;
        if (transport->base.freed != NULL)
            transport->base.freed(&transport->base, op->pending);
    }
    if (status != UCS_OK && !transport->closing) {
        if (op->endpoint != NULL)
            ctn_ucx_peer_failed(op->endpoint, status);
        else
            ctn_ucx_fail_unless_died(transport, ctn_ucx_status(status));
        if (op->fetches)
            ctn_ucx_fail_unless_died(transport, CATENA_ERR_PEER);
    }
    ctn_ucx_op_put(op);
    ucp_request_free(request);
}

ucp_request_param_t ctn_ucx_op_param(ctn_ucx_op_t *op)
{
    return (ucp_request_param_t){
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb = {.send = op_done},
        .user_data = op,
    };
}

catena_status_t ctn_ucx_op_started(ctn_ucx_op_t *op, ucs_status_ptr_t request,
                                   uint64_t *pending)
{
    if (UCS_PTR_IS_PTR(request)) {
        op->pending = pending;
        if (pending != NULL)
            (*pending)++;
        return CATENA_OK;
    }
    ctn_ucx_endpoint_t *endpoint = op->endpoint;
    ucs_status_t status = UCS_PTR_RAW_STATUS(request);
    ctn_ucx_op_put(op);
    if (status == UCS_OK)
        return CATENA_OK;
    if (endpoint != NULL)
        ctn_ucx_peer_failed(endpoint, status);
    return ctn_ucx_status(status);
}

static void free_copy(void *object, void *argument)
{
    ctn_ucx_op_t *op = object;
    (void)argument;
    free(op->copy);
}

void ctn_ucx_free_ops(ctn_ucx_t *transport)
{
    ctn_pool_visit(&transport->ops, free_copy, NULL);
    ctn_pool_drop(&transport->ops);
}
