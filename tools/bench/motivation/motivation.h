#ifndef BENCH_MOTIVATION_H
#define BENCH_MOTIVATION_H

#include <stdatomic.h>

#include "bench.h"

/* Benchmarks other than collectives: the figures by which Peng, Liu and Xie
 * motivate alltoall with several leaders (section 4). */

/* One benchmark: a row of the table in table.c and a file. Its options are -m,
 * -i, -x, -c and --csv. */
struct bench_figure {
    const char *name;
    const char *help;
    size_t min; /* default sizes, bytes per block */
    size_t max;
    size_t turns; /* of all variants; default of -i, 11 or more */
    bool leaders; /* takes --leaders */
    const char *(*check)(const struct bench_options *options); /* may be NULL */
    /* Collective; returns an exit code. */
    int (*run)(struct bench *bench, const struct bench_figure *figure);
};

extern const struct bench_figure bench_gather_scatter;
extern const struct bench_figure bench_endpoints;

enum {
    FIGURE_WARMUP = 2,
    FIGURE_BYTES_MOST = 64 << 20, /* of a block */
    FIGURE_LINE_PAIR = 128        /* processors fetch cache lines in pairs */
};

/* The measured sizes and the number of turns. */
struct figure_range {
    size_t min;
    size_t max;
    size_t turns;
    size_t warmup;
};

/* Shared by the ranks of a node: the number of finished ranks, and times. */
struct figure_shared {
    _Alignas(FIGURE_LINE_PAIR) _Atomic uint64_t finished;
    _Alignas(FIGURE_LINE_PAIR) _Atomic uint64_t errors;
    struct figure_span {
        _Alignas(FIGURE_LINE_PAIR) double begin_ns;
        double end_ns;
    } span[];
};

/* The ranks of this rank's node, in order of their ranks in the world. */
struct figure_node {
    struct bench *bench;
    catena_group_t *group;
    int me;                       /* rank in `group` */
    int ranks;                    /* its size */
    int32_t *world;               /* [ranks]: ranks in the world */
    int32_t *numa;                /* [ranks]: NUMA domains, -1: not bound */
    struct figure_shared *shared; /* in the heap of rank 0 of `group` */
    uint64_t expected;            /* of shared->finished */
};

/* table.c */
const struct bench_figure *bench_find_figure(const char *name);
const struct bench_figure *bench_list_figure(size_t index); /* NULL: the end */

/* motivation.c */
struct figure_range figure_range(const struct bench *bench,
                                 const struct bench_figure *figure);
void figure_must(struct bench *bench, const char *what, catena_status_t status);
double figure_now_ns(void);
/** Sorts `values`. */
double figure_median(double *values, size_t n);
/** Median over the turns of first[i] / other[i]. A disturbance that affects
 * both in a turn cancels. */
double figure_ratio(struct bench *bench, const double *first,
                    const double *other, size_t n);

/** Collective over the world. */
void figure_node_open(struct figure_node *node, struct bench *bench);
void figure_node_close(struct figure_node *node);
/** Heap memory, touched so that its pages are local to this rank. */
void *figure_allocate(struct bench *bench, size_t bytes);
/** The addresses of each rank's `mine`, mapped here: out[ranks]. Collective
 * over the node. */
void figure_pointers(struct figure_node *node, const void *mine, void **out);
/** Report that this rank has finished its part. */
void figure_finish(struct figure_node *node, double begin_ns, double end_ns);
/** Sleep until `parts` more ranks of the node have finished. Every rank of the
 * node calls it: a waiting rank leaves the cores to working ones. */
void figure_await(struct figure_node *node, int parts);
/** From the first begin to the last end of the ranks for which took[rank] is
 * true. */
double figure_span_ns(const struct figure_node *node, const bool *took);

/** Head lines about the measurement; rank 0 prints. */
void figure_head(struct bench *bench, const struct bench_figure *figure,
                 const struct figure_range *range);
/** One line about a wrong byte, to stderr. */
void figure_report_wrong(const struct bench *bench, const char *figure,
                         size_t bytes, const struct bench_mismatch *first);

#endif
