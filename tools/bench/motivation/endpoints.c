/* catena-bench endpoints: throughput between two nodes through several
 * endpoints ([Peng], figure 4).
 *
 * The i-th rank of one node and the i-th of the other are a pair. E pairs
 * exchange blocks at the same time, each rank through its own UCX worker and
 * endpoint; the other ranks sleep. A pair starts a window, a number of
 * catena_ialltoall, and waits for all of them. In each a rank sends two blocks:
 * one crosses the network, the other is copied to itself. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motivation/motivation.h"

enum {
    GROUPS = 8, /* of a pair: one group runs only a few operations at once */
    WINDOW_MOST = 16, /* operations in a window */
    WINDOW_LEAST = 4,
    COUNTS_MOST = 16, /* numbers of endpoints to compare */
    WINDOWS_MOST = 4096,
    STAMP = 1 /* for bench_seed: of the first operation in a window */
};

static const size_t window_bytes = 4 << 20; /* that a rank sends its peer */
static const double turn_ns = 4e6;          /* intended, of one pair */

/* A number of endpoints. */
struct variant {
    int endpoints;    /* of each node */
    bool *takes_part; /* [ranks of the node] */
    double *ns;       /* [turns], on the slower node; valid on rank 0 */
};

/* The state of the benchmark on this rank. */
struct exchanging {
    struct bench *bench;
    struct bench_report report;
    struct figure_node node;
    struct figure_range range;
    int pairs;                     /* of ranks of the two nodes */
    bool paired;                   /* this rank belongs to a pair */
    catena_group_t *group[GROUPS]; /* each has this rank and its peer */
    struct variant variant[COUNTS_MOST];
    size_t variants;            /* their number */
    unsigned char *send, *recv; /* [window][2] blocks */
    size_t bytes;               /* per block */
    size_t window;              /* operations at once */
    size_t windows;             /* per turn, one after the other */
    uint64_t errors;            /* of all ranks and sizes */
};

/* ---- the measured part ---- */

/* Exchange blocks with the peer. */
static void exchange(struct exchanging *x, size_t windows)
{
    catena_request_t *request[WINDOW_MOST];
    size_t stride = 2 * x->bytes;

    for (size_t w = 0; w < windows; w++) {
        for (size_t i = 0; i < x->window; i++)
            figure_must(x->bench, "alltoall",
                        catena_ialltoall(x->send + i * stride, x->bytes,
                                         CATENA_BYTE, x->recv + i * stride,
                                         x->bytes, CATENA_BYTE,
                                         x->group[i % GROUPS], &request[i]));
        figure_must(x->bench, "alltoall",
                    catena_request_waitall(x->window, request));
    }
}

/* One turn of a variant. Returns its time on this node, on the node's rank 0;
 * clocks of different nodes are not compared. */
static double take_turn(struct exchanging *x, const struct variant *v,
                        size_t windows)
{
    figure_must(x->bench, "barrier", catena_barrier(x->bench->world));
    if (v->takes_part[x->node.me]) {
        double begin = figure_now_ns();

        exchange(x, windows);
        figure_finish(&x->node, begin, figure_now_ns());
    }
    figure_await(&x->node, v->endpoints);
    return x->node.me == 0 ? figure_elapsed_ns(&x->node, v->takes_part) : 0;
}

/* Choose the number of windows so that a turn takes about turn_ns. The ranks
 * start microseconds apart, which must not count. */
static void choose_windows(struct exchanging *x)
{
    enum { TRIALS = 5 };
    double ns[TRIALS];
    uint64_t slowest;

    for (int i = 0; i < TRIALS; i++) /* the first ones also connect */
        ns[i] = take_turn(x, &x->variant[0], 1);
    slowest = bench_max(x->bench, (uint64_t)figure_median(ns, TRIALS));
    x->windows = (size_t)(turn_ns / (double)(slowest + 1));
    if (x->windows < 1)
        x->windows = 1;
    if (x->windows > WINDOWS_MOST)
        x->windows = WINDOWS_MOST;
}

/* ---- check ---- */

static void fold_sum(void *into, const void *from, size_t bytes)
{
    uint64_t *a = into;
    const uint64_t *b = from;

    for (size_t i = 0; i < bytes / sizeof(*a); i++)
        a[i] += b[i];
}

/* The seed of the block that rank `from` of the pair sends to rank `to` in
 * operation i: different for all pairs. */
static uint64_t seed_of(const struct exchanging *x, size_t i, int from, int to)
{
    return bench_seed(STAMP + i, 2 * x->node.me + from, 2 * x->node.me + to);
}

