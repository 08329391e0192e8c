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
 * Every rank of the node maps one sparse segment (a memfd; if that fails,
 * shm_open, whose name is unlinked when all ranks have mapped it; mode 0600).
 * It begins with a header. An arena for each local rank follows: a range of
 * addresses that can hold all bytes of the limit, which applies to the whole
 * node. So an arena is contiguous, can be registered once, and can use all that
 * the other ranks leave: the limit bounds a shared count of bytes, and no rank
 * has a share of its own. Pages that are never touched take no memory. Behind
 * these addresses each arena has more, for sparse blocks, which count page by
 * page.
 *
 * segment: | header | arena of local rank 0 | arena of local rank 1 | ...
 *
 * All references into the segment are offsets, so processes may map it at
 * different addresses. A block here is what an allocation returns. */

typedef struct ctn_heap ctn_heap_t;

/** Bytes before the first arena: a huge page, so that arenas are aligned to
 * huge pages. Only the first page of 4 KiB is used. */
#define CTN_HEAP_HEADER_BYTES ((size_t)2 << 20)

/** Number of local ranks that have an entry in ctn_doorbells_t: as many as fit
 * in the header's page. */
#define CTN_HEAP_DOORBELLS 3840u

/** Which ranks of the node sleep and can be woken: exec/doorbell.h. */
typedef struct ctn_doorbells {
    _Alignas(64) uint32_t anyone; /* 1: some rank may be asleep */
    _Alignas(64) uint8_t asleep[CTN_HEAP_DOORBELLS]; /* by local rank */
} ctn_doorbells_t;

/** Values of the heap's settings. */
typedef struct ctn_heap_config {
    size_t size;       /* HEAP_SIZE: bytes per node, or auto */
    size_t huge_pages; /* HEAP_HUGE_PAGES: 0, 1, or auto */
} ctn_heap_config_t;

extern const ctn_setting_table_t ctn_heap_settings;

/** Arguments of the functions that make a heap. */
typedef struct ctn_heap_params {
    const ctn_log_t *log;
    size_t limit;   /* bytes for the whole node; CTN_CONFIG_AUTO: half of the
                       memory that this process may use */
    int local_rank; /* index of this rank's arena */
    int local_size; /* ranks of the node */
    int numa;    /* NUMA domain to bind this rank's arena to; -1: not bound */
    size_t huge; /* huge pages: 0 no, 1 yes, CTN_CONFIG_AUTO if allowed */
    size_t sparse_bytes; /* of a sparse block; 0: there are none */
    uint64_t failures;   /* CATENA_FAILURES: the same on all ranks */
    bool several_spaces; /* the ranks are in several PID namespaces: only a file
                            in /dev/shm can be opened by all */
} ctn_heap_params_t;

/** Create the node's segment (local rank 0 only).
 * @param[out] name to be passed to ctn_heap_attach by the other ranks:
 * "PATH:ID", where the random id distinguishes this heap from any other, and
 * behind it "@SPACE", a PID namespace, if the path is in /proc
 * @return ERR_NO_MEMORY (the limit exceeds the memory, or too little address
 *   space), ERR_ARG, ERR_SYSTEM; the log says what to change */
catena_status_t ctn_heap_create(const ctn_heap_params_t *params,
                                ctn_heap_t **heap, char name[64]);
/** Map the segment that local rank 0 created.
 * @return as ctn_heap_create; ERR_ARG also when `name` is no heap's name */
catena_status_t ctn_heap_attach(const ctn_heap_params_t *params,
                                const char *name, ctn_heap_t **heap);
/** Make a heap in memory of the caller: of the simulator, where all ranks of
 * all nodes are in one process. Each rank of a node calls this with the same
 * `memory`, which has CTN_HEAP_HEADER_BYTES and an arena for each rank of the
 * node, is aligned to 2 MiB, and is zero at the first call. */
catena_status_t ctn_heap_adopt(const ctn_heap_params_t *params,
                               unsigned char *memory, size_t arena_bytes,
                               ctn_heap_t **heap);
/** Release this rank's allocator and unmap the segment. NULL is allowed. */
void ctn_heap_destroy(ctn_heap_t *heap);

/** The address of a local rank's arena in this process, and the bytes of each
 * arena: the limit rounded up to 2 MiB; twice that with huge pages, which have
 * the upper half of the addresses; less if address space is short. */
unsigned char *ctn_heap_arena(const ctn_heap_t *heap, int local_rank);
size_t ctn_heap_arena_bytes(const ctn_heap_t *heap);

