#ifndef ORACLE_NEIGHBORHOOD_H
#define ORACLE_NEIGHBORHOOD_H

#include "core/description.h"
#include "oracle/element.h"
#include "oracle/neighborhood/graph.h"
#include "oracle/side.h"

/* Neighborhoods created from graphs, and one call of a neighborhood collective
 * against a naive reference: the expected contents are written down byte by
 * byte, and both buffers are compared as a whole. */

/** Create one; collective over all ranks of `group`. */
catena_status_t oracle_neighborhood_make(const oracle_graph_t *graph,
                                         catena_group_t *group,
                                         const catena_neighborhood_info_t *info,
                                         catena_neighborhood_t **neighborhood);

/** Compare the queries of a neighborhood with the graph, which is settled for
 * this rank: sizes, lists, weights, and for grids coordinates and shifts. */
void oracle_neighborhood_check(const oracle_t *oracle,
                               const oracle_graph_t *graph,
                               const catena_neighborhood_t *neighborhood);

/** Algorithms for catena_neighborhood_set; "auto" first. */
enum { ORACLE_NBR_ALGORITHMS = 5 };
extern const char *const oracle_nbr_algorithms[ORACLE_NBR_ALGORITHMS];

/** Whether a neighborhood must support the algorithm. Collective over its
 * group. */
bool oracle_nbr_has(const oracle_t *oracle, const oracle_graph_t *graph,
                    catena_neighborhood_t *neighborhood, const char *algorithm);

typedef enum oracle_nbr_kind {
#define CTN_NEIGHBOR(NAME, ...) ORACLE_##NAME,
#include "core/calls.def"
    ORACLE_NBR_KINDS
} oracle_nbr_kind_t;

typedef enum oracle_form {
    ORACLE_FORM_BLOCKING,
    ORACLE_FORM_NONBLOCKING,
    ORACLE_FORM_PERSISTENT,
    ORACLE_FORMS
} oracle_form_t;

typedef struct oracle_nbr_call {
    /* The same on all connected ranks. */
    const oracle_graph_t *graph; /* settled for this rank */
    catena_neighborhood_t *neighborhood;
    const oracle_table_t *table;
    oracle_nbr_kind_t kind;
    unsigned type;
    unsigned op;
    unsigned element; /* oracle_element_t; of reductions */
    size_t count;     /* elements of a block, or their units; in v variants the
                         maximum */
    uint64_t shape;   /* seed of lengths, types and positions */
    bool uniform;     /* v variants: all blocks have the greatest length */
    oracle_form_t form;
    /* Excess of elements that this rank sends to its target wrong_index over
     * its receiver's expectation, maybe negative; 0: correct. */
    int wrong_index;
    ptrdiff_t wrong_by;
    /* Independent on each rank. */
    bool in_place;
    bool as_words; /* bytes are sent as words, if there are enough */
    oracle_memory_t send_memory;
    oracle_memory_t receive_memory;
    /* Filled in by neighborhood.c. */
    int rank;
    uint64_t seed; /* of the contents */
    size_t units;  /* of an element of a reduction */
    oracle_side_t send;
    oracle_side_t receive;
    oracle_function_t function; /* of `own_op` */
    catena_op_t own_op;         /* NULL: the table's */
    catena_request_t *request;
} oracle_nbr_call_t;

const ctn_description_t *oracle_nbr_kind(unsigned kind);
/** Describe a call in words. */
void oracle_nbr_describe(const oracle_nbr_call_t *call, char *text,
                         size_t bytes);

/** Draw the values that are the same on all ranks, with blocks of at most so
 * many elements, and with `own` the values of this rank. Graph, neighborhood
 * and table are set. */
void oracle_nbr_draw(oracle_nbr_call_t *call, uint64_t *random, uint64_t *own,
                     size_t most);
/** Make lengths and types consistent: call it after manual changes. */
void oracle_nbr_repair(oracle_nbr_call_t *call);
/** Allocate the buffers. */
void oracle_nbr_open(const oracle_t *oracle, oracle_nbr_call_t *call);
/** Contents for `seed`, the same on all ranks. */
void oracle_nbr_fill(oracle_nbr_call_t *call, uint64_t seed);
/** Call the blocking form, or create the request, started or not, depending on
 * the form. */
catena_status_t oracle_nbr_run(oracle_nbr_call_t *call);
/** Complete the call in any form; waits for a request and frees it. */
catena_status_t oracle_nbr_run_to_end(oracle_nbr_call_t *call);
/** Compare the buffers with the definition. */
void oracle_nbr_check(const oracle_t *oracle, const oracle_nbr_call_t *call,
                      const char *what);
/** After an error: compare everything except the received blocks. */
void oracle_nbr_check_around(const oracle_t *oracle, oracle_nbr_call_t *call,
                             const char *what);
/** Free its types and its operation, as a caller may before it completes. */
void oracle_nbr_release(const oracle_t *oracle, oracle_nbr_call_t *call);
void oracle_nbr_close(const oracle_t *oracle, oracle_nbr_call_t *call);

/** The whole sequence, three times with new contents: a repeated call may take
 * a shorter path, and a persistent one is restarted. */
void oracle_nbr_all(const oracle_t *oracle, oracle_nbr_call_t *call,
                    uint64_t seed, const char *what);

#endif
