#include "pattern.h"

#include <string.h>

static const char *const names[PEER_KINDS] = {
    [PEER_ALLTOALL] = "alltoall",   [PEER_ALLTOALLV] = "alltoallv",
    [PEER_ALLTOALLW] = "alltoallw", [PEER_SPLIT] = "split",
    [PEER_BARRIER] = "barrier",     [PEER_BCAST] = "bcast",
    [PEER_REDUCE] = "reduce",       [PEER_ALLREDUCE] = "allreduce",
    [PEER_GATHER] = "gather",       [PEER_SCATTER] = "scatter",
    [PEER_ALLGATHER] = "allgather", [PEER_REDUCE_SCATTER] = "reduce_scatter",
    [PEER_SCAN] = "scan",
};

enum peer_kind pattern_kind(const char *collective)
{
    enum peer_kind kind = 0;

    while (kind < PEER_KINDS && strcmp(names[kind], collective) != 0)
        kind++;
    return kind;
}

bool pattern_has_sizes(enum peer_kind kind)
{
    return kind != PEER_SPLIT && kind != PEER_BARRIER;
}

static bool reduces(enum peer_kind kind)
{
    return kind == PEER_REDUCE || kind == PEER_ALLREDUCE ||
           kind == PEER_REDUCE_SCATTER || kind == PEER_SCAN;
}

/* ---- what goes where ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t seed_of(unsigned call, int source, int target)
{
    return mix((uint64_t)call << 32 ^ (uint64_t)source << 16 ^
               (uint64_t)target);
}

/* Random counts for alltoallv: a quarter is zero, the rest up to such a size
 * that the mean is `bytes`. */
static size_t count_between(size_t bytes, int source, int target)
{
    uint64_t random = seed_of(12345, source, target);

    if (random % 4 == 0)
        return 0;
    return (size_t)((random >> 8) % (8 * bytes / 3 + 1));
}

/* Bytes that go from one rank to another. Where all get the same from a rank,
 * its one block counts as that to rank 0. */
static size_t bytes_between(const struct peer_call *call, int source,
                            int target)
{
    switch (call->kind) {
    case PEER_ALLTOALLV:
        return count_between(call->bytes, source, target);
    case PEER_GATHER:
        return target == call->root ? call->bytes : 0;
    case PEER_SCATTER:
        return source == call->root ? call->bytes : 0;
    case PEER_SPLIT:
    case PEER_BARRIER:
        return 0;
    default:
        return call->bytes;
    }
}

/* Blocks in this rank's buffer on one side. */
static int block_count(const struct peer_call *call, bool sending)
{
    switch (call->kind) {
    case PEER_BCAST:
        return sending ? 0 : 1;
    case PEER_REDUCE:
    case PEER_ALLREDUCE:
    case PEER_SCAN:
        return 1;
    case PEER_ALLGATHER:
        return sending ? 1 : call->size;
    case PEER_REDUCE_SCATTER:
        return sending ? call->size : 1;
    default:
        return call->size;
    }
}

static void lay_out_side(struct peer_call *call, bool sending,
                         struct peer_block *blocks)
{
    size_t bytes = call->bytes;
    size_t width = bytes / 8 > 8 ? bytes / 8 : bytes < 8 ? bytes : 8;
    size_t at = 0;

    call->row_length = width * (size_t)call->size;
    for (int p = 0; p < block_count(call, sending); p++) {
        struct peer_block *b = &blocks[p];

        *b = (struct peer_block){at, 1, 0, 0};
        b->row_bytes = sending ? bytes_between(call, call->rank, p)
                               : bytes_between(call, p, call->rank);
        if (call->kind == PEER_ALLTOALLW) /* columns of all ranks' matrix */
            *b = (struct peer_block){(size_t)p * width, bytes / width, width,
                                     call->row_length};
        at += b->row_bytes;
    }
}

void pattern_lay_out(struct peer_call *call, struct peer_block *blocks)
{
    lay_out_side(call, true, blocks);
    lay_out_side(call, false, blocks + call->size);
    call->sends = blocks;
    call->recvs = blocks + call->size;
}

size_t pattern_extent(const struct peer_block *blocks, int size)
{
    size_t end = 1;

    for (int p = 0; p < size; p++) {
        const struct peer_block *b = &blocks[p];
        size_t last =
            b->row_bytes == 0
                ? 0
                : b->offset + (b->rows - 1) * b->stride + b->row_bytes;

        end = last > end ? last : end;
    }
    return end;
}

/* ---- bytes ---- */

