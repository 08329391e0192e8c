/* Begin and end: the context, the groups of communicators, statistics. */

#include "preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

preload_t preload;

static const char *const names[CALLS] = {
#define PRELOAD_NAME(NAME, Name, Nonblocking, name) [CALL_##NAME] = #name,
    PRELOAD_CALLS(PRELOAD_NAME)
#undef PRELOAD_NAME
};

static const char *const reasons[REASONS] = {
    [REASON_OFF] = "catena is off",
    [REASON_SKIPPED] = "CATENA_MPI_SKIP",
    [REASON_COMM] = "one rank, intercommunicator or other processes",
    [REASON_TOPOLOGY] = "neighbors that do not name each other",
    [REASON_REDUCTION] = "operation or type",
    [REASON_ARGUMENT] = "invalid argument"};

#if defined(OPEN_MPI)
#define FLAVOR "Open MPI"
#else
#define FLAVOR "MPICH"
#endif

/* State of this file. */
static struct {
    MPI_Comm comm;     /* of the boot: a duplicate of MPI_COMM_WORLD */
    MPI_Request never; /* a request that never completes, to make progress */
    int rank;
    int (*unregister)(int (*)(void)); /* opal_progress_unregister */
    char why[64];                     /* catena is off */
    bool one_node;
} state = {.comm = MPI_COMM_NULL, .never = MPI_REQUEST_NULL};

/** Write a line for the user, on rank 0. */
#define SAY(...)                                                               \
    do {                                                                       \
        if (state.rank == 0) {                                                 \
            fprintf(stderr, "[catena-mpi] " __VA_ARGS__);                      \
        }                                                                      \
    } while (0)

/* ---- memory ---- */

_Noreturn void preload_no_memory(size_t bytes)
{
    PRELOAD_ERROR("no memory for %zu bytes: the job ends", bytes);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *preload_alloc(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        preload_no_memory(bytes);
    }
    return memory;
}

/* ---- progress of both libraries ---- */

/* While a call of catena waits, the MPI library makes progress in the test of a
 * request that never completes. */
static void progress_mpi(void *argument)
{
    int done;
    (void)argument;
    (void)PMPI_Test(&state.never, &done, MPI_STATUS_IGNORE);
}

/* While a call of MPI waits, catena completes nonblocking calls, and sends what
 * it still has: with a network, that may wait in this process when a call has
 * ended. It has nothing most of the time, and a rank that finds nothing to do
 * yields its core. */
static int progress_catena(void)
{
    enum { EVERY = 16 };
    static unsigned calls;
    int completed = 0;
    if (preload.inside > 0 || preload.context == NULL ||
        (preload.pending == 0 && (state.one_node || ++calls % EVERY != 0))) {
        return 0;
    }
    preload.inside++;
    if (preload.pending > 0) {
        completed = preload_progress();
    } else {
        (void)catena_progress(preload.context);
    }
    preload.inside--;
    return completed;
}

static int query(void *argument, MPI_Status *status)
{
    (void)argument;
    return PMPI_Status_set_elements(status, MPI_BYTE, 0);
}

static int release(void *argument)
{
    (void)argument;
    return MPI_SUCCESS;
}

static int cancel(void *argument, int complete)
{
    (void)argument, (void)complete;
    return MPI_SUCCESS;
}

/** @return false: the MPI library makes no progress for others */
static bool register_progress(void)
{
    int (*reg)(int (*)(void));
    *(void **)&reg = dlsym(RTLD_DEFAULT, "opal_progress_register");
    *(void **)&state.unregister =
        dlsym(RTLD_DEFAULT, "opal_progress_unregister");
    if (reg == NULL || state.unregister == NULL) {
        state.unregister = NULL;
        return false;
    }
    return reg(progress_catena) == 0;
}

/* ---- calls ---- */

static struct preload_counters *counters_of(const preload_started_t *c)
{
    return c->nonblocking ? &preload.nonblocking[c->call]
                          : &preload.blocking[c->call];
}

bool preload_pass(const preload_started_t *c, preload_reason_t reason)
{
    counters_of(c)->passed[reason]++;
    return false;
}

