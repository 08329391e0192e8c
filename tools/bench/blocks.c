/* Contents of the blocks of an alltoall, and their check. */

#include "blocks.h"

#include "bench.h"

/* The stamp of the guard behind the receive buffer, never that of a call. */
static const uint64_t guard_stamp = UINT64_MAX;

struct block {
    unsigned char *begin;
    size_t row_bytes;
};

static struct block block_at(unsigned char *buffer,
                             const struct bench_blocks *blocks, int rank)
{
    size_t i = (size_t)rank;

    if (blocks->counts == NULL)
        return (struct block){buffer + i * blocks->row_bytes,
                              blocks->row_bytes};
    return (struct block){buffer + blocks->at[i], blocks->counts[i]};
}

static unsigned char *outgoing(const struct bench_call *call)
{
    if (call->send == CATENA_IN_PLACE)
        return call->recv;
    return (unsigned char *)call->send; /* our own buffer, see collective.c */
}

static unsigned char *guard(const struct bench_call *call)
{
    return call->recv + call->layout.recvs.bytes;
}

/* What the call before left in the receive buffer has other contents, so a
 * block that does not arrive is seen without clearing the buffer. */
void bench_fill_blocks(struct bench_call *call, uint64_t stamp)
{
    const struct bench_blocks *sends = &call->layout.sends;

    for (int target = 0; target < call->size; target++) {
        struct block block = block_at(outgoing(call), sends, target);
        uint64_t seed = bench_seed(stamp, call->rank, target);

        for (size_t r = 0; r < sends->rows; r++)
            bench_fill(block.begin + r * sends->stride, block.row_bytes,
                       seed + r);
    }
    bench_fill(guard(call), BENCH_GUARD_BYTES,
               bench_seed(guard_stamp, call->rank, call->rank));
}

/* Where wrong bytes are counted, and the first of all is kept. */
struct search {
    uint64_t wrong;
    struct bench_mismatch *first;
};

static void compare(struct search *search, const void *row, size_t bytes,
                    uint64_t seed, size_t offset, struct bench_mismatch found)
{
    uint64_t here = bench_compare(row, bytes, seed, &found);

    if (search->wrong == 0 && here != 0) {
        *search->first = found;
        search->first->offset += offset;
    }
    search->wrong += here;
}

/* The block that is exchanged with `rank`. */
static void compare_block(struct search *search, unsigned char *buffer,
                          const struct bench_blocks *blocks, int rank,
                          uint64_t seed, const char *where)
{
    struct block block = block_at(buffer, blocks, rank);

    for (size_t r = 0; r < blocks->rows; r++)
        compare(search, block.begin + r * blocks->stride, block.row_bytes,
                seed + r, r * block.row_bytes,
                (struct bench_mismatch){.where = where, .source = rank});
}

uint64_t bench_verify_blocks(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first)
{
    const struct bench_layout *layout = &call->layout;
    struct search search = {.first = first};

    for (int source = 0; source < call->size; source++)
        compare_block(&search, call->recv, &layout->recvs, source,
                      bench_seed(stamp, source, call->rank),
                      "receive buffer, block from rank");
    compare(&search, guard(call), BENCH_GUARD_BYTES,
            bench_seed(guard_stamp, call->rank, call->rank), 0,
            (struct bench_mismatch){
                .where = "guard behind the receive buffer of rank",
                .source = call->rank});
    if (call->send == CATENA_IN_PLACE)
        return search.wrong;
    for (int target = 0; target < call->size; target++)
        compare_block(&search, outgoing(call), &layout->sends, target,
                      bench_seed(stamp, call->rank, target),
                      "send buffer (must not change), block for rank");
    return search.wrong;
}
