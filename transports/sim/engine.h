#ifndef CTN_SIM_ENGINE_H
#define CTN_SIM_ENGINE_H

#include "core/pool.h"
#include "core/region.h"
#include "transports/exposed.h"
#include "transports/sim/fiber.h"
#include "transports/sim/queue.h"
#include "transports/sim/sim.h"

/* Declarations that the files of the simulator share. Times are in picoseconds:
 * a byte takes some 0.1 ns, so nanoseconds would round too much.
 *
 * A running rank has a clock of its own, at or ahead of the time of the event
 * that woke it: short work only advances the clock, and messages depart at the
 * time of the clock. A rank never sees an event later than the one that woke
 * it, so causes precede effects. Memory may be written ahead of time, because
 * other ranks read it only after a flag. Long copies, which compete for memory
 * with other copies, block the rank; an event ends them. */

enum { PS = 1000 }; /* picoseconds in a nanosecond */
/* The longest duration of a message, a copy or a computation (11 days), and of
 * a whole run. Sums of a few of these do not overflow. */
#define SIM_LONGEST_PS (CTN_SIM_LONGEST_S * 1e12)
#define SIM_LATEST_PS (UINT64_C(1) << 63)
enum { SIM_ENDS = 64 }; /* the most copies that one event ends */

/** What a rank does. */
typedef enum sim_state {
    SIM_READY,    /* an event to run it is queued */
    SIM_SLEEPING, /* until an event for it, or until a time */
    SIM_BLOCKED,  /* works; only the event that ends the work resumes it */
    SIM_RUNNING,
    SIM_ENDED
} sim_state_t;

/** A flush that waits until all messages and stores of its rank have arrived.
 */
typedef struct sim_flush {
    uint64_t *pending; /* decremented then */
    struct sim_flush *next;
} sim_flush_t;

typedef struct sim_posted sim_posted_t;
typedef struct sim_event sim_event_t;

/** A simulated rank. */
struct catena_sim_rank {
    /* Touched by every event of a rank, in one cache line. */
    _Alignas(64) const ctn_simulator_t *simulator; /* first: see simulator.h */
    ctn_transport_t base;
    ctn_fiber_t fiber;
    uint64_t clock; /* its core is busy until then */
    uint64_t due;   /* work for messages that it does when it has a core */
    uint8_t state;  /* a sim_state_t */
    bool notified;  /* an event came while it did not sleep */
    bool killed;
    bool asks;      /* it polled the network since it got its core */
    bool cold;      /* other ranks had its core since its last call */
    bool stalls;    /* woken because there are no more events */
    bool frozen;    /* it was killed: it runs again when all others have ended,
                       to free what it holds */
    bool left;      /* its context is gone: no counter of it is written */
    bool deaths;    /* `died` has yet to be called */
    int32_t status; /* what its calls of `progress` return; < 0: it failed */
    /* Touched also by sends. */
    uint64_t endpoint_free; /* when its endpoint can take the next message */
    uint64_t last_store;    /* when its last store becomes visible */
    uint64_t random;        /* its generator: independent of other ranks' */
    uint64_t turns;         /* that it ran so far */
    ctn_sim_t *sim;
    unsigned char *arena;
    uint32_t rank;           /* in the job */
    uint32_t node;           /* its index */
    uint32_t local;          /* local rank */
    uint32_t core;           /* of the node, or of the host if nodes share it */
    uint32_t domain;         /* index in ctn_sim.domain */
    ctn_sim_rank_t *beside;  /* the next one on its core */
    ctn_endpoint_t endpoint; /* to this rank */
    sim_flush_t *flushes;    /* under way */
    sim_posted_t *posted;    /* posted receives; NULL: none so far */
    ctn_exposed_t exposed;   /* memory outside its arena */
    ctn_death_handler_t died; /* NULL: a death ends the run for it */
    void *died_argument;
    uint8_t *ends; /* [ranks]: a mask of SIM_END_..., for ranks that have died
                      or ended; NULL: none so far */
    sim_event_t *arrived; /* messages that wait for its progress, in order */
    catena_sim_stats_t stats;
};

