#ifndef CTN_EXEC_EXEC_H
#define CTN_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/hash_map.h"
#include "core/locality.h"
#include "core/log.h"
#include "core/pool.h"
#include "exec/doorbell.h"
#include "exec/sequence.h"
#include "exec/yield.h"
#include "heap/heap.h"
#include "transports/transport.h"

/* The engine that runs all operations. An algorithm is a list of phases and a
 * state; exec calls the current phase of an operation until it reports that the
 * next may begin. A blocking call is start and wait; a nonblocking one is
 * start, progress, test; a persistent operation keeps its state between starts.
 * No phase blocks, so any number of operations of any number of groups advance
 * together, on any transport. */

/** Code of small blocking calls, placed together in few pages. With more than a
 * few ranks on a core each rank finds an empty TLB whenever it runs again. */
#define CTN_HOT __attribute__((hot))
/** Code that ranks that share a core run in every turn, from a barrier to the
 * next small call and back: contiguous in one or two pages, without calls out
 * of it except to yield the core. */
#define CTN_HOT_POLL __attribute__((section(".text.sorted.catena.1")))
/** The same, at the beginning of a page. One function only. */
#define CTN_HOT_POLL_FIRST                                                     \
    __attribute__((section(".text.sorted.catena.0"), aligned(4096)))
/** The same, after all others, in the remainder of that page. */
#define CTN_HOT_POLL_LAST __attribute__((section(".text.sorted.catena.2")))
/** Cold paths, kept out of the hot pages. */
#define CTN_COLD __attribute__((cold, noinline))

/** The result of a phase. */
typedef enum ctn_step {
    CTN_STEP_WAIT,  /* no progress possible: waits for a flag */
    CTN_STEP_MOVED, /* progress was made, call again */
    CTN_STEP_NEXT,  /* the phase is over */
    CTN_STEP_FAIL   /* op->status says why */
} ctn_step_t;

typedef struct ctn_phase {
    const char *name;
    ctn_step_t (*run)(ctn_op_t *op);
} ctn_phase_t;

/** The first phase initializes the working part of the state from its
 * arguments, so an operation can be started again. `phases` ends with a NULL
 * run. */
typedef struct ctn_algorithm {
    const char *name;
    size_t state_bytes;
    const ctn_phase_t *phases;
    /** No rank completes it before all ranks of the sequence have started it.
     */
    bool synchronizing;
    /** Called once when the operation ends, with or without an error; may be
     * NULL. */
    void (*finish)(ctn_op_t *op);
    /** Called once when the operation is released, for what it keeps between
     * starts; may be NULL. */
    void (*release)(ctn_op_t *op);
    /** For background operations: whether it may run, and end. */
    bool (*ready)(const ctn_op_t *op);
} ctn_algorithm_t;

typedef enum ctn_op_state {
    CTN_OP_INACTIVE,
    CTN_OP_QUEUED, /* waits for earlier operations of its sequence */
    CTN_OP_ACTIVE,
    CTN_OP_DONE
} ctn_op_state_t;

#define CTN_OP_STATE_BYTES 2112u
#define CTN_STAGING_BYTES 65536u

struct catena_request {
    /* The one cache line of a request that is touched when it runs without its
     * phases. */
    ctn_exec_t *exec;
    ctn_sequence_t *sequence; /* NULL: only calls others, has no number */
    uint64_t seq;
    /* For requests that may run without their phases; else NULL. start: no
     * other operation is under way; do what the first phases would do. True:
     * the operation is active and in the list of active ones. False: the caller
     * starts it. wait: it is the only active operation. False: it is still
     * active, and the caller waits for it. */
    bool (*start)(ctn_op_t *op);
    bool (*wait)(ctn_op_t *op);
    ctn_op_state_t state;
    catena_status_t status; /* here: gcc would load two adjacent constants from
                               another page */
    unsigned phase;
    bool persistent;
    bool detached;   /* no caller waits for it: released when it ends */
    bool network;    /* may have to wait for the network */
    bool held;       /* started, but does not run before ctn_op_let_go */
    bool clean;      /* it failed, but did all that other ranks wait for */
    bool background; /* in the list exec->background */
    const ctn_algorithm_t *algorithm;
    uint64_t pending;  /* puts whose source is still in use */
    int64_t waits_for; /* rank of its group, -1: no particular one */
    ctn_op_t *child;   /* under way; the next phase begins after it */
    /* Links in exec's list or the sequence's queue; else NULL. */
    ctn_op_t *next;
    ctn_op_t *previous;
    /* For a persistent operation: what is freed with it, or NULL. */
    void *owned;
    void (*dispose)(void *owned);
    _Alignas(64) unsigned char memory[CTN_OP_STATE_BYTES];
};

