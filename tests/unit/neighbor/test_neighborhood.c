/* Creation of neighborhoods: what both ends of every edge know, compared with
 * graphs that all ranks know in full. Simulated ranks are in one process, so a
 * test sees the ends of all ranks. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/neighborhood.h"
#include "oracle/neighborhood/neighborhood.h"
#include "unit/job.h"
#include "unit/unit.h"

/* The neighborhoods of all ranks of the job that runs. */
enum { MOST_RANKS = 64 };
static catena_neighborhood_t *made[MOST_RANKS];
static oracle_graph_t graph; /* of these neighborhoods */
static bool reorder;
/* Of each rank of the world. */
static const char *old_node[MOST_RANKS];

/* ---- edges ---- */

static uint64_t offset_of(const job_t *job, int rank, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(made[rank]->exec->heap, memory, 1, &offset);
    (void)job;
    return offset;
}

static void check_link(job_t *job, const ctn_edge_t *target,
                       const ctn_edge_t *source)
{
    const catena_neighborhood_t *own = made[job->rank];
    const catena_neighborhood_t *other = made[target->rank];
    const ctn_link_out_t *out = &own->out[target->link];
    const ctn_link_in_t *in = &other->in[source->link];
    JOB_CHECK(job, target->link < own->outs && source->link < other->ins);
    JOB_CHECK(job, out->peer.rank == (uint32_t)target->rank);
    JOB_CHECK(job, in->peer.rank == job->rank);
    JOB_CHECK(job, out->slots == offset_of(job, target->rank, in->slots));
    JOB_CHECK(job, out->eager == offset_of(job, target->rank, in->eager));
    JOB_CHECK(job, in->control == offset_of(job, (int)job->rank, out->control));
    JOB_CHECK(job, out->eager_bytes == in->eager_bytes);
    JOB_CHECK(job, out->peer.local == in->peer.local);
    JOB_CHECK(job, out->peer.local == (target->node == source->node));
    JOB_CHECK(job, out->peer.process == other->group->exec->locality->process);
    if (in->reverse != NULL) { /* the reverse link belongs to the other rank,
                                  too */
        const ctn_link_out_t *back = in->reverse;
        uint32_t i = 0;
        while (i < own->ins && own->in[i].reverse != out) {
            i++;
        }
        JOB_CHECK(job,
                  i < own->ins && back->slots == offset_of(job, (int)job->rank,
                                                           own->in[i].slots));
    }
}

/** What both ends of an edge know, and its index in the other's list. */
static void check_ends(job_t *job)
{
    const catena_neighborhood_t *own = made[job->rank];
    const oracle_list_t *list = &graph.targets[job->rank];
    for (uint32_t i = 0; i < own->targets; i++) {
        const ctn_edge_t *target = &own->target[i];
        if (target->rank == CATENA_PROC_NULL) {
            JOB_CHECK(job, target->link == CTN_NO_LINK);
            continue;
        }
        const catena_neighborhood_t *other = made[target->rank];
        const ctn_edge_t *source = &other->source[target->peer_index];
        JOB_CHECK(job, (int)target->peer_index == list->mate[i]);
        JOB_CHECK(job, source->rank == (int)job->rank);
        JOB_CHECK(job, source->peer_index == i);
        JOB_CHECK(job, source->weight == target->weight);
        if (target->rank == (int)job->rank) {
            JOB_CHECK(job, target->link == CTN_NO_LINK &&
                               source->link == CTN_NO_LINK);
        } else {
            check_link(job, target, source);
        }
    }
}

/* ---- graph facts ---- */

static const char *node_of(int rank)
{
    return made[rank]->group->exec->locality->node;
}

/** The lowest rank on a rank's node. */
static int first_on_node(int rank)
{
    int first = 0;
    while (strcmp(node_of(first), node_of(rank)) != 0) {
        first++;
    }
    return first;
}

