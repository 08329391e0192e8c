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
 * process registered. All communication is by puts, and every wait is on a word
 * in the own arena.
 *
 * Order of put_signal and signal:
 * - When a flag is visible, so are the data that were sent with it.
 * - The flags that a process sends over one endpoint become visible in the
 *   order of the calls, at the same or different addresses. So when a flag is
 *   visible, so are all flags and all their data that were sent before it.
 *
 * Nothing else is ordered. Data may be visible long before their flag, and
 * before the flags of earlier calls. Flags of two processes, or over two
 * endpoints, arrive in any order. Data of `put` are certain to be visible only
 * after a flush that began later. Algorithms rely on both rules; the simulator
 * can break each of them on purpose (catena/sim.h).
 *
 * The functions that move data do not block; connect may block while its peer
 * starts, and destroy may block. The transport queues what it cannot send now.
 * progress reports later errors (a dead peer). */

typedef struct ctn_transport ctn_transport_t;
typedef struct ctn_endpoint ctn_endpoint_t;

/** Local work that the simulator charges time for; n counts bytes for COPY,
 * HASH, REDUCE and TRANSPOSE, comparisons for COMPARE. */
typedef enum ctn_work {
    CTN_WORK_COPY,
    CTN_WORK_COMPARE,
    CTN_WORK_HASH,
    CTN_WORK_REDUCE,
    CTN_WORK_TRANSPOSE
} ctn_work_t;

/** The source of a put_signal up to this size is always free on return: small
 * messages may be composed on the stack. */
#define CTN_INJECT_BYTES 128u

enum {
    CTN_CAP_LOADSTORE = 1u << 0, /* peers' memory is mapped here */
    CTN_CAP_RDMA = 1u << 1,      /* puts need no progress at the target */
    CTN_CAP_SLEEP = 1u << 2,     /* sleep() wakes on network traffic */
    CTN_CAP_VIRTUAL = 1u << 3    /* time is virtual */
};

