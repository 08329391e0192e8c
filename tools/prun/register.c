/* The job's keys, which PMIx clients read with PMIx_Get. Each (virtual) node
 * and each rank has an array of keys of its own: so a rank finds the keys of
 * its node, although one server serves all nodes. */
#include "layout.h"
#include "server.h"

#include <pmix_server.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A list of keys under construction. After an error nothing is added. */
struct prun_keys {
    void *list;           /* of PMIx_Info_list_start */
    pmix_status_t status; /* the first error */
};

static struct prun_keys prun_keys_start(void)
{
    return (struct prun_keys){.list = PMIx_Info_list_start(),
                              .status = PMIX_SUCCESS};
}

/* Add a key with its value; the next functions do so for some types. */
static void prun_key(struct prun_keys *keys, const char *key, const void *value,
                     pmix_data_type_t type)
{
    if (keys->status == PMIX_SUCCESS)
        keys->status = PMIx_Info_list_add(keys->list, key, value, type);
}

static void prun_key_u32(struct prun_keys *keys, const char *key,
                         uint32_t value)
{
    prun_key(keys, key, &value, PMIX_UINT32);
}

static void prun_key_u16(struct prun_keys *keys, const char *key,
                         uint32_t value)
{
    uint16_t narrow = (uint16_t)value;
    prun_key(keys, key, &narrow, PMIX_UINT16);
}

static void prun_key_rank(struct prun_keys *keys, const char *key,
                          uint32_t value)
{
    pmix_rank_t rank = value;
    prun_key(keys, key, &rank, PMIX_PROC_RANK);
}

/* Close the list `inner`, and add it to the list `keys` as an array. */
static void prun_key_array(struct prun_keys *keys, const char *key,
                           struct prun_keys *inner)
{
    pmix_data_array_t array = {0};
    if (inner->status == PMIX_SUCCESS)
        inner->status = PMIx_Info_list_convert(inner->list, &array);
    if (inner->status == PMIX_SUCCESS)
        prun_key(keys, key, &array, PMIX_DATA_ARRAY);
    else if (keys->status == PMIX_SUCCESS)
        keys->status = inner->status;
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    PMIx_Info_list_release(inner->list);
}

static void prun_add_node(struct prun_keys *keys, uint32_t id,
                          const struct prun_node *node)
{
    struct prun_keys inner = prun_keys_start();
    char *peers = prun_layout_peers(node);
    prun_key(&inner, PMIX_HOSTNAME, node->name, PMIX_STRING);
    prun_key_u32(&inner, PMIX_NODEID, id);
    prun_key_u32(&inner, PMIX_NODE_SIZE, node->size);
    prun_key_u32(&inner, PMIX_LOCAL_SIZE, node->size);
    prun_key(&inner, PMIX_LOCAL_PEERS, peers, PMIX_STRING);
    prun_key_rank(&inner, PMIX_LOCALLDR, node->ranks[0]);
    prun_key_array(keys, PMIX_NODE_INFO_ARRAY, &inner);
    free(peers);
}

/* The keys of one rank have no list of the ranks of its node: every rank
 * receives the keys of every rank, so N ranks would receive N^3 numbers. */
static void prun_add_rank(struct prun_keys *keys, const struct prun_job *job,
                          uint32_t rank)
{
    const struct prun_layout *layout = job->layout;
    const struct prun_app *app = prun_app_of(job->options, rank);
    struct prun_keys inner = prun_keys_start();
    prun_key_rank(&inner, PMIX_RANK, rank);
    prun_key_rank(&inner, PMIX_GLOBAL_RANK, rank);
    prun_key_rank(&inner, PMIX_APP_RANK, rank - app->first);
    prun_key_u32(&inner, PMIX_APPNUM, (uint32_t)(app - job->options->apps));
    prun_key_u32(&inner, PMIX_NODEID, layout->node_of[rank]);
    prun_key(&inner, PMIX_HOSTNAME, layout->nodes[layout->node_of[rank]].name,
             PMIX_STRING);
    prun_key_u16(&inner, PMIX_LOCAL_RANK, layout->local_of[rank]);
    prun_key_u16(&inner, PMIX_NODE_RANK, layout->local_of[rank]);
    prun_key_array(keys, PMIX_PROC_INFO_ARRAY, &inner);
}

