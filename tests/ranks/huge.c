/* Blocks and vectors of more than 4 GiB, and counts of more than 2^31 elements,
 * among two ranks. What is sent, and each rank's block for itself, is a short
 * pattern that is mapped repeatedly, so that each rank needs memory for one
 * block only. Runs as processes; rank 0 prints "ok - ", or "not ok - ".
 *
 * usage: huge [NAME [BYTES]]: calls whose name contains NAME, with blocks of so
 * many bytes */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catena/catena.h>

enum { RANKS = 2, PERIOD = (16 << 20) + 4096 }; /* no power of two */

/** So many bytes in which a pattern repeats. */
typedef struct repeated {
    unsigned char *memory;
    size_t bytes;
} repeated_t;

typedef struct huge {
    catena_group_t *world;
    int rank;
    size_t bytes;                         /* of a block, whole pages */
    unsigned char *pattern[RANKS][RANKS]; /* [from][to] */
    int file[RANKS][RANKS];               /* of these */
    unsigned char *block;                 /* memory for one block: block_file */
    int block_file;
    unsigned char *sum; /* [PERIOD] */
    int scratch;        /* a file of PERIOD bytes */
} huge_t;

static void *require(void *memory)
{
    if (memory == MAP_FAILED || memory == NULL) {
        perror("huge");
        exit(1);
    }
    return memory;
}

/** Memory that can be mapped more than once. */
static int make_file(size_t bytes)
{
    int file = memfd_create("huge", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        perror("huge");
        exit(1);
    }
    return file;
}