/* Check the blocks of one window. `me`: rank in the pair. Returns the number of
 * wrong bytes on this rank. */
static uint64_t verify(struct exchanging *x, int me)
{
    struct bench_mismatch first = {0}, found;
    uint64_t wrong = 0, here;

    for (size_t i = 0; i < x->window; i++)
        for (int from = 0; from < 2; from++) {
            found = (struct bench_mismatch){
                .where = "receive buffer, block from rank of the pair",
                .source = from};
            here = bench_compare(x->recv + (2 * i + (size_t)from) * x->bytes,
                                 x->bytes, seed_of(x, i, from, me), &found);
            if (wrong == 0 && here != 0)
                first = found;
            wrong += here;
        }
    if (wrong != 0)
        figure_report_wrong(x->bench, "endpoints", x->bytes, &first);
    return wrong;
}

/* Let all pairs execute one window, and check its blocks. Returns the number of
 * wrong bytes on all ranks. */
static uint64_t check(struct exchanging *x)
{
    int me = catena_group_rank(x->group[0]);
    uint64_t wrong = 0;

    if (x->paired) {
        for (size_t i = 0; i < 2 * x->window; i++)
            bench_fill(x->send + i * x->bytes, x->bytes,
                       seed_of(x, i / 2, me, (int)(i % 2)));
        memset(x->recv, 0, 2 * x->window * x->bytes);
    }
    take_turn(x, &x->variant[x->variants - 1], 1);
    if (x->paired)
        wrong = verify(x, me);
    bench_fold(x->bench, &wrong, sizeof(wrong), fold_sum);
    return wrong;
}

/* ---- one size ---- */

static void add_columns(struct bench_report *report)
{
    bool checks = report->bench->options->check;

    bench_report_column(report, "benchmark", NULL, 0, 0);
    bench_report_column(report, "ranks", NULL, 0, 0);
    bench_report_column(report, "bytes", "# Size", -10, 0);
    bench_report_column(report, "endpoints", "Endpoints", 11, 0);
    bench_report_column(report, "MBps", "MB/s", 14, 2);
    bench_report_column(report, "messages_per_s", "Messages/s", 16, 0);
    bench_report_column(report, "ratio", "Ratio", 8, 3);
    bench_report_column(report, "window", NULL, 0, 0);
    bench_report_column(report, "windows", NULL, 0, 0);
    bench_report_column(report, "turns", NULL, 0, 0);
    bench_report_column(report, "errors", checks ? "Errors" : NULL, 10, 0);
}

static void report_row(struct exchanging *x, const struct variant *v,
                       uint64_t errors)
{
    size_t turns = x->range.turns;
    double *sorted = bench_alloc(x->bench, turns, sizeof(*sorted));
    double messages = (double)v->endpoints * (double)(x->window * x->windows);
    double ratio =
        figure_ratio(x->bench, x->variant[0].ns, v->ns, turns) * v->endpoints;
    double per_s;

    memcpy(sorted, v->ns, turns * sizeof(*sorted));
    per_s = messages / figure_median(sorted, turns) * 1e9;
    free(sorted);
    bench_report_row(
        &x->report,
        (struct bench_value[]){
            bench_text("endpoints"),
            bench_count((uint64_t)x->bench->place.ranks), bench_count(x->bytes),
            bench_count((uint64_t)v->endpoints),
            bench_real(per_s * (double)x->bytes * 1e-6), bench_real(per_s),
            bench_real(ratio), bench_count(x->window), bench_count(x->windows),
            bench_count(turns),
            bench_value_if(x->bench->options->check, bench_count(errors))});
}

/* Operations in a window: fewer for large blocks, because few of these suffice
 * to saturate the network. */
static size_t window_of(size_t bytes)
{
    size_t window = window_bytes / bytes;

    return window > WINDOW_MOST    ? WINDOW_MOST
           : window < WINDOW_LEAST ? WINDOW_LEAST
                                   : window;
}

static void run_size(struct exchanging *x, size_t bytes)
{
    uint64_t errors = 0;

    x->bytes = bytes;
    x->window = window_of(bytes);
    if (x->bench->options->check)
        errors = check(x);
    x->errors += errors;
    choose_windows(x);
    for (size_t turn = 0; turn < x->range.warmup; turn++)
        for (size_t v = 0; v < x->variants; v++)
            take_turn(x, &x->variant[v], x->windows);
    for (size_t turn = 0; turn < x->range.turns; turn++)
        for (size_t v = 0; v < x->variants; v++)
            x->variant[v].ns[turn] = take_turn(x, &x->variant[v], x->windows);
    for (size_t v = 0; v < x->variants; v++)
        bench_max_times(x->bench, x->variant[v].ns, x->range.turns);
    for (size_t v = 0; v < x->variants && x->bench->place.rank == 0; v++)
        report_row(x, &x->variant[v], errors);
}

