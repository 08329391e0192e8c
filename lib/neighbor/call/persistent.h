#ifndef CTN_NEIGHBOR_CALL_PERSISTENT_H
#define CTN_NEIGHBOR_CALL_PERSISTENT_H

#include "neighbor/call/executor.h"

/** Gives a persistent request links of its own, and an execution. The call is
 * validated. A detached operation of the neighborhood connects the links, so
 * requests match in the order of initialization; a start waits for that
 * operation. If there is no memory, all operations are aborted. */
catena_status_t ctn_neighbor_own_links(ctn_op_t *op);

#endif