/** The process that a transport is created for. */
typedef struct ctn_transport_params {
    const ctn_log_t *log;
    uint64_t process; /* world rank */
    void *arena;      /* registered memory */
    size_t arena_bytes;
    const ctn_config_t *config; /* with the settings of the transport */
    const char *devices;        /* a list as UCX_NET_DEVICES; NULL: all */
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

typedef struct ctn_transport_ops {
    const char *name;

    catena_status_t (*create)(const ctn_transport_params_t *params,
                              ctn_transport_t **transport);
    void (*destroy)(ctn_transport_t *transport);

    /** The address by which other processes connect to this one; owned by the
     * transport. */
    void (*ep_address)(ctn_transport_t *transport, const void **ep_address,
                       size_t *bytes);

    /** The endpoint to a process, created on first use, owned by the transport.
     */
    catena_status_t (*connect)(ctn_transport_t *transport, uint64_t process,
                               ctn_endpoint_t **endpoint);

    /* The four functions that move data. If the source (of get: the target) is
     * not free on return, `pending` is incremented, and a later progress
     * decrements it when it is free. */
    catena_status_t (*put)(ctn_endpoint_t *endpoint, const void *source,
                           size_t bytes, uint64_t offset, uint64_t *pending);
    catena_status_t (*get)(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                           uint64_t offset, uint64_t *pending);
    /** Data and their flag, as one operation; `pending` stays unchanged up to
     * CTN_INJECT_BYTES. */
    catena_status_t (*put_signal)(ctn_endpoint_t *endpoint, const void *source,
                                  size_t bytes, uint64_t offset,
                                  uint64_t word_offset, uint64_t value,
                                  uint64_t *pending);
    catena_status_t (*signal)(ctn_endpoint_t *endpoint, uint64_t word_offset,
                              uint64_t value);

    /** Post a receive for the put_signal of `bytes` that will store `value` to
     * `word` of this process: a later progress passes its data to `handler`
     * once, instead of storing them where the sender says. NULL, or
     * @return false: the data go where the sender says. */
    bool (*post_receive)(ctn_transport_t *transport, const uint64_t *word,
                         uint64_t value, size_t bytes,
                         ctn_receive_handler_t handler, void *context);
    /** Cancel a posted receive, unless it is complete. */
    void (*cancel_receive)(ctn_transport_t *transport, const uint64_t *word);

    /** Start to complete all earlier puts at their targets; `pending` as above
     * counts until they are complete. */
    catena_status_t (*flush)(ctn_transport_t *transport, uint64_t *pending);

    /** Progress the transport. @return > 0 there were events, 0 none, < 0
     * status */
    int (*progress)(ctn_transport_t *transport);

    /** The address in this process of `offset` of an on-node peer (NULL: only
     * endpoints with an arena have one). */
    void *(*pointer)(ctn_endpoint_t *endpoint, uint64_t offset);

    /** Store a word that all ranks of the node read (NULL: a plain store
     * suffices). The simulator wakes the ranks of the node. */
    void (*post)(ctn_transport_t *transport, uint64_t *word, uint64_t value);

    /** Block until there may be an event, `fd` (-1: none) is readable, or
     * `timeout_ns` is over. @return whether fd is readable; in the simulator:
     * whether there will be no event unless this rank makes progress */
    bool (*sleep)(ctn_transport_t *transport, uint64_t timeout_ns, int fd);

    /** Nanoseconds since an arbitrary moment (NULL: the wall clock). */
    uint64_t (*time)(ctn_transport_t *transport);

    /** Charge local work (NULL: real time passes). */
    void (*charge)(ctn_transport_t *transport, ctn_work_t work, size_t n);

    /** A pointer shared by all simulated ranks, NULL at first: they may share
     * one copy of what would be the same on all of them. NULL unless `members`
     * is the number of all ranks (NULL: not simulated). */
    void **(*common)(ctn_transport_t *transport, uint32_t members);

    /** This rank aborts and waits for nothing any more: from now on the
     * transport writes no `pending` and calls no `handler`, since both may have
     * been freed. Its progress fails with `status`; in the simulator that of
     * all ranks fails soon after. NULL: the transport keeps no such references.
     */
    void (*abandon)(ctn_transport_t *transport, catena_status_t status);

    /** A description of the network for the user: "ucx tcp/lo, active
     * messages". */
    const char *(*describe)(ctn_transport_t *transport);
} ctn_transport_ops_t;

struct ctn_transport {
    const ctn_transport_ops_t *ops;
    unsigned caps;
    bool stored; /* flags were stored that other ranks may sleep for; exec reads
                    it */
};

/** The first member of each transport's endpoint. */
struct ctn_endpoint {
    ctn_transport_t *transport;
    /** The address of the peer's arena in this process if it is mapped here,
     * else NULL. The inline functions below then call no transport. */
    unsigned char *arena;
    uint64_t process;
};

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

static inline catena_status_t ctn_signal(ctn_endpoint_t *endpoint,
                                         uint64_t word_offset, uint64_t value)
{
    if (endpoint->arena != NULL) {
        ctn_word_store((uint64_t *)(void *)(endpoint->arena + word_offset),
                       value);
        endpoint->transport->stored = true;
        return CATENA_OK;
    }
    return endpoint->transport->ops->signal(endpoint, word_offset, value);
}

/** Post a receive for the put_signal that stores `value` to `word`, see
 * post_receive above. False: the data go where the sender says, or have
 * arrived. `network` may be NULL. */
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

/** Cancel the receive posted for `word`, if it is not complete. Only after a
 * ctn_post_receive that returned true, for this or another word. */
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

/** All transports. ctn_shm_create makes shm from the node's heap; its table has
 * no create. */
extern const ctn_transport_ops_t ctn_shm_ops;
extern const ctn_transport_ops_t ctn_ucx_ops;

#endif
