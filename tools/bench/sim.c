/* A job on a simulated machine: every simulated rank executes the code of a
 * real process. */

#include <ctype.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

/* What all simulated ranks share. A fold combines data of all ranks. It ends
 * with a barrier, so a rank is at most one fold ahead of the others, and two
 * alternating folds suffice. */
struct bench_simulation {
    const struct bench_options *options;
    struct fold {
        unsigned char *data; /* combined so far */
        int arrived;         /* ranks that have added their data */
    } folds[2];
    uint64_t *begun; /* [ranks]: number of folds that each rank has begun */
};

enum {
    STACK_BYTES = 32 << 10,   /* enough for a rank that runs this program */
    PROCESS_BYTES = 12 << 10, /* malloc memory of a rank, approximately */
    MANY_RANKS = 4096         /* from here on huge pages are worthwhile */
};

void bench_simulation_fold(struct bench *bench, void *data, size_t bytes,
                           bench_fold_t fold)
{
    struct bench_simulation *simulation = bench->simulation;
    struct fold *shared =
        &simulation->folds[simulation->begun[bench->place.rank]++ % 2];
    catena_status_t status;

    if (shared->arrived == 0) {
        free(shared->data);
        shared->data = bench_alloc(bench, 1, bytes);
        memcpy(shared->data, data, bytes);
    } else {
        fold(shared->data, data, bytes);
    }
    if (++shared->arrived == bench->place.ranks)
        shared->arrived = 0;
    status = catena_barrier(bench->control); /* all have added their data */
    if (status != CATENA_OK)
        bench_die(bench, "exchanging results", status);
    memcpy(data, shared->data, bytes);
}

/* Ask the kernel for huge pages for the heap of the C library, which holds the
 * small tables of each rank. With tens of thousands of ranks this saves a third
 * of the time. malloc keeps the area when it is freed, and uses it for later
 * allocations. */
static void prepare_heap(size_t ranks)
{
    size_t bytes = ranks * PROCESS_BYTES;
    unsigned char *area, *start;

    if (ranks < MANY_RANKS)
        return;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    area = malloc(bytes);
    if (area == NULL)
        return;
    start = area + (-(uintptr_t)area & 4095);
    (void)madvise(start, bytes - 4096, MADV_HUGEPAGE); /* best effort */
    free(area);
}

static int run_rank(const catena_config_t *config, void *argument)
{
    struct bench_simulation *simulation = argument;

    return bench_run_rank(config, simulation->options, simulation);
}

/* Peak resident memory of this process, bytes. */
static double peak_resident(void)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

/* Time and memory of the simulation itself: to stderr, because they depend on
 * this computer and the results do not. */
static void print_effort(const catena_sim_report_t *report, size_t ranks)
{
    double memory = peak_resident();

    fprintf(stderr,
            "simulator: %llu events in %.2f s, %.2f million a second; %.1f us "
            "of virtual time; %.2f GiB of memory, %.1f KiB a rank\n",
            (unsigned long long)report->events, report->wall_s,
            (double)report->events / report->wall_s * 1e-6,
            report->virtual_s * 1e6, memory / (1 << 30),
            memory / 1024 / (double)ranks);
}

/* Read "3" or "3-5"; returns the text after it, or NULL if it is neither. */
static const char *read_cores(const char *text, unsigned long *first,
                              unsigned long *last)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return NULL;
    *first = *last = strtoul(text, &end, 10);
    if (*end != '-')
        return end;
    if (!isdigit((unsigned char)end[1]))
        return NULL;
    *last = strtoul(end + 1, &end, 10);
    return end;
}

bool bench_parse_cores(const char *text, struct bench_options *options)
{
    catena_sim_params_t *sim = &options->sim;
    unsigned long first, last;

    sim->cores = options->cores;
    sim->core_count = 0;
    do {
        text = read_cores(text, &first, &last);
        if (text == NULL || last < first || last > INT_MAX)
            return false;
        for (unsigned long core = first; core <= last; core++) {
            if (sim->core_count == BENCH_MAX_CORES)
                return false;
            options->cores[sim->core_count++] = (int)core;
        }
    } while (*text++ == ',');
    return text[-1] == '\0';
}

/* Set the overhead of messages within a node to that of the machine's file. */
static bool take_overhead(const struct bench_options *options,
                          catena_sim_params_t *params)
{
    catena_machine_t *machine;
    double ns = 0;

    if (options->overhead == NULL)
        return true;
    if (catena_machine_open(params->machine, &machine) != CATENA_OK)
        return false;
    (void)catena_machine_get(machine, "work", options->overhead, &ns);
    catena_machine_close(&machine);
    params->node_overhead_s = ns * 1e-9;
    if (ns == 0)
        fprintf(stderr,
                "catena-bench: --node-overhead: machine %s has no "
                "work.%s; give a number of nanoseconds\n",
                params->machine, options->overhead);
    return ns > 0;
}

int bench_simulate(const struct bench_options *options)
{
    struct bench_simulation simulation = {.options = options};
    catena_sim_params_t params = options->sim;
    catena_sim_report_t report = {.size = sizeof(report)};
    size_t ranks = (size_t)params.nodes * (size_t)params.ppn;
    catena_status_t status;

    if (!take_overhead(options, &params))
        return BENCH_USAGE;
    params.stack_bytes = STACK_BYTES;
    simulation.begun = calloc(ranks, sizeof(*simulation.begun));
    if (simulation.begun == NULL) {
        fprintf(stderr, "catena-bench: no memory for %zu ranks\n", ranks);
        return BENCH_FAILED;
    }
    prepare_heap(ranks);
    status = catena_sim_run(&params, run_rank, &simulation, &report);
    for (int i = 0; i < 2; i++)
        free(simulation.folds[i].data);
    free(simulation.begun);
    if (report.events > 0)
        print_effort(&report, ranks);
    if (status == CATENA_OK)
        return report.exit_code;
    fprintf(stderr, "catena-bench: simulating: %s\n",
            catena_status_string(status));
    if (report.exit_code != 0)
        return report.exit_code;
    return status == CATENA_ERR_ARG ? BENCH_USAGE : BENCH_FAILED;
}
