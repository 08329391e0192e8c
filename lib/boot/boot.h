#ifndef CTN_BOOT_BOOT_H
#define CTN_BOOT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/context.h>

#include "core/config.h"
#include "core/log.h"

/* How a process finds its job: through PMIx, under any launcher that supports
 * it (prun, mpirun, PRRTE, Slurm); by an allgather of the program; or by a
 * rendezvous over TCP. A process that has none of these forms a job of one
 * rank.
 *
 * Each rank publishes few small values, such as its endpoint address. With PMIx
 * other ranks look them up only when they need them; a lookup waits until the
 * value is published. So memory does not grow with the job, and startup needs
 * no exchange among all ranks. Without PMIx all ranks exchange them. */

/** Values of the settings of the environment. */
typedef struct ctn_boot_config {
    char *how;      /* BOOT */
    size_t rank;    /* BOOT_RANK; CTN_CONFIG_AUTO: by the launcher */
    size_t size;    /* BOOT_SIZE */
    char *node;     /* BOOT_NODE */
    char *secret;   /* BOOT_SECRET */
    size_t timeout; /* BOOT_TIMEOUT, seconds; CTN_CONFIG_INF: none */
} ctn_boot_config_t;

extern const ctn_setting_table_t ctn_boot_settings;

/** What a process knows of its job. Ranks are world ranks, except local_rank.
 */
typedef struct ctn_boot {
    const ctn_log_t *log;
    const struct ctn_boot_ops *ops; /* NULL: a job of one rank */
    bool lost;                      /* ranks have died; the caller sets it */
    bool established;    /* all ranks have joined; the caller sets it */
    unsigned life;       /* the number of this life, from 1; a life lasts from
                            ctn_boot_create to ctn_boot_destroy */
    bool one_space;      /* the ranks of a node need one PID namespace */
    bool several_spaces; /* the ranks of this node are in several ones, so no
                            process number of theirs may be used */
    uint32_t rank;
    uint32_t size;
    uint32_t local_rank;   /* index of this rank in local_ranks */
    uint32_t local_size;   /* the number of ranks on this node */
    uint32_t host_ranks;   /* on this host, which may have several nodes; 0: not
                              known */
    uint32_t *local_ranks; /* [local_size] ranks on this node, ascending */
    char node[256];        /* this node's name from the launcher */
    char node_key[304];    /* name and number of the node: the same for all its
                              ranks, different on other nodes */
    void *state;           /* of `ops` */
    void *link;            /* of boot/tcp */
} ctn_boot_t;

/** Whether this thread simulates a job from now on. For libcatena-sim
 * (lib/catena.map). @return whether it has done so before */
__attribute__((visibility("default"))) bool ctn_boot_set_simulates(bool value);

/** Join the job. With PMIx this process exits from then on when it loses the
 * launcher; over TCP, from ctn_boot_publish on, when it loses a neighbor in the
 * tree. Rank and host are stored in `log`. After ctn_boot_destroy a process may
 * join its job again, if all ranks do.
 * @param oob NULL: the settings say how
 * @param one_space see ctn_boot_t
 * @return also ERR_STATE: this process has joined and not left */
catena_status_t ctn_boot_create(ctn_log_t *log, const ctn_config_t *config,
                                const catena_oob_t *oob, bool one_space,
                                ctn_boot_t **boot);
/** Leave the job. */
void ctn_boot_destroy(ctn_boot_t *boot);
/** The name of the way it was joined, for catena_place_t. */
const char *ctn_boot_name(const ctn_boot_t *boot);

/** Prepare to publish `bytes` of `data`, under `key` (at most 40 characters).
 */
catena_status_t ctn_boot_put(ctn_boot_t *boot, const char *key,
                             const void *data, size_t bytes);

/** All ranks do this before any of them looks up what others have put before
 * they publish. */
catena_status_t ctn_boot_share(ctn_boot_t *boot);

/** Publish all values of ctn_boot_put. A rank publishes only once, since from
 * then on a launcher answers a lookup of any other key of this rank with "not
 * found" at once. */
catena_status_t ctn_boot_publish(ctn_boot_t *boot);

/** Look up the value that `rank` publishes under `key`. With PMIx it waits
 * until that is published; else all ranks have published before, or it is an
 * error. The caller frees `*data`. */
catena_status_t ctn_boot_lookup(ctn_boot_t *boot, uint32_t rank,
                                const char *key, void **data, size_t *bytes);

/** Whether the ranks that the launcher counts to this node may be in several
 * containers, as far as this rank can tell. It says so to the others, and all
 * call ctn_boot_regroup. */
bool ctn_boot_may_regroup(const ctn_boot_t *boot);
/** Find out which ranks of the node share memory: these are the node from now
 * on. This publishes what was put so far; ctn_boot_publish is still to come. */
catena_status_t ctn_boot_regroup(ctn_boot_t *boot);

/** All ranks have done what each does alone, and will wait for each other.
 * @return ERR_PEER: one of them has failed, and leaves */
catena_status_t ctn_boot_agree(ctn_boot_t *boot);

/** Notify the launcher that all ranks have joined, and that the others go on
 * when one dies.
 * @return ERR_LAUNCHER */
catena_status_t ctn_boot_joined(ctn_boot_t *boot);

/** This rank does not join the job of `oob`: the others, which wait for it,
 * learn so. In place of ctn_boot_create. */
void ctn_boot_decline(const catena_oob_t *oob);

/** End this process, and the others as far as possible: through the launcher of
 * PMIx, over the tree of TCP, or by catena_oob_t.abort. */
_Noreturn void ctn_boot_abort(ctn_boot_t *boot, int code, const char *message);

#endif
