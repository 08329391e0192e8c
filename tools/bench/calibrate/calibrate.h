#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

#include <catena/catena.h>

/** Measure this machine and write a machine file. Collective; returns an exit
 * code. Needs at least two nodes, and at least two ranks on the node of rank 0:
 * prun -n 8 --ppn 4. */
int bench_calibrate(catena_context_t *context, const char *path);

#endif
