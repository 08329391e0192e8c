#ifndef CATENA_SIM_H
#define CATENA_SIM_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>
#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Simulated machines: any number of ranks in one process, each on a stack of
 * its own, run the same groups and algorithms as on real nodes, under a virtual
 * clock and the cost parameters of a machine (model.h).
 *
 * Experimental: may change in any release. The functions are in a library of
 * their own: compile and link with `pkg-config --cflags --libs catena-sim`. */

/** Which data the simulated messages carry. Times are the same with all. */
typedef enum catena_sim_payload {
    CATENA_SIM_CARRY, /**< all data: results are as on a real machine */
    /** No data of the application: receive buffers keep their contents, so
     * buffers of any size cost no memory. Messages and control data are as with
     * CATENA_SIM_CARRY. */
    CATENA_SIM_SIZES,
    /** Also no tables of the algorithms, such as the records of a split, where
     * an algorithm can do without; virtual time passes as if they were
     * exchanged and processed. */
    CATENA_SIM_COST
} catena_sim_payload_t;

/** Guarantees of a transport that a run breaks on purpose, to show that tests
 * detect it: a mask, for catena_sim_params_t.breaks. Needs `reorder`. */
enum {
    /** Words from one rank to another arrive in any order. */
    CATENA_SIM_BREAK_WORDS = 1u << 0,
    /** Words arrive before their data. */
    CATENA_SIM_BREAK_DATA = 1u << 1
};

/** A message between nodes, as passed to catena_sim_params_t.delay. */
typedef struct catena_sim_message {
    int source;        /**< world rank of the sender */
    int target;        /**< world rank of the receiver */
    size_t bytes;      /**< of the message */
    uint64_t number;   /**< of all messages of the run, from 0 */
    double departed_s; /**< virtual time at which it was sent */
} catena_sim_message_t;

/** What a step of a simulated job is. */
typedef enum catena_sim_step_kind {
    CATENA_SIM_ARRIVES, /**< a message or a flag reaches its target */
    CATENA_SIM_RUNS,    /**< a rank polls, and runs until it waits again */
    CATENA_SIM_SENT,    /**< a source buffer of a rank is free again */
    CATENA_SIM_LEARNS,  /**< a rank learns of a death */
    CATENA_SIM_DIES     /**< a rank dies */
} catena_sim_step_kind_t;

/** A step that may come next. Kind, source, rank and number identify it in all
 * runs of a job. */
typedef struct catena_sim_step {
    catena_sim_step_kind_t kind;
    int source;      /**< world rank that sends; else -1 */
    int rank;        /**< world rank that it concerns */
    uint64_t number; /**< how many steps of that kind, source and rank came
                          before */
    int wide;        /**< nonzero: all ranks of the node see the flag */
} catena_sim_step_t;

/** Chooses the next step of a job, to explore orders. Steps of one kind, source
 * and rank keep their order. What arrives for a rank wakes it, and it runs in a
 * step of its own.
 * @param steps [count] those that may come next, in the order of their times
 * @return the index of one; -1: end the run */
typedef int (*catena_sim_choose_t)(void *argument, size_t count,
                                   const catena_sim_step_t steps[]);

/** A rank to kill. From then on it sends nothing, and its own calls return
 * ERR_PEER. The other ranks get ERR_PEER a millisecond of virtual time later;
 * with CATENA_FAILURES=return each rank that is connected to it learns of the
 * death within this time. */
typedef struct catena_sim_kill {
    int rank;       /**< world rank */
    uint64_t event; /**< the number of the event at which it dies, from 1 */
} catena_sim_kill_t;

