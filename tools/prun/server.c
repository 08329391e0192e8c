/* The PMIx server. The PMIx library calls the functions of prun_server_module
 * on its progress thread. They answer immediately, and set a flag of the rank
 * or record the first abort, which wakes the main loop through an event
 * descriptor. All ranks are clients of this one server; the library itself
 * collects fences and answers gets. Parameters that no function uses are those
 * of PMIx. */
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "core/joined.h"
#include "core/peer.h"

struct prun_server {
    int event_fd;            /* eventfd, written at a PMIx_Abort */
    struct prun_rank *ranks; /* job->ranks */
    uint32_t np;             /* number of ranks */
    atomic_bool joined;      /* all ranks have: see CTN_PMIX_JOINED */
    char name_space[128];
    pthread_mutex_t lock;    /* guards the members below */
    pthread_cond_t changed;  /* `pending` was decremented */
    bool aborted;            /* a rank has called PMIx_Abort */
    struct prun_abort abort; /* its arguments */
    uint32_t pending;        /* registrations of ranks without an answer */
    int register_status;     /* the last error of these */
};

/* The server of this process: global, because PMIx passes no context to the
 * functions of the module. */
static struct prun_server prun_the_server = {
    .event_fd = -1,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

/* The rank of a PMIx process; NULL: none of this job. */
static struct prun_rank *prun_client(const pmix_proc_t *proc)
{
    struct prun_server *server = &prun_the_server;
    if (strcmp(proc->nspace, server->name_space) != 0 ||
        proc->rank >= server->np)
        return NULL;
    return &server->ranks[proc->rank];
}

static pmix_status_t
prun_client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                      size_t count, pmix_op_cbfunc_t answer, void *answer_data)
{
    (void)object;
    (void)info;
    (void)count;
    struct prun_rank *rank = prun_client(proc);
    if (!rank)
        return PMIX_ERR_NOT_FOUND;
    atomic_store(&rank->finalized, false);
    atomic_store(&rank->connected, true);
    if (answer)
        answer(PMIX_SUCCESS, answer_data);
    return PMIX_SUCCESS;
}

static pmix_status_t prun_client_finalized(const pmix_proc_t *proc,
                                           void *object,
                                           pmix_op_cbfunc_t answer,
                                           void *answer_data)
{
    (void)object;
    struct prun_rank *rank = prun_client(proc);
    /* Set before the answer: the rank may exit right after it. */
    if (rank)
        atomic_store(&rank->finalized, true);
    if (answer)
        answer(PMIX_SUCCESS, answer_data);
    return PMIX_SUCCESS;
}

static pmix_status_t prun_client_abort(const pmix_proc_t *proc, void *object,
                                       int code, const char message[],
                                       pmix_proc_t procs[], size_t count,
                                       pmix_op_cbfunc_t answer,
                                       void *answer_data)
{
    struct prun_server *server = &prun_the_server;
    (void)object;
    (void)procs;
    (void)count;
    pthread_mutex_lock(&server->lock);
    if (!server->aborted) {
        server->aborted = true;
        server->abort.rank = proc->rank;
        server->abort.code = code;
        snprintf(server->abort.message, sizeof server->abort.message, "%s",
                 message ? message : "");
    }
    pthread_mutex_unlock(&server->lock);
    uint64_t one = 1;
    if (write(server->event_fd, &one, sizeof one) < 0)
        return PMIX_ERROR;
    if (answer)
        answer(PMIX_SUCCESS, answer_data);
    return PMIX_SUCCESS;
}

/* Called when all participants of a fence have called it. There is no other
 * server to exchange data with, so the participants' `data` are the answer. The
 * library frees them with the given function, free, after it has copied them.
 */
static pmix_status_t prun_fence(const pmix_proc_t procs[], size_t proc_count,
                                const pmix_info_t info[], size_t count,
                                char *data, size_t bytes,
                                pmix_modex_cbfunc_t answer, void *answer_data)
{
    (void)procs;
    (void)proc_count;
    (void)info;
    (void)count;
    if (answer)
        answer(PMIX_SUCCESS, data, bytes, answer_data, free, data);
    return PMIX_SUCCESS;
}

/* Called for data of a rank that is not a client of this server; there is none.
 */
static pmix_status_t prun_direct_modex(const pmix_proc_t *proc,
                                       const pmix_info_t info[], size_t count,
                                       pmix_modex_cbfunc_t answer,
                                       void *answer_data)
{
    (void)proc;
    (void)info;
    (void)count;
    (void)answer;
    (void)answer_data;
    return PMIX_ERR_NOT_FOUND;
}

