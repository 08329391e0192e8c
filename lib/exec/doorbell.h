#ifndef CTN_EXEC_DOORBELL_H
#define CTN_EXEC_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/log.h"
#include "heap/heap.h"

/* Waking ranks of the same node. Words on the node are plain stores, which wake
 * nobody. So a rank that is about to sleep says so in the header of the shared
 * heap, looks at everything once more, and sleeps on a socket; who has stored
 * words looks whether anyone sleeps, and sends those who do a datagram. While
 * nobody sleeps that is the load of a word that nobody writes.
 *
 * The look may come before the store can be seen, and then the sleeper is not
 * woken: neither side orders the two, since that would cost every store a fence
 * for the sake of those who wait long. So sleep is in naps no longer than what
 * has been waited already, and that is the most a lost ring can cost. */

typedef struct ctn_doorbell {
    ctn_doorbells_t *node; /* who sleeps; NULL: nobody to wake or be woken by */
    uint64_t id;           /* of the node's heap */
    uint32_t rank;         /* on the node */
    uint32_t ranks;
    int fd;     /* readable when it was rung, and what rings others; or -1 */
    bool named; /* others can ring it */
} ctn_doorbell_t;

/** Without a socket, or a name for it, the bell stays silent, which is no
 * error: ctn_doorbell_reliable tells. */
void ctn_doorbell_open(ctn_doorbell_t *doorbell, const ctn_log_t *log,
                       ctn_heap_t *heap, uint32_t rank, uint32_t ranks);
void ctn_doorbell_close(ctn_doorbell_t *doorbell);

/** Forget what was rung so far, and be rung from now on, once. To be followed
 * by a look at everything before the sleep. */
void ctn_doorbell_arm(ctn_doorbell_t *doorbell);

/** Wake all who listen. */
void ctn_doorbell_ring(ctn_doorbell_t *doorbell);

/** Whether someone listens, or did not long ago. */
static inline bool ctn_doorbell_needed(const ctn_doorbell_t *doorbell)
{
    return doorbell->node != NULL &&
           __atomic_load_n(&doorbell->node->anyone, __ATOMIC_RELAXED) != 0;
}

/** Whether this rank can be woken by all who may wake it. */
static inline bool ctn_doorbell_reliable(const ctn_doorbell_t *doorbell)
{
    return doorbell->node == NULL || doorbell->named;
}

#endif
