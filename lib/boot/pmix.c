/* Joins a job through PMIx; publishes and looks up values. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boot/ops.h"
#include "core/joined.h"

/** What ctn_boot_t has of PMIx. */
typedef struct boot_pmix {
    pmix_proc_t self;
    size_t handler; /* id of the handler for the loss of the launcher */
    bool handling;  /* whether this handler is registered */
    bool regrouped; /* values have been published before ctn_boot_publish */
} boot_pmix_t;

/* ---- loss of the launcher ---- */

/** Runs on PMIx's own thread, so it only writes a message, also where the
 * application has a function for messages, and exits. */
static void on_lost_launcher(size_t id, pmix_status_t status,
                             const pmix_proc_t *source, pmix_info_t info[],
                             size_t ninfo, pmix_info_t results[],
                             size_t nresults,
                             pmix_event_notification_cbfunc_fn_t done,
                             void *done_data)
{
    (void)id, (void)status, (void)source, (void)info, (void)ninfo;
    (void)results, (void)nresults, (void)done, (void)done_data;
    ctn_error(NULL, "lost the launcher: this rank exits");
    _exit(1);
}

/** From now on this process exits when the launcher is lost. */
static void watch_launcher(boot_pmix_t *pmix)
{
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    /* With a NULL callback the call blocks and returns the handler's id. */
    pmix_status_t id = PMIx_Register_event_handler(
        &code, 1, NULL, 0, on_lost_launcher, NULL, NULL);
    if (id >= 0) {
        pmix->handler = (size_t)id;
        pmix->handling = true;
    }
}

/* ---- job information ---- */

/** Get a value of a rank.
 * @param optional do not wait for the value, which may not exist */
static pmix_status_t get_value(const ctn_boot_t *boot, pmix_rank_t rank,
                               const char *key, bool optional,
                               pmix_value_t **value)
{
    const boot_pmix_t *pmix = boot->state;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, pmix->self.nspace, rank);
    pmix_info_t no_wait;
    PMIX_INFO_LOAD(&no_wait, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&proc, key, &no_wait, optional ? 1 : 0, value);
    PMIX_INFO_DESTRUCT(&no_wait);
    return rc;
}

/** Get a value that is a number.
 * @param optional as for get_value; a missing number is not logged then */
