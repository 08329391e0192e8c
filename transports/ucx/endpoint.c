#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/clock.h"
#include "transports/ucx/ucx.h"

/* Endpoint addresses and endpoints. An endpoint is created on first use, or
 * when a peer sends CONNECT, and lives until the transport is destroyed. */

#define EP_ADDRESS_MAGIC 0x63746e75u /* differs on another byte order */
#define EP_ADDRESS_VERSION 4u

/** Header of an endpoint address. The packed key and the worker's address
 * follow. */
typedef struct ep_address_head {
    uint32_t magic;
    uint32_t version;
    uint64_t process;
    uint64_t base;          /* address of the arena in that process */
    uint64_t secret;        /* that messages to it carry */
    uint64_t failures;      /* see ctn_transport_params_t */
    uint32_t key_bytes;     /* of the packed key of the arena */
    uint32_t address_bytes; /* of the worker's address */
} ep_address_head_t;

/** Longest wait for the peers to receive DISCONNECT. */
#define DISCONNECT_NS UINT64_C(2000000000)
/** Longest wait for UCP to close all endpoints. */
#define CLOSE_NS UINT64_C(1000000000)

catena_status_t ctn_ucx_make_ep_address(ctn_ucx_t *transport)
{
    catena_status_t result = CATENA_OK;
    ucp_address_t *address = NULL;
    size_t address_bytes = 0, key_bytes = 0;
    void *key = NULL;

    ucs_status_t status =
        ucp_rkey_pack(transport->context, transport->memory, &key, &key_bytes);
    if (status == UCS_OK)
        status =
            ucp_worker_get_address(transport->worker, &address, &address_bytes);
    if (status != UCS_OK) {
        ctn_error(transport->params.log,
                  "UCX provides no address or key of this process: %s",
                  ucs_status_string(status));
        result = ctn_ucx_status(status);
        goto out_release;
    }
    if (getrandom(&transport->secret, sizeof(transport->secret), 0) !=
        sizeof(transport->secret)) {
        ctn_error(transport->params.log,
                  "the system gives no random numbers: %s", strerror(errno));
        result = CATENA_ERR_SYSTEM;
        goto out_release;
    }
    ep_address_head_t head = {
        .magic = EP_ADDRESS_MAGIC,
        .version = EP_ADDRESS_VERSION,
        .process = transport->params.process,
        .base = (uint64_t)(uintptr_t)transport->params.arena,
        .secret = transport->secret,
        .failures = transport->params.failures,
        .key_bytes = (uint32_t)key_bytes,
        .address_bytes = (uint32_t)address_bytes,
    };
    transport->ep_address_bytes = sizeof(head) + key_bytes + address_bytes;
    transport->ep_address = malloc(transport->ep_address_bytes);
    if (transport->ep_address == NULL) {
        result = CATENA_ERR_NO_MEMORY;
        goto out_release;
    }
    unsigned char *to = transport->ep_address;
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), key, key_bytes);
    memcpy(to + sizeof(head) + key_bytes, address, address_bytes);

out_release:
    if (address != NULL)
        ucp_worker_release_address(transport->worker, address);
    if (key != NULL)
        ucp_rkey_buffer_release(key);
    return result;
}

/** Parse an endpoint address; false: it is not one of `process`. */
static bool parse_ep_address(const unsigned char *ep_address, size_t bytes,
                             uint64_t process, ep_address_head_t *head)
{
    if (ep_address == NULL || bytes < sizeof(*head))
        return false;
    memcpy(head, ep_address, sizeof(*head));
    return head->magic == EP_ADDRESS_MAGIC &&
           head->version == EP_ADDRESS_VERSION && head->process == process &&
           head->key_bytes > 0 && head->address_bytes > 0 &&
           bytes - sizeof(*head) ==
               (size_t)head->key_bytes + head->address_bytes;
}

