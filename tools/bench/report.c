/* Prints results, and notes about them. */

#include "report.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cores.h"
#include "measure.h"
#include "overlap.h"

enum { /* widths */
       SIZE_COLUMN = 10,
       NAME_COLUMN = 12,
       TIME_COLUMN = 18,
       COUNT_COLUMN = 16,
       METRIC_COLUMN = 12
};
enum { MAX_NODES_SHOWN = 8 };

/* Whether the table has all columns. */
static bool full(const struct bench_report *report)
{
    return report->bench->options->full || report->collective->full;
}

static void erase_progress(const struct bench_report *report)
{
    if (report->progress)
        fputs("\r\033[K", stderr);
}

/* The maximum of each number. A rank knows only the number of ranks on its own
 * node; the other entries are 0. */
static void fold_ranks(void *into, const void *from, size_t bytes)
{
    int32_t *a = into;
    const int32_t *b = from;

    for (size_t i = 0; i < bytes / sizeof(*a); i++)
        if (b[i] > a[i])
            a[i] = b[i];
}

/* Write, for example, "16 ranks on 4 nodes (4+4+4+4)". */
static void describe_layout(struct bench *bench, char *text, size_t bytes)
{
    const catena_place_t *place = &bench->place;
    int32_t ranks[MAX_NODES_SHOWN] = {0};
    size_t used;

    if (place->node >= 0 && place->node < MAX_NODES_SHOWN)
        ranks[place->node] = place->local_size;
    bench_fold(bench, ranks, sizeof(ranks), fold_ranks);
    used = (size_t)snprintf(text, bytes, "%d rank%s on %d node%s (",
                            place->ranks, place->ranks == 1 ? "" : "s",
                            place->nodes, place->nodes == 1 ? "" : "s");
    for (int i = 0; i < place->nodes && i < MAX_NODES_SHOWN && used < bytes;
         i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d",
                                 i > 0 ? "+" : "", (int)ranks[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used,
                 place->nodes > MAX_NODES_SHOWN ? "+...)" : ")");
}

static const char *buffers_text(const struct bench_report *report)
{
    static const char *const texts[] = {"shared heap", "malloc",
                                        "even ranks shared heap, odd malloc"};

    if (report->collective->lay_out == NULL)
        return "none";
    return texts[report->bench->options->buffers];
}

static const char *mode_text(const struct bench_report *report)
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

static const char *check_text(const struct bench_report *report)
{
    if (!report->bench->options->check)
        return "";
    return report->collective->lay_out != NULL ? "; every byte checked"
                                               : "; checked";
}

static void open_json(struct bench_report *report, const char *layout)
{
    struct bench *bench = report->bench;

    report->notes = json_array();
    report->results = json_array();
    report->document = json_pack(
        "{s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o, "
        "s:o}",
        "catena", catena_version(), "collective", report->collective->name,
        "ranks", bench->place.ranks, "nodes", bench->place.nodes, "layout",
        layout, "network", bench->place.network, "launcher",
        bench->place.launcher, "host", bench->place.hostname, "buffers",
        buffers_text(report), "mode", mode_text(report), "in_place",
        (int)bench->options->in_place, "checked", (int)bench->options->check,
        "notes", report->notes, "results", report->results);
    if (report->document == NULL)
        bench_die(bench, "JSON document", CATENA_ERR_NO_MEMORY);
}

/* The width of a column with names of up to `longest` bytes. */
static int name_column(size_t longest)
{
    return longest + 2 > NAME_COLUMN ? (int)longest + 2 : NAME_COLUMN;
}

static void note_times(struct bench_report *report)
{
    const struct bench_options *options = report->bench->options;

    if (options->overlap)
        bench_report_note(
            report,
            "times: %smedians over calls, their means over ranks; Pure: a call "
            "and its wait; "
            "Compute: as much work as takes a core so long; Overall: the call, "
            "the work with %zu catena_request_test, the wait; Overlap: 1 - "
            "(Overall - "
            "Compute) / Pure, 0 to 100%%",
            report->collective->synced ? "barrier before each; " : "",
            options->tests);
    else
        bench_report_note(
            report,
            "times: %sAvg: largest mean of a rank; Min, Max: of any rank and "
            "iteration; p50, p90, p99: over iterations, of the slowest rank in "
            "each%s",
            report->collective->synced ? "barrier before each call; " : "",
            report->collective->quick ? "; quick calls are timed in batches"
                                      : "");
}

void bench_report_open(struct bench_report *report, struct bench *bench,
                       const struct bench_collective *collective,
                       size_t longest_name)
{
    bool several = longest_name > 0;
    const struct bench_options *options = bench->options;
    char layout[256];

    *report = (struct bench_report){.bench = bench,
                                    .collective = collective,
                                    .several = several,
                                    .name_column = name_column(longest_name),
                                    .prints = bench->place.rank == 0};
    describe_layout(bench, layout, sizeof(layout));
    if (!report->prints)
        return;
    report->progress = isatty(STDERR_FILENO) != 0;
    if (options->format == BENCH_JSON) {
        open_json(report, layout);
    } else {
        printf("# catena %s %s latency\n", catena_version(), collective->name);
        if (bench->simulation != NULL)
            printf("# layout: %s, simulated, seed %llu, jitter %g\n", layout,
                   (unsigned long long)options->sim.seed, options->sim.jitter);
        else
            printf("# layout: %s, launcher %s, host %s with %u cores\n", layout,
                   bench->place.launcher, bench->place.hostname,
                   ctn_cores_shared(""));
        printf("# network: %s\n", bench->place.network);
        printf("# buffers: %s%s%s; calls: %s%s\n", buffers_text(report),
               options->in_place ? ", in place" : "",
               collective->lay_out == NULL ? ""
               : options->keep             ? ", contents kept"
                                           : ", new contents in each call",
               mode_text(report), check_text(report));
    }
    note_times(report);
    if (bench->simulation != NULL && !options->overlap)
        bench_report_note(report,
                          "virtual time; Messages, Wire Bytes: between nodes, "
                          "of one call; Heap/Rank: most of a rank, addresses");
    if (several && !options->overlap)
        bench_report_note(report,
                          "ratio: first one's p50 / this one's, with a 95%% "
                          "interval, by a bootstrap over the rounds (above 1: "
                          "faster than the first)");
#ifndef NDEBUG
    if (bench->simulation == NULL) {
        bench_report_note(report, "built with assertions: calls take longer "
                                  "than in a release build (meson setup "
                                  "--buildtype=release)");
        if (report->document != NULL || options->format == BENCH_CSV)
            fputs("catena-bench: built with assertions: calls take longer than "
                  "in a release build\n",
                  stderr);
    }
#endif
}

void bench_report_note(struct bench_report *report, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    if (!report->prints)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (report->document != NULL) {
        json_array_append_new(report->notes, json_string(text));
        return;
    }
    erase_progress(report);
    printf("# %s\n", text);
    fflush(stdout);
}

/* The metrics that the collective reports; a NULL name ends them. */
static const struct bench_metric *
first_metric(const struct bench_report *report)
{
    static const struct bench_metric none;

    return report->collective->metrics != NULL ? report->collective->metrics
                                               : &none;
}

static void print_csv_columns(const struct bench_report *report)
{
    fputs("collective,algorithm,ranks,nodes,bytes,avg_us,min_us,max_us,"
          "p50_us,p99_us,iterations,errors,ratio,messages,wire_bytes,"
          "node_messages,heap_bytes,p90_us,ratio_low,ratio_high",
          stdout);
    for (const struct bench_metric *metric = first_metric(report);
         metric->name != NULL; metric++)
        printf(",%s", metric->name);
    putchar('\n');
}

/* The headings of the columns that identify a line. */
static void print_first_columns(const struct bench_report *report)
{
    printf("%-*s", SIZE_COLUMN,
           report->collective->lay_out != NULL ? "# Size" : "#");
    if (report->several)
        printf("%-*s", report->name_column, "Algorithm");
}

static void print_columns(const struct bench_report *report)
{
    const struct bench_options *options = report->bench->options;

    print_first_columns(report);
    printf("%*s", TIME_COLUMN, "Avg Latency(us)");
    if (full(report))
        printf("%*s%*s%*s", TIME_COLUMN, "Min Latency(us)", TIME_COLUMN,
               "Max Latency(us)", TIME_COLUMN, "Iterations");
    if (full(report) || report->several)
        printf("%*s", TIME_COLUMN, "p50 Latency(us)");
    if (full(report))
        printf("%*s%*s", TIME_COLUMN, "p90 Latency(us)", TIME_COLUMN,
               "p99 Latency(us)");
    if (report->several)
        printf("%*s%*s", NAME_COLUMN, "Ratio", TIME_COLUMN, "95% Interval");
    if (options->check)
        printf("%*s", NAME_COLUMN, "Errors");
    for (const struct bench_metric *metric = first_metric(report);
         metric->name != NULL; metric++)
        if (metric->title != NULL)
            printf("%*s", METRIC_COLUMN, metric->title);
    if (report->bench->simulation != NULL)
        printf("%*s%*s%*s", COUNT_COLUMN, "Messages", COUNT_COLUMN,
               "Wire Bytes", COUNT_COLUMN, "Heap/Rank");
    putchar('\n');
}

/* As in OSU's tables, with one more digit where it is significant. */
static void print_time(double us, int column)
{
    printf("%*.*f", column, us < 10 ? 3 : 2, us);
}

/* The size and the variant of a line. */
static void print_subject(const struct bench_report *report,
                          const struct bench_result *result)
{
    if (report->collective->lay_out != NULL)
        printf("%-*zu", SIZE_COLUMN, result->bytes);
    else
        printf("%-*s", SIZE_COLUMN, "");
    if (report->several)
        printf("%-*s", report->name_column, result->variant);
}

static void print_table(const struct bench_report *report,
                        const struct bench_result *result)
{
    const struct bench_metric *metrics = first_metric(report);

    print_subject(report, result);
    print_time(result->avg_us, TIME_COLUMN);
    if (full(report)) {
        print_time(result->min_us, TIME_COLUMN);
        print_time(result->max_us, TIME_COLUMN);
        printf("%*zu", TIME_COLUMN, result->iterations);
    }
    if (full(report) || report->several)
        print_time(result->p50_us, TIME_COLUMN);
    if (full(report)) {
        print_time(result->p90_us, TIME_COLUMN);
        print_time(result->p99_us, TIME_COLUMN);
    }
    if (report->several) {
        char interval[32];

        snprintf(interval, sizeof(interval), "%.3f-%.3f", result->ratio_low,
                 result->ratio_high);
        printf("%*.3f%*s", NAME_COLUMN, result->ratio, TIME_COLUMN, interval);
    }
    if (report->bench->options->check)
        printf("%*llu", NAME_COLUMN, (unsigned long long)result->errors);
    for (size_t i = 0; metrics[i].name != NULL; i++)
        if (metrics[i].title != NULL)
            printf("%*llu", METRIC_COLUMN,
                   (unsigned long long)result->metrics[i]);
    if (report->bench->simulation != NULL)
        printf("%*llu%*llu%*llu", COUNT_COLUMN,
               (unsigned long long)result->messages, COUNT_COLUMN,
               (unsigned long long)result->wire_bytes, COUNT_COLUMN,
               (unsigned long long)result->heap_bytes);
    putchar('\n');
}

/* The fields that identify a line. Names with hierarchies are quoted, because
 * these contain commas. */
static void print_csv_subject(const struct bench_report *report,
                              const struct bench_result *result)
{
    const catena_place_t *place = &report->bench->place;
    const char *quote = strchr(result->variant, ',') != NULL ? "\"" : "";

    printf("%s,%s%s%s,%d,%d,%zu,", report->collective->name, quote,
           result->variant, quote, place->ranks, place->nodes, result->bytes);
}

static void print_csv(const struct bench_report *report,
                      const struct bench_result *result)
{
    const struct bench_metric *metrics = first_metric(report);

    print_csv_subject(report, result);
    printf("%.4f,%.4f,%.4f,%.4f,%.4f,%zu,", result->avg_us, result->min_us,
           result->max_us, result->p50_us, result->p99_us, result->iterations);
    if (report->bench->options->check)
        printf("%llu", (unsigned long long)result->errors);
    printf(",%.4f,", result->ratio);
    if (report->bench->simulation != NULL)
        printf("%llu,%llu,%llu,%llu", (unsigned long long)result->messages,
               (unsigned long long)result->wire_bytes,
               (unsigned long long)result->node_messages,
               (unsigned long long)result->heap_bytes);
    else
        fputs(",,,", stdout);
    printf(",%.4f,%.4f,%.4f", result->p90_us, result->ratio_low,
           result->ratio_high);
    for (size_t i = 0; metrics[i].name != NULL; i++)
        printf(",%llu", (unsigned long long)result->metrics[i]);
    putchar('\n');
}

static json_t *json_errors(const struct bench_report *report, uint64_t errors)
{
    return report->bench->options->check ? json_integer((json_int_t)errors)
                                         : json_null();
}

static void keep_json(struct bench_report *report,
                      const struct bench_result *result)
{
    const struct bench_metric *metrics = first_metric(report);
    json_t *entry = json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:f, s:s}",
        "algorithm", result->variant, "bytes", (json_int_t)result->bytes,
        "avg_us", result->avg_us, "min_us", result->min_us, "max_us",
        result->max_us, "p50_us", result->p50_us, "p90_us", result->p90_us,
        "p99_us", result->p99_us, "iterations", (json_int_t)result->iterations,
        "ratio", result->ratio, "ratio_low", result->ratio_low, "ratio_high",
        result->ratio_high, "explain", result->explain);

    json_object_set_new(entry, "errors", json_errors(report, result->errors));
    if (report->bench->simulation != NULL) {
        json_object_set_new(entry, "messages",
                            json_integer((json_int_t)result->messages));
        json_object_set_new(entry, "wire_bytes",
                            json_integer((json_int_t)result->wire_bytes));
        json_object_set_new(entry, "node_messages",
                            json_integer((json_int_t)result->node_messages));
        json_object_set_new(entry, "heap_bytes",
                            json_integer((json_int_t)result->heap_bytes));
    }
    for (size_t i = 0; metrics[i].name != NULL; i++)
        json_object_set_new(entry, metrics[i].name,
                            json_integer((json_int_t)result->metrics[i]));
    json_array_append_new(report->results, entry);
}

