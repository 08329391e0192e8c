#include "coll/alltoall/leaders/layout.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"

static const char layout_key; /* its address identifies the attachments */

/* ---- placement ---- */

/** Without domains: every `distance`-th member ([Peng], Algorithm 4). */
static uint32_t spread_evenly(uint32_t n, uint32_t count, uint32_t i)
{
    uint32_t distance = n / count > 0 ? n / count : 1;
    return i * distance;
}

static bool is_first_of_domain(const int32_t *domains, uint32_t member)
{
    for (uint32_t j = 0; j < member; j++) {
        if (domains[j] == domains[member]) {
            return false;
        }
    }
    return true;
}

/** The i-th member in this order: the first of each domain, then the second of
 * each, and so on. */
static uint32_t spread_over_domains(const int32_t *domains, uint32_t n,
                                    uint32_t i)
{
    for (uint32_t nth = 0;; nth++) {       /* of each domain */
        for (uint32_t d = 0; d < n; d++) { /* the first member of a domain */
            if (!is_first_of_domain(domains, d)) {
                continue;
            }
            uint32_t found = 0;
            for (uint32_t m = d; m < n; m++) {
                if (domains[m] == domains[d] && found++ == nth && i-- == 0) {
                    return m;
                }
            }
        }
    }
}

uint32_t ctn_leader_layout_member(const int32_t *domains, uint32_t n,
                                  uint32_t count, ctn_placement_t placement,
                                  uint32_t i)
{
    if (placement == CTN_PLACEMENT_FIRST) {
        return i;
    }
    return domains != NULL ? spread_over_domains(domains, n, i)
                           : spread_evenly(n, count, i);
}

/** NUMA domains of the node's members.
 * @param[out] domains [members]; NULL if some member is not bound to one
 * @return ERR_NO_MEMORY: other members, which have it, choose other leaders */
static catena_status_t find_domains(const ctn_topo_t *topo, int32_t **domains)
{
    uint32_t n = ctn_topo_local_size(topo);
    int32_t *found = calloc(n, sizeof(*found));
    *domains = NULL;
    if (found == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        found[i] = ctn_topo_local(topo, i)->numa;
        if (found[i] < 0) {
            free(found);
            return CATENA_OK;
        }
    }
    *domains = found;
    return CATENA_OK;
}

