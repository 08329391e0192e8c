/* The collectives that can be measured. A new one is a row here and a file
 * of its own. */

#include <string.h>

#include "bench.h"

static const struct bench_collective *const table[] = {
    &bench_alltoall,
    &bench_barrier,
    &bench_flag,
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