/* PMIx_Connect and PMIx_Disconnect: the library does all. */
static pmix_status_t prun_connect(const pmix_proc_t procs[], size_t proc_count,
                                  const pmix_info_t info[], size_t count,
                                  pmix_op_cbfunc_t answer, void *answer_data)
{
    (void)procs;
    (void)proc_count;
    (void)info;
    (void)count;
    if (answer)
        answer(PMIX_SUCCESS, answer_data);
    return PMIX_SUCCESS;
}

/* No other server sends events, so prun need not know which ones ranks await.
 */
static pmix_status_t prun_register_events(pmix_status_t *codes, size_t ncodes,
                                          const pmix_info_t info[],
                                          size_t count, pmix_op_cbfunc_t answer,
                                          void *answer_data)
{
    (void)codes;
    (void)ncodes;
    (void)info;
    (void)count;
    (void)answer;
    (void)answer_data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t prun_deregister_events(pmix_status_t *codes, size_t ncodes,
                                            pmix_op_cbfunc_t answer,
                                            void *answer_data)
{
    (void)codes;
    (void)ncodes;
    (void)answer;
    (void)answer_data;
    return PMIX_OPERATION_SUCCEEDED;
}

/* The library has notified the clients of this server already; there are no
 * others. */
static pmix_status_t
prun_notify_event(pmix_status_t code, const pmix_proc_t *source,
                  pmix_data_range_t range, pmix_info_t info[], size_t count,
                  pmix_op_cbfunc_t answer, void *answer_data)
{
    (void)code;
    (void)source;
    (void)range;
    (void)info;
    (void)count;
    (void)answer;
    (void)answer_data;
    return PMIX_OPERATION_SUCCEEDED;
}

/* The only query that prun handles: rank 0 reports that all ranks have joined.
 * It returns no data. */
static pmix_status_t prun_query(pmix_proc_t *proc, pmix_query_t *queries,
                                size_t count, pmix_info_cbfunc_t answer,
                                void *answer_data)
{
    (void)answer;
    (void)answer_data;
    (void)proc; /* not always the rank that asks, in PMIx 4.2 */
    for (size_t i = 0; i < count; i++)
        if (queries[i].keys && queries[i].keys[0] &&
            strcmp(queries[i].keys[0], CTN_PMIX_JOINED) == 0)
            atomic_store(&prun_the_server.joined, true);
    return PMIX_ERR_NOT_SUPPORTED;
}

static pmix_server_module_t prun_server_module = {
    .client_connected2 = prun_client_connected,
    .client_finalized = prun_client_finalized,
    .abort = prun_client_abort,
    .fence_nb = prun_fence,
    .direct_modex = prun_direct_modex,
    .connect = prun_connect,
    .disconnect = prun_connect,
    .register_events = prun_register_events,
    .deregister_events = prun_deregister_events,
    .notify_event = prun_notify_event,
    .query = prun_query,
};

/* The answer to the registration of one rank. */
static void prun_registered(pmix_status_t status, void *data)
{
    struct prun_server *server = data;
    pthread_mutex_lock(&server->lock);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        server->register_status = status;
    server->pending--;
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* Register all ranks as clients, then wait for all answers, at most 30 s. To
 * wait for each would cost a thread switch per rank. */
static int prun_register_clients(struct prun_server *server)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 30;
    server->pending = server->np;
    for (uint32_t rank = 0; rank < server->np; rank++) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, server->name_space, rank);
        int status = PMIx_server_register_client(&proc, geteuid(), getegid(),
                                                 NULL, prun_registered, server);
        if (status != PMIX_SUCCESS)
            prun_registered(status, server);
    }
    int late = 0;
    pthread_mutex_lock(&server->lock);
    while (server->pending > 0 && !late)
        late =
            pthread_cond_timedwait(&server->changed, &server->lock, &deadline);
    int status = late ? PMIX_ERR_TIMEOUT : server->register_status;
    pthread_mutex_unlock(&server->lock);
    return status;
}

