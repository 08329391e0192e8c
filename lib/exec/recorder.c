#include "exec/recorder.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/process.h"
#include "exec/exec.h"

static uint32_t most_scopes(const ctn_exec_t *exec)
{
    return exec->virtual_time ? CTN_RECORDED_SCOPES_SIMULATED
                              : CTN_RECORDED_SCOPES;
}

void ctn_recorder_open(ctn_exec_t *exec)
{
    uint32_t records = exec->virtual_time ? CTN_RECORDS_SIMULATED : CTN_RECORDS;
    ctn_recorder_t *recorder =
        /* Pages for scopes that are not in use are not touched. */
        ctn_heap_alloc_zeroed(
            exec->heap, 64, ctn_recorder_bytes(most_scopes(exec), records),
            ctn_recorder_bytes(CTN_RECORDED_SCOPES_SIMULATED, records));
    if (recorder == NULL) {
        return;
    }
    recorder->records = records;
    recorder->scopes = 1;
    ctn_recorder_scopes(recorder, records)->id = CTN_SCOPE_UNKNOWN;
    recorder->rank = exec->locality->process;
    recorder->pid = exec->virtual_time ? 0 : (uint64_t)getpid();
    recorder->space = exec->virtual_time ? 0 : ctn_pid_space();
    __atomic_store_n(&recorder->version, CTN_RECORDER_VERSION,
                     __ATOMIC_RELEASE);
    exec->recorder = recorder;
    ctn_heap_show(exec->heap, recorder);
}

void ctn_recorder_close(ctn_exec_t *exec)
{
    if (exec->recorder != NULL) {
        ctn_heap_show(exec->heap, NULL);
        ctn_heap_free(exec->heap, exec->recorder);
        exec->recorder = NULL;
    }
}

ctn_recorded_scope_t *ctn_recorder_add_scope(ctn_exec_t *exec, uint64_t id)
{
    ctn_recorder_t *recorder = exec->recorder;
    ctn_recorded_scope_t *unknown =
        ctn_recorder_scopes(recorder, recorder->records);
    uint32_t i = 1;
    while (i < recorder->scopes && unknown[i].id != CTN_SCOPE_NONE) {
        i++;
    }
    if (id == CTN_SCOPE_UNKNOWN || i == most_scopes(exec)) {
        return unknown;
    }
    ctn_recorded_scope_t *entry = unknown + i;
    entry->size = 0;
    entry->calls = 0;
    __atomic_store_n(&entry->id, id, __ATOMIC_RELEASE);
    if (i == recorder->scopes) {
        __atomic_store_n(&recorder->scopes, i + 1, __ATOMIC_RELEASE);
    }
    return entry;
}

void ctn_recorder_op_ended(ctn_op_t *op)
{
    const ctn_recorder_t *recorder = op->exec->recorder;
    ctn_recorded_call_t *call =
        recorder != NULL ? ctn_recorder_call(recorder, op->recorded) : NULL;
    op->recorded = 0;
    if (call != NULL && call->state == CTN_RECORD_STARTED) {
        call->state = CTN_RECORD_OVER;
    }
}

const ctn_op_t *ctn_recorder_oldest(const ctn_exec_t *exec)
{
    const ctn_op_t *op = exec->active;
    while (op != NULL && op->next != NULL) {
        op = op->next;
    }
    return op;
}

void ctn_recorder_waits(ctn_exec_t *exec, uint64_t since_ns, uint64_t now)
{
    enum { EVERY_NS = 50000000 };
    ctn_recorder_t *recorder = exec->recorder;
    if (recorder == NULL || (recorder->since_ns == since_ns &&
                             now - recorder->seen_ns < EVERY_NS)) {
        return;
    }
    const ctn_op_t *op = ctn_recorder_oldest(exec);
    recorder->waits[0] = '\0';
    if (op != NULL) {
        ctn_op_describe(op, recorder->waits, sizeof(recorder->waits));
    }
    recorder->since_ns = since_ns;
    recorder->waited_in = recorder->calls;
    __atomic_store_n(&recorder->seen_ns, now, __ATOMIC_RELEASE);
}

