/* An MPI program that makes each call twice, by MPI_ and by PMPI_, and compares
 * what they receive: with the library preloaded, catena against MPI. Types with
 * and without gaps, in place or not, blocking or not, on several communicators;
 * and orders of calls and messages that need the progress of both libraries.
 * usage: check [ROUNDS [SEED]]
 * CHECK_MPI is set if the MPI library is alone: some of its defects are avoided
 * then. CHECK_LEVELS: rank 0 has no threads, the others have many. */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40000, GUARD = 64 };

static int errors;
static uint64_t state;

static unsigned draw(unsigned limit)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ z >> 31) >> 16) % limit;
}

/* A type, with the one that other ranks may use for the same data. */
static MPI_Datatype types[7];
static const char *const type_names[] = {
    "double", "int", "pairs", "strided", "struct", "swapped", "triples"};

static void make_types(void)
{
    int lengths[] = {1, 3};
    int swapped[] = {1, 0};
    MPI_Aint at[] = {0, 8};
    MPI_Datatype parts[] = {MPI_INT, MPI_CHAR};
    types[0] = MPI_DOUBLE;
    types[1] = MPI_INT;
    types[2] = MPI_DOUBLE_INT;
    MPI_Type_vector(3, 1, 2, MPI_INT, &types[3]);
    MPI_Type_create_struct(2, lengths, at, parts, &types[4]);
    /* Two ints in reverse order: size and extent are equal. */
    MPI_Type_create_indexed_block(2, 1, swapped, MPI_INT, &types[5]);
    MPI_Type_contiguous(3, MPI_DOUBLE, &types[6]);
    for (int i = 3; i < 7; i++) {
        MPI_Type_commit(&types[i]);
    }
}

/* ---- buffers: what catena and MPI receive, and what is sent ---- */

static unsigned char *send, *by_catena, *by_mpi, *copy;
static size_t own_at; /* of the own block in it, where only that is sent */
static size_t bytes;

static void fill(int rank, size_t needed)
{
    bytes = needed + GUARD;
    send = malloc(bytes);
    by_catena = malloc(bytes);
    by_mpi = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        send[i] = (unsigned char)(i * 31 + (size_t)rank * 7 + 1);
        by_catena[i] = by_mpi[i] = (unsigned char)(i * 13 + (size_t)rank);
    }
    copy = malloc(bytes);
    memcpy(copy, by_mpi, bytes);
    own_at = 0;
}

static void compare(const char *call, const char *type, int count, int place)
{
    size_t at = 0;
    while (at < bytes && by_catena[at] == by_mpi[at]) {
        at++;
    }
    if (at < bytes && errors++ < 5) {
        fprintf(stderr, "%s of %d %s%s: byte %zu of %zu is %d, MPI has %d\n",
                call, count, type, place ? " in place" : "", at, bytes,
                by_catena[at], by_mpi[at]);
    }
    free(send);
    free(by_catena);
    free(by_mpi);
    free(copy);
}

/** Complete a nonblocking call, in one of several ways. Meanwhile the program
 * frees its type, and makes other calls. */
