/* The number of cores, from the affinity mask, the list of processing units
 * that are online, and the files of control groups. */

#include "core/cores.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cgroup.h"

/* No kernel supports so many processing units. */
enum { MOST_UNITS = 1 << 20 };

/** Lower `*cores` to a limit. */
static void lower(unsigned *cores, unsigned limit)
{
    *cores = limit < *cores ? limit : *cores;
}

/** Read a whole number at `*text`, and advance `*text` behind it. */
static bool read_number(const char **text, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    if (end == *text || errno != 0) {
        return false;
    }
    *text = end;
    return true;
}

/** @param quota_text  microseconds of CPU time in each period
 * @param period_text NULL: the period follows the quota (version 2)
 * @return the cores that a quota amounts to; UINT_MAX: no limit ("max" or -1)
 */
static unsigned quota_cores(const char *quota_text, const char *period_text)
{
    long long quota, period;
    if (quota_text == NULL || !read_number(&quota_text, &quota) || quota <= 0) {
        return UINT_MAX;
    }
    period_text = period_text != NULL ? period_text : quota_text;
    if (!read_number(&period_text, &period) || period <= 0) {
        return UINT_MAX;
    }
    long long cores = (quota - 1) / period + 1;
    return cores < UINT_MAX ? (unsigned)cores : UINT_MAX;
}

static void visit_quota(const char *directory, int version, void *argument)
{
    if (version == 2) {
        char *line = ctn_cgroup_line(directory, "cpu.max");
        lower(argument, quota_cores(line, NULL));
        free(line);
        return;
    }
    char *quota = ctn_cgroup_line(directory, "cpu.cfs_quota_us");
    char *period = ctn_cgroup_line(directory, "cpu.cfs_period_us");
    if (period != NULL) {
        lower(argument, quota_cores(quota, period));
    }
    free(quota);
    free(period);
}

/** @return the number of processing units in a list such as "0-3,8"; UINT_MAX:
 * this is no list */
static unsigned list_cores(const char *list)
{
    unsigned cores = 0;
    for (;;) {
        long long first, last;
        if (!isdigit((unsigned char)*list) || !read_number(&list, &first)) {
            return UINT_MAX;
        }
        last = first;
        if (*list == '-') {
            list++;
            if (!read_number(&list, &last)) {
                return UINT_MAX;
            }
        }
        if (last < first || last >= MOST_UNITS) {
            return UINT_MAX;
        }
        cores += (unsigned)(last - first) + 1;
        if (cores > MOST_UNITS) { /* units that are listed several times */
            return UINT_MAX;
        }
        if (*list != ',') {
            return *list == '\n' || *list == '\0' ? cores : UINT_MAX;
        }
        list++;
    }
}

static void visit_cpuset(const char *directory, int version, void *argument)
{
    /* In version 2 an empty list means that the parent's applies, which is
     * visited, too. */
    char *list =
        ctn_cgroup_line(directory, version == 2 ? "cpuset.cpus.effective"
                                                : "cpuset.effective_cpus");
    if (list != NULL) {
        lower(argument, list_cores(list));
    }
    free(list);
}

/** @return the processing units in the affinity mask; UINT_MAX: unknown */
static unsigned affinity_cores(void)
{
    /* The system call refuses a mask that is smaller than the kernel's. */
    cpu_set_t *mask = CPU_ALLOC(MOST_UNITS);
    size_t bytes = CPU_ALLOC_SIZE(MOST_UNITS);
    unsigned cores = UINT_MAX;
    if (mask != NULL && sched_getaffinity(0, bytes, mask) == 0) {
        cores = (unsigned)CPU_COUNT_S(bytes, mask);
    }
    CPU_FREE(mask);
    return cores;
}

static unsigned online_cores(const char *root)
{
    char directory[256];
    snprintf(directory, sizeof(directory), "%s/sys/devices/system/cpu", root);
    char *list = ctn_cgroup_line(directory, "online");
    unsigned cores = list != NULL ? list_cores(list) : UINT_MAX;
    free(list);
    if (cores == UINT_MAX) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        cores = online > 0 ? (unsigned)online : 1;
    }
    return cores;
}

unsigned ctn_cores_shared(const char *root)
{
    unsigned cores = online_cores(root);
    ctn_cgroup_each(root, "cpu", visit_quota, &cores);
    ctn_cgroup_each(root, "cpuset", visit_cpuset, &cores);
    return cores;
}

unsigned ctn_cores_usable(const char *root)
{
    unsigned cores = ctn_cores_shared(root);
    lower(&cores, affinity_cores());
    return cores;
}
