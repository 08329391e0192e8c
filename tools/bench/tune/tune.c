/* catena-bench --tune FILE: finds the fastest alltoall for this layout of ranks
 * and nodes, size by size, and writes rules for CATENA_TUNING. */

#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "measure.h"
#include "report.h"

/* A size gets another algorithm than the size before only if that is faster by
 * this factor in the median over the rounds, and faster in at least three
 * quarters of the rounds. So noise makes no rules. */
static const double much_better = 1.03;

enum { MOST_CANDIDATES = 32, MOST_LEADERS = 64, MOST_SIZES = 64, PAGE = 4096 };
enum { SIZE_COLUMN = 10, NAME_COLUMN = 12, TIME_COLUMN = 14 }; /* widths */

/* An algorithm with a number of leaders. Candidate i is compared as variant
 * i. */
struct candidate {
    char name[24];    /* such as "onmpml/4" */
    char leaders[12]; /* such as "4"; "auto": the algorithm has no leaders */
    int count;        /* of leaders per node; 0: the algorithm has none */
};

/* The state of --tune on this rank. */
struct tune {
    struct bench_run run;
    struct bench_report report;
    struct bench_variant variants[MOST_CANDIDATES];
    struct candidate candidates[MOST_CANDIDATES];
    void *send, *recv; /* buffers */
    int ppn;           /* ranks on the largest node */
    size_t min, max;   /* sizes, bytes per block */
    /* Results, on rank 0. */
    struct tune_rule rules[MOST_SIZES];
    size_t count;  /* of rules */
    size_t chosen; /* variant of the last rule; before the first: direct */
};

/* ---- candidates ---- */

/* Add a candidate and its variant. */
static void add_candidate(struct tune *tune, const char *algorithm, int leaders)
{
    struct bench *bench = tune->run.bench;
    size_t index = tune->run.count++;
    struct candidate *candidate = &tune->candidates[index];

    candidate->count = leaders;
    if (leaders > 0) {
        snprintf(candidate->name, sizeof(candidate->name), "%s/%d", algorithm,
                 leaders);
        snprintf(candidate->leaders, sizeof(candidate->leaders), "%d", leaders);
    } else {
        snprintf(candidate->name, sizeof(candidate->name), "%s", algorithm);
        strcpy(candidate->leaders, "auto");
    }
    tune->variants[index] =
        (struct bench_variant){.name = candidate->name,
                               .algorithm = algorithm,
                               .leaders = candidate->leaders,
                               .collective = &bench_alltoall,
                               .call = {.bench = bench,
                                        .group = bench->world,
                                        .rank = bench->place.rank,
                                        .size = bench->place.ranks,
                                        .bytes = tune->min,
                                        .send = tune->send,
                                        .recv = tune->recv}};
}

/* Execute one call of a variant, and return whether the library has used its
 * algorithm and not another one. Collective; all ranks get the same result. */
static bool runs(struct tune *tune, struct bench_variant *variant)
{
    char text[BENCH_EXPLAIN_BYTES] = "", wanted[64];
    catena_status_t status;

    bench_use(&tune->run, variant);
    status = variant->collective->blocking(&variant->call);
    if (status == CATENA_OK)
        status = catena_group_explain(
            variant->call.group, variant->collective->name, text, sizeof(text));
    if (status != CATENA_OK)
        bench_die(tune->run.bench, variant->name, status);
    snprintf(wanted, sizeof(wanted), "algorithm=%s ", variant->algorithm);
    return strstr(text, wanted) != NULL;
}

/* Add a candidate unless the library uses another algorithm instead. */
static void try_candidate(struct tune *tune, const char *algorithm, int leaders)
{
    size_t index = tune->run.count;

    add_candidate(tune, algorithm, leaders);
    if (!runs(tune, &tune->variants[index]))
        tune->run.count = index;
}

/* Find all candidates. With one leader, mpml and nmpml are the same as l-a2a. A
 * node cannot have more leaders than ranks. */
static void find_candidates(struct tune *tune)
{
    static const char *const without[] = {"direct", "shift", "bruck", "morton"};
    static const char *const with[] = {"mpml", "nmpml", "onmpml"};
    int most = tune->ppn < MOST_LEADERS ? tune->ppn : MOST_LEADERS;

    for (size_t i = 0; i < 4; i++)
        try_candidate(tune, without[i], 0);
    if (tune->ppn == 1) /* leaders would have no blocks to gather */
        return;
    try_candidate(tune, "l-a2a", 0);
    try_candidate(tune, "onmpml", 1);
    for (size_t i = 0; i < 3; i++)
        for (int leaders = 2; leaders <= most; leaders *= 2)
            try_candidate(tune, with[i], leaders);
}

