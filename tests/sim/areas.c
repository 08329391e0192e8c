/* The memory that a simulated job allocates: see areas.h. */

#include "areas.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "explore.h"
#include "states.h"
#include "transports/sim/engine.h"

_Static_assert((int)MOST_RANKS <= (int)AREAS_RANKS, "each rank has an area");

enum { ALIGNMENT = 64, PAGE_BYTES = 4096 };
static const size_t AREA_BYTES = (size_t)1 << 28;

area_t area[AREAS];
static bool runs;            /* a job, or it is about to begin or to end */
static const ctn_sim_t *job; /* NULL: none */

void *areas_need(void *memory)
{
    if (memory == NULL || memory == MAP_FAILED) {
        perror("explore_accesses");
        exit(2);
    }
    return memory;
}

void areas_end_at_limit(const char *what, size_t most)
{
    fprintf(stderr, "explore_accesses: more than %zu %s\n", most, what);
    exit(2);
}

void *areas_map(size_t bytes)
{
    return areas_need(mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void areas_begin(void)
{
    unsigned char *all =
        area[0].begin == NULL ? areas_map(AREAS * AREA_BYTES) : area[0].begin;
    for (int r = 0; r < AREAS; r++) {
        area[r].begin = all + (size_t)r * AREA_BYTES;
    }
    runs = true;
}

void areas_serve(const ctn_sim_t *sim)
{
    job = sim;
}

void areas_end(void)
{
    runs = false;
    for (int r = 0; r < AREAS; r++) {
        memset(area[r].begin, 0, area[r].used);
        area[r].used = 0;
    }
}

uintptr_t areas_of_ranks(uintptr_t *end)
{
    *end = (uintptr_t)area[AREAS_RANKS].begin;
    return (uintptr_t)area[0].begin;
}

static bool is_ours(const void *memory)
{
    uintptr_t at = (uintptr_t)memory, begin = (uintptr_t)area[0].begin;
    return begin != 0 && at >= begin && at < begin + AREAS * AREA_BYTES;
}

/** Before each block is its size. */
static size_t *size_of(void *memory)
{
    return (size_t *)memory - 1;
}

/** @return zeroed memory of the rank that runs, or of the simulator; NULL: no
 * job runs */
static void *take(size_t bytes, size_t alignment)
{
    if (!runs) {
        return NULL;
    }
    size_t to = alignment < ALIGNMENT ? ALIGNMENT : alignment;
    uint32_t r =
        job != NULL && job->running != NULL ? job->running->rank : AREAS_RANKS;
    size_t at = (area[r].used + sizeof(size_t) + to - 1) & ~(to - 1);
    if (bytes > AREA_BYTES || at + bytes > AREA_BYTES) {
        areas_end_at_limit("bytes allocated by a rank", AREA_BYTES);
    }
    unsigned char *memory = area[r].begin + at;
    area[r].used = at + bytes;
    *size_of(memory) = bytes;
    return memory;
}

static void release(void *memory)
{
    states_write((uintptr_t)memory, *size_of(memory));
    memset(memory, 0, *size_of(memory));
}

/* ---- functions that the linker wraps ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *__wrap_malloc(size_t bytes)
{
    void *memory = take(bytes, 1);
    return memory != NULL ? memory : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    void *memory = take(count * bytes, 1);
    return memory != NULL ? memory : __real_calloc(count, bytes);
}

void __wrap_free(void *memory)
{
    if (is_ours(memory)) {
        release(memory);
    } else {
        __real_free(memory);
    }
}

/** Handles that were freed are kept in a table of the process, which all ranks
 * and runs share. Here memory is never reused, so they are recognized as well.
 */
void __wrap_ctn_handle_free(void *memory)
{
    __wrap_free(memory);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (!is_ours(memory) && (memory != NULL || !runs)) {
        return __real_realloc(memory, bytes);
    }
    void *larger = areas_need(take(bytes, 1));
    if (memory != NULL) {
        size_t old = *size_of(memory);
        states_write((uintptr_t)larger, bytes);
        memcpy(larger, memory, old < bytes ? old : bytes);
        release(memory);
    }
    return larger;
}

char *__wrap_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = __wrap_malloc(bytes);
    if (copy != NULL) {
        states_write((uintptr_t)copy, bytes);
        memcpy(copy, text, bytes);
    }
    return copy;
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = take(bytes, alignment);
    return memory != NULL ? memory : __real_aligned_alloc(alignment, bytes);
}

void *__real_mmap(void *memory, size_t bytes, int protection, int flags, int fd,
                  off_t offset);

void *__wrap_mmap(void *memory, size_t bytes, int protection, int flags, int fd,
                  off_t offset)
{
    if (job == NULL || job->running == NULL) {
        return __real_mmap(memory, bytes, protection, flags, fd, offset);
    }
    if (memory != NULL || fd != -1) {
        fprintf(stderr,
                "explore_accesses: a rank maps a file, or memory at a given "
                "address; only anonymous memory at any address is recorded\n");
        exit(2);
    }
    return take(bytes, PAGE_BYTES);
}

int __real_munmap(void *memory, size_t bytes);

int __wrap_munmap(void *memory, size_t bytes)
{
    if (!is_ours(memory)) {
        return __real_munmap(memory, bytes);
    }
    if (bytes != *size_of(memory)) {
        fprintf(stderr, "explore_accesses: a rank unmaps part of a mapping; "
                        "only whole mappings are supported\n");
        exit(2);
    }
    release(memory);
    return 0;
}

int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = take(bytes, alignment);
    return *memory != NULL ? 0
                           : __real_posix_memalign(memory, alignment, bytes);
}
