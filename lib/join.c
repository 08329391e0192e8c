/* The steps by which a process joins a job and leaves it. */

#include "join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "coll/barrier.h"
#include "coll/hierarchy/settings.h"
#include "core/cache_line.h"
#include "core/cores.h"
#include "core/entry.h"
#include "exec/exec.h"
#include "exec/handshake.h"
#include "exec/progress_thread.h"
#include "group/recovery.h"
#include "heap/heap.h"
#include "model/tuning.h"
#include "settings.h"
#include "simulated.h"
#include "topo/locality.h"
#include "topo/topo.h"
#include "transports/shm/shm.h"
#include "transports/simulator.h"

/* Keys under which ranks publish values through PMIx. */
static const char segment_key[] = "catena.segment";
static const char regrouped_key[] = "catena.segment.regrouped";
static const char ep_address_key[] = "catena.ep_address";

/* ---- the heap ---- */

static const ctn_heap_config_t *heap_config(const catena_context_t *context)
{
    return ctn_config_values(&context->config, &ctn_heap_settings);
}

static const ctn_exec_config_t *exec_config(const catena_context_t *context)
{
    return ctn_config_values(&context->config, &ctn_exec_settings);
}

static bool returns_failures(const catena_context_t *context)
{
    return exec_config(context)->failures == CTN_FAILURES_RETURN;
}

static ctn_heap_params_t heap_params(const catena_context_t *context)
{
    return (ctn_heap_params_t){
        .log = &context->log,
        .limit = heap_config(context)->size,
        .local_rank = (int)context->boot->local_rank,
        .local_size = (int)context->boot->local_size,
        .numa = context->locality.numa,
        .huge = heap_config(context)->huge_pages,
        .sparse_bytes = sizeof(ctn_control_block_t),
        .failures = exec_config(context)->failures,
        .several_spaces = context->boot->several_spaces,
    };
}

/** What the job says of this rank and those that share its node and cores. */
static void describe_ranks(catena_context_t *context)
{
    const ctn_boot_t *boot = context->boot;
    ctn_locality_t *locality = &context->locality;
    const ctn_topo_config_t *topo = ctn_topo_config(&context->config);
    size_t ranks = topo->host_ranks;
    locality->process = boot->rank;
    locality->node = boot->node_key;
    locality->local_rank = boot->local_rank;
    locality->local_size = boot->local_size;
    locality->resources = &context->resources;
    if (ranks == CTN_CONFIG_AUTO) {
        ranks = boot->host_ranks;
    }
    if (ranks < boot->local_size) {
        ranks = boot->local_size;
    }
    locality->ranks_per_core = (double)ranks / ctn_cores_shared("");
    locality->oversubscribed = locality->ranks_per_core > 1;
}

/** The node is smaller than the launcher says, or its ranks do not share all
 * that they could. */
static catena_status_t regroup(catena_context_t *context)
{
    catena_status_t status = ctn_boot_regroup(context->boot);
    describe_ranks(context);
    return status;
}

/** Create the node's segment, whose name is published later.
 * @param key of the name */
static catena_status_t create_segment(catena_context_t *context,
                                      const char *key)
{
    ctn_heap_params_t params = heap_params(context);
    char name[64] = "";
    catena_status_t status = ctn_heap_create(&params, &context->heap, name);
    return status != CATENA_OK || context->boot->local_size == 1
               ? status
               : ctn_boot_put(context->boot, key, name, sizeof(name));
}

/** Local rank 0 creates the node's segment. In place of its name, "" lets all
 * ranks of the node regroup first. */
static catena_status_t create_heap(catena_context_t *context)
{
    static const char none[64];
    ctn_boot_t *boot = context->boot;
    if (boot->local_rank > 0) {
        return CATENA_OK;
    }
    if (!ctn_boot_may_regroup(boot)) {
        return create_segment(context, segment_key);
    }
    catena_status_t status =
        ctn_boot_put(boot, segment_key, none, sizeof(none));
    if (status == CATENA_OK) {
        status = regroup(context);
    }
    return status == CATENA_OK ? create_segment(context, regrouped_key)
                               : status;
}

static catena_status_t share_name(catena_context_t *context)
{
    return ctn_boot_share(context->boot);
}

/** Wait for the name of the node's segment.
 * @param[out] name as of ctn_heap_create */
static catena_status_t look_up_segment(const catena_context_t *context,
                                       const char *key, char name[64])
{
    ctn_boot_t *boot = context->boot;
    void *data;
    size_t bytes;
    catena_status_t status =
        ctn_boot_lookup(boot, boot->local_ranks[0], key, &data, &bytes);
    if (status == CATENA_OK) {
        snprintf(name, 64, "%.*s", (int)bytes, (const char *)data);
        free(data);
    }
    return status;
}

