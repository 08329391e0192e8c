/* The simulator as a transport, and its creation. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "transports/sim/engine.h"

/* ---- the operations of a rank ---- */

/** The rank that an endpoint leads to. The rank that uses the endpoint is
 * always the running one. */
static ctn_sim_rank_t *target_of(ctn_endpoint_t *endpoint)
{
    return (ctn_sim_rank_t *)(void *)((unsigned char *)endpoint -
                                      offsetof(ctn_sim_rank_t, endpoint));
}

static catena_status_t connect_rank(ctn_transport_t *transport,
                                    uint64_t process, ctn_endpoint_t **endpoint)
{
    ctn_sim_t *sim = sim_rank_of(transport)->sim;
    if (process >= sim->ranks) {
        return CATENA_ERR_ARG;
    }
    *endpoint = &sim->rank[process].endpoint;
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    if ((sim->rank[process].killed || sim->rank[process].state == SIM_ENDED) &&
        rank->died != NULL) {
        sim_learns(sim, rank, (uint32_t)process); /* the connection fails */
    }
    return CATENA_OK;
}

static catena_status_t put_signal(ctn_endpoint_t *endpoint, const void *source,
                                  size_t bytes, uint64_t offset,
                                  uint64_t word_offset, uint64_t value,
                                  uint64_t *pending)
{
    ctn_sim_rank_t *target = target_of(endpoint);
    ctn_sim_t *sim = target->sim;
    ctn_sim_rank_t *rank = sim->running;
    if (rank->status != CATENA_OK) {
        return CATENA_OK; /* messages of a failed rank are dropped */
    }
    bool same_node = target->node == rank->node;
    if (same_node && bytes > 0) {
        sim_work(rank, CTN_WORK_COPY, bytes);
    }
    sim_event_t *event =
        sim_event(sim, same_node ? SIM_STORE : SIM_HEAD, target->rank);
    event->source = rank->rank;
    event->word = (uint64_t *)(void *)(target->arena + word_offset);
    event->value = value;
    event->bytes = bytes;
    event->pending = pending;
    event->to = ctn_is_exposed(offset) ? NULL : target->arena + offset;
    event->number = offset;
    event->from = source;
    if (same_node) {
        rank->clock += sim_jitter(rank, sim->params.node_overhead_s * 1e12);
        sim_take_data(sim, event);
        sim_hold(sim, event); /* the copy is complete: the source is free */
        sim_store(rank, event);
    } else {
        sim_send(rank, event);
    }
    sim_stop(rank);
    return CATENA_OK;
}

static ctn_transport_t *sender(const ctn_endpoint_t *endpoint)
{
    return &target_of((ctn_endpoint_t *)(uintptr_t)endpoint)
                ->sim->running->base;
}

static catena_status_t get(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                           uint64_t offset, uint64_t *pending)
{
    ctn_sim_rank_t *from = target_of(endpoint);
    ctn_sim_t *sim = from->sim;
    ctn_sim_rank_t *rank = sim->running;
    if (from->node == rank->node) {
        sim_work(rank, CTN_WORK_COPY, bytes);
        memcpy(target, from->arena + offset, bytes);
        return CATENA_OK;
    }
    const catena_machine_t *machine = sim->machine;
    rank->clock += sim_jitter(rank, machine->send_overhead_ns * PS);
    sim_event_t *event = sim_event(sim, SIM_SENT, rank->rank);
    event->to = target;
    event->from = from->arena + offset;
    event->bytes = bytes;
    event->pending = pending;
    ++*pending;
    double there_and_back =
        (2 * machine->latency_ns + (double)bytes * machine->gap_per_byte_ns +
         machine->gap_ns) *
        PS;
    sim_push(sim, rank->clock + sim_jitter(rank, there_and_back), event);
    return CATENA_OK;
}

/** Whether another rank has died, where that is no error of all. */
static bool is_lost(const ctn_sim_rank_t *other)
{
    return (other->killed || other->state == SIM_ENDED) &&
           other->sim->running->died != NULL;
}

/** Ranks share the address space. A rank that has failed or ended may have
 * freed its buffers. */
static catena_status_t write_there(ctn_endpoint_t *endpoint, const void *source,
                                   size_t bytes, uint64_t address)
{
    const ctn_sim_rank_t *target = target_of(endpoint);
    sim_work(target->sim->running, CTN_WORK_COPY, bytes);
    if (is_lost(target)) {
        return CATENA_ERR_PEER;
    }
    if (source != NULL && target->status == CATENA_OK &&
        target->state != SIM_ENDED) {
        memcpy((void *)(uintptr_t)address, source, bytes);
    }
    return CATENA_OK;
}

