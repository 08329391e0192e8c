/* Measure one collective over its sizes: variants, buffers, results. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "measure.h"
#include "report.h"

enum { PAGE = 4096 };

struct buffers {
    bool heap;
    unsigned char *send;
    unsigned char *recv;
};

/* What the ranks find out together about one variant. */
struct summary {
    double mean_s; /* largest */
    double min_s;  /* least */
    uint64_t errors;
    catena_sim_stats_t sent;         /* all of it */
    uint64_t heap_bytes;             /* most of a rank */
    uint64_t facts[BENCH_MAX_FACTS]; /* likewise */
};

static void *buffer_alloc(struct bench *bench, bool heap, size_t bytes)
{
    void *block;

    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    block = heap ? catena_aligned_alloc(bench->context, PAGE, bytes)
                 : aligned_alloc(PAGE, bytes);
    if (block == NULL)
        bench_die(bench, "memory for buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    if (bench->board == NULL)
        memset(block, 0, bytes); /* no page faults while measuring */
    return block;
}

static void fold_sum(void *into, const void *from, size_t bytes)
{
    (void)bytes;
    *(uint64_t *)into += *(const uint64_t *)from;
}

/* What blocks are like, and how long in truth: among few ranks random lengths
 * may lie far from what was asked for. */
static void describe_blocks(struct bench_run *run,
                            const struct bench_collective *row, size_t bytes,
                            size_t send_bytes)
{
    double ranks = run->bench->place.size;
    uint64_t sum = send_bytes;

    if (row->blocks == NULL)
        return;
    bench_fold(run->bench, &sum, sizeof(sum), fold_sum);
    bench_report_note(run->report, "blocks: %s; at %zu B %.1f B on average",
                      row->blocks, bytes, (double)sum / ranks / ranks);
}

static void drop_layout(struct bench_call *call,
                        const struct bench_collective *row)
{
    if (row->drop_layout != NULL)
        row->drop_layout(call);
}

/* Buffers for blocks of up to so many bytes. */
static void buffers_open(struct bench_run *run,
                         const struct bench_collective *row, size_t bytes,
                         struct buffers *buffers)
{
    struct bench *bench = run->bench;
    const struct bench_options *options = bench->options;
    struct bench_call call = run->variants[0].call;
    size_t send_bytes, recv_bytes;

    call.bytes = bytes;
    row->lay_out(&call);
    send_bytes = call.layout.sends.bytes;
    recv_bytes = call.layout.recvs.bytes;
    drop_layout(&call, row);
    describe_blocks(run, row, bytes, send_bytes);
    buffers->heap =
        options->buffers == BENCH_HEAP ||
        (options->buffers == BENCH_MIXED && bench->place.rank % 2 == 0);
    buffers->recv =
        buffer_alloc(bench, buffers->heap, recv_bytes + BENCH_GUARD_BYTES);
    if (!options->in_place)
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

static void add_variant(struct bench_run *run, const char *name,
                        const char *algorithm,
                        const struct bench_collective *row)
{
    struct bench *bench = run->bench;
    struct bench_variant *variant = &run->variants[run->count++];
    catena_status_t status;

    *variant =
        (struct bench_variant){.name = name,
                               .algorithm = algorithm,
                               .row = row,
                               .call = {.bench = bench,
                                        .group = bench->world,
                                        .rank = catena_group_rank(bench->world),
                                        .size = catena_group_size(bench->world),
                                        .algorithm = algorithm}};
    if (row->prepare != NULL) {
        status = row->prepare(&variant->call);
        if (status != CATENA_OK)
            bench_die(bench, row->name, status);
    }
}

/* Without -a there is one variant, whatever the library or its environment
 * chooses; the report says what that was. */
static void add_variants(struct bench_run *run,
                         const struct bench_collective *row)
{
    const struct bench_options *options = run->bench->options;

    for (size_t i = 0; i < options->algorithm_count; i++)
        add_variant(run, options->algorithms[i], options->algorithms[i], row);
    if (options->algorithm_count == 0)
        add_variant(run, row->algorithm_names != NULL ? "default" : row->name,
                    NULL, row);
    if (options->flag)
        add_variant(run, bench_flag.name, NULL, &bench_flag);
}

/* Point the calls at this size; persistent requests are made here. */
static void begin_size(struct bench_run *run, const struct buffers *buffers,
                       size_t bytes)
{
    const struct bench_options *options = run->bench->options;
    struct bench_variant *leader = &run->variants[0];

    leader->call.bytes = bytes;
    if (leader->row->lay_out != NULL)
        leader->row->lay_out(&leader->call);
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        catena_status_t status = CATENA_OK;

        variant->call.bytes = bytes;
        variant->call.layout = leader->call.layout;
        variant->call.recv = buffers->recv;
        variant->call.send =
            options->in_place ? CATENA_IN_PLACE : buffers->send;
        variant->errors = 0;
        variant->complained = false;
        if (options->mode != BENCH_PERSISTENT || variant->row->init == NULL)
            continue;
        bench_use(run, variant);
        status = variant->row->init(&variant->call, &variant->request);
        if (status != CATENA_OK)
            bench_die(run->bench, variant->row->name, status);
    }
}

static void end_size(struct bench_run *run)
{
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];

        free(variant->times);
        variant->times = NULL;
        if (variant->request != NULL)
            catena_request_free(&variant->request);
    }
    drop_layout(&run->variants[0].call, run->variants[0].row);
}

