#ifndef CTN_EXEC_EXEC_H
#define CTN_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/locality.h"
#include "core/log.h"
#include "exec/doorbell.h"
#include "exec/sequence.h"
#include "exec/yield.h"
#include "heap/heap.h"
#include "transports/transport.h"

/* The one mechanism that runs everything. An algorithm is a list of phases
 * and a state; exec calls the phase that an operation is in until it says
 * that the next may begin. Blocking is start and wait; nonblocking is start,
 * progress, test; a persistent operation keeps its state between starts. No
 * phase ever blocks, so any number of operations of any number of groups
 * advance together, on any transport. */

/** What small blocking calls go through: kept together, in few pages. With more
 * than a few ranks on a core each finds an empty TLB whenever it runs again. */
#define CTN_HOT __attribute__((hot))
/** The same for what ranks that share a core run in every turn, from a barrier
 * to the next small call and back: one piece of code in one or two pages, and
 * no calls out of it but to give the core away. */
#define CTN_TURN __attribute__((section(".text.sorted.catena.1")))
/** The same, at the beginning of a page; once. */
#define CTN_TURN_FIRST                                                         \
    __attribute__((section(".text.sorted.catena.0"), aligned(4096)))
/** The same, behind all others, which fill that page but for what is left. */
#define CTN_TURN_LAST __attribute__((section(".text.sorted.catena.2")))
/** What they hardly ever come to: to be kept out of that. */
#define CTN_COLD __attribute__((cold, noinline))

/** What a phase reports. */
typedef enum ctn_step {
    CTN_STEP_WAIT,  /* nothing could be done: waits for a word */
    CTN_STEP_MOVED, /* something was done, call again */
    CTN_STEP_NEXT,  /* the phase is over */
    CTN_STEP_FAIL   /* op->status says why */
} ctn_step_t;

typedef struct ctn_phase {
    const char *name;
    ctn_step_t (*run)(ctn_op_t *op);
} ctn_phase_t;

/** The first phase sets up the working part of the state from its arguments,
 * so an operation can be started again. `phases` ends with a NULL run. */
typedef struct ctn_algorithm {
    const char *name;
    size_t state_bytes;
    const ctn_phase_t *phases;
    /** No rank completes it before all ranks of the channel have started. */
    bool synchronizing;
    /** Called once when it ends, however it ends; may be NULL. */
    void (*finish)(ctn_op_t *op);
    /** Called once when the operation is given back, for what it keeps from
     * start to start; may be NULL. */
    void (*release)(ctn_op_t *op);
    /** Of operations that run aside: whether it may run, and end. */
    bool (*ready)(const ctn_op_t *op);
} ctn_algorithm_t;

typedef enum ctn_op_state {
    CTN_OP_INACTIVE,
    CTN_OP_QUEUED, /* waits for earlier operations of its channel */
    CTN_OP_ACTIVE,
    CTN_OP_DONE
} ctn_op_state_t;

#define CTN_OP_STATE_BYTES 2112u
#define CTN_STAGING_BYTES 65536u

struct catena_request {
    /* A cache line that is all of this that those without phases touch. */
    ctn_exec_t *exec;
    ctn_sequence_t *sequence; /* NULL: only calls others, has no sequence */
    uint64_t seq;
    /* Of requests that may go without their phases; else NULL.
     * start: nothing else is under way; do at once what the first phases would.
     * It is active afterwards, in the list of those. False: it is to be
     * started. wait: it is the only one that is active. False: it still is, and
     * is to be waited for. */
    bool (*start)(ctn_op_t *op);
    bool (*wait)(ctn_op_t *op);
    ctn_op_state_t state;
    catena_status_t status; /* in between: gcc would take two constants side by
                               side from where constants are, another page */
    unsigned phase;
    bool persistent;
    bool detached;   /* nobody asks for it: released when it ends */
    bool network;    /* what it waits for may come over the network */
    bool held;       /* started, but waits to be let go */
    bool clean;      /* it failed, but did what others wait for */
    bool background; /* in exec's list `aside` */
    const ctn_algorithm_t *algorithm;
    uint64_t pending;  /* puts whose source is not free yet */
    int64_t waits_for; /* rank of its group, -1: nobody in particular */
    ctn_op_t *child;   /* runs now; the next phase begins after it */
    /* In exec's list, the channel's queue, or the pool; else NULL. */
    ctn_op_t *next;
    ctn_op_t *previous;
    /* Of a persistent one: what it runs on, which goes with it, or NULL. */
    void *hidden;
    void (*dispose)(void *hidden);
    _Alignas(64) unsigned char memory[CTN_OP_STATE_BYTES];
};

