/* Joins a job in the way that the settings or the program say. */

#include "boot/boot.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boot/ops.h"

static const ctn_setting_t settings[] = {
    {"BOOT", "auto",
     "How ranks find each other. auto: by PMIx if the launcher offers it, "
     "else\n"
     "a job of one rank. pmix: by PMIx only. tcp://HOST:PORT: rank 0 runs on\n"
     "that host and listens there while the job starts. env: the same, at\n"
     "MASTER_ADDR and the port after MASTER_PORT (29500). singleton: a job of\n"
     "one rank.",
     offsetof(ctn_boot_config_t, how), &ctn_setting_text},
    {"BOOT_RANK", "auto",
     "Without PMIx: the number of this rank. auto: from the variables of the\n"
     "launcher (PMI_RANK, SLURM_PROCID, RANK and others).",
     offsetof(ctn_boot_config_t, rank), &ctn_setting_number},
    {"BOOT_SIZE", "auto", "Without PMIx: the number of ranks. auto: as above.",
     offsetof(ctn_boot_config_t, size), &ctn_setting_count},
    {"BOOT_NODE", "auto",
     "Without PMIx: a name for this node; ranks of a host with different "
     "names\n"
     "do not share memory. auto: the ranks of a host are a node.",
     offsetof(ctn_boot_config_t, node), &ctn_setting_text},
    {"BOOT_SECRET", "",
     "tcp, env: up to 64 characters that only ranks of the job know. Others\n"
     "cannot join.",
     offsetof(ctn_boot_config_t, secret), &ctn_setting_secret},
    {"BOOT_TIMEOUT", "60",
     "tcp, env: seconds to wait for other ranks while the job starts.",
     offsetof(ctn_boot_config_t, timeout), &ctn_setting_number},
};

const ctn_setting_table_t ctn_boot_settings =
    CTN_SETTING_TABLE(settings, ctn_boot_config_t);

/* A process is one rank of its job, so it has one context at a time. This state
 * belongs to the process. */
static struct {
    atomic_bool joined; /* a context exists */
    unsigned lives;     /* contexts created so far */
    bool lost;          /* ranks of the job died in one of them */
} process;

/* A thread that simulates a job runs the programs of its ranks, which join that
 * job only. */
static _Thread_local bool simulates;

bool ctn_boot_set_simulates(bool value)
{
    bool before = simulates;
    simulates = value;
    return before;
}

/* ---- job information ---- */

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

catena_status_t ctn_boot_find_local_rank(ctn_boot_t *boot)
{
    qsort(boot->local_ranks, boot->local_size, sizeof(uint32_t), compare_ranks);
    for (uint32_t i = 0; i < boot->local_size; i++) {
        if (boot->local_ranks[i] == boot->rank) {
            boot->local_rank = i;
            return CATENA_OK;
        }
    }
    ctn_error(boot->log, "the launcher's list of local peers lacks rank %u",
              boot->rank);
    return CATENA_ERR_LAUNCHER;
}

void ctn_boot_name_node(ctn_boot_t *boot, const char *name, uint32_t number)
{
    struct utsname host;
    if (name == NULL) {
        name = uname(&host) == 0 ? host.nodename : "localhost";
    }
    snprintf(boot->node, sizeof(boot->node), "%s", name);
    snprintf(boot->node_key, sizeof(boot->node_key), "%s#%u", boot->node,
             number);
}

