#ifndef CATENA_TOOLS_MPI_PARAMS_H
#define CATENA_TOOLS_MPI_PARAMS_H

/* The parameters and arguments of MPI's collectives. The nonblocking form has a
 * request behind them. */

#define BARRIER_PARAMS MPI_Comm comm
#define BARRIER_ARGS comm

#define BCAST_PARAMS                                                           \
    void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm
#define BCAST_ARGS buffer, count, type, root, comm

/* Blocks of one length. */
#define BLOCKS_PARAMS                                                          \
    const void *send, int send_count, MPI_Datatype send_type, void *receive,   \
        int receive_count, MPI_Datatype receive_type
#define BLOCKS_ARGS                                                            \
    send, send_count, send_type, receive, receive_count, receive_type

#define GATHER_PARAMS BLOCKS_PARAMS, int root, MPI_Comm comm
#define GATHER_ARGS BLOCKS_ARGS, root, comm
#define SCATTER_PARAMS GATHER_PARAMS
#define SCATTER_ARGS GATHER_ARGS
#define ALLGATHER_PARAMS BLOCKS_PARAMS, MPI_Comm comm
#define ALLGATHER_ARGS BLOCKS_ARGS, comm
#define ALLTOALL_PARAMS ALLGATHER_PARAMS
#define ALLTOALL_ARGS ALLGATHER_ARGS
#define NEIGHBOR_ALLGATHER_PARAMS ALLGATHER_PARAMS
#define NEIGHBOR_ALLGATHER_ARGS ALLGATHER_ARGS
#define NEIGHBOR_ALLTOALL_PARAMS ALLGATHER_PARAMS
#define NEIGHBOR_ALLTOALL_ARGS ALLGATHER_ARGS

/* Blocks of several lengths to receive. */
#define RECEIVE_BLOCKS_PARAMS                                                  \
    const void *send, int send_count, MPI_Datatype send_type, void *receive,   \
        const int receive_counts[], const int receive_displacements[],         \
        MPI_Datatype receive_type
#define RECEIVE_BLOCKS_ARGS                                                    \
    send, send_count, send_type, receive, receive_counts,                      \
        receive_displacements, receive_type

#define GATHERV_PARAMS RECEIVE_BLOCKS_PARAMS, int root, MPI_Comm comm
#define GATHERV_ARGS RECEIVE_BLOCKS_ARGS, root, comm
#define ALLGATHERV_PARAMS RECEIVE_BLOCKS_PARAMS, MPI_Comm comm
#define ALLGATHERV_ARGS RECEIVE_BLOCKS_ARGS, comm
#define NEIGHBOR_ALLGATHERV_PARAMS ALLGATHERV_PARAMS
#define NEIGHBOR_ALLGATHERV_ARGS ALLGATHERV_ARGS

#define SCATTERV_PARAMS                                                        \
    const void *send, const int send_counts[], const int send_displacements[], \
        MPI_Datatype send_type, void *receive, int receive_count,              \
        MPI_Datatype receive_type, int root, MPI_Comm comm
#define SCATTERV_ARGS                                                          \
    send, send_counts, send_displacements, send_type, receive, receive_count,  \
        receive_type, root, comm

#define ALLTOALLV_PARAMS                                                       \
    const void *send, const int send_counts[], const int send_displacements[], \
        MPI_Datatype send_type, void *receive, const int receive_counts[],     \
        const int receive_displacements[], MPI_Datatype receive_type,          \
        MPI_Comm comm
#define ALLTOALLV_ARGS                                                         \
    send, send_counts, send_displacements, send_type, receive, receive_counts, \
        receive_displacements, receive_type, comm
#define NEIGHBOR_ALLTOALLV_PARAMS ALLTOALLV_PARAMS
#define NEIGHBOR_ALLTOALLV_ARGS ALLTOALLV_ARGS

/* With a type for each block; `displacement` is the type of displacements. */
#define TYPED_BLOCKS_PARAMS(displacement)                                      \
    const void *send, const int send_counts[],                                 \
        const displacement send_displacements[],                               \
        const MPI_Datatype send_types[], void *receive,                        \
        const int receive_counts[],                                            \
        const displacement receive_displacements[],                            \
        const MPI_Datatype receive_types[], MPI_Comm comm
