#include "neighbor/neighborhood.h"

const ctn_plan_t *ctn_neighbor_choose(const catena_neighborhood_t *neighborhood,
                                      ctn_pattern_t pattern, size_t bytes)
{
    (void)bytes;
    int wanted = neighborhood->wanted;
    const ctn_plan_t *plan =
        wanted >= 0 ? neighborhood->plan[wanted][pattern] : NULL;
    return plan != NULL ? plan : neighborhood->plan[CTN_SCHEME_DIRECT][pattern];
}
