#ifndef CTN_CORE_CGROUP_H
#define CTN_CORE_CGROUP_H

/** Visit the directories of this process's control groups (of Linux) that have
 * a controller, and those of all their ancestors, whose limits apply, too.
 * Directories that do not exist are visited as well: in a container the path of
 * a control group may be the one that it has on the host, and then only the
 * root of the tree exists.
 * @param root       prefix of /proc and /sys: "" for this machine, or the
 *                   folder of a test
 * @param controller "cpu", "memory", ...; version 1 of control groups has a
 *                   tree for each
 * @param visit      called with a directory, with the version of control groups
 *                   (1 or 2), which determines the names of its files, and with
 *                   `argument` */
void ctn_cgroup_each(const char *root, const char *controller,
                     void (*visit)(const char *directory, int version,
                                   void *argument),
                     void *argument);

/** Read the first line of a file in a directory of the system, such as that of
 * a control group.
 * @return the line, which the caller frees; NULL: there is none */
char *ctn_cgroup_line(const char *directory, const char *file);

#endif
