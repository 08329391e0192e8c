#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* Active message handlers. They run inside ucp_worker_progress and call no
 * function of UCP: work that needs one is deferred until progress returns.
 * Headers from the network are validated before use. */

/** Log that a message is invalid, and fail the transport. */
static void refuse(ctn_ucx_t *transport, const char *what)
{
    ctn_error(transport->params.log,
              "dropped a message from the network with %s. Do all "
              "processes run the same version of catena?",
              what);
    ctn_ucx_fail(transport, CATENA_ERR_TRANSPORT);
}

static bool inside_arena(const ctn_ucx_t *transport, uint64_t offset,
                         size_t bytes)
{
    return bytes <= transport->params.arena_bytes &&
           offset <= transport->params.arena_bytes - bytes;
}

/** Whether the header of a message ends with the secret of this process. If
 * not, a stranger sent it: the first one is logged, and the caller drops it. */
static bool has_secret(ctn_ucx_t *transport, const void *header,
                       size_t header_bytes)
{
    uint64_t secret;
    if (header_bytes >= sizeof(secret)) {
        memcpy(&secret,
               (const unsigned char *)header + header_bytes - sizeof(secret),
               sizeof(secret));
        if (secret == transport->secret)
            return true;
    }
    if (!transport->strangers)
        ctn_warn(transport->params.log,
                 "dropped a message from the network that lacks the secret of "
                 "this process; further ones are dropped silently");
    transport->strangers = true;
    return false;
}

/** Copy the header of a message, which must have `expected` bytes.
 * @return false: the message is invalid, which is logged */
static bool read_header(ctn_ucx_t *transport, void *out, size_t expected,
                        const void *header, size_t header_bytes,
                        const ucp_am_recv_param_t *param)
{
    if (!has_secret(transport, header, header_bytes))
        return false;
    if (header_bytes != expected ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        refuse(transport, "an unknown format");
        return false;
    }
    memcpy(out, header, expected);
    return true;
}

/** Whether flag and data of a put are in the arena, or the data in exposed
 * memory; else it is logged.
 * @param[out] to for the data; NULL: they are dropped */
static bool find(ctn_ucx_t *transport, const ctn_ucx_put_header_t *put,
                 size_t bytes, unsigned char **to)
{
    unsigned char *arena = transport->params.arena;
    bool found = bytes == 0 || transport->abandoned;
    if (put->word_offset % sizeof(uint64_t) != 0 ||
        !inside_arena(transport, put->word_offset, sizeof(uint64_t))) {
        refuse(transport, "a word outside the registered memory");
        return false;
    }
    *to = NULL;
    if (inside_arena(transport, put->offset, bytes)) {
        *to = arena + put->offset;
    } else if (!found &&
               !ctn_exposed_find(&transport->exposed, put->offset, bytes, to)) {
        refuse(transport, "data outside the registered memory");
        return false;
    }
    return true;
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

bool ctn_ucx_expose(ctn_transport_t *base, void *memory, size_t bytes,
                    uint64_t *offset)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    return !transport->rma && !transport->abandoned &&
           ctn_exposed_add(&transport->exposed, memory, bytes, offset);
}

void ctn_ucx_conceal(ctn_transport_t *base, uint64_t offset, bool more)
{
    ctn_exposed_remove(&((ctn_ucx_t *)base)->exposed, offset, more);
}

/** Pass the data of a put to the receive posted for its flag, if there is one
 * and they are all its data; else store them where the put says.
 * @param to that place; NULL: nowhere */
static void deliver(ctn_ucx_t *transport, const ctn_ucx_put_header_t *put,
                    const void *data, size_t bytes, unsigned char *to, bool all)
{
    unsigned char *arena = transport->params.arena;
    const uint64_t *word = (const void *)(arena + put->word_offset);
    ctn_ucx_posted_t *posted = posted_at(transport, word);
    if (posted->word == word && posted->value == put->value) {
        posted->word = NULL;
        if (all && posted->bytes == bytes) {
            posted->handler(posted->context, data, bytes);
            return;
        }
    }
    if (to != NULL) {
        memcpy(to, data, bytes);
    }
}

