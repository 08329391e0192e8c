/* Opens tunings, and finds the rules that match. */

#include "model/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/tuning_parts.h"

#define NAME(NAME, text) text,
const char *const ctn_algorithm_names[CTN_ALGORITHMS] = {
    "auto", CTN_EACH_ALGORITHM(NAME)};

#define BIT CTN_ALGORITHM_BIT
#define VECTORS                                                                \
    (BIT(DIRECT) | BIT(SHIFT) | BIT(L_A2A) | BIT(MPML) | BIT(NMPML) |          \
     BIT(ONMPML))
#define STORAGE (BIT(STAGED) | BIT(ZERO_COPY))
#define TREES (BIT(BINOMIAL) | BIT(CHAIN) | BIT(LINEAR))
#define AGGREGATION (BIT(BINOMIAL) | BIT(TREE) | BIT(LINEAR))
#define HALVING (BIT(RECURSIVE_HALVING) | BIT(RING))
#define SCHEDULES                                                              \
    (BIT(AUTO) | BIT(DIRECT) | BIT(COLORED) | BIT(COMBINING) | BIT(AGGREGATED))

const ctn_tuned_t ctn_tuned[CTN_RULES_LISTS] = {
    [CTN_RULES_ALLTOALL] = {"alltoall", VECTORS | BIT(BRUCK) | BIT(MORTON)},
    [CTN_RULES_ALLTOALLV] = {"alltoallv", VECTORS},
    [CTN_RULES_BARRIER] = {"barrier", BIT(FLAT) | BIT(ROOT) |
                                          BIT(DISSEMINATION) | BIT(TREE) |
                                          BIT(RECURSIVE_DOUBLING)},
    [CTN_RULES_BCAST] = {"bcast", STORAGE | TREES},
    [CTN_RULES_REDUCE] = {"reduce", BIT(FLAT) | BIT(SHARED) | TREES},
    [CTN_RULES_ALLREDUCE] = {"allreduce",
                             BIT(FLAT) | BIT(SHARED) | BIT(LAST) | BIT(TREE) |
                                 BIT(RECURSIVE_DOUBLING) | BIT(RABENSEIFNER)},
    [CTN_RULES_GATHER] = {"gather", STORAGE | AGGREGATION},
    [CTN_RULES_SCATTER] = {"scatter", STORAGE | AGGREGATION},
    [CTN_RULES_ALLGATHER] = {"allgather", STORAGE | BIT(BRUCK) | BIT(RING)},
    [CTN_RULES_REDUCE_SCATTER] = {"reduce_scatter", STORAGE | HALVING},
    [CTN_RULES_SPLIT] = {"split", BIT(ALLGATHER) | BIT(ALLGATHER_FAST) |
                                      BIT(GATHER_SCATTER) | BIT(CHENG) |
                                      BIT(BITONIC) | BIT(RADIX) |
                                      BIT(RADIX_PLAIN) | BIT(HASH) |
                                      BIT(HASH_PLAIN) | BIT(HASH64)},
    [CTN_RULES_SCAN] = {"scan",
                        BIT(FLAT) | BIT(CHAIN) | BIT(RECURSIVE_DOUBLING)},
    [CTN_RULES_NEIGHBOR_ALLTOALL] = {"neighbor_alltoall", SCHEDULES},
    [CTN_RULES_NEIGHBOR_ALLGATHER] = {"neighbor_allgather", SCHEDULES},
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
    .ranks = {1, UINT32_MAX},
    .nodes = {1, UINT32_MAX},
    .ppn = {1, UINT32_MAX},
    .bytes_to = SIZE_MAX,
    .bytes_to_by_rank = SIZE_MAX,
    .direct_above = SIZE_MAX,
    .direct_above_w = SIZE_MAX,
};

/* ---- open and close ---- */

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
    return status;
}

/** @param name "machine:NAME" */
static catena_status_t open_machine(const ctn_log_t *log, const char *name,
                                    ctn_tuning_t *tuning)
{
    snprintf(tuning->name, sizeof(tuning->name), "%s", name);
    return ctn_machine_read(log, strchr(name, ':') + 1, &tuning->machine);
}

