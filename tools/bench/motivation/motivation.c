/* Functions that the benchmarks of this folder share; see motivation.h. */

#include "motivation/motivation.h"
#include "core/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const long sleep_ns = 20000; /* between two looks at a counter */

void figure_must(struct bench *bench, const char *what, catena_status_t status)
{
    if (status != CATENA_OK)
        bench_die(bench, what, status);
}

double figure_now_ns(void)
{
    return (double)ctn_clock_now_ns();
}

double figure_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), bench_compare_times);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double figure_ratio(struct bench *bench, const double *first,
                    const double *other, size_t n)
{
    double *ratio = bench_alloc(bench, n, sizeof(*ratio));
    double median;

    for (size_t i = 0; i < n; i++)
        ratio[i] = first[i] / other[i];
    median = figure_median(ratio, n);
    free(ratio);
    return median;
}

struct figure_range figure_range(const struct bench *bench,
                                 const struct bench_figure *figure)
{
    const struct bench_options *options = bench->options;
    struct figure_range range = {
        .min = options->min != BENCH_AUTO ? options->min : figure->min,
        .max = options->max != BENCH_AUTO ? options->max : figure->max,
        .turns = options->iterations != BENCH_AUTO ? options->iterations
                                                   : figure->turns,
        .warmup =
            options->warmup != BENCH_AUTO ? options->warmup : FIGURE_WARMUP};

    if (options->min == BENCH_AUTO && range.max < range.min)
        range.min = range.max;
    if (options->max == BENCH_AUTO && range.max < range.min)
        range.max = range.min;
    return range;
}

/* ---- the node ---- */

void *figure_allocate(struct bench *bench, size_t bytes)
{
    void *block = catena_aligned_alloc(bench->context, 4096, bytes);

    if (block == NULL)
        bench_die(bench, "shared heap (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    memset(block, 0, bytes);
    return block;
}

/* all[i] becomes the value `mine` of rank i of the node. Collective. */
static void share_value(struct figure_node *node, uint64_t mine, uint64_t *all)
{
    size_t ranks = (size_t)node->ranks;
    uint64_t *send = bench_alloc(node->bench, ranks, sizeof(*send));

    for (size_t i = 0; i < ranks; i++)
        send[i] = mine;
    bench_exchange(node->bench, node->group, send, all, sizeof(*all));
    free(send);
}

void figure_pointers(struct figure_node *node, const void *mine, void **out)
{
    catena_context_t *context = node->bench->context;
    uint64_t *offset =
        bench_alloc(node->bench, (size_t)node->ranks, sizeof(*offset));
    uint64_t own;

    figure_must(node->bench, "shared heap",
                catena_heap_offset(context, mine, &own));
    share_value(node, own, offset);
    for (int i = 0; i < node->ranks; i++)
        figure_must(
            node->bench, "shared heap",
            catena_heap_pointer(context, node->world[i], offset[i], &out[i]));
    free(offset);
}

/* Set node->world and node->numa. */
static void learn_ranks(struct figure_node *node)
{
    const catena_place_t *place = &node->bench->place;
    size_t ranks = (size_t)node->ranks;
    uint64_t *all = bench_alloc(node->bench, ranks, sizeof(*all));

    node->world = bench_alloc(node->bench, ranks, sizeof(*node->world));
    node->numa = bench_alloc(node->bench, ranks, sizeof(*node->numa));
    share_value(node, (uint64_t)place->rank, all);
    for (size_t i = 0; i < ranks; i++)
        node->world[i] = (int32_t)all[i];
    share_value(node, (uint64_t)(place->numa + 1), all);
    for (size_t i = 0; i < ranks; i++)
        node->numa[i] = (int32_t)all[i] - 1;
    free(all);
}

void figure_node_open(struct figure_node *node, struct bench *bench)
{
    size_t bytes;
    void **areas;
    void *mine;

    *node = (struct figure_node){.bench = bench};
    figure_must(bench, "group",
                catena_group_split_level(bench->world, CATENA_LEVEL_NODE,
                                         bench->place.rank, &node->group));
    node->me = catena_group_rank(node->group);
    node->ranks = catena_group_size(node->group);
    learn_ranks(node);
    bytes = sizeof(*node->shared) +
            (size_t)node->ranks * sizeof(node->shared->interval[0]);
    /* Each rank allocates such memory, because figure_pointers is collective;
     * that of rank 0 is used. */
    mine = figure_allocate(bench, bytes);
    areas = bench_alloc(bench, (size_t)node->ranks, sizeof(*areas));
    figure_pointers(node, mine, areas);
    node->shared = areas[0];
    free(areas);
    if (node->me != 0)
        catena_free(bench->context, mine);
}

void figure_node_close(struct figure_node *node)
{
    catena_context_t *context = node->bench->context;

    /* After the barrier no rank reads the shared memory any more. */
    figure_must(node->bench, "barrier", catena_barrier(node->group));
    if (node->me == 0)
        catena_free(context, node->shared);
    figure_must(node->bench, "freeing a group",
                catena_group_free(&node->group));
    free(node->world);
    free(node->numa);
}

void figure_finish(struct figure_node *node, double begin_ns, double end_ns)
{
    struct figure_interval *interval = &node->shared->interval[node->me];

    interval->begin_ns = begin_ns;
    interval->end_ns = end_ns;
    atomic_fetch_add_explicit(&node->shared->finished, 1, memory_order_release);
}

/* Calls catena_progress between two sleeps, which messages of this rank may
 * still need. */
void figure_await(struct figure_node *node, int parts)
{
    struct timespec duration = {0, sleep_ns};

    node->expected += (uint64_t)parts;
    while (atomic_load_explicit(&node->shared->finished, memory_order_acquire) <
           node->expected) {
        nanosleep(&duration, NULL);
        figure_must(node->bench, "progress",
                    catena_progress(node->bench->context));
    }
}

double figure_elapsed_ns(const struct figure_node *node, const bool *takes_part)
{
    double begin = 0, end = 0;
    bool any = false;

    for (int i = 0; i < node->ranks; i++) {
        const struct figure_interval *interval = &node->shared->interval[i];

        if (!takes_part[i])
            continue;
        begin = !any || interval->begin_ns < begin ? interval->begin_ns : begin;
        end = !any || interval->end_ns > end ? interval->end_ns : end;
        any = true;
    }
    return end > begin ? end - begin : 1; /* shorter than the clock's unit */
}

/* ---- reports ---- */

void figure_report_open(struct bench_report *report, struct bench *bench,
                        const struct bench_figure *figure,
                        const struct figure_range *range)
{
    char title[128], mode[128];

    snprintf(title, sizeof(title), "%s: %s", figure->name, figure->help);
    snprintf(mode, sizeof(mode),
             "medians of %zu turns, in each of which all lines of a size have "
             "one%s",
             range->turns,
             bench->options->check ? "; every byte checked once a size" : "");
    *report = (struct bench_report){.bench = bench};
    bench_report_begin(report, bench->options->format, figure->name, title);
    bench_report_ranks(report, "shared heap", mode);
}

void figure_report_wrong(const struct bench *bench, const char *figure,
                         size_t bytes, const struct bench_mismatch *first)
{
    fprintf(stderr,
            "catena-bench: rank %d: %s, %zu bytes: wrong byte in the %s %d, "
            "offset %zu: expected 0x%02x, found 0x%02x\n",
            bench->place.rank, figure, bytes, first->where, first->source,
            first->offset, first->expected, first->found);
}
