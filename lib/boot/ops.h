#ifndef CTN_BOOT_OPS_H
#define CTN_BOOT_OPS_H

#include "boot/boot.h"

/* The ways to join a job, for boot.c. Each sets ctn_boot_t.ops and .state,
 * rank, size, the local ranks, and the node's name and key; on failure, too, as
 * far as `leave` needs them. */

typedef struct ctn_boot_ops {
    const char *name; /* for catena_place_t */
    catena_status_t (*put)(ctn_boot_t *boot, const char *key, const void *data,
                           size_t bytes);
    /** See ctn_boot_share; NULL: nothing is to be done. */
    catena_status_t (*share)(ctn_boot_t *boot);
    catena_status_t (*publish)(ctn_boot_t *boot);
    catena_status_t (*lookup)(ctn_boot_t *boot, uint32_t rank, const char *key,
                              void **data, size_t *bytes);
    /** See ctn_boot_regroup; NULL: the ranks of a node share memory. */
    catena_status_t (*regroup)(ctn_boot_t *boot);
    /** See ctn_boot_agree; NULL: a rank that fails ends the others. */
    catena_status_t (*agree)(ctn_boot_t *boot);
    /** See ctn_boot_joined; NULL: nothing is to be done. */
    catena_status_t (*joined)(ctn_boot_t *boot);
    /** End the other processes, as far as that is possible; this one ends after
     * it. */
    void (*end_job)(ctn_boot_t *boot, int code, const char *message);
    /** Leave the job and free the state. */
    void (*leave)(ctn_boot_t *boot);
} ctn_boot_ops_t;

/** @return also ERR_UNSUPPORTED: there is no PMIx server */
catena_status_t ctn_boot_join_pmix(ctn_boot_t *boot);
/** By a program's own allgather. */
catena_status_t ctn_boot_join_oob(ctn_boot_t *boot, const char *node,
                                  const catena_oob_t *oob);
/** By a rendezvous over TCP.
 * @param address "HOST:PORT" of rank 0 */
catena_status_t ctn_boot_join_tcp(ctn_boot_t *boot, const char *address,
                                  const ctn_boot_config_t *config);

/** Begin to exchange by an allgather of all ranks, and find the ranks of this
 * node. boot->rank and size are set. Copies `oob`, whose argument must stay
 * valid until ctn_boot_exchange_close.
 * @param node name that the user gives the node; "auto": by the host */
catena_status_t ctn_boot_exchange_open(ctn_boot_t *boot, const char *node,
                                       const catena_oob_t *oob);
catena_status_t ctn_boot_exchange_put(ctn_boot_t *boot, const char *key,
                                      const void *data, size_t bytes);
catena_status_t ctn_boot_exchange_all(ctn_boot_t *boot);
catena_status_t ctn_boot_exchange_lookup(ctn_boot_t *boot, uint32_t rank,
                                         const char *key, void **data,
                                         size_t *bytes);
void ctn_boot_exchange_close(ctn_boot_t *boot);

/** Which ranks share memory. */
typedef struct ctn_boot_identity {
    uint64_t failed; /* 1: this rank does not join */
    uint64_t host;   /* a hash: the boot of the machine */
    uint64_t memory; /* a hash: /dev/shm, and what else a node has in common */
    uint64_t space;  /* of process numbers */
} ctn_boot_identity_t;

/** The identity of this process.
 * @param node as for ctn_boot_exchange_open */
ctn_boot_identity_t ctn_boot_identify(const ctn_boot_t *boot, const char *node);
/** Let those of `count` ranks be this node that have the same host and memory
 * as this one: set local_ranks, local_size, local_rank, host_ranks and
 * several_spaces.
 * @param all   [count]: their identities
 * @param ranks [count], ascending */
catena_status_t ctn_boot_form_node(ctn_boot_t *boot,
                                   const ctn_boot_identity_t *all,
                                   const uint32_t *ranks, uint32_t count);

/** Set name and key of the node. The host's name alone does not identify a
 * node: a launcher may put several nodes on one host, and several hosts
 * (containers) may have the same name.
 * @param name   of the launcher; NULL: it has none
 * @param number of the launcher for the node */
void ctn_boot_name_node(ctn_boot_t *boot, const char *name, uint32_t number);
/** Sort local_ranks, and set local_rank to the index of this rank there. The
 * launcher's local rank is not used, since it may count the ranks of several
 * jobs. */
catena_status_t ctn_boot_find_local_rank(ctn_boot_t *boot);

/** What the variables of a launcher say of this process. */
typedef struct ctn_launched {
    const char *launcher; /* its name; NULL: there are no such variables */
    const char *size_variable;
    uint32_t rank;
    uint32_t size;
} ctn_launched_t;

/** What the variables of launchers say: of the first one that has started
 * several ranks, or else of the first one. A launcher of one process may start
 * another.
 */
ctn_launched_t ctn_boot_launched(void);
/** What RANK and WORLD_SIZE alone say. */
ctn_launched_t ctn_boot_launched_env(void);

#endif