typedef enum ctn_wait { /* CATENA_WAIT */
                        CTN_WAIT_AUTO,
                        CTN_WAIT_SPIN,  /* never yield the core */
                        CTN_WAIT_YIELD, /* never sleep */
                        CTN_WAIT_SLEEP  /* soon after it begins to wait */
} ctn_wait_t;

/** Values of the settings of exec. */
typedef struct ctn_exec_config {
    ctn_wait_t wait; /* WAIT: auto, spin, yield, sleep */
    size_t spin;     /* SPIN: polls before the core is yielded, auto */
    size_t sleep_ms; /* SLEEP: ms of waiting before sleeping, auto, inf */
} ctn_exec_config_t;

extern const ctn_setting_table_t ctn_exec_settings;

/** How a rank waits; see exec/wait.c. */
typedef struct ctn_wait_policy {
    uint32_t loads; /* of a word, when a blocking call starts to wait */
    uint32_t spin;  /* polls before the rank yields its core */
    uint64_t sleep_after_ns;   /* wait before it sleeps; UINT64_MAX: never */
    uint64_t longest_sleep_ns; /* of one sleep */
    /** Yields the core (NULL: sched_yield). Tests replace it, and put their
     * clock and sleep into a transport. */
    void (*yield)(ctn_exec_t *exec);
} ctn_wait_policy_t;

/** Cost counters of operations, for callers that report them. */
typedef struct ctn_tally {
    uint64_t rounds;   /* rounds of messages, as algorithms count them */
    uint64_t messages; /* sent by ctn_op_send and ctn_message_send, and the
                          acknowledgements of rendezvous messages */
    uint64_t bytes;    /* in them, or read by rendezvous */
    uint64_t memory;   /* allocated now by algorithms */
    uint64_t most_memory;
} ctn_tally_t;

/** State of one wait. */
typedef struct ctn_backoff {
    uint32_t misses;
    uint64_t since_ns;
    uint32_t wakeups; /* consecutive ones without progress */
    bool armed;       /* other ranks ring the doorbell */
} ctn_backoff_t;

/** Called in long waits: `check` finds out whether peers use another algorithm
 * in operations that are complete on this rank. Embedded in its owner. */
typedef struct ctn_watch {
    struct ctn_watch *next;
    void (*check)(struct ctn_watch *watch);
} ctn_watch_t;

/** State that a higher layer keeps with exec; the first member of that
 * state. */
typedef struct ctn_exec_attachment {
    struct ctn_exec_attachment *next;
    const void *key; /* address of a constant of the layer */
    /** The heap is exhausted: free memory that is kept for later. Return
     * whether any was freed; may be NULL. */
    bool (*reclaim)(ctn_exec_t *exec, struct ctn_exec_attachment *attachment);
    void (*release)(ctn_exec_t *exec, struct ctn_exec_attachment *attachment);
} ctn_exec_attachment_t;

/** Memory that outlives its operation. */
typedef struct ctn_deferred_free {
    struct ctn_deferred_free *next;
    void *block;
} ctn_deferred_free_t;

/** A buffer in which data are packed for the network; see exec/staging.c. */
typedef struct ctn_staging {
    struct ctn_staging *next;
    const ctn_op_t *op; /* the operation that uses it */
    uint64_t pending;   /* puts from it that are not complete */
    _Alignas(16) unsigned char data[CTN_STAGING_BYTES]; /* or data to reduce */
} ctn_staging_t;

