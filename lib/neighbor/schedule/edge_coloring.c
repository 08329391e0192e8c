/* NBR-2. Colors the edges of a bipartite multigraph with as many colors as the
 * greatest degree. [Koenig], "Ueber Graphen und ihre Anwendung auf
 * Determinantentheorie und Mengenlehre", Math. Ann. 77, 1916: there is such a
 * coloring.
 *
 * Edges are inserted one after the other, the heaviest first. An edge gets the
 * lowest color that is free at both ends. If there is none, a is free at the
 * sender and b at the receiver. The path of edges of colors a and b that begins
 * at the receiver does not reach the sender: at senders it would arrive along
 * an edge of color a. So a and b are exchanged along it, and the edge gets a.
 * Or they are exchanged along the path that begins at the sender, and the edge
 * gets b. Several pairs of free colors are tried, to find a path along which no
 * edge gets a color whose edges are all lighter.
 *
 * Time: for each edge the words of a set of colors, and a path of at most
 * 2 * ranks edges, which is short in practice; as much again for tries. Memory:
 * O(edges + ranks). */

#include "neighbor/schedule/edge_coloring.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** Which edges have which colors. A row belongs to a rank as sender or as
 * receiver, or to several of them. */
typedef struct color_table {
    ctn_bipartite_edge_t *edge;
    uint32_t colors;
    size_t words;  /* of a set of colors */
    uint32_t *row; /* [2 * ranks] of senders, then of receivers */
    size_t ranks;
    size_t rows;
    uint32_t *at;    /* [rows][colors] 1 + the edge; 0: the color is free */
    uint64_t *taken; /* [rows][words] the colors that are not free, and bits
                        beyond the last color */
    uint32_t *full;  /* [rows] that many words of `taken` have no free color */
    uint32_t *heaviest; /* [colors] no edge of the color is heavier */
    uint64_t tries;     /* that many edges may still be looked at in vain */
} color_table_t;

uint32_t ctn_edge_degrees(size_t ranks, const ctn_bipartite_edge_t edge[],
                          size_t count, uint32_t degree[])
{
    uint32_t most = 0;
    memset(degree, 0, 2 * ranks * sizeof(*degree));
    for (size_t i = 0; i < count; i++) {
        uint32_t sends = ++degree[edge[i].from];
        uint32_t receives = ++degree[ranks + edge[i].to];
        most = sends > most ? sends : most;
        most = receives > most ? receives : most;
    }
    return most;
}

/* ---- rows ---- */

/** The table has at most so many entries for each edge. */
enum { MOST_ENTRIES = 16, LEAST_ENTRIES = 1 << 16 };

/** Gives each rank its rows. If the table would be far larger than the number
 * of edges, because few ranks have many edges, ranks with few edges share a
 * row: a coloring in which their edges have different colors, too, is a
 * coloring. Two neighboring rows are more than full then, so there are at most
 * 2 * edges / colors + 1 on each side.
 * @param degree as of ctn_edge_degrees */
static void give_rows(color_table_t *table, const uint32_t *degree,
                      size_t count)
{
    size_t all = 2 * table->ranks * (size_t)table->colors;
    bool share = all > MOST_ENTRIES * count && all > LEAST_ENTRIES;
    for (int side = 0; side < 2; side++) {
        uint64_t filled = 0;
        for (size_t rank = 0; rank < table->ranks; rank++) {
            size_t vertex = (size_t)side * table->ranks + rank;
            filled += degree[vertex];
            if (rank == 0 || !share || filled > table->colors) {
                table->rows++;
                filled = degree[vertex];
            }
            table->row[vertex] = (uint32_t)(table->rows - 1);
        }
    }
}

static catena_status_t open_table(color_table_t *table)
{
    table->words = ((size_t)table->colors + 63) / 64;
    table->at = calloc(table->rows * table->colors, sizeof(*table->at));
    table->taken = calloc(table->rows * table->words, sizeof(*table->taken));
    table->full = calloc(table->rows, sizeof(*table->full));
    table->heaviest = calloc(table->colors, sizeof(*table->heaviest));
    if (table->at == NULL || table->taken == NULL || table->full == NULL ||
        table->heaviest == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < table->rows && table->colors % 64 != 0; i++) {
        table->taken[(i + 1) * table->words - 1] = UINT64_MAX
                                                   << table->colors % 64;
    }
    return CATENA_OK;
}

