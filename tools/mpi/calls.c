/* The collectives of MPI, in terms of catena's. */

#include <stdlib.h>

#include "preload.h"

/* ---- preparing ----
 *
 * A call that catena takes is described in a preload_started_t. A call whose
 * arguments are wrong goes to the MPI library, which reports that without
 * waiting for others. */

static bool prepared(preload_started_t *c, bool valid)
{
    if (!valid) {
        preload_close(c, false);
        return preload_pass(c, REASON_ARGUMENT);
    }
    return true;
}

/** Find who takes part. */
static bool begin(preload_started_t *c, preload_call_t call, MPI_Comm comm)
{
    if (!preload_open(c, call, comm)) {
        return false;
    }
    preload_no_side(&c->from, NULL);
    preload_no_side(&c->to, NULL);
    c->receives = true;
    c->counts = NULL;
    c->by.made = false;
    return true;
}

/** The root of a call; `receives` is whether this rank is it.
 * @return false: there is no such rank */
static bool set_root(preload_started_t *c, int root)
{
    c->root = root;
    c->receives = root == catena_group_rank(c->group);
    return root >= 0 && root < catena_group_size(c->group);
}

static bool prepare_barrier(preload_started_t *c, BARRIER_PARAMS)
{
    return begin(c, CALL_BARRIER, comm);
}

static bool prepare_bcast(preload_started_t *c, BCAST_PARAMS)
{
    if (!begin(c, CALL_BCAST, comm)) {
        return false;
    }
    bool valid = set_root(c, root);
    bool sends = c->receives;
    c->receives = !sends;
    return prepared(
        c, valid && preload_open_blocks(&c->to, buffer, count, type, 1, sends));
}

static bool prepare_gather(preload_started_t *c, GATHER_PARAMS)
{
    return begin(c, CALL_GATHER, comm) &&
           prepared(
               c, set_root(c, root) && (c->receives || send != MPI_IN_PLACE) &&
                      preload_open_blocks(&c->from, send, send_count, send_type,
                                          1, true) &&
                      (!c->receives ||
                       preload_open_blocks(
                           &c->to, receive, receive_count, receive_type,
                           catena_group_size(c->group), send == MPI_IN_PLACE)));
}

static bool prepare_gatherv(preload_started_t *c, GATHERV_PARAMS)
{
    return begin(c, CALL_GATHERV, comm) &&
           prepared(
               c, set_root(c, root) && (c->receives || send != MPI_IN_PLACE) &&
                      preload_open_blocks(&c->from, send, send_count, send_type,
                                          1, true) &&
                      (!c->receives ||
                       preload_open_vector(&c->to, receive, receive_counts,
                                           receive_displacements, receive_type,
                                           catena_group_size(c->group),
                                           send == MPI_IN_PLACE)));
}

static bool prepare_scatter(preload_started_t *c, SCATTER_PARAMS)
{
    if (!begin(c, CALL_SCATTER, comm)) {
        return false;
    }
    bool valid = set_root(c, root);
    bool sends = c->receives;
    c->receives = true;
    return prepared(c, valid && (sends || receive != MPI_IN_PLACE) &&
                           (!sends || preload_open_blocks(
                                          &c->from, send, send_count, send_type,
                                          catena_group_size(c->group), true)) &&
                           preload_open_blocks(&c->to, receive, receive_count,
                                               receive_type, 1, false));
}

static bool prepare_scatterv(preload_started_t *c, SCATTERV_PARAMS)
{
    if (!begin(c, CALL_SCATTERV, comm)) {
        return false;
    }
    bool valid = set_root(c, root);
    bool sends = c->receives;
    c->receives = true;
    return prepared(
        c, valid && (sends || receive != MPI_IN_PLACE) &&
               (!sends || preload_open_vector(
                              &c->from, send, send_counts, send_displacements,
                              send_type, catena_group_size(c->group), true)) &&
               preload_open_blocks(&c->to, receive, receive_count, receive_type,
                                   1, false));
}

static bool prepare_allgather(preload_started_t *c, ALLGATHER_PARAMS)
{
    return begin(c, CALL_ALLGATHER, comm) &&
           prepared(c, receive != MPI_IN_PLACE &&
                           preload_open_blocks(&c->from, send, send_count,
                                               send_type, 1, true) &&
                           preload_open_blocks(&c->to, receive, receive_count,
                                               receive_type,
                                               catena_group_size(c->group),
                                               send == MPI_IN_PLACE));
}

