#include "coll/blocks.h"

#include "topo/topo.h"

CTN_HOT bool ctn_block_fits(const ctn_coll_side_t *side, uint32_t i,
                            size_t *all)
{
    bool typed = side->types != NULL;
    const ctn_type_t *type = ctn_side_type(side, i);
    size_t bytes;
    if (__builtin_mul_overflow(side->counts[i], type->bytes, &bytes) ||
        __builtin_add_overflow(*all, bytes, all)) {
        return false;
    }
    if (bytes == 0 || side->displacements == NULL) {
        return true;
    }
    /* Neither the first nor the last element may begin below address 0. The
     * buffer may be CATENA_BOTTOM (0). -1 passes here: CATENA_IN_PLACE is -1,
     * and is refused elsewhere. */
    intptr_t at;     /* address of the data of the element */
    ptrdiff_t reach; /* distance to it, in bytes */
    return !(
        __builtin_add_overflow((intptr_t)side->buffer, type->true_low, &at) ||
        __builtin_mul_overflow(side->displacements[i], typed ? 1 : type->extent,
                               &reach) ||
        __builtin_add_overflow(at, reach, &at) || at < -1 ||
        __builtin_mul_overflow(side->counts[i] - 1, type->extent, &reach) ||
        __builtin_add_overflow(at, reach, &at) || at < -1);
}

uint64_t ctn_blocks_base(const ctn_exec_t *exec, const ctn_blocks_t *blocks,
                         uint32_t n)
{
    if (blocks->counts == NULL) {
        ctn_span_t all = ctn_blocks_at(blocks, 0);
        all.bytes *= n;
        return ctn_span_offset(exec, &all);
    }
    for (uint32_t i = 0; i < n; i++) {
        ctn_span_t block = ctn_blocks_at(blocks, i);
        if (block.bytes > 0 && ctn_span_offset(exec, &block) == CTN_STAGED) {
            return CTN_STAGED;
        }
    }
    return 0;
}
