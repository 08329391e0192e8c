#include "coll/blocks.h"

#include <string.h>

#include "topo/topo.h"

/* A copy between two non-contiguous blocks goes through this much stack. */
enum { STAGING_BYTES = 2048 };

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

CTN_HOT void ctn_span_read(ctn_exec_t *exec, const ctn_span_t *block,
                           size_t from, size_t bytes, void *out)
{
    if (block->type == NULL) {
        ctn_exec_copy(exec, out, block->base + from, bytes);
        return;
    }
    if (!exec->drop_data) {
        (void)ctn_type_pack(block->type, block->base, from, bytes, out);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

CTN_HOT void ctn_span_write(ctn_exec_t *exec, const ctn_span_t *block,
                            size_t from, size_t bytes, const void *in)
{
    if (block->type == NULL) {
        ctn_exec_copy(exec, block->base + from, in, bytes);
        return;
    }
    if (!exec->drop_data) {
        (void)ctn_type_unpack(block->type, block->base, from, bytes, in);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

CTN_HOT void ctn_span_copy(ctn_exec_t *exec, const ctn_span_t *target,
                           const ctn_span_t *source)
{
    size_t bytes =
        target->bytes < source->bytes ? target->bytes : source->bytes;
    if (target->type == NULL) {
        ctn_span_read(exec, source, 0, bytes, target->base);
        return;
    }
    if (source->type == NULL) {
        ctn_span_write(exec, target, 0, bytes, source->base);
        return;
    }
    unsigned char staging[STAGING_BYTES];
    for (size_t at = 0; at < bytes; at += STAGING_BYTES) {
        size_t chunk = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        ctn_span_read(exec, source, at, chunk, staging);
        ctn_span_write(exec, target, at, chunk, staging);
    }
}

catena_status_t ctn_blocks_report_mismatch(const ctn_exec_t *exec,
                                           uint32_t from, uint32_t to,
                                           uint64_t found, uint64_t expected)
{
    ctn_error(exec->log,
              "alltoall: the block from rank %u to rank %u has %llu bytes; "
              "expected %llu; the lengths of sender and receiver must match",
              from, to, (unsigned long long)found,
              (unsigned long long)expected);
    return CATENA_ERR_ARG;
}

uint64_t ctn_span_offset(const ctn_exec_t *exec, const ctn_span_t *block)
{
    uint64_t offset;
    return block->type == NULL && ctn_heap_contains(exec->heap, block->base,
                                                    block->bytes, &offset)
               ? offset
               : CTN_STAGED;
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
