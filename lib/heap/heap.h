#ifndef CTN_HEAP_HEAP_H
#define CTN_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/heap.h>

#include "core/log.h"

/* The shared heap of a node.
 *
 * One sparse segment (memfd, else shm_open and unlink at once, mode 0600) is
 * mapped by every rank of the node. It starts with a header page; then each
 * local rank has an address range of its own as large as the whole limit, so
 * that a rank's arena is contiguous, can be registered once, and still may
 * use whatever the node has left: the limit is a shared count of bytes taken,
 * not a share per rank. Pages that nobody touched cost nothing.
 *
 *   segment: | header | arena of local rank 0 | arena of local rank 1 | ...
 *
 * Everything inside is found by offset; the segment may be mapped anywhere. */

typedef struct ctn_heap ctn_heap_t;

/** Before the first arena; keeps the arenas aligned to huge pages. */
#define CTN_HEAP_HEADER_BYTES ((size_t)2 << 20)

/** Who of the node sleeps and can be woken: exec/doorbell.h. In the first page
 * of the segment, so of ranks beyond these nothing is said. */
#define CTN_HEAP_DOORBELLS 3840u

typedef struct ctn_doorbells {
    _Alignas(64) uint32_t anyone;
    _Alignas(64) uint8_t asleep[CTN_HEAP_DOORBELLS];
} ctn_doorbells_t;

typedef struct ctn_heap_params {
    const ctn_log_t *log;
    size_t limit;   /* bytes for the whole node, CTN_CONFIG_AUTO: half of
                       the memory this process may use */
    int local_rank; /* which arena is ours */
    int local_size;
    int numa;    /* bind our arena to this NUMA domain, -1: no */
    size_t huge; /* 0 no, 1 yes, CTN_CONFIG_AUTO */
} ctn_heap_params_t;

/** Create the node's segment (local rank 0 only). `name` receives how the
 * other ranks reach it (at most 64 bytes with the NUL), for them to hand to
 * ctn_heap_attach: "PATH:ID", where the id tells this heap from any other.
 * @return ERR_NO_MEMORY (the limit is more than there is, or addresses are
 *         short), ERR_ARG, ERR_SYSTEM; what to change is logged */
catena_status_t ctn_heap_create(const ctn_heap_params_t *params,
                                ctn_heap_t **heap, char name[64]);
/** Map the segment that local rank 0 created.
 * @return as ctn_heap_create; ERR_ARG also when `name` is no heap's name */
catena_status_t ctn_heap_attach(const ctn_heap_params_t *params,
                                const char *name, ctn_heap_t **heap);
/** A heap in memory that somebody else made and keeps (the simulator, where
 * all ranks of all nodes are one process): aligned to 2 MiB, zero, sparse;
 * CTN_HEAP_HEADER_BYTES, then an arena for each rank of the node. */
catena_status_t ctn_heap_adopt(const ctn_heap_params_t *params,
                               unsigned char *memory, size_t arena_bytes,
                               ctn_heap_t **heap);
/** All ranks of the node have attached: the name is no longer needed (with
 * shm_open it is unlinked now). Local rank 0 only. */
void ctn_heap_attached(ctn_heap_t *heap);
void ctn_heap_destroy(ctn_heap_t *heap);

/** The arena of a local rank as mapped here, and the size of each arena: the
 * limit rounded up to 2 MiB, twice that where huge pages are used (blocks in
 * huge pages have addresses of their own), less where addresses are short. */
unsigned char *ctn_heap_arena(const ctn_heap_t *heap, int local_rank);
size_t ctn_heap_arena_bytes(const ctn_heap_t *heap);

/** The node's bells, and the random number that no other heap has. */
ctn_doorbells_t *ctn_heap_doorbells(ctn_heap_t *heap, uint64_t *id);

/** Whether [block, block + bytes) lies in this rank's own arena, and its
 * offset there. */
bool ctn_heap_contains(const ctn_heap_t *heap, const void *block, size_t bytes,
                       uint64_t *offset);

/* The allocator of this rank's arena; thread-safe; contracts in
 * catena/heap.h. */
/** Have `reclaim` called when ctn_heap_alloc or _calloc find no room, until it
 * says that it could give none back; by the thread that asks for memory. These
 * two are for the thread that uses the context, catena_malloc for any. */
void ctn_heap_on_shortage(ctn_heap_t *heap, bool (*reclaim)(void *),
                          void *argument);
void *ctn_heap_alloc(ctn_heap_t *heap, size_t alignment, size_t bytes);
void *ctn_heap_calloc(ctn_heap_t *heap, size_t alignment, size_t bytes);
void *ctn_heap_realloc(ctn_heap_t *heap, void *block, size_t bytes);
void ctn_heap_free(ctn_heap_t *heap, void *block);
void ctn_heap_get_stats(ctn_heap_t *heap, catena_heap_stats_t *stats);

#endif
