/* The rule "l3": a subgroup has the ranks of one third-level cache. */

#include "coll/sbgp/sbgp.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_sbgp_resource(group, CATENA_LEVEL_L3, name);
}

const ctn_sbgp_rule_t ctn_sbgp_l3 = {
    .name = "l3",
    .help = "ranks that share a third-level cache",
    .find = find,
};
