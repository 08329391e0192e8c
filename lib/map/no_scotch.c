#include "map/map.h"

/* In the place of scotch.c where SCOTCH is not to be had. */

bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[])
{
    (void)problem;
    (void)part;
    return false;
}