static bool prepare_allgatherv(preload_started_t *c, ALLGATHERV_PARAMS)
{
    return begin(c, CALL_ALLGATHERV, comm) &&
           prepared(c,
                    receive != MPI_IN_PLACE &&
                        preload_open_blocks(&c->from, send, send_count,
                                            send_type, 1, true) &&
                        preload_open_vector(&c->to, receive, receive_counts,
                                            receive_displacements, receive_type,
                                            catena_group_size(c->group),
                                            send == MPI_IN_PLACE));
}

static bool prepare_alltoall(preload_started_t *c, ALLTOALL_PARAMS)
{
    int n;
    if (!begin(c, CALL_ALLTOALL, comm)) {
        return false;
    }
    n = catena_group_size(c->group);
    return prepared(c, receive != MPI_IN_PLACE &&
                           preload_open_blocks(&c->from, send, send_count,
                                               send_type, n, true) &&
                           preload_open_blocks(&c->to, receive, receive_count,
                                               receive_type, n,
                                               send == MPI_IN_PLACE));
}

static bool prepare_alltoallv(preload_started_t *c, ALLTOALLV_PARAMS)
{
    int n;
    if (!begin(c, CALL_ALLTOALLV, comm)) {
        return false;
    }
    n = catena_group_size(c->group);
    return prepared(
        c, receive != MPI_IN_PLACE &&
               preload_open_vector(&c->from, send, send_counts,
                                   send_displacements, send_type, n, true) &&
               preload_open_vector(&c->to, receive, receive_counts,
                                   receive_displacements, receive_type, n,
                                   send == MPI_IN_PLACE));
}

static bool prepare_alltoallw(preload_started_t *c, ALLTOALLW_PARAMS)
{
    int n;
    if (!begin(c, CALL_ALLTOALLW, comm)) {
        return false;
    }
    n = catena_group_size(c->group);
    return prepared(c, receive != MPI_IN_PLACE &&
                           preload_open_typed(&c->from, send, send_counts,
                                              send_displacements, NULL,
                                              send_types, n, true) &&
                           preload_open_typed(&c->to, receive, receive_counts,
                                              receive_displacements, NULL,
                                              receive_types, n,
                                              send == MPI_IN_PLACE));
}

/* Neighbors. A packed receive buffer is filled first: nothing comes from a
 * neighbor that is MPI_PROC_NULL. */

static bool prepare_neighbor_allgather(preload_started_t *c,
                                       NEIGHBOR_ALLGATHER_PARAMS)
{
    return begin(c, CALL_NEIGHBOR_ALLGATHER, comm) &&
           prepared(c, preload_open_blocks(&c->from, send, send_count,
                                           send_type, 1, true) &&
                           preload_open_blocks(&c->to, receive, receive_count,
                                               receive_type, c->sources, true));
}

static bool prepare_neighbor_allgatherv(preload_started_t *c,
                                        NEIGHBOR_ALLGATHERV_PARAMS)
{
    return begin(c, CALL_NEIGHBOR_ALLGATHERV, comm) &&
           prepared(c, preload_open_blocks(&c->from, send, send_count,
                                           send_type, 1, true) &&
                           preload_open_vector(&c->to, receive, receive_counts,
                                               receive_displacements,
                                               receive_type, c->sources, true));
}

static bool prepare_neighbor_alltoall(preload_started_t *c,
                                      NEIGHBOR_ALLTOALL_PARAMS)
{
    return begin(c, CALL_NEIGHBOR_ALLTOALL, comm) &&
           prepared(c, preload_open_blocks(&c->from, send, send_count,
                                           send_type, c->targets, true) &&
                           preload_open_blocks(&c->to, receive, receive_count,
                                               receive_type, c->sources, true));
}

static bool prepare_neighbor_alltoallv(preload_started_t *c,
                                       NEIGHBOR_ALLTOALLV_PARAMS)
{
    return begin(c, CALL_NEIGHBOR_ALLTOALLV, comm) &&
           prepared(c, preload_open_vector(&c->from, send, send_counts,
                                           send_displacements, send_type,
                                           c->targets, true) &&
                           preload_open_vector(&c->to, receive, receive_counts,
                                               receive_displacements,
                                               receive_type, c->sources, true));
}

static bool prepare_neighbor_alltoallw(preload_started_t *c,
                                       NEIGHBOR_ALLTOALLW_PARAMS)
{
    return begin(c, CALL_NEIGHBOR_ALLTOALLW, comm) &&
           prepared(c, preload_open_typed(&c->from, send, send_counts, NULL,
                                          send_displacements, send_types,
                                          c->targets, true) &&
                           preload_open_typed(&c->to, receive, receive_counts,
                                              NULL, receive_displacements,
                                              receive_types, c->sources, true));
}

