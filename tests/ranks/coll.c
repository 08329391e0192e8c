/* Every collective against the oracle: a pairwise covering set of cases. It
 * contains every collective with every algorithm in every hierarchy, and every
 * value meets every layout. The suite "matrix" has all cases of collective,
 * algorithm, hierarchy, type, operation and place, with the rest drawn.
 * "forever" calls a collective until a rank dies. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/layout.h"
#include "ranks/helpers/mix.h"
#include "ranks/helpers/rank_test.h"
#include "unit/capture.h"

enum { STARTS = 3 };

typedef struct bench {
    rank_test_t *test;
    catena_group_t *group[ORACLE_GROUPS]; /* NULL: not a member */
    bool network;
    unsigned long number;
} bench_t;

static void open_bench(rank_test_t *test, bench_t *bench)
{
    int rank = test->place.rank;
    *bench = (bench_t){.test = test,
                       .network = test->simulated || test->place.nodes > 1};
    RANK_CHECK(test,
               catena_group_dup(test->world, &bench->group[ORACLE_WORLD]) ==
                   CATENA_OK);
    RANK_CHECK(test, catena_group_split(
                         test->world, rank % 4 == 3 ? CATENA_UNDEFINED : 0,
                         -rank, &bench->group[ORACLE_TURNED]) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_split(test->world, 0, rank % 3,
                                  &bench->group[ORACLE_DEALT]) == CATENA_OK);
    for (int g = 0; g < ORACLE_GROUPS; g++) {
        const char *name = rank % 3 == 0 ? "red" : "blue";
        RANK_CHECK(test, bench->group[g] == NULL ||
                             catena_group_set(bench->group[g], "subgroup",
                                              name) == CATENA_OK);
    }
}

static void close_bench(bench_t *bench)
{
    rank_test_t *test = bench->test;
    for (int g = 0; g < ORACLE_GROUPS; g++) {
        RANK_CHECK(test, bench->group[g] == NULL ||
                             catena_group_free(&bench->group[g]) == CATENA_OK);
    }
}

static void choose(rank_test_t *test, const oracle_call_t *call)
{
    oracle_choose_hierarchy(&test->oracle, &call->c, call->group);
    oracle_choose_algorithm(&test->oracle, &call->c, call->group);
}

static bool is_kind(const rank_test_t *test, unsigned kind)
{
    const char *only = test->options->kind;
    return only == NULL || strcmp(only, oracle_kind_name(kind)) == 0;
}

/** The library explains how a call ran, and what it cost. Nothing runs if all
 * blocks are empty. */
static void explained(rank_test_t *test, const oracle_call_t *call)
{
    char text[600];
    const uint8_t *value = call->c.value;
    const char *name = oracle_kind_name(value[ORACLE_KIND]);
    /* Drawn lengths may all be 0. */
    bool may_be_empty = oracle_elements_of(&call->c) == 0 ||
                        oracle_own_counts(value[ORACLE_KIND]);
    RANK_CHECK(test, catena_group_explain(call->group, name, text,
                                          sizeof(text)) == CATENA_OK);
    if (strstr(text, " messages=") == NULL &&
        !(may_be_empty && strstr(text, "has not run") != NULL)) {
        rank_fail(test, "%s", text);
    }
}

static void run_case(bench_t *bench, const oracle_case_t *c)
{
    rank_test_t *test = bench->test;
    char text[256], name[300];
    oracle_describe(c, text, sizeof(text));
    snprintf(name, sizeof(name), "#%lu %s", bench->number, text);
    if ((!bench->network && oracle_by_network(c)) || !rank_wanted(test, name)) {
        return;
    }
    oracle_call_t call = {.c = *c,
                          .group = bench->group[c->value[ORACLE_GROUP]],
                          .table = rank_table(test),
                          .shape = 77 * bench->number};
    if (call.group != NULL) {
        choose(test, &call);
        oracle_call_exercise(&test->oracle, &call,
                             c->value[ORACLE_MODE] == ORACLE_PERSISTENT ? STARTS
                                                                        : 1);
        explained(test, &call);
    }
    rank_conclude(test, name);
}

/* ---- the covering sets ---- */

/** The number of algorithms that the library has for a collective, from its
 * message about an unknown one. */
