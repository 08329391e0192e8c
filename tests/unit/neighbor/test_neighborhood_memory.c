/* Creation of neighborhoods while one allocation after the other fails: the
 * creation fails on all ranks and leaves nothing behind; or goes without
 * optional memory. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <catena/catena.h>

#include "neighbor/grid/edges.h"
#include "neighbor/schedule/aggregate.h"
#include "unit/capture.h"
#include "unit/job.h"
#include "unit/refusal.h"
#include "unit/unit.h"

/* ---- creations ---- */

enum { RANKS = 6, SEED = 2 };

bool refusal_applies(void)
{
    return true;
}

/** What is created. */
typedef struct creation {
    bool grid;             /* a ring; else unconnected pairs */
    const char *algorithm; /* NULL: only the places of a reordering */
    unsigned spare;        /* how often it may go without some memory */
} creation_t;

static creation_t creation;
static catena_status_t found[RANKS];

static void fill_in(job_t *job, ctn_graph_t *graph)
{
    static const int dims[] = {RANKS};
    static const int periods[] = {1};
    if (creation.grid) {
        graph->grid = ctn_grid_create(1, dims, periods, CTN_NOT_DERIVED);
        graph->grid->coords[0] = (int)job->rank;
        JOB_CHECK(job, ctn_grid_edges(graph->grid, CATENA_UNWEIGHTED, graph) ==
                           CATENA_OK);
        return;
    }
    JOB_CHECK(job, ctn_edge_lists(1, graph) == CATENA_OK);
    graph->source->rank = graph->target->rank = (int)(job->rank ^ 1u);
    graph->source->weight = graph->target->weight = 1;
    graph->sources = graph->targets = 1;
}

static catena_status_t find_place(catena_group_t *group,
                                  const ctn_graph_t *graph)
{
    ctn_place_t place = {.rank = -1};
    catena_status_t status = ctn_reorder(group, graph, NULL, &place);
    status = ctn_neighbor_agree_status(group, status);
    (void)catena_group_free(&group);
    return status == CATENA_OK && place.rank < 0 ? CATENA_ERR_STATE : status;
}

/** On an existing group: only the creation of the neighborhood has no memory.
 */
static void make(job_t *job)
{
    ctn_graph_t graph = {0};
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .operations = CATENA_NEIGHBOR_ALL,
                                       .algorithm = creation.algorithm};
    catena_group_t *own = NULL;
    catena_neighborhood_t *made = NULL;
    fill_in(job, &graph);
    JOB_CHECK(job, catena_group_dup(job->context->world, &own) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    refusal.armed = true; /* when the first rank arrives here, */
    found[job->rank] = creation.algorithm != NULL
                           ? ctn_neighborhood_make("make", own, &graph, &info,
                                                   -1, CATENA_OK, &made)
                           : find_place(own, &graph);
    refusal.armed = false; /* until the first rank is done */
    if (made != NULL) {
        JOB_CHECK(job, catena_neighborhood_free(&made) == CATENA_OK);
    }
    if (creation.algorithm == NULL) {
        free(graph.source);
        free(graph.target);
    }
}

/** @return whether it was created on all ranks; else on none. */
static bool expect_agreement(bool all_taken)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_msg(found[rank] == found[0], "%lu refused: rank %d: %s",
                      refusal.which, rank, catena_status_string(found[rank]));
    }
    ck_assert_msg(found[0] == CATENA_OK ||
                      (found[0] == CATENA_ERR_NO_MEMORY && !all_taken),
                  "%lu refused: %s", refusal.which,
                  catena_status_string(found[0]));
    return found[0] == CATENA_OK;
}

START_TEST(creations)
{
    static const creation_t all[] = {
        {true, "combining", 9}, /* the heap has no caches, or no new slab */
        {false, "colored", 7},
        {true, "aggregated", 350}, /* and it may go without aggregates */
        {false, NULL, 20},
    };
    bool all_taken = false;
    unsigned made = 0;
    creation = all[_i];
    for (refusal.which = 1; !all_taken;
         refusal.which += (unsigned long)unit_step(3)) {
        capture_t capture;
        refusal.taken = 0;
        capture_start(&capture);
        int failed = job_simulate(RANKS, SEED, make);
        capture_stop(&capture);
        all_taken = refusal.taken < refusal.which;
        ck_assert_msg(failed == 0, "%lu refused: %d ranks: %s", refusal.which,
                      failed, capture.text);
        made += expect_agreement(all_taken);
    }
    ck_assert_uint_le(made, 1 + creation.spare);
    ck_assert_uint_gt(refusal.which, 100);
}
END_TEST

