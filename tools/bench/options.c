/* The command line, in the manner of the OSU benchmarks. */

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "motivation.h"

enum { /* options without a letter */
       KEY_LEADERS = 256,
       KEY_CSV,
       KEY_JSON,
       KEY_PERSISTENT,
       KEY_NONBLOCKING,
       KEY_BUFFERS,
       KEY_IN_PLACE,
       KEY_FLAG,
       KEY_GROUPS,
       KEY_COLOR,
       KEY_KEY,
       KEY_NO_SPLIT,
       KEY_NO_REORDER,
       KEY_VERSION,
       KEY_SIM,
       KEY_NODES,
       KEY_PPN,
       KEY_CORES,
       KEY_PORTS,
       KEY_SEED,
       KEY_JITTER,
       KEY_REORDER,
       KEY_SIZES_ONLY,
       KEY_COST_ONLY,
       KEY_MODEL,
       KEY_CALIBRATE,
       KEY_TUNE,
       KEY_MACHINES
};

struct parse {
    struct bench_options *options;
    bool refused; /* a line has been printed */
    bool sized;   /* -m was given */
    bool placed;  /* an option that only simulated jobs have was given */
    int next;     /* index of the argument after the last one taken */
};

static const struct argp_option known[] = {
    {"message-size", 'm', "MIN:MAX", 0,
     "bytes per block, doubling from MIN to MAX, with units (64k, 1m); "
     "also MAX alone",
     0},
    {"iterations", 'i', "N", 0,
     "calls per size (default: 1000, from 8 KiB on 100, fewer when a size "
     "would take more than a few seconds)",
     0},
    {"warmup", 'x', "N", 0,
     "untimed calls before (default: a tenth of the iterations)", 0},
    {"check", 'c', NULL, 0,
     "check every byte of every call against the definition", 0},
    {"algorithm", 'a', "NAME[,NAME...]", 0,
     "algorithms to compare; measured in turns within one run", 0},
    {"leaders", KEY_LEADERS, "N", 0,
     "leaders per node, or auto; gather_scatter: N[,N...] to compare", 0},
    {"full", 'f', NULL, 0, "print all columns", 0},
    {"csv", KEY_CSV, NULL, 0, "print comma-separated values", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON document", 0},
    {"persistent", KEY_PERSISTENT, NULL, 0,
     "time start and wait of a persistent request", 0},
    {"nonblocking", KEY_NONBLOCKING, NULL, 0,
     "time the nonblocking call and its wait", 0},
    {"buffers", KEY_BUFFERS, "KIND", 0,
     "heap (shared heap, the default), malloc, or mixed: even ranks heap, "
     "odd ranks malloc",
     0},
    {"in-place", KEY_IN_PLACE, NULL, 0, "send from the receive buffer", 0},
    {"flag", KEY_FLAG, NULL, 0,
     "barrier of 2 ranks: measure the raw flag exchange beside it", 0},
    {"groups", KEY_GROUPS, "G", 0,
     "split: groups that come out, N: as many as ranks (2)", 0},
    {"color", KEY_COLOR, "KIND", 0,
     "split: int, the default, or string:LEN, different letters for each group",
     0},
    {"key", KEY_KEY, "KIND", 0,
     "split: int, the default, in random order; none: as --no-reorder", 0},
    {"no-split", KEY_NO_SPLIT, NULL, 0,
     "split: all ranks stay together, in the order of their keys", 0},
    {"no-reorder", KEY_NO_REORDER, NULL, 0,
     "split: ranks keep their order in each group", 0},
    {"sim", KEY_SIM, "MACHINE", 0,
     "simulate the job on a machine, in this one process; --machines lists "
     "those that ship, a path names a file of catena-machine(5)",
     1},
    {"nodes", KEY_NODES, "M", 0, "simulated nodes", 1},
    {"ppn", KEY_PPN, "P", 0, "simulated ranks per node", 1},
    {"cores", KEY_CORES, "LIST", 0,
     "cores of a simulated node's ranks, as 0-3,8 (all, ranks spread evenly)",
     1},
    {"ports", KEY_PORTS, "K", 0, "network ports per node (the machine's)", 1},
    {"seed", KEY_SEED, "S", 0, "of jitter and orders (1)", 1},
    {"jitter", KEY_JITTER, "X", 0,
     "latencies and work take up to X times their length longer, at random "
     "(0)",
     1},
    {"reorder", KEY_REORDER, NULL, 0,
     "what may come in any order comes in a random one", 1},
    {"sizes-only", KEY_SIZES_ONLY, NULL, 0, "do not move users' data", 1},
    {"cost-only", KEY_COST_ONLY, NULL, 0,
     "nor tables that are only exchanged and worked on", 1},
    {"model", KEY_MODEL, "MACHINE", 0,
     "print what the paper's formulas say for alltoall, with --nodes, --ppn, "
     "--leaders and -m; nothing runs",
     2},
    {"machines", KEY_MACHINES, NULL, 0, "list the machines that ship", 2},
    {"calibrate", KEY_CALIBRATE, "FILE", 0,
     "measure this machine and write its parameters, to be used with --sim; "
     "run as: prun -n 4 --ppn 2 catena-bench --calibrate FILE",
     2},
    {"tune", KEY_TUNE, "FILE", 0,
     "measure alltoall with all algorithms on this layout of ranks and nodes, "
     "and write which to use, for CATENA_TUNING; a file that exists keeps what "
     "it says of other layouts",
     2},
    {"help", 'h', NULL, 0, "print this help", -1},
    {"version", KEY_VERSION, NULL, 0, "print the version", -1},
    {0}};

/* Every rank parses the same line; one of them is enough to complain. The
 * job is not joined yet, so the launcher's word for the rank must do. */
static bool speaks(void)
{
    const char *rank = getenv("PMIX_RANK");

    return rank == NULL || strcmp(rank, "0") == 0;
}

static error_t __attribute__((format(printf, 2, 3)))
refuse(struct parse *parse, const char *format, ...)
{
    va_list arguments;

    if (speaks() && !parse->refused) {
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
    static const char units[] = "kmg";
    unsigned long long number;
    const char *unit;
    int shift = 0;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    if (*end != '\0') {
        unit = strchr(units, tolower((unsigned char)*end));
        if (unit == NULL || end[1] != '\0')
            return false;
        shift = 10 * (int)(unit - units + 1);
    }
    if (number > ((SIZE_MAX / 4) >> shift))
        return false;
    *bytes = (size_t)number << shift;
    return true;
}

/* "MIN:MAX", "MAX", "MIN:", ":MAX" */
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
        return refuse(parse,
                      "-m: expected MIN:MAX or MAX in bytes, such as "
                      "8:64k, found \"%s\"",
                      text);
    if (options->min != BENCH_AUTO && options->max != BENCH_AUTO &&
        options->min > options->max)
        return refuse(parse, "-m: expected MIN not above MAX, found \"%s\"",
                      text);
    return 0;
}

static error_t parse_count(struct parse *parse, const char *option,
                           const char *text, size_t least, size_t *count)
{
    size_t read;

    if (!bench_parse_size(text, &read) || read < least || read > 1000000000)
        return refuse(parse,
                      "%s: expected a number from %zu to 1000000000, found "
                      "\"%s\"",
                      option, least, text);
    *count = read;
    return 0;
}

/* Names are cut out of the argument itself, which lives as long as main. */
static error_t parse_algorithms(struct parse *parse, char *text)
{
    struct bench_options *options = parse->options;
    char *name;

    while ((name = strsep(&text, ",")) != NULL) {
        if (*name == '\0')
            return refuse(parse, "-a: expected names separated by commas, "
                                 "found an empty one");
        if (options->algorithm_count == BENCH_MAX_VARIANTS)
            return refuse(parse, "-a: expected at most %d names",
                          (int)BENCH_MAX_VARIANTS);
        options->algorithms[options->algorithm_count++] = name;
    }
    return 0;
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
        return refuse(parse,
                      "--buffers: expected heap, malloc or mixed, "
                      "found \"%s\"",
                      text);
    return 0;
}

static error_t parse_mode(struct parse *parse, enum bench_mode mode)
{
    struct bench_options *options = parse->options;

    if (options->mode != BENCH_BLOCKING && options->mode != mode)
        return refuse(parse, "expected one of --persistent and --nonblocking, "
                             "found both");
    options->mode = mode;
    return 0;
}

static error_t parse_name(struct parse *parse, const char *name)
{
    if (parse->options->name != NULL)
        return refuse(parse,
                      "expected one collective, found \"%s\" and "
                      "\"%s\"",
                      parse->options->name, name);
    parse->options->name = name;
    return 0;
}

static error_t parse_small(struct parse *parse, const char *option,
                           const char *text, int *number)
{
    size_t count = 0;
    error_t error = parse_count(parse, option, text, 1, &count);

    parse->placed = true;
    if (error == 0)
        *number = (int)count;
    return error;
}

static error_t parse_jitter(struct parse *parse, const char *text)
{
    char *end;
    double jitter = strtod(text, &end);

    if (end == text || *end != '\0' || !(jitter >= 0 && jitter <= 1000))
        return refuse(parse,
                      "--jitter: expected a number from 0 to 1000, found "
                      "\"%s\"",
                      text);
    parse->placed = true;
    parse->options->sim.jitter = jitter;
    return 0;
}

static error_t parse_seed(struct parse *parse, const char *text)
{
    char *end;

    errno = 0;
    parse->placed = true;
    parse->options->sim.seed = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
        return refuse(parse, "--seed: expected a number, found \"%s\"", text);
    return 0;
}

static error_t parse_cores(struct parse *parse, const char *text)
{
    parse->placed = true;
    return bench_parse_cores(text, parse->options)
               ? 0
               : refuse(parse,
                        "--cores: expected up to %d numbers and ranges, such "
                        "as 0-3,8, found \"%s\"",
                        (int)BENCH_MAX_CORES, text);
}

/* Options of simulated jobs. */
static error_t parse_simulated(struct parse *parse, int key, char *text)
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
    case KEY_PORTS:
        return parse_small(parse, "--ports", text, &options->sim.ports);
    case KEY_SEED:
        return parse_seed(parse, text);
    case KEY_JITTER:
        return parse_jitter(parse, text);
    case KEY_REORDER:
        parse->placed = true;
        options->sim.reorder = 1;
        return 0;
    case KEY_SIZES_ONLY:
        parse->placed = true;
        options->sim.payload = CATENA_SIM_SIZES;
        return 0;
    case KEY_COST_ONLY:
        parse->placed = true;
        options->sim.payload = CATENA_SIM_COST;
        return 0;
    case KEY_MACHINES:
        exit(catena_machine_list(stdout) == CATENA_OK ? EXIT_SUCCESS
                                                      : EXIT_FAILURE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
        return parse_simulated(parse, key, text);
    }
}

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
    case KEY_IN_PLACE:
        options->in_place = true;
        return 0;
    case KEY_FLAG:
        options->flag = true;
        return 0;
    case KEY_PERSISTENT:
        return parse_mode(parse, BENCH_PERSISTENT);
    case KEY_NONBLOCKING:
        return parse_mode(parse, BENCH_NONBLOCKING);
    case KEY_VERSION:
        printf("catena-bench %s\n", catena_version());
        exit(EXIT_SUCCESS);
    default:
        return parse_split(parse, key, text);
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct bench_options *options = parse->options;

    if (key < ARGP_KEY_END) /* not when argp ends: it is past the error */
        parse->next = state->next;
    switch (key) {
    case 'm':
        return parse_range(parse, argument);
    case 'i':
        return parse_count(parse, "-i", argument, 1, &options->iterations);
    case 'x':
        return parse_count(parse, "-x", argument, 0, &options->warmup);
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
    case 'h': /* argp prints no help of its own with ARGP_NO_ERRS */
        argp_help(state->root_argp, stdout,
                  ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC,
                  state->name);
        exit(EXIT_SUCCESS);
    default:
        return parse_switch(parse, key, argument);
    }
}

