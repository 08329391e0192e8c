/* Direct alltoall between nodes: the number of its messages, and its results
 * when messages are delayed. */

#include <stdbool.h>
#include <string.h>

#include "oracle/call.h"
#include "unit/job.h"
#include "unit/unit.h"

enum { MOST_RANKS = 80, CALLS = 6 /* more than one cycle of generations */ };

typedef struct sample {
    int counts[41]; /* of ranks on each node; ends with 0 */
    bool dealt;     /* round-robin over the nodes */
    size_t bytes;
    const char *window;
    bool in_place;
    enum {
        BLOCKS,
        BY_MEMBER,
        BY_NODE
    } messages; /* expected: one for each
                   block, for each member and
                   other node, or for each
                   pair of nodes */
} sample_t;

static const sample_t *sample;
static uint64_t sent[MOST_RANKS]; /* messages of each rank */

static void exchange(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    catena_sim_stats_t before = {.size = sizeof(before)};
    catena_sim_stats_t after = {.size = sizeof(after)};
    catena_group_t *world = job->context->world;
    oracle_table_open(&oracle, &table);
    JOB_CHECK(job, catena_group_set(world, "alltoall_algorithm", "direct") ==
                       CATENA_OK);
    JOB_CHECK(job, catena_group_set(world, "alltoall_window", sample->window) ==
                       CATENA_OK);
    oracle_call_t call = {.group = world,
                          .table = &table,
                          .exactly = sample->bytes,
                          .c = {{[ORACLE_KIND] = ORACLE_ALLTOALL}}};
    call.c.value[ORACLE_PLACE] = sample->in_place;
    oracle_call_open(&oracle, &call);
    for (uint64_t i = 0; i <= CALLS; i++) {
        oracle_call_fill(&call, i);
        JOB_CHECK(job, oracle_call_run(&oracle, &call) == CATENA_OK);
        oracle_call_check(&oracle, &call, "alltoall");
        /* The first one builds the topology. */
        catena_sim_get_stats(job->context, i == 0 ? &before : &after);
    }
    sent[job->rank] = after.messages - before.messages;
    oracle_call_close(&oracle, &call);
    oracle_table_close(&oracle, &table);
}

/** Place the ranks on nodes; returns their number. */
static int place(const sample_t *s, int *node_of)
{
    int ranks = 0;
    if (!s->dealt) {
        for (int node = 0; s->counts[node] > 0; node++) {
            for (int i = 0; i < s->counts[node]; i++) {
                node_of[ranks++] = node;
            }
        }
        return ranks;
    }
    bool any = true;
    for (int turn = 0; any; turn++) {
        any = false;
        for (int node = 0; s->counts[node] > 0; node++) {
            if (turn < s->counts[node]) {
                node_of[ranks++] = node;
                any = true;
            }
        }
    }
    return ranks;
}

#define FORTY_PAIRS                                                            \
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, \
        2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2

