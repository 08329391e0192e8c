#include "transports/sim/queue.h"

enum { CHILDREN = 4 }; /* of a node of the heap */

static inline bool before(const ctn_queue_entry_t *a,
                          const ctn_queue_entry_t *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

bool ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                    void *event)
{
    ctn_queue_entry_t entry = {time, order, event};
    if (!ctn_vector_reserve(queue, 1, sizeof(entry))) {
        return false;
    }
    ctn_queue_entry_t *heap = queue->item;
    size_t i = queue->count++;
    while (i > 0) {
        size_t parent = (i - 1) / CHILDREN;
        if (!before(&entry, &heap[parent])) {
            break;
        }
        heap[i] = heap[parent];
        i = parent;
    }
    heap[i] = entry;
    return true;
}

/** The earliest child of node i of `count`, which has children. */
static size_t earliest_child(const ctn_queue_entry_t *heap, size_t count,
                             size_t i)
{
    size_t best = i * CHILDREN + 1;
    size_t end = best + CHILDREN < count ? best + CHILDREN : count;
    for (size_t child = best + 1; child < end; child++) {
        best = before(&heap[child], &heap[best]) ? child : best;
    }
    return best;
}

ctn_queue_entry_t ctn_queue_pop(ctn_queue_t *queue)
{
    ctn_queue_entry_t *heap = queue->item;
    ctn_queue_entry_t first = heap[0];
    ctn_queue_entry_t moved = heap[--queue->count];
    size_t i = 0;
    while (i * CHILDREN + 1 < queue->count) {
        size_t child = earliest_child(heap, queue->count, i);
        if (!before(&heap[child], &moved)) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
    return first;
}

ctn_queue_entry_t ctn_queue_take(ctn_queue_t *queue, size_t index)
{
    ctn_queue_entry_t *heap = queue->item;
    ctn_queue_entry_t taken = heap[index];
    while (index > 0) { /* to the front, from where it is popped */
        size_t parent = (index - 1) / CHILDREN;
        heap[index] = heap[parent];
        index = parent;
    }
    heap[0] = taken;
    return ctn_queue_pop(queue);
}
