/* The engine: handles events in the order of time. An event may let a rank run.
 */

#include "transports/sim/engine.h"

#include <stdlib.h>
#include <string.h>

#include "core/random.h"

/* ---- events ---- */

/* Events are allocated in slabs of so many. */
enum { SLAB_EVENTS = 500 };

/* With `reorder` a rank stops at one of so many stores and puts. */
enum { STOPS_ONE_IN = 16 };

/** End the run with `status`; the running rank does not continue. */
static void end_run(ctn_sim_t *sim, catena_status_t status)
{
    sim->broken = status;
    sim->aborted = true;
    if (sim->running != NULL) {
        sim_suspend(sim->running, SIM_BLOCKED);
    }
}

void sim_no_memory(ctn_sim_t *sim)
{
    if (sim->broken == CATENA_OK) {
        ctn_error(NULL, "simulator: no memory for more events; reduce "
                        "the job");
    }
    end_run(sim, CATENA_ERR_NO_MEMORY);
}

static void too_long(ctn_sim_t *sim, double ps, double most_ps)
{
    if (sim->broken == CATENA_OK) {
        ctn_error(NULL,
                  "simulator: a duration at %.3f us is %g s; expected at "
                  "most %g s (check delays and computation times)",
                  (double)sim->now * 1e-6, ps * 1e-12, most_ps * 1e-12);
    }
    end_run(sim, CATENA_ERR_ARG);
}

uint64_t sim_ps(ctn_sim_t *sim, double ps)
{
    const double most_ps = SIM_LONGEST_PS;
    if (!(ps <= most_ps)) {
        too_long(sim, ps, most_ps);
        return 0;
    }
    return (uint64_t)ps;
}

sim_event_t *sim_event(ctn_sim_t *sim, sim_kind_t kind, uint32_t target)
{
    sim_event_t *event =
        ctn_pool_get(&sim->free_events, sizeof(*event), SLAB_EVENTS);
    if (event == NULL) {
        sim_no_memory(sim);
        /* Only the engine itself gets here, between two events. The loop ends
         * before it reads this one. */
        static const sim_event_t none = {0};
        sim->spare = none;
        return &sim->spare;
    }
    memset(event, 0, offsetof(sim_event_t, small));
    event->kind = (uint8_t)kind;
    event->target = target;
    return event;
}

void sim_recycle(ctn_sim_t *sim, sim_event_t *event)
{
    free(event->held);
    ctn_pool_put(&sim->free_events, event);
}

void sim_push(ctn_sim_t *sim, uint64_t time, sim_event_t *event)
{
    uint64_t order = sim->order++;
    if (sim->params.reorder) {
        order = ctn_random(&sim->random);
    }
    if (!ctn_queue_push(&sim->queue, time, order, event)) {
        sim_no_memory(sim);
    } else if (time > SIM_LATEST_PS) {
        too_long(sim, (double)time, (double)SIM_LATEST_PS);
    }
}

/* ---- random numbers ---- */

uint64_t sim_jitter(ctn_sim_rank_t *rank, double ps)
{
    double jitter = rank->sim->params.jitter;
    if (jitter > 0) {
        double drawn = ctn_random_real(&rank->random);
        ps *= 1 + jitter * drawn;
    }
    return sim_ps(rank->sim, ps + 0.5);
}

/* ---- ranks ---- */

static void tell_end(ctn_sim_t *sim, const ctn_sim_rank_t *rank);

/** The entry function of a rank's fiber. */
static void run_rank(void *argument)
{
    ctn_sim_rank_t *rank = argument;
    ctn_sim_t *sim = rank->sim;
    ctn_fiber_begin(&rank->fiber, &sim->main);
    sim->program(rank, sim->argument);
    rank->state = SIM_ENDED;
    (void)sim_deliver(rank);
    sim->ended++;
    sim->last_end = rank->clock > sim->last_end ? rank->clock : sim->last_end;
    if (!rank->killed) {
        tell_end(sim, rank);
    }
    ctn_fiber_switch(&rank->fiber, &sim->main, 1);
}

void sim_suspend(ctn_sim_rank_t *rank, sim_state_t state)
{
    ctn_sim_t *sim = rank->sim;
    if (rank != sim->running) {
        ctn_error(NULL,
                  "simulator: rank %u uses the context of rank %u; all ranks "
                  "share static variables, so keep the context in a variable "
                  "of the simulated program's function",
                  sim->running->rank, rank->rank);
        end_run(sim, CATENA_ERR_ARG);
    }
    rank->state = (uint8_t)state;
    ctn_fiber_switch(&rank->fiber, &sim->main, 0);
}

