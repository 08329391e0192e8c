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

/** Instead of the length of blocks: contributors had blocks of different
 * lengths, or too long ones, so the aggregate has no data. */
#define MISMATCH (UINT32_C(1) << 31)

/** The head of a generation. Where an aggregate is composed, it contains these
 * members. Where an aggregate arrives, it is two words: a sequence flag with
 * the number `use` and the length of the blocks, and the leader's wakeup. Every
 * use of a generation replaces the flag, so no flag of an older use with an
 * equal number is left. */
typedef struct head {
    uint64_t contributed; /* contributions, of all uses of this generation */
    uint32_t bytes[];     /* [contributors]: length of their blocks */
} head_t;

/** Rounded up to cache lines. */
static size_t lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/** Rounded up to pages. */
static size_t pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* ---- layout of an area: offsets in it ---- */

/** Bytes of a head. */
static size_t head_bytes(const ctn_neighbor_aggregate_area_t *area)
{
    return lines(sizeof(head_t) + area->contributors * sizeof(uint32_t));
}

/** The head of aggregate `use`. */
static size_t head_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use)
{
    return use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS *
           (head_bytes(area) + SHORT_BYTES);
}

size_t
ctn_neighbor_aggregate_area_zero(const ctn_neighbor_aggregate_area_t *area)
{
    return pages(head_at(area, CTN_NEIGHBOR_AGGREGATE_GENERATIONS - 1) +
                 head_bytes(area) + SHORT_BYTES);
}

/** The data of a long aggregate.
 * @param room bytes of the memory for a long aggregate */
static size_t long_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use,
                      size_t room)
{
    return ctn_neighbor_aggregate_area_zero(area) +
           use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS * room;
}

/** The data of an aggregate of blocks of this length, in an area for blocks of
 * at most `most_bytes`. */
static size_t data_at(const ctn_neighbor_aggregate_area_t *area, uint64_t use,
                      size_t bytes, size_t most_bytes)
{
    return bytes * area->blocks <= SHORT_BYTES
               ? head_at(area, use) + head_bytes(area)
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

/** The words of an aggregate that arrives. */
static uint64_t *words_of(const ctn_neighbor_aggregate_t *in, uint64_t use)
{
    return (uint64_t *)(void *)(in->area.base + head_at(&in->area, use));
}

/** Wakes the other ranks of the node if an aggregate has arrived at this rank:
 * the network does not wake them. */
static void wake_consumers(const ctn_op_t *op,
                           const ctn_neighbor_aggregate_t *in, uint64_t use)
{
    const ctn_exchange_t *x = (const void *)op->memory;
    if (in->leader == x->neighborhood->group->chain.place.rank) {
        ctn_exec_post(op->exec, words_of(in, use) + 1, ctn_flag64(use));
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

/** Sends an aggregate to which all contributors have added their blocks. */
static catena_status_t
send_aggregate(ctn_op_t *op, ctn_neighbor_aggregate_t *out, const head_t *head)
{
    const ctn_execution_t *execution =
        ((ctn_exchange_t *)ctn_op_state(op))->execution;
    size_t most = execution->schedule->aggregates->most_bytes;
    const ctn_neighbor_aggregate_area_t there = {.blocks = out->area.blocks};
    uint32_t count = head->bytes[0];
    for (uint32_t i = 1; i < out->area.contributors; i++) {
        count = head->bytes[i] == count ? count : MISMATCH;
    }
    size_t bytes = count != MISMATCH ? count : 0;
    size_t all = bytes * out->area.blocks;
    op->exec->tally.messages++;
    op->exec->tally.bytes += all;
    catena_status_t status = ctn_put_signal(
        out->there,
        ctn_exec_data(op->exec,
                      out->area.base +
                          data_at(&out->area, execution->use, bytes, most)),
        all, out->offset + data_at(&there, execution->use, bytes, most),
        out->offset + head_at(&there, execution->use),
        ctn_flag(execution->use, count), &op->pending);
    if (op->pending != 0) {
        ctn_op_set_network(op, true);
    }
    return status;
}

/** Adds this rank's blocks to an aggregate, and sends it if they are the last.
 */
CTN_HOT static catena_status_t add_blocks(ctn_op_t *op,
                                          ctn_neighbor_aggregate_t *out)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_neighbor_aggregates_t *aggregates =
        x->execution->schedule->aggregates;
    size_t bytes = x->send.bytes;
    uint64_t use = x->execution->use;
    head_t *head = (void *)(out->area.base + head_at(&out->area, use));
    unsigned char *data = out->area.base + data_at(&out->area, use, bytes,
                                                   aggregates->most_bytes);
    const ctn_neighbor_aggregate_block_t *entry = aggregates->contributed.item;
    bool fits = bytes <= aggregates->most_bytes;
    for (uint32_t k = out->first; k < out->first + out->blocks && fits; k++) {
        ctn_span_t block = ctn_blocks_at(&x->send, entry[k].index);
        ctn_span_read(op->exec, &block, 0, bytes,
                      data + entry[k].position * bytes);
    }
    head->bytes[out->contributor] = fits ? (uint32_t)bytes : MISMATCH;
    uint64_t all =
        (use / CTN_NEIGHBOR_AGGREGATE_GENERATIONS + 1) * out->area.contributors;
    return __atomic_add_fetch(&head->contributed, 1, __ATOMIC_ACQ_REL) == all
               ? send_aggregate(op, out, head)
               : CATENA_OK;
}

CTN_HOT catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op)
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
 * @param bytes length of the blocks, or MISMATCH */
CTN_HOT static catena_status_t
take_blocks(ctn_op_t *op, const ctn_neighbor_aggregate_t *in, uint32_t bytes)
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
    const ctn_neighbor_aggregate_t *in = aggregates->in.item;
    uint32_t still_open = 0;
    for (uint32_t i = 0; i < execution->aggregates_open; i++) {
        uint32_t index = execution->open_aggregate[i];
        uint64_t word = ctn_word_load(words_of(&in[index], execution->use));
        if (!ctn_flag_matches(word, execution->use)) {
            execution->open_aggregate[still_open++] = index;
            continue;
        }
        wake_consumers(op, &in[index], execution->use);
        catena_status_t status =
            take_blocks(op, &in[index], ctn_flag_count(word));
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
