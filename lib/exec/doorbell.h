#ifndef CTN_EXEC_DOORBELL_H
#define CTN_EXEC_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/log.h"
#include "heap/heap.h"

/* Doorbells wake sleeping ranks of the same node. Storing a word for a rank of
 * the node wakes no process. A rank that is about to sleep therefore arms
 * its doorbell: it marks itself asleep in the header of the shared heap. Then
 * it polls everything once more, and sleeps on a socket. A rank that has stored
 * words checks whether any rank sleeps, and sends a datagram to each that does:
 * it rings their doorbells. While no rank sleeps, this check is the load of a
 * variable that no rank writes.
 *
 * A rank may load this variable before its store is visible to the sleeping
 * rank, and then it does not wake that rank. Ordering load and store would cost
 * a fence for every store. Instead no sleep is longer than the wait so far or
 * 50 us, which bounds the cost of a lost wakeup. */

/** The doorbell of this rank, and what it needs to ring the others. */
typedef struct ctn_doorbell {
    ctn_doorbells_t *node; /* which ranks sleep; NULL: no other rank to wake */
    uint64_t id;           /* of the node's heap */
    uint32_t rank;         /* this rank among those of the node */
    uint32_t ranks;        /* of the node */
    int fd;     /* readable after a ring, and used to ring others; or -1 */
    bool named; /* the socket has its name, so other ranks can ring it */
} ctn_doorbell_t;

/** Open the doorbell. If there is no socket, or its name cannot be set, the
 * doorbell does nothing. That is no error: see ctn_doorbell_reliable. */
void ctn_doorbell_open(ctn_doorbell_t *doorbell, const ctn_log_t *log,
                       ctn_heap_t *heap, uint32_t rank, uint32_t ranks);
void ctn_doorbell_close(ctn_doorbell_t *doorbell);

/** Arm the doorbell: discard earlier rings, and let other ranks ring once. The
 * caller polls everything once more before it sleeps. */
void ctn_doorbell_arm(ctn_doorbell_t *doorbell);

/** Wake all ranks of the node whose doorbells are armed. */
void ctn_doorbell_ring(ctn_doorbell_t *doorbell);

/** Whether a rank of the node has armed its doorbell since the last ring. */
static inline bool ctn_doorbell_needed(const ctn_doorbell_t *doorbell)
{
    return doorbell->node != NULL &&
           __atomic_load_n(&doorbell->node->anyone, __ATOMIC_RELAXED) != 0;
}

/** Whether every rank of the node can wake this rank. */
static inline bool ctn_doorbell_reliable(const ctn_doorbell_t *doorbell)
{
    return doorbell->node == NULL || doorbell->named;
}

#endif