void ctn_ucx_peer_failed(ctn_ucx_endpoint_t *endpoint, ucs_status_t status)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)endpoint->base.transport;
    catena_status_t result = ctn_ucx_status(status);

    if (endpoint->failed || transport->closing)
        return;
    if (result == CATENA_ERR_PEER) {
        endpoint->failed = true;
        ctn_ucx_fetches_failed(transport, endpoint->base.process);
    }
    if (result == CATENA_ERR_PEER && endpoint->disconnected)
        return;
    if (result == CATENA_ERR_PEER && transport->died != NULL) {
        transport->deaths = true;
        if (endpoint->sync_cookie != 0) /* no reply will come */
            ctn_ucx_synced(transport, endpoint->base.process,
                           endpoint->sync_cookie);
        return;
    }
    ctn_error(transport->params.log,
              result == CATENA_ERR_PEER
                  ? "lost rank %llu: it has ended without catena_finalize, or "
                    "cannot be reached (UCX: %s)"
                  : "a message to rank %llu failed: %s",
              (unsigned long long)endpoint->base.process,
              ucs_status_string(status));
    ctn_ucx_fail(transport, result);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ctn_ucx_endpoint_t *endpoint = arg;
    (void)ep;
    /* After any error the endpoint is unusable: the peer counts as lost. */
    if (ctn_ucx_status(status) != CATENA_ERR_PEER)
        status = UCS_ERR_ENDPOINT_TIMEOUT;
    ctn_ucx_peer_failed(endpoint, status);
}

/** Open UCP's endpoint and unpack the peer's key. */
static catena_status_t open_endpoint(ctn_ucx_t *transport,
                                     ctn_ucx_endpoint_t *endpoint,
                                     const unsigned char *ep_address,
                                     size_t bytes)
{
    ep_address_head_t head;
    uint64_t process = endpoint->base.process;

    if (!parse_ep_address(ep_address, bytes, process, &head)) {
        ctn_error(transport->params.log,
                  "the endpoint address of process %llu (%zu bytes) is not one "
                  "of this version of catena",
                  (unsigned long long)process, bytes);
        return CATENA_ERR_TRANSPORT;
    }
    if (head.failures != transport->params.failures) {
        ctn_error(transport->params.log,
                  "process %llu and this one differ in CATENA_FAILURES; set "
                  "the same value on all ranks",
                  (unsigned long long)process);
        return CATENA_ERR_ARG;
    }
    const unsigned char *key = ep_address + sizeof(head);
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)(const void *)(key + head.key_bytes),
        .err_mode = transport->error_mode,
        .err_handler = {.cb = on_error, .arg = endpoint},
    };
    ucs_status_t status =
        ucp_ep_create(transport->worker, &params, &endpoint->ep);
    if (status == UCS_OK)
        status = ucp_ep_rkey_unpack(endpoint->ep, key, &endpoint->rkey);
    if (status != UCS_OK) {
        /* Without a transport that reaches other processes none is gone. */
        catena_status_t result =
            transport->isolated ? CATENA_ERR_TRANSPORT : ctn_ucx_status(status);
        ctn_log_write(
            transport->params.log,
            result == CATENA_ERR_PEER && transport->died != NULL
                ? CATENA_LOG_INFO
                : CATENA_LOG_ERROR,
            "UCX cannot reach other ranks: %s; expected "
            "the same UCX_TLS on all nodes, and devices of one "
            "network (CATENA_NET_DEVICES, UCX_NET_DEVICES)" CTN_OF_RANK
            "; the first was rank %llu",
            ucs_status_string(status), (unsigned long long)process);
        return result;
    }
    endpoint->remote_base = head.base;
    endpoint->secret = head.secret;
    return CATENA_OK;
}

/** Create an endpoint from an endpoint address. */
static catena_status_t add_endpoint(ctn_ucx_t *transport, uint64_t process,
                                    const void *ep_address, size_t bytes,
                                    ctn_ucx_endpoint_t **result)
{
    ctn_ucx_endpoint_t *endpoint = calloc(1, sizeof(*endpoint));
    if (endpoint == NULL || !ctn_hash_map_reserve(&transport->endpoints)) {
        ctn_error(transport->params.log,
                  "no memory for another endpoint; free memory, or raise the "
                  "limit of the process");
        free(endpoint);
        return CATENA_ERR_NO_MEMORY;
    }
    endpoint->base.transport = &transport->base;
    endpoint->base.process = process;
    catena_status_t status =
        open_endpoint(transport, endpoint, ep_address, bytes);
    /* If UCP has opened the endpoint but the key is invalid, the endpoint is
     * kept and marked as failed, so that it is closed with the others. So is
     * one to a peer that is gone, if deaths are reported. */
    if (status != CATENA_OK && endpoint->ep == NULL &&
        (status != CATENA_ERR_PEER || transport->died == NULL)) {
        free(endpoint);
        return status;
    }
    endpoint->failed = status != CATENA_OK;
    transport->deaths |= endpoint->failed && transport->died != NULL;
    (void)ctn_hash_map_add(&transport->endpoints, process, endpoint);
    *result = endpoint;
    return status;
}

