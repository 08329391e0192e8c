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

void graph_draw(graph_t *graph, uint32_t ranks, bool balanced, uint64_t *random)
{
    graph->ranks = ranks;
    graph->targets = calloc(ranks, sizeof(*graph->targets));
    graph->sources = calloc(ranks, sizeof(*graph->sources));
    draw_edges(graph, random);
    pad(graph, balanced, random);
    match(graph->targets, graph->sources, ranks);
    match(graph->sources, graph->targets, ranks);
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
}

catena_neighborhood_t *graph_make(const graph_t *graph, job_t *job,
                                  const catena_neighborhood_info_t *info)
{
    const list_t *sources = &graph->sources[job->rank];
    const list_t *targets = &graph->targets[job->rank];
    catena_neighborhood_t *made = NULL;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, sources->count, sources->rank,
                       CATENA_UNWEIGHTED, targets->count, targets->rank,
                       CATENA_UNWEIGHTED, info, &made) == CATENA_OK);
    return made;
}
