#ifndef CTN_SHM_SHM_H
#define CTN_SHM_SHM_H

#include "transports/transport.h"

/* The transport of the node. The arenas of all its processes are mapped in this
 * process, so an endpoint is a pointer, a put is a copy and a signal is a
 * store. The functions in transport.h do them inline. */

/** Create the transport of a node.
 *  @param processes  [count]: world ranks of the processes on the node
 *  @param arenas     [count]: where their arenas are mapped in this process;
 * the mappings must outlive the transport
 *  @return NULL: no memory */
ctn_transport_t *ctn_shm_create(size_t count, const uint32_t *processes,
                                unsigned char *const *arenas);

/** The endpoint of the i-th process. */
ctn_endpoint_t *ctn_shm_endpoint(ctn_transport_t *transport, size_t i);

#endif