/* The collectives, for the end of --help and for messages. */
static void list_names(char *text, size_t bytes, bool help)
{
    const struct bench_collective *row;
    const struct bench_figure *figure;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; (row = bench_list(i)) != NULL && used < bytes; i++)
        used += help ? (size_t)snprintf(text + used, bytes - used,
                                        "  %-14s %s\n", row->name, row->help)
                     : (size_t)snprintf(text + used, bytes - used, "%s, ",
                                        row->name);
    for (size_t i = 0; (figure = bench_list_figure(i)) != NULL && used < bytes;
         i++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 help ? "  %-14s %s\n" : "%s, ", figure->name,
                                 figure->help);
    if (used < bytes)
        snprintf(text + used, bytes - used,
                 help ? "  heap           the shared heap's allocator\n"
                      : "heap");
}

/* heap is no collective: it takes -i and --csv, and prints its own table. */
static error_t check_heap(struct parse *parse)
{
    struct bench_options *options = parse->options;

    if (parse->sized || options->check || options->algorithm_count > 0 ||
        options->leaders != NULL || options->in_place || options->flag ||
        options->mode != BENCH_BLOCKING || options->format == BENCH_JSON ||
        options->warmup != BENCH_AUTO || options->full ||
        options->buffers != BENCH_HEAP || options->simulated)
        return refuse(parse, "heap: expected no options but -i and --csv");
    if (options->iterations != BENCH_AUTO)
        options->heap.iterations = options->iterations;
    options->heap.csv = options->format == BENCH_CSV;
    return 0;
}

