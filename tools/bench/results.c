/* The results of collectives: which columns they have, and notes on these. */

#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "overlap.h"
#include "report.h"

enum { /* widths */
       SIZE_COLUMN = 10,
       NAME_COLUMN = 12,
       TIME_COLUMN = 18,
       COUNT_COLUMN = 16,
       METRIC_COLUMN = 12
};

/* ---- the description ---- */

static const char *buffers_of(const struct bench_report *report)
{
    static const char *const texts[] = {"shared heap", "malloc",
                                        "even ranks shared heap, odd malloc"};

    if (report->collective->lay_out == NULL)
        return "none";
    return texts[report->bench->options->buffers];
}

static const char *mode_of(const struct bench_report *report)
{
    static const char *const texts[] = {"blocking", "nonblocking and wait",
                                        "persistent, start and wait"};
    const struct bench_options *options = report->bench->options;

    if (report->collective->batch != NULL)
        return "raw loads and stores";
    if (options->mode_count > 1)
        return "as named";
    return texts[options->mode_count > 0 ? options->modes[0] : BENCH_BLOCKING];
}

/* In JSON the particulars of buffers and calls are members of their own. */
static void describe_run(struct bench_report *report)
{
    const struct bench_options *options = report->bench->options;
    bool sized = report->collective->lay_out != NULL;
    char buffers[128], mode[128];

    if (options->format == BENCH_JSON) {
        bench_report_ranks(report, buffers_of(report), mode_of(report));
        return;
    }
    snprintf(buffers, sizeof(buffers), "%s%s%s", buffers_of(report),
             options->in_place ? ", in place" : "",
             !sized          ? ""
             : options->keep ? ", contents kept"
                             : ", new contents in each call");
    snprintf(mode, sizeof(mode), "%s%s", mode_of(report),
             !options->check ? ""
             : sized         ? "; every byte checked"
                             : "; checked");
    bench_report_ranks(report, buffers, mode);
}

static void note_times(struct bench_report *report)
{
    const struct bench_options *options = report->bench->options;
    bool synced = report->collective->synced;

    if (options->overlap) {
        bench_report_note(
            report,
            "times: %smedians over calls, their means over ranks; Pure: a call "
            "and its wait; Compute: as much work as takes a core so long; "
            "Overall: the call, the work with %zu catena_request_test, the "
            "wait; Overlap: 1 - (Overall - Compute) / Pure, 0 to 100%%",
            synced ? "barrier before each; " : "", options->tests);
        return;
    }
    bench_report_note(
        report,
        "times: %sAvg: largest mean of a rank; Min, Max: of any rank and "
        "iteration; p50, p90, p99: over iterations, of the slowest rank in "
        "each%s",
        synced ? "barrier before each call; " : "",
        report->collective->quick ? "; quick calls are timed in batches" : "");
    if (report->bench->simulation != NULL)
        bench_report_note(report,
                          "virtual time; Messages, Wire Bytes: between nodes, "
                          "of one call; Heap/Rank: most of a rank, addresses");
    if (report->several)
        bench_report_note(report,
                          "ratio: first one's p50 / this one's, with a 95%% "
                          "interval, by a bootstrap over the rounds (above 1: "
                          "faster than the first)");
}

/* ---- columns ---- */

/* A column that has a title only if it is `shown` in the table. */
static void add(struct bench_report *report, const char *key, bool shown,
                const char *title, int width, int digits)
{
    bench_report_column(report, key, shown ? title : NULL, width, digits);
}

static void add_time(struct bench_report *report, const char *key, bool shown,
                     const char *title)
{
    add(report, key, shown, title, TIME_COLUMN, BENCH_TIME_DIGITS);
}

/* The columns that identify a row. */
static void add_subject(struct bench_report *report, size_t longest_name)
{
    int width =
        longest_name + 2 > NAME_COLUMN ? (int)longest_name + 2 : NAME_COLUMN;

    add(report, NULL, true,
        report->collective->lay_out != NULL ? "# Size" : "#", -SIZE_COLUMN, 0);
    add(report, "collective", false, NULL, 0, 0);
    add(report, "algorithm", report->several, "Algorithm", -width, 0);
    add(report, "ranks", false, NULL, 0, 0);
    add(report, "nodes", false, NULL, 0, 0);
    add(report, "bytes", false, NULL, 0, 0);
}

static void add_errors(struct bench_report *report)
{
    add(report, "errors", report->bench->options->check, "Errors", NAME_COLUMN,
        0);
}

static void add_latency(struct bench_report *report)
{
    const struct bench_metric *metric = report->collective->metrics;
    bool full = report->bench->options->full || report->collective->full;
    bool several = report->several, sim = report->bench->simulation != NULL;

    add_time(report, "avg_us", true, "Avg Latency(us)");
    add_time(report, "min_us", full, "Min Latency(us)");
    add_time(report, "max_us", full, "Max Latency(us)");
    add(report, "iterations", full, "Iterations", TIME_COLUMN, 0);
    add_time(report, "p50_us", full || several, "p50 Latency(us)");
    add_time(report, "p90_us", full, "p90 Latency(us)");
    add_time(report, "p99_us", full, "p99 Latency(us)");
    add(report, "ratio", several, "Ratio", NAME_COLUMN, 3);
    add(report, NULL, several, "95% Interval", TIME_COLUMN, 0);
    add(report, "ratio_low", false, NULL, 0, 0);
    add(report, "ratio_high", false, NULL, 0, 0);
    add_errors(report);
    for (; metric != NULL && metric->name != NULL; metric++)
        add(report, metric->name, true, metric->title, METRIC_COLUMN, 0);
    add(report, "messages", sim, "Messages", COUNT_COLUMN, 0);
    add(report, "wire_bytes", sim, "Wire Bytes", COUNT_COLUMN, 0);
    add(report, "node_messages", false, NULL, 0, 0);
    add(report, "heap_bytes", sim, "Heap/Rank", COUNT_COLUMN, 0);
    add(report, "explain", false, NULL, 0, 0);
}

