/* Asks the operating system. */

#include "system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "facts.h"

bool system_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "re");
    bool found = file != NULL && fgets(line, (int)bytes, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    if (found) {
        line[strcspn(line, "\n")] = '\0';
    }
    return found;
}

bool system_status(const char *field, char *value, size_t bytes)
{
    char line[256];
    size_t length = strlen(field);
    bool found = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && !found &&
           fgets(line, (int)sizeof(line), file) != NULL) {
        found = strncmp(line, field, length) == 0 && line[length] == ':';
    }
    if (file != NULL) {
        fclose(file);
    }
    if (found) {
        const char *start = line + length + 1;
        start += strspn(start, " \t");
        snprintf(value, bytes, "%.*s", (int)strcspn(start, "\n"), start);
    }
    return found;
}

system_shm_t system_shm(void)
{
    static const char path[] = "/dev/shm";
    char page[4096] = "";
    struct statfs fs;
    system_shm_t shm = {.wrong = ENOENT};
    if (statfs(path, &fs) != 0) {
        shm.wrong = errno;
        return shm;
    }
    shm.present = true;
    shm.memory = fs.f_type == TMPFS_MAGIC;
    shm.total_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
    shm.free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    /* The file has no name, so nothing stays behind. */
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    errno = fd < 0 ? errno : 0;
    if (fd >= 0 && write(fd, page, sizeof(page)) >= 0) {
        errno = 0;
    }
    shm.wrong = errno;
    if (fd >= 0) {
        close(fd);
    }
    return shm;
}

int system_memfd(const char **step)
{
    char path[64];
    *step = "memfd_create";
    int fd = memfd_create("catena-info", MFD_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), fd);
    *step = "opening /proc/PROCESS/fd/FILE";
    int again = open(path, O_RDWR | O_CLOEXEC);
    int wrong = again < 0 ? errno : 0;
    if (again >= 0) {
        close(again);
    }
    close(fd);
    return wrong;
}

bool system_rdma_devices(char *names, size_t bytes)
{
    size_t used = 0;
    const struct dirent *entry;
    DIR *directory = opendir("/sys/class/infiniband");
    names[0] = '\0';
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.' && used < bytes) {
            int more = snprintf(names + used, bytes - used, "%s%s",
                                used > 0 ? ", " : "", entry->d_name);
            used += more > 0 ? (size_t)more : 0;
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return used > 0;
}

uint64_t system_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
               ? FACTS_UNLIMITED
               : (uint64_t)limit.rlim_cur;
}