static catena_status_t read_there(ctn_endpoint_t *endpoint, void *target,
                                  size_t bytes, uint64_t address)
{
    const ctn_sim_rank_t *from = target_of(endpoint);
    sim_work(from->sim->running, CTN_WORK_COPY, bytes);
    if (is_lost(from)) {
        return CATENA_ERR_PEER;
    }
    if (target != NULL && from->status == CATENA_OK &&
        from->state != SIM_ENDED) {
        memcpy(target, (const void *)(uintptr_t)address, bytes);
    }
    return CATENA_OK;
}

/** With `reorder` by chance for each pair, so that both ways are taken. */
static bool may_access(ctn_endpoint_t *endpoint, size_t bytes)
{
    (void)bytes;
    const ctn_sim_rank_t *peer = target_of(endpoint);
    const ctn_sim_rank_t *rank = peer->sim->running;
    uint64_t pair =
        rank->sim->params.seed + peer->rank + ((uint64_t)rank->rank << 32);
    return peer->node == rank->node &&
           (!rank->sim->params.reorder || ctn_random(&pair) % 4 != 0);
}

static catena_status_t flush(ctn_transport_t *transport, uint64_t *pending)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    if (rank->sim->in_flight[rank->rank] == 0 || rank->status != CATENA_OK) {
        return CATENA_OK;
    }
    sim_flush_t *waiting = malloc(sizeof(*waiting));
    if (waiting == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    *waiting = (sim_flush_t){pending, rank->flushes};
    rank->flushes = waiting;
    rank->sim->flushing++;
    ++*pending;
    return CATENA_OK;
}

static int progress(ctn_transport_t *transport)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    rank->asks = true;
    bool any = sim_deliver(rank);
    if (rank->deaths && rank->died != NULL && rank->status == CATENA_OK) {
        sim_tell_deaths(rank);
        any = true;
    }
    return rank->status != CATENA_OK ? rank->status : any;
}

static void *pointer(ctn_endpoint_t *endpoint, uint64_t offset)
{
    ctn_sim_rank_t *target = target_of(endpoint);
    return target->node == target->sim->running->node ? target->arena + offset
                                                      : NULL;
}

static void post(ctn_transport_t *transport, uint64_t *word, uint64_t value)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    if (rank->status != CATENA_OK) {
        return; /* as its messages: a dead rank stores nothing */
    }
    sim_event_t *event = sim_event(rank->sim, SIM_STORE, rank->rank);
    event->source = rank->rank;
    event->to_node = true;
    event->word = word;
    event->value = value;
    sim_store(rank, event);
    sim_stop(rank);
}

static bool sleep_until(ctn_transport_t *transport, uint64_t timeout_ns, int fd)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    (void)fd; /* simulated ranks have no doorbells */
    if (!rank->notified && rank->status == CATENA_OK) {
        if (timeout_ns <= (uint64_t)(SIM_LONGEST_PS / PS)) {
            sim_event_t *event = sim_event(rank->sim, SIM_TIMER, rank->rank);
            event->number = rank->turns;
            sim_push(rank->sim, rank->clock + timeout_ns * PS, event);
        }
        sim_suspend(rank, SIM_SLEEPING);
    }
    bool stalls = rank->stalls;
    rank->notified = rank->stalls = false;
    return stalls;
}

/** Reading the clock takes a nanosecond, so a rank that only reads it sees it
 * advance. */
static uint64_t now(ctn_transport_t *transport)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    rank->clock += PS;
    sim_stay_close(rank);
    return rank->clock / PS;
}

static uint64_t observed_now(const ctn_transport_t *transport)
{
    const ctn_sim_rank_t *rank =
        sim_rank_of((ctn_transport_t *)(uintptr_t)transport);
    /* While an event is handled no rank runs: the clock of the rank is when it
     * has stopped, which may be before the event or after it. */
    return (rank->sim->running != NULL ? rank->clock : rank->sim->now) / PS;
}

static void charge(ctn_transport_t *transport, ctn_work_t work, size_t n)
{
    sim_work(sim_rank_of(transport), work, n);
}

static void **common(ctn_transport_t *transport, uint32_t members)
{
    ctn_sim_t *sim = sim_rank_of(transport)->sim;
    return members == sim->ranks ? &sim->common : NULL;
}

