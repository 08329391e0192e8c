/* Cores and memory that control groups leave, in made-up trees of /proc and
 * /sys. */

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cgroup.h"
#include "core/cores.h"
#include "core/memory.h"

#include "unit/unit.h"

static char root[] = "/tmp/catena-test-XXXXXX";

/** Write a file and the folders above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    int n = snprintf(full, sizeof(full), "%s%s", root, path);
    ck_assert(n > 0 && (size_t)n < sizeof(full));
    for (char *slash = full + strlen(root) + 1;
         (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/** A machine of 16 units, and the groups of this process. */
static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    put("/sys/devices/system/cpu/online", "0-15\n");
}

static void end(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

#define V2 "/sys/fs/cgroup"
#define V1_CPU "/sys/fs/cgroup/cpu"

static unsigned with(const char *path, const char *text)
{
    put(path, text);
    return ctn_cores_shared(root);
}

START_TEST(no_control_groups)
{
    ck_assert_uint_eq(ctn_cores_shared(root), 16);
    /* A quota counts only for members of the group. */
    ck_assert_uint_eq(with(V2 "/cpu.max", "100000 100000\n"), 16);
    ck_assert_uint_eq(with("/sys/devices/system/cpu/online", "0,2-4,6,8-9\n"),
                      7);
}
END_TEST

START_TEST(version_2)
{
    ck_assert_uint_eq(with("/proc/self/cgroup", "0::/job/step\n"), 16);
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "max 100000\n"), 16);
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "400000 100000\n"), 4);
    /* Rounded up, and at least 1. */
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "400001 100000\n"), 5);
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "150000 100000\n"), 2);
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "1000 100000\n"), 1);
    /* More than there are. */
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "9000000 100000\n"), 16);
}
END_TEST

START_TEST(nested)
{
    put("/proc/self/cgroup", "0::/job/step/\n");
    put(V2 "/job/step/cpu.max", "800000 100000\n");
    ck_assert_uint_eq(with(V2 "/job/cpu.max", "300000 100000\n"), 3);
    ck_assert_uint_eq(with(V2 "/job/step/cpu.max", "200000 100000\n"), 2);
    ck_assert_uint_eq(with(V2 "/cpu.max", "100000 100000\n"), 1);
    /* A sibling's is none of ours. */
    put(V2 "/job/other/cpu.max", "1000 100000\n");
    put(V2 "/cpu.max", "max 100000\n");
    ck_assert_uint_eq(ctn_cores_shared(root), 2);
    /* In a container, the path may be that of the host. */
    put("/proc/self/cgroup", "0::/docker/abc\n");
    ck_assert_uint_eq(with(V2 "/cpu.max", "600000 100000\n"), 6);
}
END_TEST

START_TEST(version_1)
{
    put("/proc/self/cgroup", "5:memory:/m\n4:cpuacct,cpu:/job/step\n"
                             "3:name=systemd:/x\n0::/y\n");
    put(V1_CPU "/job/step/cpu.cfs_quota_us", "-1\n");
    ck_assert_uint_eq(with(V1_CPU "/job/step/cpu.cfs_period_us", "100000\n"),
                      16);
    put(V1_CPU "/job/cpu.cfs_quota_us", "250000\n");
    ck_assert_uint_eq(with(V1_CPU "/job/cpu.cfs_period_us", "50000\n"), 5);
    ck_assert_uint_eq(with(V1_CPU "/job/step/cpu.cfs_quota_us", "110000\n"), 2);
    /* Of other controllers' groups, or without a period. */
    put(V1_CPU "/m/cpu.cfs_period_us", "100000\n");
    put(V1_CPU "/cpu.cfs_quota_us", "1000\n");
    ck_assert_uint_eq(with(V1_CPU "/m/cpu.cfs_quota_us", "1000\n"), 2);
}
END_TEST