/* ---- all of it ---- */

static void add_variant(struct exchanging *x, int endpoints)
{
    struct variant *v = &x->variant[x->variants++];

    v->endpoints = endpoints;
    v->takes_part =
        bench_alloc(x->bench, (size_t)x->node.ranks, sizeof(*v->takes_part));
    for (int i = 0; i < endpoints; i++)
        v->takes_part[i] = true;
    v->ns = bench_alloc(x->bench, x->range.turns, sizeof(*v->ns));
}

/* Make the groups of this rank and its peer. A rank without a peer gets groups
 * of its own, which it does not use. */
static void open_pair(struct exchanging *x)
{
    struct bench *bench = x->bench;
    int color = x->node.me;

    x->paired = x->node.me < x->pairs;
    if (!x->paired)
        color = x->pairs + bench->place.rank;
    figure_must(bench, "group",
                catena_group_split(bench->world, color, bench->place.rank,
                                   &x->group[0]));
    for (int i = 1; i < GROUPS; i++)
        figure_must(bench, "group",
                    catena_group_dup(x->group[0], &x->group[i]));
    for (int i = 0; i < GROUPS; i++)
        figure_must(
            bench, "group",
            catena_group_set(x->group[i], "alltoall_algorithm", "direct"));
}

static void open_all(struct exchanging *x)
{
    size_t most = 0;

    /* As many pairs as the smaller node has ranks: a minimum, by bench_max. */
    x->pairs =
        INT_MAX - (int)bench_max(x->bench, (uint64_t)(INT_MAX - x->node.ranks));
    for (int endpoints = 1; endpoints < x->pairs; endpoints *= 2)
        if (x->variants < COUNTS_MOST - 1)
            add_variant(x, endpoints);
    add_variant(x, x->pairs);
    open_pair(x);
    for (size_t bytes = x->range.min; bytes <= x->range.max; bytes *= 2)
        if (2 * bytes * window_of(bytes) > most)
            most = 2 * bytes * window_of(bytes);
    if (x->paired) {
        x->send = figure_allocate(x->bench, most);
        x->recv = figure_allocate(x->bench, most);
    }
}

static void close_all(struct exchanging *x)
{
    for (int i = GROUPS - 1; i >= 0; i--)
        figure_must(x->bench, "freeing a group",
                    catena_group_free(&x->group[i]));
    catena_free(x->bench->context, x->send);
    catena_free(x->bench->context, x->recv);
    for (size_t v = 0; v < x->variants; v++) {
        free(x->variant[v].takes_part);
        free(x->variant[v].ns);
    }
}

static int run(struct bench *bench, const struct bench_figure *figure)
{
    struct exchanging x = {.bench = bench,
                           .range = figure_range(bench, figure)};

    if (bench->place.nodes != 2) {
        if (bench->place.rank == 0)
            fprintf(
                stderr,
                "catena-bench: endpoints: expected 2 nodes, found %d rank%s "
                "on %d node%s; use: prun -n 8 --ppn 4 catena-bench "
                "endpoints\n",
                bench->place.ranks, bench->place.ranks == 1 ? "" : "s",
                bench->place.nodes, bench->place.nodes == 1 ? "" : "s");
        return BENCH_USAGE;
    }
    figure_report_open(&x.report, bench, figure, &x.range);
    figure_node_open(&x.node, bench);
    open_all(&x);
    bench_report_note(&x.report,
                      "MB/s, Messages/s: from one node to the other, as much "
                      "comes back at the same time; an endpoint is a rank");
    bench_report_note(&x.report,
                      "every pair of ranks keeps up to %d catena_ialltoall in "
                      "flight; each also copies a block to itself; ratio: to "
                      "one endpoint",
                      (int)WINDOW_MOST);
    add_columns(&x.report);
    for (size_t bytes = x.range.min; bytes <= x.range.max; bytes *= 2)
        run_size(&x, bytes);
    close_all(&x);
    figure_node_close(&x.node);
    bench_report_close(&x.report);
    return x.errors == 0 ? BENCH_OK : BENCH_FAILED;
}

const struct bench_figure bench_endpoints = {
    .name = "endpoints",
    .help = "two nodes exchange through several endpoints (figure 4)",
    .min = 1,
    .max = 1 << 20,
    .turns = 15,
    .run = run,
};
