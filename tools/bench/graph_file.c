/* Reads the edges of a graph from a file. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vector.h"
#include "graph.h"

enum { MOST_RANKS = 4194304 };

/* State of the reader. */
struct reader {
    struct bench_graph *graph;
    const char *path;
    size_t line;  /* number of the line, from 1 */
    size_t room;  /* edges that graph->edges has memory for */
    char *wrong;  /* the error message */
    size_t bytes; /* of `wrong` */
};

/* Write the error message; returns false. */
static bool report_wrong(struct reader *reader, const char *expected,
                         const char *found)
{
    int length = (int)strcspn(found, "\r\n");

    snprintf(reader->wrong, reader->bytes,
             "--neighborhood: %s:%zu: expected %s, found \"%.*s\"",
             reader->path, reader->line, expected, length < 80 ? length : 80,
             found);
    return false;
}

/* Read the next number of a line, and the comma in front of it unless it is the
 * first. Returns the text behind the number; NULL: no number up to `most`. */
static const char *next_number(const char *text, bool first, long most,
                               int *number)
{
    char *end;
    long read;

    text += strspn(text, " \t");
    if (!first) {
        if (*text != ',')
            return NULL;
        text += 1 + strspn(text + 1, " \t");
    }
    if (strspn(text, "0123456789") == 0)
        return NULL;
    errno = 0;
    read = strtol(text, &end, 10);
    if (errno != 0 || read > most)
        return NULL;
    *number = (int)read;
    return end;
}

static bool blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool add_edge(struct reader *reader, struct bench_edge edge)
{
    struct bench_graph *graph = reader->graph;

    if (graph->edge_count == reader->room) {
        void *edges = ctn_vector_grow(graph->edges, &reader->room, 0,
                                      sizeof(*graph->edges));

        if (edges == NULL)
            return report_wrong(reader,
                                "fewer edges: there is no memory for more", "");
        graph->edges = edges;
    }
    graph->edges[graph->edge_count++] = edge;
    if (edge.source >= graph->vertices)
        graph->vertices = edge.source + 1;
    if (edge.target >= graph->vertices)
        graph->vertices = edge.target + 1;
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    struct bench_edge edge = {.weight = 1};
    const char *rest;

    reader->line++;
    line[strcspn(line, "#")] = '\0';
    if (blank(line))
        return true;
    rest = next_number(line, true, MOST_RANKS - 1, &edge.source);
    if (rest != NULL)
        rest = next_number(rest, false, MOST_RANKS - 1, &edge.target);
    if (rest == NULL)
        return report_wrong(reader, "two ranks, as \"source, target\"", line);
    if (!blank(rest)) {
        rest = next_number(rest, false, BENCH_MOST_WEIGHT, &edge.weight);
        if (rest == NULL || !blank(rest))
            return report_wrong(
                reader,
                "nothing behind two ranks but \", weight\", up to "
                "1000000",
                line);
        reader->graph->weights = BENCH_FROM_FILE;
    }
    return add_edge(reader, edge);
}

/* Sort the edges by their sources or targets; edges of one rank stay in the
 * order of the file. Sets, for example, graph->from and graph->from_begin. */
static bool sort_edges(const struct bench_graph *graph, bool by_source,
                       size_t **order, size_t **begin)
{
    size_t n = graph->edge_count, vertices = (size_t)graph->vertices;
    size_t *at = calloc(vertices + 2, sizeof(*at));
    size_t *sorted = calloc(n, sizeof(*sorted));

    *begin = at; /* at the end: at[v] is the begin of vertex v in `sorted` */
    *order = sorted;
    if (at == NULL || sorted == NULL)
        return false;
    /* First at[v + 2] counts the edges of vertex v. Then the sums make at[v +
     * 1] the begin of v. Each edge placed in `sorted` advances it, until it is
     * the end of v, which is the begin of v + 1. */
    for (size_t i = 0; i < n; i++) {
        const struct bench_edge *edge = &graph->edges[i];

        at[(by_source ? edge->source : edge->target) + 2]++;
    }
    for (size_t v = 2; v < vertices + 2; v++)
        at[v] += at[v - 1];
    for (size_t i = 0; i < n; i++) {
        const struct bench_edge *edge = &graph->edges[i];

        sorted[at[(by_source ? edge->source : edge->target) + 1]++] = i;
    }
    return true;
}

/* Read all lines; the file must have an edge. */
static bool read_lines(struct reader *reader, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;

    while (good && getline(&line, &room, file) >= 0)
        good = read_line(reader, line);
    free(line);
    if (good && ferror(file))
        good = report_wrong(reader, "a file that can be read", "");
    if (good && reader->graph->edge_count == 0)
        good = report_wrong(reader, "an edge, as \"source, target\"", "");
    return good;
}

bool bench_graph_read_file(const char *path, struct bench_graph *graph,
                           char *wrong, size_t bytes)
{
    struct reader reader = {
        .graph = graph, .path = path, .wrong = wrong, .bytes = bytes};
    FILE *file = fopen(path, "re");
    bool good;

    if (file == NULL) {
        snprintf(wrong, bytes, "--neighborhood: %s: %s", path, strerror(errno));
        return false;
    }
    good = read_lines(&reader, file);
    fclose(file);
    if (good && (!sort_edges(graph, true, &graph->from, &graph->from_begin) ||
                 !sort_edges(graph, false, &graph->to, &graph->to_begin))) {
        snprintf(wrong, bytes, "--neighborhood: %s: no memory for %zu edges",
                 path, graph->edge_count);
        good = false;
    }
    if (!good)
        bench_graph_free(graph);
    return good;
}
