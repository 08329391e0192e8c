#ifndef CATENA_SIM_H
#define CATENA_SIM_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>
#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Simulated machines: any number of ranks in this one process, each on a
 * stack of its own, through the same groups and algorithms as on real nodes,
 * under a virtual clock and the cost parameters of a machine (model.h). */

/** What of the data is really moved. */
typedef enum catena_sim_payload {
    CATENA_SIM_CARRY, /**< all: results are as on a real machine */
    /** What users send is not: the same messages, times and control data;
     * receive buffers keep what they held. Buffers need not be touched. */
    CATENA_SIM_SIZES,
    /** Nor are tables that algorithms exchange and work on, wherever one can
     * do without; work on them is charged as if done. */
    CATENA_SIM_COST
} catena_sim_payload_t;

/** What a run may break of what algorithms rely on, so that tests of them can
 * be seen to find it; as a mask, and only with reorder. */
enum {
    /** Words that one rank sends to another come in any order. */
    CATENA_SIM_BREAK_WORDS = 1u << 0,
    /** Words come before the data that they announce. */
    CATENA_SIM_BREAK_DATA = 1u << 1
};

/** A message between nodes, as hooks see it. */
typedef struct catena_sim_message {
    int source; /**< world ranks */
    int target;
    size_t bytes;
    uint64_t number;   /**< of all messages of the run, from 0 */
    double departed_s; /**< virtual time at which it left */
} catena_sim_message_t;

/** A simulated job. Zero means the default wherever it makes sense. */
typedef struct catena_sim_params {
    const char *machine; /**< as for catena_machine_open */
    int nodes;
    int ppn;            /**< ranks per node, in blocks of consecutive ranks */
    int ranks;          /**< with node_of: their number */
    const int *node_of; /**< node of each rank; NULL: nodes and ppn */
    /** Cores for the ranks of a node, in their order; more ranks than cores
     * begin again. NULL: all cores, the ranks spread evenly over them. */
    const int *cores;
    int core_count;
    int ports; /**< per node; 0: the machine's */
    uint64_t seed;
    /** Latencies and local work take up to this part longer, at random. */
    double jitter;
    /** o of messages within a node, for the core at either end: what a stack
     * of software takes for them. The machines leave it out, and so name what
     * the memory takes alone. */
    double node_overhead_s;
    catena_sim_payload_t payload;
    /** Nonzero: whatever the transport's contract leaves open comes in random
     * order and as late as it may: messages of different pairs of ranks,
     * ranks that could go on at the same time, data before its word. */
    int reorder;
    unsigned breaks; /**< CATENA_SIM_BREAK_...; 0 but for tests of tests */
    /** Seconds to add to a message's latency, 0 to 1e6; may be NULL. */
    double (*delay)(void *argument, const catena_sim_message_t *message);
    void *delay_argument;
    /** Rank to be killed when so many events have passed; 0 events: none.
     * Its messages end; the other ranks get ERR_PEER a millisecond later. */
    int kill_rank;
    uint64_t kill_event;
    size_t stack_bytes;          /**< of a rank, up to 1 GiB; 0: 128 KiB */
    const char *const *settings; /**< as in catena_config_t, for all ranks */
} catena_sim_params_t;

/** What a run came to. */
typedef struct catena_sim_report {
    uint64_t events;        /**< that the simulator handled */
    uint64_t messages;      /**< between nodes */
    uint64_t bytes;         /**< in them, with the words that announce them */
    uint64_t node_messages; /**< words and puts within nodes */
    double virtual_s;       /**< when the last rank was through */
    double wall_s;          /**< what it took here */
    int failed_ranks;       /**< ranks whose program did not return 0 */
    int exit_code;          /**< of catena_abort, else the first nonzero one */
} catena_sim_report_t;

/** Counters of the calling rank; differences between two calls tell what lay
 * between them. */
typedef struct catena_sim_stats {
    uint64_t messages; /**< sent to other nodes */
    uint64_t bytes;
    uint64_t node_messages;
} catena_sim_stats_t;

/** A rank's main: hands `config` to catena_init, returns an exit code. */
typedef int (*catena_sim_program_t)(const catena_config_t *config,
                                    void *argument);

/** Run a job on a simulated machine, in the calling thread. With the same
 * parameters everything happens in the same order at the same virtual times,
 * to the last byte.
 * @param[out] report may be NULL; filled whenever the run began
 * @return OK; ERR_ARG (machine, layout, a value, or something that takes more
 *         than 1e6 s of virtual time, or all of it 9e6 s), ERR_NO_MEMORY;
 * ERR_STATE: no rank could go on, which is logged; ERR_PEER: a rank was killed
 * as asked for; ERR_SYSTEM: aborted, or a stack ran over its end */
CATENA_API catena_status_t catena_sim_run(const catena_sim_params_t *params,
                                          catena_sim_program_t program,
                                          void *argument,
                                          catena_sim_report_t *report);

/** @return ERR_ARG when the context is not of a simulated rank */
CATENA_API catena_status_t catena_sim_stats(catena_context_t *context,
                                            catena_sim_stats_t *stats);

#ifdef __cplusplus
}
#endif
#endif
