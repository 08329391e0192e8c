/* The overview: what catena is, and what it runs on. */

#include "overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <catena/catena.h>

#include "attach.h"
#include "build.h"
#include "core/cores.h"
#include "core/memory.h"
#include "facts.h"
#include "libraries.h"
#include "probe.h"
#include "system.h"

static void print_build(facts_t *facts)
{
    facts_part(facts, "catena");
    facts_text(facts, "version", "%s", catena_version());
    facts_text(facts, "compiler", "%s", build_compiler());
    facts_text(facts, "machine", "%s", build_machine());
    facts_text(facts, "optimized", "%s", build_optimized() ? "yes" : "no");
    facts_text(facts, "assertions", "%s", build_assertions() ? "yes" : "no");
    if (*build_sanitizer() != '\0') {
        facts_text(facts, "sanitizer", "%s", build_sanitizer());
    }
}

static void print_libraries(facts_t *facts)
{
    system_cores_t cores;
    char text[LIBRARY_TEXT_BYTES];
    (void)system_cores(&cores);
    facts_part(facts, "libraries");
    facts_text(facts, "UCX", "%s", library_ucx_version());
    facts_text(facts, "PMIx", "%s", library_pmix_version());
    facts_text(facts, "hwloc", "%s", cores.version);
    facts_text(facts, "jansson", "%s", library_jansson_version());
    const char *scotch = library_scotch_version(text);
    facts_text(facts, "SCOTCH", "%s", scotch != NULL ? scotch : "no");
}

/** Describe catena in a job of one rank, with the network if there is one. */
static void describe(probe_result_t *result, bool network)
{
    const char *const settings[] = {network ? "NETWORK=y" : "NETWORK=n",
                                    "LOG_LEVEL=error", NULL};
    const probe_t probe = {
        .ranks = 1, .settings = settings, .work = probe_describe};
    probe_run(&probe, result);
}

static void print_transports(facts_t *facts)
{
    library_transport_t transports[TRANSPORTS];
    const char *why = "";
    probe_result_t result;
    size_t at = 0;
    char names[256];
    describe(&result, true);
    size_t count = library_ucx_transports(transports, &why);
    facts_part(facts, "transports");
    facts_text(facts, "on a node", "shm (the shared heap)");
    const char *network = probe_next(&result, PROBE_NETWORK, &at);
    facts_text(facts, "between nodes", "%s",
               network != NULL ? network : result.error);
    probe_free(&result);
    facts_text(facts, "RDMA devices", "%s",
               system_rdma_devices(names, sizeof(names)) ? names : "none");
    if (count == 0) {
        facts_text(facts, "UCX", "none: %s", why);
    }
    for (size_t i = 0; i < count; i++) {
        char key[48];
        snprintf(key, sizeof(key), "UCX %.31s", transports[i].name);
        facts_words(facts, key, transports[i].devices);
    }
}

static void print_topology(facts_t *facts)
{
    system_cores_t cores;
    struct utsname host;
    bool loaded = system_cores(&cores);
    facts_part(facts, "topology");
    if (uname(&host) == 0) {
        facts_text(facts, "host", "%s", host.nodename);
        facts_text(facts, "system", "%s %s %s", host.sysname, host.release,
                   host.machine);
    }
    if (!loaded) {
        facts_text(facts, "hwloc", "it cannot read the topology");
    } else {
        if (cores.model[0] != '\0') {
            facts_text(facts, "processor", "%s", cores.model);
        }
        facts_count(facts, "sockets", (uint64_t)cores.packages);
        facts_count(facts, "NUMA domains", (uint64_t)cores.domains);
        facts_count(facts, "cores", (uint64_t)cores.cores);
        facts_count(facts, "processing units", (uint64_t)cores.units);
        facts_count(facts, "L3 caches", (uint64_t)cores.l3);
        if (cores.l3 > 0) {
            facts_bytes(facts, "L3 cache", cores.l3_bytes);
        }
    }
    facts_count(facts, "units of the control group", ctn_cores_shared(""));
    facts_count(facts, "units of this process", ctn_cores_usable(""));
}

