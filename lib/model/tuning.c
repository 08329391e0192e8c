/* Opens tunings, and finds the rule for a group. */

#include "model/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/tuning_parts.h"
#include "model/tunings.h"

const ctn_tuned_algorithm_t ctn_tuned_algorithm[] = {
    {"direct", true, true, false},  {"shift", true, false, false},
    {"bruck", false, false, false}, {"morton", false, false, false},
    {"l-a2a", true, true, false},   {"mpml", true, true, true},
    {"nmpml", true, true, true},    {"onmpml", true, true, true},
};

static const ctn_setting_t settings[] = {
    {"TUNING", "auto",
     "Rules that select an algorithm where none is requested. auto: the\n"
     "built-in rules; machine:NAME: the formulas of the models, with that\n"
     "machine's parameters; with a '/' or ending in .json: a file written by\n"
     "catena-bench --tune, the same for all ranks.",
     offsetof(ctn_model_config_t, tuning), &ctn_setting_text},
};

const ctn_setting_table_t ctn_model_settings =
    CTN_SETTING_TABLE(settings, ctn_model_config_t);

const ctn_rule_t ctn_rule_anywhere = {
    .nodes_from = 1,
    .nodes_to = UINT32_MAX,
    .ppn_from = 1,
    .ppn_to = UINT32_MAX,
    .bytes_to = SIZE_MAX,
    .direct_above = SIZE_MAX,
    .direct_above_w = SIZE_MAX,
};

/* ---- open and close ---- */

/** @param name NULL and "auto": the default one */
static catena_status_t open_builtin(const ctn_log_t *log, const char *name,
                                    ctn_tuning_t *tuning)
{
    const char *wanted =
        name == NULL || strcmp(name, "auto") == 0 ? "default" : name;
    for (size_t i = 0; i < ctn_builtin_tunings; i++) {
        if (strcmp(ctn_builtin_tuning[i].name, wanted) == 0) {
            json_error_t error;
            json_t *root = json_loads(ctn_builtin_tuning[i].text,
                                      JSON_REJECT_DUPLICATES, &error);
            catena_status_t status =
                root != NULL ? ctn_tuning_read(log, wanted, root, tuning)
                             : CATENA_ERR_NO_MEMORY;
            json_decref(root);
            return status;
        }
    }
    ctn_error(log,
              "there is no tuning '%s'; expected auto, machine:NAME, or the "
              "path of a file (with a '/', or ending in .json)",
              name);
    return CATENA_ERR_ARG;
}

/** Open a file; where none of its rules matches, the default tuning decides. */
static catena_status_t open_file(const ctn_log_t *log, const char *path,
                                 ctn_tuning_t *tuning)
{
    catena_status_t status = CATENA_OK;
    json_t *root = ctn_document_load(log, "tuning", path, &status);
    if (root == NULL) {
        return status;
    }
    status = ctn_tuning_read(log, path, root, tuning);
    json_decref(root);
    return status == CATENA_OK ? ctn_tuning_open(log, NULL, &tuning->rest)
                               : status;
}

/** @param name "machine:NAME" */
static catena_status_t open_machine(const ctn_log_t *log, const char *name,
                                    ctn_tuning_t *tuning)
{
    snprintf(tuning->name, sizeof(tuning->name), "%s", name);
    return ctn_machine_read(log, strchr(name, ':') + 1, &tuning->machine);
}

catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                ctn_tuning_t **out)
{
    ctn_tuning_t *tuning = calloc(1, sizeof(*tuning));
    catena_status_t status;
    if (tuning == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (name != NULL && strncmp(name, "machine:", 8) == 0) {
        status = open_machine(log, name, tuning);
    } else if (name != NULL && ctn_document_is_path(name)) {
        status = open_file(log, name, tuning);
    } else {
        status = open_builtin(log, name, tuning);
    }
    if (status != CATENA_OK) {
        ctn_tuning_close(tuning);
        return status;
    }
    *out = tuning;
    return CATENA_OK;
}

void ctn_tuning_close(ctn_tuning_t *tuning)
{
    if (tuning == NULL) {
        return;
    }
    for (int i = 0; i < CTN_COLLECTIVES; i++) {
        free(tuning->list[i].rule);
    }
    ctn_machine_free(tuning->machine);
    ctn_tuning_close(tuning->rest);
    free(tuning);
}

const char *ctn_tuning_name(const ctn_tuning_t *tuning)
{
    return tuning->name;
}

/* ---- selection ---- */

/** Whether a rule matches. */
static bool holds(const ctn_rule_t *rule, uint32_t nodes, uint32_t ppn,
                  size_t bytes)
{
    return nodes >= rule->nodes_from && nodes <= rule->nodes_to &&
           ppn >= rule->ppn_from && ppn <= rule->ppn_to &&
           bytes <= rule->bytes_to;
}

static const ctn_rule_t *first_match(const ctn_tuning_t *tuning,
                                     ctn_collective_t collective,
                                     uint32_t nodes, uint32_t ppn, size_t bytes)
{
    const ctn_rules_t *list = &tuning->list[collective];
    for (size_t i = 0; i < list->count; i++) {
        if (holds(&list->rule[i], nodes, ppn, bytes)) {
            return &list->rule[i];
        }
    }
    return tuning->rest != NULL
               ? first_match(tuning->rest, collective, nodes, ppn, bytes)
               : NULL;
}

bool ctn_tuning_find(const ctn_tuning_t *tuning, bool vector, uint32_t nodes,
                     uint32_t ppn, size_t bytes, ctn_rule_t *out)
{
    ctn_collective_t found = vector ? CTN_ALLTOALLV : CTN_ALLTOALL;
    if (nodes == 0 || ppn == 0) {
        return false;
    }
    if (tuning->machine != NULL) {
        *out = ctn_tuning_by_formulas(tuning, found, nodes, ppn, bytes);
        return true;
    }
    const ctn_rule_t *rule = first_match(tuning, found, nodes, ppn, bytes);
    if (rule != NULL) {
        *out = *rule;
    }
    return rule != NULL;
}