int preload_code(catena_status_t status)
{
    return status == CATENA_OK              ? MPI_SUCCESS
           : status == CATENA_ERR_ARG       ? MPI_ERR_ARG
           : status == CATENA_ERR_NO_MEMORY ? MPI_ERR_NO_MEM
                                            : MPI_ERR_OTHER;
}

int preload_end(preload_started_t *c)
{
    struct preload_counters *counters = counters_of(c);
    preload.inside--;
    counters->taken++;
    if (preload.stats) {
        counters->bytes +=
            (double)(c->from.bytes > c->to.bytes ? c->from.bytes : c->to.bytes);
        counters->seconds += PMPI_Wtime() - c->since;
    }
    if (c->status == CATENA_OK) {
        return MPI_SUCCESS;
    }
    int code = preload_code(c->status);
    PRELOAD_ERROR("%s: %s", names[c->call], catena_status_string(c->status));
    PMPI_Comm_call_errhandler(c->comm, code);
    return code;
}

/* ---- begin ---- */

static int gather_by_mpi(void *argument, const void *send, void *receive,
                         size_t bytes)
{
    (void)argument;
    return PMPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes,
                          MPI_BYTE, state.comm);
}

static void end_job(void *argument, int code, const char *message)
{
    (void)argument;
    PRELOAD_ERROR("%s", message);
    PMPI_Abort(MPI_COMM_WORLD, code);
}

/** Turn catena off; the reason is printed with the statistics. */
static void turn_off(const char *why)
{
    snprintf(state.why, sizeof(state.why), "%s", why);
}

static void read_skip(const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ",");
        int found = -1;
        for (int i = 0; i < CALLS; i++) {
            if (strlen(names[i]) == length &&
                strncmp(names[i], list, length) == 0) {
                found = i;
            }
        }
        if (found >= 0) {
            preload.skip |= 1u << found;
        } else {
            SAY("CATENA_MPI_SKIP: \"%.*s\" is no collective; expected barrier, "
                "bcast, alltoallv and so on, separated by commas\n",
                (int)length, list);
        }
        list += length + (list[length] == ',');
    }
}

/** Whether MPI sees all ranks of the job on one node. @param[out] node the
 * first rank of this one's */
static bool find_node(int *node)
{
    MPI_Comm local;
    int size;
    int all;
    PMPI_Comm_split_type(state.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                         &local);
    PMPI_Comm_size(local, &size);
    PMPI_Comm_size(state.comm, &all);
    *node = state.rank;
    PMPI_Bcast(node, 1, MPI_INT, 0, local);
    PMPI_Comm_free(&local);
    int one = size == all;
    PMPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MIN, state.comm);
    return one != 0;
}

/** Start catena. All ranks agree whether it has started. */
static void join(int node)
{
    int ranks;
    char name[64];
    const char *settings[] = {name, NULL};
    PMPI_Comm_size(state.comm, &ranks);
    snprintf(name, sizeof(name), "BOOT_NODE=mpi%d", node);
    catena_oob_t oob = {.size = sizeof(oob),
                        .rank = state.rank,
                        .ranks = ranks,
                        .allgather = gather_by_mpi,
                        .abort = end_job};
    catena_config_t config = {.size = sizeof(config),
                              .settings = settings,
                              .oob = &oob,
                              .progress = progress_mpi};
    if (secure_getenv("CATENA_BOOT_NODE") != NULL) {
        config.settings = NULL;
    }
    preload.inside++;
    int all = catena_init(&config, &preload.context) == CATENA_OK;
    preload.inside--;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, state.comm);
    if (all == 0) {
        SAY("catena does not start; the job goes on with " FLAVOR " alone\n");
        turn_off("catena_init failed");
        preload.context = NULL;
    }
}

