#include "exec/recorder.h"

#include <stdlib.h>
#include <unistd.h>

#include "exec/exec.h"

void ctn_recorder_open(ctn_exec_t *exec)
{
    uint32_t scopes = exec->virtual_time ? CTN_RECORDED_SCOPES_SIMULATED
                                         : CTN_RECORDED_SCOPES;
    uint32_t records = exec->virtual_time ? CTN_RECORDS_SIMULATED : CTN_RECORDS;
    ctn_recorder_t *recorder =
        ctn_heap_calloc(exec->heap, 64, ctn_recorder_bytes(scopes, records));
    if (recorder == NULL) {
        return;
    }
    recorder->records = records;
    recorder->scopes = scopes;
    recorder->rank = exec->locality->process;
    recorder->pid = (uint64_t)getpid();
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
    ctn_recorded_scope_t *entry =
        ctn_recorder_scopes(recorder, recorder->records);
    uint32_t last = recorder->scopes - 1;
    uint32_t i = id == CTN_SCOPE_UNKNOWN ? last : 0;
    while (i < last && entry[i].id != CTN_SCOPE_NONE) {
        i++;
    }
    entry += i;
    if (i == last) {
        id = CTN_SCOPE_UNKNOWN;
    } else {
        entry->calls = 0;
    }
    entry->size = 0;
    __atomic_store_n(&entry->id, id, __ATOMIC_RELEASE);
    return entry;
}

/** The operation that a wait most likely is for: the oldest active one. */
static const ctn_op_t *oldest(const ctn_exec_t *exec)
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
    const ctn_op_t *op = oldest(exec);
    recorder->waits[0] = '\0';
    if (op != NULL) {
        ctn_op_describe(op, recorder->waits, sizeof(recorder->waits));
    }
    recorder->since_ns = since_ns;
    recorder->waited_in = recorder->calls;
    __atomic_store_n(&recorder->seen_ns, now, __ATOMIC_RELEASE);
}

void ctn_recorder_report(ctn_exec_t *exec, uint64_t now)
{
    char *text = NULL;
    size_t bytes = 0;
    if (exec->recorder == NULL) {
        return;
    }
    uint64_t *last = ctn_segment_told(exec->heap);
    uint64_t told = __atomic_load_n(last, __ATOMIC_RELAXED);
    if ((told != 0 && now - told < exec->hang_ns) ||
        !__atomic_compare_exchange_n(last, &told, now, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return;
    }
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL) {
        return;
    }
    size_t mapped;
    const void *segment = ctn_heap_segment(exec->heap, &mapped);
    ctn_recorder_print(stream, segment, mapped);
    if (fclose(stream) == 0) { /* a line at a time: the log cuts long texts */
        ctn_warn(exec->log,
                 "rank %u has waited for %g s (CATENA_HANG_REPORT); the ranks "
                 "of its node:",
                 exec->recorder->rank, (double)exec->hang_ns * 1e-9);
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            ctn_warn(exec->log, "%s", line);
        }
    }
    free(text);
}
