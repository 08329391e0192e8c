#ifndef CTN_SHM_SHM_H
#define CTN_SHM_SHM_H

#include "transports/transport.h"

/* The transport of the node. Every process's arena is mapped here, so an
 * endpoint is a pointer, a put is a copy and a signal is a store, inlined by
 * transport.h. */

/** @param processes  world ranks of the processes on the node, `count`
 *  @param arenas     where each one's arena is mapped here; must outlive it
 *  @return NULL: no memory */
ctn_transport_t *ctn_shm_create(size_t count, const uint32_t *processes,
                                unsigned char *const *arenas);

/** The endpoint of the i-th process. */
ctn_endpoint_t *ctn_shm_endpoint(ctn_transport_t *transport, size_t i);

#endif
