/* The collectives of MPI, in terms of catena's. */

#include <stdint.h>
#include <stdlib.h>

#include "preload.h"

/* ---- buffers ---- */

/** The blocks that a rank sends or receives: as catena gets them, and where the
 * program has them. */
typedef struct side {
    void *buffer; /* of the program; or packed blocks, one after the other */
    size_t count; /* of a block, if all have one length */
    catena_type_t type;
    size_t *counts; /* [blocks], malloc'd; NULL: `count` */
    ptrdiff_t *displacements;
    /* of packed blocks: */
    preload_type_t from; /* the program's type */
    void *user;          /* the program's buffer; NULL: not packed */
    size_t blocks;
    const int *user_counts; /* NULL: all are consecutive */
    const int *user_displacements;
    size_t elements; /* of a block, with user_counts NULL */
} side_t;

/** @param buffer MPI_IN_PLACE becomes CATENA_IN_PLACE */
static side_t plain_side(const void *buffer, size_t count, catena_type_t type)
{
    return (side_t){.buffer = buffer == MPI_IN_PLACE
                                  ? (void *)(uintptr_t)CATENA_IN_PLACE
                                  : (void *)(uintptr_t)buffer,
                    .count = count,
                    .type = type};
}

/** Blocks of one length, consecutive.
 * @param pack their contents are sent (or received in place)
 * @return false: an argument is wrong */
static bool open_blocks(side_t *side, const void *buffer, int count,
                        MPI_Datatype datatype, int blocks, bool pack)
{
    preload_type_t type;
    if (buffer == MPI_IN_PLACE) {
        *side = plain_side(buffer, 0, CATENA_BYTE);
        return true;
    }
    if (count < 0 || !preload_type(datatype, &type)) {
        return false;
    }
    *side = plain_side(buffer, (size_t)count * type.units, type.type);
    if (type.type != NULL) {
        return true;
    }
    size_t elements = (size_t)count * (size_t)blocks;
    side->from = type;
    side->user = side->buffer;
    side->blocks = (size_t)blocks;
    side->elements = (size_t)count;
    side->buffer = preload_alloc(elements * type.bytes);
    side->count = (size_t)count * type.bytes;
    side->type = CATENA_BYTE;
    if (pack) {
        preload_pack(&type, side->user, elements, side->buffer);
    }
    return true;
}

static char *user_block(const side_t *side, size_t i)
{
    return (char *)side->user +
           (ptrdiff_t)side->user_displacements[i] * side->from.extent;
}

/** Blocks of several lengths, at displacements. */
static bool open_vector(side_t *side, const void *buffer, const int *counts,
                        const int *displacements, MPI_Datatype datatype,
                        int blocks, bool pack)
{
    preload_type_t type;
    size_t n = (size_t)blocks;
    if (buffer == MPI_IN_PLACE) {
        *side = plain_side(buffer, 0, CATENA_BYTE);
        return true;
    }
    if (counts == NULL || displacements == NULL ||
        !preload_type(datatype, &type)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (counts[i] < 0) {
            return false;
        }
    }
    *side = plain_side(buffer, 0, type.type);
    side->counts = preload_alloc(n * (sizeof(size_t) + sizeof(ptrdiff_t)));
    side->displacements = (ptrdiff_t *)(void *)(side->counts + n);
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bool plain = type.type != NULL;
        side->counts[i] = (size_t)counts[i] * (plain ? type.units : type.bytes);
        side->displacements[i] =
            plain ? displacements[i] * (ptrdiff_t)type.units : (ptrdiff_t)bytes;
        bytes += side->counts[i];
    }
    if (type.type != NULL) {
        return true;
    }
    side->from = type;
    side->user = side->buffer;
    side->blocks = n;
    side->user_counts = counts;
    side->user_displacements = displacements;
    side->buffer = preload_alloc(bytes);
    side->type = CATENA_BYTE;
    for (size_t i = 0; pack && i < n; i++) {
        preload_pack(&type, user_block(side, i), (size_t)counts[i],
                     (char *)side->buffer + side->displacements[i]);
    }
    return true;
}