/** How a rank waits; see exec/wait.c. */
typedef struct ctn_wait_policy {
    uint32_t loads; /* at a word, when a blocking call starts to wait */
    uint32_t spin;  /* polls before the core is given away */
    uint64_t sleep_after_ns; /* of waiting before sleeping; UINT64_MAX: never */
    uint64_t longest_sleep_ns; /* the longest */
    /** Gives the core away (NULL: sched_yield). Tests put theirs here, and
     * their clock and sleep into a transport. */
    void (*yield)(ctn_exec_t *exec);
} ctn_wait_policy_t;

/* Blocks of freed groups are kept for new ones: fresh memory costs faults, and
 * zeroing it all more than the few slots that were used. */
#define CTN_SPARE_BLOCKS 8u

/** What operations have taken; for those who report it. */
typedef struct ctn_tally {
    uint64_t rounds;   /* exchanges of messages, as algorithms count them */
    uint64_t messages; /* sent by ctn_op_send and ctn_message_send, and the
                          acknowledgements of long mail */
    uint64_t bytes;    /* in them, or fetched because of them */
    uint64_t memory;   /* held now by algorithms for themselves */
    uint64_t most_memory;
} ctn_tally_t;

/** Patience of one wait. */
typedef struct ctn_backoff {
    uint32_t misses;
    uint64_t since_ns;
    uint32_t wakeups; /* in a row that were for nothing */
    bool armed;       /* its bell is rung for it */
} ctn_backoff_t;

/** Called in long waits: `look` finds out whether peers use another algorithm
 * in operations that are complete on this rank. Embedded in its owner. */
typedef struct ctn_watch {
    struct ctn_watch *next;
    void (*check)(struct ctn_watch *watch);
} ctn_watch_t;

/** Memory that outlives the operation it was for. */
typedef struct ctn_deferred_free {
    struct ctn_deferred_free *next;
    void *block;
} ctn_deferred_free_t;

/** Memory where some data are packed to wait for the network; exec/staging.c.
 */
typedef struct ctn_staging {
    struct ctn_staging *next;
    const ctn_op_t *op; /* whose data they are */
    uint64_t pending;   /* puts of it that have not left yet */
    _Alignas(16) unsigned char data[CTN_STAGING_BYTES]; /* or what is reduced */
} ctn_staging_t;

struct ctn_exec {
    /* Two cache lines that are all of this that small operations touch. */
    _Alignas(64) ctn_op_t *active;
    catena_status_t status; /* first error of the network, or alarm; sticky */
    unsigned network_waits; /* active operations with `network` set */
    uint32_t started;       /* persistent requests, and not waited for since */
    ctn_transport_t *local; /* clock and node words; never NULL */
    ctn_transport_t *network; /* NULL: nobody beyond this node */
    bool virtual_time;
    bool oversubscribed; /* more ranks than cores on this host */
    /* Set by a phase: polls before the core is given away, since what it waits
     * for will come soon, from another core. */
    uint16_t spin_polls;
    /* Grows when a wait is long: then phases look whether a peer may be doing
     * something else, since its data have another length. */
    uint32_t peer_checks;
    ctn_watch_t *watches; /* called then, too */
    /* Then words were sent over the network for which nobody waits: flush them
     * before memory is freed at which they are aimed. */
    bool needs_flush;
    /* In the simulator, on request: users' data, and tables that are only
     * exchanged and worked on, exist in size alone. */
    bool drop_data;
    bool drop_tables;
    ctn_wait_policy_t wait_policy;
    ctn_doorbell_t doorbell;
    uint32_t reported; /* times that where it runs was to be told */
    uint32_t passes;   /* of time: alarms are looked for now and then */
    const ctn_log_t *log;
    const ctn_config_t *config;
    const ctn_locality_t *locality; /* where this rank is */
    ctn_heap_t *heap;
    /* Operations that return memory. They do not count as active, so small
     * calls stay alone; a wait polls them now and then. */
    ctn_op_t *background;
    uint64_t background_done; /* of these, that have ended */
    uint32_t requests;        /* with memory that the others at links reach */
    ctn_op_t *pool;
    ctn_deferred_free_t *deferred_frees;
    ctn_control_block_t *spare[CTN_SPARE_BLOCKS];
    unsigned spares;
    ctn_tally_t tally;
    /* Endpoints by process, open addressing, grows with those in use. */
    ctn_endpoint_t **endpoints;
    size_t endpoint_slots;
    size_t endpoint_count;
    ctn_staging_t *staging_buffers; /* the one used last first */
    unsigned staging_count;
    const uint64_t *abort_flag;  /* others write it; NULL: nobody does */
    uint64_t abort_flag_offset;  /* of it in every arena */
    struct catena_group *groups; /* that there are, newest first: group.c's */
};

