#ifndef CTN_CORE_CONFIG_H
#define CTN_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>

#include "core/log.h"

/* All settings of the library. catena_init reads them once. A table in config.c
 * holds name, type, default, help text and offset of each. */

#define CTN_CONFIG_AUTO ((size_t)-1) /* a size or count that catena chooses */
#define CTN_CONFIG_INF ((size_t)-2)

typedef enum ctn_put_mode { /* CATENA_UCX_PUT */
                            CTN_PUT_AUTO,
                            CTN_PUT_AM, /* one active message carries data and
                                           signal */
                            CTN_PUT_RMA /* put, fence, put */
} ctn_put_mode_t;

/* Hierarchical collectives with settings of their own: CATENA_<NAME>_HIERARCHY
 * and CATENA_<NAME>_ALGORITHM. Variants use the settings of their collective: v
 * variants, and exscan those of scan. This is the only list of them. */
#define CTN_EACH_COLLECTIVE(DO)                                                \
    DO(BARRIER, "barrier")                                                     \
    DO(BCAST, "bcast")                                                         \
    DO(REDUCE, "reduce")                                                       \
    DO(ALLREDUCE, "allreduce")                                                 \
    DO(GATHER, "gather")                                                       \
    DO(SCATTER, "scatter")                                                     \
    DO(ALLGATHER, "allgather")                                                 \
    DO(REDUCE_SCATTER, "reduce_scatter")                                       \
    DO(SCAN, "scan")

#define CTN_COLL_ENUMERATOR(NAME, name) CTN_COLL_##NAME,
typedef enum ctn_coll {
    CTN_EACH_COLLECTIVE(CTN_COLL_ENUMERATOR) CTN_COLL_COUNT
} ctn_coll_t;
#undef CTN_COLL_ENUMERATOR

/** The settings of one of them. */
typedef struct ctn_coll_config {
    char *hierarchy; /* auto: the general setting */
    char *algorithm; /* auto */
} ctn_coll_config_t;

typedef enum ctn_wait { /* CATENA_WAIT */
                        CTN_WAIT_AUTO,
                        CTN_WAIT_SPIN,  /* never yield the core */
                        CTN_WAIT_YIELD, /* never sleep */
                        CTN_WAIT_SLEEP  /* soon after it begins to wait */
} ctn_wait_t;

typedef struct ctn_config {
    ctn_log_level_t log_level; /* LOG_LEVEL: fatal..trace, warn */
    size_t heap_size;          /* HEAP_SIZE: bytes per node, auto */
    size_t heap_huge;          /* HEAP_HUGE_PAGES: 0 or 1 or auto */
    size_t
        host_ranks;  /* HOST_RANKS: ranks that share this host's cores, auto */
    size_t spin;     /* SPIN: polls before the core is yielded, auto */
    size_t sleep_ms; /* SLEEP: ms of waiting before sleeping, auto, inf */
    ctn_wait_t wait; /* WAIT: auto, spin, yield, sleep */
    size_t leaders;  /* ALLTOALL_LEADERS: per node, auto */
    char *alltoall;  /* ALLTOALL_ALGORITHM: auto */
    char *net_devices;      /* NET_DEVICES: auto */
    char *tuning;           /* TUNING: auto, machine:NAME, or a path */
    char *topology;         /* TOPOLOGY: hwloc synthetic description, empty */
    ctn_put_mode_t ucx_put; /* UCX_PUT: auto, am, rma */
    char *hierarchy;        /* HIERARCHY: auto, or levels */
    char *subgroup;         /* SUBGROUP: of the rule "user", empty */
    size_t network;         /* NETWORK: on one node, 0 or 1 or auto */
    size_t check;           /* CHECK: 0 or 1 */
    unsigned neighbor;      /* NEIGHBOR_ALGORITHM: 0 auto, else 1 + algorithm */
    ctn_coll_config_t
        coll_config[CTN_COLL_COUNT]; /* <NAME>_HIERARCHY, <NAME>_ALGORITHM */
} ctn_config_t;

/** Read the environment (CATENA_*) and then `settings`, which take precedence.
 * An invalid value, or an unknown name in `settings`, is an error and is
 * logged; ctn_config_warn_unknown handles unknown names in the environment.
 * @param[out] config set only on CATENA_OK; its strings (never NULL) are
 *             released with ctn_config_release
 * @param[in]  settings may be NULL
 * @param[in]  log      may be NULL, its rank may be -1
 * @return CATENA_OK, ERR_ARG, ERR_NO_MEMORY */
catena_status_t ctn_config_read(ctn_config_t *config,
                                const catena_config_t *settings,
                                const ctn_log_t *log);
void ctn_config_release(ctn_config_t *config);

/** "barrier", "bcast", ... in the order of ctn_coll_t; NULL-terminated. */
extern const char *const ctn_collective_names[];

/** Parse a size: bytes, or with unit ("64k", "2mb").
 * @return false: invalid or too large; *bytes is unchanged */
bool ctn_config_bytes(const char *text, size_t *bytes);

/** Warn about each CATENA_ variable of the environment that is no setting, with
 * the nearest known name. Separate from ctn_config_read so that one rank can do
 * it for the whole job.
 * @return the number of such variables */
size_t ctn_config_warn_unknown(const ctn_log_t *log);

#endif
