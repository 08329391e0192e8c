/* What catena has for each communicator: a group, and a neighborhood. */

#include <stdlib.h>
#include <string.h>

#include "preload.h"

/** What catena has for a communicator; an attribute of it. */
typedef struct comm {
    catena_group_t *group; /* NULL: no call is taken */
    bool owned;            /* `group` is to be freed */
    catena_neighborhood_t *neighborhood;
    bool asked;     /* for its neighborhood */
    bool freed;     /* by the program */
    size_t pending; /* nonblocking calls under way */
    int sources;
    int targets;
} comm_t;

static struct {
    int keyval;      /* of the comm_t */
    MPI_Group world; /* that of MPI_COMM_WORLD */
    comm_t **comms;  /* [count] made and not freed */
    size_t count;
} state;

static void free_comm(comm_t *comm)
{
    if (comm->neighborhood != NULL) {
        (void)catena_neighborhood_free(&comm->neighborhood);
    }
    if (comm->owned) {
        (void)catena_group_free(&comm->group);
    }
    for (size_t i = 0; i < state.count; i++) {
        if (state.comms[i] == comm) {
            state.comms[i] = state.comms[--state.count];
            break;
        }
    }
    free(comm);
}

static int drop_comm(MPI_Comm mpi, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    if (mpi == preload.last) {
        preload.last = MPI_COMM_NULL;
        preload.group = NULL;
    }
    comm_t *comm = value;
    /* Some libraries delete the attributes of MPI_COMM_WORLD at the end. */
    if (preload.context != NULL && comm->pending == 0) {
        free_comm(comm);
    } else if (preload.context != NULL) {
        comm->freed = true;
    }
    return MPI_SUCCESS;
}

static comm_t *new_comm(void)
{
    size_t bytes = (state.count + 1) * sizeof(comm_t *);
    comm_t **more = realloc(state.comms, bytes);
    if (more == NULL) {
        preload_no_memory(bytes);
    }
    state.comms = more;
    comm_t *comm = preload_alloc(sizeof(*comm));
    *comm = (comm_t){.group = NULL};
    state.comms[state.count++] = comm;
    return comm;
}

/** The world ranks of the members of a communicator.
 * @return malloc'd; NULL: one is not in MPI_COMM_WORLD */
static int *world_ranks(MPI_Comm mpi, int size)
{
    MPI_Group members;
    int *own = preload_alloc((size_t)size * sizeof(*own));
    int *ranks = preload_alloc((size_t)size * sizeof(*ranks));
    for (int i = 0; i < size; i++) {
        own[i] = i;
    }
    PMPI_Comm_group(mpi, &members);
    PMPI_Group_translate_ranks(members, size, own, state.world, ranks);
    PMPI_Group_free(&members);
    free(own);
    for (int i = 0; i < size; i++) {
        if (ranks[i] == MPI_UNDEFINED) {
            free(ranks);
            return NULL;
        }
    }
    return ranks;
}

/** Make the group of a communicator. Its members agree whether there is one. */
static comm_t *make_comm(MPI_Comm mpi)
{
    catena_group_t *world = catena_world(preload.context);
    comm_t *comm = new_comm();
    int inter;
    int size;
    int same;
    PMPI_Comm_test_inter(mpi, &inter);
    PMPI_Comm_size(mpi, &size);
    if (inter || size == 1) {
        return comm;
    }
    PMPI_Comm_compare(mpi, MPI_COMM_WORLD, &same);
    if (same == MPI_IDENT) {
        comm->group = world;
        return comm;
    }
    int *ranks = world_ranks(mpi, size);
    if (ranks == NULL) {
        return comm;
    }
    preload.inside++;
    catena_status_t status =
        catena_group_create(world, (size_t)size, ranks, &comm->group);
    preload.inside--;
    if (status != CATENA_OK) {
        PRELOAD_ERROR("no group of %d ranks: %s", size, catena_last_error());
        PMPI_Abort(mpi, 1);
    }
    comm->owned = true;
    free(ranks);
    return comm;
}

/** The neighbors of this rank; `lists` malloc'd: sources, then targets.
 * @return false: the communicator has no neighbors */
