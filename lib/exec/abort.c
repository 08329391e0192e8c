/* Ranks that cannot go on, for want of memory or of a peer, tell the others,
 * who may wait for them and have no connection to that peer: each has a word in
 * the block of its world, which is looked at now and then. Who hears of it
 * ends, too, and passes it on to all it has an endpoint to; since the first
 * barrier of the world these lead from every rank to every other one. Simulated
 * ranks hear of it from the simulator, so that they need not look. */

#include "exec/exec.h"

void ctn_exec_set_abort_flag(ctn_exec_t *exec, const ctn_control_block_t *block)
{
    exec->abort_flag = &block->abort_flag;
    (void)ctn_heap_contains(exec->heap, exec->abort_flag,
                            sizeof(*exec->abort_flag),
                            &exec->abort_flag_offset);
}

static void abandon(ctn_transport_t *transport, catena_status_t status)
{
    if (transport != NULL && transport->ops->abandon != NULL) {
        transport->ops->abandon(transport, status);
    }
}

void ctn_exec_abort(ctn_exec_t *exec, catena_status_t status)
{
    if (exec->status != CATENA_OK) {
        return;
    }
    exec->status = status;
    abandon(exec->local, status);
    abandon(exec->network, status);
    for (size_t i = 0; exec->abort_flag != NULL && i < exec->endpoint_slots;
         i++) {
        if (exec->endpoints[i] != NULL) { /* one that fails knows already */
            (void)ctn_signal(exec->endpoints[i], exec->abort_flag_offset,
                             (uint64_t)-status);
        }
    }
    ctn_exec_wake(exec);
}

catena_status_t ctn_op_run_or_abort(ctn_exec_t *exec, ctn_op_t *op)
{
    catena_status_t status = ctn_op_run(op);
    if (status == CATENA_ERR_NO_MEMORY) {
        ctn_exec_abort(exec, status);
    }
    return status;
}

void ctn_exec_check_abort_flag(ctn_exec_t *exec)
{
    uint64_t word =
        exec->abort_flag != NULL ? ctn_word_load(exec->abort_flag) : 0;
    if (word != 0) {
        ctn_exec_abort(exec, (catena_status_t) - (int64_t)word);
    }
}
