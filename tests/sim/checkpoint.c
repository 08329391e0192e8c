/* Back to an earlier point of a simulated job: see checkpoint.h.
 *
 * All that changes is in the areas of what was allocated, in stacks and the
 * table of ranks, and in heaps and static variables, of which states.c knows
 * the lines that were written. Areas are copied whole, since the C library
 * writes there, too. */

#include "checkpoint.h"

#include <stdbool.h>
#include <string.h>

#include "accesses.h"
#include "areas.h"
#include "states.h"
#include "transports/sim/engine.h"

static enum { NOTHING, KEEP, RETURN } wanted;

static struct {
    unsigned char *area[AREAS];
    size_t used[AREAS];
    unsigned char *ranks; /* stacks and table */
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

static void keep(const ctn_sim_t *sim)
{
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
