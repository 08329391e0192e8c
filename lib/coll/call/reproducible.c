/* HIER-13: blocking reproducible reductions whose hierarchy combines operands
 * in another order. All ways depend on facts that all ranks share. */

#include "coll/call/reproducible.h"

#include <stdlib.h>

#include "coll/call/exchange.h"
#include "group/recovery.h"

/* Vectors of a scan that together have more bytes than this are transposed: a
 * rank then sends its vector twice at most, instead of to each rank that has a
 * result, but in a second round of messages. Scans of 1 KiB on simulated hpc-a,
 * 8 nodes of 2 ranks, take 17 us transposed and 52 us gathered. At 256 B all
 * together both take about as long. */
enum { WHOLE_BYTES = 4096 };

/* Longer vectors go from rank to rank instead, by a chain (P2P-5), in fragments
 * that follow each other: a node then sends one vector, but transposed twice
 * one for each of its ranks. The more nodes, the later has the last rank its
 * first fragment. The limit, 128 nodes^2 / sqrt(ranks of a node) bytes, was
 * fitted to simulated hpc-a, hpc-b and sierra with 2 to 64 nodes of 1 to 24
 * ranks: the way that it selects takes at most 1.88 times as long as the
 * other, 1.02 times as the faster one in the geometric mean. Transposed and
 * by a chain, us, on hpc-a and hpc-b, all ranks start at once: 3 nodes of 1
 * rank, 2 KiB 14 and 7.7, 8.8 and 5.0; 8 of 2, 4 KiB 39 and 30, 16 and 20; 8 of
 * 8, 1 KiB 37 and 32, 15 and 24, 4 KiB 110 and 51, 25 and 32, 1 MiB 26018 and
 * 1786, 3138 and 715; 16 of 24, 16 KiB 1269 and 468, 173 and 270; 32 of 8, 128
 * KiB 3361 and 867, 444 and 461. */
enum { CHAIN_BYTES = 128 };

/* Such scans are exchanged rather than gathered on one node, and between these
 * numbers of nodes if few bytes go from one to another: messages to few nodes
 * take one round, but a gather about log2 of the number of nodes. 8 B on
 * simulated hpc-a, hpc-b and sierra, gathered and exchanged, us: 3 nodes of 3
 * ranks 4.8, 4.1, 3.8 and 3.7, 2.9, 3.0; 4 nodes of 8 5.7, 4.7, 4.4 and 6.0,
 * 3.5, 3.6; 16 nodes of 2 9.6, 8.1, 7.6 and 9.2, 4.9, 5.1; but 2 nodes of 4
 * 2.7, 2.5, 2.4 and 3.6, 3.0, 2.9; 64 nodes of 2 16, 12, 12 and 35, 23, 29; 4
 * nodes of 12 6.1, 4.8, 4.6 and 9.0, 3.9, 4.4. On one node of 6 or 12 ranks
 * gathering takes 1.5 to 1.9 times as long. */
enum {
    EXCHANGED_LEAST_NODES = 3,
    EXCHANGED_MOST_NODES = 16,
    EXCHANGED_BYTES = 512
};

/* Most bytes of all vectors together that are gathered if the hierarchy of a
 * reduce, allreduce or reduce_scatter is not balanced. 4 simulated nodes of 6
 * ranks, hpc-a, hpc-b and sierra, us: allreduces of 8 B 5.6, 4.6, 4.4
 * gathered, 8.9, 7.5, 7.6 on the flat hierarchy; of 64 B 9.2, 6.3, 6.5 and
 * 9.1, 7.7, 7.7; reduces of 8 B 2.9, 2.3, 2.7 and 4.8, 4.0, 4.0, of 64 B 4.5,
 * 2.7, 3.2 and 5.1, 4.1, 4.1. With one and two nodes a reduce that is gathered
 * takes 1 to 2 times as long. */
enum { BALANCED_BYTES = 2048, REDUCED_LEAST_NODES = 3 };

/** How a call runs that its hierarchy does not serve best. */
typedef enum way {
    BY_LEVELS, /* of that hierarchy, if it can, or of the flat one */
    EXCHANGED,
    GATHERED,
    TRANSPOSED
} way_t;

static uint32_t size_of(const ctn_call_t *call)
{
    return call->group->chain.place.size;
}

/** Whether all ranks together have so few bytes that whole vectors go to the
 * ranks that need them. */
static bool is_short(const ctn_call_t *call)
{
    return call->in.bytes <= WHOLE_BYTES / size_of(call);
}

bool ctn_reproducible_exchanges(const ctn_call_t *call)
{
    return call->reproducible && !call->balanced && is_short(call);
}

void ctn_reproducible_free(const ctn_call_t *call, void *memory, size_t bytes)
{
    if (ctn_group_status(call->group) == CATENA_OK) {
        ctn_scratch_free(call->group->exec, memory, bytes);
    }
}

