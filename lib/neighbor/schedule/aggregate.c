/* NBR-4, uniform blocks: adds blocks to aggregates, sends and consumes
 * aggregates; see aggregate.h. */

#include "neighbor/schedule/aggregate.h"

#include "core/vector.h"
#include "neighbor/link/protocol.h"

/* Aggregates of up to SHORT_BYTES lie directly behind their head, since on
 * oversubscribed cores a rank misses the TLB for each page that it touches. An
 * area first has the head and SHORT_BYTES of each generation, then pages for
 * the long aggregate of each generation. */
#define SHORT_BYTES ((size_t)1 << 10)

/** The head of a generation. Every use of a generation replaces the word, so no
 * word of an older use with an equal number is left. */
typedef struct head {
    _Alignas(64) uint64_t word; /* as in exec/aggregate.h */
    uint64_t arrived;           /* by the leader, to wake the consumers */
} head_t;

/** Bytes from a short generation to the next one. */
#define GENERATION_BYTES (sizeof(head_t) + SHORT_BYTES)
_Static_assert(CTN_NEIGHBOR_AGGREGATE_GENERATIONS *GENERATION_BYTES <=
                   CTN_NEIGHBOR_AGGREGATE_ZERO,
               "long aggregates follow all short ones");

/* ---- layout of an area: offsets in it ---- */

/** Pages for a long aggregate of so many blocks. */
static size_t pages(uint32_t blocks, size_t most_bytes)
{
    return (blocks * most_bytes + 4095) & ~(size_t)4095;
}

static size_t head_at(uint64_t use)
{
    return use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS * GENERATION_BYTES;
}

/** The data of an aggregate of so many blocks of this length, in an area for
 * blocks of at most `most_bytes`. */
static size_t data_at(uint64_t use, uint32_t blocks, size_t bytes,
                      size_t most_bytes)
{
    return bytes * blocks <= SHORT_BYTES
               ? head_at(use) + sizeof(head_t)
               : CTN_NEIGHBOR_AGGREGATE_ZERO +
                     use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS *
                         pages(blocks, most_bytes);
}

size_t ctn_neighbor_aggregate_area_bytes(uint32_t blocks, size_t most_bytes)
{
    return CTN_NEIGHBOR_AGGREGATE_ZERO +
           CTN_NEIGHBOR_AGGREGATE_GENERATIONS * pages(blocks, most_bytes);
}

/* ---- operations ---- */

/** The head of an aggregate that this rank contributes to, or consumes. */
static head_t *head_of(const ctn_neighbor_aggregate_t *aggregate, uint64_t use)
{
    return (void *)(aggregate->area.base + head_at(use));
}

/** Wakes the other ranks of the node if an aggregate has arrived at this rank:
 * the network does not wake them. */
static void wake_consumers(const ctn_op_t *op,
                           const ctn_neighbor_aggregate_t *in, uint64_t use)
{
    const ctn_exchange_t *x = (const void *)op->memory;
    if (in->leader == x->neighborhood->group->chain.place.rank) {
        ctn_exec_post(op->exec, &head_of(in, use)->arrived, ctn_flag64(use));
    }
}

bool ctn_neighbor_aggregates_begin(const ctn_op_t *op)
{
    const ctn_exchange_t *x = (const void *)op->memory;
    ctn_execution_t *execution = x->execution;
    ctn_neighbor_aggregates_t *aggregates = execution->schedule->aggregates;
    if (op->sequence->complete < op->seq && x->neighborhood->begun < op->seq) {
        return false;
    }
    execution->use = aggregates->begun++;
    execution->aggregates_open = aggregates->in.count;
    for (uint32_t i = 0; i < execution->aggregates_open; i++) {
        execution->open_aggregate[i] = i;
    }
    return true;
}

/** Adds this rank's blocks to an aggregate, and sends it if they are the last.
 */
static catena_status_t add_blocks(ctn_op_t *op, ctn_neighbor_aggregate_t *out)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *aggregates =
        x->execution->schedule->aggregates;
    const ctn_neighbor_aggregate_block_t *entry = aggregates->contributed.item;
    size_t bytes = x->send.bytes;
    uint64_t use = x->execution->use;
    uint32_t blocks = out->area.blocks;
    size_t data = data_at(use, blocks, bytes, aggregates->most_bytes);
    ctn_aggregate_t aggregate = {
        .number = use,
        .contributors = out->contributors,
        .blocks = blocks,
        .word = &head_of(out, use)->word,
        .data = out->area.base + data,
        .to = {.endpoint = out->there,
               .offset = out->offset + data,
               .word = out->offset + head_at(use) + offsetof(head_t, word)}};
    if (bytes > aggregates->most_bytes) {
        return ctn_aggregate_join(op, &aggregate, SIZE_MAX);
    }
    for (uint32_t k = out->first; k < out->first + out->blocks; k++) {
        ctn_span_t block = ctn_blocks_at(&x->send, entry[k].index);
        ctn_aggregate_add(op, &aggregate, entry[k].position, &block);
    }
    return ctn_aggregate_join(op, &aggregate, bytes);
}

catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_vector_t *outs = &x->execution->schedule->aggregates->out;
    ctn_neighbor_aggregate_t *out = outs->item;
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < outs->count && status == CATENA_OK; i++) {
        status = add_blocks(op, &out[i]);
    }
    return status;
}

/** Takes this rank's blocks of an aggregate that has arrived.
 * @param bytes length of the blocks, or CTN_AGGREGATE_MISMATCH */
static catena_status_t
take_blocks(ctn_op_t *op, const ctn_neighbor_aggregate_t *in, uint32_t bytes)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *aggregates =
        x->execution->schedule->aggregates;
    const ctn_neighbor_aggregate_block_t *entry = aggregates->consumed.item;
    const unsigned char *data =
        in->area.base + data_at(x->execution->use, in->area.blocks,
                                x->recv.bytes, aggregates->most_bytes);
    catena_status_t status = CATENA_OK;
    for (uint32_t k = in->first;
         k < in->first + in->blocks && status == CATENA_OK; k++) {
        ctn_span_t block = ctn_blocks_at(&x->recv, entry[k].index);
        status = ctn_take_block(op, entry[k].index, &block,
                                data + entry[k].position * block.bytes, bytes,
                                bytes == CTN_AGGREGATE_MISMATCH);
    }
    return status;
}

ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    const ctn_neighbor_aggregates_t *aggregates =
        execution->schedule->aggregates;
    const ctn_neighbor_aggregate_t *in = aggregates->in.item;
    uint32_t still_open = 0;
    for (uint32_t i = 0; i < execution->aggregates_open; i++) {
        uint32_t index = execution->open_aggregate[i];
        uint64_t word =
            ctn_word_load(&head_of(&in[index], execution->use)->word);
        if (!ctn_aggregate_matches(word, execution->use)) {
            execution->open_aggregate[still_open++] = index;
            continue;
        }
        wake_consumers(op, &in[index], execution->use);
        catena_status_t status =
            take_blocks(op, &in[index], ctn_aggregate_bytes(word));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    bool moved = still_open < execution->aggregates_open;
    execution->aggregates_open = still_open;
    if (still_open == 0 && op->pending == 0) {
        ctn_op_set_network(op, false);
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
