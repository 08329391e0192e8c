#ifndef CTN_BOOT_BOOT_H
#define CTN_BOOT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/log.h"

/* How a process finds its job: through PMIx, under any launcher that supports
 * it (prun, mpirun, PRRTE, Slurm), or alone when it was started by hand.
 *
 * Each rank publishes few small values, such as its endpoint address. Other
 * ranks look them up only when they need them (a lookup waits until the value
 * is published), so memory does not grow with the job and startup needs no
 * exchange among all ranks. */

typedef struct ctn_boot {
    const ctn_log_t *log;
    bool singleton;
    unsigned life; /* of this process, from 1: it may join more than once */
    uint32_t rank;
    uint32_t size;
    uint32_t local_rank;
    uint32_t local_size;
    uint32_t *local_ranks; /* world ranks on this node, ascending */
    char node[256];        /* this node's name from the launcher */
    char node_key[288];    /* name and number of the node: the same for all its
                              ranks, different on other nodes */
    void *pmix;            /* private to boot.c */
} ctn_boot_t;

/** Join the launcher. From then on this process exits when the launcher is
 * lost. `log` is filled with rank and host. A process may join again after it
 * has left; then all ranks must.
 * @return also ERR_STATE: it has joined already */
catena_status_t ctn_boot_create(ctn_log_t *log, ctn_boot_t **boot);
void ctn_boot_destroy(ctn_boot_t *boot);

/** Prepare to publish `bytes` under `key` (at most 40 characters). */
catena_status_t ctn_boot_put(ctn_boot_t *boot, const char *key,
                             const void *value, size_t bytes);

/** Publish all values of ctn_boot_put, once: after a rank has published, a
 * launcher answers a lookup of another key with "not found". */
catena_status_t ctn_boot_publish(ctn_boot_t *boot);

/** The value that `rank` published under `key`; waits until it is published.
 * The caller frees `*value`. */
catena_status_t ctn_boot_lookup(ctn_boot_t *boot, uint32_t rank,
                                const char *key, void **value, size_t *bytes);

/** End the job. */
_Noreturn void ctn_boot_abort(ctn_boot_t *boot, int code, const char *message);

#endif
