#ifndef CTN_CORE_ENTRY_H
#define CTN_CORE_ENTRY_H

#include <pthread.h>
#include <stdbool.h>

#include "core/log.h"

/* The lock of the public functions. Without a progress thread (CATENA_PROGRESS)
 * there is none, and an entry costs one load. With one, each public function
 * that starts, tests, waits for, creates or frees something holds the lock
 * until it returns, and the thread holds it for each of its polls. There is one
 * lock for all contexts of the process, as types and operators belong to none.
 * It is recursive: public functions call others, and callbacks may call some.
 */

/** Whether the process has a progress thread. Changed by catena_init and
 * catena_finalize only, under the lock. */
extern bool ctn_entry_shared;

/** A thread that shares the library with those of the application. */
typedef struct ctn_entry_thread {
    struct ctn_entry_thread *next;
    /** Whether there is something to do; called with the lock held. */
    bool (*has_work)(const void *argument);
    const void *argument;
    pthread_cond_t work;
    bool asleep;
    /** What catena_last_error returns on the thread of the application that
     * takes the lock next; "": nothing new. */
    char last_error[CTN_LAST_ERROR_BYTES];
} ctn_entry_thread_t;

bool ctn_entry_lock(void);
void ctn_entry_unlock(void);
/** The process is about to end: keep the threads of the library out from now
 * on. Another thread of the application may hold the lock for long, and does
 * the same, so this waits for a while only. */
void ctn_entry_keep_out(void);

/** Register a thread. The caller holds no lock. */
void ctn_entry_add(ctn_entry_thread_t *thread);
/** Remove it. It has ended, or was never started. */
void ctn_entry_remove(ctn_entry_thread_t *thread);
/** Called by the thread, which holds the lock: rest for `rest_ns`, let threads
 * of the application in, if some wait, and take the lock again. */
void ctn_entry_let_in(long rest_ns);
/** The same: sleep until it has work, or until ctn_entry_wake. */
void ctn_entry_sleep(ctn_entry_thread_t *thread);
/** Called by a thread that holds the lock. */
void ctn_entry_wake(ctn_entry_thread_t *thread);

static inline bool ctn_entry_begin(void)
{
    return __builtin_expect(ctn_entry_shared, 0) && ctn_entry_lock();
}

static inline void ctn_entry_end(const bool *locked)
{
    if (__builtin_expect(*locked, 0)) {
        ctn_entry_unlock();
    }
}

/** The first statement of a public function: hold the lock until the function
 * returns. */
#define CTN_ENTRY                                                              \
    const bool ctn_entry_locked                                                \
        __attribute__((cleanup(ctn_entry_end), unused)) = ctn_entry_begin()

#endif
