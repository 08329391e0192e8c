#include "coll/alltoall/leaders/layout.h"

#include <stdlib.h>
#include <string.h>

static const char plan_key;

/* ---- placement ---- */

/** Without domains: Algorithm 4, every dist-th member. */
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

/** Members in the order: the first of each domain, then the second of each,
 * and so on; the i-th of that order. */
static uint32_t spread_over_domains(const int32_t *domains, uint32_t n,
                                    uint32_t i)
{
    for (uint32_t turn = 0;; turn++) {
        for (uint32_t d = 0; d < n; d++) {
            if (!is_first_of_domain(domains, d)) {
                continue;
            }
            uint32_t seen = 0;
            for (uint32_t m = d; m < n; m++) {
                if (domains[m] == domains[d] && seen++ == turn && i-- == 0) {
                    return m;
                }
            }
        }
    }
}

uint32_t ctn_plan_leader(const int32_t *domains, uint32_t n, uint32_t count,
                         ctn_placement_t placement, uint32_t i)
{
    if (placement == CTN_PLACE_FIRST) {
        return i;
    }
    return domains != NULL ? spread_over_domains(domains, n, i)
                           : spread_evenly(n, count, i);
}

/** NUMA domains of the node's members; NULL when one is not bound to any. */
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

static void place_leaders(ctn_plan_t *plan)
{
    ctn_topo_t *topo = plan->topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t count = plan->leaders < n ? plan->leaders : n;
    int32_t *domains = domains_of(topo);
    plan->ports = 0;
    for (uint32_t l = 0; l < plan->leaders; l++) {
        plan->host[l] =
            ctn_plan_leader(domains, n, count, plan->placement, l % count);
        plan->host_endpoint[l] = topo->peer[plan->host[l]];
        plan->ports += plan->host[l] == ctn_topo_local_rank(topo);
    }
    free(domains);
}

