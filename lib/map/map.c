#include "map/map.h"

#include <stdlib.h>
#include <string.h>

/* ORD-1 (docs/algorithms.md): several mappings of a graph to nodes, each
 * refined, and the best of them. */

/** Rows with both directions of every edge, equal neighbors side by side or
 * not: `first` counts them. */
static void fill_rows(ctn_order_t *order, size_t edges,
                      const ctn_order_edge_t edge[], size_t cursor[])
{
    for (size_t i = 0; i < edges; i++) {
        uint32_t end[2] = {edge[i].from, edge[i].to};
        if (end[0] != end[1] && edge[i].weight > 0) {
            for (int side = 0; side < 2; side++) {
                size_t at = cursor[end[side]]++;
                order->to[at] = end[1 - side];
                order->weight[at] = edge[i].weight;
            }
        }
    }
}

/** Several edges between two vertices become one. `seen`: 0 for every vertex,
 * and so again afterwards. */
static void merge_rows(ctn_order_t *order, size_t seen[])
{
    size_t filled = 0;
    for (uint32_t v = 0; v < order->count; v++) {
        size_t begin = filled;
        size_t end = order->first[v + 1];
        for (size_t i = order->first[v]; i < end; i++) {
            uint32_t to = order->to[i];
            if (seen[to] == 0) {
                order->to[filled] = to;
                order->weight[filled] = order->weight[i];
                seen[to] = ++filled;
            } else {
                order->weight[seen[to] - 1] += order->weight[i];
            }
        }
        for (size_t i = begin; i < filled; i++) {
            seen[order->to[i]] = 0;
        }
        order->first[v] = begin;
    }
    order->first[order->count] = filled;
}

static catena_status_t make_rows(ctn_order_t *order, size_t edges,
                                 const ctn_order_edge_t edge[])
{
    uint32_t count = order->count;
    size_t *work = calloc((size_t)count + 1, sizeof(*work));
    if (work == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < edges; i++) {
        if (edge[i].from != edge[i].to && edge[i].weight > 0) {
            order->first[edge[i].from + 1]++;
            order->first[edge[i].to + 1]++;
        }
    }
    for (uint32_t v = 0; v < count; v++) {
        order->first[v + 1] += order->first[v];
    }
    memcpy(work, order->first, count * sizeof(*work));
    fill_rows(order, edges, edge, work);
    memset(work, 0, count * sizeof(*work));
    merge_rows(order, work);
    free(work);
    return CATENA_OK;
}

catena_status_t ctn_order_open(ctn_order_t *order, uint32_t count,
                               const uint32_t node[], size_t edges,
                               const ctn_order_edge_t edge[])
{
    *order = (ctn_order_t){.count = count, .node = node};
    for (uint32_t i = 0; i < count; i++) {
        if (node[i] >= order->nodes) {
            order->nodes = node[i] + 1;
        }
    }
    order->room = calloc((size_t)order->nodes + 1, sizeof(*order->room));
    order->first = calloc((size_t)count + 1, sizeof(*order->first));
    order->to = malloc((2 * edges + 1) * sizeof(*order->to));
    order->weight = malloc((2 * edges + 1) * sizeof(*order->weight));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (order->room != NULL && order->first != NULL && order->to != NULL &&
        order->weight != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            order->room[node[i]]++;
        }
        status = make_rows(order, edges, edge);
    }
    if (status != CATENA_OK) {
        ctn_order_close(order);
    }
    return status;
}

void ctn_order_close(ctn_order_t *order)
{
    free(order->room);
    free(order->first);
    free(order->to);
    free(order->weight);
    *order = (ctn_order_t){0};
}

uint64_t ctn_order_between(const ctn_order_t *order, const uint32_t part[])
{
    uint64_t between = 0;
    for (uint32_t v = 0; v < order->count; v++) {
        for (size_t i = order->first[v]; i < order->first[v + 1]; i++) {
            if (order->to[i] > v && part[order->to[i]] != part[v]) {
                between += order->weight[i];
            }
        }
    }
    return between;
}

/** Who can keeps the vertex it has had; the others take what is left on their
 * node, in order. */
