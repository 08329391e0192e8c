#ifndef CTN_CORE_LOCALITY_H
#define CTN_CORE_LOCALITY_H

#include <stdbool.h>
#include <stdint.h>

/** Logical indices of the node's resources that this process has to itself or
 * shares as a whole, smallest kind first; -1: parts of several. See
 * topo/levels.c. */
#define CTN_RESOURCES 4
typedef struct ctn_resources {
    bool known; /* discovering the machine takes long: done on demand */
    int index[CTN_RESOURCES];
} ctn_resources_t;

/** Where this process runs, from the launcher and hwloc, without communication.
 */
typedef struct ctn_locality {
    uint64_t process; /* world rank */
    /** The name of the node, the same for all its ranks and different on other
     * nodes; lives as long as the context. */
    const char *node;
    uint32_t local_rank; /* among the job's processes on the node */
    uint32_t local_size;
    int numa;            /* NUMA domain this process is bound to, -1: several */
    bool oversubscribed; /* the host has more ranks than cores */
    double ranks_per_core; /* of the host; unknown if simulated */
    bool simulated;
    ctn_resources_t *resources;
} ctn_locality_t;

#endif
