#ifndef CATENA_TOOLS_MPI_PRELOAD_H
#define CATENA_TOOLS_MPI_PRELOAD_H

#include <catena/catena.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* A library that is preloaded into MPI programs and runs their collectives by
 * catena. Everything else is the MPI library's.
 *
 * Whether a call is taken depends only on what all ranks of the communicator
 * share: the communicator, the collective, the operation, and in reductions the
 * type. Counts and types of other calls may differ between ranks, so any type
 * is taken. */

/** The calls that may be taken, by MPI's name and the one in CATENA_MPI_SKIP.
 */
#define PRELOAD_CALLS(DO)                                                      \
    DO(BARRIER, "barrier")                                                     \
    DO(BCAST, "bcast")                                                         \
    DO(REDUCE, "reduce")                                                       \
    DO(ALLREDUCE, "allreduce")                                                 \
    DO(GATHER, "gather")                                                       \
    DO(GATHERV, "gatherv")                                                     \
    DO(SCATTER, "scatter")                                                     \
    DO(SCATTERV, "scatterv")                                                   \
    DO(ALLGATHER, "allgather")                                                 \
    DO(ALLGATHERV, "allgatherv")                                               \
    DO(ALLTOALL, "alltoall")                                                   \
    DO(ALLTOALLV, "alltoallv")                                                 \
    DO(ALLTOALLW, "alltoallw")                                                 \
    DO(REDUCE_SCATTER, "reduce_scatter")                                       \
    DO(REDUCE_SCATTER_BLOCK, "reduce_scatter_block")                           \
    DO(SCAN, "scan")                                                           \
    DO(EXSCAN, "exscan")

typedef enum preload_call {
#define PRELOAD_NAME(NAME, name) CALL_##NAME,
    PRELOAD_CALLS(PRELOAD_NAME)
#undef PRELOAD_NAME
        CALLS
} preload_call_t;

/** Why a call is not taken. */
typedef enum preload_reason {
    REASON_OFF,       /* catena is off, or not there (anymore) */
    REASON_SKIPPED,   /* CATENA_MPI_SKIP */
    REASON_COMM,      /* one rank, an intercommunicator, other processes */
    REASON_REDUCTION, /* an operation or type that catena does not have */
    REASON_ARGUMENT,  /* a mistake, which the MPI library reports */
    REASONS
} preload_reason_t;

/** What the library keeps for the process. */
typedef struct preload {
    catena_context_t *context; /* NULL: no call is taken */
    int inside;                /* a call is under way */
    unsigned skip;             /* bits of preload_call_t */
    bool stats;
    MPI_Comm last; /* the communicator of `group` */
    catena_group_t *group;
    unsigned long taken[CALLS];
    unsigned long passed[CALLS][REASONS];
    double bytes[CALLS];
    double seconds[CALLS];
} preload_t;

extern preload_t preload;

/** The group of a communicator whose call may be taken; NULL: it is not taken,
 * which is counted. The first call of a communicator makes its group,
 * collectively. */
catena_group_t *preload_find_group(MPI_Comm comm, preload_call_t call);

static inline catena_group_t *preload_group(MPI_Comm comm, preload_call_t call)
{
    return comm == preload.last && preload.group != NULL &&
                   (preload.skip >> call & 1) == 0
               ? preload.group
               : preload_find_group(comm, call);
}

/** Count a call that is not taken. */
void preload_pass(preload_call_t call, preload_reason_t reason);

/** A call begins. @return its start, for preload_end */
static inline double preload_begin(void)
{
    preload.inside++;
    return preload.stats ? PMPI_Wtime() : 0;
}

/** A call has ended. @return what the MPI function returns */
int preload_end(MPI_Comm comm, preload_call_t call, double since, double bytes,
                catena_status_t status);

/** End the job: this rank has no memory, and the others wait for it. */
_Noreturn void preload_no_memory(size_t bytes);
/** malloc, or preload_no_memory. */
void *preload_alloc(size_t bytes);

/* ---- types ---- */

/** What catena needs of a datatype. */
typedef struct preload_type {
    catena_type_t type; /* NULL: its elements are packed */
    MPI_Datatype mpi;
    size_t units;     /* of `type` in an element */
    size_t bytes;     /* of the data of an element */
    ptrdiff_t extent; /* bytes between elements */
} preload_type_t;

void preload_types_open(void);
/** @return false: it is no datatype */
bool preload_type(MPI_Datatype datatype, preload_type_t *type);
/** Copy elements of any type to consecutive bytes, and back. */
void preload_pack(const preload_type_t *type, const void *from, size_t count,
                  void *to);
void preload_unpack(const preload_type_t *type, const void *from, void *to,
                    size_t count);

/** A reduction of MPI. */
typedef struct preload_op {
    catena_op_t op;
    catena_type_t type;
    MPI_Op mpi;
    MPI_Datatype datatype;
    bool made; /* `op` is to be freed */
} preload_op_t;

/** Find the operation. @return false: catena does not have it */
bool preload_op_open(preload_op_t *op, MPI_Op mpi, MPI_Datatype datatype);
void preload_op_close(preload_op_t *op);

#endif
