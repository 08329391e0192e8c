/* The order of steps, chosen by the caller: see choose in catena/sim.h. */

#include <stdlib.h>
#include <string.h>

#include "transports/sim/engine.h"

/** A step, and where its event is. */
typedef struct option {
    catena_sim_step_t step;
    uint64_t time, order;
    size_t index; /* in the queue */
} option_t;

/** The number of kinds, sources and ranks, each of which has a counter. */
static size_t counters(const ctn_sim_t *sim)
{
    return ((size_t)sim->ranks + 1) * sim->ranks * (CATENA_SIM_DIES + 1);
}

static uint64_t *counter(const ctn_sim_t *sim, const catena_sim_step_t *step)
{
    size_t source = (size_t)(step->source + 1);
    return &sim->steps[((size_t)step->kind * (sim->ranks + 1) + source) *
                           sim->ranks +
                       (size_t)step->rank];
}

/** Describe an event. @return false: it is no step that a living rank sees */
static bool describe(const ctn_sim_t *sim, const sim_event_t *event,
                     catena_sim_step_t *step)
{
    if (sim->rank[event->target].frozen) {
        return false;
    }
    *step = (catena_sim_step_t){.source = -1, .rank = (int)event->target};
    switch ((sim_kind_t)event->kind) {
    case SIM_RUN:
    case SIM_TIMER:
        step->kind = CATENA_SIM_RUNS;
        break;
    case SIM_SENT:
        step->kind = CATENA_SIM_SENT;
        break;
    case SIM_ARRIVE:
    case SIM_STORE:
        step->kind = CATENA_SIM_ARRIVES;
        step->source = (int)event->source;
        step->wide = event->to_node;
        break;
    case SIM_DEATH:
        step->kind = CATENA_SIM_LEARNS;
        step->source = (int)event->source;
        break;
    case SIM_LEAF:
    case SIM_HEAD:
    case SIM_TAKEN:
    case SIM_COPIED:
    case SIM_ABORT:
        return false;
    }
    step->number = *counter(sim, step);
    return true;
}

static bool is_before(const option_t *a, const option_t *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static int compare(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : 1;
}

/** Add an option, unless an earlier one of the same kind, source and rank is
 * there; it replaces a later one. */
static void add(option_t *options, size_t *count, const option_t *option)
{
    for (size_t i = 0; i < *count; i++) {
        const catena_sim_step_t *step = &options[i].step;
        if (step->kind == option->step.kind &&
            step->source == option->step.source &&
            step->rank == option->step.rank) {
            if (is_before(option, &options[i])) {
                options[i] = *option;
            }
            return;
        }
    }
    options[(*count)++] = *option;
}

/** List what may come next. A timeout of a rank may only if nothing else can.
 * @return the index of the first event that no rank sees, which comes before;
 * or SIZE_MAX */
static size_t list(const ctn_sim_t *sim, option_t *options, size_t *count)
{
    const ctn_queue_entry_t *entry = sim->queue.item;
    option_t unseen = {.time = UINT64_MAX, .index = SIZE_MAX};
    for (int timers = 0; timers < 2 && *count == 0; timers++) {
        for (size_t i = 0; i < sim->queue.count; i++) {
            const sim_event_t *event = entry[i].event;
            option_t option = {
                .time = entry[i].time, .order = entry[i].order, .index = i};
            if (!describe(sim, event, &option.step)) {
                unseen = is_before(&option, &unseen) ? option : unseen;
            } else if ((event->kind == SIM_TIMER) == (timers == 1)) {
                add(options, count, &option);
            }
        }
    }
    if (unseen.index != SIZE_MAX) {
        return unseen.index;
    }
    qsort(options, *count, sizeof(*options), compare);
    return SIZE_MAX;
}

/** Append the deaths that may come next. @return how many steps there are */
static size_t list_deaths(const ctn_sim_t *sim, catena_sim_step_t *steps,
                          size_t count)
{
    for (uint32_t r = 0;
         sim->deaths < (uint32_t)sim->params.deaths && r < sim->ranks; r++) {
        if (sim->rank[r].state != SIM_ENDED && !sim->rank[r].killed) {
            steps[count++] = (catena_sim_step_t){
                .kind = CATENA_SIM_DIES, .source = -1, .rank = (int)r};
        }
    }
    return count;
}

/** Let the caller choose from the options.
 * @param      steps space for them and a death of each rank
 * @param[out] index of the event; not set: a rank has died
 * @return false: end the run */
static bool ask(ctn_sim_t *sim, const option_t *options, size_t count,
                catena_sim_step_t *steps, size_t *index)
{
    for (size_t i = 0; i < count; i++) {
        steps[i] = options[i].step;
    }
    size_t all = list_deaths(sim, steps, count);
    int choice = sim->params.choose(sim->params.choose_argument, all, steps);
    if (choice < 0 || (size_t)choice >= all) {
        return false;
    }
    ++*counter(sim, &steps[choice]);
    if ((size_t)choice < count) {
        *index = options[choice].index;
    } else {
        sim_kill(sim, (uint32_t)steps[choice].rank);
    }
    return true;
}

bool sim_choose(ctn_sim_t *sim, ctn_queue_entry_t *next)
{
    size_t count = 0, index = SIZE_MAX, most = sim->queue.count;
    if (sim->steps == NULL) {
        sim->steps = calloc(counters(sim), sizeof(*sim->steps));
    }
    option_t *options = calloc(most, sizeof(*options));
    catena_sim_step_t *steps = calloc(most + sim->ranks, sizeof(*steps));
    bool chosen = sim->steps != NULL && options != NULL && steps != NULL;
    *next = (ctn_queue_entry_t){.event = NULL};
    if (!chosen) {
        sim_no_memory(sim);
    } else if ((index = list(sim, options, &count)) == SIZE_MAX) {
        chosen = ask(sim, options, count, steps, &index);
    }
    if (chosen && index != SIZE_MAX) {
        *next = ctn_queue_take(&sim->queue, index);
        /* A step that is late does not turn back the time. */
        next->time = next->time > sim->now ? next->time : sim->now;
    }
    free(options);
    free(steps);
    return chosen;
}
