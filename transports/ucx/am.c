#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* Active message handlers. They run inside ucp_worker_progress and call no
 * function of UCP: work that needs one is deferred until progress returns.
 * Headers from the network are validated before use. */

/** Log that a message is invalid, and fail the transport. */
static ucs_status_t refuse(ctn_ucx_t *transport, const char *what)
{
    ctn_error(transport->params.log,
              "dropped a message from the network with %s. Do all "
              "processes run the same version of catena?",
              what);
    ctn_ucx_fail(transport, CATENA_ERR_TRANSPORT);
    return UCS_OK;
}

static bool inside_arena(const ctn_ucx_t *transport, uint64_t offset,
                         size_t bytes)
{
    return bytes <= transport->params.arena_bytes &&
           offset <= transport->params.arena_bytes - bytes;
}

static bool is_word(const ctn_ucx_t *transport, uint64_t offset)
{
    return offset % sizeof(uint64_t) == 0 &&
           inside_arena(transport, offset, sizeof(uint64_t));
}

static void store_word(ctn_ucx_t *transport, uint64_t offset, uint64_t value)
{
    unsigned char *arena = transport->params.arena;
    ctn_word_store((uint64_t *)(void *)(arena + offset), value);
}

/** The entry of `posted` for a word, a hash of its address. Consecutive slots,
 * 128 bytes each, have different entries, and so have the 16 words of a slot.
 */
static ctn_ucx_posted_t *posted_at(ctn_ucx_t *transport, const uint64_t *word)
{
    uintptr_t number = (uintptr_t)word / sizeof(uint64_t);
    return &transport
                ->posted[(number / 16 + number % 16 * 16) % CTN_UCX_POSTED];
}

bool ctn_ucx_post_receive(ctn_transport_t *base, const uint64_t *word,
                          uint64_t value, size_t bytes,
                          ctn_receive_handler_t handler, void *context)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    ctn_ucx_posted_t *posted = posted_at(transport, word);
    if (transport->rma || bytes > CTN_UCX_MESSAGE_BYTES || posted->word != NULL)
        return false;
    *posted = (ctn_ucx_posted_t){word, value, bytes, handler, context};
    return true;
}

void ctn_ucx_cancel_receive(ctn_transport_t *base, const uint64_t *word)
{
    ctn_ucx_posted_t *posted = posted_at((ctn_ucx_t *)base, word);
    if (posted->word == word)
        posted->word = NULL;
}

/** Pass the data of a put to the receive posted for its flag, if there is one;
 * else store them where the put says. */
static void deliver(ctn_ucx_t *transport, const ctn_ucx_put_header_t *put,
                    const void *data, size_t bytes)
{
    unsigned char *arena = transport->params.arena;
    const uint64_t *word = (const void *)(arena + put->word_offset);
    ctn_ucx_posted_t *posted = posted_at(transport, word);
    if (posted->word == word && posted->value == put->value) {
        posted->word = NULL;
        if (posted->bytes == bytes) {
            posted->handler(posted->context, data, bytes);
            return;
        }
    }
    memcpy(arena + put->offset, data, bytes);
}

