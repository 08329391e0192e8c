#ifndef CTN_SHM_ENDPOINTS_H
#define CTN_SHM_ENDPOINTS_H

#include "transports/shm/shm.h"

/* Internal to this folder. */

typedef struct shm_transport {
    ctn_transport_t base;     /* first: this is a ctn_transport_t */
    ctn_attach_t *own;        /* NULL: not published */
    uint64_t attach;          /* offset of a ctn_attach_t in every arena */
    ctn_death_handler_t died; /* NULL: deaths are not watched */
    void *died_argument;
    int *pidfds; /* [count]; less than 0: see watch.c */
    size_t count;
    ctn_endpoint_t endpoint[]; /* [count], to the processes of the node */
} shm_transport_t;

static inline const ctn_attach_t *shm_entry_of(const ctn_endpoint_t *endpoint)
{
    uint64_t offset = ((const shm_transport_t *)endpoint->transport)->attach;
    return (const void *)(endpoint->arena + offset);
}

/* watch.c; see transport.h */
void shm_watch(ctn_transport_t *transport, ctn_death_handler_t handler,
               void *argument);
void shm_check(ctn_transport_t *transport);
void shm_unwatch(shm_transport_t *shm);

/* attach.c; see transport.h */
catena_status_t shm_write(ctn_endpoint_t *endpoint, const void *source,
                          size_t bytes, uint64_t address);
catena_status_t shm_read(ctn_endpoint_t *endpoint, void *target, size_t bytes,
                         uint64_t address);
bool shm_may_access(ctn_endpoint_t *endpoint, size_t bytes);

#endif
