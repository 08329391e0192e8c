/* Datatypes and operations of MPI as catena's. */

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload.h"

/* Predefined types without gaps. They cannot be freed, so their handles stay
 * what they are; a hash table finds them. */
enum { SLOTS = 256 };

static preload_type_t table[SLOTS];
static bool used[SLOTS];

static size_t slot_of(MPI_Datatype datatype)
{
    return ((uintptr_t)datatype * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
}

/** Find a predefined type; NULL: it is none of the table. */
static const preload_type_t *find(MPI_Datatype datatype)
{
    for (size_t i = slot_of(datatype); used[i]; i = (i + 1) % SLOTS) {
        if (table[i].mpi == datatype) {
            return &table[i];
        }
    }
    return NULL;
}

static void add(MPI_Datatype datatype, catena_type_t type)
{
    if (datatype == MPI_DATATYPE_NULL || find(datatype) != NULL) {
        return;
    }
    size_t i = slot_of(datatype);
    while (used[i]) {
        i = (i + 1) % SLOTS;
    }
    size_t bytes = catena_type_size(type);
    used[i] = true;
    table[i] = (preload_type_t){type, datatype, 1, bytes, (ptrdiff_t)bytes};
}

static catena_type_t signed_of(size_t bytes)
{
    return bytes == 1   ? CATENA_INT8
           : bytes == 2 ? CATENA_INT16
           : bytes == 4 ? CATENA_INT32
                        : CATENA_INT64;
}

static catena_type_t unsigned_of(size_t bytes)
{
    return bytes == 1   ? CATENA_UINT8
           : bytes == 2 ? CATENA_UINT16
           : bytes == 4 ? CATENA_UINT32
                        : CATENA_UINT64;
}

/** Types of Fortran, which a library may lack. */
static void add_if(MPI_Datatype datatype, bool integer)
{
    int bytes = 0;
    if (datatype == MPI_DATATYPE_NULL ||
        PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS) {
        return;
    }
    if (integer && bytes >= 1 && bytes <= 8) {
        add(datatype, signed_of((size_t)bytes));
    } else if (!integer && (bytes == 4 || bytes == 8)) {
        add(datatype, bytes == 4 ? CATENA_FLOAT : CATENA_DOUBLE);
    }
}

void preload_types_open(void)
{
    add(MPI_BYTE, CATENA_BYTE);
    add(MPI_PACKED, CATENA_BYTE);
    add(MPI_CHAR, CATENA_BYTE);
    add(MPI_CHARACTER, CATENA_BYTE);
    add(MPI_WCHAR, CATENA_INT32);
    add(MPI_SIGNED_CHAR, CATENA_INT8);
    add(MPI_SHORT, CATENA_INT16);
    add(MPI_INT, CATENA_INT32);
    add(MPI_LONG, signed_of(sizeof(long)));
    add(MPI_LONG_LONG, CATENA_INT64);
    add(MPI_UNSIGNED_CHAR, CATENA_UINT8);
    add(MPI_UNSIGNED_SHORT, CATENA_UINT16);
    add(MPI_UNSIGNED, CATENA_UINT32);
    add(MPI_UNSIGNED_LONG, unsigned_of(sizeof(unsigned long)));
    add(MPI_UNSIGNED_LONG_LONG, CATENA_UINT64);
    add(MPI_INT8_T, CATENA_INT8);
    add(MPI_INT16_T, CATENA_INT16);
    add(MPI_INT32_T, CATENA_INT32);
    add(MPI_INT64_T, CATENA_INT64);
    add(MPI_UINT8_T, CATENA_UINT8);
    add(MPI_UINT16_T, CATENA_UINT16);
    add(MPI_UINT32_T, CATENA_UINT32);
    add(MPI_UINT64_T, CATENA_UINT64);
    add(MPI_AINT, CATENA_INT64);
    add(MPI_OFFSET, CATENA_INT64);
    add(MPI_COUNT, CATENA_INT64);
    add(MPI_FLOAT, CATENA_FLOAT);
    add(MPI_DOUBLE, CATENA_DOUBLE);
    add(MPI_C_FLOAT_COMPLEX, CATENA_COMPLEX_FLOAT);
    add(MPI_C_DOUBLE_COMPLEX, CATENA_COMPLEX_DOUBLE);
    add(MPI_COMPLEX, CATENA_COMPLEX_FLOAT);
    add(MPI_DOUBLE_COMPLEX, CATENA_COMPLEX_DOUBLE);
    add(MPI_2INT, CATENA_INT32_INT32);
    add(MPI_FLOAT_INT, CATENA_FLOAT_INT32);
    add_if(MPI_INTEGER, true);
    add_if(MPI_REAL, false);
    add_if(MPI_DOUBLE_PRECISION, false);
}

/** Whether a type was made with counts longer than an int (MPI 4), which the
 * functions below do not return. */
static bool has_large_counts(MPI_Datatype datatype)
{
#if MPI_VERSION >= 4
    MPI_Count counts[4]; /* integers, addresses, large counts, types */
    int combiner;
    return PMPI_Type_get_envelope_c(datatype, &counts[0], &counts[1],
                                    &counts[2], &counts[3],
                                    &combiner) != MPI_SUCCESS ||
           counts[2] > 0;
#else
    (void)datatype;
    return false;
#endif
}

/** Whether a type whose size and extent are equal has no gaps, and its bytes in
 * order: a predefined one, or a number of elements of one. The size and extent
 * of others do not tell the order. */
static bool is_contiguous(MPI_Datatype datatype)
{
    int counts[3]; /* integers, addresses, types */
    int combiner;
    int number;
    MPI_Aint address;
    MPI_Datatype old;
    if (has_large_counts(datatype) ||
        PMPI_Type_get_envelope(datatype, &counts[0], &counts[1], &counts[2],
                               &combiner) != MPI_SUCCESS) {
        return false;
    }
    if (combiner == MPI_COMBINER_NAMED) {
        return true;
    }
    if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) ||
        PMPI_Type_get_contents(datatype, counts[0], counts[1], counts[2],
                               &number, &address, &old) != MPI_SUCCESS) {
        return false;
    }
    if (find(old) != NULL) {
        return true;
    }
    bool contiguous = is_contiguous(old);
    combiner = MPI_COMBINER_CONTIGUOUS;
    if (!has_large_counts(old)) {
        PMPI_Type_get_envelope(old, &counts[0], &counts[1], &counts[2],
                               &combiner);
    }
    if (combiner != MPI_COMBINER_NAMED) { /* a handle of our own */
        PMPI_Type_free(&old);
    }
    return contiguous;
}

