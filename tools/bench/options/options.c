/* The command line, in the manner of the OSU benchmarks. */

#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suggest.h"
#include "core/units.h"
#include "options/options.h"

/* All options; the last number of each is its group in --help. */
static const struct argp_option known[] = {
    {"message-size", 'm', "MIN:MAX", 0,
     "bytes per block, doubling from MIN to MAX, with units (64k, 1m); "
     "also MAX alone",
     0},
    {"step", KEY_STEP, "FACTOR", 0, "from one size to the next (2)", 0},
    {"mem-limit", 'M', "BYTES", 0,
     "leave out sizes whose buffers take more memory of a rank", 0},
    {"no-refill", KEY_NO_REFILL, NULL, 0,
     "leave the contents of the buffers as they are; by default each call "
     "sends "
     "new ones, so that nothing is found in a cache that a program would not "
     "find there",
     0},
    {"iterations", 'i', "N", 0,
     "calls per size (default: 1000, from 8 KiB on 100, fewer when a size "
     "would take more than a few seconds)",
     0},
    {"warmup", 'x', "N", 0,
     "untimed calls before the timed ones (default: a tenth of the iterations)",
     0},
    {"check", 'c', NULL, 0,
     "check every byte of every call against the definition", 0},
    {"algorithm", 'a', "NAME[,NAME...]", 0,
     "algorithms to compare; measured in turns within one run", 0},
    {"hierarchy", KEY_HIERARCHY, "LEVELS", 0,
     "hierarchy, RULE:COMPONENT[,RULE:COMPONENT...]; several times: compared "
     "in turns within one run",
     0},
    {"type", KEY_TYPE, "NAME", 0, "element type of a reduction (float)", 0},
    {"op", KEY_OP, "NAME", 0, "operation of a reduction (sum)", 0},
    {"root", KEY_ROOT, "RANK", 0, "root of bcast, reduce, gather, scatter (0)",
     0},
    {"leaders", KEY_LEADERS, "N", 0,
     "leaders per node, or auto; gather_scatter: N[,N...] to compare", 0},
    {"full", 'f', NULL, 0, "print all columns", 0},
    {"csv", KEY_CSV, NULL, 0, "print comma-separated values", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON document", 0},
    {"blocking", KEY_BLOCKING, NULL, 0,
     "time the blocking call (the default); several of these three are "
     "compared",
     0},
    {"nonblocking", KEY_NONBLOCKING, NULL, 0,
     "time the nonblocking call and its wait", 0},
    {"persistent", KEY_PERSISTENT, NULL, 0,
     "time start and wait of a persistent request", 0},
    {"overlap", KEY_OVERLAP, NULL, 0,
     "overlap of nonblocking calls in percent, defined as in osu_i*", 0},
    {"test", KEY_TEST, "N", 0,
     "calls of catena_request_test while computing (0)", 0},
    {"buffers", KEY_BUFFERS, "KIND", 0,
     "heap (shared heap, the default), malloc, or mixed: even ranks heap, "
     "odd ranks malloc",
     0},
    {"in-place", KEY_IN_PLACE, NULL, 0, "send from the receive buffer", 0},
    {"flag", KEY_FLAG, NULL, 0,
     "barrier of 2 ranks: also measure the raw flag exchange", 0},
    {"groups", KEY_GROUPS, "G", 0,
     "split: number of groups, N: as many as ranks (2)", 0},
    {"color", KEY_COLOR, "KIND", 0,
     "split: int, the default, or string:LEN, different letters for each group",
     0},
    {"key", KEY_KEY, "KIND", 0,
     "split: int, the default, in random order; none: as --no-reorder", 0},
    {"no-split", KEY_NO_SPLIT, NULL, 0,
     "split: one group of all ranks, in the order of their keys", 0},
    {"no-reorder", KEY_NO_REORDER, NULL, 0,
     "split: ranks keep their order in each group", 0},
    {"neighborhood", KEY_NEIGHBORHOOD, "GRAPH", 0,
     "neighbor_...: cart:DIMS[:periodic] (cart:auto), "
     "stencil:POINTS:DIMS[:periodic], graph:FILE or random:DEGREE",
     0},
    {"weights", KEY_WEIGHTS, "KIND", 0,
     "edge weights: uniform, random:MAX or heavy:WEIGHT (the file's, or "
     "uniform)",
     0},
    {"reorder", KEY_REORDER, NULL, 0, "allow catena to reorder the ranks", 0},
    {"shuffle", KEY_SHUFFLE, "SEED", 0, "shuffle the ranks before", 0},
    {"sim", KEY_SIM, "MACHINE", 0,
     "simulate the job on a machine, in this one process; --machines lists the "
     "machines that ship, a path names a file of catena-machine(5)",
     1},
    {"nodes", KEY_NODES, "M", 0, "simulated nodes", 1},
    {"ppn", KEY_PPN, "P", 0, "simulated ranks per node", 1},
    {"cores", KEY_CORES, "LIST", 0,
     "cores for the ranks of a simulated node, as 0-3,8 (all, ranks spread "
     "evenly)",
     1},
    {"node-overhead", KEY_NODE_OVERHEAD, "NS", 0,
     "core time of a message within a node, at each end (0); flag or message: "
     "the overhead of a flag or of a message in the machine file",
     1},
    {"ports", KEY_PORTS, "K", 0, "network ports per node (the machine's)", 1},
    {"sim-memory", KEY_SIM_MEMORY, "BYTES", 0,
     "address space to reserve for the heaps of all ranks (32 TiB)", 1},
    {"seed", KEY_SEED, "S", 0, "seed of jitter and orders (1)", 1},
    {"jitter", KEY_JITTER, "X", 0,
     "latencies and work take up to X times longer, at random (0)", 1},
    {"any-order", KEY_ANY_ORDER, NULL, 0,
     "randomize the order of whatever may arrive in any order", 1},
    {"sizes-only", KEY_SIZES_ONLY, NULL, 0, "do not move users' data", 1},
    {"cost-only", KEY_COST_ONLY, NULL, 0,
     "move neither users' data nor internal tables", 1},
    {"model", KEY_MODEL, "MACHINE", 0,
     "print the times of the paper's formulas for alltoall, scatter or "
     "gather_scatter, with --nodes, --ppn, --leaders, -a and -m; runs nothing",
     2},
    {"machines", KEY_MACHINES, NULL, 0, "list the machines that ship", 2},
    {"calibrate", KEY_CALIBRATE, "FILE", 0,
     "measure this machine and write its parameters, for --sim; run as: prun "
     "-n 8 --ppn 4 catena-bench --calibrate FILE",
     2},
    {"tune", KEY_TUNE, "FILE", 0,
     "measure the collective, or all that have rules, with all algorithms on "
     "this layout of ranks and nodes, and write the fastest to a file for "
     "CATENA_TUNING; an existing file keeps its rules for other layouts",
     2},
    {"help", 'h', NULL, 0, "print this help", -1},
    {"version", KEY_VERSION, NULL, 0, "print the version", -1},
    {0}};

/* Every rank parses the same command line, but only rank 0 prints errors. The
 * rank has not joined the job yet, so its number comes from the launcher. */
static bool prints_errors(void)
{
    const char *rank = getenv("PMIX_RANK");

    return rank == NULL || strcmp(rank, "0") == 0;
}

error_t bench_refuse(struct parse *parse, const char *format, ...)
{
    va_list arguments;

    if (prints_errors() && !parse->refused) {
        fputs("catena-bench: ", stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
    }
    parse->refused = true;
    return EINVAL;
}

bool bench_parse_size(const char *text, size_t *bytes)
{
    size_t read;

    if (!ctn_units_bytes(text, &read) || read > SIZE_MAX / 4)
        return false;
    *bytes = read;
    return true;
}

/* Read "MIN:MAX", "MAX", "MIN:" or ":MAX". */
static bool read_range(struct bench_options *options, const char *text)
{
    const char *colon = strchr(text, ':');
    size_t length;
    char min[32] = "";

    if (colon == NULL)
        return bench_parse_size(text, &options->max);
    length = (size_t)(colon - text);
    if (length >= sizeof(min) || (length == 0 && colon[1] == '\0'))
        return false;
    memcpy(min, text, length);
    if (length > 0 && !bench_parse_size(min, &options->min))
        return false;
    return colon[1] == '\0' || bench_parse_size(colon + 1, &options->max);
}

static error_t parse_range(struct parse *parse, const char *text)
{
    const struct bench_options *options = parse->options;

    parse->sized = true;
    if (!read_range(parse->options, text))
        return bench_refuse(parse,
                            "-m: expected MIN:MAX or MAX in bytes, such as "
                            "8:64k, found \"%s\"",
                            text);
    if (options->min != BENCH_AUTO && options->max != BENCH_AUTO &&
        options->min > options->max)
        return bench_refuse(
            parse, "-m: expected MIN not above MAX, found \"%s\"", text);
    return 0;
}

error_t bench_parse_count(struct parse *parse, const char *option,
                          const char *text, size_t least, size_t *count)
{
    size_t read;

    if (!bench_parse_size(text, &read) || read < least || read > 1000000000)
        return bench_refuse(
            parse,
            "%s: expected a number from %zu to 1000000000, found "
            "\"%s\"",
            option, least, text);
    *count = read;
    return 0;
}

static error_t parse_memory(struct parse *parse, const char *text)
{
    return bench_parse_size(text, &parse->options->memory) &&
                   parse->options->memory > 0
               ? 0
               : bench_refuse(parse,
                              "-M: expected bytes, such as 64m, found \"%s\"",
                              text);
}

/* Split the argument in place: options->algorithms points into argv. */
static error_t parse_algorithms(struct parse *parse, char *text)
{
    struct bench_options *options = parse->options;
    char *name;

    while ((name = strsep(&text, ",")) != NULL) {
        if (*name == '\0')
            return bench_refuse(parse,
                                "-a: expected names separated by commas, "
                                "found an empty one");
        if (options->algorithm_count == BENCH_MAX_VARIANTS)
            return bench_refuse(parse, "-a: expected at most %d names",
                                (int)BENCH_MAX_VARIANTS);
        options->algorithms[options->algorithm_count++] = name;
    }
    return 0;
}

static error_t parse_hierarchy(struct parse *parse, const char *text)
{
    struct bench_options *options = parse->options;

    if (options->hierarchy_count == BENCH_MAX_VARIANTS)
        return bench_refuse(parse, "--hierarchy: expected it at most %d times",
                            (int)BENCH_MAX_VARIANTS);
    options->hierarchies[options->hierarchy_count++] = text;
    return 0;
}

static error_t parse_type(struct parse *parse, const char *text)
{
    char names[256];

    parse->typed = true;
    parse->options->type = bench_find_type(text);
    if (parse->options->type != NULL)
        return 0;
    bench_list_types(names, sizeof(names), NULL);
    return bench_refuse(parse, "--type: expected one of %s, found \"%s\"",
                        names, text);
}

static error_t parse_op(struct parse *parse, const char *text)
{
    char names[256];

    parse->typed = true;
    parse->options->op = bench_find_op(text);
    if (parse->options->op != NULL)
        return 0;
    bench_list_ops(names, sizeof(names));
    return bench_refuse(parse, "--op: expected one of %s, found \"%s\"", names,
                        text);
}

static error_t parse_root(struct parse *parse, const char *text)
{
    size_t root = 0;
    error_t error = bench_parse_count(parse, "--root", text, 0, &root);

    parse->rooted = true;
    parse->options->root = (int)root;
    return error;
}

static error_t parse_buffers(struct parse *parse, const char *text)
{
    if (strcmp(text, "heap") == 0)
        parse->options->buffers = BENCH_HEAP;
    else if (strcmp(text, "malloc") == 0)
        parse->options->buffers = BENCH_MALLOC;
    else if (strcmp(text, "mixed") == 0)
        parse->options->buffers = BENCH_MIXED;
    else
        return bench_refuse(parse,
                            "--buffers: expected heap, malloc or mixed, "
                            "found \"%s\"",
                            text);
    return 0;
}

/* Add a mode to those compared; a repeated one counts once. */
static error_t parse_mode(struct parse *parse, enum bench_mode mode)
{
    struct bench_options *options = parse->options;

    for (size_t m = 0; m < options->mode_count; m++)
        if (options->modes[m] == mode)
            return 0;
    options->modes[options->mode_count++] = mode;
    return 0;
}

static error_t parse_name(struct parse *parse, const char *name)
{
    if (parse->options->name != NULL)
        return bench_refuse(parse,
                            "expected one collective, found \"%s\" and "
                            "\"%s\"",
                            parse->options->name, name);
    parse->options->name = name;
    return 0;
}

/* Options of split. This function and those below pass other options on to the
 * one above it. */
static error_t parse_split(struct parse *parse, int key, char *text)
{
    struct bench_split_options *split = &parse->options->split;

    switch (key) {
    case KEY_GROUPS:
        split->groups = text;
        return 0;
    case KEY_COLOR:
        split->color = text;
        return 0;
    case KEY_KEY:
        split->key = text;
        return 0;
    case KEY_NO_SPLIT:
        split->no_split = true;
        return 0;
    case KEY_NO_REORDER:
        split->no_reorder = true;
        return 0;
    default:
        return bench_parse_neighbors(parse, key, text);
    }
}

/* Options of hierarchical collectives, of reductions and of overlap. */
static error_t parse_levels(struct parse *parse, int key, char *text)
{
    struct bench_options *options = parse->options;

    switch (key) {
    case KEY_HIERARCHY:
        return parse_hierarchy(parse, text);
    case KEY_TYPE:
        return parse_type(parse, text);
    case KEY_OP:
        return parse_op(parse, text);
    case KEY_ROOT:
        return parse_root(parse, text);
    case KEY_OVERLAP:
        options->overlap = true;
        return 0;
    case KEY_TEST:
        parse->tested = true;
        return bench_parse_count(parse, "--test", text, 0, &options->tests);
    default:
        return parse_split(parse, key, text);
    }
}

/* Mostly options without a value. */
static error_t parse_switch(struct parse *parse, int key, char *text)
{
    struct bench_options *options = parse->options;

    switch (key) {
    case 'c':
        options->check = true;
        return 0;
    case 'f':
        options->full = true;
        return 0;
    case KEY_CSV:
        options->format = BENCH_CSV;
        return 0;
    case KEY_JSON:
        options->format = BENCH_JSON;
        return 0;
    case KEY_NO_REFILL:
        options->keep = true;
        return 0;
    case KEY_IN_PLACE:
        options->in_place = true;
        return 0;
    case KEY_FLAG:
        options->flag = true;
        return 0;
    case KEY_BLOCKING:
        return parse_mode(parse, BENCH_BLOCKING);
    case KEY_PERSISTENT:
        return parse_mode(parse, BENCH_PERSISTENT);
    case KEY_NONBLOCKING:
        return parse_mode(parse, BENCH_NONBLOCKING);
    case KEY_VERSION:
        printf("catena-bench %s\n", catena_version());
        exit(EXIT_SUCCESS);
    default:
        return parse_levels(parse, key, text);
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct bench_options *options = parse->options;

    /* For the message about an unknown option. When argp ends, state->next is
     * already behind that option. */
    if (key < ARGP_KEY_END)
        parse->next = state->next;
    switch (key) {
    case 'm':
        return parse_range(parse, argument);
    case 'i':
        return bench_parse_count(parse, "-i", argument, 1,
                                 &options->iterations);
    case 'x':
        return bench_parse_count(parse, "-x", argument, 0, &options->warmup);
    case 'M':
        return parse_memory(parse, argument);
    case KEY_STEP:
        return bench_parse_count(parse, "--step", argument, 2, &options->step);
    case 'a':
        return parse_algorithms(parse, argument);
    case KEY_LEADERS:
        options->leaders = argument;
        return 0;
    case KEY_BUFFERS:
        return parse_buffers(parse, argument);
    case KEY_MODEL:
        options->model = argument;
        return 0;
    case KEY_CALIBRATE:
        options->calibrate = argument;
        return 0;
    case KEY_TUNE:
        options->tune = argument;
        return 0;
    case ARGP_KEY_ARG:
        return parse_name(parse, argument);
    case 'h': /* ARGP_NO_ERRS also disables argp's own --help */
        argp_help(state->root_argp, stdout,
                  ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC,
                  state->name);
        exit(EXIT_SUCCESS);
    default:
        return parse_switch(parse, key, argument);
    }
}

/* The known option that is most like an unknown one; NULL: none is. */
static const char *nearest_option(const char *typed)
{
    ctn_nearest_t nearest = {typed + 2, 0, 4, NULL};

    if (strncmp(typed, "--", 2) != 0)
        return NULL;
    nearest.length = strcspn(nearest.typed, "=");
    for (const struct argp_option *o = known; o->name != NULL; o++)
        ctn_nearest_try(&nearest, o->name);
    return nearest.name;
}

/* Refuse the option at which argp has ended. */
static void refuse_option(struct parse *parse, const char *typed)
{
    const char *nearest = nearest_option(typed);

    if (nearest != NULL)
        bench_refuse(parse,
                     "unknown or incomplete option \"%s\"; did you mean "
                     "\"--%s\"? --help lists all options",
                     typed, nearest);
    else
        bench_refuse(
            parse,
            "unknown or incomplete option \"%s\"; --help lists all options",
            typed);
}

int bench_parse(int argc, char **argv, struct bench_options *options)
{
    struct parse parse = {.options = options, .next = 1};
    char doc[2048];
    struct argp argp = {.options = known,
                        .parser = parse_option,
                        .args_doc = "COLLECTIVE",
                        .doc = doc};
    int used;

    used = snprintf(doc, sizeof(doc),
                    "Measure catena's collectives, one line per message "
                    "size.\vCollectives:\n");
    bench_list_names(doc + used, sizeof(doc) - (size_t)used, true);
    *options = (struct bench_options){.min = BENCH_AUTO,
                                      .max = BENCH_AUTO,
                                      .iterations = BENCH_AUTO,
                                      .warmup = BENCH_AUTO,
                                      .step = 2,
                                      .type = bench_find_type("float"),
                                      .op = bench_find_op("sum"),
                                      .sim.size = sizeof(catena_sim_params_t),
                                      .sim.seed = 1};
    /* ARGP_NO_ERRS: argp's own messages take two lines and do not say what is
     * wrong with a value. */
    if (argp_parse(&argp, argc, argv,
                   ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_IN_ORDER, NULL,
                   &parse) != 0) {
        if (!parse.refused)
            refuse_option(&parse, parse.next < argc ? argv[parse.next]
                                                    : argv[argc - 1]);
        return BENCH_USAGE;
    }
    return bench_check_options(&parse) == 0 ? BENCH_OK : BENCH_USAGE;
}