static catena_status_t place_all(const ctn_order_t *order,
                                 const uint32_t part[], uint32_t place[])
{
    /* Vertices to be taken of each node begin where its room does. */
    uint32_t *next = calloc((size_t)order->nodes + 1, sizeof(*next));
    uint32_t *left = malloc(((size_t)order->count + 1) * sizeof(*left));
    if (next == NULL || left == NULL) {
        free(next);
        free(left);
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t b = 0; b < order->nodes; b++) {
        next[b + 1] = next[b] + order->room[b];
    }
    for (uint32_t v = order->count; v-- > 0;) {
        if (part[v] != order->node[v]) {
            left[--next[part[v] + 1]] = v;
        }
    }
    for (uint32_t i = 0; i < order->count; i++) {
        uint32_t b = order->node[i];
        place[i] = part[i] == b ? i : left[next[b + 1]++];
    }
    free(next);
    free(left);
    return CATENA_OK;
}

/** Refine `part`, and take it for `best` if it is better. */
static catena_status_t try_mapping(const ctn_order_t *order, uint32_t part[],
                                   uint32_t best[], uint64_t *least)
{
    catena_status_t status = ctn_order_refine(order, part);
    uint64_t between = ctn_order_between(order, part);
    if (status == CATENA_OK && between < *least) {
        memcpy(best, part, order->count * sizeof(*best));
        *least = between;
    }
    return status;
}

/** Small graphs are tried from many beginnings. */
enum { BEGINNINGS = 32, WORK = 16384 /* vertices and edges in all of them */ };

/** Vertices somewhere, by a generator that begins alike every time. */
static void deal_anyhow(const ctn_order_t *order, uint64_t *state,
                        uint32_t part[])
{
    for (uint32_t v = 0; v < order->count; v++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint32_t with = (uint32_t)((*state >> 33) % (v + 1));
        part[v] = part[with];
        part[with] = order->node[v];
    }
}

static catena_status_t try_anyhow(const ctn_order_t *order, uint32_t part[],
                                  uint32_t best[], uint64_t *least)
{
    size_t times = WORK / (order->count + order->first[order->count] + 1);
    uint64_t state = 1;
    catena_status_t status = CATENA_OK;
    for (size_t i = 0;
         i < times && i<BEGINNINGS && * least> 0 && status == CATENA_OK; i++) {
        deal_anyhow(order, &state, part);
        status = try_mapping(order, part, best, least);
    }
    return status;
}

catena_status_t ctn_order_place(const ctn_order_t *order, uint32_t hint[],
                                uint32_t place[], uint64_t *before,
                                uint64_t *after)
{
    size_t bytes = order->count * sizeof(uint32_t);
    uint32_t *part = malloc(bytes + 1);
    uint32_t *best = malloc(bytes + 1);
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (part == NULL || best == NULL) {
        goto out;
    }
    memcpy(best, order->node, bytes);
    memcpy(part, order->node, bytes);
    *before = ctn_order_between(order, best);
    *after = *before;
    status = try_mapping(order, part, best, after);
    if (status == CATENA_OK && hint != NULL) {
        status = try_mapping(order, hint, best, after);
    }
    if (status == CATENA_OK) {
        status = ctn_order_grow(order, part);
    }
    if (status == CATENA_OK) {
        status = try_mapping(order, part, best, after);
    }
    if (status == CATENA_OK) {
        status = try_anyhow(order, part, best, after);
    }
    if (status == CATENA_OK && ctn_order_scotch(order, part)) {
        status = ctn_order_fit(order, part);
        if (status == CATENA_OK) {
            status = try_mapping(order, part, best, after);
        }
    }
    if (status == CATENA_OK) {
        status = place_all(order, best, place);
    }
out:
    free(part);
    free(best);
    return status;
}

catena_status_t ctn_order_map(uint32_t count, const uint32_t node[],
                              size_t edges, const ctn_order_edge_t edge[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after)
{
    ctn_order_t order;
    catena_status_t status = ctn_order_open(&order, count, node, edges, edge);
    if (status == CATENA_OK) {
        status = ctn_order_place(&order, NULL, place, before, after);
        ctn_order_close(&order);
    }
    return status;
}
