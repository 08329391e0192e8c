#ifndef CTN_EXEC_EXEC_H
#define CTN_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/copy.h"
#include "core/hash_map.h"
#include "core/locality.h"
#include "core/log.h"
#include "core/pool.h"
#include "exec/doorbell.h"
#include "exec/recorder.h"
#include "exec/sequence.h"
#include "exec/yield.h"
#include "heap/heap.h"
#include "transports/transport.h"
#include "type/op.h"

/* The engine that runs all operations. An algorithm is a list of phases and a
 * state. Exec calls the current phase of an operation until that phase returns
 * NEXT, then the next phase. A blocking call is start and wait; a nonblocking
 * one is start, progress, test; a persistent operation keeps its state between
 * starts.
 * No phase blocks, so any number of operations of any number of groups advance
 * together, on any transport. */

/** Cold paths, kept apart from the code of small calls. */
#define CTN_COLD __attribute__((cold, noinline))

/** The result of a phase. */
typedef enum ctn_step {
    CTN_STEP_WAIT,  /* no progress was possible: a word is missing */
    CTN_STEP_MOVED, /* progress was made, call again */
    CTN_STEP_NEXT,  /* the phase is over */
    CTN_STEP_DONE,  /* the operation is over, without its other phases */
    CTN_STEP_FAIL   /* op->status says why */
} ctn_step_t;

/** A step function of an algorithm, and its name for ctn_op_describe. */
typedef struct ctn_phase {
    const char *name;
    ctn_step_t (*run)(ctn_op_t *op);
} ctn_phase_t;

/** An algorithm. The state of an operation holds its arguments, which its
 * creator sets, and a working part, which the first phase initializes. So the
 * operation can be started again. */
typedef struct ctn_algorithm {
    const char *name;
    size_t state_bytes;
    const ctn_phase_t *phases; /* ends with a phase whose `run` is NULL */
    /** No rank completes the operation before all ranks of the sequence have
     * started it. */
    bool synchronizing;
    /** Called when the operation ends, with or without an error; may be NULL.
     * Also by some algorithms before that, so it may find its work done. */
    void (*finish)(ctn_op_t *op);
    /** Whether the network still reads memory of a failed operation that
     * op->pending does not count; NULL: never. */
    bool (*is_sending)(const ctn_op_t *op);
    /** Called once when the operation is released: frees what the operation
     * keeps between starts; may be NULL. */
    void (*release)(ctn_op_t *op);
    /** Background operations only: whether exec may call the phases yet. */
    bool (*ready)(const ctn_op_t *op);
} ctn_algorithm_t;

typedef struct ctn_deaths ctn_deaths_t;     /* exec/deaths.h */
typedef struct ctn_observer ctn_observer_t; /* exec/observe.h */
typedef struct ctn_progress_thread ctn_progress_thread_t;

typedef enum ctn_op_state {
    CTN_OP_INACTIVE,
    CTN_OP_QUEUED, /* waits for earlier operations of its sequence */
    CTN_OP_ACTIVE,
    CTN_OP_DONE
} ctn_op_state_t;

/** Space for the state of any algorithm. */
#define CTN_OP_STATE_BYTES 2112u
#define CTN_STAGING_BYTES 65536u

/** The mark of a request: core/handle.h. */
#define CTN_REQUEST 0xc4

