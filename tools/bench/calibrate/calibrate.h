#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

#include <catena/catena.h>

/** Measure the machine at hand and write it as a machine file. Collective
 * over all ranks; returns an exit code. Needs two nodes or more, and two
 * ranks or more on that of rank 0: prun -n 4 --ppn 2. */
int bench_calibrate(catena_context_t *context, const char *path);

#endif
