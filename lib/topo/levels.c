/* Names the resources of the machine on which this process runs. The names are
 * the colors of catena_group_split_level. */

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "core/refuse.h"
#include "topo/locality.h"

/* The levels within a node, from the smallest resource to the largest. A name
 * is HOST/<name><number>, such as HOST/numa1. */
static const struct {
    catena_level_t level;
    hwloc_obj_type_t type;
    const char *name;
} resource_types[] = {
    {CATENA_LEVEL_CORE, HWLOC_OBJ_CORE, "core"},
    {CATENA_LEVEL_L3, HWLOC_OBJ_L3CACHE, "l3"},
    {CATENA_LEVEL_NUMA, HWLOC_OBJ_NUMANODE, "numa"},
    {CATENA_LEVEL_SOCKET, HWLOC_OBJ_PACKAGE, "socket"},
};

enum { RESOURCE_TYPES = sizeof(resource_types) / sizeof(resource_types[0]) };

_Static_assert(RESOURCE_TYPES == CTN_RESOURCES,
               "one for each level within a node");

/** Return the object of a type that contains all of `cpuset`; NULL: none does,
 * for example because several contain parts of it. */
static hwloc_obj_t covering(hwloc_topology_t topology, hwloc_obj_type_t type,
                            hwloc_const_cpuset_t cpuset)
{
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) !=
           NULL) {
        if (hwloc_bitmap_isincluded(cpuset, object->cpuset)) {
            return object;
        }
    }
    return NULL;
}

/** Find the resources of each level that contain all of `cpuset`, from the
 * largest type down. A resource that is not contained in the next larger one
 * found (such as a NUMA domain over several sockets) is ignored, so that levels
 * nest. */
static void find_nested(hwloc_topology_t topology, hwloc_const_cpuset_t cpuset,
                        ctn_resources_t *found)
{
    hwloc_obj_t outer = NULL;
    for (unsigned i = RESOURCE_TYPES; i-- > 0;) {
        hwloc_obj_t object = covering(topology, resource_types[i].type, cpuset);
        bool nests = object != NULL &&
                     (outer == NULL ||
                      hwloc_bitmap_isincluded(object->cpuset, outer->cpuset));
        found->index[i] = nests ? (int)object->logical_index : -1;
        outer = nests ? object : outer;
    }
}

/** Find the resources of this process by hwloc.
 * @return whether hwloc can load the machine */
static bool find_all(const char *description, const ctn_locality_t *locality,
                     ctn_resources_t *found)
{
    hwloc_topology_t topology = ctn_locality_load(description, CTN_LOAD_CACHES);
    if (topology == NULL) {
        return false;
    }
    hwloc_cpuset_t cpuset =
        ctn_locality_cpuset(topology, description, locality);
    if (cpuset != NULL) {
        find_nested(topology, cpuset, found);
    }
    bool all = cpuset != NULL;
    hwloc_bitmap_free(cpuset);
    hwloc_topology_destroy(topology);
    return all;
}

/** Find the resources on a simulated machine without a description: it has one
 * core for each rank, and all larger resources are the NUMA domains. */
static void find_simulated(const ctn_locality_t *locality,
                           ctn_resources_t *found)
{
    for (unsigned i = 0; i < RESOURCE_TYPES; i++) {
        found->index[i] = resource_types[i].level == CATENA_LEVEL_CORE
                              ? (int)locality->local_rank
                              : locality->numa;
    }
}

catena_status_t ctn_locality_resource(const ctn_log_t *log,
                                      const char *description,
                                      const ctn_locality_t *locality,
                                      catena_level_t level, char *name)
{
    ctn_resources_t *found = locality->resources;
    unsigned type_index = 0; /* RESOURCE_TYPES: the whole node */
    while (type_index < RESOURCE_TYPES &&
           resource_types[type_index].level != level) {
        type_index++;
    }
    if (type_index == RESOURCE_TYPES && level != CATENA_LEVEL_NODE) {
        return ctn_refuse(log, CATENA_ERR_ARG, "catena_group_split_level",
                          "level is %d; expected CATENA_LEVEL_...", (int)level);
    }
    if (!found->known && type_index < RESOURCE_TYPES) {
        if (locality->simulated && !ctn_is_described(description)) {
            find_simulated(locality, found);
        } else if (!find_all(description, locality, found)) {
            ctn_error(log, "hwloc cannot load the topology of this machine");
            return CATENA_ERR_SYSTEM;
        }
        found->known = true;
    }
    while (type_index < RESOURCE_TYPES && found->index[type_index] < 0) {
        type_index++; /* on several of this type: take the next larger one */
    }
    if (type_index == RESOURCE_TYPES) {
        snprintf(name, CTN_RESOURCE_BYTES, "%s", locality->node);
    } else {
        snprintf(name, CTN_RESOURCE_BYTES, "%s/%s%d", locality->node,
                 resource_types[type_index].name, found->index[type_index]);
    }
    return CATENA_OK;
}
