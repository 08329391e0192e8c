/* catena-bench neighbor_allgather, neighbor_alltoall, neighbor_reduce and their
 * v and w forms: a rank sends blocks to its targets and receives blocks from
 * its sources. */

#include <stdlib.h>

#include "collectives/neighbors.h"
#include "columns.h"
#include "levels.h"

/* ---- blocks ---- */

/* A block for each target or from each source. The caller sets the lengths. */
static struct bench_blocks blocks_of(const struct bench_ends *ends, int source,
                                     int target)
{
    return (struct bench_blocks){.number = ends->number,
                                 .source = source,
                                 .target = target,
                                 .ranks = ends->ranks,
                                 .labels = ends->labels,
                                 .rows = 1};
}

static struct bench_blocks to_targets(const struct bench_call *call)
{
    return blocks_of(&bench_neighbors(call)->targets, call->rank, BENCH_EACH);
}

static struct bench_blocks from_sources(const struct bench_call *call)
{
    return blocks_of(&bench_neighbors(call)->sources, BENCH_EACH, call->rank);
}

/* A block from each source, which sends the same block to all its targets. */
static struct bench_blocks same_from(const struct bench_ends *ends)
{
    struct bench_blocks blocks = blocks_of(ends, BENCH_EACH, 0);

    blocks.labels = NULL;
    return blocks;
}

/* Set the length of all blocks. */
static void make_uniform(struct bench_blocks *blocks, size_t bytes)
{
    blocks->row_bytes = bytes;
    blocks->bytes = bytes * (size_t)blocks->number;
}

static void lay_out_allgather(struct bench_call *call)
{
    call->layout = (struct bench_layout){
        .sends = bench_vector_of(call, call->bytes),
        .recvs = same_from(&bench_neighbors(call)->sources)};
    make_uniform(&call->layout.recvs, call->bytes);
}

static void lay_out_allgatherv(struct bench_call *call)
{
    struct bench_blocks *recvs = &call->layout.recvs;

    call->layout = (struct bench_layout){
        .sends =
            bench_vector_of(call, bench_length(call->bytes, call->rank, 0)),
        .recvs = same_from(&bench_neighbors(call)->sources)};
    bench_blocks_alloc(call->bench, recvs);
    for (int i = 0; i < recvs->number; i++)
        recvs->counts[i] = bench_length(call->bytes, recvs->ranks[i], 0);
    bench_blocks_pack(recvs);
}

static void lay_out_alltoall(struct bench_call *call)
{
    call->layout =
        (struct bench_layout){.sends = to_targets(call),
                              .recvs = from_sources(call),
                              .in_place = call->bench->options->in_place};
    make_uniform(&call->layout.sends, call->bytes);
    make_uniform(&call->layout.recvs, call->bytes);
}

/* Set the lengths: call->bytes times the edge's weight if there are weights,
 * else random. `sending`: `ends` are the targets. */
static void find_lengths(struct bench_call *call, const struct bench_ends *ends,
                         bool sending, struct bench_blocks *blocks)
{
    bool weighted = bench_neighbors(call)->graph.weights != BENCH_UNIFORM;

    bench_blocks_alloc(call->bench, blocks);
    for (int i = 0; i < ends->number; i++) {
        int source = sending ? call->rank : ends->ranks[i];
        int target = sending ? ends->ranks[i] : call->rank;

        blocks->counts[i] = weighted
                                ? call->bytes * (size_t)ends->weights[i]
                                : bench_length(call->bytes, source, target);
    }
    bench_blocks_pack(blocks);
}

static void lay_out_alltoallv(struct bench_call *call)
{
    const struct bench_neighbors *state = bench_neighbors(call);

    call->layout = (struct bench_layout){.sends = to_targets(call),
                                         .recvs = from_sources(call)};
    find_lengths(call, &state->targets, true, &call->layout.sends);
    find_lengths(call, &state->sources, false, &call->layout.recvs);
}

/* The two matrices of an alltoallw: with columns for targets and from sources.
 */
struct matrices {
    struct bench_columns out;
    struct bench_columns in;
};

