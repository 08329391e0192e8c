#ifndef NBR_CALL_H
#define NBR_CALL_H

#include "coll_case.h"
#include "nbr_graph.h"

/* One call of a neighborhood's operation against a naive reference: what has to
 * be where afterwards is written down byte by byte, and buffers are compared as
 * a whole. */

typedef enum nbr_kind {
    NBR_GATHER,
    NBR_GATHERV,
    NBR_ALLTOALL,
    NBR_ALLTOALLV,
    NBR_ALLTOALLW,
    NBR_REDUCE,
    NBR_REDUCEV,
    NBR_KINDS
} nbr_kind_t;

typedef enum nbr_form {
    NBR_BLOCKING,
    NBR_NONBLOCKING,
    NBR_PERSISTENT,
    NBR_FORMS
} nbr_form_t;

/** A buffer, and where its blocks are. */
typedef struct nbr_side {
    rank_memory_t memory;
    unsigned char *block; /* guard, blocks, guard */
    unsigned char *image; /* what has to be in it */
    size_t bytes;
    unsigned char *base; /* what catena gets */
    size_t blocks;
    size_t *counts;
    ptrdiff_t *displacements;
    size_t *at; /* of each block in the memory */
    const coll_type_t **type;
    catena_datatype_t *types;
} nbr_side_t;

typedef struct nbr_call {
    /* The same on all ranks that edges join. */
    const nbr_graph_t *graph; /* settled for this rank */
    catena_neighborhood_t *neighborhood;
    const coll_table_t *table;
    nbr_kind_t kind;
    unsigned type;
    unsigned op;
    size_t count;   /* elements of a block; of v variants at most */
    uint64_t shape; /* seed of lengths, types and places */
    bool alike;     /* v variants: all blocks have the greatest length */
    nbr_form_t form;
    /* Of this rank's block for its target wrong_index so many elements more are
     * sent than its receiver expects; 0: it is right. */
    int wrong_index;
    size_t wrong_by;
    /* As each rank likes. */
    bool in_place;
    rank_memory_t send_memory;
    rank_memory_t receive_memory;
    /* Filled in here. */
    int rank;
    uint64_t seed; /* of the contents */
    nbr_side_t send;
    nbr_side_t receive;
    catena_request_t *request;
} nbr_call_t;

const char *nbr_kind_name(nbr_kind_t kind);

/** Draw what is the same on all ranks, blocks of up to so many elements, and
 * with `own` what is not. The graph and so on are set. */
void nbr_call_draw(nbr_call_t *call, uint64_t *random, uint64_t *own,
                   size_t most);
/** Make lengths and types fit: to be called after changes by hand. */
void nbr_call_repair(nbr_call_t *call);
/** Take the buffers. */
void nbr_call_open(rank_test_t *test, nbr_call_t *call);
/** Contents for `seed`, the same on all ranks. */
void nbr_call_fill(nbr_call_t *call, uint64_t seed);
/** Blocking, or make the request, started or not, as the form is. */
catena_status_t nbr_call_run(nbr_call_t *call);
/** Hold the buffers against the definition. */
void nbr_call_check(rank_test_t *test, const nbr_call_t *call,
                    const char *what);
void nbr_call_close(rank_test_t *test, nbr_call_t *call);

/** All of it: also waits, starts a persistent one three times. */
void nbr_call_all(rank_test_t *test, nbr_call_t *call, uint64_t seed,
                  const char *what);

#endif
