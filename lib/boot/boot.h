#ifndef CTN_BOOT_BOOT_H
#define CTN_BOOT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/log.h"

/* How a process finds its job: PMIx alone, under any launcher that speaks it
 * (prun, mpirun, PRRTE, Slurm), or nothing when it was started by hand.
 *
 * Each rank publishes small cards; others read a card only when they need it
 * (a read waits until the card is there), so memory does not grow with the
 * job and starting needs no exchange of all with all. */

typedef struct ctn_boot {
    const ctn_log_t *log;
    bool singleton;
    unsigned life; /* of this process, from 1: it may join again and again */
    uint32_t rank;
    uint32_t size;
    uint32_t local_rank;
    uint32_t local_size;
    uint32_t *local_ranks; /* world ranks on this node, ascending */
    char node[256];        /* this node's name as the launcher gives it */
    char node_key[288];    /* the same for all ranks of the node, and no others:
                              name and number of the node */
    void *pmix;            /* private to boot.c */
} ctn_boot_t;

/** Join the launcher. From then on this process ends when the launcher is
 * lost. `log` is filled with rank and host. A process may join again after it
 * has left; then all ranks have to.
 * @return also ERR_STATE: it has joined already */
catena_status_t ctn_boot_create(ctn_log_t *log, ctn_boot_t **boot);
void ctn_boot_destroy(ctn_boot_t *boot);

/** Prepare to publish `bytes` under `key` (at most 40 characters). */
catena_status_t ctn_boot_put(ctn_boot_t *boot, const char *key,
                             const void *value, size_t bytes);

/** Publish all that was put, once: a launcher answers a lookup as soon as a
 * rank has published anything, with "not found" if the key is not in it. */
catena_status_t ctn_boot_publish(ctn_boot_t *boot);

/** What `rank` published under `key`; waits until it has. The caller frees
 * `*value`. */
catena_status_t ctn_boot_lookup(ctn_boot_t *boot, uint32_t rank,
                                const char *key, void **value, size_t *bytes);

/** End the job. */
_Noreturn void ctn_boot_abort(ctn_boot_t *boot, int code, const char *message);

#endif
