#ifndef CTN_MODEL_TUNING_H
#define CTN_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/log.h"

/* Which algorithm a collective runs: rules, of which the first that matches
 * decides. They match on facts that all members of a group share, so all find
 * the same one. See docs/man/catena-tuning.5.scd for the files, docs/tuning.md
 * for how they come about. */

/* What a group takes at most (CTN_MAX_LEADERS, CTN_EAGER_SLOTS). */
#define CTN_TUNING_LEADERS 64u
#define CTN_TUNING_WINDOW 32u

typedef struct ctn_rule {
    /* where it holds, bounds included */
    uint32_t nodes_from;
    uint32_t nodes_to;
    uint32_t ppn_from; /* members on the node that has most */
    uint32_t ppn_to;
    size_t bytes_to; /* of a block; SIZE_MAX: any */
    /* what to do there */
    char algorithm[16];
    uint32_t leaders; /* these: 0: auto */
    uint32_t radix;
    uint32_t window;
    size_t direct_above; /* alltoallv: larger blocks travel directly; SIZE_MAX:
                            none */
    size_t direct_above_w; /* alltoallw: those above this, too */
    /* whose it is, for explaining */
    const char *tuning; /* a name, as long as the tuning is open */
    uint32_t number;    /* in its list, from 1; 0: chosen by formulas */
} ctn_rule_t;

typedef struct ctn_tuning ctn_tuning_t;

/** Open a tuning. What is wrong is logged: file, rule, key, expected, found.
 * @param[in]  name NULL or "auto": the one that ships; "machine:NAME": choose
 *             by the paper's formulas with the parameters of that machine
 *             (as for ctn_machine_read); with '/', or ending in ".json": a
 *             file. Where no rule of a file matches, those that ship decide.
 * @param[out] out  set only on CATENA_OK; release with ctn_tuning_close
 * @return ERR_ARG (no such name, bad file), ERR_SYSTEM (unreadable),
 *         ERR_NO_MEMORY */
catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                ctn_tuning_t **out);
void ctn_tuning_close(ctn_tuning_t *tuning); /* NULL is allowed */
const char *ctn_tuning_name(const ctn_tuning_t *tuning);

/** The first rule that matches. Without memory of its own; a tuning by formulas
 * evaluates some twenty of them, so what is asked often is better kept.
 * @param[in]  collective "alltoall", "alltoallv" or "alltoallw" (as alltoallv)
 * @param[in]  nodes, ppn at least 1
 * @param[in]  bytes      of a block; for alltoallv what the caller expects,
 *                        it is not looked at by rules
 * @param[out] out        set only when there is one
 * @return false: nothing matches */
bool ctn_tuning_find(const ctn_tuning_t *tuning, const char *collective,
                     uint32_t nodes, uint32_t ppn, size_t bytes,
                     ctn_rule_t *out);

#endif
