#ifndef CTN_CORE_CGROUP_H
#define CTN_CORE_CGROUP_H

/** Visit the directories of this process's control groups of one controller,
 * and of all their ancestors, whose limits apply too. Directories that do not
 * exist are visited as well: in a container the path of a group may be that of
 * the host, and the limit is then that of the root.
 * @param root       prefix of /proc and /sys: "" for this machine, or the
 *                   folder of a test
 * @param controller "cpu", "memory", ...; version 1 has a tree for each
 * @param visit      `version` is 1 or 2, which have other files */
void ctn_cgroup_each(const char *root, const char *controller,
                     void (*visit)(const char *directory, int version,
                                   void *argument),
                     void *argument);

/** The first line of a file of the system, such as of a control group.
 * @return NULL if there is none; the caller frees it */
char *ctn_cgroup_line(const char *directory, const char *file);

#endif
