#ifndef ORACLE_NEIGHBORHOOD_H
#define ORACLE_NEIGHBORHOOD_H

#include "oracle/neighborhood/graph.h"
#include "oracle/side.h"

/* Neighborhoods made of graphs, and one call of a neighborhood collective
 * against a naive reference: what has to be where afterwards is written down
 * byte by byte, and both buffers are compared as a whole. */

/** Make one; collective over all ranks of `group`. */
catena_status_t oracle_neighborhood_make(const oracle_graph_t *graph,
                                         catena_group_t *group,
                                         const catena_neighborhood_info_t *info,
                                         catena_neighborhood_t **neighborhood);

/** Hold what a neighborhood says of itself against the graph, which is settled
 * for this rank: sizes, lists, weights, and of grids places and shifts. */
void oracle_neighborhood_check(const oracle_t *oracle,
                               const oracle_graph_t *graph,
                               const catena_neighborhood_t *neighborhood);

/** Algorithms, as catena_neighborhood_set takes them; "auto" first. */
enum { ORACLE_NBR_ALGORITHMS = 5 };
extern const char *const oracle_nbr_algorithms[ORACLE_NBR_ALGORITHMS];

/** Whether a neighborhood has to have it. Collective over its group. */
bool oracle_nbr_has(const oracle_t *oracle, const oracle_graph_t *graph,
                    catena_neighborhood_t *neighborhood, const char *algorithm);

typedef enum oracle_nbr_kind {
    ORACLE_NBR_GATHER,
    ORACLE_NBR_GATHERV,
    ORACLE_NBR_ALLTOALL,
    ORACLE_NBR_ALLTOALLV,
    ORACLE_NBR_ALLTOALLW,
    ORACLE_NBR_REDUCE,
    ORACLE_NBR_REDUCEV,
    ORACLE_NBR_KINDS
} oracle_nbr_kind_t;

typedef enum oracle_form {
    ORACLE_FORM_BLOCKING,
    ORACLE_FORM_NONBLOCKING,
    ORACLE_FORM_PERSISTENT,
    ORACLE_FORMS
} oracle_form_t;

typedef struct oracle_nbr_call {
    /* The same on all ranks that edges join. */
    const oracle_graph_t *graph; /* settled for this rank */
    catena_neighborhood_t *neighborhood;
    const oracle_table_t *table;
    oracle_nbr_kind_t kind;
    unsigned type;
    unsigned op;
    size_t count;   /* elements of a block; of v variants at most */
    uint64_t shape; /* seed of lengths, types and places */
    bool alike;     /* v variants: all blocks have the greatest length */
    oracle_form_t form;
    /* Of this rank's block for its target wrong_index so many elements more, or
     * fewer, are sent than its receiver expects; 0: it is right. */
    int wrong_index;
    ptrdiff_t wrong_by;
    /* As each rank likes. */
    bool in_place;
    bool as_words; /* bytes are sent as words, if there are enough */
    oracle_memory_t send_memory;
    oracle_memory_t receive_memory;
    /* Filled in here. */
    int rank;
    uint64_t seed; /* of the contents */
    oracle_side_t send;
    oracle_side_t receive;
    catena_request_t *request;
} oracle_nbr_call_t;

const char *oracle_nbr_kind_name(oracle_nbr_kind_t kind);
/** A call in words. */
void oracle_nbr_describe(const oracle_nbr_call_t *call, char *text,
                         size_t bytes);

/** Draw what is the same on all ranks, blocks of up to so many elements, and
 * with `own` what is not. Graph, neighborhood and table are set. */
void oracle_nbr_draw(oracle_nbr_call_t *call, uint64_t *random, uint64_t *own,
                     size_t most);
/** Make lengths and types fit: to be called after changes by hand. */
void oracle_nbr_repair(oracle_nbr_call_t *call);
/** Take the buffers. */
void oracle_nbr_open(const oracle_t *oracle, oracle_nbr_call_t *call);
/** Contents for `seed`, the same on all ranks. */
void oracle_nbr_fill(oracle_nbr_call_t *call, uint64_t seed);
/** Blocking, or make the request, started or not, as the form is. */
catena_status_t oracle_nbr_run(oracle_nbr_call_t *call);
/** Blocking, whatever the form; a request is waited for and freed. */
catena_status_t oracle_nbr_run_to_end(oracle_nbr_call_t *call);
/** Hold the buffers against the definition. */
void oracle_nbr_check(const oracle_t *oracle, const oracle_nbr_call_t *call,
                      const char *what);
/** After an error: compare everything but the blocks that are received. */
void oracle_nbr_check_around(const oracle_t *oracle, oracle_nbr_call_t *call,
                             const char *what);
void oracle_nbr_close(const oracle_t *oracle, oracle_nbr_call_t *call);

/** All of it, three times with other contents: a call like the one before may
 * take a shorter way, and a persistent one is started again. */
void oracle_nbr_all(const oracle_t *oracle, oracle_nbr_call_t *call,
                    uint64_t seed, const char *what);

#endif
