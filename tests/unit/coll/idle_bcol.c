#include "idle_bcol.h"

#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

/** What a module publishes to the other members. */
typedef struct published {
    uint64_t magic;
    uint64_t me;
    uint64_t size;
    uint64_t oversubscribed;
} published_t;

enum { MAGIC = 0x5a5a1234 };

typedef struct module {
    ctn_module_t base; /* first */
    ctn_sequence_t sequence;
    published_t *published;
} module_t;

idle_t idle = {.refuse_create = -1, .refuse_link = -1};

static bool is_rank(const ctn_exec_t *exec, int rank)
{
    return exec->log->rank == rank;
}

static catena_status_t create(const ctn_bcol_t *bcol, ctn_exec_t *exec,
                              uint32_t size, uint32_t me, bool oversubscribed,
                              ctn_module_t **out, uint64_t *offset)
{
    if (is_rank(exec, idle.refuse_create)) {
        return CATENA_ERR_NO_MEMORY;
    }
    module_t *module = calloc(1, sizeof(*module));
    module->base = (ctn_module_t){
        .bcol = bcol, .exec = exec, .sequence = &module->sequence};
    module->published = ctn_heap_calloc(exec->heap, 64, sizeof(published_t));
    *module->published = (published_t){MAGIC, me, size, oversubscribed};
    *offset = ctn_heap_offset(exec->heap, module->published);
    *out = &module->base;
    idle.modules++;
    return CATENA_OK;
}

/** Check that all members exist, as in the table. */
static catena_status_t link_up(ctn_module_t *base, const ctn_sbgp_t *sbgp)
{
    const module_t *module = (const module_t *)base;
    base->sbgp = sbgp;
    if (is_rank(base->exec, idle.refuse_link) ||
        module->published->size != sbgp->size ||
        module->published->me != sbgp->me ||
        (module->published->oversubscribed != 0) != sbgp->oversubscribed) {
        return CATENA_ERR_ARG;
    }
    for (uint32_t i = 0; i < sbgp->size; i++) {
        ctn_endpoint_t *endpoint;
        ctn_address_t memory = sbgp->member[i].memory;
        if (ctn_exec_connect(base->exec, memory.process, &endpoint) !=
            CATENA_OK) {
            return CATENA_ERR_PEER;
        }
        const published_t *published = ctn_pointer(endpoint, memory.offset);
        bool remote = published == NULL;
        if (remote && strcmp(base->bcol->name, "shm") == 0) {
            return CATENA_ERR_ARG;
        }
        if (!remote && (published->magic != MAGIC || published->me != i ||
                        published->size != sbgp->size)) {
            return CATENA_ERR_STATE;
        }
    }
    return CATENA_OK;
}

static void destroy(ctn_module_t *base)
{
    module_t *module = (module_t *)base;
    ctn_heap_free(base->exec->heap, module->published);
    free(module);
    idle.modules--;
}

static const ctn_bcol_t shm = {
    .name = "shm", .create = create, .link = link_up, .destroy = destroy};
static const ctn_bcol_t p2p = {
    .name = "p2p", .create = create, .link = link_up, .destroy = destroy};
static const ctn_bcol_t ucx = {
    .name = "ucx", .create = create, .link = link_up, .destroy = destroy};

/* Replaces the library's. */
const ctn_bcol_t *const ctn_bcols[] = {&shm, &p2p, &ucx, NULL};
