#ifndef CTN_CORE_LOCALITY_H
#define CTN_CORE_LOCALITY_H

#include <stdbool.h>
#include <stdint.h>

/** Which of the node's resources a process has to itself or shares as a whole,
 * by logical index, smallest kind first; -1: parts of several. See
 * topo/levels.c. */
#define CTN_RESOURCES 4
typedef struct ctn_resources {
    bool known; /* reading the machine takes long: done when asked for */
    int index[CTN_RESOURCES];
} ctn_resources_t;

/** Where this process is: known from the launcher and from hwloc, without
 * talking to anybody. */
typedef struct ctn_locality {
    uint64_t process;    /* world rank */
    const char *node;    /* what names the node, the same for all its ranks and
                            no others; lives as long as the context */
    uint32_t local_rank; /* among the job's processes on the node */
    uint32_t local_size;
    int numa;            /* NUMA domain this process is bound to, -1: several */
    bool oversubscribed; /* the host has more ranks than cores */
    bool simulated;
    ctn_resources_t *resources;
} ctn_locality_t;

#endif
