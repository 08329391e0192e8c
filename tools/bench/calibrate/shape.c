/* The shape of a node: processors, cores, caches, sockets and NUMA domains; and
 * the binding of ranks to processors. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/parts.h"

/* ---- the shape of the node ---- */

/* The first number in a file of /sys about a processor, such as
 * "cache/index3/shared_cpu_list"; -1: there is none. */
static int first_in(int cpu, const char *file)
{
    char path[128];
    int first = -1;
    FILE *stream;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    stream = fopen(path, "r");
    if (stream == NULL)
        return -1;
    if (fscanf(stream, "%d", &first) != 1)
        first = -1;
    fclose(stream);
    return first;
}

/* The NUMA domain of a processor; 0 if it is unknown. */
static int domain_of(int cpu)
{
    char path[128];

    for (int domain = 0; domain < MAX_DOMAINS; domain++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d",
                 cpu, domain);
        if (access(path, F_OK) == 0)
            return domain;
    }
    return 0;
}

static int or_else(int number, int otherwise)
{
    return number >= 0 ? number : otherwise;
}

/* What /sys does not say is assumed: a core per processor, one socket, one L3
 * cache per socket. */
void calibrate_read_cpus(struct calibration *c)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    c->cpu = bench_alloc(&c->bench, MAX_CPUS, sizeof(*c->cpu));
    for (int i = 0; i < MAX_CPUS && c->cpus < online; i++) {
        struct cpu *cpu = &c->cpu[c->cpus];
        int core = first_in(i, "topology/thread_siblings_list");

        if (core < 0 && first_in(i, "online") == 0)
            continue;
        cpu->number = i;
        cpu->core = or_else(core, i);
        cpu->socket = or_else(first_in(i, "topology/core_siblings_list"), 0);
        cpu->l3 =
            or_else(first_in(i, "cache/index3/shared_cpu_list"), cpu->socket);
        cpu->domain = domain_of(i);
        c->cpus++;
    }
}

static int core_id(const struct cpu *cpu)
{
    return cpu->core;
}

static int socket_id(const struct cpu *cpu)
{
    return cpu->socket;
}

static int l3_id(const struct cpu *cpu)
{
    return cpu->l3;
}

static int domain_id(const struct cpu *cpu)
{
    return cpu->domain;
}

/* How many different values `id` has over all processors. */
static int count_different(const struct calibration *c,
                           int (*id)(const struct cpu *))
{
    int different = 0;

    for (int i = 0; i < c->cpus; i++) {
        bool is_new = true;

        for (int j = 0; j < i && is_new; j++)
            is_new = id(&c->cpu[j]) != id(&c->cpu[i]);
        different += is_new;
    }
    return different;
}

void calibrate_record_shape(struct calibration *c)
{
    int cores = count_different(c, core_id);

    calibrate_record(
        c, CORES, cores,
        "read: different thread_siblings_list in /sys, of %d processors "
        "online",
        c->cpus);
    calibrate_record(c, SOCKETS, count_different(c, socket_id),
                     "read: different core_siblings_list in /sys");
    calibrate_record(
        c, NUMA_DOMAINS, count_different(c, domain_id),
        "read: nodes of the processors in /sys/devices/system/node");
    calibrate_record(c, L3_CACHES, count_different(c, l3_id),
                     "read: different cache/index3/shared_cpu_list in /sys");
    if (c->emulated)
        calibrate_record(
            c, SHARED_CORES, cores,
            "read: cores online; several of the job's nodes were on this "
            "host and shared them");
    else
        calibrate_record(c, SHARED_CORES, 0,
                         "read: each of the job's nodes was a host of its own");
}

/* ---- processors ---- */

bool calibrate_bind_to(const struct cpu *cpu)
{
    cpu_set_t set;

    if (cpu->number >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu->number, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

void calibrate_unbind(const struct calibration *c)
{
    (void)sched_setaffinity(0, sizeof(c->affinity), &c->affinity);
}

/* The distance of two cores; see DISTANCES. */
static int distance_of(const struct cpu *a, const struct cpu *b)
{
    return a->l3 == b->l3 ? 0 : a->socket == b->socket ? 1 : 2;
}

/* The processor is on another core than the first one. */
const struct cpu *calibrate_find_far(const struct calibration *c, int distance)
{
    for (int i = 1; i < c->cpus; i++)
        if (c->cpu[i].core != c->cpu[0].core &&
            distance_of(&c->cpu[0], &c->cpu[i]) == distance)
            return &c->cpu[i];
    return NULL;
}