static void check_graph_facts(job_t *job)
{
    const ctn_graph_facts_t *graph_facts = &made[job->rank]->graph_facts;
    uint64_t all = 0;
    uint64_t between = 0;
    uint64_t before = 0;
    int greatest = 0;
    uint32_t nodes = 0;
    for (int from = 0; from < graph.size; from++) {
        const catena_neighborhood_t *own = made[from];
        nodes += first_on_node(from) == from;
        for (uint32_t i = 0; i < own->targets; i++) {
            int to = own->target[i].rank;
            if (to == CATENA_PROC_NULL) {
                continue;
            }
            int weight = own->target[i].weight;
            uint64_t count = (uint64_t)weight;
            greatest = weight > greatest ? weight : greatest;
            all += count;
            between += first_on_node(from) != first_on_node(to) ? count : 0;
            before += strcmp(old_node[from], old_node[to]) != 0 ? count : 0;
        }
    }
    JOB_CHECK(job, graph_facts->nodes == nodes);
    JOB_CHECK(job, graph_facts->weight_all == all);
    JOB_CHECK(job, graph_facts->weight_between == between);
    JOB_CHECK(job, graph_facts->weight_before == before);
    JOB_CHECK(job, reorder ? between <= before : between == before);
    JOB_CHECK(job, graph_facts->greatest_weight == greatest);
    JOB_CHECK(job, graph_facts->connected == (graph.components <= 1));
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void check_maxima(job_t *job)
{
    const ctn_graph_facts_t *graph_facts = &made[job->rank]->graph_facts;
    uint32_t degree = 0;
    uint32_t most_on_node = 0;
    for (int i = 0; i < (int)job->size; i++) {
        const catena_neighborhood_t *other = made[i];
        int node = first_on_node(i);
        uint32_t on_node = 0;
        for (int j = 0; j < (int)job->size; j++) {
            on_node += first_on_node(j) == node;
        }
        most_on_node = greater(most_on_node, on_node);
        degree = greater(degree, greater(other->sources, other->targets));
    }
    JOB_CHECK(job, graph_facts->most_degree == degree);
    JOB_CHECK(job, graph_facts->most_on_node == most_on_node);
}

static void make_one(job_t *job)
{
    oracle_t oracle = job_oracle(job);
    catena_neighborhood_t *own = NULL;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .reorder = reorder};
    old_node[job->rank] = job->context->locality.node;
    JOB_CHECK(job, oracle_neighborhood_make(&graph, job->context->world, &info,
                                            &own) == CATENA_OK);
    if (own != NULL) { /* from now on ranks are those of its group */
        job->rank = (uint32_t)catena_group_rank(own->group);
        job->size = (uint32_t)graph.size;
        made[job->rank] = own;
        oracle_graph_settle(&graph, (int)job->rank);
    }
    (void)catena_barrier(job->context->world);
    if (own != NULL) {
        oracle_neighborhood_check(&oracle, &graph, own);
        check_ends(job);
        check_graph_facts(job);
        check_maxima(job);
    }
    (void)catena_barrier(job->context->world);
    JOB_CHECK(job, own == NULL || catena_neighborhood_free(&own) == CATENA_OK);
}

/** The loop runs over the ways to create a neighborhood. */
START_TEST(shapes)
{
    oracle_graph_way_t way = (oracle_graph_way_t)_i;
    bool grid = way == ORACLE_WAY_CART || way == ORACLE_WAY_DERIVED;
    for (int i = 0; i < (grid ? 100 : 10 * ORACLE_GRAPH_SHAPES);
         i += unit_step(5)) {
        uint64_t seed = (uint64_t)i / (grid ? 1 : ORACLE_GRAPH_SHAPES) + 1;
        int size = seed < 6 ? (int)seed : (int)(seed * 7 % 40) + 1;
        oracle_shape_t shape = (oracle_shape_t)(i % ORACLE_GRAPH_SHAPES);
        reorder = seed % 3 == 0;
        oracle_graph_draw(&graph, way, shape, size, seed);
        int failed = job_simulate((uint32_t)size, seed, make_one);
        ck_assert_msg(failed == 0, "shape %d, seed %d: %d failed", (int)shape,
                      (int)seed, failed);
        oracle_graph_free(&graph);
    }
}
END_TEST

/* Pairs of ranks on different nodes get onto one node by reordering. */
static void bring_together(job_t *job)
{
    int size = (int)job->size;
    int peer = ((int)job->rank + size / 2) % size;
    catena_neighborhood_info_t info = {.size = sizeof(info), .reorder = 1};
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 1, &peer, CATENA_UNWEIGHTED, 1,
                       &peer, CATENA_UNWEIGHTED, &info, &own) == CATENA_OK);
    if (own != NULL) {
        JOB_CHECK(job, own->graph_facts.weight_before == job->size);
        JOB_CHECK(job, own->graph_facts.weight_between == 0);
        JOB_CHECK(job, own->target[0].rank ==
                           (catena_group_rank(own->group) + size / 2) % size);
        JOB_CHECK(job, own->out[0].peer.local);
        JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
    }
}

/* A grid of a row on each node, whose pairs of rows have heavy edges, gets
 * blocks of 2 x 2. Weights move with the places. */
