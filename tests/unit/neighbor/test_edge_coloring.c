/* Edge coloring: as many colors as the greatest degree, each of them a
 * matching, the heaviest first. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "neighbor/schedule/edge_coloring.h"
#include "oracle/random.h"
#include "unit/unit.h"

enum { MOST_RANKS = 100000, MOST_EDGES = 100000, MESH = 4 };

/** A graph: its edges, and their ends and weights before they are colored. */
typedef struct graph {
    size_t ranks, count;
    ctn_bipartite_edge_t edge[MOST_EDGES];
    ctn_bipartite_edge_t kept[MOST_EDGES];
    uint32_t degree[2 * MOST_RANKS];
    uint64_t end[2][MOST_EDGES];   /* with their colors */
    uint32_t heaviest[MOST_EDGES]; /* of each color */
} graph_t;

static graph_t *graph; /* not an array: processes of all tests have those */

static void create(void)
{
    graph = malloc(sizeof(*graph));
    ck_assert_ptr_nonnull(graph);
}

static void destroy(void)
{
    free(graph);
}

static void add(size_t from, size_t to, size_t weight)
{
    ck_assert_uint_lt(graph->count, MOST_EDGES);
    graph->edge[graph->count++] = (ctn_bipartite_edge_t){
        (uint32_t)from, (uint32_t)to, (uint32_t)weight, UINT32_MAX};
}