/** Tell all ranks that this one has an endpoint to: a path of endpoints leads
 * from each rank to each other one. Not in finalize: ranks that have left it
 * get no messages. */
static void tell_others(ctn_exec_t *exec, uint64_t word)
{
    const ctn_recorder_t *recorder = exec->recorder;
    const ctn_recorded_call_t *last =
        ctn_recorder_records(recorder) +
        ((recorder->calls - 1) & (recorder->records - 1));
    if (exec->flags == NULL || exec->status != CATENA_OK ||
        last->code == CTN_CODE_FINALIZE) {
        return;
    }
    for (size_t i = 0; i < exec->endpoints.slots; i++) {
        ctn_endpoint_t *endpoint = exec->endpoints.entry[i].value;
        if (endpoint != NULL) {
            (void)ctn_signal(
                endpoint, exec->flags_offset + offsetof(ctn_exec_flags_t, hang),
                word);
        }
    }
    ctn_exec_wake(exec);
}

static void print_node(const ctn_exec_t *exec)
{
    size_t bytes;
    const void *segment = ctn_heap_segment(exec->heap, &bytes);
    ctn_recorder_log(exec->log, segment, bytes, 1);
}

/** Whether a report of the call that this rank is in is new to it. A wait
 * begins anew with every message, also with one that tells of a hang, so its
 * time does not say that. */
static bool is_first_of_call(ctn_exec_t *exec)
{
    uint64_t call = exec->recorder->calls + 1;
    bool first = exec->hang_call != call;
    exec->hang_call = call;
    return first;
}

/** Claim the report of this node, unless the node has had one since `since`. */
static bool claim(const ctn_exec_t *exec, uint64_t now, uint64_t since)
{
    ctn_hang_told_t *told = ctn_segment_told(exec->heap);
    uint64_t last = __atomic_load_n(&told->at_ns, __ATOMIC_RELAXED);
    return (last == 0 || (int64_t)(last - since) < 0) &&
           __atomic_compare_exchange_n(&told->at_ns, &last, now, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void ctn_recorder_report(ctn_exec_t *exec, uint64_t now, uint64_t began)
{
    if (exec->recorder == NULL || !is_first_of_call(exec) ||
        !claim(exec, now, began)) {
        return;
    }
    ctn_hang_told_t *told = ctn_segment_told(exec->heap);
    uint32_t number =
        (uint32_t)__atomic_load_n(&told->number, __ATOMIC_RELAXED);
    number = (int32_t)(number - exec->hangs) > 0 ? number : exec->hangs;
    exec->hangs = number + 1;
    __atomic_store_n(&told->number, exec->hangs, __ATOMIC_RELAXED);
    ctn_warn(exec->log,
             "rank %u has waited for %g s (CATENA_HANG_REPORT); the ranks of "
             "its node:",
             exec->recorder->rank, (double)exec->hang_ns * 1e-9);
    print_node(exec);
    tell_others(exec, (uint64_t)exec->hangs << 32 | exec->recorder->rank);
}

void ctn_recorder_hear(ctn_exec_t *exec, uint64_t now, uint64_t word)
{
    enum { RECENT_NS = 1000000000 };
    exec->hangs = (uint32_t)(word >> 32);
    if (exec->recorder == NULL) {
        return;
    }
    (void)is_first_of_call(exec);
    ctn_hang_told_t *told = ctn_segment_told(exec->heap);
    uint64_t last = __atomic_load_n(&told->number, __ATOMIC_RELAXED);
    /* A rank of this node that reports now has no number yet. */
    bool first = (int32_t)(exec->hangs - (uint32_t)last) > 0 &&
                 claim(exec, now, now - RECENT_NS);
    if (first) {
        __atomic_store_n(&told->number, exec->hangs, __ATOMIC_RELAXED);
    }
    tell_others(exec, word);
    if (first) {
        ctn_log_t each = *exec->log; /* each node has its report */
        each.each = true;
        ctn_warn(&each,
                 "rank %u of another node has waited for long; the ranks of "
                 "this node:",
                 (uint32_t)word);
        print_node(exec);
    }
}
