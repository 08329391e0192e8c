/* catena-info: facts about the library and its settings. */

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <catena/catena.h>

enum { EXIT_USAGE = 2 };

/* The command line. */
struct options {
    bool settings; /* print the settings instead of the facts */
    bool full;     /* with explanation, type and default of each setting */
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;

    (void)argument;
    switch (key) {
    case 'c':
        options->settings = true;
        return 0;
    case 'f':
        options->settings = true;
        options->full = true;
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
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"config", 'c', NULL, 0, "list the settings, CATENA_NAME=value", 0},
        {"full", 'f', NULL, 0,
         "list the settings with explanation, type and default", 0},
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