/** Data, and in the last message their flag. */
static ucs_status_t on_put(void *arg, const void *header, size_t header_bytes,
                           void *data, size_t bytes,
                           const ucp_am_recv_param_t *param)
{
    const ctn_ucx_handler_t *handler = arg;
    ctn_ucx_t *transport = handler->transport;
    bool last = handler->id == CTN_UCX_AM_PUT;
    ctn_ucx_put_header_t put;
    unsigned char *to;

    if (!read_header(transport, &put, sizeof(put), header, header_bytes,
                     param) ||
        !find(transport, &put, bytes, &to))
        return UCS_OK;
    if (bytes > 0)
        deliver(transport, &put, data, bytes, to, last);
    if (last) {
        unsigned char *arena = transport->params.arena;
        ctn_word_store((uint64_t *)(void *)(arena + put.word_offset),
                       put.value);
    }
    return UCS_OK;
}

/** A process will close its endpoints. This is not deferred, since the next
 * event may close the connection. A CONNECT of that process that is not
 * answered yet needs no answer any more. */
static void disconnected(ctn_ucx_t *transport, uint64_t process)
{
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, process);
    if (endpoint != NULL) {
        endpoint->disconnected = true;
        transport->deaths = transport->died != NULL;
        if (endpoint->sync_cookie != 0) /* no reply will come */
            ctn_ucx_synced(transport, process, endpoint->sync_cookie);
        ctn_ucx_fetches_failed(transport, process);
    }
    for (ctn_ucx_deferred_t *deferred = transport->deferred_list;
         deferred != NULL; deferred = deferred->next)
        if (deferred->id == CTN_UCX_AM_CONNECT &&
            deferred->header.process == process)
            deferred->id = CTN_UCX_AM_DISCONNECT;
}

static ucs_status_t on_control(void *arg, const void *header,
                               size_t header_bytes, void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    const ctn_ucx_handler_t *handler = arg;
    ctn_ucx_t *transport = handler->transport;
    ctn_ucx_control_header_t control;

    if (!read_header(transport, &control, sizeof(control), header, header_bytes,
                     param))
        return UCS_OK;
    if (handler->id == CTN_UCX_AM_DISCONNECT) {
        disconnected(transport, control.process);
    } else if (handler->id == CTN_UCX_AM_SYNCED) {
        ctn_ucx_synced(transport, control.process, control.cookie);
    } else if (handler->id == CTN_UCX_AM_GOT) {
        if (!ctn_ucx_got(transport, &control, data, bytes))
            refuse(transport, "data that nobody asked for");
    } else if (handler->id == CTN_UCX_AM_GET &&
               !ctn_ucx_asks_for_arena(transport, data, bytes)) {
        refuse(transport, "a get outside the registered memory");
    } else { /* CONNECT, SYNC and GET need an answer */
        catena_status_t status =
            ctn_ucx_defer(transport, handler->id, control, data, bytes);
        if (status != CATENA_OK)
            ctn_ucx_fail(transport, status);
    }
    return UCS_OK;
}

catena_status_t ctn_ucx_set_handlers(ctn_ucx_t *transport)
{
    for (unsigned id = 0; id < CTN_UCX_AM_COUNT; id++) {
        transport->handler[id] = (ctn_ucx_handler_t){transport, id};
        ucp_am_handler_param_t param = {
            .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                          UCP_AM_HANDLER_PARAM_FIELD_CB |
                          UCP_AM_HANDLER_PARAM_FIELD_ARG,
            .id = id,
            .cb = id <= CTN_UCX_AM_DATA ? on_put : on_control,
            .arg = &transport->handler[id],
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
                              ctn_ucx_control_header_t header, const void *data,
                              size_t bytes)
{
    ctn_ucx_deferred_t *deferred = malloc(sizeof(*deferred) + bytes);
    if (deferred == NULL) {
        ctn_error(transport->params.log,
                  "no memory to reply to a process; free memory, or raise the "
                  "limit of the process");
        return CATENA_ERR_NO_MEMORY;
    }
    deferred->next = NULL;
    deferred->id = id;
    deferred->header = header;
    deferred->bytes = bytes;
    if (bytes > 0)
        memcpy(deferred->data, data, bytes);
    *transport->deferred_end = deferred;
    transport->deferred_end = &deferred->next;
    return CATENA_OK;
}

/** All earlier active messages of that process have arrived: reply. */
static void answer_sync(const ctn_ucx_t *transport,
                        const ctn_ucx_control_header_t *asked)
{
    ctn_ucx_endpoint_t *endpoint = ctn_ucx_find(transport, asked->process);
    if (endpoint != NULL && !endpoint->failed)
        ctn_ucx_send_control(endpoint, CTN_UCX_AM_SYNCED, asked->cookie);
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
            ctn_ucx_accept(transport, deferred->header.process, deferred->data,
                           deferred->bytes);
            break;
        case CTN_UCX_AM_GET:
            ctn_ucx_answer_get(transport, deferred);
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
}
