/* Measure one collective over its sizes: variants, buffers, results. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/random.h"
#include "measure.h"
#include "overlap.h"
#include "report.h"
#include "variants.h"

enum { PAGE = 4096 };

/* The buffers of this rank, for all sizes and variants. */
struct buffers {
    bool heap;           /* in the shared heap, not from malloc */
    unsigned char *send; /* NULL: in place */
    unsigned char *recv;
};

/* The results of one variant: first of a rank, then combined those of all. */
struct summary {
    double mean_s;           /* of the values; combined: the largest */
    double median_s;         /* of the values; combined: the sum */
    double min_s;            /* of the values; combined: the smallest */
    uint64_t errors;         /* combined: the sum */
    catena_sim_stats_t sent; /* combined: the sum */
    uint64_t heap_bytes;     /* combined: the maximum */
    uint64_t metrics[BENCH_MAX_METRICS]; /* combined: the maximum of each */
};

/* Allocate a buffer in whole pages, on a page boundary. */
static void *buffer_alloc(struct bench *bench, bool heap, size_t bytes)
{
    void *block;

    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    block = heap ? catena_aligned_alloc(bench->context, PAGE, bytes)
                 : aligned_alloc(PAGE, bytes);
    if (block == NULL)
        bench_die(bench, "memory for buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    if (bench->simulation == NULL)
        memset(block, 0, bytes); /* no page faults in timed calls */
    return block;
}

static void fold_sums(void *into, const void *from, size_t bytes)
{
    uint64_t *a = into;
    const uint64_t *b = from;

    for (size_t i = 0; i < bytes / sizeof(*a); i++)
        a[i] += b[i];
}

/* Print a note about blocks of various lengths with their real mean, which may
 * be far from the requested one if ranks are few. */
static void describe_blocks(struct bench_run *run,
                            const struct bench_collective *collective,
                            size_t bytes, const struct bench_blocks *sends)
{
    uint64_t sums[] = {sends->bytes, (uint64_t)sends->number};

    if (collective->blocks == NULL)
        return;
    bench_fold(run->bench, sums, sizeof(sums), fold_sums);
    bench_report_note(run->report, "blocks: %s; at %zu B %.1f B on average",
                      collective->blocks, bytes,
                      (double)sums[0] / (double)sums[1]);
}

static void drop_layout(struct bench_call *call,
                        const struct bench_collective *collective)
{
    if (collective->drop_layout != NULL)
        collective->drop_layout(call);
}

/* Allocate buffers for blocks of up to `bytes`. */
static void buffers_open(struct bench_run *run,
                         const struct bench_collective *collective,
                         size_t bytes, struct buffers *buffers)
{
    struct bench *bench = run->bench;
    const struct bench_options *options = bench->options;
    struct bench_call call = run->variants[0].call;
    size_t send_bytes, recv_bytes;
    bool in_place;

    call.bytes = bytes;
    collective->lay_out(&call);
    send_bytes = call.layout.sends.bytes;
    recv_bytes = call.layout.recvs.bytes;
    in_place = call.layout.in_place;
    describe_blocks(run, collective, bytes, &call.layout.sends);
    drop_layout(&call, collective);
    buffers->heap =
        options->buffers == BENCH_HEAP ||
        (options->buffers == BENCH_MIXED && bench->place.rank % 2 == 0);
    buffers->recv =
        buffer_alloc(bench, buffers->heap, recv_bytes + BENCH_GUARD_BYTES);
    if (!in_place)
        buffers->send =
            buffer_alloc(bench, buffers->heap, send_bytes > 0 ? send_bytes : 1);
}

static void buffers_close(struct bench *bench, struct buffers *buffers)
{
    if (buffers->heap) {
        catena_free(bench->context, buffers->send);
        catena_free(bench->context, buffers->recv);
    } else {
        free(buffers->send);
        free(buffers->recv);
    }
}

/* Set the arguments of all variants for this size, and create persistent
 * requests. */
static void begin_size(struct bench_run *run, const struct buffers *buffers,
                       size_t bytes)
{
    struct bench_variant *first = &run->variants[0]; /* owns the layout */

    first->call.bytes = bytes;
    if (first->collective->lay_out != NULL)
        first->collective->lay_out(&first->call);
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        catena_status_t status = CATENA_OK;

        variant->call.bytes = bytes;
        variant->call.layout = first->call.layout;
        variant->call.recv = buffers->recv;
        variant->call.send =
            variant->call.layout.in_place ? CATENA_IN_PLACE : buffers->send;
        variant->errors = 0;
        variant->reported = false;
        if (variant->mode != BENCH_PERSISTENT ||
            variant->collective->init == NULL)
            continue;
        bench_use(run, variant);
        status = variant->collective->init(&variant->call, &variant->request);
        if (status != CATENA_OK)
            bench_die(run->bench, variant->collective->name, status);
    }
}

