#ifndef INFO_SYSTEM_H
#define INFO_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the operating system offers. */

/** Read the first line of a file, without its end. @return whether there is one
 */
bool system_line(const char *path, char *line, size_t bytes);
/** Read a field of /proc/self/status. @return whether there is one */
bool system_status(const char *field, char *value, size_t bytes);

/** The file system at /dev/shm. */
typedef struct system_shm {
    bool present;
    bool memory; /* it is a tmpfs */
    int wrong;   /* 0, or the errno of creating and writing a file there */
    uint64_t total_bytes;
    uint64_t free_bytes;
} system_shm_t;

system_shm_t system_shm(void);
/** Make a segment of memory with memfd_create, which other processes open below
 * /proc. @return 0, or an errno @param step the call that failed */
int system_memfd(const char **step);
/** Names of RDMA devices, separated by ", ". @return whether there are some */
bool system_rdma_devices(char *names, size_t bytes);
/** The soft limit of a resource. @return FACTS_UNLIMITED: none */
uint64_t system_limit(int resource);

/** The processors of this machine. */
typedef struct system_cores {
    int packages;
    int domains; /* of NUMA */
    int cores;
    int units;
    int l3;            /* number of caches */
    uint64_t l3_bytes; /* of each */
    char model[128];   /* of the processor; "": not known */
    char version[32];  /* of hwloc */
} system_cores_t;

/** @return false: hwloc cannot read the topology; only `version` is set */
bool system_cores(system_cores_t *cores);

#endif
