/* Mappings of processes to vertices: the reported weights against a naive
 * count, and the quality where the optimum is known. */

#include <stdlib.h>
#include <string.h>

#include "map/map.h"
#include "oracle/random.h"
#include "unit/unit.h"

enum { MOST = 600, EDGES = 8 * MOST };

/** A graph, the nodes of its processes, and the resulting places. */
typedef struct problem {
    uint32_t count;
    uint32_t node[MOST];
    size_t edges;
    ctn_map_edge_t edge[EDGES];
    uint32_t place[MOST];
    uint64_t before;
    uint64_t after;
} problem_t;

static problem_t problem;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    return (uint32_t)ctn_random_below(state, below);
}

static void shuffle(uint32_t *values, uint32_t count, uint64_t *state)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = draw(state, i);
        uint32_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}

static void add(uint32_t from, uint32_t to, uint64_t weight)
{
    ck_assert_uint_lt(problem.edges, EDGES);
    problem.edge[problem.edges++] = (ctn_map_edge_t){from, to, weight};
}

/** Put consecutive processes on nodes of these sizes. */
static void nodes_of(uint32_t nodes, const uint32_t sizes[])
{
    problem.count = 0;
    problem.edges = 0;
    for (uint32_t b = 0; b < nodes; b++) {
        for (uint32_t i = 0; i < sizes[b]; i++) {
            problem.node[problem.count++] = b;
        }
    }
}

static void even_nodes(uint32_t nodes, uint32_t size)
{
    uint32_t sizes[MOST];
    for (uint32_t b = 0; b < nodes; b++) {
        sizes[b] = size;
    }
    nodes_of(nodes, sizes);
}

/** A mesh with open borders, four neighbors each, whose vertices are name[0],
 * name[1], ... */
static void mesh(uint32_t rows, uint32_t columns, const uint32_t name[])
{
    for (uint32_t v = 0; v < rows * columns; v++) {
        if (v % columns + 1 < columns) {
            add(name[v], name[v + 1], 1);
            add(name[v + 1], name[v], 1);
        }
        if (v + columns < rows * columns) {
            add(name[v], name[v + columns], 1);
            add(name[v + columns], name[v], 1);
        }
    }
}

/** Every vertex has one process, and the weights are as reported. */
static void check_places(void)
{
    uint32_t home[MOST]; /* node of a vertex */
    bool taken[MOST] = {false};
    for (uint32_t i = 0; i < problem.count; i++) {
        ck_assert_uint_lt(problem.place[i], problem.count);
        ck_assert(!taken[problem.place[i]]);
        taken[problem.place[i]] = true;
        home[problem.place[i]] = problem.node[i];
    }
    uint64_t before = 0;
    uint64_t after = 0;
    for (size_t i = 0; i < problem.edges; i++) {
        const ctn_map_edge_t *edge = &problem.edge[i];
        before += problem.node[edge->from] != problem.node[edge->to]
                      ? edge->weight
                      : 0;
        after += home[edge->from] != home[edge->to] ? edge->weight : 0;
    }
    ck_assert_uint_eq(before, problem.before);
    ck_assert_uint_eq(after, problem.after);
    ck_assert_uint_le(after, before);
}

static void solve(void)
{
    ck_assert_int_eq(ctn_map_graph(problem.count, problem.node, problem.edges,
                                   problem.edge, problem.place, &problem.before,
                                   &problem.after),
                     CATENA_OK);
    check_places();
}

static void names(uint32_t name[], uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++) {
        name[i] = i;
    }
    shuffle(name, count, state);
}

/* ---- graphs ---- */

START_TEST(shuffled_mesh_is_put_in_order)
{
    uint64_t state = (uint64_t)_i;
    uint32_t name[64];
    names(name, 64, &state);
    even_nodes(4, 16);
    mesh(8, 8, name);
    solve();
    ck_assert_uint_le(2 * problem.after, problem.before);
    /* four squares have 32 */
    ck_assert_uint_ge(problem.after, 32);
    ck_assert_uint_le(problem.after, 40);
}
END_TEST

