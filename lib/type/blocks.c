/* Types of blocks at arbitrary displacements. Blocks of one type get a level
 * with their displacements, or strided levels if lengths and distances are
 * uniform; blocks of several types get a level of members. */

#include "type/builder.h"

/* ---- the list of blocks ---- */

void ctn_type_blocks_open(ctn_type_blocks_t *blocks, const ctn_type_t *old,
                          size_t most, bool flatten)
{
    *blocks = (ctn_type_blocks_t){
        .old = old, .flatten = flatten, .element = old->element};
    ctn_region_t *memory = &blocks->memory;
    blocks->length = ctn_region_take(memory, most, sizeof(*blocks->length));
    blocks->displacement =
        ctn_region_take(memory, most, sizeof(*blocks->displacement));
    blocks->type = ctn_region_take(memory, most, sizeof(*blocks->type));
}

bool ctn_type_is_struct(const ctn_type_t *type)
{
    return type->depth == 1 && type->level[0].kind == CTN_LEVEL_MEMBERS;
}

/** Replace elements that are contiguous memory by their bytes. */
static bool to_bytes(const ctn_type_t **type, size_t *length,
                     ptrdiff_t *displacement)
{
    const ctn_type_t *of = *type;
    if (of->depth > 0 || (*length != 1 && of->extent != (ptrdiff_t)of->bytes)) {
        return true;
    }
    *type = ctn_type_fixed[CTN_FIXED_byte];
    return !__builtin_mul_overflow(*length, of->bytes, length) &&
           !__builtin_add_overflow(*displacement, of->shift, displacement);
}

/** Append a block, or extend the last one if it continues that.
 * @return false on overflow */
static bool append(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                   size_t length, ptrdiff_t displacement)
{
    size_t last = blocks->count - 1;
    ptrdiff_t end;
    if (blocks->flatten && !to_bytes(&type, &length, &displacement)) {
        return false;
    }
    if (blocks->count > 0 && blocks->type[last] == type &&
        !__builtin_mul_overflow(blocks->length[last], type->extent, &end) &&
        !__builtin_add_overflow(blocks->displacement[last], end, &end) &&
        end == displacement) {
        return !__builtin_add_overflow(blocks->length[last], length,
                                       &blocks->length[last]);
    }
    blocks->mixed |= blocks->count > 0 && blocks->type[0] != type;
    blocks->type[blocks->count] = type;
    blocks->length[blocks->count] = length;
    blocks->displacement[blocks->count++] = displacement;
    return true;
}

/** Append the members of one element of a struct. */
static bool append_struct(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                          ptrdiff_t displacement)
{
    const ctn_level_t *level = &type->level[0];
    for (size_t i = 0; i < level->count; i++) {
        const ctn_type_t *of = level->member[i];
        size_t bytes = level->start[i + 1] - level->start[i];
        ptrdiff_t at = type->shift + level->displacement[i];
        if (__builtin_sub_overflow(at, of->shift, &at) ||
            __builtin_add_overflow(displacement, at, &at) ||
            !append(blocks, of, bytes / of->bytes, at)) {
            return false;
        }
    }
    return true;
}

/** Extend the bounds to a block. @return false on overflow */
static bool extend_bounds(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                          size_t length, ptrdiff_t displacement)
{
    ctn_bounds_t markers = {type->lower, type->lower + type->extent};
    ctn_bounds_t data = {type->true_low, type->true_high};
    bool fit = ctn_bounds_add(&blocks->markers, !blocks->bounded, markers,
                              displacement, length, type->extent);
    blocks->bounded = true;
    if (type->bytes > 0) {
        fit &= ctn_bounds_add(&blocks->data, blocks->bytes == 0, data,
                              displacement, length, type->extent);
    }
    return fit;
}

/** Add a block that is not empty. @return false on overflow */
static bool add(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                size_t length, ptrdiff_t displacement)
{
    size_t bytes;
    if (!extend_bounds(blocks, type, length, displacement)) {
        return false;
    }
    if (type->bytes == 0) {
        return true;
    }
    blocks->element = blocks->bytes > 0 && blocks->element != type->element
                          ? CTN_FIXED_mixed
                          : type->element;
    if (__builtin_mul_overflow(type->bytes, length, &bytes) ||
        __builtin_add_overflow(blocks->bytes, bytes, &blocks->bytes)) {
        return false;
    }
    return blocks->flatten && length == 1 && ctn_type_is_struct(type)
               ? append_struct(blocks, type, displacement)
               : append(blocks, type, length, displacement);
}

void ctn_type_blocks_add(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                         size_t length, ptrdiff_t displacement, ptrdiff_t unit)
{
    if (length > 0 && !blocks->overflow) {
        blocks->overflow =
            __builtin_mul_overflow(displacement, unit, &displacement) ||
            !add(blocks, type, length, displacement);
    }
}

/* ---- the type ---- */

/* All sums and differences below are within the bounds of the data, whose
 * distance fits ptrdiff_t, or within the bytes of the stream. */

/** Set the displacements of a level, relative to the first block. */
static void set_displacements(const ctn_type_blocks_t *blocks,
                              ptrdiff_t *displacement)
{
    for (size_t i = 0; i < blocks->count; i++) {
        displacement[i] = blocks->displacement[i] - blocks->displacement[0];
    }
}

