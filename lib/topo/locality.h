#ifndef CTN_TOPO_LOCALITY_H
#define CTN_TOPO_LOCALITY_H

#include <stdbool.h>

#include <catena/group.h>

#include "core/config.h"
#include "core/locality.h"
#include "core/log.h"

/** Values of the settings of lib/topo; locality.c explains them. */
typedef struct ctn_topo_config {
    size_t host_ranks; /* HOST_RANKS: number of ranks that share this host's
                          cores; or auto */
    char *topology;    /* TOPOLOGY: description of another machine; or empty */
    char *net_devices; /* NET_DEVICES: auto, all, or lists */
    char *switches;    /* SWITCHES: path of a file, see switches.h; or empty */
} ctn_topo_config_t;

extern const ctn_setting_table_t ctn_topo_settings;

static inline const ctn_topo_config_t *
ctn_topo_config(const ctn_config_t *config)
{
    return ctn_config_values(config, &ctn_topo_settings);
}

/** Find the NUMA domain that this process is bound to, and set locality->numa.
 * locality->local_rank must be set.
 * @param description machine to use in place of the real one: a synthetic
 *                    description of hwloc or the path of an XML file (*.xml).
 *                    The process counts as bound to the processing unit of its
 *                    local rank (modulo their number). NULL or "": the real
 *                    machine */
catena_status_t ctn_locality_find(const ctn_log_t *log, const char *description,
                                  ctn_locality_t *locality);

/** Select the network devices of this process. `description` as above.
 * @param setting CATENA_NET_DEVICES: "all"; "auto": the RDMA devices local to
 *                its NUMA domain; or lists that are assigned to the local ranks
 * @param[out] devices a list for UCX that the caller frees; NULL: all */
catena_status_t ctn_locality_devices(const ctn_log_t *log,
                                     const char *description,
                                     const char *setting,
                                     const ctn_locality_t *locality,
                                     char **devices);

#define CTN_RESOURCE_BYTES 384u /* the longest name, including the node's */

/** Write the name of this process's resource at a level to `name`, which has
 * CTN_RESOURCE_BYTES. Processes get the same name if and only if they share the
 * resource. A process that may run on several resources of the level gets the
 * smallest larger one that contains them all. `description` as above.
 * @return ERR_ARG (no such level), ERR_SYSTEM; logged */
catena_status_t ctn_locality_resource(const ctn_log_t *log,
                                      const char *description,
                                      const ctn_locality_t *locality,
                                      catena_level_t level, char *name);

/* What to load in addition to NUMA domains, packages and processing units. */
enum { CTN_LOAD_DEVICES = 1u << 0, CTN_LOAD_CACHES = 1u << 1 };

struct hwloc_topology;
struct hwloc_bitmap_s;
/* Internal to this folder. */

/** Whether there is a description of a machine. */
static inline bool ctn_is_described(const char *description)
{
    return description != NULL && description[0] != '\0';
}
/** Load an hwloc topology, which the caller destroys.
 * @param description as above
 * @param what        CTN_LOAD_...
 * @return NULL: it cannot be loaded */
struct hwloc_topology *ctn_locality_load(const char *description,
                                         unsigned what);
/** The CPUs on which this process may run; the caller frees the set. NULL: no
 * memory. */
struct hwloc_bitmap_s *ctn_locality_cpuset(struct hwloc_topology *topology,
                                           const char *description,
                                           const ctn_locality_t *locality);

#endif
