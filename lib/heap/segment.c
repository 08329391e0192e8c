#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/config.h"
#include "core/memory.h"
#include "core/process.h"
#include "heap/arena.h"
#include "heap/segment.h"

/* The segment: local rank 0 creates it, the other ranks of the node open it by
 * its name, and all map it. */

/* Most bytes of all arenas together: half of a process's 47-bit address space,
 * which leaves room for everything else, also under the sanitizers. */
static const size_t MAPPING_MAX = (size_t)1 << 46;
/* An arena has addresses for one sparse block to each so many bytes of the
 * limit, since the network may register them all, but within these bounds; and
 * for fewer where address space is short. */
static const size_t SPARSE_SHARE = (size_t)256 << 10;
static const size_t SPARSE_BLOCKS = 16384;
static const size_t SPARSE_BLOCKS_MIN = 64;
/* Least value of HEAP_SIZE, in bytes. */
static const size_t LIMIT_MIN = (size_t)64 << 10;

/* --- mapping --- */

/* Map the whole segment at an address aligned to huge pages: reserve a huge
 * page more, map at the first aligned address, and unmap what is left at both
 * ends. */
static void *map_aligned(int fd, size_t bytes)
{
    size_t room = bytes + CTN_HUGE_BYTES;
    unsigned char *area =
        mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (area == MAP_FAILED) {
        return NULL;
    }
    size_t head = -(uintptr_t)area & (CTN_HUGE_BYTES - 1);
    void *start = mmap(area + head, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
    if (start == MAP_FAILED) {
        int error = errno;
        munmap(area, room);
        errno = error;
        return NULL;
    }
    if (head > 0) {
        munmap(area, head);
    }
    munmap(area + head + bytes, room - bytes - head);
    return start;
}

/* Check the parameters and make a heap without a segment. */
static catena_status_t heap_new(const ctn_heap_params_t *params,
                                ctn_heap_t **out)
{
    if (params->local_size <= 0 || params->local_rank < 0 ||
        params->local_rank >= params->local_size) {
        ctn_error(params->log, "heap: there is no local rank %d of %d",
                  params->local_rank, params->local_size);
        return CATENA_ERR_ARG;
    }
    ctn_heap_t *heap = calloc(1, sizeof(*heap));
    if (heap == NULL) {
        ctn_error(params->log, "heap: out of process memory");
        return CATENA_ERR_NO_MEMORY;
    }
    heap->log = params->log;
    heap->fd = -1;
    *out = heap;
    return CATENA_OK;
}

/* Return a heap whose segment was made; after an error delete it. */
static catena_status_t heap_made(ctn_heap_t *heap, catena_status_t status,
                                 ctn_heap_t **out)
{
    if (status == CATENA_OK) {
        *out = heap;
    } else {
        ctn_heap_delete(heap);
    }
    return status;
}

void ctn_heap_delete(ctn_heap_t *heap)
{
    if (heap->header != NULL && heap->kind != CTN_SEGMENT_GIVEN) {
        munmap(heap->header, heap->mapped_bytes);
    }
    if (heap->fd >= 0) {
        close(heap->fd);
    }
    if (heap->path[0] != '\0') {
        shm_unlink(heap->path);
    }
    free(heap);
}

/* --- create --- */

/* Determine the limit of the node from the requested one.
 * @param requested bytes, CTN_CONFIG_AUTO or CTN_CONFIG_INF */
static catena_status_t choose_limit(const ctn_heap_t *heap, size_t requested,
                                    size_t *limit)
{
    struct statvfs fs;
    size_t available = ctn_memory_usable(""); /* bytes */
    const char *where = "physical memory, or the limit of the control group";

    if (heap->kind == CTN_SEGMENT_SHM && fstatvfs(heap->fd, &fs) == 0 &&
        (uint64_t)fs.f_bavail * fs.f_frsize < available) {
        available = (size_t)fs.f_bavail * fs.f_frsize;
        where = "free in /dev/shm";
    }
    bool given = requested != CTN_CONFIG_AUTO && requested != CTN_CONFIG_INF;
    if (requested == CTN_CONFIG_AUTO) {
        requested = available / 2;
    } else if (requested == CTN_CONFIG_INF) {
        requested = available;
    }
    if (given && (requested > available || requested < LIMIT_MIN)) {
        ctn_error(heap->log,
                  "heap: there are %zu bytes (%s), the minimum is %zu, and %zu "
                  "were requested; change CATENA_HEAP_SIZE",
                  available, where, LIMIT_MIN, requested);
        return requested > available ? CATENA_ERR_NO_MEMORY : CATENA_ERR_ARG;
    }
    if (requested < LIMIT_MIN) {
        ctn_error(heap->log,
                  "heap: there are %zu bytes (%s); the minimum is %zu; free "
                  "some",
                  available, where, LIMIT_MIN);
        return CATENA_ERR_NO_MEMORY;
    }
    *limit = requested & ~(size_t)(CTN_PAGE_BYTES - 1);
    return CATENA_OK;
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

/** The parts of an arena, in bytes. */
typedef struct arena_parts {
    size_t zone;   /* usual blocks; with huge pages there are two such parts */
    size_t sparse; /* sparse blocks */
} arena_parts_t;

/** Bytes of addresses for sparse blocks, if each rank may have `most`. */
static size_t sparse_part(const ctn_heap_params_t *params, size_t limit,
                          size_t most)
{
    size_t blocks = limit / SPARSE_SHARE;
    blocks = blocks < SPARSE_BLOCKS ? blocks : SPARSE_BLOCKS;
    blocks = blocks > SPARSE_BLOCKS_MIN ? blocks : SPARSE_BLOCKS_MIN;
    size_t wanted =
        round_up(blocks * round_up(params->sparse_bytes, CTN_PAGE_BYTES),
                 CTN_HUGE_BYTES);
    return wanted < most ? wanted : most & ~(size_t)(CTN_HUGE_BYTES - 1);
}

/* Map the file with the largest possible arenas: as long as the limit; twice
 * that with huge pages, which have addresses of their own; and sparse blocks.
 * These take less than their share where address space is short. */
static catena_status_t map_new(ctn_heap_t *heap,
                               const ctn_heap_params_t *params, size_t limit,
                               bool huge, arena_parts_t *part)
{
    size_t ranks = (size_t)params->local_size;
    size_t zones = huge ? 2 : 1;
    size_t wanted = round_up(limit, CTN_HUGE_BYTES);
    size_t most =
        MAPPING_MAX / 4 * 3 / (ranks * zones) & ~(size_t)(CTN_HUGE_BYTES - 1);
    int error = ENOMEM;

    part->zone = wanted < most ? wanted : most;
    part->sparse = sparse_part(params, limit, MAPPING_MAX / 4 / ranks);
    while (part->zone > 0) {
        heap->mapped_bytes = CTN_SEGMENT_HEADER_BYTES +
                             (part->zone * zones + part->sparse) * ranks;
        if (ftruncate(heap->fd, (off_t)heap->mapped_bytes) == 0) {
            heap->header = map_aligned(heap->fd, heap->mapped_bytes);
        }
        if (heap->header != NULL) {
            break;
        }
        error = errno;
        if (part->sparse > SPARSE_BLOCKS_MIN * params->sparse_bytes) {
            part->sparse = sparse_part(params, limit, part->sparse / 2);
        } else {
            part->zone = part->zone / 2 & ~(size_t)(CTN_HUGE_BYTES - 1);
        }
    }
    if (heap->header == NULL) {
        ctn_error(heap->log,
                  "heap: cannot map arenas for %d ranks with a limit of %zu "
                  "bytes: %s; check the limit of address space (ulimit -v), "
                  "or reduce CATENA_HEAP_SIZE",
                  params->local_size, limit, strerror(error));
        return CATENA_ERR_NO_MEMORY;
    }
    if (part->zone < wanted) {
        ctn_warn(heap->log,
                 "heap: too little address space: each of %d ranks can use %zu "
                 "bytes of the %zu that CATENA_HEAP_SIZE allows the node",
                 params->local_size, part->zone, limit);
    }
    return CATENA_OK;
}

/* Whether other processes will find this file at that path. /proc may be that
 * of another PID namespace. */
static bool is_file_at(const char *path, int fd)
{
    struct stat own, found;
    bool is = access(path, R_OK | W_OK) == 0 && stat(path, &found) == 0 &&
              fstat(fd, &own) == 0;
    errno = is ? ESRCH : errno;
    return is && found.st_ino == own.st_ino && found.st_dev == own.st_dev;
}

/* Create the file of the segment; ERR_SYSTEM: not with this kind.
 * @param[out] path that other ranks will open */
static catena_status_t open_new(ctn_heap_t *heap, uint64_t id,
                                char path[CTN_HEAP_NAME_BYTES])
{
    if (heap->kind == CTN_SEGMENT_MEMFD) {
        heap->fd = memfd_create("catena-heap", MFD_CLOEXEC);
        snprintf(path, CTN_HEAP_NAME_BYTES, "/proc/%ld/fd/%d", (long)getpid(),
                 heap->fd);
        if (heap->fd < 0 || !is_file_at(path, heap->fd)) {
            return CATENA_ERR_SYSTEM;
        }
    } else {
        snprintf(path, CTN_HEAP_NAME_BYTES, "/catena-%016" PRIx64, id);
        heap->fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (heap->fd < 0) {
            return CATENA_ERR_SYSTEM;
        }
        memcpy(heap->path, path, sizeof(heap->path));
    }
    return fchmod(heap->fd, 0600) == 0 ? CATENA_OK : CATENA_ERR_SYSTEM;
}

/** This rank has mapped the segment. The last one removes its name, so that
 * nothing stays in /dev/shm however the ranks end. */
static void note_mapped(const ctn_heap_t *heap, const char *path)
{
    ctn_segment_header_t *header = heap->header;
    /* Relaxed: a counter that orders no data. */
    uint32_t mapped = __atomic_add_fetch(&header->mapped, 1, __ATOMIC_RELAXED);
    if (heap->kind == CTN_SEGMENT_SHM && mapped == header->local_size) {
        shm_unlink(path);
    }
}

/* Map the new file, fill the header, and make this rank's allocator. */
static catena_status_t fill_new(ctn_heap_t *heap,
                                const ctn_heap_params_t *params, uint64_t id)
{
    size_t limit = 0;
    arena_parts_t part = {0};
    bool huge = params->huge == CTN_CONFIG_AUTO ? ctn_huge_pages_allowed()
                                                : params->huge != 0;

    catena_status_t status = choose_limit(heap, params->limit, &limit);
    if (status == CATENA_OK) {
        status = map_new(heap, params, limit, huge, &part);
    }
    /* The header does not count towards the limit, but a touch of its page must
     * not raise SIGBUS either (see source_take in heap.c). */
    if (status == CATENA_OK && heap->kind == CTN_SEGMENT_SHM &&
        posix_fallocate(heap->fd, 0, CTN_PAGE_BYTES) != 0) {
        ctn_error(heap->log, "heap: /dev/shm is full; remove files there, or "
                             "enlarge it");
        status = CATENA_ERR_NO_MEMORY;
    }
    if (status != CATENA_OK) {
        return status;
    }
    ctn_segment_header_t *header = heap->header;
    header->version = CTN_SEGMENT_VERSION;
    header->local_size = (uint32_t)params->local_size;
    header->id = id;
    header->failures = params->failures;
    header->limit = limit;
    header->huge_off = part.zone;
    header->sparse_off = part.zone * (huge ? 2 : 1);
    header->arena_bytes = header->sparse_off + part.sparse;
    /* The other ranks open the segment only after its name was published, which
     * orders these writes before their reads. */
    memcpy(header->magic, CTN_SEGMENT_MAGIC, sizeof(header->magic));
    note_mapped(heap, heap->path);
    return ctn_heap_start(heap, params);
}

catena_status_t ctn_heap_create_kind(const ctn_heap_params_t *params,
                                     ctn_segment_kind_t kind, ctn_heap_t **heap,
                                     char name[64])
{
    uint64_t id;
    char path[CTN_HEAP_NAME_BYTES];
    ctn_heap_t *made;
    catena_status_t status = heap_new(params, &made);
    if (status != CATENA_OK) {
        return status;
    }
    made->kind = kind;
    status = getrandom(&id, sizeof(id), 0) == (ssize_t)sizeof(id)
                 ? open_new(made, id, path)
                 : CATENA_ERR_SYSTEM;
    if (status != CATENA_OK) {
        ctn_debug(params->log, "heap: no %s segment: %s",
                  kind == CTN_SEGMENT_MEMFD ? "memfd" : "shm_open",
                  strerror(errno));
    } else {
        status = fill_new(made, params, id);
    }
    if (status == CATENA_OK) {
        int used =
            snprintf(name, CTN_HEAP_NAME_BYTES, "%.32s:%016" PRIx64, path, id);
        if (kind == CTN_SEGMENT_MEMFD) {
            snprintf(name + used, CTN_HEAP_NAME_BYTES - (size_t)used,
                     "@%" PRIu32, (uint32_t)ctn_pid_space());
        }
        ctn_info(params->log,
                 "heap: %s, limit %zu bytes, %d arenas of %zu bytes", name,
                 made->limit, made->local_size, made->own_bytes);
    }
    return heap_made(made, status, heap);
}

catena_status_t ctn_heap_create(const ctn_heap_params_t *params,
                                ctn_heap_t **heap, char name[64])
{
    catena_status_t status =
        params->several_spaces
            ? CATENA_ERR_SYSTEM
            : ctn_heap_create_kind(params, CTN_SEGMENT_MEMFD, heap, name);
    if (status != CATENA_ERR_SYSTEM) {
        return status;
    }
    status = ctn_heap_create_kind(params, CTN_SEGMENT_SHM, heap, name);
    if (status == CATENA_ERR_SYSTEM && params->several_spaces) {
        ctn_error(params->log,
                  "heap: cannot make a file in /dev/shm (%s), which the ranks "
                  "of this node need, since they are in several PID "
                  "namespaces; let them write there, or give them one PID "
                  "namespace",
                  strerror(errno));
    } else if (status == CATENA_ERR_SYSTEM) {
        ctn_error(params->log,
                  "heap: neither memfd_create with /proc nor shm_open with "
                  "/dev/shm works here (%s); %s",
                  strerror(errno),
                  errno == EMFILE || errno == ENFILE
                      ? "raise the limit of open files (ulimit -n)"
                      : "the ranks of a node need one of them to share memory");
    }
    return status;
}

/* --- memory of the caller --- */

catena_status_t ctn_heap_adopt(const ctn_heap_params_t *params,
                               unsigned char *memory, size_t arena_bytes,
                               ctn_heap_t **heap)
{
    ctn_heap_t *made;
    catena_status_t status = heap_new(params, &made);
    if (status != CATENA_OK) {
        return status;
    }
    made->kind = CTN_SEGMENT_GIVEN;
    made->header = (ctn_segment_header_t *)(void *)memory;
    if (made->header->version == 0) { /* the first rank of the node */
        size_t all = arena_bytes * (size_t)params->local_size;
        bool limited = params->limit != CTN_CONFIG_AUTO && params->limit < all;
        size_t limit = limited ? params->limit : all;
        size_t sparse_off =
            arena_bytes - sparse_part(params, limit, arena_bytes / 2);
        *made->header = (ctn_segment_header_t){
            .version = CTN_SEGMENT_VERSION,
            .local_size = (uint32_t)params->local_size,
            .limit = limit,
            .arena_bytes = arena_bytes,
            .huge_off = sparse_off,
            .sparse_off = sparse_off,
        };
        memcpy(made->header->magic, CTN_SEGMENT_MAGIC,
               sizeof(made->header->magic));
    }
    return heap_made(made, ctn_heap_start(made, params), heap);
}

/* --- attach --- */

/* Split "PATH:ID" or "PATH:ID@SPACE".
 * @param[out] space 0: none */
static bool parse_name(const char *name, char path[CTN_HEAP_NAME_BYTES],
                       uint64_t *id, uint64_t *space)
{
    const char *colon = memchr(name, ':', strnlen(name, CTN_HEAP_NAME_BYTES));
    char *end = NULL;

    if (name[0] != '/' || colon == NULL || strcspn(colon, "@") != 17) {
        return false;
    }
    memcpy(path, name, (size_t)(colon - name));
    path[colon - name] = '\0';
    errno = 0;
    *id = strtoull(colon + 1, &end, 16);
    *space = *end == '@' ? strtoull(end + 1, &end, 10) : 0;
    return errno == 0 && *end == '\0';
}

/* Check that the open file is the segment of this id and number of ranks.
 * Returns NULL if it is, else why it is not. */
static const char *verify(ctn_heap_t *heap, const ctn_heap_params_t *params,
                          uint64_t id)
{
    ctn_segment_header_t header;
    struct stat file;

    if (fstat(heap->fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return "it is not a memory segment";
    }
    if (file.st_uid != geteuid()) {
        return "it belongs to another user";
    }
    if (pread(heap->fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.magic, CTN_SEGMENT_MAGIC, sizeof(header.magic)) != 0) {
        return "it is not a heap of catena";
    }
    if (header.version != CTN_SEGMENT_VERSION) {
        return "another version of catena made it";
    }
    if (header.id != id) {
        return "it is not the published heap";
    }
    if (header.local_size != (uint32_t)params->local_size) {
        return "it is for another number of ranks";
    }
    if (header.failures != params->failures) {
        return "its creator has a different CATENA_FAILURES; set the same on "
               "all ranks";
    }
    heap->mapped_bytes =
        CTN_SEGMENT_HEADER_BYTES + header.arena_bytes * header.local_size;
    if ((size_t)file.st_size != heap->mapped_bytes) {
        return "its size differs from its header";
    }
    return NULL;
}

/** Whether the process of /proc/PID/fd/N has ended, or has closed the file:
 * then it, or its launcher, says why. */
static bool has_ended(const char *path)
{
    char files[CTN_HEAP_NAME_BYTES];
    unsigned long long pid;
    if (sscanf(path, "/proc/%llu/", &pid) != 1) {
        return false;
    }
    snprintf(files, sizeof(files), "/proc/%llu/fd", pid);
    return ctn_process_state(pid) == 0 ||
           (access(files, X_OK) == 0 && access(path, F_OK) != 0);
}

/* Open the segment of local rank 0, map it, and make this rank's allocator. */
static catena_status_t open_named(ctn_heap_t *heap,
                                  const ctn_heap_params_t *params,
                                  const char *path, uint64_t id)
{
    if (strncmp(path, "/proc/", 6) == 0) {
        heap->kind = CTN_SEGMENT_MEMFD;
        heap->fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } else {
        heap->kind = CTN_SEGMENT_SHM;
        heap->fd = shm_open(path, O_RDWR | O_CLOEXEC, 0);
    }
    int error = errno;
    /* The files of a process that ends belong to root. */
    if (heap->fd < 0 && (error == ENOENT || error == EACCES) &&
        has_ended(path)) {
        ctn_error(ctn_log_kept(), "heap: local rank 0 has ended, or given up, "
                                  "while this rank joined the job");
        return CATENA_ERR_PEER;
    }
    if (heap->fd < 0) {
        ctn_error(heap->log,
                  "heap: cannot open %s, the heap of local rank 0: %s; the "
                  "ranks of a node must be of one user and see the same /proc "
                  "and /dev/shm",
                  path, strerror(error));
        return CATENA_ERR_SYSTEM;
    }
    const char *wrong = verify(heap, params, id);
    if (wrong != NULL) {
        ctn_error(heap->log, "heap: %s is not the heap of local rank 0: %s",
                  path, wrong);
        return CATENA_ERR_SYSTEM;
    }
    heap->header = map_aligned(heap->fd, heap->mapped_bytes);
    if (heap->header == NULL) {
        ctn_error(heap->log,
                  "heap: cannot map %zu bytes of addresses: %s; check the "
                  "limit of address space (ulimit -v), or reduce "
                  "CATENA_HEAP_SIZE",
                  heap->mapped_bytes, strerror(errno));
        return CATENA_ERR_NO_MEMORY;
    }
    note_mapped(heap, path);
    return ctn_heap_start(heap, params);
}

catena_status_t ctn_heap_attach(const ctn_heap_params_t *params,
                                const char *name, ctn_heap_t **heap)
{
    char path[CTN_HEAP_NAME_BYTES];
    uint64_t id, space;
    ctn_heap_t *made;

    if (!parse_name(name, path, &id, &space)) {
        ctn_error(params->log,
                  "heap: '%.63s' is not the name of a heap (PATH:ID)", name);
        return CATENA_ERR_ARG;
    }
    if (space != 0 && space != ctn_pid_space()) {
        ctn_error(params->log,
                  "heap: local rank 0 is outside the container of this rank "
                  "(in another PID namespace); expected all ranks of the node "
                  "in containers of their own, or all in one PID namespace "
                  "(podman: --pid=host)");
        return CATENA_ERR_SYSTEM;
    }
    catena_status_t status = heap_new(params, &made);
    return status == CATENA_OK
               ? heap_made(made, open_named(made, params, path, id), heap)
               : status;
}
