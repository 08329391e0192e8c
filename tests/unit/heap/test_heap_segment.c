/* The segment that holds the heaps of a node. */

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config.h"
#include "core/memory.h"

#include "heap_case.h"
#include "unit/unit.h"

/** A /dev/shm of this process alone, so that no other job adds to it.
 * @param options of a tmpfs
 * @return false: the kernel does not allow it */
static bool own_shm(const char *options)
{
    if (unshare(CLONE_NEWNS) != 0 &&
        unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    return mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, options) == 0;
}

static int names_in_shm(void)
{
    int names = 0;
    DIR *dir = opendir("/dev/shm");

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        names += strncmp(entry->d_name, "catena-", 7) == 0;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return names;
}

/* --- several ranks --- */

/* The part of the other rank, a forked process, in a test of two ranks. */
typedef int (*rank_body)(ctn_heap_t *heap, int to_parent, int from_parent);

struct pair {
    ctn_heap_t *heap;
    pid_t child;
    int from_child;
    int to_child;
};

static void pair_start(struct pair *pair, ctn_segment_kind_t kind, size_t limit,
                       rank_body body)
{
    ctn_heap_params_t params = heap_params_of(limit, 0, 2);
    int down[2];
    int up[2];
    char name[64];

    ck_assert_int_eq(ctn_heap_create_kind(&params, kind, &pair->heap, name),
                     CATENA_OK);
    ck_assert(pipe(down) == 0 && pipe(up) == 0);
    pair->child = fork();
    if (pair->child == 0) {
        ctn_heap_t *heap = NULL;
        params.local_rank = 1;
        if (ctn_heap_attach(&params, name, &heap) != CATENA_OK) {
            _exit(100);
        }
        int code = body(heap, up[1], down[0]);
        ctn_heap_destroy(heap);
        _exit(code);
    }
    pair->from_child = up[0];
    pair->to_child = down[1];
}

static uint64_t receive_word(int from)
{
    uint64_t word = 0;
    ssize_t got = read(from, &word, sizeof(word));
    return got == (ssize_t)sizeof(word) ? word : UINT64_MAX;
}

static void send_word(int to, uint64_t word)
{
    if (write(to, &word, sizeof(word)) != (ssize_t)sizeof(word)) {
        _exit(101);
    }
}

static int write_where_told(ctn_heap_t *heap, int to_parent, int from_parent)
{
    unsigned char *mine = ctn_heap_alloc(heap, 1, 100000);
    uint64_t offset;

    heap_fill(mine, 100000, 77);
    if (!ctn_heap_contains(heap, mine, 100000, &offset)) {
        return 1;
    }
    send_word(to_parent, offset);
    uint64_t theirs = receive_word(from_parent);
    if (!heap_filled(ctn_heap_arena(heap, 0) + theirs, 5000, 55)) {
        return 2;
    }
    heap_fill(ctn_heap_arena(heap, 0) + theirs, 5000, 56);
    send_word(to_parent, 1);
    return 0;
}

START_TEST(ranks_see_each_other)
{
    struct pair pair;
    uint64_t offset;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 16 * MIB,
               write_where_told);
    uint64_t theirs = receive_word(pair.from_child);
    ck_assert_int_eq(names_in_shm(), 0);
    ck_assert(heap_filled(ctn_heap_arena(pair.heap, 1) + theirs, 100000, 77));
    ck_assert(!ctn_heap_contains(
        pair.heap, ctn_heap_arena(pair.heap, 1) + theirs, 1, &offset));
    unsigned char *mine = ctn_heap_alloc(pair.heap, 1, 5000);
    heap_fill(mine, 5000, 55);
    ck_assert(ctn_heap_contains(pair.heap, mine, 5000, &offset));
    send_word(pair.to_child, offset);
    ck_assert_uint_eq(receive_word(pair.from_child), 1);
    ck_assert(heap_filled(mine, 5000, 56));
    heap_expect_success(pair.child);
    ctn_heap_destroy(pair.heap);
}
END_TEST

static int take_nearly_all(ctn_heap_t *heap, int to_parent, int from_parent)
{
    void *block = ctn_heap_alloc(heap, 1, 7 * MIB);

    if (block == NULL) {
        return 1;
    }
    send_word(to_parent, 0);
    receive_word(from_parent);
    ctn_heap_free(heap, block);
    send_word(to_parent, 0);
    receive_word(from_parent);
    return 0;
}

START_TEST(limit_is_shared)
{
    struct pair pair;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 8 * MIB,
               take_nearly_all);
    ck_assert_uint_eq(receive_word(pair.from_child), 0);
    ck_assert_ptr_null(ctn_heap_alloc(pair.heap, 1, 2 * MIB));
    void *block = ctn_heap_alloc(pair.heap, 1, MIB);
    ck_assert_ptr_nonnull(block);
    catena_heap_stats_t stats = heap_stats_of(pair.heap);
    ck_assert_uint_eq(stats.node_taken, 8 * MIB);
    ck_assert_uint_eq(stats.taken, MIB);
    ck_assert_ptr_null(ctn_heap_alloc(pair.heap, 1, 1));
    send_word(pair.to_child, 0);
    ck_assert_uint_eq(receive_word(pair.from_child), 0);
    ck_assert_ptr_nonnull(ctn_heap_alloc(pair.heap, 1, 4 * MIB));
    send_word(pair.to_child, 0);
    heap_expect_success(pair.child);
    heap_check(pair.heap);
    ctn_heap_destroy(pair.heap);
}
END_TEST

