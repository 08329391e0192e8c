#ifndef CTN_MODEL_TUNING_PARTS_H
#define CTN_MODEL_TUNING_PARTS_H

#include <jansson.h>

#include "model/machine.h"
#include "model/tuning.h"

/* Declarations that tuning.c, tuning_read.c, tuning_formula.c and the source
 * that embed.py writes share. */

/** A list of rules, as files have it. */
typedef struct ctn_tuned {
    const char *name; /* its key */
    ctn_algorithm_set_t algorithms;
} ctn_tuned_t;

extern const ctn_tuned_t ctn_tuned[CTN_RULES_LISTS];

/** A rule that always matches and has no algorithm yet: the defaults of a rule.
 */
extern const ctn_rule_t ctn_rule_anywhere;

/** The rules of a tuning in one list. */
typedef struct ctn_rules {
    const ctn_rule_t *rule; /* [count] */
    size_t count;
} ctn_rules_t;

struct ctn_tuning {
    char name[256];
    ctn_rules_t list[CTN_RULES_LISTS];
    catena_machine_t *machine; /* its formulas select; NULL: rules select */
};

/** Read name and rules from a document. Errors are logged; `where` names the
 * file in messages.
 * @return ERR_ARG, ERR_NO_MEMORY; ctn_tuning_close releases `tuning`, also
 * after an error */
catena_status_t ctn_tuning_read(const ctn_log_t *log, const char *where,
                                json_t *root, ctn_tuning_t *tuning);

#endif
