/* NBR-4, uniform blocks: sends and receives aggregates. */

#include "neighbor/schedule/aggregate.h"

#include "core/vector.h"
#include "neighbor/link/protocol.h"

/* Short aggregates lie together with their words: on oversubscribed cores each
 * page costs. */
#define SHORT_BYTES ((size_t)1 << 10)

/** The count in the word of an aggregate without data: its contributors had
 * blocks of different lengths, or too long ones. */
#define MISMATCH (UINT32_C(1) << 31)

/** The start of a slot. Where an aggregate arrives, the first word is the
 * sequence flag with the number and the length of the blocks. Every use of a
 * slot writes its words anew, so no old flag is ever compared. */
typedef struct slot {
    uint64_t contributed; /* contributors, in all operations that used this
                             slot */
    uint32_t bytes[];     /* of their blocks: [contributors] */
} slot_t;

static size_t lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* ---- layout of an area ---- */

static size_t head_bytes(const ctn_neighbor_aggregate_area_t *area)
{
    return lines(sizeof(slot_t) + area->contributors * sizeof(uint32_t));
}

static size_t slot_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use)
{
    return use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS *
           (head_bytes(area) + SHORT_BYTES);
}

size_t
ctn_neighbor_aggregate_area_zero(const ctn_neighbor_aggregate_area_t *area)
{
    return pages(slot_at(area, CTN_NEIGHBOR_AGGREGATE_GENERATIONS - 1) +
                 head_bytes(area) + SHORT_BYTES);
}

/** The data of a long aggregate, in a slot for this many bytes. */
static size_t long_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use,
                      size_t room)
{
    return ctn_neighbor_aggregate_area_zero(area) +
           use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS * room;
}

static size_t data_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use,
                      size_t bytes, size_t most_bytes)
{
    return bytes * area->blocks <= SHORT_BYTES
               ? slot_at(area, use) + head_bytes(area)
               : long_at(area, use, pages(most_bytes * area->blocks));
}

size_t
ctn_neighbor_aggregate_area_bytes(const ctn_neighbor_aggregate_area_t *area,
                                  size_t most_bytes)
{
    size_t room = pages(most_bytes * area->blocks);
    return long_at(area, 0, room) + CTN_NEIGHBOR_AGGREGATE_GENERATIONS * room;
}

/* ---- operations ---- */

static uint64_t word_of(const ctn_neighbor_aggregate_in_t *in, uint64_t use)
{
    return ctn_word_load(
        (uint64_t *)(void *)(in->area.base + slot_at(&in->area, use)));
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

/** All contributions are there: sends the aggregate. */
static catena_status_t send_aggregate(ctn_op_t *op,
                                      ctn_neighbor_aggregate_out_t *out,
                                      const slot_t *slot)
{
    const ctn_execution_t *execution =
        ((ctn_exchange_t *)ctn_op_state(op))->execution;
    size_t most = execution->schedule->aggregates->most_bytes;
    const ctn_neighbor_aggregate_area_t there = {.blocks = out->area.blocks};
    uint32_t count = slot->bytes[0];
    for (uint32_t i = 1; i < out->area.contributors; i++) {
        count = slot->bytes[i] == count ? count : MISMATCH;
    }
    size_t bytes = count != MISMATCH ? count : 0;
    size_t all = bytes * out->area.blocks;
    op->exec->tally.messages++;
    op->exec->tally.bytes += all;
    catena_status_t status = ctn_put_signal(
        out->there,
        out->area.base + data_at(&out->area, execution->use, bytes, most), all,
        out->offset + data_at(&there, execution->use, bytes, most),
        out->offset + slot_at(&there, execution->use),
        ctn_flag(execution->use, count), &op->pending);
    if (op->pending != 0) {
        ctn_op_set_network(op, true);
    }
    return status;
}

CTN_HOT static catena_status_t add_blocks(ctn_op_t *op,
                                          ctn_neighbor_aggregate_out_t *out)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *aggregates =
        x->execution->schedule->aggregates;
    size_t bytes = x->send.bytes;
    uint64_t use = x->execution->use;
    slot_t *slot = (void *)(out->area.base + slot_at(&out->area, use));
    unsigned char *data = out->area.base + data_at(&out->area, use, bytes,
                                                   aggregates->most_bytes);
    const ctn_neighbor_aggregate_block_t *entry = aggregates->contributed.item;
    bool fits = bytes <= aggregates->most_bytes;
    for (uint32_t k = out->first; k < out->first + out->blocks && fits; k++) {
        ctn_span_t block = ctn_blocks_at(&x->send, entry[k].index);
        ctn_span_read(op->exec, &block, 0, bytes,
                      data + entry[k].position * bytes);
    }
    slot->bytes[out->contributor] = fits ? (uint32_t)bytes : MISMATCH;
    uint64_t all =
        (use / CTN_NEIGHBOR_AGGREGATE_GENERATIONS + 1) * out->area.contributors;
    return __atomic_add_fetch(&slot->contributed, 1, __ATOMIC_ACQ_REL) == all
               ? send_aggregate(op, out, slot)
               : CATENA_OK;
}

CTN_HOT catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_vector_t *outs = &x->execution->schedule->aggregates->out;
    ctn_neighbor_aggregate_out_t *out = outs->item;
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < outs->count && status == CATENA_OK; i++) {
        status = add_blocks(op, &out[i]);
    }
    return status;
}

/** Takes this rank's blocks of an aggregate that has arrived. */
CTN_HOT static catena_status_t
take_blocks(ctn_op_t *op, const ctn_neighbor_aggregate_in_t *in, uint32_t bytes)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *aggregates =
        x->execution->schedule->aggregates;
    const ctn_neighbor_aggregate_block_t *entry = aggregates->consumed.item;
    const unsigned char *data =
        in->area.base + data_at(&in->area, x->execution->use, x->recv.bytes,
                                aggregates->most_bytes);
    catena_status_t status = CATENA_OK;
    for (uint32_t k = in->first;
         k < in->first + in->blocks && status == CATENA_OK; k++) {
        ctn_span_t block = ctn_blocks_at(&x->recv, entry[k].index);
        status = ctn_take_block(op, entry[k].index, &block,
                                data + entry[k].position * block.bytes, bytes,
                                bytes == MISMATCH);
    }
    return status;
}

CTN_HOT ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    const ctn_neighbor_aggregates_t *aggregates =
        execution->schedule->aggregates;
    const ctn_neighbor_aggregate_in_t *in = aggregates->in.item;
    uint32_t left = 0;
    for (uint32_t i = 0; i < execution->aggregates_open; i++) {
        uint32_t b = execution->open_aggregate[i];
        uint64_t word = word_of(&in[b], execution->use);
        if (!ctn_flag_matches(word, execution->use)) {
            execution->open_aggregate[left++] = b;
            continue;
        }
        /* Other ranks of the node may sleep, and the network does not wake
         * them. */
        op->exec->local->stored |= aggregates->leads;
        catena_status_t status = take_blocks(op, &in[b], ctn_flag_count(word));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    bool moved = left < execution->aggregates_open;
    execution->aggregates_open = left;
    if (left == 0 && op->pending == 0) {
        ctn_op_set_network(op, false);
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