static void finish(MPI_Comm comm, MPI_Datatype *type, MPI_Request request)
{
    int done = 0;
    int one = 1;
    int sum = 0;
    int size;
    char in, out = 5;
    MPI_Request all[3] = {request, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (type != NULL) {
        MPI_Type_free(type);
    }
    MPI_Comm_size(comm, &size);
    switch (draw(4)) {
    case 0:
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        break;
    case 1:
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        errors += sum != size;
        break;
    case 2:
        MPI_Irecv(&in, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF, &all[1]);
        MPI_Isend(&out, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF, &all[2]);
        MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
        errors += in != out;
        break;
    default:
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The call by both libraries, catena's in the nonblocking form by chance. `in`
 * is what is sent: MPI gets a copy of it where catena works in place, since
 * MPICH 4.0.2 has defects there (a reduce in place at a root other than 0 reads
 * MPI_IN_PLACE). */
#define BOTH(call, Nonblocking, receive, ...)                                  \
    do {                                                                       \
        unsigned char *receive = by_catena;                                    \
        const void *in = place ? MPI_IN_PLACE : (const void *)send;            \
        void *own = place ? MPI_IN_PLACE : (void *)receive;                    \
        if (draw(2) == 0) {                                                    \
            MPI_Datatype plain = type;                                         \
            MPI_Request request;                                               \
            if (type_may_be_derived) {                                         \
                MPI_Type_dup(plain, &type);                                    \
            }                                                                  \
            errors += MPI_##Nonblocking(__VA_ARGS__, &request) != MPI_SUCCESS; \
            finish(comm, type_may_be_derived ? &type : NULL, request);         \
            type = plain;                                                      \
        } else {                                                               \
            errors += MPI_##call(__VA_ARGS__) != MPI_SUCCESS;                  \
        }                                                                      \
        receive = by_mpi;                                                      \
        in = place ? copy + own_at : send;                                     \
        own = place ? copy : receive;                                          \
        errors += PMPI_##call(__VA_ARGS__) != MPI_SUCCESS;                     \
        (void)in, (void)own;                                                   \
    } while (0)

/* ---- calls ---- */

static void move_blocks(MPI_Comm comm, int rank, int size, unsigned kind)
{
    const int type_may_be_derived = 1;
    unsigned t = draw(7);
#if defined(MPICH) /* 4.0.2: "message truncated" with gaps in the type */
    t = kind == 1 || kind == 2 ? t % 2 : t;
#endif
    int count = (int)draw(draw(2) ? 8 : MOST / (size * size) + 2);
    int root = (int)draw((unsigned)size);
    int place = draw(3) == 0;
    MPI_Datatype type = types[t];
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    fill(rank, (size_t)(extent * count) * (size_t)size * 2);
    int *counts = malloc(2 * (size_t)size * sizeof(int));
    int *at = counts + size;
    for (int i = 0; i < size; i++) {
        counts[i] = count > 0 ? (i * 5 + 3) % (count + 1) : 0;
        at[i] = (size - 1 - i) * (count + 1 > 2 ? count : count * 2);
    }
    switch (kind) {
    case 0:
        BOTH(Bcast, Ibcast, r, r, count, type, root, comm);
        break;
    case 1:
        own_at = (size_t)(rank * count * extent);
        BOTH(Gather, Igather, r, rank == root ? in : send, count, type, r,
             count, type, root, comm);
        break;
    case 2:
        BOTH(Scatter, Iscatter, r, send, count, type, rank == root ? own : r,
             count, type, root, comm);
        break;
    case 3:
        own_at = (size_t)(rank * count * extent);
        BOTH(Allgather, Iallgather, r, in, count, type, r, count, type, comm);
        break;
    case 4:
        BOTH(Alltoall, Ialltoall, r, in, count, type, r, count, type, comm);
        break;
    case 5:
        own_at = (size_t)(at[rank] * extent);
        BOTH(Gatherv, Igatherv, r, rank == root ? in : send, counts[rank], type,
             r, counts, at, type, root, comm);
        break;
    case 6:
        BOTH(Scatterv, Iscatterv, r, send, counts, at, type,
             rank == root ? own : r, counts[rank], type, root, comm);
        break;
    case 7:
        own_at = (size_t)(at[rank] * extent);
        BOTH(Allgatherv, Iallgatherv, r, in, counts[rank], type, r, counts, at,
             type, comm);
        break;
    case 8:
        for (int i = 0; i < size; i++) { /* rank i sends (i + d) % ... to d */
            counts[i] = count > 0 ? (rank + i) % (count + 1) : 0;
        }
        BOTH(Alltoallv, Ialltoallv, r, in, counts, at, type, r, counts, at,
             type, comm);
        break;
    default: {
        MPI_Datatype *each = malloc((size_t)size * sizeof(*each));
        for (int i = 0; i < size; i++) {
            counts[i] = count > 0 ? (rank + i) % (count + 1) : 0;
            at[i] *= (int)extent;
            each[i] = type;
        }
        BOTH(Alltoallw, Ialltoallw, r, in, counts, at, each, r, counts, at,
             each, comm);
        free(each);
    }
    }
    static const char *const names[] = {
        "bcast",   "gather",   "scatter",    "allgather", "alltoall",
        "gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"};
    compare(names[kind], type_names[t], count, place);
    free(counts);
}

/* The first operand: associative, but it does not commute. */
static void first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*count * sizeof(unsigned));
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        ((unsigned *)inout)[i] += ((unsigned *)in)[i];
    }
}

static MPI_Op ops[8];
static const char *const op_names[] = {"sum", "max",   "bxor",   "land",
                                       "add", "first", "maxloc", "min"};

