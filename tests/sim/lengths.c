/* Calls with a wrong length, as a kind of runs drawn from seeds: some rank
 * reports each, nothing is written outside the receive blocks, and unless the
 * mismatch ended all operations the next call works. */

#include <stdlib.h>
#include <string.h>

#include "oracle/neighborhood/neighborhood.h"
#include "sim/random.h"

enum { WRONG_CALLS = 5, GRAPH_RANKS = 40 };

/** What the ranks found, for each wrong call. */
typedef struct found {
    unsigned reports[WRONG_CALLS]; /* ranks that got an error */
    unsigned passed[WRONG_CALLS];  /* ranks that have completed the next call */
    bool unseen[WRONG_CALLS];      /* no rank can notice */
} found_t;

/** One call; the same on all ranks but for `own`. */
typedef struct wrong {
    oracle_case_t c;
    catena_group_t *group;
    size_t usual; /* elements */
    size_t own;   /* elements of this rank */
    size_t victim;
    uint64_t shape;
} wrong_t;

static bool has_one_length(unsigned kind)
{
    return kind == ORACLE_BCAST || kind == ORACLE_ALLTOALL ||
           oracle_reduces(kind);
}

static oracle_call_t call_of(rank_test_t *test, const wrong_t *w, bool right)
{
    unsigned kind = w->c.value[ORACLE_KIND];
    size_t own = right ? w->usual : w->own;
    return (oracle_call_t){
        .c = w->c,
        .group = w->group,
        .table = rank_table(test),
        .exactly = has_one_length(kind) ? own : w->usual,
        .shape = w->shape,
        .apart = w->usual + 64,
        .wrong_by =
            has_one_length(kind) ? 0 : (ptrdiff_t)own - (ptrdiff_t)w->usual,
        .wrong_to = w->victim};
}

static catena_status_t call_once(rank_test_t *test, const wrong_t *w,
                                 bool right)
{
    const oracle_t *oracle = &test->oracle;
    oracle_call_t call = call_of(test, w, right);
    oracle_call_open(oracle, &call);
    oracle_call_fill(&call, w->shape + right);
    catena_status_t status = oracle_call_run(oracle, &call);
    if (right && status == CATENA_OK) {
        oracle_call_check(oracle, &call, "the next call: ");
    } else {
        oracle_call_check_around(oracle, &call, "a wrong length: ");
    }
    oracle_call_close(oracle, &call);
    return status;
}

/** Any collective. Every fourth is a direct alltoall, where one word stands for
 * the lengths of several ranks. */
static void draw_collective(oracle_case_t *c, uint64_t *random)
{
    bool direct = ctn_random_below(random, 4) == 0;
    unsigned kind;
    bool suits;
    do {
        kind = direct
                   ? ORACLE_ALLTOALL
                   : 1 + (unsigned)ctn_random_below(random, ORACLE_KINDS - 1);
        oracle_draw(c, kind, true, random);
        const char *algorithm =
            oracle_algorithm_name(kind, c->value[ORACLE_ALGORITHM]);
        suits = direct
                    ? strcmp(algorithm, "direct") == 0
                    : kind != ORACLE_BARRIER && kind != ORACLE_REDUCE_SCATTER;
    } while (!suits);
}

/** Any length, and another one of a single rank. */
static void draw_wrong(rank_test_t *test, wrong_t *w, uint64_t *random)
{
    static const size_t lengths[] = {1,    8,     100,   113,   1000,  3000,
                                     8192, 20000, 32000, 40000, 70000, 160000};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    size_t size = (size_t)test->place.ranks;
    size_t odd = ctn_random_below(random, size);
    size_t most = size > 40 ? 4 : size > 16 ? 7 : LENGTHS;
    draw_collective(&w->c, random);
    uint8_t *value = w->c.value;
    unsigned kind = value[ORACLE_KIND];
    value[ORACLE_MODE] = ORACLE_BLOCKING;
    value[ORACLE_PLACE] = ORACLE_APART;
    value[ORACLE_TYPE] =
        kind == ORACLE_ALLTOALLW ? ORACLE_RESIZED : ORACLE_BYTE;
    value[ORACLE_OP] = oracle_reduces(kind) ? ORACLE_BXOR : ORACLE_NO_OP;
    value[ORACLE_ELEMENT] = ORACLE_PLAIN;
    if (kind == ORACLE_BCAST || kind == ORACLE_SCAN || kind == ORACLE_EXSCAN) {
        value[ORACLE_ROOT] = ORACLE_FIRST; /* rank 0 would notice nothing */
        odd += odd == 0;
    }
    size_t unit = oracle_unit_bytes(value[ORACLE_TYPE]);
    size_t bytes = lengths[ctn_random_below(random, most)];
    size_t by = 1 + bytes / unit / 20;
    w->usual = 2 + bytes / unit;
    const size_t wrong[] = {w->usual + by, w->usual - by, 2 * w->usual,
                            w->usual / 2};
    size_t other = wrong[ctn_random_below(random, 4)];
    w->own = (size_t)test->place.rank == odd ? other : w->usual;
    w->victim = odd > 0 ? odd - 1 : size - 1;
    w->shape = ctn_random(random);
}