/** Set where blocks start in the stream. */
static void set_starts(const ctn_type_blocks_t *blocks, size_t *start)
{
    start[0] = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        start[i + 1] = start[i] + blocks->length[i] * blocks->type[i]->bytes;
    }
}

/** Build the type of blocks of one type. */
static ctn_type_builder_t build_blocks(const char *name,
                                       const ctn_type_blocks_t *blocks)
{
    /* Of the elements of a block, and of the blocks. */
    enum { ADDED_LEVELS = 2 };
    const ctn_type_t *old = blocks->type[0];
    const ptrdiff_t *at = blocks->displacement;
    ptrdiff_t stride = blocks->count > 1 ? at[1] - at[0] : 0;
    bool same_length = true;
    bool regular = true;
    for (size_t i = 1; i < blocks->count; i++) {
        same_length &= blocks->length[i] == blocks->length[0];
        regular &= same_length && at[i] - at[i - 1] == stride;
    }
    size_t words = regular ? 0 : (same_length ? 1 : 2) * blocks->count + 1;
    ctn_type_builder_t builder =
        ctn_type_builder_begin(name, old, ADDED_LEVELS, words * sizeof(size_t));
    if (same_length) {
        ctn_type_builder_repeat(&builder, blocks->length[0], old->extent);
    }
    if (regular) {
        ctn_type_builder_repeat(&builder, blocks->count, stride);
    }
    ctn_type_builder_shift(&builder, at[0]);
    if (regular || builder.status != CATENA_OK) {
        return builder;
    }
    ctn_type_t *type = builder.type;
    ptrdiff_t *displacement =
        ctn_type_builder_arrays(&builder, old, ADDED_LEVELS);
    ctn_level_t level = {.kind = CTN_LEVEL_SCATTERED,
                         .bytes = blocks->bytes,
                         .count = blocks->count,
                         .stride = old->extent,
                         .displacement = displacement};
    set_displacements(blocks, displacement);
    if (!same_length) {
        size_t *start = (size_t *)(void *)(displacement + blocks->count);
        set_starts(blocks, start);
        level.kind = CTN_LEVEL_INDEXED;
        level.start = start;
        ctn_type_flatten(type, &type->depth, &level.stride);
    }
    type->level[type->depth++] = level;
    return builder;
}

/** Build the type of blocks of several types: a level of members. */
static ctn_type_builder_t build_members(const char *name,
                                        const ctn_type_blocks_t *blocks)
{
    const ctn_type_t *byte = ctn_type_fixed[CTN_FIXED_byte];
    size_t count = blocks->count;
    ctn_type_builder_t builder =
        ctn_type_builder_begin(name, byte, 1, (3 * count + 1) * sizeof(size_t));
    if (builder.status != CATENA_OK) {
        return builder;
    }
    ctn_type_t *type = builder.type;
    ptrdiff_t *displacement = ctn_type_builder_arrays(&builder, byte, 1);
    size_t *start = (size_t *)(void *)(displacement + count);
    const ctn_type_t **member =
        (const ctn_type_t **)(void *)(start + count + 1);
    set_starts(blocks, start);
    for (size_t i = 0; i < count; i++) {
        member[i] = ctn_type_hold(blocks->type[i]);
        blocks->displacement[i] += member[i]->shift;
    }
    set_displacements(blocks, displacement);
    type->shift = blocks->displacement[0];
    type->run = 1;
    type->depth = 1;
    type->members = count;
    type->level[0] = (ctn_level_t){.kind = CTN_LEVEL_MEMBERS,
                                   .bytes = blocks->bytes,
                                   .count = count,
                                   .displacement = displacement,
                                   .start = start,
                                   .member = member};
    return builder;
}

/** Build the type. */
static ctn_type_builder_t build(const char *name,
                                const ctn_type_blocks_t *blocks)
{
    const ctn_bounds_t *data = &blocks->data;
    const ctn_bounds_t *markers = &blocks->markers;
    ptrdiff_t unused;
    ptrdiff_t extent = 0;
    bool fits = !blocks->overflow &&
                !__builtin_sub_overflow(data->high, data->low, &unused) &&
                !__builtin_sub_overflow(markers->high, markers->low, &extent);
    ctn_type_builder_t builder =
        !fits || blocks->count == 0
            ? ctn_type_builder_begin(name, blocks->old, 0, 0)
        : blocks->mixed ? build_members(name, blocks)
                        : build_blocks(name, blocks);
    if (builder.status == CATENA_OK && !fits) {
        builder.status = CATENA_ERR_ARG;
    }
    if (builder.status != CATENA_OK) {
        return builder;
    }
    if (blocks->count == 0) {
        ctn_type_builder_clear(&builder);
    }
    builder.type->lower = markers->low;
    builder.type->extent = extent;
    builder.type->true_low = data->low;
    builder.type->true_high = data->high;
    builder.type->bytes = blocks->bytes;
    builder.type->element = blocks->element;
    return builder;
}

catena_status_t ctn_type_blocks_build(const char *name,
                                      ctn_type_blocks_t *blocks,
                                      catena_type_t *out)
{
    if (blocks->memory.failed) {
        return ctn_region_release(&blocks->memory);
    }
    ctn_type_builder_t builder = build(name, blocks);
    (void)ctn_region_release(&blocks->memory);
    return ctn_type_builder_finish(&builder, out);
}
