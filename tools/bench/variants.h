#ifndef BENCH_VARIANTS_H
#define BENCH_VARIANTS_H

#include "measure.h"

/** Whether the library knows all requested settings, before anything is
 * measured; rank 0 prints the unknown ones. */
bool bench_settings_known(struct bench *bench,
                          const struct bench_collective *row);
/** Prepare all compared variants; ends the job on failure. Each algorithm with
 * each hierarchy, then the flag; with --overlap the parts of each in sequence.
 * Collective. */
void bench_variants_open(struct bench_run *run,
                         const struct bench_collective *row);
void bench_variants_close(struct bench_run *run);

#endif