static void lay_out_alltoallw(struct bench_call *call)
{
    struct bench *bench = call->bench;
    struct matrices *matrices = bench_alloc(bench, 1, sizeof(*matrices));
    struct bench_layout *layout = &call->layout;

    *layout = (struct bench_layout){.sends = to_targets(call),
                                    .recvs = from_sources(call),
                                    .arrays = matrices};
    matrices->out = bench_columns_open(bench, &layout->sends, call->bytes);
    matrices->in = bench_columns_open(bench, &layout->recvs, call->bytes);
}

static void drop_matrices(struct bench_call *call)
{
    struct matrices *matrices = call->layout.arrays;

    bench_columns_close(&matrices->out);
    bench_columns_close(&matrices->in);
    free(matrices);
}

/* ---- reductions ---- */

static void lay_out_reduce(struct bench_call *call)
{
    call->layout = (struct bench_layout){
        .sends = bench_vector_of(call, call->bytes),
        .recvs = same_from(&bench_neighbors(call)->present),
        .in_place = call->bench->options->in_place,
        .results = BENCH_COUNT};
    call->layout.recvs.bytes = call->bytes;
}

/* The number of elements that each source sends to `rank`: random. */
static size_t elements_to(const struct bench_call *call, int rank)
{
    return bench_length(BENCH_COUNT, rank, 0);
}

/* Counts and offsets of blocks in elements, not bytes. */
struct elements {
    size_t *counts;
    ptrdiff_t *at;
};

static struct elements *elements_of(struct bench *bench,
                                    const struct bench_blocks *blocks,
                                    size_t element)
{
    struct elements *elements = bench_alloc(bench, 1, sizeof(*elements));
    size_t n = (size_t)blocks->number;

    elements->counts = bench_alloc(bench, n, sizeof(*elements->counts));
    elements->at = bench_alloc(bench, n, sizeof(*elements->at));
    for (size_t i = 0; i < n; i++) {
        elements->counts[i] = blocks->counts[i] / element;
        elements->at[i] = blocks->at[i] / (ptrdiff_t)element;
    }
    return elements;
}

static void lay_out_reducev(struct bench_call *call)
{
    const struct bench_neighbors *state = bench_neighbors(call);
    struct bench_blocks *sends = &call->layout.sends;
    size_t element = call->bench->options->type->bytes;

    call->layout = (struct bench_layout){
        .sends = to_targets(call),
        .recvs = blocks_of(&state->present, BENCH_EACH, call->rank),
        .results = elements_to(call, call->rank)};
    call->layout.recvs.bytes = call->layout.results * element;
    bench_blocks_alloc(call->bench, sends);
    for (int i = 0; i < sends->number; i++)
        sends->counts[i] = elements_to(call, sends->ranks[i]) * element;
    bench_blocks_pack(sends);
    call->layout.arrays = elements_of(call->bench, sends, element);
}

static void drop_elements(struct bench_call *call)
{
    struct elements *elements = call->layout.arrays;

    free(elements->counts);
    free(elements->at);
    free(elements);
    bench_blocks_free(call);
}

/* ---- calls ---- */

/* Arguments for one buffer: with one block of this rank (OWN_), with blocks of
 * one length (UNIFORM_) or of various lengths (VARYING_). */
#define SENDS call->layout.sends
#define RECVS call->layout.recvs
#define OWN_SEND call->send, SENDS.row_bytes, CATENA_BYTE
#define UNIFORM_SENDS call->send, call->bytes, CATENA_BYTE
#define UNIFORM_RECVS call->recv, call->bytes, CATENA_BYTE
#define VARYING_SENDS call->send, SENDS.counts, SENDS.at, CATENA_BYTE
#define VARYING_RECVS call->recv, RECVS.counts, RECVS.at, CATENA_BYTE

#define MATRICES ((const struct matrices *)call->layout.arrays)
#define ELEMENTS ((const struct elements *)call->layout.arrays)

#define NEIGHBOR_FORMS(name, ...)                                              \
    BENCH_THREE_FORMS(name, __VA_ARGS__, bench_neighbors(call)->neighborhood)

