/* The accesses of a step: see accesses.h. */

#include "accesses.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/exposed.h"
#include "transports/sim/engine.h"

typedef struct interval interval_t;

enum { READ, WRITTEN };

static uintptr_t heaps, heaps_end; /* of the job */
static bool elsewhere; /* a rank lets others write into other memory */

/** The accesses of the step, in the order of time. */
static struct {
    bool recorded;
    interval_t *part[2];
    size_t count[2], space[2];
} step;

static accesses_t *returned;

/* ---- what is recorded ---- */

static void add(int kind, interval_t part)
{
    enum { LAST = 4 };
    size_t count = step.count[kind];
    for (size_t i = 1; i <= LAST && i <= count; i++) {
        const interval_t *earlier = &step.part[kind][count - i];
        if (part.from >= earlier->from && part.to <= earlier->to) {
            return;
        }
    }
    if (count > 0 && step.part[kind][count - 1].to == part.from) {
        step.part[kind][count - 1].to = part.to;
        return;
    }
    if (count == step.space[kind]) {
        step.space[kind] = 2 * count + 256;
        step.part[kind] =
            realloc(step.part[kind], step.space[kind] * sizeof(part));
        if (step.part[kind] == NULL) {
            perror("explore_accesses");
            exit(2);
        }
    }
    step.part[kind][step.count[kind]++] = part;
}

static void note(int kind, const volatile void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory;
    if (step.recorded && bytes > 0 && at >= heaps && at < heaps_end) {
        add(kind, (interval_t){at - heaps, at - heaps + bytes});
    }
}

void accesses_begin(void)
{
    step.recorded = true;
    step.count[READ] = step.count[WRITTEN] = 0;
}

static int compare(const void *a, const void *b)
{
    const interval_t *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/** Sort intervals, and join those that overlap. @return how many there are */
static size_t join(interval_t *part, size_t count)
{
    size_t joined = 0;
    if (count > 0) {
        qsort(part, count, sizeof(*part), compare);
    }
    for (size_t i = 0; i < count; i++) {
        if (joined == 0 || part[i].from > part[joined - 1].to) {
            part[joined++] = part[i];
        } else if (part[i].to > part[joined - 1].to) {
            part[joined - 1].to = part[i].to;
        }
    }
    return joined;
}

accesses_t *accesses_end(void)
{
    if (!step.recorded) {
        return NULL;
    }
    step.recorded = false;
    size_t count[2];
    for (int kind = READ; kind <= WRITTEN; kind++) {
        count[kind] = join(step.part[kind], step.count[kind]);
    }
    accesses_t *all = malloc(sizeof(*all) + (count[READ] + count[WRITTEN]) *
                                                sizeof(interval_t));
    if (all == NULL) {
        perror("explore_accesses");
        exit(2);
    }
    interval_t *part = (interval_t *)(void *)(all + 1);
    for (int kind = READ; kind <= WRITTEN; kind++) {
        all->of[kind].part = part;
        all->of[kind].count = count[kind];
        if (count[kind] > 0) {
            memcpy(part, step.part[kind], count[kind] * sizeof(*part));
        }
        part += count[kind];
    }
    all->elsewhere = elsewhere;
    all->next = returned;
    returned = all;
    return all;
}

static bool overlap(const accesses_t *a, int kind_a, const accesses_t *b,
                    int kind_b)
{
    size_t i = 0, k = 0;
    while (i < a->of[kind_a].count && k < b->of[kind_b].count) {
        const interval_t *x = &a->of[kind_a].part[i];
        const interval_t *y = &b->of[kind_b].part[k];
        if (x->from < y->to && y->from < x->to) {
            return true;
        }
        if (x->to <= y->to) {
            i++;
        } else {
            k++;
        }
    }
    return false;
}

bool accesses_meet(const accesses_t *a, const accesses_t *b)
{
    return a->elsewhere || b->elsewhere || overlap(a, READ, b, WRITTEN) ||
           overlap(a, WRITTEN, b, READ) || overlap(a, WRITTEN, b, WRITTEN);
}

void accesses_release(void)
{
    while (returned != NULL) {
        accesses_t *next = returned->next;
        free(returned);
        returned = next;
    }
}

/* ---- functions of catena that the linker wraps ---- */

/* Functions that the compiler or the linker calls by these names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

catena_status_t __real_sim_memory_create(ctn_sim_t *sim);

catena_status_t __wrap_sim_memory_create(ctn_sim_t *sim)
{
    catena_status_t status = __real_sim_memory_create(sim);
    heaps = (uintptr_t)sim_node_memory(sim, 0);
    heaps_end = (uintptr_t)sim_node_memory(sim, sim->nodes);
    return status;
}

catena_status_t __real_ctn_exposed_add(ctn_exposed_t *exposed, void *memory,
                                       size_t bytes, uint64_t *offset);

catena_status_t __wrap_ctn_exposed_add(ctn_exposed_t *exposed, void *memory,
                                       size_t bytes, uint64_t *offset)
{
    elsewhere = true;
    return __real_ctn_exposed_add(exposed, memory, bytes, offset);
}

/* ---- what the compiler calls ---- */

void *__tsan_memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    note(READ, from, bytes);
    note(WRITTEN, to, bytes);
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    note(READ, from, bytes);
    note(WRITTEN, to, bytes);
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
    note(WRITTEN, to, bytes);
    return memset(to, value, bytes);
}

