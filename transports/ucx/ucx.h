#ifndef CTN_TRANSPORTS_UCX_UCX_H
#define CTN_TRANSPORTS_UCX_UCX_H

#include <ucp/api/ucp.h>

#include "core/hash_map.h"
#include "core/pool.h"
#include "transports/exposed.h"
#include "transports/transport.h"

/* The network transport, through UCP. Private to this folder.
 *
 * Every process has one worker and registers its arena once. Endpoints are
 * always two-sided: a process that connects sends CONNECT with its endpoint
 * address, from which the peer makes its own endpoint. So each side detects the
 * death of the other. A process that leaves sends DISCONNECT to all peers,
 * which would otherwise take the closed connection for a death. */

/** Active messages of catena. The numbers are part of the wire protocol. */
enum ctn_ucx_am {
    CTN_UCX_AM_PUT,        /* data and flag in one message */
    CTN_UCX_AM_DATA,       /* data whose flag a later PUT has */
    CTN_UCX_AM_CONNECT,    /* the sender's endpoint address */
    CTN_UCX_AM_DISCONNECT, /* the sender will close its endpoints */
    CTN_UCX_AM_SYNC,       /* reply when everything before has arrived */
    CTN_UCX_AM_SYNCED,     /* the reply */
    CTN_UCX_AM_GET,        /* asks for data: get.c */
    CTN_UCX_AM_GOT,        /* data */
    CTN_UCX_AM_COUNT
};

/* All headers of active messages end with the secret of the receiver, which is
 * a part of its endpoint address. A process that knows only the port can send
 * no active message that is accepted. */

/** Header of PUT and DATA. */
typedef struct ctn_ucx_put_header {
    uint64_t offset;      /* in the target's arena */
    uint64_t word_offset; /* of the flag */
    uint64_t value;       /* of the flag */
    uint64_t secret;      /* last */
} ctn_ucx_put_header_t;

/** Header of the other active messages. */
typedef struct ctn_ucx_control_header {
    uint64_t process; /* the sender */
    uint64_t cookie;  /* SYNC: number of the sender's flush; SYNCED: that of the
                         SYNC; GET, GOT: number of the get; else 0 */
    uint64_t secret;  /* last */
} ctn_ucx_control_header_t;

typedef union ctn_ucx_header {
    ctn_ucx_put_header_t put;
    ctn_ucx_control_header_t control;
} ctn_ucx_header_t;

typedef struct ctn_ucx ctn_ucx_t;

/** An endpoint to another process. */
typedef struct ctn_ucx_endpoint {
    ctn_endpoint_t base; /* first: this is a ctn_endpoint_t */
    ucp_ep_h ep;
    ucp_rkey_h rkey;      /* of the peer's arena */
    uint64_t remote_base; /* address of the arena in the peer */
    uint64_t secret;      /* of the peer */
    uint64_t word_fences; /* `fences` below, when a flag was last put */
    bool failed;          /* after an error: nothing can be sent */
    bool disconnected;    /* the peer sent DISCONNECT: its end is no failure */
    bool told;            /* its end was passed to `died` */
    bool unsynced;        /* active messages were sent since the last SYNC */
    uint64_t sync_cookie; /* of the last SYNC, while unanswered; else 0 */
} ctn_ucx_endpoint_t;

/** A UCP call under way. It keeps what must live until UCP completes the call:
 * the header of a message, a copy of small data (whose source is free on
 * return), and the counter to decrement. */
typedef struct ctn_ucx_op {
    ctn_ucx_t *transport;
    ctn_ucx_endpoint_t *endpoint; /* NULL: a flush of all endpoints */
    uint64_t *pending;            /* NULL: no waiter */
    void *copy;                   /* malloc'd; NULL: none */
    bool fetches;                 /* a get: its failure is an error even if the
                                     peer sent DISCONNECT */
    ctn_ucx_header_t header;
} ctn_ucx_op_t;

/** A posted receive, see post_receive in transport.h. */
typedef struct ctn_ucx_posted {
    const uint64_t *word; /* the flag; NULL: this entry is free */
    uint64_t value;       /* that will be stored to the flag */
    size_t bytes;         /* of the data */
    ctn_receive_handler_t handler;
    void *context;
} ctn_ucx_posted_t;

/** Work that a handler or callback defers until ucp_worker_progress returns. */
typedef struct ctn_ucx_deferred {
    struct ctn_ucx_deferred *next;
    /* A ctn_ucx_am. CONNECT: make an endpoint to the sender. SYNC, GET: reply.
     * SYNCED: UCP's own flush is complete, send the SYNCs of that flush.
     * DISCONNECT: nothing, this was a CONNECT. */
    unsigned id;
    ctn_ucx_control_header_t header;
    size_t
        bytes; /* of data: of a CONNECT, the address; of a GET, what it wants */
    unsigned char data[];
} ctn_ucx_deferred_t;