static size_t offered(rank_test_t *test, unsigned kind)
{
    char name[64];
    capture_t captured;
    size_t count = 0;
    snprintf(name, sizeof(name), "%s_algorithm", oracle_setting_name(kind));
    capture_start(&captured);
    catena_status_t status = catena_group_set(test->world, name, "no-such");
    capture_stop(&captured);
    RANK_CHECK(test, status == CATENA_ERR_ARG);
    const char *at = strstr(captured.text, "expected");
    while (at != NULL) {
        count++;
        const char *last = strstr(at, " or ");
        at = strchr(at + 1, ',');
        at = at == NULL ? (last == NULL ? NULL : last + 1) : at;
    }
    return count;
}

/** The algorithms of all cases exist, or selecting them fails; none is missing.
 * In a simulated job all ranks share stderr, so one rank queries. All of them
 * set the same, whatever the environment says. */
static void algorithms(rank_test_t *test)
{
    for (unsigned kind = 0; kind < ORACLE_KINDS; kind++) {
        size_t known = oracle_algorithms(kind);
        size_t there = test->place.rank == 0 ? offered(test, kind) : known;
        const oracle_case_t usual = {.value = {[ORACLE_KIND] = (uint8_t)kind}};
        oracle_choose_algorithm(&test->oracle, &usual, test->world);
        if (there != known) {
            rank_fail(test, "%s has %zu algorithms; case.c has %zu, with auto",
                      oracle_setting_name(kind), there, known);
        }
    }
}

static void values_meet(rank_test_t *test)
{
    rank_check_plan(test, oracle_plan());
}

static void cover(rank_test_t *test)
{
    const oracle_plan_t *plan = oracle_plan();
    int layout = test->options->layout;
    bench_t bench;
    open_bench(test, &bench);
    for (size_t i = 0; i < plan->count; i++) {
        bench.number = i + 1;
        if (layout < 0 || (plan->layouts[i] >> layout & 1) != 0) {
            run_case(&bench, &plan->set[i]);
        }
    }
    close_bench(&bench);
}

static void matrix(rank_test_t *test)
{
    /* The last of these varies fastest. */
    static const unsigned varied[] = {ORACLE_KIND,      ORACLE_HIERARCHY,
                                      ORACLE_ALGORITHM, ORACLE_TYPE,
                                      ORACLE_OP,        ORACLE_PLACE};
    static const unsigned drawn[] = {
        ORACLE_SIZE, ORACLE_COUNTS, ORACLE_ROOT,   ORACLE_GROUP,
        ORACLE_MODE, ORACLE_MEMORY, ORACLE_ELEMENT};
    enum { VARIED = sizeof(varied) / sizeof(varied[0]) };
    const oracle_space_t *space = oracle_space();
    uint64_t state = 6;
    oracle_case_t c = {{0}};
    bench_t bench;
    open_bench(test, &bench);
    for (unsigned i = VARIED; i > 0;) {
        for (unsigned k = 0; k < sizeof(drawn) / sizeof(drawn[0]); k++) {
            c.value[drawn[k]] =
                (uint8_t)ctn_random_below(&state, space->values[drawn[k]]);
        }
        oracle_case_t now = c;
        oracle_repair(&now);
        if (space->valid(&now)) {
            bench.number++;
            if (is_kind(test, now.value[ORACLE_KIND])) {
                run_case(&bench, &now);
            }
        }
        for (i = VARIED; i > 0 && ++c.value[varied[i - 1]] ==
                                      space->values[varied[i - 1]];) {
            c.value[varied[--i]] = 0;
        }
    }
    close_bench(&bench);
}

/* ---- limits between paths ---- */

static void run_length(rank_test_t *test, unsigned kind, size_t bytes)
{
    bool reduces = oracle_reduces(kind);
    for (uint8_t way = 0; way < 4; way++) {
        oracle_call_t call = {
            .c = {.value = {[ORACLE_KIND] = (uint8_t)kind,
                            [ORACLE_MODE] = way / 2,
                            [ORACLE_TYPE] = ORACLE_BYTE,
                            [ORACLE_OP] = reduces ? ORACLE_BXOR : ORACLE_NO_OP,
                            [ORACLE_MEMORY] = way % 2}},
            .group = test->world,
            .table = rank_table(test),
            .exactly = bytes,
            .shape = bytes};
        oracle_call_exercise(&test->oracle, &call, 1);
    }
}

/** Lengths beside those at which a path changes: what fits a line, a slot, an
 * eager row, a fragment, and where zero-copy sends of blocks begin. */
