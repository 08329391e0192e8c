#include "nbr_graph.h"

#include <stdlib.h>
#include <string.h>

#include "rank_vector.h"

/* ---- lists ---- */

static void append(nbr_list_t *list, int rank, int weight)
{
    if ((list->count & (list->count + 1)) == 0) {
        int room = 2 * list->count + 1;
        list->rank = realloc(list->rank, (size_t)room * sizeof(int));
        list->weight = realloc(list->weight, (size_t)room * sizeof(int));
    }
    list->rank[list->count] = rank;
    list->weight[list->count++] = weight;
}

static void shuffle(nbr_list_t *list, uint64_t random)
{
    for (int i = list->count; i > 1; i--) {
        int j = (int)(rank_random(&random) % (uint64_t)i);
        int rank = list->rank[i - 1];
        int weight = list->weight[i - 1];
        list->rank[i - 1] = list->rank[j];
        list->weight[i - 1] = list->weight[j];
        list->rank[j] = rank;
        list->weight[j] = weight;
    }
}

/* ---- edges ---- */

typedef enum kind {
    SPARSE,
    DENSE,
    HUB,
    OUTWARDS, /* one rank sends to all */
    RING,
    COMPONENTS,
    LONELY, /* two ranks, the others have nobody */
    EMPTY,
    SYMMETRIC, /* sources and targets are the same list */
    KINDS
} kind_t;

/** How often `from` names `to`. */
static int times(const nbr_graph_t *graph, kind_t kind, uint64_t seed, int from,
                 int to)
{
    int size = graph->size;
    uint64_t h = rank_hash(seed, (uint64_t)from, (uint64_t)to);
    uint64_t part =
        h % (uint64_t)(size + 1); /* as many of all as it is below */
    int some = h / 7 % 11 == 0 ? 2 : 1;
    int middle = (int)(seed % (uint64_t)size);
    switch (kind) {
    case SPARSE:
        return part < 3 ? some : 0;
    case DENSE:
        return part < (size < 32 ? (uint64_t)size : 12) ? some : 0;
    case HUB:
        return from == middle || to == middle ? some : 0;
    case OUTWARDS:
        return from == middle;
    case RING:
        return (to == (from + 1) % size) + (to == (from + 2) % size) +
               (to == from && h % 3 == 0);
    case COMPONENTS:
        return graph->color[from] == graph->color[to] && part < 9 ? some : 0;
    case LONELY:
        return (from == middle && to == (middle + size / 2) % size) ? 3 : 0;
    case SYMMETRIC:
        h = rank_hash(seed, (uint64_t)(from < to ? from : to),
                      (uint64_t)(from < to ? to : from));
        return h % (uint64_t)(size + 1) < 4 ? 1 + (h / 7 % 11 == 0) : 0;
    default:
        return 0;
    }
}

static void draw_edges(nbr_graph_t *graph, kind_t kind, uint64_t seed)
{
    for (int from = 0; from < graph->size; from++) {
        for (int to = 0; to < graph->size; to++) {
            for (int i = times(graph, kind, seed, from, to); i > 0; i--) {
                uint64_t h =
                    rank_hash(seed + (uint64_t)i, (uint64_t)to, (uint64_t)from);
                size_t bytes = (size_t)(graph->edges + 1) * sizeof(nbr_edge_t);
                if ((graph->edges & (graph->edges + 1)) == 0) {
                    graph->edge = realloc(graph->edge, 2 * bytes);
                }
                graph->edge[graph->edges++] = (nbr_edge_t){
                    .from = from,
                    .to = to,
                    .weight = (int)(h % 7),
                    .contributor = (int)(h / 7 % (uint64_t)graph->ranks),
                };
            }
        }
    }
}

static int by_contributor(const void *left, const void *right)
{
    const nbr_edge_t *a = left;
    const nbr_edge_t *b = right;
    return a->contributor != b->contributor ? a->contributor - b->contributor
           : a->to != b->to                 ? a->to - b->to
                                            : a->from - b->from;
}

/** Lists in any order, with gaps. */
static void fill_adjacent(nbr_graph_t *graph, kind_t kind, uint64_t seed)
{
    for (int i = 0; i < graph->edges; i++) {
        const nbr_edge_t *edge = &graph->edge[i];
        append(&graph->targets[edge->from], edge->to, edge->weight);
        append(&graph->sources[edge->to], edge->from, (edge->weight + i) % 5);
    }
    for (int r = 0; r < graph->size; r++) {
        uint64_t one = rank_hash(seed, 1, (uint64_t)r);
        uint64_t other =
            kind == SYMMETRIC ? one : rank_hash(seed, 2, (uint64_t)r);
        for (uint64_t gaps = one % 8; gaps > 5; gaps--) {
            append(&graph->targets[r], CATENA_PROC_NULL, 3);
        }
        for (uint64_t gaps = other % 8; gaps > 5; gaps--) {
            append(&graph->sources[r], CATENA_PROC_NULL, 3);
        }
        if (kind == SYMMETRIC) {
            /* Both came in the order of ranks. */
            shuffle(&graph->targets[r], one);
            shuffle(&graph->sources[r], one);
        } else {
            shuffle(&graph->targets[r], one);
            shuffle(&graph->sources[r], other);
        }
    }
}

