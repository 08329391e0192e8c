#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stddef.h>

#include <catena/catena.h>

#include "rows.h"

enum { BENCH_HEAP_ITERATIONS = 50000 };

/** Compare catena_malloc and catena_free with malloc and free of the C library,
 * with one thread and two, and print a table. Local to the calling rank.
 * @param iterations pairs of malloc and free in a round of small blocks; large
 *                   blocks have fewer
 * @return 0, or 1 with a message on stderr if memory or threads run out */
int bench_heap(catena_context_t *context, enum bench_format format,
               size_t iterations);

#endif
