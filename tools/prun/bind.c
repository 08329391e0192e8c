/* Mapping of ranks to objects of the machine (cores, L3 caches, NUMA domains,
 * sockets), and their binding to CPUs. Ranks take positions in the order of
 * their (virtual) nodes, so the ranks of a node are on adjacent cores. Each
 * position is mapped to an object of --map-by, or to the whole machine, and
 * then bound to an object of --bind-to inside or around it. Only CPUs in prun's
 * own affinity mask are used. */
#include "bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cores.h"
#include "deal.h"

/* The objects of a level that have CPUs which prun may use. */
struct prun_objects {
    uint32_t count;
    unsigned *numbers;    /* [count] logical, by hwloc */
    hwloc_bitmap_t *cpus; /* [count] the usable CPUs */
};

/* Where the positions are mapped to. */
struct prun_map {
    struct prun_objects bins; /* of --map-by, or one: the machine */
    uint32_t *size;           /* [bins.count] number of ranks */
    uint32_t *bin_of;         /* [np] of each position */
};

struct prun_bindings {
    hwloc_topology_t topology;
    bool loaded; /* `topology` and `allowed` are valid */
    hwloc_bitmap_t allowed;
    bool bound; /* ranks are bound; else the rest is unset */
    enum prun_level level;
    struct prun_objects objects; /* to which ranks are bound */
    uint32_t *uses;              /* [objects.count] number of ranks */
    uint32_t *object_of;         /* [np] index of each rank's object */
    size_t set_bytes;            /* of each of `sets` */
    cpu_set_t **sets;            /* [objects.count] */
};

static const struct {
    const char *name; /* in options */
    const char *noun;
    hwloc_obj_type_t type;
} prun_levels[PRUN_LEVELS] = {
    [PRUN_LEVEL_NONE] = {"none", "machine", HWLOC_OBJ_MACHINE},
    [PRUN_LEVEL_HWTHREAD] = {"hwthread", "hardware thread", HWLOC_OBJ_PU},
    [PRUN_LEVEL_CORE] = {"core", "core", HWLOC_OBJ_CORE},
    [PRUN_LEVEL_L3] = {"l3", "L3 cache", HWLOC_OBJ_L3CACHE},
    [PRUN_LEVEL_NUMA] = {"numa", "NUMA domain", HWLOC_OBJ_NUMANODE},
    [PRUN_LEVEL_SOCKET] = {"socket", "socket", HWLOC_OBJ_PACKAGE},
};

/* Add an object, unless it has no usable CPU, or only CPUs of earlier ones, as
 * a second kind of memory has.
 * @param[in,out] taken CPUs of the objects so far */
static void prun_add_object(struct prun_objects *objects, unsigned number,
                            hwloc_const_bitmap_t cpus,
                            hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken)
{
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    hwloc_bitmap_and(usable, cpus, allowed);
    if (hwloc_bitmap_isincluded(usable, taken)) {
        hwloc_bitmap_free(usable);
        return;
    }
    hwloc_bitmap_or(taken, taken, usable);
    objects->numbers[objects->count] = number;
    objects->cpus[objects->count++] = usable;
}

/* Find the usable objects of a level. A machine whose cores are unknown has its
 * hardware threads as cores. */
static struct prun_objects prun_find(const struct prun_bindings *bindings,
                                     enum prun_level level)
{
    struct prun_objects objects = {0};
    hwloc_topology_t topology = bindings->topology;
    hwloc_obj_type_t type = prun_levels[level].type;
    int total = hwloc_get_nbobjs_by_type(topology, type);
    if (total <= 0 && level == PRUN_LEVEL_CORE) {
        type = HWLOC_OBJ_PU;
        total = hwloc_get_nbobjs_by_type(topology, type);
    }
    if (total <= 0)
        return objects;
    objects.numbers = prun_alloc((size_t)total, sizeof *objects.numbers);
    objects.cpus = prun_alloc((size_t)total, sizeof *objects.cpus);
    hwloc_bitmap_t taken = hwloc_bitmap_alloc();
    for (unsigned i = 0; i < (unsigned)total; i++)
        prun_add_object(&objects, i,
                        hwloc_get_obj_by_type(topology, type, i)->cpuset,
                        bindings->allowed, taken);
    hwloc_bitmap_free(taken);
    return objects;
}

static void prun_objects_free(struct prun_objects *objects)
{
    for (uint32_t i = 0; i < objects->count; i++)
        hwloc_bitmap_free(objects->cpus[i]);
    free(objects->cpus);
    free(objects->numbers);
    *objects = (struct prun_objects){0};
}

