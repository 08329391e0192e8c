#ifndef CTN_EXEC_ATTACH_H
#define CTN_EXEC_ATTACH_H

#include "core/tiny.h"
#include "exec/deaths.h"
#include "exec/span.h"

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

/* Where data or a buffer lie in a process of the node, as others are told: an
 * offset in its arena; with CTN_BY_ADDRESS an address; CTN_STAGED: others must
 * not access it. */
#define CTN_BY_ADDRESS (UINT64_C(1) << 63)
/** The largest offset or address. Users may set bits 61 and 62. */
#define CTN_PLACE_MOST ((UINT64_C(1) << 61) - 1)

static inline bool ctn_is_address(uint64_t place)
{
    return place != CTN_STAGED && (place & CTN_BY_ADDRESS) != 0;
}

/** Where a peer can read data of this process. */
static inline uint64_t ctn_place_for(const ctn_exec_t *exec,
                                     ctn_endpoint_t *peer, const void *data,
                                     size_t bytes)
{
    uint64_t offset;
    if (ctn_heap_contains(exec->heap, data, bytes, &offset)) {
        return offset;
    }
    return (uintptr_t)data <= CTN_PLACE_MOST &&
                   ctn_may_attach(exec, peer, bytes)
               ? (uintptr_t)data | CTN_BY_ADDRESS
               : CTN_STAGED;
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

/** Read data that are contiguous at a place of a peer into a span.
 * @return whether they are there, as ctn_attach_read */
bool ctn_read_place(ctn_exec_t *exec, ctn_endpoint_t *peer, uint64_t place,
                    const ctn_span_t *into);

#endif