/** An operation; to applications a request. */
struct catena_request {
    /* The only cache line that each operation initializes. */
    ctn_exec_t *exec;
    ctn_sequence_t *sequence; /* NULL: the operation has no number */
    uint64_t seq;             /* its number in `sequence` */
    const ctn_algorithm_t *algorithm;
    /* Counts puts whose source, and gets whose target, the transport still
     * uses. */
    uint64_t pending;
    int64_t waits_for;      /* the rank of its group that it waits for, for
                               ctn_op_describe; -1: no particular one */
    catena_status_t status; /* OK, or the error that ends it */
    uint8_t state;          /* ctn_op_state_t */
    uint8_t phase;          /* index of the current phase */
    uint16_t recorded;      /* the call whose record says STARTED until the
                               operation ends: ctn_recorder_name; 0: none */
#ifndef NDEBUG
    uint8_t mark;
#endif
    /* Bytes, not bits: a byte is stored without a load of its neighbors. */
    bool persistent;
    bool detached;   /* no caller waits for it: released when it ends */
    bool network;    /* may have to wait for the network */
    bool held;       /* started, but does not run before ctn_op_let_go */
    bool clean;      /* it failed, but did all that other ranks wait for */
    bool background; /* its list is exec->background */
    bool linked;     /* in one of exec's lists */
    bool staged;     /* has used staging buffers */
    /* The members below are NULL in the pool, so that most operations need not
     * touch them. */
    _Alignas(
        64) ctn_op_t *child; /* under way; the next phase begins after it */
    ctn_op_t *parent; /* it is in no list: it goes on when this one ends */
    ctn_failure_t *failure; /* instead of that of its sequence; or NULL */
    /* Links in one of exec's lists or the sequence's queue. */
    ctn_op_t *next;
    ctn_op_t *previous;
    /** Called once when the operation ends, after its algorithm's `finish`. */
    void (*ended)(ctn_op_t *op);
    /** For ctn_op_describe: the call that the operation is for, if its
     * algorithm has another name; or NULL. */
    const char *call;
    /* Of a persistent operation: what catena_request_free passes to `dispose`;
     * NULL: nothing. */
    void *owned;
    void (*dispose)(void *owned);
    /* Of a persistent operation; NULL: its phases run. */
    /** Called at each start. True: it has done what the first phases would do,
     * and the operation is active and in the list of active ones. False: the
     * caller starts the operation. */
    bool (*start)(ctn_op_t *op);
    /** Complete the operation, if it is the only active one. False: it is still
     * active, and the caller waits for it. */
    bool (*wait)(ctn_op_t *op);
    ctn_recorded_call_t
        initialized; /* for ctn_recorder_start; its scope is
                        CTN_SCOPE_NONE: starts have no records */
    /* For an observer (exec/observe.h). */
    const ctn_phase_t *shown; /* the phase that it has seen last; or NULL */
    const char *shown_name;   /* the algorithm that it has seen first */
    uint64_t shown_id;
    uint32_t observed; /* the calls that a wait belongs to; 0: none */
    _Alignas(64) unsigned char memory[CTN_OP_STATE_BYTES]; /* the state */
};

typedef enum ctn_wait { /* CATENA_WAIT */
                        CTN_WAIT_AUTO,
                        CTN_WAIT_SPIN,  /* never yield the core */
                        CTN_WAIT_YIELD, /* never sleep */
                        CTN_WAIT_SLEEP  /* sleep after a short wait */
} ctn_wait_t;

/** Words of a rank that other ranks read or set. */
typedef struct ctn_exec_flags {
    uint64_t abort;  /* the negated status with which a rank aborts */
    uint64_t hang;   /* a rank that has waited for long, and above its 32 bits
                        the number of the report: a rank that has seen it
                        ignores it and older ones */
    uint64_t inside; /* where failures are returned: 1 while this rank may
                        access memory of others */
    uint64_t news;   /* not 0: another rank has stored news; see deaths.h */
} ctn_exec_flags_t;

typedef enum ctn_failures {                     /* CATENA_FAILURES */
                            CTN_FAILURES_ABORT, /* the job ends */
                            CTN_FAILURES_RETURN /* as an error of the calls of
                                                   groups that they concern */
} ctn_failures_t;

/** Values of the settings of exec. */
typedef struct ctn_exec_config {
    ctn_wait_t wait; /* WAIT: auto, spin, yield, sleep */
    size_t spin;     /* SPIN: polls before the core is yielded, auto, inf */
    size_t sleep_ms; /* SLEEP: ms of waiting before sleeping, auto, inf */
    unsigned single_copy; /* SINGLE_COPY: 1: auto, 0: off */
    unsigned progress;    /* PROGRESS: 1: by a thread, too; 0: by calls */
    size_t hang_ms;       /* HANG_REPORT: ms of waiting, inf */
    size_t check;         /* CHECK: 0 or 1 */
    unsigned failures;    /* FAILURES: a ctn_failures_t */
    size_t stats;         /* STATS: 0 or 1 */
    char *trace;          /* TRACE: a path; "": none */
} ctn_exec_config_t;

extern const ctn_setting_table_t ctn_exec_settings;

/** How a rank waits; see exec/wait.c. */
typedef struct ctn_wait_policy {
    uint32_t loads; /* a blocking call first loads its word so many times */
    uint32_t spin;  /* polls before the rank yields; UINT32_MAX: never */
    uint64_t sleep_after_ns;   /* wait before it sleeps; UINT64_MAX: never */
    uint64_t longest_sleep_ns; /* of one sleep */
    /** Yields the core; NULL: ctn_yield_core. For tests. */
    void (*yield)(ctn_exec_t *exec);
} ctn_wait_policy_t;

