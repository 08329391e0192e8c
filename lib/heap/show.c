/* What ranks show to whoever looks at the segment of their node from outside:
 * an offset for each, in the header, behind its first page. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heap/segment.h"

/** What stands there. */
typedef struct shown {
    uint64_t told; /* ctn_segment_told */
    uint64_t offset[];
} shown_t;

static shown_t *shown_of(const void *segment)
{
    return (shown_t *)((uintptr_t)segment + CTN_PAGE_BYTES);
}

uint64_t *ctn_segment_told(const ctn_heap_t *heap)
{
    return &shown_of(heap->header)->told;
}

/** Ranks that have an entry. */
static int most(int ranks)
{
    enum {
        ROOM = (CTN_SEGMENT_HEADER_BYTES - CTN_PAGE_BYTES) /
                   (int)sizeof(uint64_t) -
               1
    };
    return ranks < ROOM ? ranks : ROOM;
}

void ctn_heap_show(ctn_heap_t *heap, const void *block)
{
    size_t rank = (size_t)(heap->own - (unsigned char *)heap->header -
                           CTN_SEGMENT_HEADER_BYTES) /
                  heap->own_bytes;
    if ((int)rank < most(heap->local_size)) {
        uint64_t offset = block != NULL
                              ? (uint64_t)((const unsigned char *)block -
                                           (unsigned char *)heap->header)
                              : 0;
        __atomic_store_n(&shown_of(heap->header)->offset[rank], offset,
                         __ATOMIC_RELEASE);
    }
}

const void *ctn_heap_segment(const ctn_heap_t *heap, size_t *bytes)
{
    *bytes = heap->mapped_bytes;
    return heap->header;
}

int ctn_segment_shown(const void *segment, size_t bytes,
                      const uint64_t **offsets)
{
    const ctn_segment_header_t *header = segment;
    if (bytes < CTN_SEGMENT_HEADER_BYTES || header->local_size > INT32_MAX ||
        memcmp(header->magic, CTN_SEGMENT_MAGIC, sizeof(header->magic)) != 0 ||
        header->version != CTN_SEGMENT_VERSION) {
        return 0;
    }
    *offsets = shown_of(segment)->offset;
    return most((int)header->local_size);
}

/** Map the file of a descriptor of another process if it is a segment. */
static const void *map_file(const char *path, size_t *bytes)
{
    const ctn_segment_header_t *header = NULL;
    struct stat file;
    char magic[sizeof(header->magic)];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        file.st_size > (off_t)CTN_SEGMENT_HEADER_BYTES &&
        pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
        memcmp(magic, CTN_SEGMENT_MAGIC, sizeof(magic)) == 0) {
        *bytes = (size_t)file.st_size;
        void *map =
            mmap(NULL, *bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
        header = map != MAP_FAILED ? map : NULL;
    }
    close(fd);
    return header;
}

const void *ctn_segment_map(int pid, size_t *bytes)
{
    enum { DESCRIPTORS = 1024 };
    const void *segment = NULL;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    if (access(path, R_OK) != 0) {
        return NULL;
    }
    errno = 0;
    for (int fd = 0; fd < DESCRIPTORS && segment == NULL; fd++) {
        char link[64];
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
        ssize_t length = readlink(path, link, sizeof(link) - 1);
        if (length > 0) {
            link[length] = '\0';
            if (strstr(link, "catena") != NULL) {
                segment = map_file(path, bytes);
            }
        } else if (errno == EACCES || errno == EPERM) {
            return NULL;
        }
    }
    if (segment == NULL) {
        errno = ENXIO;
    }
    return segment;
}
