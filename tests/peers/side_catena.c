/* The calls of catena. PEER_BUFFERS=malloc: buffers outside its heap. */

#include "peer.h"

#include <catena/catena.h>
#include <catena/neighbor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_name = "catena";

static catena_context_t *context;
static catena_group_t *world;
static bool from_malloc;

static void demand(catena_status_t status, const char *what)
{
    if (status == CATENA_OK)
        return;
    fprintf(stderr, "measure: %s: %s\n", what, catena_status_string(status));
    exit(1);
}

void peer_start(int *argc, char ***argv, int *rank, int *size)
{
    const char *buffers = getenv("PEER_BUFFERS");

    (void)argc;
    (void)argv;
    from_malloc = buffers != NULL && strcmp(buffers, "malloc") == 0;
    demand(catena_init(NULL, &context), "catena_init");
    world = catena_world(context);
    *rank = catena_group_rank(world);
    *size = catena_group_size(world);
}

void peer_stop(void)
{
    demand(catena_finalize(&context), "catena_finalize");
}

void peer_abort(const char *what)
{
    fprintf(stderr, "measure: %s\n", what);
    catena_abort(context, 1);
}

void peer_barrier(void)
{
    demand(catena_barrier(world), "catena_barrier");
}

void peer_gather(double value, double *all, int size)
{
    double *send = calloc((size_t)size, sizeof(*send));

    if (send == NULL)
        peer_abort("no memory");
    for (int i = 0; i < size; i++)
        send[i] = value;
    demand(
        catena_alltoall(send, 1, CATENA_DOUBLE, all, 1, CATENA_DOUBLE, world),
        "gathering");
    free(send);
}

void *peer_alloc(size_t bytes)
{
    size_t pages = (bytes + 4095) / 4096 * 4096;
    void *block = from_malloc ? aligned_alloc(4096, pages)
                              : catena_aligned_alloc(context, 4096, pages);

    if (block == NULL)
        peer_abort("no memory for buffers");
    memset(block, 0, pages);
    return block;
}

void peer_free(void *block)
{
    if (from_malloc)
        free(block);
    else
        catena_free(context, block);
}

struct prepared {
    size_t *send_counts, *recv_counts;
    ptrdiff_t *send_at, *recv_at;
    catena_type_t *send_types, *recv_types;
    catena_group_t *made; /* by a split */
    catena_neighborhood_t *mesh;
    catena_request_t *request;
};

void peer_choose_dims(int size, int dims[PEER_DIMS])
{
    dims[0] = dims[1] = 0;
    demand(catena_dims_create(size, PEER_DIMS, dims), "catena_dims_create");
}

static catena_type_t subarray(const struct peer_call *call,
                              const struct peer_block *block)
{
    size_t sizes[] = {block->rows, call->row_length};
    size_t subsizes[] = {block->rows, block->row_bytes};
    size_t starts[] = {0, block->offset};
    catena_type_t type;

    demand(catena_type_subarray(2, sizes, subsizes, starts, CATENA_ORDER_C,
                                CATENA_BYTE, &type),
           "catena_type_subarray");
    return type;
}

static bool by_types(enum peer_kind kind)
{
    return kind == PEER_ALLTOALLW || kind == PEER_NEIGHBOR_ALLTOALLW;
}

static void prepare_mesh(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    int periods[PEER_DIMS] = {0};

    demand(catena_cart_create(world, PEER_DIMS, call->dims, periods, 0, NULL,
                              &p->mesh),
           "catena_cart_create");
    if (call->kind == PEER_NEIGHBOR_ALLTOALL_INIT)
        demand(catena_neighbor_alltoall_init(
                   call->send, call->bytes, CATENA_BYTE, call->recv,
                   call->bytes, CATENA_BYTE, p->mesh, &p->request),
               call->collective);
}

bool peer_prepare(struct peer_call *call)
{
    size_t n = (size_t)call->partners;
    struct prepared *p = calloc(1, sizeof(*p));
    bool w = by_types(call->kind);

    if (p == NULL)
        peer_abort("no memory");
    call->prepared = p;
    p->send_counts = calloc(2 * n, sizeof(size_t));
    p->recv_counts = p->send_counts + n;
    p->send_at = calloc(2 * n, sizeof(ptrdiff_t));
    p->recv_at = p->send_at + n;
    p->send_types = calloc(2 * n, sizeof(catena_type_t));
    p->recv_types = p->send_types + n;
    for (size_t i = 0; i < n; i++) {
        p->send_counts[i] = w ? 1 : call->sends[i].row_bytes;
        p->send_at[i] = w ? 0 : (ptrdiff_t)call->sends[i].offset;
        p->recv_counts[i] = w ? 1 : call->recvs[i].row_bytes;
        p->recv_at[i] = w ? 0 : (ptrdiff_t)call->recvs[i].offset;
        if (w) {
            p->send_types[i] = subarray(call, &call->sends[i]);
            p->recv_types[i] = subarray(call, &call->recvs[i]);
        }
    }
    if (call->kind >= PEER_NEIGHBOR_ALLGATHER)
        prepare_mesh(call);
    return true;
}