/** Cost counters of operations, for catena_group_get_stats. */
typedef struct ctn_tally {
    uint64_t rounds;      /* rounds of messages, as algorithms count them */
    uint64_t messages;    /* sent, acknowledgements and handshakes included */
    uint64_t bytes;       /* of data in these messages, or read by rendezvous */
    uint64_t memory;      /* bytes of scratch memory in use */
    uint64_t most_memory; /* the largest value of `memory` */
} ctn_tally_t;

/** State of one wait; zero at its begin and after progress. */
typedef struct ctn_backoff {
    uint32_t misses;   /* polls that found nothing */
    uint64_t since_ns; /* when the clock was first read; 0: it was not */
    uint64_t noted_ns; /* the same of the first note in the recorder */
    uint32_t wakeups;  /* consecutive ones by the doorbell without progress */
    bool armed;        /* other ranks ring the doorbell */
    uint64_t idle_ns;  /* when an observer saw the last miss */
} ctn_backoff_t;

/** Consecutive calls of ctn_exec_progress in which nothing has moved. */
typedef struct ctn_tests {
    uint32_t misses;
    uint64_t noted_ns;  /* when the first note in the recorder was made */
    const ctn_op_t *op; /* the oldest active operation then: only compared, with
                           the next two members, to see that it still is */
    const ctn_sequence_t *sequence;
    uint64_t seq;
} ctn_tests_t;

/** Of such tests every 64th may note the wait. */
enum { CTN_TESTS_PER_NOTE = 64 };

/** A check that long waits call. `check` finds out whether peers ran another
 * algorithm in an operation that is complete on this rank. Embedded in its
 * owner. */
typedef struct ctn_watch {
    struct ctn_watch *next;
    void (*check)(struct ctn_watch *watch);
} ctn_watch_t;

/** Memory of a failed operation, see ctn_exec_defer_free. */
typedef struct ctn_deferred_free {
    struct ctn_deferred_free *next;
    void *block; /* from malloc */
} ctn_deferred_free_t;

/** A buffer in which data are packed for the network; see exec/staging.c. */
typedef struct ctn_staging {
    struct ctn_staging *next;
    const ctn_op_t *op; /* the operation that uses it */
    uint64_t pending;   /* counts puts from `data` that are not complete; an
                           operation counts its own use, too; 0: free */
    _Alignas(16) unsigned char data[CTN_STAGING_BYTES];
} ctn_staging_t;

