/* Graphs that all ranks know; see neighbor_graph.h. */

#include "neighbor_graph.h"

#include <stdlib.h>

static void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b;
    *b = kept;
}

static void add(list_t *list, int rank)
{
    list->rank =
        realloc(list->rank, (size_t)(list->count + 1) * sizeof(*list->rank));
    list->rank[list->count++] = rank;
}

static void shuffle(list_t *list, uint64_t *random)
{
    for (int i = list->count - 1; i > 0; i--) {
        swap(&list->rank[i],
             &list->rank[job_random(random) % (unsigned)(i + 1)]);
    }
}

/** Edges from each rank to any, in some graphs each with one back. */
static void draw_edges(graph_t *graph, uint64_t *random)
{
    uint64_t density = job_random(random) % 4; /* 3: a hub, else few */
    bool mutual = job_random(random) % 3 == 0;
    for (uint32_t i = 0; i < graph->ranks; i++) {
        uint64_t degree = job_random(random) % 5;
        if (density == 3 && i == 0) {
            degree = graph->ranks;
        }
        for (uint64_t k = 0; k < degree; k++) {
            uint32_t to = density == 3 && i == 0
                              ? (uint32_t)k
                              : (uint32_t)(job_random(random) % graph->ranks);
            add(&graph->targets[i], (int)to);
            add(&graph->sources[to], (int)i);
            if (mutual) {
                add(&graph->targets[to], (int)i);
                add(&graph->sources[i], (int)to);
            }
        }
    }
}

/** Nobody, now and then; where it is to be, until both lists are as long. */
static void pad(graph_t *graph, bool balanced, uint64_t *random)
{
    for (uint32_t i = 0; i < graph->ranks; i++) {
        list_t *targets = &graph->targets[i];
        list_t *sources = &graph->sources[i];
        if (job_random(random) % 4 == 0) {
            add(targets, CATENA_PROC_NULL);
        }
        if (job_random(random) % 4 == 0) {
            add(sources, CATENA_PROC_NULL);
        }
        while (balanced && targets->count != sources->count) {
            add(targets->count < sources->count ? targets : sources,
                CATENA_PROC_NULL);
        }
        shuffle(targets, random);
        shuffle(sources, random);
    }
}

/** Which of the edges to `rank` it is, or where the k-th of them is. */
static int occurrence(const list_t *list, int index)
{
    int k = 0;
    for (int i = 0; i < index; i++) {
        k += list->rank[i] == list->rank[index];
    }
    return k;
}

static int find(const list_t *list, int rank, int k)
{
    int i = 0;
    while (list->rank[i] != rank || k-- > 0) {
        i++;
    }
    return i;
}

static void match(list_t *lists, list_t *others, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        list_t *list = &lists[r];
        list->other = calloc((size_t)list->count + 1, sizeof(*list->other));
        for (int i = 0; i < list->count; i++) {
            list->other[i] =
                list->rank[i] == CATENA_PROC_NULL
                    ? -1
                    : find(&others[list->rank[i]], (int)r, occurrence(list, i));
        }
    }
}

static void start(graph_t *graph, uint32_t ranks)
{
    *graph = (graph_t){.ranks = ranks};
    graph->targets = calloc(ranks, sizeof(*graph->targets));
    graph->sources = calloc(ranks, sizeof(*graph->sources));
}

void graph_draw(graph_t *graph, uint32_t ranks, bool balanced, uint64_t *random)
{
    start(graph, ranks);
    draw_edges(graph, random);
    pad(graph, balanced, random);
    match(graph->targets, graph->sources, ranks);
    match(graph->sources, graph->targets, ranks);
}

/* ---- grids ---- */

static void draw_dims(graph_t *graph, uint64_t *random)
{
    int left = (int)graph->ranks;
    graph->ndims = 1 + (int)(job_random(random) % GRAPH_MOST_DIMS);
    for (int d = 0; d < graph->ndims; d++) {
        int size = 1 + (int)(job_random(random) % 4);
        while (left % size != 0) {
            size--;
        }
        graph->dims[d] = d + 1 < graph->ndims ? size : left;
        graph->periods[d] = job_random(random) % 3 > 0;
        left /= graph->dims[d];
    }
}

/** Who is at a rank's place plus so many times a vector, or nobody. */
static int at(const graph_t *graph, uint32_t rank, const int *vector, int times)
{
    int place[GRAPH_MOST_DIMS];
    int there = 0;
    for (int d = graph->ndims - 1; d >= 0; d--) {
        place[d] = (int)rank % graph->dims[d];
        rank /= (uint32_t)graph->dims[d];
    }
    for (int d = 0; d < graph->ndims; d++) {
        int size = graph->dims[d];
        int to = place[d] + times * vector[d];
        if (!graph->periods[d] && (to < 0 || to >= size)) {
            return CATENA_PROC_NULL;
        }
        there = there * size + (to % size + size) % size;
    }
    return there;
}

void graph_draw_grid(graph_t *graph, uint32_t ranks, uint64_t *random)
{
    start(graph, ranks);
    draw_dims(graph, random);
    int reach = job_random(random) % 4 == 0 ? 3 : 1;
    graph->ndirs = (int)(job_random(random) % 10);
    int n = graph->ndirs * graph->ndims;
    graph->displacements = calloc((size_t)n + 1, sizeof(int));
    for (int i = 0; i < n; i++) {
        graph->displacements[i] =
            (int)(job_random(random) % (unsigned)(2 * reach + 1)) - reach;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        list_t *lists[] = {&graph->targets[r], &graph->sources[r]};
        for (int s = 0; s < 2; s++) {
            lists[s]->other =
                calloc((size_t)graph->ndirs + 1, sizeof(*lists[s]->other));
            for (int i = 0; i < graph->ndirs; i++) {
                add(lists[s],
                    at(graph, r, &graph->displacements[i * graph->ndims],
                       s == 0 ? 1 : -1));
                lists[s]->other[i] = i;
            }
        }
    }
}

static catena_neighborhood_t *make_grid(const graph_t *graph, job_t *job,
                                        const catena_neighborhood_info_t *info)
{
    catena_neighborhood_t *grid = NULL;
    catena_neighborhood_t *made = NULL;
    JOB_CHECK(job,
              catena_cart_create(job->context->world, graph->ndims, graph->dims,
                                 graph->periods, 0, NULL, &grid) == CATENA_OK);
    JOB_CHECK(job, catena_cart_derive_graph(
                       grid, graph->ndirs, graph->displacements,
                       CATENA_UNWEIGHTED, 0, info, &made) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(grid) == CATENA_OK);
    return made;
}

void graph_release(graph_t *graph)
{
    for (uint32_t i = 0; i < graph->ranks; i++) {
        free(graph->targets[i].rank);
        free(graph->targets[i].other);
        free(graph->sources[i].rank);
        free(graph->sources[i].other);
    }
    free(graph->targets);
    free(graph->sources);
    free(graph->displacements);
}

catena_neighborhood_t *
graph_neighborhood(const graph_t *graph, job_t *job,
                   const catena_neighborhood_info_t *info)
{
    const list_t *sources = &graph->sources[job->rank];
    const list_t *targets = &graph->targets[job->rank];
    catena_neighborhood_t *made = NULL;
    if (graph->ndims > 0) {
        return make_grid(graph, job, info);
    }
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, sources->count, sources->rank,
                       CATENA_UNWEIGHTED, targets->count, targets->rank,
                       CATENA_UNWEIGHTED, info, &made) == CATENA_OK);
    return made;
}
