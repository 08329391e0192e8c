/* Control blocks, and the channels over their slots. */

#include "exec/sequence.h"

#include <string.h>

#include "build_constants.h"
#include "exec/exec.h"

ctn_block_t *ctn_block_take(ctn_exec_t *exec)
{
    if (exec->spares == 0 && exec->aside != NULL) {
        (void)ctn_exec_poll_aside(exec);
    }
    return exec->spares > 0
               ? exec->spare[--exec->spares]
               : ctn_heap_calloc(exec->heap, 4096, sizeof(ctn_block_t));
}

void ctn_block_give(ctn_exec_t *exec, ctn_block_t *block)
{
    if (block != NULL && exec->spares < CTN_SPARE_BLOCKS &&
        exec->status == CATENA_OK) {
        exec->spare[exec->spares++] = block;
    } else {
        ctn_exec_free(exec, block);
    }
}

void ctn_channel_clear(const ctn_exec_t *exec, ctn_channel_t *channel)
{
    if (exec->status != CATENA_OK) {
        return;
    }
    memset(channel->slots, 0,
           (size_t)channel->touched * channel->rings * sizeof(ctn_slot_t));
    channel->touched = 0;
}

static void zero_words(ctn_channel_t *channel, unsigned ring)
{
    for (unsigned slot = 0; slot < channel->touched; slot++) {
        ctn_slot_t *at = &channel->slots[slot * channel->rings + ring];
        for (unsigned word = 0; word < CTN_PARTS; word++) {
            ctn_word_store(&at->word[word], 0);
        }
    }
}

void ctn_channel_zero_old(ctn_exec_t *exec, ctn_channel_t *channel,
                          uint64_t seq)
{
    uint64_t place = ctn_epoch_place(seq);
    if ((place != 1 && place != 2) || !ctn_channel_has_epochs(channel)) {
        return;
    }
    /* The ring of the second barrier. */
    unsigned own = (unsigned)(seq + 1 - place) % channel->rings;
    for (unsigned ring = 0; ring < channel->rings; ring++) {
        if ((ring == own) == (place == 2)) {
            zero_words(channel, ring);
        }
    }
    if (place == 1 && channel->fences->clear != NULL) {
        channel->fences->clear(exec, channel);
    }
}

void ctn_channel_set(ctn_channel_t *channel, ctn_slot_t *slots, unsigned rings,
                     unsigned flight)
{
    assert(rings <= 16 && (rings & (rings - 1)) == 0 && flight <= rings / 2);
    memset(channel, 0, sizeof(*channel));
    channel->slots = slots;
    channel->rings = (uint8_t)rings;
    channel->flight = (uint8_t)flight;
    channel->queue_end = &channel->queue;
    /* Nothing was before: all have completed that. */
    channel->started = CTN_FIRST_SEQUENCE;
    channel->complete = CTN_FIRST_SEQUENCE;
    channel->synchronized = CTN_FIRST_SEQUENCE + flight;
}

void ctn_channel_init(ctn_channel_t *channel, ctn_block_t *block, uint32_t base,
                      unsigned flight)
{
    ctn_channel_set(channel,
                    (ctn_slot_t *)(void *)((unsigned char *)block + base),
                    CTN_RINGS, flight);
    channel->base = base;
}
