/* NBR-7. The estimated time of a schedule: the work of the busiest rank,
 * message by message (LogGP), and for each round the time until the next can
 * begin; or, if ranks share cores and that is more, the work of all ranks of a
 * core, and a switch of process for each of them in each round. Where a
 * network's buffer is known, messages hold each other up at its ports
 * (port_time.c). */

#include "neighbor/schedule/select.h"

#include "model/machine.h"
#include "topo/locality.h"

/* ---- costs ---- */

/* Costs without a machine model, of a node and of a network with RDMA; those of
 * TCP are below. Estimates with them, and in parentheses measurements, of 16
 * ranks on 2 cores in a mesh, in us:
 *   4 nodes with TCP, a row of the mesh on each: blocks of 8 bytes: direct 114
 *   (122), aggregated 75 (82); 16 KiB with diagonals: combining 793 (803).
 *   One node, with diagonals, 8 bytes: direct 30 (23), combining 35 (35). */
static const ctn_neighbor_costs_t usual_costs = {
    .round = {[CTN_LOCAL] = 200, [CTN_REMOTE] = 2000},
    .message = {[CTN_LOCAL] = 250, [CTN_REMOTE] = 1000},
    .byte = {[CTN_LOCAL] = 0.15, [CTN_REMOTE] = 0.1},
    .packed = 0.2,
    .switching = 1700,
    .share = 1,
};

enum { TCP_ROUND_NS = 25000, TCP_MESSAGE_NS = 6000 };
#define TCP_BYTE_NS 0.3

/** Takes the costs from a machine model. */
static void use_machine(const catena_machine_t *machine,
                        ctn_neighbor_costs_t *costs)
{
    costs->round[CTN_LOCAL] = machine->signal_ns[CTN_DISTANCE_L3];
    costs->round[CTN_REMOTE] = machine->latency_ns;
    costs->message[CTN_LOCAL] = 2 * machine->copy_start_ns + machine->poll_ns;
    costs->message[CTN_REMOTE] = machine->send_overhead_ns +
                                 machine->receive_overhead_ns + machine->gap_ns;
    costs->byte[CTN_LOCAL] = machine->copy_per_byte_ns;
    costs->byte[CTN_REMOTE] = machine->gap_per_byte_ns;
    costs->packed = 2 * machine->copy_per_byte_ns;
    costs->switching = machine->switch_ns;
    costs->buffer = machine->buffer_bytes;
}

void ctn_neighbor_costs(const catena_neighborhood_t *neighborhood,
                        ctn_neighbor_costs_t *costs)
{
    const ctn_exec_t *exec = neighborhood->exec;
    const ctn_locality_t *locality = neighborhood->exec->locality;
    const catena_machine_t *machine = ctn_tuning_machine(exec->tuning);
    *costs = usual_costs;
    if (exec->network != NULL && (exec->network->caps & CTN_CAP_RDMA) == 0) {
        costs->round[CTN_REMOTE] = TCP_ROUND_NS;
        costs->message[CTN_REMOTE] = TCP_MESSAGE_NS;
        costs->byte[CTN_REMOTE] = TCP_BYTE_NS;
    }
    if (exec->oversubscribed && !locality->simulated) {
        costs->share = locality->ranks_per_core;
    }
    if (machine != NULL) {
        use_machine(machine, costs);
    }
}

/* ---- the estimate ---- */

/** The time that messages take of the ports where they hold each other up: in a
 * network whose buffer is shorter than all of them. In rounds the receiver's
 * copy of an eager message, and the CTS of a longer one, are waited for in
 * each. 0: they do not, or this is not known. */
static double held_ns(const catena_neighborhood_t *neighborhood,
                      ctn_neighbor_algorithm_t algorithm, bool weighed,
                      size_t bytes)
{
    const ctn_chooser_t *chooser = neighborhood->chooser;
    const ctn_neighbor_costs_t *costs = &chooser->costs;
    const ctn_port_times_t *times = &chooser->port_times;
    const ctn_graph_facts_t *facts = &neighborhood->graph_facts;
    double unit = (double)bytes; /* bytes along an edge of weight 1 */
    if (weighed && facts->weight_all > 0) {
        unit *= (double)facts->edges / (double)facts->weight_all;
    }
    double shortest = weighed ? unit * (double)times->lightest : unit;
    if (times->rounds[weighed] == 0 || shortest <= costs->buffer) {
        return 0;
    }
    if (algorithm == CTN_NEIGHBOR_DIRECT) {
        return unit * (double)times->at_once[weighed] * costs->byte[CTN_REMOTE];
    }
    if (algorithm != CTN_NEIGHBOR_COLORED) {
        return 0;
    }
    double in_rounds = unit * (double)times->rounds[weighed];
    double rounds = (double)times->rounds[false]; /* each takes 1 */
    double eager = ctn_link_eager_bytes(facts->most_degree,
                                        ctn_link_most_eager(false, false),
                                        CTN_LINK_EAGER_ALL);
    return in_rounds * costs->byte[CTN_REMOTE] +
           (in_rounds <= rounds * eager
                ? in_rounds * costs->packed / 2
                : rounds * 2 * costs->round[CTN_REMOTE]);
}

double ctn_schedule_estimate(const catena_neighborhood_t *neighborhood,
                             ctn_neighbor_algorithm_t algorithm,
                             ctn_pattern_t pattern, ctn_block_class_t blocks,
                             size_t bytes)
{
    const ctn_schedule_facts_t *facts =
        ctn_schedule_facts_for(neighborhood, algorithm, pattern, blocks, bytes);
    const ctn_neighbor_costs_t *costs = &neighborhood->chooser->costs;
    double cost[CTN_COUNTS];
    for (int reach = 0; reach < CTN_REACHES; reach++) {
        cost[CTN_COUNT_MESSAGES + reach] = costs->message[reach];
        cost[CTN_COUNT_BLOCKS + reach] = costs->byte[reach] * (double)bytes;
    }
    cost[CTN_COUNT_PACKED] = costs->packed * (double)bytes;
    /* As half of a message on the node: written once, and read where the
     * aggregate has arrived. */
    cost[CTN_COUNT_CONTRIBUTED] = (cost[CTN_COUNT_MESSAGES + CTN_LOCAL] +
                                   cost[CTN_COUNT_BLOCKS + CTN_LOCAL]) /
                                  2;
    double all = 0;
    double most = 0;
    for (int i = 0; i < CTN_COUNTS; i++) {
        all += cost[i] * (double)facts->all[i];
        most += cost[i] * (double)facts->most[i];
    }
    /* Only alltoallv, alltoallw and reducev have blocks of lengths by weight.
     */
    double held = held_ns(
        neighborhood, algorithm,
        pattern == CTN_PATTERN_ALLTOALL && blocks == CTN_BLOCKS_ANY, bytes);
    if (held > 0) {
        most += held - cost[CTN_COUNT_BLOCKS + CTN_REMOTE] *
                           (double)facts->most[CTN_COUNT_BLOCKS + CTN_REMOTE];
    }
    double remote = facts->remote_rounds;
    /* `way` and `work` as in docs/algorithms.md, NBR-7. */
    double way = most + remote * costs->round[CTN_REMOTE] +
                 (facts->rounds - remote) * costs->round[CTN_LOCAL];
    double work = costs->share *
                  (all / neighborhood->group->chain.place.size +
                   (costs->share > 1 ? facts->rounds * costs->switching : 0));
    return way > work ? way : work;
}