static void fold_summaries(void *into, const void *from, size_t bytes)
{
    struct summary *a = into;
    const struct summary *b = from;

    (void)bytes;
    if (b->mean_s > a->mean_s)
        a->mean_s = b->mean_s;
    if (b->min_s < a->min_s)
        a->min_s = b->min_s;
    a->errors += b->errors;
    a->sent.messages += b->sent.messages;
    a->sent.bytes += b->sent.bytes;
    a->sent.node_messages += b->sent.node_messages;
    if (b->heap_bytes > a->heap_bytes)
        a->heap_bytes = b->heap_bytes;
    for (size_t i = 0; i < BENCH_MAX_FACTS; i++)
        if (b->facts[i] > a->facts[i])
            a->facts[i] = b->facts[i];
}

static struct summary summarize(struct bench *bench,
                                const struct bench_variant *variant, size_t n)
{
    struct summary all = {.mean_s = bench_mean(variant->times, n),
                          .min_s = variant->times[0],
                          .errors = variant->errors,
                          .sent = variant->sent};
    catena_heap_stats_t heap;

    for (size_t i = 1; i < n; i++)
        if (variant->times[i] < all.min_s)
            all.min_s = variant->times[i];
    if (catena_heap_stats(bench->context, &heap) == CATENA_OK)
        all.heap_bytes = heap.peak;
    memcpy(all.facts, variant->facts, sizeof(all.facts));
    bench_fold(bench, &all, sizeof(all), fold_summaries);
    return all;
}

/* Gather and report this size; returns the errors of all ranks. */
static uint64_t report_size(struct bench_run *run)
{
    struct bench *bench = run->bench;
    size_t n = run->plan.values;
    struct bench_result *results =
        bench_alloc(bench, run->count, sizeof(*results));
    double *ratios = bench_alloc(bench, run->plan.rounds, sizeof(*ratios));
    uint64_t errors = 0;

    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        struct summary all = summarize(bench, variant, n);

        bench_max_times(bench, variant->times, n);
        results[v].avg_us = all.mean_s * 1e6;
        results[v].min_us = all.min_s * 1e6;
        results[v].errors = all.errors;
        results[v].messages = all.sent.messages / n;
        results[v].wire_bytes = all.sent.bytes / n;
        results[v].node_messages = all.sent.node_messages / n;
        results[v].heap_bytes = all.heap_bytes;
        memcpy(results[v].facts, all.facts, sizeof(all.facts));
        errors += all.errors;
    }
    for (size_t v = 0; v < run->count; v++) {
        bench_ratios(run, &run->variants[0], &run->variants[v], ratios);
        results[v].ratio = bench_percentile(ratios, run->plan.rounds, 50);
    }
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        struct bench_result *result = &results[v];
        double *times = variant->times;

        qsort(times, n, sizeof(*times), bench_compare_times);
        result->variant = variant->name;
        result->explain = variant->explain;
        result->bytes = variant->call.bytes;
        result->iterations = n * run->plan.batch;
        result->max_us = times[n - 1] * 1e6;
        result->p50_us = bench_percentile(times, n, 50) * 1e6;
        result->p99_us = bench_percentile(times, n, 99) * 1e6;
        bench_report_result(run->report, result);
    }
    free(ratios);
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
    errors = report_size(run);
    end_size(run);
    return errors;
}