/** The engine of one context. */
struct ctn_exec {
    /* The two cache lines that small operations touch. */
    _Alignas(64) ctn_op_t *active; /* list of the active operations, except
                                      those in the background */
    /* The first error of the network, or the reason of an abort. It is never
     * reset: the context has ended. */
    catena_status_t status;
    unsigned network_waits;   /* active operations with `network` set */
    uint32_t started;         /* persistent requests that a caller has started
                                 and has yet to test or wait for */
    ctn_transport_t *local;   /* clock and words on the node; never NULL */
    ctn_transport_t *network; /* NULL: all ranks are on this node */
    bool virtual_time;        /* in the simulator */
    bool oversubscribed;      /* more ranks than cores on this host */
    bool check;               /* calls are checked; see group/check.h */
    bool polled_apart;        /* operations progress while this rank computes;
                                 see exec/progress_thread.h */
    ctn_deaths_t *deaths;     /* NULL: a failure ends the context */
    ctn_observer_t *observer; /* NULL: nothing is observed */
    bool keeps_memory;        /* see ctn_exec_may_free */
    bool single_copy; /* data may be read from and written to any memory of a
                         process of the node, where the transport can */
    /* Set by a phase: polls before the rank yields its core, since the word
     * that it waits for comes soon, from another core. */
    uint16_t spin_polls;
    /* Set by a phase that counts its polls, for the next wait: in the simulator
     * the wait then ends after the time of a poll. */
    bool counts_polls;
    /* Incremented in long waits. A phase that sees a new value checks whether a
     * peer runs another algorithm because its length differs. */
    uint32_t peer_checks;
    ctn_watch_t *watches; /* called whenever peer_checks is incremented */
    /* Words that no rank waits for were sent over the network: flush them
     * before the memory that they target is freed. */
    bool needs_flush;
    ctn_copies_t copies; /* for reductions */
    /* In the simulator, on request: user data have a size but no content. */
    bool drop_data;
    bool drop_tables; /* the same for the tables of splits by gathering */
    /* Progress of another library, or NULL; see catena_config_t. */
    void (*other_progress)(void *argument);
    void *other_argument;
    ctn_progress_thread_t *progress_thread; /* NULL: there is none */
    ctn_wait_policy_t wait_policy;
    ctn_doorbell_t doorbell;
    uint32_t reported; /* calls of ctn_exec_report_cpu */
    uint32_t passes;   /* calls of ctn_exec_pass_time */
    ctn_tests_t tests;
    const ctn_log_t *log;
    const ctn_config_t *config;      /* settings: each layer finds its own */
    const ctn_locality_t *locality;  /* of this rank */
    const struct ctn_tuning *tuning; /* rules that select algorithms */
    ctn_heap_t *heap;
    /* Operations that return memory. They do not count as active, so small
     * calls still run inline; a wait polls them from time to time. */
    ctn_op_t *background;
    ctn_op_t *background_next; /* where the next poll of them goes on; NULL: at
                                  the first one */
    uint64_t background_done;  /* detached ones of these that have ended */
    uint32_t requests; /* persistent ones that are not freed yet, and into whose
                          memory other ranks put */
    ctn_pool_t pool;   /* of operations */
    ctn_deferred_free_t *deferred_frees;
    ctn_tally_t tally;
    ctn_hash_map_t endpoints;       /* ctn_endpoint_t by process */
    ctn_staging_t *staging_buffers; /* most recently handed out first */
    unsigned staging_count;         /* buffers in this list */
    ctn_exec_flags_t *flags;    /* other ranks set them; NULL: not set up yet */
    uint64_t flags_offset;      /* in every arena */
    uint64_t *handshakes;       /* a word for each process, by process; see
                                   exec/handshake.h */
    uint64_t handshakes_offset; /* in every arena */
    ctn_recorder_t *recorder;   /* NULL: there is none */
    uint64_t hang_ns;   /* wait after which the node's recorders are printed */
    uint32_t hangs;     /* number of the last report that it has seen */
    uint64_t hang_call; /* the call that it was in then, from 1; 0: none */
    void *upper;        /* what the layer above keeps here; NULL at first */
};

/** Set the members that follow from others; the caller has zeroed the struct
 * and set the others. */
void ctn_exec_init(ctn_exec_t *exec);
void ctn_exec_release(ctn_exec_t *exec);

/** Whether `status` is an error of one call, after which the context still
 * works. */
static inline bool ctn_status_of_call(catena_status_t status)
{
    return status < CATENA_OK && status > CATENA_ERR_PEER;
}
/** This rank cannot do its part: it has no memory, or a peer is gone. All
 * operations end on this rank, and on all ranks that it has an endpoint to;
 * those abort, too.
 * @param status an error of a call becomes ERR_ENDED
 * @return the error that ended the context, which may be an earlier one */
catena_status_t ctn_exec_abort(ctn_exec_t *exec, catena_status_t status);
/** The same in operations of a group. Where failures are returned, they fail on
 * all members with ERR_REVOKED, and the context goes on.
 * @param failure of the group; NULL: of none, or failures end the job
 * @return `status`, or the error that ended the context */
catena_status_t ctn_exec_give_up(ctn_exec_t *exec, ctn_failure_t *failure,
                                 catena_status_t status);
/** End the context of this rank; other ranks are not notified. */
void ctn_exec_end(ctn_exec_t *exec, catena_status_t status);
/** The status that a call returns: `status`, but once the context has ended,
 * the reason for that replaces an error of the call. */
static inline catena_status_t ctn_exec_result(const ctn_exec_t *exec,
                                              catena_status_t status)
{
    return ctn_status_of_call(status) && exec->status != CATENA_OK
               ? exec->status
               : status;
}
/** Let long waits poll the flags.
 * @param flags of this rank, at the same offset in every arena */
void ctn_exec_set_flags(ctn_exec_t *exec, ctn_exec_flags_t *flags);
/** Another rank has ended the context of this one: say so in
 * catena_last_error, unless it has ended before. */
