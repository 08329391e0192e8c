/* The measuring loop: [Peng], Algorithm 6. Each value is the time of one call,
 * or of a batch of calls, on this rank, after a barrier if the collective is
 * `synced`. Contents are filled and checked outside the timed part. */

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlap.h"

static const double size_limit_s = 3;    /* for all variants of one size */
static const double slow_call_s = 0.05;  /* slower: probed by one call only */
static const double quick_call_s = 5e-6; /* quicker: timed in batches, because
                                          * the clock itself takes a share */

enum {
    QUICK_BATCH = 200, /* calls */
    LEAST_ROUNDS = 11, /* with fewer than FEW_VALUES values */
    MOST_ROUNDS = 33,  /* with FEW_VALUES values or more: 10 a round */
    FEW_VALUES = 330
};
enum {
    FEW_PROBES = 3, /* calls that measure the cost of a call */
    MANY_PROBES = 20,
    LARGE_BYTES = 8192, /* larger blocks: 100 calls by default, not 1000 */
    LEAST_VALUES = 5,
    MAX_WARMUP = 200 /* default warmup, in values */
};
enum { EXPLAIN_LINES_BYTES = 2048 };

/* Set a setting of the group; a name or value of NULL leaves it unchanged. */
static void set(struct bench_run *run, struct bench_variant *variant,
                const char *name, const char *value)
{
    catena_status_t status = CATENA_OK;

    if (name != NULL && value != NULL)
        status = catena_group_set(variant->call.group, name, value);
    if (status != CATENA_OK)
        bench_die(run->bench, value, status);
}

void bench_use(struct bench_run *run, struct bench_variant *variant)
{
    set(run, variant, variant->collective->algorithm, variant->algorithm);
    set(run, variant, variant->collective->leaders, variant->leaders);
    set(run, variant, variant->collective->hierarchy, variant->hierarchy);
}

/* Start the nonblocking or persistent call. */
static catena_status_t begin_call(struct bench_variant *variant,
                                  catena_request_t **request)
{
    if (variant->mode == BENCH_NONBLOCKING)
        return variant->collective->start(&variant->call, request);
    *request = variant->request;
    return catena_request_start(*request);
}

static catena_status_t call_once(struct bench_variant *variant)
{
    struct bench *bench = variant->call.bench;
    catena_request_t *request;
    catena_status_t status;

    if (variant->part == BENCH_COMPUTE)
        return bench_work(bench, variant->whole->compute_s,
                          bench->options->tests, NULL);
    if (variant->mode == BENCH_BLOCKING)
        return variant->collective->blocking(&variant->call);
    status = begin_call(variant, &request);
    if (status == CATENA_OK && variant->part == BENCH_OVERLAPPED)
        status = bench_work(bench, variant->whole->compute_s,
                            bench->options->tests, &request);
    return status == CATENA_OK ? catena_request_wait(&request) : status;
}

static catena_status_t call_batch(struct bench_variant *variant, size_t calls)
{
    catena_status_t status = CATENA_OK;

    if (variant->collective->batch != NULL)
        return variant->collective->batch(&variant->call, calls);
    for (size_t i = 0; i < calls && status == CATENA_OK; i++)
        status = call_once(variant);
    return status;
}

/* Print the first wrong byte at once, on the rank that found it: if catena is
 * broken, results may not reach rank 0. */
static void report_wrong(const struct bench_run *run,
                         const struct bench_variant *variant,
                         const struct bench_mismatch *first)
{
    int rank = run->bench->place.rank;
    unsigned long long stamp = run->stamp;

    if (variant->collective->lay_out == NULL)
        fprintf(stderr,
                "catena-bench: rank %d: %s/%s, call %llu: %s %d: expected %u, "
                "found %u\n",
                rank, variant->collective->name, variant->name, stamp,
                first->where, first->source, first->expected, first->found);
    else
        fprintf(stderr,
                "catena-bench: rank %d: %s/%s, %zu bytes, call %llu: wrong "
                "byte in the %s %d, offset %zu: expected 0x%02x, found "
                "0x%02x\n",
                rank, variant->collective->name, variant->name,
                variant->call.bytes, stamp, first->where, first->source,
                first->offset, first->expected, first->found);
}

