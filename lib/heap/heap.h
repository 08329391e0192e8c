#ifndef CTN_HEAP_HEAP_H
#define CTN_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/heap.h>

#include "core/config.h"
#include "core/log.h"

/* The shared heap of a node.
 *
 * One sparse segment (memfd; else shm_open and immediate unlink, mode 0600) is
 * mapped by every rank of the node. It begins with a header page. Then each
 * local rank has an address range as large as the whole limit. So a rank's
 * arena is contiguous, can be registered once, and may use all that the node
 * has left: the limit is a shared count of bytes taken, not a share per rank.
 * Untouched pages cost nothing.
 *
 * segment: | header | arena of local rank 0 | arena of local rank 1 | ...
 *
 * All references are offsets; the segment may be mapped anywhere. */

typedef struct ctn_heap ctn_heap_t;

/** Before the first arena; keeps the arenas aligned to huge pages. */
#define CTN_HEAP_HEADER_BYTES ((size_t)2 << 20)

/** Which ranks of the node sleep and can be woken: exec/doorbell.h. It lies in
 * the first page of the segment, so ranks beyond these have no entry. */
#define CTN_HEAP_DOORBELLS 3840u

typedef struct ctn_doorbells {
    _Alignas(64) uint32_t anyone;
    _Alignas(64) uint8_t asleep[CTN_HEAP_DOORBELLS];
} ctn_doorbells_t;

/** Values of the heap's settings. */
typedef struct ctn_heap_config {
    size_t size;       /* HEAP_SIZE: bytes per node, auto */
    size_t huge_pages; /* HEAP_HUGE_PAGES: 0 or 1 or auto */
} ctn_heap_config_t;

extern const ctn_setting_table_t ctn_heap_settings;

typedef struct ctn_heap_params {
    const ctn_log_t *log;
    size_t limit;   /* bytes for the whole node; CTN_CONFIG_AUTO: half of the
                       memory that this process may use */
    int local_rank; /* index of the own arena */
    int local_size;
    int numa;    /* bind the own arena to this NUMA domain, -1: no */
    size_t huge; /* 0 no, 1 yes, CTN_CONFIG_AUTO */
} ctn_heap_params_t;

/** Create the node's segment (local rank 0 only). `name` receives the name that
 * the other ranks pass to ctn_heap_attach (at most 64 bytes with the NUL):
 * "PATH:ID", where the id distinguishes this heap from any other.
 * @return ERR_NO_MEMORY (the limit exceeds the memory, or too little address
 *   space), ERR_ARG, ERR_SYSTEM; the log says what to change */
catena_status_t ctn_heap_create(const ctn_heap_params_t *params,
                                ctn_heap_t **heap, char name[64]);
/** Map the segment that local rank 0 created.
 * @return as ctn_heap_create; ERR_ARG also when `name` is no heap's name */
catena_status_t ctn_heap_attach(const ctn_heap_params_t *params,
                                const char *name, ctn_heap_t **heap);
/** Make a heap in memory that the caller owns (the simulator, where all ranks
 * of all nodes are one process): aligned to 2 MiB, zero, sparse;
 * CTN_HEAP_HEADER_BYTES, then an arena for each rank of the node. */
catena_status_t ctn_heap_adopt(const ctn_heap_params_t *params,
                               unsigned char *memory, size_t arena_bytes,
                               ctn_heap_t **heap);
/** All ranks of the node have attached: the name is no longer needed (with
 * shm_open it is unlinked now). Local rank 0 only. */
void ctn_heap_attached(ctn_heap_t *heap);
void ctn_heap_destroy(ctn_heap_t *heap);

/** The arena of a local rank as mapped here, and the size of each arena: the
 * limit rounded up to 2 MiB; twice that with huge pages (their blocks have
 * addresses of their own); less if address space is short. */
unsigned char *ctn_heap_arena(const ctn_heap_t *heap, int local_rank);
size_t ctn_heap_arena_bytes(const ctn_heap_t *heap);

/** The node's doorbells, and the heap's random id. */
ctn_doorbells_t *ctn_heap_doorbells(ctn_heap_t *heap, uint64_t *id);

/** Whether [block, block + bytes) lies in this rank's arena, and its offset
 * there. */
bool ctn_heap_contains(const ctn_heap_t *heap, const void *block, size_t bytes,
                       uint64_t *offset);

/* The allocator of this rank's arena; thread-safe; contracts in
 * catena/heap.h. */
/** Set a callback for exhaustion: ctn_heap_alloc and _calloc call `reclaim` on
 * the thread that allocates, until it returns false. Only the thread that uses
 * the context may call these two; any thread may call catena_malloc. */
void ctn_heap_on_shortage(ctn_heap_t *heap, bool (*reclaim)(void *),
                          void *argument);
void *ctn_heap_alloc(ctn_heap_t *heap, size_t alignment, size_t bytes);
void *ctn_heap_calloc(ctn_heap_t *heap, size_t alignment, size_t bytes);
void *ctn_heap_realloc(ctn_heap_t *heap, void *block, size_t bytes);
void ctn_heap_free(ctn_heap_t *heap, void *block);
void ctn_heap_get_stats(ctn_heap_t *heap, catena_heap_stats_t *stats);

#endif
