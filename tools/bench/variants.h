#ifndef BENCH_VARIANTS_H
#define BENCH_VARIANTS_H

#include "measure.h"

/** Whether the library knows all settings that are asked for, before anything
 * is measured; rank 0 prints what it does not know. */
bool bench_settings_known(struct bench *bench,
                          const struct bench_collective *row);
/** All that are compared; ends the job when they cannot be prepared. Each
 * algorithm with each hierarchy, then the flag; with --overlap each in its
 * parts, one behind the other. Collective. */
void bench_variants_open(struct bench_run *run,
                         const struct bench_collective *row);
void bench_variants_close(struct bench_run *run);

#endif
