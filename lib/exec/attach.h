#ifndef CTN_EXEC_ATTACH_H
#define CTN_EXEC_ATTACH_H

#include "core/tiny.h"
#include "exec/deaths.h"

/* Data that lie in any memory of a process of the node, and are read or written
 * there by another one, where the transport can (cross-memory attach). */

/** The fewest bytes that go this way; more where calls of the system take long
 * (may_access). */
#define CTN_ATTACH_BYTES CTN_PICK(8192u, 256u)

/** Whether a peer may be given the address of `bytes` of this process. The peer
 * then uses it without asking. */
static inline bool ctn_may_attach(const ctn_exec_t *exec,
                                  ctn_endpoint_t *endpoint, size_t bytes)
{
    return bytes >= CTN_ATTACH_BYTES && exec->single_copy &&
           ctn_may_access(endpoint, bytes);
}

/** Write user data to an address of a peer, which has offered it.
 * @return ERR_PEER: it is gone; ERR_SYSTEM: that does not work, and the peer's
 *         memory may hold a part of the data */
static inline catena_status_t ctn_attach_write(const ctn_exec_t *exec,
                                               ctn_endpoint_t *peer,
                                               const void *data, size_t bytes,
                                               uint64_t address)
{
    return peer->transport->ops->write(peer, ctn_exec_data(exec, data), bytes,
                                       address);
}

/** Read user data at an address of a peer, which waits until they are read. On
 * failure the context ends; or, where failures are returned and the peer is
 * gone, its groups fail, and with them the operation that reads.
 * @return whether they are there */
static inline bool ctn_attach_read(ctn_exec_t *exec, ctn_endpoint_t *peer,
                                   void *into, size_t bytes, uint64_t address)
{
    catena_status_t status = peer->transport->ops->read(
        peer, exec->drop_data ? NULL : into, bytes, address);
    if (status == CATENA_ERR_PEER && exec->deaths != NULL) {
        ctn_deaths_found(exec, peer->process);
    } else if (status != CATENA_OK) {
        (void)ctn_exec_abort(exec, status);
    }
    return status == CATENA_OK;
}

#endif
