#include "refusal.h"

#include <stdlib.h>

refusal_t refusal;

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);

bool refusal_asks(void)
{
    return refusal.armed && refusal_applies() &&
           ++refusal.taken == refusal.which;
}

static void *count(void *memory)
{
    refusal.live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return refusal_asks() ? NULL : count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return refusal_asks() ? NULL : count(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (refusal_asks()) {
        return NULL;
    }
    bool was_there = memory != NULL;
    void *there = __real_realloc(memory, bytes);
    return was_there ? there : count(there);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return refusal_asks() ? NULL
                          : count(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *memory)
{
    refusal.live -= memory != NULL;
    __real_free(memory);
}
