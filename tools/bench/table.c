/* The table of all benchmarks: collectives, and the benchmarks of motivation/,
 * which reproduce figures of [Peng]. The benchmark `heap` is in
 * collectives/heap.c. */

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/suggest.h"
#include "motivation/motivation.h"

static const struct bench_collective *const table[] = {
#define CTN_ALLTOALL(NAME, name, ...) &bench_##name,
#include "core/calls.def"
#define CTN_CALL(NAME, name, ...) &bench_##name,
#define CTN_VARIANT(NAME, name, ...) &bench_##name,
#define CTN_NEIGHBOR(NAME, name, ...) &bench_##name,
#include "core/calls.def"
    &bench_flag,
    &bench_split,
};

const struct bench_collective *bench_list(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? table[index] : NULL;
}

const struct bench_collective *bench_find(const char *name)
{
    const struct bench_collective *collective;

    for (size_t i = 0; (collective = bench_list(i)) != NULL; i++)
        if (strcmp(collective->name, name) == 0)
            return collective;
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

const char *bench_nearest(const char *name)
{
    const struct bench_collective *collective;
    ctn_nearest_t nearest = {name, strlen(name), 4, NULL};

    for (size_t i = 0; (collective = bench_list(i)) != NULL; i++)
        ctn_nearest_try(&nearest, collective->name);
    return nearest.name;
}

void bench_list_names(char *text, size_t bytes, bool help)
{
    const struct bench_collective *collective;
    const struct bench_figure *figure;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; (collective = bench_list(i)) != NULL && used < bytes;
         i++)
        used +=
            help ? (size_t)snprintf(text + used, bytes - used, "  %-20s %s\n",
                                    collective->name, collective->help)
                 : (size_t)snprintf(text + used, bytes - used, "%s, ",
                                    collective->name);
    for (size_t i = 0; (figure = bench_list_figure(i)) != NULL && used < bytes;
         i++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 help ? "  %-20s %s\n" : "%s, ", figure->name,
                                 figure->help);
    if (used < bytes)
        snprintf(text + used, bytes - used,
                 help ? "  heap                 the shared heap's allocator\n"
                      : "heap");
}
