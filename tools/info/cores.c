/* The processors, by hwloc. */

#include <hwloc.h>
#include <stdio.h>

#include "system.h"

/** The number of objects; 0: none, or at several depths. */
static int count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int found = hwloc_get_nbobjs_by_type(topology, type);
    return found > 0 ? found : 0;
}

static void read_topology(hwloc_topology_t topology, system_cores_t *cores)
{
    cores->packages = count(topology, HWLOC_OBJ_PACKAGE);
    cores->domains = count(topology, HWLOC_OBJ_NUMANODE);
    cores->cores = count(topology, HWLOC_OBJ_CORE);
    cores->units = count(topology, HWLOC_OBJ_PU);
    cores->l3 = count(topology, HWLOC_OBJ_L3CACHE);
    hwloc_obj_t cache =
        cores->l3 > 0 ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0)
                      : NULL;
    cores->l3_bytes = cache != NULL ? cache->attr->cache.size : 0;
    hwloc_obj_t package =
        cores->packages > 0
            ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0)
            : NULL;
    const char *version = hwloc_obj_get_info_by_name(
        hwloc_get_root_obj(topology), "hwlocVersion");
    if (version != NULL) {
        snprintf(cores->version, sizeof(cores->version), "%s", version);
    }
    const char *model = package != NULL
                            ? hwloc_obj_get_info_by_name(package, "CPUModel")
                            : NULL;
    if (model != NULL) {
        snprintf(cores->model, sizeof(cores->model), "%s", model);
    }
}

bool system_cores(system_cores_t *cores)
{
    hwloc_topology_t topology;
    unsigned api = hwloc_get_api_version();
    *cores = (system_cores_t){.packages = 0};
    snprintf(cores->version, sizeof(cores->version), "%u.%u.%u", api >> 16,
             api >> 8 & 255, api & 255);
    if (hwloc_topology_init(&topology) != 0) {
        return false;
    }
    bool loaded = hwloc_topology_load(topology) == 0;
    if (loaded) {
        read_topology(topology, cores);
    }
    hwloc_topology_destroy(topology);
    return loaded;
}
