/* Neighborhoods of catena-bench: one is created for each variant, because the
 * algorithm belongs to the neighborhood; and their metrics. */

#include "collectives/neighbors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* The measured collective. */
static const struct bench_collective *
collective_of(const struct bench_call *call)
{
    return bench_find(call->bench->options->name);
}

/* ---- options ---- */

const char *bench_neighbors_check(const struct bench_options *options,
                                  const char **found)
{
    static const char *const known[] = {"auto", "direct", "colored",
                                        "combining", "aggregated"};
    size_t count = sizeof(known) / sizeof(known[0]);

    for (size_t i = 0; i < options->algorithm_count; i++) {
        size_t k = 0;

        *found = options->algorithms[i];
        while (k < count && strcmp(known[k], *found) != 0)
            k++;
        if (k == count)
            return "-a: expected auto, direct, colored, combining or "
                   "aggregated";
    }
    return NULL;
}

/* Whether every rank has as many sources as targets. */
static bool balanced(const struct bench_graph *graph)
{
    for (int rank = 0; rank < graph->vertices; rank++)
        if (bench_graph_degree(graph, rank, true) !=
            bench_graph_degree(graph, rank, false))
            return false;
    return true;
}

const char *bench_neighbors_refuse(const struct bench *bench)
{
    const struct bench_options *options = bench->options;
    struct bench_graph graph = options->neighbors.graph;
    const char *refused = bench_graph_fit(&graph, bench->place.ranks);

    if (refused == NULL && options->in_place &&
        strcmp(options->name, bench_neighbor_alltoall.name) == 0 &&
        !balanced(&graph))
        refused = "--in-place: expected as many sources as targets at every "
                  "rank";
    return refused;
}

/* ---- creation ---- */

static void open_ends(struct bench *bench, const struct bench_graph *graph,
                      int rank, bool targets, struct bench_ends *ends)
{
    size_t n = (size_t)bench_graph_degree(graph, rank, targets);
    struct bench_end *list = bench_alloc(bench, n, sizeof(*list));

    ends->number = (int)n;
    ends->ranks = bench_alloc(bench, n, sizeof(int));
    ends->labels = bench_alloc(bench, n, sizeof(int));
    ends->weights = bench_alloc(bench, n, sizeof(int));
    bench_graph_ends(graph, rank, targets, list);
    for (size_t i = 0; i < n; i++) {
        ends->ranks[i] = list[i].rank;
        ends->labels[i] = list[i].label;
        ends->weights[i] = list[i].weight;
    }
    free(list);
}

static void close_ends(struct bench_ends *ends)
{
    free(ends->ranks);
    free(ends->labels);
    free(ends->weights);
}

/* Remove ends whose other rank is CATENA_PROC_NULL. */
static void drop_null(struct bench_ends *ends)
{
    int left = 0;

    for (int i = 0; i < ends->number; i++) {
        if (ends->ranks[i] == CATENA_PROC_NULL)
            continue;
        ends->ranks[left] = ends->ranks[i];
        ends->labels[left] = ends->labels[i];
        ends->weights[left++] = ends->weights[i];
    }
    ends->number = left;
}

/* Create a grid. */
static catena_status_t make_cart(const struct bench_call *call,
                                 const struct bench_graph *graph,
                                 catena_group_t *group,
                                 const catena_neighborhood_info_t *info,
                                 catena_neighborhood_t **out)
{
    catena_neighborhood_info_t weighted = {.size = sizeof(weighted)};
    struct bench_ends targets;
    int periods[BENCH_MOST_DIMS];
    catena_status_t status;

    for (int d = 0; d < graph->ndims; d++)
        periods[d] = graph->periodic;
    if (info == NULL || graph->weights == BENCH_UNIFORM)
        return catena_cart_create(group, graph->ndims, graph->dims, periods,
                                  info != NULL && info->reorder, info, out);
    weighted = *info;
    open_ends(call->bench, graph, catena_group_rank(group), true, &targets);
    weighted.weights = targets.weights;
    status = catena_cart_create(group, graph->ndims, graph->dims, periods,
                                info->reorder, &weighted, out);
    close_ends(&targets);
    return status;
}