static catena_status_t become_singleton(ctn_boot_t *boot)
{
    boot->size = boot->local_size = 1;
    boot->local_ranks = calloc(1, sizeof(uint32_t));
    ctn_boot_name_node(boot, NULL, 0);
    return boot->local_ranks != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/* ---- the ways to join ---- */

/** A process that seems to be one of several must not become a job of its own:
 * that would be as many jobs as ranks, each with a wrong result. If messages
 * are not folded, rank 0 says so for all. */
static catena_status_t refuse_to_be_alone(const ctn_boot_t *boot,
                                          const ctn_launched_t *launched)
{
    bool says = launched->rank == 0 || ctn_log_folds();
    ctn_error(says ? boot->log : ctn_log_kept(),
              "catena_init: %s has started %u ranks (%s) without PMIx; start "
              "them with prun, mpirun or srun --mpi=pmix, or set "
              "CATENA_BOOT=tcp://HOST:PORT with the host of rank 0 "
              "(CATENA_BOOT=singleton: as many jobs of one rank)",
              launched->launcher, launched->size, launched->size_variable);
    return CATENA_ERR_LAUNCHER;
}

/** @param must there has to be a launcher with PMIx */
static catena_status_t join_by_launcher(ctn_boot_t *boot, bool must)
{
    ctn_launched_t launched = ctn_boot_launched();
    catena_status_t status = CATENA_ERR_UNSUPPORTED;
    /* Without a launcher PMIx_Init would search the machine for a server. */
    if (secure_getenv("PMIX_NAMESPACE") != NULL) {
        status = ctn_boot_join_pmix(boot);
    }
    if (status != CATENA_ERR_UNSUPPORTED) {
        return status;
    }
    if (must) {
        ctn_error(boot->log, "catena_init: CATENA_BOOT=pmix, but no launcher "
                             "offers PMIx; expected prun, mpirun or srun "
                             "--mpi=pmix");
        return CATENA_ERR_LAUNCHER;
    }
    return launched.size > 1 ? refuse_to_be_alone(boot, &launched)
                             : become_singleton(boot);
}

/** Find rank and size.
 * @param variables those that `launched` was read from, for the error */
static catena_status_t find_rank(ctn_boot_t *boot,
                                 const ctn_boot_config_t *config,
                                 ctn_launched_t launched, const char *variables)
{
    size_t rank = config->rank != CTN_CONFIG_AUTO ? config->rank
                  : launched.launcher != NULL     ? launched.rank
                                                  : CTN_CONFIG_AUTO;
    size_t size = config->size != CTN_CONFIG_AUTO ? config->size
                  : launched.launcher != NULL     ? launched.size
                                                  : CTN_CONFIG_AUTO;
    if (rank >= size || size > INT32_MAX) {
        char found[64] = "found no rank and no number of ranks";
        if (rank < CTN_CONFIG_INF && size < CTN_CONFIG_INF) {
            snprintf(found, sizeof(found), "found rank %zu of %zu", rank, size);
        }
        ctn_error(boot->log,
                  "catena_init: %s; expected CATENA_BOOT_RANK below "
                  "CATENA_BOOT_SIZE, or %s",
                  found, variables);
        return CATENA_ERR_LAUNCHER;
    }
    boot->rank = (uint32_t)rank;
    boot->size = (uint32_t)size;
    return CATENA_OK;
}

static catena_status_t join_at(ctn_boot_t *boot, const char *address,
                               const ctn_boot_config_t *config,
                               ctn_launched_t launched, const char *variables)
{
    catena_status_t status = find_rank(boot, config, launched, variables);
    return status == CATENA_OK ? ctn_boot_join_tcp(boot, address, config)
                               : status;
}

/** The address that the variables of torchrun and others give: rank 0 itself
 * uses MASTER_PORT. */
static catena_status_t join_by_env(ctn_boot_t *boot,
                                   const ctn_boot_config_t *config)
{
    const char *host = secure_getenv("MASTER_ADDR");
    const char *port = secure_getenv("MASTER_PORT");
    char *end = "";
    unsigned long number = port != NULL ? strtoul(port, &end, 10) : 29500;
    char address[300];
    if (host == NULL || *host == '\0' || *end != '\0' || number - 1 >= 65534) {
        ctn_error(boot->log,
                  "catena_init: CATENA_BOOT=env, MASTER_ADDR %s, MASTER_PORT "
                  "%s; expected the host of rank 0, and a port from 1 to 65534",
                  host != NULL ? host : "not set",
                  port != NULL ? port : "29500");
        return CATENA_ERR_LAUNCHER;
    }
    snprintf(address, sizeof(address),
             strchr(host, ':') != NULL && *host != '[' ? "[%.255s]:%lu"
                                                       : "%.255s:%lu",
             host, number + 1);
    return join_at(boot, address, config, ctn_boot_launched_env(),
                   "RANK below WORLD_SIZE (with other launchers "
                   "CATENA_BOOT=tcp://HOST:PORT)");
}

static catena_status_t join(ctn_boot_t *boot, const ctn_boot_config_t *config,
                            const catena_oob_t *oob)
{
    static const char tcp[] = "tcp://";
    const char *how = config->how;
    if (oob != NULL) {
        return ctn_boot_join_oob(boot, config->node, oob);
    }
    if (strcmp(how, "auto") == 0 || strcmp(how, "pmix") == 0) {
        return join_by_launcher(boot, *how == 'p');
    }
    if (strcmp(how, "singleton") == 0) {
        return become_singleton(boot);
    }
    if (strcmp(how, "env") == 0) {
        return join_by_env(boot, config);
    }
    if (strncmp(how, tcp, strlen(tcp)) == 0) {
        return join_at(boot, how + strlen(tcp), config, ctn_boot_launched(),
                       "the variables of a launcher (PMI_RANK and PMI_SIZE, "
                       "RANK and WORLD_SIZE, ...)");
    }
    ctn_error(boot->log,
              "CATENA_BOOT=%s; expected auto, pmix, singleton, env or "
              "tcp://HOST:PORT",
              how);
    return CATENA_ERR_ARG;
}

catena_status_t ctn_boot_create(ctn_log_t *log, const ctn_config_t *config,
                                const catena_oob_t *oob, bool one_space,
                                ctn_boot_t **out)
{
    if (simulates) {
        ctn_error(log, "catena_init: config is NULL, or not that of this "
                       "simulated rank; pass the argument config of the "
                       "simulated program");
        return CATENA_ERR_ARG;
    }
    if (atomic_exchange(&process.joined, true)) {
        ctn_error(log, "catena_init: this process has a context already; "
                       "finalize it first");
        return CATENA_ERR_STATE;
    }
    if (process.lost) {
        ctn_error(log, "catena_init: ranks of this job have died, so it cannot "
                       "be joined again; start a new job");
        atomic_store(&process.joined, false);
        return CATENA_ERR_LAUNCHER;
    }
    ctn_boot_t *boot = calloc(1, sizeof(*boot));
    if (boot == NULL) {
        atomic_store(&process.joined, false);
        return CATENA_ERR_NO_MEMORY;
    }
    boot->log = log;
    boot->one_space = one_space;
    boot->life = ++process.lives;
    catena_status_t status =
        join(boot, ctn_config_values(config, &ctn_boot_settings), oob);
    if (status != CATENA_OK) {
        ctn_boot_destroy(boot);
        return status;
    }
    log->rank = (int)boot->rank;
    snprintf(log->host, sizeof(log->host), "%.63s", boot->node);
    *out = boot;
    return CATENA_OK;
}

void ctn_boot_destroy(ctn_boot_t *boot)
{
    if (boot->ops != NULL) {
        boot->ops->leave(boot);
    }
    process.lost |= boot->lost;
    free(boot->local_ranks);
    free(boot);
    atomic_store(&process.joined, false);
}

const char *ctn_boot_name(const ctn_boot_t *boot)
{
    return boot->ops != NULL ? boot->ops->name : "singleton";
}

/* ---- values ---- */

catena_status_t ctn_boot_put(ctn_boot_t *boot, const char *key,
                             const void *data, size_t bytes)
{
    return boot->ops != NULL ? boot->ops->put(boot, key, data, bytes)
                             : CATENA_OK;
}

catena_status_t ctn_boot_share(ctn_boot_t *boot)
{
    return boot->ops != NULL && boot->ops->share != NULL
               ? boot->ops->share(boot)
               : CATENA_OK;
}

catena_status_t ctn_boot_publish(ctn_boot_t *boot)
{
    return boot->ops != NULL ? boot->ops->publish(boot) : CATENA_OK;
}

catena_status_t ctn_boot_lookup(ctn_boot_t *boot, uint32_t rank,
                                const char *key, void **data, size_t *bytes)
{
    if (boot->ops == NULL) {
        ctn_error(boot->log, "rank %u does not exist in a job of one rank",
                  rank);
        return CATENA_ERR_ARG;
    }
    return boot->ops->lookup(boot, rank, key, data, bytes);
}

/** Whether the first process of this PID namespace belongs to this job: then
 * the launcher has started a container, perhaps for this rank alone. */
static bool is_first_process_of_job(void)
{
    static const char name[] = "PMIX_NAMESPACE=";
    const char *job = secure_getenv("PMIX_NAMESPACE");
    FILE *file = job != NULL ? fopen("/proc/1/environ", "re") : NULL;
    char *variable = NULL;
    size_t room = 0;
    bool found = false;
    while (file != NULL && !found &&
           getdelim(&variable, &room, '\0', file) > 0) {
        found = strncmp(variable, name, strlen(name)) == 0 &&
                strcmp(variable + strlen(name), job) == 0;
    }
    free(variable);
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

bool ctn_boot_may_regroup(const ctn_boot_t *boot)
{
    return boot->local_size > 1 && boot->ops != NULL &&
           boot->ops->regroup != NULL &&
           (getppid() == 0 || is_first_process_of_job());
}

catena_status_t ctn_boot_regroup(ctn_boot_t *boot)
{
    return boot->ops->regroup(boot);
}

catena_status_t ctn_boot_agree(ctn_boot_t *boot)
{
    return boot->ops != NULL && boot->ops->agree != NULL
               ? boot->ops->agree(boot)
               : CATENA_OK;
}

catena_status_t ctn_boot_joined(ctn_boot_t *boot)
{
    return boot->ops != NULL && boot->ops->joined != NULL
               ? boot->ops->joined(boot)
               : CATENA_OK;
}

void ctn_boot_abort(ctn_boot_t *boot, int code, const char *message)
{
    if (boot != NULL && boot->ops != NULL) {
        boot->ops->end_job(boot, code, message);
    }
    _exit(code);
}
