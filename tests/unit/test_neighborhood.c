/* Neighborhoods as they are made: what both ends of every edge have come to
 * know, against graphs that all ranks know in full. Simulated ranks are in one
 * process, so a test sees the ends of all. */

#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "neighbor/neighborhood.h"
#include "unit.h"

/* The neighborhoods of all ranks of the job that runs. */
enum { MOST_RANKS = 64 };
static catena_neighborhood_t *made[MOST_RANKS];
static enum graph_shape shape;
static bool weighted;
static bool reorder;
/* Of each rank of the world. */
static const char *old_node[MOST_RANKS];

/* ---- what is known of edges ---- */

static uint64_t offset_of(const job_t *job, int rank, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(made[rank]->exec->heap, memory, 1, &offset);
    (void)job;
    return offset;
}

/** How many edges to the same rank come before one in its list. */
static int place(const ctn_edge_t *edge, uint32_t index)
{
    int before = 0;
    for (uint32_t i = 0; i < index; i++) {
        before += edge[i].rank == edge[index].rank;
    }
    return before;
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
    JOB_CHECK(job, out->wide == offset_of(job, target->rank, in->wide));
    JOB_CHECK(job, in->cell == offset_of(job, (int)job->rank, out->cell));
    JOB_CHECK(job, out->wide_bytes == in->wide_bytes);
    JOB_CHECK(job, out->peer.near == in->peer.near);
    JOB_CHECK(job, out->peer.near == (target->node == source->node));
    JOB_CHECK(job, out->peer.process == other->group->exec->site->process);
    if (in->reverse != NULL) { /* the way back is the other one's, too */
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

static void check_ends(job_t *job)
{
    const catena_neighborhood_t *own = made[job->rank];
    for (uint32_t i = 0; i < own->targets; i++) {
        const ctn_edge_t *target = &own->target[i];
        if (target->rank == CATENA_PROC_NULL) {
            JOB_CHECK(job, target->link == CTN_NO_LINK);
            continue;
        }
        const catena_neighborhood_t *other = made[target->rank];
        JOB_CHECK(job, target->peer_index < other->sources);
        const ctn_edge_t *source = &other->source[target->peer_index];
        JOB_CHECK(job, source->rank == (int)job->rank);
        JOB_CHECK(job, source->peer_index == i);
        JOB_CHECK(job, source->weight == target->weight);
        JOB_CHECK(job, place(own->target, i) ==
                           place(other->source, target->peer_index));
        if (target->rank == (int)job->rank) {
            JOB_CHECK(job, target->link == CTN_NO_LINK &&
                               source->link == CTN_NO_LINK);
        } else {
            check_link(job, target, source);
        }
    }
}

/* ---- what is known of all ---- */

static const char *node_of(int rank)
{
    return made[rank]->group->exec->site->node;
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

static void check_census(job_t *job, const graph_t *graph)
{
    const ctn_census_t *census = &made[job->rank]->census;
    uint64_t all = 0;
    uint64_t between = 0;
    uint64_t before = 0;
    int greatest = 0;
    uint32_t nodes = 0;
    for (int i = 0; i < graph->count; i++) {
        const graph_edge_t *edge = &graph->edge[i];
        int weight = edge->from_weight > edge->to_weight ? edge->from_weight
                                                         : edge->to_weight;
        weight = weighted ? weight : 1;
        greatest = weight > greatest ? weight : greatest;
        all += (uint64_t)weight;
        between += first_on_node(edge->from) != first_on_node(edge->to)
                       ? (uint64_t)weight
                       : 0;
        before += strcmp(old_node[edge->from], old_node[edge->to]) != 0
                      ? (uint64_t)weight
                      : 0;
    }
    for (int i = 0; i < graph->size; i++) {
        nodes += first_on_node(i) == i;
    }
    JOB_CHECK(job, census->nodes == nodes);
    JOB_CHECK(job, census->weight_all == all);
    JOB_CHECK(job, census->weight_between == between);
    JOB_CHECK(job, census->weight_before == before);
    JOB_CHECK(job, reorder ? between <= before : between == before);
    JOB_CHECK(job, census->greatest_weight == greatest);
    JOB_CHECK(job, census->connected == graph_connected(graph));
    JOB_CHECK(job, census->weighted == (weighted && graph->count > 0) ||
                       graph->nulls);
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t count_remote(const ctn_edge_t *edge, uint32_t count, int own)
{
    uint32_t remote = 0;
    for (uint32_t i = 0; i < count; i++) {
        remote += edge[i].rank != CATENA_PROC_NULL &&
                  first_on_node(edge[i].rank) != own;
    }
    return remote;
}

static void check_maxima(job_t *job)
{
    const ctn_census_t *census = &made[job->rank]->census;
    uint32_t degree = 0;
    uint32_t remote = 0;
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
        remote =
            greater(remote, count_remote(other->source, other->sources, node));
        remote =
            greater(remote, count_remote(other->target, other->targets, node));
    }
    JOB_CHECK(job, census->most_degree == degree);
    JOB_CHECK(job, census->most_remote == remote);
    JOB_CHECK(job, census->most_on_node == most_on_node);
}

static void check_lists(job_t *job, const graph_t *graph, bool targets)
{
    const catena_neighborhood_t *own = made[job->rank];
    graph_list_t list = graph_list(graph, (int)job->rank, targets, job->seed);
    int count[2];
    static int rank[2][4096];
    static int weight[2][4096];
    JOB_CHECK(job, catena_neighborhood_counts(own, &count[0], &count[1]) ==
                       CATENA_OK);
    JOB_CHECK(job, count[targets] == list.count);
    JOB_CHECK(job,
              catena_neighborhood_neighbors(own, 4096, rank[0], weight[0], 4096,
                                            rank[1], weight[1]) == CATENA_OK);
    for (int i = 0; i < list.count; i++) {
        JOB_CHECK(job, rank[targets][i] == list.rank[i]);
        JOB_CHECK(job, weight[targets][i] >= (weighted ? list.weight[i] : 1));
    }
    graph_list_free(&list);
}

static void make_one(job_t *job)
{
    graph_t graph = graph_make(shape, (int)job->size, job->seed);
    catena_neighborhood_t *own = NULL;
    old_node[job->rank] = job->context->site.node;
    catena_status_t status = graph_create(job, &graph, weighted, reorder, &own);
    JOB_CHECK(job, status == CATENA_OK);
    if (status == CATENA_OK) { /* from now on ranks are those of its group */
        job->rank = (uint32_t)catena_group_rank(own->group);
        made[job->rank] = own;
    }
    (void)catena_barrier(job->context->world);
    if (status == CATENA_OK) {
        check_ends(job);
        check_census(job, &graph);
        check_maxima(job);
        check_lists(job, &graph, false);
        check_lists(job, &graph, true);
    }
    (void)catena_barrier(job->context->world);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
    graph_free(&graph);
}

START_TEST(shapes)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (shape = 0; shape < GRAPH_SHAPES; shape++) {
            uint32_t size = seed < 6 ? (uint32_t)seed : (uint32_t)seed * 7 % 40;
            weighted = (seed + shape) % 2 == 0;
            reorder = seed % 3 == 0;
            int failed = job_simulate(size + 1, seed, make_one);
            ck_assert_msg(failed == 0, "shape %d, seed %d: %d failed",
                          (int)shape, (int)seed, failed);
        }
    }
}
END_TEST

/* Pairs of ranks whose halves are dealt to other nodes meet when they are
 * numbered anew. */
static void bring_together(job_t *job)
{
    int size = (int)job->size;
    int peer = ((int)job->rank + size / 2) % size;
    catena_neighborhood_info_t info = {.reorder = 1};
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 1, &peer, CATENA_UNWEIGHTED, 1,
                       &peer, CATENA_UNWEIGHTED, &info, &own) == CATENA_OK);
    if (own != NULL) {
        JOB_CHECK(job, own->census.weight_before == job->size);
        JOB_CHECK(job, own->census.weight_between == 0);
        JOB_CHECK(job, own->target[0].rank ==
                           (catena_group_rank(own->group) + size / 2) % size);
        JOB_CHECK(job, own->out[0].peer.near);
        JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
    }
}

