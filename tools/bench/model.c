/* catena-bench --model: prints the times that the cost formulas of [Peng] give
 * for alltoall on a machine; runs no alltoall. */

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "report.h"

/* The algorithms that have a formula. */
static const char *const all[] = {"direct", "l-a2a", "mpml", "nmpml", "onmpml"};

enum { ALL = sizeof(all) / sizeof(all[0]) };

static void open_report(struct bench_report *report,
                        const struct bench_options *options, int leaders)
{
    bench_report_begin(report, options->format, "alltoall",
                       "alltoall by formula (Peng, Liu, Xie: GLEX-Alltoall, "
                       "equations 6 to 10)");
    bench_report_note(report, "%s: %d nodes, %d ranks a node, %d leaders",
                      options->model, options->sim.nodes, options->sim.ppn,
                      leaders);
    bench_report_column(report, NULL, "# Size", -10, 0);
    bench_report_column(report, "machine", NULL, 0, 0);
    bench_report_column(report, "algorithm", "Algorithm", -12, 0);
    bench_report_column(report, "nodes", NULL, 0, 0);
    bench_report_column(report, "ppn", NULL, 0, 0);
    bench_report_column(report, "leaders", NULL, 0, 0);
    bench_report_column(report, "bytes", NULL, 0, 0);
    bench_report_column(report, "us", "Latency(us)", 18, BENCH_TIME_DIGITS);
}

/* Report the time of each algorithm for blocks of `bytes`. Returns an exit
 * code. */
static int report_size(struct bench_report *report,
                       const struct bench_options *options,
                       const catena_machine_t *machine,
                       const char *const *names, size_t count, int leaders,
                       size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        catena_model_point_t point = {
            sizeof(point),    names[i], options->sim.nodes,
            options->sim.ppn, leaders,  bytes};
        double seconds;

        if (catena_model_alltoall(machine, &point, &seconds) != CATENA_OK) {
            fprintf(stderr,
                    "catena-bench: -a: there is no formula for \"%s\"; "
                    "expected direct, l-a2a, mpml, nmpml or onmpml\n",
                    names[i]);
            return BENCH_USAGE;
        }
        bench_report_row(report,
                         (struct bench_value[]){
                             bench_count(bytes), bench_text(options->model),
                             bench_text(names[i]),
                             bench_count((uint64_t)point.nodes),
                             bench_count((uint64_t)point.ppn),
                             bench_count((uint64_t)leaders), bench_count(bytes),
                             bench_real(seconds * 1e6)});
    }
    return BENCH_OK;
}

int bench_print_model(const struct bench_options *options)
{
    bool chosen = options->algorithm_count > 0;
    const char *const *names = chosen ? options->algorithms : all;
    size_t count = chosen ? options->algorithm_count : ALL;
    size_t min = options->min != BENCH_AUTO ? options->min : 8;
    size_t max = options->max != BENCH_AUTO ? options->max : 4096;
    int leaders = options->leaders != NULL ? atoi(options->leaders) : 1;
    catena_machine_t *machine;
    struct bench_report report = {0};
    int code = BENCH_OK;

    if (catena_machine_open(options->model, &machine) != CATENA_OK)
        return BENCH_USAGE;
    if (leaders < 1)
        leaders = 1;
    open_report(&report, options, leaders);
    for (size_t bytes = min > 0 ? min : 1; bytes <= max && code == BENCH_OK;
         bytes *= options->step)
        code = report_size(&report, options, machine, names, count, leaders,
                           bytes);
    bench_report_close(&report);
    catena_machine_close(&machine);
    return code;
}
