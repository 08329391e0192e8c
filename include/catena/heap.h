#ifndef CATENA_HEAP_H
#define CATENA_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * The shared heap: one memory segment per node, mapped by all its ranks
 * (J. Peng, J. Liu, M. Xie: GLEX-Alltoall, [Peng] below, section 7.1). Each
 * rank allocates from a part of its own, which is this rank's heap. Collectives
 * move large data into heap buffers with a single copy. A block here is memory
 * that one of these functions allocated. All functions except the fence are
 * thread safe within a process. With NULL as context nothing is allocated (the
 * result is NULL) or freed. */

/** Statistics of the heap; sizes in bytes. */
typedef struct catena_heap_stats {
    size_t size;       /**< sizeof this struct, set by the caller */
    size_t limit;      /**< CATENA_HEAP_SIZE of the node */
    size_t node_taken; /**< of pages that all ranks of the node have taken from
                            the segment and not given back */
    size_t taken;      /**< the same for this rank alone */
    size_t in_use; /**< of blocks that this rank has not freed, rounded up to
                        the allocator's block sizes */
    size_t peak;   /**< largest in_use so far */
    uint64_t allocations; /**< successful allocations so far */
    uint64_t frees;       /**< frees so far */
} catena_heap_stats_t;

/** Allocate heap memory, aligned to 16 bytes; from 64 bytes on, to 64. 0 bytes
 * give a pointer that can be freed. Only the rank that allocated a block may
 * free it. Memory of freed groups and requests returns to the heap while catena
 * makes progress; this function does not wait for it.
 * @param context of the heap
 * @param bytes   0 is allowed
 * @return NULL if the heap is full, which is logged once */
CATENA_API void *catena_malloc(catena_context_t *context, size_t bytes);

/** Allocate `count` elements of `bytes` bytes each, zeroed, as catena_malloc.
 * @param context of the heap
 * @param count   number of elements
 * @param bytes   of one element
 * @return NULL if the heap is full or count * bytes overflows */
CATENA_API void *catena_calloc(catena_context_t *context, size_t count,
                               size_t bytes);

/** Change the size of a block to `bytes`, as realloc(3); NULL allocates.
 * @param context of the heap
 * @param block   that this rank allocated, or NULL
 * @param bytes   new size
 * @return the block, which may have moved; NULL if the heap is full: the old
 *         block is then unchanged */
CATENA_API void *catena_realloc(catena_context_t *context, void *block,
                                size_t bytes);

/** As catena_malloc, with an alignment.
 * @param[in] alignment in bytes: a power of two up to 2 MiB
 * @return NULL if the heap is full, or for any other alignment */
CATENA_API void *catena_aligned_alloc(catena_context_t *context,
                                      size_t alignment, size_t bytes);

/** Free a block. NULL is allowed. A pointer that is not a block of this rank's
 * heap, or a second free, ends the process with a message.
 * @param context of the heap
 * @param block   that this rank allocated; NULL is allowed */
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
 * @return CATENA_OK, ERR_ARG (NULL; the rank is not on this node, or the offset
 *         is outside its heap: both logged) */
CATENA_API catena_status_t catena_heap_pointer(const catena_context_t *context,
                                               int rank, uint64_t offset,
                                               void **local);

/** Return the offset of an address in this rank's heap, to be passed to a
 * peer's catena_heap_pointer, or to catena_node_put and catena_node_get.
 * @param[in]  block  any address within a block
 * @param[out] offset bytes from the start of this rank's heap
 * @return CATENA_OK, ERR_ARG (NULL, or `block` is not in this rank's heap) */
CATENA_API catena_status_t catena_heap_offset(const catena_context_t *context,
                                              const void *block,
                                              uint64_t *offset);

/** Copy data to another rank's heap (RMA-Put of [Peng], section 7.1). Blocking:
 * on return the data is there. That rank learns of it by catena_node_fence, or
 * by any other synchronization of the program.
 * @param[in] rank   world rank on this node
 * @param[in] offset in the heap of `rank`: see catena_heap_offset
 * @param[in] send   [bytes] any memory
 * @return CATENA_OK, ERR_ARG (NULL; the rank is not on this node, or the data
 *         would end beyond its heap: both logged) */
CATENA_API catena_status_t catena_node_put(catena_context_t *context, int rank,
                                           uint64_t offset, const void *send,
                                           size_t bytes);

/** Copy data from another rank's heap (RMA-Get). Blocking: on return the data
 * is in `recv`.
 * @param[out] recv [bytes] any memory
 * @return as catena_node_put */
CATENA_API catena_status_t catena_node_get(catena_context_t *context, int rank,
                                           uint64_t offset, void *recv,
                                           size_t bytes);

/** RMA-fence: a barrier of the ranks of this node, which all call it. Puts and
 * gets before the fence are complete for all of them after it. Blocks.
 * @param context of this rank
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY, ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_node_fence(catena_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
