#ifndef CTN_MODEL_TUNING_PARTS_H
#define CTN_MODEL_TUNING_PARTS_H

#include <jansson.h>

#include "model/machine.h"
#include "model/tuning.h"

/* Declarations that the files of a tuning share. */

typedef enum ctn_collective {
    CTN_ALLTOALL,
    CTN_ALLTOALLV,
    CTN_COLLECTIVES
} ctn_collective_t;

extern const char *const ctn_collective_name[CTN_COLLECTIVES];

typedef struct ctn_tuned_algorithm {
    const char *name;
    bool vector;  /* supports blocks of different lengths */
    bool formula; /* catena_model_alltoall has a formula */
    bool leaders; /* with any number of leaders */
} ctn_tuned_algorithm_t;

enum { CTN_TUNED_ALGORITHMS = 8 };

extern const ctn_tuned_algorithm_t ctn_tuned_algorithm[CTN_TUNED_ALGORITHMS];

/** A rule without an algorithm that always matches. */
extern const ctn_rule_t ctn_rule_anywhere;

typedef struct ctn_rules {
    ctn_rule_t *rule;
    size_t count;
} ctn_rules_t;

struct ctn_tuning {
    char name[256];
    ctn_rules_t list[CTN_COLLECTIVES];
    catena_machine_t *machine; /* select by formulas; NULL: by rules */
    ctn_tuning_t *rest;        /* decides if no rule matches; NULL: none */
};

/** Read name and rules from a document. Errors are logged; `where` names the
 * file in messages.
 * @return ERR_ARG, ERR_NO_MEMORY; the lists can be closed */
catena_status_t ctn_tuning_read(const ctn_log_t *log, const char *where,
                                json_t *root, ctn_tuning_t *tuning);

/** The selection by the paper's formulas for tuning->machine. */
ctn_rule_t ctn_tuning_by_formulas(const ctn_tuning_t *tuning,
                                  ctn_collective_t collective, uint32_t nodes,
                                  uint32_t ppn, size_t bytes);

#endif