/* Nor are the figures of the motivation: they time what they must in their own
 * way, on real ranks. */
static error_t check_figure(struct parse *parse,
                            const struct bench_figure *figure)
{
    const struct bench_options *options = parse->options;
    const char *wrong;

    if (options->algorithm_count > 0 || options->in_place || options->flag ||
        options->mode != BENCH_BLOCKING || options->format == BENCH_JSON ||
        options->full || options->buffers != BENCH_HEAP || options->simulated ||
        (options->leaders != NULL && !figure->leaders))
        return refuse(parse,
                      "%s: expected no options but -m, -i, -x, -c%s "
                      "and --csv",
                      figure->name, figure->leaders ? ", --leaders" : "");
    if (options->min == 0 || options->max == 0 ||
        (options->max != BENCH_AUTO && options->max > FIGURE_BYTES_MOST) ||
        (options->min != BENCH_AUTO && options->min > FIGURE_BYTES_MOST))
        return refuse(parse, "%s: -m: expected 1 byte to 64m", figure->name);
    wrong = figure->check != NULL ? figure->check(options) : NULL;
    return wrong == NULL ? 0
                         : refuse(parse, "%s: %s, found \"%s\"", figure->name,
                                  wrong, options->leaders);
}

/* What a simulated job needs, and what only it can use. */
static error_t check_simulated(struct parse *parse)
{
    const struct bench_options *options = parse->options;

    if (options->model != NULL &&
        (options->simulated || options->calibrate != NULL))
        return refuse(parse, "--model: expected neither --sim nor --calibrate "
                             "with it");
    if (!options->simulated && options->model == NULL) {
        if (parse->placed)
            return refuse(parse, "--nodes, --ppn, --cores, --ports, --seed, "
                                 "--jitter, --reorder, --sizes-only and "
                                 "--cost-only expect --sim MACHINE");
        return 0;
    }
    if (options->sim.nodes == 0 || options->sim.ppn == 0)
        return refuse(parse, "%s: expected --nodes M and --ppn P with it",
                      options->simulated ? "--sim" : "--model");
    if ((long long)options->sim.nodes * options->sim.ppn > 4194304)
        return refuse(parse, "expected at most 4194304 ranks, found %lld",
                      (long long)options->sim.nodes * options->sim.ppn);
    if (options->simulated && (options->flag || options->calibrate != NULL))
        return refuse(parse, "--sim: expected neither --flag nor --calibrate "
                             "with it");
    if (options->check && options->sim.payload != CATENA_SIM_CARRY)
        return refuse(parse, "-c: expected neither --sizes-only nor "
                             "--cost-only with it: nothing arrives");
    return 0;
}

