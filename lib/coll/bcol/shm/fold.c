#include "coll/bcol/shm/fold.h"

shm_part_t shm_part_of(const shm_call_t *call, uint32_t i)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t unit = basic->by.type->bytes;
    if (64 % unit == 0) {
        unit = 64;
    }
    size_t units = (basic->bytes + unit - 1) / unit;
    size_t first = units * i / call->shm->size * unit;
    size_t end = units * (i + 1) / call->shm->size * unit;
    first = first < basic->bytes ? first : basic->bytes;
    end = end < basic->bytes ? end : basic->bytes;
    return (shm_part_t){first, end - first};
}

/** Where the vector of member i is that it has shown. False: not yet. */
static bool find_vector(shm_call_t *call, uint32_t i,
                        const unsigned char **vector)
{
    if (i == call->shm->me) {
        *vector = call->own;
        return true;
    }
    if (!shm_heard(call, &shm_post_of(call, i)->word)) {
        return false;
    }
    *vector = shm_shown(call, i);
    return true;
}

bool shm_fold(shm_call_t *call, uint32_t end, shm_part_t part, void *out)
{
    for (; call->seen < end; call->seen++) {
        const unsigned char *vector;
        if (!find_vector(call, call->seen, &vector)) {
            /* Others may go another way, but all show theirs where all wait. */
            return shm_gives_up(call) && !call->way->algorithm.synchronizing;
        }
        if (call->differs) {
            continue;
        }
        if (call->seen == 0) {
            call->left = vector + part.at; /* nothing to fold yet */
        } else {
            shm_reduce(call, call->left, vector + part.at, out, part.bytes);
            call->left = out;
        }
    }
    if (call->left != out && !call->differs) {
        shm_copy(call, out, call->left, part.bytes);
    }
    return true;
}

bool shm_fold_part(shm_call_t *call)
{
    uint32_t me = call->shm->me;
    shm_part_t part = shm_part_of(call, me);
    if (!shm_fold(call, call->shm->size, part,
                  shm_stage_of(call, me) + part.at)) {
        return false;
    }
    shm_say(call, shm_share_of(call, me));
    return true;
}

bool shm_collect_parts(shm_call_t *call, bool copy)
{
    for (; call->seen < call->shm->size; call->seen++) {
        if (shm_gives_up(call)) {
            return true;
        }
        if (!shm_heard(call, shm_share_of(call, call->seen))) {
            return false;
        }
        shm_part_t part = shm_part_of(call, call->seen);
        if (copy) {
            shm_copy(call, (unsigned char *)call->basic->out + part.at,
                     shm_stage_of(call, call->seen) + part.at, part.bytes);
        }
    }
    return true;
}
