/* The rule "switch": nodes at one leaf switch of the network, by the file
 * CATENA_SWITCHES. */

#include <stdio.h>
#include <string.h>

#include "coll/sbgp/sbgp.h"
#include "topo/locality.h"
#include "topo/switches.h"

static catena_status_t find(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES])
{
    const ctn_exec_t *exec = group->exec;
    const char *path = ctn_topo_config(exec->config)->switches;
    if (path[0] == '\0') {
        ctn_error(exec->log, "a hierarchy has the rule switch; set "
                             "CATENA_SWITCHES to a file with lines "
                             "SwitchName=NAME Nodes=HOSTLIST");
        return CATENA_ERR_ARG;
    }
    /* The name of a node is that of its host, a '#', and a number. */
    char node[CTN_SBGP_NAME_BYTES];
    snprintf(node, sizeof(node), "%s", exec->locality->node);
    char *mark = strrchr(node, '#');
    if (mark != NULL) {
        *mark = '\0';
    }
    return ctn_switch_of(exec->log, path, node, name, CTN_SBGP_NAME_BYTES);
}

const ctn_sbgp_rule_t ctn_sbgp_switch = {
    .name = "switch",
    .help = "ranks of nodes at one switch, by CATENA_SWITCHES",
    .find = find,
};