/* Create the graph of a stencil on a grid. */
static catena_status_t make_stencil(const struct bench_call *call,
                                    const struct bench_graph *graph,
                                    catena_group_t *group,
                                    const catena_neighborhood_info_t *info,
                                    catena_neighborhood_t **out)
{
    int *vectors, count;
    catena_neighborhood_t *cart;
    catena_status_t status = make_cart(call, graph, group, NULL, &cart);

    if (status != CATENA_OK)
        return status;
    vectors =
        bench_alloc(call->bench, (size_t)bench_graph_degree(graph, 0, true),
                    sizeof(int) * (size_t)graph->ndims);
    count = bench_graph_vectors(graph, vectors);
    status = catena_cart_derive_graph(cart, count, vectors, CATENA_UNWEIGHTED,
                                      info->reorder, info, out);
    free(vectors);
    if (catena_neighborhood_free(&cart) != CATENA_OK)
        bench_die(call->bench, "freeing a grid", CATENA_ERR_STATE);
    return status;
}

/* Create a neighborhood from lists of this rank's sources and targets. */
static catena_status_t make_from_lists(const struct bench_call *call,
                                       const struct bench_graph *graph,
                                       catena_group_t *group,
                                       const catena_neighborhood_info_t *info,
                                       catena_neighborhood_t **out)
{
    bool weighted = graph->weights != BENCH_UNIFORM;
    struct bench_ends sources, targets;
    catena_status_t status;
    int rank = catena_group_rank(group);

    open_ends(call->bench, graph, rank, false, &sources);
    open_ends(call->bench, graph, rank, true, &targets);
    status = catena_neighborhood_create(
        group, sources.number, sources.ranks,
        weighted ? sources.weights : CATENA_UNWEIGHTED, targets.number,
        targets.ranks, weighted ? targets.weights : CATENA_UNWEIGHTED, info,
        out);
    close_ends(&sources);
    close_ends(&targets);
    return status;
}

/* The constructor for a graph. A stencil with weights is created from lists,
 * because those of catena_cart_derive_graph are the same on all ranks. */
static catena_status_t create(const struct bench_call *call,
                              const struct bench_graph *graph,
                              catena_group_t *group,
                              const catena_neighborhood_info_t *info,
                              catena_neighborhood_t **out)
{
    if (graph->shape == BENCH_CART)
        return make_cart(call, graph, group, info, out);
    if (graph->shape == BENCH_STENCIL && graph->weights == BENCH_UNIFORM)
        return make_stencil(call, graph, group, info, out);
    return make_from_lists(call, graph, group, info, out);
}

/* Create the neighborhood, on shuffled ranks if requested. */
static catena_status_t make(const struct bench_call *call,
                            const struct bench_graph *graph,
                            catena_neighborhood_t **out)
{
    const struct bench_neighbor_options *options =
        &call->bench->options->neighbors;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = call->algorithm,
                                       .reorder = options->reorder,
                                       .operations =
                                           collective_of(call)->neighbors};
    catena_group_t *group = call->bench->world;
    catena_status_t status = CATENA_OK;

    if (options->shuffle)
        status = catena_group_split(group, 0,
                                    (int)bench_permute((uint64_t)call->rank,
                                                       (uint64_t)call->size,
                                                       options->shuffle_seed),
                                    &group);
    if (status != CATENA_OK)
        return status;
    status = create(call, graph, group, &info, out);
    if (options->shuffle && catena_group_free(&group) != CATENA_OK)
        bench_die(call->bench, "freeing a group", CATENA_ERR_STATE);
    return status;
}

static bool same_ranks(const struct bench_ends *ends, int number,
                       const int *ranks)
{
    return ends->number == number &&
           memcmp(ends->ranks, ranks, (size_t)number * sizeof(int)) == 0;
}

/* Whether the library's lists of neighbors are those of the benchmark, by which
 * blocks are laid out and checked. */
static bool same_lists(const struct bench_call *call)
{
    const struct bench_neighbors *state = bench_neighbors(call);
    int sources = 0, targets = 0;
    int *source, *target;
    bool same;

    if (catena_neighborhood_counts(state->neighborhood, &sources, &targets) !=
        CATENA_OK)
        return false;
    source = bench_alloc(call->bench, (size_t)sources, sizeof(int));
    target = bench_alloc(call->bench, (size_t)targets, sizeof(int));
    same = catena_neighborhood_neighbors(state->neighborhood, sources, source,
                                         NULL, targets, target,
                                         NULL) == CATENA_OK &&
           same_ranks(&state->sources, sources, source) &&
           same_ranks(&state->targets, targets, target);
    free(source);
    free(target);
    return same;
}