/* Fast, so that contents can change in every call. */
static void fill_row(unsigned char *row, size_t bytes, uint64_t seed)
{
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += 0x0101010101010101u)
        memcpy(row + i, &seed, 8);
    memcpy(row + i, &seed, bytes - i);
}

static uint64_t row_errors(const unsigned char *row, size_t bytes,
                           uint64_t seed)
{
    uint64_t errors = 0;
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += 0x0101010101010101u)
        errors += memcmp(row + i, &seed, 8) != 0;
    return errors + (memcmp(row + i, &seed, bytes - i) != 0);
}

/* Which of a rank's blocks went to another. */
static int target_of(const struct peer_call *call, int rank)
{
    return call->kind == PEER_ALLGATHER || call->kind == PEER_BCAST ? 0 : rank;
}

static void fill_blocks(struct peer_call *call, unsigned number)
{
    if (call->kind == PEER_BCAST) {
        if (call->rank == call->root)
            fill_row(call->recv, call->bytes, seed_of(number, call->root, 0));
        return;
    }
    for (int d = 0; d < call->size; d++) {
        const struct peer_block *b = &call->sends[d];

        for (size_t r = 0; r < b->rows; r++)
            fill_row(call->send + b->offset + r * b->stride, b->row_bytes,
                     seed_of(number, call->rank, d) + r);
    }
}

static uint64_t block_errors(const struct peer_call *call, unsigned number)
{
    uint64_t errors = 0;

    for (int s = 0; s < call->size; s++) {
        const struct peer_block *b = &call->recvs[s];
        int source = call->kind == PEER_BCAST || call->kind == PEER_SCATTER
                         ? call->root
                         : s;

        for (size_t r = 0; r < b->rows && b->row_bytes > 0; r++)
            errors += row_errors(
                call->recv + b->offset + r * b->stride, b->row_bytes,
                seed_of(number, source, target_of(call, call->rank)) + r);
    }
    return errors;
}

/* ---- vectors ---- */

/* Small whole numbers: their sums are exact in any order. */
static double element(unsigned number, int rank, size_t i)
{
    return (double)((number * 7 + (unsigned)rank * 13 + i) % 1000);
}

static void fill_vector(struct peer_call *call, unsigned number)
{
    double *vector = (double *)(void *)call->send;
    size_t n = call->bytes / sizeof(double);

    if (call->kind == PEER_REDUCE_SCATTER)
        n *= (size_t)call->size;
    for (size_t i = 0; i < n; i++)
        vector[i] = element(number, call->rank, i);
}

static uint64_t vector_errors(const struct peer_call *call, unsigned number)
{
    const double *result = (const double *)(const void *)call->recv;
    size_t n = call->bytes / sizeof(double);
    size_t first =
        call->kind == PEER_REDUCE_SCATTER ? (size_t)call->rank * n : 0;
    int last = call->kind == PEER_SCAN ? call->rank : call->size - 1;
    uint64_t errors = 0;

    if (call->kind == PEER_REDUCE && call->rank != call->root)
        return 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (int rank = 0; rank <= last; rank++)
            sum += element(number, rank, first + i);
        errors += !(sum <= result[i] && sum >= result[i]); /* NaN, too */
    }
    return errors;
}

/* ---- groups ---- */

/* Two groups, then one, with other colors in every call; and every other call
 * turns the order of the ranks round: no library profits from the group of the
 * call before. */
static unsigned groups_in(unsigned number)
{
    return number / 2 % 2 + 1;
}

static void choose_group(struct peer_call *call, unsigned number)
{
    call->color =
        (int)(((unsigned)call->rank % groups_in(number) + number) % 2);
    call->key = number % 2 == 0 ? call->rank : -call->rank;
}

static uint64_t group_errors(const struct peer_call *call, unsigned number)
{
    int groups = (int)groups_in(number);
    int size = (call->size + groups - 1 - call->rank % groups) / groups;
    int rank = call->rank / groups;

    if (number % 2 != 0)
        rank = size - 1 - rank;
    return (uint64_t)(call->new_size != size) + (call->new_rank != rank);
}

/* ---- any ---- */

void pattern_fill(struct peer_call *call, unsigned number)
{
    if (call->kind == PEER_SPLIT)
        choose_group(call, number);
    else if (reduces(call->kind))
        fill_vector(call, number);
    else
        fill_blocks(call, number);
}

uint64_t pattern_errors(const struct peer_call *call, unsigned number)
{
    return call->kind == PEER_SPLIT ? group_errors(call, number)
           : reduces(call->kind)    ? vector_errors(call, number)
                                    : block_errors(call, number);
}