#define ALLTOALLW_PARAMS TYPED_BLOCKS_PARAMS(int)
#define ALLTOALLW_ARGS                                                         \
    send, send_counts, send_displacements, send_types, receive,                \
        receive_counts, receive_displacements, receive_types, comm
#define NEIGHBOR_ALLTOALLW_PARAMS TYPED_BLOCKS_PARAMS(MPI_Aint)
#define NEIGHBOR_ALLTOALLW_ARGS ALLTOALLW_ARGS

#define ALLREDUCE_PARAMS                                                       \
    const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,  \
        MPI_Comm comm
#define ALLREDUCE_ARGS send, receive, count, type, op, comm
#define SCAN_PARAMS ALLREDUCE_PARAMS
#define SCAN_ARGS ALLREDUCE_ARGS
#define EXSCAN_PARAMS ALLREDUCE_PARAMS
#define EXSCAN_ARGS ALLREDUCE_ARGS
#define REDUCE_SCATTER_BLOCK_PARAMS ALLREDUCE_PARAMS
#define REDUCE_SCATTER_BLOCK_ARGS ALLREDUCE_ARGS
#define REDUCE_PARAMS                                                          \
    const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,  \
        int root, MPI_Comm comm
#define REDUCE_ARGS send, receive, count, type, op, root, comm
#define REDUCE_SCATTER_PARAMS                                                  \
    const void *send, void *receive, const int counts[], MPI_Datatype type,    \
        MPI_Op op, MPI_Comm comm
#define REDUCE_SCATTER_ARGS send, receive, counts, type, op, comm

/* The calls that may be taken: DO(NAME, Name, Nonblocking, name); the last one
 * is that in CATENA_MPI_SKIP. */

/* On the group of a communicator, or on its neighbors. */
#define PRELOAD_GROUP_CALLS(DO)                                                \
    DO(BARRIER, Barrier, Ibarrier, barrier)                                    \
    DO(BCAST, Bcast, Ibcast, bcast)                                            \
    DO(REDUCE, Reduce, Ireduce, reduce)                                        \
    DO(ALLREDUCE, Allreduce, Iallreduce, allreduce)                            \
    DO(GATHER, Gather, Igather, gather)                                        \
    DO(GATHERV, Gatherv, Igatherv, gatherv)                                    \
    DO(SCATTER, Scatter, Iscatter, scatter)                                    \
    DO(SCATTERV, Scatterv, Iscatterv, scatterv)                                \
    DO(ALLGATHER, Allgather, Iallgather, allgather)                            \
    DO(ALLGATHERV, Allgatherv, Iallgatherv, allgatherv)                        \
    DO(ALLTOALL, Alltoall, Ialltoall, alltoall)                                \
    DO(ALLTOALLV, Alltoallv, Ialltoallv, alltoallv)                            \
    DO(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, reduce_scatter)        \
    DO(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block,      \
       reduce_scatter_block)                                                   \
    DO(SCAN, Scan, Iscan, scan)                                                \
    DO(EXSCAN, Exscan, Iexscan, exscan)
#define PRELOAD_NEIGHBOR_CALLS(DO)                                             \
    DO(NEIGHBOR_ALLGATHER, Neighbor_allgather, Ineighbor_allgather,            \
       neighbor_allgather)                                                     \
    DO(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, Ineighbor_allgatherv,         \
       neighbor_allgatherv)                                                    \
    DO(NEIGHBOR_ALLTOALL, Neighbor_alltoall, Ineighbor_alltoall,               \
       neighbor_alltoall)                                                      \
    DO(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, Ineighbor_alltoallv,            \
       neighbor_alltoallv)
/* Those, and the calls with a type for each block. */
#define PRELOAD_CALLS(DO)                                                      \
    DO(ALLTOALLW, Alltoallw, Ialltoallw, alltoallw)                            \
    PRELOAD_GROUP_CALLS(DO)                                                    \
    PRELOAD_NEIGHBOR_CALLS(DO)                                                 \
    DO(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, Ineighbor_alltoallw,            \
       neighbor_alltoallw)

#endif