void sim_catch_up(ctn_sim_rank_t *rank)
{
    ctn_sim_t *sim = rank->sim;
    sim_push(sim, rank->clock, sim_event(sim, SIM_RUN, rank->rank));
    sim_suspend(rank, SIM_BLOCKED);
}

void sim_stop(ctn_sim_rank_t *rank)
{
    ctn_sim_t *sim = rank->sim;
    if (!sim->params.reorder || rank->status != CATENA_OK) {
        return;
    }
    uint64_t drawn = ctn_random(&rank->random);
    if (drawn % STOPS_ONE_IN == 0) {
        double latency_ps = sim->machine->latency_ns * PS;
        double part = (double)(1 + drawn / 256 % 8) / 8;
        rank->clock +=
            sim_ps(sim, latency_ps * part * (double)(1u << drawn / 65536 % 5));
        sim_catch_up(rank);
    }
}

/** End the run if the rank's stack has overflowed: then it has overwritten the
 * stack of another rank, and the state is invalid. */
static void check_stack(ctn_sim_t *sim, const ctn_sim_rank_t *rank)
{
    const unsigned char *pointer = rank->fiber.stack_pointer;
    if ((rank->state == SIM_ENDED && ctn_fiber_overflowed(&rank->fiber)) ||
        (rank->state != SIM_ENDED && pointer < rank->fiber.stack)) {
        ctn_error(NULL,
                  "simulator: rank %u overflowed its stack of %zu bytes; "
                  "increase stack_bytes",
                  rank->rank, sim->stack_bytes);
        sim->aborted = true;
    }
}

void sim_resume(ctn_sim_t *sim, ctn_sim_rank_t *rank)
{
    if (rank->frozen) {
        return;
    }
    if (!sim_take_core(sim, rank)) {
        return; /* it has an event for when the core is free */
    }
    if (rank->clock < sim->now) {
        rank->clock = sim->now;
    }
    rank->clock += rank->due;
    rank->due = 0;
    rank->asks = false;
    rank->turns++;
    rank->state = SIM_RUNNING;
    sim->running = rank;
    ctn_fiber_switch(&sim->main, &rank->fiber, 0);
    sim->running = NULL;
    sim_leave_core(sim, rank);
    check_stack(sim, rank);
}

void sim_run_at(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint64_t time)
{
    rank->state = SIM_READY;
    sim_push(sim, time, sim_event(sim, SIM_RUN, rank->rank));
}

void sim_notify(ctn_sim_t *sim, ctn_sim_rank_t *rank)
{
    uint64_t time = rank->clock > sim->now ? rank->clock : sim->now;
    if (rank->state != SIM_SLEEPING) {
        rank->notified = true;
    } else if (time > sim->now || sim->params.choose != NULL) {
        sim_run_at(sim, rank, time); /* as late as the caller chooses */
    } else {
        sim_resume(sim, rank);
    }
}

/* ---- termination ---- */

/** All remaining ranks learn that the job has failed. */
static void abandon(ctn_sim_t *sim, catena_status_t status)
{
    for (uint32_t r = 0; r < sim->ranks && !sim->aborted; r++) {
        ctn_sim_rank_t *rank = &sim->rank[r];
        if (rank->state == SIM_ENDED) {
            continue;
        }
        if (rank->status == CATENA_OK) {
            rank->status = status;
        }
        sim_notify(sim, rank);
    }
}

void sim_abandon(ctn_sim_rank_t *rank, catena_status_t status)
{
    ctn_sim_t *sim = rank->sim;
    const uint64_t abort_ps = UINT64_C(1000000000); /* a millisecond */
    sim_event_t *abort_event = sim_event(sim, SIM_ABORT, 0);
    abort_event->value = (uint64_t)-status;
    rank->status = status;
    sim_push(sim, sim->now + abort_ps, abort_event);
}

void sim_learns(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint32_t other)
{
    const uint64_t soon_ps = UINT64_C(1000000000); /* a millisecond */
    sim_event_t *event = sim_event(sim, SIM_DEATH, rank->rank);
    event->source = other;
    event->to_node = !sim->rank[other].killed;
    sim_push(sim, sim->now + ctn_random(&sim->random) % soon_ps, event);
}