catena_status_t ctn_tuning_open(const ctn_log_t *log, const char *name,
                                const ctn_tuning_t **out)
{
    if (name == NULL || strcmp(name, "auto") == 0 ||
        strcmp(name, ctn_tuning_default.name) == 0) {
        *out = &ctn_tuning_default;
        return CATENA_OK;
    }
    bool machine = strncmp(name, "machine:", 8) == 0;
    if (!machine && !ctn_document_is_path(name)) {
        ctn_error(log,
                  "CATENA_TUNING is '%s'; expected auto, machine:NAME, or "
                  "the path of a file (with a '/', or ending in .json)",
                  name);
        return CATENA_ERR_ARG;
    }
    ctn_tuning_t *tuning = calloc(1, sizeof(*tuning));
    if (tuning == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = machine ? open_machine(log, name, tuning)
                                     : open_file(log, name, tuning);
    if (status != CATENA_OK) {
        ctn_tuning_close(tuning);
        return status;
    }
    *out = tuning;
    return CATENA_OK;
}

void ctn_tuning_close(const ctn_tuning_t *tuning)
{
    if (tuning == NULL || tuning == &ctn_tuning_default) {
        return;
    }
    for (int i = 0; i < CTN_RULES_LISTS; i++) {
        free((void *)(uintptr_t)tuning->list[i].rule);
    }
    ctn_machine_free(tuning->machine);
    free((void *)(uintptr_t)tuning);
}

const char *ctn_tuning_name(const ctn_tuning_t *tuning)
{
    return tuning->name;
}

const catena_machine_t *ctn_tuning_machine(const ctn_tuning_t *tuning)
{
    return tuning->machine;
}

/* ---- selection ---- */

static bool is_within(uint32_t number, const ctn_rule_range_t *bounds)
{
    return number >= bounds->from && number <= bounds->to;
}

static bool is_accepted(uint8_t accepts, bool value)
{
    return accepts == CTN_ACCEPTS_BOTH ||
           (accepts == CTN_ACCEPTS_TRUE) == value;
}

/** Whether a rule matches, but for the length and the mode. */
static bool matches(const ctn_rule_t *rule, ctn_algorithm_set_t possible,
                    const ctn_rule_facts_t *facts)
{
    return ctn_algorithm_in(possible, rule->algorithm) &&
           is_within(facts->ranks, &rule->ranks) &&
           is_within(facts->nodes, &rule->nodes) &&
           is_within(facts->ppn, &rule->ppn) &&
           is_accepted(rule->oversubscribed, facts->oversubscribed) &&
           is_accepted(rule->keys, facts->keys);
}

/** The longest length that a rule matches. */
static size_t longest(const ctn_rule_t *rule, uint32_t ranks)
{
    size_t by_rank = rule->bytes_to_by_rank <= SIZE_MAX / ranks
                         ? rule->bytes_to_by_rank * ranks
                         : SIZE_MAX;
    return by_rank < rule->bytes_to ? by_rank : rule->bytes_to;
}

/** Find the first rule of a list that matches. Its choice begins above the
 * lengths of those before it that would match shorter ones.
 * @return whether there is one */
static bool find_first(const ctn_rules_t *list, ctn_algorithm_set_t possible,
                       const ctn_rule_facts_t *facts, size_t bytes,
                       ctn_choice_t *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const ctn_rule_t *rule = &list->rule[i];
        if (!matches(rule, possible, facts)) {
            continue;
        }
        out->by_mode |= rule->blocking != CTN_ACCEPTS_BOTH;
        if (!is_accepted(rule->blocking, facts->blocking)) {
            continue;
        }
        size_t to = longest(rule, facts->ranks);
        if (bytes <= to) {
            out->rule = rule;
            out->to = to;
            return true;
        }
        out->from = out->from > to ? out->from : to + 1;
    }
    return false;
}

void ctn_tuning_find(const ctn_tuning_t *tuning, ctn_rules_of_t list,
                     ctn_algorithm_set_t possible,
                     const ctn_rule_facts_t *facts, size_t bytes,
                     ctn_choice_t *out)
{
    *out = (ctn_choice_t){.possible = possible, .blocking = facts->blocking};
    if (!find_first(&tuning->list[list], possible, facts, bytes, out)) {
        (void)find_first(&ctn_tuning_default.list[list], possible, facts, bytes,
                         out);
    }
}

void ctn_rule_describe(const ctn_rule_t *rule, char *text, size_t bytes)
{
    if (rule->number > 0) {
        snprintf(text, bytes, "rule %u of tuning %.40s", rule->number,
                 rule->tuning);
    } else {
        snprintf(text, bytes, "formulas, machine %.40s", rule->tuning);
    }
}
