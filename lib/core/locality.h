#ifndef CTN_CORE_LOCALITY_H
#define CTN_CORE_LOCALITY_H

#include <stdbool.h>
#include <stdint.h>

/** Kinds of resources of a node, such as cores; see topo/levels.c. */
#define CTN_RESOURCES 4

/** The resources that this process is bound to. */
typedef struct ctn_resources {
    bool known; /* set when the indices are first needed: hwloc then reads the
                   machine, which takes long */
    /** By kind, the smallest first: the logical index of the one resource that
     * this process may run on; -1: it may run on several, or there is none. */
    int index[CTN_RESOURCES];
} ctn_resources_t;

/** Where this process runs: what the launcher and hwloc tell, without
 * communication between ranks. */
typedef struct ctn_locality {
    uint64_t process; /* world rank */
    /** The name of the node, the same for all its ranks and different on other
     * nodes; valid as long as the context. */
    const char *node;
    uint32_t local_rank; /* among the job's processes on the node */
    uint32_t local_size; /* the number of these processes */
    int numa; /* NUMA domain that this process is bound to; -1: several */
    bool oversubscribed;   /* the host has more ranks than cores */
    double ranks_per_core; /* of the host; not set in the simulator */
    bool simulated;        /* the node is one of the simulator */
    ctn_resources_t *resources;
} ctn_locality_t;

#endif