static void set(color_table_t *table, size_t row, uint32_t color,
                uint32_t number)
{
    uint64_t *taken = &table->taken[row * table->words];
    uint32_t *full = &table->full[row];
    table->at[row * table->colors + color] = number;
    taken[color / 64] |= UINT64_C(1) << color % 64;
    while (*full < table->words && taken[*full] == UINT64_MAX) {
        ++*full;
    }
}

static void clear(color_table_t *table, size_t row, uint32_t color)
{
    uint32_t *full = &table->full[row];
    table->at[row * table->colors + color] = 0;
    table->taken[row * table->words + color / 64] &=
        ~(UINT64_C(1) << color % 64);
    *full = color / 64 < *full ? color / 64 : *full;
}

/* ---- colors ---- */

/** The lowest color that is free in both rows; `colors` if there is none. */
static uint32_t lowest_free(const color_table_t *table, size_t row,
                            size_t other)
{
    const uint64_t *x = &table->taken[row * table->words];
    const uint64_t *y = &table->taken[other * table->words];
    size_t word = table->full[row] > table->full[other] ? table->full[row]
                                                        : table->full[other];
    while (word < table->words && (x[word] | y[word]) == UINT64_MAX) {
        word++;
    }
    return word < table->words
               ? (uint32_t)(word * 64) +
                     (uint32_t)__builtin_ctzll(~(x[word] | y[word]))
               : table->colors;
}

/** The highest color below `below` that is free in a row; `colors` if there is
 * none. */
static uint32_t highest_free(const color_table_t *table, size_t row,
                             uint32_t below)
{
    const uint64_t *taken = &table->taken[row * table->words];
    size_t word = (below + (size_t)63) / 64;
    uint64_t beyond = below % 64 != 0 ? UINT64_MAX << below % 64 : 0;
    while (word-- > table->full[row]) {
        uint64_t free_ones = ~(taken[word] | beyond);
        if (free_ones != 0) {
            return (uint32_t)(word * 64) + 63 -
                   (uint32_t)__builtin_clzll(free_ones);
        }
        beyond = 0;
    }
    return table->colors;
}

/** The row at the other end of an edge. */
static size_t far_row(const color_table_t *table,
                      const ctn_bipartite_edge_t *edge, size_t row)
{
    size_t from = table->row[edge->from];
    return from != row ? from : table->row[table->ranks + edge->to];
}

/** A path along which two colors may be exchanged. */
typedef struct color_path {
    size_t row;    /* where it begins */
    uint32_t a, b; /* its first edge has color a; b is free in its first row */
    uint64_t gain; /* by how much heavier the heaviest edges of the two colors
                      become */
} color_path_t;

/** Sets the gain of a path. @return false: it has too many edges */
static bool weigh(color_table_t *table, color_path_t *path)
{
    size_t row = path->row;
    uint32_t color[2] = {path->a, path->b};
    uint32_t most[2] = {0}; /* of the edges that leave these colors */
    uint32_t number;
    for (int i = 0; (number = table->at[row * table->colors + color[i]]) != 0;
         i = 1 - i) {
        const ctn_bipartite_edge_t *edge = &table->edge[number - 1];
        if (table->tries == 0) {
            return false;
        }
        table->tries--;
        most[i] = edge->weight > most[i] ? edge->weight : most[i];
        row = far_row(table, edge, row);
    }
    path->gain = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t least = table->heaviest[color[1 - i]];
        path->gain += most[i] > least ? most[i] - least : 0;
    }
    return true;
}

/** Exchanges the colors of a path. Then `a` is free in its first row. */
static void exchange(color_table_t *table, const color_path_t *path)
{
    size_t row = path->row;
    uint32_t a = path->a;
    uint32_t b = path->b;
    uint32_t number = table->at[row * table->colors + a];
    clear(table, row, a);
    while (number != 0) {
        ctn_bipartite_edge_t *edge = &table->edge[number - 1];
        size_t far = far_row(table, edge, row);
        uint32_t next = table->at[far * table->colors + b];
        uint32_t *heaviest = &table->heaviest[b];
        *heaviest = edge->weight > *heaviest ? edge->weight : *heaviest;
        edge->color = b;
        set(table, row, b, number);
        set(table, far, b, number);
        if (next == 0) {
            clear(table, far, a);
        }
        row = far;
        number = next;
        uint32_t other = a;
        a = b;
        b = other;
    }
}

/* With so many edges of paths, for each edge of the graph, the heavy ones of
 * large graphs keep their colors, and tries take no longer than the rest. */