catena_status_t bench_neighbors_prepare(struct bench_call *call)
{
    struct bench *bench = call->bench;
    struct bench_neighbors *state = bench_alloc(bench, 1, sizeof(*state));
    catena_status_t status;

    call->state = state;
    state->graph = bench->options->neighbors.graph;
    /* The graph fits: bench_neighbors_refuse has tested it. */
    (void)bench_graph_fit(&state->graph, call->size);
    status = make(call, &state->graph, &state->neighborhood);
    if (status != CATENA_OK)
        return status;
    /* With --reorder or --shuffle a rank has another number than in the world.
     */
    call->rank =
        catena_group_rank(catena_neighborhood_group(state->neighborhood));
    open_ends(bench, &state->graph, call->rank, true, &state->targets);
    open_ends(bench, &state->graph, call->rank, false, &state->sources);
    open_ends(bench, &state->graph, call->rank, false, &state->present);
    drop_null(&state->present);
    if (!same_lists(call))
        bench_die(bench, "neighbor lists that differ from the requested ones",
                  CATENA_ERR_STATE);
    return CATENA_OK;
}

void bench_neighbors_release(struct bench_call *call)
{
    struct bench_neighbors *state = call->state;
    catena_status_t status = catena_neighborhood_free(&state->neighborhood);

    if (status != CATENA_OK)
        bench_die(call->bench, "freeing a neighborhood", status);
    close_ends(&state->targets);
    close_ends(&state->sources);
    close_ends(&state->present);
    free(state);
    call->state = NULL;
}

/* ---- metrics ---- */

/* The library's statistics of the neighborhood. */
static catena_neighborhood_stats_t stats_of(const struct bench_call *call)
{
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    catena_status_t status = catena_neighborhood_get_stats(
        bench_neighbors(call)->neighborhood, &stats);

    if (status != CATENA_OK)
        bench_die(call->bench, "numbers of a neighborhood", status);
    return stats;
}

void bench_neighbors_describe(const struct bench_call *call,
                              struct bench_report *report)
{
    const struct bench_neighbor_options *options =
        &call->bench->options->neighbors;
    catena_neighborhood_stats_t stats = stats_of(call);
    char text[256];

    bench_graph_describe(&bench_neighbors(call)->graph, text, sizeof(text));
    bench_report_note(report, "neighborhood: %s%s%s", text,
                      options->shuffle ? "; ranks shuffled" : "",
                      options->reorder ? "; reordered by catena" : "");
    bench_report_note(report,
                      "weight of edges between nodes: %llu of %llu; before "
                      "reordering: %llu",
                      (unsigned long long)stats.weight_between,
                      (unsigned long long)stats.weight_all,
                      (unsigned long long)stats.weight_before);
    bench_report_note(report,
                      "Sent: most messages that a rank sends; Rounds: of "
                      "messages; Heavy: rounds with the heaviest edges; "
                      "Between(B), Before(B): Size x weight of edges between "
                      "nodes");
}

catena_status_t bench_neighbors_explain(const struct bench_call *call,
                                        char *text, size_t bytes)
{
    const struct bench_collective *collective = collective_of(call);

    return catena_neighborhood_estimate(bench_neighbors(call)->neighborhood,
                                        collective->name, call->bytes, text,
                                        bytes);
}

const struct bench_metric bench_neighbor_metrics[] = {
    {"rank_messages", "Sent"},
    {"rounds", "Rounds"},
    {"heavy_rounds", "Heavy"},
    {"between_bytes", "Between(B)"},
    {"before_bytes", "Before(B)"},
    {"edge_bytes", NULL},
    {NULL, NULL},
};

catena_status_t bench_neighbors_finish(struct bench_call *call,
                                       uint64_t *metrics)
{
    catena_neighborhood_stats_t stats = stats_of(call);

    metrics[0] = stats.messages;
    metrics[1] = stats.rounds;
    metrics[2] = stats.heavy_rounds;
    metrics[3] = stats.weight_between * call->bytes;
    metrics[4] = stats.weight_before * call->bytes;
    metrics[5] = stats.weight_all * call->bytes;
    return CATENA_OK;
}
