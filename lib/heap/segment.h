#ifndef CTN_HEAP_SEGMENT_H
#define CTN_HEAP_SEGMENT_H

#include "heap/arena.h"
#include "heap/heap.h"

/* Internals of the heap, for lib/heap and its tests. */

_Static_assert(CTN_HEAP_HEADER_BYTES == CTN_HUGE_BYTES,
               "arenas are aligned to huge pages");

enum {
    CTN_SEGMENT_HEADER_BYTES = CTN_HEAP_HEADER_BYTES,
    CTN_SEGMENT_VERSION = 1,
    CTN_HEAP_NAME_BYTES = 64
};

typedef enum ctn_segment_kind {
    CTN_SEGMENT_MEMFD, /* reached through /proc, vanishes with its last user */
    CTN_SEGMENT_SHM,   /* a name in /dev/shm until ctn_heap_attached */
    CTN_SEGMENT_GIVEN  /* private memory of the caller */
} ctn_segment_kind_t;

/* The first page of the segment. The id distinguishes a segment from another
 * one with the same process and descriptor number. */
typedef struct ctn_segment_header {
    char magic[8];
    uint32_t version;
    uint32_t local_size;
    uint64_t id;
    uint64_t limit;
    uint64_t arena_bytes;
    uint64_t huge_off;           /* in each arena; arena_bytes: no huge pages */
    _Alignas(64) uint64_t taken; /* by all ranks; atomic */
    ctn_doorbells_t doorbells;
} ctn_segment_header_t;

_Static_assert(offsetof(ctn_segment_header_t, doorbells) == 128 &&
                   sizeof(ctn_segment_header_t) <= CTN_PAGE_BYTES,
               "all ranks of a node agree on the header");

struct ctn_heap {
    unsigned char *own; /* own arena, and all that _contains reads */
    size_t own_bytes;   /* the same for all ranks */
    size_t limit;       /* of the node */
    ctn_arena_t arena;
    ctn_segment_header_t *header; /* start of the mapping */
    size_t mapped_bytes;
    int local_size;
    int fd; /* kept for fallocate (shm), or until all have attached (memfd) */
    ctn_segment_kind_t kind;
    const ctn_log_t *log;
    bool (*reclaim)(void *argument); /* or NULL */
    void *reclaim_argument;
    char path[CTN_HEAP_NAME_BYTES]; /* to be unlinked, or empty */
};

/** Unmap and free the segment, in any state of construction. */
void ctn_heap_delete(ctn_heap_t *heap);

/* --- heap.c --- */

/** The segment is mapped: make the allocator of the own arena. */
catena_status_t ctn_heap_start(ctn_heap_t *heap,
                               const ctn_heap_params_t *params);

/** ctn_heap_create with this kind of segment and no other. */
catena_status_t ctn_heap_create_kind(const ctn_heap_params_t *params,
                                     ctn_segment_kind_t kind, ctn_heap_t **heap,
                                     char name[64]);

/** Assert every invariant of the allocator. */
void ctn_heap_check(ctn_heap_t *heap);

/* --- limits.c --- */

/** Bytes that this process may use: physical memory, or less if a control
 * group says so.
 * @param root prefix of /proc and /sys: "", or the folder of a test */
size_t ctn_memory_usable(const char *root);

/** Whether the system gives shared memory huge pages on request. */
bool ctn_huge_pages_allowed(void);

#endif