static void print_memory(facts_t *facts)
{
    char line[128];
    char reason[ATTACH_REASON_BYTES];
    const char *step;
    system_shm_t shm = system_shm();
    int memfd = system_memfd(&step);
    int attach = attach_try();
    facts_part(facts, "memory");
    if (attach == 0) {
        facts_text(facts, "cross-memory attach", "yes");
    } else {
        attach_reason(attach, reason);
        facts_text(facts, "cross-memory attach", "no: %s", reason);
    }
    facts_text(facts, "shared heap", "%s",
               memfd == 0 ? "memfd_create" : "/dev/shm");
    facts_text(facts, "transparent huge pages", "%s",
               system_line("/sys/kernel/mm/transparent_hugepage/enabled", line,
                           sizeof(line))
                   ? line
                   : "no");
    facts_text(facts, "huge pages of shared memory", "%s",
               system_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
                           line, sizeof(line))
                   ? line
                   : "no");
    if (!shm.present) {
        facts_text(facts, "/dev/shm", "%s", strerror(shm.wrong));
        return;
    }
    facts_bytes(facts, "/dev/shm size", shm.total_bytes);
    facts_bytes(facts, "/dev/shm free", shm.free_bytes);
}

static void print_limits(facts_t *facts)
{
    facts_part(facts, "limits");
    facts_bytes(facts, "memory", ctn_memory_usable(""));
    facts_count(facts, "open files", system_limit(RLIMIT_NOFILE));
    facts_count(facts, "processes", system_limit(RLIMIT_NPROC));
    facts_bytes(facts, "locked memory", system_limit(RLIMIT_MEMLOCK));
    facts_bytes(facts, "stack", system_limit(RLIMIT_STACK));
    facts_bytes(facts, "address space", system_limit(RLIMIT_AS));
}

/** Print a setting that selects algorithms. */
static void print_setting(facts_t *facts, const char *key, const char *variable,
                          const char *automatic)
{
    const char *value = secure_getenv(variable);
    bool set = value != NULL && *value != '\0' && strcmp(value, "auto") != 0;
    facts_text(facts, key, "%s (%s=%s)", set ? value : automatic, variable,
               set ? value : "auto");
}

static void print_algorithms(facts_t *facts)
{
    probe_result_t result;
    char components[64];
    size_t at = 0;
    const char *line;
    describe(&result, false);
    facts_part(facts, "algorithms");
    print_setting(facts, "rules", "CATENA_TUNING", "built in");
    line = probe_next(&result, PROBE_HIERARCHY, &at);
    print_setting(facts, "hierarchy", "CATENA_HIERARCHY",
                  line != NULL ? line : "auto");
    at = 0;
    if ((line = probe_next(&result, PROBE_COMPONENTS, &at)) != NULL) {
        snprintf(components, sizeof(components), "%.*s",
                 (int)strcspn(line, "."), line);
        facts_words(facts, "components", components);
    }
    at = 0;
    while ((line = probe_next(&result, PROBE_ALGORITHM, &at)) != NULL) {
        char name[64];
        size_t length = strcspn(line, " ");
        snprintf(name, sizeof(name), "%.*s", (int)length, line);
        facts_words(facts, name, line + length + (line[length] == ' '));
    }
    if (result.status != CATENA_OK) {
        facts_text(facts, "problem", "%s", result.error);
    }
    probe_free(&result);
}

bool overview_print(int parts, bool json)
{
    static const struct {
        int part;
        void (*print)(facts_t *facts);
    } all[] = {
        {PART_BUILD, print_build},           {PART_LIBRARIES, print_libraries},
        {PART_TRANSPORTS, print_transports}, {PART_TOPOLOGY, print_topology},
        {PART_MEMORY, print_memory},         {PART_LIMITS, print_limits},
        {PART_ALGORITHMS, print_algorithms},
    };
    facts_t *facts = facts_open(json);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if ((parts & all[i].part) != 0) {
            all[i].print(facts);
        }
    }
    return facts_close(facts);
}
