#ifndef UNIT_VECTOR_CALL_H
#define UNIT_VECTOR_CALL_H

#include "words.h"

/* One collective of whole vectors, drawn, run, and checked in every byte of
 * its receive buffer against what each rank is known to give. */

/** x -> a x + b: combining them in order is associative and does not commute,
 * and no rank's part is lost. */
typedef struct vector_map {
    uint32_t a;
    uint32_t b;
} vector_map_t;

/** Of two maps; counts its calls at `argument`, a uint64_t. */
void vector_combine(const void *in, void *inout, size_t count,
                    catena_datatype_t type, void *argument);

typedef enum vector_which {
    BCAST,
    REDUCE,
    ALLREDUCE,
    SCAN,
    EXSCAN,
    KINDS
} vector_which_t;

typedef struct vector_call {
    job_t *job;
    catena_group_t *group;
    uint32_t rank; /* in it */
    uint32_t size;
    vector_which_t which;
    uint64_t salt;
    size_t count;
    uint32_t root;
    bool in_place;
    bool sum;    /* else the operation that does not commute */
    bool spread; /* bcast: elements with gaps between them */
    uint64_t combined;
    vector_map_t *send;
    vector_map_t *recv;
    catena_request_t *request;
} vector_call_t;

/** So many calls, each with a buffer in the shared heap and one elsewhere. */
vector_call_t *vector_calls_new(job_t *job, catena_group_t *const *groups,
                                size_t count);
void vector_calls_free(vector_call_t *calls, size_t count);

/** Draw what all ranks of the group agree on, and what they need not. */
void vector_draw(vector_call_t *call, uint64_t *random);
/** This rank's part where it is read; something else everywhere else. */
void vector_fill(vector_call_t *call);
/** Fill the buffers, and run it or make call->request. The type and the
 * operation are freed before this returns. */
void vector_start(vector_call_t *call, form_t form);
void vector_check(const vector_call_t *call);

#endif
