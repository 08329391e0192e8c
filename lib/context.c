/* Public functions of a context between its creation and its destruction. */

#include "context.h"

#include <catena/catena.h>
#include <stdio.h>

#include "boot/boot.h"
#include "coll/barrier.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "exec/progress_thread.h"
#include "group/recovery.h"
#include "simulated.h"
#include "topo/topo.h"
#include "transports/simulator.h"

catena_group_t *catena_world(const catena_context_t *context)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        (void)CTN_REFUSE_NULL(NULL, context);
        return NULL;
    }
    return context->world;
}

/** The group is created when it is first asked for: most programs do not use
 * it, and it has a control block. Its chain needs no messages. */
catena_group_t *catena_self(catena_context_t *context)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        (void)CTN_REFUSE_NULL(NULL, context);
        return NULL;
    }
    if (context->self != NULL) {
        return context->self;
    }
    catena_group_t *self;
    if (ctn_group_create(context->exec, 1, &self) != CATENA_OK) {
        return NULL;
    }
    self->permanent = true;
    ctn_barrier_set_hooks(self);
    self->chain.place.size = 1;
    self->chain.place.left = self->chain.place.right = CTN_NO_ADDRESS;
    if (ctn_recovery_of_world(self) != CATENA_OK) {
        ctn_group_release(self);
        return NULL;
    }
    context->self = self;
    return self;
}

void catena_abort(catena_context_t *context, int code)
{
    char message[64];
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        if (catena_last_error()[0] == '\0') { /* else that is the reason */
            ctn_error(NULL, "catena_abort(%d) without a context", code);
        }
        ctn_boot_abort(NULL, code, NULL);
    }
    if (context->sim == NULL) {
        ctn_entry_keep_out();
    }
    snprintf(message, sizeof(message), "rank %d called catena_abort(%d)",
             context->log.rank, code);
    ctn_error(&context->log,
              "catena_abort: this rank ends the job with code "
              "%d",
              code);
    if (context->exec->observer != NULL) {
        ctn_observe_end(context->exec);
    }
    if (context->sim != NULL) {
        ctn_simulator_of(context->sim)->abort(context->sim, code);
    }
    ctn_boot_abort(context->boot, code, message);
}

catena_status_t catena_progress(catena_context_t *context)
{
    CTN_ENTRY;
    return !CTN_UNUSABLE(context, CTN_CONTEXT)
               ? ctn_exec_progress(context->exec)
               : ctn_refuse_handle(__func__, "context", context);
}

double catena_time(const catena_context_t *context)
{
    return !CTN_UNUSABLE(context, CTN_CONTEXT)
               ? (double)ctn_exec_time(context->exec) * 1e-9
               : 0;
}

/** Meanwhile the lock was free. */
static void show_compute(ctn_exec_t *exec, uint64_t began)
{
    CTN_ENTRY;
    ctn_observe_ends(exec, began, "compute", 0);
}

catena_status_t catena_compute(catena_context_t *context, double seconds)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return CTN_REFUSE_NULL(NULL, context);
    }
    if (!(seconds >= 0 && seconds <= CTN_SIM_LONGEST_S)) {
        return ctn_refuse(&context->log, CATENA_ERR_ARG, __func__,
                          "%g seconds; expected 0 to %g", seconds,
                          (double)CTN_SIM_LONGEST_S);
    }
    uint64_t began = ctn_observe_begins(context->exec);
    if (context->sim != NULL) {
        ctn_simulator_of(context->sim)
            ->compute(context->sim, seconds,
                      context->exec->polled_apart ? ctn_progress_while_computing
                                                  : NULL,
                      context->exec);
    } else {
        double until = catena_time(context) + seconds;
        while (catena_time(context) < until) {
        }
    }
    show_compute(context->exec, began);
    return CATENA_OK;
}

static const ctn_sized_t place_struct = CTN_SIZED(catena_place_t, network);

catena_status_t catena_get_place(const catena_context_t *context,
                                 catena_place_t *place)
{
    if (CTN_UNUSABLE(context, CTN_CONTEXT) || place == NULL) {
        return CTN_REFUSE_NULL(ctn_log_of(context), context, place);
    }
    const ctn_topo_t *topo = ctn_topo_of(context->world);
    const catena_place_t own = {
        .rank = (int)context->boot->rank,
        .ranks = (int)context->boot->size,
        .node = (int)topo->node_index,
        .nodes = (int)topo->nodes,
        .local_rank = (int)context->boot->local_rank,
        .local_size = (int)context->boot->local_size,
        .numa = context->locality.numa,
        .hostname = context->boot->node,
        .launcher =
            context->sim != NULL ? "simulator" : ctn_boot_name(context->boot),
        .network = context->network != NULL
                       ? context->network->ops->describe(context->network)
                       : "none",
    };
    return ctn_sized_write(__func__, &context->log, &place_struct, &own, place);
}

catena_status_t catena_node_fence(catena_context_t *context)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(context, CTN_CONTEXT)) {
        return CTN_REFUSE_NULL(NULL, context);
    }
    return ctn_group_run(context->world, ctn_fence_create(context->world));
}
