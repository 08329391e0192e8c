#ifndef ORACLE_CALL_H
#define ORACLE_CALL_H

#include "oracle/case.h"
#include "oracle/side.h"

/* One call of a case: its buffers with guards around them, what has to be in
 * them afterwards, and the comparison of every byte. */

typedef struct oracle_call {
    /* Set before oracle_call_open; the same on all ranks. */
    oracle_case_t c;
    catena_group_t *group;
    const oracle_table_t *table;
    size_t exactly; /* elements, whatever the case says; 0: as it says */
    uint64_t shape; /* of lengths and places, and of types that are drawn */
    size_t apart;   /* not 0: in v variants all blocks have one length, and gaps
                       of so many units of displacements */
    /* A wrong count: elements that this rank sends more, or fewer, than others
     * expect; in a scatter receives; in an alltoall sends to rank wrong_to. */
    ptrdiff_t wrong_by;
    size_t wrong_to;
    /* Filled here. */
    oracle_view_t view;
    size_t count;  /* elements, of a block or of all */
    size_t *share; /* [size]: of each rank; not for pairs */
    uint64_t seed; /* of the contents */
    oracle_side_t send;
    oracle_side_t receive;
    catena_request_t *request;
} oracle_call_t;

/** The settings of a case for its group's operations from now on. */
void oracle_choose_hierarchy(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group);
void oracle_choose_algorithm(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group);
/** Take the buffers. */
void oracle_call_open(const oracle_t *oracle, oracle_call_t *call);
/** Other contents. */
void oracle_call_fill(oracle_call_t *call, uint64_t seed);
/** Blocking, or make the request, started or not, as the mode is. Types that
 * were drawn are given up: the operation keeps what it needs. */
catena_status_t oracle_call_run(const oracle_t *oracle, oracle_call_t *call);
/** Hold both buffers against the definition. */
void oracle_call_check(const oracle_t *oracle, oracle_call_t *call,
                       const char *what);
/** After an error: compare everything but the blocks that are received. */
void oracle_call_check_around(const oracle_t *oracle, oracle_call_t *call,
                              const char *what);
void oracle_call_close(const oracle_t *oracle, oracle_call_t *call);

/** Open, run in the case's mode `times` times with other contents, check, and
 * close. */
void oracle_call_exercise(const oracle_t *oracle, oracle_call_t *call,
                          unsigned times);

#endif