/* --model and --calibrate measure no collective of their own. */
static error_t check_without_collective(struct parse *parse)
{
    const struct bench_options *options = parse->options;

    if (options->calibrate != NULL && options->name != NULL)
        return refuse(parse,
                      "--calibrate: expected no collective, found "
                      "\"%s\"",
                      options->name);
    if (options->model != NULL && options->name != NULL &&
        strcmp(options->name, "alltoall") != 0)
        return refuse(parse, "--model: expected alltoall, found \"%s\"",
                      options->name);
    return 0;
}

/* --tune takes sizes and counts of calls, and has its own way with the rest. */
static error_t check_tune(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const char *path = options->tune;
    size_t length = strlen(path);

    if (options->name != NULL || options->check || options->in_place ||
        options->algorithm_count > 0 || options->leaders != NULL ||
        options->flag || options->mode != BENCH_BLOCKING ||
        options->format != BENCH_TABLE || options->full ||
        options->buffers != BENCH_HEAP || options->simulated ||
        options->model != NULL || options->calibrate != NULL)
        return refuse(parse, "--tune: expected no options but -m, -i and -x, "
                             "and no collective");
    if (options->min == 0 || options->max == 0)
        return refuse(parse, "--tune: -m: expected 1 byte or more");
    /* Else CATENA_TUNING would not take it for a file. */
    if (strchr(path, '/') == NULL &&
        (length <= 5 || strcmp(path + length - 5, ".json") != 0))
        return refuse(parse,
                      "--tune: expected a path with a '/' or one that ends in "
                      ".json, found \"%s\"",
                      path);
    return 0;
}

