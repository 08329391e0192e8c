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

/** NUMA domains of the node's members; NULL if some member is not bound to one.
 */
static int32_t *domains_of(const ctn_topo_t *topo)
{
    uint32_t n = ctn_topo_local_size(topo);
    int32_t *domains = calloc(n, sizeof(*domains));
    for (uint32_t i = 0; domains != NULL && i < n; i++) {
        domains[i] = ctn_topo_local(topo, i)->numa;
        if (domains[i] < 0) {
            free(domains);
            return NULL;
        }
    }
    return domains;
}

/** Choose the leaders of this node, and count the ports of this member. */
static void place_leaders(ctn_leader_layout_t *layout)
{
    ctn_topo_t *topo = layout->topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t count = layout->leaders < n ? layout->leaders : n;
    int32_t *domains = domains_of(topo);
    layout->ports = 0;
    for (uint32_t l = 0; l < layout->leaders; l++) {
        layout->leader_member[l] = ctn_leader_layout_member(
            domains, n, count, layout->placement, l % count);
        layout->ports += layout->leader_member[l] == ctn_topo_local_rank(topo);
    }
    free(domains);
}

/** Allocate this member's ports. */
static catena_status_t open_ports(ctn_exec_t *exec, ctn_leader_layout_t *layout)
{
    ctn_topo_t *topo = layout->topo;
    layout->port = calloc(layout->ports + 1, sizeof(ctn_port_t));
    if (layout->port == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_port_t *port = layout->port;
    for (uint32_t l = 0; l < layout->leaders; l++) {
        if (layout->leader_member[l] != ctn_topo_local_rank(topo)) {
            continue;
        }
        size_t bytes = ctn_port_bytes(topo->member_table.nodes);
        port->leader = l;
        port->block = ctn_heap_calloc(exec->heap, 4096, bytes);
        if (port->block == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        (void)ctn_heap_contains(exec->heap, port->block, bytes, &port->offset);
        port++;
    }
    return CATENA_OK;
}

/* ---- building ---- */

/** State of the operation that builds a layout. */
typedef struct layout_build {
    ctn_build_t build;          /* of the layout */
    ctn_words_t sent, received; /* of the broadcast on the node */
    uint32_t ready;             /* ports of this node known to be open */
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

/** The addresses of this node's ports. */
static ctn_address_t *own_addresses(const ctn_leader_layout_t *layout)
{
    return &layout->address[(size_t)layout->topo->node_index * layout->leaders];
}

/** Whether this member is the node leader, the root of the node. */
static bool is_root(const ctn_leader_layout_t *layout)
{
    return ctn_topo_local_rank(layout->topo) == 0;
}

/** Two phases broadcast the offset of `shared` on the node: the first so that
 * the members write the addresses of their ports there, the second when the
 * addresses of all nodes are there. */
static ctn_step_t broadcast_node(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    const ctn_leader_layout_t *layout = build->build.what;
    return ctn_op_call(op,
                       ctn_node_bcast_create(op->exec, layout->topo,
                                             &build->sent, &build->received));
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

/** The root: allocate the memory that the node shares. */
static ctn_step_t begin(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    if (allocate(layout) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (is_root(layout)) {
        layout->shared =
            ctn_heap_calloc(op->exec->heap, 128, offsets_of(layout).bytes);
        if (layout->shared == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        (void)ctn_heap_contains(op->exec->heap, layout->shared, 1,
                                &build->sent.word[0]);
    }
    return broadcast_node(op);
}

/** Open this member's ports and write their addresses to the shared memory. */
static ctn_step_t open_own_ports(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    ctn_topo_t *topo = layout->topo;
    unsigned char *memory = ctn_pointer(topo->peer[0], build->received.word[0]);
    layout_offsets_t at = offsets_of(layout);
    layout->address = (void *)memory;
    layout->counter = (void *)(memory + at.counter);
    layout->copied = (void *)(memory + at.copied);
    place_leaders(layout);
    if (open_ports(op->exec, layout) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_address_t *own = own_addresses(layout);
    for (uint32_t i = 0; i < layout->ports; i++) {
        ctn_address_t *address = &own[layout->port[i].leader];
        address->process = topo->group->exec->locality->process;
        ctn_exec_post(op->exec, &address->offset, layout->port[i].offset);
    }
    return CTN_STEP_NEXT;
}

/** The root: wait for the addresses of all ports of the node. Their offsets are
 * not 0, and are written last. */
static ctn_step_t collect(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    if (!is_root(layout)) {
        return CTN_STEP_NEXT;
    }
    return ctn_words_reach(&own_addresses(layout)->offset,
                           sizeof(ctn_address_t), layout->leaders, 1, 1,
                           &build->ready)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

/** The root: gather the addresses of the ports of all nodes, from their roots.
 */
static ctn_step_t exchange(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    ctn_leader_layout_t *layout = build->build.what;
    if (!is_root(layout)) {
        return CTN_STEP_NEXT;
    }
    return ctn_op_call(
        op, ctn_chain_allgather_table(
                op->exec, &layout->topo->leaders, own_addresses(layout),
                layout->leaders * sizeof(ctn_address_t), layout->shared));
}

static ctn_step_t mark_ready(ctn_op_t *op)
{
    layout_build_t *build = ctn_op_state(op);
    *build->build.built = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"open ports", open_own_ports},
                                     {"collect", collect},
                                     {"exchange", exchange},
                                     {"publish", broadcast_node},
                                     {"mark ready", mark_ready},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "leader layout",
    .state_bytes = sizeof(layout_build_t),
    .phases = phases,
    .finish = ctn_build_finish,
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
    for (uint32_t i = 0; layout->port != NULL && i < layout->ports; i++) {
        ctn_exec_free(exec, layout->port[i].block);
    }
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
    if (layout == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_step_t step = ctn_op_need(op, &layout->state, layout, &build_algorithm);
    if (step == CTN_STEP_NEXT) {
        *out = layout;
    }
    return step;
}
