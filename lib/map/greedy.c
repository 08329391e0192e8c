#include "map/map.h"

#include <stdlib.h>
#include <string.h>

/* ORD-1: a first mapping, and one with too much on a node mended. */

#define NONE UINT32_MAX

/* So many candidates are compared for each vertex: a hub has too many. */
enum { FRONTIER = 4096 };

typedef struct growth {
    const ctn_order_t *order;
    uint32_t *part;
    uint64_t *here;     /* weight of a vertex' edges to the node being filled */
    uint64_t *open;     /* to vertices without a node */
    uint32_t *frontier; /* vertices with edges to the node being filled */
    uint32_t frontiers;
    uint32_t left;  /* vertices below have a node */
    bool scattered; /* no edges are left between those without a node */
} growth_t;

/** Who is joined most to the node being filled and least to those that are
 * left; the one is taken out of the frontier. */
static uint32_t take_next(growth_t *growth)
{
    uint32_t best = NONE;
    uint32_t looked =
        growth->frontiers < FRONTIER ? growth->frontiers : FRONTIER;
    for (uint32_t i = 0; i < looked; i++) {
        uint32_t v = growth->frontier[i];
        uint32_t than = best == NONE ? v : growth->frontier[best];
        if (best == NONE || growth->here[v] > growth->here[than] ||
            (growth->here[v] == growth->here[than] &&
             growth->open[v] < growth->open[than])) {
            best = i;
        }
    }
    if (best == NONE) {
        return NONE;
    }
    uint32_t v = growth->frontier[best];
    growth->frontier[best] = growth->frontier[--growth->frontiers];
    return v;
}

/** Where to begin: at a corner of what is left. */
static uint32_t take_corner(growth_t *growth)
{
    const uint32_t *part = growth->part;
    while (part[growth->left] != NONE) {
        growth->left++;
    }
    uint32_t best = growth->left;
    for (uint32_t v = best; !growth->scattered && v < growth->order->count;
         v++) {
        if (part[v] == NONE && growth->open[v] > 0 &&
            (growth->open[best] == 0 || growth->open[v] < growth->open[best])) {
            best = v;
        }
    }
    growth->scattered = growth->open[best] == 0;
    return best;
}

static void join(growth_t *growth, uint32_t v, uint32_t node)
{
    const ctn_order_t *order = growth->order;
    growth->part[v] = node;
    for (size_t i = order->first[v]; i < order->first[v + 1]; i++) {
        uint32_t to = order->to[i];
        growth->open[to] -= order->weight[i];
        if (growth->part[to] == NONE) {
            if (growth->here[to] == 0) {
                growth->frontier[growth->frontiers++] = to;
            }
            growth->here[to] += order->weight[i];
        }
    }
}

static void fill(growth_t *growth, uint32_t node)
{
    for (uint32_t taken = 0; taken < growth->order->room[node]; taken++) {
        uint32_t v = take_next(growth);
        join(growth, v != NONE ? v : take_corner(growth), node);
    }
    while (growth->frontiers > 0) {
        growth->here[growth->frontier[--growth->frontiers]] = 0;
    }
}

/** The largest node that is not filled yet. */
static uint32_t largest(const ctn_order_t *order, const bool filled[])
{
    uint32_t best = NONE;
    for (uint32_t b = 0; b < order->nodes; b++) {
        if (!filled[b] &&
            (best == NONE || order->room[b] > order->room[best])) {
            best = b;
        }
    }
    return best;
}

static void grow(growth_t *growth, bool filled[])
{
    const ctn_order_t *order = growth->order;
    for (uint32_t v = 0; v < order->count; v++) {
        growth->part[v] = NONE;
        for (size_t i = order->first[v]; i < order->first[v + 1]; i++) {
            growth->open[v] += order->weight[i];
        }
    }
    for (uint32_t i = 0; i < order->nodes; i++) {
        uint32_t node = largest(order, filled);
        fill(growth, node);
        filled[node] = true;
    }
}

catena_status_t ctn_order_grow(const ctn_order_t *order, uint32_t part[])
{
    size_t count = (size_t)order->count + 1;
    growth_t growth = {.order = order, .part = part};
    growth.here = calloc(count, sizeof(*growth.here));
    growth.open = calloc(count, sizeof(*growth.open));
    growth.frontier = malloc(count * sizeof(*growth.frontier));
    bool *filled = calloc((size_t)order->nodes + 1, sizeof(*filled));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (growth.here != NULL && growth.open != NULL && growth.frontier != NULL &&
        filled != NULL) {
        grow(&growth, filled);
        status = CATENA_OK;
    }
    free(growth.here);
    free(growth.open);
    free(growth.frontier);
    free(filled);
    return status;
}

/** Where there is room for `v`, the node that it is joined to most; `joined`:
 * 0 for every node, and so again afterwards. */
static uint32_t roomiest(const ctn_order_t *order, const uint32_t part[],
                         const uint32_t held[], uint64_t joined[], uint32_t v)
{
    for (size_t i = order->first[v]; i < order->first[v + 1]; i++) {
        joined[part[order->to[i]]] += order->weight[i];
    }
    uint32_t best = NONE;
    for (uint32_t b = 0; b < order->nodes; b++) {
        if (held[b] < order->room[b] &&
            (best == NONE || joined[b] > joined[best])) {
            best = b;
        }
    }
    for (size_t i = order->first[v]; i < order->first[v + 1]; i++) {
        joined[part[order->to[i]]] = 0;
    }
    return best;
}

catena_status_t ctn_order_fit(const ctn_order_t *order, uint32_t part[])
{
    uint32_t *held = calloc((size_t)order->nodes + 1, sizeof(*held));
    uint64_t *joined = calloc((size_t)order->nodes + 1, sizeof(*joined));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (held != NULL && joined != NULL) {
        for (uint32_t v = 0; v < order->count; v++) {
            held[part[v]]++;
        }
        for (uint32_t v = 0; v < order->count; v++) {
            uint32_t from = part[v];
            if (held[from] > order->room[from]) {
                part[v] = roomiest(order, part, held, joined, v);
                held[from]--;
                held[part[v]]++;
            }
        }
        status = CATENA_OK;
    }
    free(held);
    free(joined);
    return status;
}