NEIGHBOR_FORMS(neighbor_allgather, OWN_SEND, UNIFORM_RECVS)
NEIGHBOR_FORMS(neighbor_allgatherv, OWN_SEND, VARYING_RECVS)
NEIGHBOR_FORMS(neighbor_alltoall, UNIFORM_SENDS, UNIFORM_RECVS)
NEIGHBOR_FORMS(neighbor_alltoallv, VARYING_SENDS, VARYING_RECVS)
NEIGHBOR_FORMS(neighbor_alltoallw, call->send, BENCH_COLUMNS(&MATRICES->out),
               call->recv, BENCH_COLUMNS(&MATRICES->in))
NEIGHBOR_FORMS(neighbor_reduce, call->send, call->recv, BENCH_COUNT, BENCH_TYPE,
               BENCH_OP)
NEIGHBOR_FORMS(neighbor_reducev, call->send, ELEMENTS->counts, ELEMENTS->at,
               call->recv, call->layout.results, BENCH_TYPE, BENCH_OP)

/* ---- the collectives ---- */

/* The check of collectives that cannot run in place. */
static const char *check_two_buffers(const struct bench_options *options,
                                     const char **found)
{
    const char *wrong = bench_neighbors_check(options, found);

    if (wrong != NULL || !options->in_place)
        return wrong;
    *found = "--in-place";
    return "expected two buffers";
}

/* The members that all neighborhood collectives have in common. */
#define NEIGHBOR_MEMBERS(kind)                                                 \
    BENCH_CALL(neighbor_##kind),                                               \
        .max = 65536, .synced = true,                                          \
        .neighbors = BENCH_PATTERN_neighbor_##kind,                            \
        .algorithm_names = "auto, direct, colored, combining, aggregated",     \
        .metrics = bench_neighbor_metrics, .refuse = bench_neighbors_refuse,   \
        .prepare = bench_neighbors_prepare,                                    \
        .release = bench_neighbors_release,                                    \
        .describe = bench_neighbors_describe,                                  \
        .explain = bench_neighbors_explain, .finish = bench_neighbors_finish,  \
        .lay_out = lay_out_##kind

/* A collective with blocks of various lengths or of datatypes of their own. */
#define VARYING_MEMBERS(kind, lengths, drop)                                   \
    NEIGHBOR_MEMBERS(kind), .check = check_two_buffers, .blocks = lengths,     \
                            .drop_layout = drop

const struct bench_collective bench_neighbor_allgather = {
    NEIGHBOR_MEMBERS(allgather),
    BENCH_MOVES,
    .help = "a block to all neighbors",
    .check = check_two_buffers,
};

const struct bench_collective bench_neighbor_allgatherv = {
    VARYING_MEMBERS(allgatherv, BENCH_RANDOM_LENGTHS, bench_blocks_free),
    BENCH_MOVES,
    .help = "the same with blocks of random lengths",
};

const struct bench_collective bench_neighbor_alltoall = {
    NEIGHBOR_MEMBERS(alltoall),
    BENCH_MOVES,
    .help = "a block to every neighbor",
    .check = bench_neighbors_check,
};

const struct bench_collective bench_neighbor_alltoallv = {
    VARYING_MEMBERS(
        alltoallv, "as long as their edges weigh, else random, a quarter empty",
        bench_blocks_free),
    BENCH_MOVES,
    .help = "the same with blocks of other lengths: by weight, or random",
};

const struct bench_collective bench_neighbor_alltoallw = {
    VARYING_MEMBERS(alltoallw,
                    "columns of a matrix that has some for every neighbor",
                    drop_matrices),
    BENCH_MOVES,
    .help = "the same with column blocks of a matrix, a type for each",
};

const struct bench_collective bench_neighbor_reduce = {
    NEIGHBOR_MEMBERS(reduce),
    BENCH_REDUCES,
    .help = "neighbors' vectors combined",
    .check = bench_neighbors_check,
};

const struct bench_collective bench_neighbor_reducev = {
    VARYING_MEMBERS(reducev, BENCH_RANDOM_LENGTHS, drop_elements),
    BENCH_REDUCES,
    .help = "vectors for every neighbor combined there, of random lengths",
};
