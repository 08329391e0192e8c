/* Constructors of types of blocks at arbitrary displacements: indexed,
 * hindexed, and the same for blocks of one length. The blocks are read twice:
 * first to find out whether lengths and distances are uniform, then to write
 * the arrays of the level if they are not. */

#include "core/refuse.h"
#include "type/builder.h"

/** An iterator over the caller's blocks. It omits empty blocks, and merges a
 * block with the next one if that begins where the first one ends. */
typedef struct blocks {
    ctn_type_blocks_t given; /* the caller's blocks */
    const ctn_type_t *old;   /* type of their elements */
    size_t next;             /* index of the next block in `given` */
    bool overflow; /* a displacement or length does not fit its type */
} blocks_t;

/** A merged block. */
typedef struct type_block {
    ptrdiff_t displacement; /* bytes */
    size_t length;          /* elements */
} type_block_t;

/** What all merged blocks have in common. */
typedef struct type_survey {
    size_t blocks;      /* number of merged blocks */
    type_block_t first; /* the first one */
    ptrdiff_t stride;   /* bytes from the first to the second one */
    bool same_length;   /* all have the same length */
    bool same_stride;   /* all are `stride` apart */
    bool overflow;      /* as in blocks_t */
} type_survey_t;

/** Elements of the caller's block i. */
static size_t length_of(const ctn_type_blocks_t *blocks, size_t i)
{
    return blocks->lengths != NULL ? blocks->lengths[i] : blocks->length;
}

/** Set *block to the caller's next block that is not empty; the iterator stays
 * in front of it. @return false: there is none, or overflow */
static bool peek(blocks_t *list, type_block_t *block)
{
    const ctn_type_blocks_t *given = &list->given;
    while (list->next < given->count && length_of(given, list->next) == 0) {
        list->next++;
    }
    if (list->next >= given->count || list->overflow) {
        return false;
    }
    block->length = length_of(given, list->next);
    list->overflow = __builtin_mul_overflow(given->displacements[list->next],
                                            given->unit, &block->displacement);
    return !list->overflow;
}

/** Set *block to the next merged block, and advance the iterator.
 * @return false: there is none, or overflow */
static bool next_block(blocks_t *list, type_block_t *block)
{
    if (!peek(list, block)) {
        return false;
    }
    list->next++;
    type_block_t after;
    while (peek(list, &after)) {
        ptrdiff_t end;
        if (__builtin_mul_overflow(block->length, list->old->extent, &end) ||
            __builtin_add_overflow(block->displacement, end, &end) ||
            end != after.displacement) {
            break;
        }
        if (__builtin_add_overflow(block->length, after.length,
                                   &block->length)) {
            list->overflow = true;
            return false;
        }
        list->next++;
    }
    return !list->overflow;
}

static type_survey_t survey_blocks(blocks_t list)
{
    type_survey_t survey = {.same_length = true, .same_stride = true};
    type_block_t block;
    ptrdiff_t last = 0;
    while (next_block(&list, &block)) {
        ptrdiff_t stride = 0;
        if (survey.blocks == 0) {
            survey.first = block;
        } else if (__builtin_sub_overflow(block.displacement, last, &stride)) {
            list.overflow = true;
            break;
        } else if (survey.blocks == 1) {
            survey.stride = stride;
        }
        survey.same_length &= block.length == survey.first.length;
        survey.same_stride &= survey.blocks == 0 || stride == survey.stride;
        survey.blocks++;
        last = block.displacement;
    }
    survey.overflow = list.overflow;
    return survey;
}

/** Set the bounds of the type to those of all blocks. After this the data are
 * known to span less than PTRDIFF_MAX, so differences of displacements need no
 * checks. @return false on overflow */
