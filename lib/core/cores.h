#ifndef CTN_CORE_CORES_H
#define CTN_CORE_CORES_H

/* How many cores there are to run on. Here a core is a processing unit of the
 * operating system (a hardware thread). `root` is the prefix of /proc and /sys:
 * "" for this machine, or the folder of a test. */

/** The cores that the control groups of this process and their ancestors leave
 * to all of their processes: the smallest of the cores that are online, the
 * cores of each cpuset, and each quota of CPU time divided by its period,
 * rounded up. The affinity of a process has no influence.
 * @return at least 1 */
unsigned ctn_cores_shared(const char *root);

/** The cores that this process may use: as ctn_cores_shared, but no more than
 * the affinity mask of the calling thread has.
 * @return at least 1 */
unsigned ctn_cores_usable(const char *root);

#endif
