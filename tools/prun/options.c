/* The command line of prun. */
#include "options.h"
#include "parse.h"

#include <argp.h>
#include <catena/version.h>
#include <stdlib.h>
#include <string.h>

/* Keys of the options without a letter. */

enum {
    OPTION_PPN = 256,
    OPTION_MAP_BY,
    OPTION_RANK_BY,
    OPTION_BIND_TO,
    OPTION_REPORT_BINDINGS,
    OPTION_DISPLAY,
    OPTION_OUTPUT,
    OPTION_TAG_OUTPUT,
    OPTION_TIMESTAMP_OUTPUT,
    OPTION_TIMEOUT,
    OPTION_CONTINUOUS,
    OPTION_WDIR,
    OPTION_STDIN,
    OPTION_HOST,
    OPTION_HOSTFILE,
    OPTION_IGNORED,
};

const char *argp_program_version = "prun (catena) " CATENA_VERSION_STRING;

static const struct argp_option prun_argp_options[] = {
    {"np", 'n', "N", 0, "Start N ranks (default 1)", 0},
    {"n", 'n', NULL, OPTION_ALIAS, NULL, 0},
    {"ppn", OPTION_PPN, "K[+K...]", 0,
     "Every K ranks are a node of their own (virtual nodes); 3+1+5: three "
     "nodes, of 3, 1 and 5 ranks",
     0},
    {"map-by", OPTION_MAP_BY, "HOW", 0,
     "slot: fill one node after the other (default); node: deal ranks "
     "round-robin over the nodes; hwthread, core, l3, numa or socket: deal "
     "them round-robin over these; ppr:N:RESOURCE: N ranks on each",
     0},
    {"rank-by", OPTION_RANK_BY, "HOW", 0,
     "fill: consecutive ranks on one node or object of --map-by; span: on "
     "successive ones (default: as they are mapped)",
     0},
    {"bind-to", OPTION_BIND_TO, "WHAT", 0,
     "none, hwthread, core, l3, numa or socket, also with :overload-allowed "
     "(default: core if each rank can have one)",
     0},
    {"report-bindings", OPTION_REPORT_BINDINGS, NULL, 0,
     "Report each rank's binding on stderr", 0},
    {"display", OPTION_DISPLAY, "WHAT", 0,
     "Before the start print on stderr, map: ranks, nodes, programs and "
     "bindings; bind: as --report-bindings",
     0},
    {"verbose", 'v', NULL, 0, "Report starts and ends of ranks on stderr", 0},
    {NULL, 'x', "NAME[=VALUE]", 0, "Set NAME in the ranks' environment", 0},
    {"wdir", OPTION_WDIR, "DIR", 0, "Start the ranks in DIR", 0},
    {"wd", OPTION_WDIR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"stdin", OPTION_STDIN, "RANK", 0,
     "The rank that reads prun's stdin: a rank, all or none (default 0)", 0},
    {"tag-output", OPTION_TAG_OUTPUT, NULL, 0,
     "Prefix each line of output with [rank]", 0},
    {"timestamp-output", OPTION_TIMESTAMP_OUTPUT, NULL, 0,
     "Prefix each line of output with the time", 0},
    {"output", OPTION_OUTPUT, "DIR", 0,
     "Write output to DIR/rank.N.stdout and DIR/rank.N.stderr; also tag, "
     "timestamp, dir=DIR, or a list of these",
     0},
    {"timeout", OPTION_TIMEOUT, "S", 0,
     "End the job after S seconds with exit code 124", 0},
    {"continuous", OPTION_CONTINUOUS, NULL, 0,
     "Let the other ranks go on when a rank dies (CATENA_FAILURES=return)", 0},
    {"help", 'h', NULL, 0, "Give this help list", -1},
    {"version", 'V', NULL, 0, "Print program version", -1},
    /* Options of launchers for several machines: refused with a reason. */
    {"host", OPTION_HOST, "HOSTS", OPTION_HIDDEN, NULL, 0},
    {NULL, 'H', "HOSTS", OPTION_HIDDEN, NULL, 0},
    {"hosts", OPTION_HOST, "HOSTS", OPTION_HIDDEN, NULL, 0},
    {"hostfile", OPTION_HOSTFILE, "FILE", OPTION_HIDDEN, NULL, 0},
    {"machinefile", OPTION_HOSTFILE, "FILE", OPTION_HIDDEN, NULL, 0},
    {"default-hostfile", OPTION_HOSTFILE, "FILE", OPTION_HIDDEN, NULL, 0},
    {"nodelist", 'w', "HOSTS", OPTION_HIDDEN, NULL, 0},
    {"nodes", 'N', "NODES", OPTION_HIDDEN, NULL, 0},
    /* Options of mpirun for what prun always does: accepted. */
    {"oversubscribe", OPTION_IGNORED, NULL, OPTION_HIDDEN, NULL, 0},
    {"allow-run-as-root", OPTION_IGNORED, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char prun_doc[] =
    "Start N ranks of a PMIx program on this machine and be their PMIx "
    "server. Several programs in one job are separated by ':', each with its "
    "own -n, -x and --wdir.\vThe exit code is that of the first rank that "
    "failed, 128 + "
    "signal for a killed one, 124 after --timeout, 2 for a mistake in the "
    "options. INT, TERM, HUP, USR1 and USR2 are forwarded to the ranks. For "
    "several machines use mpirun, srun or PRRTE's prun: the same programs run "
    "there.";

/* What is known while the command line is read. */
struct prun_parse {
    struct prun_options *options;
    struct prun_app *app; /* the present program */
};

/* Refuse an option of the whole job after the first program. */
static void prun_check_place(const struct prun_parse *parse, int key)
{
    bool of_program = key == 'n' || key == 'x' || key == OPTION_WDIR ||
                      key == OPTION_IGNORED || key == 'h' || key == 'V';
    if (of_program || parse->options->app_count == 1)
        return;
    const char *name = NULL;
    for (const struct argp_option *known = prun_argp_options; !name; known++)
        if (known->key == key)
            name = known->name ? known->name : "H";
    prun_die(PRUN_EXIT_USAGE,
             "a program after the first has the options -n, -x and --wdir "
             "only, got %s%s; give options of the whole job before the first "
             "program",
             name[1] ? "--" : "-", name);
}

/* Users of mpirun write "-np 4", which argp takes for -n with the value "p".
 * The number is then the next argument. */
static void prun_parse_np(struct prun_app *app, const char *text,
                          struct argp_state *state)
{
    if (strcmp(text, "p") == 0 &&
        strcmp(state->argv[state->next - 1], "-np") == 0)
        text = state->next < state->argc ? state->argv[state->next++] : "";
    app->np = prun_parse_count("-n", text);
    app->np_given = true;
}

/* Stop parsing: all arguments after the program's name are the program's. */
static void prun_take_program(struct prun_app *app, char *program,
                              struct argp_state *state)
{
    app->argv = &state->argv[state->next - 1];
    app->program = program;
    state->next = state->argc;
}

/* Report an option that argp refuses, in one line. argp's own message would
 * take two; ARGP_NO_ERRS suppresses it. */
static void prun_option_error(const struct argp_state *state)
{
    const char *text = state->argv[state->next > 0 ? state->next - 1 : 0];
    const char *name = text + strspn(text, "-");
    for (const struct argp_option *known = prun_argp_options;
         known->name || known->key; known++) {
        bool same = known->name ? strcmp(known->name, name) == 0 : false;
        if (same || (name[0] == known->key && !name[1]))
            prun_die(PRUN_EXIT_USAGE,
                     "option %s needs a value; see prun --help", text);
    }
    prun_die(PRUN_EXIT_USAGE,
             "option '%s' is not one of prun's or lacks its value; see prun "
             "--help, and put the program's own options after its name",
             text);
}

/* Options of the job with a value. @return false: the key is another */
static bool prun_parse_valued(struct prun_options *options, int key,
                              const char *arg)
{
    static const struct {
        int key;
        void (*parse)(struct prun_options *options, const char *text);
    } parsers[] = {
        {OPTION_MAP_BY, prun_parse_map_by},
        {OPTION_RANK_BY, prun_parse_rank_by},
        {OPTION_BIND_TO, prun_parse_bind_to},
        {OPTION_OUTPUT, prun_parse_output},
        {OPTION_DISPLAY, prun_parse_display},
        {OPTION_TIMEOUT, prun_parse_timeout},
        {OPTION_STDIN, prun_parse_stdin},
    };
    for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++)
        if (parsers[i].key == key) {
            parsers[i].parse(options, arg);
            return true;
        }
    return false;
}

/* Options without a value. @return false: the key is another */
static bool prun_parse_switch(struct prun_options *options, int key)
{
    switch (key) {
    case OPTION_REPORT_BINDINGS:
        options->report_bindings = true;
        return true;
    case OPTION_TAG_OUTPUT:
        options->prefix |= PRUN_PREFIX_RANK;
        return true;
    case OPTION_TIMESTAMP_OUTPUT:
        options->prefix |= PRUN_PREFIX_TIME;
        return true;
    case OPTION_CONTINUOUS:
        options->continuous = true;
        return true;
    case 'v':
        options->verbose = true;
        return true;
    case OPTION_IGNORED:
        return true;
    default:
        return false;
    }
}

/* Keep an option that names hosts, for prun_refuse_hosts. */
static void prun_take_hosts(struct prun_options *options, int key,
                            const char *text)
{
    options->host_option = key == OPTION_HOSTFILE ? "--hostfile"
                           : key == 'w'           ? "-w"
                           : key == 'N'           ? "-N"
                                                  : "--host";
    options->host_text = text;
}

static error_t prun_parse_option(int key, char *arg, struct argp_state *state)
{
    struct prun_parse *parse = state->input;
    struct prun_options *options = parse->options;
    if (key > 0 && key <= OPTION_IGNORED)
        prun_check_place(parse, key);
    if (prun_parse_switch(options, key) || prun_parse_valued(options, key, arg))
        return 0;
    switch (key) {
    case 'n':
        prun_parse_np(parse->app, arg, state);
        return 0;
    case OPTION_PPN:
        prun_set_ppn(options, "--ppn", arg);
        return 0;
    case 'x':
        prun_parse_export(parse->app, arg);
        return 0;
    case OPTION_WDIR:
        prun_parse_wdir(parse->app, arg);
        return 0;
    case OPTION_HOST:
    case OPTION_HOSTFILE:
    case 'H':
    case 'w':
    case 'N':
        prun_take_hosts(options, key, arg);
        return 0;
    case 'h':
        /* argp_state_help would print nothing, see ARGP_NO_ERRS below. */
        argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP, "prun");
        exit(0);
    case 'V':
        printf("%s\n", argp_program_version);
        exit(0);
    case ARGP_KEY_ARG:
        prun_take_program(parse->app, arg, state);
        return 0;
    case ARGP_KEY_ERROR:
        prun_option_error(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Parse the options and the command of one program.
 * @param argv [argc] of the program: NULL terminated, with the name of prun
 *     first; must live as long as prun */
static void prun_parse_app(struct prun_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = prun_argp_options,
        .parser = prun_parse_option,
        .args_doc = "PROGRAM [ARGS...] [: [-n N] PROGRAM [ARGS...]]...",
        .doc = prun_doc,
    };
    uint32_t index = options->app_count++;
    options->apps =
        prun_grow(options->apps, options->app_count * sizeof *options->apps);
    struct prun_app *app = &options->apps[index];
    struct prun_parse parse = {.options = options, .app = app};
    *app = (struct prun_app){.np = 1, .first = options->np};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP,
               NULL, &parse);
    if (!app->program && !options->host_option)
        prun_die(PRUN_EXIT_USAGE,
                 "no program to start%s: expected prun [options] program "
                 "[args...]; see prun --help",
                 index > 0 ? " after ':'" : "");
    options->np += app->np;
}

/* Say how to start the job on the hosts that an option names. */
_Noreturn static void prun_refuse_hosts(const struct prun_options *options)
{
    const struct prun_app *app = &options->apps[0];
    const char *option = options->host_option;
    const char *text = options->host_text;
    const char *program = app->program ? app->program : "PROGRAM";
    /* Not freed: prun ends here. */
    static char *np, *mpirun, *srun;
    bool more =
        options->app_count > 1 || (app->argv && app->argv[0] && app->argv[1]);
    const char *rest = more ? " ..." : "";
    np = app->np_given ? prun_format("%u", app->np) : prun_format("N");
    mpirun = prun_format("mpirun -n %s %s %s %s%s", np,
                         strcmp(option, "--hostfile") == 0 ? option : "--host",
                         text, program, rest);
    srun = prun_format("srun --mpi=pmix -n %s %s %s %s%s", np,
                       strcmp(option, "-N") == 0 ? option : "-w", text, program,
                       rest);
    if (strcmp(option, "-N") == 0)
        prun_die(PRUN_EXIT_USAGE,
                 "prun starts ranks on this host only, got -N %s; on several "
                 "hosts: %s; for virtual nodes on this host: prun --ppn K",
                 text, srun);
    if (strcmp(option, "--hostfile") == 0 || strchr(text, ':'))
        prun_die(PRUN_EXIT_USAGE,
                 "prun starts ranks on this host only, got %s %s; on these "
                 "hosts: %s",
                 option, text, mpirun);
    prun_die(PRUN_EXIT_USAGE,
             "prun starts ranks on this host only, got %s %s; on these hosts: "
             "%s, or %s",
             option, text, mpirun, srun);
}

void prun_options_parse(struct prun_options *options, int argc, char **argv)
{
    *options = (struct prun_options){.stdin_rank = 0};
    for (int begin = 1; begin <= argc;) {
        int end = begin;
        while (end < argc && strcmp(argv[end], ":") != 0)
            end++;
        char **part = prun_alloc((size_t)(end - begin) + 2, sizeof *part);
        part[0] = argv[0];
        for (int i = begin; i < end; i++)
            part[1 + i - begin] = argv[i];
        prun_parse_app(options, 1 + end - begin, part);
        begin = end + 1;
    }
    if (options->host_option)
        prun_refuse_hosts(options);
}

void prun_options_check_ranks(const struct prun_options *options)
{
    if (options->np > PRUN_MAX_RANKS)
        prun_die(PRUN_EXIT_USAGE,
                 "-n wants at most %d ranks of all programs together, got %u; "
                 "start fewer",
                 PRUN_MAX_RANKS, options->np);
    uint64_t listed = 0;
    for (uint32_t i = 0; i < options->ppn_count; i++)
        listed += options->ppn[i];
    if (options->ppn_count > 1 && listed != options->np)
        prun_die(PRUN_EXIT_USAGE,
                 "--ppn %s has places for %llu ranks, got %u; say -n %llu, or "
                 "one number for all nodes",
                 options->ppn_text, (unsigned long long)listed, options->np,
                 (unsigned long long)listed);
    if (options->stdin_rank >= 0 &&
        (uint32_t)options->stdin_rank >= options->np)
        prun_die(PRUN_EXIT_USAGE,
                 "--stdin %d names a rank that does not exist: there are %u "
                 "ranks, the last is %u",
                 options->stdin_rank, options->np, options->np - 1);
}
