#ifndef CTN_TRANSPORT_H
#define CTN_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <catena/status.h>

#include "core/address.h"
#include "core/atomic.h"
#include "core/log.h"

/* What moves bytes. An algorithm is written once against this table and runs
 * on the node (shm), between nodes (ucx), or on a simulated machine (sim).
 *
 * Remote memory is always named (process, offset): an offset in the arena
 * that the process registered. Everything is a put, every wait is on a word
 * in one's own arena.
 *
 * Order, of put_signal and signal:
 * - When a word is visible, so are the data that were sent with it.
 * - The words that one process sends over one endpoint become visible in the
 *   order of the calls, in the same place or in others. So when a word is
 *   visible, so are all words and all their data that were sent before it.
 * Nothing else has an order: data may be visible long before their word, and
 * before the words of earlier calls; words of two processes, or over two
 * endpoints, come in any order; what `put` writes is visible for sure only
 * after a flush that began later. Algorithms rely on both rules; the simulator
 * can break each of them on purpose (catena/sim.h).
 *
 * Nothing that moves data blocks; connect may, while its peer starts, and
 * destroy. What cannot be sent now is queued by the transport.
 * Errors that appear later (a dead peer) are reported by progress. */

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

/** The source of a put_signal up to this size is free on return, always: small
 * messages may be composed on the stack. */
#define CTN_INJECT_BYTES 128u

enum {
    CTN_CAP_LOADSTORE = 1u << 0, /* peers' memory is plain memory here */
    CTN_CAP_RDMA = 1u << 1,      /* puts need no progress at the target */
    CTN_CAP_SLEEP = 1u << 2,     /* sleep() wakes on network traffic */
    CTN_CAP_VIRTUAL = 1u << 3    /* time is virtual */
};

/** What a transport needs to know of this process. */
typedef struct ctn_transport_params {
    const ctn_log_t *log;
    uint64_t process; /* this process: its world rank */
    void *arena;      /* the registered memory of this process */
    size_t arena_bytes;
    unsigned put_mode;   /* ctn_put_mode_t */
    const char *devices; /* a list as UCX_NET_DEVICES; NULL: all */
    /** Card of another process (what its `card` gave). Set *card to malloc'd
     * memory that the caller frees. May block while that process starts. */
    catena_status_t (*lookup)(void *context, uint64_t process,
                              void **ep_address, size_t *bytes);
    void *lookup_context;
} ctn_transport_params_t;

/** Takes data that were expected; they lie there only meanwhile. It calls
 * nothing of the transport's. */
typedef void (*ctn_receive_handler_t)(void *context, const void *data,
                                      size_t bytes);

