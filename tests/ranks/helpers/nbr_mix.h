#ifndef NBR_MIX_H
#define NBR_MIX_H

#include "oracle/neighborhood/neighborhood.h"
#include "ranks/helpers/rank_test.h"

/** A neighborhood of a graph, and the arguments of calls on it. */
typedef struct nbr {
    rank_test_t *test;
    oracle_graph_t graph;
    oracle_table_t table;
    catena_neighborhood_t *neighborhood; /* NULL: this rank is outside the graph
                                          */
    uint64_t own;                        /* for values that differ by rank */
    const char *algorithm;               /* its algorithm */
} nbr_t;

/** Create a neighborhood of the graph in `nbr`, which owns the graph from now
 * on, and check its queries. @param info may be NULL */
void nbr_open(rank_test_t *test, nbr_t *nbr,
              const catena_neighborhood_info_t *info, uint64_t own);
void nbr_close(nbr_t *nbr);
/** Select an algorithm, if the neighborhood must support it. @return whether it
 * does */
bool nbr_choose(nbr_t *nbr, const char *algorithm);
/** The requested algorithm was used, if there was anything to do. */
void nbr_check_algorithm(nbr_t *nbr, const oracle_nbr_call_t *call);
/** A call on it, drawn from values that all ranks share. */
oracle_nbr_call_t nbr_draw(nbr_t *nbr, uint64_t *random, size_t most);

/** Draw a graph of that way, create a neighborhood of it, maybe reordered, and
 * check its queries. All members execute `operations` of all kinds on it by any
 * algorithm: one at a time, several in flight, and any number per component.
 * All follows from `seed`, the same on all ranks.
 * @param most elements of a block */
void nbr_mix(rank_test_t *test, oracle_graph_way_t way, uint64_t seed,
             int operations, size_t most);

#endif
