/* The progress thread of a context. */

#include "exec/progress_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/entry.h"
#include "core/refuse.h"

enum {
    SPIN_MISSES = 20000, /* polls without progress before the thread rests */
    REST_NS = 50000
};

struct ctn_progress_thread {
    ctn_entry_thread_t entry;
    ctn_exec_t *exec;
    pthread_t thread;
    bool open; /* catena_init has ended: there may be work */
    bool stop;
};

static bool in_flight(const ctn_exec_t *exec)
{
    return exec->active != NULL && exec->status == CATENA_OK;
}

static bool has_work(const void *argument)
{
    const struct ctn_progress_thread *own = argument;
    return own->open && in_flight(own->exec);
}

static void *run(void *argument)
{
    struct ctn_progress_thread *own = argument;
    unsigned misses = 0;
    ctn_log_keep_last_error_in(own->entry.last_error);
    (void)ctn_entry_lock();
    while (!own->stop) {
        if (!has_work(own)) {
            misses = 0;
            ctn_entry_sleep(&own->entry);
            continue;
        }
        if (ctn_exec_poll(own->exec)) {
            misses = 0;
        } else {
            misses++;
            ctn_exec_pass_time(own->exec);
        }
        ctn_entry_let_in(misses > SPIN_MISSES ? REST_NS : 0);
    }
    ctn_entry_unlock();
    return NULL;
}

/** Warn if the thread has no core of its own. */
static void check_cores(const ctn_exec_t *exec)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
        CPU_COUNT(&allowed) < 2) {
        ctn_warn(exec->log,
                 "CATENA_PROGRESS=thread, but the rank may use only one "
                 "core, so that its progress thread takes time from it; bind "
                 "each rank to two cores or more, or to none (prun --bind-to "
                 "none), or set CATENA_PROGRESS=calls");
    }
}

catena_status_t ctn_progress_thread_start(ctn_exec_t *exec)
{
    struct ctn_progress_thread *own = calloc(1, sizeof(*own));
    if (own == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    check_cores(exec);
    own->exec = exec;
    own->entry.has_work = has_work;
    own->entry.argument = own;
    ctn_entry_add(&own->entry);
    /* Signals are the application's. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int wrong = pthread_create(&own->thread, NULL, run, own);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (wrong != 0) {
        ctn_entry_remove(&own->entry);
        free(own);
        return ctn_refuse(exec->log, CATENA_ERR_SYSTEM, "catena_init",
                          "cannot start a progress thread (%s); allow this "
                          "user more threads, or set CATENA_PROGRESS=calls",
                          strerror(wrong));
    }
    exec->progress_thread = own;
    return CATENA_OK;
}

void ctn_progress_thread_open(ctn_exec_t *exec)
{
    if (exec->progress_thread != NULL) {
        (void)ctn_entry_lock();
        exec->progress_thread->open = true;
        ctn_entry_unlock();
    }
}

void ctn_progress_thread_stop(ctn_exec_t *exec)
{
    struct ctn_progress_thread *own = exec->progress_thread;
    if (own == NULL) {
        return;
    }
    exec->progress_thread = NULL;
    own->stop = true;
    ctn_entry_wake(&own->entry);
    ctn_entry_unlock();
    (void)pthread_join(own->thread, NULL);
    (void)ctn_entry_lock();
    ctn_entry_remove(&own->entry);
    free(own);
}

bool ctn_progress_while_computing(void *argument)
{
    ctn_exec_t *exec = argument;
    return in_flight(exec) && ctn_exec_poll(exec);
}
