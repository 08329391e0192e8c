#include "type/builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/refuse.h"

const ctn_type_t *ctn_type_to_derive(const char *name, catena_type_t old,
                                     const catena_type_t *out)
{
    const ctn_type_t *type = ctn_type_of(old);
    if (ctn_type_is_unusable(type)) {
        ctn_error(NULL, "catena_type_%s: old " CTN_NO_TYPE, name);
        return NULL;
    }
    if (out == NULL) {
        ctn_error(NULL, "catena_type_%s: out " CTN_IS_NULL, name);
    }
    return out != NULL ? type : NULL;
}

ctn_type_builder_t ctn_type_builder_begin(const char *name,
                                          const ctn_type_t *old, size_t levels,
                                          size_t bytes)
{
    ctn_type_builder_t builder = {.type = NULL, .status = CATENA_OK};
    size_t head = sizeof(*old) + (old->depth + levels) * sizeof(ctn_level_t);
    ctn_type_t *type = NULL;
    if (!__builtin_add_overflow(head, bytes, &bytes)) {
        type = malloc(bytes);
    }
    if (type == NULL) {
        builder.status = CATENA_ERR_NO_MEMORY;
        return builder;
    }
    memcpy(type, old, sizeof(*old));
    if (old->depth > 0) {
        memcpy(type->level, old->level, old->depth * sizeof(ctn_level_t));
    }
    type->name = name;
    type->derived = true;
    type->references = 1;
    CTN_MARK_SET(type, CTN_TYPE);
    type->held = NULL;
    type->members = 0;
    for (uint32_t i = 0; i < old->depth; i++) {
        if (old->level[i].kind != CTN_LEVEL_STRIDED) {
            type->held = ctn_type_hold(old);
            break;
        }
    }
    builder.type = type;
    return builder;
}

void *ctn_type_builder_arrays(ctn_type_builder_t *builder,
                              const ctn_type_t *old, size_t levels)
{
    return &builder->type->level[old->depth + levels];
}

void ctn_type_builder_clear(ctn_type_builder_t *builder)
{
    if (builder->status != CATENA_OK) {
        return;
    }
    ctn_type_t *type = builder->type;
    type->bytes = 0;
    type->lower = 0;
    type->extent = 0;
    type->true_low = 0;
    type->true_high = 0;
    type->depth = 0;
    type->run = 0;
    type->shift = 0;
}

void ctn_type_builder_shift(ctn_type_builder_t *builder, ptrdiff_t offset)
{
    if (builder->status != CATENA_OK) {
        return;
    }
    ctn_type_t *type = builder->type;
    bool overflow = __builtin_add_overflow(type->lower, offset, &type->lower);
    if (type->bytes > 0) {
        overflow |=
            __builtin_add_overflow(type->true_low, offset, &type->true_low);
        overflow |=
            __builtin_add_overflow(type->true_high, offset, &type->true_high);
        overflow |= __builtin_add_overflow(type->shift, offset, &type->shift);
    }
    if (overflow) {
        builder->status = CATENA_ERR_ARG;
    }
}

bool ctn_bounds_repeat(ctn_bounds_t *bounds, size_t count, ptrdiff_t stride)
{
    ptrdiff_t reach;
    if (__builtin_mul_overflow(count - 1, stride, &reach)) {
        return false;
    }
    ptrdiff_t *moved = reach < 0 ? &bounds->low : &bounds->high;
    return !__builtin_add_overflow(*moved, reach, moved);
}

bool ctn_bounds_add(ctn_bounds_t *all, bool first, ctn_bounds_t bounds,
                    ptrdiff_t displacement, size_t length, ptrdiff_t extent)
{
    if (!ctn_bounds_repeat(&bounds, length, extent) ||
        __builtin_add_overflow(bounds.low, displacement, &bounds.low) ||
        __builtin_add_overflow(bounds.high, displacement, &bounds.high)) {
        return false;
    }
    if (first || bounds.low < all->low) {
        all->low = bounds.low;
    }
    if (first || bounds.high > all->high) {
        all->high = bounds.high;
    }
    return true;
}

