/* The lock of the public functions: what a thread of the library leaves to
 * those of the application, and the end of the process. */

#include <catena/context.h>
#include <string.h>

#include "core/entry.h"

#include "unit/unit.h"

static bool never(const void *argument)
{
    (void)argument;
    return false;
}

static ctn_entry_thread_t thread = {.has_work = never};
static pthread_barrier_t turn;

/** A thread of the library that detects an error. */
static void *detect(void *argument)
{
    const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = -1};
    (void)argument;
    ctn_log_keep_last_error_in(thread.last_error);
    (void)ctn_entry_lock();
    ctn_error(&quiet, "of the library's thread");
    ctn_entry_unlock();
    return NULL;
}

/* The error is that of the thread which takes the lock next, not before. */
START_TEST(next_call_takes_last_error)
{
    pthread_t other;
    const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = -1};
    ctn_error(&quiet, "of this thread");
    ctn_entry_add(&thread);
    ck_assert_int_eq(pthread_create(&other, NULL, detect, NULL), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_str_eq(catena_last_error(), "of this thread");
    bool locked = ctn_entry_begin();
    ck_assert(locked);
    ck_assert_str_eq(catena_last_error(), "of the library's thread");
    ctn_error(&quiet, "a later one");
    ctn_entry_end(&locked);
    locked = ctn_entry_begin();
    ck_assert_str_eq(catena_last_error(), "a later one");
    ctn_entry_end(&locked);
    ctn_entry_remove(&thread);
    ck_assert(!ctn_entry_begin());
}
END_TEST

/** A thread of the application that blocks in a call. */
static void *hold(void *argument)
{
    (void)argument;
    (void)ctn_entry_lock();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    ctn_entry_unlock();
    return NULL;
}

/* An abort does not wait for it. */
START_TEST(end_waits_for_no_call)
{
    pthread_t other;
    ck_assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    ctn_entry_add(&thread);
    ck_assert_int_eq(pthread_create(&other, NULL, hold, NULL), 0);
    pthread_barrier_wait(&turn);
    ctn_entry_keep_out();
    pthread_barrier_wait(&turn);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ctn_entry_remove(&thread);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, next_call_takes_last_error);
    tcase_add_test(tcase, end_waits_for_no_call);
}

UNIT_TEST(entry)
{
    return unit_main("entry", 60, add_cases);
}
