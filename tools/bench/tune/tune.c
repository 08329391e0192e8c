/* catena-bench --tune FILE: finds the fastest algorithm of each collective that
 * has rules, for this layout of ranks and nodes, size by size, and writes rules
 * for CATENA_TUNING. */

#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "measure.h"
#include "report.h"
#include "variants.h"

/* An algorithm replaces what the rules in use select only if it is faster by
 * this factor in the median over the rounds, and faster in at least three
 * quarters of the rounds. So noise makes no rules. */
static const double much_better = 1.03;

enum { MOST_LEADERS = 64, VECTOR_BYTES = 32768 };
enum {
    SIZE_COLUMN = 10,
    LEVEL_COLUMN = 10,
    NAME_COLUMN = 20,
    TIME_COLUMN = 13
}; /* widths */

/* Whose length the rules of a list match. */
enum length {
    LENGTH_NONE,
    LENGTH_BLOCK,   /* of a block, or of a vector */
    LENGTH_ON_NODE, /* likewise, in component shm only */
    LENGTH_MEMBER,  /* of the blocks that one member of the subgroup has */
    LENGTH_ALL      /* of all blocks */
};

/* A list of rules, and how to measure it. */
struct tuned {
    const char *list;
    const struct bench_collective *collective;
    enum length length;
    size_t most;            /* default largest size */
    const char *algorithms; /* variants; the first one runs by rules */
};

#define SCHEDULES "auto,direct,colored,combining,aggregated"

static const struct tuned table[] = {
    {"alltoall", &bench_alltoall, LENGTH_BLOCK, 65536,
     "auto,direct,shift,bruck,morton"},
    {"barrier", &bench_barrier, LENGTH_NONE, 0,
     "auto,flat,root,dissemination,recursive-doubling,tree"},
    {"bcast", &bench_bcast, LENGTH_BLOCK, 8 * VECTOR_BYTES,
     "auto,staged,zero-copy,binomial,chain,linear"},
    {"reduce", &bench_reduce, LENGTH_BLOCK, VECTOR_BYTES,
     "auto,flat,shared,binomial,chain,linear"},
    {"allreduce", &bench_allreduce, LENGTH_BLOCK, VECTOR_BYTES,
     "auto,flat,shared,last,tree,recursive-doubling,rabenseifner"},
    {"gather", &bench_gather, LENGTH_ON_NODE, 65536,
     "auto,staged,zero-copy,binomial,tree,linear"},
    {"scatter", &bench_scatter, LENGTH_ON_NODE, 65536,
     "auto,staged,zero-copy,binomial,tree,linear"},
    {"allgather", &bench_allgather, LENGTH_MEMBER, 65536,
     "auto,staged,zero-copy,bruck,ring"},
    {"reduce_scatter", &bench_reduce_scatter_block, LENGTH_ALL, 65536,
     "auto,staged,zero-copy,recursive-halving,ring"},
    {"scan", &bench_scan, LENGTH_BLOCK, VECTOR_BYTES,
     "auto,flat,chain,recursive-doubling"},
    {"split", &bench_split, LENGTH_NONE, 0,
     "auto,allgather,allgather-fast,gather-scatter,cheng,bitonic,radix,hash,"
     "hash64"},
    {"neighbor_alltoall", &bench_neighbor_alltoall, LENGTH_BLOCK, 65536,
     SCHEDULES},
    {"neighbor_allgather", &bench_neighbor_allgather, LENGTH_BLOCK, 65536,
     SCHEDULES},
};

enum { TABLE = sizeof(table) / sizeof(table[0]) };

/* The rules of one level that are being found, on rank 0. */
struct found {
    struct tune_level level;
    struct tune_rules rules;
    size_t chosen; /* variant of the last rule; 0: what rules select */
};

