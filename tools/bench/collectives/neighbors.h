#ifndef BENCH_NEIGHBORS_H
#define BENCH_NEIGHBORS_H

#include "bench.h"

/* Functions of struct bench_collective that all neighborhood collectives share,
 * and their state. */

/* This rank's edges to its targets, or from its sources, in the order of the
 * blocks: [number] of each member of struct bench_end. */
struct bench_ends {
    int number;
    int *ranks;
    int *labels;
    int *weights;
};

/* call->state of a neighborhood collective */
struct bench_neighbors {
    struct bench_graph graph;
    catena_neighborhood_t *neighborhood;
    struct bench_ends targets;
    struct bench_ends sources;
    struct bench_ends present; /* sources, without CATENA_PROC_NULL */
};

/** The state of the call. */
static inline const struct bench_neighbors *
bench_neighbors(const struct bench_call *call)
{
    return call->state;
}

extern const struct bench_metric bench_neighbor_metrics[];

/* Members of struct bench_collective; see there. */
const char *bench_neighbors_check(const struct bench_options *options,
                                  const char **found);
const char *bench_neighbors_refuse(const struct bench *bench);
catena_status_t bench_neighbors_prepare(struct bench_call *call);
void bench_neighbors_release(struct bench_call *call);
void bench_neighbors_describe(const struct bench_call *call,
                              struct bench_report *report);
catena_status_t bench_neighbors_explain(const struct bench_call *call,
                                        char *text, size_t bytes);
catena_status_t bench_neighbors_finish(struct bench_call *call,
                                       uint64_t *metrics);

#endif
