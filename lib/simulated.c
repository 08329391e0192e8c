/* Joins a simulated job: takes from the simulator what a process gets from
 * launcher, machine and network. */

#include "simulated.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "exec/exec.h"
#include "group/control_block.h"
#include "heap/heap.h"
#include "topo/locality.h"
#include "transports/simulator.h"

static ctn_sim_place_t place_of(const catena_context_t *context)
{
    ctn_sim_place_t place;
    ctn_simulator_of(context->sim)->place(context->sim, &place);
    return place;
}

uint64_t *ctn_simulated_last_message(const catena_context_t *context)
{
    return place_of(context).last_message;
}

/** Take the values that a launcher provides to a process. */
static catena_status_t take_place(catena_context_t *context)
{
    ctn_sim_place_t place = place_of(context);
    ctn_boot_t *boot = calloc(1, sizeof(*boot));
    if (boot == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    context->boot = boot;
    boot->log = &context->log;
    boot->rank = place.rank;
    boot->size = place.ranks;
    boot->local_rank = place.local_rank;
    boot->local_size = place.local_size;
    boot->local_ranks = (uint32_t *)(uintptr_t)place.local_ranks;
    snprintf(boot->node, sizeof(boot->node), "node%u", place.node);
    snprintf(boot->node_key, sizeof(boot->node_key), "%s", boot->node);
    context->log.rank = (int)place.rank;
    snprintf(context->log.host, sizeof(context->log.host), "node%u",
             place.node);
    context->locality = (ctn_locality_t){
        .process = place.rank,
        .node = boot->node_key,
        .local_rank = place.local_rank,
        .local_size = place.local_size,
        .numa = place.numa,
        .oversubscribed = place.oversubscribed,
        .simulated = true,
        .resources = &context->resources,
    };
    /* If there is a topology description (CATENA_TOPOLOGY), it determines
     * locality and splits. The costs of memory and network are still those of
     * the simulated machine. */
    const char *description = ctn_topo_config(&context->config)->topology;
    return description != NULL && description[0] != '\0'
               ? ctn_locality_find(&context->log, description,
                                   &context->locality)
               : CATENA_OK;
}

/** Use the memory of the simulated node as the heap. */
static catena_status_t join_heap(catena_context_t *context)
{
    _Static_assert(CTN_SIM_HEADER_BYTES == CTN_HEAP_HEADER_BYTES,
                   "the simulator lays out nodes as the heap does");
    ctn_sim_place_t place = place_of(context);
    const ctn_heap_config_t *heap =
        ctn_config_values(&context->config, &ctn_heap_settings);
    ctn_heap_params_t params = {
        .log = &context->log,
        .limit = heap->size,
        .local_rank = (int)place.local_rank,
        .local_size = (int)place.local_size,
        .numa = -1,
        .sparse_bytes = sizeof(ctn_control_block_t),
    };
    return ctn_heap_adopt(&params, place.memory, place.arena_bytes,
                          &context->heap);
}

static void explain(const void *memory, size_t bytes, size_t nodes)
{
    ctn_recorder_log(NULL, memory, bytes, nodes);
}

catena_status_t ctn_simulated_join(catena_context_t *context)
{
    catena_status_t status = take_place(context);
    ctn_simulator_of(context->sim)->explain_by(context->sim, explain);
    if (status == CATENA_OK) {
        status = join_heap(context);
    }
    if (status == CATENA_OK) {
        context->node = context->network = place_of(context).transport;
    }
    return status;
}

catena_status_t ctn_simulated_payload(catena_context_t *context)
{
    ctn_sim_place_t place = place_of(context);
    context->exec->drop_data = place.drop_data;
    context->exec->drop_tables = place.drop_tables;
    return CATENA_OK;
}
