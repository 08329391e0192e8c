/* catena-bench gather, scatter and allgather, gatherv, scatterv and allgatherv,
 * reduce_scatter and reduce_scatter_block. */

#include <stdlib.h>

#include "levels.h"

/* ---- moved blocks ---- */

static bool wants_in_place(const struct bench_call *call)
{
    return call->bench->options->in_place;
}

/* A buffer with a block of each rank: `source` or `target` is BENCH_EACH.
 * `vary`: random lengths. */
static struct bench_blocks all_blocks(const struct bench_call *call, int source,
                                      int target, bool vary)
{
    struct bench_blocks blocks = {.number = call->size,
                                  .source = source,
                                  .target = target,
                                  .rows = 1,
                                  .row_bytes = call->bytes,
                                  .bytes = call->bytes * (size_t)call->size};

    if (!vary)
        return blocks;
    bench_blocks_alloc(call->bench, &blocks);
    for (int i = 0; i < call->size; i++)
        blocks.counts[i] = bench_length(call->bytes, i, 0);
    bench_blocks_pack(&blocks);
    return blocks;
}

/* A buffer with the block of this rank. */
static struct bench_blocks own_block(const struct bench_call *call, int source,
                                     int target, bool vary)
{
    size_t bytes =
        vary ? bench_length(call->bytes, call->rank, 0) : call->bytes;

    return (struct bench_blocks){.number = 1,
                                 .source = source,
                                 .target = target,
                                 .rows = 1,
                                 .row_bytes = bytes,
                                 .bytes = bytes};
}

/* The offset of this rank's block in a buffer with all blocks. */
static size_t own_offset(const struct bench_call *call,
                         const struct bench_blocks *all)
{
    if (all->at != NULL)
        return (size_t)all->at[call->rank];
    return (size_t)call->rank * call->bytes;
}

/* Layout of a gather. `here`: this rank receives the blocks. */
static void lay_out_gathered(struct bench_call *call, bool here, bool vary)
{
    struct bench_layout *layout = &call->layout;

    *layout =
        (struct bench_layout){.sends = own_block(call, call->rank, 0, vary)};
    if (!here)
        return;
    layout->recvs = all_blocks(call, BENCH_EACH, 0, vary);
    layout->in_place = wants_in_place(call);
    layout->sends_at = own_offset(call, &layout->recvs);
}

static void lay_out_gather(struct bench_call *call)
{
    lay_out_gathered(call, bench_is_root(call), false);
}

static void lay_out_gatherv(struct bench_call *call)
{
    lay_out_gathered(call, bench_is_root(call), true);
}

static void lay_out_allgather(struct bench_call *call)
{
    lay_out_gathered(call, true, false);
}

static void lay_out_allgatherv(struct bench_call *call)
{
    lay_out_gathered(call, true, true);
}

/* In a scatter in place, the root's block stays in the send buffer. */
static bool block_stays(const struct bench_call *call)
{
    return bench_is_root(call) && wants_in_place(call);
}

/* Layout of a scatter. */
static void lay_out_scattered(struct bench_call *call, bool vary)
{
    int root = call->bench->options->root;

    call->layout = (struct bench_layout){0};
    if (!block_stays(call))
        call->layout.recvs = own_block(call, root, call->rank, vary);
    if (bench_is_root(call))
        call->layout.sends = all_blocks(call, root, BENCH_EACH, vary);
}

static void lay_out_scatter(struct bench_call *call)
{
    lay_out_scattered(call, false);
}

static void lay_out_scatterv(struct bench_call *call)
{
    lay_out_scattered(call, true);
}

/* Arguments for one buffer: with the block of this rank (OWN_), with blocks of
 * all ranks of one length (UNIFORM_) or of various lengths (VARYING_). */
#define SENDS call->layout.sends
#define RECVS call->layout.recvs
#define OWN_SEND call->send, SENDS.row_bytes, CATENA_BYTE
#define OWN_RECV                                                               \
    block_stays(call) ? CATENA_IN_PLACE : call->recv, RECVS.row_bytes,         \
        CATENA_BYTE
#define UNIFORM_SENDS call->send, call->bytes, CATENA_BYTE
#define UNIFORM_RECVS call->recv, call->bytes, CATENA_BYTE
#define VARYING_SENDS call->send, SENDS.counts, SENDS.at, CATENA_BYTE
#define VARYING_RECVS call->recv, RECVS.counts, RECVS.at, CATENA_BYTE

