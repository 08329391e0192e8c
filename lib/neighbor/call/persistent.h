#ifndef CTN_NEIGHBOR_CALL_PERSISTENT_H
#define CTN_NEIGHBOR_CALL_PERSISTENT_H

#include "neighbor/call/executor.h"

/** Have a persistent request run on links of its own: its state is set but for
 * what ctn_exchange_prepare does. These links are connected by a detached
 * operation of the neighborhood, so requests match in the order in which they
 * are initialized; starts wait for that. Without memory for it all ends. */
catena_status_t ctn_neighbor_own_links(ctn_op_t *op);

#endif
