/* Neighborhoods: the public functions that create, query and free them. */

#include <stdlib.h>
#include <string.h>

#include "core/entry.h"
#include "neighbor/create/create.h"
#include "split/call/call.h"

/* ---- arguments ---- */

/** A list of neighbors, as the caller gave it. */
typedef struct list {
    const char *what; /* "source" */
    int count;
    const int *rank;
    const int *weight;
} list_t;

static catena_status_t check_edge(const catena_group_t *group,
                                  const list_t *list, int i)
{
    int size = (int)group->chain.place.size;
    int rank = list->rank[i];
    if (rank != CATENA_PROC_NULL && (rank < 0 || rank >= size)) {
        return ctn_refuse(group->exec->log, CATENA_ERR_ARG,
                          "catena_neighborhood_create",
                          "%s %d is rank %d; the group has ranks 0 to %d; "
                          "CATENA_PROC_NULL is allowed",
                          list->what, i, rank, size - 1);
    }
    if (list->weight != CATENA_UNWEIGHTED && list->weight[i] < 0) {
        return ctn_refuse(group->exec->log, CATENA_ERR_ARG,
                          "catena_neighborhood_create",
                          "the weight of %s %d is %d; expected 0 or more",
                          list->what, i, list->weight[i]);
    }
    return CATENA_OK;
}

/** The edges of a list. NULL: invalid list or no memory; *status says which. */
static ctn_edge_t *read_list(const catena_group_t *group, const list_t *list,
                             catena_status_t *status)
{
    if (list->count < 0 || (list->rank == NULL && list->count > 0)) {
        *status = ctn_refuse(group->exec->log, CATENA_ERR_ARG,
                             "catena_neighborhood_create",
                             "%ss is %s and %s_count is %d; expected 0 or "
                             "more, and as many ranks",
                             list->what, list->rank == NULL ? "NULL" : "a list",
                             list->what, list->count);
        return NULL;
    }
    ctn_edge_t *edge = calloc((size_t)list->count + 1, sizeof(*edge));
    if (edge == NULL) {
        *status = CATENA_ERR_NO_MEMORY;
        return NULL;
    }
    for (int i = 0; i < list->count; i++) {
        catena_status_t found = check_edge(group, list, i);
        if (found != CATENA_OK) {
            *status = found;
            free(edge);
            return NULL;
        }
        edge[i].rank = list->rank[i];
        edge[i].weight = list->weight != NULL ? list->weight[i] : 1;
    }
    return edge;
}

/** Checks that both lists of a rank have weights, or neither has. An empty list
 * may differ. */
static catena_status_t check_weights(const catena_group_t *group,
                                     const list_t *sources,
                                     const list_t *targets)
{
    if (sources->count > 0 && targets->count > 0 &&
        (sources->weight == NULL) != (targets->weight == NULL)) {
        return ctn_refuse(
            group->exec->log, CATENA_ERR_ARG, "catena_neighborhood_create",
            "%ss have weights and %ss have none",
            sources->weight != NULL ? sources->what : targets->what,
            sources->weight != NULL ? targets->what : sources->what);
    }
    return CATENA_OK;
}

/** Makes a neighborhood from the caller's lists. A rank with invalid arguments
 * still takes part, so the others do not deadlock. */
static catena_status_t make_from_lists(catena_group_t *group,
                                       const list_t *sources,
                                       const list_t *targets,
                                       const catena_neighborhood_info_t *info,
                                       catena_neighborhood_t **out)
{
    catena_group_t *own;
    catena_status_t status =
        ctn_group_dup_for(CTN_CODE_NEIGHBORHOOD_CREATE,
                          "catena_neighborhood_create", group, &own);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_graph_t graph = {0};
    catena_status_t failed =
        out != NULL ? CATENA_OK
                    : ctn_refuse_null(group->exec->log,
                                      "catena_neighborhood_create", "out");
    graph.source = read_list(group, sources, &failed);
    graph.target = read_list(group, targets, &failed);
    if (failed == CATENA_OK) {
        failed = check_weights(group, sources, targets);
    }
    if (failed == CATENA_OK) {
        graph.sources = (uint32_t)sources->count;
        graph.targets = (uint32_t)targets->count;
        graph.weighted = sources->count > 0
                             ? sources->weight != NULL
                             : targets->count > 0 && targets->weight != NULL;
    }
    status = ctn_neighborhood_make("catena_neighborhood_create", own, &graph,
                                   info, -1, failed, out);
    ctn_call_ends(group, CTN_CODE_NEIGHBORHOOD_CREATE);
    return status;
}