/** With `reorder` by chance, so that both ways are taken. */
static bool expose(ctn_transport_t *transport, void *memory, size_t bytes,
                   uint64_t *offset)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    return rank->status == CATENA_OK &&
           (!rank->sim->params.reorder || ctn_random(&rank->random) % 4 != 0) &&
           ctn_exposed_add(&rank->exposed, memory, bytes, offset);
}

static void conceal(ctn_transport_t *transport, uint64_t offset, bool more)
{
    ctn_exposed_remove(&sim_rank_of(transport)->exposed, offset, more);
}

static void fail(ctn_transport_t *transport, catena_status_t status)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    ctn_exposed_free(&rank->exposed);
    if (rank->status == CATENA_OK) { /* else all ranks learn of it already */
        sim_abandon(rank, status);
    }
}

static void watch(ctn_transport_t *transport, ctn_death_handler_t handler,
                  void *argument)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    rank->died = handler;
    rank->died_argument = argument;
}

static const char *describe(ctn_transport_t *transport)
{
    return sim_rank_of(transport)->sim->text;
}

/** The transport belongs to ctn_sim_t, but no `pending` is written any more. */
static void destroy(ctn_transport_t *transport)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    rank->left = true;
    rank->sim->flushing -= sim_drop_flushes(rank);
}

static const ctn_transport_ops_t operations = {
    .destroy = destroy,
    .connect = connect_rank,
    .get = get,
    .put_signal = put_signal,
    .sender = sender,
    .write = write_there,
    .read = read_there,
    .may_access = may_access,
    .post_receive = sim_post_receive,
    .cancel_receive = sim_cancel_receive,
    .expose = expose,
    .conceal = conceal,
    .flush = flush,
    .progress = progress,
    .pointer = pointer,
    .post = post,
    .sleep = sleep_until,
    .time = now,
    .observed_time = observed_now,
    .charge = charge,
    .common = common,
    .abandon = fail,
    .watch = watch,
    .describe = describe,
};

/* ---- the table of a rank ---- */

void sim_explain(const ctn_sim_t *sim)
{
    if (sim->explain != NULL) {
        sim->explain(sim_node_memory(sim, 0), sim->node_bytes, sim->nodes);
    }
}

/** See `place` of ctn_simulator_t. */
static void find_place(ctn_sim_rank_t *rank, ctn_sim_place_t *place)
{
    ctn_sim_t *sim = rank->sim;
    const sim_node_t *node = &sim->node[rank->node];
    const catena_machine_t *machine = sim->machine;
    uint32_t cores = sim->params.cores != NULL
                         ? (uint32_t)sim->params.core_count
                     : machine->shared_cores > 0 ? machine->shared_cores
                                                 : machine->cores;
    uint32_t sharing = machine->shared_cores > 0 ? sim->ranks : node->count;
    *place = (ctn_sim_place_t){
        .rank = rank->rank,
        .ranks = sim->ranks,
        .node = rank->node,
        .local_rank = rank->local,
        .local_size = node->count,
        .local_ranks = &sim->members[node->first],
        .numa = machine->numa_domains > 1
                    ? (int)ctn_machine_domain(machine, rank->core)
                    : -1,
        .oversubscribed = sharing > cores,
        .drop_data = sim->params.payload != CATENA_SIM_CARRY,
        .drop_tables = sim->params.payload == CATENA_SIM_COST,
        .memory = sim_node_memory(sim, rank->node),
        .arena_bytes = sim->arena_bytes,
        .transport = &rank->base,
        .last_message = &sim->last_message,
    };
}

/** See `compute` of ctn_simulator_t. */
static void compute(ctn_sim_rank_t *rank, double seconds,
                    bool (*poll)(void *argument), void *argument)
{
    uint64_t until = rank->clock + sim_jitter(rank, seconds * 1e12);
    while (poll != NULL && rank->clock < until && rank->status == CATENA_OK) {
        if (!poll(argument)) {
            (void)sleep_until(&rank->base, (until - rank->clock + PS - 1) / PS,
                              -1);
        }
    }
    if (rank->clock < until) {
        rank->clock = until;
    }
    if (rank->status == CATENA_OK) {
        sim_catch_up(rank);
    }
}

static void explain_by(ctn_sim_rank_t *rank, ctn_sim_explain_t *explain)
{
    rank->sim->explain = explain;
    rank->left = false; /* it joins */
}

