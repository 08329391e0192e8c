/* Binding of ranks to CPUs. Ranks get cores in the order of their (virtual)
 * nodes, so the ranks of a node are on adjacent cores. Each rank gets a core of
 * its own, or ranks are distributed evenly over the NUMA domains. Only CPUs in
 * prun's own affinity mask are used. */
#include "bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cores.h"

struct prun_bindings {
    hwloc_topology_t topology;
    bool loaded;          /* `topology` is valid */
    bool bound;           /* ranks are bound */
    size_t set_bytes;     /* of each of `sets` */
    uint32_t count;       /* number of objects that ranks can be bound to */
    hwloc_obj_t *objects; /* [count] cores or NUMA domains */
    cpu_set_t **sets;     /* [count] the usable CPUs of each object */
    uint32_t *object_of;  /* [np] index of each rank's object, if bound */
};

static bool prun_load_topology(struct prun_bindings *bindings)
{
    if (hwloc_topology_init(&bindings->topology) != 0)
        return false;
    if (hwloc_topology_load(bindings->topology) != 0) {
        hwloc_topology_destroy(bindings->topology);
        return false;
    }
    bindings->loaded = true;
    return true;
}

/* Convert a set of CPUs for sched_setaffinity. */
static cpu_set_t *prun_cpu_set(const struct prun_bindings *bindings,
                               hwloc_const_cpuset_t cpus)
{
    cpu_set_t *set = prun_alloc(1, bindings->set_bytes);
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0;
         cpu = hwloc_bitmap_next(cpus, cpu))
        CPU_SET_S((size_t)cpu, bindings->set_bytes, set);
    return set;
}

/* Find the objects of one type that have CPUs in `allowed`. */
static void prun_find_objects(struct prun_bindings *bindings,
                              hwloc_obj_type_t type,
                              hwloc_const_cpuset_t allowed)
{
    int total = hwloc_get_nbobjs_by_type(bindings->topology, type);
    if (total <= 0)
        return;
    bindings->objects = prun_alloc((size_t)total, sizeof *bindings->objects);
    bindings->sets = prun_alloc((size_t)total, sizeof *bindings->sets);
    int cpus = hwloc_bitmap_last(
        hwloc_topology_get_complete_cpuset(bindings->topology));
    bindings->set_bytes = CPU_ALLOC_SIZE(cpus < 1024 ? 1024 : cpus + 1);
    hwloc_bitmap_t common = hwloc_bitmap_alloc();
    for (int i = 0; i < total; i++) {
        hwloc_obj_t object =
            hwloc_get_obj_by_type(bindings->topology, type, (unsigned)i);
        hwloc_bitmap_and(common, object->cpuset, allowed);
        if (hwloc_bitmap_iszero(common))
            continue;
        bindings->objects[bindings->count] = object;
        bindings->sets[bindings->count++] = prun_cpu_set(bindings, common);
    }
    hwloc_bitmap_free(common);
}

/* Choose each rank's object: a core each, or NUMA domains evenly. */
static void prun_deal_objects(struct prun_bindings *bindings,
                              const struct prun_layout *layout, bool cores)
{
    bindings->object_of = prun_alloc(layout->np, sizeof(uint32_t));
    uint64_t position = 0; /* of a rank in the order of nodes */
    for (uint32_t n = 0; n < layout->node_count; n++) {
        const struct prun_node *node = &layout->nodes[n];
        for (uint32_t i = 0; i < node->size; i++, position++)
            bindings->object_of[node->ranks[i]] =
                (uint32_t)(cores ? position
                                 : position * bindings->count / layout->np);
    }
}