void bench_report_result(struct bench_report *report,
                         const struct bench_result *result)
{
    if (!report->prints)
        return;
    if (report->document != NULL) {
        keep_json(report, result);
        return;
    }
    erase_progress(report);
    if (report->bench->options->format == BENCH_CSV) {
        if (!report->started)
            print_csv_columns(report);
        print_csv(report, result);
    } else {
        if (!report->started)
            print_columns(report);
        print_table(report, result);
    }
    report->started = true;
    fflush(stdout);
}

/* ---- overlap ---- */

/* Overlap of one variant, in the terms of osu_i*. */
struct overlap {
    double overall_us; /* BENCH_OVERLAPPED */
    double compute_us; /* BENCH_COMPUTE */
    double pure_us;    /* BENCH_WHOLE */
    double percent;
    uint64_t errors;
};

static void print_overlap_table(struct bench_report *report,
                                const struct bench_result *whole,
                                const struct overlap *overlap)
{
    bool check = report->bench->options->check;

    if (!report->started) {
        print_first_columns(report);
        printf("%*s%*s%*s%*s", TIME_COLUMN, "Overall(us)", TIME_COLUMN,
               "Compute(us)", TIME_COLUMN, "Pure Comm.(us)", TIME_COLUMN,
               "Overlap(%)");
        if (check)
            printf("%*s", NAME_COLUMN, "Errors");
        putchar('\n');
    }
    print_subject(report, whole);
    print_time(overlap->overall_us, TIME_COLUMN);
    print_time(overlap->compute_us, TIME_COLUMN);
    print_time(overlap->pure_us, TIME_COLUMN);
    printf("%*.2f", TIME_COLUMN, overlap->percent);
    if (check)
        printf("%*llu", NAME_COLUMN, (unsigned long long)overlap->errors);
    putchar('\n');
}

