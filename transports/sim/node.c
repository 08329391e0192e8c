/* A simulated node: work on cores, copies that share the bandwidth of a NUMA
 * domain, and flags that other cores read. */

#include "core/random.h"
#include "transports/sim/engine.h"

/* ---- copies ---- */

/* Copies shorter than this only advance the clock, since an event for each
 * would take too much time. They are slowed down by concurrent long copies but
 * do not slow those down. */
static const double LONG_COPY_PS = 500 * PS;

/** The slowdown of each of so many concurrent copies; tau-Lop (Rico-Gallego,
 * Diaz-Martin: tau-Lop, Parallel Computing 46, 2015; [Peng], 6.1). */
static double slowdown(const catena_machine_t *machine, uint32_t copies)
{
    double shared = (double)copies * machine->domain_per_byte_ns;
    return shared > machine->copy_per_byte_ns
               ? shared / machine->copy_per_byte_ns
               : 1;
}

/** Add the work done since the last call. */
static void serve(ctn_sim_t *sim, sim_domain_t *domain)
{
    if (domain->count > 0) {
        domain->served += (double)(sim->now - domain->since) /
                          slowdown(sim->machine, domain->count);
    }
    domain->since = sim->now;
}

/** Push the COPIED event for the copy that ends next. Earlier COPIED events of
 * the domain become invalid. */
static void await_next(ctn_sim_t *sim, sim_domain_t *domain)
{
    domain->version++;
    if (domain->count == 0) {
        return;
    }
    double end = domain->copy[0].end;
    for (uint32_t i = 1; i < domain->count; i++) {
        end = domain->copy[i].end < end ? domain->copy[i].end : end;
    }
    double remaining =
        (end - domain->served) * slowdown(sim->machine, domain->count);
    sim_event_t *event =
        sim_event(sim, SIM_COPIED, (uint32_t)(domain - sim->domain));
    event->number = domain->version;
    sim_push(sim, sim->now + sim_ps(sim, remaining > 0 ? remaining + 1 : 0),
             event);
}

/** Block the rank for a copy that takes alone_ps without concurrent ones. */
static void long_copy(ctn_sim_rank_t *rank, double alone_ps)
{
    ctn_sim_t *sim = rank->sim;
    if (rank->clock > sim->now) {
        sim_catch_up(rank); /* it begins when earlier work is done */
    }
    sim_domain_t *domain = &sim->domain[rank->domain];
    serve(sim, domain);
    domain->copy[domain->count++] =
        (sim_copy_t){domain->served + alone_ps, rank->rank};
    await_next(sim, domain);
    sim_suspend(rank, SIM_BLOCKED);
}

void sim_copied(ctn_sim_t *sim, sim_event_t *event)
{
    sim_domain_t *domain = &sim->domain[event->target];
    if (event->number != domain->version) {
        return; /* other copies began or ended meanwhile */
    }
    serve(sim, domain);
    uint32_t ended[SIM_ENDS];
    uint32_t ends = 0;
    for (uint32_t i = 0; i < domain->count && ends < SIM_ENDS;) {
        if (domain->copy[i].end <= domain->served + 1) {
            ended[ends++] = domain->copy[i].rank;
            domain->copy[i] = domain->copy[--domain->count];
        } else {
            i++;
        }
    }
    await_next(sim, domain);
    for (uint32_t i = 0; i < ends; i++) {
        sim_resume(sim, &sim->rank[ended[i]]);
    }
}

/* ---- work ---- */

/** The time of local work without concurrent copies. */
static double cost_ps(const ctn_sim_t *sim, ctn_work_t work, size_t n)
{
    const catena_machine_t *machine = sim->machine;
    double byte = sim->core != NULL && sim->ranks > machine->shared_cores
                      ? machine->cold_per_byte_ns
                      : machine->copy_per_byte_ns;
    double count = (double)n * PS;
    switch (work) {
    case CTN_WORK_COPY:
        return machine->copy_start_ns * PS + count * byte;
    case CTN_WORK_TRANSPOSE:
        return machine->copy_start_ns * PS +
               count * machine->transpose_per_byte_ns;
    case CTN_WORK_COMPARE:
        return count * machine->compare_ns;
    case CTN_WORK_HASH:
        return count * machine->hash_per_byte_ns;
    case CTN_WORK_REDUCE:
        return count * machine->reduce_per_byte_ns;
    case CTN_WORK_CALL:
        return count * machine->call_ns;
    }
    return 0;
}

/** Copies that run concurrently with one that this rank is about to begin. */
static uint32_t concurrent_copies(const ctn_sim_rank_t *rank)
{
    const ctn_sim_t *sim = rank->sim;
    if (sim->core == NULL) {
        return sim->domain[rank->domain].count;
    }
    uint32_t others = 0;
    for (uint32_t c = 0; c < sim->machine->shared_cores; c++) {
        others += c != rank->core && sim->core[c].free > sim->now;
    }
    return others;
}

