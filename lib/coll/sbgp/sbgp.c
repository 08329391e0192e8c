#include "coll/sbgp/sbgp.h"

#include "topo/locality.h"

/* Rules of the machine come first, from the smallest resource up. Each resource
 * lies within one of the next rule. */
const ctn_sbgp_rule_t *const ctn_sbgp_rules[] = {
    &ctn_sbgp_core, &ctn_sbgp_l3,      &ctn_sbgp_numa, &ctn_sbgp_socket,
    &ctn_sbgp_node, &ctn_sbgp_network, &ctn_sbgp_user, NULL};

_Static_assert(CTN_SBGP_NAME_BYTES >= CTN_RESOURCE_BYTES,
               "names of resources fit");

catena_status_t ctn_sbgp_resource(const catena_group_t *group,
                                  catena_level_t level,
                                  char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_locality_resource(group->exec->log,
                                 ctn_topo_config(group->exec->config)->topology,
                                 group->exec->locality, level, name);
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