/** Each algorithm alone halves it, too. */
START_TEST(every_algorithm_halves_it)
{
    uint64_t state = (uint64_t)_i;
    uint32_t name[64];
    uint32_t part[64];
    names(name, 64, &state);
    even_nodes(4, 16);
    mesh(8, 8, name);
    ctn_map_problem_t map_problem;
    ck_assert_int_eq(ctn_map_open(&map_problem, 64, problem.node, problem.edges,
                                  problem.edge),
                     CATENA_OK);
    uint64_t before = ctn_map_cut_weight(&map_problem, problem.node);
    ck_assert_int_eq(ctn_map_grow(&map_problem, part), CATENA_OK);
    ck_assert_uint_le(2 * ctn_map_cut_weight(&map_problem, part), before);
    uint64_t grown = ctn_map_cut_weight(&map_problem, part);
    ck_assert_int_eq(ctn_map_refine(&map_problem, part), CATENA_OK);
    ck_assert_uint_le(ctn_map_cut_weight(&map_problem, part), grown);
    memcpy(part, problem.node, sizeof(part));
    ck_assert_int_eq(ctn_map_refine(&map_problem, part), CATENA_OK);
    ck_assert_uint_le(2 * ctn_map_cut_weight(&map_problem, part), before);
    if (ctn_map_scotch(&map_problem, part)) {
        ck_assert_int_eq(ctn_map_fit(&map_problem, part), CATENA_OK);
        ck_assert_uint_le(2 * ctn_map_cut_weight(&map_problem, part), before);
        uint32_t held[4] = {0};
        for (uint32_t v = 0; v < 64; v++) {
            held[part[v]]++;
        }
        for (uint32_t b = 0; b < 4; b++) {
            ck_assert_uint_eq(held[b], 16);
        }
    }
    ctn_map_close(&map_problem);
}
END_TEST

START_TEST(mesh_dealt_round_robin)
{
    uint32_t name[144];
    for (uint32_t i = 0; i < 144; i++) {
        name[i] = i;
        problem.node[i] = i % 9;
    }
    problem.count = 144;
    problem.edges = 0;
    mesh(12, 12, name);
    solve();
    /* nine squares have 96 */
    ck_assert_uint_le(problem.after, 110);
}
END_TEST

/** A process that need not move keeps its vertex. */
START_TEST(good_order_is_kept)
{
    even_nodes(4, 16);
    for (uint32_t v = 0; v < 64; v++) {
        add(v, v / 16 * 16 + (v + 1) % 16, 3);
    }
    solve();
    ck_assert_uint_eq(problem.before, 0);
    for (uint32_t i = 0; i < 64; i++) {
        ck_assert_uint_eq(problem.place[i], i);
    }
}
END_TEST

START_TEST(random_graphs_never_get_worse)
{
    uint64_t state = 77 + (uint64_t)_i;
    uint32_t sizes[12];
    uint32_t nodes = 1 + draw(&state, 12);
    for (uint32_t b = 0; b < nodes; b++) {
        sizes[b] = 1 + draw(&state, 30);
    }
    nodes_of(nodes, sizes);
    shuffle(problem.node, problem.count, &state);
    uint32_t edges = draw(&state, 4 * problem.count);
    for (uint32_t i = 0; i < edges; i++) {
        add(draw(&state, problem.count), draw(&state, problem.count),
            draw(&state, 5));
    }
    solve();
}
END_TEST

/** A mesh on nodes of different sizes: much better than a random mapping. */
START_TEST(uneven_nodes_are_filled_exactly)
{
    static const uint32_t sizes[] = {3, 40, 1, 20, 16, 16, 4};
    uint64_t state = 5 + (uint64_t)_i;
    uint32_t name[100];
    names(name, 100, &state);
    nodes_of(7, sizes);
    shuffle(problem.node, problem.count, &state);
    mesh(10, 10, name);
    solve();
    ck_assert_uint_le(2 * problem.after, problem.before);
}
END_TEST

/** Distant partners with heavy edges, next to a light ring. */
START_TEST(heavy_edges_count_more)
{
    uint64_t state = 9 + (uint64_t)_i;
    even_nodes(8, 8);
    for (uint32_t v = 0; v < 64; v++) {
        add(v, (v + 1) % 64, 1 + draw(&state, 3));
        add(v, (v + 32) % 64, 1000);
    }
    solve();
    ck_assert_uint_eq(problem.before, 64000 + problem.before % 1000);
    ck_assert_uint_lt(problem.after, 1000);
}
END_TEST

START_TEST(weights_of_any_size)
{
    even_nodes(2, 4);
    for (uint32_t v = 0; v < 8; v++) {
        add(v, (v + 4) % 8, INT32_MAX);
        add(v, (v + 1) % 8, 0);
    }
    solve();
    ck_assert_uint_eq(problem.before, 8 * (uint64_t)INT32_MAX);
    ck_assert_uint_eq(problem.after, 0);
}
END_TEST

/** All processes communicate with one of two hubs, half of them not with the
 * one on their node. */
START_TEST(hubs_gather_theirs)
{
    even_nodes(2, 50);
    for (uint32_t v = 2; v < 100; v++) {
        add(v, v % 2, 1);
    }
    solve();
    ck_assert_uint_eq(problem.after, 0);
}
END_TEST

