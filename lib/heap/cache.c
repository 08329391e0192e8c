#include <assert.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/arena.h"

/* Caches: each thread keeps some free blocks, so most calls take no lock. A
 * cache belongs to a cache slot, which a thread finds by hashing its identity.
 * A thread that ends leaves cache and slot to a later thread that has the same
 * identity. At most 64 threads have a cache.
 *
 * An allocation must not fail because free memory lies in caches. So a thread
 * that finds no memory empties the caches of all threads. The owner of a cache
 * needs no fence instruction for that: it writes `busy` of the cache and then
 * reads `owner` of the slot, the emptying thread writes `owner` and then reads
 * `busy`, and the emptying thread's membarrier(2) is a fence between write and
 * read in both threads. All other changes of a cache are made under the mutex.
 * Where the system has no membarrier, caches hold no runs and no other thread
 * empties them. */

/* A stack has room for blocks of 16 KiB together, at least 4 and at most 64. */
enum { STACK_BYTES = 16 << 10, STACK_MAX = 64, STACK_MIN = 4 };

static uint32_t stack_capacity(unsigned class_index)
{
    uint32_t count = STACK_BYTES / ctn_class_bytes[class_index];
    return count > STACK_MAX   ? STACK_MAX
           : count < STACK_MIN ? STACK_MIN
                               : count;
}

/* Register for membarrier; false: the system does not have it. */
static bool membarrier_ready(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                   0) == 0;
}

bool ctn_caches_init(ctn_arena_t *arena)
{
    size_t pages = arena->params.keep_bytes >> CTN_PAGE_SHIFT;

    if (!arena->params.caches) {
        return true;
    }
    arena->slots = aligned_alloc(64, CTN_CACHE_SLOTS * sizeof(*arena->slots));
    if (arena->slots == NULL) {
        return false;
    }
    memset(arena->slots, 0, CTN_CACHE_SLOTS * sizeof(*arena->slots));
    arena->can_empty = membarrier_ready();
    arena->cache_pages = arena->can_empty ? (uint32_t)(pages / 2) : 0;
    return true;
}

void ctn_caches_release(ctn_arena_t *arena)
{
    for (unsigned i = 0; arena->slots != NULL && i < CTN_CACHE_SLOTS; i++) {
        free(arena->slots[i].cache);
    }
    free(arena->slots);
}

static ctn_cache_t *cache_new(void)
{
    size_t entries = 0;
    for (unsigned i = 0; i < CTN_CLASSES; i++) {
        entries += stack_capacity(i);
    }
    size_t bytes = sizeof(ctn_cache_t) + entries * sizeof(ctn_entry_t);
    ctn_cache_t *cache = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (cache == NULL) {
        return NULL;
    }
    memset(cache, 0, sizeof(*cache));
    entries = 0;
    for (unsigned i = 0; i < CTN_CLASSES; i++) {
        cache->stack[i].entry = &cache->entries[entries];
        cache->stack[i].capacity = stack_capacity(i);
        entries += stack_capacity(i);
    }
    return cache;
}

static ctn_cache_t *slot_cache(const ctn_cache_slot_t *slot)
{
    return __atomic_load_n(&slot->cache, __ATOMIC_RELAXED);
}

ctn_cache_slot_t *ctn_cache_slot_find(ctn_cache_slot_t *slots, uintptr_t self)
{
    unsigned first = ctn_cache_slot_first(self);

    for (unsigned i = 0; i < CTN_CACHE_SLOTS; i++) {
        ctn_cache_slot_t *slot = &slots[(first + i) % CTN_CACHE_SLOTS];
        if (__atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE) == self) {
            return slot;
        }
        if (slot_cache(slot) == NULL) {
            break; /* a claim would have taken this slot */
        }
    }
    return NULL;
}

