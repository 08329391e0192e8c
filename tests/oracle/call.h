#ifndef ORACLE_CALL_H
#define ORACLE_CALL_H

#include "oracle/case.h"
#include "oracle/side.h"

/* One call of a case: its buffers with guards around them, their expected
 * contents, and the comparison of every byte. */

typedef struct oracle_call {
    /* Set before oracle_call_open; the same on all ranks. */
    oracle_case_t c;
    catena_group_t *group;
    const oracle_table_t *table;
    size_t exactly; /* elements, overriding the case; 0: from the case */
    uint64_t shape; /* seed of lengths and positions, and of drawn types */
    size_t apart;   /* nonzero: in v variants all blocks have one length, and
                     * the gaps are this many units of displacements */
    /* A wrong count: elements that this rank sends in excess of the expected
     * number, maybe negative; in a scatter receives; in an alltoall sends to
     * rank wrong_to. */
    ptrdiff_t wrong_by;
    size_t wrong_to;
    /* Filled in by call.c. */
    oracle_view_t view;
    size_t count;  /* elements, of a block or of all */
    size_t *share; /* [size]: per rank; not for pairs */
    size_t units;  /* of an element of a reduction; all lengths are in units */
    size_t *elements;           /* [size]: elements per rank */
    oracle_function_t function; /* of `op`, if not of the table */
    catena_op_t op;             /* of a reduction */
    uint64_t seed;              /* of the contents */
    oracle_side_t send;
    oracle_side_t receive;
    catena_request_t *request;
} oracle_call_t;

/** Apply the settings of a case to the following operations of its group. */
void oracle_choose_hierarchy(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group);
void oracle_choose_algorithm(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group);
/** Allocate the buffers. */
void oracle_call_open(const oracle_t *oracle, oracle_call_t *call);
/** Fill with new contents. */
void oracle_call_fill(oracle_call_t *call, uint64_t seed);
/** Call the blocking form, or create the request, started or not, depending on
 * the mode. Releases the drawn types: the operation holds its own references.
 */
catena_status_t oracle_call_run(const oracle_t *oracle, oracle_call_t *call);
/** Compare both buffers with the definition. */
void oracle_call_check(const oracle_t *oracle, oracle_call_t *call,
                       const char *what);
/** After an error: compare everything except the received blocks. */
void oracle_call_check_around(const oracle_t *oracle, oracle_call_t *call,
                              const char *what);
void oracle_call_close(const oracle_t *oracle, oracle_call_t *call);

/** Open, execute in the case's mode `times` times with new contents, check, and
 * close. */
void oracle_call_exercise(const oracle_t *oracle, oracle_call_t *call,
                          unsigned times);

#endif
