/* catena-info: facts about the library and its settings. */

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catena/catena.h>

enum { EXIT_USAGE = 2 };

/* The command line. */
struct options {
    bool settings; /* print the settings instead of the facts */
    bool full;     /* with explanation, type and default of each setting */
    int process;   /* a rank of the job to print; 0: none */
};

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
        return 0; /* the version is printed if there is no other option */
    case ARGP_KEY_ARG:
        argp_error(state, "no argument expected, found \"%s\"", argument);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* In a child: read a word of process `pid`, which has it at the same address.
 * The exit status is 0 or an errno. */
static void read_word(pid_t pid, const uint64_t *word)
{
    uint64_t found = 0;
    struct iovec here = {&found, sizeof(found)};
    struct iovec there = {(void *)(uintptr_t)word, sizeof(found)};
    ssize_t bytes = process_vm_readv(pid, &here, 1, &there, 1, 0);
    _exit(bytes == (ssize_t)sizeof(found) ? 0 : bytes < 0 ? errno : EFAULT);
}

/* Wait for a child. Returns its exit status, or -1 if there is none. */
static int status_of(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

/* Whether a child of a launcher can read the memory of another one, as ranks of
 * a node do with CATENA_SINGLE_COPY. Returns 0, an errno, or -1: not known. */
static int try_attach(void)
{
    static uint64_t word;
    int ready[2]; /* a byte from the first child, when it may be read */
    int stop[2];  /* closed: it ends */
    char byte;
    int result = -1;
    if (pipe(ready) != 0) {
        return -1;
    }
    if (pipe(stop) != 0) {
        close(ready[0]);
        close(ready[1]);
        return -1;
    }
    pid_t first = fork();
    if (first == 0) {
        (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
        close(stop[1]);
        _exit(write(ready[1], "r", 1) == 1 && read(stop[0], &byte, 1) == 0 ? 0
                                                                           : 1);
    }
    close(ready[1]);
    if (first > 0 && read(ready[0], &byte, 1) == 1) {
        pid_t second = fork();
        if (second == 0) {
            read_word(first, &word);
        }
        result = second > 0 ? status_of(second) : -1;
    }
    close(ready[0]);
    close(stop[0]);
    close(stop[1]);
    if (first > 0) {
        (void)status_of(first);
    }
    return result;
}

/* Print whether ranks of a node can copy from and to any memory. */
static void print_attach(void)
{
    int wrong = try_attach();
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
#if defined(__clang__)
    printf("compiler: clang %s\n", __clang_version__);
#elif defined(__GNUC__)
    printf("compiler: gcc %s\n", __VERSION__);
#endif
#if defined(__x86_64__)
    printf("machine: x86_64\n");
#elif defined(__aarch64__)
    printf("machine: aarch64\n");
#else
    printf("machine: other, %zu-bit\n", 8 * sizeof(void *));
#endif
#if defined(__OPTIMIZE__)
    printf("optimized: yes\n");
#else
    printf("optimized: no\n");
#endif
#if defined(NDEBUG)
    printf("assertions: no\n");
#else
    printf("assertions: yes\n");
#endif
#if defined(__SANITIZE_ADDRESS__)
    printf("sanitizer: address\n");
#elif defined(__SANITIZE_THREAD__)
    printf("sanitizer: thread\n");
#endif
    print_attach();
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"config", 'c', NULL, 0, "list the settings, CATENA_NAME=value", 0},
        {"full", 'f', NULL, 0,
         "list the settings with explanation, type and default", 0},
        {"job", 'j', "PROCESS", 0,
         "print what the ranks of a job do on the node of this process, one of "
         "them: for a job that seems to hang",
         0},
        {"version", 'v', NULL, 0, "print version and build (the default)", 0},
        {0}};
    static const struct argp argp = {
        .options = known,
        .parser = parse_option,
        .doc = "Print facts about the catena library: its version and how it "
               "was built, or its settings with the values that the "
               "environment gives them."};
    struct options options = {0};
    catena_status_t status;

    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return EXIT_USAGE;
    if (options.process != 0) {
        return catena_job_print(stdout, options.process) == CATENA_OK
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
    }
    if (!options.settings) {
        print_facts();
        return EXIT_SUCCESS;
    }
    status = catena_config_print(stdout, options.full);
    if (status != CATENA_OK) {
        fprintf(stderr, "catena-info: %s\n", catena_status_string(status));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