catena_status_t ctn_ucx_connect(ctn_transport_t *base, uint64_t process,
                                ctn_endpoint_t **result)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, process);
    if (endpoint != NULL) {
        *result = &endpoint->base;
        return CATENA_OK;
    }
    void *ep_address = NULL;
    size_t bytes = 0;
    catena_status_t status = transport->params.lookup(
        transport->params.lookup_context, process, &ep_address, &bytes);
    if (status != CATENA_OK)
        return status;
    status = add_endpoint(transport, process, ep_address, bytes, &endpoint);
    free(ep_address);
    if (status != CATENA_OK)
        return status;
    ctn_ucx_control_header_t connect_header = {transport->params.process, 0,
                                               endpoint->secret};
    status = ctn_ucx_send(endpoint, CTN_UCX_AM_CONNECT, &connect_header,
                          sizeof(connect_header), transport->ep_address,
                          transport->ep_address_bytes, NULL);
    if (status != CATENA_OK)
        return status;
    *result = &endpoint->base;
    return CATENA_OK;
}

void ctn_ucx_accept(ctn_ucx_t *transport, uint64_t process,
                    const void *ep_address, size_t bytes)
{
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, process);
    if (endpoint != NULL || transport->closing)
        return;
    catena_status_t status =
        add_endpoint(transport, process, ep_address, bytes, &endpoint);
    if (status == CATENA_ERR_PEER && transport->died != NULL)
        transport->died(transport->died_argument, process, false);
    else if (status != CATENA_OK)
        ctn_ucx_fail(transport, status);
}

/** Progress until `request` is complete or the deadline has passed; frees the
 * request. */
static void wait_until(ctn_ucx_t *transport, ucs_status_ptr_t request,
                       uint64_t deadline)
{
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS &&
           ctn_clock_now_ns() < deadline)
        if (ucp_worker_progress(transport->worker) == 0)
            sched_yield(); /* the awaited peers may need this core */
    ucp_request_free(request);
}

/** Send DISCONNECT to all peers. On return they have received it, unless one
 * makes no progress for DISCONNECT_NS. */
static void send_disconnects(ctn_ucx_t *transport)
{
    ucp_request_param_t none = {0};

    for (size_t i = 0; i < transport->endpoints.slots; i++) {
        ctn_ucx_endpoint_t *endpoint = transport->endpoints.entry[i].value;
        if (endpoint != NULL && !endpoint->failed && !endpoint->disconnected)
            ctn_ucx_send_control(endpoint, CTN_UCX_AM_DISCONNECT, 0);
    }
    wait_until(transport, ucp_worker_flush_nbx(transport->worker, &none),
               ctn_clock_now_ns() + DISCONNECT_NS);
}

void ctn_ucx_disconnect(ctn_ucx_t *transport)
{
    if (transport->endpoints.count > 0)
        send_disconnects(transport);
    uint64_t deadline = ctn_clock_now_ns() + CLOSE_NS;
    ucp_request_param_t force = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = transport->error_mode == UCP_ERR_HANDLING_MODE_PEER
                     ? UCP_EP_CLOSE_FLAG_FORCE
                     : 0, /* UCP has no force mode then */
    };
    for (size_t i = 0; i < transport->endpoints.slots; i++) {
        ctn_ucx_endpoint_t *endpoint = transport->endpoints.entry[i].value;
        if (endpoint == NULL)
            continue;
        if (endpoint->rkey != NULL)
            ucp_rkey_destroy(endpoint->rkey);
        if (endpoint->ep != NULL)
            wait_until(transport, ucp_ep_close_nbx(endpoint->ep, &force),
                       deadline);
    }
    for (size_t i = 0; i < transport->endpoints.slots; i++)
        free(transport->endpoints.entry[i].value);
    ctn_hash_map_drop(&transport->endpoints);
}