/** Both calls on a group: first the wrong one. */
static catena_status_t on_group(rank_test_t *test, catena_group_t *group,
                                catena_status_t status[2], uint64_t *random)
{
    wrong_t w = {.group = group};
    draw_wrong(test, &w, random);
    oracle_choose_hierarchy(&test->oracle, &w.c, w.group);
    oracle_choose_algorithm(&test->oracle, &w.c, w.group);
    for (int call = 0; call < 2; call++) {
        status[call] = call_once(test, &w, call == 1);
        if (status[call] == CATENA_ERR_ENDED) {
            return status[call];
        }
    }
    RANK_CHECK(test, status[0] != CATENA_OK ||
                         w.c.value[ORACLE_KIND] != ORACLE_ALLTOALL);
    return CATENA_OK;
}

/* ---- neighborhoods: all blocks of one rank have another length ---- */

/** Whether a rank exchanges blocks with another one. */
static bool has_neighbor(const oracle_graph_t *graph, int rank)
{
    const oracle_list_t *lists[] = {&graph->sources[rank],
                                    &graph->targets[rank]};
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < lists[l]->count; i++) {
            int other = lists[l]->rank[i];
            if (other != CATENA_PROC_NULL && other != rank) {
                return true;
            }
        }
    }
    return false;
}

/** Whether a rank receives blocks of another length than it expects: those of
 * `odd`, or all if it is that rank. */
static bool finds_wrong(const oracle_graph_t *graph, int rank, int odd)
{
    const oracle_list_t *sources = &graph->sources[rank];
    for (int i = 0; i < sources->count; i++) {
        int source = sources->rank[i];
        if (source != CATENA_PROC_NULL && (source == odd) != (rank == odd)) {
            return true;
        }
    }
    return false;
}

static catena_status_t call_near(rank_test_t *test,
                                 const oracle_nbr_call_t *drawn, size_t count,
                                 bool right, uint64_t seed)
{
    oracle_nbr_call_t call = *drawn;
    call.count = count;
    oracle_nbr_repair(&call);
    oracle_nbr_open(&test->oracle, &call);
    oracle_nbr_fill(&call, seed);
    catena_status_t status = oracle_nbr_run(&call);
    if (right && status == CATENA_OK) {
        oracle_nbr_check(&test->oracle, &call, "the next call");
    } else {
        oracle_nbr_check_around(&test->oracle, &call, "a wrong length");
    }
    oracle_nbr_close(&test->oracle, &call);
    return status;
}

/** Both calls on a neighborhood. With the direct algorithm all receivers of a
 * wrong length report it. With another one the length differs so little that
 * all ranks choose the same.
 * @param[out] finds false: no rank can notice */