static void print_overlap_csv(struct bench_report *report,
                              const struct bench_result *whole,
                              const struct overlap *overlap)
{
    if (!report->started)
        puts("collective,algorithm,ranks,nodes,bytes,overall_us,compute_us,"
             "pure_us,overlap_percent,tests,iterations,errors");
    print_csv_subject(report, whole);
    printf("%.4f,%.4f,%.4f,%.2f,%zu,%zu,", overlap->overall_us,
           overlap->compute_us, overlap->pure_us, overlap->percent,
           report->bench->options->tests, whole->iterations);
    if (report->bench->options->check)
        printf("%llu", (unsigned long long)overlap->errors);
    putchar('\n');
}

static void keep_overlap_json(struct bench_report *report,
                              const struct bench_result *whole,
                              const struct overlap *overlap)
{
    json_array_append_new(
        report->results,
        json_pack(
            "{s:s, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:s, s:o}", "algorithm",
            whole->variant, "bytes", (json_int_t)whole->bytes, "overall_us",
            overlap->overall_us, "compute_us", overlap->compute_us, "pure_us",
            overlap->pure_us, "overlap_percent", overlap->percent, "tests",
            (json_int_t)report->bench->options->tests, "iterations",
            (json_int_t)whole->iterations, "explain", whole->explain, "errors",
            json_errors(report, overlap->errors)));
}

