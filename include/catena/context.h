#ifndef CATENA_CONTEXT_H
#define CATENA_CONTEXT_H

#include <stddef.h>
#include <stdio.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One process's membership in a job. A context is used by one thread at a
 * time; only the shared heap (heap.h) may be used by several. */
typedef struct catena_context catena_context_t;

/** An ordered set of ranks, stored as a chain; see group.h. */
typedef struct catena_group catena_group_t;

/** Severity of a log message. The setting CATENA_LOG_LEVEL names the last level
 * that is shown: "fatal" to "trace". */
typedef enum catena_log_level {
    CATENA_LOG_FATAL, /**< the process ends */
    CATENA_LOG_ERROR, /**< a call fails */
    CATENA_LOG_WARN,  /**< no call fails, but the result may surprise */
    CATENA_LOG_INFO,  /**< what the library found or chose */
    CATENA_LOG_DEBUG, /**< details, for finding faults */
    CATENA_LOG_TRACE  /**< not used yet */
} catena_log_level_t;

/** Receives one log message. Any function of catena may call it, on the thread
 * that called that function, or on catena's own (CATENA_PROGRESS=thread); it
 * must not call catena, nor wait for a thread that does.
 * @param argument catena_config_t.log_argument
 * @param level    a catena_log_level_t
 * @param message  one line without its end; valid during the call */
typedef void (*catena_log_function_t)(void *argument, int level,
                                      const char *message);

/** How the ranks of a job exchange data while they join it, by means of the
 * program (out of band): an MPI library, sockets, files. */
typedef struct catena_oob {
    size_t size; /**< sizeof this struct, set by the caller */
    int rank;    /**< of this process, 0 to ranks - 1 */
    int ranks;   /**< of the job, 1 or more */
    /** Gather `bytes` at `send` of each rank into `receive` of all, in the
     * order of ranks. Blocks. Called during catena_init only, with the same
     * `bytes` and as often on all ranks, up to six times; also on a rank that
     * fails there, which so tells the others.
     * @return 0, or anything else if it failed */
    int (*allgather)(void *argument, const void *send, void *receive,
                     size_t bytes);
    /** End the processes of the job with an exit code, for catena_abort and a
     * lost peer; this process ends when it returns. NULL: only this process
     * ends, and whoever started it has to end the others. */
    void (*abort)(void *argument, int code, const char *message);
    void *argument; /**< passed to both; valid until catena_finalize */
} catena_oob_t;

/** Settings passed by the program. They override the environment. */
typedef struct catena_config {
    size_t size; /**< sizeof this struct, set by the caller */
    /** NULL-terminated list of "NAME=VALUE", names without the prefix CATENA_
     * ("HEAP_SIZE=2g"); may be NULL. Read during catena_init only. */
    const char *const *settings;
    /** The simulated rank that joins, as passed by catena_sim_run to the rank's
     * program (sim.h, in libcatena-sim); NULL: this process. */
    struct catena_sim_rank *sim;
    /** Receives the messages of the context that CATENA_LOG_LEVEL does not
     * hide; NULL: they are written to stderr. Functions without a context
     * (types, operations, dims_create) write to stderr. */
    catena_log_function_t log;
    void *log_argument; /**< passed to `log`; valid until catena_finalize */
    /** The program's own exchange; NULL: CATENA_BOOT says how ranks find each
     * other. Read during catena_init. */
    const catena_oob_t *oob;
    /** Called now and then while a call of catena waits, so that another
     * library of this process makes progress, too: with a message of MPI under
     * way, a rank that waits in catena could else wait for one that waits in
     * MPI. It must not call catena. Not called by simulated ranks. NULL: none.
     */
    void (*progress)(void *argument);
    void *progress_argument; /**< passed to it; valid until catena_finalize */
} catena_config_t;

/** Join the job. Collective over all ranks that the launcher started; a program
 * started without a launcher is a job of one rank. Without PMIx ranks find each
 * other by catena_config_t.oob or by CATENA_BOOT=tcp://HOST:PORT; a launcher
 * that has started several ranks and offers none of these is an error. A
 * process has one context at a time; after all ranks have finalized theirs, all
 * may join again, unless one of them has died. The rank that detects an error
 * first logs what it expected and what to change.
 * @param[in]  config  NULL: environment (CATENA_*) and defaults
 * @param[out] context set only on CATENA_OK; release with catena_finalize
 * @return CATENA_OK, ERR_ARG (`context` is NULL; bad setting), ERR_UNSUPPORTED
 *         (`config` sets a member that the library does not have), ERR_STATE
 *         (this process has a context already), ERR_NO_MEMORY (shared heap),
 *         ERR_LAUNCHER, ERR_TRANSPORT, ERR_SYSTEM */
CATENA_API catena_status_t catena_init(const catena_config_t *config,
                                       catena_context_t **context);