/* Free what belongs to one size. */
static void end_size(struct bench_run *run)
{
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];

        free(variant->times);
        variant->times = NULL;
        if (variant->request != NULL)
            catena_request_free(&variant->request);
    }
    drop_layout(&run->variants[0].call, run->variants[0].collective);
}

static void fold_summaries(void *into, const void *from, size_t bytes)
{
    struct summary *a = into;
    const struct summary *b = from;

    (void)bytes;
    if (b->mean_s > a->mean_s)
        a->mean_s = b->mean_s;
    a->median_s += b->median_s;
    if (b->min_s < a->min_s)
        a->min_s = b->min_s;
    a->errors += b->errors;
    a->sent.messages += b->sent.messages;
    a->sent.bytes += b->sent.bytes;
    a->sent.node_messages += b->sent.node_messages;
    if (b->heap_bytes > a->heap_bytes)
        a->heap_bytes = b->heap_bytes;
    for (size_t i = 0; i < BENCH_MAX_METRICS; i++)
        if (b->metrics[i] > a->metrics[i])
            a->metrics[i] = b->metrics[i];
}

static struct summary summarize(struct bench *bench,
                                const struct bench_variant *variant, size_t n)
{
    struct summary all = {.mean_s = bench_mean(variant->times, n),
                          .median_s = bench_median(bench, variant->times, n),
                          .min_s = variant->times[0],
                          .errors = variant->errors,
                          .sent = variant->sent};
    catena_heap_stats_t heap = {.size = sizeof(heap)};

    for (size_t i = 1; i < n; i++)
        if (variant->times[i] < all.min_s)
            all.min_s = variant->times[i];
    if (catena_heap_get_stats(bench->context, &heap) == CATENA_OK)
        all.heap_bytes = heap.peak;
    memcpy(all.metrics, variant->metrics, sizeof(all.metrics));
    bench_fold(bench, &all, sizeof(all), fold_summaries);
    return all;
}

/* Combine the results of the ranks. Afterwards each of the `times` is the
 * maximum over the ranks. Returns the errors of all ranks. */
static uint64_t gather_results(struct bench_run *run,
                               struct bench_result *results)
{
    size_t n = run->plan.values;
    uint64_t errors = 0;

    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        struct summary all = summarize(run->bench, variant, n);

        bench_max_times(run->bench, variant->times, n);
        results[v] = (struct bench_result){
            .variant = variant->name,
            .explain = variant->explain,
            .bytes = variant->call.bytes,
            .iterations = n * bench_batch(run, variant),
            .avg_us = all.mean_s * 1e6,
            .median_us = all.median_s / run->bench->place.ranks * 1e6,
            .min_us = all.min_s * 1e6,
            .errors = all.errors,
            .messages = all.sent.messages / n,
            .wire_bytes = all.sent.bytes / n,
            .node_messages = all.sent.node_messages / n,
            .heap_bytes = all.heap_bytes};
        memcpy(results[v].metrics, all.metrics, sizeof(all.metrics));
        errors += all.errors;
    }
    return errors;
}

/* The median of the values of some rounds; `values` is scratch memory. */
static double median_of_rounds(const struct bench_run *run,
                               const struct bench_variant *variant,
                               const size_t *rounds, double *values)
{
    const struct bench_plan *plan = &run->plan;
    size_t n = 0;

    for (size_t i = 0; i < plan->rounds; i++) {
        size_t begin = rounds[i] * plan->round_values;
        size_t end = begin + plan->round_values;

        for (; begin < end && begin < plan->values; begin++)
            values[n++] = variant->times[begin];
    }
    qsort(values, n, sizeof(*values), bench_compare_times);
    return bench_percentile(values, n, 50);
}

/* The ratio of the medians of two variants, and its interval: rounds are drawn
 * again with replacement, the same for both, whose rounds follow each other.
 * Valid on rank 0, which has all times in the order of measurement. */
