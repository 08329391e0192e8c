#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

#include "oracle/call.h"
#include "oracle/oracle.h"
#include "oracle/random.h"

/* What the rank tests share. All of them are suites of one program, ranks.c. */

/** Where a buffer lies. */
typedef oracle_memory_t rank_memory_t;
#define RANK_HEAP ORACLE_HEAP
#define RANK_MALLOC ORACLE_MALLOC

typedef struct rank_test {
    catena_context_t *context;
    catena_group_t *world;
    catena_place_t place;
    const char *name;     /* of the case that runs */
    unsigned long errors; /* of this rank, in that case */
    unsigned long failed; /* cases, so far */
    bool simulated;
    bool ended; /* all operations fail, as the case wants it: it is the last */
    oracle_t oracle;       /* its errors are this rank's */
    oracle_table_t *table; /* NULL: rank_table makes it */
    catena_group_t *own;   /* for what the tests have to say themselves */
    const struct rank_suite *suite;
    const struct rank_options *options;
} rank_test_t;

typedef struct rank_case {
    const char *name;
    void (*run)(rank_test_t *test);
} rank_case_t;

/** Cases of a file, ended by one without a name: `const rank_suite_t
 * rank_suite_NAME`, and NAME in meson.build. */
typedef struct rank_suite {
    const char *name;
    const rank_case_t *cases;
    /** Cases that consist of many: each asks rank_dealt and says rank_conclude
     * for these. They run on all layouts. Either list may be NULL. */
    const rank_case_t *many;
    int ranks;      /* so many at least */
    int most;       /* layouts of more are not for it; 0: any */
    const char *on; /* names of the only layouts for it; NULL: any */
    int nodes;      /* likewise */
    bool real;      /* not simulated */
    bool simulated; /* only simulated */
    bool named;     /* runs only where it is named */
} rank_suite_t;

/** What ranks.c was called with. */
typedef struct rank_options {
    int layout;       /* -1: whatever this one is; all that fits runs */
    const char *only; /* part of a case's name; NULL: all */
    const char *suite;
    const char *kind; /* of collectives; NULL: all */
    const char *program;
} rank_options_t;

/** Fill in what follows from the context. */
void rank_test_open(rank_test_t *test);
void rank_test_close(rank_test_t *test);
/** Datatypes and operations of this rank. */
const oracle_table_t *rank_table(rank_test_t *test);
/** Run what the options want of a suite. */
void rank_suite_run(rank_test_t *test, const rank_suite_t *suite);

/** For a case that consists of many: whether one of them is to run, and whether
 * this is also one of the few layouts on which it runs. */
bool rank_wanted(const rank_test_t *test, const char *name);
bool rank_dealt(const rank_test_t *test, const char *name);
/** For a case that consists of many: count what has run since the last time as
 * one of its own, by this name. */
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

/** A nonblocking alltoall of so many bytes for each pair, not opened yet. */
oracle_call_t rank_alltoall(rank_test_t *test, catena_group_t *group,
                            size_t bytes);
/** Blocking, checked, `times` times. */
void rank_exchange(rank_test_t *test, catena_group_t *group, size_t bytes,
                   unsigned times);

/** Ways to complete requests: all at once, by testing, in the order they are
 * done, the last first. */
enum { RANK_WAYS = 4 };
void rank_complete(rank_test_t *test, catena_request_t **requests, size_t count,
                   int way);

/** Do nothing for so many microseconds, as work would. */
void rank_pause(rank_test_t *test, double microseconds);

/** RANK_TEST_SEED, or this. */
uint64_t rank_seed(uint64_t usual);

#define rank_random oracle_random
#define rank_hash oracle_hash

#endif