/** A get under way: get.c. */
typedef struct ctn_ucx_fetch ctn_ucx_fetch_t;

/** A flush under way. */
typedef struct ctn_ucx_sync {
    struct ctn_ucx_sync *next;
    uint64_t cookie;       /* its number */
    uint64_t answers_left; /* SYNCs without a reply, and 1 for UCP's flush */
    uint64_t *pending;     /* decremented when it is complete; or NULL */
} ctn_ucx_sync_t;

/** The largest data of one active message: what UCX receives over tcp with one
 * call (RX_SEG_SIZE in ucx.c, minus the headers). Larger data go in fragments
 * of this size, each copied once to its place; UCP would assemble a large
 * message elsewhere and copy it again. 1 MiB in both directions between two
 * processes: 0.22 ms in these fragments, 0.44 as one eager message, 0.52 by
 * rendezvous, 0.74 with put, fence, put. */
#define CTN_UCX_MESSAGE_BYTES ((size_t)(128u << 10) - 1024)

/** The argument of the handler of an active message. */
typedef struct ctn_ucx_handler {
    ctn_ucx_t *transport;
    unsigned id;
} ctn_ucx_handler_t;

#define CTN_UCX_POSTED 256u /* user sequence: 64 slots in 4 generations */

/** The transport of a process. */
struct ctn_ucx {
    ctn_transport_t base; /* first: this is a ctn_transport_t */
    ctn_transport_params_t params;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_mem_h memory; /* the registered arena */
    int event_fd; /* of the worker; -1: UCX has none, so it wakes no sleep */
    ucp_err_handling_mode_t error_mode;
    bool isolated;          /* no transport of UCX reaches another process */
    uint64_t secret;        /* that messages to this process carry */
    bool strangers;         /* messages without it have come */
    uint64_t fences;        /* 1 + the number of fences so far */
    bool rma;               /* put, fence, put instead of one active message */
    bool closing;           /* no caller is left: errors are ignored */
    bool abandoned;         /* no `pending` is written: it may be freed */
    catena_status_t status; /* the first error; sticky */
    ctn_death_handler_t died; /* NULL: the death of a peer is an error */
    void *died_argument;
    bool deaths; /* `died` has yet to be called */

    ctn_hash_map_t endpoints; /* ctn_ucx_endpoint_t by process */

    ctn_pool_t ops; /* ctn_ucx_op_t */
    ctn_ucx_deferred_t *deferred_list;
    ctn_ucx_deferred_t **deferred_end; /* where the next one is linked */
    ctn_ucx_sync_t *syncs;             /* flushes under way */
    ctn_ucx_fetch_t *fetches;          /* gets under way, without RDMA */
    uint64_t answers;                  /* to gets, that UCP has not sent */
    uint64_t last_cookie;              /* of flushes and gets */
    ctn_ucx_handler_t handler[CTN_UCX_AM_COUNT]; /* arguments of handlers */
    /* Hashed by word. A receive whose entry is taken is not posted. */
    ctn_ucx_posted_t posted[CTN_UCX_POSTED];
    ctn_exposed_t exposed;

    void *ep_address; /* of this process; malloc'd */
    size_t ep_address_bytes;
    char description[128]; /* for the user */
};

/* ucx.c */

/** Keep the first error for progress to report. */
void ctn_ucx_fail(ctn_ucx_t *transport, catena_status_t status);
/** The status that stands for a status of UCX. */
catena_status_t ctn_ucx_status(ucs_status_t status);
/** As ctn_ucx_fail, but ignore ERR_PEER where deaths are reported to `died`. */
void ctn_ucx_fail_unless_died(ctn_ucx_t *transport, catena_status_t status);

/* endpoint.c */

/** Make this process's endpoint address. */
catena_status_t ctn_ucx_make_ep_address(ctn_ucx_t *transport);
catena_status_t ctn_ucx_connect(ctn_transport_t *transport, uint64_t process,
                                ctn_endpoint_t **endpoint);
/** The endpoint to `process`, or NULL. */
static inline ctn_ucx_endpoint_t *ctn_ucx_find(const ctn_ucx_t *transport,
                                               uint64_t process)
{
    return ctn_hash_map_find(&transport->endpoints, process);
}
/** Create the endpoint that a CONNECT asks for. */
void ctn_ucx_accept(ctn_ucx_t *transport, uint64_t process,
                    const void *ep_address, size_t bytes);
/** Send DISCONNECT, flush and close all endpoints, in bounded time. */
void ctn_ucx_disconnect(ctn_ucx_t *transport);
/** A UCP call for this endpoint has failed. Fails the transport, unless the
 * peer is gone and sent DISCONNECT before. */
