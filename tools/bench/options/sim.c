/* Options of simulated jobs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "options/options.h"

/* A number of nodes, ranks or ports. */
static error_t parse_small(struct parse *parse, const char *option,
                           const char *text, int *number)
{
    size_t count = 0;
    error_t error = bench_parse_count(parse, option, text, 1, &count);

    parse->sim_only = true;
    if (error == 0)
        *number = (int)count;
    return error;
}

/* A number from 0 to `most`. */
static error_t parse_real(struct parse *parse, const char *option,
                          const char *text, double most, double *number)
{
    if (!ctn_units_real(text, most, number))
        return bench_refuse(parse,
                            "%s: expected a number from 0 to %g, found \"%s\"",
                            option, most, text);
    parse->sim_only = true;
    return 0;
}

/* A number of nanoseconds, or flag or message: parameters of the machine. */
static error_t parse_node_overhead(struct parse *parse, const char *text)
{
    struct bench_options *options = parse->options;
    double ns = 0;

    parse->sim_only = true;
    options->overhead = strcmp(text, "flag") == 0      ? "flag_overhead_ns"
                        : strcmp(text, "message") == 0 ? "message_overhead_ns"
                                                       : NULL;
    if (options->overhead == NULL && !ctn_units_real(text, 1e6, &ns))
        return bench_refuse(parse,
                            "--node-overhead: expected flag, message or a "
                            "number from 0 to 1e6, found \"%s\"",
                            text);
    options->sim.node_overhead_s = ns * 1e-9;
    return 0;
}

error_t bench_parse_seed(struct parse *parse, const char *option,
                         const char *text, uint64_t *seed)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
        return bench_refuse(parse, "%s: expected a number, found \"%s\"",
                            option, text);
    return 0;
}

static error_t parse_cores(struct parse *parse, const char *text)
{
    parse->sim_only = true;
    return bench_parse_cores(text, parse->options)
               ? 0
               : bench_refuse(
                     parse,
                     "--cores: expected up to %d numbers and ranges, such "
                     "as 0-3,8, found \"%s\"",
                     (int)BENCH_MAX_CORES, text);
}

error_t bench_parse_simulated(struct parse *parse, int key, char *text)
{
    struct bench_options *options = parse->options;

    switch (key) {
    case KEY_SIM:
        options->simulated = true;
        options->sim.machine = text;
        return 0;
    case KEY_NODES:
        return parse_small(parse, "--nodes", text, &options->sim.nodes);
    case KEY_PPN:
        return parse_small(parse, "--ppn", text, &options->sim.ppn);
    case KEY_CORES:
        return parse_cores(parse, text);
    case KEY_NODE_OVERHEAD:
        return parse_node_overhead(parse, text);
    case KEY_SIM_MEMORY:
        parse->sim_only = true;
        return bench_parse_size(text, &options->sim.memory_bytes)
                   ? 0
                   : bench_refuse(parse,
                                  "--sim-memory: expected bytes, such as 8g, "
                                  "found \"%s\"",
                                  text);
    case KEY_PORTS:
        return parse_small(parse, "--ports", text, &options->sim.ports);
    case KEY_SEED:
        parse->sim_only = true;
        return bench_parse_seed(parse, "--seed", text, &options->sim.seed);
    case KEY_JITTER:
        return parse_real(parse, "--jitter", text, 1000, &options->sim.jitter);
    case KEY_ANY_ORDER:
        parse->sim_only = true;
        options->sim.reorder = 1;
        return 0;
    case KEY_SIZES_ONLY:
        parse->sim_only = true;
        options->sim.payload = CATENA_SIM_SIZES;
        return 0;
    case KEY_COST_ONLY:
        parse->sim_only = true;
        options->sim.payload = CATENA_SIM_COST;
        return 0;
    case KEY_MACHINES:
        exit(catena_machine_list(stdout) == CATENA_OK ? EXIT_SUCCESS
                                                      : EXIT_FAILURE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