/** Run a gather or allgather that is a part of a call: ctn_ml_explain describes
 * the last one before it. */
static catena_status_t run_part(const ctn_composition_t *composition,
                                catena_group_t *group,
                                const ctn_operands_t *operands)
{
    ctn_ml_config_t *config;
    catena_status_t status =
        ctn_ml_config_find(group, composition->of, &config);
    if (status != CATENA_OK) {
        return ctn_group_result(group, status);
    }
    ctn_ml_run_t last = config->last_run;
    config->last_run.explanation = NULL;
    status = ctn_ml_run_operands(composition, group, operands, CTN_BLOCKING,
                                 NULL, NULL);
    free(config->last_run.explanation);
    config->last_run = last;
    return status;
}

/** Gather the vectors of all ranks where there is a result, at the root or on
 * all ranks. */
static catena_status_t gather(const ctn_call_t *call)
{
    catena_group_t *group = call->group;
    ctn_exec_t *exec = group->exec;
    const ctn_chain_place_t *place = &group->chain.place;
    bool rooted = call->composition->single_level_kind == CTN_REDUCE;
    bool sends = rooted && place->rank != call->root;
    size_t each = call->in.bytes;
    size_t bytes = sends ? each : each * place->size;
    unsigned char *data = ctn_scratch_alloc(exec, bytes);
    if (data == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    ctn_span_read(exec, &call->in, 0, each,
                  sends ? data : data + place->rank * each);
    const ctn_blocks_t blocks = {.base = data,
                                 .bytes = each,
                                 .step = (ptrdiff_t)each,
                                 .type = ctn_type_fixed[CTN_FIXED_byte]};
    ctn_operands_t vectors = {.root = call->root, .in_place = !sends};
    *(sends ? &vectors.send : &vectors.recv) = blocks;
    catena_status_t status =
        run_part(rooted ? &ctn_ml_gather : &ctn_ml_allgather, group, &vectors);
    if (status == CATENA_OK) {
        ctn_exchange_reduce(call, data);
    }
    ctn_reproducible_free(call, data, bytes);
    return status;
}

/** Whether a vector is long enough for the chain. */
static bool is_for_chain(double bytes, double nodes, double each)
{
    double limit = CHAIN_BYTES * nodes * nodes;
    return bytes * bytes * each >= limit * limit;
}

static way_t choose(const ctn_call_t *call, uint32_t nodes)
{
    uint32_t p = size_of(call);
    size_t each = (p + nodes - 1) / nodes; /* ranks of a node, on average */
    if (call->balanced) {
        bool rooted = call->composition->single_level_kind == CTN_REDUCE;
        return call->in.bytes <= BALANCED_BYTES / p &&
                       (!rooted || nodes >= REDUCED_LEAST_NODES)
                   ? GATHERED
                   : BY_LEVELS;
    }
    if (!is_short(call)) {
        return is_for_chain((double)call->in.bytes, nodes, (double)each)
                   ? BY_LEVELS
                   : TRANSPOSED;
    }
    return nodes == 1 || (nodes >= EXCHANGED_LEAST_NODES &&
                          nodes <= EXCHANGED_MOST_NODES &&
                          call->in.bytes <= EXCHANGED_BYTES / (each * each))
               ? EXCHANGED
               : GATHERED;
}

/** The algorithm that settings name for subgroups on several nodes; AUTO: none.
 */
static ctn_algorithm_name_t named(const ctn_call_t *call,
                                  const ctn_ml_config_t *config)
{
    ctn_basic_kind_t kind = call->composition->single_level_kind;
    return ctn_algorithm_in(ctn_bcol_p2p.algorithms[kind], config->algorithm)
               ? config->algorithm
               : CTN_ALGORITHM_AUTO;
}

bool ctn_reproducible_run(const ctn_call_t *call, const ctn_ml_config_t *config,
                          catena_status_t *status)
{
    catena_group_t *group = call->group;
    uint64_t messages = group->exec->tally.messages;
    bool rooted = call->composition->single_level_kind == CTN_REDUCE;
    const char *ran = rooted ? "gather" : "allgather";
    switch (named(call, config) == CTN_ALGORITHM_AUTO
                ? choose(call, config->hierarchy->nodes)
                : BY_LEVELS) {
    case EXCHANGED:
        *status = ctn_group_run(group, ctn_exchange_create(call));
        return true;
    case GATHERED:
        *status = gather(call);
        break;
    case TRANSPOSED:
        *status = ctn_reproducible_transpose(call);
        ran = "transposed";
        break;
    default:
        return false;
    }
    ctn_ml_record_exchange(call, ran, group->exec->tally.messages - messages);
    return true;
}
