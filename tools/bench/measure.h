#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench.h"
#include "report.h"

enum { BENCH_EXPLAIN_BYTES = 512 };

/* What of a variant is measured. */
enum bench_part {
    BENCH_WHOLE,      /* the call, with its wait */
    BENCH_COMPUTE,    /* computing for as long, alone */
    BENCH_OVERLAPPED, /* the same with the call under way */
    BENCH_PARTS
};

/* One of the ways that are compared: an algorithm of a collective, or the
 * raw flag exchange beside a barrier. */
struct bench_variant {
    const char *name;
    char *joined;          /* the name, if made of several; else NULL */
    const char *algorithm; /* to set; NULL: leave it */
    const char *leaders;   /* likewise */
    const char *hierarchy; /* likewise */
    enum bench_mode mode;
    enum bench_part part;
    struct bench_variant *whole; /* the one that this is a part of, or itself */
    double compute_s;            /* of a whole: how long it takes, on this rank
                                  */
    const struct bench_collective *row;
    struct bench_call call;
    catena_request_t *request; /* persistent */
    bool quick;                /* timed in batches */
    double *times;             /* seconds per call, [plan.values] */
    uint64_t errors;           /* of this size, on this rank */
    catena_sim_stats_t sent;   /* simulated: by this rank in timed calls */
    uint64_t facts[BENCH_MAX_FACTS]; /* of the last call, on this rank */
    bool complained;                 /* the first wrong byte was named */
    char explain[BENCH_EXPLAIN_BYTES];
};

/* How often a size is measured; the same on all ranks. */
struct bench_plan {
    size_t batch;  /* calls per timed value, of quick variants */
    size_t values; /* timed values per variant */
    size_t warmup; /* untimed values per variant */
    size_t block;  /* values of a variant before the next has its turn */
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

/** Choose the variant's algorithm for the calls that follow. */
void bench_use(struct bench_run *run, struct bench_variant *variant);
/** Fill run->plan for the present size after some calls for practice. */
void bench_make_plan(struct bench_run *run);
/** Calls per timed value. */
size_t bench_batch(const struct bench_run *run,
                   const struct bench_variant *variant);
/** Measure all variants in turns; fills their `times` and `sent`. */
void bench_measure(struct bench_run *run);

/** How many times as long `base` took as `variant`, round by round, sorted;
 * `ratios` has room for [plan.rounds]. Valid on rank 0 once bench_max_times was
 * done with the times of both, in the order in which they were measured. */
void bench_ratios(const struct bench_run *run, const struct bench_variant *base,
                  const struct bench_variant *variant, double *ratios);
/** Nearest rank; `sorted` has n > 0 values. */
double bench_percentile(const double *sorted, size_t n, size_t percent);
double bench_mean(const double *times, size_t n);
double bench_median(struct bench *bench, const double *times, size_t n);

#endif
