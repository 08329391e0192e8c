#ifndef CTN_SIMULATOR_H
#define CTN_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/transport.h"

/* What libcatena uses of the simulator, which is a library of its own
 * (libcatena-sim): a simulated rank is a handle whose first member points to a
 * table. Messages, clock, local work and aborts of exec go through the rank's
 * transport. Both libraries are of one release: the loader sees to that
 * (lib/catena.map). */

typedef struct catena_sim_rank ctn_sim_rank_t;

/** The longest duration of a message, a copy or a computation. */
#define CTN_SIM_LONGEST_S 1e6

/** The header in front of the arenas of a node. */
#define CTN_SIM_HEADER_BYTES ((size_t)2 << 20)

/** Where a rank runs, and what it communicates through. */
typedef struct ctn_sim_place {
    uint32_t rank, ranks;
    uint32_t node;
    uint32_t local_rank, local_size;
    const uint32_t *local_ranks; /* world ranks of its node, ascending */
    int numa;                    /* domain of its core; -1: the only one */
    bool oversubscribed;         /* more ranks than cores */
    bool drop_data;              /* application data is not moved */
    bool drop_tables; /* nor are tables; the time of work on them passes */
    /* Its node's memory, sparse and zero: CTN_SIM_HEADER_BYTES, then an arena
     * for each of its ranks. Other ranks may write to it from the start. */
    unsigned char *memory;
    size_t arena_bytes;
    ctn_transport_t *transport; /* for its node and for the network */
    uint64_t *last_message;     /* of the job; see ctn_log_t */
} ctn_sim_place_t;

/** Log what the ranks of a job do that cannot go on.
 * @param memory of the nodes, one after the other, `bytes` each */
typedef void ctn_sim_explain_t(const void *memory, size_t bytes, size_t nodes);

/** The table of functions of a simulated rank. */
typedef struct ctn_simulator {
    /** Fill in `place`. */
    void (*place)(ctn_sim_rank_t *rank, ctn_sim_place_t *place);
    /** Set what explains that the job cannot go on. */
    void (*explain_by)(ctn_sim_rank_t *rank, ctn_sim_explain_t *explain);
    /** Keep the rank's core busy for that much virtual time. If `poll` is NULL,
     * the rank sees what arrives meanwhile afterwards. Else `poll` stands for
     * another core that makes progress for it: it is called at once and after
     * each arrival, and again while it returns true. */
    void (*compute)(ctn_sim_rank_t *rank, double seconds,
                    bool (*poll)(void *argument), void *argument);
    /** The running rank aborts the job. */
    __attribute__((noreturn)) void (*abort)(ctn_sim_rank_t *rank, int code);
} ctn_simulator_t;

/** The table that the handle points to. */
static inline const ctn_simulator_t *
ctn_simulator_of(const ctn_sim_rank_t *rank)
{
    return *(const ctn_simulator_t *const *)(const void *)rank;
}

#endif
