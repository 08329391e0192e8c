/* The simulator's own memory for messages under way, which is never refused.
 * For programs that are linked with --wrap=sim_hold and ctn_queue_push. */

#include "refusal.h"

#include "transports/sim/engine.h"

void __wrap_sim_hold(ctn_sim_t *sim, sim_event_t *message);
void __real_sim_hold(ctn_sim_t *sim, sim_event_t *message);
bool __wrap_ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                           void *event);
bool __real_ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                           void *event);

void __wrap_sim_hold(ctn_sim_t *sim, sim_event_t *message)
{
    bool armed = refusal.armed;
    refusal.armed = false;
    __real_sim_hold(sim, message);
    refusal.armed = armed;
}

bool __wrap_ctn_queue_push(ctn_queue_t *queue, uint64_t time, uint64_t order,
                           void *event)
{
    bool armed = refusal.armed;
    refusal.armed = false;
    bool pushed = __real_ctn_queue_push(queue, time, order, event);
    refusal.armed = armed;
    return pushed;
}