/** Data and their flag in one message. */
static ucs_status_t on_put(void *arg, const void *header, size_t header_bytes,
                           void *data, size_t bytes,
                           const ucp_am_recv_param_t *param)
{
    ctn_ucx_t *transport = arg;
    ctn_ucx_put_header_t put;

    if (header_bytes != sizeof(put) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
        return refuse(transport, "an unknown format");
    memcpy(&put, header, sizeof(put));
    if (!is_word(transport, put.word_offset))
        return refuse(transport, "a word outside the registered memory");
    if (bytes > 0) {
        if (!inside_arena(transport, put.offset, bytes))
            return refuse(transport, "data outside the registered memory");
        deliver(transport, &put, data, bytes);
    }
    store_word(transport, put.word_offset, put.value);
    return UCS_OK;
}

/** The link to the record of this message, or to where to insert it. */
static ctn_ucx_partial_t **find_partial(ctn_ucx_t *transport, uint64_t process,
                                        uint64_t message)
{
    size_t bucket = ctn_hash_add(process, message) % CTN_UCX_PARTIAL_BUCKETS;
    ctn_ucx_partial_t **link = &transport->partials[bucket];
    while (*link != NULL &&
           ((*link)->process != process || (*link)->message != message))
        link = &(*link)->next;
    return link;
}

/** A part of a message. Parts arrive in any order. */
static ucs_status_t on_fragment(void *arg, const void *header,
                                size_t header_bytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param)
{
    ctn_ucx_t *transport = arg;
    ctn_ucx_fragment_header_t part;

    if (header_bytes != sizeof(part) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
        return refuse(transport, "an unknown format");
    memcpy(&part, header, sizeof(part));
    if (!is_word(transport, part.put.word_offset))
        return refuse(transport, "a word outside the registered memory");
    if (!inside_arena(transport, part.put.offset, bytes))
        return refuse(transport, "data outside the registered memory");

    ctn_ucx_partial_t **link =
        find_partial(transport, part.process, part.message);
    ctn_ucx_partial_t *partial = *link;
    if (partial == NULL) {
        partial = calloc(1, sizeof(*partial));
        if (partial == NULL) {
            ctn_error(transport->params.log, "no memory to receive a message");
            ctn_ucx_fail(transport, CATENA_ERR_NO_MEMORY);
            return UCS_OK;
        }
        partial->process = part.process;
        partial->message = part.message;
        *link = partial;
    }
    if (partial->arrived_bytes > part.total ||
        bytes > part.total - partial->arrived_bytes)
        return refuse(transport, "more data than its header says");
    unsigned char *arena = transport->params.arena;
    memcpy(arena + part.put.offset, data, bytes);
    partial->arrived_bytes += bytes;
    if (partial->arrived_bytes == part.total) {
        *link = partial->next;
        free(partial);
        store_word(transport, part.put.word_offset, part.put.value);
    }
    return UCS_OK;
}

/** Defer the answer to a CONNECT or a SYNC. */
static ucs_status_t on_control(ctn_ucx_t *transport, unsigned id,
                               const void *header, size_t header_bytes,
                               const void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    ctn_ucx_control_header_t control;

    if (header_bytes != sizeof(control) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
        return refuse(transport, "an unknown format");
    memcpy(&control, header, sizeof(control));
    catena_status_t status = ctn_ucx_defer(transport, id, control, data, bytes);
    if (status != CATENA_OK)
        ctn_ucx_fail(transport, status);
    return UCS_OK;
}

static ucs_status_t on_connect(void *arg, const void *header,
                               size_t header_bytes, void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    return on_control(arg, CTN_UCX_AM_CONNECT, header, header_bytes, data,
                      bytes, param);
}

static ucs_status_t on_disconnect(void *arg, const void *header,
                                  size_t header_bytes, void *data, size_t bytes,
                                  const ucp_am_recv_param_t *param)
{
    ctn_ucx_t *transport = arg;
    ctn_ucx_control_header_t control;

    (void)data;
    (void)bytes;
    (void)param;
    if (header_bytes != sizeof(control))
        return refuse(transport, "an unknown format");
    memcpy(&control, header, sizeof(control));
    /* Not deferred, since the next event may close the connection. A CONNECT of
     * that process that is not answered yet needs no answer any more. */
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, control.process);
    if (endpoint != NULL) {
        endpoint->disconnected = true;
        if (endpoint->sync_cookie != 0) /* no reply will come */
            ctn_ucx_synced(transport, control.process, endpoint->sync_cookie);
    }
    for (ctn_ucx_deferred_t *deferred = transport->deferred_list;
         deferred != NULL; deferred = deferred->next)
        if (deferred->id == CTN_UCX_AM_CONNECT &&
            deferred->header.process == control.process)
            deferred->id = CTN_UCX_AM_DISCONNECT;
    return UCS_OK;
}

static ucs_status_t on_sync(void *arg, const void *header, size_t header_bytes,
                            void *data, size_t bytes,
                            const ucp_am_recv_param_t *param)
{
    (void)data;
    (void)bytes;
    return on_control(arg, CTN_UCX_AM_SYNC, header, header_bytes, NULL, 0,
                      param);
}

static ucs_status_t on_synced(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    ctn_ucx_control_header_t control;

    (void)data;
    (void)bytes;
    (void)param;
    if (header_bytes != sizeof(control))
        return refuse(arg, "an unknown format");
    memcpy(&control, header, sizeof(control));
    ctn_ucx_synced(arg, control.process, control.cookie);
    return UCS_OK;
}

catena_status_t ctn_ucx_set_handlers(ctn_ucx_t *transport)
{
    static const ucp_am_recv_callback_t handlers[CTN_UCX_AM_COUNT] = {
        [CTN_UCX_AM_PUT] = on_put,
        [CTN_UCX_AM_FRAGMENT] = on_fragment,
        [CTN_UCX_AM_CONNECT] = on_connect,
        [CTN_UCX_AM_DISCONNECT] = on_disconnect,
        [CTN_UCX_AM_SYNC] = on_sync,
        [CTN_UCX_AM_SYNCED] = on_synced,
    };
    for (unsigned id = 0; id < CTN_UCX_AM_COUNT; id++) {
        ucp_am_handler_param_t param = {
            .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                          UCP_AM_HANDLER_PARAM_FIELD_CB |
                          UCP_AM_HANDLER_PARAM_FIELD_ARG,
            .id = id,
            .cb = handlers[id],
            .arg = transport,
        };
        ucs_status_t status =
            ucp_worker_set_am_recv_handler(transport->worker, &param);
        if (status != UCS_OK) {
            ctn_error(transport->params.log,
                      "UCX rejected an active message handler: %s",
                      ucs_status_string(status));
            return ctn_ucx_status(status);
        }
    }
    return CATENA_OK;
}

catena_status_t ctn_ucx_defer(ctn_ucx_t *transport, unsigned id,
                              ctn_ucx_control_header_t header,
                              const void *ep_address, size_t bytes)
{
    ctn_ucx_deferred_t *deferred = malloc(sizeof(*deferred) + bytes);
    if (deferred == NULL) {
        ctn_error(transport->params.log, "no memory to reply to a process");
        return CATENA_ERR_NO_MEMORY;
    }
    deferred->next = NULL;
    deferred->id = id;
    deferred->header = header;
    deferred->bytes = bytes;
    if (bytes > 0)
        memcpy(deferred->ep_address, ep_address, bytes);
    *transport->deferred_end = deferred;
    transport->deferred_end = &deferred->next;
    return CATENA_OK;
}

/** All earlier active messages of that process have arrived: reply. */
static void answer_sync(ctn_ucx_t *transport,
                        const ctn_ucx_control_header_t *asked)
{
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, asked->process);
    if (endpoint == NULL || endpoint->failed)
        return;
    ctn_ucx_control_header_t answer = {transport->params.process,
                                       asked->cookie};
    ctn_ucx_send_copied(endpoint, CTN_UCX_AM_SYNCED, &answer, sizeof(answer),
                        NULL, 0);
}

void ctn_ucx_run_deferred(ctn_ucx_t *transport)
{
    while (transport->deferred_list != NULL) {
        ctn_ucx_deferred_t *deferred = transport->deferred_list;
        transport->deferred_list = deferred->next;
        if (transport->deferred_list == NULL)
            transport->deferred_end = &transport->deferred_list;
        switch (deferred->id) {
        case CTN_UCX_AM_CONNECT:
            ctn_ucx_accept(transport, deferred->header.process,
                           deferred->ep_address, deferred->bytes);
            break;
        case CTN_UCX_AM_SYNC:
            answer_sync(transport, &deferred->header);
            break;
        case CTN_UCX_AM_SYNCED:
            ctn_ucx_flushed(transport, deferred->header.cookie);
            break;
        default: /* a cancelled CONNECT */
            break;
        }
        free(deferred);
    }
}

void ctn_ucx_free_arrivals(ctn_ucx_t *transport)
{
    while (transport->deferred_list != NULL) {
        ctn_ucx_deferred_t *next = transport->deferred_list->next;
        free(transport->deferred_list);
        transport->deferred_list = next;
    }
    transport->deferred_end = &transport->deferred_list;
    for (unsigned i = 0; i < CTN_UCX_PARTIAL_BUCKETS; i++)
        while (transport->partials[i] != NULL) {
            ctn_ucx_partial_t *next = transport->partials[i]->next;
            free(transport->partials[i]);
            transport->partials[i] = next;
        }
}
