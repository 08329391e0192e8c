/* Fortran. Open MPI's Fortran functions call PMPI_ functions, so a program in
 * Fortran calls no function of calls.c; the functions here do. MPICH's call
 * MPI_ functions, and need nothing here. */

#include "preload.h"

#if defined(OPEN_MPI)

#include <dlfcn.h>
#include <stdlib.h>

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays are passed on");

/** Whether an address is that of a constant of Open MPI's Fortran interface,
 * which has a name for each way of compilers to write it. */
static bool is_constant(const void *address, const char *const names[4],
                        const void *known[4])
{
    for (int i = 0; i < 4; i++) {
        if (known[i] == NULL) {
            const void *found = dlsym(RTLD_DEFAULT, names[i]);
            known[i] = found != NULL ? found : known;
        }
        if (known[i] == address) {
            return true;
        }
    }
    return false;
}

/** The buffer that an argument stands for. */
static void *buffer_of(void *address)
{
    static const char *const in_place[4] = {
        "mpi_fortran_in_place_", "mpi_fortran_in_place__",
        "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"};
    static const char *const bottom[4] = {
        "mpi_fortran_bottom_", "mpi_fortran_bottom__", "mpi_fortran_bottom",
        "MPI_FORTRAN_BOTTOM"};
    static const void *known_in_place[4];
    static const void *known_bottom[4];
    return is_constant(address, in_place, known_in_place) ? MPI_IN_PLACE
           : is_constant(address, bottom, known_bottom)   ? MPI_BOTTOM
                                                          : address;
}

/* The arguments of each call. */

#define F_COMM PMPI_Comm_f2c(*comm)
#define F_TYPE(type) PMPI_Type_f2c(*(type))

#define F_BARRIER_PARAMS MPI_Fint *comm
#define F_BARRIER_ARGS F_COMM

#define F_BCAST_PARAMS                                                         \
    void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root,             \
        MPI_Fint *comm
#define F_BCAST_ARGS buffer_of(buffer), *count, F_TYPE(type), *root, F_COMM

#define F_BLOCKS_PARAMS                                                        \
    void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *receive,      \
        MPI_Fint *receive_count, MPI_Fint *receive_type
#define F_BLOCKS_ARGS                                                          \
    buffer_of(send), *send_count, F_TYPE(send_type), buffer_of(receive),       \
        *receive_count, F_TYPE(receive_type)

#define F_GATHER_PARAMS F_BLOCKS_PARAMS, MPI_Fint *root, MPI_Fint *comm
#define F_GATHER_ARGS F_BLOCKS_ARGS, *root, F_COMM
#define F_SCATTER_PARAMS F_GATHER_PARAMS
#define F_SCATTER_ARGS F_GATHER_ARGS
#define F_ALLGATHER_PARAMS F_BLOCKS_PARAMS, MPI_Fint *comm
#define F_ALLGATHER_ARGS F_BLOCKS_ARGS, F_COMM
#define F_ALLTOALL_PARAMS F_ALLGATHER_PARAMS
#define F_ALLTOALL_ARGS F_ALLGATHER_ARGS
#define F_NEIGHBOR_ALLGATHER_PARAMS F_ALLGATHER_PARAMS
#define F_NEIGHBOR_ALLGATHER_ARGS F_ALLGATHER_ARGS
#define F_NEIGHBOR_ALLTOALL_PARAMS F_ALLGATHER_PARAMS
#define F_NEIGHBOR_ALLTOALL_ARGS F_ALLGATHER_ARGS

#define F_RECEIVE_BLOCKS_PARAMS                                                \
    void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *receive,      \
        MPI_Fint *receive_counts, MPI_Fint *receive_displacements,             \
        MPI_Fint *receive_type
#define F_RECEIVE_BLOCKS_ARGS                                                  \
    buffer_of(send), *send_count, F_TYPE(send_type), buffer_of(receive),       \
        receive_counts, receive_displacements, F_TYPE(receive_type)

