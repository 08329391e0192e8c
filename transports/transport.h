#ifndef CTN_TRANSPORT_H
#define CTN_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <catena/status.h>

#include "core/address.h"
#include "core/atomic.h"
#include "core/config.h"
#include "core/log.h"

/* The transport interface. An algorithm is written once against this table and
 * runs on the node (shm), between nodes (ucx), or on a simulated machine (sim).
 *
 * Remote memory is named (process, offset): an offset in the arena that the
 * process registered, or one that the network gave to other memory (`expose`).
 * Data move by puts; only the receiver of a rendezvous
 * message and a split's exact sort use get. A flag is a word whose store
 * announces data or an event; ranks wait for flags in their own arena or in
 * memory of their node.
 *
 * Order of put_signal, with or without data:
 * - When a flag is visible, so are the data that were sent with it.
 * - The flags that a process sends over one endpoint become visible in the
 *   order of the calls, at the same or different addresses. So when a flag is
 *   visible, so are all flags and all their data that were sent before it.
 *
 * Nothing else is ordered. Data may be visible long before their flag, and
 * before the flags of earlier calls. Flags of two processes, or over two
 * endpoints, arrive in any order. Algorithms rely on the two rules above; the
 * simulator can break each of them on purpose (catena/sim.h).
 *
 * Only sleep, connect (while its peer starts) and destroy may block. The
 * transport queues what it cannot send now. Errors after a call has returned,
 * such as the death of a peer, are reported by progress. */

typedef struct ctn_transport ctn_transport_t;
typedef struct ctn_endpoint ctn_endpoint_t;

/** Local work that the simulator charges time for (`charge` below). Its amount
 * n counts bytes; for COMPARE it counts comparisons, for CALL calls of a
 * collective with data. */
typedef enum ctn_work {
    CTN_WORK_COPY,
    CTN_WORK_COMPARE,
    CTN_WORK_HASH,
    CTN_WORK_REDUCE,
    CTN_WORK_TRANSPOSE,
    CTN_WORK_CALL
} ctn_work_t;

/** The source of a put_signal up to this size is always free on return: small
 * messages may be composed on the stack. */
#define CTN_INJECT_BYTES 128u

/** What a process publishes so that others of its node can write to any of its
 * memory; at the same offset in every arena. */
typedef struct ctn_attach {
    uint64_t pid;   /* 0: not published */
    uint64_t space; /* inode of the namespace of process numbers */
    uint64_t probe; /* address of `pid` in that process */
    uint64_t can;   /* 0: this process cannot write to the others; or the fewest
                       bytes for which that is faster than a second copy */
} ctn_attach_t;

/** Capabilities of a transport, a mask. */
enum {
    CTN_CAP_RDMA = 1u << 0,    /* puts need no progress at the target */
    CTN_CAP_SLEEP = 1u << 1,   /* sleep() wakes on network traffic */
    CTN_CAP_VIRTUAL = 1u << 2, /* time is virtual */
    CTN_CAP_EXPOSE = 1u << 3   /* `expose` can succeed */
};

/** The process that a transport is created for. */
typedef struct ctn_transport_params {
    const ctn_log_t *log;
    uint64_t process; /* world rank */
    void *arena;      /* the memory that peers access */
    size_t arena_bytes;
    const ctn_config_t *config; /* with the settings of the transport */
    uint64_t failures;          /* CATENA_FAILURES: the same on all ranks */
    const char *devices;        /* in the form of UCX_NET_DEVICES; NULL: all */
    bool shared;                /* several threads take turns */
    /** Look up the endpoint address of another process (see `ep_address`). Sets
     * *ep_address to malloc'd memory that the caller frees. May block while
     * that process starts. */
    catena_status_t (*lookup)(void *context, uint64_t process,
                              void **ep_address, size_t *bytes);
    void *lookup_context;
} ctn_transport_params_t;

/** Handles the data of a posted receive, which are valid during the call only.
 * It calls no function of the transport. */
typedef void (*ctn_receive_handler_t)(void *context, const void *data,
                                      size_t bytes);

/** Called when a process has died, or (`leaves`) has left the job in order.
 * Called by progress and by `check`; may call functions of the transport. */
typedef void (*ctn_death_handler_t)(void *argument, uint64_t process,
                                    bool leaves);

/** The table of functions of a transport. For those that may be NULL the
 * comment says what NULL means; only ucx has create and ep_address. */
