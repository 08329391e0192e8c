/* The settings of lib/topo, and the NUMA domain of this process. */

#include "topo/locality.h"

#include <hwloc.h>
#include <numa.h>
#include <string.h>

static const ctn_setting_t settings[] = {
    {"HOST_RANKS", "auto",
     "Ranks that share this host's cores; set by the launcher. With more\n"
     "ranks than cores, waiting ranks yield their core early.",
     offsetof(ctn_topo_config_t, host_ranks), &ctn_setting_count},
    {"TOPOLOGY", "",
     "hwloc synthetic description to use instead of the real machine, such\n"
     "as \"numa:2 core:4 pu:1\", or the path of an hwloc XML file (*.xml).\n"
     "Empty: the real machine.",
     offsetof(ctn_topo_config_t, topology), &ctn_setting_text},
    {"NET_DEVICES", "auto",
     "Network devices of a rank. auto: RDMA devices near its NUMA domain if\n"
     "there are several devices; all; or lists as for UCX_NET_DEVICES,\n"
     "separated by '/', assigned to the ranks of a node round-robin. prun\n"
     "sets lo, since its ranks are on one host.",
     offsetof(ctn_topo_config_t, net_devices), &ctn_setting_text},
    {"SWITCHES", "",
     "Path of a file that says at which switch each node is, for the rule\n"
     "\"switch\" of hierarchies: lines SwitchName=NAME Nodes=HOSTLIST, as in\n"
     "Slurm's topology.conf. The same on all ranks.",
     offsetof(ctn_topo_config_t, switches), &ctn_setting_text},
};

const ctn_setting_table_t ctn_topo_settings =
    CTN_SETTING_TABLE(settings, ctn_topo_config_t);

/** Return the NUMA domain that contains all of `cpuset`; -1: several contain
 * parts of it, or the machine has only one. */
static int domain_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpuset)
{
    int domains = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    int found = -1;
    if (domains < 2) {
        return -1;
    }
    hwloc_nodeset_t nodes = hwloc_bitmap_alloc();
    if (nodes != NULL) {
        hwloc_cpuset_to_nodeset(topology, cpuset, nodes);
        if (hwloc_bitmap_weight(nodes) == 1) {
            found = hwloc_bitmap_first(nodes);
        }
        hwloc_bitmap_free(nodes);
    }
    return found;
}

/** Return whether a description is the path of an XML file. */
static bool is_file(const char *description)
{
    size_t length = strlen(description);
    return length > 4 && strcmp(description + length - 4, ".xml") == 0;
}

hwloc_topology_t ctn_locality_load(const char *description, unsigned what)
{
    hwloc_topology_t topology;
    int result = 0;
    if (hwloc_topology_init(&topology) != 0) {
        return NULL;
    }
    if (ctn_is_described(description)) {
        result = is_file(description)
                     ? hwloc_topology_set_xml(topology, description)
                     : hwloc_topology_set_synthetic(topology, description);
    }
    /* Do not load what is not asked for. hwloc keeps packages and groups, which
     * the NUMA domains need. */
    if ((what & CTN_LOAD_CACHES) == 0) {
        hwloc_topology_set_cache_types_filter(topology,
                                              HWLOC_TYPE_FILTER_KEEP_NONE);
    }
    hwloc_topology_set_icache_types_filter(topology,
                                           HWLOC_TYPE_FILTER_KEEP_NONE);
    if ((what & CTN_LOAD_DEVICES) != 0) {
        hwloc_topology_set_io_types_filter(topology,
                                           HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    }
    if (result != 0 || hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return NULL;
    }
    return topology;
}

hwloc_cpuset_t ctn_locality_cpuset(hwloc_topology_t topology,
                                   const char *description,
                                   const ctn_locality_t *locality)
{
    hwloc_cpuset_t cpuset = hwloc_bitmap_alloc();
    int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    if (cpuset == NULL || units <= 0) {
        return cpuset;
    }
    if (ctn_is_described(description)) {
        hwloc_obj_t unit = hwloc_get_obj_by_type(
            topology, HWLOC_OBJ_PU, locality->local_rank % (unsigned)units);
        hwloc_bitmap_copy(cpuset, unit->cpuset);
    } else if (hwloc_get_cpubind(topology, cpuset, HWLOC_CPUBIND_PROCESS) !=
               0) {
        hwloc_bitmap_copy(cpuset, hwloc_topology_get_topology_cpuset(topology));
    }
    return cpuset;
}

catena_status_t ctn_locality_find(const ctn_log_t *log, const char *description,
                                  ctn_locality_t *locality)
{
    bool described = ctn_is_described(description);
    locality->numa = -1;
    /* Loading the hwloc topology takes milliseconds on each rank: skip it if
     * the machine has one domain. */
    if (!described && (numa_available() < 0 || numa_max_node() == 0)) {
        return CATENA_OK;
    }
    hwloc_topology_t topology = ctn_locality_load(description, 0);
    if (topology == NULL) {
        ctn_error(log,
                  "CATENA_TOPOLOGY is '%s'; expected a synthetic description "
                  "that hwloc reads, such as 'numa:2 core:8 pu:1', or the path "
                  "of an XML file of hwloc's",
                  described ? description : "");
        return described ? CATENA_ERR_ARG : CATENA_ERR_SYSTEM;
    }
    hwloc_cpuset_t cpuset =
        ctn_locality_cpuset(topology, description, locality);
    if (cpuset != NULL) {
        locality->numa = domain_of(topology, cpuset);
    }
    hwloc_bitmap_free(cpuset);
    hwloc_topology_destroy(topology);
    return CATENA_OK;
}
