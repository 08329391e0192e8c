#include "pattern.h"

#include <string.h>

#include "oracle/random.h"

static const char *const names[PEER_KINDS] = {
    [PEER_SPLIT] = "split",
#define CTN_ANY(NAME, name, ...) [PEER_##NAME] = #name,
#include "core/calls.def"
    [PEER_NEIGHBOR_ALLTOALL_INIT] = "neighbor_alltoall_init",
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

/* All ranks get the same block of a rank, seeded as that to rank 0. */
static bool spreads(enum peer_kind kind)
{
    return kind == PEER_ALLGATHER || kind == PEER_BCAST ||
           kind == PEER_NEIGHBOR_ALLGATHER || kind == PEER_NEIGHBOR_ALLGATHERV;
}

/* ---- neighbors ---- */

static bool has_neighbors(enum peer_kind kind)
{
    return kind >= PEER_NEIGHBOR_ALLGATHER && kind < PEER_KINDS;
}

int pattern_partners(enum peer_kind kind, int size)
{
    return has_neighbors(kind) ? PEER_NEIGHBORS : size;
}

static int neighbor(const struct peer_call *call, int i)
{
    int at[PEER_DIMS] = {call->rank / call->dims[1],
                         call->rank % call->dims[1]};
    int d = i / 2;

    at[d] += i % 2 == 0 ? -1 : 1;
    return at[d] < 0 || at[d] >= call->dims[d] ? PEER_NULL
                                               : at[0] * call->dims[1] + at[1];
}

/* The rank that a block goes to, or comes from. */
static int partner(const struct peer_call *call, int i)
{
    return has_neighbors(call->kind) ? neighbor(call, i) : i;
}

/* ---- data movement ---- */

static uint64_t seed_of(unsigned call, int source, int target)
{
    return oracle_hash(call, (uint64_t)source, (uint64_t)target);
}

/* Random counts for alltoallv: a quarter is zero, the rest is uniform so that
 * the mean is `bytes`. They are those of earlier trees, which --against runs
 * with loops of their own. */
static size_t count_between(size_t bytes, int source, int target)
{
    uint64_t state =
        UINT64_C(12345) << 32 ^ (uint64_t)source << 16 ^ (uint64_t)target;
    uint64_t random = ctn_random(&state);

    if (random % 4 == 0)
        return 0;
    return (size_t)((random >> 8) % (8 * bytes / 3 + 1));
}

/* Bytes from one rank to another. */
static size_t bytes_between(const struct peer_call *call, int source,
                            int target)
{
    switch (call->kind) {
    case PEER_ALLTOALLV:
    case PEER_NEIGHBOR_ALLTOALLV:
        return count_between(call->bytes, source, target);
    case PEER_NEIGHBOR_ALLGATHERV:
        return count_between(call->bytes, source, 0);
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
    case PEER_NEIGHBOR_ALLGATHER:
    case PEER_NEIGHBOR_ALLGATHERV:
        return sending ? 1 : call->partners;
    case PEER_REDUCE_SCATTER:
        return sending ? call->size : 1;
    default:
        return call->partners;
    }
}

static void lay_out_side(struct peer_call *call, bool sending,
                         struct peer_block *blocks)
{
    size_t bytes = call->bytes;
    size_t width = bytes / 8 > 8 ? bytes / 8 : bytes < 8 ? bytes : 8;
    size_t at = 0;

    call->row_length = width * (size_t)call->partners;
    for (int p = 0; p < block_count(call, sending); p++) {
        struct peer_block *b = &blocks[p];

        *b = (struct peer_block){at, 1, 0, 0};
        b->row_bytes = sending
                           ? bytes_between(call, call->rank, partner(call, p))
                           : bytes_between(call, partner(call, p), call->rank);
        if (call->kind == PEER_ALLTOALLW || /* columns of all ranks' matrix */
            call->kind == PEER_NEIGHBOR_ALLTOALLW)
            *b = (struct peer_block){(size_t)p * width, bytes / width, width,
                                     call->row_length};
        at += b->row_bytes;
    }
}

void pattern_lay_out(struct peer_call *call, struct peer_block *blocks)
{
    lay_out_side(call, true, blocks);
    lay_out_side(call, false, blocks + call->partners);
    call->sends = blocks;
    call->recvs = blocks + call->partners;
}

size_t pattern_extent(const struct peer_block *blocks, int count)
{
    size_t end = 1;

    for (int p = 0; p < count; p++) {
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

/* Contents are computed as fast as they are stored. The oracle's cost a hash a
 * word: with a fill that takes longer than the call, ranks arrive at other
 * times, and a reduce of 512 B, as one example, takes 1.2 times as long. */
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

/* The target in the seed of a block to that rank. */
static int target_of(const struct peer_call *call, int rank)
{
    return spreads(call->kind) ? 0 : rank;
}

static void fill_blocks(struct peer_call *call, unsigned number)
{
    if (call->kind == PEER_BCAST) {
        if (call->rank == call->root)
            fill_row(call->recv, call->bytes, seed_of(number, call->root, 0));
        return;
    }
    for (int d = 0; d < block_count(call, true); d++) {
        const struct peer_block *b = &call->sends[d];
        int target = target_of(call, partner(call, d));

        for (size_t r = 0; r < b->rows; r++)
            fill_row(call->send + b->offset + r * b->stride, b->row_bytes,
                     seed_of(number, call->rank, target) + r);
    }
}

static uint64_t block_errors(const struct peer_call *call, unsigned number)
{
    uint64_t errors = 0;

    for (int s = 0; s < call->partners; s++) {
        const struct peer_block *b = &call->recvs[s];
        int source = call->kind == PEER_BCAST || call->kind == PEER_SCATTER
                         ? call->root
                         : partner(call, s);

        if (source == PEER_NULL)
            continue;
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

/* Two groups, then one, with new colors in every call; every other call
 * reverses the order of the ranks. No library profits from the group of the
 * previous call. */
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

/* ---- all collectives ---- */

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
