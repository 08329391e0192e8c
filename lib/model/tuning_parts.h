#ifndef CTN_MODEL_TUNING_PARTS_H
#define CTN_MODEL_TUNING_PARTS_H

#include <jansson.h>

#include "model/machine.h"
#include "model/tuning.h"

/* Declarations that tuning.c, tuning_read.c and tuning_formula.c share. */

/** The lists of rules that a tuning has; that of alltoallv also applies to
 * alltoallw. */
typedef enum ctn_collective {
    CTN_ALLTOALL,
    CTN_ALLTOALLV,
    CTN_COLLECTIVES
} ctn_collective_t;

extern const char *const ctn_collective_name[CTN_COLLECTIVES];

/** An algorithm that a tuning can select. */
typedef struct ctn_tuned_algorithm {
    const char *name;
    bool vector;  /* supports blocks of different lengths */
    bool formula; /* catena_model_alltoall has a formula */
    bool leaders; /* runs with any number of leaders on a node */
} ctn_tuned_algorithm_t;

enum { CTN_TUNED_ALGORITHMS = 8 };

extern const ctn_tuned_algorithm_t ctn_tuned_algorithm[CTN_TUNED_ALGORITHMS];

/** A rule that always matches and has no algorithm yet: the defaults of a rule.
 */
extern const ctn_rule_t ctn_rule_anywhere;

/** The rules of a tuning for one collective. */
typedef struct ctn_rules {
    ctn_rule_t *rule; /* [count] */
    size_t count;
} ctn_rules_t;

struct ctn_tuning {
    char name[256];
    ctn_rules_t list[CTN_COLLECTIVES];
    catena_machine_t *machine; /* its formulas select; NULL: rules select */
    ctn_tuning_t *rest;        /* tuning that selects if no rule matches; NULL:
                                  none */
};

/** Read name and rules from a document. Errors are logged; `where` names the
 * file in messages.
 * @return ERR_ARG, ERR_NO_MEMORY; ctn_tuning_close releases `tuning`, also
 * after an error */
catena_status_t ctn_tuning_read(const ctn_log_t *log, const char *where,
                                json_t *root, ctn_tuning_t *tuning);

/** The rule by the paper's formulas, with the parameters of tuning->machine.
 * Not for other tunings. */
ctn_rule_t ctn_tuning_by_formulas(const ctn_tuning_t *tuning,
                                  ctn_collective_t collective, uint32_t nodes,
                                  uint32_t ppn, size_t bytes);

#endif