struct ctn_exec {
    /* The two cache lines that small operations touch. */
    _Alignas(64) ctn_op_t *active;
    catena_status_t
        status; /* first error of the network, or an abort; sticky */
    unsigned network_waits; /* active operations with `network` set */
    uint32_t started; /* persistent requests that were not waited for since */
    ctn_transport_t *local;   /* clock and flags on the node; never NULL */
    ctn_transport_t *network; /* NULL: all ranks are on this node */
    bool virtual_time;
    bool oversubscribed; /* more ranks than cores on this host */
    /* Set by a phase: polls before the rank yields its core. The event it waits
     * for comes soon, from another core. */
    uint16_t spin_polls;
    /* Incremented in long waits: phases then check whether a peer runs
     * something else because its length differs. */
    uint32_t peer_checks;
    ctn_watch_t *watches; /* called then, too */
    /* Flags that no rank waits for were sent over the network: flush them
     * before the memory that they target is freed. */
    bool needs_flush;
    /* In the simulator, on request: user data, and tables that are only
     * exchanged and processed, have a size but no content. */
    bool drop_data;
    bool drop_tables;
    ctn_wait_policy_t wait_policy;
    ctn_doorbell_t doorbell;
    uint32_t reported; /* calls of ctn_exec_report_cpu */
    uint32_t passes;   /* calls of ctn_exec_pass_time */
    const ctn_log_t *log;
    const ctn_config_t *config;     /* settings: each layer finds its own */
    const ctn_locality_t *locality; /* of this rank */
    ctn_heap_t *heap;
    /* Operations that return memory. They do not count as active, so small
     * calls still run inline; a wait polls them from time to time. */
    ctn_op_t *background;
    uint64_t background_done; /* background operations that have ended */
    uint32_t requests; /* not freed yet, whose memory other ranks reach */
    ctn_pool_t pool;   /* of operations */
    ctn_deferred_free_t *deferred_frees;
    ctn_tally_t tally;
    ctn_hash_map_t endpoints;       /* ctn_endpoint_t by process */
    ctn_staging_t *staging_buffers; /* most recently used first */
    unsigned staging_count;
    const uint64_t *abort_flag; /* other ranks write it; NULL: none */
    uint64_t abort_flag_offset; /* in every arena */
    uint64_t *handshakes;       /* see exec/handshake.h */
    uint64_t handshakes_offset; /* in every arena */
    ctn_exec_attachment_t *attachments;
};

/** Set what follows from the members; the struct was zeroed before. */
void ctn_exec_init(ctn_exec_t *exec);
void ctn_exec_release(ctn_exec_t *exec);

static inline void ctn_exec_attach(ctn_exec_t *exec,
                                   ctn_exec_attachment_t *attachment)
{
    attachment->next = exec->attachments;
    exec->attachments = attachment;
}
/** NULL: there is none with this key. */
static inline ctn_exec_attachment_t *ctn_exec_find(const ctn_exec_t *exec,
                                                   const void *key)
{
    ctn_exec_attachment_t *found = exec->attachments;
    while (found != NULL && found->key != key) {
        found = found->next;
    }
    return found;
}

/** Whether an error is that of a call: the context still works. */
static inline bool ctn_status_of_call(catena_status_t status)
{
    return status < CATENA_OK && status > CATENA_ERR_PEER;
}
/** This rank cannot do its part: it has no memory, or a peer is gone. All
 * operations end on this rank and on all ranks that it knows; those pass it on.
 * @param status an error of a call becomes ERR_ENDED
 * @return the error that ended the context, which may be an earlier one */
catena_status_t ctn_exec_abort(ctn_exec_t *exec, catena_status_t status);
/** The status that a call returns: once the context has ended, the reason in
 * place of an error of the call. */
static inline catena_status_t ctn_exec_result(const ctn_exec_t *exec,
                                              catena_status_t status)
{
    return ctn_status_of_call(status) && exec->status != CATENA_OK
               ? exec->status
               : status;
}
/** Let long waits poll the abort flag, which other ranks set.
 * @param flag at the same offset in every arena, once all ranks know it */
void ctn_exec_set_abort_flag(ctn_exec_t *exec, const uint64_t *flag);
/** Poll the abort flag, and abort if it is set. */
void ctn_exec_check_abort_flag(ctn_exec_t *exec);

/** A reference count. The memory that it begins is freed when it was dropped
 * and the count is 0. */
typedef struct ctn_refcount {
    size_t count;
    bool dropped; /* freed with the last reference */
} ctn_refcount_t;

static inline void ctn_refcount_get(ctn_refcount_t *refcount)
{
    refcount->count++;
}
void ctn_refcount_put(ctn_refcount_t *refcount);
/** NULL: no effect. */
void ctn_refcount_drop(ctn_refcount_t *refcount);

static inline void ctn_exec_watch(ctn_exec_t *exec, ctn_watch_t *watch)
{
    watch->next = exec->watches;
    exec->watches = watch;
}
void ctn_exec_unwatch(ctn_exec_t *exec, const ctn_watch_t *watch);

