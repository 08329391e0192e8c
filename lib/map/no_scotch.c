/* Compiled in place of scotch.c if catena is built without SCOTCH. */

#include "map/map.h"

bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[])
{
    (void)problem;
    (void)part;
    return false;
}