static catena_status_t run_alltoall(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    if (call->kind == PEER_ALLTOALLV)
        return catena_alltoallv(call->send, p->send_counts, p->send_at,
                                CATENA_BYTE, call->recv, p->recv_counts,
                                p->recv_at, CATENA_BYTE, world);
    if (call->kind == PEER_ALLTOALLW)
        return catena_alltoallw(call->send, p->send_counts, p->send_at,
                                p->send_types, call->recv, p->recv_counts,
                                p->recv_at, p->recv_types, world);
    return catena_alltoall(call->send, call->bytes, CATENA_BYTE, call->recv,
                           call->bytes, CATENA_BYTE, world);
}

static catena_status_t run_neighbors(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    size_t n = call->bytes;

    switch (call->kind) {
    case PEER_NEIGHBOR_ALLGATHER:
        return catena_neighbor_allgather(call->send, n, CATENA_BYTE, call->recv,
                                         n, CATENA_BYTE, p->mesh);
    case PEER_NEIGHBOR_ALLGATHERV:
        return catena_neighbor_allgatherv(
            call->send, p->send_counts[0], CATENA_BYTE, call->recv,
            p->recv_counts, p->recv_at, CATENA_BYTE, p->mesh);
    case PEER_NEIGHBOR_ALLTOALLV:
        return catena_neighbor_alltoallv(
            call->send, p->send_counts, p->send_at, CATENA_BYTE, call->recv,
            p->recv_counts, p->recv_at, CATENA_BYTE, p->mesh);
    case PEER_NEIGHBOR_ALLTOALLW:
        return catena_neighbor_alltoallw(
            call->send, p->send_counts, p->send_at, p->send_types, call->recv,
            p->recv_counts, p->recv_at, p->recv_types, p->mesh);
    default:
        return catena_neighbor_alltoall(call->send, n, CATENA_BYTE, call->recv,
                                        n, CATENA_BYTE, p->mesh);
    }
}

static catena_status_t run_started(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    catena_status_t status = catena_request_start(p->request);

    return status == CATENA_OK ? catena_request_wait(&p->request) : status;
}

static catena_status_t run_vector(struct peer_call *call)
{
    size_t n = call->bytes / sizeof(double);

    if (call->kind == PEER_REDUCE)
        return catena_reduce(call->send, call->recv, n, CATENA_DOUBLE,
                             CATENA_SUM, call->root, world);
    if (call->kind == PEER_ALLREDUCE)
        return catena_allreduce(call->send, call->recv, n, CATENA_DOUBLE,
                                CATENA_SUM, world);
    if (call->kind == PEER_REDUCE_SCATTER)
        return catena_reduce_scatter_block(call->send, call->recv, n,
                                           CATENA_DOUBLE, CATENA_SUM, world);
    return catena_scan(call->send, call->recv, n, CATENA_DOUBLE, CATENA_SUM,
                       world);
}

static catena_status_t run_split(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    catena_status_t status =
        catena_group_split(world, call->color, call->key, &p->made);

    return status == CATENA_OK ? catena_barrier(p->made) : status;
}

static catena_status_t run(struct peer_call *call)
{
    size_t n = call->bytes;

    switch (call->kind) {
    case PEER_SPLIT:
        return run_split(call);
    case PEER_BARRIER:
        return catena_barrier(world);
    case PEER_BCAST:
        return catena_bcast(call->recv, n, CATENA_BYTE, call->root, world);
    case PEER_GATHER:
        return catena_gather(call->send, n, CATENA_BYTE, call->recv, n,
                             CATENA_BYTE, call->root, world);
    case PEER_SCATTER:
        return catena_scatter(call->send, n, CATENA_BYTE, call->recv, n,
                              CATENA_BYTE, call->root, world);
    case PEER_ALLGATHER:
        return catena_allgather(call->send, n, CATENA_BYTE, call->recv, n,
                                CATENA_BYTE, world);
    case PEER_ALLTOALL:
    case PEER_ALLTOALLV:
    case PEER_ALLTOALLW:
        return run_alltoall(call);
    case PEER_NEIGHBOR_ALLGATHER:
    case PEER_NEIGHBOR_ALLGATHERV:
    case PEER_NEIGHBOR_ALLTOALL:
    case PEER_NEIGHBOR_ALLTOALLV:
    case PEER_NEIGHBOR_ALLTOALLW:
        return run_neighbors(call);
    case PEER_NEIGHBOR_ALLTOALL_INIT:
        return run_started(call);
    case PEER_REDUCE:
    case PEER_ALLREDUCE:
    case PEER_REDUCE_SCATTER:
    case PEER_SCAN:
        return run_vector(call);
    default:
        return CATENA_ERR_UNSUPPORTED;
    }
}

void peer_run(struct peer_call *call)
{
    demand(run(call), call->collective);
}

void peer_finish(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    call->new_rank = catena_group_rank(p->made);
    call->new_size = catena_group_size(p->made);
    demand(catena_group_free(&p->made), "catena_group_free");
}

void peer_release(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    if (by_types(call->kind))
        for (int i = 0; i < 2 * call->partners; i++)
            catena_type_free(&p->send_types[i]);
    if (p->request != NULL)
        demand(catena_request_free(&p->request), "catena_request_free");
    if (p->mesh != NULL)
        demand(catena_neighborhood_free(&p->mesh), "catena_neighborhood_free");
    free(p->send_counts);
    free(p->send_at);
    free(p->send_types);
    free(p);
}
