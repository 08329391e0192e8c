#ifndef ORACLE_NEIGHBORHOOD_CASE_H
#define ORACLE_NEIGHBORHOOD_CASE_H

#include "oracle/cover.h"
#include "oracle/neighborhood/neighborhood.h"

/* Cases of neighborhood collectives. */

/** The values of the factors, and their valid combinations. */
const oracle_space_t *oracle_nbr_space(void);

const char *oracle_nbr_case_algorithm(const oracle_case_t *c);
bool oracle_nbr_case_reorders(const oracle_case_t *c);
/** The graph of a case, for this number of ranks. */
void oracle_nbr_case_graph(const oracle_case_t *c, int ranks, uint64_t seed,
                           oracle_graph_t *graph);
/** The call of a case, on a neighborhood of that graph. */
oracle_nbr_call_t oracle_nbr_case_call(const oracle_case_t *c,
                                       const oracle_graph_t *graph,
                                       catena_neighborhood_t *neighborhood,
                                       const oracle_table_t *table,
                                       uint64_t seed);
void oracle_nbr_case_describe(const oracle_case_t *c, char *text, size_t bytes);

#endif