static int allocate_a_lot(ctn_heap_t *heap, int to_parent, int from_parent)
{
    static heap_model_t model;
    model = (heap_model_t){.heap = heap, .seed = 31, .most = 256 * KIB};
    for (int step = 0; step < 3000; step++) {
        heap_model_step(&model);
    }
    heap_model_end(&model);
    heap_check(heap);
    send_word(to_parent, 0);
    receive_word(from_parent);
    return model.wrong;
}

/* Two ranks compete for more memory than there is. */
START_TEST(ranks_compete)
{
    static heap_model_t model;
    struct pair pair;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 2 * MIB,
               allocate_a_lot);
    model = (heap_model_t){.heap = pair.heap, .seed = 32, .most = 256 * KIB};
    for (int step = 0; step < 3000; step++) {
        heap_model_step(&model);
    }
    heap_model_end(&model);
    ck_assert(!model.wrong);
    ck_assert_uint_eq(receive_word(pair.from_child), 0);
    ck_assert_uint_le(heap_stats_of(pair.heap).node_taken, 2 * MIB);
    send_word(pair.to_child, 0);
    heap_expect_success(pair.child);
    ctn_heap_destroy(pair.heap);
}
END_TEST

/* --- the segment --- */

START_TEST(attach_refuses)
{
    ctn_heap_params_t params = heap_params_of(4 * MIB, 0, 2);
    ctn_heap_t *heap = NULL;
    ctn_heap_t *other = NULL;
    char name[64];
    char wrong[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    params.local_rank = 1;
    ck_assert_int_eq(ctn_heap_attach(&params, "", &other), CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_heap_attach(&params, "rubbish", &other),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_heap_attach(&params, "/proc/1/fd/3:12", &other),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/fd/999:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/catena-none:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/exe:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/status:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    memcpy(wrong, name, sizeof(wrong));
    char *id = strchr(wrong, ':') + 1;
    *id = *id == '0' ? '1' : '0';
    ck_assert_int_eq(ctn_heap_attach(&params, wrong, &other),
                     CATENA_ERR_SYSTEM);
    ck_assert_ptr_nonnull(
        strstr(catena_last_error(), "not the published heap"));
    memcpy(wrong, name, sizeof(wrong));
    strcpy(strchr(wrong, '@'), "@1"); /* no PID namespace has this number */
    ck_assert_int_eq(ctn_heap_attach(&params, wrong, &other),
                     CATENA_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(catena_last_error(), "PID namespace"));
    params.local_size = 3;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_SYSTEM);
    params.local_size = 2;
    params.local_rank = 2;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_ARG);
    ck_assert_ptr_null(other);
    params.local_rank = 1;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_OK);
    ctn_heap_destroy(other);
    ctn_heap_destroy(heap);
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_PEER);
    ck_assert_ptr_nonnull(strstr(catena_last_error(), "given up"));
}
END_TEST

START_TEST(create_refuses)
{
    ctn_heap_t *heap = NULL;
    char name[64];
    ctn_heap_params_t params = heap_params_of((size_t)1 << 60, 0, 1);

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name),
                     CATENA_ERR_NO_MEMORY);
    params.limit = 100;
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_ERR_ARG);
    params = heap_params_of(MIB, 1, 1);
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_ERR_ARG);
    ck_assert_ptr_null(heap);
    ck_assert_int_eq(names_in_shm(), 0);
}
END_TEST

