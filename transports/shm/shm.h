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

/** Publish this process's entry.
 * @param offset of `own` in the arena
 * @param accessible the others may access any memory of this process */
void ctn_shm_publish(ctn_transport_t *transport, ctn_attach_t *own,
                     uint64_t offset, bool accessible);
/** Find out whether this process can access the memory of the others, which
 * have all published.
 * @return 0, or why not: an errno */
int ctn_shm_probe(ctn_transport_t *transport);

/** The endpoint of the i-th process. */
ctn_endpoint_t *ctn_shm_endpoint(ctn_transport_t *transport, size_t i);

#endif
