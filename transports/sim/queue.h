#ifndef CTN_SIM_QUEUE_H
#define CTN_SIM_QUEUE_H

#include <stdint.h>

#include "core/vector.h"

/* The event queue, ordered by time and then by order number: a heap with four
 * children per node, which has half the levels of a binary heap, and siblings
 * are adjacent. */

typedef struct ctn_queue_entry {
    uint64_t time;
    uint64_t order;
    void *event;
} ctn_queue_entry_t;

/** The entries of the heap; released with ctn_vector_drop. */
typedef ctn_vector_t ctn_queue_t;

/** @return false: no memory, unchanged */
bool ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                    void *event);
/** Remove the earliest event; the queue must not be empty. */
ctn_queue_entry_t ctn_queue_pop(ctn_queue_t *queue);
/** Remove the event with this index in the heap. */
ctn_queue_entry_t ctn_queue_take(ctn_queue_t *queue, size_t index);

#endif
