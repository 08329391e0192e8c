#include "coll/sbgp/sbgp.h"

#include <stdlib.h>
#include <string.h>

#include "topo/locality.h"

/** A rule for the ranks that share a resource. */
#define RESOURCE(NAME, its_name, its_help)                                     \
    const ctn_sbgp_rule_t ctn_sbgp_##its_name = {                              \
        .name = #its_name, .help = (its_help), .level = CATENA_LEVEL_##NAME}

RESOURCE(CORE, core, "ranks that run on one core");
RESOURCE(L3, l3, "ranks that share a third-level cache");
RESOURCE(NUMA, numa, "ranks of one NUMA domain");
RESOURCE(SOCKET, socket, "ranks of one package");
RESOURCE(NODE, node, "ranks of one node, which share a heap");

/** All ranks at this level are in one subgroup. */
static catena_status_t find_all(const catena_group_t *group,
                                char name[CTN_SBGP_NAME_BYTES])
{
    (void)group;
    name[0] = '\0';
    return CATENA_OK;
}

const ctn_sbgp_rule_t ctn_sbgp_network = {
    .name = "network", .help = "all ranks", .find = find_all};

/* Rules of the machine come first, from the smallest resource up. Each resource
 * lies within one of the next rule. */
const ctn_sbgp_rule_t *const ctn_sbgp_rules[] = {
    &ctn_sbgp_core,    &ctn_sbgp_l3,   &ctn_sbgp_numa,
    &ctn_sbgp_socket,  &ctn_sbgp_node, &ctn_sbgp_switch,
    &ctn_sbgp_network, &ctn_sbgp_user, NULL};

_Static_assert(CTN_SBGP_NAME_BYTES >= CTN_RESOURCE_BYTES,
               "names of resources fit");

catena_status_t ctn_sbgp_name(const ctn_sbgp_rule_t *rule,
                              const catena_group_t *group,
                              char name[CTN_SBGP_NAME_BYTES])
{
    const ctn_exec_t *exec = group->exec;
    return rule->find != NULL
               ? rule->find(group, name)
               : ctn_locality_resource(exec->log,
                                       ctn_topo_config(exec->config)->topology,
                                       exec->locality, rule->level, name);
}

/** Return the index of the last of `count` numbers that is not above `rank`;
 * `count`: all are above. The numbers ascend; they begin at `first` and are
 * `stride` bytes apart. */
static uint32_t last_not_above(uint32_t rank, const uint32_t *first,
                               size_t stride, uint32_t count)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const void *number = (const char *)first + middle * stride;
        if (*(const uint32_t *)number <= rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? low - 1 : count;
}

/** Whether a member represents a rank. */
static bool represents(const ctn_sbgp_member_t *member, uint32_t rank)
{
    uint32_t i = last_not_above(rank, &member->range->first,
                                sizeof(*member->range), member->ranges);
    return i < member->ranges &&
           rank - member->range[i].first < member->range[i].count;
}

uint32_t ctn_sbgp_find(const ctn_sbgp_t *sbgp, uint32_t rank)
{
    /* Members ascend, and each member is the first rank of those that it
     * represents. So the member that represents `rank` is among those up to
     * `rank`. */
    uint32_t i = last_not_above(rank, &sbgp->member->rank,
                                sizeof(*sbgp->member), sbgp->size);
    if (i == sbgp->size) {
        return i;
    }
    while (!represents(&sbgp->member[i], rank)) {
        if (i == 0 || sbgp->in_order) {
            return sbgp->size;
        }
        i--;
    }
    return i;
}

static int compare_ranges(const void *a, const void *b)
{
    uint32_t x = ((const ctn_range_t *)a)->first;
    uint32_t y = ((const ctn_range_t *)b)->first;
    return (x > y) - (x < y);
}

uint32_t ctn_sbgp_ranges(const ctn_sbgp_t *sbgp, ctn_range_t *ranges)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sbgp->size; i++) {
        count += sbgp->member[i].ranges;
    }
    if (ranges != NULL) {
        memcpy(ranges, sbgp->member->range, count * sizeof(*ranges));
        qsort(ranges, count, sizeof(*ranges), compare_ranges);
    }
    return count;
}