/* What only split can be told. */
static error_t check_split(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const struct bench_split_options *split = &options->split;
    const char *name = options->name != NULL ? options->name : "";

    if (strcmp(name, bench_split.name) == 0 ||
        (split->groups == NULL && split->color == NULL && split->key == NULL &&
         !split->no_split && !split->no_reorder))
        return 0;
    return refuse(parse,
                  "--groups, --color, --key, --no-split and --no-reorder: "
                  "expected split, found \"%s\"",
                  name);
}

/* Options that this collective has no use for are refused, not ignored. */
static error_t check_row(struct parse *parse,
                         const struct bench_collective *row)
{
    const struct bench_options *options = parse->options;
    const char *wrong, *found = NULL;

    if (parse->sized && row->lay_out == NULL)
        return refuse(parse, "%s has no message sizes (-m)", row->name);
    if (options->in_place && row->lay_out == NULL)
        return refuse(parse, "%s has no buffers (--in-place)", row->name);
    if (options->buffers != BENCH_HEAP && row->lay_out == NULL)
        return refuse(parse, "%s has no buffers (--buffers)", row->name);
    if (options->algorithm_count > 0 && row->algorithm_names == NULL)
        return refuse(parse, "%s has no choice of algorithms (-a)", row->name);
    if (options->leaders != NULL && row->leaders == NULL)
        return refuse(parse, "%s has no leaders (--leaders)", row->name);
    if (options->check && row->verify == NULL)
        return refuse(parse, "%s has nothing to check (-c)", row->name);
    if ((options->mode == BENCH_NONBLOCKING && row->start == NULL) ||
        (options->mode == BENCH_PERSISTENT && row->init == NULL))
        return refuse(parse, "%s has the blocking call only", row->name);
    if (options->simulated && row == &bench_flag)
        return refuse(parse, "flag: expected real ranks, found --sim");
    if (options->flag && row != &bench_barrier)
        return refuse(parse, "--flag: expected barrier, found \"%s\"",
                      row->name);
    wrong = row->check != NULL ? row->check(options, &found) : NULL;
    return wrong == NULL
               ? 0
               : refuse(parse, "%s: %s, found \"%s\"", row->name, wrong, found);
}

static error_t check_options(struct parse *parse)
{
    const struct bench_options *options = parse->options;
    const struct bench_collective *row;
    char names[256];

    if (check_simulated(parse) != 0 || check_split(parse) != 0)
        return EINVAL;
    if (options->tune != NULL)
        return check_tune(parse);
    if (options->model != NULL || options->calibrate != NULL)
        return check_without_collective(parse);
    list_names(names, sizeof(names), false);
    if (options->name == NULL)
        return refuse(parse, "expected a collective: %s", names);
    if (strcmp(options->name, "heap") == 0)
        return check_heap(parse);
    if (bench_find_figure(options->name) != NULL)
        return check_figure(parse, bench_find_figure(options->name));
    row = bench_find(options->name);
    if (row == NULL)
        return refuse(parse, "expected a collective (%s), found \"%s\"", names,
                      options->name);
    return check_row(parse, row);
}

int bench_parse(int argc, char **argv, struct bench_options *options)
{
    struct parse parse = {.options = options, .next = 1};
    char doc[1024];
    struct argp argp = {.options = known,
                        .parser = parse_option,
                        .args_doc = "COLLECTIVE",
                        .doc = doc};
    int used;

    used = snprintf(doc, sizeof(doc),
                    "Measure catena's collectives, one line per message "
                    "size.\vCollectives:\n");
    list_names(doc + used, sizeof(doc) - (size_t)used, true);
    *options = (struct bench_options){.min = BENCH_AUTO,
                                      .max = BENCH_AUTO,
                                      .iterations = BENCH_AUTO,
                                      .warmup = BENCH_AUTO,
                                      .sim.seed = 1};
    /* argp's own messages take two lines and do not say what is wrong with
     * a value. */
    if (argp_parse(&argp, argc, argv,
                   ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_IN_ORDER, NULL,
                   &parse) != 0) {
        if (!parse.refused)
            refuse(&parse,
                   "unknown or incomplete option \"%s\"; --help "
                   "lists what there is",
                   parse.next < argc ? argv[parse.next] : argv[argc - 1]);
        return BENCH_USAGE;
    }
    return check_options(&parse) == 0 ? BENCH_OK : BENCH_USAGE;
}