/** Leave the job. Collective; all requests must be complete. Frees the context,
 * its world and its heap, also if it returns an error of the context (codes
 * from -40 down). Free other groups and neighborhoods before; the remaining
 * ones are freed with the context, and a warning is logged. Where failures are
 * returned, it waits for all living ranks. Meanwhile it votes in their calls of
 * catena_group_agree of the world, for all flags; catena_group_shrink of the
 * world fails. In other groups it takes no part, so all ranks should agree
 * there first on whether they go on.
 * @param[in,out] context NULL afterwards, except with ERR_ARG and ERR_STATE
 * @return CATENA_OK, ERR_ARG (NULL; with CATENA_CHECK=on other ranks call
 *         something else; logged; nothing was freed), ERR_STATE (this rank has
 *         an active persistent request, or a request of a group that is not
 *         complete; logged; nothing was freed), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_finalize(catena_context_t **context);

/** Return the group of all ranks of the job.
 * @param context of the job
 * @return the group, owned by the context; NULL for NULL */
CATENA_API catena_group_t *catena_world(const catena_context_t *context);

/** Return the group of this rank alone. The first call creates it.
 * @param context of this rank
 * @return the group, owned by the context; NULL for NULL, and if there is no
 *         memory for the group */
CATENA_API catena_group_t *catena_self(catena_context_t *context);

/** Abort the whole job with exit code `code`. Does not return. With NULL as
 * context it aborts at least this process.
 * @param context it may be NULL
 * @param code    exit code of the job */
CATENA_API CATENA_NORETURN void catena_abort(catena_context_t *context,
                                             int code);

/** Advance all operations under way once; never blocks.
 * @param context whose operations advance
 * @return CATENA_OK, ERR_ARG (NULL), or the error that ended the context (codes
 *         from -40 down) */
CATENA_API catena_status_t catena_progress(catena_context_t *context);

/** Return the seconds since an arbitrary moment, from the context's clock (wall
 * clock on real machines, virtual time in the simulator).
 * @param context whose clock it is
 * @return the seconds; 0 for NULL */
CATENA_API double catena_time(const catena_context_t *context);

/** Keep this core busy, as an application that computes does: for `seconds` of
 * wall-clock time, or of virtual time in the simulator. No operation makes
 * progress meanwhile.
 * @param[in] seconds 0 to 1e6
 * @return CATENA_OK, ERR_ARG (NULL, or `seconds` out of range) */
CATENA_API catena_status_t catena_compute(catena_context_t *context,
                                          double seconds);

/** The location of this rank, constant over the life of the context. */
typedef struct catena_place {
    size_t size;          /**< sizeof this struct, set by the caller */
    int rank;             /**< rank in the world */
    int ranks;            /**< ranks in the world */
    int node;             /**< index of this rank's node, from 0 */
    int nodes;            /**< nodes of the job */
    int local_rank;       /**< rank among the ranks of the node */
    int local_size;       /**< ranks on this node */
    int numa;             /**< NUMA domain; -1: not bound to one */
    const char *hostname; /**< name of the node, as the launcher gives it */
    const char
        *launcher; /**< "pmix", "oob", "tcp", "singleton" or "simulator" */
    const char *network; /**< "none", or a description of the network */
} catena_place_t;

/** Return the location of this rank.
 * @param[out] place filled; the caller sets its size; strings live as long as
 *                   the context
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_get_place(const catena_context_t *context,
                                            catena_place_t *place);

/** Print what the ranks of a node do, for a job that seems to hang: the last
 * call of each rank and, of calls that some ranks have entered and others not,
 * which ranks are where. No rank of the job takes part: they may be stopped.
 * @param[in] process a process of the node's ranks, of this user
 * @return CATENA_OK, ERR_ARG (NULL), ERR_SYSTEM (it is no rank, or may not be
 *         read; logged) */
CATENA_API catena_status_t catena_job_print(FILE *stream, int process);

/** Print all settings with the values that the environment gives them, one
 * `CATENA_NAME=value` a line.
 * @param[in] help nonzero: with description, type and default of each
 * @return CATENA_OK, ERR_ARG (NULL; a bad setting in the environment, which is
 *         logged), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_config_print(FILE *stream, int help);

/** Return the text of the last error that the library detected in this thread:
 * the function or the collective, what it expected, what it found, and what to
 * change; also if CATENA_LOG_LEVEL hides the message. Every call with invalid
 * arguments or in a wrong state leaves a text, also if it returns NULL. If only
 * another rank knows why a collective has failed, the text says so. Simulated
 * ranks share the text of their thread. What catena's own thread detects
 * (CATENA_PROGRESS=thread) counts as detected in the next call.
 * @return never NULL; "" before the first error; at most 511 bytes, overwritten
 *         by the next error in this thread */
CATENA_API const char *catena_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
