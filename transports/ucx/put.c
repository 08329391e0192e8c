#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* Data movement. put_signal matters most. It is one active message for up to
 * CTN_UCX_MESSAGE_BYTES, several active messages for larger data, or put,
 * fence, put if the network has RDMA (transport->rma). */

/** Up to this size data that cannot be sent at once are copied, so that their
 * source is free on return. */
#define COPIED_BYTES 4096u
_Static_assert(CTN_INJECT_BYTES <= COPIED_BYTES, "small messages are copied");

/** Copy data that UCP reads later. @return false: no memory */
static bool copy_data(ctn_ucx_op_t *op, const void **source, size_t bytes)
{
    op->copy = malloc(bytes);
    if (op->copy == NULL) {
        ctn_error(op->transport->params.log,
                  "no memory to copy a message of %zu bytes; free memory, or "
                  "raise the limit of the process",
                  bytes);
        ctn_ucx_op_put(op);
        return false;
    }
    *source = memcpy(op->copy, *source, bytes);
    return true;
}

catena_status_t ctn_ucx_send(ctn_ucx_endpoint_t *endpoint, unsigned id,
                             const void *header, size_t header_bytes,
                             const void *source, size_t bytes,
                             uint64_t *pending)
{
    ctn_ucx_op_t *op =
        ctn_ucx_op_get((ctn_ucx_t *)endpoint->base.transport, endpoint);
    if (op == NULL ||
        (pending == NULL && bytes > 0 && !copy_data(op, &source, bytes)))
        return CATENA_ERR_NO_MEMORY;
    memcpy(&op->header, header, header_bytes);
    ucp_request_param_t param = ctn_ucx_op_param(op);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    ucs_status_ptr_t request = ucp_am_send_nbx(
        endpoint->ep, id, &op->header, header_bytes, source, bytes, &param);
    return ctn_ucx_op_started(op, request, pending);
}

/** One message with data and flag. */
static inline catena_status_t put_am(ctn_ucx_endpoint_t *endpoint,
                                     const void *source, size_t bytes,
                                     const ctn_ucx_put_header_t *header,
                                     uint64_t *pending)
{
    /* Over tcp a message completes at once unless the socket is full. Then
     * nothing must outlive this call, so no ctn_ucx_op_t is needed. */
    static const ucp_request_param_t at_once = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL,
        .flags = UCP_AM_SEND_FLAG_EAGER,
    };
    ucs_status_ptr_t request =
        ucp_am_send_nbx(endpoint->ep, CTN_UCX_AM_PUT, header, sizeof(*header),
                        source, bytes, &at_once);
    if (request == NULL)
        return CATENA_OK;
    if (UCS_PTR_RAW_STATUS(request) != UCS_ERR_NO_RESOURCE) {
        ctn_ucx_peer_failed(endpoint, UCS_PTR_RAW_STATUS(request));
        return ctn_ucx_status(UCS_PTR_RAW_STATUS(request));
    }
    return ctn_ucx_send(endpoint, CTN_UCX_AM_PUT, header, sizeof(*header),
                        source, bytes, bytes <= COPIED_BYTES ? NULL : pending);
}

/** Fragments of at most CTN_UCX_MESSAGE_BYTES, the last of them with the flag:
 * active messages arrive in order (ucx.c, read_config). */
static catena_status_t put_fragments(ctn_ucx_endpoint_t *endpoint,
                                     const unsigned char *source, size_t bytes,
                                     ctn_ucx_put_header_t header,
                                     uint64_t *pending)
{
    const size_t most = CTN_UCX_MESSAGE_BYTES;
    for (; bytes > most; bytes -= most, source += most) {
        catena_status_t status =
            ctn_ucx_send(endpoint, CTN_UCX_AM_DATA, &header, sizeof(header),
                         source, most, pending);
        if (status != CATENA_OK)
            return status;
        header.offset += most;
    }
    return put_am(endpoint, source, bytes, &header, pending);
}

/** One put, without a flag. `pending` NULL: the source is free on return; the
 * put is in place if it completes at once, otherwise from a copy. */
static catena_status_t put_rma(ctn_ucx_endpoint_t *endpoint, const void *source,
                               size_t bytes, uint64_t offset, uint64_t *pending)
{
    static const ucp_request_param_t at_once = {
        .op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL};
    uint64_t to = endpoint->remote_base + offset;
    if (pending == NULL && ucp_put_nbx(endpoint->ep, source, bytes, to,
                                       endpoint->rkey, &at_once) == NULL)
        return CATENA_OK;
    ctn_ucx_op_t *op =
        ctn_ucx_op_get((ctn_ucx_t *)endpoint->base.transport, endpoint);
    if (op == NULL || (pending == NULL && !copy_data(op, &source, bytes)))
        return CATENA_ERR_NO_MEMORY;
    ucp_request_param_t param = ctn_ucx_op_param(op);
    ucs_status_ptr_t request =
        ucp_put_nbx(endpoint->ep, source, bytes, to, endpoint->rkey, &param);
    return ctn_ucx_op_started(op, request, pending);
}

/** Order earlier puts, to any peer, before later ones. */
static catena_status_t fence(ctn_ucx_t *transport)
{
    ucs_status_t status = ucp_worker_fence(transport->worker);
    transport->fences++;
    return ctn_ucx_status(status);
}

/** The flags of an endpoint must become visible in order, but puts have no
 * order. So there is a fence between two flags; it may be one that a put to
 * another endpoint needed. The flag's value lies in `op` until it is sent. */
static catena_status_t signal_rma(ctn_ucx_endpoint_t *endpoint,
                                  uint64_t word_offset, uint64_t value)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)endpoint->base.transport;
    if (endpoint->word_fences == transport->fences) {
        catena_status_t status = fence(transport);
        if (status != CATENA_OK)
            return status;
    }
    ctn_ucx_op_t *op = ctn_ucx_op_get(transport, endpoint);
    if (op == NULL)
        return CATENA_ERR_NO_MEMORY;
    endpoint->word_fences = transport->fences;
    op->header.put.value = value;
    ucp_request_param_t param = ctn_ucx_op_param(op);
    ucs_status_ptr_t request = ucp_put_nbx(
        endpoint->ep, &op->header.put.value, sizeof(value),
        endpoint->remote_base + word_offset, endpoint->rkey, &param);
    return ctn_ucx_op_started(op, request, NULL);
}

catena_status_t ctn_ucx_put_signal(ctn_endpoint_t *base, const void *source,
                                   size_t bytes, uint64_t offset,
                                   uint64_t word_offset, uint64_t value,
                                   uint64_t *pending)
{
    ctn_ucx_endpoint_t *endpoint = (ctn_ucx_endpoint_t *)base;
    ctn_ucx_t *transport = (ctn_ucx_t *)endpoint->base.transport;

    if (endpoint->failed)
        return CATENA_ERR_PEER;
    if (transport->rma) {
        if (bytes > 0) {
            catena_status_t status =
                put_rma(endpoint, source, bytes, offset,
                        bytes <= CTN_INJECT_BYTES ? NULL : pending);
            if (status == CATENA_OK)
                status = fence(transport);
            if (status != CATENA_OK)
                return status;
        }
        return signal_rma(endpoint, word_offset, value);
    }
    endpoint->unsynced = true;
    ctn_ucx_put_header_t header = {offset, word_offset, value,
                                   endpoint->secret};
    return bytes <= CTN_UCX_MESSAGE_BYTES
               ? put_am(endpoint, source, bytes, &header, pending)
               : put_fragments(endpoint, source, bytes, header, pending);
}
