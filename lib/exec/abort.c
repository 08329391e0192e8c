/* Abort. A rank that cannot do its part, because it has no memory or a peer is
 * gone, notifies the other ranks: they may wait for it, and those without a
 * connection to the lost peer would not notice the loss. Each rank has flags in
 * its control block of the world, which it polls in long waits. A rank whose
 * abort flag is set aborts, too, and sets those of all ranks that it has an
 * endpoint to. So an abort reaches all ranks: after the first barrier of
 * the world a path of endpoints leads from every rank to every other rank. The
 * simulator notifies simulated ranks itself, so they poll no flag. */

#include "exec/deaths.h"
#include "exec/observe.h"

void ctn_exec_set_flags(ctn_exec_t *exec, ctn_exec_flags_t *flags)
{
    exec->flags = flags;
    (void)ctn_heap_contains(exec->heap, flags, sizeof(*flags),
                            &exec->flags_offset);
}

/** Tell a transport that this rank waits for nothing any more. */
static void abandon(ctn_transport_t *transport, catena_status_t status)
{
    if (transport != NULL && transport->ops->abandon != NULL) {
        transport->ops->abandon(transport, status);
    }
}

void ctn_exec_end(ctn_exec_t *exec, catena_status_t status)
{
    exec->status = status;
    abandon(exec->local, status);
    abandon(exec->network, status);
    if (exec->observer != NULL) {
        ctn_observe_end(exec);
    }
}

/** What this rank called last. */
static const char *last_call(const ctn_exec_t *exec)
{
    const ctn_recorder_t *recorder = exec->recorder;
    return recorder != NULL && recorder->calls > 0
               ? ctn_call_name(
                     ctn_recorder_records(recorder)[(recorder->calls - 1) &
                                                    (recorder->records - 1)]
                         .code)
               : "a call";
}

/** Log that this rank has no memory for its part of a call.
 * @param result what comes of it */
static void log_lack(const ctn_exec_t *exec, const char *result)
{
    ctn_error(exec->log,
              "no memory for the part of this rank in a call for which other "
              "ranks wait, so %s (last call: %s); free memory, or raise the "
              "limit of the heap or the process",
              result, last_call(exec));
}

/** Whether a status tells that a group has failed. */
static bool is_returned(const ctn_exec_t *exec, catena_status_t status)
{
    return status == CATENA_ERR_PROC_FAILED || status == CATENA_ERR_REVOKED ||
           (status == CATENA_ERR_PEER && exec->deaths != NULL &&
            !exec->deaths->joining);
}

catena_status_t ctn_exec_abort(ctn_exec_t *exec, catena_status_t status)
{
    if (exec->status != CATENA_OK) {
        return exec->status;
    }
    if (is_returned(exec, status)) {
        return status;
    }
    if (status == CATENA_ERR_NO_MEMORY) {
        log_lack(exec, "all operations end");
    }
    status = ctn_status_of_call(status) ? CATENA_ERR_ENDED : status;
    ctn_exec_end(exec, status);
    for (size_t i = 0; exec->flags != NULL && i < exec->endpoints.slots; i++) {
        ctn_endpoint_t *endpoint = exec->endpoints.entry[i].value;
        if (endpoint != NULL) {
            /* An error is ignored: the peer is gone. */
            (void)ctn_signal(endpoint,
                             exec->flags_offset +
                                 offsetof(ctn_exec_flags_t, abort),
                             (uint64_t)-status);
        }
    }
    ctn_exec_wake(exec);
    return status;
}

catena_status_t ctn_exec_give_up(ctn_exec_t *exec, ctn_failure_t *failure,
                                 catena_status_t status)
{
    if (exec->status != CATENA_OK || exec->deaths == NULL || failure == NULL ||
        exec->deaths->joining || !ctn_status_of_call(status) ||
        is_returned(exec, status)) {
        return ctn_exec_abort(exec, status);
    }
    if (failure->status == CATENA_OK) {
        if (status == CATENA_ERR_NO_MEMORY) {
            log_lack(exec, "all operations of the group fail");
        }
        failure->fail(failure, CATENA_ERR_REVOKED);
        ctn_exec_wake(exec);
    }
    return status;
}

catena_status_t ctn_op_give_up(const ctn_op_t *op, catena_status_t status)
{
    return ctn_exec_give_up(op->exec, ctn_op_failure(op), status);
}

void ctn_exec_keep_end(const ctn_exec_t *exec, catena_status_t status)
{
    if (exec->status == CATENA_OK) {
        ctn_error(ctn_log_kept(),
                  "another rank has ended the calls of all ranks (%s); its "
                  "message says why",
                  catena_status_string(status));
    }
}

void ctn_exec_check_abort_flag(ctn_exec_t *exec)
{
    uint64_t word =
        exec->flags != NULL ? ctn_word_load(&exec->flags->abort) : 0;
    if (word != 0) {
        catena_status_t status = (catena_status_t) - (int64_t)word;
        ctn_exec_keep_end(exec, status);
        (void)ctn_exec_abort(exec, status);
    }
}

void ctn_exec_check_flags(ctn_exec_t *exec)
{
    uint64_t word = exec->flags != NULL ? ctn_word_load(&exec->flags->hang) : 0;
    if ((int32_t)((uint32_t)(word >> 32) - exec->hangs) > 0) {
        ctn_recorder_hear(exec, ctn_exec_time(exec), word);
    }
    ctn_exec_check_abort_flag(exec);
}