static void reduce(MPI_Comm comm, int rank, int size, unsigned kind)
{
    const int type_may_be_derived = 0;
    unsigned o = draw(8);
    int count = (int)draw(draw(2) ? 8 : (unsigned)(MOST / size) + 2);
    int root = (int)draw((unsigned)size);
    int place = draw(3) == 0;
    MPI_Op op = ops[o];
#if defined(MPICH) /* this one is MPICH's own, see BOTH */
    place = place && o != 6;
#endif
    MPI_Datatype type = o == 6 ? MPI_DOUBLE_INT : MPI_UNSIGNED;
    int *counts = malloc((size_t)size * sizeof(int));
    fill(rank, 16 * (size_t)count * (size_t)size);
    for (int i = 0; i < size; i++) {
        counts[i] = count > 0 ? (i * 5 + 3) % (count + 1) : 0;
    }
    for (size_t i = 0; i < bytes; i++) { /* MPICH 4.0.2 takes MPI_UNSIGNED for
                                            signed in min and max */
        send[i] &= 127;
        by_catena[i] = by_mpi[i] = copy[i] = by_mpi[i] & 127;
    }
    for (size_t i = 0; o == 6 && i + 16 <= bytes; i += 16) { /* no NaN */
        double value = (double)send[i];
        int index = rank;
        unsigned char *const all[] = {send, by_catena, by_mpi, copy};
        for (int b = 0; b < 4; b++) {
            unsigned char *buffer = all[b];
            memcpy(buffer + i, &value, sizeof(value));
            memcpy(buffer + i + 8, &index, sizeof(index));
        }
    }
    switch (kind) {
    case 0:
        BOTH(Allreduce, Iallreduce, r, in, r, count, type, op, comm);
        break;
    case 1:
        BOTH(Reduce, Ireduce, r, rank == root ? in : send, r, count, type, op,
             root, comm);
        break;
    case 2:
        BOTH(Scan, Iscan, r, in, r, count, type, op, comm);
        break;
    case 3: /* rank 0 receives nothing that is defined */
        BOTH(Exscan, Iexscan, r, in, r, count, type, op, comm);
        if (rank == 0) {
            memcpy(by_catena, by_mpi, bytes);
        }
        break;
    case 4:
        BOTH(Reduce_scatter_block, Ireduce_scatter_block, r, in, r, count, type,
             op, comm);
        break;
    default:
        BOTH(Reduce_scatter, Ireduce_scatter, r, in, r, counts, type, op, comm);
    }
    if (kind >= 4 && place) { /* beyond the own block anything may be */
        size_t own =
            (size_t)(kind == 4 ? count : counts[rank]) * (o == 6 ? 16 : 4);
        memcpy(by_catena + own, by_mpi + own, bytes - own);
    }
    static const char *const names[] = {
        "allreduce",     "reduce", "scan", "exscan", "reduce_scatter_block",
        "reduce_scatter"};
    compare(names[kind], op_names[o], count, place);
    free(counts);
}

/* ---- neighbors ---- */

/** A communicator whose ranks have neighbors. */
static MPI_Comm neighbors(MPI_Comm comm, int rank, int size, unsigned kind)
{
    MPI_Comm made;
    int dims[] = {0, 0};
    int periods[] = {(int)draw(2), (int)draw(2)};
    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
#if defined(MPICH) /* 4.0.2 pairs several edges in reverse order, in alltoall  \
                    */
    int edges_to_next = 1;
    kind = size > 2 ? kind : 0;
#else
    int edges_to_next = 2;
#endif
    if (kind == 0) {
        MPI_Dims_create(size, 2, dims);
        for (int d = 0; d < 2; d++) { /* else orders of edges differ among
                                         MPI libraries, and their calls */
            periods[d] = periods[d] && dims[d] > 2;
        }
        MPI_Cart_create(comm, 2, dims, periods, 0, &made);
    } else if (kind == 1) { /* a ring */
        int *index = malloc(3 * (size_t)size * sizeof(*index));
        int *edges = index + size;
        for (int i = 0; i < size; i++) {
            index[i] = 2 * i + 2;
            edges[2 * (size_t)i] = (i + size - 1) % size;
            edges[2 * (size_t)i + 1] = (i + 1) % size;
        }
        MPI_Graph_create(comm, size, index, edges, 0, &made);
        free(index);
    } else { /* edges to the next rank, one to oneself */
        int from[] = {rank, previous, previous};
        int to[] = {next, rank, next};
        int weights[] = {1, 2, 3};
        int n = 1 + edges_to_next;
        MPI_Dist_graph_create_adjacent(comm, n, from, weights, n, to, weights,
                                       MPI_INFO_NULL, 0, &made);
    }
    return made;
}

