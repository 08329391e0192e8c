/* Checks of what the operating system offers. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "attach.h"
#include "core/cores.h"
#include "core/memory.h"
#include "doctor.h"
#include "facts.h"
#include "system.h"

/* Jobs with less free memory than this are short of it. */
static const uint64_t SHM_BYTES = UINT64_C(64) << 20;
static const uint64_t MEMORY_BYTES = UINT64_C(512) << 20;
enum { OPEN_FILES = 1024 };

/** Check /dev/shm. Without memfd_create the heap needs it; otherwise only other
 * libraries of a program may. */
static void check_shm(doctor_t *doctor, bool needed)
{
    static const char check[] = "/dev/shm";
    void (*problem)(doctor_t *, const char *, const char *, ...) =
        needed ? doctor_error : doctor_warning;
    const char *effect =
        needed ? "the shared heap needs it"
               : "catena works without it, MPI libraries in the same program "
                 "may not";
    char free_text[FACTS_SIZE_BYTES];
    char total_text[FACTS_SIZE_BYTES];
    system_shm_t shm = system_shm();
    facts_size(shm.free_bytes, free_text);
    facts_size(shm.total_bytes, total_text);
    if (!shm.present) {
        problem(doctor, check, "%s, %s; mount a tmpfs there",
                strerror(shm.wrong), effect);
    } else if (shm.wrong != 0) {
        problem(doctor, check,
                "no file can be written (%s), %s of %s are free, %s; remove "
                "old files there, or let this user write there",
                strerror(shm.wrong), free_text, total_text, effect);
    } else if (shm.free_bytes < SHM_BYTES) {
        doctor_warning(doctor, check,
                       "%s of %s are free, %s; remove old files there, or "
                       "enlarge it (mount -o remount,size=1g /dev/shm, docker "
                       "run --shm-size=1g)",
                       free_text, total_text, effect);
    } else {
        doctor_ok(doctor, check, "%s of %s are free%s", free_text, total_text,
                  shm.memory ? "" : ", not a tmpfs");
    }
}

/** Check the memory that ranks share, and how much there is. */
void doctor_memory(doctor_t *doctor)
{
    const char *step;
    char text[FACTS_SIZE_BYTES];
    int wrong = system_memfd(&step);
    if (wrong == 0) {
        doctor_ok(doctor, "memfd", "memfd_create works, with /proc");
    } else {
        doctor_warning(doctor, "memfd",
                       "%s: %s, the shared heap is a file in /dev/shm instead; "
                       "mount /proc, and allow memfd_create in the seccomp "
                       "profile of the container",
                       step, strerror(wrong));
    }
    check_shm(doctor, wrong != 0);
    uint64_t memory = ctn_memory_usable("");
    facts_size(memory, text);
    if (memory < MEMORY_BYTES) {
        doctor_warning(doctor, "memory",
                       "the control group allows %s, of which the shared heap "
                       "takes up to half; raise memory.max of the control "
                       "group, or reduce CATENA_HEAP_SIZE",
                       text);
    } else {
        doctor_ok(doctor, "memory", "%s", text);
    }
}

/** Check cross-memory attach. */
void doctor_attach(doctor_t *doctor)
{
    static const char check[] = "cross-memory attach";
    char reason[ATTACH_REASON_BYTES];
    const char *setting = secure_getenv("CATENA_SINGLE_COPY");
    int wrong = attach_try();
    if (setting != NULL && strcasecmp(setting, "off") == 0) {
        doctor_ok(doctor, check, "not used, CATENA_SINGLE_COPY=off");
    } else if (wrong == 0) {
        doctor_ok(doctor, check, "allowed");
    } else {
        attach_reason(wrong, reason);
        doctor_warning(doctor, check,
                       "denied, long data outside the shared heap are copied "
                       "twice, %s",
                       reason);
    }
}

/** Check the limits of a process. */
void doctor_limits(doctor_t *doctor)
{
    char text[FACTS_SIZE_BYTES];
    char devices[256];
    uint64_t files = system_limit(RLIMIT_NOFILE);
    if (files < OPEN_FILES) {
        doctor_warning(doctor, "open files",
                       "the limit is %llu, the network needs some for each "
                       "node of a job; raise it to %d or more (ulimit -n)",
                       (unsigned long long)files, OPEN_FILES);
    } else if (files == FACTS_UNLIMITED) {
        doctor_ok(doctor, "open files", "unlimited");
    } else {
        doctor_ok(doctor, "open files", "%llu", (unsigned long long)files);
    }
    uint64_t space = system_limit(RLIMIT_AS);
    if (space != FACTS_UNLIMITED) {
        doctor_warning(doctor, "address space",
                       "the limit is %s, the shared heap reserves more "
                       "addresses than memory; remove the limit (ulimit -v "
                       "unlimited)",
                       facts_size(space, text));
    } else {
        doctor_ok(doctor, "address space", "unlimited");
    }
    uint64_t locked = system_limit(RLIMIT_MEMLOCK);
    facts_size(locked, text);
    if (!system_rdma_devices(devices, sizeof(devices))) {
        doctor_ok(doctor, "locked memory", "%s, there is no RDMA device", text);
    } else if (locked != FACTS_UNLIMITED) {
        doctor_warning(doctor, "locked memory",
                       "the limit is %s, RDMA devices (%s) lock the memory "
                       "that they register; remove the limit (ulimit -l "
                       "unlimited, or memlock in limits.conf)",
                       text, devices);
    } else {
        doctor_ok(doctor, "locked memory", "unlimited, for %s", devices);
    }
}

/** Check the processors. */
void doctor_cores(doctor_t *doctor)
{
    system_cores_t cores;
    unsigned usable = ctn_cores_usable("");
    unsigned shared = ctn_cores_shared("");
    bool loaded = system_cores(&cores);
    if (!loaded || cores.units == 0) {
        doctor_error(doctor, "cores",
                     "hwloc %s finds no processor; mount /proc and /sys, and "
                     "compare with lstopo",
                     cores.version);
    } else if (usable < shared) {
        doctor_warning(doctor, "cores",
                       "this process may use %u of %u processing units, and so "
                       "may ranks that it starts; widen its affinity (taskset, "
                       "numactl, or the binding of the launcher)",
                       usable, shared);
    } else {
        doctor_ok(doctor, "cores",
                  "%d cores, %d processing units, of which %u may be used",
                  cores.cores, cores.units, usable);
    }
}
