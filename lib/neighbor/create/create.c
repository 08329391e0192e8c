/* NBR-5. Creates a neighborhood: all ranks agree on its properties, the ends of
 * edges match, links are connected, and schedules are built. Each step ends
 * with an agreement, so if one rank finds an error all ranks fail together.
 * Rounds: ceil(log2 p) for each of several sparse exchanges and scans of the
 * group's chain. Memory: O(degree). */

#include <stdlib.h>
#include <string.h>

#include "core/cache_line.h"
#include "core/hash.h"
#include "core/sized.h"
#include "exec/deaths.h"
#include "neighbor/create/sparse_exchange.h"
#include "neighbor/grid/edges.h"

/* ---- what must be the same on all ranks ---- */

/** Adds values to a hash. */
static uint64_t digest_all(uint64_t hash, const int *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = ctn_hash_add(hash, (uint32_t)value[i]);
    }
    return hash;
}

/** A hash of a grid; 0: no grid. */
static uint64_t grid_digest(const ctn_grid_t *grid)
{
    if (grid == NULL) {
        return 0;
    }
    size_t n = (size_t)grid->ndims;
    uint64_t hash = ctn_hash_add(0, (uint32_t)grid->ndims);
    hash = digest_all(hash, grid->dims, n);
    hash = digest_all(hash, grid->periods, n);
    hash = ctn_hash_add(hash, (uint32_t)grid->ndirs);
    return digest_all(hash, grid->displacements, (size_t)grid->ndirs * n);
}

/** Checks that these arguments are the same on all ranks. */
static catena_status_t
agree_on_arguments(catena_group_t *group, const ctn_graph_t *graph,
                   const catena_neighborhood_info_t *info, int requested,
                   catena_status_t failed, bool *weighted)
{
    static const char *const names[] = {"the operations", "the algorithm",
                                        "reorder", "bytes",
                                        "the grid (or that there is one)"};
    const uint64_t own[] = {
        info->operations, (uint64_t)(requested + 1), info->reorder != 0,
        info->bytes,      grid_digest(graph->grid),
    };
    catena_status_t status = ctn_neighbor_agree_same(
        "neighborhood", group, failed, sizeof(own) / sizeof(*own), own, names);
    return status == CATENA_OK
               ? ctn_neighbor_agree_weights(
                     group, status, graph->sources > 0 || graph->targets > 0,
                     graph->weighted, weighted)
               : status;
}

/* ---- memory ---- */

catena_status_t ctn_edge_lists(size_t count, ctn_graph_t *graph)
{
    graph->source = calloc(count + 1, sizeof(*graph->source));
    graph->target = calloc(count + 1, sizeof(*graph->target));
    return graph->source != NULL && graph->target != NULL
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

catena_status_t ctn_edges_exchange(catena_group_t *group,
                                   catena_status_t status,
                                   ctn_vector_t *records, ctn_graph_t *graph)
{
    status =
        ctn_sparse_exchange(group, status, records, sizeof(ctn_edge_record_t));
    if (status == CATENA_OK) {
        status = ctn_edge_lists(records->count, graph);
    }
    const ctn_edge_record_t *record = records->item;
    for (size_t i = 0; status == CATENA_OK && i < records->count;
         i++, record++) {
        ctn_edge_t *edge = record->is_target ? &graph->target[graph->targets++]
                                             : &graph->source[graph->sources++];
        edge->rank = record->peer;
        edge->label = record->label;
        edge->weight = record->weight;
    }
    ctn_vector_drop(records);
    return status;
}

void ctn_neighborhood_release(catena_neighborhood_t *neighborhood)
{
    ctn_neighbor_forget(neighborhood);
    ctn_schedules_free(neighborhood);
    free(neighborhood->source);
    free(neighborhood->target);
    free(neighborhood->out);
    free(neighborhood->in);
    ctn_failure_free(neighborhood->exec, neighborhood->sequence.failure,
                     neighborhood->memory);
    ctn_refcount_drop(neighborhood->users);
    free(neighborhood->grid);
    CTN_MARK_SET(neighborhood, CTN_FREED);
    ctn_handle_free(neighborhood);
}

/* Its address is the key of the attachment to the group. */
static const char neighborhood_key;

/** For ctn_attachment_t: frees the neighborhood with its group. */
static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    ctn_neighborhood_release(
        (void *)((unsigned char *)attachment -
                 offsetof(catena_neighborhood_t, attachment)));
}

/** For ctn_attachment_t: no operation and no persistent request uses the
 * neighborhood. */
static bool quiet(const ctn_attachment_t *attachment)
{
    const catena_neighborhood_t *neighborhood =
        (const void *)((const unsigned char *)attachment -
                       offsetof(catena_neighborhood_t, attachment));
    return ctn_sequence_under_way(&neighborhood->sequence) == 0 &&
           neighborhood->users->count == 0;
}

/** Creates a neighborhood without graph facts, links and schedules. NULL: no
 * memory; then lists and grid are still the caller's. */
