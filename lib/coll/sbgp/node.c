/* The rule "node": a subgroup has the ranks of one node. */

#include "coll/sbgp/sbgp.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_sbgp_resource(group, CATENA_LEVEL_NODE, name);
}

const ctn_sbgp_rule_t ctn_sbgp_node = {
    .name = "node",
    .help = "ranks of one node, which share a heap",
    .find = find,
};
