#ifndef CTN_CORE_CORES_H
#define CTN_CORE_CORES_H

/* How many cores there are to run on. A core is here a processing unit of the
 * operating system (a hardware thread). `root` is the prefix of /proc and /sys:
 * "" for this machine, or the folder of a test. */

/** Cores that the control groups of this process leave to all processes in
 * them: those of the machine, or of a cpuset, or the quota of CPU time divided
 * by its period, rounded up. The smallest of them and of all ancestors applies.
 * Binding a process does not change it.
 * @return at least 1 */
unsigned ctn_cores_shared(const char *root);

/** Cores that this process may use: the same, and no more than the affinity
 * mask of the calling thread has.
 * @return at least 1 */
unsigned ctn_cores_usable(const char *root);

#endif