/** Copies within a NUMA domain share its bandwidth: each of n concurrent copies
 * runs at 1 / slowdown(n) of its speed alone. `served` is the work that each
 * copy has received since the domain was made. A copy ends when `served`
 * reaches its value at the start plus the copy's work, so the copy with the
 * least `end` ends next. */
typedef struct sim_copy {
    double end; /* the value of `served` at which it ends */
    uint32_t rank;
} sim_copy_t;

/** A NUMA domain of a node. */
typedef struct sim_domain {
    double served;    /* ps of work */
    uint64_t since;   /* when `served` was last updated */
    uint32_t count;   /* copies under way */
    uint32_t version; /* number of the only COPIED event that is valid */
    sim_copy_t *copy; /* those copies; space for [ranks of the domain] */
} sim_domain_t;

/** A core that ranks of several nodes share. */
typedef struct sim_core {
    uint64_t free;        /* when its last rank leaves it */
    double slower;        /* turns since then, than switch_ns: jitter */
    ctn_sim_rank_t *last; /* its last rank; at first, its first one */
} sim_core_t;

typedef struct sim_node {
    uint32_t first; /* its ranks: members[first .. first + count - 1] */
    uint32_t count;
    uint64_t send_wire;    /* when its ports together can send more */
    uint64_t receive_wire; /* when its ports together can receive more */
} sim_node_t;

/** What a rank knows of the end of another one. */
enum {
    SIM_END_NEWS = 1u << 0, /* `died` has yet to be called */
    SIM_END_TOLD = 1u << 1, /* it was called */
    SIM_END_LEFT = 1u << 2, /* the other rank did not die, it has ended */
    SIM_END_CUT = 1u << 3   /* no message of it arrives any more */
};

/** What an event is. */
typedef enum sim_kind {
    SIM_RUN,    /* a rank continues, whatever it waits for */
    SIM_TIMER,  /* a rank's sleep is over */
    SIM_SENT,   /* a source is free again; of a get: the data have come */
    SIM_LEAF,   /* a message's first byte reaches the links up of its leaf */
    SIM_HEAD,   /* its first byte reaches the receiving port */
    SIM_ARRIVE, /* its last byte and its flag have arrived */
    SIM_TAKEN,  /* its target has taken it */
    SIM_STORE,  /* a flag becomes visible on the node */
    SIM_COPIED, /* the next copy of a domain ends */
    SIM_DEATH,  /* a rank learns that another one, `source`, has died, or has
                   ended (`to_node`) */
    SIM_ABORT   /* all ranks learn that one died or aborted */
} sim_kind_t;

#define SIM_NO_NODE UINT32_MAX

/** An event. A large job has millions of pending events, each touched a few
 * times at long intervals. So the first cache line holds what most of them
 * need; the second one serves large data and rare kinds; small data follow.
 * HEAD, ARRIVE and STORE are about a message: `bytes` of data go to `to`, then
 * `value` to `word` (NULL: no flag). SENT of a get copies `bytes` to `to`. */
struct sim_event {
    uint8_t kind;    /* a sim_kind_t */
    bool to_node;    /* STORE: all ranks of the node read the word */
    bool carried;    /* the data are in `small` */
    uint32_t port;   /* HEAD: index in receive_port */
    uint32_t node;   /* LEAF, HEAD: the target's; SIM_NO_NODE: counted as
                        delivered */
    uint32_t source; /* the rank that sends */
    uint32_t target; /* the rank that the event is for; COPIED: the domain */
    uint64_t *word;
    uint64_t value;    /* ABORT: the status, negated */
    unsigned char *to; /* NULL: to exposed memory, at offset `number` */
    size_t bytes;
    uint64_t *pending; /* SENT: the counter to decrement */
    /* The second cache line. */
    const unsigned char *from; /* the data, if not in `small` or `held`; NULL:
                                  none, or already written */
    unsigned char *held;       /* copy of `from` when the source became free */
    /* A message whose source is still needed, and the SENT that will free the
     * source, point to each other; else NULL. Of a message that waits at its
     * target: the next one. */
    struct sim_event *other;
    uint64_t number; /* TIMER: of the turn; COPIED: the version; else see `to`
                      */
    /* A message, where the network's buffer is bounded. */
    struct sim_event *next; /* that waits for its sending port: the next one */
    struct sim_event *sent; /* to be pushed when its last byte has left */
    uint64_t left;          /* when it may leave, then when its last byte would
                               leave if nothing held it */
    uint64_t latency;       /* LEAF: from there to the receiving port */
    _Alignas(64) unsigned char small[CTN_INJECT_BYTES];
};

