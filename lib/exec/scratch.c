/* Memory of operations in the shared heap. */

#include "exec/exec.h"

void ctn_exec_free(ctn_exec_t *exec, void *memory)
{
    if (ctn_exec_may_free(exec)) {
        ctn_heap_free(exec->heap, memory);
    }
}

void *ctn_scratch_alloc(ctn_exec_t *exec, size_t bytes)
{
    void *memory = ctn_heap_alloc(exec->heap, 64, bytes > 0 ? bytes : 1);
    ctn_tally_t *tally = &exec->tally;
    if (memory != NULL) {
        tally->memory += bytes;
        if (tally->memory > tally->most_memory) {
            tally->most_memory = tally->memory;
        }
    }
    return memory;
}

void ctn_scratch_free(ctn_exec_t *exec, void *memory, size_t bytes)
{
    if (memory != NULL) {
        exec->tally.memory -= bytes;
        ctn_exec_free(exec, memory);
    }
}
