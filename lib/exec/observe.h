#ifndef CTN_EXEC_OBSERVE_H
#define CTN_EXEC_OBSERVE_H

#include "exec/exec.h"

/* What an observer of a rank sees: its calls, its waits, the phases of its
 * operations, what they copy, and the puts of the network. From these come the
 * statistics of the calls (CATENA_STATS) and the trace (CATENA_TRACE,
 * exec/trace.h). Without either there is no observer, and each place that it
 * would see costs a test of one pointer. */

/** What is counted of one collective in one group, on one rank. */
typedef struct ctn_observed_calls {
    uint64_t scope;   /* id of the group */
    uint32_t size;    /* of the group */
    uint32_t code;    /* ctn_call_code_t */
    uint64_t calls;   /* that have returned */
    uint64_t bytes;   /* the sum of those of ctn_recorded_call_t */
    uint64_t time_ns; /* in these calls, and in waits for their requests */
    uint64_t wait_ns; /* the part of it in which nothing moved */
} ctn_observed_calls_t;

/** Begin to observe, if the settings say so. Without memory, or a trace that
 * can be written, there is a warning, and less is observed.
 * @param node   name of the rank's node, for the trace
 * @param clears this rank clears the file of the trace. Unless its join fails,
 *               no rank writes events before all ranks have opened the file */
void ctn_observer_open(ctn_exec_t *exec, const ctn_exec_config_t *config,
                       const char *node, bool clears);
/** The end, after the network is gone: what is left of the trace is written. */
void ctn_observer_close(ctn_exec_t *exec);

/** The counts of this rank, which end with this call.
 * @return NULL: there are none */
const ctn_observed_calls_t *ctn_observed(ctn_exec_t *exec, size_t *count);

/** The context ends early: write what is left of the trace. */
void ctn_observe_end(ctn_exec_t *exec);
void ctn_observe_enter(ctn_exec_t *exec, const ctn_recorded_call_t *call);
/** @param op what the call has started; NULL: nothing that the caller waits
 *           for */
void ctn_observe_return(ctn_exec_t *exec, const ctn_recorded_call_t *call,
                        ctn_op_t *op);
/** A wait for a request begins. @return the time */
uint64_t ctn_observe_wait(const ctn_op_t *op);
/** It is over; `calls` is ctn_op_t's `observed`. */
void ctn_observe_waited(ctn_exec_t *exec, uint32_t calls, uint64_t began);
void ctn_observe_phase(ctn_op_t *op, const ctn_phase_t *phase);
void ctn_observe_op_end(ctn_op_t *op);
/** A poll found nothing. */
void ctn_observe_idle(ctn_exec_t *exec, ctn_backoff_t *backoff);
/** Nothing moved for so long. */
void ctn_observe_slept(ctn_exec_t *exec, uint64_t ns);
/** Since `began` this rank has done this. */
void ctn_observe_work(ctn_exec_t *exec, uint64_t began, const char *what,
                      uint64_t bytes);

/** As ctn_exec_time; a simulated rank's time does not change by it. */
uint64_t ctn_observe_time(ctn_exec_t *exec);

/** A piece of work begins. @return for ctn_observe_ends */
static inline uint64_t ctn_observe_begins(ctn_exec_t *exec)
{
    return exec->observer != NULL ? ctn_observe_time(exec) : 0;
}

/** It ends.
 * @param bytes 0: none to be told */
static inline void ctn_observe_ends(ctn_exec_t *exec, uint64_t began,
                                    const char *what, uint64_t bytes)
{
    if (exec->observer != NULL) {
        ctn_observe_work(exec, began, what, bytes);
    }
}

#endif
