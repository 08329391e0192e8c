#include "transports/sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/vector.h"

enum {
    CHILDREN = 4,         /* of a node of the heap */
    FIRST_CAPACITY = 1024 /* entries allocated first */
};

static inline bool before(const ctn_queue_entry_t *a,
                          const ctn_queue_entry_t *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static bool grow(ctn_queue_t *queue)
{
    ctn_queue_entry_t *grown = ctn_vector_grow(
        queue->entry, &queue->capacity, FIRST_CAPACITY, sizeof(*queue->entry));
    if (grown == NULL) {
        return false;
    }
    queue->entry = grown;
    return true;
}

static bool heap_push(ctn_queue_t *queue, ctn_queue_entry_t entry)
{
    if (queue->count == queue->capacity && !grow(queue)) {
        return false;
    }
    size_t i = queue->count++;
    while (i > 0) {
        size_t parent = (i - 1) / CHILDREN;
        if (!before(&entry, &queue->entry[parent])) {
            break;
        }
        queue->entry[i] = queue->entry[parent];
        i = parent;
    }
    queue->entry[i] = entry;
    return true;
}

static size_t earliest_child(const ctn_queue_t *queue, size_t i)
{
    size_t child = i * CHILDREN + 1;
    size_t end =
        child + CHILDREN < queue->count ? child + CHILDREN : queue->count;
    size_t best = child;
    for (size_t c = child + 1; c < end; c++) {
        if (before(&queue->entry[c], &queue->entry[best])) {
            best = c;
        }
    }
    return best;
}

static ctn_queue_entry_t heap_pop(ctn_queue_t *queue)
{
    ctn_queue_entry_t first = queue->entry[0];
    ctn_queue_entry_t moved = queue->entry[--queue->count];
    size_t i = 0;
    while (i * CHILDREN + 1 < queue->count) {
        size_t child = earliest_child(queue, i);
        if (!before(&queue->entry[child], &moved)) {
            break;
        }
        queue->entry[i] = queue->entry[child];
        i = child;
    }
    queue->entry[i] = moved;
    return first;
}

/** Move the entries of the front to the start of its array, and fill it up from
 * the heap. */
static void refill(ctn_queue_t *queue)
{
    unsigned kept = queue->end - queue->begin;
    memmove(queue->front, queue->front + queue->begin,
            kept * sizeof(queue->front[0]));
    queue->begin = 0;
    queue->end = kept;
    while (queue->end < CTN_QUEUE_FRONT && queue->count > 0) {
        queue->front[queue->end++] = heap_pop(queue);
    }
}

bool ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                    void *event)
{
    ctn_queue_entry_t entry = {time, order, event};
    if (queue->begin == queue->end ||
        !before(&entry, &queue->front[queue->end - 1])) {
        return heap_push(queue, entry);
    }
    if (queue->end == 2 * CTN_QUEUE_FRONT) {
        /* Full: the last entry goes back to the heap. */
        if (!heap_push(queue, queue->front[queue->end - 1])) {
            return false;
        }
        queue->end--;
    }
    unsigned i = queue->end++;
    for (; i > queue->begin && before(&entry, &queue->front[i - 1]); i--) {
        queue->front[i] = queue->front[i - 1];
    }
    queue->front[i] = entry;
    return true;
}

ctn_queue_entry_t ctn_queue_pop(ctn_queue_t *queue)
{
    if (queue->end - queue->begin < CTN_QUEUE_FRONT / 2) {
        refill(queue);
    }
    return queue->front[queue->begin++];
}

void ctn_queue_release(ctn_queue_t *queue)
{
    free(queue->entry);
    *queue = (ctn_queue_t){0};
}