/** Reserve addresses for this many blocks. */
static unsigned char *reserve(const huge_t *h, size_t blocks)
{
    return require(mmap(NULL, blocks * h->bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

/** Map a file repeatedly to a block. */
static void repeat(const huge_t *h, unsigned char *to, int file)
{
    for (size_t at = 0; at < h->bytes; at += PERIOD) {
        size_t left = h->bytes - at;
        require(mmap(to + at, left < PERIOD ? left : PERIOD,
                     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0));
    }
}

/** The blocks that this rank sends: one to each rank, or one to all. */
static unsigned char *to_send(const huge_t *h, bool each)
{
    unsigned char *memory = reserve(h, each ? RANKS : 1);
    for (int to = 0; to < (each ? RANKS : 1); to++) {
        repeat(h, memory + (size_t)to * h->bytes, h->file[h->rank][to]);
    }
    return memory;
}

/** Memory for a block of each rank: this rank's own block takes a period only.
 */
static unsigned char *to_receive(const huge_t *h)
{
    unsigned char *memory = reserve(h, RANKS);
    repeat(h, memory + (size_t)h->rank * h->bytes, h->scratch);
    require(mmap(memory + (size_t)(1 - h->rank) * h->bytes, h->bytes,
                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, h->block_file,
                 0));
    return memory;
}

/** Whether a block consists of a pattern. */
static bool is_pattern(const huge_t *h, const unsigned char *block,
                       const unsigned char *pattern)
{
    for (size_t at = 0; at < h->bytes; at += PERIOD) {
        size_t left = h->bytes - at;
        if (memcmp(block + at, pattern, left < PERIOD ? left : PERIOD) != 0) {
            fprintf(stderr, "# rank %d: wrong data between %zu and %zu\n",
                    h->rank, at, at + PERIOD);
            return false;
        }
    }
    return true;
}

/** Both blocks that this rank has received: from each rank `to` itself, or to
 * all. */
static bool all_right(const huge_t *h, const unsigned char *memory, bool each)
{
    bool right = true;
    for (int from = 0; from < RANKS; from++) {
        right &= is_pattern(h, memory + (size_t)from * h->bytes,
                            h->pattern[from][each ? h->rank : 0]);
    }
    return right;
}

/* ---- calls ---- */

static bool bcast(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    unsigned char *buffer = h->rank == 0 ? send : h->block;
    bool right =
        catena_bcast(buffer, h->bytes, CATENA_BYTE, 0, h->world) == CATENA_OK &&
        is_pattern(h, buffer, h->pattern[0][0]);
    munmap(send, h->bytes);
    return right;
}

static bool allgather(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    unsigned char *receive = to_receive(h);
    bool right =
        catena_allgather(send, h->bytes, CATENA_BYTE, receive, h->bytes,
                         CATENA_BYTE, h->world) == CATENA_OK &&
        all_right(h, receive, false);
    munmap(receive, RANKS * h->bytes);
    munmap(send, h->bytes);
    return right;
}

static bool gather(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    unsigned char *receive = to_receive(h);
    bool right = catena_gather(send, h->bytes, CATENA_BYTE, receive, h->bytes,
                               CATENA_BYTE, 1, h->world) == CATENA_OK &&
                 (h->rank == 0 || all_right(h, receive, false));
    munmap(receive, RANKS * h->bytes);
    munmap(send, h->bytes);
    return right;
}

static bool scatter(huge_t *h)
{
    unsigned char *send = to_send(h, true);
    bool right = catena_scatter(send, h->bytes, CATENA_BYTE, h->block, h->bytes,
                                CATENA_BYTE, 0, h->world) == CATENA_OK &&
                 is_pattern(h, h->block, h->pattern[0][h->rank]);
    munmap(send, RANKS * h->bytes);
    return right;
}

static bool alltoall(huge_t *h)
{
    unsigned char *send = to_send(h, true);
    unsigned char *receive = to_receive(h);
    bool right = catena_alltoall(send, h->bytes, CATENA_BYTE, receive, h->bytes,
                                 CATENA_BYTE, h->world) == CATENA_OK &&
                 all_right(h, receive, true);
    munmap(receive, RANKS * h->bytes);
    munmap(send, RANKS * h->bytes);
    return right;
}

/** A block one way, and a few bytes the other way. */
static bool alltoallv(huge_t *h)
{
    unsigned char *send = to_send(h, true);
    size_t few = 5;
    size_t to_other = h->rank == 0 ? h->bytes : few;
    size_t of_other = h->rank == 0 ? few : h->bytes;
    size_t send_counts[RANKS] = {0};
    size_t receive_counts[RANKS] = {0};
    ptrdiff_t send_at[RANKS] = {0, (ptrdiff_t)h->bytes};
    ptrdiff_t receive_at[RANKS] = {0};
    send_counts[1 - h->rank] = to_other;
    receive_counts[1 - h->rank] = of_other;
    bool right = catena_alltoallv(send, send_counts, send_at, CATENA_BYTE,
                                  h->block, receive_counts, receive_at,
                                  CATENA_BYTE, h->world) == CATENA_OK;
    right =
        right && (h->rank == 0 ? memcmp(h->block, h->pattern[1][0], few) == 0
                               : is_pattern(h, h->block, h->pattern[0][1]));
    munmap(send, RANKS * h->bytes);
    return right;
}

/** One edge each way. */
static bool neighbors(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    catena_neighborhood_t *pair = NULL;
    int other = 1 - h->rank;
    bool right =
        catena_neighborhood_create(h->world, 1, &other, NULL, 1, &other, NULL,
                                   NULL, &pair) == CATENA_OK &&
        catena_neighbor_alltoall(send, h->bytes, CATENA_BYTE, h->block,
                                 h->bytes, CATENA_BYTE, pair) == CATENA_OK &&
        is_pattern(h, h->block, h->pattern[other][0]);
    right &= catena_neighborhood_free(&pair) == CATENA_OK;
    munmap(send, h->bytes);
    return right;
}

static bool reduce(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    bool right = catena_reduce(send, h->block, h->bytes, CATENA_UINT8,
                               CATENA_SUM, 1, h->world) == CATENA_OK &&
                 (h->rank == 0 || is_pattern(h, h->block, h->sum));
    munmap(send, h->bytes);
    return right;
}

static bool allreduce(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    bool right = catena_allreduce(send, h->block, h->bytes, CATENA_UINT8,
                                  CATENA_SUM, h->world) == CATENA_OK &&
                 is_pattern(h, h->block, h->sum);
    munmap(send, h->bytes);
    return right;
}

static bool scan(huge_t *h)
{
    unsigned char *send = to_send(h, false);
    bool right =
        catena_scan(send, h->block, h->bytes, CATENA_UINT8, CATENA_SUM,
                    h->world) == CATENA_OK &&
        is_pattern(h, h->block, h->rank == 0 ? h->pattern[0][0] : h->sum);
    munmap(send, h->bytes);
    return right;
}

/** Both blocks of a rank are equal. They have half the length, since all of
 * them together are copied to the heap. */
static bool reduce_scatter(huge_t *h)
{
    huge_t half = *h;
    half.bytes = (h->bytes / 2 + 4095) & ~(size_t)4095;
    unsigned char *send = reserve(&half, RANKS);
    for (size_t to = 0; to < RANKS; to++) {
        repeat(&half, send + to * half.bytes, h->file[h->rank][0]);
    }
    bool right =
        catena_reduce_scatter_block(send, h->block, half.bytes, CATENA_UINT8,
                                    CATENA_SUM, h->world) == CATENA_OK &&
        is_pattern(&half, h->block, h->sum);
    munmap(send, RANKS * half.bytes);
    return right;
}

static const struct {
    const char *name;
    bool (*run)(huge_t *h);
} calls[] = {
    {"bcast", bcast},
    {"allgather", allgather},
    {"gather", gather},
    {"scatter", scatter},
    {"alltoall", alltoall},
    {"alltoallv", alltoallv},
    {"neighbors", neighbors},
    {"reduce", reduce},
    {"allreduce", allreduce},
    {"scan", scan},
    {"reduce_scatter", reduce_scatter},
};

/* ---- the job ---- */

static void open_patterns(huge_t *h)
{
    uint64_t random = 1;
    h->sum = require(malloc(PERIOD));
    h->scratch = make_file(PERIOD);
    h->block_file = make_file(h->bytes);
    h->block = require(mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                            h->block_file, 0));
    for (int i = 0; i < RANKS * RANKS; i++) {
        int file = make_file(PERIOD);
        unsigned char *to = require(
            mmap(NULL, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        for (size_t at = 0; at < PERIOD; at++) {
            random =
                random * UINT64_C(6364136223846793005) + 1442695040888963407;
            to[at] = (unsigned char)(random >> 56);
        }
        h->file[i / RANKS][i % RANKS] = file;
        h->pattern[i / RANKS][i % RANKS] = to;
    }
    for (size_t at = 0; at < PERIOD; at++) {
        h->sum[at] =
            (unsigned char)(h->pattern[0][0][at] + h->pattern[1][0][at]);
    }
}

/** Run a call on both ranks; false: it was wrong on one of them. */
static bool conclude(huge_t *h, size_t which)
{
    int32_t bad = !calls[which].run(h);
    int32_t any = 1;
    bool good = catena_allreduce(&bad, &any, 1, CATENA_INT32, CATENA_MAX,
                                 h->world) == CATENA_OK &&
                any == 0;
    if (h->rank == 0) {
        printf("%s - %s\n", good ? "ok" : "not ok", calls[which].name);
        fflush(stdout);
    }
    return good;
}

int main(int argc, char **argv)
{
    catena_context_t *context = NULL;
    const char *only = argc > 1 ? argv[1] : "";
    huge_t h = {.bytes = (UINT64_C(1) << 32) + 5 * 4096};
    bool good = true;
    if (argc > 2) {
        h.bytes = strtoull(argv[2], NULL, 0) & ~UINT64_C(4095);
    }
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    h.world = catena_world(context);
    h.rank = catena_group_rank(h.world);
    if (catena_group_size(h.world) != RANKS) {
        printf("not ok - expected %d ranks\n", RANKS);
        return 1;
    }
    open_patterns(&h);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strstr(calls[i].name, only) != NULL) {
            good &= conclude(&h, i);
        }
    }
    return catena_finalize(&context) != CATENA_OK || !good;
}