typedef struct ctn_transport_ops {
    catena_status_t (*create)(const ctn_transport_params_t *params,
                              ctn_transport_t **transport);
    /** Tell the peers that this process leaves, close all endpoints, and free
     * the transport. */
    void (*destroy)(ctn_transport_t *transport);

    /** The address by which other processes connect to this one; owned by the
     * transport. */
    void (*ep_address)(ctn_transport_t *transport, const void **ep_address,
                       size_t *bytes);

    /** The endpoint to a process, created on first use, owned by the transport.
     */
    catena_status_t (*connect)(ctn_transport_t *transport, uint64_t process,
                               ctn_endpoint_t **endpoint);

    /* The two functions that move data (NULL: all endpoints have an arena). If
     * the source (of get: the target) is still in use on return, they increment
     * `pending`, and a later progress decrements it when the source is free. */
    catena_status_t (*get)(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                           uint64_t offset, uint64_t *pending);
    /** Put data, if there are any, and then store `value` to their flag.
     * `pending` is not used for up to CTN_INJECT_BYTES. */
    catena_status_t (*put_signal)(ctn_endpoint_t *endpoint, const void *source,
                                  size_t bytes, uint64_t offset,
                                  uint64_t word_offset, uint64_t value,
                                  uint64_t *pending);

    /** The transport that sends by an endpoint (NULL: the endpoint's). In the
     * simulator all ranks share the endpoint of a rank. */
    ctn_transport_t *(*sender)(const ctn_endpoint_t *endpoint);

    /** Write to, or read from, memory of an on-node peer that may lie outside
     * its arena, after that peer has asked for it (`may_access`). The data are
     * there on return. NULL: this transport cannot.
     * @param address in the peer's process */
    catena_status_t (*write)(ctn_endpoint_t *endpoint, const void *source,
                             size_t bytes, uint64_t address);
    catena_status_t (*read)(ctn_endpoint_t *endpoint, void *target,
                            size_t bytes, uint64_t address);
    /** Whether the peer can access any memory of this process by `write` and
     * `read`, and that is faster for so many bytes than a copy by each side;
     * once so, always. NULL: it cannot. */
    bool (*may_access)(ctn_endpoint_t *endpoint, size_t bytes);

    /** Post a receive for the put_signal of `bytes` that will store `value` to
     * `word` of this process: a later progress passes its data to `handler`
     * once, instead of storing them where the sender says. NULL: the transport
     * has no posted receives.
     * @return false: not posted, the data go where the sender says */
    bool (*post_receive)(ctn_transport_t *transport, const uint64_t *word,
                         uint64_t value, size_t bytes,
                         ctn_receive_handler_t handler, void *context);
    /** Cancel a posted receive, unless it is complete. NULL as post_receive. */
    void (*cancel_receive)(ctn_transport_t *transport, const uint64_t *word);

    /** Let put_signal write to memory of this process outside the arena, until
     * `conceal`. NULL: it cannot.
     * @param[out] offset of the memory, for puts to this process; less than
     * 2^48
     * @return false: not this memory, or not now */
    bool (*expose)(ctn_transport_t *transport, void *memory, size_t bytes,
                   uint64_t *offset);
    /** Nothing is written to exposed memory any more. NULL as expose.
     * @param more puts to it may still come, and are dropped */
    void (*conceal)(ctn_transport_t *transport, uint64_t offset, bool more);

    /** Start a flush, which is complete when all earlier puts are visible at
     * their targets. Unless that is so on return, `pending` is incremented, and
     * a later progress decrements it. NULL: they always are. */
    catena_status_t (*flush)(ctn_transport_t *transport, uint64_t *pending);

    /** Progress the transport (NULL: no progress is needed). @return > 0: there
     * were events, 0: none, < 0: a status */
    int (*progress)(ctn_transport_t *transport);

    /** The address in this process of `offset` of an on-node peer (NULL: only
     * endpoints with an arena have one). */
    void *(*pointer)(ctn_endpoint_t *endpoint, uint64_t offset);

    /** Store a word that all ranks of the node read (NULL: a plain store
     * suffices). The simulator wakes the ranks of the node. */
    void (*post)(ctn_transport_t *transport, uint64_t *word, uint64_t value);

    /** Block until there may be an event, the descriptor `fd` (-1: none) is
     * readable, or `timeout_ns` is over.
     * @return whether fd is readable; in the simulator instead: whether the
     * whole job stalls, so that no event comes unless a rank does something */
    bool (*sleep)(ctn_transport_t *transport, uint64_t timeout_ns, int fd);

    /** Nanoseconds since an arbitrary moment (NULL: the wall clock). */
    uint64_t (*time)(ctn_transport_t *transport);
    /** The same, for an observer: in the simulator no time passes by it (NULL:
     * as `time`). */
    uint64_t (*observed_time)(const ctn_transport_t *transport);

    /** This rank does local work: let virtual time pass (NULL: real time
     * passes). */
    void (*charge)(ctn_transport_t *transport, ctn_work_t work, size_t n);

    /** Only in the simulator, else NULL: the address of a pointer that all
     * ranks share, NULL at first. By it they may share one copy of a table that
     * is the same on all of them.
     * @return NULL: `members` is not the number of all ranks */
    void **(*common)(ctn_transport_t *transport, uint32_t members);

    /** This rank aborts and waits for nothing any more: from now on the
     * transport writes no `pending` and calls no `handler`, since their memory
     * may have been freed. Its progress fails with `status`; in the simulator
     * the progress of all ranks fails soon after. NULL: the transport keeps no
     * pointers to either. */
    void (*abandon)(ctn_transport_t *transport, catena_status_t status);

    /** From now on a death is passed to `handler`, by progress or `check`, and
     * progress does not fail. NULL: this transport notices no death. */
    void (*watch)(ctn_transport_t *transport, ctn_death_handler_t handler,
                  void *argument);
    /** Find out whether processes have died. NULL: progress does. */
    void (*check)(ctn_transport_t *transport);

    /** A description of the network for the user: "ucx tcp, active messages".
     */
    const char *(*describe)(ctn_transport_t *transport);
} ctn_transport_ops_t;