static catena_neighborhood_t *allocate(catena_group_t *group,
                                       const ctn_graph_t *graph,
                                       const catena_neighborhood_info_t *info)
{
    catena_neighborhood_t *made = ctn_lines_alloc(sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    CTN_MARK_SET(made, CTN_NEIGHBORHOOD);
    made->attachment.key = &neighborhood_key;
    made->attachment.release = release;
    made->attachment.quiet = quiet;
    made->users = calloc(1, sizeof(*made->users));
    made->group = group;
    made->exec = group->exec;
    made->operations = info->operations;
    made->sources = graph->sources;
    made->targets = graph->targets;
    made->check = group->exec->check;
    made->requested = -1;
    made->bytes = info->bytes;
    ctn_sequence_set(&made->sequence, NULL, CTN_LINK_GENERATIONS,
                     CTN_LINK_FLIGHT);
    made->sequence.without_generations = true;
    made->sequence.brittle = true;
    made->sequence.failure = group->sequence.failure;
    if (made->users == NULL) {
        ctn_neighborhood_release(made);
        return NULL;
    }
    made->source = graph->source;
    made->target = graph->target;
    made->grid = graph->grid;
    return made;
}

/* ---- steps ---- */

/** Numbers the links: edges to other ranks have one, in the order of the list.
 */
static void number_links(ctn_edge_t *edge, uint32_t count, uint32_t own)
{
    uint32_t links = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool linked =
            edge[i].rank != CATENA_PROC_NULL && (uint32_t)edge[i].rank != own;
        edge[i].link = linked ? links++ : CTN_NO_LINK;
    }
}

/** Matches the edges and finds the facts about the graph. */
static catena_status_t find_facts(catena_neighborhood_t *neighborhood)
{
    ctn_nodes_t nodes;
    catena_status_t status = ctn_neighbor_nodes(neighborhood->group, &nodes);
    if (status == CATENA_OK) {
        neighborhood->node = nodes.own;
        status = ctn_neighbor_match(neighborhood, nodes.own);
        status = ctn_neighbor_graph_facts(neighborhood, &nodes, status);
    }
    return status;
}

/** All steps after the agreement on arguments. */
static catena_status_t build(catena_neighborhood_t *neighborhood, bool reorder)
{
    catena_status_t status = find_facts(neighborhood);
    uint64_t before = neighborhood->graph_facts.weight_between;
    if (status == CATENA_OK && reorder) {
        status = ctn_neighbor_reorder(neighborhood);
        status = status == CATENA_OK ? find_facts(neighborhood) : status;
    }
    if (status != CATENA_OK) {
        return status;
    }
    neighborhood->graph_facts.weight_before = before;
    uint32_t own = neighborhood->group->chain.place.rank;
    number_links(neighborhood->source, neighborhood->sources, own);
    number_links(neighborhood->target, neighborhood->targets, own);
    status = ctn_neighbor_connect(neighborhood);
    return status == CATENA_OK ? ctn_schedules_make(neighborhood) : status;
}

/** The algorithm that the info or the settings of this rank ask for; -1: auto.
 * @param[in,out] failed set to ERR_ARG if the name is unknown */
static int find_requested(const catena_group_t *group,
                          const catena_neighborhood_info_t *info,
                          catena_status_t *failed)
{
    int requested =
        info->algorithm != NULL
            ? ctn_neighbor_algorithm_by_name("neighborhood", group->exec->log,
                                             info->algorithm)
            : (int)ctn_neighbor_config(group->exec->config)->algorithm - 1;
    if (requested < -1) {
        *failed = CATENA_ERR_ARG;
        return -1;
    }
    return requested;
}

static const ctn_sized_t info_struct =
    CTN_SIZED(catena_neighborhood_info_t, bytes);

static catena_status_t check_operations(const char *function,
                                        const catena_group_t *group,
                                        unsigned operations)
{
    if ((operations & ~(unsigned)CATENA_NEIGHBOR_ALL) != 0) {
        return ctn_refuse(group->exec->log, CATENA_ERR_ARG, function,
                          "operations are 0x%x; expected CATENA_NEIGHBOR_..., "
                          "or 0 for all",
                          operations);
    }
    return CATENA_OK;
}

/** Reads what the caller passes as info; NULL: no hints.
 * @param[in,out] failed set to an error if the info is invalid */
static catena_neighborhood_info_t
read_info(const char *function, const catena_group_t *group,
          const catena_neighborhood_info_t *given, catena_status_t *failed)
{
    catena_neighborhood_info_t own = {.size = sizeof(own)};
    if (given != NULL) {
        catena_status_t status = ctn_sized_read(function, group->exec->log,
                                                &info_struct, given, &own);
        if (status == CATENA_OK) {
            status = check_operations(function, group, own.operations);
        }
        *failed = status != CATENA_OK ? status : *failed;
    }
    own.operations =
        own.operations != 0 ? own.operations : (unsigned)CATENA_NEIGHBOR_ALL;
    return own;
}

catena_status_t ctn_neighborhood_make(const char *function,
                                      catena_group_t *group, ctn_graph_t *graph,
                                      const catena_neighborhood_info_t *given,
                                      int reorder, catena_status_t failed,
                                      catena_neighborhood_t **out)
{
    bool weighted = false;
    catena_neighborhood_info_t info =
        read_info(function, group, given, &failed);
    if (failed == CATENA_OK && info.weights != CATENA_UNWEIGHTED) {
        failed =
            ctn_grid_weigh(function, group->exec->log, info.weights, graph);
    }
    info.reorder = reorder < 0 ? info.reorder : reorder;
    int requested = find_requested(group, &info, &failed);
    catena_neighborhood_t *made = allocate(group, graph, &info);
    if (made == NULL && failed == CATENA_OK) {
        failed = CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status =
        agree_on_arguments(group, graph, &info, requested, failed, &weighted);
    if (status == CATENA_OK) {
        made->requested = requested;
        made->graph_facts.weighted = weighted;
        status = build(made, info.reorder != 0);
    }
    if (made != NULL) {
        ctn_group_attach(made->group, &made->attachment);
    } else {
        free(graph->source);
        free(graph->target);
        free(graph->grid);
    }
    if (status == CATENA_OK) {
        *out = made;
    } else {
        (void)ctn_group_free(made != NULL ? made->group : group, "neighborhood",
                             true);
    }
    return status;
}