START_TEST(cpusets)
{
    put("/proc/self/cgroup", "3:cpuset:/a\n0::/job\n");
    ck_assert_uint_eq(with(V2 "/job/cpuset.cpus.effective", "0-3,8,10-11\n"),
                      7);
    ck_assert_uint_eq(
        with("/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "5"), 1);
}
END_TEST

START_TEST(garbage)
{
    static const char *const quotas[] = {
        "",           "\n",
        "max\n",      "x y\n",
        "100000\n",   "100000 0\n",
        "0 1\n",      "-5 100000",
        "100000 x\n", "99999999999999999999 100000\n"};
    static const char *const lists[] = {"",     "\n",  "-1",  "3-1\n",
                                        "0-\n", "1,,", "1;2", "0-99999999999\n",
                                        ",",    "x"};
    static const char *const groups[] = {"",        "\n",    "0:\n",   "::\n",
                                         "nothing", "0::\n", "7:cpu\n"};
    put("/proc/self/cgroup", "0::/job\n");
    for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
        ck_assert_uint_eq(with(V2 "/job/cpu.max", quotas[i]), 16);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ck_assert_uint_eq(with(V2 "/job/cpuset.cpus.effective", lists[i]), 16);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        ck_assert_uint_eq(with("/proc/self/cgroup", groups[i]), 16);
    }
}
END_TEST

START_TEST(affinity)
{
    cpu_set_t allowed, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    unsigned most = (unsigned)CPU_COUNT(&allowed);
    ck_assert_uint_eq(ctn_cores_usable(root), most < 16 ? most : 16);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &one);
        }
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    ck_assert_uint_eq(ctn_cores_usable(root), 1);
    ck_assert_uint_eq(ctn_cores_shared(root), 16);
    /* Of this machine, whatever it has. */
    ck_assert_uint_eq(ctn_cores_usable(""), 1);
    ck_assert_uint_ge(ctn_cores_shared(""), 1);
}
END_TEST

START_TEST(memory)
{
    const size_t most = ctn_memory_usable(root);
    ck_assert_uint_gt(most, 4096);
    put("/proc/self/cgroup", "0::/job/step\n");
    put(V2 "/job/step/memory.max", "max\n");
    ck_assert_uint_eq(ctn_memory_usable(root), most);
    put(V2 "/job/memory.max", "1048576\n");
    ck_assert_uint_eq(ctn_memory_usable(root), 1048576);
    put(V2 "/memory.max", "4096\n");
    ck_assert_uint_eq(ctn_memory_usable(root), 4096);
    put("/proc/self/cgroup", "7:memory,cpu:/job\n");
    ck_assert_uint_eq(ctn_memory_usable(root), most);
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8192\n");
    ck_assert_uint_eq(ctn_memory_usable(root), 8192);
}
END_TEST

/** A list of ranges whose sum is 2^32. */
START_TEST(repeated_units)
{
    static const char range[] = "0-1048575,";
    const size_t length = sizeof(range) - 1, times = 4096;
    char *text = malloc(times * length + 1);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * length, range, length + 1);
    }
    text[times * length - 1] = '\0'; /* the last comma */
    put("/proc/self/cgroup", "0::/job\n");
    ck_assert_uint_eq(with(V2 "/job/cpuset.cpus.effective", text), 16);
    free(text);
}
END_TEST

START_TEST(long_paths)
{
    /* Longer than any path, and a first line longer than a page. */
    size_t bytes = 9000;
    char *text = malloc(bytes + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'a', bytes);
    memcpy(text, "0::/", 4);
    text[bytes] = '\0';
    put(V2 "/cpu.max", "200000 100000\n");
    ck_assert_uint_eq(with("/proc/self/cgroup", text), 2);
    size_t used = 0;
    for (int i = 0; used + 4 < bytes; i = (i + 2) % 10) {
        used +=
            (size_t)snprintf(text + used, 4, "%s%d", used > 0 ? "," : "", i);
    }
    put(V2 "/cpu.max", "max\n");
    put(V2 "/cpuset.cpus.effective", text);
    ck_assert_uint_eq(ctn_cores_shared(root), 16);
    free(text);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, no_control_groups);
    tcase_add_test(tcase, version_2);
    tcase_add_test(tcase, nested);
    tcase_add_test(tcase, version_1);
    tcase_add_test(tcase, cpusets);
    tcase_add_test(tcase, garbage);
    tcase_add_test(tcase, affinity);
    tcase_add_test(tcase, memory);
    tcase_add_test(tcase, repeated_units);
    tcase_add_test(tcase, long_paths);
}

UNIT_TEST(control_groups)
{
    return unit_main("control groups", 60, add_cases);
}
