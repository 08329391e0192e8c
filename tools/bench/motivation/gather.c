/* catena-bench gather_scatter: gather and scatter within a node by L leaders
 * ([Peng], figures 1 to 3).
 *
 * Every rank has two rows of blocks, each with one block for each of many
 * receivers. The leaders divide the receivers among themselves. Gather: for
 * each of its receivers a leader copies one block from the first row of every
 * rank into its staging buffer, as in an alltoall through leaders. Scatter: it
 * copies these blocks from there into the second row of every rank. All leaders
 * together move the same bytes for any number of leaders. Ranks write their
 * rows before each turn, so that the blocks come from their owners' caches, not
 * the leader's.
 *
 * Only the node of rank 0 is measured; ranks of other nodes sleep. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cores.h"
#include "motivation/motivation.h"

enum {
    BLOCKS_LEAST = 32,                   /* of a row */
    LEADERS_MOST = BLOCKS_LEAST,         /* each has a block of a row */
    COUNTS_MOST = 16,                    /* numbers of leaders to compare */
    VARIANTS_MOST = 2 * COUNTS_MOST + 1, /* two placements each, one leader */
    STAMP = 1                            /* of the check, for bench_seed */
};

/* The least number of bytes that all leaders together move in a turn: enough
 * for the differences of their starts to be negligible. */
static const size_t turn_least = 2 << 20;

/* From the rows to the leaders, or back. */
enum direction { GATHER, SCATTER, DIRECTIONS };

/* A number of leaders and their placement. */
struct variant {
    const char *placement; /* "packed", "spread" or "any" */
    int leaders;
    int domains; /* NUMA domains of the leaders; 0: unknown */
    int mine;    /* number of this leader; -1: this rank is no leader */
    bool *leads; /* [ranks of the node]: whether the rank is a leader */
    double *ns[DIRECTIONS]; /* [turns]: from the first leader's start to the
                             * last one's end */
    uint64_t errors;        /* wrong bytes of the node, of one size */
};

/* The state of the benchmark on this rank. */
struct gathering {
    struct bench *bench;
    struct bench_report report;
    struct figure_node node;
    struct figure_range range;
    int *order; /* [ranks]: ranks of the node, ordered by NUMA domain */
    struct variant variant[VARIANTS_MOST];
    size_t variants;
    unsigned char *own[DIRECTIONS]; /* rows: source of the gather, target of the
                                     * scatter */
    unsigned char **row[DIRECTIONS]; /* [ranks]: the rows of all, mapped here */
    unsigned char *staging;          /* NULL: this rank never leads */
    size_t bytes;                    /* per block */
    size_t blocks;                   /* per row */
    bool reported;                   /* this rank has printed a wrong byte */
};

/* ---- the measured part ---- */