/* The state of --tune on this rank. */
struct tune {
    struct bench_run run;
    struct bench_report report;
    struct bench_options options; /* for the collective that is measured */
    char *algorithms;             /* memory of options.algorithms */
    char leaders[BENCH_MAX_VARIANTS][12];
    char names[BENCH_MAX_VARIANTS][TUNE_NAME_BYTES + 12];
    const struct tuned *tuned;
    int ppn; /* ranks on the largest node */
    /* On rank 0. */
    struct found found[TUNE_MOST_LEVELS];
    size_t levels; /* 0: nothing has been measured yet */
    struct json_t *document;
};

bool bench_tunes(const char *name)
{
    for (size_t i = 0; i < TABLE; i++)
        if (strcmp(table[i].list, name) == 0)
            return true;
    return false;
}

/* ---- variants ---- */

/* Add an algorithm with a number of leaders to the variants of alltoall. */
static void add_led(struct tune *tune, const char *algorithm, int leaders)
{
    size_t at = tune->options.algorithm_count++;

    snprintf(tune->leaders[at], sizeof(tune->leaders[at]), "%d", leaders);
    tune->options.algorithms[at] = algorithm;
}

/* With one leader, mpml and nmpml are the same as l-a2a. A node cannot have
 * more leaders than ranks. With one rank on a node leaders have no blocks to
 * gather. */
static void add_all_led(struct tune *tune)
{
    static const char *const with[] = {"mpml", "nmpml", "onmpml"};
    int most = tune->ppn < MOST_LEADERS ? tune->ppn : MOST_LEADERS;

    if (tune->run.bench->place.nodes == 1 || tune->ppn == 1)
        return;
    add_led(tune, "l-a2a", 1);
    add_led(tune, "onmpml", 1);
    for (size_t i = 0; i < 3; i++)
        for (int leaders = 2; leaders <= most; leaders *= 2)
            add_led(tune, with[i], leaders);
}

/* Set the options for a collective. The hierarchy makes a barrier one that has
 * rules. */
static void set_options(struct tune *tune, const struct bench_options *given)
{
    const struct tuned *tuned = tune->tuned;
    struct bench_options *options = &tune->options;
    char *rest, *name;

    *options = *given;
    options->name = tuned->collective->name;
    if (given->min == BENCH_AUTO)
        options->min = given->max < 8 ? given->max : 8;
    if (given->max == BENCH_AUTO)
        options->max = options->min > tuned->most ? options->min : tuned->most;
    if (tuned->collective == &bench_barrier)
        options->hierarchies[options->hierarchy_count++] =
            tune->run.bench->place.nodes > 1 ? "node:shm,network:ucx"
                                             : "node:shm";
    memset(tune->leaders, 0, sizeof(tune->leaders));
    /* Of several nodes morton has all blocks of a node in one rank's heap. A
     * rule also holds for longer blocks, for which there may be no memory. */
    tune->algorithms = rest = strdup(tuned->algorithms);
    while ((name = strsep(&rest, ",")) != NULL)
        if (tune->run.bench->place.nodes == 1 || strcmp(name, "morton") != 0)
            options->algorithms[options->algorithm_count++] = name;
    if (tuned->collective == &bench_alltoall)
        add_all_led(tune);
}

static void open_variants(struct tune *tune)
{
    struct bench_run *run = &tune->run;

    run->count = 0;
    bench_variants_open(run, tune->tuned->collective);
    for (size_t v = 0; v < run->count; v++) {
        struct bench_variant *variant = &run->variants[v];
        const char *leaders = tune->leaders[v];

        snprintf(tune->names[v], sizeof(tune->names[v]), "%s%s%s",
                 variant->algorithm, leaders[0] != '\0' ? "/" : "", leaders);
        variant->name = tune->names[v];
        variant->leaders = leaders[0] != '\0' ? leaders : "auto";
    }
}

/* Free the variants, and undo their settings. */
static void close_variants(struct tune *tune)
{
    struct bench_run *run = &tune->run;

    run->variants[0].hierarchy = "auto";
    bench_use(run, &run->variants[0]);
    bench_variants_close(run);
    free(tune->algorithms);
}

