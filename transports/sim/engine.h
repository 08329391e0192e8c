#ifndef CTN_SIM_ENGINE_H
#define CTN_SIM_ENGINE_H

#include "core/pool.h"
#include "transports/sim/fiber.h"
#include "transports/sim/queue.h"
#include "transports/sim/sim.h"

/* Declarations that the files of the simulator share. Times are in picoseconds:
 * a byte takes some 0.1 ns, so nanoseconds would round too much.
 *
 * A running rank has a clock of its own, at or ahead of the time of the event
 * that woke it: short work only advances the clock, and messages depart at its
 * time. A rank never sees anything later than the event, so causes precede
 * effects. Memory may be written ahead of time, because only flags say that it
 * may be read. Long copies, which compete for memory with other copies, block
 * the rank and end with an event. */

enum { PS = 1000 }; /* picoseconds in a nanosecond */
/* The longest duration of anything, 11 days, and of a whole run; sums of a few
 * of these do not overflow. */
#define SIM_LONGEST_PS (CTN_SIM_LONGEST_S * 1e12)
#define SIM_LATEST_PS (UINT64_C(1) << 63)
enum { SIM_ENDS = 64 }; /* copies that end at once */

typedef enum sim_state {
    SIM_READY,    /* an event to run it is queued */
    SIM_SLEEPING, /* until an event reaches it, or a time */
    SIM_BLOCKED,  /* works; an event of its own ends that */
    SIM_RUNNING,
    SIM_ENDED
} sim_state_t;

typedef struct sim_flush {
    uint64_t *pending;
    struct sim_flush *next;
} sim_flush_t;

struct catena_sim_rank {
    /* Touched by every event of a rank, in one cache line. */
    _Alignas(64) const ctn_simulator_t *simulator; /* first: see simulator.h */
    ctn_transport_t base;
    ctn_fiber_t fiber;
    uint64_t clock; /* its core is busy until then */
    uint8_t state;
    bool notified; /* an event came while it did not sleep */
    bool killed;
    bool stalls;    /* woken because there are no more events */
    int32_t status; /* of its progress */
    /* Touched also by sends. */
    uint64_t endpoint_free; /* its endpoint takes one message at a time */
    uint64_t last_store;    /* its stores become visible in order */
    uint64_t random;        /* its own, so draws do not depend on others */
    uint64_t sleeps;        /* distinguishes a sleep from an earlier one */
    ctn_sim_t *sim;
    unsigned char *arena;
    uint32_t rank;
    uint32_t node;
    uint32_t local;
    uint32_t core;
    uint32_t domain;
    ctn_endpoint_t endpoint; /* to this rank */
    sim_flush_t *flushes;
    catena_sim_stats_t stats;
};

/** Copies within a NUMA domain share its bandwidth: each of n concurrent copies
 * runs at 1 / slowdown(n) of its speed alone. `served` is the work that each
 * copy has received since the domain was made. A copy ends when `served`
 * reaches its value at the start plus the copy's work, so the copy with the
 * least `end` is next. */
typedef struct sim_copy {
    double end; /* of `served` */
    uint32_t rank;
} sim_copy_t;

typedef struct sim_domain {
    double served; /* ps of work */
    uint64_t since;
    uint32_t count;
    uint32_t generation; /* of the event for the next end */
    sim_copy_t *copy;    /* [ranks of the domain] */
} sim_domain_t;

typedef struct sim_core {
    uint64_t free;
    uint32_t last; /* its last rank */
} sim_core_t;

typedef struct sim_node {
    uint32_t first; /* its ranks: members[first .. first + count - 1] */
    uint32_t count;
    uint64_t send_wire; /* the node's bandwidth, all ports together */
    uint64_t receive_wire;
} sim_node_t;

typedef enum sim_kind {
    SIM_RUN,    /* a rank continues, whatever it waits for */
    SIM_TIMER,  /* a rank's sleep is over */
    SIM_SENT,   /* a source is free again */
    SIM_HEAD,   /* a message's first byte reaches the receiving port */
    SIM_ARRIVE, /* its last byte and its flag have arrived */
    SIM_STORE,  /* a flag becomes visible on the node */
    SIM_COPIED, /* the next copy of a domain ends */
    SIM_ABORT   /* all ranks learn that one died or aborted */
} sim_kind_t;

/* A large job has millions of pending events, each touched a few times at long
 * intervals: the first cache line holds what most of them need, and small data
 * follow the rest. */
typedef struct sim_event {
    uint8_t kind;
    bool to_node;    /* STORE: all ranks of the node read the word */
    bool carried;    /* the data is in `small` */
    uint32_t port;   /* HEAD: of the target's node */
    uint32_t node;   /* HEAD: the target's */
    uint32_t source; /* ranks; COPIED: target is the domain */
    uint32_t target;
    uint64_t *word;
    uint64_t value; /* ABORT: the status, negated */
    unsigned char *to;
    size_t bytes;
    uint64_t *pending;
    /* The second cache line: large data, and rare kinds. */
    const unsigned char *from;
    unsigned char *held;     /* copy of `from` when the source became free */
    struct sim_event *other; /* SENT: the message whose source it frees */
    uint64_t number;         /* TIMER: sleep; COPIED: generation */
    _Alignas(64) unsigned char small[CTN_INJECT_BYTES];
} sim_event_t;