#define F_GATHERV_PARAMS F_RECEIVE_BLOCKS_PARAMS, MPI_Fint *root, MPI_Fint *comm
#define F_GATHERV_ARGS F_RECEIVE_BLOCKS_ARGS, *root, F_COMM
#define F_ALLGATHERV_PARAMS F_RECEIVE_BLOCKS_PARAMS, MPI_Fint *comm
#define F_ALLGATHERV_ARGS F_RECEIVE_BLOCKS_ARGS, F_COMM
#define F_NEIGHBOR_ALLGATHERV_PARAMS F_ALLGATHERV_PARAMS
#define F_NEIGHBOR_ALLGATHERV_ARGS F_ALLGATHERV_ARGS

#define F_SCATTERV_PARAMS                                                      \
    void *send, MPI_Fint *send_counts, MPI_Fint *send_displacements,           \
        MPI_Fint *send_type, void *receive, MPI_Fint *receive_count,           \
        MPI_Fint *receive_type, MPI_Fint *root, MPI_Fint *comm
#define F_SCATTERV_ARGS                                                        \
    buffer_of(send), send_counts, send_displacements, F_TYPE(send_type),       \
        buffer_of(receive), *receive_count, F_TYPE(receive_type), *root,       \
        F_COMM

#define F_ALLTOALLV_PARAMS                                                     \
    void *send, MPI_Fint *send_counts, MPI_Fint *send_displacements,           \
        MPI_Fint *send_type, void *receive, MPI_Fint *receive_counts,          \
        MPI_Fint *receive_displacements, MPI_Fint *receive_type,               \
        MPI_Fint *comm
#define F_ALLTOALLV_ARGS                                                       \
    buffer_of(send), send_counts, send_displacements, F_TYPE(send_type),       \
        buffer_of(receive), receive_counts, receive_displacements,             \
        F_TYPE(receive_type), F_COMM
#define F_NEIGHBOR_ALLTOALLV_PARAMS F_ALLTOALLV_PARAMS
#define F_NEIGHBOR_ALLTOALLV_ARGS F_ALLTOALLV_ARGS

#define F_ALLREDUCE_PARAMS                                                     \
    void *send, void *receive, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,  \
        MPI_Fint *comm
#define F_ALLREDUCE_ARGS                                                       \
    buffer_of(send), buffer_of(receive), *count, F_TYPE(type),                 \
        PMPI_Op_f2c(*op), F_COMM
#define F_SCAN_PARAMS F_ALLREDUCE_PARAMS
#define F_SCAN_ARGS F_ALLREDUCE_ARGS
#define F_EXSCAN_PARAMS F_ALLREDUCE_PARAMS
#define F_EXSCAN_ARGS F_ALLREDUCE_ARGS
#define F_REDUCE_SCATTER_BLOCK_PARAMS F_ALLREDUCE_PARAMS
#define F_REDUCE_SCATTER_BLOCK_ARGS F_ALLREDUCE_ARGS
#define F_REDUCE_PARAMS                                                        \
    void *send, void *receive, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,  \
        MPI_Fint *root, MPI_Fint *comm
#define F_REDUCE_ARGS                                                          \
    buffer_of(send), buffer_of(receive), *count, F_TYPE(type),                 \
        PMPI_Op_f2c(*op), *root, F_COMM
#define F_REDUCE_SCATTER_PARAMS                                                \
    void *send, void *receive, MPI_Fint *counts, MPI_Fint *type, MPI_Fint *op, \
        MPI_Fint *comm
#define F_REDUCE_SCATTER_ARGS                                                  \
    buffer_of(send), buffer_of(receive), counts, F_TYPE(type),                 \
        PMPI_Op_f2c(*op), F_COMM

/* With a type for each block. */
#define F_TYPED_BLOCKS_PARAMS(displacement)                                    \
    void *send, MPI_Fint *send_counts, displacement *send_displacements,       \
        MPI_Fint *send_types, void *receive, MPI_Fint *receive_counts,         \
        displacement *receive_displacements, MPI_Fint *receive_types,          \
        MPI_Fint *comm

/** The types of blocks. @return malloc'd; NULL: the array is not significant */
static MPI_Datatype *types_of(const MPI_Fint *types, int n, bool significant)
{
    MPI_Datatype *converted =
        significant ? preload_alloc((size_t)n * sizeof(*converted)) : NULL;
    for (int i = 0; significant && i < n; i++) {
        converted[i] = PMPI_Type_f2c(types[i]);
    }
    return converted;
}