/* Decide whether ranks are bound, and to what. */
static void prun_choose(struct prun_job *job, hwloc_const_cpuset_t allowed)
{
    struct prun_bindings *bindings = job->bindings;
    const struct prun_options *options = job->options;
    bool numa = options->binding == PRUN_BIND_NUMA;
    prun_find_objects(bindings, numa ? HWLOC_OBJ_NUMANODE : HWLOC_OBJ_CORE,
                      allowed);
    if (!numa && bindings->count == 0)
        prun_find_objects(bindings, HWLOC_OBJ_PU, allowed);

    /* By default, do not bind if a CPU quota gives prun less than a core for
     * each rank. */
    uint32_t usable = bindings->count;
    uint32_t allowed_cores = ctn_cores_usable("");
    if (options->binding == PRUN_BIND_AUTO && allowed_cores < usable)
        usable = allowed_cores;
    bool fits = numa ? usable > 0 : options->np <= usable;
    if (!fits && options->binding != PRUN_BIND_AUTO)
        prun_die(PRUN_EXIT_USAGE,
                 "--bind-to %s needs %u, and prun may use %u; start fewer "
                 "ranks, widen the affinity mask or use --bind-to none",
                 numa ? "numa" : "core", numa ? 1 : options->np, usable);
    bindings->bound = fits;
    if (fits)
        prun_deal_objects(bindings, job->layout, !numa);
}

static void prun_report(const struct prun_job *job)
{
    const struct prun_bindings *bindings = job->bindings;
    const struct prun_layout *layout = job->layout;
    for (uint32_t rank = 0; rank < layout->np; rank++) {
        const char *node = layout->nodes[layout->node_of[rank]].name;
        if (!bindings->bound) {
            prun_error("rank %u on %s is not bound", rank, node);
            continue;
        }
        hwloc_obj_t object = bindings->objects[bindings->object_of[rank]];
        char cpus[256];
        hwloc_bitmap_list_snprintf(cpus, sizeof cpus, object->cpuset);
        prun_error("rank %u on %s is bound to %s %u (CPU %s)", rank, node,
                   object->type == HWLOC_OBJ_NUMANODE ? "NUMA domain" : "core",
                   object->logical_index, cpus);
    }
}

void prun_bindings_make(struct prun_job *job)
{
    struct prun_bindings *bindings = prun_alloc(1, sizeof *bindings);
    job->bindings = bindings;
    bool requested = job->options->binding == PRUN_BIND_CORE ||
                     job->options->binding == PRUN_BIND_NUMA;
    if (!prun_load_topology(bindings)) {
        if (requested)
            prun_die(PRUN_EXIT_USAGE,
                     "--bind-to: hwloc cannot read this machine's topology "
                     "(%s); use --bind-to none",
                     strerror(errno));
    } else if (job->options->binding != PRUN_BIND_NONE) {
        hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
        if (hwloc_get_cpubind(bindings->topology, allowed, 0) != 0)
            hwloc_bitmap_copy(
                allowed, hwloc_topology_get_allowed_cpuset(bindings->topology));
        prun_choose(job, allowed);
        hwloc_bitmap_free(allowed);
    }
    if (job->options->report_bindings)
        prun_report(job);
}

void prun_bindings_free(struct prun_job *job)
{
    struct prun_bindings *bindings = job->bindings;
    if (!bindings)
        return;
    if (bindings->sets && bindings->objects)
        for (uint32_t i = 0; i < bindings->count; i++)
            free(bindings->sets[i]);
    free(bindings->sets);
    free(bindings->objects);
    free(bindings->object_of);
    if (bindings->loaded)
        hwloc_topology_destroy(bindings->topology);
    free(bindings);
    job->bindings = NULL;
}

const cpu_set_t *prun_binding_of(const struct prun_job *job, uint32_t rank,
                                 size_t *bytes)
{
    const struct prun_bindings *bindings = job->bindings;
    if (!bindings || !bindings->bound)
        return NULL;
    *bytes = bindings->set_bytes;
    return bindings->sets[bindings->object_of[rank]];
}

void *prun_bindings_topology(const struct prun_job *job)
{
    return job->bindings && job->bindings->loaded ? job->bindings->topology
                                                  : NULL;
}
