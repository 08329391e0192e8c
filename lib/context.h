#ifndef CTN_CONTEXT_H
#define CTN_CONTEXT_H

#include <catena/context.h>

#include "core/config.h"
#include "core/locality.h"
#include "core/log.h"

/* All state of a process in a job; there is no other. lib/catena.c creates and
 * destroys it. */
struct catena_context {
    struct catena_sim_rank *sim; /* NULL: not simulated */
    ctn_log_t log;
    ctn_config_t config;
    ctn_locality_t locality;
    ctn_resources_t resources;
    struct ctn_boot *boot;
    struct ctn_heap *heap;
    struct ctn_transport *node;    /* on-node endpoints: transports/shm */
    struct ctn_transport *network; /* NULL: the job has one node */
    struct ctn_exec *exec;
    catena_group_t *world;
    catena_group_t *self; /* NULL: not created yet */
};

#endif