static catena_status_t get_number(ctn_boot_t *boot, pmix_rank_t rank,
                                  const char *key, bool optional,
                                  uint32_t *number)
{
    pmix_value_t *value = NULL;
    pmix_status_t rc = get_value(boot, rank, key, optional, &value);
    if (rc != PMIX_SUCCESS && optional) {
        return CATENA_ERR_LAUNCHER;
    }
    if (rc != PMIX_SUCCESS) {
        ctn_error(boot->log,
                  "the launcher provides no %s: %s; start ranks with prun, "
                  "mpirun or srun --mpi=pmix",
                  key, PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    PMIX_VALUE_GET_NUMBER(rc, value, *number, uint32_t);
    PMIX_VALUE_RELEASE(value);
    return rc == PMIX_SUCCESS ? CATENA_OK : CATENA_ERR_LAUNCHER;
}

/** Get an optional value that is a string. @return the string, malloc'd; NULL:
 * there is none */
static char *get_string(ctn_boot_t *boot, pmix_rank_t rank, const char *key)
{
    pmix_value_t *value = NULL;
    if (get_value(boot, rank, key, true, &value) != PMIX_SUCCESS) {
        return NULL;
    }
    char *string = NULL;
    if (value->type == PMIX_STRING && value->data.string != NULL) {
        string = strdup(value->data.string);
    }
    PMIX_VALUE_RELEASE(value);
    return string;
}

/** Set local_ranks and local_size from a list such as "0,1,2". */
static catena_status_t parse_peers(ctn_boot_t *boot, const char *peers)
{
    uint32_t count = 1;
    for (const char *c = peers; *c != '\0'; c++) {
        count += *c == ',';
    }
    boot->local_ranks = calloc(count, sizeof(uint32_t));
    if (boot->local_ranks == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    const char *c = peers;
    for (uint32_t i = 0; i < count; i++) {
        char *end;
        boot->local_ranks[i] = (uint32_t)strtoul(c, &end, 10);
        if (end == c) {
            ctn_error(boot->log,
                      "the launcher's list of local peers is "
                      "'%s'; expected ranks separated by commas",
                      peers);
            return CATENA_ERR_LAUNCHER;
        }
        c = end + 1;
    }
    boot->local_size = count;
    return CATENA_OK;
}

/** Ask the launcher for the ranks on this node. */
static catena_status_t learn_peers(ctn_boot_t *boot)
{
    char *peers = get_string(boot, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
    if (peers == NULL) {
        peers = get_string(boot, boot->rank, PMIX_LOCAL_PEERS);
    }
    if (peers == NULL) {
        ctn_error(boot->log,
                  "the launcher provides no list of local peers (%s)",
                  PMIX_LOCAL_PEERS);
        return CATENA_ERR_LAUNCHER;
    }
    catena_status_t status = parse_peers(boot, peers);
    free(peers);
    return status != CATENA_OK ? status : ctn_boot_find_local_rank(boot);
}

static void learn_node(ctn_boot_t *boot)
{
    uint32_t number = 0;
    char *name = get_string(boot, boot->rank, PMIX_HOSTNAME);
    (void)get_number(boot, boot->rank, PMIX_NODEID, true, &number);
    ctn_boot_name_node(boot, name, number);
    free(name);
}

static catena_status_t learn_job(ctn_boot_t *boot)
{
    boot_pmix_t *pmix = boot->state;
    boot->rank = pmix->self.rank;
    catena_status_t status =
        get_number(boot, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, false, &boot->size);
    if (status == CATENA_OK) {
        learn_node(boot);
        status = learn_peers(boot);
    }
    return status;
}

/* ---- published values ---- */

static const struct timespec retry_after = {0, 10 * 1000 * 1000}; /* 10 ms */

typedef char key_name_t[64];

/** The name of a key for PMIx. It contains the life, since the launcher keeps
 * the values of earlier lives. */
static void name_key(const ctn_boot_t *boot, const char *key, key_name_t name)
{
    snprintf(name, sizeof(key_name_t), "%s.%u", key, boot->life);
}

static catena_status_t put(ctn_boot_t *boot, const char *key, const void *data,
                           size_t bytes)
{
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = malloc(bytes);
    value.data.bo.size = bytes;
    if (value.data.bo.bytes == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memcpy(value.data.bo.bytes, data, bytes);
    key_name_t name;
    name_key(boot, key, name);
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, name, &value);
    PMIX_VALUE_DESTRUCT(&value);
    if (rc != PMIX_SUCCESS) {
        ctn_error(boot->log, "PMIx rejects %s: %s", key, PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    return CATENA_OK;
}

static catena_status_t publish(ctn_boot_t *boot)
{
    pmix_status_t rc = PMIx_Commit();
    if (rc != PMIX_SUCCESS) {
        ctn_error(boot->log, "the launcher rejects published values: %s",
                  PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    return CATENA_OK;
}

/** Look up a key in the first life. PMIx_Get waits until the owner has
 * published. But a server that answers while the owner publishes may reply "not
 * found" (Open MPI 4.1.4 in about one of ten starts of 16 ranks on 2 cores):
 * then ask again, for about 10 s. */
static pmix_status_t get_published(const pmix_proc_t *proc, const char *key,
                                   pmix_value_t **value)
{
    enum { TRIES = 1000 };
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    for (int i = 0; i < TRIES && rc == PMIX_ERR_NOT_FOUND; i++) {
        if (i > 0) {
            nanosleep(&retry_after, NULL);
        }
        rc = PMIx_Get(proc, key, NULL, 0, value);
    }
    return rc;
}

/** Look up a key in a later life, or after ctn_boot_regroup. The owner has
 * published before, so
 * PMIx_Get waits only about 2 s and then replies "not found": ask again until
 * the owner has published in this life. Every eighth request waits like this;
 * the others return at once, with what the server has. */
static pmix_status_t get_published_again(const pmix_proc_t *proc,
                                         const char *key, pmix_value_t **value)
{
    enum { WAIT_EVERY = 8 };
    pmix_info_t at_once;
    PMIX_INFO_LOAD(&at_once, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    for (int i = 1; rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_TIMEOUT; i++) {
        if (i > 1) {
            nanosleep(&retry_after, NULL);
        }
        rc = PMIx_Get(proc, key, &at_once, i % WAIT_EVERY != 0, value);
    }
    PMIX_INFO_DESTRUCT(&at_once);
    return rc;
}

static catena_status_t lookup(ctn_boot_t *boot, uint32_t rank, const char *key,
                              void **data, size_t *bytes)
{
    boot_pmix_t *pmix = boot->state;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, pmix->self.nspace, rank);
    key_name_t name;
    name_key(boot, key, name);
    pmix_value_t *value = NULL;
    pmix_status_t rc = boot->life == 1 && !pmix->regrouped
                           ? get_published(&proc, name, &value)
                           : get_published_again(&proc, name, &value);
    if (rc != PMIX_SUCCESS || value->type != PMIX_BYTE_OBJECT) {
        ctn_error(boot->log,
                  "no %s of rank %u: %s; look for an error of that rank", key,
                  rank, PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    *data = value->data.bo.bytes;
    *bytes = value->data.bo.size;
    value->data.bo.bytes = NULL;
    value->data.bo.size = 0;
    PMIX_VALUE_RELEASE(value);
    return CATENA_OK;
}

/** The ranks that the launcher counts to this node look up each other's
 * identity. */
static catena_status_t regroup(ctn_boot_t *boot)
{
    static const char key[] = "catena.identity";
    uint32_t count = boot->local_size;
    ctn_boot_identity_t own = ctn_boot_identify(boot, "auto");
    ctn_boot_identity_t *all = calloc(count, sizeof(*all));
    uint32_t *ranks = boot->local_ranks;
    if (all == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = put(boot, key, &own, sizeof(own));
    if (status == CATENA_OK) {
        status = publish(boot);
    }
    for (uint32_t i = 0; status == CATENA_OK && i < count; i++) {
        void *data;
        size_t bytes;
        status = lookup(boot, ranks[i], key, &data, &bytes);
        if (status == CATENA_OK) {
            memcpy(&all[i], data, bytes < sizeof(own) ? bytes : sizeof(own));
            free(data);
        }
    }
    ((boot_pmix_t *)boot->state)->regrouped = true;
    if (status == CATENA_OK) {
        status = ctn_boot_form_node(boot, all, ranks, count);
    }
    free(all);
    if (status == CATENA_OK) { /* the launcher's node may have become several */
        size_t used = strlen(boot->node_key);
        snprintf(boot->node_key + used, sizeof(boot->node_key) - used, ".%u",
                 boot->local_ranks[0]);
    }
    return status;
}

/** Rank 0 tells prun by a query: PMIx completes a fence of the ranks of one
 * server, and may accept events, without notifying the launcher. */
static catena_status_t joined(ctn_boot_t *boot)
{
    pmix_status_t rc = PMIx_Fence(NULL, 0, NULL, 0);
    if (rc != PMIX_SUCCESS) {
        ctn_error(
            boot->log,
            "PMIx_Fence of all ranks failed: %s; look for a rank that has died",
            PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    if (boot->rank == 0) {
        pmix_query_t query;
        pmix_info_t *found = NULL;
        size_t count = 0;
        PMIX_QUERY_CONSTRUCT(&query);
        PMIX_ARGV_APPEND(rc, query.keys, CTN_PMIX_JOINED);
        (void)PMIx_Query_info(&query, 1, &found, &count);
        PMIX_QUERY_DESTRUCT(&query);
        if (found != NULL) {
            PMIX_INFO_FREE(found, count);
        }
    }
    return CATENA_OK;
}

static void end_job(ctn_boot_t *boot, int code, const char *message)
{
    (void)boot;
    PMIx_Abort(code, message, NULL, 0);
}

static void leave(ctn_boot_t *boot)
{
    boot_pmix_t *pmix = boot->state;
    if (pmix->handling) {
        PMIx_Deregister_event_handler(pmix->handler, NULL, NULL);
    }
    PMIx_Finalize(NULL, 0);
    free(pmix);
}

static const ctn_boot_ops_t pmix_ops = {.name = "pmix",
                                        .put = put,
                                        .publish = publish,
                                        .lookup = lookup,
                                        .regroup = regroup,
                                        .joined = joined,
                                        .end_job = end_job,
                                        .leave = leave};

catena_status_t ctn_boot_join_pmix(ctn_boot_t *boot)
{
    boot_pmix_t *pmix = calloc(1, sizeof(*pmix));
    if (pmix == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    pmix_status_t rc = PMIx_Init(&pmix->self, NULL, 0);
    if (rc != PMIX_SUCCESS) {
        free(pmix);
        if (rc == PMIX_ERR_UNREACH) {
            return CATENA_ERR_UNSUPPORTED;
        }
        ctn_error(boot->log, "PMIx_Init: %s; expected the launcher to run",
                  PMIx_Error_string(rc));
        return CATENA_ERR_LAUNCHER;
    }
    boot->state = pmix;
    boot->ops = &pmix_ops;
    watch_launcher(pmix);
    return learn_job(boot);
}