static bool set_bounds(ctn_type_t *type, blocks_t list)
{
    const ctn_type_t *old = list.old;
    /* MPI's lower and upper bound, and the true ones: of an element, of all. */
    ctn_bounds_t marker = {old->lower, old->lower + old->extent};
    ctn_bounds_t datum = {old->true_low, old->true_high};
    ctn_bounds_t markers = {0, 0};
    ctn_bounds_t data = {0, 0};
    type_block_t block;
    bool first = true;
    for (; next_block(&list, &block); first = false) {
        if (!ctn_bounds_add(&markers, first, marker, block.displacement,
                            block.length, old->extent) ||
            (old->bytes > 0 &&
             !ctn_bounds_add(&data, first, datum, block.displacement,
                             block.length, old->extent))) {
            return false;
        }
    }
    ptrdiff_t unused;
    type->lower = markers.low;
    type->true_low = data.low;
    type->true_high = data.high;
    return !list.overflow &&
           !__builtin_sub_overflow(markers.high, markers.low, &type->extent) &&
           !__builtin_sub_overflow(data.high, data.low, &unused);
}

/** Write the arrays of the level of the blocks: displacements, relative to the
 * first block, and unless `start` is NULL the blocks' offsets in the stream.
 * @param[out] bytes of the stream, all blocks
 * @return false on overflow */
static bool fill(blocks_t list, ptrdiff_t *displacement, size_t *start,
                 size_t *bytes)
{
    type_block_t block;
    type_block_t first = {0, 0};
    *bytes = 0;
    for (size_t i = 0; next_block(&list, &block); i++) {
        if (i == 0) {
            first = block;
        }
        displacement[i] = block.displacement - first.displacement;
        size_t more;
        if (__builtin_mul_overflow(block.length, list.old->bytes, &more) ||
            __builtin_add_overflow(*bytes, more, bytes)) {
            return false;
        }
        if (start != NULL) {
            start[0] = 0;
            start[i + 1] = *bytes;
        }
    }
    return true;
}

/* At most: one for the elements of a block, one for the blocks. */
enum { ADDED_LEVELS = 2 };

/** Add the level of the blocks to the type. */
static void add_blocks(ctn_type_builder_t *builder, const blocks_t *list,
                       const type_survey_t *survey)
{
    ctn_type_t *type = builder->type;
    ctn_level_t level = {.kind = CTN_LEVEL_SCATTERED,
                         .count = survey->blocks,
                         .stride = list->old->extent};
    if (survey->same_length) {
        ctn_type_builder_repeat(builder, survey->first.length, level.stride);
    }
    ctn_type_builder_shift(builder, survey->first.displacement);
    if (builder->status != CATENA_OK) {
        return;
    }
    ptrdiff_t *displacement =
        ctn_type_builder_arrays(builder, list->old, ADDED_LEVELS);
    size_t *start = NULL;
    if (!survey->same_length) {
        start = (size_t *)(void *)(displacement + survey->blocks);
        level.kind = CTN_LEVEL_INDEXED;
        ctn_type_flatten(type, &type->depth, &level.stride);
    }
    if (!set_bounds(type, *list)) {
        builder->status = CATENA_ERR_ARG;
        return;
    }
    if (type->bytes == 0) {
        return;
    }
    if (!fill(*list, displacement, start, &level.bytes)) {
        builder->status = CATENA_ERR_ARG;
        return;
    }
    level.displacement = displacement;
    level.start = start;
    type->bytes = level.bytes;
    type->level[type->depth++] = level;
}

/** Return the bytes of these arrays; on overflow SIZE_MAX, whose allocation
 * fails. */
static size_t array_bytes(const type_survey_t *survey)
{
    size_t words;
    size_t bytes;
    if (__builtin_mul_overflow(survey->blocks, survey->same_length ? 1 : 2,
                               &words) ||
        __builtin_add_overflow(words, 1, &words) ||
        __builtin_mul_overflow(words, sizeof(size_t), &bytes)) {
        return SIZE_MAX;
    }
    return bytes;
}

