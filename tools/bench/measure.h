#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench.h"
#include "report.h"

enum { BENCH_EXPLAIN_BYTES = 512 };

/* The measured part of a variant. */
enum bench_part {
    BENCH_WHOLE,      /* the call, with its wait */
    BENCH_COMPUTE,    /* computing of the same length, alone */
    BENCH_OVERLAPPED, /* computing during the call */
    BENCH_PARTS
};

/* One of the compared variants: an algorithm of a collective, or the raw flag
 * exchange beside a barrier. */
struct bench_variant {
    const char *name;
    char *joined;          /* the name, if composed; else NULL */
    const char *algorithm; /* to set; NULL: the default */
    const char *leaders;   /* likewise */
    const char *hierarchy; /* likewise */
    enum bench_mode mode;
    enum bench_part part;
    struct bench_variant *whole; /* the variant that this is a part of, or
                                  * itself */
    double compute_s; /* of a whole: its computing time, on this rank */
    const struct bench_collective *row;
    struct bench_call call;
    catena_request_t *request; /* persistent */
    bool quick;                /* timed in batches */
    double *times;             /* seconds per call, [plan.values] */
    uint64_t errors;           /* of this size, on this rank */
    catena_sim_stats_t sent;   /* simulated: by this rank in timed calls */
    uint64_t facts[BENCH_MAX_FACTS]; /* of the last call, on this rank */
    bool reported;                   /* the first wrong byte has been reported
                                      */
    char explain[BENCH_EXPLAIN_BYTES];
};

/* The number of measurements of a size; the same on all ranks. */
struct bench_plan {
    size_t batch;  /* calls per timed value, of quick variants */
    size_t values; /* timed values per variant */
    size_t warmup; /* untimed values per variant */
    size_t block;  /* consecutive values of a variant before the next variant's
                    * turn */
    size_t rounds;
};

struct bench_run {
    struct bench *bench;
    struct bench_report *report;
    struct bench_variant *variants;
    size_t count;
    uint64_t stamp; /* number of the checked call */
    struct bench_plan plan;
};

/** Select the variant's algorithm for the following calls. */
void bench_use(struct bench_run *run, struct bench_variant *variant);
/** Fill run->plan for the current size after some practice calls. */
void bench_make_plan(struct bench_run *run);
/** Calls per timed value. */
size_t bench_batch(const struct bench_run *run,
                   const struct bench_variant *variant);
/** Measure all variants in turns; fills `times` and `sent` of each. */
void bench_measure(struct bench_run *run);

/** The ratio of `base`'s time to `variant`'s, per round, sorted; `ratios` has
 * [plan.rounds] entries. Valid on rank 0 after bench_max_times with the times
 * of both, in the order of measurement. */
void bench_ratios(const struct bench_run *run, const struct bench_variant *base,
                  const struct bench_variant *variant, double *ratios);
/** Nearest-rank percentile; `sorted` has n > 0 values. */
double bench_percentile(const double *sorted, size_t n, size_t percent);
double bench_mean(const double *times, size_t n);
double bench_median(struct bench *bench, const double *times, size_t n);

#endif
