#include <assert.h>
#include <string.h>

#include "group/chain_coll.h"

static ctn_op_t *make_fence(ctn_exec_t *exec, ctn_channel_t *channel)
{
    unsigned char *lane =
        (unsigned char *)channel - offsetof(ctn_lane_t, channel);
    assert(((ctn_lane_t *)(void *)lane)->chain.size > 0); /* it is linked */
    return ctn_chain_barrier(exec, (ctn_lane_t *)(void *)lane);
}

static const ctn_fences_t fences = {.make = make_fence};

void ctn_lane_init(ctn_lane_t *lane, ctn_block_t *block, ctn_address_t address,
                   uint32_t base)
{
    memset(&lane->chain, 0, sizeof(lane->chain));
    lane->chain.self = address;
    lane->log = NULL;
    ctn_channel_init(&lane->channel, block, base, 1);
    lane->channel.fences = &fences;
    lane->channel.brittle = true;
}

void ctn_lane_release(const ctn_exec_t *exec, ctn_lane_t *lane)
{
    ctn_logchain_drop(lane);
    ctn_channel_clear(exec, &lane->channel);
}

void ctn_lane_set(ctn_lane_t *lane, ctn_chain_t chain)
{
    ctn_logchain_drop(lane);
    lane->chain = chain;
}

ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_lane_t *lane, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes)
{
    ctn_op_t *op = ctn_op_create(exec, &ctn_scan_algorithm, &lane->channel);
    if (op == NULL) {
        return NULL;
    }
    ctn_scan_t *scan = ctn_op_state(op);
    scan->chain = &lane->chain;
    scan->fold = fold;
    scan->bytes = bytes;
    scan->own = own;
    scan->from[0] = left;
    scan->from[1] = right;
    memset(left, 0, bytes);
    memset(right, 0, bytes);
    return op;
}
