/* Constructors of types of blocks at arbitrary displacements: indexed,
 * hindexed, the same for blocks of one length, and struct. In a struct, members
 * that are contiguous memory become bytes, adjacent members of one type become
 * one, and a struct in a struct is replaced by its members. */

#include "core/entry.h"
#include "core/refuse.h"
#include "type/builder.h"

/** Make a type of blocks of one type.
 * @param lengths  NULL: all blocks have `length` elements
 * @param in_bytes displacements are in bytes; else in extents of the type */
static catena_status_t make_indexed(const char *name, size_t count,
                                    const size_t *lengths, size_t length,
                                    const ptrdiff_t *displacements,
                                    bool in_bytes, catena_type_t of,
                                    catena_type_t *out)
{
    const ctn_type_t *old = ctn_type_to_derive(name, of, out);
    if (old == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_type_blocks_t blocks;
    ctn_type_blocks_open(&blocks, old, count, false);
    for (size_t i = 0; !blocks.memory.failed && i < count; i++) {
        ctn_type_blocks_add(&blocks, old, lengths != NULL ? lengths[i] : length,
                            displacements[i], in_bytes ? 1 : old->extent);
    }
    return ctn_type_blocks_build(name, &blocks, out);
}

catena_status_t catena_type_indexed(size_t count, const size_t blocklengths[],
                                    const ptrdiff_t displacements[],
                                    catena_type_t old, catena_type_t *out)
{
    CTN_ENTRY;
    if (count > 0 && (blocklengths == NULL || displacements == NULL)) {
        return CTN_REFUSE_NULL(NULL, blocklengths, displacements);
    }
    return make_indexed("indexed", count, blocklengths, 0, displacements, false,
                        old, out);
}

catena_status_t catena_type_hindexed(size_t count, const size_t blocklengths[],
                                     const ptrdiff_t displacements[],
                                     catena_type_t old, catena_type_t *out)
{
    CTN_ENTRY;
    if (count > 0 && (blocklengths == NULL || displacements == NULL)) {
        return CTN_REFUSE_NULL(NULL, blocklengths, displacements);
    }
    return make_indexed("hindexed", count, blocklengths, 0, displacements, true,
                        old, out);
}

catena_status_t catena_type_indexed_block(size_t count, size_t blocklength,
                                          const ptrdiff_t displacements[],
                                          catena_type_t old, catena_type_t *out)
{
    CTN_ENTRY;
    if (count > 0 && displacements == NULL) {
        return CTN_REFUSE_NULL(NULL, displacements);
    }
    return make_indexed("indexed_block", count, NULL, blocklength,
                        displacements, false, old, out);
}

catena_status_t catena_type_hindexed_block(size_t count, size_t blocklength,
                                           const ptrdiff_t displacements[],
                                           catena_type_t old,
                                           catena_type_t *out)
{
    CTN_ENTRY;
    if (count > 0 && displacements == NULL) {
        return CTN_REFUSE_NULL(NULL, displacements);
    }
    return make_indexed("hindexed_block", count, NULL, blocklength,
                        displacements, true, old, out);
}

catena_status_t catena_type_struct(size_t count, const size_t blocklengths[],
                                   const ptrdiff_t displacements[],
                                   const catena_type_t types[],
                                   catena_type_t *out)
{
    CTN_ENTRY;
    if (out == NULL ||
        (count > 0 &&
         (blocklengths == NULL || displacements == NULL || types == NULL))) {
        return CTN_REFUSE_NULL(NULL, out, blocklengths, displacements, types);
    }
    size_t most = 0; /* blocks */
    for (size_t i = 0; i < count; i++) {
        const ctn_type_t *type = ctn_type_of(types[i]);
        if (ctn_type_is_unusable(type)) {
            return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                              "types[%zu] " CTN_NO_TYPE, i);
        }
        most += ctn_type_is_struct(type) ? type->level[0].count : 1;
    }
    ctn_type_blocks_t blocks;
    ctn_type_blocks_open(&blocks, ctn_type_fixed[CTN_FIXED_byte], most, true);
    for (size_t i = 0; !blocks.memory.failed && i < count; i++) {
        ctn_type_blocks_add(&blocks, ctn_type_of(types[i]), blocklengths[i],
                            displacements[i], 1);
    }
    return ctn_type_blocks_build("struct", &blocks, out);
}