/** A simulated job. Members that may be zero say below what zero selects. */
typedef struct catena_sim_params {
    size_t size;         /**< sizeof this struct, set by the caller */
    const char *machine; /**< as for catena_machine_open */
    int nodes;           /**< number of nodes */
    int ppn;             /**< ranks per node: rank r is on node r / ppn */
    int ranks;           /**< number of ranks, if node_of is set */
    const int *node_of;  /**< [ranks] node of each rank; NULL: by ppn */
    /** [core_count] Cores for the ranks of a node, in rank order; more ranks
     * than cores start again at the first. NULL: all cores, with the ranks
     * distributed evenly. */
    const int *cores;
    int core_count; /**< number of `cores`, if set */
    int ports;      /**< network ports per node; 0: as the machine has */
    uint64_t seed;  /**< of all random numbers of the run */
    /** Latencies and local work take longer by a random fraction, up to this: 0
     * to 1000. */
    double jitter;
    /** Seconds that a message within a node costs the core at each end: the
     * overhead (o of LogP) of a software stack, 0 to 1. The other parameters of
     * a machine give the time of the memory alone. If the machine file has
     * flag_overhead_ns and message_overhead_ns, they are values for this. */
    double node_overhead_s;
    catena_sim_payload_t payload; /**< which data messages carry */
    /** Nonzero: whatever order the transport's contract leaves open is random:
     * that of messages of different pairs of ranks, and that of ranks that can
     * run at the same time. Data are read from the source and written to the
     * target at the last moment that the contract allows. */
    int reorder;
    unsigned breaks; /**< CATENA_SIM_BREAK_...; 0 except in tests that
                          check other tests */
    /** Returns the seconds to add to the latency of a message, 0 to 1e6; NULL:
     * no delays. */
    double (*delay)(void *argument, const catena_sim_message_t *message);
    void *delay_argument; /**< passed to `delay` */
    int deaths; /**< ranks that may die, 0 without `choose`: while fewer have
                     died, the list of `choose` ends with a step
                     CATENA_SIM_DIES for each rank that still runs */
    size_t stack_bytes; /**< of each rank's stack, up to 1 GiB; 0: 128 KiB */
    const char *const *settings; /**< as in catena_config_t, for all ranks */
    /** Address space that the heaps of all ranks together reserve, up to 2^46
     * bytes; only written pages take memory. A rank gets its share, up to 32
     * GiB. 0: 2^45 bytes. Less is needed under a limit of address space (ulimit
     * -v), and where an emulator keeps tables of it. */
    size_t memory_bytes;
    const catena_sim_kill_t *kills; /**< [kill_count] ranks to kill */
    size_t kill_count;
    catena_sim_choose_t choose; /**< NULL: the step with the least time */
    void *choose_argument;      /**< passed to `choose` */
} catena_sim_params_t;

/** The result of a run. */
typedef struct catena_sim_report {
    size_t size;            /**< sizeof this struct, set by the caller */
    uint64_t events;        /**< that the simulator has handled */
    uint64_t messages;      /**< between nodes */
    uint64_t bytes;         /**< of these messages, with their words */
    uint64_t node_messages; /**< words and puts within nodes */
    double virtual_s;       /**< virtual time when the last rank ended */
    double wall_s;          /**< wall-clock time of the run */
    int failed_ranks;       /**< ranks whose program did not return 0 */
    int exit_code; /**< that of catena_abort, else the first that is not 0 */
} catena_sim_report_t;

/** Counters of the calling rank since the run began. The difference of two
 * readings is what happened between them. */
typedef struct catena_sim_stats {
    size_t size;            /**< sizeof this struct, set by the caller */
    uint64_t messages;      /**< sent to other nodes */
    uint64_t bytes;         /**< of these messages, with their words */
    uint64_t node_messages; /**< words and puts to ranks of the same node */
} catena_sim_stats_t;

/** The main function of a rank. All ranks run in one process and share static
 * variables, so the context and all that belongs to a rank are in variables of
 * this function.
 * @param[in] config   to be passed to catena_init, which refuses NULL and
 *                     others here
 * @param[in] argument as passed to catena_sim_run
 * @return the rank's exit code */
typedef int (*catena_sim_program_t)(const catena_config_t *config,
                                    void *argument);

/** Run a job on a simulated machine, in the calling thread. The run is
 * deterministic: with the same parameters everything happens in the same order
 * at the same virtual times.
 * @param[in]  program  called once for each rank
 * @param[in]  argument passed to `program`; shared by all ranks
 * @param[out] report   may be NULL; filled whenever the run began, also if it
 *                      failed; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL; bad machine, layout or value; an action of
 *         more than 1e6 s of virtual time, or a run of more than 9e6 s; a rank
 *         that uses the context of another one),
 *         ERR_UNSUPPORTED (`params` sets a member that the library does not
 *         have), ERR_NO_MEMORY, ERR_STATE (deadlock, which is logged), ERR_PEER
 *         (a rank was killed as requested), ERR_SYSTEM (catena_abort, an end
 *         chosen by `choose`, a stack
 *         overflow, or a machine file that cannot be read) */
CATENA_API catena_status_t catena_sim_run(const catena_sim_params_t *params,
                                          catena_sim_program_t program,
                                          void *argument,
                                          catena_sim_report_t *report);

/** Return the counters of the calling rank.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL, or not a context of a simulated rank) */
CATENA_API catena_status_t catena_sim_get_stats(const catena_context_t *context,
                                                catena_sim_stats_t *stats);

#ifdef __cplusplus
}
#endif
#endif
