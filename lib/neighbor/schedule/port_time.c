/* NBR-7. Times of ports, for the estimate of colored schedules. At once: the
 * next message is always the one that has waited longest. Time O(edges x
 * log(ranks)), memory O(ranks). */

#include "neighbor/schedule/port_time.h"

#include <stdlib.h>

/** A sender: when its port is free, and the messages that it has yet to send.
 */
typedef struct sender {
    uint64_t time;
    size_t next, end;
} sender_t;

static bool is_before(const sender_t *a, const sender_t *b)
{
    return a->time != b->time ? a->time < b->time : a->next < b->next;
}

/** Restores the heap after its first sender has changed. */
static void sink(sender_t *heap, size_t count)
{
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_before(&heap[child], &heap[at])) {
            return;
        }
        sender_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}

static uint64_t length_of(const ctn_bipartite_edge_t *edge, bool weighed)
{
    return weighed ? edge->weight : 1;
}

catena_status_t ctn_port_time_at_once(size_t ranks,
                                      const ctn_bipartite_edge_t edge[],
                                      size_t count, bool weighed,
                                      uint64_t *time)
{
    /* all free at time 0: the order of the list is a heap */
    sender_t *heap = malloc((ranks + 1) * sizeof(*heap));
    uint64_t *taken = calloc(ranks + 1, sizeof(*taken));
    size_t senders = 0;
    *time = 0;
    if (heap == NULL || taken == NULL) {
        free(heap);
        free(taken);
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || edge[i].from != edge[i - 1].from) {
            heap[senders++] = (sender_t){.next = i};
        }
        heap[senders - 1].end = i + 1;
    }
    while (senders > 0) {
        const ctn_bipartite_edge_t *message = &edge[heap->next++];
        uint64_t *port = &taken[message->to];
        uint64_t start = heap->time > *port ? heap->time : *port;
        heap->time = *port = start + length_of(message, weighed);
        *time = *port > *time ? *port : *time;
        if (heap->next == heap->end) {
            *heap = heap[--senders];
        }
        sink(heap, senders);
    }
    free(heap);
    free(taken);
    return CATENA_OK;
}

catena_status_t ctn_port_time_rounds(const ctn_bipartite_edge_t edge[],
                                     size_t count, uint32_t colors,
                                     bool weighed, uint64_t *time)
{
    uint64_t *longest = calloc(colors + 1u, sizeof(*longest));
    *time = 0;
    if (longest == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t length = length_of(&edge[i], weighed);
        uint64_t *round = &longest[edge[i].color];
        *round = length > *round ? length : *round;
    }
    for (uint32_t i = 0; i < colors; i++) {
        *time += longest[i];
    }
    free(longest);
    return CATENA_OK;
}