void ctn_ucx_peer_failed(ctn_ucx_endpoint_t *endpoint, ucs_status_t status);

/* get.c */

catena_status_t ctn_ucx_get(ctn_endpoint_t *endpoint, void *target,
                            size_t bytes, uint64_t offset, uint64_t *pending);
/** Whether the data of a GET are valid. */
bool ctn_ucx_asks_for_arena(const ctn_ucx_t *transport, const void *data,
                            size_t bytes);
/** Send the data that a valid GET asks for. */
void ctn_ucx_answer_get(ctn_ucx_t *transport, const ctn_ucx_deferred_t *asked);
/** Data of a get have come. @return false: they are not what it asked for */
bool ctn_ucx_got(ctn_ucx_t *transport, const ctn_ucx_control_header_t *header,
                 const void *data, size_t bytes);
/** No data will come from this process. */
void ctn_ucx_fetches_failed(ctn_ucx_t *transport, uint64_t process);
/** Forget all gets: nothing is written for them any more. */
void ctn_ucx_drop_fetches(ctn_ucx_t *transport);

/* put.c */

catena_status_t ctn_ucx_put_signal(ctn_endpoint_t *endpoint, const void *source,
                                   size_t bytes, uint64_t offset,
                                   uint64_t word_offset, uint64_t value,
                                   uint64_t *pending);
/** Send one active message. The header is free on return. `pending` NULL: the
 * data are copied, so they are free on return, too. */
catena_status_t ctn_ucx_send(ctn_ucx_endpoint_t *endpoint, unsigned id,
                             const void *header, size_t header_bytes,
                             const void *source, size_t bytes,
                             uint64_t *pending);
/** Send a control message without data. */
static inline catena_status_t ctn_ucx_send_control(ctn_ucx_endpoint_t *endpoint,
                                                   unsigned id, uint64_t cookie)
{
    const ctn_ucx_t *transport = (const ctn_ucx_t *)endpoint->base.transport;
    ctn_ucx_control_header_t header = {transport->params.process, cookie,
                                       endpoint->secret};
    return ctn_ucx_send(endpoint, id, &header, sizeof(header), NULL, 0, NULL);
}

/* op.c */

/** A ctn_ucx_op_t from the pool; NULL: no memory. */
ctn_ucx_op_t *ctn_ucx_op_get(ctn_ucx_t *transport,
                             ctn_ucx_endpoint_t *endpoint);
void ctn_ucx_op_put(ctn_ucx_op_t *op);
/** Parameters of the UCP call that `op` is for. */
ucp_request_param_t ctn_ucx_op_param(ctn_ucx_op_t *op);
/** The UCP call of `op` has returned `request`. If the call is complete or has
 * failed, `op` returns to the pool; else `pending` (NULL: none) is incremented
 * until UCP completes it. */
catena_status_t ctn_ucx_op_started(ctn_ucx_op_t *op, ucs_status_ptr_t request,
                                   uint64_t *pending);
void ctn_ucx_free_ops(ctn_ucx_t *transport);

/* am.c */

catena_status_t ctn_ucx_set_handlers(ctn_ucx_t *transport);
bool ctn_ucx_post_receive(ctn_transport_t *transport, const uint64_t *word,
                          uint64_t value, size_t bytes,
                          ctn_receive_handler_t handler, void *context);
void ctn_ucx_cancel_receive(ctn_transport_t *transport, const uint64_t *word);
bool ctn_ucx_expose(ctn_transport_t *transport, void *memory, size_t bytes,
                    uint64_t *offset);
void ctn_ucx_conceal(ctn_transport_t *transport, uint64_t offset, bool more);
/** Do the deferred work. */
void ctn_ucx_run_deferred(ctn_ucx_t *transport);
/** Defer work, see ctn_ucx_deferred_t.
 * @param data copied; only for CONNECT and GET */
catena_status_t ctn_ucx_defer(ctn_ucx_t *transport, unsigned id,
                              ctn_ucx_control_header_t header, const void *data,
                              size_t bytes);
void ctn_ucx_free_arrivals(ctn_ucx_t *transport);

/* flush.c */

catena_status_t ctn_ucx_flush(ctn_transport_t *transport, uint64_t *pending);
/** UCP's own flush is complete: send SYNC to the targets of active messages. */
void ctn_ucx_flushed(ctn_ucx_t *transport, uint64_t cookie);
/** A process has replied to the SYNC of a flush, or will not any more. */
void ctn_ucx_synced(ctn_ucx_t *transport, uint64_t process, uint64_t cookie);
void ctn_ucx_free_syncs(ctn_ucx_t *transport);

#endif