/* Reductions. */

static bool reduction(preload_started_t *c, const void *send, void *receive,
                      int count, MPI_Datatype type, MPI_Op op, bool valid)
{
    if (!valid || count < 0) {
        return preload_pass(c, REASON_ARGUMENT);
    }
    if (!preload_op_open(&c->by, op, type)) {
        return preload_pass(c, REASON_REDUCTION);
    }
    if (c->nonblocking && c->by.made) {
        /* The program may free it before the call has ended. */
        preload_op_close(&c->by);
        return preload_pass(c, REASON_REDUCTION);
    }
    preload_no_side(&c->from, send);
    c->to.buffer = receive;
    c->to.count = (size_t)count;
    c->to.bytes = (size_t)count * c->by.bytes;
    return true;
}

static bool prepare_allreduce(preload_started_t *c, ALLREDUCE_PARAMS)
{
    return begin(c, CALL_ALLREDUCE, comm) &&
           reduction(c, send, receive, count, type, op,
                     receive != MPI_IN_PLACE);
}

static bool prepare_reduce(preload_started_t *c, REDUCE_PARAMS)
{
    return begin(c, CALL_REDUCE, comm) &&
           reduction(c, send, receive, count, type, op,
                     set_root(c, root) &&
                         (c->receives || send != MPI_IN_PLACE));
}

static bool prepare_scan(preload_started_t *c, SCAN_PARAMS)
{
    return begin(c, CALL_SCAN, comm) &&
           reduction(c, send, receive, count, type, op, true);
}

static bool prepare_exscan(preload_started_t *c, EXSCAN_PARAMS)
{
    if (!begin(c, CALL_EXSCAN, comm)) {
        return false;
    }
    if (catena_group_rank(c->group) == 0 && receive == NULL) {
        receive = (void *)(uintptr_t)send; /* nothing is written there */
    }
    return reduction(c, send, receive, count, type, op, true);
}

static bool prepare_reduce_scatter_block(preload_started_t *c,
                                         REDUCE_SCATTER_BLOCK_PARAMS)
{
    return begin(c, CALL_REDUCE_SCATTER_BLOCK, comm) &&
           reduction(c, send, receive, count, type, op, true);
}

static bool prepare_reduce_scatter(preload_started_t *c, REDUCE_SCATTER_PARAMS)
{
    if (!begin(c, CALL_REDUCE_SCATTER, comm)) {
        return false;
    }
    size_t n = (size_t)catena_group_size(c->group);
    bool valid = counts != NULL;
    for (size_t i = 0; valid && i < n; i++) {
        valid = counts[i] >= 0;
    }
    if (!reduction(c, send, receive, 0, type, op, valid)) {
        return false;
    }
    c->counts = preload_alloc(n * sizeof(*c->counts));
    for (size_t i = 0; i < n; i++) {
        c->counts[i] = (size_t)counts[i];
        c->to.bytes += c->counts[i] * c->by.bytes;
    }
    return true;
}

/* ---- running ---- */