/* ---- memory for aggregates ---- */

enum { AREA_LEAST = 65536 };

/** What a rank allocates while it creates aggregates. */
static struct areas {
    bool inside;
    bool armed; /* the first one for `pattern` is refused */
    ctn_pattern_t pattern;
    bool refused;
} areas;

void *__wrap_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero);
void *__real_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero);
catena_status_t __wrap_ctn_schedule_aggregated_uniform(
    ctn_leading_t *leading, ctn_pattern_t pattern, ctn_schedule_t **schedule);
catena_status_t __real_ctn_schedule_aggregated_uniform(
    ctn_leading_t *leading, ctn_pattern_t pattern, ctn_schedule_t **schedule);

void *__wrap_ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes, size_t zero)
{
    if (areas.inside && areas.armed && zero == 0 && bytes >= AREA_LEAST) {
        areas.armed = false;
        areas.refused = true;
        return NULL;
    }
    return __real_ctn_heap_alloc_zeroed(heap, alignment, bytes, zero);
}

catena_status_t __wrap_ctn_schedule_aggregated_uniform(
    ctn_leading_t *leading, ctn_pattern_t pattern, ctn_schedule_t **schedule)
{
    areas.inside = pattern == areas.pattern;
    catena_status_t status =
        __real_ctn_schedule_aggregated_uniform(leading, pattern, schedule);
    areas.inside = false;
    return status;
}

/** Each rank with all others, through leaders. */
static catena_neighborhood_t *make_complete(job_t *job)
{
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = "aggregated"};
    catena_neighborhood_t *made = NULL;
    int peers = (int)job->size - 1;
    int *peer = calloc(job->size, sizeof(*peer));
    for (int k = 0; k < peers; k++) {
        peer[k] = k + (k >= (int)job->rank);
    }
    JOB_CHECK(job, catena_neighborhood_create(job->context->world, peers, peer,
                                              CATENA_UNWEIGHTED, peers, peer,
                                              CATENA_UNWEIGHTED, &info,
                                              &made) == CATENA_OK);
    free(peer);
    return made;
}

static void exchange(job_t *job, catena_neighborhood_t *complete)
{
    uint64_t *send = calloc(2 * job->size, sizeof(*send));
    uint64_t *recv = send + job->size;
    for (uint32_t k = 0; k + 1 < job->size; k++) {
        send[k] = 1000 * job->rank + k + (k >= job->rank);
    }
    for (int i = 0; i < 3; i++) {
        memset(recv, 0, job->size * sizeof(*recv));
        JOB_CHECK(job, catena_neighbor_alltoall(send, 1, CATENA_UINT64, recv, 1,
                                                CATENA_UINT64,
                                                complete) == CATENA_OK);
        for (uint32_t k = 0; k + 1 < job->size; k++) {
            uint32_t from = k + (k >= job->rank);
            JOB_CHECK(job, recv[k] == 1000 * from + job->rank);
        }
        JOB_CHECK(job, catena_neighbor_allgather(&send[0], 1, CATENA_UINT64,
                                                 recv, 1, CATENA_UINT64,
                                                 complete) == CATENA_OK);
        JOB_CHECK(job, job->rank == 0 || recv[0] == 1);
    }
    free(send);
}

/** All ranks have sent as many messages in an operation as they report; with
 * aggregates there is one message for each pair of nodes, and one more round.
 */
static void check_sent(job_t *job, catena_neighborhood_t *n, size_t words)
{
    uint64_t *data = calloc(2 * job->size * words, sizeof(*data));
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    uint64_t before = n->exec->tally.messages;
    uint64_t on_node = 0;
    JOB_CHECK(job, catena_neighbor_alltoall(data, words, CATENA_UINT64,
                                            data + job->size * words, words,
                                            CATENA_UINT64, n) == CATENA_OK);
    uint64_t sent = n->exec->tally.messages - before;
    bool aggregated = words == 1 && n->graph_facts.nodes > 1;
    for (uint32_t i = 0; i < n->targets; i++) {
        on_node += n->target[i].node == n->node;
    }
    JOB_CHECK(job, catena_neighborhood_get_stats(n, &stats) == CATENA_OK);
    JOB_CHECK(job, !aggregated || stats.rounds == 2);
    uint64_t nodes = n->graph_facts.nodes;
    uint64_t mine[] = {stats.messages, sent, on_node};
    uint64_t all[3] = {0};
    JOB_CHECK(job, catena_allreduce(mine, all, 3, CATENA_UINT64, CATENA_SUM,
                                    job->context->world) == CATENA_OK);
    JOB_CHECK(job, !aggregated || (all[0] == all[1] &&
                                   all[0] == all[2] + nodes * (nodes - 1)));
    free(data);
}