static void limits(rank_test_t *test)
{
    static const size_t limit[] = {8,     16,    40,     48,     56,   64,
                                   112,   1024,  2048,   4096,   8192, 16384,
                                   32768, 65536, 131072, 1048576};
    for (unsigned kind = ORACLE_BCAST; kind < ORACLE_KINDS; kind++) {
        char name[64];
        snprintf(name, sizeof(name), "%s around limits",
                 oracle_kind_name(kind));
        if (!rank_dealt(test, name)) {
            continue;
        }
        bool shares = kind == ORACLE_BCAST || kind == ORACLE_GATHER ||
                      kind == ORACLE_SCATTER;
        for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
            if (limit[i] > 32768 && !shares) {
                break; /* others change nothing there */
            }
            /* With many ranks, only the length above the limit. */
            size_t bytes = limit[i] + (test->place.ranks > 9 ? 1 : -1);
            for (; bytes <= limit[i] + 1; bytes++) {
                run_length(test, kind, bytes);
            }
        }
        rank_conclude(test, name);
    }
}

/* ---- bitwise reproducible results ---- */

static void bits(rank_test_t *test)
{
    size_t p = (size_t)test->place.ranks;
    static const size_t counts[] = {1, 5, 300, 5000, 20000};
    double *all = calloc(p * 20000, sizeof(*all));
    double *own = calloc(20000, sizeof(*own));
    for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        uint64_t state = 31u + (uint64_t)test->place.rank;
        size_t n = counts[c];
        for (size_t i = 0; i < n; i++) {
            own[i] = (double)ctn_random(&state) * 1e-7;
        }
        RANK_CHECK(test,
                   catena_allreduce(CATENA_IN_PLACE, own, n, CATENA_DOUBLE,
                                    CATENA_SUM, test->world) == CATENA_OK);
        RANK_CHECK(test,
                   catena_allgather(own, n, CATENA_DOUBLE, all, n,
                                    CATENA_DOUBLE, test->world) == CATENA_OK);
        for (size_t r = 0; r < p; r++) {
            RANK_CHECK(test, memcmp(all + r * n, own, n * sizeof(*own)) == 0);
        }
    }
    free(all);
    free(own);
}

/* ---- many operations in flight ---- */

enum { OPERATIONS = 1000 };

static void thousand(rank_test_t *test)
{
    size_t many = (size_t)(test->place.ranks > 7 ? test->place.ranks : 7);
    rank_mix(test, rank_seed(1), OPERATIONS * 49 / many / many);
}

static void few_often(rank_test_t *test)
{
    for (uint64_t i = 0; i < 5; i++) {
        rank_mix(test, 1000 * rank_seed(1) + i, OPERATIONS / 25);
    }
}

/* ---- until a rank dies ---- */

/** One collective, repeatedly, by all its algorithms. */
static void forever(rank_test_t *test)
{
    bench_t bench;
    uint64_t state = 8;
    unsigned kind = 0;
    catena_status_t status = CATENA_OK;
    while (kind + 1 < ORACLE_KINDS && !is_kind(test, kind)) {
        kind++;
    }
    open_bench(test, &bench);
    for (uint64_t i = 0; status == CATENA_OK; i++) {
        oracle_call_t call = {.group = bench.group[ORACLE_WORLD],
                              .table = rank_table(test),
                              .shape = i};
        oracle_draw(&call.c, kind, bench.network, &state);
        call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
        choose(test, &call);
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, i);
        status = oracle_call_run(&test->oracle, &call);
        oracle_call_close(&test->oracle, &call);
        if (i == 0 && test->place.rank == 0) {
            printf("running\n");
            fflush(stdout);
        }
    }
    rank_fail(test, "%s: %s", oracle_kind_name(kind),
              catena_status_string(status));
}

static const rank_case_t cases[] = {
    {"every two values meet, and every layout", values_meet},
    {"all algorithms are in the table", algorithms},
    {"allreduce gives the same bits", bits},
    {"a thousand operations", thousand},
    {"a few operations, often", few_often},
    {NULL, NULL}};
static const rank_case_t many[] = {
    {"covering set", cover}, {"around limits", limits}, {NULL, NULL}};
const rank_suite_t rank_suite_coll = {
    .name = "coll", .cases = cases, .many = many};

static const rank_case_t all[] = {{"matrix", matrix}, {NULL, NULL}};
const rank_suite_t rank_suite_matrix = {
    .name = "matrix", .many = all, .named = true};

static const rank_case_t endless[] = {{"forever", forever}, {NULL, NULL}};
const rank_suite_t rank_suite_forever = {
    .name = "forever", .many = endless, .named = true};
