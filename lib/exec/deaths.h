#ifndef CTN_EXEC_DEATHS_H
#define CTN_EXEC_DEATHS_H

#include "exec/exec.h"

/* Deaths of processes, where failures are returned (CATENA_FAILURES=return). A
 * process counts as dead from the moment that one living process takes it for
 * dead; if it lives after all, it learns so, and its context ends.
 *
 * Ranks of the same node detect a death by a pidfd, other ranks by a broken
 * connection. So that every process is watched, a rank that waits for long
 * connects to its successor, the next living process ([Bosilca], a ring of
 * observers). A rank that learns of a death notifies all processes that it has
 * an endpoint to; these notify others ([Bosilca], reliable broadcast). Each
 * process has a table of words in its arena, one for each process; the word of
 * a dead one is not 0, and says whether it has left in order. [Bosilca]: G.
 * Bosilca, A. Bouteiller, A. Guermouche, T. Herault, Y. Robert, P. Sens, J.
 * Dongarra, A failure detector for HPC platforms, International Journal of High
 * Performance Computing Applications 32(1), 2018. */

/** What the operations of a group share: why they fail. */
struct ctn_failure {
    catena_status_t status; /* OK; else all of them end with it */
    /** Make them fail on this rank and on the others. */
    void (*fail)(ctn_failure_t *failure, catena_status_t status);
    /** Whether no other rank accesses memory of these operations any more, so
     * that they may end. Called when they have failed. */
    bool (*stopped)(ctn_failure_t *failure);
    /** Keep a text for catena_last_error: why a call fails. */
    void (*explain)(const ctn_failure_t *failure);
};

struct ctn_deaths {
    uint32_t ranks;      /* processes of the job */
    uint32_t count;      /* dead ones that this rank knows */
    uint32_t left;       /* of them, those that have left in order */
    uint64_t *table;     /* [ranks] in the arena; other ranks write it */
    uint64_t offset;     /* of the table, in every arena */
    uint8_t *dead;       /* [ranks]: 1: this rank knows */
    unsigned depth;      /* of ctn_deaths_enter */
    bool joining;        /* not all ranks have joined: a death ends the job */
    bool leaving;        /* this rank has called catena_finalize */
    bool over;           /* the last agreement has its result here: this rank
                            tells no deaths any more */
    uint8_t *closed;     /* [ranks]: 1: no message of it arrives any more */
    uint8_t *direct;     /* [ranks]: 1: connected by the network, also on the
                            node (see network_only of ctn_sequence_t) */
    uint64_t checked_ns; /* when the processes of the node were last checked */
    uint64_t successor;  /* that this rank watches; its own rank: none yet */
    /** Of the layer above: a process has died. */
    void (*died)(ctn_exec_t *exec, uint64_t process);
    /** Of the layer above: another rank has stored words of a group, and
     * set the flag `news`. */
    void (*heard)(ctn_exec_t *exec);
    /** Of the layer above: tell other ranks of groups that have failed while
     * this rank was inside: its phase is over now. */
    void (*outside)(ctn_exec_t *exec);
    bool untold;   /* there are such groups */
    void *upper;   /* what the layer above keeps here; NULL at first */
    void *retired; /* likewise */
};

/** Take what the transports report. From now on deaths are handled here.
 * @param table [ranks] zero, at the same offset in all arenas
 * @return ERR_NO_MEMORY */
catena_status_t ctn_deaths_open(ctn_exec_t *exec, uint32_t ranks,
                                uint64_t *table);
void ctn_deaths_release(ctn_exec_t *exec);

/** Before this rank may access memory of others, and after it; may be nested.
 * It handles pending news first. So a rank that has notified it of a failure,
 * and finds it outside, need not wait. */
void ctn_deaths_enter(ctn_exec_t *exec);
void ctn_deaths_exit(ctn_exec_t *exec);
/** Whether a process of the node is inside; false for other processes. */
bool ctn_is_inside(const ctn_exec_t *exec, uint64_t process);

/** Look for news of other ranks. Cheap if there are none. */
void ctn_deaths_news(ctn_exec_t *exec);
static inline void ctn_deaths_look(ctn_exec_t *exec)
{
    if (exec->deaths != NULL && exec->flags != NULL &&
        ctn_word_load(&exec->flags->news) != 0) {
        ctn_deaths_news(exec);
    }
}
/** This rank has found that a process is gone. */
void ctn_deaths_found(ctn_exec_t *exec, uint64_t process);
/** In a long wait: find out whether processes of this node have died, and
 * connect to the successor. */
void ctn_deaths_check(ctn_exec_t *exec);
/** The same in polls of a caller that does not wait: now and then. */
void ctn_deaths_check_sometimes(ctn_exec_t *exec, uint64_t now_ns);
static inline bool ctn_is_dead(const ctn_exec_t *exec, uint64_t process)
{
    return exec->deaths != NULL && exec->deaths->dead[process] != 0;
}

/** Whether this rank has an endpoint to a process. */
static inline bool ctn_is_connected(const ctn_exec_t *exec, uint64_t process)
{
    return exec->deaths->direct[process] != 0 ||
           ctn_hash_map_find(&exec->endpoints, process) != NULL;
}
/** Whether this rank can receive from a process by the network. */
static inline bool ctn_uses_network(const ctn_exec_t *exec, uint64_t process)
{
    return exec->deaths->direct[process] != 0 ||
           !ctn_exec_is_local(exec, process);
}

/** Store a word at a process, and then its flag `news`. No effect if it is
 * dead.
 * @param connect also if there is no endpoint to it yet
 * @return ERR_NO_MEMORY; OK after other errors, too: the transport reports the
 *         death */
catena_status_t ctn_deaths_notify(ctn_exec_t *exec, uint64_t process,
                                  bool connect, uint64_t word_offset,
                                  uint64_t value);

/** Why an operation fails; NULL: it cannot, except with the context. */
static inline ctn_failure_t *ctn_op_failure(const ctn_op_t *op)
{
    return op->failure != NULL    ? op->failure
           : op->sequence != NULL ? op->sequence->failure
                                  : NULL;
}

/** Free memory that peers access in operations of a group, unless they have
 * failed: then it stays until the heap is released. */
static inline void ctn_failure_free(ctn_exec_t *exec,
                                    const ctn_failure_t *failure, void *memory)
{
    if (failure == NULL || failure->status == CATENA_OK) {
        ctn_exec_free(exec, memory);
    }
}

/** Whether the operations of its group have failed, so that it must not access
 * memory of other ranks any more. For code that no phase calls. */
static inline bool ctn_op_must_stop(const ctn_op_t *op)
{
    const ctn_failure_t *failure = ctn_op_failure(op);
    return failure != NULL && failure->status != CATENA_OK;
}

#endif
