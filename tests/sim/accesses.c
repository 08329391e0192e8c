/* The accesses of a step: see accesses.h. */

#include "accesses.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "states.h"
#include "transports/exposed.h"
#include "transports/sim/engine.h"

typedef struct interval interval_t;

enum { READ, WRITTEN, COUNTED, KINDS };
enum { MOST_PARTS = 1 << 20 };

static const ctn_sim_t *job;
static uintptr_t heaps, heaps_end;
bool accesses_elsewhere;

/** The accesses of the step, in the order of time. */
static struct {
    bool recorded;
    interval_t *part[KINDS]; /* [MOST_PARTS] */
    size_t count[KINDS];
} step;

static accesses_t *returned;

/* ---- what is recorded ---- */

static void push(int kind, interval_t part)
{
    if (step.count[kind] == MOST_PARTS) {
        fprintf(stderr,
                "explore_accesses: a step accesses more than %d parts\n",
                MOST_PARTS);
        exit(2);
    }
    step.part[kind][step.count[kind]++] = part;
}

/** Add an interval, unless it is part of a recent one or continues the last. */
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
    } else {
        push(kind, part);
    }
}

/** The number of messages of a rank in flight. Those that send and deliver add
 * to it, which commutes; a rank that flushes reads it. */
static interval_t in_flight(size_t rank)
{
    size_t at = heaps_end - heaps + rank * sizeof(*job->in_flight);
    return (interval_t){at, at + sizeof(*job->in_flight)};
}

/** An addition reads, then writes: what it has read does not matter. */
static void count(interval_t number)
{
    size_t *reads = &step.count[READ];
    if (*reads > 0 && step.part[READ][*reads - 1].from == number.from) {
        --*reads;
    }
    add(COUNTED, number);
}

static __attribute__((noinline)) void
record(int kind, const volatile void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory;
    if (bytes == 0) {
        return;
    }
    if (kind != READ) {
        states_write(at, bytes);
    }
    if (!step.recorded) {
        return;
    }
    uintptr_t counters = (uintptr_t)job->in_flight;
    if (at >= heaps && at < heaps_end) {
        add(kind, (interval_t){at - heaps, at - heaps + bytes});
    } else if (at >= counters &&
               at < (uintptr_t)(job->in_flight + job->ranks)) {
        interval_t number =
            in_flight((at - counters) / sizeof(*job->in_flight));
        if (kind == READ) {
            push(READ, number);
        } else {
            count(number);
        }
    }
}

/** Clear the stack that `record` used. Its words could become part of a later
 * frame, and so of the state (states.h). */
static __attribute__((noinline)) void wipe(void)
{
    unsigned char below[512];
    memset(below, 0, sizeof(below));
    __asm__ volatile("" : : "r"(below) : "memory");
}

static inline void note(int kind, const volatile void *memory, size_t bytes)
{
    if (states_differ) {
        if (kind != READ || step.recorded) {
            record(kind, memory, bytes);
        }
        wipe();
    }
}

/** A rank whose flush is under way reads the number whenever it runs. */
static void note_flushes(void)
{
    for (uint32_t r = 0; r < job->ranks && job->flushing > 0; r++) {
        if (job->rank[r].flushes != NULL) {
            push(READ, in_flight(r));
        }
    }
}

void accesses_begin(void)
{
    step.recorded = true;
    memset(step.count, 0, sizeof(step.count));
    note_flushes();
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
    note_flushes();
    size_t parts = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        step.count[kind] = join(step.part[kind], step.count[kind]);
        parts += step.count[kind];
    }
    accesses_t *all = __real_malloc(sizeof(*all) + parts * sizeof(interval_t));
    if (all == NULL) {
        perror("explore_accesses");
        exit(2);
    }
    interval_t *part = (interval_t *)(void *)(all + 1);
    for (int kind = 0; kind < KINDS; kind++) {
        all->of[kind].part = part;
        all->of[kind].count = step.count[kind];
        if (step.count[kind] > 0) {
            memcpy(part, step.part[kind], step.count[kind] * sizeof(*part));
        }
        part += step.count[kind];
    }
    all->elsewhere = accesses_elsewhere;
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
           overlap(a, WRITTEN, b, READ) || overlap(a, WRITTEN, b, WRITTEN) ||
           overlap(a, READ, b, COUNTED) || overlap(a, COUNTED, b, READ);
}

void accesses_release(void)
{
    while (returned != NULL) {
        accesses_t *next = returned->next;
        __real_free(returned);
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
    if (status != CATENA_OK) {
        return status;
    }
    for (int kind = 0; kind < KINDS && step.part[kind] == NULL; kind++) {
        step.part[kind] = __real_malloc(MOST_PARTS * sizeof(interval_t));
        if (step.part[kind] == NULL) {
            perror("explore_accesses");
            exit(2);
        }
    }
    job = sim;
    accesses_elsewhere = false;
    heaps = (uintptr_t)sim_node_memory(sim, 0);
    heaps_end = (uintptr_t)sim_node_memory(sim, sim->nodes);
    states_job_begins(sim, heaps, heaps_end);
    return status;
}

void __real_sim_memory_destroy(ctn_sim_t *sim);

/** The job ends. A step that no other one follows has no record. */
void __wrap_sim_memory_destroy(ctn_sim_t *sim)
{
    step.recorded = false;
    states_job_ends();
    __real_sim_memory_destroy(sim);
}

catena_status_t __real_ctn_exposed_add(ctn_exposed_t *exposed, void *memory,
                                       size_t bytes, uint64_t *offset);

catena_status_t __wrap_ctn_exposed_add(ctn_exposed_t *exposed, void *memory,
                                       size_t bytes, uint64_t *offset)
{
    accesses_elsewhere = true;
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

/** What clang calls: it returns the value before. */
#define ATOMIC_COMPARE_VALUE(bits, type)                                       \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *memory,     \
                                                    type expected, type value, \
                                                    int order, int failed)     \
    {                                                                          \
        (void)order, (void)failed;                                             \
        note(WRITTEN, memory, sizeof(type));                                   \
        (void)__atomic_compare_exchange_n(memory, &expected, value, false,     \
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected;                                                       \
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
    ATOMIC_COMPARE(bits, type, compare_exchange_weak)                          \
    ATOMIC_COMPARE_VALUE(bits, type)

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
