#ifndef CTN_SIM_QUEUE_H
#define CTN_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The event queue, ordered by time and then by order number. It is a heap with
 * four children per node (half the levels of a binary heap, and siblings are
 * adjacent). The next few events are not in the heap but in order in front of
 * it, so that their data can be prefetched. */

/** The front is filled up to so many events. */
#define CTN_QUEUE_FRONT 32u

typedef struct ctn_queue_entry {
    uint64_t time;
    uint64_t order;
    void *event;
} ctn_queue_entry_t;

typedef struct ctn_queue {
    ctn_queue_entry_t *entry; /* the heap */
    size_t count;             /* of entries in the heap */
    size_t capacity;          /* of the heap, in entries */
    /* The earliest events, in order: front[begin] .. front[end - 1]. */
    ctn_queue_entry_t front[2 * CTN_QUEUE_FRONT];
    unsigned begin;
    unsigned end;
} ctn_queue_t;

static inline bool ctn_queue_empty(const ctn_queue_t *queue)
{
    return queue->begin == queue->end && queue->count == 0;
}

/** The i-th event after the next one; NULL: it is not in the front. */
static inline void *ctn_queue_ahead(const ctn_queue_t *queue, unsigned i)
{
    unsigned at = queue->begin + i;
    return at < queue->end ? queue->front[at].event : NULL;
}

/** @return false: no memory, unchanged */
bool ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                    void *event);
/** Remove the earliest event; the queue must not be empty. */
ctn_queue_entry_t ctn_queue_pop(ctn_queue_t *queue);
void ctn_queue_release(ctn_queue_t *queue);

#endif