bool preload_type(MPI_Datatype datatype, preload_type_t *type)
{
    const preload_type_t *known = find(datatype);
    MPI_Count bytes;
    MPI_Count lower;
    MPI_Count extent;
    if (known != NULL) {
        *type = *known;
        return true;
    }
    if (datatype == MPI_DATATYPE_NULL ||
        PMPI_Type_size_x(datatype, &bytes) != MPI_SUCCESS || bytes < 0 ||
        PMPI_Type_get_extent_x(datatype, &lower, &extent) != MPI_SUCCESS) {
        return false;
    }
    *type =
        (preload_type_t){NULL, datatype, 1, (size_t)bytes, (ptrdiff_t)extent};
    if (bytes > 0 && extent == bytes && is_contiguous(datatype)) {
        type->type = CATENA_BYTE;
        type->units = (size_t)bytes;
    }
    return true;
}

/* ---- packing ---- */

/** Elements that are packed at once: MPI counts bytes by an int. */
static size_t most_of(const preload_type_t *type)
{
    size_t most = INT_MAX / (type->bytes > 0 ? type->bytes : 1);
    if (most == 0) {
        PRELOAD_ERROR(
            "a derived type with gaps has %zu bytes; at most %d can be "
            "packed; set CATENA_MPI=off",
            type->bytes, INT_MAX);
        PMPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    return most;
}

/** Pack elements, or unpack them. Some libraries take no MPI_BOTTOM there, so
 * its type is made relative to another address. */
static void move(const preload_type_t *type, char *user, size_t count,
                 char *packed, bool pack)
{
    static char base;
    MPI_Datatype moved = type->mpi;
    int elements = (int)count;
    int bytes = (int)(count * type->bytes);
    int at = 0;
    if (user == NULL) {
        MPI_Aint shift = -(MPI_Aint)(uintptr_t)&base;
        PMPI_Type_create_hindexed(1, &elements, &shift, type->mpi, &moved);
        PMPI_Type_commit(&moved);
        user = &base;
        elements = 1;
    }
    if (pack) {
        PMPI_Pack(user, elements, moved, packed, bytes, &at, MPI_COMM_SELF);
    } else {
        PMPI_Unpack(packed, bytes, &at, user, elements, moved, MPI_COMM_SELF);
    }
    if (moved != type->mpi) {
        PMPI_Type_free(&moved);
    }
}

static void move_all(const preload_type_t *type, char *user, size_t count,
                     char *packed, bool pack)
{
    size_t most = type->bytes > 0 ? most_of(type) : 0;
    for (size_t i = 0; most > 0 && i < count; i += most) {
        move(type, user + (ptrdiff_t)i * type->extent,
             count - i < most ? count - i : most, packed + i * type->bytes,
             pack);
    }
}

void preload_pack(const preload_type_t *type, const void *from, size_t count,
                  void *to)
{
    move_all(type, (char *)(uintptr_t)from, count, to, true);
}

void preload_unpack(const preload_type_t *type, const void *from, void *to,
                    size_t count)
{
    move_all(type, to, count, (char *)(uintptr_t)from, false);
}

/* ---- operations ---- */

/** The catena_op_function_t of an operation that the MPI library applies. */
static void reduce_by_mpi(const void *in, void *inout, size_t count,
                          catena_type_t type, void *argument)
{
    const preload_op_t *op = argument;
    size_t bytes = catena_type_size(type);
    for (size_t i = 0; i < count; i += INT_MAX) {
        size_t now = count - i < INT_MAX ? count - i : INT_MAX;
        PMPI_Reduce_local((const char *)in + i * bytes,
                          (char *)inout + i * bytes, (int)now, op->datatype,
                          op->mpi);
    }
}

/** Catena's operation of the same meaning; NULL: none. */
static catena_op_t op_of(MPI_Op op)
{
    return op == MPI_SUM      ? CATENA_SUM
           : op == MPI_MAX    ? CATENA_MAX
           : op == MPI_MIN    ? CATENA_MIN
           : op == MPI_PROD   ? CATENA_PROD
           : op == MPI_LAND   ? CATENA_LAND
           : op == MPI_LOR    ? CATENA_LOR
           : op == MPI_LXOR   ? CATENA_LXOR
           : op == MPI_BAND   ? CATENA_BAND
           : op == MPI_BOR    ? CATENA_BOR
           : op == MPI_BXOR   ? CATENA_BXOR
           : op == MPI_MINLOC ? CATENA_MINLOC
           : op == MPI_MAXLOC ? CATENA_MAXLOC
                              : NULL;
}

/** Whether catena's operation takes a type (op.h). */
static bool takes(catena_op_t op, catena_type_t type)
{
    uintptr_t kind = (uintptr_t)type >> 4;
    uintptr_t family = (uintptr_t)op >> 4;
    bool integer = kind == 0x11 || kind == 0x12;
    return family == 0x23   ? kind == 0x15
           : family == 0x22 ? integer || type == CATENA_BYTE
           : family == 0x21 ? integer
           : op == CATENA_MAX || op == CATENA_MIN
               ? integer || kind == 0x13
               : integer || kind == 0x13 || kind == 0x14;
}

bool preload_op_open(preload_op_t *op, MPI_Op mpi, MPI_Datatype datatype)
{
    int commutes = 1;
    preload_type_t type;
    if (mpi == MPI_OP_NULL || !preload_type(datatype, &type)) {
        return false;
    }
    *op = (preload_op_t){.op = op_of(mpi), .mpi = mpi, .datatype = datatype};
    op->type = type.type;
    op->bytes = type.bytes;
    if (type.units != 1) {
        return false;
    }
    if (op->op != NULL && op->type != NULL && takes(op->op, op->type)) {
        return true;
    }
    /* Elements without gaps that the MPI library reduces. */
    if (op->op != NULL || type.extent != (ptrdiff_t)type.bytes ||
        type.type == NULL ||
        PMPI_Op_commutative(mpi, &commutes) != MPI_SUCCESS) {
        return false;
    }
    if (catena_op_create(reduce_by_mpi, op, commutes, &op->op) != CATENA_OK) {
        preload_no_memory(sizeof(*op));
    }
    op->made = true;
    return true;
}

void preload_op_close(preload_op_t *op)
{
    if (op->made) {
        (void)catena_op_free(&op->op);
    }
}
