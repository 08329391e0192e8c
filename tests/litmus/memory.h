#ifndef LITMUS_MEMORY_H
#define LITMUS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A model checker for C11 atomics: it runs a few threads of a program in all
 * executions that the memory model allows, and detects data races, failed
 * assertions and deadlocks.
 *
 * Code under test includes litmus/atomics.h first, which redirects its atomic
 * accesses to the functions below. An atomic object is a list of messages in
 * modification order. The view of a thread has, for each object, the oldest
 * message that the thread may still read. A release store carries the view of
 * its thread; an acquire load that reads it joins this view to its own. A
 * seq_cst access also uses and advances a common view of its object, a seq_cst
 * fence that of all objects. These are the rules of RC11 (O. Lahav et al.,
 * Repairing sequential consistency in C/C++11, PLDI 2017) as an operational
 * semantics (J. Kang et al., A promising semantics for relaxed-memory
 * concurrency, POPL 2017) without promises: a load never reads from a store
 * that has not been executed yet, so there is no load buffering. A seq_cst load
 * also orders the relaxed store that it reads, which RC11 leaves open. Release
 * sequences are those of C++20: read-modify-write operations only.
 *
 * The executions are enumerated by running the program again with other
 * choices: which thread makes the next access, which message a load reads, and
 * where in the modification order a store comes. Accesses of different objects
 * commute (sleep sets). */

enum { LITMUS_THREADS = 4 };

typedef struct litmus {
    const char *name;
    void (*begin)(void); /* before each execution: initial values */
    void (*thread[LITMUS_THREADS])(void);
    void (*end)(void); /* after it; or NULL */
} litmus_t;

/** Memory orders to ignore, to see that a program needs them. */
typedef enum litmus_weaker {
    LITMUS_AS_WRITTEN,
    LITMUS_NO_RELEASE, /* release is relaxed, acq_rel is acquire */
    LITMUS_NO_ACQUIRE, /* acquire is relaxed, acq_rel is release */
    LITMUS_NO_SEQ_CST  /* seq_cst is acq_rel; no fences, no membarrier */
} litmus_weaker_t;

typedef struct litmus_result {
    uint64_t executions;
    bool all;            /* within the limit */
    const char *failure; /* the first one; NULL: none */
    unsigned seen;       /* of litmus_saw */
} litmus_result_t;

/** Run all executions, up to the first that fails. */
litmus_result_t litmus_run(const litmus_t *program, litmus_weaker_t weaker,
                           uint64_t limit);

/* ---- for programs ---- */

/** An access of memory that is not atomic. `what` names it in a data race. */
void litmus_plain_write(void *object, uint64_t value, const char *what);
uint64_t litmus_plain_read(void *object, const char *what);
/** Note an outcome: a bit. */
void litmus_saw(unsigned outcome);
void litmus_require(bool condition, const char *what);
/** The thread polls: it waits until there is a newer message of the object that
 * it loaded last. */
void litmus_yield(void);
/** The number of the thread that runs. */
int litmus_thread(void);

/* ---- for litmus/atomics.h ---- */

uint64_t litmus_load(const void *object, size_t bytes, int order);
void litmus_store(void *object, size_t bytes, uint64_t value, int order);
uint64_t litmus_exchange(void *object, size_t bytes, uint64_t value, int order);
/** @return the value before */
uint64_t litmus_add(void *object, size_t bytes, uint64_t value, int order);
bool litmus_compare_exchange(void *object, size_t bytes, uint64_t *expected,
                             uint64_t value, int order, int failure);
void litmus_fence(int order);
/** membarrier(2): a fence in all threads. */
void litmus_membarrier(void);

#endif
