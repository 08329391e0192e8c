/* Every collective against a naive reference: a set of cases in which every two
 * values of what can be varied meet, and every collective goes by every
 * algorithm in every hierarchy, or (with "matrix") all cases of
 * collective, algorithm, hierarchy, type, operation and place, the rest being
 * drawn. COLL_ONLY=N: only case N; COLL_KIND=NAME: only that collective.
 * "forever": that collective until a rank dies. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_case.h"
#include "unit/capture.h"

enum { STARTS = 3 };

typedef struct bench {
    rank_test_t *test;
    coll_table_t table;
    catena_group_t *group[COLL_GROUPS]; /* NULL: not in it */
    bool network;
    const char *only_kind;
    long only; /* -1: all */
    long number;
} bench_t;

static void open_bench(rank_test_t *test, bench_t *bench)
{
    const char *only = getenv("COLL_ONLY");
    int rank = test->place.rank;
    *bench = (bench_t){.test = test,
                       .network = test->simulated || test->place.nodes > 1,
                       .only_kind = getenv("COLL_KIND"),
                       .only = only != NULL ? strtol(only, NULL, 0) : -1};
    coll_table_open(test, &bench->table);
    bench->group[COLL_WORLD] = test->world;
    RANK_CHECK(test, catena_group_split(
                         test->world, rank % 4 == 3 ? CATENA_UNDEFINED : 0,
                         -rank, &bench->group[COLL_TURNED]) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_split(test->world, 0, rank % 3,
                                  &bench->group[COLL_DEALT]) == CATENA_OK);
    for (int g = 0; g < COLL_GROUPS; g++) {
        const char *name = rank % 3 == 0 ? "red" : "blue";
        RANK_CHECK(test, bench->group[g] == NULL ||
                             catena_group_set(bench->group[g], "subgroup",
                                              name) == CATENA_OK);
    }
}

static void close_bench(bench_t *bench)
{
    rank_test_t *test = bench->test;
    coll_table_close(test, &bench->table);
    for (int g = COLL_TURNED; g < COLL_GROUPS; g++) {
        RANK_CHECK(test, bench->group[g] == NULL ||
                             catena_group_free(bench->group[g]) == CATENA_OK);
    }
}

static void run_once(rank_test_t *test, coll_call_t *call, uint64_t seed)
{
    coll_fill(call, seed);
    RANK_CHECK(test, coll_run(call) == CATENA_OK);
    if (call->c.value[COLL_MODE] == COLL_NONBLOCKING) {
        RANK_CHECK(test, catena_wait(&call->request) == CATENA_OK);
    }
    coll_check(test, call, "");
}

static void run_persistent(rank_test_t *test, coll_call_t *call, uint64_t seed)
{
    coll_fill(call, seed);
    RANK_CHECK(test, coll_run(call) == CATENA_OK);
    for (unsigned i = 0; i < STARTS; i++) {
        coll_fill(call, seed + i);
        RANK_CHECK(test, catena_start(call->request) == CATENA_OK);
        RANK_CHECK(test, catena_wait(&call->request) == CATENA_OK);
        coll_check(test, call, i == 0 ? "" : "started again: ");
    }
    RANK_CHECK(test, catena_request_free(&call->request) == CATENA_OK);
}

static bool wanted(const bench_t *bench, const coll_case_t *c)
{
    const char *kind = coll_kind_name(c->value[COLL_KIND]);
    if (bench->only >= 0 && bench->number != bench->only) {
        return false;
    }
    if (!bench->network && coll_by_network(c)) {
        return false; /* one node has no network */
    }
    return bench->only_kind == NULL || strcmp(bench->only_kind, kind) == 0;
}

