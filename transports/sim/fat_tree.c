/* A fat tree of two levels (Leiserson, Fat-Trees, IEEE Trans. Computers C-34,
 * 1985): each leaf switch has so many nodes, and so many links up, one to each
 * core switch. The link that a message takes up, and the link down from the
 * same core switch, follow from the number of the target's node (Zahavi,
 * Johnson, Kerbyson, Lang, Optimized InfiniBand fat-tree routing for shift
 * all-to-all communication patterns, Concurrency and Computation 22, 2010). So
 * messages to different nodes may meet on a link although there are as many
 * links as nodes. A link has the bandwidth of a port; what it cannot take at
 * once waits in its switch, and holds up only what takes the same link. */

#include "transports/sim/engine.h"

/** The link of a leaf switch that a message to a node takes. */
static uint64_t *link_of(const ctn_sim_t *sim, uint64_t *links, uint32_t leaf,
                         uint32_t target)
{
    uint32_t count = sim->machine->leaf_uplinks;
    return &links[(size_t)leaf * count + target % count];
}

/** Send bytes through a link from `now` on. @return when it takes the first */
static uint64_t pass(ctn_sim_t *sim, uint64_t *link, uint64_t bytes_ps)
{
    uint64_t start = *link > sim->now ? *link : sim->now;
    *link = start + bytes_ps;
    return start;
}

bool sim_leaves_leaf(const ctn_sim_t *sim, uint32_t node, uint32_t target)
{
    uint32_t nodes = sim->machine->leaf_nodes;
    return nodes > 0 && node / nodes != target / nodes;
}

uint64_t sim_pass_up(ctn_sim_t *sim, uint32_t node, uint32_t target,
                     uint64_t bytes_ps)
{
    uint32_t leaf = node / sim->machine->leaf_nodes;
    return pass(sim, link_of(sim, sim->up, leaf, target), bytes_ps);
}

uint64_t sim_pass_down(ctn_sim_t *sim, uint32_t node, uint32_t target,
                       uint64_t bytes_ps)
{
    if (!sim_leaves_leaf(sim, node, target)) {
        return sim->now;
    }
    uint32_t leaf = target / sim->machine->leaf_nodes;
    return pass(sim, link_of(sim, sim->down, leaf, target), bytes_ps);
}

void sim_fat_tree_create(ctn_sim_t *sim)
{
    const catena_machine_t *machine = sim->machine;
    if (machine->leaf_nodes > 0) {
        size_t leaves = (sim->nodes - 1) / machine->leaf_nodes + 1;
        size_t links = leaves * machine->leaf_uplinks;
        sim->up = ctn_region_take(&sim->tables, links, sizeof(*sim->up));
        sim->down = ctn_region_take(&sim->tables, links, sizeof(*sim->down));
    }
}