void ctn_exec_keep_end(const ctn_exec_t *exec, catena_status_t status);
/** Poll the abort flag, and abort if it is set. */
void ctn_exec_check_abort_flag(ctn_exec_t *exec);
/** The same of all flags. */
void ctn_exec_check_flags(ctn_exec_t *exec);

/** A reference count, the first member of a malloc'd struct. The struct is
 * freed when its owner has dropped it and no reference is left. */
typedef struct ctn_refcount {
    size_t count; /* references, not counting the owner */
    bool dropped; /* by the owner */
} ctn_refcount_t;

static inline void ctn_refcount_get(ctn_refcount_t *refcount)
{
    refcount->count++;
}
/** Give a reference back. */
void ctn_refcount_put(ctn_refcount_t *refcount);
/** The owner drops the struct. NULL: no effect. */
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
/** Register an endpoint that a transport has made. */
catena_status_t ctn_exec_add_endpoint(ctn_exec_t *exec,
                                      ctn_endpoint_t *endpoint);

/** An inactive operation from the pool with zeroed state; NULL: no memory. */
ctn_op_t *ctn_op_create(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                        ctn_sequence_t *sequence);
/** The same, but its state is undefined: the caller and the first phase set all
 * of it. */
ctn_op_t *ctn_op_take(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                      ctn_sequence_t *sequence);
/** An operation without phases; NULL: no memory. */
ctn_op_t *ctn_op_create_empty(ctn_exec_t *exec);
/** Run an active operation as far as possible, and wake the ranks of the node
 * for which it has stored words. The operation may be freed. True: there was
 * progress. */
bool ctn_op_advance(ctn_op_t *op);
/** Return an operation to the pool. It must be inactive or done. */
void ctn_op_release(ctn_op_t *op);
/** Give an operation its number, and run it as far as possible. */
void ctn_op_start(ctn_op_t *op);
/** Give an operation its number, but call no phase before ctn_op_let_go. So
 * members that are ready to run it at different times give it the same number.
 */
void ctn_op_start_held(ctn_op_t *op);
/** Start an operation that no caller waits for: exec owns it from now on. */
void ctn_op_start_detached(ctn_op_t *op);
/** Start a background operation on a sequence that no other operation uses. The
 * algorithm's `ready` says when it may run. */
void ctn_op_start_background(ctn_op_t *op, bool detached);
/** Open a sequence that ran no operations so far (its flight was 0).
 * @param flight operations that it may run at once from now on */
void ctn_sequence_open(ctn_sequence_t *sequence, unsigned flight);
/** An operation that took its number inline (ctn_inline_begin) and has
 * something left to do: it is active from now on, in this phase. */
void ctn_op_began(ctn_op_t *op, unsigned phase);
/** End such an operation, which is complete. */
void ctn_op_end(ctn_op_t *op, catena_status_t status);
/** Whether no other operation is active, so that a wait for this one may leave
 * exec's list alone. */
static inline bool ctn_op_is_sole(const ctn_op_t *op)
{
    return op->exec->active == op && op->next == NULL;
}
/** Release an operation that was started held: the next poll runs it. */
static inline void ctn_op_let_go(ctn_op_t *op)
{
    op->held = false;
}
/** Start the operation of a request. If operations progress while this rank
 * computes, the call returns before the operation has run; but one without a
 * sequence takes numbers of several when it first runs. */
static inline void ctn_op_start_request(ctn_op_t *op)
{
    if (op->exec->polled_apart && op->sequence != NULL) {
        ctn_op_start_held(op);
        ctn_op_let_go(op);
    } else {
        ctn_op_start(op);
    }
}
/** Block until an operation is done. All other operations progress, too. */
catena_status_t ctn_op_wait(ctn_op_t *op);
/** A blocking call: start, wait, release. If `op` is NULL, for want of memory,
 * the context ends. */
catena_status_t ctn_op_run(ctn_exec_t *exec, ctn_op_t *op);
/** Other ranks wait for this one in an operation in which it cannot do its
 * part: see ctn_exec_give_up. */
catena_status_t ctn_op_give_up(const ctn_op_t *op, catena_status_t status);
/** Describe the phase of an operation and the rank that it waits for. */
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

/* The next four functions are called by a phase, which returns what they
 * return: `return ctn_op_call(op, child);` */

