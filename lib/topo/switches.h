#ifndef CTN_TOPO_SWITCHES_H
#define CTN_TOPO_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/status.h>

#include "core/log.h"

/** Find the leaf switch of a node in a file of Slurm's topology.conf format:
 * a line "SwitchName=NAME Nodes=HOSTLIST" for each leaf switch, and
 * "SwitchName=NAME Switches=LIST" for those above, which are not used. The
 * whole file is checked. `node` may be a name with a domain where the file has
 * names without.
 * @param[out] name [bytes] of the switch
 * @return ERR_ARG: the file cannot be read, has errors, or not exactly one
 * switch for the node; logged, with the line */
catena_status_t ctn_switch_of(const ctn_log_t *log, const char *path,
                              const char *node, char *name, size_t bytes);

/** Whether a host list, such as "login,n[01-16,20]", has a name. */
bool ctn_hostlist_has(const char *list, const char *name);

#endif