static void add_overlap(struct bench_report *report)
{
    add_time(report, "overall_us", true, "Overall(us)");
    add_time(report, "compute_us", true, "Compute(us)");
    add_time(report, "pure_us", true, "Pure Comm.(us)");
    add(report, "overlap_percent", true, "Overlap(%)", TIME_COLUMN, 2);
    add(report, "tests", false, NULL, 0, 0);
    add(report, "iterations", false, NULL, 0, 0);
    add_errors(report);
    add(report, "explain", false, NULL, 0, 0);
}

void bench_report_open(struct bench_report *report, struct bench *bench,
                       const struct bench_collective *collective,
                       size_t longest_name)
{
    char title[128];

    *report = (struct bench_report){
        .bench = bench, .collective = collective, .several = longest_name > 0};
    snprintf(title, sizeof(title), "%s latency", collective->name);
    bench_report_begin(report, bench->options->format, collective->name, title);
    describe_run(report);
    note_times(report);
    add_subject(report, longest_name);
    if (bench->options->overlap)
        add_overlap(report);
    else
        add_latency(report);
}

/* ---- rows ---- */

/* The values of the columns that identify a row. Returns their number. */
static size_t set_subject(const struct bench_report *report,
                          const struct bench_result *result,
                          struct bench_value *values)
{
    const catena_place_t *place = &report->bench->place;
    bool sized = report->collective->lay_out != NULL;
    size_t n = 0;

    values[n++] = sized ? bench_count(result->bytes) : bench_text("");
    values[n++] = bench_text(report->collective->name);
    values[n++] = bench_text(result->variant);
    values[n++] = bench_count((uint64_t)place->ranks);
    values[n++] = bench_count((uint64_t)place->nodes);
    values[n++] = bench_count(result->bytes);
    return n;
}

static struct bench_value errors_of(const struct bench_report *report,
                                    uint64_t errors)
{
    return bench_value_if(report->bench->options->check, bench_count(errors));
}

void bench_report_result(struct bench_report *report,
                         const struct bench_result *result)
{
    const struct bench_metric *metric = report->collective->metrics;
    bool sim = report->bench->simulation != NULL;
    struct bench_value values[BENCH_MAX_COLUMNS];
    size_t n = set_subject(report, result, values);
    char interval[32];

    snprintf(interval, sizeof(interval), "%.3f-%.3f", result->ratio_low,
             result->ratio_high);
    values[n++] = bench_real(result->avg_us);
    values[n++] = bench_real(result->min_us);
    values[n++] = bench_real(result->max_us);
    values[n++] = bench_count(result->iterations);
    values[n++] = bench_real(result->p50_us);
    values[n++] = bench_real(result->p90_us);
    values[n++] = bench_real(result->p99_us);
    values[n++] = bench_real(result->ratio);
    values[n++] = bench_text(interval);
    values[n++] = bench_real(result->ratio_low);
    values[n++] = bench_real(result->ratio_high);
    values[n++] = errors_of(report, result->errors);
    for (size_t i = 0; metric != NULL && metric[i].name != NULL; i++)
        values[n++] = bench_count(result->metrics[i]);
    values[n++] = bench_value_if(sim, bench_count(result->messages));
    values[n++] = bench_value_if(sim, bench_count(result->wire_bytes));
    values[n++] = bench_value_if(sim, bench_count(result->node_messages));
    values[n++] = bench_value_if(sim, bench_count(result->heap_bytes));
    values[n++] = bench_text(result->explain);
    bench_report_row(report, values);
}

void bench_report_overlap(struct bench_report *report,
                          const struct bench_result parts[])
{
    const struct bench_result *whole = &parts[BENCH_WHOLE];
    double overall_us = parts[BENCH_OVERLAPPED].median_us;
    double compute_us = parts[BENCH_COMPUTE].median_us;
    double pure_us = whole->median_us;
    struct bench_value values[BENCH_MAX_COLUMNS];
    size_t n = set_subject(report, whole, values);

    values[n++] = bench_real(overall_us);
    values[n++] = bench_real(compute_us);
    values[n++] = bench_real(pure_us);
    values[n++] =
        bench_real(bench_overlap_percent(pure_us, compute_us, overall_us));
    values[n++] = bench_count(report->bench->options->tests);
    values[n++] = bench_count(whole->iterations);
    values[n++] =
        errors_of(report, whole->errors + parts[BENCH_OVERLAPPED].errors);
    values[n++] = bench_text(whole->explain);
    bench_report_row(report, values);
}