/* The default limit on a node of many ranks must fit the address space. */
START_TEST(many_ranks)
{
    ctn_heap_params_t params = heap_params_of(
        _i == 0 ? CTN_CONFIG_AUTO : CTN_CONFIG_INF, 0, 1 << (8 + 6 * _i));
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    ck_assert_uint_gt(heap_stats_of(heap).limit, 0);
    ck_assert_uint_le(heap_stats_of(heap).limit, ctn_memory_usable(""));
    void *block = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_nonnull(block);
    ctn_heap_free(heap, block);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(nothing_left_behind)
{
    int before = names_in_shm();
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        ctn_heap_params_t params = heap_params_of(16 * MIB, 0, 2);
        ctn_heap_t *heap = NULL;
        char name[64];
        if (ctn_heap_create(&params, &heap, name) != CATENA_OK) {
            _exit(1);
        }
        memset(ctn_heap_alloc(heap, 1, MIB), 1, MIB);
        byte = name[0];
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(names_in_shm(), before);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(names_in_shm(), before);
}
END_TEST

START_TEST(segment_is_private)
{
    ctn_heap_params_t params = heap_params_of(4 * MIB, 0, 2);
    ctn_heap_t *heap = NULL;
    struct stat file;
    char name[64];

    ck_assert_int_eq(ctn_heap_create_kind(
                         &params, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM,
                         &heap, name),
                     CATENA_OK);
    ck_assert_int_eq(names_in_shm(), _i);
    ck_assert_int_eq(fstat(heap->fd, &file), 0);
    ck_assert_uint_eq(file.st_mode & 0777, 0600);
    ctn_heap_destroy(heap); /* the other rank has not attached */
    ck_assert_int_eq(names_in_shm(), 0);
}
END_TEST

START_TEST(numa_and_huge)
{
    ctn_heap_params_t params = heap_params_of(64 * MIB, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];
    unsigned char *block[4];

    params.numa = _i == 0 ? 0 : 1000;
    params.huge = 1;
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    size_t huge_off = ctn_heap_arena_bytes(heap) / 2;
    for (int i = 0; i < 4; i++) { /* huge, sparse, a quarter lost, small */
        block[i] = i == 1   ? ctn_heap_calloc(heap, 1, 4 * MIB)
                   : i == 2 ? ctn_heap_alloc(heap, 1, 2 * MIB + 1)
                   : i == 3 ? ctn_heap_alloc(heap, 1, 100)
                            : ctn_heap_alloc(heap, 1, 4 * MIB - 5);
        ck_assert_ptr_nonnull(block[i]);
        ck_assert((size_t)(block[i] - ctn_heap_arena(heap, 0)) < huge_off ||
                  i == 0);
    }
    ck_assert_uint_ge((size_t)(block[0] - ctn_heap_arena(heap, 0)), huge_off);
    ck_assert_uint_eq((uintptr_t)block[0] % (2 * MIB), 0);
    heap_fill(block[0], 4 * MIB - 5, 1);
    /* One half of the addresses may be full without the other. */
    unsigned char *rest = ctn_heap_alloc(heap, 1, 48 * MIB);
    ck_assert_ptr_nonnull(rest);
    ck_assert(heap_filled(block[0], 4 * MIB - 5, 1));
    heap_check(heap);
    for (int i = 0; i < 4; i++) {
        ctn_heap_free(heap, block[i]);
    }
    ctn_heap_free(heap, rest);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* A full /dev/shm makes allocations fail; it does not kill. */
START_TEST(full_shm)
{
    ctn_heap_params_t params = heap_params_of(6 * MIB, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];

    params.sparse_bytes = 64 * KIB;
    if (!own_shm("size=8m")) {
        return;
    }
    ck_assert_int_eq(
        ctn_heap_create_kind(&params, CTN_SEGMENT_SHM, &heap, name), CATENA_OK);
    int other = shm_open("/other", O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(posix_fallocate(other, 0, (off_t)(5 * MIB)), 0);
    unsigned char *block = ctn_heap_alloc(heap, 1, 2 * MIB);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, 2 * MIB);
    ck_assert_ptr_null(ctn_heap_alloc(heap, 1, 2 * MIB));
    ck_assert_uint_eq(heap_stats_of(heap).node_taken, 2 * MIB);
    ck_assert_ptr_nonnull(strstr(catena_last_error(), "/dev/shm has "));
    for (off_t end = (off_t)(5 * MIB);
         posix_fallocate(other, end, (off_t)KIB) == 0; end += (off_t)KIB) {
    }
    ck_assert_ptr_null(ctn_heap_alloc_sparse(heap, 0));
    ck_assert_int_eq(ftruncate(other, 0), 0);
    unsigned char *more = ctn_heap_alloc(heap, 1, 3 * MIB);
    ck_assert_ptr_nonnull(more);
    memset(more, 1, 3 * MIB);
    heap_check(heap);
    ctn_heap_destroy(heap);
    params.limit = 9 * MIB;
    ck_assert_int_eq(
        ctn_heap_create_kind(&params, CTN_SEGMENT_SHM, &heap, name),
        CATENA_ERR_NO_MEMORY);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, ranks_see_each_other, 0, 2);
    tcase_add_loop_test(tcase, limit_is_shared, 0, 2);
    tcase_add_loop_test(tcase, ranks_compete, 0, 2);
    tcase_add_test(tcase, attach_refuses);
    tcase_add_test(tcase, create_refuses);
    tcase_add_loop_test(tcase, many_ranks, 0, 2);
    tcase_add_test(tcase, nothing_left_behind);
    tcase_add_test(tcase, full_shm);
    tcase_add_loop_test(tcase, segment_is_private, 0, 2);
    tcase_add_loop_test(tcase, numa_and_huge, 0, 2);
}

UNIT_TEST(heap_segment)
{
    if (!own_shm("")) {
        printf("other jobs on this machine disturb these tests\n");
    }
    return unit_main("heap_segment", 60, add_cases);
}
