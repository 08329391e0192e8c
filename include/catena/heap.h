#ifndef CATENA_HEAP_H
#define CATENA_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared heap: one memory segment per node, mapped by all its ranks
 * ([Peng], section 7.1). Collectives move large data into heap buffers with a
 * single copy. All functions except the fence are thread safe within a process.
 * Without a context nothing is allocated (NULL) or freed. */

/** Statistics of the heap; sizes in bytes. */
typedef struct catena_heap_stats {
    size_t size;       /**< sizeof this struct, set by the caller */
    size_t limit;      /**< CATENA_HEAP_SIZE of the node */
    size_t node_taken; /**< taken from the segment by all ranks of the node */
    size_t taken;      /**< taken from the segment by this rank */
    size_t in_use; /**< allocated by this rank, rounded to its size classes */
    size_t peak;   /**< largest in_use so far */
    uint64_t allocations; /**< successful allocations so far */
    uint64_t frees;       /**< frees so far */
} catena_heap_stats_t;

/** Allocate heap memory, aligned to 16 (to 64 from 64 bytes on); 0 bytes give a
 * pointer that can be freed. Only the rank that allocated may free.
 * Memory of freed groups and requests comes back while catena makes progress;
 * this function does not wait for it.
 * @return NULL if the heap is full; the shortage is logged once */
CATENA_API void *catena_malloc(catena_context_t *context, size_t bytes);

/** As catena_malloc, zeroed; NULL also when count * bytes overflows. */
CATENA_API void *catena_calloc(catena_context_t *context, size_t count,
                               size_t bytes);

/** As realloc(3) for heap memory; on NULL the old block is unchanged. */
CATENA_API void *catena_realloc(catena_context_t *context, void *block,
                                size_t bytes);

/** As catena_malloc with an alignment: a power of two up to 2 MiB. */
CATENA_API void *catena_aligned_alloc(catena_context_t *context,
                                      size_t alignment, size_t bytes);

/** Free heap memory. NULL is allowed. A pointer that is not from this rank's
 * heap, or a second free, ends the process with a message. */
CATENA_API void catena_free(catena_context_t *context, void *block);

/** Return statistics of the heap, as far as this rank knows them.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_heap_get_stats(
    const catena_context_t *context, catena_heap_stats_t *stats);

/** Return the address, in this process, of a block from another rank's heap on
 * this node.
 * @param[in]  rank   world rank of the owner, on this node
 * @param[in]  offset the owner's catena_heap_offset of the block
 * @param[out] local  valid until the owner frees the block
 * @return CATENA_OK, ERR_ARG (not on this node, offset outside the heap) */
CATENA_API catena_status_t catena_heap_pointer(const catena_context_t *context,
                                               int rank, uint64_t offset,
                                               void **local);

/** Return the offset of a block in this rank's heap, for a peer's
 * catena_heap_pointer. ERR_ARG if `block` is not in the heap. */
CATENA_API catena_status_t catena_heap_offset(const catena_context_t *context,
                                              const void *block,
                                              uint64_t *offset);

/** Blocking on-node RMA-Put ([Peng], section 7.1): on return the data is in the
 * memory of `rank`. `source` may be any memory. */
CATENA_API catena_status_t catena_node_put(catena_context_t *context, int rank,
                                           uint64_t offset, const void *source,
                                           size_t bytes);

/** Blocking on-node RMA-Get: on return the data is in `target`. */
CATENA_API catena_status_t catena_node_get(catena_context_t *context, int rank,
                                           uint64_t offset, void *target,
                                           size_t bytes);

/** RMA-fence: a barrier of the ranks of this node; puts and gets before it are
 * visible to all of them after it. */
CATENA_API catena_status_t catena_node_fence(catena_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
