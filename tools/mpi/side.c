/* Buffers of MPI as catena gets them. */

#include <stdlib.h>

#include "preload.h"

/** Blocks that are to be packed, `side->bytes` in all. */
static void begin_packed(preload_side_t *side, int blocks)
{
    side->packed = true;
    side->user = side->buffer;
    side->blocks = (size_t)blocks;
    side->buffer = preload_alloc(side->bytes);
}

/** The elements of a packed block. @param[out] type theirs
 * @param[out] packed where they are */
static size_t elements_of(const preload_side_t *side, size_t i,
                          const preload_type_t **type, char **packed)
{
    *type = side->types != NULL ? &side->types[i] : &side->from;
    *packed = (char *)side->buffer +
              (side->counts != NULL
                   ? side->displacements[i]
                   : (ptrdiff_t)(i * side->elements * side->from.bytes));
    return side->counts != NULL ? (size_t)side->user_counts[i] : side->elements;
}

/** Where the program has a block. */
static char *user_block(const preload_side_t *side, size_t i)
{
    ptrdiff_t at = side->user_places != NULL ? side->user_places[i]
                   : side->counts == NULL
                       ? (ptrdiff_t)(i * side->elements) * side->from.extent
                       : side->user_displacements[i] *
                             (side->types != NULL ? 1 : side->from.extent);
    return (char *)side->user + at;
}

static void pack(preload_side_t *side)
{
    const preload_type_t *type;
    char *packed;
    for (size_t i = 0; i < side->blocks; i++) {
        size_t elements = elements_of(side, i, &type, &packed);
        if (elements > 0) {
            preload_pack(type, user_block(side, i), elements, packed);
        }
    }
}

static void unpack(const preload_side_t *side)
{
    const preload_type_t *type;
    char *packed;
    for (size_t i = 0; i < side->blocks; i++) {
        size_t elements = elements_of(side, i, &type, &packed);
        if (elements > 0) {
            preload_unpack(type, packed, user_block(side, i), elements);
        }
    }
}

bool preload_open_blocks(preload_side_t *side, const void *buffer, int count,
                         MPI_Datatype datatype, int blocks, bool contents)
{
    preload_type_t type;
    preload_no_side(side, buffer);
    if (buffer == MPI_IN_PLACE) {
        return true;
    }
    if (count < 0 || !preload_type(datatype, &type)) {
        return false;
    }
    side->bytes = (size_t)count * type.bytes * (size_t)blocks;
    if (type.type != NULL) {
        side->count = (size_t)count * type.units;
        side->type = type.type;
        return true;
    }
    side->count = (size_t)count * type.bytes;
    side->from = type;
    side->elements = (size_t)count;
    begin_packed(side, blocks);
    if (contents) {
        pack(side);
    }
    return true;
}

/** The counts of packed blocks, and their displacements, one after the other.
 */
static void count_packed(preload_side_t *side, size_t i, size_t bytes)
{
    side->counts[i] = bytes;
    side->displacements[i] = (ptrdiff_t)side->bytes;
    side->bytes += bytes;
}

/** Memory for the counts of blocks. @return false: one is negative */
static bool open_counts(preload_side_t *side, const int *counts, int blocks)
{
    size_t n = (size_t)blocks;
    bool valid = counts != NULL || n == 0;
    for (size_t i = 0; valid && i < n; i++) {
        valid = counts[i] >= 0;
    }
    if (valid) {
        side->counts = preload_alloc(n * (sizeof(size_t) + sizeof(ptrdiff_t)));
        side->displacements = (ptrdiff_t *)(void *)(side->counts + n);
        side->user_counts = counts;
    }
    return valid;
}

bool preload_open_vector(preload_side_t *side, const void *buffer,
                         const int *counts, const int *displacements,
                         MPI_Datatype datatype, int blocks, bool contents)
{
    preload_type_t type;
    preload_no_side(side, buffer);
    if (buffer == MPI_IN_PLACE) {
        return true;
    }
    if ((displacements == NULL && blocks > 0) ||
        !preload_type(datatype, &type) || !open_counts(side, counts, blocks)) {
        return false;
    }
    side->user_displacements = displacements;
    side->from = type;
    if (type.type == NULL) {
        for (int i = 0; i < blocks; i++) {
            count_packed(side, (size_t)i, (size_t)counts[i] * type.bytes);
        }
        begin_packed(side, blocks);
        if (contents) {
            pack(side);
        }
        return true;
    }
    side->type = type.type;
    for (int i = 0; i < blocks; i++) {
        side->counts[i] = (size_t)counts[i] * type.units;
        side->displacements[i] = displacements[i] * (ptrdiff_t)type.units;
        side->bytes += (size_t)counts[i] * type.bytes;
    }
    return true;
}

bool preload_open_typed(preload_side_t *side, const void *buffer,
                        const int *counts, const int *displacements,
                        const MPI_Aint *places, const MPI_Datatype *datatypes,
                        int blocks, bool contents)
{
    size_t n = (size_t)blocks;
    preload_no_side(side, buffer);
    if (buffer == MPI_IN_PLACE) {
        return true;
    }
    if ((displacements == NULL && places == NULL && n > 0) ||
        (datatypes == NULL && n > 0) || !open_counts(side, counts, blocks)) {
        return false;
    }
    side->user_displacements = displacements;
    side->user_places = places;
    side->types = preload_alloc(n * sizeof(*side->types));
    for (size_t i = 0; i < n; i++) {
        /* A block of no elements may have no type. */
        if (counts[i] > 0 && !preload_type(datatypes[i], &side->types[i])) {
            return false;
        }
        count_packed(side, i,
                     counts[i] > 0 ? (size_t)counts[i] * side->types[i].bytes
                                   : 0);
    }
    begin_packed(side, blocks);
    if (contents) {
        pack(side);
    }
    return true;
}

void preload_keep_side(preload_side_t *side)
{
    if (!side->packed) {
        return;
    }
    side->keeps = true;
    if (side->types == NULL) {
        PMPI_Type_dup(side->from.mpi, &side->from.mpi);
    }
    for (size_t i = 0; side->types != NULL && i < side->blocks; i++) {
        if (side->user_counts[i] > 0) {
            PMPI_Type_dup(side->types[i].mpi, &side->types[i].mpi);
        }
    }
}

void preload_release_side(preload_side_t *side, bool received)
{
    if (side->packed && received) {
        unpack(side);
    }
    if (side->keeps && side->types == NULL) {
        PMPI_Type_free(&side->from.mpi);
    }
    for (size_t i = 0; side->keeps && side->types != NULL && i < side->blocks;
         i++) {
        if (side->user_counts[i] > 0) {
            PMPI_Type_free(&side->types[i].mpi);
        }
    }
    if (side->packed) {
        free(side->buffer);
    }
    free(side->types);
    free(side->counts);
}
