/* Selects the network devices of a rank. Each leader of an alltoall is a
 * process with its own UCX worker. If every leader uses the devices local to
 * it, the leaders of a node together use all of its network ports ([Peng],
 * section 4 and Algorithm 4). Local to a process means here: attached to the
 * NUMA domain that it is bound to. */

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/locality.h"

/* ---- by setting ---- */

/** Set *devices to this rank's list of the lists in the setting, such as
 * "a,b/c/d". Lists are assigned to local ranks round-robin. */
static catena_status_t select_list(const ctn_log_t *log, const char *lists,
                                   uint32_t local_rank, char **devices)
{
    uint32_t count = 1;
    for (const char *at = lists; *at != '\0'; at++) {
        count += *at == '/';
    }
    const char *start = lists;
    for (uint32_t skip = local_rank % count; skip > 0; skip--) {
        start = strchr(start, '/') + 1;
    }
    size_t length = strcspn(start, "/");
    if (length == 0) {
        ctn_error(log,
                  "CATENA_NET_DEVICES is '%s'; expected auto, all, or lists of "
                  "devices separated by '/', such as mlx5_0:1/mlx5_1:1; one is "
                  "empty",
                  lists);
        return CATENA_ERR_ARG;
    }
    *devices = strndup(start, length);
    return *devices != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/* ---- local devices ---- */

/** Append the device's active ports to the list in `text`. hwloc reports the
 * state of each port; 4 is active. UCX names a port device:number. */
static void add_ports(hwloc_obj_t device, char *text, size_t bytes)
{
    for (unsigned i = 0; i < device->infos_count; i++) {
        unsigned port;
        int end = 0;
        if (sscanf(device->infos[i].name, "Port%uState%n", &port, &end) == 1 &&
            end > 0 && strcmp(device->infos[i].value, "4") == 0) {
            size_t used = strlen(text);
            snprintf(text + used, bytes - used, "%s%s:%u", used > 0 ? "," : "",
                     device->name, port);
        }
    }
}

static bool is_rdma(hwloc_obj_t device)
{
    return device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

/** Return whether a device is attached to NUMA domain `numa`. */
static bool is_local(hwloc_topology_t topology, hwloc_obj_t device, int numa)
{
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
    return place != NULL && place->nodeset != NULL &&
           hwloc_bitmap_isset(place->nodeset, (unsigned)numa);
}

/** List the ports local to a NUMA domain. The list is empty if the node has
 * fewer than two RDMA devices, or none of them is local. */
static void find_local(hwloc_topology_t topology, int numa, char *text,
                       size_t bytes)
{
    unsigned all = 0; /* number of RDMA devices of the node */
    text[0] = '\0';
    for (hwloc_obj_t device = hwloc_get_next_osdev(topology, NULL);
         device != NULL; device = hwloc_get_next_osdev(topology, device)) {
        if (is_rdma(device)) {
            all++;
            if (is_local(topology, device, numa)) {
                add_ports(device, text, bytes);
            }
        }
    }
    if (all < 2) {
        text[0] = '\0';
    }
}

/** Set *devices to the ports local to this process; NULL: all. */
static catena_status_t local_ports(const char *description,
                                   const ctn_locality_t *locality,
                                   char **devices)
{
    char text[512] = "";
    /* Not bound to one of several domains. Loading the hwloc topology takes
     * milliseconds, so skip it. */
    hwloc_topology_t topology =
        locality->numa >= 0 ? ctn_locality_load(description, CTN_LOAD_DEVICES)
                            : NULL;
    if (topology != NULL) {
        find_local(topology, locality->numa, text, sizeof(text));
        hwloc_topology_destroy(topology);
    }
    if (text[0] != '\0') {
        *devices = strdup(text);
        return *devices != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
    }
    return CATENA_OK;
}

catena_status_t ctn_locality_devices(const ctn_log_t *log,
                                     const char *description,
                                     const char *setting,
                                     const ctn_locality_t *locality,
                                     char **devices)
{
    *devices = NULL;
    if (strcmp(setting, "all") == 0) {
        return CATENA_OK;
    }
    return strcmp(setting, "auto") == 0
               ? local_ports(description, locality, devices)
               : select_list(log, setting, locality->local_rank, devices);
}
