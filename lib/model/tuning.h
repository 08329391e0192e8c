#ifndef CTN_MODEL_TUNING_H
#define CTN_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/config.h"
#include "core/log.h"
#include "model/algorithms.h"

/* A tuning: for each collective a list of rules that select its algorithm. The
 * first rule that matches decides. Rules match on facts that all members of a
 * group share, so all members select the same algorithm. The rules of a file
 * come before those that ship. For alltoalls the cost formulas of a machine may
 * select instead. docs/man/catena-tuning.5.scd describes the files,
 * docs/tuning.md how to measure rules. */

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

/** The lists of rules. That of alltoallv also applies to alltoallw. Those from
 * CTN_RULES_BARRIER to CTN_RULES_SCAN are of the basic collectives of one
 * subgroup (coll/bcol), of which the collectives of groups are composed. Those
 * of neighborhoods are of patterns (neighbor/schedule/schedule.h); their rules
 * may select "auto": the algorithm with the least estimated time. */
typedef enum ctn_rules_of {
    CTN_RULES_ALLTOALL,
    CTN_RULES_ALLTOALLV,
    CTN_RULES_BARRIER,
    CTN_RULES_BCAST,
    CTN_RULES_REDUCE,
    CTN_RULES_ALLREDUCE,
    CTN_RULES_GATHER,
    CTN_RULES_SCATTER,
    CTN_RULES_ALLGATHER,
    CTN_RULES_REDUCE_SCATTER,
    CTN_RULES_SCAN,
    CTN_RULES_SPLIT,
    CTN_RULES_NEIGHBOR_ALLTOALL,
    CTN_RULES_NEIGHBOR_ALLGATHER,
    CTN_RULES_LISTS /* number of them */
} ctn_rules_of_t;

/* Most leaders of a node and largest window that a rule may select: no more
 * than a group supports. */
#define CTN_TUNING_LEADERS 64u
#define CTN_TUNING_WINDOW 32u

/** Numbers that a rule accepts, bounds included. */
typedef struct ctn_rule_range {
    uint32_t from;
    uint32_t to;
} ctn_rule_range_t;

/** Which of two cases a rule accepts. */
typedef enum ctn_accepts {
    CTN_ACCEPTS_BOTH,
    CTN_ACCEPTS_FALSE,
    CTN_ACCEPTS_TRUE
} ctn_accepts_t;

/** A rule: when it matches, and what it selects. */
typedef struct ctn_rule {
    /* where the rule matches */
    ctn_rule_range_t ranks;
    ctn_rule_range_t nodes;
    ctn_rule_range_t ppn;    /* ranks on the node that has most of them */
    uint8_t oversubscribed;  /* ctn_accepts_t, likewise the next one */
    uint8_t blocking;        /* calls */
    uint8_t keys;            /* of splits: keys order the ranks */
    size_t bytes_to;         /* SIZE_MAX: any length */
    size_t bytes_to_by_rank; /* times `ranks`; SIZE_MAX: any */
    /* what it selects */
    ctn_algorithm_name_t algorithm;
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

/** What rules match, but for lengths. The same on all ranks of a group, or of a
 * subgroup. */
typedef struct ctn_rule_facts {
    uint32_t ranks; /* at least 1, likewise the next two */
    uint32_t nodes;
    uint32_t ppn;
    bool oversubscribed; /* some host has more ranks than cores */
    bool blocking;       /* the call */
    bool keys;           /* of a split: keys order the ranks */
} ctn_rule_facts_t;

/** What a list selects for a range of lengths. Its users keep it for the next
 * calls. Zero: nothing yet. */
typedef struct ctn_choice {
    const ctn_rule_t *rule; /* valid while the tuning is open */
    size_t from;            /* bytes, both included */
    size_t to;
    ctn_algorithm_set_t possible; /* among which it was selected */
    bool blocking;                /* for blocking calls, or others */
    bool by_mode;                 /* for others it may be another rule */
} ctn_choice_t;

typedef struct ctn_tuning ctn_tuning_t;

/** The tuning that ships: lib/model/tuning/default.json. It has a rule for all
 * facts. */
extern const ctn_tuning_t ctn_tuning_default;

/** Open a tuning. Errors are logged with file, rule, key, what was expected and
 * what was found.
 * @param[in]  name NULL or "auto": the one that ships; "machine:NAME": select
 *             alltoalls by the cost formulas ([Peng], lib/model/formula.c) with
 *             the parameters of that machine (as for ctn_machine_read); with
 *             '/', or ending in ".json": a file. If no rule of a file matches,
 *             the rules that ship decide.
 * @param[out] out  set only on CATENA_OK; release with ctn_tuning_close
 * @return ERR_ARG (no such name, invalid file), ERR_SYSTEM (unreadable),
 *   ERR_NO_MEMORY */
catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                const ctn_tuning_t **out);
void ctn_tuning_close(const ctn_tuning_t *tuning); /* NULL is allowed */
/** The name in the tuning's file, or "machine:NAME". */
const char *ctn_tuning_name(const ctn_tuning_t *tuning);

/** Find the first rule that matches. Callers keep the result.
 * @param[in] possible rules that select other algorithms do not match */
void ctn_tuning_find(const ctn_tuning_t *tuning, ctn_rules_of_t list,
                     ctn_algorithm_set_t possible,
                     const ctn_rule_facts_t *facts, size_t bytes,
                     ctn_choice_t *out);

/** Whether a choice that was kept applies to another call. */
static inline bool ctn_choice_holds(const ctn_choice_t *choice,
                                    ctn_algorithm_set_t possible, bool blocking,
                                    size_t bytes)
{
    return choice->rule != NULL && bytes >= choice->from &&
           bytes <= choice->to && choice->possible == possible &&
           (!choice->by_mode || choice->blocking == blocking);
}

/** The machine whose formulas select the algorithm of alltoalls; NULL: rules
 * do. */
const struct catena_machine *ctn_tuning_machine(const ctn_tuning_t *tuning);
/** A rule by the paper's formulas, for a tuning that has them. It takes some
 * twenty evaluations of formulas. `list` is that of alltoall or of alltoallv.
 * @param bytes of a block; for alltoallv an estimate */
ctn_rule_t ctn_tuning_by_formulas(const ctn_tuning_t *tuning,
                                  ctn_rules_of_t list, uint32_t nodes,
                                  uint32_t ppn, size_t bytes);

/** Write which rule it is, of which tuning: "rule 2 of tuning default". */
void ctn_rule_describe(const ctn_rule_t *rule, char *text, size_t bytes);

#endif
