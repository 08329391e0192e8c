/* The explanation of each collective of calls.def, in each form, names the
 * algorithm that ran, the reason, and the number of messages. So does that of a
 * split. */

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/call.h"
#include "oracle/neighborhood/neighborhood.h"
#include "oracle/random.h"
#include "unit/job.h"
#include "unit/unit.h"

enum { RANKS = 9 };

static const char *const names[ORACLE_KINDS] = {
#define CTN_CALL(NAME, name, ...) #name,
#define CTN_VARIANT(NAME, name, ...) #name,
#define CTN_ALLTOALL(NAME, name, ...) #name,
#include "core/calls.def"
};

static const char *const neighbor_names[ORACLE_NBR_KINDS] = {
#define CTN_NEIGHBOR(NAME, name, ...) #name,
#include "core/calls.def"
};

/** The explanation has the algorithm, the messages, and a reason that contains
 * `why`. */
static void check_text(job_t *job, const char *name, const char *text,
                       const char *why)
{
    bool tells = strncmp(text, "algorithm=", 10) == 0 &&
                 strncmp(text, "algorithm=none", 14) != 0 &&
                 strstr(text, " messages=") != NULL &&
                 strstr(text, " reason=\"") != NULL &&
                 strstr(text, why) != NULL;
    if (!tells) {
        fprintf(stderr, "%s: %s in %s\n", name, why, text);
    }
    JOB_CHECK(job, tells);
}

static const char *explain(job_t *job, const catena_group_t *group,
                           const char *name, char text[1024])
{
    JOB_CHECK(job, catena_group_explain(group, name, text, 1024) == CATENA_OK);
    return text;
}

/** A collective on a new group. The leader of all, rank 0, takes part in all of
 * its basic collectives. Barriers are not selected by rules, unless they are
 * hierarchical. */
static void call_of(job_t *job, const oracle_table_t *table, unsigned kind,
                    unsigned mode, bool asked)
{
    oracle_t oracle = job_oracle(job);
    oracle_call_t call = {.table = table, .exactly = 5};
    uint64_t random = job->seed + kind;
    char text[1024];
    bool barrier = kind == ORACLE_BARRIER;
    JOB_CHECK(job,
              catena_group_dup(job->context->world, &call.group) == CATENA_OK);
    JOB_CHECK(job, strstr(explain(job, call.group, names[kind], text),
                          "has not run yet") != NULL);
    oracle_draw(&call.c, kind, true, &random);
    call.c.value[ORACLE_MODE] = (uint8_t)mode;
    call.c.value[ORACLE_ELEMENT] = 0;
    call.c.value[ORACLE_COUNTS] = ORACLE_MIXED;
    call.c.value[ORACLE_HIERARCHY] = 0;
    call.c.value[ORACLE_ALGORITHM] = asked && !barrier;
    oracle_repair(&call.c);
    call.shape = random;
    oracle_choose_algorithm(&oracle, &call.c, call.group);
    oracle_call_exercise(&oracle, &call, 2);
    if (job->rank == 0) {
        check_text(job, names[kind],
                   explain(job, call.group, names[kind], text),
                   barrier ? "reason=\"no setting"
                   : asked ? "as asked for"
                           : "rule ");
    }
    JOB_CHECK(job, catena_group_free(&call.group) == CATENA_OK);
}

static void calls(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    oracle_table_open(&oracle, &table);
    for (unsigned kind = 0; kind < ORACLE_KINDS; kind++) {
        for (unsigned mode = 0; mode < ORACLE_MODES; mode++) {
            call_of(job, &table, kind, mode, false);
            call_of(job, &table, kind, mode, true);
        }
    }
    oracle_table_close(&oracle, &table);
}

/** What reproducible reductions run that no level of their hierarchy serves. */
static void check_reproducible(job_t *job, const char *reduce, const char *scan)
{
    catena_group_t *world = job->context->world;
    double one = 1, sum = 0;
    char text[1024];
    JOB_CHECK(job, catena_allreduce(&one, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                                    world) == CATENA_OK);
    check_text(job, "allreduce", explain(job, world, "allreduce", text),
               "algorithm=allgather");
    JOB_CHECK(job, catena_reduce(&one, &sum, 1, CATENA_DOUBLE, CATENA_SUM, 2,
                                 world) == CATENA_OK);
    check_text(job, "reduce", explain(job, world, "reduce", text), reduce);
    JOB_CHECK(job, catena_scan(&one, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                               world) == CATENA_OK);
    check_text(job, "scan", explain(job, world, "scan", text), scan);
}

static void reproducible(job_t *job)
{
    catena_group_t *world = job->context->world;
    catena_request_t *request;
    double one = 1, sum = 0;
    char text[1024];
    JOB_CHECK(job, catena_group_set(world, "reproducible", "on") == CATENA_OK);
    JOB_CHECK(job, catena_iallreduce(&one, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                                     world, &request) == CATENA_OK);
    JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK && sum == RANKS);
    check_text(job, "allreduce", explain(job, world, "allreduce", text),
               "allreduce on network: recursive-doubling (rule");
    check_reproducible(job, "algorithm=gather ", "algorithm=alltoallv");
    JOB_CHECK(job, catena_group_set(world, "reduce_algorithm", "linear") ==
                       CATENA_OK);
    check_reproducible(job, "linear (as asked for)", "algorithm=alltoallv");
}