/* ---- public ---- */

catena_status_t catena_neighborhood_create(
    catena_group_t *group, int source_count, const int sources[],
    const int source_weights[], int target_count, const int targets[],
    const int target_weights[], const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    list_t source = {"source", source_count, sources, source_weights};
    list_t target = {"target", target_count, targets, target_weights};
    return make_from_lists(group, &source, &target, info, out);
}

/** Frees the group of the neighborhood, and the neighborhood at the end of the
 * group's teardown: then all puts to its links have landed, also those that no
 * operation waits for. */
catena_status_t catena_neighborhood_free(catena_neighborhood_t **handle)
{
    CTN_ENTRY;
    if (handle == NULL) {
        return ctn_refuse_null(NULL, __func__, "neighborhood");
    }
    catena_neighborhood_t *neighborhood = *handle;
    if (neighborhood == NULL) {
        return CATENA_OK;
    }
    if (!CTN_MARK_IS(neighborhood, CTN_NEIGHBORHOOD)) {
        return ctn_refuse_handle(__func__, "neighborhood", neighborhood);
    }
    const ctn_sequence_t *sequence = &neighborhood->sequence;
    uint64_t under_way = ctn_sequence_under_way(sequence) - sequence->detached;
    if (under_way > 0) {
        return ctn_group_refuse_busy(neighborhood->group, under_way,
                                     "neighborhood", __func__);
    }
    CTN_MARK_SET(neighborhood, CTN_FREED); /* before: see catena_group_free */
    catena_status_t status =
        ctn_group_free(neighborhood->group, __func__, true);
    if (status == CATENA_ERR_STATE) {
        CTN_MARK_SET(neighborhood, CTN_NEIGHBORHOOD);
    } else {
        *handle = NULL;
    }
    return status;
}

catena_group_t *
catena_neighborhood_group(const catena_neighborhood_t *neighborhood)
{
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)) {
        (void)CTN_REFUSE_NULL(NULL, neighborhood);
        return NULL;
    }
    return neighborhood->group;
}

catena_status_t
catena_neighborhood_counts(const catena_neighborhood_t *neighborhood,
                           int *source_count, int *target_count)
{
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD) || source_count == NULL ||
        target_count == NULL) {
        return CTN_REFUSE_NULL(ctn_neighborhood_log(neighborhood), neighborhood,
                               source_count, target_count);
    }
    *source_count = (int)neighborhood->sources;
    *target_count = (int)neighborhood->targets;
    return CATENA_OK;
}

/** Copies the first `most` edges to the caller's arrays; weight may be NULL. */
static void copy_list(const ctn_edge_t *edge, uint32_t count, int most,
                      int *rank, int *weight)
{
    for (uint32_t i = 0; i < count && (int)i < most; i++) {
        rank[i] = edge[i].rank;
        if (weight != NULL) {
            weight[i] = edge[i].weight;
        }
    }
}

catena_status_t catena_neighborhood_neighbors(
    const catena_neighborhood_t *neighborhood, int most_sources, int sources[],
    int source_weights[], int most_targets, int targets[], int target_weights[])
{
    if (CTN_UNUSABLE(neighborhood, CTN_NEIGHBORHOOD)) {
        return CTN_REFUSE_NULL(NULL, neighborhood);
    }
    if (most_sources < 0 || most_targets < 0 ||
        (most_sources > 0 && sources == NULL) ||
        (most_targets > 0 && targets == NULL)) {
        return ctn_refuse(
            neighborhood->exec->log, CATENA_ERR_ARG, __func__,
            "found %s[%d] and %s[%d]; expected lengths of 0 or "
            "more, and arrays unless they are 0",
            sources != NULL ? "sources" : "sources NULL", most_sources,
            targets != NULL ? "targets" : "targets NULL", most_targets);
    }
    copy_list(neighborhood->source, neighborhood->sources, most_sources,
              sources, source_weights);
    copy_list(neighborhood->target, neighborhood->targets, most_targets,
              targets, target_weights);
    return CATENA_OK;
}