static void verify(struct bench_run *run, struct bench_variant *variant)
{
    struct bench_mismatch first = {0};
    uint64_t wrong;

    wrong = variant->collective->verify(&variant->call, run->stamp, &first);
    if (wrong != 0 && !variant->reported) {
        report_wrong(run, variant, &first);
        variant->reported = true;
    }
    variant->errors += wrong;
}

/* Add the traffic of this rank since `before` to variant->sent. */
static void count_sent(const struct bench *bench, struct bench_variant *variant,
                       const catena_sim_stats_t *before)
{
    catena_sim_stats_t after = *before;

    if (bench->simulation == NULL)
        return;
    catena_sim_get_stats(bench->context, &after);
    variant->sent.messages += after.messages - before->messages;
    variant->sent.bytes += after.bytes - before->bytes;
    variant->sent.node_messages += after.node_messages - before->node_messages;
}

size_t bench_batch(const struct bench_run *run,
                   const struct bench_variant *variant)
{
    return variant->quick ? run->plan.batch : 1;
}

/* Whether to write the send buffers before each call. */
static bool is_fresh(const struct bench_run *run,
                     const struct bench_variant *variant)
{
    return run->fresh && variant->collective->lay_out != NULL;
}

/* One timed value: seconds per call on this rank. */
static double measure_value(struct bench_run *run,
                            struct bench_variant *variant, size_t calls)
{
    struct bench *bench = run->bench;
    bool check = bench->options->check && variant->collective->verify != NULL &&
                 variant->part != BENCH_COMPUTE;
    catena_status_t status = CATENA_OK;
    catena_sim_stats_t before = {.size = sizeof(before)};
    double begin, end;

    if (check || is_fresh(run, variant))
        variant->collective->fill(&variant->call, ++run->stamp);
    if (variant->collective->synced || is_fresh(run, variant))
        status = catena_barrier(bench->world);
    if (status != CATENA_OK)
        bench_die(bench, "barrier", status);
    if (bench->simulation != NULL)
        catena_sim_get_stats(bench->context, &before);
    begin = catena_time(bench->context);
    status = call_batch(variant, calls);
    end = catena_time(bench->context);
    count_sent(bench, variant, &before);
    if (status == CATENA_OK && is_fresh(run, variant))
        status = catena_barrier(bench->world); /* nobody writes before */
    if (status != CATENA_OK)
        bench_die(bench, variant->collective->name, status);
    if (check)
        verify(run, variant);
    if (variant->collective->finish != NULL)
        status = variant->collective->finish(&variant->call, variant->metrics);
    if (status != CATENA_OK)
        bench_die(bench, variant->collective->name, status);
    return (end - begin) / (double)calls;
}

/* The cost of a value of one call, on the slowest rank. */
struct cost {
    double all_s;  /* median time of measure_value, with barrier and checks */
    double call_s; /* the fastest timed part */
};

static double seconds_of_slowest(struct bench *bench, double seconds)
{
    return (double)bench_max(bench, (uint64_t)(seconds * 1e9)) * 1e-9;
}

/* Measure the cost of a value. The first call includes one-time setup. Unless
 * it is slow, more calls follow, and their median counts: on a busy machine a
 * single call may take a thousand times as long as the others. */
static struct cost probe(struct bench_run *run, struct bench_variant *variant)
{
    struct bench *bench = run->bench;
    double begin = catena_time(bench->context);
    double all_s[MANY_PROBES];
    struct cost cost;
    int probes;