ctn_cache_t *ctn_cache_claim(ctn_arena_t *arena)
{
    uintptr_t self = ctn_thread_self();

    if (arena->slots == NULL) {
        return NULL;
    }
    ctn_cache_slot_t *slot = ctn_cache_slot_find(arena->slots, self);
    if (slot != NULL) {
        return slot->cache;
    }
    unsigned i = 0;
    do {
        slot =
            &arena->slots[(ctn_cache_slot_first(self) + i) % CTN_CACHE_SLOTS];
    } while (slot_cache(slot) != NULL && ++i < CTN_CACHE_SLOTS);
    if (slot_cache(slot) != NULL) {
        return NULL;
    }
    ctn_cache_t *cache = cache_new();
    if (cache != NULL) {
        cache->owner = (uint32_t)(slot - arena->slots) + 1;
        __atomic_store_n(&slot->cache, cache, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->owner, self, __ATOMIC_RELEASE);
    }
    return cache;
}

void ctn_cache_publish(ctn_arena_t *arena, ctn_cache_t *cache)
{
    int64_t peak = arena->in_use + cache->net_peak;

    arena->peak = peak > arena->peak ? peak : arena->peak;
    arena->in_use += cache->net;
    __atomic_store_n(&cache->net, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cache->net_peak, 0, __ATOMIC_RELAXED);
}

void ctn_cache_spill(ctn_arena_t *arena, ctn_stack_t *stack)
{
    uint32_t count = (stack->count + 1) / 2;

    for (uint32_t i = 0; i < count; i++) {
        ctn_slabs_put(arena, &stack->entry[i]);
    }
    stack->count -= count;
    memmove(stack->entry, stack->entry + count,
            stack->count * sizeof(*stack->entry));
}

void ctn_cache_spill_runs(ctn_arena_t *arena, ctn_cache_t *cache, uint32_t keep)
{
    uint32_t gone = 0; /* number of runs freed so far */

    while (gone < cache->runs && (cache->run_pages > keep ||
                                  cache->runs - gone > CTN_CACHED_RUNS / 2)) {
        cache->run_pages -= cache->length[gone];
        ctn_runs_put(arena, cache->run[gone++]);
    }
    cache->runs -= gone;
    memmove(cache->run, cache->run + gone, cache->runs * sizeof(cache->run[0]));
    memmove(cache->length, cache->length + gone,
            cache->runs * sizeof(cache->length[0]));
}

void ctn_cache_empty(ctn_arena_t *arena, ctn_cache_t *cache)
{
    ctn_cache_publish(arena, cache);
    for (unsigned i = 0; i < CTN_CLASSES; i++) {
        while (cache->stack[i].count > 0) {
            ctn_cache_spill(arena, &cache->stack[i]);
        }
    }
    ctn_cache_spill_runs(arena, cache, 0);
}

void ctn_caches_empty(ctn_arena_t *arena)
{
    uintptr_t owner[CTN_CACHE_SLOTS]; /* of each slot, to be restored */
    uintptr_t self = ctn_thread_self();

    if (arena->slots == NULL) {
        return;
    }
    for (unsigned i = 0; i < CTN_CACHE_SLOTS; i++) {
        ctn_cache_slot_t *slot = &arena->slots[i];
        owner[i] = slot->owner;
        if (owner[i] == self) {
            ctn_cache_empty(arena, slot->cache);
        } else if (arena->can_empty && owner[i] != 0) {
            __atomic_store_n(&slot->owner, 0, __ATOMIC_RELAXED);
        }
    }
    if (!arena->can_empty) {
        return;
    }
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    for (unsigned i = 0; i < CTN_CACHE_SLOTS; i++) {
        ctn_cache_slot_t *slot = &arena->slots[i];
        if (owner[i] == self || owner[i] == 0) {
            continue;
        }
        while (__atomic_load_n(&slot->cache->busy, __ATOMIC_ACQUIRE) != 0) {
            sched_yield();
        }
        ctn_cache_empty(arena, slot->cache);
        __atomic_store_n(&slot->owner, owner[i], __ATOMIC_RELEASE);
    }
}