static const ctn_simulator_t simulator = {.place = find_place,
                                          .explain_by = explain_by,
                                          .compute = compute,
                                          .abort = ctn_sim_abort};

/* ---- creation ---- */

static uint32_t node_of(const ctn_sim_t *sim, uint32_t rank)
{
    return sim->params.node_of != NULL ? (uint32_t)sim->params.node_of[rank]
                                       : rank / (uint32_t)sim->params.ppn;
}

static void count_members(ctn_sim_t *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        sim->node[node_of(sim, r)].count++;
    }
}

/** Initialize all ranks, and list those of each node in order. */
static void list_members(ctn_sim_t *sim)
{
    for (uint32_t n = 1; n < sim->nodes; n++) {
        sim->node[n].first = sim->node[n - 1].first + sim->node[n - 1].count;
    }
    for (uint32_t n = 0; n < sim->nodes; n++) {
        sim->node[n].count = 0;
    }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        ctn_sim_rank_t *rank = &sim->rank[r];
        sim_node_t *node = &sim->node[node_of(sim, r)];
        rank->simulator = &simulator;
        rank->base = (ctn_transport_t){.ops = &operations,
                                       .caps = CTN_CAP_RDMA | CTN_CAP_VIRTUAL |
                                               CTN_CAP_EXPOSE};
        rank->endpoint = (ctn_endpoint_t){&rank->base, NULL, r};
        rank->sim = sim;
        rank->rank = r;
        rank->node = node_of(sim, r);
        rank->local = node->count++;
        rank->arena = sim_node_memory(sim, rank->node) + CTN_SIM_HEADER_BYTES +
                      rank->local * sim->arena_bytes;
        rank->random = sim->params.seed ^ (r + UINT64_C(1)) << 20;
        sim->members[node->first + rank->local] = r;
    }
}

catena_status_t ctn_sim_create(const ctn_sim_setup_t *setup, ctn_sim_t **out)
{
    ctn_sim_t *sim = calloc(1, sizeof(*sim));
    if (sim == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    sim->machine = setup->machine;
    sim->params = *setup->params;
    sim->ranks = setup->ranks;
    sim->nodes = setup->nodes;
    sim->ports = sim->params.ports > 0 ? (uint32_t)sim->params.ports
                                       : setup->machine->ports;
    sim->random = ~sim->params.seed;
    snprintf(sim->text, sizeof(sim->text), "simulated %s, %u ports a node%s",
             setup->machine->name, sim->ports,
             sim->params.payload == CATENA_SIM_CARRY ? "" : ", no user data");
    sim->node = ctn_region_take(&sim->tables, sim->nodes, sizeof(*sim->node));
    sim->members =
        ctn_region_take(&sim->tables, sim->ranks, sizeof(*sim->members));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (!sim->tables.failed) {
        count_members(sim);
        status = sim_memory_create(sim);
    }
    if (status == CATENA_OK) {
        list_members(sim);
        sim_network_create(sim);
        sim_node_create(sim);
        status = sim->tables.failed ? CATENA_ERR_NO_MEMORY : CATENA_OK;
    }
    if (status != CATENA_OK) {
        ctn_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return CATENA_OK;
}

void ctn_sim_destroy(ctn_sim_t *sim)
{
    for (uint32_t r = 0; sim->rank != NULL && r < sim->ranks; r++) {
        sim_posted_release(&sim->rank[r]);
        ctn_exposed_free(&sim->rank[r].exposed);
        free(sim->rank[r].ends);
        (void)sim_drop_flushes(&sim->rank[r]);
    }
    sim_release_events(sim);
    free(sim->steps);
    (void)ctn_region_release(&sim->tables);
    sim_memory_destroy(sim);
    free(sim);
}

/* ---- results ---- */

void ctn_sim_rank_stats(const ctn_sim_rank_t *rank, catena_sim_stats_t *stats)
{
    *stats = rank->stats;
}

void ctn_sim_report(const ctn_sim_t *sim, catena_sim_report_t *report)
{
    report->events = sim->events;
    report->virtual_s = (double)sim->last_end * 1e-12;
    if (sim->abort_code != 0) {
        report->exit_code = sim->abort_code;
    }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        const catena_sim_stats_t *stats = &sim->rank[r].stats;
        report->messages += stats->messages;
        report->bytes += stats->bytes;
        report->node_messages += stats->node_messages;
    }
}
