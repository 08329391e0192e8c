/* Derived types: structs, blocks of one length, copies, bounds. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { RECORDS = 2, CELLS = 10, PICKED = 3 };

typedef struct record {
    double value;
    int32_t number;
    char name[3];
} record_t;

static int rank, size;

static void print_bounds(const char *name, MPI_Datatype type)
{
    int bytes;
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    printf("%d: %s: %d bytes, from %ld, extent %ld, data from %ld, %ld long\n",
           rank, name, bytes, (long)lower, (long)extent, (long)true_lower,
           (long)true_extent);
}

static MPI_Datatype record_type(void)
{
    const int lengths[] = {1, 1, 3};
    const MPI_Aint at[] = {offsetof(record_t, value),
                           offsetof(record_t, number),
                           offsetof(record_t, name)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT32_T, MPI_CHAR};
    MPI_Datatype members, type;
    MPI_Type_create_struct(3, lengths, at, types, &members);
    MPI_Type_create_resized(members, 0, sizeof(record_t), &type);
    MPI_Type_free(&members);
    MPI_Type_commit(&type);
    return type;
}

/** All records of all ranks; then one of the last rank, by a copy of the type
 * that outlives it. */
static void records(void)
{
    MPI_Datatype type = record_type(), copy;
    record_t own[RECORDS], *all = calloc(size, sizeof(own));
    for (int i = 0; i < RECORDS; i++) {
        own[i] = (record_t){rank + i / 8.0, -rank, {'a' + rank, 'A' + i, '.'}};
    }
    MPI_Allgather(own, RECORDS, type, all, RECORDS, type, MPI_COMM_WORLD);
    for (int i = 0; i < RECORDS * size; i++) {
        printf("%d: record %d: %g %d %.3s\n", rank, i, all[i].value,
               (int)all[i].number, all[i].name);
    }
    print_bounds("record", type);
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    print_bounds("copy", copy);
    MPI_Bcast(&own[1], 1, copy, size - 1, MPI_COMM_WORLD);
    printf("%d: copy: %g %d %.3s\n", rank, own[1].value, (int)own[1].number,
           own[1].name);
    MPI_Type_free(&copy);
    free(all);
}

/** Picked pairs of cells of each rank, without the others, at the last rank. */
static void picked(const char *name, MPI_Datatype type)
{
    int32_t cells[CELLS], *all = calloc(size, sizeof(cells));
    for (int i = 0; i < CELLS; i++) {
        cells[i] = 100 * rank + i;
    }
    MPI_Type_commit(&type);
    print_bounds(name, type);
    MPI_Gather(cells, 1, type, all, 2 * PICKED, MPI_INT32_T, size - 1,
               MPI_COMM_WORLD);
    for (int i = 0; rank == size - 1 && i < 2 * PICKED * size; i++) {
        printf("%d: %s: %d\n", rank, name, (int)all[i]);
    }
    MPI_Type_free(&type);
    free(all);
}

static void blocks(void)
{
    const int indices[PICKED] = {7, 1, 4};
    const MPI_Aint bytes[PICKED] = {8, 32, 20};
    MPI_Datatype type;
    MPI_Type_create_indexed_block(PICKED, 2, indices, MPI_INT32_T, &type);
    picked("indexed block", type);
    MPI_Type_create_hindexed_block(PICKED, 2, bytes, MPI_INT32_T, &type);
    picked("hindexed block", type);
}

/** A matrix with a row on each rank, transposed: columns are elements. */
static void columns(void)
{
    int32_t *rows = calloc(2 * size, sizeof(*rows));
    int32_t *column = calloc(2 * size, sizeof(*column));
    MPI_Datatype vector, type;
    for (int i = 0; i < 2 * size; i++) {
        rows[i] = 100 * rank + i;
    }
    MPI_Type_vector(2, 1, size, MPI_INT32_T, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(int32_t), &type);
    MPI_Type_commit(&type);
    print_bounds("vector", vector);
    print_bounds("column", type);
    MPI_Alltoall(rows, 1, type, column, 2, MPI_INT32_T, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * size; i++) {
        printf("%d: column: %d\n", rank, (int)column[i]);
    }
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    free(rows);
    free(column);
}

static void bounds(void)
{
    const int sizes[] = {5, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
    const int lengths[] = {2, 1}, at[] = {-3, 4};
    MPI_Datatype type, shifted;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C,
                             MPI_DOUBLE, &type);
    print_bounds("subarray", type);
    MPI_Type_free(&type);
    MPI_Type_indexed(2, lengths, at, MPI_INT32_T, &type);
    print_bounds("indexed", type);
    MPI_Type_create_resized(type, -64, 256, &shifted);
    print_bounds("resized", shifted);
    MPI_Type_free(&type);
    MPI_Type_free(&shifted);
    MPI_Type_dup(MPI_INT64_T, &type);
    print_bounds("dup of a fixed type", type);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    records();
    blocks();
    columns();
    bounds();
    MPI_Finalize();
    return 0;
}
