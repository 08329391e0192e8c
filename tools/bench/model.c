/* catena-bench --model: prints the times that the cost formulas of [Peng] give
 * on a machine for alltoall, and for messages within a node; runs nothing. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report.h"

/* What --model accepts. */
static const struct modelled {
    const char *name; /* of the collective or benchmark */
    const char *title;
    const char *const *algorithms; /* that have a formula, NULL-terminated */
    size_t by_default;             /* how many of them are the default */
    int ppn;                       /* the least */
    catena_status_t (*evaluate)(const catena_machine_t *machine,
                                const catena_model_point_t *point,
                                double *seconds);
} all_modelled[] = {
    {"alltoall",
     "alltoall by formula (Peng, Liu, Xie: GLEX-Alltoall, equations 6 to 10)",
     (const char *const[]){"direct", "l-a2a", "mpml", "nmpml", "onmpml",
                           "l-a2a-plain", "mpml-plain", "nmpml-plain", NULL},
     5, 1, catena_model_alltoall},
    {"scatter",
     "scatter within a NUMA domain by formula (Peng, Liu, Xie: GLEX-Alltoall, "
     "equations 2 to 4)",
     (const char *const[]){"zero-copy", "staged", NULL}, 2, 2,
     catena_model_node},
    {"gather_scatter",
     "blocks that the leaders of a NUMA domain copy, by formula (Peng, Liu, "
     "Xie: GLEX-Alltoall, equations 2 and 4)",
     (const char *const[]){"gather", NULL}, 1, 1, catena_model_node},
};

enum { MODELLED = sizeof(all_modelled) / sizeof(all_modelled[0]) };

static const struct modelled *find(const char *name)
{
    for (size_t i = 0; name != NULL && i < MODELLED; i++)
        if (strcmp(all_modelled[i].name, name) == 0)
            return &all_modelled[i];
    return NULL;
}

bool bench_has_formula(const char *name)
{
    return find(name) != NULL;
}

static bool has_algorithm(const struct modelled *modelled, const char *name)
{
    for (size_t i = 0; modelled->algorithms[i] != NULL; i++)
        if (strcmp(modelled->algorithms[i], name) == 0)
            return true;
    return false;
}

/* Whether there are formulas for the options. Prints why not. */
static bool check(const struct bench_options *options,
                  const struct modelled *modelled)
{
    for (size_t i = 0; i < options->algorithm_count; i++) {
        if (has_algorithm(modelled, options->algorithms[i]))
            continue;
        fprintf(stderr,
                "catena-bench: -a: there is no formula for %s \"%s\"; expected",
                modelled->name, options->algorithms[i]);
        for (size_t n = 0; modelled->algorithms[n] != NULL; n++)
            fprintf(stderr, "%s %s", n > 0 ? "," : "", modelled->algorithms[n]);
        fputc('\n', stderr);
        return false;
    }
    if (options->sim.ppn < modelled->ppn) {
        fprintf(stderr,
                "catena-bench: --model: %s: expected --ppn %d or more\n",
                modelled->name, modelled->ppn);
        return false;
    }
    return true;
}

static void open_report(struct bench_report *report,
                        const struct bench_options *options,
                        const struct modelled *modelled, int leaders)
{
    bench_report_begin(report, options->format, modelled->name,
                       modelled->title);
    bench_report_note(report, "%s: %d nodes, %d ranks a node, %d leaders",
                      options->model, options->sim.nodes, options->sim.ppn,
                      leaders);
    bench_report_note(report, "n: copies of a message within a node; k: its "
                              "segments (tau-Lop)");
    bench_report_column(report, NULL, "# Size", -10, 0);
    bench_report_column(report, "machine", NULL, 0, 0);
    bench_report_column(report, "algorithm", "Algorithm", -12, 0);
    bench_report_column(report, "nodes", NULL, 0, 0);
    bench_report_column(report, "ppn", NULL, 0, 0);
    bench_report_column(report, "leaders", NULL, 0, 0);
    bench_report_column(report, "bytes", NULL, 0, 0);
    bench_report_column(report, "moves", "n", 4, 0);
    bench_report_column(report, "segments", "k", 8, 0);
    bench_report_column(report, "us", "Latency(us)", 18, BENCH_TIME_DIGITS);
}

static void report_point(struct bench_report *report, const char *machine,
                         const catena_model_point_t *point, double seconds)
{
    bench_report_row(
        report,
        (struct bench_value[]){
            bench_count(point->bytes), bench_text(machine),
            bench_text(point->algorithm), bench_count((uint64_t)point->nodes),
            bench_count((uint64_t)point->ppn),
            bench_count((uint64_t)point->leaders), bench_count(point->bytes),
            bench_count((uint64_t)point->moves), bench_count(point->segments),
            bench_real(seconds * 1e6)});
}

/* Report the time of each algorithm for the size of `point`. Returns an exit
 * code. */
static int report_size(struct bench_report *report, const char *name,
                       const catena_machine_t *machine,
                       const struct modelled *modelled,
                       const char *const *algorithms, size_t count,
                       catena_model_point_t point)
{
    for (size_t i = 0; i < count; i++) {
        double seconds;

        point.algorithm = algorithms[i];
        if (catena_model_path(&point, &point.moves, &point.segments) !=
                CATENA_OK ||
            modelled->evaluate(machine, &point, &seconds) != CATENA_OK)
            return BENCH_USAGE; /* the library has printed why */
        report_point(report, name, &point, seconds);
    }
    return BENCH_OK;
}

int bench_print_model(const struct bench_options *options)
{
    const struct modelled *modelled =
        options->name != NULL ? find(options->name) : &all_modelled[0];
    bool chosen = options->algorithm_count > 0;
    const char *const *names =
        chosen ? options->algorithms : modelled->algorithms;
    size_t count = chosen ? options->algorithm_count : modelled->by_default;
    size_t min = options->min != BENCH_AUTO ? options->min : 8;
    size_t max = options->max != BENCH_AUTO ? options->max : 4096;
    int leaders = options->leaders != NULL ? atoi(options->leaders) : 1;
    catena_model_point_t point = {.size = sizeof(point),
                                  .nodes = options->sim.nodes,
                                  .ppn = options->sim.ppn,
                                  .leaders = leaders > 1 ? leaders : 1};
    catena_machine_t *machine;
    struct bench_report report = {0};
    int code = BENCH_OK;

    if (!check(options, modelled) ||
        catena_machine_open(options->model, &machine) != CATENA_OK)
        return BENCH_USAGE;
    open_report(&report, options, modelled, point.leaders);
    for (point.bytes = min > 0 ? min : 1;
         point.bytes <= max && code == BENCH_OK; point.bytes *= options->step)
        code = report_size(&report, options->model, machine, modelled, names,
                           count, point);
    bench_report_close(&report);
    catena_machine_close(&machine);
    return code;
}