static catena_status_t open_ports(ctn_exec_t *exec, ctn_plan_t *plan)
{
    ctn_topo_t *topo = plan->topo;
    plan->port = calloc(plan->ports + 1, sizeof(ctn_port_t));
    if (plan->port == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_port_t *port = plan->port;
    for (uint32_t l = 0; l < plan->leaders; l++) {
        if (plan->host[l] != ctn_topo_local_rank(topo)) {
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

typedef struct plan_build {
    ctn_plan_t *plan; /* argument */
    ctn_words_t say, heard;
    uint32_t ready;
} plan_build_t;

typedef struct plan_layout {
    size_t ready, counter, answer, bytes;
} plan_layout_t;

static plan_layout_t lay_out(const ctn_plan_t *plan)
{
    const ctn_topo_t *topo = plan->topo;
    plan_layout_t at;
    size_t n = ctn_topo_local_size(topo);
    size_t leaders = plan->leaders;
    at.ready =
        ctn_line_up(topo->member_table.nodes * leaders * sizeof(ctn_address_t));
    at.counter = at.ready + ctn_line_up(leaders * sizeof(uint64_t));
    at.answer = at.counter +
                ctn_line_up(CTN_GENERATIONS * leaders * sizeof(ctn_counter_t));
    at.bytes = at.answer + CTN_GENERATIONS * n * leaders * sizeof(ctn_answer_t);
    return at;
}

static bool is_root(const ctn_plan_t *plan)
{
    return ctn_topo_local_rank(plan->topo) == 0;
}

static ctn_step_t tell_node(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    return ctn_op_call(op, ctn_node_bcast_create(op->exec, build->plan->topo,
                                                 &build->say, &build->heard));
}

static catena_status_t allocate(ctn_plan_t *plan)
{
    size_t n = ctn_topo_local_size(plan->topo);
    bool failed = false;
    plan->host = calloc(plan->leaders, sizeof(*plan->host));
    plan->host_endpoint = calloc(plan->leaders, sizeof(ctn_endpoint_t *));
    plan->nobody = calloc(n, sizeof(*plan->nobody));
    failed |= plan->host == NULL || plan->host_endpoint == NULL ||
              plan->nobody == NULL;
    for (unsigned set = 0; set < CTN_FLIGHT; set++) {
        plan->service[set] = calloc(plan->leaders, sizeof(ctn_service_t));
        plan->source[set] = calloc(n, sizeof(*plan->source[set]));
        plan->target[set] = calloc(n, sizeof(*plan->target[set]));
        plan->rows[set] = calloc(n, sizeof(*plan->rows[set]));
        failed |= plan->service[set] == NULL || plan->source[set] == NULL ||
                  plan->target[set] == NULL || plan->rows[set] == NULL;
    }
    return failed ? CATENA_ERR_NO_MEMORY : CATENA_OK;
}

static ctn_step_t begin(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    ctn_plan_t *plan = build->plan;
    if (allocate(plan) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (is_root(plan)) {
        plan->shared =
            ctn_heap_calloc(op->exec->heap, 128, lay_out(plan).bytes);
        if (plan->shared == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        (void)ctn_heap_contains(op->exec->heap, plan->shared, 1,
                                &build->say.word[0]);
    }
    return tell_node(op);
}

static ctn_step_t host(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    ctn_plan_t *plan = build->plan;
    ctn_topo_t *topo = plan->topo;
    unsigned char *memory = ctn_pointer(topo->peer[0], build->heard.word[0]);
    plan_layout_t at = lay_out(plan);
    plan->address = (const void *)memory;
    plan->counter = (void *)(memory + at.counter);
    plan->answer = (void *)(memory + at.answer);
    place_leaders(plan);
    if (open_ports(op->exec, plan) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_address_t *own =
        (ctn_address_t *)(void *)memory + topo->node_index * plan->leaders;
    uint64_t *ready = (void *)(memory + at.ready);
    for (uint32_t i = 0; i < plan->ports; i++) {
        uint32_t l = plan->port[i].leader;
        own[l] = (ctn_address_t){topo->group->exec->locality->process,
                                 plan->port[i].offset};
        ctn_exec_post(op->exec, &ready[l], 1);
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t collect(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    ctn_plan_t *plan = build->plan;
    if (!is_root(plan)) {
        return CTN_STEP_NEXT;
    }
    const uint64_t *ready =
        (const void *)((unsigned char *)plan->shared + lay_out(plan).ready);
    while (build->ready < plan->leaders) {
        if (ctn_word_load(&ready[build->ready]) == 0) {
            return CTN_STEP_WAIT;
        }
        build->ready++;
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t exchange(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    ctn_plan_t *plan = build->plan;
    if (!is_root(plan)) {
        return CTN_STEP_NEXT;
    }
    ctn_op_t *child = ctn_op_create(op->exec, &ctn_table_allgather_algorithm,
                                    &plan->topo->leaders.sequence);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_table_allgather_t *gather = ctn_op_state(child);
    gather->place = &plan->topo->leaders.place;
    gather->memory = plan->shared;
    (void)ctn_heap_contains(op->exec->heap, plan->shared, 1, &gather->table);
    gather->record_bytes = plan->leaders * sizeof(ctn_address_t);
    return ctn_op_call(op, child);
}

static ctn_step_t settle(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    build->plan->state = CTN_PLAN_READY;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    plan_build_t *build = ctn_op_state(op);
    if (build->plan->state != CTN_PLAN_READY) {
        build->plan->state = CTN_PLAN_NEW;
    }
}

static const ctn_phase_t phases[] = {{"open", begin},
                                     {"host", host},
                                     {"collect", collect},
                                     {"exchange", exchange},
                                     {"publish", tell_node},
                                     {"settle", settle},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "plan",
    .state_bytes = sizeof(plan_build_t),
    .phases = phases,
    .finish = finish,
};

/** The words of the ports here, and at the root those of the node. */
static void clear(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    const ctn_plan_t *plan = (const ctn_plan_t *)attachment;
    const ctn_topo_t *topo = plan->topo;
    if (plan->state != CTN_PLAN_READY) {
        return;
    }
    for (uint32_t i = 0; i < plan->ports; i++) {
        memset(
            plan->port[i].block, 0,
            ctn_port_granted_at(topo->member_table.nodes, CTN_GENERATIONS, 0));
    }
    if (plan->shared != NULL) {
        size_t counters = (size_t)CTN_GENERATIONS * plan->leaders;
        memset(plan->counter, 0, counters * sizeof(ctn_counter_t));
        memset(plan->answer, 0,
               counters * ctn_topo_local_size(topo) * sizeof(ctn_answer_t));
    }
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_plan_t *plan = (ctn_plan_t *)attachment;
    for (uint32_t i = 0; plan->port != NULL && i < plan->ports; i++) {
        ctn_exec_free(exec, plan->port[i].block);
    }
    for (unsigned set = 0; set < CTN_FLIGHT; set++) {
        free(plan->service[set]);
        free(plan->source[set]);
        free(plan->target[set]);
        free(plan->rows[set]);
    }
    ctn_exec_free(exec, plan->shared);
    ctn_exec_free(exec, plan->own_rows);
    free(plan->host);
    free(plan->host_endpoint);
    free(plan->nobody);
    free(plan->port);
    free(plan);
}

static ctn_plan_t *find(ctn_topo_t *topo, uint32_t leaders,
                        ctn_placement_t placement)
{
    ctn_attachment_t *a = topo->group->attachments;
    for (; a != NULL; a = a->next) {
        ctn_plan_t *plan = (ctn_plan_t *)a;
        if (a->key == &plan_key && plan->leaders == leaders &&
            plan->placement == placement) {
            return plan;
        }
    }
    ctn_plan_t *plan = calloc(1, sizeof(*plan));
    if (plan != NULL) {
        plan->attachment.key = &plan_key;
        plan->attachment.release = release;
        plan->attachment.clear = clear;
        plan->topo = topo;
        plan->leaders = leaders;
        plan->placement = placement;
        ctn_group_attach(topo->group, &plan->attachment);
    }
    return plan;
}

ctn_step_t ctn_plan_need(ctn_op_t *op, ctn_topo_t *topo, uint32_t leaders,
                         ctn_placement_t placement, ctn_plan_t **out)
{
    ctn_plan_t *plan = find(topo, leaders, placement);
    if (plan == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (plan->state == CTN_PLAN_READY) {
        *out = plan;
        return CTN_STEP_NEXT;
    }
    if (plan->state == CTN_PLAN_BUILDING || !ctn_op_is_oldest(op)) {
        return CTN_STEP_WAIT;
    }
    ctn_op_t *child = ctn_op_create(op->exec, &build_algorithm, NULL);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    plan->state = CTN_PLAN_BUILDING;
    ((plan_build_t *)ctn_op_state(child))->plan = plan;
    (void)ctn_op_call(op, child);
    return CTN_STEP_MOVED;
}