typedef struct ctn_transport_ops {
    const char *name;

    catena_status_t (*create)(const ctn_transport_params_t *params,
                              ctn_transport_t **transport);
    void (*destroy)(ctn_transport_t *transport);

    /** What others need to reach this process; owned by the transport. */
    void (*ep_address)(ctn_transport_t *transport, const void **ep_address,
                       size_t *bytes);

    /** Endpoint to a process, made on first use, owned by the transport. */
    catena_status_t (*connect)(ctn_transport_t *transport, uint64_t process,
                               ctn_endpoint_t **endpoint);

    /* The four that move data. `pending`, when the source (for get: the
     * target) is not yet free on return, is incremented, and decremented by
     * a later progress when it is. */
    catena_status_t (*put)(ctn_endpoint_t *endpoint, const void *source,
                           size_t bytes, uint64_t offset, uint64_t *pending);
    catena_status_t (*get)(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                           uint64_t offset, uint64_t *pending);
    /** Data and the word that announces it, as one operation; up to
     * CTN_INJECT_BYTES `pending` stays as it is. */
    catena_status_t (*put_signal)(ctn_endpoint_t *endpoint, const void *source,
                                  size_t bytes, uint64_t offset,
                                  uint64_t word_offset, uint64_t value,
                                  uint64_t *pending);
    catena_status_t (*signal)(ctn_endpoint_t *endpoint, uint64_t word_offset,
                              uint64_t value);

    /** The data of the put_signal of `bytes` that will store `value` to `word`,
     * of this process and not here yet, are to be given to `take`, during a
     * later progress, instead of going where the sender says. Once. NULL, or
     * @return false: they go there. */
    bool (*post_receive)(ctn_transport_t *transport, const uint64_t *word,
                         uint64_t value, size_t bytes,
                         ctn_receive_handler_t handler, void *context);
    /** Forget it, unless it has come. */
    void (*cancel_receive)(ctn_transport_t *transport, const uint64_t *word);

    /** Start completing everything put so far at its targets; `pending` as
     * above falls when that is so. */
    catena_status_t (*flush)(ctn_transport_t *transport, uint64_t *pending);

    /** Advance. @return > 0 something happened, 0 nothing, < 0 status */
    int (*progress)(ctn_transport_t *transport);

    /** Where `offset` of an on-node peer lies in this process (NULL: only
     * endpoints with an arena have such a place). */
    void *(*pointer)(ctn_endpoint_t *endpoint, uint64_t offset);

    /** Write a word that all ranks of the node read (NULL: a plain store
     * suffices). The simulator wakes the node's ranks here. */
    void (*post)(ctn_transport_t *transport, uint64_t *word, uint64_t value);

    /** Block until something may have happened, `fd` (-1: none) can be read,
     * or `timeout_ns` is over. @return whether fd can be read; of a simulator:
     * whether nothing will happen any more unless this rank does something */
    bool (*sleep)(ctn_transport_t *transport, uint64_t timeout_ns, int fd);

    /** Nanoseconds since an arbitrary moment (NULL: the wall clock). */
    uint64_t (*time)(ctn_transport_t *transport);

    /** Tell of local work (NULL: it takes its time by itself). */
    void (*charge)(ctn_transport_t *transport, ctn_work_t work, size_t n);

    /** A word's worth of memory that all simulated ranks share, NULL at first:
     * where each of them would have the same, there can be one for all. NULL
     * unless `members` are all ranks (NULL: not simulated). */
    void **(*common)(ctn_transport_t *transport, uint32_t members);

    /** This rank cannot go on, and waits for nothing any more: no `pending` is
     * written and nothing is given to a `take` from now on, since they may be
     * gone. Its progress fails with `status`; in the simulator soon that of all
     * ranks does. NULL: there is nothing to forget. */
    void (*abandon)(ctn_transport_t *transport, catena_status_t status);

    /** The network in words, for people: "ucx tcp/lo, active messages". */
    const char *(*describe)(ctn_transport_t *transport);
} ctn_transport_ops_t;

struct ctn_transport {
    const ctn_transport_ops_t *ops;
    unsigned caps;
    bool stored; /* words were stored that others may sleep for; exec asks */
};

/** Transports embed this first. */
struct ctn_endpoint {
    ctn_transport_t *transport;
    /** Where the peer's arena starts in this process when loads and stores
     * reach it, else NULL. The inline functions below then need no call. */
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

/** Have `take` get what is to come with `value` in `word`, see expect above.
 * False: it goes where its sender says, or has done so already. `network` may
 * be NULL. */
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

/** It need not any more, if it has not. For after a ctn_post_receive that was
 * true, of this word or another. */
static inline void ctn_cancel_receive(ctn_transport_t *network,
                                      const uint64_t *word)
{
    network->ops->cancel_receive(network, word);
}

/** An on-node peer's memory as memory of this process; NULL for others. */
static inline void *ctn_pointer(ctn_endpoint_t *endpoint, uint64_t offset)
{
    if (endpoint->arena != NULL) {
        return endpoint->arena + offset;
    }
    const ctn_transport_ops_t *ops = endpoint->transport->ops;
    return ops->pointer != NULL ? ops->pointer(endpoint, offset) : NULL;
}

/** The transports there are. shm is made by ctn_shm_create, from the node's
 * heap, and has no create of its own. */
extern const ctn_transport_ops_t ctn_shm_ops;
extern const ctn_transport_ops_t ctn_ucx_ops;

#endif