/** Run `child` (owned by exec from now on) before the next phase. */
ctn_step_t ctn_op_call(ctn_op_t *op, ctn_op_t *child);
/** Continue with phase `index`. */
ctn_step_t ctn_op_jump(ctn_op_t *op, unsigned index);
/** Continue as another algorithm, from its first phase. The structs of both
 * states begin with the same members, which keep their values; the others are
 * undefined. Later starts begin with the new algorithm. */
ctn_step_t ctn_op_become(ctn_op_t *op, const ctn_algorithm_t *algorithm);
/** End the operation with an error. */
ctn_step_t ctn_op_fail(ctn_op_t *op, catena_status_t status);

/** Whether something that is built on demand exists. */
typedef enum ctn_built { CTN_NEW, CTN_BUILDING, CTN_BUILT } ctn_built_t;

/** What the state of an operation that builds it begins with. */
typedef struct ctn_build {
    void *what;         /* is built */
    ctn_built_t *built; /* the last phase sets it to BUILT */
} ctn_build_t;

/** Called by a phase that needs something which all members of a group build by
 * messages, each time that the phase runs: NEXT when it is built; otherwise
 * starts or awaits this, and returns what the phase must return. Only the
 * oldest operation of a group builds, and operations start in the same order on
 * all members, so all members build in the same operation.
 * @param algorithm its state begins with a ctn_build_t; it has no sequence, and
 *                  its `finish` is or calls ctn_build_finish */
ctn_step_t ctn_op_need(ctn_op_t *op, ctn_built_t *built, void *what,
                       const ctn_algorithm_t *algorithm);
/** After an error it is not built: the next operation that needs it may try
 * again. */
void ctn_build_finish(ctn_op_t *op);

/** Keep malloc'd memory of a failed operation until exec is released, since the
 * network may still use parts of it. */
void ctn_exec_defer_free(ctn_exec_t *exec, void *block);

/** Advance the background operations; true: one made progress. */
bool ctn_exec_poll_background(ctn_exec_t *exec);
/** The same for some of them, the next ones at each call; in virtual time for
 * all. */
bool ctn_exec_poll_background_batch(ctn_exec_t *exec);
/** Advance the network; true: there was an event. */
bool ctn_exec_progress_network(ctn_exec_t *exec);
/** The heap is exhausted: wait for background operations to return memory.
 * Gives up when nothing has moved for a while.
 * @param exec  a ctn_exec_t; the heap's callback has a void pointer
 * @return whether memory was freed */
bool ctn_exec_reclaim(void *exec);

/** Whether memory of the shared heap that peers access may be freed. Not after
 * an abort, nor while a group is released that has failed: a peer that has not
 * noticed it may still access memory that was published. The memory then stays
 * until the heap is released. */
static inline bool ctn_exec_may_free(const ctn_exec_t *exec)
{
    return exec->status == CATENA_OK && !exec->keeps_memory;
}
/** Free such memory, if it may be freed. */
void ctn_exec_free(ctn_exec_t *exec, void *memory);

/** Allocate memory in the shared heap for an algorithm, and count it in
 * exec->tally. NULL: none is left. */
void *ctn_scratch_alloc(ctn_exec_t *exec, size_t bytes);
void ctn_scratch_free(ctn_exec_t *exec, void *memory, size_t bytes);
/** Get a buffer in which to pack data of an operation. The caller passes
 * (*staging)->pending to its puts; the buffer is free again when that is 0. The
 * result is OK and *staging NULL if the network still uses as many buffers as
 * are allowed. */
catena_status_t ctn_staging_get(ctn_op_t *op, ctn_staging_t **staging);
/** Whether the network still uses staging buffers of an operation. An operation
 * ends only when it does not. */
bool ctn_staging_busy(const ctn_op_t *op);
/** Free the buffers beyond those that are kept; called when an operation that
 * used some ends. */
void ctn_staging_trim(ctn_exec_t *exec);
/** Free all buffers, after the network is gone. */
void ctn_staging_release(ctn_exec_t *exec);

/** Advance all operations and the network once; true: there was progress. */
bool ctn_exec_poll(ctn_exec_t *exec);
/** Poll for a caller that does not wait: catena_progress, or a test of a
 * request that is not complete. Without progress, pass time
 * (ctn_exec_pass_time). A loop of such calls is a wait to the recorder. @return
 * exec->status */
catena_status_t ctn_exec_progress(ctn_exec_t *exec);
/** Poll for a caller that waits. Without progress, idle (ctn_exec_idle). */
void ctn_exec_poll_or_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);
/** After an error that has ended the context: end all active operations, so
 * that they free what they hold. */
