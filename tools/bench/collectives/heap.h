#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stddef.h>
#include <stdio.h>

#include <catena/catena.h>

/** Options of `catena-bench heap`; zeros mean the defaults. */
struct bench_heap_options {
    size_t iterations; /**< pairs of malloc and free in a round of small
                            blocks, default 50000; large blocks have fewer */
    int repetitions;   /**< rounds of each allocator, default 15 */
    int csv;           /**< nonzero: comma-separated values */
    FILE *output;      /**< NULL: stdout */
};

/** Compare catena_malloc and catena_free with malloc and free of the C library,
 * with one thread and two, and print a table. Local to the calling rank.
 * @return 0, or 1 with a message on stderr if memory or threads run out */
int bench_heap(catena_context_t *context,
               const struct bench_heap_options *options);

#endif