START_TEST(new_numbers)
{
    catena_sim_params_t params = {.machine = "hpc-a",
                                  .nodes = 4,
                                  .ppn = 4,
                                  .stack_bytes = JOB_STACK_BYTES};
    ck_assert_int_eq(job_simulate_on(&params, bring_together), 0);
}
END_TEST

/* ---- contributed edges ---- */

/** Every edge is contributed by some rank, in runs of one node. */
static int contributor(const graph_t *graph, int edge, uint64_t seed)
{
    uint64_t random = seed * 77 + (uint64_t)edge / 3;
    return (int)(job_random(&random) % (unsigned)graph->size);
}

static void contribute(job_t *job)
{
    graph_t graph = graph_make(shape, (int)job->size, job->seed);
    size_t most = (size_t)graph.count + 1;
    int *lists = malloc(4 * most * sizeof(int));
    int *nodes = lists, *degrees = lists + most, *targets = lists + 2 * most,
        *weights = lists + 3 * most, count = 0, edges = 0;
    for (int i = 0; i < graph.count; i++) {
        if (contributor(&graph, i, job->seed) == (int)job->rank) {
            if (count == 0 || nodes[count - 1] != graph.edge[i].from) {
                nodes[count] = graph.edge[i].from;
                degrees[count++] = 0;
            }
            degrees[count - 1]++;
            targets[edges] = graph.edge[i].to;
            weights[edges++] = graph.edge[i].from_weight;
        }
    }
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_dist_graph_create(
                       job->context->world, count, nodes, degrees, targets,
                       weighted ? weights : CATENA_UNWEIGHTED, NULL,
                       &own) == CATENA_OK);
    uint32_t source = 0;
    uint32_t target = 0;
    for (int who = 0; own != NULL && who < graph.size; who++) {
        for (int i = 0; i < graph.count; i++) {
            const graph_edge_t *edge = &graph.edge[i];
            int weight = weighted ? edge->from_weight : 1;
            if (contributor(&graph, i, job->seed) != who) {
                continue;
            }
            if (edge->from == (int)job->rank) {
                JOB_CHECK(job, target < own->targets &&
                                   own->target[target].rank == edge->to &&
                                   own->target[target].weight == weight);
                target++;
            }
            if (edge->to == (int)job->rank) {
                JOB_CHECK(job, source < own->sources &&
                                   own->source[source].rank == edge->from &&
                                   own->source[source].weight == weight);
                source++;
            }
        }
    }
    JOB_CHECK(job, own != NULL && source == own->sources);
    JOB_CHECK(job, own != NULL && target == own->targets);
    made[job->rank] = own;
    (void)catena_barrier(job->context->world);
    if (own != NULL) {
        check_ends(job);
    }
    (void)catena_barrier(job->context->world);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
    free(lists);
    graph_free(&graph);
}

START_TEST(contributions)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (shape = 0; shape < GRAPH_SHAPES; shape++) {
            uint32_t size = (uint32_t)seed * 5 % 24 + 1;
            weighted = (seed + shape) % 2 == 0;
            int failed = job_simulate(size, seed, contribute);
            ck_assert_msg(failed == 0, "shape %d, seed %d: %d failed",
                          (int)shape, (int)seed, failed);
        }
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, shapes);
    tcase_add_test(tcase, new_numbers);
    tcase_add_test(tcase, contributions);
}

int main(void)
{
    return unit_main("neighborhood", 100, add_cases);
}