/* ---- measuring and choosing ---- */

static void print_head(const struct tune *tune)
{
    const catena_place_t *place = &tune->run.bench->place;

    printf("# catena %s tuning of alltoall\n", catena_version());
    printf("# layout: %d ranks on %d node%s, %d on the largest\n", place->ranks,
           place->nodes, place->nodes == 1 ? "" : "s", tune->ppn);
    printf("# network: %s\n", place->network);
    printf("# measured:");
    for (size_t v = 0; v < tune->run.count; v++)
        printf(" %s", tune->variants[v].name);
    printf("\n# NAME/N: with N leaders on each node. Median: of the slowest "
           "rank of each call. Chosen: as for\n# the size before (at first "
           "direct), unless another is over 3%% quicker. Ratio: direct's "
           "time /\n# that of the chosen one, the median over the rounds.\n");
    printf("%-*s%-*s%*s   %-*s%*s%*s\n", SIZE_COLUMN, "# Size", NAME_COLUMN,
           "Chosen", TIME_COLUMN, "Median(us)", NAME_COLUMN, "Quickest",
           TIME_COLUMN, "Median(us)", TIME_COLUMN, "Ratio");
    fflush(stdout);
}

static double median_us(const struct tune *tune, size_t variant)
{
    double *times = tune->variants[variant].times;
    size_t n = tune->run.plan.values;

    qsort(times, n, sizeof(*times), bench_compare_times);
    return bench_percentile(times, n, 50) * 1e6;
}

/* Make the rule for this size: extend the last rule if the algorithm is the
 * same, else add one. */
static void extend_rules(struct tune *tune, size_t chosen, size_t bytes)
{
    if (tune->count == 0 || chosen != tune->chosen)
        tune->rules[tune->count++] =
            (struct tune_rule){.algorithm = tune->variants[chosen].algorithm,
                               .leaders = tune->candidates[chosen].count};
    tune->chosen = chosen;
    tune->rules[tune->count - 1].bytes_to = bytes;
}

/* Comparison of the variants for one size. */
struct comparison {
    double direct[MOST_CANDIDATES]; /* direct's time / that of the variant */
    size_t quickest;                /* variant with the least time */
    size_t chosen;                  /* variant for the rule */
};

/* Compare all variants with the one chosen for the size before. */
static void compare(const struct tune *tune, struct comparison *found)
{
    const struct bench_run *run = &tune->run;
    size_t rounds = run->plan.rounds;
    double *ratios = bench_alloc(run->bench, rounds, sizeof(*ratios));
    double most = 0, most_chosen = much_better;

    found->chosen = tune->chosen;
    for (size_t v = 0; v < run->count; v++) {
        double median;

        bench_ratios(run, &run->variants[0], &run->variants[v], ratios);
        found->direct[v] = bench_percentile(ratios, rounds, 50);
        bench_ratios(run, &run->variants[tune->chosen], &run->variants[v],
                     ratios);
        median = bench_percentile(ratios, rounds, 50);
        if (median > most) {
            most = median;
            found->quickest = v;
        }
        if (median > most_chosen && bench_percentile(ratios, rounds, 25) > 1) {
            most_chosen = median;
            found->chosen = v;
        }
    }
    free(ratios);
}

/* Choose the algorithm for a size, and print it. */
static void choose(struct tune *tune, size_t bytes)
{
    struct comparison found = {0};

    compare(tune, &found);
    extend_rules(tune, found.chosen, bytes);
    if (tune->report.progress)
        fputs("\r\033[K", stderr);
    printf("%-*zu%-*s%*.2f   %-*s%*.2f%*.3f\n", SIZE_COLUMN, bytes, NAME_COLUMN,
           tune->variants[found.chosen].name, TIME_COLUMN,
           median_us(tune, found.chosen), NAME_COLUMN,
           tune->variants[found.quickest].name, TIME_COLUMN,
           median_us(tune, found.quickest), TIME_COLUMN,
           found.direct[found.chosen]);
    fflush(stdout);
}

