#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench.h"
#include "report.h"

enum { BENCH_EXPLAIN_BYTES = 512 };

/* What is timed. With --overlap each variant becomes three, one for each part,
 * in this order; otherwise it is BENCH_WHOLE. */
enum bench_part {
    BENCH_WHOLE,      /* the call with its wait, without computing */
    BENCH_COMPUTE,    /* computing alone, for the time of BENCH_WHOLE */
    BENCH_OVERLAPPED, /* the same computing between the call and its wait */
    BENCH_PARTS
};

/* A variant: a collective with an algorithm, a hierarchy and a mode, or the raw
 * flag exchange that is compared with a barrier. */
struct bench_variant {
    const char *name;
    char *joined;          /* memory of `name`; NULL: `name` is static */
    const char *algorithm; /* value for catena_group_set; NULL: the default */
    const char *leaders;   /* likewise */
    const char *hierarchy; /* likewise */
    enum bench_mode mode;
    enum bench_part part;
    struct bench_variant *whole; /* the BENCH_WHOLE of this one's parts */
    double compute_s; /* in BENCH_WHOLE: for how long the other two parts
                       * compute on this rank, seconds */
    const struct bench_collective *collective;
    struct bench_call call;
    catena_request_t *request; /* of BENCH_PERSISTENT */
    bool quick;                /* a value is the mean of a batch of calls */
    double *times;             /* seconds per call, [plan.values] */
    uint64_t errors;           /* wrong bytes of this size, on this rank */
    catena_sim_stats_t sent;   /* simulated: traffic of this rank in the timed
                                * calls, all of which are in one round */
    uint64_t metrics[BENCH_MAX_METRICS]; /* of the last call, on this rank */
    bool reported; /* the first wrong byte of this size has been printed */
    char explain[BENCH_EXPLAIN_BYTES]; /* how the library executed the last
                                        * explained call; first line */
};

/* The numbers of calls of one size; the same on all ranks. */
struct bench_plan {
    size_t batch;        /* calls per timed value, of quick variants */
    size_t values;       /* timed values per variant */
    size_t warmup;       /* untimed values per variant */
    size_t round_values; /* timed values per variant and round, at most */
    size_t rounds;
};

/* The measurement of one collective in all its variants. */
struct bench_run {
    struct bench *bench;
    struct bench_report *report;
    struct bench_variant *variants;
    size_t count;   /* of variants */
    uint64_t stamp; /* number of the last checked call */
    struct bench_plan plan;
    bool fresh; /* write the send buffers before each call, as programs do;
                 * else receivers find them in their own caches */
    /* Takes the times of all variants for one size; returns the errors of all
     * ranks. Collective. */
    uint64_t (*take)(struct bench_run *run);
};

/** collectives/collective.c: measure all variants of a collective for all sizes
 * of the options, and let run->take have the times. Returns the errors. */
uint64_t bench_run_sizes(struct bench_run *run,
                         const struct bench_collective *collective);

/** Select the variant's algorithm for the following calls. */
void bench_use(struct bench_run *run, struct bench_variant *variant);
/** Fill run->plan for the current size, from the cost of some untimed calls. */
void bench_make_plan(struct bench_run *run);
/** Calls per timed value of this variant. */
size_t bench_batch(const struct bench_run *run,
                   const struct bench_variant *variant);
/** Measure all variants, round by round; fills `times` and `sent` of each. */
void bench_measure(struct bench_run *run);

/** Compute the mean time of `base` / the mean time of `variant` for each round,
 * sorted: ratios[plan.rounds]. Valid on rank 0 after bench_max_times of the
 * times of both variants; `times` must still be in the order of measurement. */
void bench_ratios(const struct bench_run *run, const struct bench_variant *base,
                  const struct bench_variant *variant, double *ratios);
/** Nearest-rank percentile; `sorted` has n > 0 values. */
double bench_percentile(const double *sorted, size_t n, size_t percent);
double bench_mean(const double *times, size_t n);
/** The median; `times` keep their order. */
double bench_median(struct bench *bench, const double *times, size_t n);

#endif
