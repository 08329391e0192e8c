/* ORD-4: Pellegrini, Roman, SCOTCH: A Software Package for Static Mapping by
 * Dual Recursive Bipartitioning of Process and Architecture Graphs, HPCN 1996.
 * The target architecture is a complete graph of the machine's nodes, weighted
 * by their capacities. */

#include "map/map.h"

#include <pthread.h>
#include <stdio.h>

#include <scotch/scotch.h>

#include "core/region.h"

typedef struct mapping {
    const ctn_map_problem_t *problem;
    SCOTCH_Num *part; /* [count]: the result, if `done` */
    bool done;
    /* members of the problem in SCOTCH's types */
    SCOTCH_Num *first;
    SCOTCH_Num *to;
    SCOTCH_Num *weight;
    SCOTCH_Num *capacity;
} mapping_t;

/** Convert the problem. SCOTCH sums all weights in an integer that may have 32
 * bits. So they are scaled down if their sum is more than half of its range;
 * none becomes 0. */
static void fill_in(mapping_t *mapping)
{
    const ctn_map_problem_t *problem = mapping->problem;
    size_t edges = problem->first[problem->count];
    long double sum = 0;
    for (size_t i = 0; i < edges; i++) {
        sum += problem->weight[i];
    }
    long double scale = (INT32_MAX / 2 - (long double)edges) / (sum + 1);
    for (size_t i = 0; i < edges; i++) {
        mapping->to[i] = (SCOTCH_Num)problem->to[i];
        mapping->weight[i] =
            (SCOTCH_Num)(scale >= 1 ? problem->weight[i]
                                    : 1 + problem->weight[i] * scale);
    }
    for (uint32_t v = 0; v <= problem->count; v++) {
        mapping->first[v] = (SCOTCH_Num)problem->first[v];
    }
    for (uint32_t b = 0; b < problem->nodes; b++) {
        mapping->capacity[b] = (SCOTCH_Num)problem->capacity[b];
    }
}

/** Map within a SCOTCH context of its own, which is set to one thread and to
 * the same random numbers every time. */
static bool map_within(mapping_t *mapping, SCOTCH_Context *context,
                       SCOTCH_Graph *graph, SCOTCH_Arch *arch,
                       SCOTCH_Strat *strategy)
{
    const ctn_map_problem_t *problem = mapping->problem;
    SCOTCH_Num nodes = (SCOTCH_Num)problem->nodes;
    SCOTCH_Graph bound;
    if (SCOTCH_contextThreadSpawn(context, 1, NULL) != 0) {
        return false;
    }
    SCOTCH_contextRandomReset(context);
    if (SCOTCH_graphBuild(graph, 0, (SCOTCH_Num)problem->count, mapping->first,
                          mapping->first + 1, NULL, NULL,
                          mapping->first[problem->count], mapping->to,
                          mapping->weight) != 0 ||
        SCOTCH_archCmpltw(arch, nodes, mapping->capacity) != 0 ||
        SCOTCH_stratGraphMapBuild(strategy,
                                  SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                  nodes, 0.01) != 0) {
        return false;
    }
    SCOTCH_graphInit(&bound);
    bool done = SCOTCH_contextBindGraph(context, graph, &bound) == 0 &&
                SCOTCH_graphMap(&bound, arch, strategy, mapping->part) == 0;
    SCOTCH_graphExit(&bound);
    return done;
}

/** The thread of ctn_map_scotch. */
static void *map_graph(void *argument)
{
    mapping_t *mapping = argument;
    SCOTCH_Context context;
    SCOTCH_Graph graph;
    SCOTCH_Arch arch;
    SCOTCH_Strat strategy;
    SCOTCH_contextInit(&context);
    SCOTCH_graphInit(&graph);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strategy);
    mapping->done = map_within(mapping, &context, &graph, &arch, &strategy);
    SCOTCH_stratExit(&strategy);
    SCOTCH_archExit(&arch);
    SCOTCH_graphExit(&graph);
    SCOTCH_contextExit(&context);
    return NULL;
}

bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[])
{
    size_t edges = problem->first[problem->count];
    if (problem->nodes < 2 || edges == 0 || edges > INT32_MAX / 4) {
        return false;
    }
    size_t count = problem->count;
    size_t one = sizeof(SCOTCH_Num);
    ctn_region_t memory = {0};
    mapping_t mapping = {
        .problem = problem,
        .part = ctn_region_take(&memory, count, one),
        .first = ctn_region_take(&memory, count + 1, one),
        .to = ctn_region_take(&memory, edges, one),
        .weight = ctn_region_take(&memory, edges, one),
        .capacity = ctn_region_take(&memory, problem->nodes, one),
    };
    /* SCOTCH recurses and has large variables. The stack of a simulated rank is
     * too small for it, so it runs in a thread of its own. */
    pthread_t thread;
    if (!memory.failed) {
        fill_in(&mapping);
        if (pthread_create(&thread, NULL, map_graph, &mapping) == 0) {
            (void)pthread_join(thread, NULL);
        }
    }
    for (uint32_t v = 0; v < problem->count && mapping.done; v++) {
        uint32_t to = (uint32_t)mapping.part[v];
        mapping.done = to < problem->nodes;
        part[v] = mapping.done ? to : part[v];
    }
    (void)ctn_region_release(&memory);
    return mapping.done;
}