static const sample_t samples[] = {
    {{8, 8, 8, 8}, false, 8, "auto", false, BY_NODE},
    {{8, 8, 8, 8}, false, 256, "auto", false, BY_NODE},
    {{8, 8, 8, 8}, true, 257, "auto", true, BY_NODE},
    {{8, 8, 8, 8}, false, 1024, "auto", false, BY_NODE},
    {{8, 8, 8, 8}, false, 1025, "auto", true, BY_MEMBER},
    {{8, 8, 8, 8}, true, 2048, "auto", false, BY_MEMBER},
    {{8, 8, 8, 8}, false, 8192, "auto", false, BY_MEMBER},
    {{8, 8, 8, 8}, false, 8193, "auto", false, BLOCKS},
    {{8, 8, 8, 8}, false, 8, "4", false, BLOCKS},
    {{3, 1, 5}, false, 8, "auto", true, BY_NODE},
    {{3, 1, 5}, false, 2600, "auto", false, BY_NODE},
    {{3, 1, 5}, false, 3000, "auto", false, BY_MEMBER},
    {{3, 1, 5}, true, 100, "auto", false, BY_NODE},
    {{3, 1, 5}, true, 6553, "auto", true, BY_MEMBER},
    {{3, 1, 5}, true, 6554, "auto", true, BLOCKS}, /* too many slots */
    {{1, 1, 1}, false, 8, "auto", false, BLOCKS},
    {{1, 33, 2}, false, 60, "auto", false, BY_NODE},
    {{1, 33, 2}, false, 61, "auto", false, BLOCKS}, /* too many at one rank */
    {{FORTY_PAIRS}, false, 28, "auto", false, BY_NODE},
    {{FORTY_PAIRS}, false, 29, "auto", false, BY_MEMBER}, /* no inline area */
    {{FORTY_PAIRS}, false, 56, "auto", false, BY_MEMBER},
    {{FORTY_PAIRS}, false, 57, "auto", false, BLOCKS}, /* fewer eager slots */
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/** Any contributor may have sent an aggregate of several members. Blocks that
 * are not aggregated may need a CTS each. */
static void check_messages(const int *node_of, int ranks, int nodes)
{
    uint64_t all = 0;
    for (int i = 0; i < ranks; i++) {
        uint64_t others = (uint64_t)(ranks - sample->counts[node_of[i]]);
        all += sent[i];
        ck_assert(sample->messages != BY_MEMBER ||
                  sent[i] == (uint64_t)(nodes - 1) * CALLS);
        ck_assert(sample->messages != BLOCKS || sent[i] >= others * CALLS);
    }
    ck_assert(sample->messages != BY_NODE ||
              all == (uint64_t)nodes * (uint64_t)(nodes - 1) * CALLS);
}

/** Messages are delayed and reordered at random. */
START_TEST(messages_are_as_many_as_expected)
{
    int node_of[MOST_RANKS];
    sample = &samples[_i];
    int ranks = place(sample, node_of);
    int nodes = 0;
    while (sample->counts[nodes] > 0) {
        nodes++;
    }
    for (uint64_t seed = 1; seed <= 2; seed++) {
        catena_sim_params_t params = {.size = sizeof(params),
                                      .machine = "hpc-b",
                                      .nodes = nodes,
                                      .ranks = ranks,
                                      .node_of = node_of,
                                      .seed = seed,
                                      .jitter = 0.5,
                                      .reorder = 1,
                                      .stack_bytes = JOB_STACK_BYTES};
        ck_assert_int_eq(job_simulate_on(&params, exchange), 0);
        check_messages(node_of, ranks, nodes);
    }
}
END_TEST

/** A rule for oversubscribed hosts holds for all ranks if one host is. */
static void run_by_rules(job_t *job)
{
    char text[256];
    uint64_t send[8] = {0}, receive[8];
    catena_group_t *world = job->context->world;
    JOB_CHECK(job, catena_alltoall(send, 1, CATENA_UINT64, receive, 1,
                                   CATENA_UINT64, world) == CATENA_OK);
    JOB_CHECK(job, catena_group_explain(world, "alltoall", text,
                                        sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strstr(text, sample->bytes > 0 ? "algorithm=shift"
                                                  : "algorithm=bruck") != NULL);
}

static const sample_t hosts[] = {
    {.counts = {2, 1, 5}, .bytes = 1}, /* bytes: a host is oversubscribed */
    {.counts = {5, 1, 2}, .bytes = 1},
    {.counts = {8}, .bytes = 1},
    {.counts = {2, 2, 1}, .bytes = 0},
};

START_TEST(all_hosts_select_alike)
{
    static const char *const settings[] = {"TUNING=" TEST_DATA "/hosts.json",
                                           NULL};
    static const int cores[] = {0, 1};
    int node_of[MOST_RANKS];
    sample = &hosts[_i];
    int ranks = place(sample, node_of);
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = node_of[ranks - 1] + 1,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .cores = cores,
                                  .core_count = 2,
                                  .settings = settings,
                                  .seed = 1,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(job_simulate_on(&params, run_by_rules), 0);
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_loop_test(tcase, all_hosts_select_alike, 0,
                        sizeof(hosts) / sizeof(hosts[0]));
    tcase_add_loop_test(tcase, messages_are_as_many_as_expected, 0, SAMPLES);
}

UNIT_TEST(aggregate)
{
    return unit_main("aggregate", 60, add);
}