void ctn_exec_end_failed(ctn_exec_t *exec);

/** Choose how this rank waits, once its transports and its doorbell exist. */
void ctn_exec_set_wait_policy(ctn_exec_t *exec,
                              const ctn_exec_config_t *config);

/** A poll found nothing: spin, yield the core, or sleep. */
void ctn_exec_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** A poll of a caller that does not wait found nothing. Let a little time pass,
 * so that repeated tests end: virtual time advances only when a rank sleeps,
 * and on an oversubscribed host other ranks run only when this rank yields its
 * core. */
void ctn_exec_pass_time(ctn_exec_t *exec);
/** After 1,024 such calls that found nothing, in every 64th one: note the wait,
 * and print what the ranks of the node do. */
void ctn_exec_note_tests(ctn_exec_t *exec);

/** Wait until all puts of this rank by `transport` are at their targets.
 * @return OK, or the error that has ended the context */
catena_status_t ctn_exec_flush(ctn_exec_t *exec, ctn_transport_t *transport);

/** Nanoseconds since an arbitrary moment; in the simulator virtual ones. */
uint64_t ctn_exec_time(ctn_exec_t *exec);

/** 1 + the processing unit that this rank runs on; 0 in the simulator. */
uint32_t ctn_exec_cpu(const ctn_exec_t *exec);

/** ctn_exec_report_cpu finds out where the rank runs in every 16th call. */
enum { CTN_REPORT_CPU_EVERY = 16 };

/** Values of exec->spin_polls for a wait for several ranks, and for a single
 * one. A single rank may have yet to get its core; of several ranks mostly the
 * last steps are missing, which take less time. 16 ranks on 2 cores, bcast of
 * 32 B: 4.9 us with 100 polls, 4.1 with 200. */
enum { CTN_SPIN_FOR_SOME = 100, CTN_SPIN_FOR_ONE = 200 };

/** Publish on which core this rank runs, for an oversubscribed host. The core
 * hardly ever changes, so few calls look.
 * @param reported the value that this rank published last, 0 at first
 * @param where    the variable that other ranks read */
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

/** Whether another rank last ran on another core than this rank. Then its part
 * comes soon, and spinning pays even with more ranks than cores.
 * @param own   the value that this rank has published
 * @param where the variable that the other rank publishes its value in */
static inline bool ctn_exec_on_other_core(uint32_t own, const uint32_t *where)
{
    uint32_t cpu = __atomic_load_n(where, __ATOMIC_RELAXED);
    return cpu != 0 && own != 0 && cpu != own;
}

/** Move this rank at its start to one of the processing units that it may use.
 * The kernel's load balancer does not move ranks that yield all the time, so
 * uneven starts stay uneven: an alltoall of 8 B among 4 ranks on 2 cores takes
 * 1.1 us when they are placed evenly and 1.9 us otherwise. Later calls do not
 * move ranks: affinity belongs to the application.
 * @param index of this rank among the ranks of the host */
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

/** Words were stored on the node: wake its sleeping ranks. */
static inline void ctn_exec_ring_doorbells(ctn_exec_t *exec)
{
    if (ctn_doorbell_needed(&exec->doorbell)) {
        ctn_doorbell_ring(&exec->doorbell);
    }
}

/** The same if words were stored since the last call. */
static inline void ctn_exec_wake(ctn_exec_t *exec)
{
    if (exec->local->stored) {
        exec->local->stored = false;
        ctn_exec_ring_doorbells(exec);
    }
}

/** The source of a put of user data: NULL when they have a size only
 * (exec->drop_data). */
static inline const void *ctn_exec_data(const ctn_exec_t *exec,
                                        const void *data)
{
    return exec->drop_data ? NULL : data;
}

/** Charge virtual time for local work; `n` counts what ctn_work_t says. */
static inline void ctn_exec_charge(ctn_exec_t *exec, ctn_work_t work, size_t n)
{
    if (exec->virtual_time) {
        exec->local->ops->charge(exec->local, work, n);
    }
}

/** Copy user data, and charge the copy. With 0 bytes the pointers may be
 * invalid. */
static inline void ctn_exec_copy(ctn_exec_t *exec, void *target,
                                 const void *source, size_t bytes)
{
    if (!exec->drop_data) {
        ctn_copy_shared(target, source, bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

#endif