/** The messages of a sending port, where the network's buffer is bounded. */
typedef struct sim_line {
    bool held; /* by a message that its receiving port has not accepted */
    sim_event_t *first; /* that waits behind it, in order; or NULL */
    sim_event_t **end;
} sim_line_t;

/** A simulated job. */
struct ctn_sim {
    const catena_machine_t *machine;
    catena_sim_params_t params;
    uint32_t ranks;
    uint32_t nodes;
    uint32_t ports;       /* of each node */
    ctn_sim_rank_t *rank; /* [ranks] */
    sim_node_t *node;     /* [nodes] */
    uint32_t *members;    /* ranks, node by node */
    uint32_t *in_flight;  /* [ranks]: messages and stores not yet delivered */
    uint64_t *send_port;  /* [node][port]: when it is free */
    uint64_t *receive_port;
    sim_line_t *line; /* [node][port]; NULL: the buffer is not bounded */
    uint64_t *up;     /* [leaf][uplink]: when it is free; a fat tree */
    uint64_t *down;
    sim_domain_t *domain; /* [node][domain] */
    sim_core_t *core;     /* [shared_cores]; NULL: each rank has its own */
    uint64_t *pair; /* latest arrival for a pair of ranks, hashed; NULL: all
                       delays are constant */
    ctn_region_t tables;   /* memory of the arrays above, but of `rank` */
    unsigned char *memory; /* heaps ([node] header and arenas), stacks, ranks */
    size_t memory_bytes;
    size_t mapped_bytes; /* at least memory_bytes */
    size_t node_bytes;   /* of the heap of a node */
    size_t arena_bytes;
    unsigned char *stacks;
    size_t stack_bytes; /* of one */
    ctn_queue_t queue;
    ctn_pool_t free_events;
    char text[160];          /* description for the user */
    uint64_t last_message;   /* hash of the last message of a rank */
    sim_event_t spare;       /* used when there is no memory */
    ctn_fiber_t main;        /* runs the loop of ctn_sim_go */
    ctn_sim_rank_t *running; /* NULL: none, an event is handled */
    uint64_t now;            /* time of the event that is handled */
    uint64_t order;          /* number of the next event pushed */
    uint64_t random;         /* generator for random orders */
    uint64_t events;         /* handled so far */
    uint64_t last_end;       /* latest end of a rank's program so far */
    uint32_t ended;          /* ranks whose program has ended */
    uint32_t deaths;         /* ranks that were killed */
    uint32_t frozen;         /* ranks that are */
    uint32_t stalls; /* times that all were woken since the last event */
    ctn_sim_explain_t *explain; /* NULL: no rank has joined */
    catena_status_t
        broken;     /* why the simulator ended the run; OK: it did not */
    bool aborted;   /* the run ends before all ranks have ended */
    int abort_code; /* of ctn_sim_abort */
    catena_status_t status; /* of the run, if it was not ended early */
    void (*program)(ctn_sim_rank_t *rank, void *argument);
    void *argument;    /* of the program */
    uint64_t messages; /* between nodes so far */
    uint64_t *steps;   /* of `choose`: how many of each kind; or NULL */
    void *common;      /* see `common` of ctn_transport_ops_t */
    uint32_t flushing; /* flushes under way */
};

