#ifndef CTN_EXEC_DOORBELL_H
#define CTN_EXEC_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/log.h"
#include "heap/heap.h"

/* Doorbells wake sleeping ranks of the same node. Flags on the node are plain
 * stores, which wake no process. A rank that is about to sleep marks itself
 * asleep in the header of the shared heap, polls everything once more, and
 * sleeps on a socket. A rank that has stored flags checks whether any rank
 * sleeps, and sends a datagram to each that does. While no rank sleeps this
 * check is the load of a word that no rank writes.
 *
 * The check may precede the visibility of the store, and then the sleeping rank
 * is not woken. Neither side orders the two, because that would cost a fence
 * for every store. So no sleep is longer than the wait so far, which bounds the
 * cost of a lost wakeup. */

typedef struct ctn_doorbell {
    ctn_doorbells_t *node; /* which ranks sleep; NULL: no other rank to wake */
    uint64_t id;           /* of the node's heap */
    uint32_t rank;         /* on the node */
    uint32_t ranks;
    int fd;     /* readable after a ring, and used to ring others; or -1 */
    bool named; /* other ranks can ring it */
} ctn_doorbell_t;

/** Without a socket or a name for it, the doorbell does nothing. That is no
 * error: see ctn_doorbell_reliable. */
void ctn_doorbell_open(ctn_doorbell_t *doorbell, const ctn_log_t *log,
                       ctn_heap_t *heap, uint32_t rank, uint32_t ranks);
void ctn_doorbell_close(ctn_doorbell_t *doorbell);

/** Discard earlier rings and let other ranks ring once. The caller polls
 * everything once more before it sleeps. */
void ctn_doorbell_arm(ctn_doorbell_t *doorbell);

/** Wake all armed ranks. */
void ctn_doorbell_ring(ctn_doorbell_t *doorbell);

/** Whether a rank is armed, or was not long ago. */
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