void sim_work(ctn_sim_rank_t *rank, ctn_work_t work, size_t n)
{
    ctn_sim_t *sim = rank->sim;
    double cost = cost_ps(sim, work, n);
    if (work == CTN_WORK_CALL && rank->cold) {
        cost += sim->machine->cold_ns * PS;
        rank->cold = false;
    }
    double alone_ps = (double)sim_jitter(rank, cost);
    bool memory = work == CTN_WORK_COPY || work == CTN_WORK_TRANSPOSE;
    if (memory && alone_ps >= LONG_COPY_PS && sim->core == NULL &&
        rank->status == CATENA_OK) {
        long_copy(rank, alone_ps);
        return;
    }
    if (memory) {
        alone_ps *= slowdown(sim->machine, concurrent_copies(rank) + 1);
    }
    rank->clock += sim_ps(sim, alone_ps);
    sim_stay_close(rank);
}

/** The time from a store by one rank to the poll by another one that sees it.
 */
static double signal_ps(const ctn_sim_rank_t *from, const ctn_sim_rank_t *to)
{
    const catena_machine_t *machine = from->sim->machine;
    ctn_distance_t distance =
        ctn_machine_distance(machine, from->core, to->core);
    return (machine->signal_ns[distance] + machine->poll_ns) * PS;
}

/* ---- cores ---- */

/** Ranks that share a core (shared_cores) wait by polling once and yielding it:
 * the time until the next one has it. */
static uint64_t turn_ps(const sim_core_t *core, const ctn_sim_rank_t *rank)
{
    const catena_machine_t *machine = rank->sim->machine;
    return (uint64_t)((machine->switch_ns +
                       (rank->asks ? machine->idle_poll_ns : 0)) *
                      core->slower * PS);
}

/** The core passes through its ranks in a fixed order. Return when it comes to
 * this one, at or after now. */
static uint64_t next_turn(const ctn_sim_t *sim, const sim_core_t *core,
                          const ctn_sim_rank_t *rank)
{
    const ctn_sim_rank_t *r = core->last;
    bool polls =
        r == rank && sim->now <= core->free + (uint64_t)signal_ps(rank, rank);
    if (polls || rank->beside == rank) { /* for its own stores; alone */
        return core->free > sim->now ? core->free : sim->now;
    }
    uint64_t at = core->free;
    do {
        at += turn_ps(core, r);
        r = r->beside;
    } while (r != rank);
    if (at >= sim->now) {
        return at;
    }
    uint64_t round = 0;
    do {
        round += turn_ps(core, r);
        r = r->beside;
    } while (r != rank);
    return round == 0 ? sim->now
                      : at + (sim->now - at + round - 1) / round * round;
}

bool sim_take_core(ctn_sim_t *sim, ctn_sim_rank_t *rank)
{
    if (sim->core == NULL || rank->state == SIM_BLOCKED) {
        return true;
    }
    sim_core_t *core = &sim->core[rank->core];
    uint64_t turn = next_turn(sim, core, rank);
    if (turn > sim->now) {
        sim_run_at(sim, rank, turn);
        return false;
    }
    rank->cold |= core->last != rank;
    core->last = rank;
    return true;
}

void sim_leave_core(ctn_sim_t *sim, ctn_sim_rank_t *rank)
{
    if (sim->core == NULL) {
        return;
    }
    sim_core_t *core = &sim->core[rank->core];
    core->free = core->free < rank->clock ? rank->clock : core->free;
    core->slower = (double)sim_jitter(rank, PS) / PS;
}

/* ---- flags ---- */

void sim_store(ctn_sim_rank_t *rank, sim_event_t *store)
{
    ctn_sim_t *sim = rank->sim;
    const ctn_sim_rank_t *target =
        store->to_node ? rank : &sim->rank[store->target];
    double after = signal_ps(rank, target);
    if (sim->params.reorder) {
        after *= (double)(ctn_random(&rank->random) % 64) / 8;
    }
    uint64_t time = rank->clock + sim_jitter(rank, after);
    /* The stores of a rank become visible in order. */
    if (time <= rank->last_store &&
        (sim->params.breaks & CATENA_SIM_BREAK_WORDS) == 0) {
        time = rank->last_store + 1;
    }
    rank->last_store = time;
    rank->stats.node_messages++;
    sim->in_flight[rank->rank]++;
    sim_push(sim, sim_leave_data(sim, store, time, after), store);
}

/** With a core of its own a rank polls for a flag while its line is under way;
 * else it fetches the line when it has its core. */