BENCH_ON_GROUP(gather, OWN_SEND, UNIFORM_RECVS, BENCH_ROOT)
BENCH_ON_GROUP(gatherv, OWN_SEND, VARYING_RECVS, BENCH_ROOT)
BENCH_ON_GROUP(scatter, UNIFORM_SENDS, OWN_RECV, BENCH_ROOT)
BENCH_ON_GROUP(scatterv, VARYING_SENDS, OWN_RECV, BENCH_ROOT)
BENCH_ON_GROUP(allgather, OWN_SEND, UNIFORM_RECVS)
BENCH_ON_GROUP(allgatherv, OWN_SEND, VARYING_RECVS)

#define OF_RANDOM_LENGTHS                                                      \
    .blocks = BENCH_RANDOM_LENGTHS, .drop_layout = bench_blocks_free

const struct bench_collective bench_gather = {
    BENCH_HIERARCHICAL(gather, "gather"),
    BENCH_MOVES,
    .help = "a block of every rank to the root",
    .lay_out = lay_out_gather,
};

const struct bench_collective bench_gatherv = {
    BENCH_HIERARCHICAL(gatherv, "gather"),
    BENCH_MOVES,
    OF_RANDOM_LENGTHS,
    .help = "gather of blocks of random lengths",
    .lay_out = lay_out_gatherv,
};

const struct bench_collective bench_scatter = {
    BENCH_HIERARCHICAL(scatter, "scatter"),
    BENCH_MOVES,
    .help = "a block of the root to every rank",
    .lay_out = lay_out_scatter,
};

const struct bench_collective bench_scatterv = {
    BENCH_HIERARCHICAL(scatterv, "scatter"),
    BENCH_MOVES,
    OF_RANDOM_LENGTHS,
    .help = "scatter of blocks of random lengths",
    .lay_out = lay_out_scatterv,
};

const struct bench_collective bench_allgather = {
    BENCH_HIERARCHICAL(allgather, "allgather"),
    BENCH_MOVES,
    .help = "a block of every rank to all",
    .lay_out = lay_out_allgather,
};

const struct bench_collective bench_allgatherv = {
    BENCH_HIERARCHICAL(allgatherv, "allgather"),
    BENCH_MOVES,
    OF_RANDOM_LENGTHS,
    .help = "allgather of blocks of random lengths",
    .lay_out = lay_out_allgatherv,
};

/* ---- reduced blocks ---- */

/* Layout of a reduce_scatter of `sent` elements, of which this rank receives
 * `results`, from element `first` on. In place, the receive buffer has the size
 * of the send data, and the result is at its begin. */
static void lay_out_result(struct bench_call *call, size_t sent, size_t first,
                           size_t results)
{
    size_t element = call->bench->options->type->bytes;
    bool in_place = wants_in_place(call);

    call->layout = (struct bench_layout){
        .sends = bench_vector_of(call, sent * element),
        .recvs = bench_vectors_to(call->size - 1,
                                  (in_place ? sent : results) * element),
        .in_place = in_place,
        .results = results,
        .first = first};
}

static void lay_out_reduce_scatter_block(struct bench_call *call)
{
    size_t count = BENCH_COUNT;

    lay_out_result(call, count * (size_t)call->size, count * (size_t)call->rank,
                   count);
}

/* call->bytes is the size of the whole vector. If its elements do not divide
 * evenly, the first ranks get one more. */
static void lay_out_reduce_scatter(struct bench_call *call)
{
    size_t count = BENCH_COUNT, ranks = (size_t)call->size, first = 0;
    size_t *counts = bench_alloc(call->bench, ranks, sizeof(*counts));

    for (size_t i = 0; i < ranks; i++) {
        counts[i] = count / ranks + (i < count % ranks ? 1 : 0);
        if (i < (size_t)call->rank)
            first += counts[i];
    }
    lay_out_result(call, count, first, counts[call->rank]);
    call->layout.arrays = counts;
}

static void drop_counts(struct bench_call *call)
{
    free(call->layout.arrays);
}

BENCH_ON_GROUP(reduce_scatter, call->send, call->recv, call->layout.arrays,
               BENCH_TYPE, BENCH_OP)
BENCH_ON_GROUP(reduce_scatter_block, call->send, call->recv, BENCH_COUNT,
               BENCH_TYPE, BENCH_OP)

const struct bench_collective bench_reduce_scatter = {
    BENCH_HIERARCHICAL(reduce_scatter, "reduce_scatter"),
    BENCH_REDUCES,
    .help = "a vector combined, its parts to the ranks",
    .lay_out = lay_out_reduce_scatter,
    .drop_layout = drop_counts,
};

const struct bench_collective bench_reduce_scatter_block = {
    BENCH_HIERARCHICAL(reduce_scatter_block, "reduce_scatter"),
    BENCH_REDUCES,
    .help = "blocks combined, one for every rank",
    .lay_out = lay_out_reduce_scatter_block,
};
