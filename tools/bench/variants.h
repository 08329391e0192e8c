#ifndef BENCH_VARIANTS_H
#define BENCH_VARIANTS_H

#include "measure.h"

/** Whether the library accepts the algorithms, hierarchies and leaders of the
 * options; rank 0 prints the first that it refuses. */
bool bench_settings_known(struct bench *bench,
                          const struct bench_collective *collective);
/** Prepare the variants: each algorithm with each hierarchy and each mode, then
 * the raw flag exchange, if requested. With --overlap the parts of a variant
 * follow each other. Collective; ends the job on failure. */
void bench_variants_open(struct bench_run *run,
                         const struct bench_collective *collective);
void bench_variants_close(struct bench_run *run);

#endif
