/* All rank tests, as processes under a launcher or simulated:
 *     ranks [OPTION...]
 * --layout NAME the cases of a layout of oracle/layouts.h; simulates it, or
 *                runs as one of its ranks
 * --sim NODES simulate so many ranks on each node, "3+1+5"; with a ':'
 *                before it ranks are dealt round-robin
 * --only PART only cases with that in their name
 * --suite NAME only that suite; some run only if named
 * --kind NAME of those suites, only that collective
 * --list the names of the suites and of the covering set's cases
 * Without --layout every case runs that fits the ranks. RANK_TEST_SEED is the
 * seed of orders. Rank 0 prints "ok - NAME" or "not ok - NAME". */

#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/layout.h"
#include "rank_suites.h"
#include "ranks/helpers/rank_test.h"

#define SUITE(name) extern const rank_suite_t rank_suite_##name;
RANK_SUITES(SUITE)
#undef SUITE
#define SUITE(name) &rank_suite_##name,
static const rank_suite_t *const suites[] = {RANK_SUITES(SUITE)};
#undef SUITE
enum { SUITES = sizeof(suites) / sizeof(suites[0]), MOST_NODES = 64 };

static int run_rank(const catena_config_t *config, void *argument)
{
    const rank_options_t *options = argument;
    rank_test_t test = {.simulated = config != NULL, .options = options};
    if (catena_init(config, &test.context) != CATENA_OK) {
        fprintf(stderr, "not ok - catena_init\n");
        return 1;
    }
    /* Tests read the messages of each rank, so they must not be folded
     * (docs/decisions/0039-one-line-a-job.md). */
    unsetenv("PMIX_SERVER_TMPDIR");
    rank_test_open(&test);
    const oracle_layout_t *layout =
        options->layout >= 0 ? &oracle_layouts[options->layout] : NULL;
    if (layout != NULL && (layout->ranks != test.place.ranks ||
                           layout->nodes != test.place.nodes)) {
        fprintf(stderr,
                "not ok - %s has %d ranks on %d nodes; found %d on %d\n",
                layout->name, layout->ranks, layout->nodes, test.place.ranks,
                test.place.nodes);
        catena_abort(test.context, 2);
    }
    RANK_CHECK(&test, catena_group_dup(test.world, &test.own) == CATENA_OK);
    for (int i = 0; i < SUITES; i++) {
        rank_suite_run(&test, suites[i]);
    }
    rank_test_close(&test);
    bool freed = catena_group_free(&test.own) == CATENA_OK;
    if ((catena_finalize(&test.context) != CATENA_OK || !freed) &&
        !test.ended) {
        fprintf(stderr, "not ok - catena_finalize\n");
        test.failed++;
    }
    return test.failed > 0;
}

/** The node of each rank, from "3+1+5". The caller frees it. */
static int *read_nodes(const char *text, catena_sim_params_t *params)
{
    int left[MOST_NODES] = {0};
    bool deal = text[0] == ':';
    char *at = (char *)(uintptr_t)(text + deal);
    do {
        left[params->nodes] = (int)strtol(at, &at, 10);
        params->ranks += left[params->nodes++];
    } while (*at++ == '+' && params->nodes < MOST_NODES);
    int *node_of = calloc((size_t)params->ranks + 1, sizeof(int));
    for (int r = 0, node = 0; r < params->ranks; r++) {
        while (left[node] == 0) {
            node = (node + 1) % params->nodes;
        }
        node_of[r] = node;
        left[node]--;
        node = deal ? (node + 1) % params->nodes : node;
    }
    params->node_of = node_of;
    return node_of;
}

static int simulate(const char *nodes, rank_options_t *options)
{
    static const char *const settings[] = {"HEAP_SIZE=4g", NULL};
    catena_sim_params_t params = {
        .size = sizeof(params),
        .machine = "hpc-b",
        .seed = rank_seed(1),
        .jitter = 0.5,
        .reorder = 1,
        .settings = settings,
    };
    catena_sim_report_t report = {.size = sizeof(report)};
    int *node_of = read_nodes(nodes, &params);
    catena_status_t status =
        catena_sim_run(&params, run_rank, options, &report);
    free(node_of);
    if (status != CATENA_OK) {
        printf("not ok - simulating %s: %s\n", nodes,
               catena_status_string(status));
        return 1;
    }
    return report.failed_ranks > 0;
}

static int list(void)
{
    const oracle_plan_t *plan = oracle_plan();
    char text[300];
    for (int i = 0; i < SUITES; i++) {
        for (const rank_case_t *c = suites[i]->cases;
             c != NULL && c->name != NULL; c++) {
            printf("%s: %s\n", suites[i]->name, c->name);
        }
    }
    for (size_t i = 0; i < plan->count; i++) {
        oracle_describe(&plan->set[i], text, sizeof(text));
        printf("coll: #%zu %s [", i + 1, text);
        for (int l = 0; l < ORACLE_LAYOUT_COUNT; l++) {
            if ((plan->layouts[i] >> l & 1) != 0) {
                printf(" %s", oracle_layouts[l].name);
            }
        }
        printf(" ]\n");
    }
    return 0;
}

static int refuse(const char *what)
{
    printf("not ok - %s: not known\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    rank_options_t options = {.layout = -1, .program = argv[0]};
    const char *nodes = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *given = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--list") == 0) {
            return list();
        }
        if (strcmp(argv[i], "--layout") == 0) {
            options.layout = oracle_layout_find(given);
            if (options.layout < 0) {
                return refuse(given);
            }
            if (oracle_layout_simulated(options.layout)) {
                nodes = strchr(oracle_layouts[options.layout].how, ' ') + 1;
            }
        } else if (strcmp(argv[i], "--sim") == 0) {
            nodes = given;
        } else if (strcmp(argv[i], "--only") == 0) {
            options.only = given;
        } else if (strcmp(argv[i], "--suite") == 0) {
            options.suite = given;
        } else if (strcmp(argv[i], "--kind") == 0) {
            options.kind = given;
        } else {
            return refuse(argv[i]);
        }
    }
    return nodes != NULL ? simulate(nodes, &options) : run_rank(NULL, &options);
}
