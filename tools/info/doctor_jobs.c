/* Checks of settings, launcher and network, and small jobs. */

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "facts.h"
#include "libraries.h"
#include "probe.h"

static const char *const quiet[] = {"LOG_LEVEL=warn", NULL};
/* For one rank, which would open the network if CATENA_NETWORK says so. */
static const char *const alone[] = {"LOG_LEVEL=info", "NETWORK=n", NULL};

enum { NAME_BYTES = 96 };

/** What to change, unless a message of the library says it behind a semicolon.
 */
static const char *change(const char *message, const char *otherwise)
{
    return strchr(message, ';') != NULL ? "" : otherwise;
}

/* ---- settings ---- */

/** Whether a message names a variable, or quotes its value. */
static bool is_about(const char *message, const char *name, const char *value)
{
    char quoted[256];
    size_t length = strlen(name);
    for (const char *at = message; (at = strstr(at, name)) != NULL; at++) {
        char next = at[length];
        if (next != '_' && !isalnum((unsigned char)next)) {
            return true;
        }
    }
    int bytes = snprintf(quoted, sizeof(quoted), "'%s'", value);
    return bytes > 2 && (size_t)bytes < sizeof(quoted) &&
           strstr(message, quoted) != NULL;
}

/** Find the CATENA_ variable of the environment that a message is about, and
 * remove it.
 * @param[out] name of the variable
 * @return whether there is one */
static bool unset_named(const char *message, char name[NAME_BYTES])
{
    for (char **entry = environ; *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "CATENA_", 7) != 0 || length >= NAME_BYTES ||
            (*entry)[length] == '\0') {
            continue;
        }
        snprintf(name, NAME_BYTES, "%.*s", (int)length, *entry);
        if (is_about(message, name, *entry + length + 1)) {
            unsetenv(name);
            return true;
        }
    }
    return false;
}

/** Whether CATENA_BOOT has a value that the library does not know: then a job
 * of one rank must fail. */
static bool boot_is_bad(void)
{
    const char *boot = secure_getenv("CATENA_BOOT");
    return boot != NULL && strcmp(boot, "auto") != 0 &&
           strcmp(boot, "pmix") != 0 && strcmp(boot, "env") != 0 &&
           strcmp(boot, "singleton") != 0 && strncmp(boot, "tcp://", 6) != 0;
}

/** Let a job of one rank read the settings. It stops at the first bad one,
 * which is removed for the next attempt. @return whether to try again */
static bool try_settings(doctor_t *doctor)
{
    const probe_t probe = {
        .ranks = 1, .as_is = boot_is_bad(), .settings = alone};
    probe_result_t result;
    const char *line;
    char name[NAME_BYTES];
    size_t at = 0;
    probe_run(&probe, &result);
    bool bad = result.status == CATENA_ERR_ARG;
    bool again = bad && unset_named(result.error, name);
    if (bad) {
        bool named = !again || strstr(result.error, name) != NULL;
        doctor_error(doctor, "settings", "%s%s%s%s", named ? "" : name,
                     named ? "" : ": ", result.error,
                     change(result.error, "; change it, or remove it"));
    }
    while (!bad && (line = probe_next(&result, PROBE_WARNING, &at)) != NULL) {
        if (strstr(line, "is not a setting of catena") != NULL) {
            doctor_warning(doctor, "settings", "%s", line);
        }
    }
    probe_free(&result);
    return again;
}

/** Check the CATENA_ variables of the environment. */
void doctor_settings(doctor_t *doctor)
{
    int problems = doctor->warnings + doctor->errors;
    unsigned set = 0;
    for (char **entry = environ; *entry != NULL; entry++) {
        set += strncmp(*entry, "CATENA_", 7) == 0;
    }
    while (try_settings(doctor)) {
    }
    if (doctor->warnings + doctor->errors == problems) {
        doctor_ok(doctor, "settings", "%u in the environment", set);
    }
}

/* ---- launcher ---- */

/** Join the PMIx server of the environment, and leave it. */
static catena_status_t join_pmix(catena_context_t *context, int to)
{
    const char *why = "";
    (void)context;
    if (library_pmix_join(&why) != 0) {
        probe_say(to, PROBE_BAD, "%s", why);
    }
    return CATENA_OK;
}

/** Check that the server that PMIX_NAMESPACE names answers. The name is not
 * printed: processes that know it may join the job. */
static void check_server(doctor_t *doctor)
{
    const probe_t probe = {.ranks = 1, .settings = alone, .work = join_pmix};
    const char *rank = secure_getenv("PMIX_RANK");
    probe_result_t result;
    size_t at = 0;
    probe_run(&probe, &result);
    const char *why = probe_next(&result, PROBE_BAD, &at);
    if (result.status != CATENA_OK || why != NULL) {
        doctor_error(doctor, "launcher",
                     "PMIX_NAMESPACE is set, but its server does not answer "
                     "(%s); start jobs with prun, mpirun or srun --mpi=pmix, "
                     "or remove the PMIX_ variables",
                     why != NULL ? why : result.error);
    } else {
        doctor_ok(doctor, "launcher", "PMIx, rank %s",
                  rank != NULL ? rank : "?");
    }
    probe_free(&result);
}

