#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench.h"

struct json_t;

/* Destination of results: a table, comma-separated values, or one JSON
 * document. Only rank 0 prints; all ranks may call. */
struct bench_report {
    struct bench *bench;
    const struct bench_collective *row;
    bool several; /* variants: print algorithm and ratio */
    int name_column;
    bool speaks;  /* rank 0 */
    bool started; /* column names are printed */
    bool progress;
    struct json_t *document;
    struct json_t *notes;
    struct json_t *results;
};

struct bench_result {
    const char *variant;
    const char *explain;
    size_t bytes;
    double avg_us;    /* largest mean of a rank */
    double median_us; /* mean of the ranks' medians */
    double min_us;    /* of any rank and iteration */
    double max_us;
    double p50_us; /* over iterations, of the slowest rank in each */
    double p99_us;
    size_t iterations;
    uint64_t errors;
    double ratio;
    /* Simulated: of one call, all ranks together; and the largest heap of a
     * rank, in addresses. */
    uint64_t messages;
    uint64_t wire_bytes;
    uint64_t node_messages;
    uint64_t heap_bytes;
    uint64_t facts[BENCH_MAX_FACTS]; /* of one call, maximum over the ranks */
};

/** Print or store the facts about this run; collective over bench->control.
 * @param[in] longest_name bytes of the longest variant name; 0: only one
 *   variant */
void bench_report_open(struct bench_report *report, struct bench *bench,
                       const struct bench_collective *row, size_t longest_name);
/** A `#` line; in JSON an entry of "notes". */
void bench_report_note(struct bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bench_report_result(struct bench_report *report,
                         const struct bench_result *result);
/** The parts of one variant, as in enum bench_part, in one line. */
void bench_report_overlap(struct bench_report *report,
                          const struct bench_result parts[]);
/** A line on a terminal that the next one replaces; no output elsewhere. */
void bench_report_progress(struct bench_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bench_report_close(struct bench_report *report);

#endif
