/* A simulated job returns to an earlier point: see checkpoint.h.
 *
 * What can change: allocated memory (areas), stacks, the table of ranks, heaps
 * and static variables. All of it is copied, except static variables and pages
 * of heaps that were zero: states.c restores the lines of these that were
 * written. states.c does not see writes by the kernel, by the C library, or of
 * structures that functions return. */

#include "checkpoint.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "accesses.h"
#include "areas.h"
#include "states.h"
#include "transports/sim/engine.h"

enum { PAGE_BYTES = 4096 };

static enum { NOTHING, KEEP, RETURN } wanted;

static struct {
    unsigned char *area[AREAS];
    size_t used[AREAS];
    unsigned char *ranks; /* stacks and table */
    unsigned char **page; /* [pages] of heaps */
    unsigned char *content;
    size_t pages;
    bool elsewhere;
} kept;

void checkpoint_keep(void)
{
    wanted = KEEP;
}

void checkpoint_return(void)
{
    wanted = RETURN;
}

static size_t bytes_of_ranks(const ctn_sim_t *sim)
{
    return (size_t)(sim->memory + sim->memory_bytes - sim->stacks);
}

static unsigned char *copy(unsigned char *old, const unsigned char *memory,
                           size_t bytes)
{
    unsigned char *space = areas_need(__real_realloc(old, bytes + 1));
    memcpy(space, memory, bytes);
    return space;
}

static bool is_zero(const unsigned char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

/** Copy the pages of heaps that are not zero. */
static void keep_pages(const ctn_sim_t *sim)
{
    static unsigned char *is_there;
    size_t all = (size_t)(sim->stacks - sim->memory) / PAGE_BYTES;
    is_there = areas_need(__real_realloc(is_there, all));
    kept.page = areas_need(__real_realloc(kept.page, all * sizeof(*kept.page)));
    bool known = mincore(sim->memory, all * PAGE_BYTES, is_there) == 0;
    (void)areas_need(known ? is_there : NULL);
    kept.pages = 0;
    for (size_t i = 0; i < all; i++) {
        unsigned char *page = sim->memory + i * PAGE_BYTES;
        if ((is_there[i] & 1) != 0 && !is_zero(page)) {
            kept.page[kept.pages++] = page;
        }
    }
    kept.content =
        areas_need(__real_realloc(kept.content, kept.pages * PAGE_BYTES + 1));
    for (size_t i = 0; i < kept.pages; i++) {
        memcpy(kept.content + i * PAGE_BYTES, kept.page[i], PAGE_BYTES);
    }
}

static void keep(const ctn_sim_t *sim)
{
    keep_pages(sim);
    for (int i = 0; i < AREAS; i++) {
        kept.used[i] = area[i].used;
        kept.area[i] = copy(kept.area[i], area[i].begin, area[i].used);
    }
    kept.ranks = copy(kept.ranks, sim->stacks, bytes_of_ranks(sim));
    kept.elsewhere = accesses_elsewhere;
}

static void restore(const ctn_sim_t *sim)
{
    states_restore_lines();
    for (int i = 0; i < AREAS; i++) {
        memcpy(area[i].begin, kept.area[i], kept.used[i]);
        memset(area[i].begin + kept.used[i], 0, area[i].used - kept.used[i]);
        area[i].used = kept.used[i];
    }
    for (size_t i = 0; i < kept.pages; i++) {
        memcpy(kept.page[i], kept.content + i * PAGE_BYTES, PAGE_BYTES);
    }
    memcpy(sim->stacks, kept.ranks, bytes_of_ranks(sim));
    accesses_elsewhere = kept.elsewhere;
}

/* ---- functions that the linker wraps ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

bool __real_sim_choose(ctn_sim_t *sim, ctn_queue_entry_t *next);

bool __wrap_sim_choose(ctn_sim_t *sim, ctn_queue_entry_t *next)
{
    bool chosen = __real_sim_choose(sim, next);
    while (wanted != NOTHING) {
        if (wanted == KEEP) {
            keep(sim);
        } else {
            restore(sim);
        }
        wanted = NOTHING;
        chosen = __real_sim_choose(sim, next);
    }
    return chosen;
}
