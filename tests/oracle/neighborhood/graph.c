#include "oracle/neighborhood/graph.h"

#include <stdlib.h>
#include <string.h>

#include <catena/catena.h>

#include "oracle/oracle.h"
#include "oracle/random.h"

/* ---- lists ---- */

static void append(oracle_list_t *list, int rank, int weight)
{
    if ((list->count & (list->count + 1)) == 0) {
        size_t room = 2 * (size_t)list->count + 1;
        list->rank = realloc(list->rank, room * sizeof(int));
        list->weight = realloc(list->weight, room * sizeof(int));
    }
    list->rank[list->count] = rank;
    list->weight[list->count++] = weight;
}

static void swap(int *list, size_t i, size_t j)
{
    int other = list[i];
    list[i] = list[j];
    list[j] = other;
}

static void shuffle(oracle_list_t *list, uint64_t random)
{
    for (size_t i = (size_t)list->count; i > 1; i--) {
        size_t j = ctn_random_below(&random, i);
        swap(list->rank, i - 1, j);
        swap(list->weight, i - 1, j);
    }
}

/* ---- edges ---- */

/** How often `from` names `to`. */
static int times(const oracle_graph_t *graph, uint64_t seed, int from, int to)
{
    int size = graph->size;
    int middle = (int)(seed % (uint64_t)size);
    int next = (from + 1) % size;
    uint64_t h = oracle_hash(seed, (uint64_t)from, (uint64_t)to);
    int part = (int)(h % (uint64_t)(size + 1)); /* below n: n of all */
    int some = h / 7 % 11 == 0 ? 2 : 1;
    switch (graph->shape) {
    case ORACLE_SHAPE_SELF:
        return from == to ? from % 3 : 0;
    case ORACLE_SHAPE_RING:
        return (to == next) + (to == (from + 2) % size) +
               (to == from && h % 3 == 0);
    case ORACLE_SHAPE_DOUBLE:
        return to == next ? 2 : 0;
    case ORACLE_SHAPE_FAN_IN:
        return to == middle;
    case ORACLE_SHAPE_FAN_OUT:
        return from == middle;
    case ORACLE_SHAPE_HUB:
        return from == middle || to == middle ? some : 0;
    case ORACLE_SHAPE_COMPLETE:
        return 1;
    case ORACLE_SHAPE_PAIRS:
        return from == to + size / 2 && to < size / 2;
    case ORACLE_SHAPE_LONELY:
        return from == middle && to == (middle + size / 2) % size ? 3 : 0;
    case ORACLE_SHAPE_COMPONENTS:
        return graph->color[from] == graph->color[to] && part < 9 ? some : 0;
    case ORACLE_SHAPE_SPARSE:
        return part < 3 ? some : 0;
    case ORACLE_SHAPE_DENSE:
        return part < (size < 32 ? size : 12) ? some : 0;
    case ORACLE_SHAPE_SYMMETRIC:
        h = from < to ? h : oracle_hash(seed, (uint64_t)to, (uint64_t)from);
        return h % (uint64_t)(size + 1) < 4 ? 1 + (h / 7 % 11 == 0) : 0;
    default:
        return 0;
    }
}

static void draw_edges(oracle_graph_t *graph, uint64_t seed)
{
    size_t room = 0;
    for (int from = 0; from < graph->size; from++) {
        for (int to = 0; to < graph->size; to++) {
            for (int i = times(graph, seed, from, to); i > 0; i--) {
                uint64_t h = oracle_hash(seed + (uint64_t)i, (uint64_t)to,
                                         (uint64_t)from);
                if ((size_t)graph->edges == room) {
                    room = 2 * room + 8;
                    graph->edge =
                        realloc(graph->edge, room * sizeof(oracle_edge_t));
                }
                graph->edge[graph->edges++] =
                    (oracle_edge_t){from, to, (int)(h % 7),
                                    (int)(h / 7 % (uint64_t)graph->ranks)};
            }
        }
    }
}