catena_status_t ctn_exec_init(ctn_exec_t *exec);
void ctn_exec_release(ctn_exec_t *exec);

/** What this rank's peers count on it cannot do: there is no memory, or one of
 * them is gone. All ends with `status`, here and, since nothing that they wait
 * for will come, at all ranks that it knows, which tell those that they know.
 */
void ctn_exec_abort(ctn_exec_t *exec, catena_status_t status);
/** Whether another rank has done so is heard in long waits.
 * @param block the world's, once it is known to all */
void ctn_exec_set_abort_flag(ctn_exec_t *exec,
                             const ctn_control_block_t *block);
/** Look. */
void ctn_exec_check_abort_flag(ctn_exec_t *exec);

/** How many look at something, which goes when it is dropped and nobody does.
 */
typedef struct ctn_refcount {
    size_t count;
    bool dropped; /* this goes with the last of them */
} ctn_refcount_t;

static inline void ctn_refcount_get(ctn_refcount_t *refcount)
{
    refcount->count++;
}
void ctn_refcount_put(ctn_refcount_t *refcount);
/** NULL: nothing. */
void ctn_refcount_drop(ctn_refcount_t *refcount);

static inline void ctn_exec_watch(ctn_exec_t *exec, ctn_watch_t *watch)
{
    watch->next = exec->watches;
    exec->watches = watch;
}
void ctn_exec_unwatch(ctn_exec_t *exec, const ctn_watch_t *watch);

/** Whether a process shares this one's heap; in the simulator none is said
 * to. */
bool ctn_exec_is_local(const ctn_exec_t *exec, uint64_t process);
/** Endpoint to a process, made on first use. */
catena_status_t ctn_exec_connect(ctn_exec_t *exec, uint64_t process,
                                 ctn_endpoint_t **endpoint);
/** Tell exec of an on-node endpoint. */
catena_status_t ctn_exec_add_endpoint(ctn_exec_t *exec,
                                      ctn_endpoint_t *endpoint);

/** An operation from the pool, inactive, its state zeroed; NULL: no memory. */
ctn_op_t *ctn_op_create(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                        ctn_sequence_t *sequence);
/** An operation that has nothing to do; NULL: no memory. */
ctn_op_t *ctn_op_create_empty(ctn_exec_t *exec);
/** Back to the pool; the operation must be inactive or done. */
void ctn_op_release(ctn_op_t *op);
/** Give it its number and run it as far as it goes. */
void ctn_op_start(ctn_op_t *op);
/** Give it its number, but let it do nothing until it is let go: so members
 * number alike what each of them comes to when something else is over. */
void ctn_op_start_held(ctn_op_t *op);
/** Start an operation of a channel that nobody waits for: exec owns it from now
 * on. */
void ctn_op_start_detached(ctn_op_t *op);
/** Start an operation that runs aside, on a channel that nothing else is
 * started on. What has to be over first its algorithm says. */
void ctn_op_start_background(ctn_op_t *op, bool detached);
/** Let operations begin that a channel with a flight of 0 has kept. */
void ctn_sequence_open(ctn_sequence_t *sequence, unsigned flight);
/** Let it go: the next poll runs it. */
static inline void ctn_op_let_go(ctn_op_t *op)
{
    op->held = false;
}
/** Block until it is done; makes everything else progress too. */
catena_status_t ctn_op_wait(ctn_op_t *op);
/** Start, wait, release: a blocking call. NULL: ERR_NO_MEMORY. */
catena_status_t ctn_op_run(ctn_op_t *op);
/** The same, of what all ranks of a group run and nobody asks for again: with
 * no memory for it all ends (ctn_exec_abort). */
