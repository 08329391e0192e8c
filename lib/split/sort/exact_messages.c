/* Messages of the exact sort (exact.c), and the memory that it fetches into. */

#include "split/sort/exact_parts.h"

catena_status_t ctn_exact_pool_open(ctn_op_t *op, ctn_exact_t *x, size_t bytes)
{
    x->pool_bytes = sizeof(*x->pool) + bytes;
    x->pool_used = 0;
    x->pool = ctn_scratch_alloc(op->exec, x->pool_bytes);
    if (x->pool == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    x->pool->pending = 0;
    return CATENA_OK;
}

void ctn_exact_pool_close(ctn_op_t *op, ctn_exact_t *x)
{
    if (x->pool != NULL && x->pool->pending == 0) {
        ctn_scratch_free(op->exec, x->pool, x->pool_bytes);
    }
    x->pool = NULL;
}

bool ctn_exact_pool_ready(const ctn_exact_t *x)
{
    return x->pool == NULL || x->pool->pending == 0;
}

catena_status_t ctn_exact_fetch(ctn_op_t *op, ctn_exact_t *x, uint32_t from,
                                uint64_t offset, size_t bytes,
                                const void **data)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, x->peer[from].process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned char *to = x->pool->data + x->pool_used;
    x->pool_used += bytes;
    *data = to;
    if (endpoint->arena == NULL) {
        ctn_op_set_network(op, true);
    }
    op->exec->tally.bytes += bytes;
    return endpoint->transport->ops->get(endpoint, to, bytes, offset,
                                         &x->pool->pending);
}

catena_status_t ctn_exact_send(ctn_op_t *op, const ctn_exact_t *x, uint32_t to,
                               unsigned kind, const void *data, size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, x->peer[to].process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t slot = (uint64_t)kind * x->peers + x->chain->place.rank;
    uint64_t at = x->peer[to].slots + slot * sizeof(ctn_slot_t);
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    return ctn_put_signal(endpoint, data, bytes,
                          at + offsetof(ctn_slot_t, data), at, x->round,
                          &op->pending);
}

const void *ctn_exact_message(const ctn_exact_t *x, unsigned kind,
                              uint32_t from)
{
    return x->slots[(size_t)kind * x->peers + from].data;
}

bool ctn_exact_has_message(const ctn_exact_t *x, unsigned kind, uint32_t from)
{
    const ctn_slot_t *slot = &x->slots[(size_t)kind * x->peers + from];
    return ctn_word_load(&slot->word[0]) == x->round;
}

bool ctn_exact_has_all(ctn_exact_t *x, unsigned kind)
{
    while (x->seen < x->peers && ctn_exact_has_message(x, kind, x->seen)) {
        x->seen++;
    }
    return x->seen == x->peers;
}