START_TEST(nothing_to_map)
{
    even_nodes(1, 5);
    add(0, 4, 2);
    solve();
    even_nodes(5, 1);
    add(3, 3, 9);
    solve();
    ck_assert_uint_eq(problem.before, 0);
    even_nodes(3, 100);
    solve();
    even_nodes(1, 1);
    solve();
}
END_TEST

/** Return the least weight of any mapping, with the given capacities, from
 * vertex v on. */
static uint64_t least_of(uint32_t v, uint32_t *home, uint32_t *capacity,
                         uint32_t nodes, uint64_t so_far, uint64_t least)
{
    if (so_far >= least || v == problem.count) {
        return so_far < least ? so_far : least;
    }
    for (uint32_t b = 0; b < nodes; b++) {
        if (capacity[b] == 0) {
            continue;
        }
        home[v] = b;
        capacity[b]--;
        uint64_t more = 0;
        for (size_t i = 0; i < problem.edges; i++) {
            const ctn_map_edge_t *edge = &problem.edge[i];
            uint32_t later = edge->from > edge->to ? edge->from : edge->to;
            if (later == v && home[edge->from] != home[edge->to]) {
                more += edge->weight;
            }
        }
        least = least_of(v + 1, home, capacity, nodes, so_far + more, least);
        capacity[b]++;
    }
    return least;
}

/** Small graphs against all mappings: optimal or nearly so, on average. */
START_TEST(close_to_the_best)
{
    uint64_t state = 3;
    uint64_t found = 0;
    uint64_t best = 0;
    for (int trial = 0; trial < 60; trial++) {
        uint32_t capacity[] = {4, 3, 3};
        uint32_t home[10];
        nodes_of(3, capacity);
        for (uint32_t i = 0; i < 18; i++) {
            add(draw(&state, 10), draw(&state, 10), 1 + draw(&state, 9));
        }
        solve();
        uint64_t least = least_of(0, home, capacity, 3, 0, UINT64_MAX);
        ck_assert_uint_ge(problem.after, least);
        found += problem.after;
        best += least;
    }
    ck_assert_uint_le(100 * found, 103 * best);
}
END_TEST

/* ---- grids ---- */

/** Map a grid, after adding its edges for the check. */
static void solve_grid(const ctn_grid_t *grid, const int weights[])
{
    int ndirs = grid->displacements != NULL ? grid->ndirs : 2 * grid->ndims;
    uint32_t cells = 1;
    for (int d = 0; d < grid->ndims; d++) {
        cells *= (uint32_t)grid->dims[d];
    }
    for (uint32_t cell = 0; cell < cells; cell++) {
        for (int k = 0; k < ndirs; k++) {
            uint32_t to = 0;
            uint32_t stride = 1;
            bool within = true;
            for (int d = grid->ndims; d-- > 0;) {
                int at = (int)(cell / stride) % grid->dims[d];
                int step = grid->displacements != NULL
                               ? grid->displacements[k * grid->ndims + d]
                           : k / 2 != d ? 0
                           : k % 2      ? 1
                                        : -1;
                at += step;
                while (at < 0 && grid->periods[d]) {
                    at += grid->dims[d];
                }
                at = grid->periods[d] ? at % grid->dims[d] : at;
                within = within && at >= 0 && at < grid->dims[d];
                to += (uint32_t)at * stride;
                stride *= (uint32_t)grid->dims[d];
            }
            if (within) {
                add(cell, to, weights != NULL ? (uint64_t)weights[k] : 1);
            }
        }
    }
    ck_assert_int_eq(ctn_map_grid(problem.count, problem.node, grid, weights,
                                  problem.place, &problem.before,
                                  &problem.after),
                     CATENA_OK);
    check_places();
}

static void solve_cart(int ndims, int dims[], int periods[])
{
    ctn_grid_t grid = {.ndims = ndims, .dims = dims, .periods = periods};
    solve_grid(&grid, NULL);
}

START_TEST(grids_are_tiled)
{
    int open[] = {0, 0, 0};
    int ring[] = {1, 1, 1};
    even_nodes(4, 16);
    solve_cart(2, (int[]){8, 8}, open);
    ck_assert_uint_eq(problem.after, 32);
    even_nodes(4, 16);
    solve_cart(2, (int[]){8, 8}, ring);
    ck_assert_uint_eq(problem.after, 64);
    even_nodes(4, 9);
    solve_cart(2, (int[]){6, 6}, open);
    ck_assert_uint_eq(problem.after, 24);
    even_nodes(8, 8);
    solve_cart(3, (int[]){4, 4, 4}, open);
    ck_assert_uint_eq(problem.after, 96);
    even_nodes(12, 6);
    solve_cart(2, (int[]){8, 9}, open);
    ck_assert_uint_eq(problem.after, 2 * (3 * 9 + 2 * 8));
}
END_TEST