/* ---- choosing ---- */

/* The algorithm that a variant ran on a level. For the first variant, which
 * rules have selected, "auto" where that is an estimate. */
static bool ran(const struct tune *tune, size_t v, const struct found *found,
                char *name)
{
    const char *explained = tune->run.variants[v].explain;

    if (v == 0 && strstr(explained, "least estimate") != NULL) {
        strcpy(name, "auto");
        return true;
    }
    return tune_ran(explained, tune->tuned->list, &found->level, name);
}

/* The number of leaders with which a variant ran; 0: it has none. */
static int leaders_of(const struct tune *tune, size_t v)
{
    static const char key[] = " leaders=";
    const char *at = strstr(tune->run.variants[v].explain, key);

    return at != NULL ? atoi(at + sizeof(key) - 1) : 0;
}

/* Whether a variant ran its algorithm on a level, neither another one nor that
 * of the rules. */
static bool is_candidate(const struct tune *tune, size_t v,
                         const struct found *found)
{
    char name[TUNE_NAME_BYTES], by_rules[TUNE_NAME_BYTES];

    return ran(tune, v, found, name) && ran(tune, 0, found, by_rules) &&
           strcmp(name, tune->run.variants[v].algorithm) == 0 &&
           (strcmp(name, by_rules) != 0 ||
            leaders_of(tune, v) != leaders_of(tune, 0));
}

/* Time of one variant / time of another one, the median over the rounds.
 * @param[out] clear the other one is faster in three quarters of them */
static double ratio(const struct tune *tune, size_t one, size_t other,
                    bool *clear)
{
    const struct bench_run *run = &tune->run;
    size_t rounds = run->plan.rounds;
    double *ratios = bench_alloc(run->bench, rounds, sizeof(*ratios));
    double median;

    bench_ratios(run, &run->variants[one], &run->variants[other], ratios);
    median = bench_percentile(ratios, rounds, 50);
    *clear = bench_percentile(ratios, rounds, 25) > 1;
    free(ratios);
    return median;
}

/* Choose the variant for a size and level. The one chosen for the size before
 * is preferred to equally fast ones. Also finds the fastest. */
static size_t choose(const struct tune *tune, const struct found *found,
                     size_t *quickest)
{
    size_t chosen = 0;
    double most = 1;
    bool clear;

    *quickest = 0;
    if (is_candidate(tune, found->chosen, found) &&
        ratio(tune, 0, found->chosen, &clear) > much_better && clear)
        chosen = found->chosen;
    for (size_t v = 1; v < tune->run.count; v++) {
        double by_rules;

        if (!is_candidate(tune, v, found))
            continue;
        by_rules = ratio(tune, 0, v, &clear);
        if (by_rules > most) {
            most = by_rules;
            *quickest = v;
        }
        if (by_rules > much_better && clear &&
            ratio(tune, chosen, v, &clear) > much_better && clear)
            chosen = v;
    }
    return chosen;
}

static double median_us(const struct tune *tune, size_t variant)
{
    return bench_median(tune->run.bench, tune->run.variants[variant].times,
                        tune->run.plan.values) *
           1e6;
}

/* The length that rules match, for blocks of `bytes`. */
static size_t length_of(const struct tune *tune, const struct found *found,
                        size_t bytes)
{
    size_t ranks = (size_t)tune->run.bench->place.ranks;
    size_t members = (size_t)found->level.ranks;

    switch (tune->tuned->length) {
    case LENGTH_MEMBER:
        return members > 0 ? bytes * ranks / members : bytes;
    case LENGTH_ALL:
        return bytes * ranks;
    case LENGTH_NONE:
        return BENCH_AUTO;
    case LENGTH_ON_NODE:
        return found->level.shm ? bytes : BENCH_AUTO;
    case LENGTH_BLOCK:
    default:
        return bytes;
    }
}

/* Make the rule for a size: extend the last rule if the algorithm is the same,
 * else add one. Where rules do not match lengths, 1 KiB decides. */