static uint64_t run_sizes(struct bench_run *run,
                          const struct bench_collective *row)
{
    struct bench *bench = run->bench;
    const struct bench_options *options = bench->options;
    size_t min = options->min != BENCH_AUTO ? options->min : row->min;
    size_t max = options->max != BENCH_AUTO ? options->max : row->max;
    struct buffers buffers = {0};
    uint64_t errors = 0;

    if (row->lay_out == NULL)
        return run_size(run, &buffers, 0);
    if (options->min == BENCH_AUTO && max < min)
        min = max;
    if (options->max == BENCH_AUTO && max < min)
        max = min;
    if (max > SIZE_MAX / 16 / (size_t)bench->place.size)
        bench_die(bench, "size of buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    buffers_open(run, row, max, &buffers);
    for (size_t bytes = min; bytes <= max; bytes = bytes ? 2 * bytes : 1)
        errors += run_size(run, &buffers, bytes);
    buffers_close(bench, &buffers);
    return errors;
}

static bool known(struct bench *bench, const char *option, const char *name,
                  const char *value, const char *expected)
{
    catena_status_t status = catena_group_set(bench->world, name, value);

    if (status == CATENA_OK)
        return true;
    if (bench->place.rank == 0)
        fprintf(stderr, "catena-bench: %s: expected %s, found \"%s\": %s\n",
                option, expected, value, catena_status_string(status));
    return false;
}

/* Settings are tried before anything is measured. */
static bool settings_known(struct bench *bench,
                           const struct bench_collective *row)
{
    const struct bench_options *options = bench->options;

    for (size_t i = 0; row->algorithm != NULL && i < options->algorithm_count;
         i++)
        if (!known(bench, "-a", row->algorithm, options->algorithms[i],
                   row->algorithm_names))
            return false;
    return options->leaders == NULL ||
           known(bench, "--leaders", row->leaders, options->leaders,
                 "a number per node, or auto");
}

int bench_collective(struct bench *bench, const struct bench_collective *row)
{
    struct bench_report report;
    struct bench_run run = {.bench = bench, .report = &report};
    const char *refused = row->refuse != NULL ? row->refuse(bench) : NULL;
    size_t count = bench->options->algorithm_count;
    uint64_t errors;

    if (refused == NULL && bench->options->flag)
        refused = bench_flag.refuse(bench);
    if (refused != NULL) {
        if (bench->place.rank == 0)
            fprintf(stderr, "catena-bench: %s, found %d on %d\n", refused,
                    bench->place.size, bench->place.nodes);
        return BENCH_USAGE;
    }
    if (!settings_known(bench, row))
        return BENCH_USAGE;
    /* No more than there are: every simulated rank has its own. */
    count = (count > 0 ? count : 1) + (bench->options->flag ? 1 : 0);
    run.variants = bench_alloc(bench, count, sizeof(*run.variants));
    add_variants(&run, row);
    bench_report_open(&report, bench, row, run.count > 1);
    if (row->describe != NULL)
        row->describe(&run.variants[0].call, &report);
    errors = run_sizes(&run, row);
    bench_report_close(&report);
    for (size_t v = 0; v < run.count; v++)
        if (run.variants[v].row->release != NULL)
            run.variants[v].row->release(&run.variants[v].call);
    free(run.variants);
    return errors == 0 ? BENCH_OK : BENCH_FAILED;
}