/* Write "2 cores". */
static const char *prun_count_text(uint32_t count, enum prun_level level,
                                   char text[48])
{
    snprintf(text, 48, "%u %s%s", count, prun_levels[level].noun,
             count == 1 ? "" : "s");
    return text;
}

/* Initialize a topology without hwloc's plugins, unless the user's environment
 * configures hwloc. prun needs no objects that plugins discover, and loading
 * their libraries takes a third of the time of a short job. */
static bool prun_topology_init(hwloc_topology_t *topology)
{
    static const char plugins[] = "HWLOC_PLUGINS_PATH";
    const bool without = !getenv(plugins) && !getenv("HWLOC_COMPONENTS") &&
                         !getenv("HWLOC_XMLFILE");
    if (without)
        setenv(plugins, "", 1);
    const bool made = hwloc_topology_init(topology) == 0;
    if (without)
        unsetenv(plugins);
    return made;
}

void prun_machine_open(struct prun_job *job, struct prun_options *options)
{
    struct prun_bindings *bindings = prun_alloc(1, sizeof *bindings);
    job->bindings = bindings;
    if (prun_topology_init(&bindings->topology)) {
        bindings->loaded = hwloc_topology_load(bindings->topology) == 0;
        if (!bindings->loaded)
            hwloc_topology_destroy(bindings->topology);
    }
    if (!bindings->loaded) {
        if (options->map_level || options->bind_level)
            prun_die(PRUN_EXIT_USAGE,
                     "hwloc cannot read this machine's topology (%s), which "
                     "--map-by and --bind-to need; use --map-by slot and "
                     "--bind-to none",
                     strerror(errno));
        return;
    }
    bindings->allowed = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(bindings->topology, bindings->allowed, 0) != 0)
        hwloc_bitmap_copy(bindings->allowed, hwloc_topology_get_allowed_cpuset(
                                                 bindings->topology));
    if (options->per_object && options->app_count == 1 &&
        !options->apps[0].np_given) {
        struct prun_objects objects = prun_find(bindings, options->map_level);
        if (objects.count > 0)
            options->np = objects.count * options->per_object;
        options->apps[0].np = options->np;
        prun_objects_free(&objects);
    }
}

/* Number of usable cores in a bin, at least 1. */
static uint32_t prun_room(const struct prun_objects *cores,
                          hwloc_const_bitmap_t cpus)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < cores->count; i++)
        room += (uint32_t)hwloc_bitmap_intersects(cores->cpus[i], cpus);
    return room ? room : 1;
}

/* Refuse a --map-by that this machine has no objects for, or too few. */
static void prun_check_map(const struct prun_options *options, uint32_t bins)
{
    const char *name = prun_levels[options->map_level].name;
    const char *noun = prun_levels[options->map_level].noun;
    char text[48];
    if (bins == 0)
        prun_die(PRUN_EXIT_USAGE,
                 "--map-by %s needs a %s with CPUs that prun may use, and "
                 "hwloc finds none on this machine; use --map-by core, numa "
                 "or slot",
                 name, noun);
    if (options->per_object && options->np > options->per_object * bins)
        prun_die(PRUN_EXIT_USAGE,
                 "--map-by ppr:%u:%s has room for %u ranks on %s, got %u "
                 "ranks; start fewer, raise %u or use --map-by %s",
                 options->per_object, name, options->per_object * bins,
                 prun_count_text(bins, options->map_level, text), options->np,
                 options->per_object, name);
}

static struct prun_map prun_map_make(const struct prun_job *job)
{
    const struct prun_bindings *bindings = job->bindings;
    const struct prun_options *options = job->options;
    bool objects = options->map_level != PRUN_LEVEL_NONE;
    struct prun_map map = {.bins = prun_find(bindings, options->map_level)};
    uint32_t count = map.bins.count;
    prun_check_map(options, count);
    map.size = prun_alloc(count, sizeof *map.size);
    map.bin_of = prun_alloc(options->np, sizeof *map.bin_of);
    uint32_t *room = prun_alloc(count, sizeof *room);
    struct prun_objects cores = prun_find(bindings, PRUN_LEVEL_CORE);
    for (uint32_t i = 0; i < count; i++)
        room[i] = options->per_object ? options->per_object
                                      : prun_room(&cores, map.bins.cpus[i]);
    bool span = objects && !options->per_object;
    prun_deal_sizes(options->np, count, room, span, map.size);
    if (objects && options->rank_by != PRUN_RANK_DEFAULT)
        span = options->rank_by == PRUN_RANK_SPAN;
    prun_deal_ranks(options->np, count, map.size, span, map.bin_of);
    prun_objects_free(&cores);
    free(room);
    return map;
}