static void with_neighbors(MPI_Comm all, int rank, int size)
{
    const int type_may_be_derived = 1;
    MPI_Comm comm = neighbors(all, rank, size, draw(3));
    unsigned call = draw(5);
    unsigned t = draw(7);
    int count = (int)draw(draw(2) ? 8 : 5000);
    int place = 0;
    int most = 4;
    MPI_Datatype type = types[t];
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    fill(rank, (size_t)(extent * count) * (size_t)most);
    int counts[4];
    int at[4];
    MPI_Aint places[4];
    MPI_Datatype each[4];
    for (int i = 0; i < most; i++) {
        counts[i] = count;
        at[i] = i * count;
        places[i] = at[i] * extent;
        each[i] = type;
    }
    switch (call) {
    case 0:
        BOTH(Neighbor_allgather, Ineighbor_allgather, r, in, count, type, r,
             count, type, comm);
        break;
    case 1:
        BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, r, in, count, type, r,
             counts, at, type, comm);
        break;
    case 2:
        BOTH(Neighbor_alltoall, Ineighbor_alltoall, r, in, count, type, r,
             count, type, comm);
        break;
    case 3:
        BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, r, in, counts, at, type,
             r, counts, at, type, comm);
        break;
    default:
        BOTH(Neighbor_alltoallw, Ineighbor_alltoallw, r, in, counts, places,
             each, r, counts, places, each, comm);
    }
    static const char *const names[] = {
        "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
        "neighbor_alltoallv", "neighbor_alltoallw"};
    compare(names[call], type_names[t], count, 0);
    MPI_Comm_free(&comm);
}

/* ---- requests ---- */

/** Many calls under way, of two communicators, one of which the program frees;
 * completed in another order. */
static void in_flight(MPI_Comm comm, int rank, int size)
{
    enum { MANY = 24, COUNT = 300 };
    static int out[MANY][COUNT];
    static int in[MANY][COUNT];
    MPI_Comm other;
    MPI_Request request[MANY];
    int message = rank;
    int got = -1;
    MPI_Comm_dup(comm, &other);
    for (int i = 0; i < MANY; i++) {
        MPI_Comm on = i % 3 == 0 ? other : comm;
        for (int k = 0; k < COUNT; k++) {
            out[i][k] = rank + i * k;
            in[i][k] = i % 4 == 1 && rank == i % size ? out[i][k] : -1;
        }
        if (i % 4 == 0) {
            MPI_Iallreduce(out[i], in[i], COUNT, MPI_INT, MPI_SUM, on,
                           &request[i]);
        } else if (i % 4 == 1) {
            MPI_Ibcast(in[i], COUNT, MPI_INT, i % size, on, &request[i]);
        } else if (i % 4 == 2) {
            MPI_Ibarrier(on, &request[i]);
        } else {
            MPI_Iscan(out[i], in[i], COUNT, MPI_INT, MPI_MAX, on, &request[i]);
        }
    }
    bool early = getenv("CHECK_MPI") == NULL; /* Open MPI 4.1.4 crashes */
    if (early) {
        MPI_Comm_free(&other);
    }
    /* All ranks but the last one wait in a receive, which needs that one's. */
    if (rank == size - 1) {
        MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i + 1 < size; i++) {
            MPI_Send(&message, 1, MPI_INT, i, 4, comm);
        }
    } else {
        MPI_Recv(&got, 1, MPI_INT, size - 1, 4, comm, MPI_STATUS_IGNORE);
        errors += got != size - 1;
    }
    for (int left = MANY; rank < size - 1 && left > 0; left--) {
        int index;
        MPI_Waitany(MANY, request, &index, MPI_STATUS_IGNORE);
        errors += index == MPI_UNDEFINED;
    }
    if (!early) {
        MPI_Comm_free(&other);
    }
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < COUNT; k++) {
            int sum = size * (size - 1) / 2 + size * i * k;
            errors += i % 4 == 0 && in[i][k] != sum;
            errors += i % 4 == 1 && in[i][k] != i % size + i * k;
            errors += i % 4 == 3 && in[i][k] != out[i][k];
        }
    }
}

/* ---- arguments that are seldom ---- */

