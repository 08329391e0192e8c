/* Handshakes: words between ranks that have no chain in common. */

#include "exec/handshake.h"

void ctn_handshake_open(ctn_exec_t *exec, uint64_t *words)
{
    exec->handshakes = words;
    (void)ctn_heap_contains(exec->heap, words, 1, &exec->handshakes_offset);
}

catena_status_t ctn_handshake_send(ctn_exec_t *exec, uint64_t process,
                                   uint64_t word)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(exec, process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t own = exec->locality->process;
    exec->tally.messages++;
    return ctn_signal(endpoint, exec->handshakes_offset + own * sizeof(word),
                      word);
}

uint64_t ctn_handshake_take(const ctn_exec_t *exec, uint64_t process)
{
    uint64_t *at = &exec->handshakes[process];
    uint64_t word = ctn_word_load(at);
    if (word != 0) {
        ctn_word_store(at, 0);
    }
    return word;
}