static bool make_ends(ctn_sim_t *sim, ctn_sim_rank_t *rank)
{
    if (rank->ends == NULL) {
        rank->ends = calloc(sim->ranks, 1);
        if (rank->ends == NULL) {
            sim_no_memory(sim);
        }
    }
    return rank->ends != NULL;
}

void sim_cut(ctn_sim_t *sim, ctn_sim_rank_t *rank, uint32_t source)
{
    if (rank->died != NULL && make_ends(sim, rank)) {
        rank->ends[source] |= SIM_END_CUT;
    }
}

/** Handle the event SIM_DEATH. */
static void learn_end(ctn_sim_t *sim, const sim_event_t *event)
{
    ctn_sim_rank_t *rank = &sim->rank[event->target];
    if (rank->state == SIM_ENDED || rank->killed || !make_ends(sim, rank)) {
        return;
    }
    rank->ends[event->source] |= (uint8_t)(SIM_END_NEWS | SIM_END_CUT |
                                           (event->to_node ? SIM_END_LEFT : 0));
    rank->deaths = true;
    sim_notify(sim, rank);
}

void sim_tell_deaths(ctn_sim_rank_t *rank)
{
    rank->deaths = false;
    for (uint32_t r = 0; r < rank->sim->ranks; r++) {
        uint8_t ends = rank->ends[r];
        if ((ends & SIM_END_NEWS) != 0) {
            rank->ends[r] = (uint8_t)((ends & ~SIM_END_NEWS) | SIM_END_TOLD);
            rank->died(rank->died_argument, r, (ends & SIM_END_LEFT) != 0);
        }
    }
}

/** All ranks learn that this one has died or ended, each at its own time. */
static void tell_end(ctn_sim_t *sim, const ctn_sim_rank_t *rank)
{
    for (uint32_t r = 0; rank->died != NULL && r < sim->ranks; r++) {
        if (r != rank->rank && sim->rank[r].state != SIM_ENDED) {
            sim_learns(sim, &sim->rank[r], rank->rank);
        }
    }
}

void sim_kill(ctn_sim_t *sim, uint32_t killed)
{
    ctn_sim_rank_t *rank = &sim->rank[killed];
    if (rank->state == SIM_ENDED || rank->killed) {
        return;
    }
    sim->status = CATENA_ERR_PEER;
    sim->deaths++;
    rank->killed = true;
    if (rank->died == NULL) {
        sim_abandon(rank, CATENA_ERR_PEER);
        sim_notify(sim, rank);
        return;
    }
    rank->status = CATENA_ERR_PEER;
    rank->frozen = true;
    sim->frozen++;
    /* It takes no message any more. It may be taking the first one. */
    for (sim_event_t *message = rank->arrived; message != NULL;
         message = message->other) {
        sim_delivered(sim, &sim->rank[message->source]);
        message->node = SIM_NO_NODE;
    }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        if (r != killed && sim->rank[r].died == NULL) {
            sim_abandon(rank, CATENA_ERR_PEER); /* while it joins */
            break;
        }
    }
    tell_end(sim, rank);
}

/** All ranks that live have ended: those that were killed run on, with an
 * error, and free what they hold. */
static void thaw(ctn_sim_t *sim)
{
    for (uint32_t r = 0; sim->frozen > 0 && r < sim->ranks; r++) {
        ctn_sim_rank_t *rank = &sim->rank[r];
        if (rank->frozen) {
            rank->frozen = false;
            sim->frozen--;
            sim_run_at(sim, rank, sim->now);
        }
    }
}

/** Wake all waiting ranks. */
static void wake_stalled(ctn_sim_t *sim)
{
    sim->stalls++;
    for (uint32_t r = 0; r < sim->ranks; r++) {
        if (sim->rank[r].state == SIM_SLEEPING) {
            sim->rank[r].stalls = true;
            sim_run_at(sim, &sim->rank[r], sim->now);
        }
    }
}

/** There are no more events, but ranks wait: the simulator's form of a long
 * wait. Let the ranks check their peers; after MAX_STALLS times end the run. */