    cost.call_s = measure_value(run, variant, 1);
    cost.all_s = catena_time(bench->context) - begin;
    cost.all_s = seconds_of_slowest(bench, cost.all_s);
    if (cost.all_s <= slow_call_s) {
        probes =
            cost.all_s < slow_call_s / MANY_PROBES ? MANY_PROBES : FEW_PROBES;
        for (int i = 0; i < probes; i++) {
            double call_s;

            begin = catena_time(bench->context);
            call_s = measure_value(run, variant, 1);
            all_s[i] = catena_time(bench->context) - begin;
            if (call_s < cost.call_s)
                cost.call_s = call_s;
        }
        qsort(all_s, (size_t)probes, sizeof(*all_s), bench_compare_times);
        cost.all_s = seconds_of_slowest(bench, all_s[probes / 2]);
    }
    cost.call_s = seconds_of_slowest(bench, cost.call_s);
    return cost;
}

/* The default number of calls per variant, within the time limit of a size.
 * `seconds`: the cost of a call of every variant. */
static size_t default_calls(struct bench_run *run, double seconds, size_t batch)
{
    size_t bytes = run->variants[0].call.bytes;
    size_t calls = (bytes > LARGE_BYTES ? 100 : 1000) * batch;
    size_t rounds = calls < FEW_VALUES * batch ? LEAST_ROUNDS : MOST_ROUNDS;
    /* Warmup adds a tenth, and each round of a variant an untimed batch. */
    double total = seconds * (1.1 * (double)calls + (double)(rounds * batch));
    size_t reduced = calls;

    if (total > size_limit_s)
        reduced = (size_t)((double)calls * size_limit_s / total);
    if (reduced < LEAST_VALUES * batch)
        reduced = LEAST_VALUES * batch;
    reduced = (reduced + batch - 1) / batch * batch;
    if (reduced < calls)
        bench_report_note(run->report,
                          "%s, %zu B: %zu iterations instead of %zu, to stay "
                          "near %g s",
                          run->variants[0].collective->name, bytes, reduced,
                          calls, size_limit_s);
    return reduced < calls ? reduced : calls;
}

/* Copy an explanation without the pairs "key=value" from "chunks=" to before
 * "reason=", which change with the size. */
static const char *without_sizes(const char *text, char *out)
{
    const char *from = strstr(text, " chunks=");
    const char *to = from != NULL ? strstr(from, " reason=") : NULL;

    size_t head = to != NULL ? (size_t)(from - text) : 0;
    const char *tail = to != NULL ? to : text;
    size_t end = strnlen(tail, BENCH_EXPLAIN_BYTES - 1 - head);

    memcpy(out, text, head);
    memcpy(out + head, tail, end);
    out[head + end] = '\0';
    return out;
}

/* The length of the text before " reason=". */
static size_t algorithm_bytes(const char *text)
{
    const char *reason = strstr(text, " reason=");

    return reason != NULL ? (size_t)(reason - text) : strlen(text);
}

/* Whether two explanations name the same algorithm. */
static bool same_algorithm(const struct bench_collective *collective,
                           const char *a, const char *b)
{
    char one[BENCH_EXPLAIN_BYTES], other[BENCH_EXPLAIN_BYTES];

    if (collective->explain !=
        NULL) /* the reason itself changes with the size */
        return algorithm_bytes(a) == algorithm_bytes(b) &&
               strncmp(a, b, algorithm_bytes(a)) == 0;
    return strcmp(without_sizes(a, one), without_sizes(b, other)) == 0;
}

/* Print an explanation. Its first line names the algorithm used. The other
 * lines compare it with the alternatives and are printed only if the library
 * has selected the algorithm. */
static void note_lines(struct bench_run *run,
                       const struct bench_variant *variant, char *lines)
{
    const char *line = strsep(&lines, "\n");

    if (variant->collective->lay_out != NULL)
        bench_report_note(run->report, "%s, from %zu B: %s", variant->name,
                          variant->call.bytes, line);
    else
        bench_report_note(run->report, "%s: %s", variant->name, line);
    if (variant->algorithm != NULL && strcmp(variant->algorithm, "auto") != 0)
        return;
    while ((line = strsep(&lines, "\n")) != NULL)
        bench_report_note(run->report, "    %s", line);
}

/* Store how the library executed the last call, and print it if it has changed
 * since the call explained before. */