static void fill_dist(nbr_graph_t *graph)
{
    if (graph->edges > 0) {
        qsort(graph->edge, (size_t)graph->edges, sizeof(nbr_edge_t),
              by_contributor);
    }
    for (int i = 0; i < graph->edges; i++) {
        const nbr_edge_t *edge = &graph->edge[i];
        append(&graph->targets[edge->from], edge->to, edge->weight);
        append(&graph->sources[edge->to], edge->from, edge->weight);
    }
}

/* ---- grids ---- */

void nbr_graph_coords(const nbr_graph_t *graph, int rank, int coords[])
{
    for (int d = graph->ndims; d-- > 0;) {
        coords[d] = rank % graph->dims[d];
        rank /= graph->dims[d];
    }
}

/** Who is `sign` times `step` away. */
static int beside(const nbr_graph_t *graph, int rank, const int step[],
                  int sign)
{
    int coords[NBR_DIMS];
    int found = 0;
    nbr_graph_coords(graph, rank, coords);
    for (int d = 0; d < graph->ndims; d++) {
        int size = graph->dims[d];
        int c = coords[d] + sign * step[d];
        if (graph->periods[d]) {
            c = ((c % size) + size) % size;
        } else if (c < 0 || c >= size) {
            return CATENA_PROC_NULL;
        }
        found = found * size + c;
    }
    return found;
}

/** A few dimensions whose product is at most the ranks. */
static void draw_dims(nbr_graph_t *graph, uint64_t *random)
{
    int left = graph->ranks;
    graph->ndims =
        (int)(rank_random(random) % NBR_DIMS) + (rank_random(random) % 16 != 0);
    graph->ndims = graph->ndims > NBR_DIMS ? NBR_DIMS : graph->ndims;
    graph->size = 1;
    for (int d = 0; d < graph->ndims; d++) {
        uint64_t most =
            (uint64_t)(d + 1 < graph->ndims && left > 3 ? 1 + left / 2 : left);
        graph->dims[d] = d + 1 == graph->ndims && rank_random(random) % 2
                             ? left
                             : 1 + (int)(rank_random(random) % most);
        graph->periods[d] = rank_random(random) % 2 == 0;
        graph->size *= graph->dims[d];
        left /= graph->dims[d];
    }
}

static void fill_cart(nbr_graph_t *graph)
{
    for (int r = 0; r < graph->size; r++) {
        for (int d = 0; d < graph->ndims; d++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                int step[NBR_DIMS] = {0};
                step[d] = sign;
                int rank = beside(graph, r, step, 1);
                append(&graph->sources[r], rank, 1);
                append(&graph->targets[r], rank, 1);
            }
        }
    }
}

static void fill_derived(nbr_graph_t *graph, uint64_t *random)
{
    graph->ndirs = (int)(rank_random(random) % (NBR_DIRS + 1));
    graph->weighted = rank_random(random) % 2 == 0;
    for (int k = 0; k < graph->ndirs; k++) {
        graph->weights[k] =
            graph->weighted ? (int)(rank_random(random) % 9) : 1;
        int *step = &graph->displacements[k * graph->ndims];
        for (int d = 0; d < graph->ndims; d++) {
            step[d] = (int)(rank_random(random) % 5) - 2;
        }
    }
    for (int r = 0; r < graph->size; r++) {
        for (int k = 0; k < graph->ndirs; k++) {
            const int *step = &graph->displacements[k * graph->ndims];
            append(&graph->sources[r], beside(graph, r, step, -1),
                   graph->weights[k]);
            append(&graph->targets[r], beside(graph, r, step, 1),
                   graph->weights[k]);
        }
    }
}

/* ---- all ---- */