void bench_report_overlap(struct bench_report *report,
                          const struct bench_result parts[])
{
    const struct bench_result *whole = &parts[BENCH_WHOLE];
    struct overlap overlap = {.overall_us = parts[BENCH_OVERLAPPED].median_us,
                              .compute_us = parts[BENCH_COMPUTE].median_us,
                              .pure_us = whole->median_us,
                              .errors = whole->errors +
                                        parts[BENCH_OVERLAPPED].errors};

    overlap.percent = bench_overlap_percent(overlap.pure_us, overlap.compute_us,
                                            overlap.overall_us);
    if (!report->prints)
        return;
    if (report->document != NULL) {
        keep_overlap_json(report, whole, &overlap);
        return;
    }
    erase_progress(report);
    if (report->bench->options->format == BENCH_CSV)
        print_overlap_csv(report, whole, &overlap);
    else
        print_overlap_table(report, whole, &overlap);
    report->started = true;
    fflush(stdout);
}

void bench_report_progress(struct bench_report *report, const char *format, ...)
{
    va_list arguments;

    if (!report->progress)
        return;
    erase_progress(report);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

void bench_report_close(struct bench_report *report)
{
    if (!report->prints)
        return;
    erase_progress(report);
    if (report->document == NULL)
        return;
    json_dumpf(report->document, stdout,
               JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(report->document);
    report->document = NULL;
}