/** Round-robin nodes, and nodes whose cells are not one box. */
START_TEST(grids_that_do_not_fit)
{
    int open[] = {0, 0, 0};
    for (uint32_t i = 0; i < 70; i++) {
        problem.node[i] = i % 5;
    }
    problem.count = 70;
    problem.edges = 0;
    solve_cart(2, (int[]){7, 10}, open);
    ck_assert_uint_le(2 * problem.after, problem.before);
    static const uint32_t sizes[] = {5, 16, 30, 9};
    nodes_of(4, sizes);
    solve_cart(3, (int[]){3, 4, 5}, open);
    /* more ranks than cells */
    even_nodes(5, 12);
    solve_cart(2, (int[]){6, 8}, open);
    ck_assert_uint_le(problem.after, 2 * (6 + 8 + 6));
    for (uint32_t i = 0; i < 60; i++) {
        ck_assert_uint_lt(problem.place[i], 60);
    }
}
END_TEST

START_TEST(heavy_directions_stay_on_a_node)
{
    int dims[] = {8, 8};
    int ring[] = {1, 1};
    ctn_grid_t grid = {.ndims = 2, .dims = dims, .periods = ring};
    even_nodes(4, 16);
    solve_grid(&grid, (int[]){50, 50, 1, 1});
    /* two whole columns on each node */
    ck_assert_uint_eq(problem.after, 64);
    ck_assert_uint_eq(problem.before, 4 * 8 * 50 * 2);
}
END_TEST

START_TEST(derived_graphs)
{
    int dims[] = {12, 12};
    int open[] = {0, 0};
    int nine[] = {-1, -1, -1, 0, -1, 1, 0, -1, 0, 1, 1, -1, 1, 0, 1, 1};
    ctn_grid_t grid = {.ndims = 2,
                       .dims = dims,
                       .periods = open,
                       .ndirs = 8,
                       .displacements = nine};
    even_nodes(9, 16);
    solve_grid(&grid, NULL);
    /* Nine squares: straight edges, and the diagonal edges that are not within
     * one of them. */
    ck_assert_uint_eq(problem.after, 96 + 4 * (11 * 11 - 9 * 3 * 3));
    /* only distant edges: connected cells are far apart in the grid */
    int far[] = {4, 0, 0, 0, 0, 0};
    grid.ndirs = 3;
    grid.displacements = far;
    grid.periods = (int[]){1, 1};
    even_nodes(12, 12);
    solve_grid(&grid, (int[]){7, 1, 0});
    ck_assert_uint_eq(problem.after, 0);
}
END_TEST

START_TEST(grids_of_no_extent)
{
    int open[] = {0, 0};
    even_nodes(2, 2);
    solve_cart(0, (int[]){0}, open);
    even_nodes(2, 2);
    solve_cart(2, (int[]){1, 1}, open);
    even_nodes(2, 3);
    solve_cart(2, (int[]){1, 6}, (int[]){1, 1});
    ck_assert_uint_eq(problem.after, 4);
    even_nodes(3, 2);
    solve_cart(2, (int[]){2, 1}, (int[]){1, 1});
    ck_assert_uint_eq(problem.after, 0);
}
END_TEST

UNIT_TEST(reorder)
{
    Suite *suite = suite_create("reorder");
    TCase *graphs = tcase_create("graphs");
    tcase_set_timeout(graphs, 60);
    tcase_add_loop_test(graphs, shuffled_mesh_is_put_in_order, 0, 20);
    tcase_add_loop_test(graphs, every_algorithm_halves_it, 0, 10);
    tcase_add_test(graphs, mesh_dealt_round_robin);
    tcase_add_test(graphs, good_order_is_kept);
    tcase_add_loop_test(graphs, random_graphs_never_get_worse, 0, 50);
    tcase_add_loop_test(graphs, uneven_nodes_are_filled_exactly, 0, 5);
    tcase_add_loop_test(graphs, heavy_edges_count_more, 0, 5);
    tcase_add_test(graphs, weights_of_any_size);
    tcase_add_test(graphs, hubs_gather_theirs);
    tcase_add_test(graphs, nothing_to_map);
    tcase_add_test(graphs, close_to_the_best);
    suite_add_tcase(suite, graphs);
    TCase *grids = tcase_create("grids");
    tcase_add_test(grids, grids_are_tiled);
    tcase_add_test(grids, grids_that_do_not_fit);
    tcase_add_test(grids, heavy_directions_stay_on_a_node);
    tcase_add_test(grids, derived_graphs);
    tcase_add_test(grids, grids_of_no_extent);
    suite_add_tcase(suite, grids);
    return unit_run(suite);
}