static int prun_server_init(const struct prun_job *job, void *topology)
{
    pmix_info_t info[4];
    size_t count = 0;
    pmix_topology_t shared = {.source = "hwloc", .topology = topology};
    PMIX_INFO_LOAD(&info[count], PMIX_SERVER_TMPDIR, job->directory,
                   PMIX_STRING);
    count++;
    PMIX_INFO_LOAD(&info[count], PMIX_SYSTEM_TMPDIR, job->directory,
                   PMIX_STRING);
    count++;
    PMIX_INFO_LOAD(&info[count], PMIX_HOSTNAME, job->host, PMIX_STRING);
    count++;
    if (topology) {
        /* Saves PMIx a second discovery of the machine. The entry only borrows
         * the pointer, so it is not destructed. */
        PMIX_LOAD_KEY(info[count].key, PMIX_TOPOLOGY2);
        info[count].flags = 0;
        info[count].value.type = PMIX_TOPO;
        info[count].value.data.topo = &shared;
        count++;
    }
    int status = PMIx_server_init(&prun_server_module, info, count);
    for (size_t i = 0; i < 3; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

/* PMIx's listener calls this in place of the C library's accept. It keeps each
 * connection, and its thread waits for the first message of each. So those of
 * other users are closed at once; with this error PMIx goes on. */
__attribute__((visibility("default"))) int
accept(int port, __SOCKADDR_ARG address, socklen_t *restrict bytes)
{
    int connection = accept4(port, address, bytes, 0);
    if (connection >= 0 && ctn_peer_is_foreign(connection)) {
        close(connection);
        errno = ECONNABORTED;
        return -1;
    }
    return connection;
}

/* Whether a descriptor is a TCP port of this process. */
static bool prun_is_port(int fd)
{
    int listens = 0, protocol = 0;
    socklen_t bytes = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 &&
           listens &&
           getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) == 0 &&
           protocol == IPPROTO_TCP;
}

/* PMIx's thread waits for the first message of each connection, and no setting
 * of PMIx limits that. With TCP_DEFER_ACCEPT the kernel keeps a connection
 * until its first bytes arrive. Sockets that are accepted inherit the timeout
 * for the rest of the message: then PMIx up to 4.2.2 closes them; later
 * versions go on waiting. A client sends the whole message at once. The server
 * also works without these options. */
static void prun_defer_connections(void)
{
    const int day = 86400;
    const struct timeval rest = {.tv_sec = 1};
    DIR *descriptors = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (descriptors && (entry = readdir(descriptors))) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && prun_is_port(fd)) {
            (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &day,
                             sizeof day);
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &rest, sizeof rest);
        }
    }
    if (descriptors)
        closedir(descriptors);
}

void prun_server_start(struct prun_job *job, void *topology)
{
    struct prun_server *server = &prun_the_server;
    server->ranks = job->ranks;
    server->np = job->layout->np;
    snprintf(server->name_space, sizeof server->name_space, "%s",
             job->name_space);
    server->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->event_fd < 0)
        prun_die(PRUN_EXIT_INTERNAL, "cannot create an event descriptor: %m");

    const char *what = "start";
    int status = prun_server_init(job, topology);
    if (status == PMIX_SUCCESS) {
        prun_defer_connections();
        what = "take the job's keys";
        status = prun_register_job(job, server->name_space);
    }
    if (status == PMIX_SUCCESS) {
        what = "take the ranks";
        status = prun_register_clients(server);
    }
    if (status != PMIX_SUCCESS)
        prun_die(PRUN_EXIT_INTERNAL,
                 "the PMIx server could not %s: %s (%d); is there room in %s?",
                 what, PMIx_Error_string(status), status, job->directory);
    job->server = server;
}

bool prun_server_joined(const struct prun_server *server)
{
    return atomic_load(&server->joined);
}

int prun_server_event_fd(const struct prun_server *server)
{
    return server->event_fd;
}

bool prun_server_aborted(struct prun_server *server, struct prun_abort *out)
{
    pthread_mutex_lock(&server->lock);
    bool aborted = server->aborted;
    *out = server->abort;
    pthread_mutex_unlock(&server->lock);
    return aborted;
}

/* A process may wait 2 s for the answer to PMIx_Finalize and exit without it:
 * connections that send a part of a message make PMIx's thread late. */
bool prun_server_forgotten(const struct prun_server *server, uint32_t rank)
{
    enum { LOOKS = 10, LOOK_US = 3000 };
    const struct prun_rank *it = &server->ranks[rank];
    pmix_proc_t proc;
    pmix_value_t value = {.type = PMIX_UNDEF};
    PMIX_LOAD_PROCID(&proc, server->name_space, rank);
    for (int look = 0; look < LOOKS && atomic_load(&it->connected) &&
                       !atomic_load(&it->finalized);
         look++) {
        usleep(LOOK_US);
        /* Returns when PMIx's thread has handled what came before. */
        (void)PMIx_Store_internal(&proc, "prun.look", &value);
    }
    return atomic_load(&it->connected) && !atomic_load(&it->finalized);
}

bool prun_server_environment(struct prun_job *job, uint32_t rank,
                             char ***environment)
{
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, job->name_space, rank);
    return PMIx_server_setup_fork(&proc, environment) == PMIX_SUCCESS;
}

void prun_server_stop(struct prun_job *job)
{
    if (!job->server)
        return;
    PMIx_server_finalize();
    close(job->server->event_fd);
    job->server->event_fd = -1;
    job->server = NULL;
}
