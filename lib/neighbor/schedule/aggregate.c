/* NBR-4, blocks that are all alike: operations. */

#include "neighbor/schedule/aggregate.h"

#include "neighbor/link/protocol.h"

/* Short bundles lie together with the words that tell of them: with more ranks
 * than cores each page costs. */
#define SHORT_BYTES ((size_t)1 << 10)

/** The count in the word of a bundle: who added to it had blocks of different
 * lengths, or of one for which there is no room; then there are no data. */
#define UNFIT (UINT32_C(1) << 31)

/** How a place begins: where a bundle is put together. Where it arrives, the
 * first word is the tag of the use and the length of the blocks. Every use of a
 * place writes its words anew, so no old tag is ever compared. */
typedef struct place {
    uint64_t added;   /* ranks, in all operations that had this place */
    uint32_t bytes[]; /* of their blocks: [adders] */
} place_t;

static size_t lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* ---- where things lie in an area ---- */

static size_t head_bytes(const ctn_neighbor_aggregate_area_t *area)
{
    return lines(sizeof(place_t) + area->adders * sizeof(uint32_t));
}

static size_t place_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use)
{
    return use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS *
           (head_bytes(area) + SHORT_BYTES);
}

size_t
ctn_neighbor_aggregate_area_zero(const ctn_neighbor_aggregate_area_t *area)
{
    return pages(place_at(area, CTN_NEIGHBOR_AGGREGATE_GENERATIONS - 1) +
                 head_bytes(area) + SHORT_BYTES);
}

/** A long bundle's data, of a place that has room for so many bytes. */
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
               ? place_at(area, use) + head_bytes(area)
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
        (uint64_t *)(void *)(in->area.base + place_at(&in->area, use)));
}

bool ctn_neighbor_aggregates_begin(const ctn_op_t *op)
{
    const ctn_exchange_t *x = (const void *)op->memory;
    ctn_execution_t *run = x->run;
    ctn_neighbor_aggregates_t *bundles = run->plan->bundles;
    if (op->sequence->complete < op->seq && x->neighborhood->begun < op->seq) {
        return false;
    }
    run->use = bundles->begun++;
    run->bundles_open = bundles->in.count;
    for (uint32_t i = 0; i < run->bundles_open; i++) {
        run->open_bundle[i] = i;
    }
    return true;
}

/** All that was added is there: send it. */
static catena_status_t send_bundle(ctn_op_t *op,
                                   ctn_neighbor_aggregate_out_t *out,
                                   const place_t *place)
{
    const ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    size_t most = run->plan->bundles->most_bytes;
    const ctn_neighbor_aggregate_area_t there = {.blocks = out->area.blocks};
    uint32_t count = place->bytes[0];
    for (uint32_t i = 1; i < out->area.adders; i++) {
        count = place->bytes[i] == count ? count : UNFIT;
    }
    size_t bytes = count != UNFIT ? count : 0;
    size_t all = bytes * out->area.blocks;
    op->exec->tally.messages++;
    op->exec->tally.bytes += all;
    catena_status_t status = ctn_put_signal(
        out->there, out->area.base + data_at(&out->area, run->use, bytes, most),
        all, out->offset + data_at(&there, run->use, bytes, most),
        out->offset + place_at(&there, run->use), ctn_flag(run->use, count),
        &op->pending);
    if (op->pending != 0) {
        ctn_op_set_network(op, true);
    }
    return status;
}

CTN_HOT static catena_status_t add_blocks(ctn_op_t *op,
                                          ctn_neighbor_aggregate_out_t *out)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *bundles = x->run->plan->bundles;
    size_t bytes = x->send.bytes;
    uint64_t use = x->run->use;
    place_t *place = (void *)(out->area.base + place_at(&out->area, use));
    unsigned char *data =
        out->area.base + data_at(&out->area, use, bytes, bundles->most_bytes);
    const ctn_neighbor_aggregate_block_t *part = bundles->added.item;
    bool fits = bytes <= bundles->most_bytes;
    for (uint32_t k = out->first; k < out->first + out->parts && fits; k++) {
        ctn_span_t block = ctn_blocks_at(&x->send, part[k].index);
        ctn_span_read(op->exec, &block, 0, bytes,
                      data + part[k].position * bytes);
    }
    place->bytes[out->adder] = fits ? (uint32_t)bytes : UNFIT;
    uint64_t all =
        (use / CTN_NEIGHBOR_AGGREGATE_GENERATIONS + 1) * out->area.adders;
    return __atomic_add_fetch(&place->added, 1, __ATOMIC_ACQ_REL) == all
               ? send_bundle(op, out, place)
               : CATENA_OK;
}

CTN_HOT catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_vector_t *outs = &x->run->plan->bundles->out;
    ctn_neighbor_aggregate_out_t *out = outs->item;
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < outs->count && status == CATENA_OK; i++) {
        status = add_blocks(op, &out[i]);
    }
    return status;
}

/** Take this rank's blocks of a bundle that is here. */
CTN_HOT static catena_status_t
take_blocks(ctn_op_t *op, const ctn_neighbor_aggregate_in_t *in, uint32_t bytes)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *bundles = x->run->plan->bundles;
    const ctn_neighbor_aggregate_block_t *part = bundles->read.item;
    const unsigned char *data =
        in->area.base +
        data_at(&in->area, x->run->use, x->recv.bytes, bundles->most_bytes);
    catena_status_t status = CATENA_OK;
    for (uint32_t k = in->first;
         k < in->first + in->parts && status == CATENA_OK; k++) {
        ctn_span_t block = ctn_blocks_at(&x->recv, part[k].index);
        status = ctn_take_block(op, part[k].index, &block,
                                data + part[k].position * block.bytes, bytes,
                                bytes == UNFIT);
    }
    return status;
}

CTN_HOT ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    const ctn_neighbor_aggregates_t *bundles = run->plan->bundles;
    const ctn_neighbor_aggregate_in_t *in = bundles->in.item;
    uint32_t left = 0;
    for (uint32_t i = 0; i < run->bundles_open; i++) {
        uint32_t b = run->open_bundle[i];
        uint64_t word = word_of(&in[b], run->use);
        if (!ctn_flag_matches(word, run->use)) {
            run->open_bundle[left++] = b;
            continue;
        }
        /* Others of the node may sleep, whom the network does not wake. */
        op->exec->local->stored |= bundles->leads;
        catena_status_t status = take_blocks(op, &in[b], ctn_flag_count(word));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    bool moved = left < run->bundles_open;
    run->bundles_open = left;
    if (left == 0 && op->pending == 0) {
        ctn_op_set_network(op, false);
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