/** Whether a process shares this one's heap. In the simulator none does. */
bool ctn_exec_is_local(const ctn_exec_t *exec, uint64_t process);
/** The endpoint to a process, created on first use. */
catena_status_t ctn_exec_connect(ctn_exec_t *exec, uint64_t process,
                                 ctn_endpoint_t **endpoint);
/** Register an endpoint. */
catena_status_t ctn_exec_add_endpoint(ctn_exec_t *exec,
                                      ctn_endpoint_t *endpoint);

/** An inactive operation from the pool with zeroed state; NULL: no memory. */
ctn_op_t *ctn_op_create(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                        ctn_sequence_t *sequence);
/** An operation without phases; NULL: no memory. */
ctn_op_t *ctn_op_create_empty(ctn_exec_t *exec);
/** Return it to the pool; the operation must be inactive or done. */
void ctn_op_release(ctn_op_t *op);
/** Number it and run it as far as it goes. */
void ctn_op_start(ctn_op_t *op);
/** Number it, but let it do nothing before ctn_op_let_go. So the members of a
 * group number alike what each of them reaches at another time. */
void ctn_op_start_held(ctn_op_t *op);
/** Start an operation that no caller waits for: exec owns it from now on. */
void ctn_op_start_detached(ctn_op_t *op);
/** Start a background operation on a sequence of its own. The algorithm's
 * `ready` says when it may run. */
void ctn_op_start_background(ctn_op_t *op, bool detached);
/** Activate the operations queued in a sequence with a flight of 0. */
void ctn_sequence_open(ctn_sequence_t *sequence, unsigned flight);
/** The next poll runs it. */
static inline void ctn_op_let_go(ctn_op_t *op)
{
    op->held = false;
}
/** Block until it is done. All other operations progress, too. */
catena_status_t ctn_op_wait(ctn_op_t *op);
/** A blocking call: start, wait, release. NULL: ERR_NO_MEMORY, or the reason
 * why the context has ended. */
catena_status_t ctn_op_run(ctn_exec_t *exec, ctn_op_t *op);
/** The same for an operation that all ranks of a group run and that is not
 * retried: without memory it aborts (ctn_exec_abort). */
catena_status_t ctn_op_run_or_abort(ctn_exec_t *exec, ctn_op_t *op);
/** Describe its phase and the rank that it waits for. */
void ctn_op_describe(const ctn_op_t *op, char *text, size_t bytes);

static inline void *ctn_op_state(ctn_op_t *op)
{
    return op->memory;
}

/** Whether all earlier operations of its sequence are complete here. Only the
 * oldest operation builds the structures of a group, so all members build the
 * same ones in the same order. */
static inline bool ctn_op_is_oldest(const ctn_op_t *op)
{
    return op->sequence == NULL || op->seq == op->sequence->complete;
}

/** From within a phase: run `child` (owned by exec from now on) before the next
 * phase. Return its value. */
ctn_step_t ctn_op_call(ctn_op_t *op, ctn_op_t *child);
/** From within a phase: continue with phase `index`. Return its value. */
ctn_step_t ctn_op_jump(ctn_op_t *op, unsigned index);
/** From within a phase: continue as another algorithm, from its first phase.
 * Its state begins with that of the previous one, which stays; the rest is
 * undefined. Later starts begin with the new algorithm. Return its value. */
ctn_step_t ctn_op_become(ctn_op_t *op, const ctn_algorithm_t *algorithm);
/** From within a phase: end with an error. Return its value. */
ctn_step_t ctn_op_fail(ctn_op_t *op, catena_status_t status);

/** Keep memory of a failed operation until exec is released: the network may
 * still use parts of it. */
void ctn_exec_defer_free(ctn_exec_t *exec, void *block);

/** Advance the background operations; true: one made progress. */
bool ctn_exec_poll_background(ctn_exec_t *exec);
/** The heap is exhausted: wait for background operations to return memory, and
 * let higher layers free what they keep. Polls a bounded number of times.
 * @param exec  a ctn_exec_t
 * @return whether memory was freed */
bool ctn_exec_reclaim(void *exec);

/** Free memory of the shared heap that peers reach. After an abort a peer may
 * not know of it yet and may still read memory that was published: then it
 * stays until the heap is released. */
void ctn_exec_free(ctn_exec_t *exec, void *memory);

