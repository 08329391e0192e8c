#ifndef CTN_SIMULATED_H
#define CTN_SIMULATED_H

#include "context.h"

/* Steps by which a context of a simulated rank joins its job. The simulator is
 * not a part of the library: see transports/simulator.h. */

/** Take boot values, heap and transports from the simulator. */
catena_status_t ctn_simulated_join(catena_context_t *context);

/** Tell exec which data the simulation leaves out. */
catena_status_t ctn_simulated_payload(catena_context_t *context);

#endif
