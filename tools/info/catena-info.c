/* catena-info: facts about the library, its settings and this machine. */

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <catena/catena.h>

#include "attach.h"
#include "build.h"
#include "doctor.h"
#include "overview.h"

enum { EXIT_USAGE = 2 };

/* Options without a letter. */
enum {
    KEY_DOCTOR = 256,
    KEY_JSON,
    KEY_LIBRARIES,
    KEY_TRANSPORTS,
    KEY_TOPOLOGY,
    KEY_MEMORY,
    KEY_LIMITS,
    KEY_ALGORITHMS,
};

/* The command line. */
struct options {
    bool settings; /* print the settings instead of the facts */
    bool full;     /* with explanation, type and default of each setting */
    bool version;  /* print version and build only */
    bool doctor;   /* check the machine */
    bool json;     /* print the parts as JSON */
    int parts;     /* of the overview; 0: all */
    int process;   /* a rank of the job to print; 0: none */
};

/* Parse an option that selects a part. Returns whether it is one. */
static bool parse_part(int key, struct options *options)
{
    static const struct {
        int key;
        int part;
    } parts[] = {
        {KEY_LIBRARIES, PART_LIBRARIES}, {KEY_TRANSPORTS, PART_TRANSPORTS},
        {KEY_TOPOLOGY, PART_TOPOLOGY},   {KEY_MEMORY, PART_MEMORY},
        {KEY_LIMITS, PART_LIMITS},       {KEY_ALGORITHMS, PART_ALGORITHMS},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].key == key) {
            options->parts |= parts[i].part;
            return true;
        }
    }
    return false;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    char *end;
    switch (key) {
    case 'c':
        options->settings = true;
        return 0;
    case 'f':
        options->settings = true;
        options->full = true;
        return 0;
    case 'j':
        options->process = (int)strtol(argument, &end, 10);
        if (*argument == '\0' || *end != '\0' || options->process <= 0) {
            argp_error(state,
                       "--job: expected the number of a process, found "
                       "\"%s\"",
                       argument);
        }
        return 0;
    case 'v':
        options->version = true;
        return 0;
    case KEY_DOCTOR:
        options->doctor = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (strcmp(argument, "doctor") == 0) {
            options->doctor = true;
            return 0;
        }
        argp_error(state, "no argument expected, found \"%s\"", argument);
        return EINVAL;
    case ARGP_KEY_END:
        if (options->json &&
            (options->doctor || options->settings || options->process != 0)) {
            argp_error(state, "--json is for facts, not for --doctor, --job "
                              "and settings; leave it out");
        }
        return 0;
    default:
        return parse_part(key, options) ? 0 : ARGP_ERR_UNKNOWN;
    }
}

/* Print whether ranks of a node can copy from and to any memory. */
static void print_attach(void)
{
    int wrong = attach_try();
    if (wrong == 0) {
        printf("cross-memory attach: yes\n");
    } else {
        printf(
            "cross-memory attach: no (%s); long data outside the shared heap "
            "are copied twice\n",
            wrong > 0 ? strerror(wrong) : "no process to try it");
    }
}

/* Print the version, and how this program (and so the library) was built. */
static void print_facts(void)
{
    printf("catena %s\n", catena_version());
    printf("compiler: %s\n", build_compiler());
    printf("machine: %s\n", build_machine());
    printf("optimized: %s\n", build_optimized() ? "yes" : "no");
    printf("assertions: %s\n", build_assertions() ? "yes" : "no");
    if (*build_sanitizer() != '\0') {
        printf("sanitizer: %s\n", build_sanitizer());
    }
    print_attach();
}

/* Print the settings. */
static int print_settings(bool full)
{
    catena_status_t status = catena_config_print(stdout, full);
    if (status != CATENA_OK) {
        fprintf(stderr, "catena-info: %s\n", catena_status_string(status));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* Check that there are descriptors for what the libraries below open: UCX ends
 * the process without them. */
static bool may_open_files(void)
{
    enum { LEAST = 16 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LEAST) {
        fprintf(stderr,
                "catena-info: expected a limit of at least %d open files, "
                "found %llu; raise it (ulimit -n)\n",
                LEAST, (unsigned long long)limit.rlim_cur);
        return false;
    }
    return true;
}

static int run(const struct options *options)
{
    if (options->process != 0) {
        return catena_job_print(stdout, options->process) == CATENA_OK
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
    }
    if (options->doctor) {
        return may_open_files() && doctor_run() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (options->settings) {
        return print_settings(options->full);
    }
    if (options->version && options->parts == 0 && !options->json) {
        print_facts();
        return EXIT_SUCCESS;
    }
    int parts = options->parts != 0 ? options->parts : PART_ALL;
    return may_open_files() && overview_print(parts, options->json)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {NULL, 0, NULL, 0, "The machine:", 1},
        {"doctor", KEY_DOCTOR, NULL, 0,
         "check this machine for jobs of catena, a line for each check; also "
         "the word doctor",
         1},
        {"libraries", KEY_LIBRARIES, NULL, 0,
         "print the versions of the libraries below catena", 1},
        {"transports", KEY_TRANSPORTS, NULL, 0,
         "print transports and network devices", 1},
        {"topology", KEY_TOPOLOGY, NULL, 0,
         "print host, sockets, NUMA domains, cores and caches", 1},
        {"memory", KEY_MEMORY, NULL, 0,
         "print cross-memory attach, huge pages and /dev/shm", 1},
        {"limits", KEY_LIMITS, NULL, 0, "print the limits of this process", 1},
        {"algorithms", KEY_ALGORITHMS, NULL, 0,
         "print the algorithms of each collective, and how they are selected",
         1},
        {"json", KEY_JSON, NULL, 0, "print these as JSON", 1},
        {NULL, 0, NULL, 0, "The library and its jobs:", 2},
        {"config", 'c', NULL, 0, "list the settings, CATENA_NAME=value", 2},
        {"full", 'f', NULL, 0,
         "list the settings with explanation, type and default", 2},
        {"job", 'j', "PROCESS", 0,
         "print what the ranks of a job do on the node of this process, one of "
         "them: for a job that seems to hang",
         2},
        {"version", 'v', NULL, 0,
         "print version, build and cross-memory attach only", 2},
        {0}};
    static const struct argp argp = {
        .options = known,
        .parser = parse_option,
        .args_doc = "[doctor]",
        .doc = "Print facts about the catena library: its version and how it "
               "was built, and what it finds on this machine; or its settings "
               "with the values that the environment gives them. Without "
               "options, all about library and machine."};
    struct options options = {0};

    signal(SIGCHLD, SIG_DFL); /* it may be inherited as ignored */
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return EXIT_USAGE;
    return run(&options);
}
