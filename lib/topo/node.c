/* The memory of the node leader that all members of the node read and write:
 * the node area of the user sequence, and the words and records of splits and
 * node fences. */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

/** Take the next `bytes` of the memory for entries. */
static ctn_node_entries_t take(unsigned char *memory, size_t *at, size_t bytes,
                               size_t stride, size_t generation)
{
    ctn_node_entries_t entries = {(void *)((uintptr_t)memory + *at), stride,
                                  generation};
    *at += ctn_line_up(bytes);
    return entries;
}

/* On oversubscribed hosts each poll follows a context switch, so few cache
 * lines are best: the flags of all members are contiguous. Lines are not paired
 * there, so the words of a module of 4 members are 2 pages instead of 3, which
 * its first operation has to touch. Otherwise every
 * writer has lines of its own (two, because the prefetcher fetches pairs), with
 * its flags of all generations. An exception is an area of two members, whose
 * flags share one line: a member that fetches the line to write its flag gets
 * the other's flag with it, so a barrier takes 0.07 us instead of 0.18 us.
 * Where members share lines, successive barriers use different ones, because
 * the other member may still poll the line of the previous one (0.19 us instead
 * of 0.23 us). */
ctn_node_entries_t ctn_node_flags(unsigned char *memory, size_t *at,
                                  uint32_t members, uint32_t generations,
                                  bool oversubscribed)
{
    enum { OWN = 128 };
    size_t shared = oversubscribed ? (members * sizeof(uint64_t) + 63) / 64 * 64
                                   : ctn_line_up(members * sizeof(uint64_t));
    bool share = oversubscribed || members == 2;
    size_t stride = share ? sizeof(uint64_t) : OWN;
    size_t bytes = share ? generations * shared : (size_t)members * OWN;
    size_t generation = share ? shared : OWN / generations;
    return take(memory, at, bytes, stride, generations > 1 ? generation : 0);
}

/** Set the layout of entries with lines of their own. */
static ctn_node_entries_t take_lines(const ctn_node_area_t *area,
                                     unsigned char *memory, size_t *at,
                                     size_t stride)
{
    size_t generation = area->members * stride;
    return take(memory, at, area->generations * generation, stride, generation);
}

size_t ctn_node_area_map(ctn_node_area_t *area, unsigned char *memory,
                         size_t *words)
{
    size_t at = 0;
    ctn_node_entries_t *flags[] = {&area->arrived, &area->departed};
    for (unsigned i = 0; i < 2; i++) {
        *flags[i] = ctn_node_flags(memory, &at, area->members,
                                   area->generations, area->oversubscribed);
    }
    area->cpus =
        (void *)take(memory, &at, area->members * sizeof(uint32_t), 0, 0).first;
    area->descriptor = take_lines(area, memory, &at, area->descriptor_bytes);
    if (words != NULL) {
        *words = at;
    }
    area->row = take_lines(area, memory, &at, area->row_bytes);
    return at;
}

/** Set the layout in `memory`. @return its bytes */
static size_t lay_out(ctn_topo_t *topo, unsigned char *memory)
{
    uint32_t n = ctn_topo_local_size(topo);
    bool oversubscribed = topo->oversubscribed;
    topo->node_area =
        (ctn_node_area_t){.members = n,
                          .generations = CTN_GENERATIONS,
                          .oversubscribed = oversubscribed,
                          .descriptor_bytes = sizeof(ctn_buffer_descriptor_t),
                          .me = ctn_topo_local_rank(topo)};
    size_t at = ctn_node_area_map(&topo->node_area, memory, NULL);
    topo->fence_flags = ctn_node_flags(memory, &at, n, 1, oversubscribed);
    topo->publish_flags = ctn_node_flags(memory, &at, n, 1, oversubscribed);
    topo->gathered =
        (void *)take(memory, &at, 2 * sizeof(ctn_gathered_records_t), 0, 0)
            .first;
    topo->published_record =
        (void *)take(memory, &at, 2 * n * sizeof(ctn_published_record_t), 0, 0)
            .first;
    return at;
}

bool ctn_topo_take_shared(ctn_topo_t *topo)
{
    ctn_heap_t *heap = topo->group->exec->heap;
    size_t bytes = lay_out(topo, NULL);
    if (ctn_topo_local_size(topo) > CTN_NODE_AREA_MEMBERS) {
        topo->shared = ctn_heap_calloc(heap, 128, bytes);
    } else {
        void *shared = ctn_group_block(topo->group)->shared;
        topo->shared = ctn_heap_take(heap, shared, bytes) ? shared : NULL;
    }
    return topo->shared != NULL;
}

void ctn_topo_release_shared(ctn_exec_t *exec, ctn_topo_t *topo)
{
    if (ctn_topo_local_size(topo) > CTN_NODE_AREA_MEMBERS) {
        ctn_exec_free(exec, topo->shared);
    } else if (topo->shared != NULL && ctn_exec_may_free(exec)) {
        memset(topo->shared, 0, lay_out(topo, NULL));
    }
}

catena_status_t ctn_topo_connect(ctn_topo_t *topo, uint64_t offset)
{
    const ctn_exec_t *exec = topo->group->exec;
    uint32_t n = ctn_topo_local_size(topo);
    topo->peer = malloc(n * sizeof(ctn_endpoint_t *));
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
    unsigned char *memory = ctn_pointer(topo->peer[0], offset);
    if (memory == NULL) {
        ctn_error(
            exec->log,
            "ranks %llu and %llu have the same node name '%s' but no common "
            "heap; the launcher contradicts itself",
            (unsigned long long)ctn_topo_local(topo, 0)->address.process,
            (unsigned long long)exec->locality->process, exec->locality->node);
        return CATENA_ERR_LAUNCHER;
    }
    (void)lay_out(topo, memory);
    return CATENA_OK;
}
