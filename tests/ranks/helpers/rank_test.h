#ifndef RANK_TEST_H
#define RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

#include "oracle/call.h"
#include "oracle/layout.h"
#include "oracle/oracle.h"
#include "oracle/random.h"

/* Shared by the rank tests. All of them are suites of one program, ranks.c. */

/** Where a buffer lies. */
typedef oracle_memory_t rank_memory_t;
#define RANK_HEAP ORACLE_HEAP
#define RANK_MALLOC ORACLE_MALLOC

typedef struct rank_test {
    catena_context_t *context;
    catena_group_t *world;
    catena_place_t place;
    const char *name;     /* of the current case */
    unsigned long errors; /* of this rank, in that case */
    unsigned long failed; /* cases, so far */
    bool simulated;
    bool ended;      /* the case makes all operations fail, so it is the last */
    oracle_t oracle; /* its errors are this rank's */
    oracle_table_t *table; /* NULL: rank_table makes it */
    catena_group_t *own;   /* for the messages of the tests themselves */
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
    /** Cases that consist of many: each calls rank_dealt and rank_conclude for
     * these. They run on all layouts. Either list may be NULL. */
    const rank_case_t *many;
    int ranks;      /* minimum */
    int most;       /* maximum of a layout's ranks; 0: any */
    const char *on; /* names of its only layouts; NULL: any */
    int nodes;      /* likewise */
    bool real;      /* not simulated */
    bool simulated; /* only simulated */
    bool named;     /* runs only if named */
    bool checked;   /* only with CATENA_CHECK=on */
    bool unchecked; /* only without it */
} rank_suite_t;

/** Command line options of ranks.c. */
typedef struct rank_options {
    int layout;       /* -1: any; every case that fits runs */
    const char *only; /* part of a case's name; NULL: all */
    const char *suite;
    const char *kind; /* of collectives; NULL: all */
    const char *program;
} rank_options_t;

/** Set the members that follow from the context. */
void rank_test_open(rank_test_t *test);
void rank_test_close(rank_test_t *test);
/** Datatypes and operations of this rank. */
const oracle_table_t *rank_table(rank_test_t *test);
/** Run the selected cases of a suite. */
void rank_suite_run(rank_test_t *test, const rank_suite_t *suite);

/** For a case that consists of many: whether one of them is selected, and
 * whether this layout is among the few on which it runs. */
bool rank_wanted(const rank_test_t *test, const char *name);
bool rank_dealt(const rank_test_t *test, const char *name);
/** For a case that consists of many: report what has run since the last call as
 * one case, by this name. */
void rank_conclude(rank_test_t *test, const char *name);

/** On rank 0: a plan covers what it has to, and half of its cases do not. */
void rank_check_plan(rank_test_t *test, const oracle_plan_t *plan);

/** Allocate memory for tests, and free it. */
unsigned char *rank_take(rank_test_t *test, rank_memory_t memory, size_t bytes);
void rank_give(rank_test_t *test, rank_memory_t memory, unsigned char *block);

/** Count an error of this rank; the first one of a case is printed. */
void rank_fail(rank_test_t *test, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define RANK_CHECK(test, condition)                                            \
    do {                                                                       \
        if (!(condition)) {                                                    \
            rank_fail(test, "%s:%d: %s", __FILE__, __LINE__, #condition);      \
        }                                                                      \
    } while (0)

/** A nonblocking alltoall of so many bytes per pair, not opened yet. */
oracle_call_t rank_alltoall(rank_test_t *test, catena_group_t *group,
                            size_t bytes);
/** Blocking, checked, `times` times. */
void rank_exchange(rank_test_t *test, catena_group_t *group, size_t bytes,
                   unsigned times);

/** Ways to complete requests: waitall, testall, waitany, testany, waitsome,
 * testsome, the last first by test. */
enum { RANK_WAYS = 7 };
void rank_complete(rank_test_t *test, catena_request_t **requests, size_t count,
                   int way);

/** Whether calls are checked (CATENA_CHECK=on). */
bool rank_checks(void);

/** Do nothing for so many microseconds, in place of work. */
void rank_pause(rank_test_t *test, double microseconds);

/** RANK_TEST_SEED, or this default. */
uint64_t rank_seed(uint64_t usual);

#define rank_hash oracle_hash

#endif