static void seldom(MPI_Comm comm, int rank, int size)
{
    enum { N = 5 };
    int left[N];
    int right[N];
    int lengths[] = {N, N};
    int root = size - 1;
    int sum = -1;
    MPI_Aint at[2];
    MPI_Datatype absolute;
    MPI_Datatype pair;
    for (int i = 0; i < N; i++) {
        left[i] = rank == root ? 10 + i : -1;
        right[i] = rank == root ? 20 + i : -1;
    }
    MPI_Get_address(left, &at[0]);
    MPI_Get_address(right, &at[1]);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm);
    for (int i = 0; i < N; i++) {
        errors += left[i] != 10 + i || right[i] != 20 + i;
    }
    MPI_Type_free(&absolute);
    /* The root sends pairs, the others receive integers. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(left, rank == root ? 1 : 2, rank == root ? pair : MPI_INT, root,
              comm);
    errors += left[0] != 10 || left[1] != (rank == root ? 11 : 12);
    MPI_Type_free(&pair);
    bool null = getenv("CHECK_MPI") == NULL; /* MPICH 4.0.2 takes no NULL */
    MPI_Exscan(&rank, rank == 0 && null ? NULL : &sum, 1, MPI_INT, MPI_SUM,
               comm);
    errors += rank > 0 && sum != rank * (rank - 1) / 2;
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(N, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(right, 1, pair, root, comm);
    errors += right[N - 1] != 20 + N - 1;
    MPI_Type_free(&pair);
#endif
}

/* ---- progress ---- */

/* Orders that are legal, and hang if a rank that waits in a collective makes no
 * progress for the messages of another one. */
static void messages(MPI_Comm comm, int rank, int size)
{
    enum { LONG = 1 << 20 };
    if (size < 2) {
        return;
    }
    char *out = calloc(1, LONG);
    char *in = calloc(1, LONG);
    int one = 1;
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Isend(out, LONG, MPI_CHAR, 1, 1, comm, &request);
    } else if (rank == 1) {
        MPI_Recv(in, LONG, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Irecv(in, LONG, MPI_CHAR, 1, 2, comm, &request);
    } else if (rank == 1) {
        MPI_Ssend(out, LONG, MPI_CHAR, 0, 2, comm);
    }
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* A rank leaves a collective early and sits in a receive. */
    MPI_Bcast(out, LONG, MPI_CHAR, 0, comm);
    if (rank == 0) {
        MPI_Recv(in, 1, MPI_CHAR, size - 1, 3, comm, MPI_STATUS_IGNORE);
    } else if (rank == size - 1) {
        MPI_Send(in, 1, MPI_CHAR, 0, 3, comm);
    }
    errors += sum != size;
    free(in);
    free(out);
}

static void run(MPI_Comm comm, int rounds)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < rounds; i++) {
        unsigned kind = draw(20);
        if (kind < 10) {
            move_blocks(comm, rank, size, kind);
        } else if (kind < 16) {
            reduce(comm, rank, size, kind - 10);
        } else if (kind == 16) {
            messages(comm, rank, size);
        } else if (kind == 17) {
            in_flight(comm, rank, size);
        } else {
            with_neighbors(comm, rank, size);
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    int rank, size;
    MPI_Comm dup, half, turned;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    number = number != NULL ? number : getenv("PMI_RANK");
    if (getenv("CHECK_LEVELS") != NULL && number != NULL) {
        int level;
        MPI_Init_thread(
            &argc, &argv,
            *number == '0' ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_types();
    MPI_Op made[2];
    MPI_Op_create(add, 1, &made[0]);
    MPI_Op_create(first, 0, &made[1]);
    ops[0] = MPI_SUM, ops[1] = MPI_MAX, ops[2] = MPI_BXOR, ops[3] = MPI_LAND;
    ops[4] = made[0], ops[5] = made[1], ops[6] = MPI_MAXLOC, ops[7] = MPI_MIN;
    if (size > 1) {
        seldom(MPI_COMM_WORLD, rank, size);
    }
    run(MPI_COMM_WORLD, rounds);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    run(dup, rounds / 4);
    for (int i = 0; i < 3; i++) {
        uint64_t shared = state;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        run(half, rounds / 4);
        state = shared + 99;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
        run(turned, rounds / 4);
        MPI_Comm_free(&turned);
        MPI_Comm_free(&half);
    }
    /* What is not freed is catena's to end. */
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, dup);
    if (rank == 0) {
        printf("%sok - %d ranks, %d rounds\n", errors > 0 ? "not " : "", size,
               rounds);
    }
    MPI_Op_free(&made[0]);
    MPI_Op_free(&made[1]);
    for (int i = 3; i < 7; i++) {
        MPI_Type_free(&types[i]);
    }
    MPI_Finalize();
    return errors > 0;
}