static void find_ratio(const struct bench_run *run,
                       const struct bench_variant *base,
                       const struct bench_variant *variant,
                       struct bench_result *result)
{
    enum { DRAWS = 400 };
    const struct bench_plan *plan = &run->plan;
    size_t most = plan->rounds * plan->round_values;
    double *values = bench_alloc(run->bench, most, sizeof(*values));
    size_t *rounds = bench_alloc(run->bench, plan->rounds, sizeof(*rounds));
    double ratios[DRAWS];
    uint64_t random = 1;

    for (int draw = -1; draw < DRAWS; draw++) {
        double own, first;

        for (size_t i = 0; i < plan->rounds; i++)
            rounds[i] = draw < 0 ? i : ctn_random(&random) % plan->rounds;
        own = median_of_rounds(run, variant, rounds, values);
        first = median_of_rounds(run, base, rounds, values);
        first = own > 0 ? first / own : 1;
        if (draw < 0)
            result->ratio = first;
        else
            ratios[draw] = first;
    }
    qsort(ratios, DRAWS, sizeof(*ratios), bench_compare_times);
    result->ratio_low = ratios[DRAWS / 40];
    result->ratio_high = ratios[DRAWS - 1 - DRAWS / 40];
    free(values);
    free(rounds);
}

/* Set the ratios of the results, before sort_times. */
static void find_ratios(const struct bench_run *run,
                        struct bench_result *results)
{
    bool prints = run->bench->place.rank == 0;

    for (size_t v = 0; prints && v < run->count; v++)
        if (v == 0)
            results[v].ratio = results[v].ratio_low = results[v].ratio_high = 1;
        else
            find_ratio(run, &run->variants[0], &run->variants[v], &results[v]);
}

static void sort_times(const struct bench_variant *variant, size_t n,
                       struct bench_result *result)
{
    double *times = variant->times;

    qsort(times, n, sizeof(*times), bench_compare_times);
    result->max_us = times[n - 1] * 1e6;
    result->p50_us = bench_percentile(times, n, 50) * 1e6;
    result->p90_us = bench_percentile(times, n, 90) * 1e6;
    result->p99_us = bench_percentile(times, n, 99) * 1e6;
}

/* Gather and report this size; returns the errors of all ranks. */
static uint64_t report_size(struct bench_run *run)
{
    size_t step = run->bench->options->overlap ? BENCH_PARTS : 1;
    struct bench_result *results =
        bench_alloc(run->bench, run->count, sizeof(*results));
    uint64_t errors = gather_results(run, results);

    find_ratios(run, results);
    for (size_t v = 0; v < run->count; v++)
        sort_times(&run->variants[v], run->plan.values, &results[v]);
    for (size_t v = 0; v < run->count; v += step)
        if (run->bench->options->overlap)
            bench_report_overlap(run->report, &results[v]);
        else
            bench_report_result(run->report, &results[v]);
    free(results);
    return errors;
}

static uint64_t run_size(struct bench_run *run, const struct buffers *buffers,
                         size_t bytes)
{
    uint64_t errors;

    begin_size(run, buffers, bytes);
    bench_make_plan(run);
    for (size_t v = 0; v < run->count; v++)
        run->variants[v].times =
            bench_alloc(run->bench, run->plan.values, sizeof(double));
    bench_measure(run);
    errors = run->take(run);
    end_size(run);
    return errors;
}

/* The smallest and the largest size: the collective's own unless -m gives them.
 * A reduction's smallest is a multiple of the element size. */
static void find_sizes(const struct bench_options *options,
                       const struct bench_collective *collective, size_t *least,
                       size_t *most)
{
    size_t element =
        bench_has_trait(collective, CTN_REDUCES) ? options->type->bytes : 1;
    size_t min = options->min != BENCH_AUTO ? options->min : collective->min;
    size_t max = options->max != BENCH_AUTO ? options->max : collective->max;

    if (options->min == BENCH_AUTO && min < element)
        min = element;
    if (options->min == BENCH_AUTO && max < min)
        min = max / element * element;
    if (options->max == BENCH_AUTO && max < min)
        max = min;
    *least = min;
    *most = max;
}