static void prun_add_app(struct prun_keys *keys, uint32_t number,
                         const struct prun_app *app)
{
    struct prun_keys inner = prun_keys_start();
    prun_key_u32(&inner, PMIX_APPNUM, number);
    prun_key_u32(&inner, PMIX_APP_SIZE, app->np);
    prun_key_rank(&inner, PMIX_APPLDR, app->first);
    if (app->wdir)
        prun_key(&inner, PMIX_WDIR, app->wdir, PMIX_STRING);
    prun_key_array(keys, PMIX_APP_INFO_ARRAY, &inner);
}

/* Which nodes there are, and which ranks each has. */
static void prun_add_maps(struct prun_keys *keys,
                          const struct prun_layout *layout)
{
    char *names = prun_layout_names(layout);
    char *ranks = prun_layout_ranks(layout);
    char *node_map = NULL, *proc_map = NULL;
    if (keys->status == PMIX_SUCCESS)
        keys->status = PMIx_generate_regex(names, &node_map);
    if (keys->status == PMIX_SUCCESS)
        keys->status = PMIx_generate_ppn(ranks, &proc_map);
    prun_key(keys, PMIX_NODE_MAP, node_map, PMIX_REGEX);
    prun_key(keys, PMIX_PROC_MAP, proc_map, PMIX_REGEX);
    prun_key(keys, PMIX_NODE_LIST, names, PMIX_STRING);
    free(node_map);
    free(proc_map);
    free(names);
    free(ranks);
}

static void prun_add_directories(struct prun_keys *keys,
                                 const struct prun_job *job)
{
    bool yes = true;
    char *directory = prun_format("%s/ns", job->directory);
    prun_key(keys, PMIX_TMPDIR, job->directory, PMIX_STRING);
    if (mkdir(directory, 0700) == 0)
        prun_key(keys, PMIX_NSDIR, directory, PMIX_STRING);
    prun_key(keys, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
    free(directory);
}

/* Register the keys with the PMIx server, and free the list. */
static pmix_status_t prun_hand_over(struct prun_keys *keys,
                                    const char *name_space, uint32_t np)
{
    pmix_data_array_t array = {0};
    pmix_nspace_t name;
    PMIX_LOAD_NSPACE(name, name_space);
    if (keys->status == PMIX_SUCCESS)
        keys->status = PMIx_Info_list_convert(keys->list, &array);
    if (keys->status == PMIX_SUCCESS)
        keys->status = PMIx_server_register_nspace(name, (int)np, array.array,
                                                   array.size, NULL, NULL);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    PMIx_Info_list_release(keys->list);
    return keys->status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS
                                                    : keys->status;
}

int prun_register_job(const struct prun_job *job, const char *name_space)
{
    const struct prun_layout *layout = job->layout;
    struct prun_keys keys = prun_keys_start();
    prun_key(&keys, PMIX_JOBID, name_space, PMIX_STRING);
    prun_key_u32(&keys, PMIX_JOB_SIZE, layout->np);
    prun_key_u32(&keys, PMIX_UNIV_SIZE, layout->np);
    prun_key_u32(&keys, PMIX_MAX_PROCS, layout->np);
    prun_key_u32(&keys, PMIX_NUM_NODES, layout->node_count);
    prun_key_u32(&keys, PMIX_JOB_NUM_APPS, job->options->app_count);
    prun_key_rank(&keys, PMIX_NPROC_OFFSET, 0);
    prun_add_maps(&keys, layout);
    prun_add_directories(&keys, job);
    for (uint32_t node = 0; node < layout->node_count; node++)
        prun_add_node(&keys, node, &layout->nodes[node]);
    for (uint32_t app = 0; app < job->options->app_count; app++)
        prun_add_app(&keys, app, &job->options->apps[app]);
    for (uint32_t rank = 0; rank < layout->np; rank++)
        prun_add_rank(&keys, job, rank);
    return prun_hand_over(&keys, name_space, layout->np);
}
