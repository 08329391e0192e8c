/* Chains: their sequence, with its generation barriers, and their place. */

#include <assert.h>
#include <string.h>

#include "group/chain_coll.h"

static ctn_op_t *make_generation_barrier(ctn_exec_t *exec,
                                         ctn_sequence_t *sequence)
{
    unsigned char *chain =
        (unsigned char *)sequence - offsetof(ctn_chain_t, sequence);
    assert(((ctn_chain_t *)(void *)chain)->place.size > 0); /* it is linked */
    return ctn_chain_barrier(exec, (ctn_chain_t *)(void *)chain);
}

static const ctn_sequence_hooks_t hooks = {.make_barrier =
                                               make_generation_barrier};

void ctn_chain_init(ctn_chain_t *chain, void *block, ctn_address_t address,
                    uint32_t base, uint32_t members)
{
    memset(&chain->place, 0, sizeof(chain->place));
    chain->place.self = address;
    chain->log = NULL;
    ctn_sequence_init(&chain->sequence, block, base, 1);
    chain->sequence.hooks = &hooks;
    chain->sequence.sparse_pages =
        (uint8_t)((ctn_chain_slots_bytes(members, CTN_CHAIN_ROUND_SLOTS) +
                   4095) /
                  4096);
    chain->sequence.brittle = true;
}

catena_status_t ctn_own_chain_open(ctn_exec_t *exec, ctn_own_chain_t *own,
                                   size_t head, unsigned slots,
                                   uint32_t members)
{
    own->bytes = head + ctn_chain_slots_bytes(UINT32_MAX, slots) +
                 CTN_MEMBER_ALIGNMENT - 64;
    own->scratch = ctn_scratch_alloc(exec, own->bytes);
    if (own->scratch == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_address_t self = {.process = exec->locality->process,
                          .offset = ctn_heap_offset(exec->heap, own->scratch)};
    size_t skip = -self.offset & (CTN_MEMBER_ALIGNMENT - 1); /* to a page */
    self.offset += skip;
    own->head = (unsigned char *)own->scratch + skip;
    memset(own->head, 0, head + ctn_chain_slots_bytes(members, slots));
    ctn_chain_init(&own->chain, own->head, self, (uint32_t)head, members);
    return CATENA_OK;
}

void ctn_own_chain_close(ctn_exec_t *exec, ctn_own_chain_t *own)
{
    if (own->scratch != NULL) {
        ctn_log_chain_drop(&own->chain);
        ctn_scratch_free(exec, own->scratch, own->bytes);
    }
}

void ctn_chain_release(const ctn_exec_t *exec, ctn_chain_t *chain)
{
    ctn_log_chain_drop(chain);
    ctn_sequence_clear(exec, &chain->sequence);
}

void ctn_chain_set_place(ctn_chain_t *chain, ctn_chain_place_t place)
{
    ctn_log_chain_drop(chain);
    chain->place = place;
}