ctn_type_builder_t ctn_type_builder_indexed(const char *name,
                                            const ctn_type_blocks_t *blocks,
                                            const ctn_type_t *old)
{
    const blocks_t list = {.given = *blocks, .old = old};
    type_survey_t survey = survey_blocks(list);
    bool regular = survey.same_length && survey.same_stride;
    ctn_type_builder_t builder = ctn_type_builder_begin(
        name, old, ADDED_LEVELS, regular ? 0 : array_bytes(&survey));
    if (builder.status == CATENA_OK && survey.overflow) {
        builder.status = CATENA_ERR_ARG;
    }
    if (builder.status != CATENA_OK) {
        return builder;
    }
    if (survey.blocks == 0) {
        ctn_type_builder_clear(&builder);
    } else if (regular) {
        ctn_type_builder_repeat(&builder, survey.first.length, old->extent);
        ctn_type_builder_repeat(&builder, survey.blocks, survey.stride);
        ctn_type_builder_shift(&builder, survey.first.displacement);
    } else {
        add_blocks(&builder, &list, &survey);
    }
    return builder;
}

/** @param in_bytes displacements are in bytes; else in extents of the old
 * type */
static catena_status_t make_indexed(const char *name, ctn_type_blocks_t blocks,
                                    bool in_bytes, catena_type_t of,
                                    catena_type_t *out)
{
    const ctn_type_t *old = ctn_type_to_derive(name, of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    blocks.unit = in_bytes ? 1 : old->extent;
    ctn_type_builder_t builder = ctn_type_builder_indexed(name, &blocks, old);
    return ctn_type_builder_finish(&builder, out);
}

/** Blocks, each with its own length. */
static ctn_type_blocks_t blocks_of(size_t count, const size_t *lengths,
                                   const ptrdiff_t *displacements)
{
    return (ctn_type_blocks_t){
        .count = count, .lengths = lengths, .displacements = displacements};
}

/** Blocks of one length. */
static ctn_type_blocks_t blocks_like(size_t count, size_t length,
                                     const ptrdiff_t *displacements)
{
    return (ctn_type_blocks_t){
        .count = count, .length = length, .displacements = displacements};
}

catena_status_t catena_type_indexed(size_t count, const size_t blocklengths[],
                                    const ptrdiff_t displacements[],
                                    catena_type_t old, catena_type_t *out)
{
    if (count > 0 && (blocklengths == NULL || displacements == NULL)) {
        return CTN_REFUSE_NULL(NULL, blocklengths, displacements);
    }
    return make_indexed("indexed",
                        blocks_of(count, blocklengths, displacements), false,
                        old, out);
}

catena_status_t catena_type_hindexed(size_t count, const size_t blocklengths[],
                                     const ptrdiff_t displacements[],
                                     catena_type_t old, catena_type_t *out)
{
    if (count > 0 && (blocklengths == NULL || displacements == NULL)) {
        return CTN_REFUSE_NULL(NULL, blocklengths, displacements);
    }
    return make_indexed("hindexed",
                        blocks_of(count, blocklengths, displacements), true,
                        old, out);
}

catena_status_t catena_type_indexed_block(size_t count, size_t blocklength,
                                          const ptrdiff_t displacements[],
                                          catena_type_t old, catena_type_t *out)
{
    if (count > 0 && displacements == NULL) {
        return CTN_REFUSE_NULL(NULL, displacements);
    }
    return make_indexed("indexed_block",
                        blocks_like(count, blocklength, displacements), false,
                        old, out);
}

catena_status_t catena_type_hindexed_block(size_t count, size_t blocklength,
                                           const ptrdiff_t displacements[],
                                           catena_type_t old,
                                           catena_type_t *out)
{
    if (count > 0 && displacements == NULL) {
        return CTN_REFUSE_NULL(NULL, displacements);
    }
    return make_indexed("hindexed_block",
                        blocks_like(count, blocklength, displacements), true,
                        old, out);
}