/** Memory in the shared heap for an algorithm, counted in exec->tally. NULL:
 * none. */
void *ctn_scratch_alloc(ctn_exec_t *exec, size_t bytes);
void ctn_scratch_free(ctn_exec_t *exec, void *memory, size_t bytes);
/** A buffer in which to pack data of an operation. The caller counts its puts
 * in `pending`; the buffer is free again when that is 0. *staging NULL: the
 * network still uses too many of them. */
catena_status_t ctn_staging_get(const ctn_op_t *op, ctn_staging_t **staging);
/** Whether the network still uses staging buffers of an operation. */
bool ctn_staging_busy(const ctn_op_t *op);
/** Free the buffers beyond those that are kept; called when an operation that
 * used some ends. */
void ctn_staging_trim(ctn_exec_t *exec);
/** Free all buffers, after the network is gone. */
void ctn_staging_release(ctn_exec_t *exec);

/** Advance all operations and the network once; true: there was progress. */
bool ctn_exec_poll(ctn_exec_t *exec);
/** After an error: end the operations that no caller waits for any more, so
 * that they free what they hold. */
void ctn_exec_end_failed(ctn_exec_t *exec);
/** The same, and report the status of the network. */
catena_status_t ctn_exec_progress(ctn_exec_t *exec);
/** The same in a wait: idle when there was no progress. */
void ctn_exec_poll_or_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** Choose how this rank waits, once its transports and its doorbell exist. */
void ctn_exec_set_wait_policy(ctn_exec_t *exec,
                              const ctn_exec_config_t *config);

/** A poll found nothing: spin, yield the core, or sleep. */
void ctn_exec_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** A caller that does not wait found nothing. Virtual time advances only when a
 * rank sleeps, and on an oversubscribed host the awaited ranks run only when a
 * rank yields its core. */
void ctn_exec_pass_time(ctn_exec_t *exec);

/** Wait until all puts of this rank by `transport` are at their targets.
 * @return the first error of the rank */
catena_status_t ctn_exec_flush(ctn_exec_t *exec, ctn_transport_t *transport);
/** Wait until all stores of this rank are visible. Processors keep them in
 * order, so this waits for simulated stores only, which may be slow. */
void ctn_exec_deliver(ctn_exec_t *exec);

uint64_t ctn_exec_time(ctn_exec_t *exec);

/** 1 + the processing unit that this rank runs on; 0: irrelevant. */
uint32_t ctn_exec_cpu(const ctn_exec_t *exec);

enum { CTN_REPORT_CPU_EVERY = 16 };

/** For exec->spin_polls. A rank that waits for one rank waits until that rank
 * gets its core; a rank that waits for several mostly waits for their last
 * steps. 16 ranks on 2 cores, bcast of 32 B: 4.9 us with 100 polls, 4.1 with
 * 200. */
enum { CTN_SPIN_FOR_SOME = 100, CTN_SPIN_FOR_ONE = 200 };

/** On an oversubscribed host, publish where this rank runs. That hardly ever
 * changes, so it is checked in few calls only.
 * @param reported what it published last
 * @param where    the word that other ranks read */
static inline void ctn_exec_report_cpu(ctn_exec_t *exec, uint32_t *reported,
                                       uint32_t *where)
{
    if (*reported != 0 && ++exec->reported % CTN_REPORT_CPU_EVERY != 0) {
        return;
    }
    uint32_t cpu = ctn_exec_cpu(exec);
    if (*reported != cpu) {
        *reported = cpu;
        __atomic_store_n(where, cpu, __ATOMIC_RELAXED); /* a hint */
    }
}

/** Whether another rank last ran on another core than this one, which published
 * `own`. Then its part comes soon, and spinning pays even with more ranks than
 * cores. */
static inline bool ctn_exec_on_other_core(uint32_t own, const uint32_t *where)
{
    uint32_t cpu = __atomic_load_n(where, __ATOMIC_RELAXED);
    return cpu != 0 && own != 0 && cpu != own;
}

/** Move this rank at its start to one of the processing units that it may use;
 * the kernel decides later moves. Ranks that yield all the time look alike to
 * the kernel's load balancer, so uneven starts stay uneven: 4 ranks on 2 cores,
 * alltoall of 8 B, take 1.1 us when placed evenly and 1.9 in every other start.
 * No later call moves ranks: affinity belongs to the caller.
 * @param index among the ranks of the host */
