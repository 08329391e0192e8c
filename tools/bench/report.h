#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench.h"
#include "rows.h"

enum { BENCH_MAX_COLUMNS = 24 + BENCH_MAX_METRICS };

/* Destination of results and notes: text, comma-separated values, or one JSON
 * document. Only rank 0 prints; all ranks may call the functions. */
struct bench_report {
    struct bench *bench;                       /* NULL: no ranks are measured */
    const struct bench_collective *collective; /* NULL: none is measured */
    enum bench_format format;
    bool several;  /* several variants: print their names and ratios */
    bool prints;   /* this is rank 0 */
    bool started;  /* the column names have been printed */
    bool progress; /* stderr is a terminal: show progress on rank 0 */
    struct bench_column columns[BENCH_MAX_COLUMNS];
    size_t count;            /* of columns */
    struct json_t *document; /* NULL: a table or CSV */
    struct json_t *notes;    /* array in `document` */
    struct json_t *results;  /* array in `document` */
};

/* The result of one variant for one size; complete on rank 0. */
struct bench_result {
    const char *variant; /* its name */
    const char *explain; /* how the library executed it */
    size_t bytes;        /* per block */
    double avg_us;       /* largest mean of a rank */
    double median_us;    /* mean of the ranks' medians */
    double min_us;       /* of any rank and iteration */
    double max_us;       /* likewise */
    double p50_us;       /* percentile, over the iterations, of the time of the
                          * slowest rank in each */
    double p90_us;       /* likewise */
    double p99_us;       /* likewise */
    size_t iterations;
    uint64_t errors; /* wrong bytes of all ranks */
    double ratio;    /* p50 of the first variant / p50 of this one */
    double ratio_low, ratio_high; /* its 95% interval */
    /* Simulated ranks only: the traffic of one call, the sum over the ranks. */
    uint64_t messages;      /* between nodes */
    uint64_t wire_bytes;    /* between nodes */
    uint64_t node_messages; /* within nodes */
    /* Simulated ranks only: the most heap memory that a rank had in use
     * (catena_heap_stats_t). */
    uint64_t heap_bytes;
    /* Of one call, the maximum over the ranks. */
    uint64_t metrics[BENCH_MAX_METRICS];
};

/** Print the first line, "# catena VERSION TITLE"; in JSON open the document.
 * The report must be zeroed but for `bench`, which may be NULL.
 * @param name of the benchmark, for JSON */
void bench_report_begin(struct bench_report *report, enum bench_format format,
                        const char *name, const char *title);
/** Print where the ranks are, the network and a text about buffers and calls;
 * collective. */
void bench_report_ranks(struct bench_report *report, const char *buffers,
                        const char *mode);
/** Add a column; see struct bench_column. */
void bench_report_column(struct bench_report *report, const char *key,
                         const char *title, int width, int digits);
/** Print a row: a value for each column, in their order. */
void bench_report_row(struct bench_report *report,
                      const struct bench_value *values);
/** Print a line that begins with `#`; in JSON add an entry to "notes". */
void bench_report_note(struct bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Print a line to stderr that the next output replaces; nothing if stderr is
 * no terminal. */
void bench_report_progress(struct bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bench_report_close(struct bench_report *report);

/* results.c: the results of a collective */

/** Print or store the description of this run; collective over bench->control.
 * @param[in] longest_name bytes of the longest variant name; 0: only one
 *   variant */
void bench_report_open(struct bench_report *report, struct bench *bench,
                       const struct bench_collective *collective,
                       size_t longest_name);
void bench_report_result(struct bench_report *report,
                         const struct bench_result *result);
/** Print the overlap of one variant. `parts`: the results of its parts, in the
 * order of enum bench_part. */
void bench_report_overlap(struct bench_report *report,
                          const struct bench_result parts[]);

#endif
