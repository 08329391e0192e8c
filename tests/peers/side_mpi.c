/* The calls of an MPI library. */

#include "peer.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
const char *const peer_name = "openmpi";
#else
const char *const peer_name = "mpich";
#endif

struct prepared {
    int *send_counts, *send_at, *recv_counts, *recv_at;
    MPI_Datatype *send_types, *recv_types;
    MPI_Comm made; /* by a split */
};

void peer_start(int *argc, char ***argv, int *rank, int *size)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

void peer_stop(void)
{
    MPI_Finalize();
}

void peer_abort(const char *what)
{
    fprintf(stderr, "measure: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void peer_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

void peer_gather(double value, double *all, int size)
{
    (void)size;
    MPI_Allgather(&value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

void *peer_alloc(size_t bytes)
{
    size_t pages = (bytes + 4095) / 4096 * 4096;
    void *block = aligned_alloc(4096, pages);

    if (block == NULL)
        peer_abort("no memory for buffers");
    memset(block, 0, pages);
    return block;
}

void peer_free(void *block)
{
    free(block);
}

static MPI_Datatype subarray(const struct peer_call *call,
                             const struct peer_block *block)
{
    int sizes[] = {(int)block->rows, (int)call->row_length};
    int subsizes[] = {(int)block->rows, (int)block->row_bytes};
    int starts[] = {0, (int)block->offset};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE,
                             &type);
    MPI_Type_commit(&type);
    return type;
}

bool peer_prepare(struct peer_call *call)
{
    size_t n = (size_t)call->size;
    struct prepared *p = calloc(1, sizeof(*p));
    bool w = call->kind == PEER_ALLTOALLW;

    if (p == NULL)
        peer_abort("no memory");
    call->prepared = p;
    p->send_counts = calloc(4 * n, sizeof(int));
    p->send_at = p->send_counts + n;
    p->recv_counts = p->send_at + n;
    p->recv_at = p->recv_counts + n;
    p->send_types = calloc(2 * n, sizeof(MPI_Datatype));
    p->recv_types = p->send_types + n;
    for (size_t i = 0; i < n; i++) {
        p->send_counts[i] = w ? 1 : (int)call->sends[i].row_bytes;
        p->send_at[i] = w ? 0 : (int)call->sends[i].offset;
        p->recv_counts[i] = w ? 1 : (int)call->recvs[i].row_bytes;
        p->recv_at[i] = w ? 0 : (int)call->recvs[i].offset;
        if (w) {
            p->send_types[i] = subarray(call, &call->sends[i]);
            p->recv_types[i] = subarray(call, &call->recvs[i]);
        }
    }
    return true;
}

static void run_alltoall(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    if (call->kind == PEER_ALLTOALLV)
        MPI_Alltoallv(call->send, p->send_counts, p->send_at, MPI_BYTE,
                      call->recv, p->recv_counts, p->recv_at, MPI_BYTE,
                      MPI_COMM_WORLD);
    else if (call->kind == PEER_ALLTOALLW)
        MPI_Alltoallw(call->send, p->send_counts, p->send_at, p->send_types,
                      call->recv, p->recv_counts, p->recv_at, p->recv_types,
                      MPI_COMM_WORLD);
    else
        MPI_Alltoall(call->send, (int)call->bytes, MPI_BYTE, call->recv,
                     (int)call->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void run_vector(struct peer_call *call)
{
    int n = (int)(call->bytes / sizeof(double));

    if (call->kind == PEER_REDUCE)
        MPI_Reduce(call->send, call->recv, n, MPI_DOUBLE, MPI_SUM, call->root,
                   MPI_COMM_WORLD);
    else if (call->kind == PEER_ALLREDUCE)
        MPI_Allreduce(call->send, call->recv, n, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    else if (call->kind == PEER_REDUCE_SCATTER)
        MPI_Reduce_scatter_block(call->send, call->recv, n, MPI_DOUBLE, MPI_SUM,
                                 MPI_COMM_WORLD);
    else
        MPI_Scan(call->send, call->recv, n, MPI_DOUBLE, MPI_SUM,
                 MPI_COMM_WORLD);
}

void peer_run(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    int n = (int)call->bytes;

    switch (call->kind) {
    case PEER_SPLIT:
        MPI_Comm_split(MPI_COMM_WORLD, call->color, call->key, &p->made);
        MPI_Barrier(p->made);
        break;
    case PEER_BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case PEER_BCAST:
        MPI_Bcast(call->recv, n, MPI_BYTE, call->root, MPI_COMM_WORLD);
        break;
    case PEER_GATHER:
        MPI_Gather(call->send, n, MPI_BYTE, call->recv, n, MPI_BYTE, call->root,
                   MPI_COMM_WORLD);
        break;
    case PEER_SCATTER:
        MPI_Scatter(call->send, n, MPI_BYTE, call->recv, n, MPI_BYTE,
                    call->root, MPI_COMM_WORLD);
        break;
    case PEER_ALLGATHER:
        MPI_Allgather(call->send, n, MPI_BYTE, call->recv, n, MPI_BYTE,
                      MPI_COMM_WORLD);
        break;
    case PEER_ALLTOALL:
    case PEER_ALLTOALLV:
    case PEER_ALLTOALLW:
        run_alltoall(call);
        break;
    default:
        run_vector(call);
    }
}

void peer_finish(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    MPI_Comm_rank(p->made, &call->new_rank);
    MPI_Comm_size(p->made, &call->new_size);
    MPI_Comm_free(&p->made);
}

void peer_release(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    if (call->kind == PEER_ALLTOALLW)
        for (int i = 0; i < 2 * call->size; i++)
            MPI_Type_free(&p->send_types[i]);
    free(p->send_counts);
    free(p->send_types);
    free(p);
}
