/* catena-bench: latencies of catena's collectives, in the manner of the OSU
 * benchmarks. */

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "calibrate/calibrate.h"
#include "motivation/motivation.h"

/* Set the place and the groups of `bench`. */
static catena_status_t open_bench(struct bench *bench)
{
    catena_status_t status;

    bench->place.size = sizeof(bench->place);
    status = catena_get_place(bench->context, &bench->place);
    if (status != CATENA_OK)
        return status;
    bench->world = catena_world(bench->context);
    if (bench->simulation != NULL) { /* bench_simulation_fold shares memory */
        bench->control = bench->world;
        return CATENA_OK;
    }
    status = catena_group_dup(bench->world, &bench->control);
    if (status != CATENA_OK)
        return status;
    /* CATENA_ALLTOALL_ALGORITHM is for the measured group only. Results are
     * exchanged by the algorithm that suits the layout. */
    status = catena_group_set(bench->control, "alltoall_algorithm", "auto");
    if (status != CATENA_OK)
        catena_group_free(&bench->control);
    return status;
}

/* Run the benchmark that the options name. */
static int run_benchmark(struct bench *bench)
{
    const struct bench_options *options = bench->options;
    const struct bench_figure *figure;

    if (options->tune != NULL)
        return bench_tune(bench);
    figure = bench_find_figure(options->name);
    return figure != NULL ? figure->run(bench, figure)
                          : bench_collective(bench, bench_find(options->name));
}

/* Any benchmark but heap and --calibrate. */
static int run_on_groups(catena_context_t *context,
                         const struct bench_options *options,
                         struct bench_simulation *simulation)
{
    struct bench bench = {
        .options = options, .context = context, .simulation = simulation};
    catena_status_t status = open_bench(&bench);
    int code;

    if (status != CATENA_OK) {
        fprintf(stderr, "catena-bench: preparing: %s\n",
                catena_status_string(status));
        catena_abort(context, BENCH_FAILED);
    }
    code = run_benchmark(&bench);
    if (bench.control != bench.world)
        status = catena_group_free(&bench.control);
    if (status != CATENA_OK)
        bench_die(&bench, "freeing a group", status);
    return code;
}

/* The allocator is measured on rank 0 only; the other ranks wait for it in
 * catena_finalize. */
static int run_heap(catena_context_t *context,
                    const struct bench_options *options)
{
    if (catena_group_rank(catena_world(context)) != 0)
        return BENCH_OK;
    return bench_heap(context, options->format,
                      options->iterations != BENCH_AUTO
                          ? options->iterations
                          : BENCH_HEAP_ITERATIONS);
}

int bench_run_rank(const catena_config_t *config,
                   const struct bench_options *options,
                   struct bench_simulation *simulation)
{
    catena_context_t *context;
    catena_status_t status;
    int code;

    status = catena_init(config, &context);
    if (status != CATENA_OK) {
        if (catena_last_error()[0] == '\0') /* else it is logged */
            fprintf(stderr, "catena-bench: catena_init: %s\n",
                    catena_status_string(status));
        return BENCH_FAILED;
    }
    if (options->calibrate != NULL)
        code = bench_calibrate(context, options->calibrate);
    else if (options->tune == NULL && strcmp(options->name, "heap") == 0)
        code = run_heap(context, options);
    else
        code = run_on_groups(context, options, simulation);
    status = catena_finalize(&context);
    if (status != CATENA_OK) {
        fprintf(stderr, "catena-bench: catena_finalize: %s\n",
                catena_status_string(status));
        return BENCH_FAILED;
    }
    return code;
}

/* The component `ucx` needs the network, even on a single node. */
static bool needs_network(const struct bench_options *options)
{
    for (size_t i = 0; i < options->hierarchy_count; i++)
        if (strstr(options->hierarchies[i], ":ucx") != NULL)
            return true;
    return false;
}

static int run_real(const struct bench_options *options)
{
    static const char *const settings[] = {"NETWORK=y", NULL};
    catena_config_t config = {.size = sizeof(config)};

    if (needs_network(options))
        config.settings = settings;
    return bench_run_rank(&config, options, NULL);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    int code = bench_parse(argc, argv, &options);

    if (code != BENCH_OK)
        return code;
    if (options.model != NULL)
        code = bench_print_model(&options);
    else if (options.simulated)
        code = bench_simulate(&options);
    else
        code = run_real(&options);
    bench_graph_free(&options.neighbors.graph);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "catena-bench: writing the results failed\n");
        return BENCH_FAILED;
    }
    return code;
}
