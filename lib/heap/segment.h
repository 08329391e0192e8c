#ifndef CTN_HEAP_SEGMENT_H
#define CTN_HEAP_SEGMENT_H

#include "heap/arena.h"
#include "heap/heap.h"

/* The node's segment as lib/heap and its tests see it: the header at its start,
 * and the state of a rank's heap. */

_Static_assert(CTN_HEAP_HEADER_BYTES == CTN_HUGE_BYTES,
               "arenas are aligned to huge pages");

enum {
    CTN_SEGMENT_HEADER_BYTES = CTN_HEAP_HEADER_BYTES,
    CTN_SEGMENT_VERSION = 6, /* of the layout of ctn_segment_header_t */
    CTN_HEAP_NAME_BYTES = 64 /* of a segment's name, with the NUL */
};

/** ctn_segment_header_t.magic */
#define CTN_SEGMENT_MAGIC "catenaH"

typedef enum ctn_segment_kind {
    CTN_SEGMENT_MEMFD, /* opened by /proc/PID/fd; ends with its last mapping */
    CTN_SEGMENT_SHM,   /* has a name in /dev/shm until all have it */
    CTN_SEGMENT_GIVEN  /* memory of the caller: ctn_heap_adopt */
} ctn_segment_kind_t;

/* The first page of the segment. Local rank 0 fills it before it publishes the
 * segment's name; only `taken` and `doorbells` change afterwards. */
typedef struct ctn_segment_header {
    char magic[8]; /* says that this is a heap of catena */
    uint32_t version;
    uint32_t local_size;  /* ranks of the node */
    uint64_t id;          /* random: process and descriptor numbers repeat */
    uint64_t limit;       /* bytes that all ranks may take together */
    uint64_t arena_bytes; /* of each arena */
    uint64_t huge_off;    /* where in each arena the addresses for huge pages
                             begin; sparse_off: there are none */
    uint64_t sparse_off;  /* where those of sparse blocks begin; arena_bytes:
                             there are none */
    uint64_t failures;    /* see ctn_heap_params_t */
    _Alignas(64) uint64_t taken; /* bytes taken by all ranks; atomic */
    uint32_t mapped;             /* ranks that have mapped it; atomic */
    ctn_doorbells_t doorbells;
} ctn_segment_header_t; /* in the next pages: show.c */

_Static_assert(offsetof(ctn_segment_header_t, doorbells) == 128 &&
                   sizeof(ctn_segment_header_t) <= CTN_PAGE_BYTES,
               "all ranks of a node agree on the header");

/** A sparse block. */
typedef struct ctn_sparse_block {
    uint32_t next;   /* in the list that it is in, or 0 */
    uint32_t pages;  /* taken */
    uint64_t page[]; /* bits: which ones */
} ctn_sparse_block_t;

/** Sparse blocks (sparse.c). A number of a block is 1 or more; 0: none. */
typedef struct ctn_sparse {
    unsigned char *base;   /* where block 1 begins */
    size_t block_bytes;    /* whole pages; 0: there are no blocks */
    unsigned page_shift;   /* binary logarithm of the bytes of a page: the
                              system's, or CTN_PAGE_SHIFT if that is more */
    size_t most;           /* blocks that have addresses */
    size_t made;           /* blocks that were in use at some time: 1 to this */
    unsigned char *blocks; /* what is known of each, [made] */
    size_t room;           /* of `blocks` */
    uint32_t empty_list;   /* free blocks of which no page is taken */
    uint32_t kept_list[CTN_SPARSE_USES]; /* free blocks that have kept their
                                            pages, for each use */
    bool full_logged;                    /* that no block was left was logged */
    /* Written by one thread, read by all. */
    size_t kept; /* bytes taken (arena.besides) that are in free blocks */
    uint64_t allocations;
    uint64_t frees;
} ctn_sparse_t;

/* The heap of one rank: its mapping of the segment, and the allocator of its
 * arena. */
struct ctn_heap {
    unsigned char *own;           /* this rank's arena, as mapped here */
    size_t own_bytes;             /* its size, the same for all ranks */
    size_t limit;                 /* bytes that all ranks may take together */
    ctn_arena_t arena;            /* the allocator of `own` */
    ctn_sparse_t sparse;          /* the blocks at its end */
    ctn_segment_header_t *header; /* start of the mapping */
    size_t mapped_bytes;          /* of the whole segment */
    int local_size;               /* ranks of the node */
    int fd; /* of the segment, -1: there is none; kept for fallocate (shm) and
               for ctn_segment_copy of other processes */
    ctn_segment_kind_t kind;
    enum {
        CTN_CLEARS_UNKNOWN,
        CTN_CLEARS_NOT,
        CTN_CLEARS
    } clears; /* whether madvise clears pages; known after the first call */
    const ctn_log_t *log;
    bool (*reclaim)(void *argument); /* of ctn_heap_on_shortage, or NULL */
    void *reclaim_argument;
    char path[CTN_HEAP_NAME_BYTES]; /* in /dev/shm, to be unlinked; "": none */
};

/* --- segment.c --- */

/** Unmap and free a heap, also one that is made only in part. The allocator
 * must be released already. */
void ctn_heap_delete(ctn_heap_t *heap);

/** As ctn_heap_create, with the given kind of segment only. */
catena_status_t ctn_heap_create_kind(const ctn_heap_params_t *params,
                                     ctn_segment_kind_t kind, ctn_heap_t **heap,
                                     char name[64]);

/* --- heap.c --- */

/** Make the allocator of this rank's arena, after the segment was mapped. */
catena_status_t ctn_heap_start(ctn_heap_t *heap,
                               const ctn_heap_params_t *params);

/** Take bytes of this rank's arena from the limit of the node.
 * @return false: the limit is reached */
bool ctn_heap_source_take(void *heap, uint64_t offset, size_t bytes);
/** Let memory of this rank's arena be zero and take no memory of the system.
 * @return false: the system refuses */
bool ctn_heap_source_clear(ctn_heap_t *heap, unsigned char *start,
                           size_t bytes);
/** Return bytes to the limit of the node. */
void ctn_heap_source_return(ctn_heap_t *heap, size_t bytes);
/** Whether memory is short, so that no free memory should be kept. */
bool ctn_heap_source_short(void *heap);
/** After an allocation of `bytes` has failed: return free memory, and call
 * `reclaim`.
 * @return whether to try again */
bool ctn_heap_reclaim(ctn_heap_t *heap, size_t bytes);

/* --- sparse.c; one thread only --- */

/** Divide addresses into blocks.
 * @param block_bytes 0: there are none */
void ctn_sparse_init(ctn_heap_t *heap, unsigned char *base, size_t bytes,
                     size_t block_bytes, unsigned page_shift);
void ctn_sparse_release(ctn_heap_t *heap);
/** Return the pages of free blocks. @return whether there were any */
bool ctn_sparse_trim(ctn_heap_t *heap);
/** Pages of a block. */
uint32_t ctn_sparse_pages(const ctn_sparse_t *sparse);
ctn_sparse_block_t *ctn_sparse_block_at(const ctn_sparse_t *sparse,
                                        uint32_t number);

/* --- limits.c --- */

/** Whether the system gives huge pages to shared memory that asks for them with
 * madvise. */
bool ctn_huge_pages_allowed(void);

#endif