static bool find_neighbors(MPI_Comm mpi, int *sources, int *targets,
                           int **lists)
{
    int kind;
    int count;
    int rank;
    int weighted;
    PMPI_Topo_test(mpi, &kind);
    PMPI_Comm_rank(mpi, &rank);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(mpi, &count);
        *sources = *targets = 2 * count;
        *lists = preload_alloc(4 * (size_t)count * sizeof(**lists));
        for (int d = 0; d < count; d++) {
            PMPI_Cart_shift(mpi, d, 1, *lists + 2 * (ptrdiff_t)d,
                            *lists + 2 * (ptrdiff_t)d + 1);
        }
        memcpy(*lists + *sources, *lists, (size_t)*sources * sizeof(**lists));
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(mpi, rank, &count);
        *sources = *targets = count;
        *lists = preload_alloc(2 * (size_t)count * sizeof(**lists));
        PMPI_Graph_neighbors(mpi, rank, count, *lists);
        memcpy(*lists + count, *lists, (size_t)count * sizeof(**lists));
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(mpi, sources, targets, &weighted);
        size_t n = (size_t)*sources + (size_t)*targets;
        *lists = preload_alloc(2 * n * sizeof(**lists));
        PMPI_Dist_graph_neighbors(mpi, *sources, *lists, *lists + n, *targets,
                                  *lists + *sources, *lists + n + *sources);
    } else {
        return false;
    }
    for (int i = 0; i < *sources + *targets; i++) {
        if ((*lists)[i] == MPI_PROC_NULL) {
            (*lists)[i] = CATENA_PROC_NULL;
        }
    }
    return true;
}

/** Make the neighborhood of a communicator. Its edges match in the order of the
 * lists, as messages of the MPI library do. */
static void make_neighborhood(MPI_Comm mpi, comm_t *comm)
{
    int *lists = NULL;
    comm->asked = true;
    if (!find_neighbors(mpi, &comm->sources, &comm->targets, &lists)) {
        return;
    }
    preload.inside++;
    /* Lists that do not match are an error on all ranks. */
    (void)catena_neighborhood_create(
        comm->group, comm->sources, lists, CATENA_UNWEIGHTED, comm->targets,
        lists + comm->sources, CATENA_UNWEIGHTED, NULL, &comm->neighborhood);
    preload.inside--;
    free(lists);
}

bool preload_find(preload_started_t *c)
{
    void *value = NULL;
    int found = 0;
    if (preload.context == NULL || preload.inside > 0) {
        return preload_pass(c, REASON_OFF);
    }
    if ((preload.skip >> c->call & 1) != 0) {
        return preload_pass(c, REASON_SKIPPED);
    }
    if (c->comm == MPI_COMM_NULL) {
        return preload_pass(c, REASON_ARGUMENT);
    }
    PMPI_Comm_get_attr(c->comm, state.keyval, &value, &found);
    if (!found) {
        value = make_comm(c->comm);
        PMPI_Comm_set_attr(c->comm, state.keyval, value);
    }
    comm_t *comm = value;
    if (comm->group == NULL) {
        return preload_pass(c, REASON_COMM);
    }
    preload.last = c->comm;
    preload.group = c->group = comm->group;
    c->kept = comm;
    if (c->call < CALL_NEIGHBOR_ALLGATHER) {
        return true;
    }
    if (!comm->asked) {
        make_neighborhood(c->comm, comm);
    }
    c->neighborhood = comm->neighborhood;
    c->sources = comm->sources;
    c->targets = comm->targets;
    return c->neighborhood != NULL || preload_pass(c, REASON_TOPOLOGY);
}

void preload_keep_comm(preload_started_t *c)
{
    c->kept->pending++;
}

void preload_drop_comm(preload_started_t *c)
{
    if (--c->kept->pending == 0 && c->kept->freed) {
        free_comm(c->kept);
    }
}

void preload_comms_open(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &state.world);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_comm, &state.keyval,
                            NULL);
}

void preload_comms_close(void)
{
    for (size_t i = state.count; i > 0; i--) {
        free_comm(state.comms[i - 1]);
    }
    free(state.comms);
    PMPI_Group_free(&state.world);
}
