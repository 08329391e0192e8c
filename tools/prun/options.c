/* The command line of prun. */
#include "options.h"
#include "core/units.h"

#include <argp.h>
#include <catena/version.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many processes as the kernel's usual default of pid_max allows. */
#define PRUN_MAX_RANKS 32768

/* Keys of the options without a letter. */

enum {
    OPTION_PPN = 256,
    OPTION_MAP_BY,
    OPTION_BIND_TO,
    OPTION_REPORT_BINDINGS,
    OPTION_OUTPUT,
    OPTION_TIMEOUT,
    OPTION_CONTINUOUS,
    OPTION_WDIR,
    OPTION_STDIN,
    OPTION_HOST,
    OPTION_IGNORED,
};

const char *argp_program_version = "prun (catena) " CATENA_VERSION_STRING;

static const struct argp_option prun_argp_options[] = {
    {"np", 'n', "N", 0, "Start N ranks (default 1)", 0},
    {"n", 'n', NULL, OPTION_ALIAS, NULL, 0},
    {"ppn", OPTION_PPN, "K", 0,
     "Every K ranks are a node of their own (virtual nodes)", 0},
    {"map-by", OPTION_MAP_BY, "HOW", 0,
     "slot: fill one node after the other (default); node: deal ranks "
     "round-robin over the nodes; ppr:K:node: as --ppn K",
     0},
    {"bind-to", OPTION_BIND_TO, "WHAT", 0,
     "none, core or numa (default: core if each rank can have one, else none)",
     0},
    {"report-bindings", OPTION_REPORT_BINDINGS, NULL, 0,
     "Report each rank's binding on stderr", 0},
    {NULL, 'x', "NAME[=VALUE]", 0, "Set NAME in the ranks' environment", 0},
    {"wdir", OPTION_WDIR, "DIR", 0, "Start the ranks in DIR", 0},
    {"wd", OPTION_WDIR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"stdin", OPTION_STDIN, "RANK", 0,
     "The rank that reads prun's stdin: a rank, all or none (default 0)", 0},
    {"output", OPTION_OUTPUT, "tag", 0,
     "tag: prefix each line of output with [rank]", 0},
    {"timeout", OPTION_TIMEOUT, "S", 0,
     "End the job after S seconds with exit code 124", 0},
    {"continuous", OPTION_CONTINUOUS, NULL, 0,
     "Let the other ranks go on when a rank dies (CATENA_FAILURES=return)", 0},
    {"help", 'h', NULL, 0, "Give this help list", -1},
    {"version", 'V', NULL, 0, "Print program version", -1},
    /* Options of launchers for several machines: refused with a reason. */
    {"host", OPTION_HOST, "HOSTS", OPTION_HIDDEN, NULL, 0},
    {NULL, 'H', "HOSTS", OPTION_HIDDEN, NULL, 0},
    {"hostfile", OPTION_HOST, "FILE", OPTION_HIDDEN, NULL, 0},
    {"machinefile", OPTION_HOST, "FILE", OPTION_HIDDEN, NULL, 0},
    {"default-hostfile", OPTION_HOST, "FILE", OPTION_HIDDEN, NULL, 0},
    /* Options of mpirun for what prun always does: accepted. */
    {"oversubscribe", OPTION_IGNORED, NULL, OPTION_HIDDEN, NULL, 0},
    {"allow-run-as-root", OPTION_IGNORED, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char prun_doc[] =
    "Start N ranks of a PMIx program on this machine and be their PMIx "
    "server.\vThe exit code is that of the first rank that failed, 128 + "
    "signal for a killed one, 124 after --timeout, 2 for a mistake in the "
    "options. INT, TERM, HUP, USR1 and USR2 are forwarded to the ranks. For "
    "several machines use mpirun, srun or PRRTE's prun: the same programs run "
    "there.";

/* In the following functions `text` is the value of an option. */

static uint32_t prun_parse_count(const char *option, const char *text)
{
    uint64_t value = 0;
    if (!ctn_units_count(text, PRUN_MAX_RANKS, &value) || value < 1)
        prun_die(PRUN_EXIT_USAGE,
                 "%s wants a whole number from 1 to %d, got '%s'; "
                 "say for example %s 4",
                 option, PRUN_MAX_RANKS, text, option);
    return (uint32_t)value;
}

static void prun_set_ppn(struct prun_options *options, const char *option,
                         const char *text)
{
    uint32_t ppn = prun_parse_count(option, text);
    if (options->ppn && options->ppn != ppn)
        prun_die(PRUN_EXIT_USAGE,
                 "%s asks for %u ranks per node, an earlier option for %u; "
                 "give one of them",
                 option, ppn, options->ppn);
    options->ppn = ppn;
}

static void prun_parse_map_by(struct prun_options *options, const char *text)
{
    const char *end = strrchr(text, ':');
    if (strcmp(text, "slot") == 0) {
        options->by_node = false;
    } else if (strcmp(text, "node") == 0) {
        options->by_node = true;
    } else if (strncmp(text, "ppr:", 4) == 0 && end > text + 3 &&
               strcmp(end, ":node") == 0) {
        char *count = strndup(text + 4, (size_t)(end - text - 4));
        prun_set_ppn(options, "--map-by ppr:K:node: K", count ? count : "");
        free(count);
        options->by_node = false;
    } else {
        prun_die(PRUN_EXIT_USAGE,
                 "--map-by wants slot, node or ppr:K:node, got '%s'; to place "
                 "ranks on cores or NUMA domains use --bind-to",
                 text);
    }
}

static void prun_parse_bind_to(struct prun_options *options, const char *text)
{
    if (strcmp(text, "none") == 0)
        options->binding = PRUN_BIND_NONE;
    else if (strcmp(text, "core") == 0)
        options->binding = PRUN_BIND_CORE;
    else if (strcmp(text, "numa") == 0)
        options->binding = PRUN_BIND_NUMA;
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--bind-to wants none, core or numa, got '%s'; leave it out "
                 "for the default",
                 text);
}

static void prun_parse_timeout(struct prun_options *options, const char *text)
{
    double seconds = 0;
    if (!ctn_units_real(text, 1e9, &seconds) || seconds <= 0)
        prun_die(PRUN_EXIT_USAGE,
                 "--timeout wants seconds above 0, got '%s'; "
                 "say for example --timeout 60",
                 text);
    options->timeout_ns = (uint64_t)(seconds * 1e9) + 1;
    options->timeout_text = text;
}

static void prun_parse_stdin(struct prun_options *options, const char *text)
{
    uint64_t value;
    if (strcmp(text, "all") == 0)
        options->stdin_rank = PRUN_STDIN_ALL;
    else if (strcmp(text, "none") == 0)
        options->stdin_rank = PRUN_STDIN_NONE;
    else if (ctn_units_count(text, PRUN_MAX_RANKS - 1, &value))
        options->stdin_rank = (int)value;
    else
        prun_die(PRUN_EXIT_USAGE,
                 "--stdin wants a rank, all or none, got '%s'; "
                 "say for example --stdin 0",
                 text);
}

static void prun_parse_output(struct prun_options *options, const char *text)
{
    if (strcmp(text, "tag") != 0)
        prun_die(PRUN_EXIT_USAGE,
                 "--output wants tag, got '%s'; leave it out for plain output",
                 text);
    options->tag = true;
}

static void prun_parse_export(struct prun_options *options, const char *text)
{
    size_t name = strcspn(text, "=");
    bool valid = name > 0 && !isdigit((unsigned char)text[0]);
    for (size_t i = 0; i < name; i++)
        valid &= isalnum((unsigned char)text[i]) || text[i] == '_';
    if (!valid)
        prun_die(PRUN_EXIT_USAGE,
                 "-x wants NAME or NAME=VALUE, got '%s'; "
                 "say for example -x UCX_TLS=tcp,self",
                 text);
    /* The whole environment is inherited anyway: only a value changes it. */
    if (!text[name]) {
        if (!getenv(text))
            prun_error("-x %s: no such variable in the environment; the ranks "
                       "start without it, give one with -x %s=VALUE",
                       text, text);
        return;
    }
    options->exports =
        prun_grow(options->exports,
                  (options->export_count + 1) * sizeof *options->exports);
    options->exports[options->export_count++] = prun_format("%s", text);
}

static void prun_parse_wdir(struct prun_options *options, const char *text)
{
    struct stat info;
    char *path = realpath(text, NULL);
    if (!path || stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        prun_die(PRUN_EXIT_USAGE,
                 "--wdir wants a directory, got '%s' (%s); make it first or "
                 "name another",
                 text, path ? "not a directory" : strerror(errno));
    options->wdir = path;
}

static _Noreturn void prun_refuse_hosts(const char *text)
{
    prun_die(PRUN_EXIT_USAGE,
             "prun starts ranks on this machine only, got a list of hosts "
             "'%s'; for several machines use mpirun, srun or PRRTE's prun",
             text);
}

/* Users of mpirun write "-np 4", which argp takes for -n with the value "p".
 * The number is then the next argument. */
static void prun_parse_np(struct prun_options *options, const char *text,
                          struct argp_state *state)
{
    if (strcmp(text, "p") == 0 &&
        strcmp(state->argv[state->next - 1], "-np") == 0)
        text = state->next < state->argc ? state->argv[state->next++] : "";
    options->np = prun_parse_count("-n", text);
}

/* Stop parsing: all arguments after the program's name are the program's. */
static void prun_take_program(struct prun_options *options, char *program,
                              struct argp_state *state)
{
    options->argv = &state->argv[state->next - 1];
    options->program = program;
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

static error_t prun_parse_option(int key, char *arg, struct argp_state *state)
{
    struct prun_options *options = state->input;
    switch (key) {
    case 'n':
        prun_parse_np(options, arg, state);
        return 0;
    case OPTION_PPN:
        prun_set_ppn(options, "--ppn", arg);
        return 0;
    case OPTION_MAP_BY:
        prun_parse_map_by(options, arg);
        return 0;
    case OPTION_BIND_TO:
        prun_parse_bind_to(options, arg);
        return 0;
    case OPTION_REPORT_BINDINGS:
        options->report_bindings = true;
        return 0;
    case 'x':
        prun_parse_export(options, arg);
        return 0;
    case OPTION_OUTPUT:
        prun_parse_output(options, arg);
        return 0;
    case OPTION_TIMEOUT:
        prun_parse_timeout(options, arg);
        return 0;
    case OPTION_CONTINUOUS:
        options->continuous = true;
        return 0;
    case OPTION_WDIR:
        prun_parse_wdir(options, arg);
        return 0;
    case OPTION_STDIN:
        prun_parse_stdin(options, arg);
        return 0;
    case OPTION_HOST:
    case 'H':
        prun_refuse_hosts(arg);
    case OPTION_IGNORED:
        return 0;
    case 'h':
        /* argp_state_help would print nothing, see ARGP_NO_ERRS below. */
        argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP, "prun");
        exit(0);
    case 'V':
        printf("%s\n", argp_program_version);
        exit(0);
    case ARGP_KEY_ARG:
        prun_take_program(options, arg, state);
        return 0;
    case ARGP_KEY_ERROR:
        prun_option_error(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void prun_options_parse(struct prun_options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = prun_argp_options,
        .parser = prun_parse_option,
        .args_doc = "PROGRAM [ARGS...]",
        .doc = prun_doc,
    };
    *options = (struct prun_options){.np = 1, .stdin_rank = 0};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP,
               NULL, options);
    if (!options->program)
        prun_die(PRUN_EXIT_USAGE,
                 "no program to start: expected prun [options] program "
                 "[args...]; see prun --help");
    if (options->stdin_rank >= 0 &&
        (uint32_t)options->stdin_rank >= options->np)
        prun_die(PRUN_EXIT_USAGE,
                 "--stdin %d names a rank that does not exist: there are %u "
                 "ranks, the last is %u",
                 options->stdin_rank, options->np, options->np - 1);
}
