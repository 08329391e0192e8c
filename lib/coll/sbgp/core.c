/* The rule "core": a subgroup has the ranks of one core. */

#include "coll/sbgp/sbgp.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_sbgp_resource(group, CATENA_LEVEL_CORE, name);
}

const ctn_sbgp_rule_t ctn_sbgp_core = {
    .name = "core",
    .help = "ranks that run on one core",
    .find = find,
};
