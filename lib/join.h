#ifndef CTN_JOIN_H
#define CTN_JOIN_H

#include "context.h"

/** Join the job: find it, share the heap of the node, connect, create the
 * world. After an error the context is still to be left. */
catena_status_t ctn_join(catena_context_t *context);

/** Undo the steps of ctn_join in reverse order, and free the context. */
void ctn_leave(catena_context_t *context);

#endif
