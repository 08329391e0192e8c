#include "heap_case.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "core/config.h"

static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = 0};

ctn_heap_params_t heap_params_of(size_t limit, int local_rank, int local_size)
{
    return (ctn_heap_params_t){.log = &quiet,
                               .limit = limit,
                               .local_rank = local_rank,
                               .local_size = local_size,
                               .numa = -1,
                               .huge = 0};
}

ctn_heap_t *heap_of(size_t limit)
{
    ctn_heap_params_t params = heap_params_of(limit, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    return heap;
}

catena_heap_stats_t heap_stats_of(ctn_heap_t *heap)
{
    catena_heap_stats_t stats;
    ctn_heap_get_stats(heap, &stats);
    return stats;
}

size_t heap_random_size(uint64_t *state, size_t most)
{
    size_t bytes = most >> ctn_random(state) % 22;
    return 1 + ctn_random(state) % (bytes + 1) % most;
}

void heap_fill(unsigned char *block, size_t bytes, uint64_t pattern)
{
    size_t done = bytes < 256 ? bytes : 256;

    for (size_t i = 0; i < done; i++) {
        block[i] = (unsigned char)(pattern + i * 31);
    }
    for (size_t part; done < bytes; done += part) {
        part = bytes - done < done ? bytes - done : done;
        memcpy(block + done, block, part);
    }
}

bool heap_filled(const unsigned char *block, size_t bytes, uint64_t pattern)
{
    for (size_t i = 0; i < bytes && i < 256; i++) {
        if (block[i] != (unsigned char)(pattern + i * 31)) {
            return false;
        }
    }
    return bytes <= 256 || memcmp(block, block + 256, bytes - 256) == 0;
}

bool heap_all_zero(const unsigned char *block, size_t bytes)
{
    return bytes == 0 ||
           (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

size_t heap_resident_pages(void *start, size_t bytes)
{
    size_t pages = bytes / CTN_PAGE_BYTES;
    size_t there = 0;
    unsigned char *map = malloc(pages);

    ck_assert_int_eq(mincore(start, bytes, map), 0);
    for (size_t i = 0; i < pages; i++) {
        there += map[i] & 1;
    }
    free(map);
    return there;
}

void heap_expect_success(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "the other rank ended with status %x", (unsigned)status);
}

void heap_model_step(heap_model_t *model)
{
    unsigned i = ctn_random(&model->seed) % HEAP_MODEL_BLOCKS;
    unsigned action = ctn_random(&model->seed) % 8;
    size_t bytes = heap_random_size(&model->seed, model->most);
    unsigned char *block = model->live[i].block;
    size_t before = model->live[i].bytes;

    if (block != NULL && !heap_filled(block, before, model->live[i].pattern)) {
        model->wrong = true;
    }
    if (action == 0 && block != NULL) {
        unsigned char *moved =
            ctn_arena_realloc(&model->heap->arena, block, bytes);
        if (moved == NULL) {
            return;
        }
        size_t common = bytes < before ? bytes : before;
        model->wrong |= !heap_filled(moved, common, model->live[i].pattern);
        block = moved;
    } else {
        ctn_heap_free(model->heap, block);
        if (action == 1) {
            block = ctn_heap_calloc(model->heap, 1, bytes);
            model->wrong |= block != NULL && !heap_all_zero(block, bytes);
        } else if (action == 2) {
            size_t alignment = (size_t)1 << ctn_random(&model->seed) % 22;
            block = ctn_heap_alloc(model->heap, alignment, bytes);
            model->wrong |= (uintptr_t)block % alignment != 0;
        } else {
            block = ctn_heap_alloc(model->heap, 1, bytes);
        }
    }
    model->live[i].block = block;
    model->live[i].bytes = block != NULL ? bytes : 0;
    model->live[i].pattern = ctn_random(&model->seed);
    if (block != NULL) {
        heap_fill(block, bytes, model->live[i].pattern);
    }
}

void heap_model_end(heap_model_t *model)
{
    for (unsigned i = 0; i < HEAP_MODEL_BLOCKS; i++) {
        model->wrong |= model->live[i].block != NULL &&
                        !heap_filled(model->live[i].block, model->live[i].bytes,
                                     model->live[i].pattern);
        ctn_heap_free(model->heap, model->live[i].block);
    }
}