static int heaviest_first(const void *a, const void *b)
{
    const ctn_bipartite_edge_t *x = a;
    const ctn_bipartite_edge_t *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/** No two edges at a rank have the same color. By sorting: what is tested has a
 * table instead. */
static void check_matchings(void)
{
    for (size_t i = 0; i < graph->count; i++) {
        const ctn_bipartite_edge_t *edge = &graph->edge[i];
        graph->end[0][i] = (uint64_t)edge->from << 32 | edge->color;
        graph->end[1][i] = (uint64_t)edge->to << 32 | edge->color;
    }
    for (int side = 0; side < 2; side++) {
        const uint64_t *end = graph->end[side];
        qsort(graph->end[side], graph->count, sizeof(*end), by_value);
        for (size_t i = 1; i < graph->count; i++) {
            ck_assert_uint_ne(end[i], end[i - 1]);
        }
    }
}

/** The heaviest edges of the colors do not become heavier.
 * @return how many colors have one of the heaviest edges */
static uint32_t check_order(uint32_t colors)
{
    uint32_t *heaviest = graph->heaviest;
    uint32_t heavy = 0;
    memset(heaviest, 0, colors * sizeof(*heaviest));
    for (size_t i = 0; i < graph->count; i++) {
        uint32_t *own = &heaviest[graph->edge[i].color];
        *own = graph->edge[i].weight > *own ? graph->edge[i].weight : *own;
    }
    for (uint32_t i = 0; i < colors; i++) {
        ck_assert(i == 0 || heaviest[i] <= heaviest[i - 1]);
        heavy += heaviest[i] == heaviest[0];
    }
    return heavy;
}

/** Colors the graph. @return how many colors have one of the heaviest edges */
static uint32_t color(void)
{
    uint32_t colors = UINT32_MAX;
    uint32_t degree = 0;
    qsort(graph->edge, graph->count, sizeof(*graph->edge), heaviest_first);
    memcpy(graph->kept, graph->edge, graph->count * sizeof(*graph->edge));
    memset(graph->degree, 0, 2 * graph->ranks * sizeof(*graph->degree));
    for (size_t i = 0; i < graph->count; i++) {
        uint32_t *sends = &graph->degree[graph->edge[i].from];
        uint32_t *receives = &graph->degree[graph->ranks + graph->edge[i].to];
        degree = ++*sends > degree ? *sends : degree;
        degree = ++*receives > degree ? *receives : degree;
    }
    ck_assert_int_eq(
        ctn_edge_coloring(graph->ranks, graph->edge, graph->count, &colors),
        CATENA_OK);
    ck_assert_uint_eq(colors, degree);
    for (size_t i = 0; i < graph->count; i++) {
        const ctn_bipartite_edge_t *edge = &graph->edge[i];
        ck_assert_uint_lt(edge->color, colors);
        ck_assert(edge->from == graph->kept[i].from &&
                  edge->to == graph->kept[i].to &&
                  edge->weight == graph->kept[i].weight);
    }
    check_matchings();
    return check_order(colors);
}

static void empty(size_t ranks)
{
    graph->ranks = ranks;
    graph->count = 0;
}

/** Multigraphs of 1 to 40 ranks; in some of them few ranks have most edges. */
START_TEST(random_graphs)
{
    for (uint64_t seed = 1; seed <= 1000; seed += unit_step(8)) {
        uint64_t random = seed;
        empty(1 + ctn_random_below(&random, 40));
        size_t edges = ctn_random_below(&random, 8 * graph->ranks);
        size_t weights = 1 + ctn_random_below(&random, 20);
        size_t senders = 1 + ctn_random_below(&random, graph->ranks);
        size_t receivers = 1 + ctn_random_below(&random, graph->ranks);
        for (size_t i = 0; i < edges; i++) {
            add(ctn_random_below(&random, senders),
                ctn_random_below(&random, receivers),
                ctn_random_below(&random, weights));
        }
        (void)color();
    }
}
END_TEST

/** Permutations: all ranks have the same degree, and no color is spare. */
START_TEST(regular_graphs)
{
    for (uint64_t seed = 1; seed <= 50; seed += unit_step(6)) {
        uint32_t order[200];
        uint64_t random = seed;
        empty(2 + ctn_random_below(&random, 198));
        for (uint32_t i = 0; i < graph->ranks; i++) {
            order[i] = i;
        }
        for (size_t k = 0; k < 1 + seed % 10; k++) {
            for (size_t i = graph->ranks; i > 1; i--) {
                size_t j = ctn_random_below(&random, i);
                uint32_t swapped = order[i - 1];
                order[i - 1] = order[j];
                order[j] = swapped;
            }
            for (size_t i = 0; i < graph->ranks; i++) {
                add(i, order[i], 1 + ctn_random_below(&random, seed));
            }
        }
        (void)color();
    }
}
END_TEST

START_TEST(special_graphs)
{
    empty(1);
    ck_assert_uint_eq(color(), 0);
    add(0, 0, 0); /* one edge, of weight 0 */
    ck_assert_uint_eq(color(), 1);
    size_t ranks = 300 / (size_t)unit_step(3);
    empty(ranks);
    for (size_t i = 0; i < ranks * ranks; i++) { /* all to all */
        add(i / ranks, i % ranks, i % 7);
    }
    (void)color();
    empty(2);
    for (size_t i = 0; i < 500; i++) { /* multiple edges of one pair */
        add(0, 1, i);
    }
    ck_assert_uint_eq(color(), 1);
    empty(100000);
    size_t step = (size_t)unit_step(5);
    for (size_t i = 0; i < 50000; i += step) { /* a star */
        add(i, 7, i % 3);
    }
    (void)color();
    for (size_t i = 0; i < 40000; i += step) { /* and one the other way */
        add(9, 99999 - i, i % 5);
    }
    (void)color();
}
END_TEST

/** In a mesh in which each rank has one heavy neighbor the heavy edges share
 * one color, though the light ones need all colors: pairs side by side in two
 * quarters, above each other in the others. */
START_TEST(heavy_edges)
{
    for (int periodic = 0; periodic < 2; periodic++) {
        empty(MESH * MESH);
        for (int i = 0; i < 4 * MESH * MESH; i++) {
            int row = i / 4 / MESH;
            int column = i / 4 % MESH;
            int step = i % 2 * 2 - 1;
            bool along = i % 4 < 2; /* to a rank of the same row */
            bool heavy = (row < MESH / 2) == (column < MESH / 2);
            int pair = along ? column ^ 1 : row ^ 1;
            int to = (along ? column : row) + step;
            if (!periodic && (to < 0 || to >= MESH)) {
                continue;
            }
            heavy = heavy == along && pair == to;
            to = (to + MESH) % MESH;
            add((size_t)(i / 4),
                (size_t)(along ? row * MESH + to : to * MESH + column),
                heavy ? 16 : 1);
        }
        ck_assert_uint_eq(color(), 1);
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, create, destroy);
    tcase_add_test(tcase, random_graphs);
    tcase_add_test(tcase, regular_graphs);
    tcase_add_test(tcase, special_graphs);
    tcase_add_test(tcase, heavy_edges);
}

UNIT_TEST(edge_coloring)
{
    return unit_main("edge_coloring", 30, add_cases);
}
