#ifndef CTN_SIMULATED_H
#define CTN_SIMULATED_H

#include "context.h"

/* Steps by which the context of a simulated rank joins its job. The simulator
 * is a library of its own: see transports/simulator.h. */

/** The hash of the last message of the ranks of a simulated job (ctn_log_t). */
uint64_t *ctn_simulated_last_message(const catena_context_t *context);

/** Take from the simulator the rank's place in the job, heap and transports. */
catena_status_t ctn_simulated_join(catena_context_t *context);

/** Tell exec which data the simulation leaves out. */
catena_status_t ctn_simulated_payload(catena_context_t *context);

#endif
