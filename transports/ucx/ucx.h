#ifndef CTN_TRANSPORTS_UCX_UCX_H
#define CTN_TRANSPORTS_UCX_UCX_H

#include <ucp/api/ucp.h>

#include "core/hash_map.h"
#include "core/pool.h"
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
    CTN_UCX_AM_PUT,      /* data and flag in one message */
    CTN_UCX_AM_FRAGMENT, /* part of the data; the last to arrive stores the flag
                          */
    CTN_UCX_AM_CONNECT,  /* the sender's endpoint address */
    CTN_UCX_AM_DISCONNECT, /* the sender will close its endpoints */
    CTN_UCX_AM_SYNC,       /* reply when everything before has arrived */
    CTN_UCX_AM_SYNCED,     /* the reply */
    CTN_UCX_AM_COUNT
};

typedef struct ctn_ucx_put_header {
    uint64_t offset; /* in the target's arena */
    uint64_t word_offset;
    uint64_t value;
} ctn_ucx_put_header_t;

typedef struct ctn_ucx_fragment_header {
    ctn_ucx_put_header_t put; /* offset: of this fragment */
    uint64_t total;           /* bytes of all fragments of this message */
    uint64_t process;         /* process and message identify the message */
    uint64_t message;
} ctn_ucx_fragment_header_t;

/** CONNECT, DISCONNECT: only process. SYNC and SYNCED: both. */
typedef struct ctn_ucx_control_header {
    uint64_t process;
    uint64_t cookie;
} ctn_ucx_control_header_t;

typedef union ctn_ucx_header {
    ctn_ucx_put_header_t put;
    ctn_ucx_fragment_header_t fragment;
    ctn_ucx_control_header_t control;
} ctn_ucx_header_t;

typedef struct ctn_ucx ctn_ucx_t;

typedef struct ctn_ucx_endpoint {
    ctn_endpoint_t base;
    ucp_ep_h ep;
    ucp_rkey_h rkey;
    uint64_t remote_base; /* address of the arena in the peer */
    uint64_t word_fences; /* value of `fences` when a flag was last put */
    bool failed;          /* after an error: nothing can be sent */
    bool disconnected;    /* it sent DISCONNECT: its closing is no failure */
    bool unsynced;        /* active messages were sent since the last SYNC */
    uint64_t sync_cookie; /* of an unanswered SYNC, else 0 */
} ctn_ucx_endpoint_t;

/** State that must live until UCP completes a message: its header, small data
 * that were copied because the source is free on return, and the counter to
 * decrement. */
typedef struct ctn_ucx_op {
    ctn_ucx_t *transport;
    ctn_ucx_endpoint_t *endpoint; /* NULL: several peers */
    uint64_t *pending;            /* NULL: no waiter */
    void *copy;                   /* malloc'd; NULL in the pool */
    bool fetches; /* a get: its failure is an error even if the peer sent
                     DISCONNECT */
    ctn_ucx_header_t header;
} ctn_ucx_op_t;

/** A message of several fragments, some of which have arrived. */
typedef struct ctn_ucx_partial {
    struct ctn_ucx_partial *next;
    uint64_t process;
    uint64_t message;
    uint64_t arrived_bytes;
} ctn_ucx_partial_t;

/** A posted receive. */
typedef struct ctn_ucx_posted {
    const uint64_t *word; /* NULL: free */
    uint64_t value;
    size_t bytes;
    ctn_receive_handler_t handler;
    void *context;
} ctn_ucx_posted_t;

/** Work that a handler or callback defers until UCP does not run: reply to a
 * CONNECT or a SYNC, or send SYNCs after a flush. */
typedef struct ctn_ucx_deferred {
    struct ctn_ucx_deferred *next;
    unsigned id; /* ctn_ucx_am */
    ctn_ucx_control_header_t header;
    size_t bytes;
    unsigned char ep_address[];
} ctn_ucx_deferred_t;

/** A flush that waits for the replies of its targets. */
typedef struct ctn_ucx_sync {
    struct ctn_ucx_sync *next;
    uint64_t cookie;
    uint64_t answers_left;
    uint64_t *pending;
} ctn_ucx_sync_t;

/** The largest data of one active message: what UCX receives over tcp with one
 * call (RX_SEG_SIZE in ucx.c, minus the headers). Larger data go in fragments
 * of this size, each copied once to its place; UCP would assemble a large
 * message elsewhere and copy it again. 1 MiB in both directions between two
 * processes: 0.22 ms in these fragments, 0.44 as one eager message, 0.52 by
 * rendezvous, 0.74 with put, fence, put. */
#define CTN_UCX_MESSAGE_BYTES ((size_t)(128u << 10) - 1024)