static void reproducible_on_two(job_t *job)
{
    JOB_CHECK(job, catena_group_set(job->context->world, "reproducible",
                                    "on") == CATENA_OK);
    check_reproducible(job, "hierarchy=\"network:p2p\"", "algorithm=allgather");
}

/** Long scans leave the levels, unless settings name these. */
static void long_scans(job_t *job)
{
    enum { COUNT = 5000 };
    static const char *const hierarchies[] = {"auto", "node:shm,network:p2p"};
    catena_group_t *world = job->context->world;
    double *in = calloc(COUNT, sizeof(*in));
    double *out = calloc(COUNT, sizeof(*out));
    char text[1024];
    in[COUNT - 1] = 1;
    for (int i = 0; i < 2; i++) {
        JOB_CHECK(job, catena_group_set(world, "hierarchy", hierarchies[i]) ==
                           CATENA_OK);
        JOB_CHECK(job, catena_scan(in, out, COUNT, CATENA_DOUBLE, CATENA_SUM,
                                   world) == CATENA_OK);
        JOB_CHECK(job, out[0] == 0 && out[COUNT - 1] == job->rank + 1);
        check_text(job, "scan", explain(job, world, "scan", text),
                   i == 0 ? "scan on network: chain (rule"
                          : "exscan on node: flat (rule");
        check_text(job, "scan", text,
                   i == 0 ? "goes from rank to rank"
                          : "rules of each subgroup");
    }
    free(in);
    free(out);
}

START_TEST(groups)
{
    ck_assert_int_eq(job_simulate_nodes(RANKS, 3, 1, long_scans), 0);
    ck_assert_int_eq(job_simulate_nodes(RANKS, 3, 1, calls), 0);
    ck_assert_int_eq(job_simulate_node(RANKS, 1, calls), 0);
    ck_assert_int_eq(job_simulate_nodes(RANKS, 3, 1, reproducible), 0);
    ck_assert_int_eq(job_simulate_nodes(RANKS, 2, 1, reproducible_on_two), 0);
}
END_TEST

static void splits(job_t *job)
{
    static const char *const asked[] = {NULL, "bitonic"};
    catena_group_t *world = job->context->world;
    char text[1024];
    JOB_CHECK(job, strstr(explain(job, world, "split", text),
                          "has not run yet") != NULL);
    for (int i = 0; i < 2; i++) {
        int64_t color = (int64_t)(job->rank % 2);
        catena_group_t *half = NULL;
        const catena_split_t split = {.size = sizeof(split),
                                      .color = &color,
                                      .color_bytes = sizeof(color),
                                      .color_compare = catena_compare_int64,
                                      .algorithm = asked[i]};
        JOB_CHECK(job,
                  catena_group_split_by(world, &split, &half) == CATENA_OK);
        check_text(job, "split", explain(job, world, "split", text),
                   i == 0 ? "rule " : "as asked for");
        JOB_CHECK(job, catena_group_free(&half) == CATENA_OK);
    }
    JOB_CHECK(job, catena_group_explain(world, "alltoallx", text,
                                        sizeof(text)) == CATENA_ERR_ARG);
}

START_TEST(of_splits)
{
    ck_assert_int_eq(job_simulate_nodes(RANKS, 3, 1, splits), 0);
}
END_TEST

static oracle_graph_t graph;

static void exchanges(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    catena_neighborhood_t *own = NULL;
    char text[1024];
    oracle_table_open(&oracle, &table);
    JOB_CHECK(job, oracle_neighborhood_make(&graph, job->context->world, NULL,
                                            &own) == CATENA_OK);
    oracle_graph_settle(&graph, (int)job->rank);
    for (unsigned i = 0; i < 2 * ORACLE_NBR_KINDS * ORACLE_FORMS; i++) {
        unsigned kind = i / ORACLE_FORMS % ORACLE_NBR_KINDS;
        bool asked = i >= ORACLE_NBR_KINDS * ORACLE_FORMS;
        uint64_t random = job->seed + i;
        uint64_t mine = job->rank;
        oracle_nbr_call_t call = {
            .graph = &graph, .neighborhood = own, .table = &table};
        if (asked) {
            JOB_CHECK(job, catena_neighborhood_set(own, "algorithm",
                                                   "colored") == CATENA_OK);
        }
        oracle_nbr_draw(&call, &random, &mine, 50);
        call.kind = (oracle_nbr_kind_t)kind;
        call.form = (oracle_form_t)(i % ORACLE_FORMS);
        oracle_nbr_repair(&call);
        oracle_nbr_all(&oracle, &call, random, neighbor_names[kind]);
        JOB_CHECK(job,
                  catena_neighborhood_explain(own, neighbor_names[kind], text,
                                              sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "has not run yet") == NULL);
        check_text(job, neighbor_names[kind], text,
                   asked ? "as asked for" : "rule 1 of tuning default");
    }
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
    oracle_table_close(&oracle, &table);
}

START_TEST(neighborhoods)
{
    oracle_graph_torus(&graph, 2, 3, true);
    int failed = job_simulate_nodes(RANKS, 3, 1, exchanges);
    oracle_graph_free(&graph);
    ck_assert_int_eq(failed, 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, groups);
    tcase_add_test(tcase, of_splits);
    tcase_add_test(tcase, neighborhoods);
}

UNIT_TEST(explain)
{
    return unit_main("explain", 60, add_cases);
}
