/* catena-bench bcast, reduce, allreduce, scan, exscan: each rank has one
 * vector; its bytes are in the column Size. */

#include "levels.h"

/* ---- bcast ---- */

/* The receive buffer is the only buffer. At the root it is the send buffer,
 * too: hence "in place" there. */

static void lay_out_bcast(struct bench_call *call)
{
    struct bench_blocks vector = {.bytes = call->bytes,
                                  .number = 1,
                                  .source = call->bench->options->root,
                                  .rows = 1,
                                  .row_bytes = call->bytes};

    call->layout =
        (struct bench_layout){.recvs = vector, .in_place = bench_is_root(call)};
    if (bench_is_root(call))
        call->layout.sends = vector;
}

static const char *check_bcast(const struct bench_options *options,
                               const char **found)
{
    *found = "--in-place";
    return options->in_place ? "expected no option for a second buffer" : NULL;
}

BENCH_ON_GROUP(bcast, call->recv, call->bytes, CATENA_BYTE, BENCH_ROOT)

const struct bench_collective bench_bcast = {
    BENCH_HIERARCHICAL(bcast, "bcast"), BENCH_MOVES,
    .help = "the root's vector to all", .check = check_bcast,
    .lay_out = lay_out_bcast,
};

/* ---- reductions ---- */

/* Layout of a reduction whose result on this rank combines the vectors of ranks
 * 0 to `last`; -1: no result. */
static void lay_out_result(struct bench_call *call, int last, bool in_place)
{
    call->layout =
        (struct bench_layout){.sends = bench_vector_of(call, call->bytes),
                              .recvs = bench_vectors_to(last, call->bytes),
                              .in_place = in_place,
                              .results = BENCH_COUNT};
}

static void lay_out_reduce(struct bench_call *call)
{
    bool root = bench_is_root(call);

    lay_out_result(call, root ? call->size - 1 : -1,
                   root && call->bench->options->in_place);
}

static void lay_out_allreduce(struct bench_call *call)
{
    lay_out_result(call, call->size - 1, call->bench->options->in_place);
}

static void lay_out_scan(struct bench_call *call)
{
    lay_out_result(call, call->rank, call->bench->options->in_place);
}

static void lay_out_exscan(struct bench_call *call)
{
    lay_out_result(call, call->rank - 1, call->bench->options->in_place);
}

/* The arguments that all reductions have. */
#define REDUCTION call->send, call->recv, BENCH_COUNT, BENCH_TYPE, BENCH_OP

BENCH_ON_GROUP(reduce, REDUCTION, BENCH_ROOT)
BENCH_ON_GROUP(allreduce, REDUCTION)
BENCH_ON_GROUP(scan, REDUCTION)
BENCH_ON_GROUP(exscan, REDUCTION)

const struct bench_collective bench_reduce = {
    BENCH_HIERARCHICAL(reduce, "reduce"),
    BENCH_REDUCES,
    .help = "vectors of all combined at the root",
    .lay_out = lay_out_reduce,
};

const struct bench_collective bench_allreduce = {
    BENCH_HIERARCHICAL(allreduce, "allreduce"),
    BENCH_REDUCES,
    .help = "vectors of all combined, to all",
    .lay_out = lay_out_allreduce,
};

const struct bench_collective bench_scan = {
    BENCH_HIERARCHICAL(scan, "scan"),
    BENCH_REDUCES,
    .help = "vectors of ranks 0 to this one combined",
    .lay_out = lay_out_scan,
};

const struct bench_collective bench_exscan = {
    BENCH_HIERARCHICAL(exscan, "scan"),
    BENCH_REDUCES,
    .help = "the same without this rank's own",
    .lay_out = lay_out_exscan,
};