/** Release a side. @param unpack it has received data */
static void close_side(side_t *side, bool unpack)
{
    if (side->user != NULL) {
        if (unpack && side->user_counts == NULL) {
            preload_unpack(&side->from, side->buffer, side->user,
                           side->blocks * side->elements);
        }
        for (size_t i = 0;
             unpack && side->user_counts != NULL && i < side->blocks; i++) {
            preload_unpack(&side->from,
                           (char *)side->buffer + side->displacements[i],
                           user_block(side, i), (size_t)side->user_counts[i]);
        }
        free(side->buffer);
    }
    free(side->counts);
}

static double bytes_of(const side_t *side)
{
    return (double)side->count * (double)catena_type_size(side->type);
}

/** The sides of a call, where one may not be used. */
static const side_t no_side = {.type = CATENA_BYTE};

/* A call whose arguments are wrong goes to the MPI library, which reports that
 * without waiting for others. */
#define PASS(CALL, REASON, call)                                               \
    do {                                                                       \
        preload_pass(CALL_##CALL, REASON_##REASON);                            \
        return call;                                                           \
    } while (0)

/** The root, and the number of blocks that it has. */
static bool valid_root(int root, const catena_group_t *group)
{
    return root >= 0 && root < catena_group_size(group);
}

/* ---- barrier, bcast ---- */

int MPI_Barrier(MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_BARRIER);
    if (group == NULL) {
        return PMPI_Barrier(comm);
    }
    double since = preload_begin();
    return preload_end(comm, CALL_BARRIER, since, 0, catena_barrier(group));
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root,
              MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_BCAST);
    side_t side;
    if (group == NULL) {
        return PMPI_Bcast(buffer, count, datatype, root, comm);
    }
    bool is_root = root == catena_group_rank(group);
    if (!valid_root(root, group) ||
        !open_blocks(&side, buffer, count, datatype, 1, is_root)) {
        PASS(BCAST, ARGUMENT, PMPI_Bcast(buffer, count, datatype, root, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_bcast(side.buffer, side.count, side.type, root, group);
    double bytes = bytes_of(&side);
    close_side(&side, !is_root);
    return preload_end(comm, CALL_BCAST, since, bytes, status);
}

/* ---- gather, scatter ---- */

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type,
               void *receive, int receive_count, MPI_Datatype receive_type,
               int root, MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_GATHER);
    if (group == NULL) {
        return PMPI_Gather(send, send_count, send_type, receive, receive_count,
                           receive_type, root, comm);
    }
    bool is_root = root == catena_group_rank(group);
    bool in_place = is_root && send == MPI_IN_PLACE;
    side_t from = no_side;
    side_t to = no_side;
    if (!valid_root(root, group) ||
        !open_blocks(&from, send, send_count, send_type, 1, true) ||
        (is_root && !open_blocks(&to, receive, receive_count, receive_type,
                                 catena_group_size(group), in_place))) {
        close_side(&from, false);
        PASS(GATHER, ARGUMENT,
             PMPI_Gather(send, send_count, send_type, receive, receive_count,
                         receive_type, root, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_gather(from.buffer, from.count, from.type, to.buffer, to.count,
                      to.type, root, group);
    double bytes = bytes_of(in_place ? &to : &from);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_GATHER, since, bytes, status);
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type,
                void *receive, const int counts[], const int displacements[],
                MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_GATHERV);
    if (group == NULL) {
        return PMPI_Gatherv(send, send_count, send_type, receive, counts,
                            displacements, receive_type, root, comm);
    }
    bool is_root = root == catena_group_rank(group);
    side_t from = no_side;
    side_t to = no_side;
    if (!valid_root(root, group) ||
        !open_blocks(&from, send, send_count, send_type, 1, true) ||
        (is_root &&
         !open_vector(&to, receive, counts, displacements, receive_type,
                      catena_group_size(group), send == MPI_IN_PLACE))) {
        close_side(&from, false);
        PASS(GATHERV, ARGUMENT,
             PMPI_Gatherv(send, send_count, send_type, receive, counts,
                          displacements, receive_type, root, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_gatherv(from.buffer, from.count, from.type, to.buffer, to.counts,
                       to.displacements, to.type, root, group);
    double bytes = bytes_of(&from);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_GATHERV, since, bytes, status);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type,
                void *receive, int receive_count, MPI_Datatype receive_type,
                int root, MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_SCATTER);
    if (group == NULL) {
        return PMPI_Scatter(send, send_count, send_type, receive, receive_count,
                            receive_type, root, comm);
    }
    bool is_root = root == catena_group_rank(group);
    side_t from = no_side;
    side_t to = no_side;
    if (!valid_root(root, group) ||
        (is_root && !open_blocks(&from, send, send_count, send_type,
                                 catena_group_size(group), true)) ||
        !open_blocks(&to, receive, receive_count, receive_type, 1, false)) {
        close_side(&from, false);
        PASS(SCATTER, ARGUMENT,
             PMPI_Scatter(send, send_count, send_type, receive, receive_count,
                          receive_type, root, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_scatter(from.buffer, from.count, from.type, to.buffer, to.count,
                       to.type, root, group);
    double bytes = bytes_of(is_root ? &from : &to);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_SCATTER, since, bytes, status);
}

int MPI_Scatterv(const void *send, const int counts[],
                 const int displacements[], MPI_Datatype send_type,
                 void *receive, int receive_count, MPI_Datatype receive_type,
                 int root, MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_SCATTERV);
    if (group == NULL) {
        return PMPI_Scatterv(send, counts, displacements, send_type, receive,
                             receive_count, receive_type, root, comm);
    }
    bool is_root = root == catena_group_rank(group);
    side_t from = no_side;
    side_t to = no_side;
    if (!valid_root(root, group) ||
        (is_root && !open_vector(&from, send, counts, displacements, send_type,
                                 catena_group_size(group), true)) ||
        !open_blocks(&to, receive, receive_count, receive_type, 1, false)) {
        close_side(&from, false);
        PASS(SCATTERV, ARGUMENT,
             PMPI_Scatterv(send, counts, displacements, send_type, receive,
                           receive_count, receive_type, root, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_scatterv(from.buffer, from.counts, from.displacements, from.type,
                        to.buffer, to.count, to.type, root, group);
    double bytes = bytes_of(&to);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_SCATTERV, since, bytes, status);
}

/* ---- allgather, alltoall ---- */

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type,
                  void *receive, int receive_count, MPI_Datatype receive_type,
                  MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_ALLGATHER);
    if (group == NULL) {
        return PMPI_Allgather(send, send_count, send_type, receive,
                              receive_count, receive_type, comm);
    }
    side_t from;
    side_t to;
    if (receive == MPI_IN_PLACE ||
        !open_blocks(&from, send, send_count, send_type, 1, true)) {
        PASS(ALLGATHER, ARGUMENT,
             PMPI_Allgather(send, send_count, send_type, receive, receive_count,
                            receive_type, comm));
    }
    if (!open_blocks(&to, receive, receive_count, receive_type,
                     catena_group_size(group), send == MPI_IN_PLACE)) {
        close_side(&from, false);
        PASS(ALLGATHER, ARGUMENT,
             PMPI_Allgather(send, send_count, send_type, receive, receive_count,
                            receive_type, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_allgather(from.buffer, from.count, from.type, to.buffer,
                         to.count, to.type, group);
    double bytes = bytes_of(&to);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_ALLGATHER, since, bytes, status);
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type,
                   void *receive, const int counts[], const int displacements[],
                   MPI_Datatype receive_type, MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_ALLGATHERV);
    if (group == NULL) {
        return PMPI_Allgatherv(send, send_count, send_type, receive, counts,
                               displacements, receive_type, comm);
    }
    side_t from = no_side;
    side_t to = no_side;
    if (receive == MPI_IN_PLACE ||
        !open_blocks(&from, send, send_count, send_type, 1, true) ||
        !open_vector(&to, receive, counts, displacements, receive_type,
                     catena_group_size(group), send == MPI_IN_PLACE)) {
        close_side(&from, false);
        PASS(ALLGATHERV, ARGUMENT,
             PMPI_Allgatherv(send, send_count, send_type, receive, counts,
                             displacements, receive_type, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_allgatherv(from.buffer, from.count, from.type, to.buffer,
                          to.counts, to.displacements, to.type, group);
    double bytes = bytes_of(&from);
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_ALLGATHERV, since, bytes, status);
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type,
                 void *receive, int receive_count, MPI_Datatype receive_type,
                 MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_ALLTOALL);
    if (group == NULL) {
        return PMPI_Alltoall(send, send_count, send_type, receive,
                             receive_count, receive_type, comm);
    }
    int size = catena_group_size(group);
    side_t from = no_side;
    side_t to = no_side;
    if (receive == MPI_IN_PLACE ||
        !open_blocks(&from, send, send_count, send_type, size, true) ||
        !open_blocks(&to, receive, receive_count, receive_type, size,
                     send == MPI_IN_PLACE)) {
        close_side(&from, false);
        PASS(ALLTOALL, ARGUMENT,
             PMPI_Alltoall(send, send_count, send_type, receive, receive_count,
                           receive_type, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        catena_alltoall(from.buffer, from.count, from.type, to.buffer, to.count,
                        to.type, group);
    double bytes = bytes_of(&to) * size;
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_ALLTOALL, since, bytes, status);
}

int MPI_Alltoallv(const void *send, const int send_counts[],
                  const int send_displacements[], MPI_Datatype send_type,
                  void *receive, const int receive_counts[],
                  const int receive_displacements[], MPI_Datatype receive_type,
                  MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_ALLTOALLV);
    if (group == NULL) {
        return PMPI_Alltoallv(send, send_counts, send_displacements, send_type,
                              receive, receive_counts, receive_displacements,
                              receive_type, comm);
    }
    int size = catena_group_size(group);
    side_t from = no_side;
    side_t to = no_side;
    if (receive == MPI_IN_PLACE ||
        !open_vector(&from, send, send_counts, send_displacements, send_type,
                     size, true) ||
        !open_vector(&to, receive, receive_counts, receive_displacements,
                     receive_type, size, send == MPI_IN_PLACE)) {
        close_side(&from, false);
        PASS(ALLTOALLV, ARGUMENT,
             PMPI_Alltoallv(send, send_counts, send_displacements, send_type,
                            receive, receive_counts, receive_displacements,
                            receive_type, comm));
    }
    double since = preload_begin();
    catena_status_t status = catena_alltoallv(
        from.buffer, from.counts, from.displacements, from.type, to.buffer,
        to.counts, to.displacements, to.type, group);
    double bytes = 0;
    for (int i = 0; preload.stats && i < size; i++) {
        bytes += (double)to.counts[i] * (double)catena_type_size(to.type);
    }
    close_side(&from, false);
    close_side(&to, true);
    return preload_end(comm, CALL_ALLTOALLV, since, bytes, status);
}

/* Blocks with a type each are always packed. */

/** The packed form of such blocks; NULL: an argument is wrong. */
static char *open_typed(const void *buffer, const int counts[],
                        const int displacements[], const MPI_Datatype types[],
                        size_t n, bool pack, size_t *at)
{
    preload_type_t type;
    at[0] = 0;
    if (counts == NULL || displacements == NULL || types == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        /* A block of no elements may have no type. */
        bool valid =
            counts[i] == 0 || (counts[i] > 0 && preload_type(types[i], &type));
        if (!valid) {
            return NULL;
        }
        at[i + 1] =
            at[i] + (counts[i] > 0 ? (size_t)counts[i] * type.bytes : 0);
    }
    char *packed = preload_alloc(at[n]);
    for (size_t i = 0; pack && i < n; i++) {
        if (counts[i] > 0) {
            (void)preload_type(types[i], &type);
            preload_pack(&type, (const char *)buffer + displacements[i],
                         (size_t)counts[i], packed + at[i]);
        }
    }
    return packed;
}

/** Call catena_alltoallv on packed blocks. @param packed_send NULL: in place */
static catena_status_t exchange_packed(catena_group_t *group, size_t n,
                                       const char *packed_send,
                                       const size_t *send_at,
                                       char *packed_receive,
                                       const size_t *receive_at)
{
    size_t *counts = preload_alloc(2 * n * sizeof(*counts));
    for (size_t i = 0; i < n; i++) {
        counts[i] = receive_at[i + 1] - receive_at[i];
        if (packed_send != NULL) {
            counts[n + i] = send_at[i + 1] - send_at[i];
        }
    }
    catena_status_t status = catena_alltoallv(
        packed_send != NULL ? packed_send : CATENA_IN_PLACE, counts + n,
        (const ptrdiff_t *)send_at, CATENA_BYTE, packed_receive, counts,
        (const ptrdiff_t *)receive_at, CATENA_BYTE, group);
    free(counts);
    return status;
}

int MPI_Alltoallw(const void *send, const int send_counts[],
                  const int send_displacements[],
                  const MPI_Datatype send_types[], void *receive,
                  const int receive_counts[], const int receive_displacements[],
                  const MPI_Datatype receive_types[], MPI_Comm comm)
{
    catena_group_t *group = preload_group(comm, CALL_ALLTOALLW);
    if (group == NULL) {
        return PMPI_Alltoallw(send, send_counts, send_displacements, send_types,
                              receive, receive_counts, receive_displacements,
                              receive_types, comm);
    }
    size_t n = (size_t)catena_group_size(group);
    bool in_place = send == MPI_IN_PLACE;
    size_t *at = preload_alloc(2 * (n + 1) * sizeof(*at));
    char *from = in_place ? NULL
                          : open_typed(send, send_counts, send_displacements,
                                       send_types, n, true, at);
    char *to = !in_place && from == NULL
                   ? NULL
                   : open_typed(receive, receive_counts, receive_displacements,
                                receive_types, n, in_place, at + n + 1);
    if (to == NULL) {
        free(from);
        free(at);
        PASS(ALLTOALLW, ARGUMENT,
             PMPI_Alltoallw(send, send_counts, send_displacements, send_types,
                            receive, receive_counts, receive_displacements,
                            receive_types, comm));
    }
    double since = preload_begin();
    catena_status_t status =
        exchange_packed(group, n, from, at, to, at + n + 1);
    for (size_t i = 0; i < n; i++) {
        preload_type_t type;
        if (receive_counts[i] > 0 && preload_type(receive_types[i], &type)) {
            preload_unpack(&type, to + at[n + 1 + i],
                           (char *)receive + receive_displacements[i],
                           (size_t)receive_counts[i]);
        }
    }
    double bytes = (double)at[2 * n + 1];
    free(from);
    free(to);
    free(at);
    return preload_end(comm, CALL_ALLTOALLW, since, bytes, status);
}

/* ---- reductions ---- */

static const void *in_of(const void *send)
{
    return send == MPI_IN_PLACE ? CATENA_IN_PLACE : send;
}

/* The head of a reduction: the group and the operation, or the MPI library's
 * call. */
#define OPEN_REDUCTION(CALL, valid, call)                                      \
    catena_group_t *group = preload_group(comm, CALL_##CALL);                  \
    preload_op_t by;                                                           \
    if (group == NULL) {                                                       \
        return call;                                                           \
    }                                                                          \
    if (!(valid)) {                                                            \
        PASS(CALL, ARGUMENT, call);                                            \
    }                                                                          \
    if (!preload_op_open(&by, op, datatype)) {                                 \
        PASS(CALL, REDUCTION, call);                                           \
    }                                                                          \
    double since = preload_begin()

/** Its end. */
static int close_reduction(preload_op_t *by, MPI_Comm comm, preload_call_t call,
                           double since, size_t count, catena_status_t status)
{
    double bytes = (double)count * (double)catena_type_size(by->type);
    preload_op_close(by);
    return preload_end(comm, call, since, bytes, status);
}

int MPI_Allreduce(const void *send, void *receive, int count,
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    OPEN_REDUCTION(ALLREDUCE, count >= 0 && receive != MPI_IN_PLACE,
                   PMPI_Allreduce(send, receive, count, datatype, op, comm));
    catena_status_t status = catena_allreduce(
        in_of(send), receive, (size_t)count, by.type, by.op, group);
    return close_reduction(&by, comm, CALL_ALLREDUCE, since, (size_t)count,
                           status);
}

int MPI_Reduce(const void *send, void *receive, int count,
               MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    OPEN_REDUCTION(REDUCE, count >= 0 && valid_root(root, group),
                   PMPI_Reduce(send, receive, count, datatype, op, root, comm));
    catena_status_t status = catena_reduce(in_of(send), receive, (size_t)count,
                                           by.type, by.op, root, group);
    return close_reduction(&by, comm, CALL_REDUCE, since, (size_t)count,
                           status);
}

int MPI_Scan(const void *send, void *receive, int count, MPI_Datatype datatype,
             MPI_Op op, MPI_Comm comm)
{
    OPEN_REDUCTION(SCAN, count >= 0,
                   PMPI_Scan(send, receive, count, datatype, op, comm));
    catena_status_t status =
        catena_scan(in_of(send), receive, (size_t)count, by.type, by.op, group);
    return close_reduction(&by, comm, CALL_SCAN, since, (size_t)count, status);
}

int MPI_Exscan(const void *send, void *receive, int count,
               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    OPEN_REDUCTION(EXSCAN, count >= 0,
                   PMPI_Exscan(send, receive, count, datatype, op, comm));
    catena_status_t status = catena_exscan(in_of(send), receive, (size_t)count,
                                           by.type, by.op, group);
    return close_reduction(&by, comm, CALL_EXSCAN, since, (size_t)count,
                           status);
}

int MPI_Reduce_scatter_block(const void *send, void *receive, int count,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    OPEN_REDUCTION(
        REDUCE_SCATTER_BLOCK, count >= 0,
        PMPI_Reduce_scatter_block(send, receive, count, datatype, op, comm));
    catena_status_t status = catena_reduce_scatter_block(
        in_of(send), receive, (size_t)count, by.type, by.op, group);
    return close_reduction(&by, comm, CALL_REDUCE_SCATTER_BLOCK, since,
                           (size_t)count, status);
}

/** The counts as catena takes them. @return malloc'd; NULL: one is negative */
static size_t *sizes_of(const int counts[], int n)
{
    bool valid = counts != NULL;
    for (int i = 0; valid && i < n; i++) {
        valid = counts[i] >= 0;
    }
    if (!valid) {
        return NULL;
    }
    size_t *sizes = preload_alloc((size_t)n * sizeof(*sizes));
    for (int i = 0; i < n; i++) {
        sizes[i] = (size_t)counts[i];
    }
    return sizes;
}

int MPI_Reduce_scatter(const void *send, void *receive, const int counts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    OPEN_REDUCTION(
        REDUCE_SCATTER, counts != NULL,
        PMPI_Reduce_scatter(send, receive, counts, datatype, op, comm));
    size_t *sizes = sizes_of(counts, catena_group_size(group));
    if (sizes == NULL) {
        preload.inside--;
        preload_op_close(&by);
        PASS(REDUCE_SCATTER, ARGUMENT,
             PMPI_Reduce_scatter(send, receive, counts, datatype, op, comm));
    }
    size_t all = 0;
    for (int i = 0; i < catena_group_size(group); i++) {
        all += sizes[i];
    }
    catena_status_t status = catena_reduce_scatter(in_of(send), receive, sizes,
                                                   by.type, by.op, group);
    free(sizes);
    return close_reduction(&by, comm, CALL_REDUCE_SCATTER, since, all, status);
}