static bool all_stuck(ctn_sim_t *sim)
{
    enum { MAX_STALLS = 4 };
    if (sim->stalls < MAX_STALLS) {
        wake_stalled(sim);
        return true;
    }
    if (sim->status == CATENA_ERR_STATE) {
        return false;
    }
    ctn_error(NULL, "simulator: deadlock at %.3f us: %u of %u ranks wait",
              (double)sim->now * 1e-6, sim->ranks - sim->ended, sim->ranks);
    sim_explain(sim);
    sim->status = CATENA_ERR_STATE;
    abandon(sim, CATENA_ERR_TRANSPORT);
    return true;
}

/* ---- the loop ---- */

/** Kill the ranks whose event has come. */
static void kill_at(ctn_sim_t *sim)
{
    for (size_t i = 0; i < sim->params.kill_count; i++) {
        if (sim->events == sim->params.kills[i].event) {
            sim_kill(sim, (uint32_t)sim->params.kills[i].rank);
        }
    }
}

static void handle(ctn_sim_t *sim, sim_event_t *event)
{
    ctn_sim_rank_t *rank;
    if (event->kind != SIM_RUN) {
        sim->stalls = 0;
    }
    switch ((sim_kind_t)event->kind) {
    case SIM_RUN:
    case SIM_TIMER:
        rank = &sim->rank[event->target];
        if (event->kind == SIM_RUN ||
            (rank->state == SIM_SLEEPING && rank->turns == event->number)) {
            sim_recycle(sim, event);
            sim_resume(sim, rank);
            return;
        }
        break;
    case SIM_LEAF:
        sim_leaf(sim, event); /* the same event continues as HEAD */
        return;
    case SIM_HEAD:
        sim_head(sim, event); /* the same event continues as ARRIVE */
        return;
    case SIM_ARRIVE:
        sim_arrive(sim, event); /* it may continue as TAKEN */
        return;
    case SIM_TAKEN:
        if (event->node != SIM_NO_NODE) {
            sim_delivered(sim, &sim->rank[event->source]);
        }
        break;
    case SIM_SENT:
        sim_sent(sim, event);
        break;
    case SIM_STORE:
        sim_stored(sim, event);
        break;
    case SIM_COPIED:
        sim_copied(sim, event);
        break;
    case SIM_DEATH:
        learn_end(sim, event);
        break;
    case SIM_ABORT:
        abandon(sim, (catena_status_t) - (int64_t)event->value);
        break;
    }
    sim_recycle(sim, event);
}

catena_status_t ctn_sim_go(ctn_sim_t *sim,
                           void (*program)(ctn_sim_rank_t *rank,
                                           void *argument),
                           void *argument)
{
    sim->program = program;
    sim->argument = argument;
    for (uint32_t r = 0; r < sim->ranks; r++) {
        size_t shift = r % 16 * 64; /* stacks in different cache sets */
        ctn_fiber_make(&sim->rank[r].fiber,
                       sim->stacks + ((size_t)r + 1) * sim->stack_bytes,
                       sim->stack_bytes - shift, run_rank, &sim->rank[r]);
        sim_run_at(sim, &sim->rank[r], 0);
    }
    while (sim->ended < sim->ranks && !sim->aborted) {
        if (sim->ended + sim->frozen == sim->ranks) {
            thaw(sim);
        }
        if (sim->queue.count == 0) {
            if (!all_stuck(sim)) {
                break;
            }
            continue;
        }
        ctn_queue_entry_t next;
        if (sim->params.choose == NULL) {
            next = ctn_queue_pop(&sim->queue);
        } else if (!sim_choose(sim, &next)) {
            sim->aborted = true;
            break;
        }
        if (next.event == NULL) {
            continue;
        }
        sim->now = next.time;
        sim->events++;
        kill_at(sim);
        handle(sim, next.event);
    }
    if (sim->broken != CATENA_OK) {
        return sim->broken;
    }
    return sim->aborted ? CATENA_ERR_SYSTEM : sim->status;
}

void ctn_sim_abort(ctn_sim_rank_t *rank, int code)
{
    rank->sim->aborted = true;
    rank->sim->abort_code = code;
    for (;;) {
        sim_suspend(rank, SIM_BLOCKED);
    }
}

void sim_release_events(ctn_sim_t *sim)
{
    while (sim->queue.count > 0) {
        sim_event_t *event = ctn_queue_pop(&sim->queue).event;
        free(event->held);
    }
    ctn_vector_drop(&sim->queue);
    ctn_pool_drop(&sim->free_events);
}
