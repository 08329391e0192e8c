/* Derived types: structs, blocks of one length, copies, bounds. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { RECORDS = 2, CELLS = 10, PICKED = 3 };

typedef struct record {
    double value;
    int32_t number;
    char name[3];
} record_t;

static catena_context_t *context;
static catena_group_t *world;
static int rank, size;

static void print_bounds(const char *name, catena_type_t type)
{
    size_t bytes = catena_type_size(type);
    ptrdiff_t lower, extent, true_lower, true_extent;
    check(context, catena_type_extent(type, &lower, &extent));
    check(context, catena_type_true_extent(type, &true_lower, &true_extent));
    printf("%d: %s: %zu bytes, from %ld, extent %ld, data from %ld, %ld long\n",
           rank, name, bytes, (long)lower, (long)extent, (long)true_lower,
           (long)true_extent);
}

static catena_type_t record_type(void)
{
    const size_t lengths[] = {1, 1, 3};
    const ptrdiff_t at[] = {offsetof(record_t, value),
                            offsetof(record_t, number),
                            offsetof(record_t, name)};
    const catena_type_t types[] = {CATENA_DOUBLE, CATENA_INT32, CATENA_BYTE};
    catena_type_t members, type;
    check(context, catena_type_struct(3, lengths, at, types, &members));
    check(context, catena_type_resized(members, 0, sizeof(record_t), &type));
    check(context, catena_type_free(&members));
    return type;
}

/** All records of all ranks; then one of the last rank, by a copy of the type
 * that outlives it. */
static void records(void)
{
    catena_type_t type = record_type(), copy;
    record_t own[RECORDS], *all = calloc(size, sizeof(own));
    for (int i = 0; i < RECORDS; i++) {
        own[i] = (record_t){rank + i / 8.0, -rank, {'a' + rank, 'A' + i, '.'}};
    }
    check(context,
          catena_allgather(own, RECORDS, type, all, RECORDS, type, world));
    for (int i = 0; i < RECORDS * size; i++) {
        printf("%d: record %d: %g %d %.3s\n", rank, i, all[i].value,
               (int)all[i].number, all[i].name);
    }
    print_bounds("record", type);
    check(context, catena_type_dup(type, &copy));
    check(context, catena_type_free(&type));
    print_bounds("copy", copy);
    check(context, catena_bcast(&own[1], 1, copy, size - 1, world));
    printf("%d: copy: %g %d %.3s\n", rank, own[1].value, (int)own[1].number,
           own[1].name);
    check(context, catena_type_free(&copy));
    free(all);
}

/** Picked pairs of cells of each rank, without the others, at the last rank. */
static void picked(const char *name, catena_type_t type)
{
    int32_t cells[CELLS], *all = calloc(size, sizeof(cells));
    for (int i = 0; i < CELLS; i++) {
        cells[i] = 100 * rank + i;
    }
    print_bounds(name, type);
    check(context, catena_gather(cells, 1, type, all, 2 * PICKED, CATENA_INT32,
                                 size - 1, world));
    for (int i = 0; rank == size - 1 && i < 2 * PICKED * size; i++) {
        printf("%d: %s: %d\n", rank, name, (int)all[i]);
    }
    check(context, catena_type_free(&type));
    free(all);
}

static void blocks(void)
{
    const ptrdiff_t indices[PICKED] = {7, 1, 4};
    const ptrdiff_t bytes[PICKED] = {8, 32, 20};
    catena_type_t type;
    check(context,
          catena_type_indexed_block(PICKED, 2, indices, CATENA_INT32, &type));
    picked("indexed block", type);
    check(context,
          catena_type_hindexed_block(PICKED, 2, bytes, CATENA_INT32, &type));
    picked("hindexed block", type);
}

/** A matrix with a row on each rank, transposed: columns are elements. */
static void columns(void)
{
    int32_t *rows = calloc(2 * size, sizeof(*rows));
    int32_t *column = calloc(2 * size, sizeof(*column));
    catena_type_t vector, type;
    for (int i = 0; i < 2 * size; i++) {
        rows[i] = 100 * rank + i;
    }
    check(context, catena_type_vector(2, 1, size, CATENA_INT32, &vector));
    check(context, catena_type_resized(vector, 0, sizeof(int32_t), &type));
    print_bounds("vector", vector);
    print_bounds("column", type);
    check(context,
          catena_alltoall(rows, 1, type, column, 2, CATENA_INT32, world));
    for (int i = 0; i < 2 * size; i++) {
        printf("%d: column: %d\n", rank, (int)column[i]);
    }
    check(context, catena_type_free(&vector));
    check(context, catena_type_free(&type));
    free(rows);
    free(column);
}

static void bounds(void)
{
    const size_t sizes[] = {5, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
    const size_t lengths[] = {2, 1};
    const ptrdiff_t at[] = {-3, 4};
    catena_type_t type, shifted;
    check(context, catena_type_subarray(2, sizes, subsizes, starts,
                                        CATENA_ORDER_C, CATENA_DOUBLE, &type));
    print_bounds("subarray", type);
    check(context, catena_type_free(&type));
    check(context, catena_type_indexed(2, lengths, at, CATENA_INT32, &type));
    print_bounds("indexed", type);
    check(context, catena_type_resized(type, -64, 256, &shifted));
    print_bounds("resized", shifted);
    check(context, catena_type_free(&type));
    check(context, catena_type_free(&shifted));
    check(context, catena_type_dup(CATENA_INT64, &type));
    print_bounds("dup of a fixed type", type);
    check(context, catena_type_free(&type));
}

int main(void)
{
    check(NULL, catena_init(NULL, &context));
    world = catena_world(context);
    rank = catena_group_rank(world);
    size = catena_group_size(world);
    records();
    blocks();
    columns();
    bounds();
    check(NULL, catena_finalize(&context));
    return 0;
}