#define CTN_UCX_PARTIAL_BUCKETS 64u
#define CTN_UCX_POSTED 256u /* the slots of a group's generations */

struct ctn_ucx {
    ctn_transport_t base;
    ctn_transport_params_t params;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_mem_h memory;
    int event_fd; /* -1: sleep waits for the timeout only */
    ucp_err_handling_mode_t error_mode;
    uint64_t fences;        /* number so far, plus one */
    bool rma;               /* put, fence, put instead of one active message */
    bool closing;           /* no caller is left: errors are ignored */
    bool abandoned;         /* no `pending` is written: it may be freed */
    catena_status_t status; /* the first error; sticky */

    ctn_hash_map_t endpoints; /* ctn_ucx_endpoint_t by process */

    ctn_pool_t ops; /* ctn_ucx_op_t */
    ctn_ucx_deferred_t *deferred_list;
    ctn_ucx_deferred_t **deferred_end;
    ctn_ucx_sync_t *syncs;
    uint64_t next_cookie;
    ctn_ucx_partial_t *partials[CTN_UCX_PARTIAL_BUCKETS];
    uint64_t next_message;
    /* By word, with one place each: a receive whose place is taken is not
     * posted. */
    ctn_ucx_posted_t posted[CTN_UCX_POSTED];

    void *ep_address;
    size_t ep_address_bytes;
    char description[128];
};

/* ucx.c */

/** Keep the first error for progress to report. */
void ctn_ucx_fail(ctn_ucx_t *transport, catena_status_t status);
catena_status_t ctn_ucx_status(ucs_status_t status);

/* endpoint.c */

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
/** The peer is dead, unless it sent DISCONNECT. */
void ctn_ucx_peer_failed(ctn_ucx_endpoint_t *endpoint, ucs_status_t status);

/* put.c */

catena_status_t ctn_ucx_put(ctn_endpoint_t *endpoint, const void *source,
                            size_t bytes, uint64_t offset, uint64_t *pending);
catena_status_t ctn_ucx_get(ctn_endpoint_t *endpoint, void *target,
                            size_t bytes, uint64_t offset, uint64_t *pending);
catena_status_t ctn_ucx_put_signal(ctn_endpoint_t *endpoint, const void *source,
                                   size_t bytes, uint64_t offset,
                                   uint64_t word_offset, uint64_t value,
                                   uint64_t *pending);
catena_status_t ctn_ucx_signal(ctn_endpoint_t *endpoint, uint64_t word_offset,
                               uint64_t value);
/** Send one active message. Header and data are copied if it cannot be sent at
 * once, so they are free on return. */
catena_status_t ctn_ucx_send_copied(ctn_ucx_endpoint_t *endpoint, unsigned id,
                                    const void *header, size_t header_bytes,
                                    const void *source, size_t bytes);

/* op.c */

/** An operation from the pool, or NULL. */
ctn_ucx_op_t *ctn_ucx_op_get(ctn_ucx_t *transport,
                             ctn_ucx_endpoint_t *endpoint);
void ctn_ucx_op_put(ctn_ucx_op_t *op);
/** Parameters of a UCP call that `op` waits for. */
ucp_request_param_t ctn_ucx_op_param(ctn_ucx_op_t *op);
/** The result of that call: complete (op returns to the pool), under way
 * (`pending` is incremented until the callback) or failed. */
catena_status_t ctn_ucx_op_started(ctn_ucx_op_t *op, ucs_status_ptr_t request,
                                   uint64_t *pending);
void ctn_ucx_free_ops(ctn_ucx_t *transport);

/* am.c */

catena_status_t ctn_ucx_set_handlers(ctn_ucx_t *transport);
bool ctn_ucx_post_receive(ctn_transport_t *transport, const uint64_t *word,
                          uint64_t value, size_t bytes,
                          ctn_receive_handler_t handler, void *context);
void ctn_ucx_cancel_receive(ctn_transport_t *transport, const uint64_t *word);
/** Do the deferred work. */
void ctn_ucx_run_deferred(ctn_ucx_t *transport);
catena_status_t ctn_ucx_defer(ctn_ucx_t *transport, unsigned id,
                              ctn_ucx_control_header_t header,
                              const void *ep_address, size_t bytes);
void ctn_ucx_free_arrivals(ctn_ucx_t *transport);

/* flush.c */

catena_status_t ctn_ucx_flush(ctn_transport_t *transport, uint64_t *pending);
/** UCP's own flush is complete: send SYNC to the targets of active messages. */
void ctn_ucx_flushed(ctn_ucx_t *transport, uint64_t cookie);
void ctn_ucx_synced(ctn_ucx_t *transport, uint64_t process, uint64_t cookie);
void ctn_ucx_free_syncs(ctn_ucx_t *transport);

#endif