void ctn_exec_initial_placement(uint32_t index);

/** Set whether an operation may wait for the network. If so, every poll
 * progresses the network. */
void ctn_op_set_network(ctn_op_t *op, bool network);

/** Store a word that every rank of the node reads. */
static inline void ctn_exec_post(ctn_exec_t *exec, uint64_t *word,
                                 uint64_t value)
{
    if (exec->virtual_time) {
        exec->local->ops->post(exec->local, word, value);
    } else {
        ctn_word_store(word, value);
        exec->local->stored = true;
    }
}

/** Flags were stored: wake the sleeping ranks of the node. */
static inline void ctn_exec_ring_doorbells(ctn_exec_t *exec)
{
    if (ctn_doorbell_needed(&exec->doorbell)) {
        ctn_doorbell_ring(&exec->doorbell);
    }
}

/** The same if flags were stored since the last call. */
static inline void ctn_exec_wake(ctn_exec_t *exec)
{
    if (exec->local->stored) {
        exec->local->stored = false;
        ctn_exec_ring_doorbells(exec);
    }
}

/* Small blocking calls. A barrier of two ranks takes the transfer of one cache
 * line plus the code before and after it, so these are inline. */

/** Whether a blocking call would be the only operation under way. */
static inline bool ctn_inline_possible(const ctn_exec_t *exec,
                                       const ctn_sequence_t *sequence)
{
    return exec->active == NULL && !exec->virtual_time &&
           exec->status == CATENA_OK && sequence->started == sequence->complete;
}

/** Then the call runs inline: it takes the number of a synchronizing operation
 * and runs at once. False: another operation is under way, its generation is
 * not free, or an epoch barrier is due; then the call is an operation. */
static inline bool ctn_inline_begin(const ctn_exec_t *exec,
                                    ctn_sequence_t *sequence, uint64_t *seq)
{
    if (!ctn_inline_possible(exec, sequence) ||
        ctn_sequence_epoch_due(sequence) ||
        !ctn_sequence_may_run(sequence, sequence->started)) {
        return false;
    }
    *seq = sequence->started++;
    sequence->unsynchronized = 0;
    return true;
}

/** The same for a call that does not synchronize. False, too, when a generation
 * barrier is due: run that first. */
static inline bool ctn_inline_begin_unsynchronized(const ctn_exec_t *exec,
                                                   ctn_sequence_t *sequence,
                                                   uint64_t *seq)
{
    uint8_t unsynchronized = sequence->unsynchronized;
    if (!ctn_inline_begin(exec, sequence, seq)) {
        return false;
    }
    sequence->unsynchronized = (uint8_t)(unsynchronized + 1);
    return true;
}

/** A poll of its peers found nothing. False: the network failed, and the call
 * ends. */
bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** The same when all ranks that were sent flags were woken and nothing waits
 * for the network; not in virtual time. On an oversubscribed host a rank yields
 * its core at the first miss, and should have what it waits for when it runs
 * again: this is all the code that it returns to. */
static inline bool ctn_inline_yield(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    if (backoff->misses == 0 && exec->wait_policy.spin == 0 &&
        !exec->spin_polls) {
        backoff->misses = 1;
        ctn_yield_core();
        return true;
    }
    return ctn_inline_wait(exec, backoff);
}

/** The call is complete. @return its status */
static inline catena_status_t ctn_inline_end(ctn_exec_t *exec,
                                             ctn_sequence_t *sequence)
{
    ctn_exec_wake(exec);
    sequence->complete = sequence->started;
    if (sequence->unsynchronized == 0) {
        sequence->synchronized = sequence->started;
    }
    return exec->status;
}

/** User data as the source of a put: NULL when they have a size only. */
static inline const void *ctn_exec_data(const ctn_exec_t *exec,
                                        const void *data)
{
    return exec->drop_data ? NULL : data;
}

static inline void ctn_exec_charge(ctn_exec_t *exec, ctn_work_t work, size_t n)
{
    if (exec->virtual_time) {
        exec->local->ops->charge(exec->local, work, n);
    }
}

/** Copy user data. With 0 bytes the pointers may be invalid. */
static inline void ctn_exec_copy(ctn_exec_t *exec, void *target,
                                 const void *source, size_t bytes)
{
    if (bytes > 0 && !exec->drop_data) {
        memcpy(target, source, bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

#endif