static catena_status_t on_graph(rank_test_t *test, oracle_nbr_call_t *call,
                                catena_status_t status[2], bool *finds,
                                uint64_t random)
{
    static const size_t counts[] = {2,    5,    40,    150,  500,
                                    2000, 9000, 70000, 90000};
    const char *algorithm = ctn_random_below(&random, 2) == 0
                                ? "direct"
                                : oracle_nbr_algorithms[ctn_random_below(
                                      &random, ORACLE_NBR_ALGORITHMS)];
    uint64_t own = random;
    int odd = (int)ctn_random_below(&random, (size_t)call->graph->size);
    bool has = oracle_nbr_has(&test->oracle, call->graph, call->neighborhood,
                              algorithm);
    bool direct = has && strcmp(algorithm, "direct") == 0;
    RANK_CHECK(test,
               !has || catena_neighborhood_set(call->neighborhood, "algorithm",
                                               algorithm) == CATENA_OK);
    oracle_nbr_draw(call, &random, &own, 1);
    call->kind = ctn_random_below(&random, 2) == 0 ? ORACLE_NEIGHBOR_ALLTOALL
                                                   : ORACLE_NEIGHBOR_ALLGATHER;
    call->type = ORACLE_BYTE;
    call->form = ORACLE_FORM_BLOCKING;
    call->in_place = false;
    size_t most = call->graph->size > 16 ? 5 : call->graph->size > 6 ? 7 : 9;
    size_t usual = counts[ctn_random_below(&random, 3) == 0
                              ? most - 1
                              : ctn_random_below(&random, most)];
    size_t by = 1 + (direct ? ctn_random_below(&random, 99) : 0);
    bool less = ctn_random_below(&random, 2) == 0 && by < usual;
    *finds = has_neighbor(call->graph, odd);
    oracle_nbr_repair(call);
    for (int i = 0; i < 2; i++) {
        size_t count = i == 1 || call->rank != odd ? usual
                       : less                      ? usual - by
                                                   : usual + by;
        pause_somewhere(test, random);
        status[i] = call_near(test, call, count, i == 1, random + (uint64_t)i);
        if (status[i] == CATENA_ERR_ENDED) {
            return status[i];
        }
    }
    bool must_find = finds_wrong(call->graph, call->rank, odd);
    RANK_CHECK(test, direct ? (status[0] == CATENA_ERR_ARG) == must_find
                            : status[0] != CATENA_OK || !must_find);
    return CATENA_OK;
}

/** The same on a new neighborhood of a group. */
static catena_status_t on_neighborhood(rank_test_t *test, catena_group_t *group,
                                       catena_status_t status[2], bool *finds,
                                       uint64_t random)
{
    oracle_graph_t graph;
    oracle_nbr_call_t call = {.graph = &graph, .table = rank_table(test)};
    catena_status_t ended = CATENA_OK;
    *finds = true;
    oracle_graph_draw_any(
        &graph,
        (oracle_graph_way_t)ctn_random_below(&random, ORACLE_GRAPH_WAYS),
        catena_group_size(group), ctn_random(&random));
    RANK_CHECK(test, oracle_neighborhood_make(&graph, group, NULL,
                                              &call.neighborhood) == CATENA_OK);
    if (call.neighborhood != NULL) {
        oracle_graph_settle(&graph, catena_group_rank(catena_neighborhood_group(
                                        call.neighborhood)));
        ended = on_graph(test, &call, status, finds, random);
        (void)catena_neighborhood_free(&call.neighborhood);
    }
    oracle_graph_free(&graph);
    return ended;
}

/* ---- a run ---- */

/** A wrong call and the next one, on a duplicate of the world. */
static catena_status_t try_wrong(rank_test_t *test, draw_t *draw, int i,
                                 uint64_t *random)
{
    found_t *found = draw->shared;
    catena_group_t *group = NULL;
    catena_status_t status[2] = {CATENA_OK, CATENA_OK};
    uint64_t seed = ctn_random(random);
    bool finds = true;
    catena_status_t ended = catena_group_dup(test->world, &group);
    if (ended != CATENA_OK) {
        return ended;
    }
    if (draw->ranks <= GRAPH_RANKS && ctn_random_below(random, 2) == 0) {
        ended = on_neighborhood(test, group, status, &finds, seed);
    } else {
        ended = on_group(test, group, status, &seed);
    }
    for (int call = 0; call < 2; call++) {
        found->reports[i] += status[call] != CATENA_OK;
        RANK_CHECK(test, status[call] == CATENA_OK ||
                             status[call] == CATENA_ERR_ENDED ||
                             (call == 0 && status[call] == CATENA_ERR_ARG));
    }
    found->unseen[i] |= !finds;
    (void)catena_group_free(&group);
    return ended;
}

void wrong_lengths(rank_test_t *test, draw_t *draw, uint64_t random)
{
    if (draw->shared == NULL) {
        draw->shared = calloc(1, sizeof(found_t));
        draw->asked = draw->ranks;
    }
    found_t *found = draw->shared;
    for (int i = 0; i < WRONG_CALLS && draw->ranks > 1; i++) {
        pause_somewhere(test, random);
        if (try_wrong(test, draw, i, &random) != CATENA_OK) {
            break;
        }
        found->passed[i]++;
    }
    if (--draw->asked == 0) {
        for (int i = 0; i < WRONG_CALLS; i++) {
            RANK_CHECK(test, found->passed[i] < (unsigned)draw->ranks ||
                                 found->unseen[i] || found->reports[i] > 0);
        }
        free(found);
        draw->shared = NULL;
    }
}
