#include <string.h>

#include <catena/heap.h>

#include "context.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "exec/exec.h"
#include "heap/heap.h"
#include "heap/segment.h"

/* The public functions of the heap. Any thread may call those that allocate and
 * free. So they do not call `reclaim` when the heap is full, as ctn_heap_alloc
 * does for the library: that makes progress on operations, which only the
 * context's thread may do. */

/** Refuse an allocation. @return NULL */
CTN_REFUSES static void *refuse_alloc(const char *function,
                                      const catena_context_t *context)
{
    (void)ctn_refuse_handle(function, "context", context);
    return NULL;
}

void *catena_malloc(catena_context_t *context, size_t bytes)
{
    return !CTN_UNUSABLE(context, CTN_CONTEXT)
               ? ctn_arena_alloc(&context->heap->arena, 0, bytes)
               : refuse_alloc(__func__, context);
}

void *catena_calloc(catena_context_t *context, size_t count, size_t bytes)
{
    size_t all;
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return refuse_alloc(__func__, context);
    }
    if (__builtin_mul_overflow(count, bytes, &all)) {
        (void)ctn_refuse(&context->log, CATENA_ERR_ARG, __func__,
                         "%zu elements of %zu bytes are more than there are "
                         "addresses",
                         count, bytes);
        return NULL;
    }
    return ctn_arena_alloc_zeroed(&context->heap->arena, 0, all, all);
}

void *catena_realloc(catena_context_t *context, void *block, size_t bytes)
{
    return !CTN_UNUSABLE(context, CTN_CONTEXT)
               ? ctn_arena_realloc(&context->heap->arena, block, bytes)
               : refuse_alloc(__func__, context);
}

void *catena_aligned_alloc(catena_context_t *context, size_t alignment,
                           size_t bytes)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return refuse_alloc(__func__, context);
    }
    if (alignment > CTN_ALIGN_MAX || (alignment & (alignment - 1)) != 0) {
        (void)ctn_refuse(&context->log, CATENA_ERR_ARG, __func__,
                         "the alignment is %zu; expected a power of two up to "
                         "%d",
                         alignment, CTN_ALIGN_MAX);
        return NULL;
    }
    return ctn_arena_alloc(&context->heap->arena, alignment, bytes);
}

void catena_free(catena_context_t *context, void *block)
{
    if (!CTN_UNUSABLE(context, CTN_CONTEXT)) {
        ctn_heap_free(context->heap, block);
    }
}

static const ctn_sized_t stats_struct = CTN_SIZED(catena_heap_stats_t, frees);

catena_status_t catena_heap_get_stats(const catena_context_t *context,
                                      catena_heap_stats_t *stats)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT) || stats == NULL) {
        return CTN_REFUSE_NULL(ctn_log_of(context), context, stats);
    }
    catena_heap_stats_t own;
    ctn_heap_get_stats(context->heap, &own);
    return ctn_sized_write(__func__, &context->log, &stats_struct, &own, stats);
}

catena_status_t catena_heap_offset(const catena_context_t *context,
                                   const void *block, uint64_t *offset)
{
    uint64_t found;
    if (CTN_UNUSABLE(context, CTN_CONTEXT) || offset == NULL || block == NULL) {
        return CTN_REFUSE_NULL(ctn_log_of(context), context, offset, block);
    }
    if (!ctn_heap_contains(context->heap, block, 1, &found)) {
        return ctn_refuse(&context->log, CATENA_ERR_ARG, __func__,
                          "%p is not in the heap of this rank; expected memory "
                          "of catena_malloc",
                          block);
    }
    *offset = found;
    return CATENA_OK;
}

/** Return the address here of [offset, offset + bytes) of a rank's arena; NULL
 * (logged): the rank is not on this node, or the range ends beyond the arena.
 */
static void *reach(const char *function, const catena_context_t *context,
                   int rank, uint64_t offset, size_t bytes)
{
    ctn_endpoint_t *endpoint;
    size_t arena = ctn_heap_arena_bytes(context->heap);
    if (context->node->ops->connect(context->node, (uint64_t)rank, &endpoint) !=
            CATENA_OK ||
        ctn_pointer(endpoint, 0) == NULL) {
        (void)ctn_refuse(&context->log, CATENA_ERR_ARG, function,
                         "rank %d is not on this node; expected a rank that is",
                         rank);
        return NULL;
    }
    if (offset > arena || bytes > arena - offset) {
        (void)ctn_refuse(
            &context->log, CATENA_ERR_ARG, function,
            "%zu bytes at offset %llu are beyond the heap of rank %d; expected "
            "an offset of catena_heap_offset",
            bytes, (unsigned long long)offset, rank);
        return NULL;
    }
    return ctn_pointer(endpoint, offset);
}

catena_status_t catena_heap_pointer(const catena_context_t *context, int rank,
                                    uint64_t offset, void **local)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(context, CTN_CONTEXT) || local == NULL) {
        return CTN_REFUSE_NULL(ctn_log_of(context), context, local);
    }
    void *found = reach(__func__, context, rank, offset, 1);
    if (found == NULL) {
        return CATENA_ERR_ARG;
    }
    *local = found;
    return CATENA_OK;
}

/** Copy `bytes` to or from a rank's arena. */
static catena_status_t copy(const char *function, catena_context_t *context,
                            int rank, uint64_t offset, void *own, size_t bytes,
                            bool put)
{
    void *there = reach(function, context, rank, offset, bytes);
    if (there == NULL) {
        return CATENA_ERR_ARG;
    }
    if (bytes > 0) { /* memcpy takes no NULL */
        memcpy(put ? there : own, put ? own : there, bytes);
    }
    ctn_exec_charge(context->exec, CTN_WORK_COPY, bytes);
    return CATENA_OK;
}

catena_status_t catena_node_put(catena_context_t *context, int rank,
                                uint64_t offset, const void *send, size_t bytes)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return ctn_refuse_handle(__func__, "context", context);
    }
    if (send == NULL && bytes > 0) {
        return CTN_REFUSE_NULL(&context->log, send);
    }
    return copy(__func__, context, rank, offset, (void *)(uintptr_t)send, bytes,
                true);
}

catena_status_t catena_node_get(catena_context_t *context, int rank,
                                uint64_t offset, void *recv, size_t bytes)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return ctn_refuse_handle(__func__, "context", context);
    }
    if (recv == NULL && bytes > 0) {
        return CTN_REFUSE_NULL(&context->log, recv);
    }
    return copy(__func__, context, rank, offset, recv, bytes, false);
}
