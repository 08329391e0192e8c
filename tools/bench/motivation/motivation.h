#ifndef BENCH_MOTIVATION_H
#define BENCH_MOTIVATION_H

#include <stdatomic.h>

#include "bench.h"
#include "report.h"

/* Benchmarks that reproduce the figures by which [Peng], section 4, motivates
 * alltoall with several leaders. They measure no collective.
 *
 * A variant is a number of leaders or of endpoints. A turn is one timed run of
 * a variant; the variants take turns, so turn i of all variants is measured in
 * short succession. */

/* A benchmark of such a figure; table.c lists all. It takes the options -m, -i,
 * -x, -c, --csv and --json. */
struct bench_figure {
    const char *name;
    const char *help;
    size_t min; /* default sizes, bytes per block */
    size_t max;
    size_t turns; /* of each variant: the default of -i */
    bool leaders; /* takes --leaders */
    /* Returns the error in --leaders, or NULL. May be NULL. */
    const char *(*check)(const struct bench_options *options);
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
    size_t min; /* bytes per block */
    size_t max;
    size_t turns;  /* of each variant and size */
    size_t warmup; /* untimed turns before */
};

/* Memory that the ranks of a node share. */
struct figure_shared {
    _Alignas(FIGURE_LINE_PAIR) _Atomic uint64_t finished; /* calls of
                                                           * figure_finish */
    _Alignas(FIGURE_LINE_PAIR) _Atomic uint64_t errors;   /* wrong bytes */
    struct figure_interval { /* of each rank: its part of the last turn */
        _Alignas(FIGURE_LINE_PAIR) double begin_ns;
        double end_ns;
    } interval[];
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
    uint64_t expected; /* value of shared->finished when all ranks that take
                        * part in the turns so far have finished */
};

/* table.c */
/** The benchmark of this name; NULL: none. */
const struct bench_figure *bench_find_figure(const char *name);
/** The benchmark at this place of the table; NULL: behind the last one. */
const struct bench_figure *bench_list_figure(size_t index);

/* motivation.c */

/** From the options, or the benchmark's defaults. */
struct figure_range figure_range(const struct bench *bench,
                                 const struct bench_figure *figure);
/** End the job unless `status` is OK; `what` has failed. */
void figure_must(struct bench *bench, const char *what, catena_status_t status);
double figure_now_ns(void);
/** The median; sorts `values`. */
double figure_median(double *values, size_t n);
/** Median over the n turns of first[i] / other[i]. Other load in a turn affects
 * both times, so it hardly changes their ratio. */
double figure_ratio(struct bench *bench, const double *first,
                    const double *other, size_t n);

/** Set `node`. Collective over the world. */
void figure_node_open(struct figure_node *node, struct bench *bench);
void figure_node_close(struct figure_node *node);
/** Memory of the shared heap, zeroed so that its pages are in this rank's NUMA
 * domain. */
void *figure_allocate(struct bench *bench, size_t bytes);
/** Exchange addresses of memory in the shared heap: out[i] is `mine` of rank i
 * of the node, as an address in this process. Collective over the node. */
void figure_pointers(struct figure_node *node, const void *mine, void **out);
/** Record when this rank began and ended its part of a turn. */
void figure_finish(struct figure_node *node, double begin_ns, double end_ns);
/** Sleep until the `parts` ranks of the node that take part in a turn have
 * finished. All ranks of the node call it; sleeping ranks leave the cores to
 * those that take part. */
void figure_await(struct figure_node *node, int parts);
/** Time from the first begin to the last end among the ranks that took part:
 * takes_part[ranks]. */
double figure_elapsed_ns(const struct figure_node *node,
                         const bool *takes_part);

/** Open a report with the layout, the network and the buffers. Collective. */
void figure_report_open(struct bench_report *report, struct bench *bench,
                        const struct bench_figure *figure,
                        const struct figure_range *range);
/** Print a line about a wrong byte to stderr. */
void figure_report_wrong(const struct bench *bench, const char *figure,
                         size_t bytes, const struct bench_mismatch *first);

#endif
