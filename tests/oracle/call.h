#ifndef ORACLE_CALL_H
#define ORACLE_CALL_H

#include "oracle/case.h"
#include "oracle/type.h"

/* One call of a case: its buffers with guards around them, what has to be in
 * them afterwards, and the comparison of every byte. */

enum { ORACLE_OWN_TYPES = 12 };

/** A buffer, and where its blocks are. */
typedef struct oracle_side {
    oracle_memory_t memory;
    unsigned char *block; /* what was taken: guard, data, guard */
    unsigned char *image; /* what has to be in it */
    size_t bytes;
    unsigned char *base; /* what catena gets; NULL: no data */
    ptrdiff_t origin;    /* of the base in the block */
    bool there;          /* else the call gets CATENA_IN_PLACE, or NULL */
    oracle_type_t drawn[ORACLE_OWN_TYPES];
    unsigned drawings;
    /* [blocks]; as catena gets them, but for `type` and `place`: */
    size_t blocks;
    const oracle_type_t **type;
    ptrdiff_t *place; /* in bytes from the base */
    size_t *counts;
    ptrdiff_t *displacements;
    catena_datatype_t *types;
} oracle_side_t;

typedef struct oracle_call {
    /* Set before oracle_call_open; the same on all ranks. */
    oracle_case_t c;
    catena_group_t *group;
    const oracle_table_t *table;
    size_t exactly; /* elements, whatever the case says; 0: as it says */
    uint64_t shape; /* of lengths and places, and of types that are drawn */
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
void oracle_call_close(const oracle_t *oracle, oracle_call_t *call);

/** Open, run in the case's mode `times` times with other contents, check, and
 * close. */
void oracle_call_exercise(const oracle_t *oracle, oracle_call_t *call,
                          unsigned times);

#endif