/** Choose the leaders of this node, and count the ports of this member. */
static catena_status_t place_leaders(ctn_leader_layout_t *layout)
{
    ctn_topo_t *topo = layout->topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t count = layout->leaders < n ? layout->leaders : n;
    int32_t *domains;
    if (find_domains(topo, &domains) != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    layout->ports = 0;
    for (uint32_t l = 0; l < layout->leaders; l++) {
        layout->leader_member[l] = ctn_leader_layout_member(
            domains, n, count, layout->placement, l % count);
        layout->ports += layout->leader_member[l] == ctn_topo_local_rank(topo);
    }
    free(domains);
    return CATENA_OK;
}

/** Allocate this member's ports, in one block. */
static catena_status_t open_ports(ctn_exec_t *exec, ctn_leader_layout_t *layout)
{
    size_t bytes = ctn_port_bytes(layout->topo->member_table.nodes);
    layout->port = calloc(layout->ports + 1, sizeof(ctn_port_t));
    layout->port_blocks =
        layout->ports > 0
            ? ctn_heap_calloc(exec->heap, 4096, layout->ports * bytes)
            : NULL;
    if (layout->port == NULL ||
        (layout->ports > 0 && layout->port_blocks == NULL)) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_port_t *port = layout->port;
    for (uint32_t l = 0; l < layout->leaders; l++) {
        if (layout->leader_member[l] == ctn_topo_local_rank(layout->topo)) {
            port->leader = l;
            port->block = (void *)(layout->port_blocks +
                                   (size_t)(port - layout->port) * bytes);
            port++;
        }
    }
    return CATENA_OK;
}

/* ---- building ---- */

/** State of the operation that builds a layout. */
typedef struct layout_build {
    ctn_build_t build;          /* of the layout */
    ctn_words_t sent, received; /* of the broadcast on the node */
    uint64_t *offsets; /* [members of the node]: of their blocks of ports */
} layout_build_t;

/** Offsets in the memory that the members of a node share (`shared`). The
 * addresses of all ports come first. */
typedef struct layout_offsets {
    size_t counter, copied;
    size_t bytes; /* of all */
} layout_offsets_t;

/** The offsets, and the length, of the memory of a layout. */
static layout_offsets_t offsets_of(const ctn_leader_layout_t *layout)
{
    const ctn_topo_t *topo = layout->topo;
    layout_offsets_t at;
    size_t n = ctn_topo_local_size(topo);
    size_t leaders = layout->leaders;
    size_t counters = CTN_GENERATIONS * leaders * 2;
    at.counter =
        ctn_line_up(topo->member_table.nodes * leaders * sizeof(ctn_address_t));
    at.copied = at.counter + ctn_line_up(counters * sizeof(ctn_counter_t));
    at.bytes = at.copied + counters * n * sizeof(uint64_t);
    return at;
}

/** Whether this member is the node leader, the root of the node. */
static bool is_root(const ctn_leader_layout_t *layout)
{
    return ctn_topo_local_rank(layout->topo) == 0;
}

/** Allocate the private memory of a layout. */
static catena_status_t allocate(ctn_leader_layout_t *layout)
{
    size_t n = ctn_topo_local_size(layout->topo);
    layout->leader_member =
        calloc(layout->leaders, sizeof(*layout->leader_member));
    layout->member = calloc(CTN_FLIGHT * n, sizeof(*layout->member));
    layout->served =
        calloc(CTN_FLIGHT * layout->leaders * 2, sizeof(*layout->served));
    return layout->leader_member != NULL && layout->member != NULL &&
                   layout->served != NULL
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

/** Open this member's ports. The members of the node gather where they lie. */
static ctn_step_t open_own_ports(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    ctn_topo_t *topo = layout->topo;
    op->clean = topo->group->chain.place.size == 1;
    build->offsets = calloc(ctn_topo_local_size(topo), sizeof(uint64_t));
    if (build->offsets == NULL || allocate(layout) != CATENA_OK ||
        place_leaders(layout) != CATENA_OK ||
        open_ports(op->exec, layout) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    uint64_t *own = &build->offsets[ctn_topo_local_rank(topo)];
    if (layout->ports > 0) {
        *own = ctn_heap_offset(op->exec->heap, layout->port_blocks);
    }
    return ctn_op_call(op,
                       ctn_chain_allgather_table(op->exec, &topo->node, own,
                                                 sizeof(*own), build->offsets));
}

/** The root: allocate the memory that the node shares, and gather the addresses
 * of the ports of all nodes, from their roots. */
static ctn_step_t exchange(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    ctn_topo_t *topo = layout->topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t hosts = layout->leaders < n ? layout->leaders : n;
    if (!is_root(layout)) {
        return CTN_STEP_NEXT;
    }
    layout->shared =
        ctn_heap_calloc(op->exec->heap, 128, offsets_of(layout).bytes);
    if (layout->shared == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    build->sent.word[0] = ctn_heap_offset(op->exec->heap, layout->shared);
    ctn_address_t *own = (ctn_address_t *)layout->shared +
                         (size_t)topo->node_index * layout->leaders;
    for (uint32_t l = 0; l < layout->leaders; l++) {
        uint32_t host = layout->leader_member[l];
        own[l].process = ctn_topo_local(topo, host)->address.process;
        own[l].offset =
            build->offsets[host] +
            l / hosts * (uint64_t)ctn_port_bytes(topo->member_table.nodes);
    }
    return ctn_op_call(op, ctn_chain_allgather_table(
                               op->exec, &topo->leaders, own,
                               layout->leaders * sizeof(*own), layout->shared));
}

/** The root broadcasts on the node where this memory is. */
static ctn_step_t publish(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    const ctn_leader_layout_t *layout = build->build.what;
    return ctn_op_call(op,
                       ctn_node_bcast_create(op->exec, layout->topo,
                                             &build->sent, &build->received));
}

static ctn_step_t finalize(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    unsigned char *memory =
        ctn_pointer(layout->topo->peer[0], build->received.word[0]);
    layout_offsets_t at = offsets_of(layout);
    layout->address = (const void *)memory;
    layout->counter = (void *)(memory + at.counter);
    layout->copied = (void *)(memory + at.copied);
    *build->build.built = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    free(build->offsets);
    ctn_build_finish(op);
}

static const ctn_phase_t phases[] = {{"open ports", open_own_ports},
                                     {"exchange", exchange},
                                     {"publish", publish},
                                     {"finalize", finalize},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "leader layout",
    .state_bytes = sizeof(layout_build_t),
    .phases = phases,
    .finish = finish,
};

/** Clear the words of this member's ports and, at the root, those of the node.
 */
static void clear(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    const ctn_leader_layout_t *layout = (const ctn_leader_layout_t *)attachment;
    const ctn_topo_t *topo = layout->topo;
    if (layout->state != CTN_BUILT) {
        return;
    }
    for (uint32_t i = 0; i < layout->ports; i++) {
        memset(layout->port[i].block, 0,
               ctn_port_cts_at(topo->member_table.nodes, CTN_GENERATIONS, 0));
    }
    if (layout->shared != NULL) {
        layout_offsets_t at = offsets_of(layout);
        memset(layout->counter, 0, at.bytes - at.counter);
    }
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_leader_layout_t *layout = (ctn_leader_layout_t *)attachment;
    ctn_exec_free(exec, layout->port_blocks);
    ctn_exec_free(exec, layout->shared);
    ctn_exec_free(exec, layout->own_blocks);
    free(layout->leader_member);
    free(layout->member);
    free(layout->served);
    free(layout->port);
    free(layout);
}

/** Find a layout of the group, or attach a new one. NULL: no memory. */
static ctn_leader_layout_t *find(ctn_topo_t *topo, uint32_t leaders,
                                 ctn_placement_t placement)
{
    ctn_attachment_t *attachment = topo->group->attachments;
    for (; attachment != NULL; attachment = attachment->next) {
        ctn_leader_layout_t *layout = (ctn_leader_layout_t *)attachment;
        if (attachment->key == &layout_key && layout->leaders == leaders &&
            layout->placement == placement) {
            return layout;
        }
    }
    ctn_leader_layout_t *layout = calloc(1, sizeof(*layout));
    if (layout != NULL) {
        layout->attachment.key = &layout_key;
        layout->attachment.release = release;
        layout->attachment.clear = clear;
        layout->topo = topo;
        layout->leaders = leaders;
        layout->placement = placement;
        ctn_group_attach(topo->group, &layout->attachment);
    }
    return layout;
}

ctn_step_t ctn_leader_layout_need(ctn_op_t *op, ctn_topo_t *topo,
                                  uint32_t leaders, ctn_placement_t placement,
                                  ctn_leader_layout_t **out)
{
    ctn_leader_layout_t *layout = find(topo, leaders, placement);
    if (layout ==
        NULL) { /* other members wait for this one, if there are any */
        return ctn_op_fail(
            op, ctn_group_give_up(topo->group, CATENA_ERR_NO_MEMORY));
    }
    ctn_step_t step = ctn_op_need(op, &layout->state, layout, &build_algorithm);
    if (step == CTN_STEP_NEXT) {
        *out = layout;
    }
    return step;
}
