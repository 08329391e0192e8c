#include "coll/bcol/shm/fold.h"

shm_fragment_t shm_fragment_of(const shm_call_t *call, uint32_t i)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t unit = basic->by.type->bytes;
    if (64 % unit == 0) { /* whole cache lines */
        unit = 64;
    }
    size_t units = (basic->bytes + unit - 1) / unit;
    size_t first = units * i / call->shm->size * unit;
    size_t end = units * (i + 1) / call->shm->size * unit;
    first = first < basic->bytes ? first : basic->bytes;
    end = end < basic->bytes ? end : basic->bytes;
    return (shm_fragment_t){first, end - first};
}

/** Find the vector that member i has published; NULL: it has another length.
 * @return false: it is not published yet */
static bool find_vector(shm_call_t *call, uint32_t i,
                        const unsigned char **vector)
{
    if (i == call->shm->me) {
        *vector = call->own;
        return true;
    }
    if (!shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
        return false;
    }
    *vector = shm_published(call, i, i, call->basic->bytes);
    return true;
}

bool shm_fold(shm_call_t *call, uint32_t end, shm_fragment_t fragment,
              void *out)
{
    for (; call->next < end; call->next++) {
        const unsigned char *vector;
        if (!find_vector(call, call->next, &vector)) {
            /* After a mismatch other members may run another algorithm. In that
             * of a synchronizing collective all members publish, so wait for
             * them; otherwise some may not. */
            return call->mismatch && !call->algorithm->base.synchronizing;
        }
        if (call->mismatch) {
            continue;
        }
        if (call->next == 0) {
            call->left = vector + fragment.at; /* nothing to reduce yet */
        } else {
            shm_reduce(call, call->left, vector + fragment.at, out,
                       fragment.bytes);
            call->left = out;
        }
    }
    if (call->left != out && !call->mismatch) {
        shm_copy(call, out, call->left, fragment.bytes);
    }
    return true;
}

bool shm_fold_fragment(shm_call_t *call)
{
    uint32_t me = call->shm->me;
    shm_fragment_t fragment = shm_fragment_of(call, me);
    if (!shm_fold(call, call->shm->size, fragment,
                  shm_staging_of(call, me) + fragment.at)) {
        return false;
    }
    ctn_node_arrive(call->shm->module.exec, &call->shm->area, call->seq);
    return true;
}

bool shm_collect_fragments(shm_call_t *call, bool copy)
{
    for (; call->next < call->shm->size; call->next++) {
        if (call->mismatch) {
            return true;
        }
        if (!shm_is_set(call, ctn_node_arrived(&call->shm->area, call->seq,
                                               call->next))) {
            return false;
        }
        shm_fragment_t fragment = shm_fragment_of(call, call->next);
        if (copy) {
            shm_copy(call, (unsigned char *)call->basic->out + fragment.at,
                     shm_staging_of(call, call->next) + fragment.at,
                     fragment.bytes);
        }
    }
    return true;
}