static void run_case(bench_t *bench, const coll_case_t *c)
{
    rank_test_t *test = bench->test;
    char text[256], name[300];
    bench->number++;
    if (!wanted(bench, c)) {
        return;
    }
    coll_call_t call = {.c = *c,
                        .group = bench->group[c->value[COLL_GROUP]],
                        .table = &bench->table,
                        .seed = 77u * (uint64_t)bench->number};
    if (call.group != NULL) {
        coll_choose_hierarchy(test, c, call.group);
        coll_choose_algorithm(test, c, call.group);
        coll_open(test, &call);
        if (c->value[COLL_MODE] == COLL_PERSISTENT) {
            run_persistent(test, &call, call.seed);
        } else {
            run_once(test, &call, call.seed);
        }
        coll_close(test, &call);
    }
    coll_describe(c, text, sizeof(text));
    snprintf(name, sizeof(name), "#%ld %s", bench->number, text);
    rank_conclude(test, name);
}

/* ---- the sets ---- */

/** How many algorithms the library has for a collective: it says so when it is
 * asked for one that it does not have. */
static size_t offered(rank_test_t *test, unsigned kind)
{
    char name[64];
    capture_t said;
    size_t count = 0;
    snprintf(name, sizeof(name), "%s_algorithm", coll_setting_name(kind));
    capture_start(&said);
    catena_status_t status = catena_group_set(test->world, name, "no-such");
    capture_stop(&said);
    RANK_CHECK(test, status == CATENA_ERR_ARG);
    const char *at = strstr(said.text, "expected one of auto");
    while (at != NULL) {
        count++;
        at = strchr(at + 1, ',');
    }
    return count;
}

/** Those that cases name exist, or choosing them fails; none is left out. In a
 * simulated job stderr is everybody's: one rank asks, the others only set
 * something, since all have to. */
static void check_algorithms(rank_test_t *test)
{
    for (unsigned kind = 0; kind < COLL_KINDS; kind++) {
        size_t known = coll_algorithms(kind);
        if (test->place.rank > 0) {
            const coll_case_t usual = {.value = {[COLL_KIND] = (uint8_t)kind}};
            coll_choose_algorithm(test, &usual, test->world);
            continue;
        }
        size_t there = offered(test, kind);
        if (there != known) {
            rank_fail(test,
                      "%s has %zu algorithms; coll_algorithms.h has %zu of "
                      "them, with auto",
                      coll_setting_name(kind), there, known);
        }
    }
    rank_conclude(test, "all algorithms are in the table");
}

static void cover(rank_test_t *test)
{
    size_t count;
    coll_case_t *set = coll_cover(&count);
    bench_t bench;
    open_bench(test, &bench);
    RANK_CHECK(test, coll_uncovered(set, count) == 0);
    RANK_CHECK(test, coll_uncovered(set, count / 2) > 0);
    rank_conclude(test, "every two values meet");
    check_algorithms(test);
    for (size_t i = 0; i < count; i++) {
        run_case(&bench, &set[i]);
    }
    close_bench(&bench);
    free(set);
}

static void matrix(rank_test_t *test)
{
    /* The last of these is varied first. */
    static const coll_factor_t varied[] = {COLL_KIND,      COLL_HIERARCHY,
                                           COLL_ALGORITHM, COLL_TYPE,
                                           COLL_OP,        COLL_PLACE};
    enum { VARIED = sizeof(varied) / sizeof(varied[0]) };
    uint64_t state = 6;
    coll_case_t c = {{0}};
    bench_t bench;
    open_bench(test, &bench);
    for (;;) {
        c.value[COLL_SIZE] = (uint8_t)(rank_random(&state) % COLL_SIZES);
        c.value[COLL_ROOT] = (uint8_t)(rank_random(&state) % COLL_ROOTS);
        c.value[COLL_GROUP] = (uint8_t)(rank_random(&state) % COLL_GROUPS);
        c.value[COLL_MODE] = (uint8_t)(rank_random(&state) % COLL_MODES);
        c.value[COLL_MEMORY] = (uint8_t)(rank_random(&state) % COLL_MEMORIES);
        coll_case_t now = c;
        coll_repair(&now);
        if (coll_valid(&now)) {
            run_case(&bench, &now);
        }
        unsigned i = VARIED;
        while (i > 0 &&
               ++c.value[varied[i - 1]] == coll_values(varied[i - 1])) {
            c.value[varied[--i]] = 0;
        }
        if (i == 0) {
            break;
        }
    }
    close_bench(&bench);
}

/* ---- where one way ends and the next begins ---- */