/** Extend the true bounds, the lower bound and the extent, and multiply
 * type->bytes, for `count` repetitions `stride` apart. @return false on
 * overflow */
static bool repeat_bounds(ctn_type_t *type, size_t count, ptrdiff_t stride)
{
    ctn_bounds_t data = {type->true_low, type->true_high};
    ctn_bounds_t markers = {type->lower, 0};
    if (__builtin_add_overflow(type->lower, type->extent, &markers.high) ||
        !ctn_bounds_repeat(&markers, count, stride) ||
        __builtin_sub_overflow(markers.high, markers.low, &type->extent)) {
        return false;
    }
    type->lower = markers.low;
    if (type->bytes == 0) {
        return true;
    }
    if (!ctn_bounds_repeat(&data, count, stride)) {
        return false;
    }
    type->true_low = data.low;
    type->true_high = data.high;
    return !__builtin_mul_overflow(type->bytes, count, &type->bytes);
}

/** Whether `count` bodies, `stride` apart, are continued at the same stride by
 * others that lie `distance` further: distance = count * stride. */
static bool follows(size_t count, ptrdiff_t stride, ptrdiff_t distance)
{
    ptrdiff_t all;
    return !__builtin_mul_overflow(count, stride, &all) && all == distance;
}

void ctn_type_builder_repeat(ctn_type_builder_t *builder, size_t count,
                             ptrdiff_t stride)
{
    if (builder->status != CATENA_OK) {
        return;
    }
    ctn_type_t *type = builder->type;
    if (!repeat_bounds(type, count, stride)) {
        builder->status = CATENA_ERR_ARG;
        return;
    }
    if (type->bytes == 0 || count == 1) {
        return;
    }
    if (type->depth == 0 && follows(1, (ptrdiff_t)type->run, stride)) {
        type->run = type->bytes;
        return;
    }
    ctn_level_t *top = &type->level[type->depth]; /* the new level */
    if (type->depth > 0 && top[-1].kind == CTN_LEVEL_STRIDED &&
        follows(top[-1].count, top[-1].stride, stride)) {
        top[-1].count *= count;
        top[-1].bytes = type->bytes;
        return;
    }
    *top = (ctn_level_t){.kind = CTN_LEVEL_STRIDED,
                         .bytes = type->bytes,
                         .count = count,
                         .stride = stride};
    type->depth++;
}

void ctn_type_flatten(const ctn_type_t *type, uint32_t *depth,
                      ptrdiff_t *stride)
{
    if (*depth == 0) {
        return;
    }
    const ctn_level_t *top = &type->level[*depth - 1];
    if (top->kind == CTN_LEVEL_STRIDED &&
        follows(top->count, top->stride, *stride)) {
        *stride = top->stride;
        --*depth;
    }
}

/** Whether the upper bound and the distance between any two bytes of data fit
 * ptrdiff_t. Sums of displacements are not checked after this. */
static bool bounds_fit(const ctn_type_t *type)
{
    ptrdiff_t unused;
    return !__builtin_add_overflow(type->lower, type->extent, &unused) &&
           !__builtin_sub_overflow(type->true_high, type->true_low, &unused);
}

catena_status_t ctn_type_builder_finish(ctn_type_builder_t *builder,
                                        catena_type_t *out)
{
    ctn_type_t *type = builder->type;
    if (builder->status == CATENA_OK && !bounds_fit(type)) {
        builder->status = CATENA_ERR_ARG;
    }
    if (builder->status != CATENA_OK) {
        if (type != NULL) {
            ctn_error(NULL,
                      "catena_type_%s: the type does not fit the address space",
                      type->name);
            ctn_type_drop(type);
        }
        return builder->status;
    }
    assert(type->depth < CTN_TYPE_LEVELS);
    type->stream_depth = type->depth;
    type->stream_stride = type->extent;
    ctn_type_flatten(type, &type->stream_depth, &type->stream_stride);
    type->dense = type->depth == 0 && type->shift == 0 && type->lower == 0 &&
                  follows(1, (ptrdiff_t)type->bytes, type->extent);
    *out = (catena_type_t)type;
    return CATENA_OK;
}
