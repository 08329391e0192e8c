#include "map/map.h"

/* Compiled in place of scotch.c if SCOTCH is not available. */

bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[])
{
    (void)problem;
    (void)part;
    return false;
}