/* Copy a block: small ones by loads and stores, without a call of memcpy. */
static inline void copy(unsigned char *to, const unsigned char *from,
                        size_t bytes)
{
    switch (bytes) {
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    case 32:
        memcpy(to, from, 32);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

/* The first block of a leader in a row. The blocks of a leader are adjacent, so
 * that leaders seldom write to the same cache line. */
static size_t first_block(const struct gathering *g, const struct variant *v,
                          int leader)
{
    return g->blocks * (size_t)leader / (size_t)v->leaders;
}

/* Move this leader's blocks: for each receiver those of all ranks, from this
 * rank on, so that the leaders do not access the same rank together. */
static void move_blocks(const struct gathering *g, const struct variant *v,
                        enum direction direction)
{
    size_t ranks = (size_t)g->node.ranks, bytes = g->bytes;
    size_t last = first_block(g, v, v->mine + 1);
    unsigned char *staged = g->staging;

    for (size_t block = first_block(g, v, v->mine); block < last; block++) {
        size_t rank = (size_t)g->node.me;

        for (size_t i = 0; i < ranks; i++) {
            unsigned char *in_row = g->row[direction][rank] + block * bytes;

            if (direction == GATHER)
                copy(staged + rank * bytes, in_row, bytes);
            else
                copy(in_row, staged + rank * bytes, bytes);
            rank = rank + 1 < ranks ? rank + 1 : 0;
        }
        staged += ranks * bytes;
    }
}

/* Move the blocks in one direction, between two fences. Returns the time from
 * the first leader's start to the last one's end. */
static double time_direction(struct gathering *g, const struct variant *v,
                             enum direction direction)
{
    struct bench *bench = g->bench;
    double ns;

    figure_must(bench, "fence", catena_node_fence(bench->context));
    if (v->mine >= 0) {
        double begin = figure_now_ns();

        move_blocks(g, v, direction);
        figure_finish(&g->node, begin, figure_now_ns());
    }
    figure_await(&g->node, v->leaders);
    ns = figure_elapsed_ns(&g->node, v->leads);
    figure_must(bench, "fence", catena_node_fence(bench->context));
    return ns;
}

/* One turn of a variant: write the rows, then time both directions. */
static void take_turn(struct gathering *g, struct variant *v, size_t turn)
{
    size_t row = g->blocks * g->bytes;

    memset(g->own[GATHER], (int)(turn + 1) & 0xff, row);
    memset(g->own[SCATTER], 0, row);
    v->ns[GATHER][turn] = time_direction(g, v, GATHER);
    v->ns[SCATTER][turn] = time_direction(g, v, SCATTER);
}

/* ---- checks ---- */

/* Check a block; counts wrong bytes in g->node.shared->errors. */
static void compare(struct gathering *g, const void *block, uint64_t seed,
                    const char *where, int rank)
{
    struct bench_mismatch first = {.where = where, .source = rank};
    uint64_t wrong = bench_compare(block, g->bytes, seed, &first);

    if (wrong == 0)
        return;
    atomic_fetch_add(&g->node.shared->errors, wrong);
    if (!g->reported)
        figure_report_wrong(g->bench, "gather_scatter", g->bytes, &first);
    g->reported = true;
}

static void check_staging(struct gathering *g, const struct variant *v)
{
    size_t last = first_block(g, v, v->mine + 1);
    const unsigned char *staged = g->staging;

    for (size_t block = first_block(g, v, v->mine); block < last; block++)
        for (int rank = 0; rank < g->node.ranks; rank++) {
            compare(g, staged, bench_seed(STAMP, rank, (int)block),
                    "leader's staging memory, block of local rank", rank);
            staged += g->bytes;
        }
}

/* Check a variant: one untimed turn in which all blocks differ. */
static void check(struct gathering *g, struct variant *v)
{
    _Atomic uint64_t *errors = &g->node.shared->errors;
    uint64_t before = atomic_load(errors);

    for (size_t block = 0; block < g->blocks; block++)
        bench_fill(g->own[GATHER] + block * g->bytes, g->bytes,
                   bench_seed(STAMP, g->node.me, (int)block));
    memset(g->own[SCATTER], 0, g->blocks * g->bytes);
    if (v->mine >= 0)
        memset(g->staging, 0, g->bytes);
    time_direction(g, v, GATHER);
    if (v->mine >= 0)
        check_staging(g, v);
    time_direction(g, v, SCATTER);
    for (size_t block = 0; block < g->blocks; block++)
        compare(g, g->own[SCATTER] + block * g->bytes,
                bench_seed(STAMP, g->node.me, (int)block),
                "blocks scattered to local rank", g->node.me);
    figure_must(g->bench, "fence", catena_node_fence(g->bench->context));
    v->errors = atomic_load(errors) - before;
    figure_must(g->bench, "fence", catena_node_fence(g->bench->context));
}

/* ---- one size ---- */

static void add_columns(struct bench_report *report)
{
    bool checks = report->bench->options->check;

    bench_report_column(report, "benchmark", NULL, 0, 0);
    bench_report_column(report, "ranks", NULL, 0, 0);
    bench_report_column(report, "bytes", "# Size", -10, 0);
    bench_report_column(report, "leaders", "Leaders", 9, 0);
    bench_report_column(report, "placement", "Placement", 11, 0);
    bench_report_column(report, "numa_domains", "NUMA", 6, 0);
    bench_report_column(report, "gather_MBps", "Gather(MB/s)", 14, 2);
    bench_report_column(report, "gather_ratio", "Ratio", 8, 3);
    bench_report_column(report, "scatter_MBps", "Scatter(MB/s)", 15, 2);
    bench_report_column(report, "scatter_ratio", "Ratio", 8, 3);
    bench_report_column(report, "turns", NULL, 0, 0);
    bench_report_column(report, "errors", checks ? "Errors" : NULL, 10, 0);
}

static void report_row(struct gathering *g, const struct variant *v)
{
    double moved = (double)g->blocks * (double)g->bytes * g->node.ranks;
    struct bench_value values[BENCH_MAX_COLUMNS];
    size_t n = 0;

    values[n++] = bench_text("gather_scatter");
    values[n++] = bench_count((uint64_t)g->node.ranks);
    values[n++] = bench_count(g->bytes);
    values[n++] = bench_count((uint64_t)v->leaders);
    values[n++] = bench_text(v->placement);
    values[n++] =
        bench_value_if(v->domains > 0, bench_count((uint64_t)v->domains));
    for (int d = 0; d < DIRECTIONS; d++) {
        double *sorted = bench_alloc(g->bench, g->range.turns, sizeof(*sorted));

        memcpy(sorted, v->ns[d], g->range.turns * sizeof(*sorted));
        values[n++] =
            bench_real(moved / figure_median(sorted, g->range.turns) * 1e3);
        values[n++] = bench_real(figure_ratio(g->bench, g->variant[0].ns[d],
                                              v->ns[d], g->range.turns));
        free(sorted);
    }
    values[n++] = bench_count(g->range.turns);
    values[n++] =
        bench_value_if(g->bench->options->check, bench_count(v->errors));
    bench_report_row(&g->report, values);
}

/* Bytes of a row of blocks of `bytes`. */
static size_t row_bytes(const struct gathering *g, size_t bytes)
{
    size_t blocks = turn_least / (size_t)g->node.ranks / bytes;

    return bytes * (blocks > BLOCKS_LEAST ? blocks : BLOCKS_LEAST);
}

static void run_size(struct gathering *g, size_t bytes)
{
    g->bytes = bytes;
    g->blocks = row_bytes(g, bytes) / bytes;
    for (size_t v = 0; v < g->variants && g->bench->options->check; v++)
        check(g, &g->variant[v]);
    for (size_t turn = 0; turn < g->range.warmup; turn++)
        for (size_t v = 0; v < g->variants; v++)
            take_turn(g, &g->variant[v], 0);
    for (size_t turn = 0; turn < g->range.turns; turn++)
        for (size_t v = 0; v < g->variants; v++)
            take_turn(g, &g->variant[v], turn);
    for (size_t v = 0; v < g->variants && g->bench->place.rank == 0; v++)
        report_row(g, &g->variant[v]);
}

/* ---- leaders ---- */

/* Order the ranks of the node by NUMA domain. Packed placement takes the first
 * L of this list as leaders, so that they share domains; spread placement takes
 * every n/L-th of the n ranks. Ranks that are not bound to a domain stay in the
 * order of their numbers. */
static void order_ranks(struct gathering *g)
{
    const int32_t *numa = g->node.numa;

    g->order = bench_alloc(g->bench, (size_t)g->node.ranks, sizeof(*g->order));
    for (int i = 0; i < g->node.ranks; i++) {
        int place = i;

        for (; place > 0 && numa[g->order[place - 1]] > numa[i]; place--)
            g->order[place] = g->order[place - 1];
        g->order[place] = i;
    }
}

/* The number of NUMA domains with leaders; 0: a rank is not bound to one. */
static int count_domains(const struct gathering *g, const bool *leads)
{
    int domains = 0;

    for (int i = 0; i < g->node.ranks; i++) {
        bool seen = !leads[i];

        if (g->node.numa[i] < 0)
            return 0;
        for (int j = 0; j < i && !seen; j++)
            seen = leads[j] && g->node.numa[j] == g->node.numa[i];
        domains += !seen;
    }
    return domains;
}

static void add_variant(struct gathering *g, int leaders, bool spread)
{
    struct variant *v = &g->variant[g->variants];
    const struct variant *before = v - 1;
    size_t ranks = (size_t)g->node.ranks;

    *v = (struct variant){.placement = spread ? "spread" : "packed",
                          .leaders = leaders,
                          .mine = -1,
                          .leads =
                              bench_alloc(g->bench, ranks, sizeof(*v->leads))};
    for (int l = 0; l < leaders; l++) {
        int rank = g->order[spread ? l * g->node.ranks / leaders : l];

        v->leads[rank] = true;
        if (rank == g->node.me)
            v->mine = l;
    }
    v->domains = count_domains(g, v->leads);
    /* With one leader, or when all ranks lead, both placements are equal. */
    if (spread && memcmp(v->leads, before->leads, ranks) == 0) {
        free(v->leads);
        g->variant[g->variants - 1].placement = "any";
        return;
    }
    for (int d = 0; d < DIRECTIONS; d++)
        v->ns[d] = bench_alloc(g->bench, g->range.turns, sizeof(*v->ns[d]));
    g->variants++;
}

/* Read the next number of a list such as "1,2,4". Returns 0 at the end of the
 * list, and -1 if the text is no such list. */
static int next_leaders(const char **list)
{
    char *end;
    long leaders;

    if (**list == '\0')
        return 0;
    leaders = **list >= '0' && **list <= '9' ? strtol(*list, &end, 10) : 0;
    if (leaders < 1 || leaders > LEADERS_MOST ||
        (*end != '\0' && (*end != ',' || end[1] == '\0')))
        return -1;
    *list = *end == ',' ? end + 1 : end;
    return (int)leaders;
}

static const char *check_options(const struct bench_options *options)
{
    static char text[96];
    const char *list = options->leaders != NULL ? options->leaders : "";
    int count = 0, leaders;

    while ((leaders = next_leaders(&list)) > 0)
        count++;
    snprintf(text, sizeof(text),
             "--leaders: expected at most %d numbers from 1 to %d, such as "
             "1,2,4",
             (int)COUNTS_MOST, (int)LEADERS_MOST);
    return leaders < 0 || count > COUNTS_MOST ? text : NULL;
}

/* Add the variants of --leaders. One leader always comes first, because ratios
 * are to its time. Numbers above the number of ranks are ignored. */
static void add_variants(struct gathering *g)
{
    const char *list = g->bench->options->leaders;
    int leaders;

    if (list == NULL)
        list = "1,2,4,8";
    order_ranks(g);
    add_variant(g, 1, false);
    g->variant[0].placement = "any";
    while ((leaders = next_leaders(&list)) > 0) {
        if (leaders == 1 || leaders > g->node.ranks)
            continue;
        add_variant(g, leaders, false);
        add_variant(g, leaders, true);
    }
}

/* ---- all of it ---- */

static void open_memory(struct gathering *g)
{
    struct bench *bench = g->bench;
    size_t ranks = (size_t)g->node.ranks, most = 0, staged = 0;

    for (size_t bytes = g->range.min; bytes <= g->range.max; bytes *= 2)
        most = row_bytes(g, bytes) > most ? row_bytes(g, bytes) : most;
    for (int d = 0; d < DIRECTIONS; d++) {
        g->own[d] = figure_allocate(bench, most);
        g->row[d] = bench_alloc(bench, ranks, sizeof(*g->row[d]));
        figure_pointers(&g->node, g->own[d], (void **)g->row[d]);
    }
    /* A leader's share of the receivers is rounded up, hence one block more. */
    for (size_t v = 0; v < g->variants; v++)
        if (g->variant[v].mine >= 0) {
            size_t share =
                (most / (size_t)g->variant[v].leaders + g->range.max) * ranks;

            staged = share > staged ? share : staged;
        }
    if (staged > 0)
        g->staging = figure_allocate(bench, staged);
}

static void close_all(struct gathering *g)
{
    catena_context_t *context = g->bench->context;

    figure_must(g->bench, "fence", catena_node_fence(context));
    catena_free(context, g->staging);
    for (int d = 0; d < DIRECTIONS; d++) {
        catena_free(context, g->own[d]);
        free(g->row[d]);
    }
    for (size_t v = 0; v < g->variants; v++) {
        free(g->variant[v].leads);
        for (int d = 0; d < DIRECTIONS; d++)
            free(g->variant[v].ns[d]);
    }
    free(g->order);
}

/* Measure all variants and sizes, on the node of rank 0. Returns an exit
 * code. */
static int measure(struct gathering *g)
{
    int code;

    add_variants(g);
    open_memory(g);
    bench_report_note(&g->report,
                      "measured: %d ranks of one node; MB/s: bytes of all "
                      "leaders / time from the first's start to the last's end",
                      g->node.ranks);
    bench_report_note(&g->report,
                      "leaders move %zu KiB or more in a turn; ranks write "
                      "their blocks before",
                      turn_least >> 10);
    bench_report_note(&g->report,
                      "packed: the first ranks lead, %s; spread: every n/L-th "
                      "leads; ratio: to one leader",
                      count_domains(g, g->variant[0].leads) > 0
                          ? "NUMA domain by domain"
                          : "NUMA domains unknown as ranks are not bound to "
                            "one");
    if (g->node.ranks > (int)ctn_cores_shared(""))
        bench_report_note(&g->report, "more ranks than cores: leaders may "
                                      "share one, whatever the placement");
    add_columns(&g->report);
    for (size_t bytes = g->range.min; bytes <= g->range.max; bytes *= 2)
        run_size(g, bytes);
    code = atomic_load(&g->node.shared->errors) == 0 ? BENCH_OK : BENCH_FAILED;
    close_all(g);
    return code;
}

static int run(struct bench *bench, const struct bench_figure *figure)
{
    struct gathering g = {.bench = bench, .range = figure_range(bench, figure)};
    const catena_place_t *place = &bench->place;
    bool root = place->rank == 0;
    uint64_t home = bench_max(bench, root ? (uint64_t)place->node : 0);
    uint64_t ranks = bench_max(bench, root ? (uint64_t)place->local_size : 0);
    int code = BENCH_OK;

    if (ranks < 2) {
        if (root)
            fprintf(stderr,
                    "catena-bench: gather_scatter: expected at least 2 ranks "
                    "on the node of rank 0, found 1; use: prun -n 4 "
                    "catena-bench gather_scatter\n");
        return BENCH_USAGE;
    }
    figure_report_open(&g.report, bench, figure, &g.range);
    figure_node_open(&g.node, bench);
    if ((uint64_t)place->node == home)
        code = measure(&g);
    figure_node_close(&g.node);
    bench_report_close(&g.report);
    return (int)bench_max(bench, (uint64_t)code);
}

const struct bench_figure bench_gather_scatter = {
    .name = "gather_scatter",
    .help = "leaders of a node gather and scatter (figures 1 to 3)",
    .min = 8,
    .max = 64 << 10,
    .turns = 31,
    .leaders = true,
    .check = check_options,
    .run = run,
};