static void explain_call(struct bench_run *run, struct bench_variant *variant)
{
    char text[EXPLAIN_LINES_BYTES] = "";
    size_t first_line; /* its length */
    bool printed;

    if (variant->collective->blocking == NULL || variant->part != BENCH_WHOLE)
        return; /* raw flag exchange; or explained with BENCH_WHOLE */
    if ((variant->collective->explain != NULL
             ? variant->collective->explain(&variant->call, text, sizeof(text))
             : catena_group_explain(variant->call.group,
                                    variant->collective->name, text,
                                    sizeof(text))) != CATENA_OK)
        return;
    printed = same_algorithm(variant->collective, text, variant->explain);
    first_line = strcspn(text, "\n");
    if (first_line >= sizeof(variant->explain))
        first_line = sizeof(variant->explain) - 1;
    memcpy(variant->explain, text, first_line);
    variant->explain[first_line] = '\0';
    if (!printed)
        note_lines(run, variant, text);
}

/* The plan of simulated ranks. Virtual time has no noise unless the options ask
 * for it, so a few calls suffice. */
static void make_virtual_plan(struct bench_run *run)
{
    const struct bench_options *options = run->bench->options;
    bool varies = options->sim.jitter > 0 || options->sim.reorder;

    run->plan = (struct bench_plan){
        .batch = 1, .values = varies ? 20 : 3, .warmup = 1, .rounds = 1};
    if (options->iterations != BENCH_AUTO)
        run->plan.values = options->iterations;
    if (options->warmup != BENCH_AUTO)
        run->plan.warmup = options->warmup;
    run->plan.round_values = run->plan.values;
}

/* Execute untimed calls of each variant, and find its cost and which variants
 * are quick. Sets plan.batch. Returns the seconds that a call of every variant
 * costs; a variant that is not quick executes one call while quick ones execute
 * a batch, so its cost counts by 1 / batch. */
static double probe_all(struct bench_run *run)
{
    const struct bench_options *options = run->bench->options;
    double quick_s = 0, slow_s = 0;
    size_t quick = 0;

    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        struct cost cost;

        bench_use(run, variant);
        cost = probe(run, variant);
        variant->compute_s = cost.call_s;
        variant->quick = variant->collective->quick && !options->check &&
                         !is_fresh(run, variant) && cost.call_s < quick_call_s;
        quick += variant->quick ? 1 : 0;
        *(variant->quick ? &quick_s : &slow_s) += cost.all_s;
        explain_call(run, variant);
    }
    /* -i gives the number of calls of each variant, so with -i all variants
     * have batches or none. */
    run->plan.batch =
        quick == run->count || (quick > 0 && options->iterations == BENCH_AUTO)
            ? QUICK_BATCH
            : 1;
    return quick_s + slow_s / (double)run->plan.batch;
}

void bench_make_plan(struct bench_run *run)
{
    const struct bench_options *options = run->bench->options;
    struct bench_plan *plan = &run->plan;
    double seconds;
    size_t calls;

    if (run->bench->simulation != NULL) {
        make_virtual_plan(run);
        return;
    }
    seconds = probe_all(run);
    calls = options->iterations;
    if (calls == BENCH_AUTO)
        calls = default_calls(run, seconds, plan->batch);
    if (plan->batch > calls / LEAST_ROUNDS)
        plan->batch = calls < LEAST_ROUNDS ? 1 : calls / LEAST_ROUNDS;
    plan->values = (calls + plan->batch - 1) / plan->batch;

    plan->warmup = options->warmup;
    if (plan->warmup != BENCH_AUTO)
        plan->warmup = (plan->warmup + plan->batch - 1) / plan->batch;
    else if (plan->values > 10 * MAX_WARMUP)
        plan->warmup = MAX_WARMUP;
    else
        plan->warmup = (plan->values + 9) / 10;

    plan->round_values =
        plan->values / (plan->values < FEW_VALUES ? LEAST_ROUNDS : MOST_ROUNDS);
    if (plan->round_values == 0)
        plan->round_values = 1;
    plan->rounds = (plan->values + plan->round_values - 1) / plan->round_values;
}