/** Spread the mark of a rank to all that it is joined with. */
static int spread(const nbr_graph_t *graph, bool *marked, int from)
{
    int *waiting = calloc((size_t)graph->size, sizeof(int));
    int count = 0;
    int found = 0;
    marked[from] = true;
    waiting[count++] = from;
    while (found < count) {
        int rank = waiting[found++];
        const nbr_list_t *lists[] = {&graph->sources[rank],
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

/** What is joined. Several of two or more ranks: not all. */
static void find_joined(nbr_graph_t *graph)
{
    bool *marked = calloc((size_t)graph->size, sizeof(bool));
    int components = 0;
    int alone = 0;
    for (int r = 0; r < graph->size; r++) {
        if (!marked[r]) {
            bool one = spread(graph, marked, r) == 1;
            alone += one;
            components += !one;
        }
    }
    graph->joined = components == 1;
    graph->full = graph->joined && alone == 0;
    free(marked);
}

static void take_lists(nbr_graph_t *graph)
{
    graph->sources = calloc((size_t)graph->size, sizeof(nbr_list_t));
    graph->targets = calloc((size_t)graph->size, sizeof(nbr_list_t));
    graph->color = calloc((size_t)graph->size, sizeof(int));
}

void nbr_graph_draw(nbr_graph_t *graph, nbr_way_t way, int ranks, uint64_t seed)
{
    uint64_t random = seed;
    *graph = (nbr_graph_t){.way = way, .ranks = ranks, .size = ranks};
    bool grid = way == NBR_CART || way == NBR_DERIVED;
    if (grid) {
        draw_dims(graph, &random);
    }
    take_lists(graph);
    kind_t kind = (kind_t)(rank_random(&random) % KINDS);
    if (way == NBR_CART) {
        fill_cart(graph);
    } else if (way == NBR_DERIVED) {
        fill_derived(graph, &random);
    } else {
        graph->weighted = rank_random(&random) % 2 == 0;
        for (int r = 0; kind == COMPONENTS && r < ranks; r++) {
            graph->color[r] = (int)(rank_random(&random) % 3);
        }
        draw_edges(graph, kind, rank_random(&random));
        if (way == NBR_DIST) {
            fill_dist(graph);
        } else {
            fill_adjacent(graph, kind, rank_random(&random));
        }
    }
    find_joined(graph);
}

void nbr_graph_ring(nbr_graph_t *graph, int ranks)
{
    *graph = (nbr_graph_t){.way = NBR_CART,
                           .ranks = ranks,
                           .size = ranks,
                           .ndims = 1,
                           .dims = {ranks},
                           .periods = {1}};
    take_lists(graph);
    fill_cart(graph);
    find_joined(graph);
}

static void free_list(nbr_list_t *list)
{
    free(list->rank);
    free(list->weight);
    free(list->mate);
}

void nbr_graph_free(nbr_graph_t *graph)
{
    for (int r = 0; r < graph->size; r++) {
        free_list(&graph->sources[r]);
        free_list(&graph->targets[r]);
    }
    free(graph->sources);
    free(graph->targets);
    free(graph->color);
    free(graph->edge);
}

void nbr_graph_spoil(nbr_graph_t *graph, uint64_t seed)
{
    int rank = (int)(rank_random(&seed) % (uint64_t)graph->size);
    nbr_list_t *list = rank_random(&seed) % 2 == 0 ? &graph->sources[rank]
                                                   : &graph->targets[rank];
    int other = (int)(rank_random(&seed) % (uint64_t)graph->size);
    int at = (int)(rank_random(&seed) % (uint64_t)(list->count + 1));
    if (at == list->count) {
        append(list, other, 1);
    } else if (rank_random(&seed) % 2 == 0) {
        list->rank[at] = other;
    } else {
        list->rank[at] = list->rank[--list->count];
    }
}

static int count_of(const nbr_list_t *list, int rank)
{
    int count = 0;
    for (int i = 0; i < list->count; i++) {
        count += list->rank[i] == rank;
    }
    return count;
}

bool nbr_graph_agree(const nbr_graph_t *graph, int from, int to)
{
    return count_of(&graph->targets[from], to) ==
           count_of(&graph->sources[to], from);
}

/** Where entry i of a list of `rank` is in `other`, the list of the rank that
 * it names: as many before it name the same. */
static int mate_of(const nbr_list_t *list, int i, int rank,
                   const nbr_list_t *other)
{
    const nbr_list_t first = {.count = i, .rank = list->rank};
    int before = count_of(&first, list->rank[i]);
    for (int k = 0; k < other->count; k++) {
        if (other->rank[k] == rank && before-- == 0) {
            return k;
        }
    }
    return -1;
}

static void settle_list(const nbr_graph_t *graph, nbr_list_t *list, int rank,
                        const nbr_list_t *others)
{
    list->mate = calloc((size_t)list->count + 1, sizeof(int));
    for (int i = 0; i < list->count; i++) {
        if (list->rank[i] == CATENA_PROC_NULL) {
            list->mate[i] = -1;
        } else if (graph->way == NBR_CART) {
            list->mate[i] = i ^ 1; /* what goes up comes from below */
        } else if (graph->way == NBR_DERIVED) {
            list->mate[i] = i;
        } else {
            list->mate[i] = mate_of(list, i, rank, &others[list->rank[i]]);
        }
    }
}

void nbr_graph_settle(nbr_graph_t *graph, int rank)
{
    settle_list(graph, &graph->sources[rank], rank, graph->targets);
    settle_list(graph, &graph->targets[rank], rank, graph->sources);
}