/* The largest size whose buffers the option -M allows on all ranks. */
static size_t within_limit(struct bench_run *run,
                           const struct bench_collective *collective,
                           size_t min, size_t max)
{
    const struct bench_options *options = run->bench->options;
    struct bench_call call = run->variants[0].call;
    size_t allowed = SIZE_MAX; /* none so far */
    uint64_t needed = 0;

    if (options->memory == 0)
        return max;
    for (size_t bytes = min; bytes <= max;
         bytes = bytes ? options->step * bytes : 1) {
        call.bytes = bytes;
        collective->lay_out(&call);
        needed = call.layout.recvs.bytes +
                 (call.layout.in_place ? 0 : call.layout.sends.bytes);
        drop_layout(&call, collective);
        needed = bench_max(run->bench, needed);
        if (needed > options->memory)
            break;
        allowed = bytes;
    }
    if (allowed == SIZE_MAX) {
        if (run->bench->place.rank == 0)
            fprintf(stderr,
                    "catena-bench: -M: blocks of %zu B, the smallest size, "
                    "take buffers of %llu B, expected at most %zu; smaller "
                    "ones: -m\n",
                    min, (unsigned long long)needed, options->memory);
        catena_abort(run->bench->context, BENCH_USAGE);
    }
    if (needed > options->memory)
        bench_report_note(run->report,
                          "sizes above %zu B are left out: their buffers take "
                          "%llu B and more, -M allows %zu",
                          allowed, (unsigned long long)needed, options->memory);
    return allowed;
}

uint64_t bench_run_sizes(struct bench_run *run,
                         const struct bench_collective *collective)
{
    struct bench *bench = run->bench;
    size_t element = bench_has_trait(collective, CTN_REDUCES)
                         ? bench->options->type->bytes
                         : 1;
    struct buffers buffers = {0};
    uint64_t errors = 0;
    size_t min, max;

    if (collective->lay_out == NULL)
        return run_size(run, &buffers, 0);
    find_sizes(bench->options, collective, &min, &max);
    max = within_limit(run, collective, min, max);
    if (max > SIZE_MAX / 16 / (size_t)bench->place.ranks)
        bench_die(bench, "size of buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    buffers_open(run, collective, max, &buffers);
    for (size_t bytes = min; bytes <= max;
         bytes = bytes ? bench->options->step * bytes : element)
        errors += run_size(run, &buffers, bytes);
    buffers_close(bench, &buffers);
    return errors;
}

/* Why the collective cannot run among these ranks; NULL: it can. */
static const char *refusal(const struct bench *bench,
                           const struct bench_collective *collective)
{
    const struct bench_options *options = bench->options;
    const char *refused =
        collective->refuse != NULL ? collective->refuse(bench) : NULL;

    if (refused == NULL && bench_has_trait(collective, CTN_ROOT_ARGUMENT) &&
        options->root >= bench->place.ranks)
        refused = "--root: expected a lower rank than there are ranks";
    if (refused == NULL && options->flag)
        refused = bench_flag.refuse(bench);
    return refused;
}

static size_t longest_name(const struct bench_run *run)
{
    size_t longest = 0;

    for (size_t v = 0; v < run->count; v++)
        if (strlen(run->variants[v].name) > longest)
            longest = strlen(run->variants[v].name);
    return longest;
}

/* Print notes about the options, and those of the collective. */
static void describe(struct bench_run *run,
                     const struct bench_collective *collective)
{
    const struct bench_options *options = run->bench->options;

    if (bench_has_trait(collective, CTN_REDUCES))
        bench_report_note(run->report, "reduction: %s of %s", options->op->name,
                          options->type->name);
    if (bench_has_trait(collective, CTN_ROOT_ARGUMENT))
        bench_report_note(run->report, "root: %d", options->root);
    if (collective->describe != NULL)
        collective->describe(&run->variants[0].call, run->report);
}

int bench_collective(struct bench *bench,
                     const struct bench_collective *collective)
{
    struct bench_report report;
    struct bench_run run = {.bench = bench,
                            .report = &report,
                            .fresh = !bench->options->keep &&
                                     bench->simulation == NULL,
                            .take = report_size};
    const char *refused = refusal(bench, collective);
    bool several;
    uint64_t errors;

    if (refused != NULL) {
        if (bench->place.rank == 0)
            fprintf(stderr, "catena-bench: %s, found %d on %d\n", refused,
                    bench->place.ranks, bench->place.nodes);
        return BENCH_USAGE;
    }
    if (!bench_settings_known(bench, collective))
        return BENCH_USAGE;
    if (bench->options->overlap)
        bench_work_calibrate(bench);
    bench_variants_open(&run, collective);
    several = run.count > (bench->options->overlap ? BENCH_PARTS : 1);
    bench_report_open(&report, bench, collective,
                      several ? longest_name(&run) : 0);
    describe(&run, collective);
    errors = bench_run_sizes(&run, collective);
    bench_report_close(&report);
    bench_variants_close(&run);
    return errors == 0 ? BENCH_OK : BENCH_FAILED;
}
