/* The lock of the public functions. */

#include "core/entry.h"

#include <sched.h>
#include <time.h>

#include "core/atomic.h"

enum {
    MOST_SPINS = 200, /* before a thread sleeps until it has the lock */
    MOST_WAIT_S = 1   /* at the end of the process */
};

bool ctn_entry_shared;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static ctn_entry_thread_t *threads;
/* Threads of the application that wait for the lock. A mutex is not fair: a
 * thread that unlocks it and locks it again would mostly keep the others out.
 */
static unsigned waiting;

void ctn_entry_wake(ctn_entry_thread_t *thread)
{
    if (thread->asleep) {
        thread->asleep = false;
        (void)pthread_cond_signal(&thread->work);
    }
}

static void take_lock(void)
{
    if (pthread_mutex_trylock(&lock) == 0) {
        return;
    }
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
    bool locked = false; /* a poll takes about a microsecond */
    for (int spins = 0; spins < MOST_SPINS && !locked; spins++) {
        ctn_pause();
        locked = pthread_mutex_trylock(&lock) == 0;
    }
    if (!locked) {
        (void)pthread_mutex_lock(&lock);
    }
    __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
}

__attribute__((cold, noinline)) bool ctn_entry_lock(void)
{
    take_lock();
    for (ctn_entry_thread_t *thread = threads; thread != NULL;
         thread = thread->next) {
        ctn_log_take_last_error(thread->last_error);
    }
    return true;
}

__attribute__((cold)) void ctn_entry_keep_out(void)
{
    struct timespec until;
    if (!ctn_entry_shared) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOST_WAIT_S;
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
    if (pthread_mutex_timedlock(&lock, &until) == 0) {
        __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
    } /* else the thread lets this one in for ever */
}

__attribute__((cold, noinline)) void ctn_entry_unlock(void)
{
    for (ctn_entry_thread_t *thread = threads; thread != NULL;
         thread = thread->next) {
        if (thread->asleep && thread->has_work(thread->argument)) {
            ctn_entry_wake(thread);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

void ctn_entry_add(ctn_entry_thread_t *thread)
{
    (void)ctn_entry_lock();
    (void)pthread_cond_init(&thread->work, NULL);
    thread->next = threads;
    threads = thread;
    ctn_entry_shared = true;
    (void)pthread_mutex_unlock(&lock);
}

void ctn_entry_remove(ctn_entry_thread_t *thread)
{
    (void)ctn_entry_lock();
    ctn_entry_thread_t **link = &threads;
    while (*link != thread) {
        link = &(*link)->next;
    }
    *link = thread->next;
    ctn_entry_shared = threads != NULL;
    (void)pthread_cond_destroy(&thread->work);
    (void)pthread_mutex_unlock(&lock);
}

void ctn_entry_let_in(long rest_ns)
{
    (void)pthread_mutex_unlock(&lock);
    if (rest_ns > 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = rest_ns}, NULL);
    }
    while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0) {
        sched_yield();
    }
    (void)pthread_mutex_lock(&lock);
}

void ctn_entry_sleep(ctn_entry_thread_t *thread)
{
    thread->asleep = true;
    while (thread->asleep) {
        (void)pthread_cond_wait(&thread->work, &lock);
    }
}
