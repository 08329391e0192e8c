/* What ranks show to whoever looks at the segment of their node from outside:
 * an offset for each, in the header, behind its first page. */

#include <dirent.h>
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
    ctn_hang_told_t told;
    uint64_t offset[];
} shown_t;

static shown_t *shown_of(const void *segment)
{
    return (shown_t *)((uintptr_t)segment + CTN_PAGE_BYTES);
}

ctn_hang_told_t *ctn_segment_told(const ctn_heap_t *heap)
{
    return &shown_of(heap->header)->told;
}

/** Ranks that have an entry. */
static int most(int ranks)
{
    enum {
        ROOM =
            (CTN_SEGMENT_HEADER_BYTES - CTN_PAGE_BYTES - (int)sizeof(shown_t)) /
            (int)sizeof(uint64_t)
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

/** Read a part of a file; what is not there is 0. */
static void read_part(int fd, unsigned char *to, size_t bytes, uint64_t at)
{
    ssize_t got = 1;
    memset(to, 0, bytes);
    for (size_t done = 0; done < bytes && got > 0; done += (size_t)got) {
        got = pread(fd, to + done, bytes - done, (off_t)(at + done));
        got = got > 0 ? got : 0;
    }
}

/** As ctn_segment_copy, of the file of a descriptor. The owner may change and
 * truncate the file meanwhile, so it is not mapped. */
static void *copy_file(int fd, size_t block, size_t *bytes)
{
    enum { MOST = 4096 }; /* ranks */
    const ctn_segment_header_t *header = NULL;
    const uint64_t *offsets;
    struct stat file;
    char magic[sizeof(header->magic)];
    unsigned char *copy = NULL;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size <= (off_t)CTN_SEGMENT_HEADER_BYTES ||
        pread(fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
        memcmp(magic, CTN_SEGMENT_MAGIC, sizeof(magic)) != 0 ||
        (copy = malloc(CTN_SEGMENT_HEADER_BYTES)) == NULL) {
        return NULL;
    }
    read_part(fd, copy, CTN_SEGMENT_HEADER_BYTES, 0);
    int ranks = ctn_segment_shown(copy, CTN_SEGMENT_HEADER_BYTES, &offsets);
    ranks = ranks < MOST ? ranks : MOST;
    block = (block + 63) & ~(size_t)63;
    *bytes = CTN_SEGMENT_HEADER_BYTES + (size_t)ranks * block;
    unsigned char *all = realloc(copy, *bytes);
    if (all == NULL) {
        free(copy);
        return NULL;
    }
    ((ctn_segment_header_t *)(void *)all)->local_size = (uint32_t)ranks;
    uint64_t *offset = shown_of(all)->offset;
    for (int i = 0; i < ranks; i++) {
        uint64_t at = CTN_SEGMENT_HEADER_BYTES + (size_t)i * block;
        if (offset[i] >= CTN_SEGMENT_HEADER_BYTES &&
            offset[i] < (uint64_t)file.st_size) {
            read_part(fd, all + at, block, offset[i]);
            offset[i] = at;
        } else {
            offset[i] = 0;
        }
    }
    return all;
}

/** Look at one descriptor of another process.
 * @return the copy; NULL: it has none (ENXIO), or this process may not look or
 *         has no memory (another errno) */
static void *copy_of(DIR *descriptors, const char *name, size_t block,
                     size_t *bytes)
{
    char link[64];
    void *segment = NULL;
    errno = 0;
    ssize_t length =
        readlinkat(dirfd(descriptors), name, link, sizeof(link) - 1);
    if (length > 0) {
        link[length] = '\0';
        int file = strstr(link, "catena") != NULL
                       ? openat(dirfd(descriptors), name,
                                O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
                       : -1;
        errno = 0;
        if (file >= 0) {
            segment = copy_file(file, block, bytes);
            close(file);
        }
    }
    if (errno != EACCES && errno != EPERM && errno != ENOMEM) {
        errno = ENXIO;
    }
    return segment;
}

void *ctn_segment_copy(int pid, size_t block, size_t *bytes)
{
    void *segment = NULL;
    const struct dirent *entry;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *descriptors = opendir(path);
    if (descriptors == NULL) {
        return NULL;
    }
    int why = ENXIO;
    while (segment == NULL && why == ENXIO &&
           (entry = readdir(descriptors)) != NULL) {
        segment = copy_of(descriptors, entry->d_name, block, bytes);
        why = errno;
    }
    closedir(descriptors);
    errno = why;
    return segment;
}