static void prun_map_free(struct prun_map *map)
{
    prun_objects_free(&map->bins);
    free(map->size);
    free(map->bin_of);
}

/* How many ranks may be bound to an object. */
static uint32_t prun_limit(const struct prun_options *options,
                           enum prun_level level, hwloc_const_bitmap_t cpus)
{
    if (options->overload || level > PRUN_LEVEL_CORE)
        return UINT32_MAX;
    if (options->map_level == level && options->per_object)
        return options->per_object;
    if (options->map_level == PRUN_LEVEL_HWTHREAD && !options->per_object)
        return (uint32_t)hwloc_bitmap_weight(cpus);
    return 1;
}

static void prun_unbind(struct prun_bindings *bindings)
{
    prun_objects_free(&bindings->objects);
    free(bindings->uses);
    free(bindings->object_of);
    bindings->uses = bindings->object_of = NULL;
    bindings->bound = false;
}

/* Bind the ranks of one bin to the objects inside or around it: to one each, or
 * evenly to what ranks may share.
 * @param[in] ranks [np] in the order of positions */
static void prun_bind_bin(struct prun_bindings *bindings,
                          const struct prun_map *map, uint32_t bin,
                          const uint32_t *ranks, uint32_t np)
{
    const struct prun_objects *objects = &bindings->objects;
    uint32_t *list = prun_alloc(objects->count, sizeof *list);
    uint32_t count = 0, done = 0;
    for (uint32_t i = 0; i < objects->count; i++)
        if (hwloc_bitmap_intersects(objects->cpus[i], map->bins.cpus[bin]))
            list[count++] = i;
    for (uint32_t p = 0; p < np && count > 0; p++) {
        if (map->bin_of[p] != bin)
            continue;
        uint64_t index = bindings->level <= PRUN_LEVEL_CORE
                             ? done % count
                             : (uint64_t)done * count / map->size[bin];
        bindings->object_of[ranks[p]] = list[index];
        bindings->uses[list[index]]++;
        done++;
    }
    free(list);
}

/* Bind all ranks to objects of one level. @return whether they fit; if not,
 * they are not bound */
static bool prun_bind(struct prun_job *job, const struct prun_map *map,
                      enum prun_level level)
{
    struct prun_bindings *bindings = job->bindings;
    const struct prun_layout *layout = job->layout;
    bindings->level = level;
    bindings->objects = prun_find(bindings, level);
    struct prun_objects *objects = &bindings->objects;
    uint32_t *ranks = prun_alloc(layout->np, sizeof *ranks);
    bindings->uses = prun_alloc(objects->count, sizeof *bindings->uses);
    bindings->object_of = prun_alloc(layout->np, sizeof *bindings->object_of);
    uint32_t position = 0;
    for (uint32_t n = 0; n < layout->node_count; n++)
        for (uint32_t i = 0; i < layout->nodes[n].size; i++)
            ranks[position++] = layout->nodes[n].ranks[i];
    for (uint32_t bin = 0; bin < map->bins.count; bin++)
        prun_bind_bin(bindings, map, bin, ranks, layout->np);
    free(ranks);
    bindings->bound = objects->count > 0;
    for (uint32_t i = 0; i < objects->count; i++)
        if (bindings->uses[i] >
            prun_limit(job->options, level, objects->cpus[i]))
            bindings->bound = false;
    if (!bindings->bound)
        prun_unbind(bindings);
    return bindings->bound;
}

/* The default: a core for each rank, within the CPU quota; else the object of
 * --map-by, if ranks may share it or ppr says how many do; else no binding. */
static void prun_bind_default(struct prun_job *job, const struct prun_map *map)
{
    enum prun_level level = job->options->map_level;
    if (job->options->np <= ctn_cores_usable("") &&
        prun_bind(job, map, PRUN_LEVEL_CORE))
        return;
    if (level > PRUN_LEVEL_CORE || job->options->per_object)
        prun_bind(job, map, level);
}

