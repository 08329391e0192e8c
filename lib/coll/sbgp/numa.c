/* The rule "numa": a subgroup has the ranks of one NUMA domain. */

#include "coll/sbgp/sbgp.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_sbgp_resource(group, CATENA_LEVEL_NUMA, name);
}

const ctn_sbgp_rule_t ctn_sbgp_numa = {
    .name = "numa",
    .help = "ranks of one NUMA domain",
    .find = find,
};