static void bring_blocks_together(job_t *job)
{
    enum { SIDE = 4, HEAVY = 9 };
    static const int dims[] = {SIDE, SIDE};
    static const int periods[] = {0, 0};
    static const int rows[] = {1, 0};
    int row = (int)job->rank / SIDE;
    const int weights[] = {row % 2 > 0 ? HEAVY : 1, row % 2 > 0 ? 1 : HEAVY, 1,
                           row == 0 ? 1 : 0}; /* the larger one counts */
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .weights = weights};
    catena_neighborhood_t *grid = NULL;
    catena_neighborhood_t *column = NULL;
    int coords[2];
    int sources[2], targets[2], in[2], out[2];
    JOB_CHECK(job, catena_cart_create(job->context->world, 2, dims, periods, 1,
                                      &info, &grid) == CATENA_OK);
    JOB_CHECK(job, grid->graph_facts.weight_before == 16 * HEAVY + 8);
    JOB_CHECK(job, grid->graph_facts.weight_between == 16);
    JOB_CHECK(job, catena_cart_sub(grid, rows, &column) == CATENA_OK);
    JOB_CHECK(job, catena_cart_get(column, 1, coords + 1, coords + 1, coords) ==
                       CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_neighbors(column, 2, sources, in, 2,
                                                 targets, out) == CATENA_OK);
    for (int i = 0; i < 2; i++) {
        int weight = coords[0] % 2 == i ? 1 : HEAVY;
        JOB_CHECK(job, targets[i] == CATENA_PROC_NULL ||
                           (in[i] == weight && out[i] == weight));
    }
    JOB_CHECK(job, catena_neighborhood_free(&column) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(&grid) == CATENA_OK);
}

START_TEST(reordering)
{
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = 4,
                                  .ppn = 4,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(job_simulate_on(&params, bring_together), 0);
    ck_assert_int_eq(job_simulate_on(&params, bring_blocks_together), 0);
}
END_TEST

/** Exchanges a long block with the peer. Its bytes count once. */
static void exchange_long(job_t *job, catena_neighborhood_t *own, char value)
{
    enum { COUNT = 1 << 20 };
    uint64_t bytes = job->exec->tally.bytes;
    char *block = malloc(2 * COUNT);
    memset(block, value + (int)job->rank, COUNT);
    memset(block + COUNT, 0, COUNT);
    JOB_CHECK(job,
              catena_neighbor_alltoall(block, COUNT, CATENA_BYTE, block + COUNT,
                                       COUNT, CATENA_BYTE, own) == CATENA_OK);
    JOB_CHECK(job, job->exec->tally.bytes - bytes == COUNT);
    memset(block, value + 1 - (int)job->rank, COUNT);
    JOB_CHECK(job, memcmp(block, block + COUNT, COUNT) == 0);
    free(block);
}

/** Set the counts as if operations without data had run until the next
 * operation has the number of the last one. */
static void let_numbers_recur(catena_neighborhood_t *own)
{
    const uint64_t others = CTN_NUMBERS - 1;
    own->sequence.started += others;
    own->sequence.complete += others;
    own->sequence.synchronized += others;
    own->out->sent += others;
    own->out->complete += others;
    own->out->control->complete += others;
    own->in->reported += others;
}

/* The old CTS is still there, with the number and the length of the new
 * message. Rank 1 is late, so rank 0 finds the old CTS first and must ignore
 * it. */
static void recur(job_t *job)
{
    int peer = 1 - (int)job->rank;
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 1, &peer, CATENA_UNWEIGHTED, 1,
                       &peer, CATENA_UNWEIGHTED, NULL, &own) == CATENA_OK);
    uint64_t seq = own->sequence.started;
    const ctn_cts_t *cts = &own->out->control->unsolicited[seq % 2];
    (void)catena_barrier(job->context->world);
    exchange_long(job, own, 1);
    (void)catena_barrier(job->context->world);
    JOB_CHECK(job, ctn_flag_matches(cts->word, seq + CTN_NUMBERS));
    let_numbers_recur(own);
    (void)catena_barrier(job->context->world);
    if (job->rank == 1) {
        (void)catena_compute(job->context, 1e-3);
    }
    exchange_long(job, own, 3);
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
}

START_TEST(numbers_recur)
{
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-a",
                                  .nodes = 2,
                                  .ppn = 1,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(job_simulate_on(&params, recur), 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, shapes, 0, ORACLE_GRAPH_WAYS);
    tcase_add_test(tcase, reordering);
    tcase_add_test(tcase, numbers_recur);
}

UNIT_TEST(neighborhood)
{
    return unit_main("neighborhood", 100, add_cases);
}
