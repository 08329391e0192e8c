#include "graph.h"

#include <stdlib.h>
#include <string.h>

static void add(graph_t *graph, int from, int to, uint64_t *random)
{
    graph->edge =
        realloc(graph->edge, ((size_t)graph->count + 1) * sizeof(*graph->edge));
    graph->edge[graph->count++] = (graph_edge_t){
        .from = from,
        .to = to,
        .from_weight = (int)(job_random(random) % 10),
        .to_weight = (int)(job_random(random) % 10),
    };
}

static void add_any(graph_t *graph, int count, uint64_t *random)
{
    unsigned size = (unsigned)graph->size;
    for (int i = 0; i < count; i++) {
        int from = (int)(job_random(random) % size);
        add(graph, from, (int)(job_random(random) % size), random);
    }
}

static void add_of_rank(graph_t *graph, enum graph_shape shape, int rank,
                        uint64_t *random)
{
    int size = graph->size;
    int next = (rank + 1) % size;
    switch (shape) {
    case GRAPH_SELF:
        for (int i = 0; i < rank % 3; i++) {
            add(graph, rank, rank, random);
        }
        break;
    case GRAPH_DOUBLE:
        add(graph, rank, next, random);
        add(graph, rank, next, random);
        break;
    case GRAPH_RING:
        add(graph, rank, next, random);
        break;
    case GRAPH_FAN_IN:
        add(graph, rank, size / 2, random);
        break;
    case GRAPH_FAN_OUT:
        add(graph, size / 2, rank, random);
        break;
    case GRAPH_COMPLETE:
        for (int to = 0; to < size; to++) {
            add(graph, rank, to, random);
        }
        break;
    case GRAPH_PAIRS:
        if (rank + size / 2 < size && rank < size / 2) {
            add(graph, rank + size / 2, rank, random);
        }
        break;
    default:
        break;
    }
}

graph_t graph_make(enum graph_shape shape, int size, uint64_t seed)
{
    uint64_t random = seed * 31 + (uint64_t)shape;
    graph_t graph = {.size = size, .nulls = job_random(&random) % 3 == 0};
    for (int rank = 0; rank < size; rank++) {
        add_of_rank(&graph, shape, rank, &random);
    }
    if (shape == GRAPH_SPARSE) {
        add_any(&graph, size + (int)(job_random(&random) % (unsigned)size),
                &random);
    } else if (shape == GRAPH_DENSE) {
        add_any(&graph, size * (size < 8 ? size * 2 : 12), &random);
    }
    return graph;
}

void graph_free(graph_t *graph)
{
    free(graph->edge);
}

/* ---- lists ---- */

typedef struct entry {
    uint64_t order; /* the same for edges with the same ends */
    int number;
    int rank;
    int weight;
} entry_t;

static int by_order(const void *a, const void *b)
{
    const entry_t *x = a;
    const entry_t *y = b;
    if (x->order != y->order) {
        return x->order < y->order ? -1 : 1;
    }
    return x->number - y->number;
}

graph_list_t graph_list(const graph_t *graph, int rank, bool targets,
                        uint64_t seed)
{
    size_t most = (size_t)graph->count * 2 + 1 + GRAPH_SPARE;
    entry_t *entry = malloc(most * sizeof(*entry));
    graph_list_t list = {0, malloc(most * sizeof(int)),
                         malloc(most * sizeof(int))};
    int n = 0;
    for (int i = 0; i < graph->count; i++) {
        const graph_edge_t *edge = &graph->edge[i];
        if ((targets ? edge->from : edge->to) != rank) {
            continue;
        }
        int peer = targets ? edge->to : edge->from;
        uint64_t order = seed + ((uint64_t)rank << 40) + (uint64_t)peer;
        entry[n++] = (entry_t){job_random(&order), i, peer,
                               targets ? edge->from_weight : edge->to_weight};
    }
    qsort(entry, (size_t)n, sizeof(*entry), by_order);
    for (int i = 0; i < n; i++) {
        if (graph->nulls && entry[i].order % 4 == 0) {
            list.weight[list.count] = 1000;
            list.rank[list.count++] = CATENA_PROC_NULL;
        }
        list.weight[list.count] = entry[i].weight;
        list.rank[list.count++] = entry[i].rank;
    }
    if (graph->nulls) {
        list.weight[list.count] = 0;
        list.rank[list.count++] = CATENA_PROC_NULL;
    }
    free(entry);
    return list;
}

void graph_list_free(graph_list_t *list)
{
    free(list->rank);
    free(list->weight);
}

/* ---- neighborhoods ---- */

catena_status_t graph_create(job_t *job, const graph_t *graph, bool weighted,
                             bool reorder, catena_neighborhood_t **out)
{
    int rank = (int)job->rank;
    graph_list_t sources = graph_list(graph, rank, false, job->seed);
    graph_list_t targets = graph_list(graph, rank, true, job->seed);
    catena_neighborhood_info_t info = {.reorder = reorder};
    catena_status_t status = catena_neighborhood_create(
        job->context->world, sources.count, sources.rank,
        weighted ? sources.weight : CATENA_UNWEIGHTED, targets.count,
        targets.rank, weighted ? targets.weight : CATENA_UNWEIGHTED,
        reorder ? &info : NULL, out);
    graph_list_free(&sources);
    graph_list_free(&targets);
    return status;
}

/* ---- facts ---- */

int graph_edges(const graph_t *graph, int from, int to)
{
    int count = 0;
    for (int i = 0; i < graph->count; i++) {
        count += graph->edge[i].from == from && graph->edge[i].to == to;
    }
    return count;
}

bool graph_connected(const graph_t *graph)
{
    int *least = malloc((size_t)graph->size * sizeof(*least));
    bool changed = true;
    for (int i = 0; i < graph->size; i++) {
        least[i] = i;
    }
    while (changed) {
        changed = false;
        for (int i = 0; i < graph->count; i++) {
            int *a = &least[graph->edge[i].from];
            int *b = &least[graph->edge[i].to];
            changed = changed || *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
    int first = -1;
    bool connected = true;
    for (int i = 0; i < graph->count; i++) {
        const graph_edge_t *edge = &graph->edge[i];
        if (edge->from != edge->to) {
            first = first < 0 ? least[edge->from] : first;
            connected = connected && least[edge->from] == first;
        }
    }
    free(least);
    return connected;
}
