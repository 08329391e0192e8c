#ifndef UNIT_HEAP_CASE_H
#define UNIT_HEAP_CASE_H

#include <sys/types.h>

#include "heap/arena.h"
#include "heap/segment.h"
#include "oracle/random.h"

/* Helpers of the heap tests: heaps, and blocks with a pattern. */

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/** Parameters for one of so many ranks of a node. */
ctn_heap_params_t heap_params_of(size_t limit, int local_rank, int local_size);

/** The heap of the only rank of a node. */
ctn_heap_t *heap_of(size_t limit);

catena_heap_stats_t heap_stats_of(ctn_heap_t *heap);

/** Log-uniform from 1 byte to `most`. */
size_t heap_random_size(uint64_t *state, size_t most);

/** A pattern that repeats after 256 bytes, so whole blocks compare fast. */
void heap_fill(unsigned char *block, size_t bytes, uint64_t pattern);
bool heap_filled(const unsigned char *block, size_t bytes, uint64_t pattern);

bool heap_all_zero(const unsigned char *block, size_t bytes);

/** Pages of so many bytes that are in memory. */
size_t heap_resident_pages(void *start, size_t bytes);

/** Wait for a forked rank, which calls _exit(0) on success. */
void heap_expect_success(pid_t child);

enum { HEAP_MODEL_BLOCKS = 256 };

/** The live blocks and their contents. */
typedef struct heap_model {
    ctn_heap_t *heap;
    uint64_t seed;
    size_t most;
    size_t live_bytes;
    struct {
        unsigned char *block;
        size_t bytes;
        uint64_t pattern;
    } live[HEAP_MODEL_BLOCKS];
    bool wrong;
} heap_model_t;

/** Allocate, free or reallocate a random block. */
void heap_model_step(heap_model_t *model);
/** Free all live blocks. */
void heap_model_end(heap_model_t *model);

/** Assert every invariant of the heap's allocator, or of an arena; slow. No
 * other thread may be in it. */
void heap_check(ctn_heap_t *heap);
void heap_check_arena(ctn_arena_t *arena);

#endif
