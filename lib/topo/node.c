/* The memory of the node leader that all members of the node read and write:
 * the leader's table of the node (local), then the node area. */

#include "topo/topo.h"

#include <stdlib.h>

/** The offsets of the parts of this memory, in the order | local | arrived |
 * released | fenced | descriptor | departed | cpu | published | gathered |
 * published_record |. For the parts see ctn_node_area_t. */
typedef struct topo_layout {
    size_t arrived, released, fenced, descriptor, departed, cpu, published,
        published_record, gathered;
    size_t bytes;          /* of all parts */
    size_t stride;         /* see ctn_node_area_t */
    size_t arrived_stride; /* likewise */
} topo_layout_t;

/** Lay out the memory. On oversubscribed hosts each poll follows a context
 * switch, so few cache lines are best: the words of all members are contiguous.
 * Otherwise every writer has lines of its own (two, because the prefetcher
 * fetches pairs). An exception is a node of two members, whose words share one
 * line: a member that fetches the line to write its word gets the other's word
 * with it, so a barrier takes 0.07 us instead of 0.18 us. There and on
 * oversubscribed hosts successive barriers use different lines, because the
 * other member may still poll the line of the previous one (0.19 us instead of
 * 0.23 us). */
static topo_layout_t lay_out(size_t members, bool oversubscribed)
{
    topo_layout_t at;
    at.stride = oversubscribed || members == 2 ? 1 : 16;
    size_t words = ctn_line_up(members * at.stride * sizeof(uint64_t));
    at.arrived = ctn_line_up(members * sizeof(ctn_local_member_t));
    /* The words of the generations are on different lines if members share
     * lines. A member with lines of its own has the words of all generations
     * there. */
    at.arrived_stride =
        at.stride == 1 ? words / sizeof(uint64_t) : at.stride / CTN_GENERATIONS;
    at.released =
        at.arrived + (at.stride == 1 ? CTN_GENERATIONS * words : words);
    at.fenced = at.released + 128;
    at.descriptor = at.fenced + words;
    at.departed = at.descriptor + ctn_line_up(CTN_GENERATIONS * members *
                                              sizeof(ctn_buffer_descriptor_t));
    at.cpu = at.departed + CTN_GENERATIONS * words;
    at.published = at.cpu + ctn_line_up(members * sizeof(uint32_t));
    at.gathered = at.published + words;
    at.published_record =
        at.gathered + ctn_line_up(2 * sizeof(ctn_gathered_records_t));
    at.bytes =
        at.published_record + 2 * members * sizeof(ctn_published_record_t);
    return at;
}

size_t ctn_node_area_bytes(uint32_t members, bool oversubscribed)
{
    return lay_out(members, oversubscribed).bytes;
}

void ctn_node_area_map(ctn_topo_t *topo, unsigned char *memory,
                       bool oversubscribed)
{
    topo_layout_t at = lay_out(ctn_topo_local_size(topo), oversubscribed);
    topo->local = (const void *)memory;
    topo->node_area = (ctn_node_area_t){
        .arrived = (void *)(memory + at.arrived),
        .stride = at.stride,
        .arrived_stride = at.arrived_stride,
        .released = (void *)(memory + at.released),
        .fenced = (void *)(memory + at.fenced),
        .descriptor = (void *)(memory + at.descriptor),
        .departed = (void *)(memory + at.departed),
        .cpu = (void *)(memory + at.cpu),
        .published = (void *)(memory + at.published),
        .gathered = (void *)(memory + at.gathered),
        .published_record = (void *)(memory + at.published_record),
    };
}

catena_status_t ctn_topo_connect(ctn_topo_t *topo)
{
    uint32_t n = ctn_topo_local_size(topo);
    topo->peer = calloc(n, sizeof(ctn_endpoint_t *));
    if (topo->peer == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t process = ctn_topo_local(topo, i)->address.process;
        catena_status_t status =
            ctn_exec_connect(topo->group->exec, process, &topo->peer[i]);
        if (status != CATENA_OK) {
            return status;
        }
    }
    return CATENA_OK;
}