static void extend_rules(const struct tune *tune, struct found *found,
                         size_t bytes)
{
    size_t length = length_of(tune, found, bytes);
    struct tune_rules *rules = &found->rules;
    struct tune_rule next = {.bytes_to = length,
                             .leaders = leaders_of(tune, found->chosen)};

    if (length == BENCH_AUTO && rules->count > 0 && bytes > 1024)
        return;
    (void)ran(tune, found->chosen, found, next.algorithm);
    if (length == BENCH_AUTO)
        rules->count = 0;
    if (rules->count == 0 ||
        strcmp(rules->rule[rules->count - 1].algorithm, next.algorithm) != 0 ||
        rules->rule[rules->count - 1].leaders != next.leaders)
        rules->rule[rules->count++] = next;
    rules->rule[rules->count - 1].bytes_to = length;
}

/* Choose for a size and level, and print it. */
static void choose_on_level(struct tune *tune, struct found *found)
{
    const struct bench_run *run = &tune->run;
    size_t bytes = run->variants[0].call.bytes, quickest;
    char name[TUNE_NAME_BYTES];
    bool clear;

    if (!ran(tune, 0, found, name) || found->rules.count == TUNE_MOST_RULES)
        return;
    found->chosen = choose(tune, found, &quickest);
    extend_rules(tune, found, bytes);
    printf("%-*zu%-*s%-*s%*.2f   %-*s%*.2f   %-*s%*.2f%*.3f\n", SIZE_COLUMN,
           bytes, LEVEL_COLUMN, found->level.name, NAME_COLUMN, name,
           TIME_COLUMN, median_us(tune, 0), NAME_COLUMN,
           run->variants[quickest].name, TIME_COLUMN, median_us(tune, quickest),
           NAME_COLUMN, run->variants[found->chosen].name, TIME_COLUMN,
           median_us(tune, found->chosen), TIME_COLUMN,
           ratio(tune, 0, found->chosen, &clear));
    fflush(stdout);
}

/* Set the levels of the collective and the conditions of their rules. */
static void open_levels(struct tune *tune)
{
    const catena_place_t *place = &tune->run.bench->place;
    struct tune_level levels[TUNE_MOST_LEVELS];

    tune->levels = tune_levels(tune->run.variants[0].explain, levels);
    for (size_t l = 0; l < tune->levels; l++) {
        struct found *found = &tune->found[l];
        bool whole = levels[l].name[0] == '\0';
        bool split = tune->tuned->collective == &bench_split;

        *found = (struct found){.level = levels[l],
                                .rules = {.list = tune->tuned->list}};
        found->rules.ranks = split ? place->ranks : levels[l].ranks;
        if (whole && !split) {
            found->rules.nodes = place->nodes;
            found->rules.ppn = tune->ppn;
        } else if (!split) {
            found->rules.nodes =
                strcmp(levels[l].name, "network") == 0 ? place->nodes : 1;
        }
    }
}

/* run->take: choose for the size that has been measured. */
static uint64_t take(struct bench_run *run)
{
    struct tune *tune = (struct tune *)(void *)run;

    for (size_t v = 0; v < run->count; v++)
        bench_max_times(run->bench, run->variants[v].times, run->plan.values);
    if (run->bench->place.rank != 0)
        return 0;
    if (tune->report.progress)
        fputs("\r\033[K", stderr);
    if (tune->levels == 0)
        open_levels(tune);
    for (size_t l = 0; l < tune->levels; l++)
        choose_on_level(tune, &tune->found[l]);
    return 0;
}

/* ---- all of it ---- */

static void print_head(const struct tune *tune)
{
    const catena_place_t *place = &tune->run.bench->place;

    printf("# catena %s tuning\n", catena_version());
    printf("# layout: %d ranks on %d node%s, %d on the largest\n", place->ranks,
           place->nodes, place->nodes == 1 ? "" : "s", tune->ppn);
    printf("# network: %s\n", place->network);
    printf(
        "# NAME/N: with N leaders on each node. Median: of the slowest rank "
        "of each call. Chosen: as the\n# rules in use select, unless another "
        "is over 3%% faster. Ratio: time by these rules / that of\n# the "
        "chosen one, the median over the rounds.\n");
    fflush(stdout);
}