/* The values of one variant in one round, from times[begin] on. On real ranks
 * the first call is not timed, because the previous variant has changed caches
 * and staging buffers. With --hierarchy it is never timed, because in this call
 * the ranks agree on the changed hierarchy. */
static void measure_round(struct bench_run *run, struct bench_variant *variant,
                          size_t begin)
{
    const struct bench_plan *plan = &run->plan;
    size_t end = begin + plan->round_values, calls = bench_batch(run, variant);

    if (end > plan->values)
        end = plan->values;
    bench_use(run, variant);
    if (run->bench->simulation == NULL || variant->hierarchy != NULL)
        measure_value(run, variant, calls);
    variant->sent = (catena_sim_stats_t){0};
    for (size_t i = begin; i < end; i++)
        variant->times[i] = measure_value(run, variant, calls);
    if (run->bench->options->overlap)
        variant->compute_s = bench_median(run->bench, variant->times, end);
    if (run->bench->simulation != NULL)
        explain_call(run, variant);
}

/* Whether a size takes far longer than planned, for example because the machine
 * has become busy. Then the values measured so far must suffice. Never with -i
 * or on simulated ranks. */
static bool overdue(struct bench_run *run, double begin)
{
    struct bench *bench = run->bench;
    double elapsed;

    if (bench->options->iterations != BENCH_AUTO || bench->simulation != NULL)
        return false;
    elapsed = seconds_of_slowest(bench, catena_time(bench->context) - begin);
    return elapsed > 3 * size_limit_s;
}

/* End a size after `rounds` rounds. */
static void cut_short(struct bench_run *run, size_t rounds)
{
    struct bench_plan *plan = &run->plan;

    plan->rounds = rounds;
    plan->values = rounds * plan->round_values;
    bench_report_note(run->report,
                      "%s, %zu B: ended after %zu iterations, calls became "
                      "slower than at first",
                      run->variants[0].collective->name,
                      run->variants[0].call.bytes, plan->values * plan->batch);
}

void bench_measure(struct bench_run *run)
{
    struct bench_plan *plan = &run->plan;
    double begin = catena_time(run->bench->context);

    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];

        bench_use(run, variant);
        for (size_t i = 0; i < plan->warmup; i++)
            variant->compute_s = /* until the first timed values */
                measure_value(run, variant, bench_batch(run, variant));
    }
    for (size_t round = 0; round < plan->rounds; round++) {
        bench_report_progress(run->report, "%s, %zu bytes: round %zu of %zu",
                              run->variants[0].collective->name,
                              run->variants[0].call.bytes, round + 1,
                              plan->rounds);
        for (size_t v = 0; v < run->count; v++)
            measure_round(run, &run->variants[v], round * plan->round_values);
        if (round + 1 < plan->rounds && overdue(run, begin))
            cut_short(run, round + 1);
    }
}

double bench_percentile(const double *sorted, size_t n, size_t percent)
{
    size_t rank = (n * percent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

double bench_median(struct bench *bench, const double *times, size_t n)
{
    double *sorted = bench_alloc(bench, n, sizeof(*sorted));
    double median;

    memcpy(sorted, times, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), bench_compare_times);
    median = bench_percentile(sorted, n, 50);
    free(sorted);
    return median;
}

double bench_mean(const double *times, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += times[i];
    return sum / (double)n;
}

/* Within a round both variants are measured in short succession, so other load
 * affects both. Callers take the median over the rounds, which a few disturbed
 * rounds hardly change. */
void bench_ratios(const struct bench_run *run, const struct bench_variant *base,
                  const struct bench_variant *variant, double *ratios)
{
    const struct bench_plan *plan = &run->plan;

    for (size_t round = 0; round < plan->rounds; round++) {
        size_t begin = round * plan->round_values;
        size_t n = plan->values - begin;
        double own;

        if (n > plan->round_values)
            n = plan->round_values;
        own = bench_mean(variant->times + begin, n);
        ratios[round] = own > 0 ? bench_mean(base->times + begin, n) / own : 1;
    }
    qsort(ratios, plan->rounds, sizeof(*ratios), bench_compare_times);
}
