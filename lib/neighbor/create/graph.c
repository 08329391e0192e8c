/* NBR-5. catena_dist_graph_create: any rank may contribute any edges of the
 * graph. One sparse exchange sends each edge to both of its ends. Each end
 * lists its edges by the rank that contributed them, then as that rank listed
 * them, so both ends find the same order of parallel edges. Memory: O(edges
 * contributed and edges at this rank). */

#include <limits.h>
#include <stdlib.h>

#include "core/entry.h"
#include "neighbor/create/create.h"
#include "split/call/call.h"

/** What a rank contributes: degrees[i] edges from rank nodes[i] to the next
 * ranks of `targets`. */
typedef struct contribution {
    int count;        /* of nodes and degrees */
    const int *nodes; /* ranks of the group, as in MPI_Dist_graph_create */
    const int *degrees;
    const int *targets;
    const int *weights; /* or CATENA_UNWEIGHTED */
    size_t edges;       /* sum of the degrees; set by check_nodes */
} contribution_t;

/* ---- arguments ---- */

static bool is_rank(const catena_group_t *group, int rank)
{
    return rank >= 0 && rank < catena_group_size(group);
}

static catena_status_t check_nodes(const catena_group_t *group,
                                   contribution_t *contribution)
{
    const ctn_log_t *log = group->exec->log;
    if (contribution->count < 0 ||
        (contribution->count > 0 &&
         (contribution->nodes == NULL || contribution->degrees == NULL))) {
        return ctn_refuse(
            log, CATENA_ERR_ARG, "catena_dist_graph_create",
            "count is %d, and %s; expected 0 or more, and as many sources and "
            "degrees",
            contribution->count,
            contribution->nodes == NULL     ? "sources is NULL"
            : contribution->degrees == NULL ? "degrees is NULL"
                                            : "there are lists");
    }
    contribution->edges = 0;
    for (int i = 0; i < contribution->count; i++) {
        if (!is_rank(group, contribution->nodes[i]) ||
            contribution->degrees[i] < 0) {
            return ctn_refuse(log, CATENA_ERR_ARG, "catena_dist_graph_create",
                              "source %d is rank %d and has %d edges; the "
                              "group has ranks 0 to %d",
                              i, contribution->nodes[i],
                              contribution->degrees[i],
                              catena_group_size(group) - 1);
        }
        contribution->edges += (size_t)contribution->degrees[i];
    }
    return CATENA_OK;
}

static catena_status_t check_targets(const catena_group_t *group,
                                     const contribution_t *contribution)
{
    const ctn_log_t *log = group->exec->log;
    if (contribution->edges > INT_MAX ||
        (contribution->edges > 0 && contribution->targets == NULL)) {
        return ctn_refuse(
            log, CATENA_ERR_ARG, "catena_dist_graph_create",
            "%zu edges%s; expected a target for each, and at most %d",
            contribution->edges,
            contribution->targets == NULL ? ", but targets is NULL" : "",
            INT_MAX);
    }
    for (size_t i = 0; i < contribution->edges; i++) {
        if (!is_rank(group, contribution->targets[i])) {
            return ctn_refuse(
                log, CATENA_ERR_ARG, "catena_dist_graph_create",
                "target %zu is rank %d; the group has ranks 0 to %d", i,
                contribution->targets[i], catena_group_size(group) - 1);
        }
        if (contribution->weights != CATENA_UNWEIGHTED &&
            contribution->weights[i] < 0) {
            return ctn_refuse(
                log, CATENA_ERR_ARG, "catena_dist_graph_create",
                "the weight of edge %zu is %d; expected 0 or more", i,
                contribution->weights[i]);
        }
    }
    return CATENA_OK;
}

/* ---- exchange ---- */

/** Sets the records for both ends of each contributed edge. */
static void list_ends(const contribution_t *contribution, ctn_edge_record_t *at)
{
    size_t edge = 0;
    for (int i = 0; i < contribution->count; i++) {
        int from = contribution->nodes[i];
        for (int k = 0; k < contribution->degrees[i]; k++, edge++) {
            int to = contribution->targets[edge];
            int weight =
                contribution->weights != NULL ? contribution->weights[edge] : 1;
            *at++ = (ctn_edge_record_t){.to = (uint32_t)from,
                                        .is_target = true,
                                        .peer = to,
                                        .weight = weight};
            *at++ = (ctn_edge_record_t){
                .to = (uint32_t)to, .peer = from, .weight = weight};
        }
    }
}

/** Sends contributed edges to their ends. @return this rank's status */
static catena_status_t exchange(catena_group_t *group,
                                const contribution_t *contribution,
                                ctn_graph_t *graph)
{
    ctn_vector_t ends = {0};
    size_t count = 2 * contribution->edges;
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (ctn_vector_reserve(&ends, count + 1, sizeof(ctn_edge_record_t))) {
        list_ends(contribution, ends.item);
        ends.count = count;
        status = CATENA_OK;
    }
    return ctn_edges_exchange(group, status, &ends, graph);
}

catena_status_t catena_dist_graph_create(catena_group_t *group, int count,
                                         const int nodes[], const int degrees[],
                                         const int targets[],
                                         const int weights[],
                                         const catena_neighborhood_info_t *info,
                                         catena_neighborhood_t **out)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    catena_group_t *own;
    catena_status_t status =
        ctn_group_dup_for(CTN_CODE_DIST_GRAPH_CREATE, __func__, group, &own);
    if (status != CATENA_OK) {
        return status;
    }
    contribution_t contribution = {count, nodes, degrees, targets, weights, 0};
    ctn_graph_t graph = {0};
    catena_status_t failed = out != NULL
                                 ? check_nodes(group, &contribution)
                                 : CTN_REFUSE_NULL(group->exec->log, out);
    if (failed == CATENA_OK) {
        failed = check_targets(group, &contribution);
    }
    status = ctn_neighbor_agree_weights(
        own, failed, failed == CATENA_OK && contribution.edges > 0,
        weights != NULL, &graph.weighted);
    if (status != CATENA_OK) {
        (void)catena_group_free(&own);
    } else {
        failed = exchange(own, &contribution, &graph);
        status =
            ctn_neighborhood_make(__func__, own, &graph, info, -1, failed, out);
    }
    ctn_call_ends(group, CTN_CODE_DIST_GRAPH_CREATE);
    return status;
}
