#ifndef CTN_MODEL_TUNING_H
#define CTN_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/log.h"

/* A tuning: rules that select the algorithm of an alltoall, or a machine whose
 * cost formulas select it. The first rule that matches decides. Rules match on
 * facts that all members of a group share, so all members select the same
 * algorithm. docs/man/catena-tuning.5.scd describes the files, docs/tuning.md
 * how to measure rules. */

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

/* Most leaders of a node and largest window that a rule may select: no more
 * than a group supports. */
#define CTN_TUNING_LEADERS 64u
#define CTN_TUNING_WINDOW 32u

/** A rule: when it matches, and what it selects. */
typedef struct ctn_rule {
    /* where the rule matches, bounds included */
    uint32_t nodes_from;
    uint32_t nodes_to;
    uint32_t ppn_from; /* members on the node that has most of them */
    uint32_t ppn_to;
    size_t bytes_to; /* of a block; SIZE_MAX: any */
    /* what it selects */
    char algorithm[16];
    uint32_t leaders;      /* per node; 0: auto, also for the next two */
    uint32_t radix;        /* of bruck */
    uint32_t window;       /* rounds that direct and shift run at once */
    size_t direct_above;   /* alltoallv: blocks of more bytes are sent directly,
                              not through leaders; SIZE_MAX: none */
    size_t direct_above_w; /* the same for alltoallw, where the lesser of both
                              numbers applies */
    /* its origin, for catena_group_explain */
    const char *tuning; /* the tuning's name, valid while that is open */
    uint32_t number;    /* in its list, from 1; 0: selected by formulas */
} ctn_rule_t;

typedef struct ctn_tuning ctn_tuning_t;

/** Open a tuning. Errors are logged with file, rule, key, what was expected and
 * what was found.
 * @param[in]  name NULL or "auto": the built-in one; "machine:NAME": select by
 *             the cost formulas ([Peng], lib/model/formula.h) with the
 * parameters of that machine (as for ctn_machine_read); with '/', or ending in
 * ".json": a file. If no rule of a file matches, the built-in rules decide.
 * @param[out] out  set only on CATENA_OK; release with ctn_tuning_close
 * @return ERR_ARG (no such name, invalid file), ERR_SYSTEM (unreadable),
 *   ERR_NO_MEMORY */
catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                ctn_tuning_t **out);
void ctn_tuning_close(ctn_tuning_t *tuning); /* NULL is allowed */
/** The name in the tuning's file, or "machine:NAME". */
const char *ctn_tuning_name(const ctn_tuning_t *tuning);

/** Find the first rule that matches, or make one by the formulas. Allocates no
 * memory. Callers cache the result: with a machine it takes some twenty
 * evaluations of formulas.
 * @param[in]  vector     for an alltoallv or alltoallw; false: for an alltoall
 * @param[in]  nodes, ppn at least 1; as in ctn_rule_t
 * @param[in]  bytes      of a block; for alltoallv the caller's estimate, which
 *             only formulas use
 * @param[out] out        the rule, set only if one matches
 * @return false: no rule matches */
bool ctn_tuning_find(const ctn_tuning_t *tuning, bool vector, uint32_t nodes,
                     uint32_t ppn, size_t bytes, ctn_rule_t *out);

#endif