static void print_columns(const struct tune *tune)
{
    printf("# %s, measured:", tune->tuned->list);
    for (size_t v = 0; v < tune->run.count; v++)
        printf(" %s", tune->run.variants[v].name);
    printf("\n%-*s%-*s%-*s%*s   %-*s%*s   %-*s%*s%*s\n", SIZE_COLUMN, "# Size",
           LEVEL_COLUMN, "Level", NAME_COLUMN, "By rules", TIME_COLUMN,
           "Median(us)", NAME_COLUMN, "Fastest", TIME_COLUMN, "Median(us)",
           NAME_COLUMN, "Chosen", TIME_COLUMN, "Median(us)", TIME_COLUMN,
           "Ratio");
}

/* Measure one collective and replace its rules in the document. */
static void tune_one(struct tune *tune, const struct tuned *tuned,
                     const struct bench_options *given)
{
    struct bench *bench = tune->run.bench;

    tune->tuned = tuned;
    tune->levels = 0;
    tune->report.collective = tuned->collective;
    set_options(tune, given);
    bench->options = &tune->options;
    if (tuned->collective->refuse == NULL ||
        tuned->collective->refuse(bench) == NULL) {
        open_variants(tune);
        if (bench->place.rank == 0)
            print_columns(tune);
        (void)bench_run_sizes(&tune->run, tuned->collective);
        close_variants(tune);
    }
    bench->options = given;
    for (size_t l = 0; l < tune->levels; l++) {
        struct tune_rules *rules = &tune->found[l].rules;

        if (rules->count == 0)
            continue;
        /* The rule of the largest measured size also holds for larger ones. */
        rules->rule[rules->count - 1].bytes_to = BENCH_AUTO;
        tune_update(tune->document, rules);
    }
}

static void tune_all(struct tune *tune, struct bench *bench)
{
    const struct bench_options *given = bench->options;

    tune->ppn = (int)bench_max(bench, (uint64_t)bench->place.local_size);
    /* A report that shows progress but prints no notes. */
    tune->report.bench = bench;
    tune->report.progress = bench->place.rank == 0 && isatty(STDERR_FILENO);
    tune->run = (struct bench_run){
        .bench = bench, .report = &tune->report, .fresh = true, .take = take};
    if (bench->place.rank == 0)
        print_head(tune);
    for (size_t i = 0; i < TABLE; i++)
        if (given->name == NULL || strcmp(given->name, table[i].list) == 0)
            tune_one(tune, &table[i], given);
}

int bench_tune(struct bench *bench)
{
    const char *path = bench->options->tune;
    bool on_rank_0 = bench->place.rank == 0;
    struct tune *tune;
    int code = BENCH_OK;

    if (bench->place.ranks == 1) {
        fprintf(stderr, "catena-bench: --tune: expected 2 ranks or more, found "
                        "1; use: prun -n 4 --ppn 2 catena-bench --tune FILE\n");
        return BENCH_USAGE;
    }
    tune = bench_alloc(bench, 1, sizeof(*tune));
    if (on_rank_0) { /* find errors before time is spent on measuring */
        code = bench_file_try("--tune", path);
        tune->document = code == BENCH_OK ? tune_load(path) : NULL;
        code = tune->document != NULL ? BENCH_OK : BENCH_FAILED;
    }
    if (bench_max(bench, (uint64_t)code) != BENCH_OK) {
        free(tune);
        return BENCH_FAILED;
    }
    tune_all(tune, bench);
    if (on_rank_0)
        code = tune_save(tune->document, path, bench->place.network);
    free(tune);
    return (int)bench_max(bench, (uint64_t)code);
}
