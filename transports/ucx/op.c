#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* Operations come from slabs, so a message that cannot be sent at once needs no
 * malloc for its header. */

#define OPS_PER_SLAB 64u

typedef struct slab {
    struct slab *next;
    ctn_ucx_op_t ops[OPS_PER_SLAB];
} slab_t;

static int add_slab(ctn_ucx_t *transport)
{
    slab_t *slab = malloc(sizeof(*slab));
    if (slab == NULL)
        return -1;
    slab->next = transport->op_slabs;
    transport->op_slabs = slab;
    for (unsigned i = 0; i < OPS_PER_SLAB; i++) {
        slab->ops[i].transport = transport;
        slab->ops[i].copy = NULL;
        slab->ops[i].next = transport->free_ops;
        transport->free_ops = &slab->ops[i];
    }
    return 0;
}

ctn_ucx_op_t *ctn_ucx_op_get(ctn_ucx_t *transport, ctn_ucx_endpoint_t *endpoint)
{
    if (transport->free_ops == NULL && add_slab(transport) != 0) {
        ctn_error(transport->params.log,
                  "no memory for a message to the network");
        return NULL;
    }
    ctn_ucx_op_t *op = transport->free_ops;
    transport->free_ops = op->next;
    op->endpoint = endpoint;
    op->pending = NULL;
    op->fetches = false;
    return op;
}

void ctn_ucx_op_put(ctn_ucx_op_t *op)
{
    free(op->copy);
    op->copy = NULL;
    op->next = op->transport->free_ops;
    op->transport->free_ops = op;
}

static void op_done(void *request, ucs_status_t status, void *user_data)
{
    ctn_ucx_op_t *op = user_data;
    ctn_ucx_t *transport = op->transport;

    if (op->pending != NULL && !transport->abandoned)
        (*op->pending)--;
    if (status != UCS_OK && !transport->closing) {
        if (op->endpoint != NULL)
            ctn_ucx_peer_failed(op->endpoint, status);
        else
            ctn_ucx_fail(transport, ctn_ucx_status(status));
        if (op->fetches)
            ctn_ucx_fail(transport, CATENA_ERR_PEER);
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

void ctn_ucx_free_ops(ctn_ucx_t *transport)
{
    slab_t *slab = transport->op_slabs;
    while (slab != NULL) {
        slab_t *next = slab->next;
        for (unsigned i = 0; i < OPS_PER_SLAB; i++)
            free(slab->ops[i].copy);
        free(slab);
        slab = next;
    }
    transport->op_slabs = NULL;
    transport->free_ops = NULL;
}