static bool has_aggregates(job_t *job, catena_neighborhood_t *n,
                           const char *collective)
{
    char text[2000];
    JOB_CHECK(job, catena_neighborhood_estimate(n, collective, 8, text,
                                                sizeof(text)) == CATENA_OK);
    return strstr(text, "aggregates=") != NULL;
}

/** One rank, if it leads, gets no area: then all ranks go without aggregates of
 * that pattern, and the first one logs it. @return whether this happened */
static bool exhaust_heap(job_t *job, uint32_t exhausted, ctn_pattern_t pattern)
{
    static const char *const words[CTN_PATTERNS] = {
        [CTN_PATTERN_ALLTOALL] = "no memory for aggregates of blocks of equal "
                                 "length (alltoall)",
        [CTN_PATTERN_ALLGATHER] = "no memory for aggregates of blocks of equal "
                                  "length (allgather)"};
    ctn_log_t *log = &job->context->log;
    catena_log_level_t level = log->level;
    capture_t output;
    capture_start(&output);
    log->level = CATENA_LOG_INFO;
    areas = (struct areas){.armed = job->rank == exhausted, .pattern = pattern};
    catena_neighborhood_t *n = make_complete(job);
    log->level = level;
    capture_stop(&output);
    if (n == NULL) {
        return false;
    }
    uint64_t own = areas.refused;
    uint64_t refused = 0;
    JOB_CHECK(job,
              catena_allreduce(&own, &refused, 1, CATENA_UINT64, CATENA_MAX,
                               job->context->world) == CATENA_OK);
    bool usual = n->graph_facts.nodes > 1;
    bool alltoall = usual && !(refused && pattern == CTN_PATTERN_ALLTOALL);
    bool gather = usual && !(refused && pattern == CTN_PATTERN_ALLGATHER);
    JOB_CHECK(job, has_aggregates(job, n, "neighbor_alltoall") == alltoall);
    JOB_CHECK(job, has_aggregates(job, n, "neighbor_allgather") == gather);
    JOB_CHECK(job, (strstr(output.text, words[pattern]) != NULL) ==
                       (refused && job->rank == 0));
    exchange(job, n);
    if (!refused) {
        check_sent(job, n, 1);
        check_sent(job, n, 2000); /* too long for aggregates */
    }
    JOB_CHECK(job, catena_neighborhood_free(&n) == CATENA_OK);
    return refused;
}

/** Return the bytes in use in the node's heap after everything that was freed
 * has been released, which happens in the background. */
static uint64_t settled_use(job_t *job)
{
    catena_heap_stats_t stats = {.size = sizeof(stats)};
    while (job->exec->background != NULL) {
        (void)catena_progress(job->context);
    }
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    JOB_CHECK(job, catena_heap_get_stats(job->context, &stats) == CATENA_OK);
    JOB_CHECK(job, catena_barrier(job->context->world) == CATENA_OK);
    return stats.in_use;
}

/** On ranks that are processes. */
static void without_aggregates(job_t *job)
{
    unsigned refused = 0;
    catena_place_t place = {.size = sizeof(place)};
    (void)exhaust_heap(job, job->size, 0); /* connects */
    uint64_t before = settled_use(job);
    for (uint32_t exhausted = 0; exhausted < job->size; exhausted++) {
        for (ctn_pattern_t pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            refused += exhaust_heap(job, exhausted, pattern);
        }
    }
    JOB_CHECK(job, settled_use(job) == before);
    JOB_CHECK(job, catena_get_place(job->context, &place) == CATENA_OK);
    JOB_CHECK(job, place.nodes == 1 ||
                       refused >= CTN_PATTERNS * (unsigned)place.nodes);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, creations, 0, 4);
}

UNIT_TEST(neighborhood_memory)
{
    return unit_as_rank ? job_rank("neighborhood_memory", without_aggregates)
                        : unit_main("neighborhood_memory", 100, add_cases);
}
