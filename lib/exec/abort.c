/* Abort. A rank that cannot go on, for lack of memory or of a peer, notifies
 * the other ranks: they may wait for it without a connection to the lost peer.
 * Each rank has an abort flag in its block of the world, which it polls from
 * time to time. A rank that sees it set aborts, too, and notifies all ranks
 * that it has an endpoint to. After the first barrier of the world these
 * connect every rank to every other one. The simulator notifies simulated ranks
 * itself, so they do not poll. */

#include "exec/exec.h"

void ctn_exec_set_abort_flag(ctn_exec_t *exec, const uint64_t *flag)
{
    exec->abort_flag = flag;
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

catena_status_t ctn_exec_abort(ctn_exec_t *exec, catena_status_t status)
{
    if (exec->status != CATENA_OK) {
        return exec->status;
    }
    status = ctn_status_of_call(status) ? CATENA_ERR_ENDED : status;
    exec->status = status;
    abandon(exec->local, status);
    abandon(exec->network, status);
    for (size_t i = 0; exec->abort_flag != NULL && i < exec->endpoints.slots;
         i++) {
        ctn_endpoint_t *endpoint = exec->endpoints.entry[i].value;
        if (endpoint != NULL) { /* a failed one needs no notice */
            (void)ctn_signal(endpoint, exec->abort_flag_offset,
                             (uint64_t)-status);
        }
    }
    ctn_exec_wake(exec);
    return status;
}

catena_status_t ctn_op_run_or_abort(ctn_exec_t *exec, ctn_op_t *op)
{
    catena_status_t status = ctn_op_run(exec, op);
    return status == CATENA_ERR_NO_MEMORY ? ctn_exec_abort(exec, status)
                                          : status;
}

void ctn_exec_check_abort_flag(ctn_exec_t *exec)
{
    uint64_t word =
        exec->abort_flag != NULL ? ctn_word_load(exec->abort_flag) : 0;
    if (word != 0) {
        (void)ctn_exec_abort(exec, (catena_status_t) - (int64_t)word);
    }
}
