/* Prints rows of results, and notes about them. */

#include "report.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/cores.h"

enum { MAX_NODES_SHOWN = 8 };

static void erase_progress(const struct bench_report *report)
{
    if (report->progress)
        fputs("\r\033[K", stderr);
}

/* ---- the description of a run ---- */

static void set_text(struct bench_report *report, const char *key,
                     const char *text)
{
    json_object_set_new(report->document, key, json_string(text));
}

static void set_number(struct bench_report *report, const char *key, int number)
{
    json_object_set_new(report->document, key, json_integer(number));
}

static void warn_of_assertions(struct bench_report *report)
{
#ifndef NDEBUG
    bench_report_note(report, "built with assertions: calls take longer than "
                              "in a release build (meson setup "
                              "--buildtype=release)");
    if (report->format != BENCH_TABLE)
        fputs("catena-bench: built with assertions: calls take longer than in "
              "a release build\n",
              stderr);
#endif
    (void)report;
}

void bench_report_begin(struct bench_report *report, enum bench_format format,
                        const char *name, const char *title)
{
    const struct bench *bench = report->bench;

    report->format = format;
    report->prints = bench == NULL || bench->place.rank == 0;
    if (!report->prints)
        return;
    report->progress = isatty(STDERR_FILENO) != 0;
    if (format == BENCH_JSON) {
        report->document = json_object();
        report->notes = json_array();
        report->results = json_array();
        set_text(report, "catena", catena_version());
        set_text(report, "collective", name);
    } else {
        printf("# catena %s %s\n", catena_version(), title);
    }
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

void bench_report_ranks(struct bench_report *report, const char *buffers,
                        const char *mode)
{
    struct bench *bench = report->bench;
    const struct bench_options *options = bench->options;
    const catena_place_t *place = &bench->place;
    char layout[256];

    describe_layout(bench, layout, sizeof(layout));
    if (!report->prints)
        return;
    if (report->document != NULL) {
        set_number(report, "ranks", place->ranks);
        set_number(report, "nodes", place->nodes);
        set_text(report, "layout", layout);
        set_text(report, "network", place->network);
        set_text(report, "launcher", place->launcher);
        set_text(report, "host", place->hostname);
        set_text(report, "buffers", buffers);
        set_text(report, "mode", mode);
        json_object_set_new(report->document, "in_place",
                            json_boolean(options->in_place));
        json_object_set_new(report->document, "checked",
                            json_boolean(options->check));
    } else {
        if (bench->simulation != NULL)
            printf("# layout: %s, simulated, seed %llu, jitter %g\n", layout,
                   (unsigned long long)options->sim.seed, options->sim.jitter);
        else
            printf("# layout: %s, launcher %s, host %s with %u cores\n", layout,
                   place->launcher, place->hostname, ctn_cores_shared(""));
        printf("# network: %s\n# buffers: %s; calls: %s\n", place->network,
               buffers, mode);
    }
    if (bench->simulation == NULL)
        warn_of_assertions(report);
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

/* ---- rows ---- */

void bench_report_column(struct bench_report *report, const char *key,
                         const char *title, int width, int digits)
{
    report->columns[report->count++] =
        (struct bench_column){key, title, width, digits};
}

void bench_report_row(struct bench_report *report,
                      const struct bench_value *values)
{
    if (!report->prints)
        return;
    erase_progress(report);
    if (!report->started)
        bench_rows_begin(report->format, report->columns, report->count);
    report->started = true;
    bench_rows_add(report->format, report->columns, report->count, values,
                   report->results);
}

void bench_report_close(struct bench_report *report)
{
    if (!report->prints)
        return;
    erase_progress(report);
    if (report->document == NULL)
        return;
    json_object_set_new(report->document, "notes", report->notes);
    json_object_set_new(report->document, "results", report->results);
    json_dumpf(report->document, stdout,
               JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(report->document);
    report->document = NULL;
}