/** The other ranks of the node wait for the name and attach to the segment. */
static catena_status_t join_heap(catena_context_t *context)
{
    char name[64] = "";
    if (context->boot->local_rank == 0) {
        return CATENA_OK;
    }
    catena_status_t status = look_up_segment(context, segment_key, name);
    if (status == CATENA_OK && name[0] == '\0') {
        status = regroup(context);
        if (status == CATENA_OK && context->boot->local_rank == 0) {
            return create_segment(context, regrouped_key);
        }
        if (status == CATENA_OK) {
            status = look_up_segment(context, regrouped_key, name);
        }
    }
    ctn_heap_params_t params = heap_params(context);
    return status == CATENA_OK ? ctn_heap_attach(&params, name, &context->heap)
                               : status;
}

/* ---- the transports ---- */

/** Create the transport of the node. */
static catena_status_t join_node(catena_context_t *context)
{
    ctn_boot_t *boot = context->boot;
    unsigned char **arenas = calloc(boot->local_size, sizeof(*arenas));
    if (arenas == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < boot->local_size; i++) {
        arenas[i] = ctn_heap_arena(context->heap, (int)i);
    }
    context->node = ctn_shm_create(boot->local_size, boot->local_ranks, arenas);
    free(arenas);
    return context->node != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/** The `lookup` of ctn_transport_params_t. */
static catena_status_t look_up_ep_address(void *argument, uint64_t process,
                                          void **ep_address, size_t *bytes)
{
    catena_context_t *context = argument;
    return ctn_boot_lookup(context->boot, (uint32_t)process, ep_address_key,
                           ep_address, bytes);
}

/** A job of several nodes needs a network. A job of one node opens one if the
 * setting NETWORK says so; if it is auto, when a hierarchy names `ucx`. */
static bool wants_network(const catena_context_t *context)
{
    size_t network = ctn_job_config(&context->config)->network;
    return context->boot->local_size < context->boot->size ||
           (network == CTN_CONFIG_AUTO
                ? ctn_hierarchy_names(&context->config, "ucx")
                : network != 0);
}

/** Open the network if it is needed. This rank's endpoint address is published
 * later. */
static catena_status_t join_network(catena_context_t *context)
{
    ctn_boot_t *boot = context->boot;
    if (!wants_network(context)) {
        return CATENA_OK;
    }
    const ctn_topo_config_t *topo = ctn_topo_config(&context->config);
    char *devices;
    catena_status_t status =
        ctn_locality_devices(&context->log, topo->topology, topo->net_devices,
                             &context->locality, &devices);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_transport_params_t params = {
        .log = &context->log,
        .process = boot->rank,
        .arena = ctn_heap_arena(context->heap, (int)boot->local_rank),
        .arena_bytes = ctn_heap_arena_bytes(context->heap),
        .config = &context->config,
        .devices = devices,
        .failures = exec_config(context)->failures,
        .shared = exec_config(context)->progress != 0,
        .lookup = look_up_ep_address,
        .lookup_context = context,
    };
    status = ctn_ucx_ops.create(&params, &context->network);
    free(devices);
    if (status != CATENA_OK) {
        return status;
    }
    const void *ep_address;
    size_t bytes;
    ctn_ucx_ops.ep_address(context->network, &ep_address, &bytes);
    return ctn_boot_put(boot, ep_address_key, ep_address, bytes);
}

/** Publish the values of the steps before. */
static catena_status_t publish(catena_context_t *context)
{
    return ctn_boot_publish(context->boot);
}

static catena_status_t agree(catena_context_t *context)
{
    return ctn_boot_agree(context->boot);
}

/* ---- exec ---- */

static catena_status_t make_exec(catena_context_t *context)
{
    ctn_exec_t *exec = ctn_lines_alloc(sizeof(*exec));
    if (exec == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    context->exec = exec;
    exec->log = &context->log;
    exec->config = &context->config;
    exec->locality = &context->locality;
    exec->tuning = context->tuning;
    exec->heap = context->heap;
    exec->local = context->node;
    exec->network = context->network;
    exec->oversubscribed = context->locality.oversubscribed;
    exec->other_progress = context->progress;
    exec->other_argument = context->progress_argument;
    const ctn_exec_config_t *settings = exec_config(context);
    exec->single_copy = settings->single_copy != 0;
    exec->check = settings->check != 0;
    /* In virtual time a store itself wakes the ranks that wait for it. So the
     * doorbell of a simulated rank has no other rank to wake. */
    ctn_doorbell_open(&exec->doorbell, &context->log, context->heap,
                      context->boot->local_rank,
                      context->sim == NULL ? context->boot->local_size : 1);
    ctn_exec_init(exec);
    ctn_exec_set_wait_policy(exec, settings);
    ctn_heap_on_shortage(context->heap, ctn_exec_reclaim, exec);
    /* The simulator finds endpoints by itself. */
    uint32_t local = context->sim == NULL ? context->boot->local_size : 0;
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; status == CATENA_OK && i < local; i++) {
        status =
            ctn_exec_add_endpoint(exec, ctn_shm_endpoint(context->node, i));
    }
    return status;
}

/* ---- the world ---- */

/** Set this rank's place in the chain of the world. That needs no messages: the
 * control block of the world is the first allocation in every rank's arena, so
 * it has the same offset on all ranks. */
static void link_world(catena_context_t *context)
{
    ctn_chain_place_t *place = &context->world->chain.place;
    place->rank = context->boot->rank;
    place->size = context->boot->size;
    place->left = place->right = place->self;
    place->left.process--;
    place->right.process++;
    if (place->rank == 0) {
        place->left = CTN_NO_ADDRESS;
    }
    if (place->rank + 1 == place->size) {
        place->right = CTN_NO_ADDRESS;
    }
}

/** What lies behind the control block of the world, at the same offset on all
 * ranks. */
typedef struct words {
    uint64_t *handshakes;
    uint64_t *deaths; /* these, if failures are returned */
    void *area;
} words_t;

/** Set the pointers, if there is a world. @return the length */
static size_t lay_out_words(const catena_context_t *context, words_t *words)
{
    uint32_t ranks = context->boot->size;
    size_t bytes = (ranks * sizeof(uint64_t) + 63) & ~(size_t)63;
    *words = (words_t){.handshakes = NULL};
    if (context->world != NULL) {
        unsigned char *at = (void *)(ctn_group_block(context->world) + 1);
        words->handshakes = (void *)at;
        words->deaths = (void *)(at + bytes);
        words->area = at + 2 * bytes;
    }
    return returns_failures(context)
               ? 2 * bytes + ctn_recovery_area_bytes(ranks)
               : bytes;
}

/** From now on the death of a rank is an error of the groups that it belongs
 * to. While ranks join, it still ends the job. */
static catena_status_t watch_failures(const catena_context_t *context,
                                      const words_t *words)
{
    ctn_exec_t *exec = context->exec;
    const ctn_boot_t *boot = context->boot;
    catena_status_t status = ctn_deaths_open(exec, boot->size, words->deaths);
    /* Simulated ranks have no endpoints yet to the others of their node. */
    for (uint32_t i = 0; status == CATENA_OK && i < boot->local_size; i++) {
        ctn_endpoint_t *endpoint;
        status = ctn_exec_connect(exec, boot->local_ranks[i], &endpoint);
    }
    if (status == CATENA_OK) {
        status =
            ctn_recovery_open(context->world, context->boot->size, words->area);
    }
    ctn_exec_set_flags(exec, &ctn_group_block(context->world)->flags);
    return status == CATENA_OK ? ctn_recovery_of_world(context->world) : status;
}

/** Start what makes progress while the rank computes, if a setting says so. */
static catena_status_t start_progress(catena_context_t *context)
{
    if (exec_config(context)->progress == 0) {
        return CATENA_OK;
    }
    context->exec->polled_apart = true;
    return context->sim == NULL ? ctn_progress_thread_start(context->exec)
                                : CATENA_OK;
}

static catena_status_t make_world(catena_context_t *context)
{
    words_t words;
    catena_status_t status = ctn_group_create_world(
        context->exec, lay_out_words(context, &words), &context->world);
    if (status != CATENA_OK) {
        return status;
    }
    context->world->permanent = true;
    ctn_recorder_open(context->exec);
    ctn_group_record(context->world, CTN_SCOPE_WORLD);
    ctn_observer_open(context->exec, exec_config(context), context->boot->node,
                      context->sim != NULL ? context->boot->rank == 0
                                           : context->boot->local_rank == 0);
    ctn_control_block_t *block = ctn_group_block(context->world);
    if (context->sim == NULL &&
        (context->exec->single_copy || returns_failures(context))) {
        ctn_shm_publish(context->node, &block->attach,
                        ctn_heap_offset(context->heap, &block->attach),
                        context->exec->single_copy);
    }
    ctn_barrier_set_hooks(context->world);
    link_world(context);
    (void)lay_out_words(context, &words);
    ctn_handshake_open(context->exec, words.handshakes);
    if (returns_failures(context)) {
        status = watch_failures(context, &words);
    }
    if (status == CATENA_OK) {
        status = ctn_topo_link_node(context->world, context->boot->local_ranks);
    }
    if (status != CATENA_OK) {
        return status;
    }
    /* A first barrier builds the topology and shows that all ranks have
     * started. */
    status = ctn_op_run(context->exec, ctn_barrier_create(context->world));
    if (status == CATENA_OK && context->exec->deaths != NULL) {
        context->exec->deaths->joining = false;
        ctn_deaths_news(context->exec);
        status = ctn_boot_joined(context->boot);
    }
    if (context->sim != NULL) {
        return status;
    }
    ctn_exec_set_flags(context->exec, &block->flags);
    int wrong = status == CATENA_OK && context->exec->single_copy
                    ? ctn_shm_probe(context->node)
                    : 0;
    if (wrong != 0) {
        ctn_debug(&context->log,
                  "no cross-memory attach between ranks of the node: %s",
                  strerror(wrong));
    }
    return status;
}

/** Distribute the ranks of an oversubscribed host over its cores. Each node
 * begins with another core: virtual nodes share their cores, and the leaders of
 * all nodes, which have the most work, should not all start on the first one.
 */
static catena_status_t initial_placement(catena_context_t *context)
{
    const ctn_topo_t *topo = ctn_topo_of(context->world);
    if (context->locality.oversubscribed && topo != NULL) {
        ctn_exec_initial_placement(context->boot->local_rank +
                                   topo->node_index);
    }
    return CATENA_OK;
}

/* ---- lifetime ---- */

/** Find out where this process runs and how many ranks share its cores. */
static catena_status_t find_locality(catena_context_t *context)
{
    describe_ranks(context);
    return ctn_locality_find(&context->log,
                             ctn_topo_config(&context->config)->topology,
                             &context->locality);
}

/** Find the job, before the other steps. Then rank 0 knows that it is rank 0,
 * and warns of unknown settings for all, if they would not be folded. */
static catena_status_t join_job(catena_context_t *context)
{
    catena_status_t status =
        ctn_boot_create(&context->log, &context->config, context->oob,
                        returns_failures(context), &context->boot);
    if (status == CATENA_OK && (context->boot->rank == 0 || ctn_log_folds())) {
        (void)ctn_config_warn_unknown(ctn_settings, &context->log);
    }
    return status;
}

catena_status_t ctn_join(catena_context_t *context)
{
    typedef catena_status_t (*step_t)(catena_context_t *);
    static const step_t process[] = {
        join_job,       find_locality, create_heap,       share_name, join_heap,
        join_node,      join_network,  publish,           make_exec,  agree,
        start_progress, make_world,    initial_placement, NULL};
    static const step_t simulated[] = {
        ctn_simulated_join, make_exec,  ctn_simulated_payload,
        start_progress,     make_world, NULL};
    const step_t *step = context->sim != NULL ? simulated : process;
    catena_status_t status = CATENA_OK;
    for (; status == CATENA_OK && *step != NULL; step++) {
        status = (*step)(context);
    }
    if (status == CATENA_OK) {
        context->boot->established = true;
        ctn_progress_thread_open(context->exec);
    }
    return status;
}

void ctn_leave(catena_context_t *context)
{
    if (context->exec != NULL && context->exec->progress_thread != NULL) {
        (void)ctn_entry_lock(); /* catena_init has failed */
        ctn_progress_thread_stop(context->exec);
        ctn_entry_unlock();
    }
    if (context->exec != NULL) {
        (void)ctn_groups_release(context->exec);
        ctn_recovery_release_all(context->exec);
    }
    if (context->network != NULL) {
        context->network->ops->destroy(context->network);
    }
    if (context->exec != NULL) {
        ctn_observer_close(context->exec);
        ctn_recorder_close(context->exec);
        ctn_exec_release(context->exec);
        free(context->exec);
    }
    if (context->node != NULL) {
        context->node->ops->destroy(context->node);
    }
    if (context->heap != NULL) {
        ctn_heap_destroy(context->heap);
    }
    if (context->sim != NULL) {
        free(context->boot);
    } else if (context->boot != NULL) {
        ctn_boot_destroy(context->boot);
    }
    ctn_tuning_close(context->tuning);
    ctn_config_release(&context->config);
    CTN_MARK_SET(context, CTN_FREED);
    ctn_handle_free(context);
}
