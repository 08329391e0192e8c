#ifndef CTN_CONTEXT_H
#define CTN_CONTEXT_H

#include <catena/context.h>

#include "core/config.h"
#include "core/handle.h"
#include "core/locality.h"
#include "core/log.h"

/* All state of a process in a job. lib/catena.c creates and destroys it. */
/** The mark of a context: core/handle.h. */
#define CTN_CONTEXT 0xc1

struct catena_context {
#ifndef NDEBUG
    uint8_t mark;
#endif
    struct catena_sim_rank *sim; /* NULL: not simulated */
    ctn_log_t log;
    ctn_config_t config;
    const struct ctn_tuning *tuning;
    ctn_locality_t locality;
    ctn_resources_t resources;        /* found on demand by topo/levels.c */
    const struct catena_oob *oob;     /* during catena_init */
    void (*progress)(void *argument); /* of catena_config_t */
    void *progress_argument;
    struct ctn_boot *boot;
    struct ctn_heap *heap;
    /* transports/shm and transports/ucx; in a simulated job both are the rank's
     * simulated transport. */
    struct ctn_transport *node;
    struct ctn_transport *network; /* NULL: not used */
    struct ctn_exec *exec;
    catena_group_t *world;
    catena_group_t *self; /* of this rank alone; NULL: not created yet */
};

/** The log of a context; NULL, the default log, if there is none. */
static inline const ctn_log_t *ctn_log_of(const catena_context_t *context)
{
    return CTN_UNUSABLE(context, CTN_CONTEXT) ? NULL : &context->log;
}

#endif