/** Check that a rank started here finds its launcher. */
void doctor_launcher(doctor_t *doctor)
{
    const probe_t probe = {.ranks = 1, .as_is = true, .settings = alone};
    const char *boot = secure_getenv("CATENA_BOOT");
    bool by_launcher =
        boot == NULL || strcmp(boot, "auto") == 0 || strcmp(boot, "pmix") == 0;
    if (!by_launcher) {
        doctor_ok(doctor, "launcher", "CATENA_BOOT=%s", boot);
        return;
    }
    if (secure_getenv("PMIX_NAMESPACE") != NULL) {
        check_server(doctor);
        return;
    }
    probe_result_t result;
    probe_run(&probe, &result);
    if (result.status == CATENA_ERR_LAUNCHER) {
        doctor_error(doctor, "launcher", "%s", result.error);
    } else {
        doctor_ok(doctor, "launcher",
                  "none here; prun, mpirun or srun --mpi=pmix start jobs");
    }
    probe_free(&result);
}

/** Check the version of PMIx. */
void doctor_pmix(doctor_t *doctor)
{
    const char *version = library_pmix_version();
    const char *number = version + strcspn(version, "0123456789");
    int found = atoi(number);
    int built = library_pmix_built();
    if (found < built) {
        doctor_error(doctor, "PMIx",
                     "%s is loaded, catena was built with version %d; install "
                     "that version, or check LD_LIBRARY_PATH",
                     version, built);
    } else {
        doctor_ok(doctor, "PMIx", "%s", version);
    }
}

/* ---- jobs ---- */

/** Check that the shared heap can be made with the size of the settings. */
void doctor_heap(doctor_t *doctor)
{
    const probe_t probe = {.ranks = 1, .settings = alone};
    probe_result_t result;
    char text[FACTS_SIZE_BYTES];
    const char *line;
    size_t at = 0;
    probe_run(&probe, &result);
    if (result.status != CATENA_OK) {
        doctor->heapless = true;
        doctor_error(doctor, "shared heap", "%s%s",
                     result.error +
                         (strncmp(result.error, "heap: ", 6) == 0 ? 6 : 0),
                     change(result.error, "; see the checks above, and "
                                          "CATENA_LOG_LEVEL=debug"));
    } else {
        do {
            line = probe_next(&result, PROBE_INFO, &at);
        } while (line != NULL && strncmp(line, "heap: ", 6) != 0);
        const char *limit = line != NULL ? strstr(line, "limit ") : NULL;
        uint64_t bytes = limit != NULL ? strtoull(limit + 6, NULL, 10) : 0;
        doctor_ok(doctor, "shared heap", "up to %s for the ranks of a node",
                  facts_size(bytes, text));
    }
    probe_free(&result);
}

/** Run an alltoall between two ranks.
 * @param nodes each is a node of its own
 * @param ask   what to change if it fails and the library does not say it */
static void check_ranks(doctor_t *doctor, const char *check, bool nodes,
                        const char *ask)
{
    const probe_t probe = {
        .ranks = 2, .nodes = nodes, .settings = quiet, .work = probe_alltoall};
    probe_result_t result;
    size_t at = 0;
    if (doctor->heapless) {
        doctor_warning(doctor, check,
                       "not tried, there is no shared heap; see above");
        return;
    }
    probe_run(&probe, &result);
    const char *wrong = probe_next(&result, PROBE_BAD, &at);
    at = 0;
    const char *network = probe_next(&result, PROBE_NETWORK, &at);
    if (result.status != CATENA_OK || wrong != NULL) {
        const char *why = wrong != NULL ? wrong : result.error;
        doctor_error(doctor, check, "%s%s", why, change(why, ask));
    } else {
        doctor_ok(doctor, check, "an alltoall of 8 KiB was right, %s%s%.0f ms",
                  nodes && network != NULL ? network : "",
                  nodes && network != NULL ? ", " : "", result.seconds * 1e3);
    }
    probe_free(&result);
}

void doctor_ranks(doctor_t *doctor)
{
    check_ranks(doctor, "two ranks of a node", false,
                "; see the checks above, and CATENA_LOG_LEVEL=debug");
}

void doctor_network(doctor_t *doctor)
{
    check_ranks(
        doctor, "two nodes", true,
        "; jobs of several nodes need a network of UCX: see catena-info "
        "--transports, UCX_TLS and UCX_NET_DEVICES, and ulimit -n");
}
