#ifndef CTN_MODEL_TUNING_H
#define CTN_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/log.h"

/* Selects the algorithm of a collective by rules; the first matching rule
 * decides. Rules match on facts that all members of a group share, so all
 * members select the same one. See docs/man/catena-tuning.5.scd for the files,
 * docs/tuning.md for their creation. */

/** Values of the settings of models and tunings. */
typedef struct ctn_model_config {
    char *tuning; /* TUNING: auto, machine:NAME, or a path */
} ctn_model_config_t;

extern const ctn_setting_table_t ctn_model_settings;

static inline const ctn_model_config_t *
ctn_model_config(const ctn_config_t *config)
{
    return ctn_config_values(config, &ctn_model_settings);
}

/* The limits of a group (CTN_MAX_LEADERS, CTN_EAGER_SLOTS). */
#define CTN_TUNING_LEADERS 64u
#define CTN_TUNING_WINDOW 32u

typedef struct ctn_rule {
    /* where the rule matches, bounds included */
    uint32_t nodes_from;
    uint32_t nodes_to;
    uint32_t ppn_from; /* members on the node with most members */
    uint32_t ppn_to;
    size_t bytes_to; /* of a block; SIZE_MAX: any */
    /* what it selects */
    char algorithm[16];
    uint32_t leaders; /* from here on 0: auto */
    uint32_t radix;
    uint32_t window;
    size_t direct_above;   /* alltoallv: larger blocks are sent directly;
                              SIZE_MAX: none */
    size_t direct_above_w; /* alltoallw: blocks above this, too */
    /* its origin, for explain */
    const char *tuning; /* a name, valid while the tuning is open */
    uint32_t number;    /* in its list, from 1; 0: selected by formulas */
} ctn_rule_t;

typedef struct ctn_tuning ctn_tuning_t;

/** Open a tuning. Errors are logged: file, rule, key, expected, found.
 * @param[in]  name NULL or "auto": the built-in one; "machine:NAME": select by
 *             the paper's formulas with the parameters of that machine (as for
 *             ctn_machine_read); with '/', or ending in ".json": a file. If no
 *             rule of a file matches, the built-in rules decide.
 * @param[out] out  set only on CATENA_OK; release with ctn_tuning_close
 * @return ERR_ARG (no such name, invalid file), ERR_SYSTEM (unreadable),
 *   ERR_NO_MEMORY */
catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                ctn_tuning_t **out);
void ctn_tuning_close(ctn_tuning_t *tuning); /* NULL is allowed */
const char *ctn_tuning_name(const ctn_tuning_t *tuning);

/** The first rule that matches. It allocates no memory; a tuning by formulas
 * evaluates some twenty of them, so callers cache the result.
 * @param[in]  collective "alltoall", "alltoallv" or "alltoallw" (as alltoallv)
 * @param[in]  nodes, ppn at least 1
 * @param[in]  bytes      of a block; for alltoallv the caller's estimate, which
 *             rules ignore
 * @param[out] out        set only if there is one
 * @return false: no rule matches */
bool ctn_tuning_find(const ctn_tuning_t *tuning, const char *collective,
                     uint32_t nodes, uint32_t ppn, size_t bytes,
                     ctn_rule_t *out);

#endif