static void tune_size(struct tune *tune, size_t bytes)
{
    struct bench *bench = tune->run.bench;
    struct bench_run *run = &tune->run;

    for (size_t v = 0; v < run->count; v++)
        tune->variants[v].call.bytes = bytes;
    bench_make_plan(run);
    for (size_t v = 0; v < run->count; v++)
        tune->variants[v].times =
            bench_alloc(bench, run->plan.values, sizeof(double));
    bench_measure(run);
    for (size_t v = 0; v < run->count; v++)
        bench_max_times(bench, tune->variants[v].times, run->plan.values);
    if (bench->place.rank == 0)
        choose(tune, bytes);
    for (size_t v = 0; v < run->count; v++)
        free(tune->variants[v].times);
}

/* ---- all of it ---- */

static void *open_buffer(struct bench *bench, size_t bytes)
{
    void *block = catena_aligned_alloc(bench->context, PAGE,
                                       (bytes + PAGE - 1) / PAGE * PAGE);

    if (block == NULL)
        bench_die(bench, "memory for buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    memset(block, 0, bytes); /* no page faults while measuring */
    return block;
}

static void open_tune(struct tune *tune, struct bench *bench)
{
    const struct bench_options *options = bench->options;
    size_t bytes;

    tune->min = options->min != BENCH_AUTO ? options->min : 8;
    tune->max = options->max != BENCH_AUTO ? options->max : 65536;
    if (options->min == BENCH_AUTO && tune->min > tune->max)
        tune->min = tune->max;
    if (options->max == BENCH_AUTO && tune->max < tune->min)
        tune->max = tune->min;
    if (tune->max > SIZE_MAX / 4 / (size_t)bench->place.ranks)
        bench_die(bench, "size of buffers (try a smaller -m)",
                  CATENA_ERR_NO_MEMORY);
    bytes = tune->max * (size_t)bench->place.ranks;
    tune->send = open_buffer(bench, bytes);
    tune->recv = open_buffer(bench, bytes + BENCH_GUARD_BYTES);
    tune->ppn = (int)bench_max(bench, (uint64_t)bench->place.local_size);
    /* A report that shows progress but prints no notes. */
    tune->report.bench = bench;
    tune->report.collective = &bench_alltoall;
    tune->report.progress = bench->place.rank == 0 && isatty(STDERR_FILENO);
    tune->run = (struct bench_run){
        .bench = bench, .report = &tune->report, .variants = tune->variants};
}

/* Measure all sizes and set the rules. */
static void measure_all(struct tune *tune, struct bench *bench)
{
    open_tune(tune, bench);
    find_candidates(tune);
    if (bench->place.rank == 0)
        print_head(tune);
    for (size_t bytes = tune->min; bytes <= tune->max; bytes *= 2)
        tune_size(tune, bytes);
    catena_free(bench->context, tune->send);
    catena_free(bench->context, tune->recv);
}

static int save(struct tune *tune, struct bench *bench, struct json_t *document)
{
    struct tune_result result = {.path = bench->options->tune,
                                 .network = bench->place.network,
                                 .nodes = bench->place.nodes,
                                 .ppn = tune->ppn,
                                 .rules = tune->rules,
                                 .count = tune->count};

    /* The rule of the largest measured size also holds for larger blocks. */
    tune->rules[tune->count - 1].bytes_to = BENCH_AUTO;
    return tune_save(document, &result);
}

int bench_tune(struct bench *bench)
{
    const char *path = bench->options->tune;
    bool on_rank_0 = bench->place.rank == 0;
    struct json_t *document = NULL;
    struct tune *tune;
    int code = BENCH_OK;

    if (bench->place.ranks == 1) {
        fprintf(stderr, "catena-bench: --tune: expected 2 ranks or more, found "
                        "1; use: prun -n 4 --ppn 2 catena-bench --tune FILE\n");
        return BENCH_USAGE;
    }
    if (on_rank_0) { /* find errors before time is spent on measuring */
        code = bench_file_try("--tune", path);
        document = code == BENCH_OK ? tune_load(path) : NULL;
        code = document != NULL ? BENCH_OK : BENCH_FAILED;
    }
    if (bench_max(bench, (uint64_t)code) != BENCH_OK)
        return BENCH_FAILED;
    tune = bench_alloc(bench, 1, sizeof(*tune));
    measure_all(tune, bench);
    if (on_rank_0)
        code = save(tune, bench, document);
    free(tune);
    return (int)bench_max(bench, (uint64_t)code);
}