int accesses_memcmp(const void *a, const void *b, size_t bytes)
{
    note(READ, a, bytes);
    note(READ, b, bytes);
    return memcmp(a, b, bytes);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(const void *memory, size_t bytes)
{
    note(READ, memory, bytes);
}

void __tsan_write_range(const void *memory, size_t bytes)
{
    note(WRITTEN, memory, bytes);
}

#define PLAIN(bytes)                                                           \
    void __tsan_read##bytes(const void *memory)                                \
    {                                                                          \
        note(READ, memory, bytes);                                             \
    }                                                                          \
    void __tsan_write##bytes(const void *memory)                               \
    {                                                                          \
        note(WRITTEN, memory, bytes);                                          \
    }                                                                          \
    void __tsan_unaligned_read##bytes(const void *memory)                      \
    {                                                                          \
        note(READ, memory, bytes);                                             \
    }                                                                          \
    void __tsan_unaligned_write##bytes(const void *memory)                     \
    {                                                                          \
        note(WRITTEN, memory, bytes);                                          \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

/** Atomic accesses that replace a value by another one write it, also if they
 * fail. All are seq_cst here: one thread runs all ranks. */
#define ATOMIC_CHANGE(bits, type, name)                                        \
    type __tsan_atomic##bits##_##name(volatile type *memory, type value,       \
                                      int order)                               \
    {                                                                          \
        (void)order;                                                           \
        note(WRITTEN, memory, sizeof(type));                                   \
        return __atomic_##name(memory, value, __ATOMIC_SEQ_CST);               \
    }

#define ATOMIC_COMPARE(bits, type, name)                                       \
    int __tsan_atomic##bits##_##name(volatile type *memory, type *expected,    \
                                     type value, int order, int failed)        \
    {                                                                          \
        (void)order, (void)failed;                                             \
        note(WRITTEN, memory, sizeof(type));                                   \
        return __atomic_compare_exchange_n(memory, expected, value, false,     \
                                           __ATOMIC_SEQ_CST,                   \
                                           __ATOMIC_SEQ_CST);                  \
    }

#define __atomic_exchange __atomic_exchange_n

#define ATOMIC(bits, type)                                                     \
    type __tsan_atomic##bits##_load(const volatile type *memory, int order)    \
    {                                                                          \
        (void)order;                                                           \
        note(READ, memory, sizeof(type));                                      \
        return __atomic_load_n(memory, __ATOMIC_SEQ_CST);                      \
    }                                                                          \
    void __tsan_atomic##bits##_store(volatile type *memory, type value,        \
                                     int order)                                \
    {                                                                          \
        (void)order;                                                           \
        note(WRITTEN, memory, sizeof(type));                                   \
        __atomic_store_n(memory, value, __ATOMIC_SEQ_CST);                     \
    }                                                                          \
    ATOMIC_CHANGE(bits, type, exchange)                                        \
    ATOMIC_CHANGE(bits, type, fetch_add)                                       \
    ATOMIC_CHANGE(bits, type, fetch_sub)                                       \
    ATOMIC_CHANGE(bits, type, fetch_and)                                       \
    ATOMIC_CHANGE(bits, type, fetch_or)                                        \
    ATOMIC_COMPARE(bits, type, compare_exchange_strong)                        \
    ATOMIC_COMPARE(bits, type, compare_exchange_weak)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}
