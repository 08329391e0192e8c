#ifndef UNIT_NEIGHBOR_CALL_H
#define UNIT_NEIGHBOR_CALL_H

#include "neighbor_graph.h"
#include "words.h"

/* One operation on neighbors, drawn, run, and checked in every byte of its
 * buffers against what each rank is known to send. */

typedef enum neighbor_which {
    GATHER,
    GATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    REDUCEV,
    KINDS
} neighbor_which_t;

typedef struct neighbor_side {
    const list_t *list;
    bool spread;
    size_t *counts;           /* of each neighbor's block */
    ptrdiff_t *displacements; /* elements */
    ptrdiff_t *bytes_at;      /* the same in bytes */
    catena_datatype_t *types; /* of alltoallw */
    size_t words;             /* of the buffer, gaps included */
    bool shared;              /* it is in the shared heap */
    uint64_t *buffer;
} neighbor_side_t;

typedef struct neighbor_call {
    job_t *job;
    const graph_t *graph;
    catena_neighborhood_t *neighborhood;
    neighbor_which_t which;
    uint64_t salt;
    size_t count; /* of each block, or the most */
    bool in_place;
    bool sum; /* else an operation that does not commute */
    neighbor_side_t send;
    neighbor_side_t recv;
    catena_request_t *request;
} neighbor_call_t;

/** "neighbor_gather", ... */
extern const char *const neighbor_names[];

/** Draw what all ranks agree on, and what they need not; with buffers.
 * @param balanced each rank has as many sources as targets
 * @param most     words of a block */
void neighbor_draw(neighbor_call_t *call, job_t *job, const graph_t *graph,
                   catena_neighborhood_t *neighborhood, bool balanced,
                   size_t most, uint64_t *random);
void neighbor_release(neighbor_call_t *call);

/** What this rank sends. */
void neighbor_fill(neighbor_call_t *call);
/** Run it, or make call->request. Types and the operation are freed before this
 * returns. */
catena_status_t neighbor_run(neighbor_call_t *call, form_t form);
/** Compare its buffers, gaps included. */
void neighbor_check(const neighbor_call_t *call);

#endif