enum { TRIES = 64, LEAST_TRIES = 1 << 20 };

enum { MOST_PATHS = 32 }; /* that are tried for an edge */

/** Makes a color free at both ends of an edge, which have no free color in
 * common. @return the color */
static uint32_t make_free(color_table_t *table, size_t from, size_t to)
{
    uint32_t first = highest_free(table, from, table->colors);
    uint32_t second = highest_free(table, to, table->colors);
    color_path_t best = {to, first, second, UINT64_MAX};
    int paths = 0;
    for (uint32_t a = first; a < table->colors;
         a = highest_free(table, from, a)) {
        for (uint32_t b = second; b < table->colors;
             b = highest_free(table, to, b)) {
            color_path_t path[] = {{to, a, b, 0}, {from, b, a, 0}};
            for (int i = 0; i < 2; i++) {
                if (!weigh(table, &path[i]) || ++paths > MOST_PATHS) {
                    goto found;
                }
                best = path[i].gain < best.gain ? path[i] : best;
                if (best.gain == 0) {
                    goto found;
                }
            }
        }
    }
found:
    exchange(table, &best);
    return best.a;
}

static void insert(color_table_t *table, uint32_t i)
{
    ctn_bipartite_edge_t *edge = &table->edge[i];
    size_t from = table->row[edge->from];
    size_t to = table->row[table->ranks + edge->to];
    uint32_t color = lowest_free(table, from, to);
    if (color == table->colors) {
        color = make_free(table, from, to);
    }
    uint32_t *heaviest = &table->heaviest[color];
    *heaviest = edge->weight > *heaviest ? edge->weight : *heaviest;
    edge->color = color;
    set(table, from, color, i + 1);
    set(table, to, color, i + 1);
}

catena_status_t ctn_edge_coloring(size_t ranks, ctn_bipartite_edge_t edge[],
                                  size_t count, uint32_t *colors)
{
    *colors = 0;
    if (count == 0) {
        return CATENA_OK;
    }
    if (count >= UINT32_MAX) { /* its number in the table */
        return CATENA_ERR_NO_MEMORY;
    }
    color_table_t table = {.edge = edge,
                           .ranks = ranks,
                           .tries = LEAST_TRIES + TRIES * (uint64_t)count};
    uint32_t *degree = malloc(4 * ranks * sizeof(*degree));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (degree != NULL) {
        table.row = degree + 2 * ranks;
        table.colors = ctn_edge_degrees(ranks, edge, count, degree);
        give_rows(&table, degree, count);
        status = open_table(&table);
    }
    for (uint32_t i = 0; i < count && status == CATENA_OK; i++) {
        insert(&table, i);
    }
    free(degree);
    free(table.at);
    free(table.taken);
    free(table.full);
    free(table.heaviest);
    *colors = table.colors;
    return status == CATENA_OK
               ? ctn_edge_colors_order(edge, count, table.colors)
               : status;
}

/* ---- their order ---- */

/** What decides the place of a color. */
typedef struct color_load {
    uint32_t heaviest;
    uint32_t color;
    uint64_t sum;
} color_load_t;

static int by_load(const void *a, const void *b)
{
    const color_load_t *x = a;
    const color_load_t *y = b;
    return x->heaviest != y->heaviest ? (x->heaviest < y->heaviest ? 1 : -1)
           : x->sum != y->sum         ? (x->sum < y->sum ? 1 : -1)
                              : (x->color > y->color) - (x->color < y->color);
}

catena_status_t ctn_edge_colors_order(ctn_bipartite_edge_t edge[], size_t count,
                                      uint32_t colors)
{
    color_load_t *load = calloc(colors + (size_t)1, sizeof(*load));
    uint32_t *place = calloc(colors + (size_t)1, sizeof(*place));
    bool ready = load != NULL && place != NULL;
    for (uint32_t i = 0; i < colors && ready; i++) {
        load[i].color = i;
    }
    for (size_t i = 0; i < count && ready; i++) {
        color_load_t *own = &load[edge[i].color];
        own->heaviest =
            edge[i].weight > own->heaviest ? edge[i].weight : own->heaviest;
        own->sum += edge[i].weight;
    }
    if (ready) {
        qsort(load, colors, sizeof(*load), by_load);
    }
    for (uint32_t i = 0; i < colors && ready; i++) {
        place[load[i].color] = i;
    }
    for (size_t i = 0; i < count && ready; i++) {
        edge[i].color = place[edge[i].color];
    }
    free(load);
    free(place);
    return ready ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}