static int alltoallw(F_TYPED_BLOCKS_PARAMS(MPI_Fint))
{
    int size;
    int inter;
    PMPI_Comm_test_inter(F_COMM, &inter);
    PMPI_Comm_size(F_COMM, &size);
    if (inter) {
        PMPI_Comm_remote_size(F_COMM, &size);
    }
    void *from = buffer_of(send);
    MPI_Datatype *out = types_of(send_types, size, from != MPI_IN_PLACE);
    MPI_Datatype *in = types_of(receive_types, size, true);
    int code = MPI_Alltoallw(from, send_counts, send_displacements, out,
                             buffer_of(receive), receive_counts,
                             receive_displacements, in, F_COMM);
    free(out);
    free(in);
    return code;
}

/** A function under all names that compilers may call it by, and under the one
 * that the module mpi_f08 calls. Its parameters end with `error`, which may be
 * NULL. */
#define FORTRAN(NAME, name, code, ...)                                         \
    void mpi_##name##_(__VA_ARGS__, MPI_Fint *error);                          \
    void mpi_##name##_(__VA_ARGS__, MPI_Fint *error)                           \
    {                                                                          \
        MPI_Request made = MPI_REQUEST_NULL;                                   \
        int result = code;                                                     \
        (void)made;                                                            \
        if (error != NULL) {                                                   \
            *error = result;                                                   \
        }                                                                      \
    }                                                                          \
    ALIAS(mpi_##name, name)                                                    \
    ALIAS(mpi_##name##__, name)                                                \
    ALIAS(MPI_##NAME, name)                                                    \
    ALIAS(ompi_##name##_f, name)
#define ALIAS(alias_name, name)                                                \
    extern __typeof(mpi_##name##_) alias_name                                  \
        __attribute__((alias("mpi_" #name "_")));

/** Hand a request over to Fortran. */
static int give(const MPI_Request *made, int code, MPI_Fint *request)
{
    if (code == MPI_SUCCESS) {
        *request = PMPI_Request_c2f(*made);
    }
    return code;
}

#define DEFINE(NAME, Name, Nonblocking, name)                                  \
    FORTRAN(NAME, name, MPI_##Name(F_##NAME##_ARGS), F_##NAME##_PARAMS)        \
    FORTRAN(I##NAME, i##name,                                                  \
            give(&made, MPI_##Nonblocking(F_##NAME##_ARGS, &made), request),   \
            F_##NAME##_PARAMS, MPI_Fint *request)
PRELOAD_GROUP_CALLS(DEFINE)
PRELOAD_NEIGHBOR_CALLS(DEFINE)

FORTRAN(ALLTOALLW, alltoallw,
        alltoallw(send, send_counts, send_displacements, send_types, receive,
                  receive_counts, receive_displacements, receive_types, comm),
        F_TYPED_BLOCKS_PARAMS(MPI_Fint))

/* ---- begin and end ---- */

FORTRAN(INIT_THREAD, init_thread,
        MPI_Init_thread(NULL, NULL, *required, provided), MPI_Fint *required,
        MPI_Fint *provided)

/* As FORTRAN, without other parameters. */
#define FORTRAN_ALONE(NAME, Name, code)                                        \
    void mpi_##Name##_(MPI_Fint *error);                                       \
    void mpi_##Name##_(MPI_Fint *error)                                        \
    {                                                                          \
        int result = code;                                                     \
        if (error != NULL) {                                                   \
            *error = result;                                                   \
        }                                                                      \
    }                                                                          \
    ALIAS(mpi_##Name, Name)                                                    \
    ALIAS(mpi_##Name##__, Name)                                                \
    ALIAS(MPI_##NAME, Name)                                                    \
    ALIAS(ompi_##Name##_f, Name)
FORTRAN_ALONE(INIT, init, MPI_Init(NULL, NULL))
FORTRAN_ALONE(FINALIZE, finalize, MPI_Finalize())

#endif