static void run_length(bench_t *bench, unsigned kind, size_t bytes)
{
    bool reduces = coll_reduces(kind);
    for (unsigned mode = COLL_BLOCKING; mode <= COLL_NONBLOCKING; mode++) {
        for (unsigned memory = 0; memory < 2; memory++) {
            coll_call_t call = {
                .c = {.value = {[COLL_KIND] = (uint8_t)kind,
                                [COLL_MODE] = (uint8_t)mode,
                                [COLL_TYPE] = COLL_BYTE,
                                [COLL_OP] = reduces ? COLL_BXOR : COLL_NO_OP,
                                [COLL_MEMORY] = (uint8_t)memory}},
                .group = bench->test->world,
                .table = &bench->table,
                .exactly = bytes,
            };
            coll_open(bench->test, &call);
            run_once(bench->test, &call, bytes);
            coll_close(bench->test, &call);
        }
    }
}

/** Lengths beside those at which something changes: what fits a line, a slot, a
 * row, a segment, and where blocks are lent. */
static void limits(rank_test_t *test)
{
    static const size_t limit[] = {8,    16,   40,   48,   56,    64,   112,
                                   1024, 2048, 4096, 8192, 16384, 32768};
    bench_t bench;
    open_bench(test, &bench);
    for (unsigned kind = COLL_BCAST; kind < COLL_KINDS; kind++) {
        char name[64];
        for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
            for (size_t bytes = limit[i] - 1; bytes <= limit[i] + 1; bytes++) {
                run_length(&bench, kind, bytes);
            }
        }
        snprintf(name, sizeof(name), "%s around limits", coll_kind_name(kind));
        rank_conclude(test, name);
    }
    close_bench(&bench);
}

/* ---- the same bits everywhere ---- */

static void bits(rank_test_t *test)
{
    size_t p = (size_t)test->place.size;
    static const size_t counts[] = {1, 5, 300, 5000, 20000};
    double *all = calloc(p * 20000, sizeof(*all));
    double *own = calloc(20000, sizeof(*own));
    for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        uint64_t state = 31u + (uint64_t)test->place.rank;
        size_t n = counts[c];
        for (size_t i = 0; i < n; i++) {
            own[i] = (double)rank_random(&state) * 1e-7;
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

/* ---- until somebody dies ---- */

static unsigned only_kind(const bench_t *bench)
{
    unsigned kind = 0;
    while (bench->only_kind != NULL && kind + 1 < COLL_KINDS &&
           strcmp(bench->only_kind, coll_kind_name(kind)) != 0) {
        kind++;
    }
    return kind;
}

/** The collective of COLL_KIND, again and again, by all its ways. */
static void forever(rank_test_t *test)
{
    bench_t bench;
    uint64_t state = 8;
    catena_status_t status = CATENA_OK;
    open_bench(test, &bench);
    for (uint64_t i = 0; status == CATENA_OK; i++) {
        coll_call_t call = {.group = test->world, .table = &bench.table};
        coll_draw(&call.c, only_kind(&bench), bench.network, &state);
        call.c.value[COLL_MODE] = COLL_BLOCKING;
        coll_choose_hierarchy(test, &call.c, call.group);
        coll_choose_algorithm(test, &call.c, call.group);
        coll_open(test, &call);
        coll_fill(&call, i);
        status = coll_run(&call);
        coll_close(test, &call);
        if (i == 0 && test->place.rank == 0) {
            printf("running\n");
            fflush(stdout);
        }
    }
    rank_fail(test, "%s: %s", coll_kind_name(only_kind(&bench)),
              catena_status_string(status));
}

int main(int argc, char **argv)
{
    static const rank_case_t cases[] = {{"covering set", cover},
                                        {"around limits", limits},
                                        {"allreduce gives the same bits", bits},
                                        {NULL, NULL}};
    static const rank_case_t named[] = {
        {"matrix", matrix}, {"forever", forever}, {NULL, NULL}};
    const char *last = argc > 1 ? argv[argc - 1] : "";
    bool by_name = strcmp(last, "matrix") == 0 || strcmp(last, "forever") == 0;
    return rank_main(argc, argv, by_name ? named : cases);
}