catena_status_t ctn_op_run_or_abort(ctn_exec_t *exec, ctn_op_t *op);
/** In which phase, and for whom it waits. */
void ctn_op_describe(const ctn_op_t *op, char *text, size_t bytes);

static inline void *ctn_op_state(ctn_op_t *op)
{
    return op->memory;
}

/** Whether all earlier operations of its channel are complete here. What is
 * built for a whole group is built by the oldest operation only, so that all
 * members build the same things in the same order. */
static inline bool ctn_op_is_oldest(const ctn_op_t *op)
{
    return op->sequence == NULL || op->seq == op->sequence->complete;
}

/** From within a phase: run `child` (owned by exec from now on) before the
 * next phase. Return its value. */
ctn_step_t ctn_op_call(ctn_op_t *op, ctn_op_t *child);
/** From within a phase: go on with phase `index`. Return its value. */
ctn_step_t ctn_op_jump(ctn_op_t *op, unsigned index);
/** From within a phase: go on as another algorithm, from its first phase. Its
 * state begins with that of the one before, which stays; the rest holds
 * anything. From now on, starting again starts that one. Return its value. */
ctn_step_t ctn_op_become(ctn_op_t *op, const ctn_algorithm_t *algorithm);
/** From within a phase: end with an error. Return its value. */
ctn_step_t ctn_op_fail(ctn_op_t *op, catena_status_t status);

/** Keep memory of an operation that failed until the end: the network may still
 * have parts of it. */
void ctn_exec_defer_free(ctn_exec_t *exec, void *block);

/** Advance the operations that run aside; true: one did something. */
bool ctn_exec_poll_background(ctn_exec_t *exec);
/** The heap has no room: get some from the operations that run aside, and from
 * blocks that are kept. Polls a bounded number of times.
 * @param exec  a ctn_exec_t
 * @return whether there is more room now */
bool ctn_exec_reclaim(void *exec);

/** Give back memory of the shared heap that peers reach. When all has failed
 * some may not have heard of it: they still read what others have told them to
 * be there, and it stays until the heap goes. */
void ctn_exec_free(ctn_exec_t *exec, void *memory);

/** Memory that an algorithm takes for itself, counted in exec->tally; in the
 * shared heap. NULL: none. */
void *ctn_scratch_alloc(ctn_exec_t *exec, size_t bytes);
void ctn_scratch_free(ctn_exec_t *exec, void *memory, size_t bytes);
/** Memory to pack data of an operation in, to be put with its `pending`; it may
 * be had again as soon as that is 0. *bounce NULL: the network still has too
 * many of them. */
catena_status_t ctn_staging_get(const ctn_op_t *op, ctn_staging_t **staging);
/** Whether the network still has packed data of an operation. */
bool ctn_staging_busy(const ctn_op_t *op);
/** Give back what need not be kept; when an operation ends that used some. */
void ctn_staging_trim(ctn_exec_t *exec);
/** Give back all of it, when the network is gone. */
void ctn_staging_release(ctn_exec_t *exec);

/** Advance all operations and the network once; true: something was done. */
bool ctn_exec_poll(ctn_exec_t *exec);
/** After an error: have the operations end that nobody waits for any more, so
 * that they give back what they hold. */
void ctn_exec_end_failed(ctn_exec_t *exec);
/** The same, reporting the state of the network. */
catena_status_t ctn_exec_progress(ctn_exec_t *exec);
/** The same in a wait: idle when nothing was done. */
void ctn_exec_poll_or_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** Decide how this rank waits, once its transports and its bell are there. */
void ctn_exec_set_wait_policy(ctn_exec_t *exec, const ctn_config_t *config);

/** Called when a poll found nothing; gives the core away when it is time. */
void ctn_exec_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** Called when a caller that will not wait found nothing: virtual time moves
 * only when somebody lets it, and on a crowded host those who are waited for
 * only run when somebody gives a core away. */
void ctn_exec_pass_time(ctn_exec_t *exec);

