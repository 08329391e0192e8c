#ifndef CTN_SHM_ENDPOINTS_H
#define CTN_SHM_ENDPOINTS_H

#include "transports/shm/shm.h"

/* Internal to this folder. */

typedef struct shm_transport {
    ctn_transport_t base; /* first: this is a ctn_transport_t */
    ctn_attach_t *own;    /* NULL: not published */
    uint64_t attach;      /* offset of a ctn_attach_t in every arena */
    size_t count;
    ctn_endpoint_t endpoint[]; /* [count], to the processes of the node */
} shm_transport_t;

/* attach.c; see transport.h */
catena_status_t shm_write(ctn_endpoint_t *endpoint, const void *source,
                          size_t bytes, uint64_t address);
catena_status_t shm_read(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                         uint64_t address);
bool shm_may_access(ctn_endpoint_t *endpoint, size_t bytes);

#endif
