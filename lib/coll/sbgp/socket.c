/* The rule "socket": a subgroup has the ranks of one package. */

#include "coll/sbgp/sbgp.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    return ctn_sbgp_resource(group, CATENA_LEVEL_SOCKET, name);
}

const ctn_sbgp_rule_t ctn_sbgp_socket = {
    .name = "socket",
    .help = "ranks of one package",
    .find = find,
};