static int by_contributor(const void *left, const void *right)
{
    const oracle_edge_t *a = left;
    const oracle_edge_t *b = right;
    return a->contributor != b->contributor ? a->contributor - b->contributor
           : a->to != b->to                 ? a->to - b->to
                                            : a->from - b->from;
}

static void shuffle_lists(oracle_graph_t *graph, uint64_t seed)
{
    for (int r = 0; r < graph->size; r++) {
        oracle_list_t *lists[] = {&graph->targets[r], &graph->sources[r]};
        for (uint64_t i = 0; i < 2; i++) {
            /* Both lists are in rank order. */
            bool uniform = graph->shape == ORACLE_SHAPE_SYMMETRIC;
            uint64_t random = oracle_hash(seed, uniform ? 1 : i, (uint64_t)r);
            for (uint64_t gaps = random % 8; gaps > 5; gaps--) {
                append(lists[i], CATENA_PROC_NULL, 3);
            }
            shuffle(lists[i], random);
        }
    }
}

static void fill_from_edges(oracle_graph_t *graph, uint64_t seed)
{
    bool dist = graph->way == ORACLE_WAY_DIST;
    if (dist && graph->edges > 0) {
        qsort(graph->edge, (size_t)graph->edges, sizeof(oracle_edge_t),
              by_contributor);
    }
    for (int i = 0; i < graph->edges; i++) {
        const oracle_edge_t *edge = &graph->edge[i];
        append(&graph->targets[edge->from], edge->to, edge->weight);
        append(&graph->sources[edge->to], edge->from,
               dist ? edge->weight : (edge->weight + i) % 5);
    }
    if (!dist) {
        shuffle_lists(graph, seed);
    }
}

/* ---- grids ---- */

void oracle_graph_coords(const oracle_graph_t *graph, int rank, int coords[])
{
    for (int d = graph->ndims; d-- > 0;) {
        coords[d] = rank % graph->dims[d];
        rank /= graph->dims[d];
    }
}

int oracle_graph_beside(const oracle_graph_t *graph, int rank,
                        const int vector[], int sign)
{
    int coords[ORACLE_DIMS];
    int found = 0;
    oracle_graph_coords(graph, rank, coords);
    for (int d = 0; d < graph->ndims; d++) {
        int size = graph->dims[d];
        int c = coords[d] + sign * vector[d];
        if (graph->periods[d]) {
            c = ((c % size) + size) % size;
        } else if (c < 0 || c >= size) {
            return CATENA_PROC_NULL;
        }
        found = found * size + c;
    }
    return found;
}

/** A few dimensions whose product is at most the number of ranks. */
static void draw_dims(oracle_graph_t *graph, uint64_t *random)
{
    int left = graph->ranks;
    graph->ndims = (int)ctn_random_below(random, ORACLE_DIMS) +
                   (ctn_random_below(random, 16) != 0);
    graph->size = 1;
    for (int d = 0; d < graph->ndims; d++) {
        bool last = d + 1 == graph->ndims;
        int most = !last && left > 3 ? 1 + left / 2 : left;
        graph->dims[d] = last && ctn_random_below(random, 2)
                             ? left
                             : 1 + (int)ctn_random_below(random, (size_t)most);
        graph->periods[d] = ctn_random_below(random, 2) == 0;
        graph->size *= graph->dims[d];
        left /= graph->dims[d];
    }
}

static void draw_vectors(oracle_graph_t *graph, uint64_t *random)
{
    int reach = ctn_random_below(random, 4) == 0 ? 7 : 2;
    graph->ndirs = (int)ctn_random_below(random, 12);
    for (int k = 0; k < graph->ndirs; k++) {
        int *vector = &graph->displacements[k * graph->ndims];
        bool again = k > 0 && ctn_random_below(random, 8) == 0;
        graph->weights[k] =
            graph->weighted ? (int)ctn_random_below(random, 9) : 1;
        for (int d = 0; d < graph->ndims; d++) {
            vector[d] =
                again
                    ? vector[d - graph->ndims]
                    : (int)ctn_random_below(random, 2u * (unsigned)reach + 1) -
                          reach;
        }
    }
}

