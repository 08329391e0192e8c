/* Constructors of derived types with regular spacing, and resized and dup: all
 * except the indexed types and struct (indexed.c). */

#include "core/entry.h"
#include "core/refuse.h"
#include "type/builder.h"

/** `count` blocks of `blocklength` elements, `stride_bytes` apart. */
static catena_status_t make_strided(const char *name, size_t count,
                                    size_t blocklength, ptrdiff_t stride_bytes,
                                    catena_type_t of, catena_type_t *out)
{
    const ctn_type_t *old = ctn_type_to_derive(name, of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_type_builder_t builder = ctn_type_builder_begin(name, old, 2, 0);
    if (count == 0 || blocklength == 0) {
        ctn_type_builder_clear(&builder);
    } else {
        ctn_type_builder_repeat(&builder, blocklength, old->extent);
        ctn_type_builder_repeat(&builder, count, stride_bytes);
    }
    return ctn_type_builder_finish(&builder, out);
}

catena_status_t catena_type_contiguous(size_t count, catena_type_t old,
                                       catena_type_t *out)
{
    CTN_ENTRY;
    return make_strided("contiguous", 1, count, 0, old, out);
}

catena_status_t catena_type_vector(size_t count, size_t blocklength,
                                   ptrdiff_t stride, catena_type_t of,
                                   catena_type_t *out)
{
    CTN_ENTRY;
    const ctn_type_t *old = ctn_type_to_derive("vector", of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    ptrdiff_t bytes = 0;
    /* The stride is not significant for a single block, or without data. */
    if (count > 1 && blocklength > 0 &&
        __builtin_mul_overflow(stride, old->extent, &bytes)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                          "a stride of %td elements of %td bytes does not fit "
                          "the address space",
                          stride, old->extent);
    }
    return make_strided("vector", count, blocklength, bytes, of, out);
}

catena_status_t catena_type_hvector(size_t count, size_t blocklength,
                                    ptrdiff_t stride_bytes, catena_type_t old,
                                    catena_type_t *out)
{
    CTN_ENTRY;
    return make_strided("hvector", count, blocklength, stride_bytes, old, out);
}

catena_status_t catena_type_resized(catena_type_t of, ptrdiff_t lower_bound,
                                    ptrdiff_t extent, catena_type_t *out)
{
    CTN_ENTRY;
    const ctn_type_t *old = ctn_type_to_derive("resized", of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_type_builder_t builder = ctn_type_builder_begin("resized", old, 0, 0);
    if (builder.status == CATENA_OK) {
        builder.type->lower = lower_bound;
        builder.type->extent = extent;
    }
    return ctn_type_builder_finish(&builder, out);
}

catena_status_t catena_type_dup(catena_type_t of, catena_type_t *out)
{
    CTN_ENTRY;
    const ctn_type_t *old = ctn_type_to_derive("dup", of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_type_builder_t builder = ctn_type_builder_begin(old->name, old, 0, 0);
    return ctn_type_builder_finish(&builder, out);
}

/** The arguments of catena_type_subarray: a box of elements in an array. */
typedef struct type_box {
    size_t ndims; /* number of dimensions */
    const size_t *sizes;
    const size_t *subsizes;
    const size_t *starts;
    catena_order_t order;
} type_box_t;

/** Check the arguments. @param[out] empty the box has no elements */
static catena_status_t check_box(const type_box_t *box, bool *empty)
{
    static const char function[] = "catena_type_subarray";
    *empty = false;
    if (box->ndims == 0) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, function,
                          "ndims is 0; expected 1 or more");
    }
    if (box->order != CATENA_ORDER_C && box->order != CATENA_ORDER_FORTRAN) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, function,
                          "order is %d; expected CATENA_ORDER_C or "
                          "CATENA_ORDER_FORTRAN",
                          (int)box->order);
    }
    for (size_t d = 0; d < box->ndims; d++) {
        if (box->subsizes[d] > box->sizes[d] ||
            box->starts[d] > box->sizes[d] - box->subsizes[d]) {
            return ctn_refuse(NULL, CATENA_ERR_ARG, function,
                              "%zu elements from %zu are not within the %zu of "
                              "dimension %zu",
                              box->subsizes[d], box->starts[d], box->sizes[d],
                              d);
        }
        *empty |= box->subsizes[d] == 0;
    }
    return CATENA_OK;
}

/** Repeat an element in each dimension, beginning with the one whose elements
 * are contiguous.
 * @param extent of the element */
static void repeat_box(ctn_type_builder_t *builder, const type_box_t *box,
                       ptrdiff_t extent, bool empty)
{
    ptrdiff_t stride = extent; /* in the array, of dimension d */
    for (size_t i = 0; i < box->ndims && builder->status == CATENA_OK; i++) {
        bool c_order = box->order == CATENA_ORDER_C;
        size_t d = c_order ? box->ndims - 1 - i : i;
        ptrdiff_t start;
        if (!empty) {
            ctn_type_builder_repeat(builder, box->subsizes[d], stride);
            if (__builtin_mul_overflow(box->starts[d], stride, &start)) {
                builder->status = CATENA_ERR_ARG;
            } else {
                ctn_type_builder_shift(builder, start);
            }
        }
        if (__builtin_mul_overflow(box->sizes[d], stride, &stride)) {
            builder->status = CATENA_ERR_ARG;
        }
    }
    if (builder->status == CATENA_OK) {
        builder->type->lower = 0;
        builder->type->extent = stride;
    }
}

catena_status_t catena_type_subarray(size_t ndims, const size_t sizes[],
                                     const size_t subsizes[],
                                     const size_t starts[],
                                     catena_order_t order, catena_type_t of,
                                     catena_type_t *out)
{
    CTN_ENTRY;
    const ctn_type_t *old = ctn_type_to_derive("subarray", of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    if (sizes == NULL || subsizes == NULL || starts == NULL) {
        return CTN_REFUSE_NULL(NULL, sizes, subsizes, starts);
    }
    type_box_t box = {ndims, sizes, subsizes, starts, order};
    bool empty;
    catena_status_t status = check_box(&box, &empty);
    if (status != CATENA_OK) {
        return status;
    }
    /* With more dimensions of two elements or more a box has more elements than
     * size_t can count. The other dimensions add no level. */
    size_t levels = ndims < CTN_TYPE_LEVELS ? ndims : CTN_TYPE_LEVELS;
    ctn_type_builder_t builder =
        ctn_type_builder_begin("subarray", old, levels, 0);
    if (empty) {
        ctn_type_builder_clear(&builder);
    }
    repeat_box(&builder, &box, old->extent, empty);
    return ctn_type_builder_finish(&builder, out);
}