/** A library that is built for the other MPI has other constants. */
static void check_flavor(void)
{
    /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH, which writes more than that of
     * Open MPI. */
    enum { MOST_BYTES = 8192 };
    char version[MOST_BYTES];
    _Static_assert(MOST_BYTES >= MPI_MAX_LIBRARY_VERSION_STRING,
                   "it holds the text of both");
    int length;
    PMPI_Get_library_version(version, &length);
    if (strstr(version, FLAVOR) == NULL) {
        PRELOAD_ERROR("this library is built for " FLAVOR
                      ", but the program uses \"%.40s\"; preload the other one",
                      version);
        exit(1);
    }
}

/** Why this rank cannot use catena; NULL: it can. */
static const char *find_obstacle(void)
{
    const char *on = secure_getenv("CATENA_MPI");
    int level;
    PMPI_Query_thread(&level);
    return on != NULL && strcmp(on, "off") == 0 ? "CATENA_MPI=off"
           : level == MPI_THREAD_MULTIPLE       ? "MPI_THREAD_MULTIPLE"
           : !register_progress() && !state.one_node
               ? "several nodes, and " FLAVOR " makes no progress for others"
               : NULL;
}

/** What differs between ranks, such as the level of threads, must not make them
 * act differently. */
static void begin(void)
{
    const char *stats = secure_getenv("CATENA_MPI_STATS");
    int node;
    check_flavor();
    preload.stats = stats != NULL && strcmp(stats, "0") != 0;
    PMPI_Comm_dup(MPI_COMM_WORLD, &state.comm);
    PMPI_Comm_rank(state.comm, &state.rank);
    state.one_node =
        find_node(&node) && secure_getenv("CATENA_BOOT_NODE") == NULL;
    read_skip(secure_getenv("CATENA_MPI_SKIP"));
    PMPI_Allreduce(MPI_IN_PLACE, &preload.skip, 1, MPI_UNSIGNED, MPI_BOR,
                   state.comm);
    const char *obstacle = find_obstacle();
    int all = obstacle == NULL;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, state.comm);
    if (all == 0) {
        turn_off(obstacle != NULL ? obstacle : "another rank cannot use it");
        return;
    }
    preload_comms_open();
    PMPI_Grequest_start(query, release, cancel, NULL, &state.never);
    preload_types_open();
    join(node);
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) {
        begin();
    }
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS) {
        begin();
    }
    return code;
}

/* ---- end ---- */

static void print_counters(const char *before, const char *name,
                           const struct preload_counters *counters)
{
    int width = 24 - (int)strlen(before);
    if (counters->taken > 0) {
        SAY("%s%-*s %10lu taken     %10.3f MB %10.6f s\n", before, width, name,
            counters->taken, counters->bytes / 1e6, counters->seconds);
    }
    for (int r = 0; r < REASONS; r++) {
        if (counters->passed[r] > 0) {
            SAY("%s%-*s %10lu not taken (%s)\n", before, width, name,
                counters->passed[r], reasons[r]);
        }
    }
}

static void print_stats(void)
{
    if (!preload.stats || state.rank != 0) {
        return;
    }
    SAY("rank 0; catena %s%s%s\n", catena_version(),
        state.why[0] != '\0' ? " is off: " : "", state.why);
    for (int i = 0; i < CALLS; i++) {
        print_counters("", names[i], &preload.blocking[i]);
        print_counters("i", names[i], &preload.nonblocking[i]);
    }
}

int MPI_Finalize(void)
{
    print_stats();
    if (preload.context != NULL) {
        preload_comms_close();
        preload_requests_free();
        preload.inside++;
        catena_status_t status = catena_finalize(&preload.context);
        preload.inside--;
        if (status != CATENA_OK) {
            SAY("catena_finalize: %s\n", catena_status_string(status));
        }
        preload.context = NULL;
        preload.last = MPI_COMM_NULL;
        preload.group = NULL;
    }
    if (state.unregister != NULL) {
        (void)state.unregister(progress_catena);
    }
    if (state.never != MPI_REQUEST_NULL) {
        PMPI_Grequest_complete(state.never);
        PMPI_Wait(&state.never, MPI_STATUS_IGNORE);
    }
    if (state.comm != MPI_COMM_NULL) {
        PMPI_Comm_free(&state.comm);
    }
    return PMPI_Finalize();
}