static void fill_grid(oracle_graph_t *graph)
{
    bool cart = graph->way == ORACLE_WAY_CART;
    for (int r = 0; r < graph->size; r++) {
        for (int k = 0; k < (cart ? 2 * graph->ndims : graph->ndirs); k++) {
            int step[ORACLE_DIMS] = {0};
            step[cart ? k / 2 : 0] = cart ? 2 * (k % 2) - 1 : 0;
            const int *vector =
                cart ? step : &graph->displacements[k * graph->ndims];
            /* of a grid: any, and others at the other end */
            int weight = !cart ? graph->weights[k] : (3 * r + 5 * k) % 8;
            append(&graph->sources[r],
                   oracle_graph_beside(graph, r, vector, cart ? 1 : -1),
                   weight);
            append(&graph->targets[r], oracle_graph_beside(graph, r, vector, 1),
                   weight);
        }
    }
}

/* ---- all graphs ---- */

/** Spread the mark of a rank to all ranks connected with it. */
static int spread(const oracle_graph_t *graph, bool *marked, int from)
{
    int *waiting = oracle_zeros((size_t)graph->size, sizeof(int));
    int count = 0;
    int found = 0;
    marked[from] = true;
    waiting[count++] = from;
    while (found < count) {
        int rank = waiting[found++];
        const oracle_list_t *lists[] = {&graph->sources[rank],
                                        &graph->targets[rank]};
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < lists[k]->count; i++) {
                int to = lists[k]->rank[i];
                if (to != CATENA_PROC_NULL && !marked[to]) {
                    marked[to] = true;
                    waiting[count++] = to;
                }
            }
        }
    }
    free(waiting);
    return found;
}

static void find_components(oracle_graph_t *graph)
{
    bool *marked = oracle_zeros((size_t)graph->size, sizeof(bool));
    for (int r = 0; r < graph->size; r++) {
        if (!marked[r]) {
            int ranks = spread(graph, marked, r);
            graph->components += ranks > 1;
            graph->full |= ranks > 1 && ranks == graph->size;
        }
    }
    free(marked);
}

static void take_lists(oracle_graph_t *graph)
{
    size_t size = (size_t)graph->size;
    graph->sources = oracle_zeros(size, sizeof(oracle_list_t));
    graph->targets = oracle_zeros(size, sizeof(oracle_list_t));
    graph->color = oracle_zeros(size, sizeof(int));
}

void oracle_graph_draw(oracle_graph_t *graph, oracle_graph_way_t way,
                       oracle_shape_t shape, int ranks, uint64_t seed)
{
    uint64_t random = seed;
    *graph = (oracle_graph_t){
        .way = way, .shape = shape, .ranks = ranks, .size = ranks};
    graph->weighted = ctn_random_below(&random, 2) == 0;
    if (way == ORACLE_WAY_CART || way == ORACLE_WAY_DERIVED) {
        draw_dims(graph, &random);
        take_lists(graph);
        if (way == ORACLE_WAY_DERIVED) {
            draw_vectors(graph, &random);
        }
        fill_grid(graph);
    } else {
        take_lists(graph);
        for (int r = 0; shape == ORACLE_SHAPE_COMPONENTS && r < ranks; r++) {
            graph->color[r] = (int)ctn_random_below(&random, 3);
        }
        draw_edges(graph, ctn_random(&random));
        fill_from_edges(graph, ctn_random(&random));
    }
    find_components(graph);
}

void oracle_graph_draw_any(oracle_graph_t *graph, oracle_graph_way_t way,
                           int ranks, uint64_t seed)
{
    uint64_t random = seed + 77;
    oracle_shape_t shape =
        (oracle_shape_t)ctn_random_below(&random, ORACLE_GRAPH_SHAPES);
    oracle_graph_draw(graph, way, shape, ranks, seed);
}

