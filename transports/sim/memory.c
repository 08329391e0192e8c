/* The memory of a simulated job: heaps, stacks, and the table of its ranks. */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transports/sim/engine.h"

/* All heaps together, unless the caller sets memory_bytes: a quarter of a
 * process's address space of 2^47 bytes. */
static const size_t MEMORY_BYTES = (size_t)1 << 45;
#ifndef CTN_SIM_ARENA_BYTES /* at most, of one rank */
#define CTN_SIM_ARENA_BYTES ((size_t)1 << 35)
#endif
static const size_t ALIGNMENT = CTN_SIM_HEADER_BYTES; /* of all heaps */
static const size_t KEPT_BYTES = (size_t)1 << 34;     /* of a small job */
enum {
    STACK_BYTES = 128 << 10, /* unless the caller sets stack_bytes */
    STACK_MIN = 16 << 10,
    STACK_DENSE = 32 << 10, /* a rank uses most of a stack up to this size */
    PAGE_BYTES = 4096,
    KEPT_PAGES = 8192 /* at most */
};

/* ---- mappings ---- */

/* A page that is used for the first time costs more than to clear it. So the
 * memory of a small job, cleared, is that of the next one: orders are explored
 * by running a job thousands of times. */
static unsigned char *kept; /* [KEPT_BYTES], or NULL */

/** @return sparse memory, zero: only written pages take memory */
static unsigned char *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* AddressSanitizer knows parts of a heap as not accessible. */
#if defined(__SANITIZE_ADDRESS__)
enum { KEEPS = 0 };
#else
enum { KEEPS = 1 };
#endif

static void reserve(ctn_sim_t *sim)
{
    if (KEEPS && sim->memory_bytes <= KEPT_BYTES) {
        sim->mapped_bytes = KEPT_BYTES;
        sim->memory = __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQUIRE);
        sim->memory = sim->memory == NULL ? map(KEPT_BYTES) : sim->memory;
    }
    if (sim->memory == NULL) { /* large, or a limit of the address space */
        sim->mapped_bytes = sim->memory_bytes;
        sim->memory = map(sim->memory_bytes);
    }
}

/** Clear the pages that were written.
 * @return whether that was possible, and worthwhile */
static bool clear(unsigned char *memory, size_t bytes)
{
    size_t pages = bytes / PAGE_BYTES, written = 0;
    unsigned char *in_memory = malloc(pages);
    bool good = in_memory != NULL && sysconf(_SC_PAGESIZE) == PAGE_BYTES &&
                mincore(memory, bytes, in_memory) == 0;
    const unsigned char *page = in_memory;
    while (good && (page = memchr(
                        page, 1, pages - (size_t)(page - in_memory))) != NULL) {
        memset(memory + (size_t)(page - in_memory) * PAGE_BYTES, 0, PAGE_BYTES);
        good = ++written <= KEPT_PAGES;
        page++;
    }
    free(in_memory);
    return good;
}

void sim_memory_destroy(ctn_sim_t *sim)
{
    bool keep = KEEPS && sim->memory != NULL &&
                sim->mapped_bytes == KEPT_BYTES &&
                clear(sim->memory, sim->memory_bytes);
    unsigned char *old = sim->memory;
    if (keep) {
        old = __atomic_exchange_n(&kept, old, __ATOMIC_ACQ_REL);
    }
    if (old != NULL) {
        munmap(old, sim->mapped_bytes);
    }
}

/* ---- a job's ---- */

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

unsigned char *sim_node_memory(const ctn_sim_t *sim, uint32_t node)
{
    uintptr_t first =
        ((uintptr_t)sim->memory + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    return (unsigned char *)first + node * sim->node_bytes;
}

catena_status_t sim_memory_create(ctn_sim_t *sim)
{
    uint32_t most = 0; /* ranks on a node */
    for (uint32_t n = 0; n < sim->nodes; n++) {
        most = sim->node[n].count > most ? sim->node[n].count : most;
    }
    size_t all = sim->params.memory_bytes;
    all = all == 0 ? MEMORY_BYTES : all;
    size_t arena = all / ((size_t)sim->nodes * (most + 1));
    arena = arena < CTN_SIM_ARENA_BYTES ? arena & ~(ALIGNMENT - 1)
                                        : CTN_SIM_ARENA_BYTES;
    sim->arena_bytes = arena;
    sim->node_bytes = ALIGNMENT + most * arena;
    size_t stack = sim->params.stack_bytes;
    stack = stack == 0 ? STACK_BYTES : stack;
    sim->stack_bytes = in_pages(stack < STACK_MIN ? STACK_MIN : stack);
    /* One stack more, below the first rank's: if that overflows, it overwrites
     * this one. */
    size_t stacks = (sim->ranks + (size_t)1) * sim->stack_bytes;
    size_t table = in_pages(sim->ranks * sizeof(*sim->rank));
    size_t heaps = sim->nodes * sim->node_bytes + ALIGNMENT;
    sim->memory_bytes = heaps + stacks + table;
    if (arena > 0) {
        reserve(sim);
    }
    if (sim->memory == NULL) {
        ctn_error(NULL,
                  "simulator: no address space for the heaps (%zu MiB, %zu KiB "
                  "a rank) and stacks (%zu MiB) of %u ranks on %u nodes; raise "
                  "the limit of address space (ulimit -v), or set memory_bytes "
                  "(catena-bench --sim-memory) to what it allows, at least %zu "
                  "KiB a rank",
                  all >> 20, arena >> 10, stacks >> 20, sim->ranks, sim->nodes,
                  ALIGNMENT >> 10);
        return CATENA_ERR_NO_MEMORY;
    }
    sim->stacks = sim->memory + heaps;
    sim->rank = (ctn_sim_rank_t *)(void *)(sim->stacks + stacks);
    /* Huge pages where most pages will be written, if there are any. */
    bool dense = stack <= STACK_DENSE;
    (void)madvise(dense ? sim->stacks : sim->stacks + stacks,
                  dense ? stacks + table : table, MADV_HUGEPAGE);
    return CATENA_OK;
}