/** Wait until what this rank has put by `transport` is at its targets.
 * @return the first error of the rank */
catena_status_t ctn_exec_flush(ctn_exec_t *exec, ctn_transport_t *transport);
/** Wait until what this rank has stored can be seen. Processors see to it in
 * order, so only simulated stores, which may be slow, are waited for. */
void ctn_exec_deliver(ctn_exec_t *exec);

uint64_t ctn_exec_time(ctn_exec_t *exec);

/** 1 + the processing unit this rank runs on just now; 0: it does not matter.
 */
uint32_t ctn_exec_cpu(const ctn_exec_t *exec);

enum { CTN_REPORT_CPU_EVERY = 16 };

/** For exec->spin_polls. Who waits for a single rank waits until it has its
 * turn on its core; who waits for some, mostly for the last steps of all. 16
 * ranks on 2 cores, bcast of 32 B: 4.9 us with 100 polls, 4.1 with 200. */
enum { CTN_SPIN_FOR_SOME = 100, CTN_SPIN_FOR_ONE = 200 };

/** On a crowded host, tell the others where this rank runs; hardly ever does
 * that change, so only now and then is it looked at.
 * @param said  what it has told last
 * @param where they look */
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

/** Whether another rank ran last on another core than this one, where it has
 * said `own`: then what it is to do will come soon, and with more ranks than
 * cores, too, it pays to look again at once. */
static inline bool ctn_exec_on_other_core(uint32_t own, const uint32_t *where)
{
    uint32_t cpu = __atomic_load_n(where, __ATOMIC_RELAXED);
    return cpu != 0 && own != 0 && cpu != own;
}

/** Place this rank when it starts: move it to one of the processing units it
 * may use, and leave it to the kernel what happens next. Ranks that yield all
 * the time look alike to the kernel's balancer, so uneven starts stay uneven: 4
 * ranks on 2 cores, alltoall of 8 B, take 1.1 us when dealt evenly and 1.9 in
 * every other start. Later on nobody is moved: affinity belongs to the caller.
 * @param index among the ranks of the host */
void ctn_exec_initial_placement(uint32_t index);

/** Say whether what an operation waits for may come over the network: then
 * every poll asks the network, too. */
void ctn_op_set_network(ctn_op_t *op, bool network);

/** Write a word that every rank of the node reads. */
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

/** Words were stored just now: wake those of the node who sleep. */
static inline void ctn_exec_ring_doorbells(ctn_exec_t *exec)
{
    if (ctn_doorbell_needed(&exec->doorbell)) {
        ctn_doorbell_ring(&exec->doorbell);
    }
}

/** After words were stored, maybe: wake those of the node who sleep. */
static inline void ctn_exec_wake(ctn_exec_t *exec)
{
    if (exec->local->stored) {
        exec->local->stored = false;
        ctn_exec_ring_doorbells(exec);
    }
}

/* Small blocking calls. What takes a barrier of two ranks is one cache line on
 * its way, and what is done before and after: so these are inline. */

/** Whether a blocking call would be the only operation under way. */
static inline bool ctn_inline_possible(const ctn_exec_t *exec,
                                       const ctn_sequence_t *sequence)
{
    return exec->active == NULL && !exec->virtual_time &&
           exec->status == CATENA_OK && sequence->started == sequence->complete;
}

/** Then it need not be one: it may take its number, a synchronizing
 * operation's, and run at once. False: it is not alone, must wait for its ring,
 * or comes after an epoch barrier; then it is to be an operation. */
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

/** The same for one that does not synchronize. Not when a fence is due: run
 * that before. */
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

/** It looked for its peers and has to look again. False: the network failed,
 * and nothing will come any more. */
bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** The same where all who were told something were woken, and nothing waits for
 * the network; not in virtual time. On a crowded host a rank gives its core
 * away at the first miss, and should find everything when it is its turn again:
 * that is all the code it returns to. */
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

/** It is over. @return what became of it */
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

/** Users' data as the source of a put: NULL when it has a size only. */
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

/** Copy users' data; of nothing there need be no memory. */
static inline void ctn_exec_copy(ctn_exec_t *exec, void *target,
                                 const void *source, size_t bytes)
{
    if (bytes > 0 && !exec->drop_data) {
        memcpy(target, source, bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

#endif