/** The rank that a transport belongs to. */
static inline ctn_sim_rank_t *sim_rank_of(ctn_transport_t *transport)
{
    return (ctn_sim_rank_t *)(void *)((unsigned char *)transport -
                                      offsetof(ctn_sim_rank_t, base));
}

/* engine.c */
/** An event of that kind, to be filled in and pushed. */
sim_event_t *sim_event(ctn_sim_t *sim, sim_kind_t kind, uint32_t target);
/** No memory for pending events: end the run. */
void sim_no_memory(ctn_sim_t *sim);
/** Queue an event for `time`. */
void sim_push(ctn_sim_t *sim, uint64_t time, sim_event_t *event);
/** Free an event that was handled. */
void sim_recycle(ctn_sim_t *sim, sim_event_t *event);
void sim_release_events(ctn_sim_t *sim);
/** An event is for this rank: it polls now, or when its core is free. */
void sim_notify(ctn_sim_t *sim, ctn_sim_rank_t *rank);
/** Resume the rank now. */
void sim_resume(ctn_sim_t *sim, ctn_sim_rank_t *rank);
/** Resume it at `time`. */
void sim_run_at(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint64_t time);
/** The rank fails with `status`, and all other ranks fail a millisecond later.
 */
void sim_abandon(ctn_sim_rank_t *rank, catena_status_t status);
/** The rank learns soon that another one has died, or has ended. */
void sim_learns(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint32_t other);
/** No message from `source` to the rank arrives any more: a connection that has
 * lost one loses all later ones, too. */
void sim_cut(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint32_t source);
static inline bool sim_is_cut(const ctn_sim_rank_t *rank, uint32_t source)
{
    return rank->ends != NULL && (rank->ends[source] & SIM_END_CUT) != 0;
}
/** From within a fiber: pass on the deaths that the rank has learnt. */
void sim_tell_deaths(ctn_sim_rank_t *rank);
/** From within a fiber: stop until resumed. */
void sim_suspend(ctn_sim_rank_t *rank, sim_state_t state);
/** Log what the ranks do when the run cannot go on. */
void sim_explain(const ctn_sim_t *sim);
/** From within a fiber: let the other ranks run until this rank's clock. */
void sim_catch_up(ctn_sim_rank_t *rank);
/** From within a fiber, after a store or a put: with `reorder` the rank
 * sometimes stops for a random time. Then other ranks see the words that it has
 * stored so far, but not what it does next: a word that is stored before its
 * data, or a buffer that is read after it was given back, shows. */
void sim_stop(ctn_sim_rank_t *rank);
/** The same if it is far ahead: a rank that works without waiting must not
 * block the others. */
static inline void sim_stay_close(ctn_sim_rank_t *rank)
{
    const uint64_t ahead_ps = UINT64_C(20000000); /* 20 us */
    if (rank->clock > rank->sim->now + ahead_ps && rank->status == CATENA_OK) {
        sim_catch_up(rank);
    }
}
/** `ps` as an integer; if it is too large the run ends. */
uint64_t sim_ps(ctn_sim_t *sim, double ps);
/** `ps` plus random jitter of the rank. */
uint64_t sim_jitter(ctn_sim_rank_t *rank, double ps);

/* choose.c */
/** Take the event that `choose` chooses; NULL: it has killed a rank. False: it
 * ends the run. */
bool sim_choose(ctn_sim_t *sim, ctn_queue_entry_t *next);
/** Kill a rank. The others learn of the death, each at its own time; or where
 * deaths are not watched, the run ends. */
void sim_kill(ctn_sim_t *sim, uint32_t killed);

/* memory.c */
/** Memory for heaps, stacks and ranks, zero; the members of the nodes are
 * counted. */
catena_status_t sim_memory_create(ctn_sim_t *sim);
void sim_memory_destroy(ctn_sim_t *sim);
/** The header of a node's heap. */
unsigned char *sim_node_memory(const ctn_sim_t *sim, uint32_t node);

