#ifndef UNIT_HEAP_CASE_H
#define UNIT_HEAP_CASE_H

#include <sys/types.h>

#include "heap/arena.h"
#include "heap/segment.h"
#include "oracle/random.h"

/* What tests of the heap share: heaps, and blocks that are filled and looked
 * at. */

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/** One of so many ranks of a node. */
ctn_heap_params_t heap_params_of(size_t limit, int local_rank, int local_size);

/** A heap of a rank that is alone on its node. */
ctn_heap_t *heap_of(size_t limit);

catena_heap_stats_t heap_stats_of(ctn_heap_t *heap);

/** Log-uniform from 1 byte to `most`. */
size_t heap_random_size(uint64_t *state, size_t most);

/** Bytes that repeat after 256, so that whole blocks are quickly compared. */
void heap_fill(unsigned char *block, size_t bytes, uint64_t pattern);
bool heap_filled(const unsigned char *block, size_t bytes, uint64_t pattern);

bool heap_all_zero(const unsigned char *block, size_t bytes);

/** Pages of so many bytes that are in memory. */
size_t heap_resident_pages(void *start, size_t bytes);

/** Wait for a forked rank, which reports with _exit(0) that all was well. */
void heap_expect_success(pid_t child);

enum { HEAP_MODEL_BLOCKS = 256 };

/** What is live, and what is written in it. */
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

/** Allocate, free or reallocate a block, any. */
void heap_model_step(heap_model_t *model);
/** Free what is left. */
void heap_model_end(heap_model_t *model);

#endif
