#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

#include "oracle/oracle.h"
#include "oracle/random.h"

/* What the rank tests share: a program of cases, contents that say where each
 * byte comes from, and a naive reference to hold the results against. */

/** Where a buffer lies. */
typedef enum rank_memory { RANK_HEAP, RANK_MALLOC } rank_memory_t;

typedef struct rank_test {
    catena_context_t *context;
    catena_group_t *world;
    catena_place_t place;
    const char *name;     /* of the case that runs */
    unsigned long errors; /* of this rank, in that case */
    unsigned long failed; /* cases, so far */
    bool simulated;
    oracle_t oracle; /* its errors are this rank's */
} rank_test_t;

typedef struct rank_case {
    const char *name;
    void (*run)(rank_test_t *test);
} rank_case_t;

/** Run all cases, or the one named; rank 0 prints "ok - name" or "not ok -
 * name: ..." each. As a process under a launcher, or simulated:
 *     PROGRAM [CASE]
 *     PROGRAM --sim LAYOUT [CASE]
 * where LAYOUT is the number of ranks of each node, "3+1+5"; with a ':' before
 * it ranks are dealt round-robin. RANK_TEST_SEED is the seed of orders.
 * @return what main returns: 0 when all passed on this rank */
int rank_main(int argc, char **argv, const rank_case_t *cases);

/** Fill in what follows from the context. */
void rank_test_open(rank_test_t *test);

/** For a case that consists of many: count what has run since the last time as
 * one of its own, by this name; printed as others are. */
void rank_conclude(rank_test_t *test, const char *name);

/** Memory for tests, and back. */
unsigned char *rank_take(rank_test_t *test, rank_memory_t memory, size_t bytes);
void rank_give(rank_test_t *test, rank_memory_t memory, unsigned char *block);

/** Count an error of this rank; the first of a case is shown. */
void rank_fail(rank_test_t *test, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define RANK_CHECK(test, condition)                                            \
    do {                                                                       \
        if (!(condition)) {                                                    \
            rank_fail(test, "%s:%d: %s", __FILE__, __LINE__, #condition);      \
        }                                                                      \
    } while (0)

/** One alltoall with contents and guards. Blocks are `count` elements. */
typedef struct rank_exchange {
    catena_group_t *group;
    size_t count;
    catena_datatype_t type;
    rank_memory_t send_memory;
    rank_memory_t receive_memory;
    bool in_place;
    uint64_t seed; /* the contents; the same on all ranks */
    unsigned char *send;
    unsigned char *receive;
    catena_request_t *request;
} rank_exchange_t;

/** Take the buffers. */
void rank_exchange_open(rank_test_t *test, rank_exchange_t *x);
/** Fill them for `seed`. */
void rank_exchange_fill(rank_test_t *test, rank_exchange_t *x, uint64_t seed);
/** Hold what was received against the definition. */
void rank_exchange_check(rank_test_t *test, const rank_exchange_t *x,
                         const char *what);
void rank_exchange_close(rank_test_t *test, rank_exchange_t *x);
/** The send argument: the buffer or CATENA_IN_PLACE. */
const void *rank_exchange_source(const rank_exchange_t *x);

/** Ways to complete requests: all at once, by testing, in the order they are
 * done, the last first. */
enum { RANK_WAYS = 4 };
void rank_complete(rank_test_t *test, catena_request_t **requests, size_t count,
                   int way);

/** Do nothing for so many microseconds, as work would. */
void rank_pause(rank_test_t *test, double microseconds);

#define rank_random oracle_random

#endif