struct ctn_sim {
    const ctn_log_t *log;
    const catena_machine_t *machine;
    catena_sim_params_t params;
    uint32_t ranks;
    uint32_t nodes;
    uint32_t ports;
    ctn_sim_rank_t *rank;
    sim_node_t *node;
    uint32_t *members;   /* ranks, node by node */
    uint32_t *in_flight; /* [ranks]: messages and stores not yet delivered */
    uint64_t *send_port; /* [node][port]: when it is free */
    uint64_t *receive_port;
    sim_domain_t *domain; /* [node][domain] */
    sim_copy_t *copies;
    sim_core_t *core;      /* shared_cores; NULL: each rank has its own */
    uint64_t *pair;        /* latest arrival per pair, hashed; NULL: unused */
    unsigned char *memory; /* heaps: [node] header and arenas */
    size_t memory_bytes;
    size_t node_bytes;
    size_t arena_bytes;
    unsigned char *stacks;
    size_t stacks_bytes;
    size_t stack_bytes;
    ctn_queue_t queue;
    ctn_pool_t free_events; /* in `slabs` */
    char text[160];         /* description for the user */
    sim_event_t spare;      /* used when there is no memory */
    struct sim_slab *slabs;
    ctn_fiber_t main;
    ctn_sim_rank_t *running;
    uint64_t now;
    uint64_t order;  /* of the next event at the same time */
    uint64_t random; /* for random orders */
    uint64_t events;
    uint64_t last_end;
    uint32_t ended;
    uint32_t stalls;        /* times that all were woken since the last event */
    catena_status_t broken; /* why the run was ended */
    bool aborted;
    int abort_code;
    catena_status_t status;
    void (*program)(ctn_sim_rank_t *rank, void *argument);
    void *argument;
    uint64_t numbers;  /* messages so far */
    void *common;      /* set by the ranks */
    uint32_t flushing; /* under way */
};

/* engine.c */
sim_event_t *sim_event(ctn_sim_t *sim, sim_kind_t kind, uint32_t target);
/** No memory for pending events: end the run. */
void sim_no_memory(ctn_sim_t *sim);
void sim_push(ctn_sim_t *sim, uint64_t time, sim_event_t *event);
void sim_recycle(ctn_sim_t *sim, sim_event_t *event);
void sim_release_events(ctn_sim_t *sim);
/** An event reached the rank: it polls now, or when it can. */
void sim_notify(ctn_sim_t *sim, ctn_sim_rank_t *rank);
/** Resume the rank now. */
void sim_resume(ctn_sim_t *sim, ctn_sim_rank_t *rank);
/** Resume it at `time`. */
void sim_run_at(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint64_t time);
/** The rank fails with `status`, and all other ranks fail a millisecond later.
 */
void sim_abandon(ctn_sim_rank_t *rank, catena_status_t status);
/** From within a fiber: stop until resumed. */
void sim_suspend(ctn_sim_rank_t *rank, sim_state_t state);
/** From within a fiber: let the other ranks run until this rank's clock. */
void sim_catch_up(ctn_sim_rank_t *rank);
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

/* sim.c */
/** Sparse memory of the process; `dense`: in huge pages if possible. NULL: no
 * address space. */
void *sim_reserve(size_t bytes, bool dense);

/* network.c */
catena_status_t sim_network_create(ctn_sim_t *sim);
void sim_network_release(ctn_sim_t *sim);
/** Let data arrive after their flag: another event of the same kind takes the
 * word of `message` at `time`.
 * @param ps mean delay of the data
 * @return when `message` arrives, with its data */
uint64_t sim_leave_data(ctn_sim_t *sim, sim_event_t *message, uint64_t time,
                        double ps);
/** Send a message; source, target and data are filled in. */
void sim_send(ctn_sim_rank_t *rank, sim_event_t *message);
void sim_head(ctn_sim_t *sim, sim_event_t *message);
void sim_arrive(ctn_sim_t *sim, sim_event_t *message);
/** A message or store of the rank is complete. */
void sim_delivered(ctn_sim_t *sim, ctn_sim_rank_t *source);
void sim_sent(ctn_sim_t *sim, sim_event_t *event);
/** Copy the data to the event, write them, or leave them for later. */
void sim_take_data(const ctn_sim_t *sim, sim_event_t *message);
/** Save the contents of the source, to be written later. */
void sim_hold(ctn_sim_t *sim, sim_event_t *message);
/** Write data and flag to the target's memory. */
void sim_write(sim_event_t *message);

/* node.c */
catena_status_t sim_node_create(ctn_sim_t *sim);
void sim_node_release(ctn_sim_t *sim);
void sim_work(ctn_sim_rank_t *rank, ctn_work_t work, size_t n);
void sim_copied(ctn_sim_t *sim, sim_event_t *event);
/** A flag, with its data, becomes visible after the signal latency. */
void sim_store(ctn_sim_rank_t *rank, sim_event_t *store);
void sim_stored(ctn_sim_t *sim, sim_event_t *store);
/** Take the core; false: it is busy, and the rank runs when it is free. */
bool sim_take_core(ctn_sim_t *sim, ctn_sim_rank_t *rank);
void sim_leave_core(ctn_sim_t *sim, ctn_sim_rank_t *rank);

#endif
