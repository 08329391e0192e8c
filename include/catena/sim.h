#ifndef CATENA_SIM_H
#define CATENA_SIM_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>
#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Experimental: may change in any release. In a library of its own: compile and
 * link with `pkg-config --cflags --libs catena-sim`.
 *
 * Simulated machines: any number of ranks in one process, each on a stack of
 * its own, run the same groups and algorithms as on real nodes, under a virtual
 * clock and the cost parameters of a machine (model.h). */

/** Which data is moved. */
typedef enum catena_sim_payload {
    CATENA_SIM_CARRY, /**< all: results are as on a real machine */
    /** Application data is not moved: messages, times and control data are the
     * same; receive buffers keep their contents. Buffers need not be
     * touched. */
    CATENA_SIM_SIZES,
    /** Nor are tables that algorithms exchange and process, where possible; the
     * work on them is charged as if done. */
    CATENA_SIM_COST
} catena_sim_payload_t;

/** Guarantees that a run may break on purpose, as a mask, and only with
 * reorder: to show that tests detect it. */
enum {
    /** Words from one rank to another arrive in any order. */
    CATENA_SIM_BREAK_WORDS = 1u << 0,
    /** Words arrive before their data. */
    CATENA_SIM_BREAK_DATA = 1u << 1
};

/** A message between nodes, as passed to hooks. */
typedef struct catena_sim_message {
    int source; /**< world ranks */
    int target;
    size_t bytes;
    uint64_t number;   /**< of all messages of the run, from 0 */
    double departed_s; /**< virtual time at which it was sent */
} catena_sim_message_t;

/** A simulated job. Zero selects the default where it makes sense. */
typedef struct catena_sim_params {
    size_t size;         /**< sizeof this struct, set by the caller */
    const char *machine; /**< as for catena_machine_open */
    int nodes;
    int ppn;            /**< ranks per node, in blocks of consecutive ranks */
    int ranks;          /**< with node_of: their number */
    const int *node_of; /**< node of each rank; NULL: nodes and ppn */
    /** Cores for the ranks of a node, in rank order; more ranks than cores wrap
     * around. NULL: all cores, with the ranks distributed evenly. */
    const int *cores;
    int core_count;
    int ports; /**< per node; 0: that of the machine */
    uint64_t seed;
    /** Latencies and local work are longer by up to this fraction, at
     * random. */
    double jitter;
    /** o of messages within a node, for the core at either end: the overhead of
     * a software stack. Machines leave it out, so their parameters give the
     * time of the memory alone. */
    double node_overhead_s;
    catena_sim_payload_t payload;
    /** Nonzero: whatever the transport's contract leaves open happens in random
     * order and as late as possible: messages of different pairs of ranks,
     * ranks that can run at the same time, data before its word. */
    int reorder;
    unsigned breaks; /**< CATENA_SIM_BREAK_...; 0 except for tests of tests */
    /** Seconds to add to a message's latency, 0 to 1e6; may be NULL. */
    double (*delay)(void *argument, const catena_sim_message_t *message);
    void *delay_argument;
    /** Rank to kill after so many events; 0 events: none. Its messages end; the
     * other ranks get ERR_PEER a millisecond later. */
    int kill_rank;
    uint64_t kill_event;
    size_t stack_bytes;          /**< of a rank, up to 1 GiB; 0: 128 KiB */
    const char *const *settings; /**< as in catena_config_t, for all ranks */
} catena_sim_params_t;

/** The result of a run. */
typedef struct catena_sim_report {
    size_t size;            /**< sizeof this struct, set by the caller */
    uint64_t events;        /**< handled by the simulator */
    uint64_t messages;      /**< between nodes */
    uint64_t bytes;         /**< in them, with their words */
    uint64_t node_messages; /**< words and puts within nodes */
    double virtual_s;       /**< when the last rank ended */
    double wall_s;          /**< wall time of the run */
    int failed_ranks;       /**< ranks whose program did not return 0 */
    int exit_code;          /**< of catena_abort, else the first nonzero one */
} catena_sim_report_t;

/** Counters of the calling rank, to be subtracted between two calls. */
typedef struct catena_sim_stats {
    size_t size;       /**< sizeof this struct, set by the caller */
    uint64_t messages; /**< sent to other nodes */
    uint64_t bytes;
    uint64_t node_messages;
} catena_sim_stats_t;

/** The main function of a rank: passes `config` to catena_init, returns an exit
 * code. */
typedef int (*catena_sim_program_t)(const catena_config_t *config,
                                    void *argument);

/** Run a job on a simulated machine, in the calling thread. The run is
 * deterministic: with the same parameters everything happens in the same order
 * at the same virtual times.
 * @param[out] report may be NULL; filled whenever the run began
 * @return OK; ERR_ARG (machine, layout, a value, or an action that takes more
 *         than 1e6 s of virtual time, or a run of more than 9e6 s),
 *         ERR_NO_MEMORY; ERR_STATE: deadlock, which is logged; ERR_PEER: a rank
 *         was killed as requested; ERR_SYSTEM: aborted, or a stack overflow */
CATENA_API catena_status_t catena_sim_run(const catena_sim_params_t *params,
                                          catena_sim_program_t program,
                                          void *argument,
                                          catena_sim_report_t *report);

/** @return ERR_ARG if the context is not of a simulated rank */
CATENA_API catena_status_t catena_sim_get_stats(const catena_context_t *context,
                                                catena_sim_stats_t *stats);

#ifdef __cplusplus
}
#endif
#endif
