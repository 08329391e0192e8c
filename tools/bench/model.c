/* catena-bench --model: prints the times that the cost formulas of [Peng] give
 * for alltoall on a machine; runs no alltoall. */

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

/* The algorithms that have a formula. */
static const char *const all[] = {"direct", "l-a2a", "mpml", "nmpml", "onmpml"};

enum {
    ALL = sizeof(all) / sizeof(all[0]),
    SIZE_COLUMN = 10, /* widths of columns */
    COLUMN = 14
};

static void print_header(const struct bench_options *options,
                         const char *const *names, size_t count, int leaders)
{
    printf("# alltoall by formula (Peng, Liu, Xie: GLEX-Alltoall, equations 6 "
           "to 10)\n");
    printf("# %s: %d nodes, %d ranks a node, %d leaders; microseconds\n",
           options->model, options->sim.nodes, options->sim.ppn, leaders);
    if (options->format == BENCH_CSV) {
        puts("machine,algorithm,nodes,ppn,leaders,bytes,us");
        return;
    }
    printf("%-*s", SIZE_COLUMN, "# Size");
    for (size_t i = 0; i < count; i++)
        printf("%*s", COLUMN, names[i]);
    putchar('\n');
}

/* Print the time of each algorithm for blocks of `bytes`. Returns an exit
 * code. */
static int print_size(const struct bench_options *options,
                      const catena_machine_t *machine, const char *const *names,
                      size_t count, int leaders, size_t bytes)
{
    if (options->format != BENCH_CSV)
        printf("%-*zu", SIZE_COLUMN, bytes);
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
        if (options->format == BENCH_CSV)
            printf("%s,%s,%d,%d,%d,%zu,%.4f\n", options->model, names[i],
                   point.nodes, point.ppn, leaders, bytes, seconds * 1e6);
        else
            printf("%*.2f", COLUMN, seconds * 1e6);
    }
    if (options->format != BENCH_CSV)
        putchar('\n');
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
    int code = BENCH_OK;

    if (catena_machine_open(options->model, &machine) != CATENA_OK)
        return BENCH_USAGE;
    if (leaders < 1)
        leaders = 1;
    print_header(options, names, count, leaders);
    for (size_t bytes = min > 0 ? min : 1; bytes <= max && code == BENCH_OK;
         bytes *= 2)
        code = print_size(options, machine, names, count, leaders, bytes);
    catena_machine_close(&machine);
    return code;
}
