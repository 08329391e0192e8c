#ifndef CTN_EXEC_HANDSHAKE_H
#define CTN_EXEC_HANDSHAKE_H

#include "exec/exec.h"

/* Handshakes: one word from any rank to any other one, for ranks that have no
 * chain in common yet. Each rank has an array with a word for each rank of the
 * job, which that rank writes. The array lies at the same offset in all arenas.
 * It takes 8 bytes of addresses for each rank of the job; its pages are touched
 * only when one of their words is used.
 *
 * A sender must not write its word at a peer again before the peer has taken
 * it. split/call/listed.c proves that its senders do not. */

/** @param words one for each rank of the job, zero, at the same offset in all
 * arenas */
void ctn_handshake_open(ctn_exec_t *exec, uint64_t *words);

/** Send `word`, not 0, to a process. */
catena_status_t ctn_handshake_send(ctn_exec_t *exec, uint64_t process,
                                   uint64_t word);

/** Take the word that a process has sent: read it, and zero it if it has
 * arrived. @return the word; 0: it has not arrived */
uint64_t ctn_handshake_take(const ctn_exec_t *exec, uint64_t process);

#endif
