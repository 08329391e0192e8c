#ifndef CTN_TOPO_LOCALITY_H
#define CTN_TOPO_LOCALITY_H

#include <catena/group.h>

#include "core/locality.h"
#include "core/log.h"

/** Find out where this process is bound. Fills site->numa; local_rank must be
 * set.
 * @param description what stands for the real machine, a synthetic description
 *                    of hwloc or the path of an XML file (*.xml): the process
 *                    counts as bound to its local rank's processing unit
 *                    (modulo their number); NULL or "": the real one */
catena_status_t ctn_locality_find(const ctn_log_t *log, const char *description,
                                  ctn_locality_t *locality);

/** Which network devices this process is to use.
 * @param setting CATENA_NET_DEVICES: "all"; "auto": the RDMA devices near its
 *                NUMA domain; or lists that are dealt to the local ranks
 * @param[out] devices a list for UCX that the caller frees; NULL: all */
catena_status_t ctn_locality_devices(const ctn_log_t *log,
                                     const char *description,
                                     const char *setting,
                                     const ctn_locality_t *locality,
                                     char **devices);

/** Processing units that this job's ranks on this host can use together: those
 * online, less what the control group's quota withholds. */
unsigned ctn_locality_cores(void);

#define CTN_RESOURCE_BYTES 384u /* of a name, with the node's */

/** The name of this process's resource of a level: the same for all that share
 * it, of no other. Where it may run on several, of the next larger kind.
 * @return ERR_ARG (no such level), ERR_SYSTEM; logged */
catena_status_t ctn_locality_resource(const ctn_log_t *log,
                                      const char *description,
                                      const ctn_locality_t *locality,
                                      catena_level_t level, char *name);

/* What to load beside domains, packages and processing units. */
enum { CTN_LOAD_DEVICES = 1u << 0, CTN_LOAD_CACHES = 1u << 1 };

struct hwloc_topology;
/** 0, or -1 as hwloc has it. For this folder. */
int ctn_locality_load(struct hwloc_topology *topology, const char *description,
                      unsigned what);

#endif
