/* The calls of an MPI library. PEER_PERSISTENT=y: restarted collectives use its
 * persistent request if it has one; otherwise the blocking call. */

#include "peer.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* MPI 4.0, or Open MPI's extension before it. */
#if MPI_VERSION >= 4
#define NEIGHBOR_ALLTOALL_INIT MPI_Neighbor_alltoall_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define NEIGHBOR_ALLTOALL_INIT MPIX_Neighbor_alltoall_init
#endif

#ifdef OPEN_MPI
const char *const peer_name = "openmpi";
#else
const char *const peer_name = "mpich";
#endif

struct prepared {
    int *send_counts, *send_at, *recv_counts, *recv_at;
    MPI_Aint *send_bytes, *recv_bytes; /* of neighbors, with types: all 0 */
    MPI_Datatype *send_types, *recv_types;
    MPI_Comm made; /* by a split */
    MPI_Comm mesh;
    MPI_Request request; /* MPI_REQUEST_NULL: the call is blocking */
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

void peer_choose_dims(int size, int dims[PEER_DIMS])
{
    dims[0] = dims[1] = 0;
    MPI_Dims_create(size, PEER_DIMS, dims);
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

static bool by_types(enum peer_kind kind)
{
    return kind == PEER_ALLTOALLW || kind == PEER_NEIGHBOR_ALLTOALLW;
}

static void prepare_request(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    const char *asked = getenv("PEER_PERSISTENT");

    p->request = MPI_REQUEST_NULL;
#ifdef NEIGHBOR_ALLTOALL_INIT
    if (call->kind == PEER_NEIGHBOR_ALLTOALL_INIT && asked != NULL &&
        strcmp(asked, "y") == 0)
        NEIGHBOR_ALLTOALL_INIT(call->send, (int)call->bytes, MPI_BYTE,
                               call->recv, (int)call->bytes, MPI_BYTE, p->mesh,
                               MPI_INFO_NULL, &p->request);
#endif
}

static void prepare_mesh(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    int periods[PEER_DIMS] = {0};

    MPI_Cart_create(MPI_COMM_WORLD, PEER_DIMS, call->dims, periods, 0,
                    &p->mesh);
    prepare_request(call);
}

bool peer_prepare(struct peer_call *call)
{
    size_t n = (size_t)call->partners;
    struct prepared *p = calloc(1, sizeof(*p));
    bool w = by_types(call->kind);

    if (p == NULL)
        peer_abort("no memory");
    call->prepared = p;
    p->send_counts = calloc(4 * n, sizeof(int));
    p->send_at = p->send_counts + n;
    p->recv_counts = p->send_at + n;
    p->recv_at = p->recv_counts + n;
    p->send_bytes = calloc(2 * n, sizeof(MPI_Aint));
    p->recv_bytes = p->send_bytes + n;
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
    p->mesh = MPI_COMM_NULL;
    if (call->kind >= PEER_NEIGHBOR_ALLGATHER)
        prepare_mesh(call);
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

static void run_neighbors(struct peer_call *call)
{
    struct prepared *p = call->prepared;
    int n = (int)call->bytes;

    switch (call->kind) {
    case PEER_NEIGHBOR_ALLGATHER:
        MPI_Neighbor_allgather(call->send, n, MPI_BYTE, call->recv, n, MPI_BYTE,
                               p->mesh);
        break;
    case PEER_NEIGHBOR_ALLGATHERV:
        MPI_Neighbor_allgatherv(call->send, p->send_counts[0], MPI_BYTE,
                                call->recv, p->recv_counts, p->recv_at,
                                MPI_BYTE, p->mesh);
        break;
    case PEER_NEIGHBOR_ALLTOALLV:
        MPI_Neighbor_alltoallv(call->send, p->send_counts, p->send_at, MPI_BYTE,
                               call->recv, p->recv_counts, p->recv_at, MPI_BYTE,
                               p->mesh);
        break;
    case PEER_NEIGHBOR_ALLTOALLW:
        MPI_Neighbor_alltoallw(call->send, p->send_counts, p->send_bytes,
                               p->send_types, call->recv, p->recv_counts,
                               p->recv_bytes, p->recv_types, p->mesh);
        break;
    default:
        MPI_Neighbor_alltoall(call->send, n, MPI_BYTE, call->recv, n, MPI_BYTE,
                              p->mesh);
    }
}

static void run_started(struct peer_call *call)
{
    struct prepared *p = call->prepared;

    if (p->request == MPI_REQUEST_NULL) {
        run_neighbors(call);
        return;
    }
    MPI_Start(&p->request);
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
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
    case PEER_NEIGHBOR_ALLGATHER:
    case PEER_NEIGHBOR_ALLGATHERV:
    case PEER_NEIGHBOR_ALLTOALL:
    case PEER_NEIGHBOR_ALLTOALLV:
    case PEER_NEIGHBOR_ALLTOALLW:
        run_neighbors(call);
        break;
    case PEER_NEIGHBOR_ALLTOALL_INIT:
        run_started(call);
        break;
    case PEER_REDUCE:
    case PEER_ALLREDUCE:
    case PEER_REDUCE_SCATTER:
    case PEER_SCAN:
        run_vector(call);
        break;
    default:
        peer_abort("this collective is not measured");
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

    if (by_types(call->kind))
        for (int i = 0; i < 2 * call->partners; i++)
            MPI_Type_free(&p->send_types[i]);
    if (p->mesh != MPI_COMM_NULL) {
        if (p->request != MPI_REQUEST_NULL)
            MPI_Request_free(&p->request);
        MPI_Comm_free(&p->mesh);
    }
    free(p->send_counts);
    free(p->send_bytes);
    free(p->send_types);
    free(p);
}