/* catena's call, blocking or nonblocking. */
#define CALL(name, ...)                                                        \
    (c->nonblocking ? catena_i##name(__VA_ARGS__, &c->request)                 \
                    : catena_##name(__VA_ARGS__))

#define FROM_BLOCKS from->buffer, from->count, from->type
#define FROM_VECTOR from->buffer, from->counts, from->displacements, from->type
#define TO_BLOCKS to->buffer, to->count, to->type
#define TO_VECTOR to->buffer, to->counts, to->displacements, to->type
#define REDUCTION                                                              \
    from->buffer, to->buffer, to->count, c->by.type, c->by.op, c->group

static catena_status_t call_neighbors(preload_started_t *c)
{
    const preload_side_t *from = &c->from;
    preload_side_t *to = &c->to;
    switch (c->call) {
    case CALL_NEIGHBOR_ALLGATHER:
        return CALL(neighbor_allgather, FROM_BLOCKS, TO_BLOCKS,
                    c->neighborhood);
    case CALL_NEIGHBOR_ALLGATHERV:
        return CALL(neighbor_allgatherv, FROM_BLOCKS, TO_VECTOR,
                    c->neighborhood);
    case CALL_NEIGHBOR_ALLTOALL:
        return CALL(neighbor_alltoall, FROM_BLOCKS, TO_BLOCKS, c->neighborhood);
    default:
        return CALL(neighbor_alltoallv, FROM_VECTOR, TO_VECTOR,
                    c->neighborhood);
    }
}

static catena_status_t call_reduction(preload_started_t *c)
{
    const preload_side_t *from = &c->from;
    preload_side_t *to = &c->to;
    switch (c->call) {
    case CALL_REDUCE:
        return CALL(reduce, from->buffer, to->buffer, to->count, c->by.type,
                    c->by.op, c->root, c->group);
    case CALL_SCAN:
        return CALL(scan, REDUCTION);
    case CALL_EXSCAN:
        return CALL(exscan, REDUCTION);
    case CALL_REDUCE_SCATTER_BLOCK:
        return CALL(reduce_scatter_block, REDUCTION);
    case CALL_REDUCE_SCATTER:
        return CALL(reduce_scatter, from->buffer, to->buffer, c->counts,
                    c->by.type, c->by.op, c->group);
    default:
        return CALL(allreduce, REDUCTION);
    }
}

catena_status_t preload_call(preload_started_t *c)
{
    const preload_side_t *from = &c->from;
    preload_side_t *to = &c->to;
    switch (c->call) {
    case CALL_BARRIER:
        return CALL(barrier, c->group);
    case CALL_BCAST:
        return CALL(bcast, TO_BLOCKS, c->root, c->group);
    case CALL_GATHER:
        return CALL(gather, FROM_BLOCKS, TO_BLOCKS, c->root, c->group);
    case CALL_GATHERV:
        return CALL(gatherv, FROM_BLOCKS, TO_VECTOR, c->root, c->group);
    case CALL_SCATTER:
        return CALL(scatter, FROM_BLOCKS, TO_BLOCKS, c->root, c->group);
    case CALL_SCATTERV:
        return CALL(scatterv, FROM_VECTOR, TO_BLOCKS, c->root, c->group);
    case CALL_ALLGATHER:
        return CALL(allgather, FROM_BLOCKS, TO_BLOCKS, c->group);
    case CALL_ALLGATHERV:
        return CALL(allgatherv, FROM_BLOCKS, TO_VECTOR, c->group);
    case CALL_ALLTOALL:
        return CALL(alltoall, FROM_BLOCKS, TO_BLOCKS, c->group);
    case CALL_ALLTOALLV:
    case CALL_ALLTOALLW: /* packed */
        return CALL(alltoallv, FROM_VECTOR, TO_VECTOR, c->group);
    case CALL_REDUCE:
    case CALL_ALLREDUCE:
    case CALL_SCAN:
    case CALL_EXSCAN:
    case CALL_REDUCE_SCATTER:
    case CALL_REDUCE_SCATTER_BLOCK:
        return call_reduction(c);
    default:
        return call_neighbors(c);
    }
}

void preload_close(preload_started_t *c, bool received)
{
    preload_close_side(&c->from, false);
    preload_close_side(&c->to, received && c->receives);
    free(c->counts);
    preload_op_close(&c->by);
}

/** A prepared blocking call. */
static int run(preload_started_t *c)
{
    c->since = preload_begin();
    c->status = preload_call(c);
    preload_close(c, c->status == CATENA_OK);
    return preload_end(c);
}

/* The functions of MPI. */
#define DEFINE(NAME, Name, Nonblocking, name)                                  \
    int MPI_##Name(NAME##_PARAMS)                                              \
    {                                                                          \
        preload_started_t c;                                                   \
        c.nonblocking = false;                                                 \
        return prepare_##name(&c, NAME##_ARGS) ? run(&c)                       \
                                               : PMPI_##Name(NAME##_ARGS);     \
    }
PRELOAD_CALLS(DEFINE)

#if PRELOAD_NONBLOCKING
#define DEFINE_NONBLOCKING(NAME, Name, Nonblocking, name)                      \
    int MPI_##Nonblocking(NAME##_PARAMS, MPI_Request *request)                 \
    {                                                                          \
        preload_started_t *c = preload_alloc(sizeof(*c));                      \
        c->nonblocking = true;                                                 \
        if (prepare_##name(c, NAME##_ARGS)) {                                  \
            return preload_start(c, request);                                  \
        }                                                                      \
        free(c);                                                               \
        return PMPI_##Nonblocking(NAME##_ARGS, request);                       \
    }
PRELOAD_CALLS(DEFINE_NONBLOCKING)
#endif
