#ifndef CTN_SIM_QUEUE_H
#define CTN_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What will happen, earliest first; of the same time, by order number. A heap
 * with four children a node (half the levels of a binary one, and a node's
 * children lie together), and before it the next few in order, so that what
 * they will touch can be fetched ahead of time. */

#define CTN_QUEUE_FRONT 32u

typedef struct ctn_queue_entry {
    uint64_t time;
    uint64_t order;
    void *event;
} ctn_queue_entry_t;

typedef struct ctn_queue {
    ctn_queue_entry_t *entry;
    size_t count; /* in the heap */
    size_t capacity;
    /* The earliest of all: front[begin] .. front[end - 1]. */
    ctn_queue_entry_t front[2 * CTN_QUEUE_FRONT];
    unsigned begin;
    unsigned end;
} ctn_queue_t;

static inline bool ctn_queue_empty(const ctn_queue_t *queue)
{
    return queue->begin == queue->end && queue->count == 0;
}

/** The event that comes i-th after the next; NULL: not known yet. */
static inline void *ctn_queue_ahead(const ctn_queue_t *queue, unsigned i)
{
    unsigned at = queue->begin + i;
    return at < queue->end ? queue->front[at].event : NULL;
}

/** @return false: no memory, nothing has changed */
bool ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                    void *event);
/** Take the earliest; the queue must not be empty. */
ctn_queue_entry_t ctn_queue_pop(ctn_queue_t *queue);
void ctn_queue_release(ctn_queue_t *queue);

#endif