/** Let others find a block of this rank, by ctn_segment_shown. NULL: no longer.
 */
void ctn_heap_show(ctn_heap_t *heap, const void *block);
/** The offsets, from the start of a segment, of the blocks that its ranks show;
 * 0: a rank shows none.
 * @param segment as mapped by any process, from its header on
 * @return the number of ranks; 0: this is no segment of this version */
int ctn_segment_shown(const void *segment, size_t bytes,
                      const uint64_t **offsets);
/** The last hang that the node has reported; in the segment. */
typedef struct ctn_hang_told {
    uint64_t at_ns;  /* when */
    uint64_t number; /* see ctn_exec_flags_t */
} ctn_hang_told_t;
ctn_hang_told_t *ctn_segment_told(const ctn_heap_t *heap);
/** The segment as mapped here, from its header on. @param[out] bytes mapped */
const void *ctn_heap_segment(const ctn_heap_t *heap, size_t *bytes);
/** Copy the header of the segment of a process, and behind it up to `block`
 * bytes of each block that the ranks show. The offsets are those in the copy.
 * @param[out] bytes of the copy, for free
 * @return NULL: it has none, it may not be read, or no memory (errno) */
void *ctn_segment_copy(int pid, size_t block, size_t *bytes);

/** Return the node's doorbells. @param[out] id the heap's random id */
ctn_doorbells_t *ctn_heap_doorbells(ctn_heap_t *heap, uint64_t *id);

/** Return the offset of memory of this rank's arena from its start. */
uint64_t ctn_heap_offset(const ctn_heap_t *heap, const void *memory);

/** Whether [block, block + bytes) lies in this rank's arena.
 * @param[out] offset from the start of the arena; set only if it does */
bool ctn_heap_contains(const ctn_heap_t *heap, const void *block, size_t bytes,
                       uint64_t *offset);

/** Set a callback that frees memory when the heap is full: if there is no
 * memory, ctn_heap_alloc and _calloc call `reclaim` and try again, until it
 * returns false. They call it on the thread that allocates, so only the thread
 * that uses the context may call these two. */
void ctn_heap_on_shortage(ctn_heap_t *heap, bool (*reclaim)(void *),
                          void *argument);
/* The allocator of this rank's arena. The functions behave as those of
 * catena/heap.h. Alignments are powers of two, or 0: the usual one. Any thread
 * may call ctn_heap_free. */
/** Allocate a block whose first `zero` bytes are zero. */
void *ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment, size_t bytes,
                            size_t zero);
static inline void *ctn_heap_alloc(ctn_heap_t *heap, size_t alignment,
                                   size_t bytes)
{
    return ctn_heap_alloc_zeroed(heap, alignment, bytes, 0);
}
static inline void *ctn_heap_calloc(ctn_heap_t *heap, size_t alignment,
                                    size_t bytes)
{
    return ctn_heap_alloc_zeroed(heap, alignment, bytes, bytes);
}
void ctn_heap_free(ctn_heap_t *heap, void *block);

/* Sparse blocks: addresses of which only some pages are used. All are of one
 * size, start on a page, and are zero at first. Only the thread that uses the
 * context may call these functions. */
enum { CTN_SPARSE_USES = 2 };
/** Allocate a sparse block. Its pages do not count against the limit yet; with
 * a segment in /dev/shm, where a page that is touched must be there, they do.
 * @param use it is zero, or as it was when it was freed for this use
 * @return NULL: no memory, or no addresses */
void *ctn_heap_alloc_sparse(ctn_heap_t *heap, unsigned use);
/** The bytes of each; 0: a block of another kind takes less, as all pages of a
 * sparse block count. */
size_t ctn_heap_sparse_bytes(const ctn_heap_t *heap);
/** Count the pages of part of a sparse block against the limit, those that do
 * not count already. Memory of other blocks counts as it is. Whoever uses a
 * page takes it before that, or very soon afterwards.
 * @return false: the limit is reached */
bool ctn_heap_take(ctn_heap_t *heap, const void *memory, size_t bytes);
/** Free a sparse block, or another one. NULL is allowed.
 * @param use it may be allocated for this use as it is; CTN_SPARSE_USES: its
 *            contents must not be seen again */
void ctn_heap_free_sparse(ctn_heap_t *heap, void *block, unsigned use);
void ctn_heap_get_stats(ctn_heap_t *heap, catena_heap_stats_t *stats);

#endif
