#ifndef CTN_NEIGHBOR_CALL_PERSISTENT_H
#define CTN_NEIGHBOR_CALL_PERSISTENT_H

#include "neighbor/call/executor.h"

/** Gives a persistent request links of its own. Its state is set except for
 * what ctn_exchange_prepare does. A detached operation of the neighborhood
 * connects the links, so requests match in the order of initialization; starts
 * wait for it. If there is no memory, everything is aborted. */
catena_status_t ctn_neighbor_own_links(ctn_op_t *op);

#endif