/** Embedded in the struct of each transport. */
struct ctn_transport {
    const ctn_transport_ops_t *ops;
    /** Called when the source of a put or the target of a get is free, after
     * its `pending` was decremented; NULL: nobody observes that. */
    void (*freed)(ctn_transport_t *transport, const uint64_t *pending);
    unsigned caps; /* a mask of CTN_CAP_... */
    bool stored;   /* flags were stored on the node: exec wakes the ranks that
                      sleep there, and clears it */
};

/** Embedded in the struct of each transport's endpoints. */
struct ctn_endpoint {
    ctn_transport_t *transport;
    /** The address of the peer's arena in this process if it is mapped here,
     * else NULL. The inline functions below then call no transport. */
    unsigned char *arena;
    uint64_t process; /* world rank of the peer */
};

/** put_signal of the endpoint's transport. */
static inline catena_status_t ctn_put_signal(ctn_endpoint_t *endpoint,
                                             const void *source, size_t bytes,
                                             uint64_t offset,
                                             uint64_t word_offset,
                                             uint64_t value, uint64_t *pending)
{
    if (endpoint->arena != NULL) {
        memcpy(endpoint->arena + offset, source, bytes);
        ctn_word_store((uint64_t *)(void *)(endpoint->arena + word_offset),
                       value);
        endpoint->transport->stored = true;
        return CATENA_OK;
    }
    return endpoint->transport->ops->put_signal(endpoint, source, bytes, offset,
                                                word_offset, value, pending);
}

/** Store `value` to a flag. */
static inline catena_status_t ctn_signal(ctn_endpoint_t *endpoint,
                                         uint64_t word_offset, uint64_t value)
{
    if (endpoint->arena != NULL) {
        ctn_word_store((uint64_t *)(void *)(endpoint->arena + word_offset),
                       value);
        endpoint->transport->stored = true;
        return CATENA_OK;
    }
    return endpoint->transport->ops->put_signal(endpoint, NULL, 0, 0,
                                                word_offset, value, NULL);
}

/** may_access of the endpoint's transport. */
static inline bool ctn_may_access(ctn_endpoint_t *endpoint, size_t bytes)
{
    const ctn_transport_ops_t *ops = endpoint->transport->ops;
    return ops->may_access != NULL && ops->may_access(endpoint, bytes);
}

/** flush of a transport; NULL: there is none. */
static inline catena_status_t ctn_flush(ctn_transport_t *transport,
                                        uint64_t *pending)
{
    return transport != NULL && transport->ops->flush != NULL
               ? transport->ops->flush(transport, pending)
               : CATENA_OK;
}

/** Post a receive for the put_signal that stores `value` to `word`, see
 * post_receive above.
 * @param network may be NULL
 * @return false: the data go where the sender says, or have arrived */
static inline bool ctn_post_receive(ctn_transport_t *network,
                                    const uint64_t *word, uint64_t value,
                                    size_t bytes, ctn_receive_handler_t handler,
                                    void *context)
{
    return network != NULL && network->ops->post_receive != NULL &&
           ctn_word_load(word) != value &&
           network->ops->post_receive(network, word, value, bytes, handler,
                                      context);
}

/** Cancel the receive posted for `word`, unless it is complete. To be called
 * only after a ctn_post_receive has returned true, for any word. */
static inline void ctn_cancel_receive(ctn_transport_t *network,
                                      const uint64_t *word)
{
    network->ops->cancel_receive(network, word);
}

/** The address of an on-node peer's memory in this process; NULL for other
 * peers. */
static inline void *ctn_pointer(ctn_endpoint_t *endpoint, uint64_t offset)
{
    if (endpoint->arena != NULL) {
        return endpoint->arena + offset;
    }
    const ctn_transport_ops_t *ops = endpoint->transport->ops;
    return ops->pointer != NULL ? ops->pointer(endpoint, offset) : NULL;
}

/** The transports of libcatena. ctn_shm_create makes shm from the node's heap.
 * The table of the simulated transport is in transports/sim. */
extern const ctn_transport_ops_t ctn_shm_ops;
extern const ctn_transport_ops_t ctn_ucx_ops;

#endif
