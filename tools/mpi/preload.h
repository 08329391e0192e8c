#ifndef CATENA_TOOLS_MPI_PRELOAD_H
#define CATENA_TOOLS_MPI_PRELOAD_H

#include <catena/catena.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/log.h"
#include "params.h"

/** Log an error, as the library does. */
#define PRELOAD_ERROR(...) ctn_error(NULL, "catena-mpi: " __VA_ARGS__)

/* A library that is preloaded into MPI programs and runs their collectives by
 * catena. Everything else is the MPI library's.
 *
 * Whether a call is taken depends only on what all ranks of the communicator
 * share: the communicator, the collective, the operation, and in reductions the
 * type. Counts and types of other calls may differ between ranks, so any type
 * is taken.
 *
 * A call is prepared (calls.c), which describes its buffers to catena (side.c),
 * and then run, or started if it is nonblocking (requests.c). */

typedef enum preload_call {
#define PRELOAD_NAME(NAME, Name, Nonblocking, name) CALL_##NAME,
    PRELOAD_CALLS(PRELOAD_NAME)
#undef PRELOAD_NAME
        CALLS
} preload_call_t;

/* ---- memory ---- */

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
    size_t bytes; /* of an element */
    bool made;    /* `op` is to be freed */
} preload_op_t;

/** Find the operation. @return false: catena does not have it */
bool preload_op_open(preload_op_t *op, MPI_Op mpi, MPI_Datatype datatype);
void preload_op_close(preload_op_t *op);

/* ---- buffers ---- */

/** The blocks that a rank sends or receives: as catena gets them, and where the
 * program has them. */
typedef struct preload_side {
    void *buffer; /* of the program; or packed blocks, one after the other */
    size_t count; /* of a block, if all have one length */
    catena_type_t type;
    size_t *counts; /* [blocks], malloc'd; NULL: `count` */
    ptrdiff_t *displacements;
    size_t bytes; /* of all blocks */
    bool packed;
    /* of packed blocks: */
    void *user; /* the program's buffer, which MPI_BOTTOM is, too */
    size_t blocks;
    size_t elements;       /* of a block; or `user_counts` */
    preload_type_t from;   /* the program's type; or `types` */
    preload_type_t *types; /* [blocks], malloc'd; displacements are bytes */
    const int *user_counts;
    const int *user_displacements; /* or `user_places` */
    const MPI_Aint *user_places;
    bool keeps; /* its datatypes are to be freed */
} preload_side_t;

/** Blocks that are not used, or are in place. Short calls set no more members
 * than needed. */
static inline void preload_no_side(preload_side_t *side, const void *buffer)
{
    side->buffer = buffer == MPI_IN_PLACE ? (void *)(uintptr_t)CATENA_IN_PLACE
                                          : (void *)(uintptr_t)buffer;
    side->count = 0;
    side->type = CATENA_BYTE;
    side->counts = NULL;
    side->bytes = 0;
    side->packed = false;
    side->keeps = false;
    side->types = NULL;
    side->user_places = NULL;
}
/** Blocks of one length, consecutive.
 * @param pack their contents are sent, or kept where nothing is received
 * @return false: an argument is wrong */
bool preload_open_blocks(preload_side_t *side, const void *buffer, int count,
                         MPI_Datatype datatype, int blocks, bool pack);
/** Blocks of several lengths, at displacements. */
bool preload_open_vector(preload_side_t *side, const void *buffer,
                         const int *counts, const int *displacements,
                         MPI_Datatype datatype, int blocks, bool pack);
/** Blocks with a type each, at displacements or places in bytes. */
bool preload_open_typed(preload_side_t *side, const void *buffer,
                        const int *counts, const int *displacements,
                        const MPI_Aint *places, const MPI_Datatype *datatypes,
                        int blocks, bool pack);
/** Keep the datatypes: the program may free them before the call has ended. */
void preload_keep_side(preload_side_t *side);
/** Release what a side holds. @param received it has received data */
void preload_release_side(preload_side_t *side, bool received);
static inline void preload_close_side(preload_side_t *side, bool received)
{
    if (side->packed || side->counts != NULL || side->types != NULL) {
        preload_release_side(side, received);
    }
}

/* ---- calls ---- */

/** Whether nonblocking calls are taken: a rank of Open MPI that waits for
 * anything makes progress for others, one of MPICH does not. */
#if defined(OPEN_MPI)
#define PRELOAD_NONBLOCKING 1
#else
#define PRELOAD_NONBLOCKING 0
#endif

/** Why a call is not taken. */
typedef enum preload_reason {
    REASON_OFF,       /* catena is off, or not there (anymore) */
    REASON_SKIPPED,   /* CATENA_MPI_SKIP */
    REASON_COMM,      /* one rank, an intercommunicator, other processes */
    REASON_TOPOLOGY,  /* neighbors that do not name each other */
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
    struct preload_counters {
        unsigned long taken;
        unsigned long passed[REASONS];
        double bytes;
        double seconds;
    } blocking[CALLS], nonblocking[CALLS];
    size_t pending; /* nonblocking calls under way */
} preload_t;

extern preload_t preload;

/** A call of this rank. */
typedef struct preload_started {
    preload_call_t call;
    bool nonblocking;
    MPI_Comm comm;
    struct comm *kept; /* what there is for it, if the call is nonblocking */
    catena_group_t *group;
    catena_neighborhood_t *neighborhood; /* of neighbor_... */
    int sources;                         /* neighbors */
    int targets;
    int root;
    preload_side_t from;
    preload_side_t to;
    bool receives;  /* the blocks of `to` are received */
    size_t *counts; /* of reduce_scatter, malloc'd; or NULL */
    preload_op_t by;
    double since;
    catena_request_t *request; /* nonblocking */
    MPI_Request mpi_request;
    catena_status_t status;
} preload_started_t;

void preload_comms_open(void);
/** Free what there is for communicators that the program has not freed. */
void preload_comms_close(void);
/** Find the group of a communicator whose call may be taken, and its neighbors.
 * The first call of a communicator makes its group, collectively.
 * @return false: it is not taken, which is counted */
bool preload_find(preload_started_t *c);

static inline bool preload_open(preload_started_t *c, preload_call_t call,
                                MPI_Comm comm)
{
    c->call = call;
    c->comm = comm;
    c->group = preload.group;
    return (comm == preload.last && preload.group != NULL && !c->nonblocking &&
            call < CALL_NEIGHBOR_ALLGATHER &&
            (preload.skip >> call & 1) == 0) ||
           preload_find(c);
}

/** A nonblocking call begins, which keeps what there is for its communicator
 * although the program may free that; and ends. */
void preload_keep_comm(preload_started_t *c);
void preload_drop_comm(preload_started_t *c);

/** Count a call that is not taken. @return false */
bool preload_pass(const preload_started_t *c, preload_reason_t reason);

/** A call begins. @return its start */
static inline double preload_begin(void)
{
    preload.inside++;
    return preload.stats ? PMPI_Wtime() : 0;
}

/** Call catena. `c->request` is set if the call is nonblocking. */
catena_status_t preload_call(preload_started_t *c);
/** Store what was received, and release the memory of a call. */
void preload_close(preload_started_t *c, bool received);

/** The call has ended. @return what the MPI function returns */
int preload_end(preload_started_t *c);
/** MPI's error class of a status. */
int preload_code(catena_status_t status);

/** Start a nonblocking call, malloc'd. @return what the MPI function returns */
int preload_start(preload_started_t *c, MPI_Request *request);
/** Complete nonblocking calls. @return how many */
int preload_progress(void);
void preload_requests_free(void);

#endif
