/* What can be measured: collectives, and the figures of the motivation. A new
 * one is a row here and a file of its own. */

#include <string.h>

#include "bench.h"
#include "motivation.h"

static const struct bench_collective *const table[] = {
    &bench_alltoall, &bench_alltoallv, &bench_alltoallw,
    &bench_barrier,  &bench_flag,      &bench_split,
};

const struct bench_collective *bench_list(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? table[index] : NULL;
}

const struct bench_collective *bench_find(const char *name)
{
    const struct bench_collective *row;

    for (size_t i = 0; (row = bench_list(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static const struct bench_figure *const figures[] = {
    &bench_gather_scatter,
    &bench_endpoints,
};

const struct bench_figure *bench_list_figure(size_t index)
{
    return index < sizeof(figures) / sizeof(figures[0]) ? figures[index] : NULL;
}

const struct bench_figure *bench_find_figure(const char *name)
{
    const struct bench_figure *figure;

    for (size_t i = 0; (figure = bench_list_figure(i)) != NULL; i++)
        if (strcmp(figure->name, name) == 0)
            return figure;
    return NULL;
}