void oracle_graph_torus(oracle_graph_t *graph, int ndims, int side,
                        bool diagonals)
{
    *graph = (oracle_graph_t){.way = diagonals ? ORACLE_WAY_DERIVED
                                               : ORACLE_WAY_CART,
                              .ndims = ndims,
                              .size = 1};
    int vectors = 1;
    for (int d = 0; d < ndims; d++) {
        graph->dims[d] = side;
        graph->periods[d] = 1;
        graph->size *= side;
        vectors *= 3;
    }
    for (int i = 0; diagonals && i < vectors; i++) {
        if (i == vectors / 2) {
            continue; /* the rank itself */
        }
        int *vector = &graph->displacements[graph->ndirs * ndims];
        for (int d = 0, rest = i; d < ndims; d++, rest /= 3) {
            vector[d] = rest % 3 - 1;
        }
        graph->weights[graph->ndirs++] = 1;
    }
    graph->ranks = graph->size;
    take_lists(graph);
    fill_grid(graph);
    find_components(graph);
}

void oracle_graph_ring(oracle_graph_t *graph, int ranks, int away)
{
    *graph = (oracle_graph_t){.ranks = ranks, .size = ranks};
    take_lists(graph);
    for (int r = 0; r < ranks; r++) {
        int peer[] = {(r + ranks - away % ranks) % ranks, (r + away) % ranks};
        for (int k = 0; k < 2; k++) {
            append(&graph->sources[r], peer[k], 1);
            append(&graph->targets[r], peer[k], 1);
        }
    }
    find_components(graph);
}

void oracle_graph_free(oracle_graph_t *graph)
{
    for (int r = 0; r < graph->size; r++) {
        oracle_list_t *lists[] = {&graph->sources[r], &graph->targets[r]};
        for (int k = 0; k < 2; k++) {
            free(lists[k]->rank);
            free(lists[k]->weight);
            free(lists[k]->mate);
        }
    }
    free(graph->sources);
    free(graph->targets);
    free(graph->color);
    free(graph->edge);
}

void oracle_graph_spoil(oracle_graph_t *graph, uint64_t seed)
{
    size_t rank = ctn_random_below(&seed, (size_t)graph->size);
    oracle_list_t *list = ctn_random_below(&seed, 2) == 0
                              ? &graph->sources[rank]
                              : &graph->targets[rank];
    int other = (int)ctn_random_below(&seed, (size_t)graph->size);
    int at = (int)ctn_random_below(&seed, (size_t)list->count + 1);
    if (at == list->count) {
        append(list, other, 1);
    } else if (ctn_random_below(&seed, 2) == 0) {
        list->rank[at] = other;
    } else {
        list->rank[at] = list->rank[--list->count];
    }
}

static int count_of(const oracle_list_t *list, int end, int rank)
{
    int count = 0;
    for (int i = 0; i < end; i++) {
        count += list->rank[i] == rank;
    }
    return count;
}

bool oracle_graph_agrees(const oracle_graph_t *graph, int from, int to)
{
    const oracle_list_t *t = &graph->targets[from];
    const oracle_list_t *s = &graph->sources[to];
    return count_of(t, t->count, to) == count_of(s, s->count, from);
}

/** The index in `other` of the mate of entry i of `rank`'s list; `other` is the
 * list of the rank that entry names. The same number of earlier entries name
 * the same rank. */
static int mate_of(const oracle_list_t *list, int i, int rank,
                   const oracle_list_t *other)
{
    int before = count_of(list, i, list->rank[i]);
    int k = 0;
    while (other->rank[k] != rank || before-- > 0) {
        k++;
    }
    return k;
}

void oracle_graph_settle(oracle_graph_t *graph, int rank)
{
    oracle_list_t *own[] = {&graph->sources[rank], &graph->targets[rank]};
    const oracle_list_t *others[] = {graph->targets, graph->sources};
    for (int s = 0; s < 2; s++) {
        oracle_list_t *list = own[s];
        list->mate = oracle_zeros((size_t)list->count, sizeof(int));
        for (int i = 0; i < list->count; i++) {
            int peer = list->rank[i];
            list->mate[i] = peer == CATENA_PROC_NULL ? -1
                            : graph->way == ORACLE_WAY_CART
                                ? i ^ 1 /* up, from below */
                            : graph->way == ORACLE_WAY_DERIVED
                                ? i
                                : mate_of(list, i, rank, &others[s][peer]);
        }
    }
}