static void prun_refuse_binding(const struct prun_job *job)
{
    const struct prun_options *options = job->options;
    enum prun_level level = options->bind_level;
    const char *name = prun_levels[level].name;
    struct prun_objects objects = prun_find(job->bindings, level);
    char text[48];
    if (level > PRUN_LEVEL_CORE)
        prun_die(PRUN_EXIT_USAGE,
                 "--bind-to %s needs a %s with CPUs that prun may use, and "
                 "hwloc finds none on this machine; use --bind-to core or none",
                 name, prun_levels[level].noun);
    prun_die(PRUN_EXIT_USAGE,
             "--bind-to %s needs a %s for each of %u ranks%s, and prun may use "
             "%s; start fewer ranks, widen the affinity mask, or use --bind-to "
             "none or %s:overload-allowed",
             name, prun_levels[level].noun, options->np,
             options->map_level ? " where --map-by puts it" : "",
             prun_count_text(objects.count, level, text), name);
}

/* Convert the objects' CPUs for sched_setaffinity. */
static void prun_make_sets(struct prun_bindings *bindings)
{
    int last = hwloc_bitmap_last(
        hwloc_topology_get_complete_cpuset(bindings->topology));
    bindings->set_bytes = CPU_ALLOC_SIZE(last < 1024 ? 1024 : last + 1);
    bindings->sets =
        prun_alloc(bindings->objects.count, sizeof *bindings->sets);
    for (uint32_t i = 0; i < bindings->objects.count; i++) {
        hwloc_const_bitmap_t cpus = bindings->objects.cpus[i];
        bindings->sets[i] = prun_alloc(1, bindings->set_bytes);
        for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0;
             cpu = hwloc_bitmap_next(cpus, cpu))
            CPU_SET_S((size_t)cpu, bindings->set_bytes, bindings->sets[i]);
    }
}

void prun_bindings_make(struct prun_job *job)
{
    struct prun_bindings *bindings = job->bindings;
    const struct prun_options *options = job->options;
    if (!bindings->loaded)
        return;
    struct prun_map map = prun_map_make(job);
    if (!options->bind_given)
        prun_bind_default(job, &map);
    else if (options->bind_level && !prun_bind(job, &map, options->bind_level))
        prun_refuse_binding(job);
    if (bindings->bound)
        prun_make_sets(bindings);
    prun_map_free(&map);
}

void prun_bindings_free(struct prun_job *job)
{
    struct prun_bindings *bindings = job->bindings;
    if (!bindings)
        return;
    for (uint32_t i = 0; bindings->sets && i < bindings->objects.count; i++)
        free(bindings->sets[i]);
    free(bindings->sets);
    prun_unbind(bindings);
    if (bindings->loaded) {
        hwloc_bitmap_free(bindings->allowed);
        hwloc_topology_destroy(bindings->topology);
    }
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

char *prun_binding_text(const struct prun_job *job, uint32_t rank)
{
    const struct prun_bindings *bindings = job->bindings;
    char cpus[256];
    if (!bindings->bound)
        return NULL;
    uint32_t object = bindings->object_of[rank];
    hwloc_bitmap_list_snprintf(cpus, sizeof cpus,
                               bindings->objects.cpus[object]);
    return prun_format("%s %u (CPU %s)", prun_levels[bindings->level].noun,
                       bindings->objects.numbers[object], cpus);
}

char *prun_usable_text(const struct prun_job *job)
{
    char *text = NULL;
    if (!job->bindings->loaded ||
        hwloc_bitmap_list_asprintf(&text, job->bindings->allowed) < 0)
        return prun_format("unknown");
    return text;
}

uint32_t prun_bindings_host_ranks(const struct prun_job *job)
{
    const struct prun_bindings *bindings = job->bindings;
    uint64_t shared = ctn_cores_shared("");
    uint64_t most = job->options->np;
    for (uint32_t i = 0; bindings->bound && i < bindings->objects.count; i++) {
        int cpus = hwloc_bitmap_weight(bindings->objects.cpus[i]);
        uint64_t scaled =
            (bindings->uses[i] * shared + (uint64_t)cpus - 1) / (uint64_t)cpus;
        if (bindings->uses[i] > (uint32_t)cpus && scaled > most)
            most = scaled;
    }
    uint64_t usable = ctn_cores_usable("");
    uint64_t scaled = (job->options->np * shared + usable - 1) / usable;
    if (job->options->np > usable && scaled > most)
        most = scaled;
    return (uint32_t)most;
}

void *prun_bindings_topology(const struct prun_job *job)
{
    return job->bindings && job->bindings->loaded ? job->bindings->topology
                                                  : NULL;
}
