/* SHM-10: alltoall. Each member publishes its send buffer, and copies its own
 * block of all others: one round. Every byte is read by one member only, so
 * long buffers are zero-copy: a copy would double the work. */

#include "coll/bcol/shm/shm.h"

/** Bytes of the send buffer of member i. */
static size_t all_bytes(const shm_call_t *call, uint32_t i)
{
    return ctn_basic_weight(call->basic, i) *
           ctn_basic_weight_before(call->basic, call->shm->size) *
           call->basic->bytes;
}

static bool publish(shm_call_t *call)
{
    shm_publish_own(call, call->basic->in, all_bytes(call, call->shm->me));
    return true;
}

/** Copy the block from member i, whose send buffer is at `from`. */
static void copy_block(shm_call_t *call, uint32_t i, const unsigned char *from)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    size_t mine = ctn_basic_weight(basic, me) * basic->bytes;
    size_t theirs = ctn_basic_weight(basic, i) * basic->bytes;
    shm_copy(call,
             (unsigned char *)basic->out +
                 mine * ctn_basic_weight_before(basic, i),
             from + theirs * ctn_basic_weight_before(basic, me),
             mine * ctn_basic_weight(basic, i));
}

static bool copy_own(shm_call_t *call)
{
    copy_block(call, call->shm->me, call->basic->in);
    return true;
}

/** Copy the blocks that all others have published. */
static bool take(shm_call_t *call)
{
    for (; call->next < call->shm->size; call->next++) {
        uint32_t i = call->next;
        if (i == call->shm->me) {
            continue;
        }
        if (!shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
            return false;
        }
        const unsigned char *from =
            shm_published(call, i, i, all_bytes(call, i));
        if (from != NULL) {
            copy_block(call, i, from);
        }
    }
    return true;
}

/** The fewest bytes of a send buffer that stays where it is: as in an
 * allgather, where each member has a core. */
#define ZCOPY_BYTES CTN_PICK(4096u, 512u)

const shm_algorithm_t shm_alltoall = {
    .base = SHM_ALGORITHM("alltoall", true),
    .step = {publish, copy_own, take, shm_finish},
    .zcopy_bytes = ZCOPY_BYTES,
    .stages = true};
