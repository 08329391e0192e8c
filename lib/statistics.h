#ifndef CTN_STATISTICS_H
#define CTN_STATISTICS_H

#include "context.h"

/* CATENA_STATS: rank 0 collects what the ranks have counted of their calls, and
 * prints it. */

/** All ranks call this in finalize, if one of them does. A rank that has failed
 * leaves it to the others. */
void ctn_statistics_print(const catena_context_t *context);

#endif