/* fat_tree.c */
/** Allocate tables, on a machine with leaf switches; see sim->tables.failed. */
void sim_fat_tree_create(ctn_sim_t *sim);
/** Whether a message between these nodes takes links between switches. */
bool sim_leaves_leaf(const ctn_sim_t *sim, uint32_t node, uint32_t target);
/** A message of so many picoseconds is at the link up that it takes.
 * @return when it begins to pass */
uint64_t sim_pass_up(ctn_sim_t *sim, uint32_t node, uint32_t target,
                     uint64_t bytes_ps);
/** The same of the link down; the present time if it takes none. */
uint64_t sim_pass_down(ctn_sim_t *sim, uint32_t node, uint32_t target,
                       uint64_t bytes_ps);

/* network.c */
/** Allocate tables; see sim->tables.failed. */
void sim_network_create(ctn_sim_t *sim);
/** Forget the flushes under way. @return their number */
uint32_t sim_drop_flushes(ctn_sim_rank_t *rank);
/** If the job is to break the order of data and flag: let the data of `message`
 * arrive after its flag, which another event of the same kind stores at `time`.
 * @param ps about a quarter of the mean delay of the data
 * @return when `message` arrives, with its data; else `time` */
uint64_t sim_leave_data(ctn_sim_t *sim, sim_event_t *message, uint64_t time,
                        double ps);
/** Send a message; source, target and data are filled in. */
void sim_send(ctn_sim_rank_t *rank, sim_event_t *message);
/** Handle the events HEAD, LEAF, ARRIVE and SENT. */
void sim_leaf(ctn_sim_t *sim, sim_event_t *message);
void sim_head(ctn_sim_t *sim, sim_event_t *message);
void sim_arrive(ctn_sim_t *sim, sim_event_t *message);
void sim_sent(ctn_sim_t *sim, sim_event_t *event);
/** A message or store of the rank is complete. */
void sim_delivered(ctn_sim_t *sim, ctn_sim_rank_t *source);
/** Copy the data to the event, write them, or leave them for later. */
void sim_take_data(const ctn_sim_t *sim, sim_event_t *message);
/** Save the contents of the source, to be written later. */
void sim_hold(ctn_sim_t *sim, sim_event_t *message);
/** The data of a message; NULL: none, or already written. */
const unsigned char *sim_data(const sim_event_t *message);
/** Write data and flag to the target's memory. */
void sim_write(const ctn_sim_t *sim, sim_event_t *message);

/* posted.c */
/** See post_receive and cancel_receive of ctn_transport_ops_t. */
bool sim_post_receive(ctn_transport_t *transport, const uint64_t *word,
                      uint64_t value, size_t bytes,
                      ctn_receive_handler_t handler, void *context);
void sim_cancel_receive(ctn_transport_t *transport, const uint64_t *word);
/** True: the message waits until its target makes progress. */
bool sim_defer(ctn_sim_t *sim, ctn_sim_rank_t *target, sim_event_t *message);
/** From within a fiber: take the messages that wait. True: there were some. */
bool sim_deliver(ctn_sim_rank_t *rank);
void sim_posted_release(ctn_sim_rank_t *rank);

/* node.c */
/** Allocate tables; see sim->tables.failed. */
void sim_node_create(ctn_sim_t *sim);
/** The rank does local work; n as for ctn_work_t. */
void sim_work(ctn_sim_rank_t *rank, ctn_work_t work, size_t n);
/** Handle the event COPIED. */
void sim_copied(ctn_sim_t *sim, sim_event_t *event);
/** Push a STORE: a flag and its data become visible after the signal latency.
 */
void sim_store(ctn_sim_rank_t *rank, sim_event_t *store);
/** Handle the event STORE. */
void sim_stored(ctn_sim_t *sim, sim_event_t *store);
/** The rank takes its core; false: it is busy, and the rank runs when it is
 * free. */
bool sim_take_core(ctn_sim_t *sim, ctn_sim_rank_t *rank);
/** The rank stops running; its core is busy until its clock. */
void sim_leave_core(ctn_sim_t *sim, ctn_sim_rank_t *rank);

#endif
