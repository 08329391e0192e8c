/* The rule "network": a subgroup has the ranks of the whole group. */

#include "coll/sbgp/sbgp.h"

/** All ranks at this level are in one subgroup. */
static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    (void)group;
    name[0] = '\0';
    return CATENA_OK;
}

const ctn_sbgp_rule_t ctn_sbgp_network = {
    .name = "network",
    .help = "all ranks",
    .find = find,
};