static void fetch_line(ctn_sim_rank_t *rank, const ctn_sim_rank_t *source)
{
    const catena_machine_t *machine = rank->sim->machine;
    if (rank->sim->core != NULL && rank->beside != rank &&
        rank->core != source->core) {
        ctn_distance_t distance =
            ctn_machine_distance(machine, source->core, rank->core);
        rank->due += (uint64_t)(machine->signal_ns[distance] * PS);
    }
}

/** Notify a rank of the node of a flag. The farther its core is from the
 * writer's core, the later it sees the flag. */
static void notify_reader(ctn_sim_t *sim, const ctn_sim_rank_t *source,
                          ctn_sim_rank_t *rank)
{
    fetch_line(rank, source);
    double more = signal_ps(source, rank) - signal_ps(source, source);
    uint64_t time = sim->now + (uint64_t)(more > 0 ? more : 0);
    if (rank->state == SIM_SLEEPING && time > rank->clock && time > sim->now) {
        sim_run_at(sim, rank, time);
    } else {
        sim_notify(sim, rank);
    }
}

void sim_stored(ctn_sim_t *sim, sim_event_t *store)
{
    ctn_sim_rank_t *source = &sim->rank[store->source];
    ctn_sim_rank_t *target = &sim->rank[store->target];
    if (store->to_node || !sim_is_cut(target, store->source)) {
        sim_write(sim, store);
    }
    sim_delivered(sim, source);
    if (!store->to_node) {
        fetch_line(target, source);
        uint64_t work = (uint64_t)(sim->params.node_overhead_s * 1e12);
        if (work > 0) {
            target->clock =
                (target->clock > sim->now ? target->clock : sim->now) + work;
        }
        sim_notify(sim, target);
        return;
    }
    const sim_node_t *node = &sim->node[source->node];
    for (uint32_t i = 0; i < node->count; i++) {
        notify_reader(sim, source, &sim->rank[sim->members[node->first + i]]);
    }
}

/* ---- creation ---- */

/** The core that a rank runs on. */
static uint32_t core_of(const ctn_sim_t *sim, const ctn_sim_rank_t *rank)
{
    const catena_machine_t *machine = sim->machine;
    const catena_sim_params_t *params = &sim->params;
    if (params->cores != NULL) {
        return (uint32_t)
            params->cores[rank->local % (uint32_t)params->core_count];
    }
    return machine->shared_cores > 0
               ? (rank->local + rank->node) % machine->shared_cores
               : ctn_machine_core(machine, rank->local,
                                  sim->node[rank->node].count);
}

/** Assign ranks to cores, and count the ranks of each domain. */
static void assign_cores(ctn_sim_t *sim, uint32_t *in_domain)
{
    const catena_machine_t *machine = sim->machine;
    for (uint32_t r = 0; r < sim->ranks; r++) {
        ctn_sim_rank_t *rank = &sim->rank[r];
        rank->core = core_of(sim, rank);
        rank->domain = rank->node * machine->numa_domains +
                       ctn_machine_domain(machine, rank->core);
        in_domain[rank->domain]++;
    }
}

/** The ranks of each core in a ring, in order; `last` becomes the first one. */
static void join_cores(ctn_sim_t *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        ctn_sim_rank_t *rank = &sim->rank[r];
        sim_core_t *core = &sim->core[rank->core];
        ctn_sim_rank_t *tail = core->last != NULL ? core->last : rank;
        rank->beside = core->last != NULL ? tail->beside : rank;
        tail->beside = rank;
        core->last = rank;
    }
    for (uint32_t c = 0; c < sim->machine->shared_cores; c++) {
        sim_core_t *core = &sim->core[c];
        core->slower = 1;
        core->last = core->last != NULL ? core->last->beside : NULL;
    }
}

void sim_node_create(ctn_sim_t *sim)
{
    const catena_machine_t *machine = sim->machine;
    size_t domains = (size_t)sim->nodes * machine->numa_domains;
    ctn_region_t *tables = &sim->tables;
    uint32_t *in_domain = ctn_region_take(tables, domains, sizeof(*in_domain));
    sim->domain = ctn_region_take(tables, domains, sizeof(*sim->domain));
    sim_copy_t *copy = ctn_region_take(tables, sim->ranks, sizeof(*copy));
    if (machine->shared_cores > 0) {
        sim->core =
            ctn_region_take(tables, machine->shared_cores, sizeof(*sim->core));
    }
    if (tables->failed) {
        return;
    }
    assign_cores(sim, in_domain);
    if (sim->core != NULL) {
        join_cores(sim);
    }
    for (size_t d = 0; d < domains; d++) {
        sim->domain[d].copy = copy;
        copy += in_domain[d];
    }
}
