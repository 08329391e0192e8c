#ifndef NBR_MIX_H
#define NBR_MIX_H

#include "nbr_call.h"

/** Algorithms, as catena_neighborhood_set takes them; "auto" first, NULL last.
 */
extern const char *const nbr_algorithms[];

/** Whether a neighborhood has to have it. Collective over its group. */
bool nbr_possible(rank_test_t *test, const nbr_graph_t *graph,
                  catena_neighborhood_t *neighborhood, const char *algorithm);

/** Draw a graph of that way, make a neighborhood of it, maybe in a new order,
 * and see what it tells of itself. On it all do `operations` of all kinds, by
 * any algorithm: alone, several in flight, in components each as many as it
 * likes. All follows from `seed`, the same on all ranks.
 * @param most elements of a block */
void nbr_mix(rank_test_t *test, nbr_way_t way, uint64_t seed, int operations,
             size_t most);

#endif
