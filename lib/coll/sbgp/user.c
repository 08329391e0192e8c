/* The rule "user": ranks choose their subgroup by its name, a setting of the
 * group or CATENA_SUBGROUP. */

#include <stdio.h>
#include <string.h>

#include "coll/hierarchy/hierarchy.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    const char *chosen = ctn_hierarchy_subgroup(group);
    int length = snprintf(name, CTN_SBGP_NAME_BYTES, "%s", chosen);
    if (length < 0 || (size_t)length >= CTN_SBGP_NAME_BYTES) {
        ctn_error(group->exec->log,
                  "the name of this rank's subgroup has %zu bytes; expected "
                  "less than %u",
                  strlen(chosen), CTN_SBGP_NAME_BYTES);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

const ctn_sbgp_rule_t ctn_sbgp_user = {
    .name = "user",
    .help = "ranks with the same CATENA_SUBGROUP",
    .find = find,
};
