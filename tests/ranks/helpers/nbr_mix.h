#ifndef NBR_MIX_H
#define NBR_MIX_H

#include "oracle/neighborhood/neighborhood.h"
#include "ranks/helpers/rank_test.h"

/** A neighborhood of a graph, and what calls on it take. */
typedef struct nbr {
    rank_test_t *test;
    oracle_graph_t graph;
    oracle_table_t table;
    catena_neighborhood_t *neighborhood; /* NULL: this rank is beyond it */
    uint64_t own;          /* for what each rank does as it likes */
    const char *algorithm; /* that it goes by */
} nbr_t;

/** Make a neighborhood of the graph in it, whose owner this is from now on, and
 * see what it says of itself. @param info may be NULL */
void nbr_open(rank_test_t *test, nbr_t *nbr,
              const catena_neighborhood_info_t *info, uint64_t own);
void nbr_close(nbr_t *nbr);
/** Go by an algorithm, if it has to have it. @return whether it has */
bool nbr_choose(nbr_t *nbr, const char *algorithm);
/** What was asked for was done, where there was something to do. */
void nbr_check_algorithm(nbr_t *nbr, const oracle_nbr_call_t *call);
/** A call on it, drawn by what all ranks share. */
oracle_nbr_call_t nbr_draw(nbr_t *nbr, uint64_t *random, size_t most);

/** Draw a graph of that way, make a neighborhood of it, maybe in a new order,
 * and see what it says of itself. On it all do `operations` of all kinds, by
 * any algorithm: alone, several in flight, in components each as many as it
 * likes. All follows from `seed`, the same on all ranks.
 * @param most elements of a block */
void nbr_mix(rank_test_t *test, oracle_graph_way_t way, uint64_t seed,
             int operations, size_t most);

/** Whether messages without data are sent, too (CATENA_CHECK=on). */
bool nbr_checks(void);

#endif
