/* The algorithms of alltoall, their settings, and their selection. Also
 * catena_group_set and catena_group_explain, for all collectives. */

#include "coll/select/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coll/barrier.h"
#include "coll/ml/ml.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "core/units.h"
#include "group/check.h"
#include "group/recovery.h"
#include "split/call/call.h"

#define FAMILY(NAME, ...)                                                      \
    [CTN_ALGORITHM_##NAME] = {.name = CTN_ALGORITHM_##NAME, __VA_ARGS__}

static const ctn_family_t families[] = {
    FAMILY(DIRECT, .kind = CTN_ALLTOALL_DIRECT),
    FAMILY(SHIFT, .kind = CTN_ALLTOALL_SHIFT),
    FAMILY(BRUCK, .kind = CTN_ALLTOALL_BRUCK),
    FAMILY(MORTON, .kind = CTN_ALLTOALL_MORTON, .one_leader = true),
    FAMILY(L_A2A, .kind = CTN_ALLTOALL_LEADERS, .one_leader = true),
    FAMILY(MPML, .kind = CTN_ALLTOALL_LEADERS),
    FAMILY(NMPML, .kind = CTN_ALLTOALL_LEADERS,
           .placement = CTN_PLACEMENT_SPREAD),
    FAMILY(ONMPML, .kind = CTN_ALLTOALL_LEADERS,
           .placement = CTN_PLACEMENT_SPREAD, .overlap = true),
    FAMILY(L_A2A_PLAIN, .kind = CTN_ALLTOALL_LEADERS_PLAIN, .one_leader = true),
    FAMILY(MPML_PLAIN, .kind = CTN_ALLTOALL_LEADERS_PLAIN),
    FAMILY(NMPML_PLAIN, .kind = CTN_ALLTOALL_LEADERS_PLAIN,
           .placement = CTN_PLACEMENT_SPREAD),
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

#define COUNT(NAME, text) +1
_Static_assert(1 CTN_EACH_ALLTOALL(COUNT) == FAMILIES,
               "the algorithms of alltoall are the first ones");

static const ctn_setting_t settings[] = {
    {"ALLTOALL_LEADERS", "auto", "Leaders on every node for alltoall.",
     offsetof(ctn_select_config_t, leaders), &ctn_setting_count},
};

const ctn_setting_table_t ctn_select_settings =
    CTN_SETTING_TABLE(settings, ctn_select_config_t);

catena_status_t ctn_select_check(const ctn_log_t *log,
                                 const ctn_config_t *config)
{
    const ctn_select_config_t *set =
        ctn_config_values(config, &ctn_select_settings);
    if (set->leaders != CTN_CONFIG_AUTO && set->leaders > CTN_MAX_LEADERS) {
        ctn_error(log,
                  "CATENA_ALLTOALL_LEADERS is %zu; expected auto or 1 to %u",
                  set->leaders, CTN_MAX_LEADERS);
        return CATENA_ERR_ARG;
    }
    return ctn_ml_check(log, config);
}

/* ---- settings of a group ---- */

static const char selector_key; /* its address identifies the attachment */

_Static_assert(CTN_TUNING_LEADERS == CTN_MAX_LEADERS &&
                   CTN_TUNING_WINDOW == CTN_EAGER_SLOTS,
               "the limits of tunings are those of a group");

static void release_selector(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    free(attachment);
}

/** Set what the environment says. */
static void set_defaults(ctn_selector_t *selector, const ctn_config_t *config)
{
    const ctn_select_config_t *set =
        ctn_config_values(config, &ctn_select_settings);
    unsigned family = ctn_hierarchy_config(config)->alltoall;
    selector->family = family > 0 ? &families[family] : NULL;
    selector->leaders =
        set->leaders != CTN_CONFIG_AUTO ? (uint32_t)set->leaders : 0;
}

ctn_selector_t *ctn_selector_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &selector_key);
    if (found != NULL) {
        return (ctn_selector_t *)found;
    }
    ctn_selector_t *selector = calloc(1, sizeof(*selector));
    if (selector != NULL) {
        selector->attachment.key = &selector_key;
        selector->attachment.release = release_selector;
        set_defaults(selector, group->exec->config);
        ctn_group_attach(group, &selector->attachment);
    }
    return selector;
}

/** The name of an alltoall's algorithm has been set. */
static void set_family(ctn_selector_t *selector, const char *name)
{
    size_t i = 0;
    while (strcasecmp(name, ctn_algorithm_names[i]) != 0) {
        i++;
    }
    selector->family = i > 0 ? &families[i] : NULL;
}

bool ctn_alltoall_by_levels(const catena_group_t *group,
                            ctn_selector_t *selector)
{
    const ctn_family_t *family = selector->family;
    if (selector->by_levels == CTN_BY_LEVELS_UNKNOWN) {
        bool has_levels = family == NULL ||
                          family->kind == CTN_ALLTOALL_DIRECT ||
                          family->kind == CTN_ALLTOALL_BRUCK;
        selector->by_levels =
            has_levels && ctn_hierarchy_is_named(group, CTN_COLL_ALLTOALL)
                ? CTN_BY_LEVELS_YES
                : CTN_BY_LEVELS_NO;
    }
    return selector->by_levels == CTN_BY_LEVELS_YES;
}

/** A numeric setting of a group, and its limits; auto is stored as 0. */
typedef struct number {
    const char *name;
    size_t offset; /* in ctn_selector_t */
    uint32_t least;
    uint32_t most;
} number_t;

static const number_t numbers[] = {
    {"alltoall_leaders", offsetof(ctn_selector_t, leaders), 1, CTN_MAX_LEADERS},
    {"alltoall_radix", offsetof(ctn_selector_t, radix), 2, 65536},
    {"alltoall_window", offsetof(ctn_selector_t, window), 1, CTN_EAGER_SLOTS},
};

static catena_status_t set_number(catena_group_t *group,
                                  ctn_selector_t *selector,
                                  const number_t *number, const char *value)
{
    uint64_t parsed = 0;
    if (strcmp(value, "auto") != 0 &&
        (!ctn_units_count(value, number->most, &parsed) ||
         parsed < number->least)) {
        return ctn_refuse(group->exec->log, CATENA_ERR_ARG, "catena_group_set",
                          "%s is '%s'; expected auto or %u to %u", number->name,
                          value, number->least, number->most);
    }
    *(uint32_t *)(void *)((unsigned char *)selector + number->offset) =
        (uint32_t)parsed;
    return CATENA_OK;
}

/** Apply a setting to a group.
 * @param[out] all all ranks have to set it, also to "auto", or none */
static catena_status_t apply(catena_group_t *group, const char *name,
                             const char *value, bool *all)
{
    catena_status_t status;
    /* Persistent requests apply the new settings at their next start. */
    ctn_duplicates_t *requests = ctn_duplicates_of(group);
    if (requests == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_check_wait(group);
    ctn_selector_t *selector = ctn_selector_of(group);
    if (selector == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    selector->inline_bytes = 0;
    selector->by_levels = CTN_BY_LEVELS_UNKNOWN;
    *all = true;
    if (ctn_hierarchy_set(group, name, value, &status)) {
        requests->changes++;
        ctn_ml_forget(group);
        return status;
    }
    if (ctn_ml_set(group, name, value, &status)) {
        requests->changes++;
        if (status == CATENA_OK && strcmp(name, "alltoall_algorithm") == 0) {
            set_family(selector, value);
        }
        return status;
    }
    *all = false;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            return set_number(group, selector, &numbers[i], value);
        }
    }
    return ctn_refuse(
        group->exec->log, CATENA_ERR_ARG, "catena_group_set",
        "a group has no setting '%s'; expected "
        "alltoall_leaders, alltoall_radix, alltoall_window, hierarchy, "
        "subgroup, reproducible, COLLECTIVE_hierarchy and COLLECTIVE_algorithm "
        "for barrier, "
        "bcast, reduce, allreduce, gather, scatter, allgather, reduce_scatter, "
        "scan and alltoall",
        name);
}

/** The same. Where calls are compared, the setting is from now on. */
static catena_status_t set(catena_group_t *group, const char *name,
                           const char *value)
{
    bool all = false;
    catena_status_t status = apply(group, name, value, &all);
    if (status != CATENA_OK || !ctn_group_checks(group)) {
        return status;
    }
    const char *compared = strcmp(name, "subgroup") == 0        ? ""
                           : !all && strcmp(value, "auto") == 0 ? NULL
                                                                : value;
    return ctn_check_set(group, name, compared);
}

/** A rank without memory for a setting would start other operations than the
 * ranks that have it, so the group fails, or the context ends. */
static catena_status_t lack_memory(catena_group_t *group, const char *name)
{
    ctn_failure_t *failure = ctn_group_failure(group);
    bool alone = group->chain.place.size == 1;
    catena_status_t status = ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    /* After it, so that catena_last_error names the setting. */
    (void)ctn_refuse(group->exec->log, CATENA_ERR_NO_MEMORY, "catena_group_set",
                     "no memory for the setting %s%s; free memory, or raise "
                     "the limit of the process",
                     name,
                     alone ? ""
                     : failure != NULL
                         ? ", which other ranks may have, so the group fails"
                         : ", which other ranks may have, so all operations "
                           "end");
    return status;
}

catena_status_t catena_group_set(catena_group_t *group, const char *name,
                                 const char *value)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || name == NULL || value == NULL) {
        return CTN_REFUSE_NULL(ctn_group_log(group), group, name, value);
    }
    catena_status_t status = set(group, name, value);
    return status == CATENA_ERR_NO_MEMORY ? lack_memory(group, name) : status;
}

/* ---- selection ---- */

#define ANY_ALGORITHM UINT64_MAX

/** Default number of leaders on each node: the number of NUMA domains, up to
 * the highest that a member is bound to, as in [Peng] (6.1); at least one. All
 * members have the same member table, so all get the same number. */
static uint32_t default_leaders(const ctn_topo_t *topo)
{
    const ctn_member_table_t *member_table = &topo->member_table;
    int32_t highest = 0;
    for (uint32_t i = 0; i < member_table->size; i++) {
        int32_t domain = member_table->member[i].numa;
        highest = domain > highest ? domain : highest;
    }
    uint32_t domains = (uint32_t)highest + 1;
    return domains < CTN_MAX_LEADERS ? domains : CTN_MAX_LEADERS;
}

/** Whether an algorithm has leaders on each node if there are several. */
static bool is_led(const ctn_family_t *family)
{
    return family->kind == CTN_ALLTOALL_LEADERS ||
           family->kind == CTN_ALLTOALL_LEADERS_PLAIN ||
           family->kind == CTN_ALLTOALL_MORTON;
}

/** Return the reason why an algorithm cannot run here; NULL: it can. */
static const char *refusal(const ctn_alltoall_t *call, const ctn_topo_t *topo,
                           const ctn_family_t *family)
{
    switch (family->kind) {
    case CTN_ALLTOALL_SHIFT:
        return call->in_place ? "in place: rounds must pair the ranks" : NULL;
    case CTN_ALLTOALL_BRUCK:
        return call->vector ? "Bruck requires blocks of one length" : NULL;
    case CTN_ALLTOALL_MORTON:
        return call->vector ? "Morton requires blocks of one length"
               : call->in_place && topo->nodes == 1
                   ? "in place: rounds must pair the ranks"
                   : NULL;
    case CTN_ALLTOALL_LEADERS_PLAIN:
        if (call->vector) {
            return "plain leaders require blocks of one length";
        }
        /* fall through */
    case CTN_ALLTOALL_LEADERS:
        return topo->nodes == 1 ? "one node: the shared heap is used directly"
                                : NULL;
    case CTN_ALLTOALL_DIRECT:
    default:
        return NULL;
    }
}

/** The rule for a call. It is kept, since calls in a row often have the same
 * length. */
static const ctn_rule_t *find_rule(ctn_selector_t *selector,
                                   const ctn_alltoall_t *call)
{
    ctn_tuned_call_t *tuned = &selector->tuned[call->vector];
    ctn_choice_t *choice = &tuned->choice;
    size_t bytes = call->vector ? 0 : call->send->bytes;
    if (ctn_choice_holds(choice, ANY_ALGORITHM, call->blocking, bytes)) {
        return choice->rule;
    }
    const ctn_tuning_t *tuning = call->group->exec->tuning;
    ctn_rules_of_t list =
        call->vector ? CTN_RULES_ALLTOALLV : CTN_RULES_ALLTOALL;
    const ctn_rule_facts_t facts = {.ranks = call->group->chain.place.size,
                                    .nodes = call->topo->nodes,
                                    .ppn = call->topo->member_table.most,
                                    .oversubscribed =
                                        call->topo->member_table.oversubscribed,
                                    .blocking = call->blocking};
    if (ctn_tuning_machine(tuning) != NULL) {
        tuned->made =
            ctn_tuning_by_formulas(tuning, list, facts.nodes, facts.ppn, bytes);
        *choice = (ctn_choice_t){.rule = &tuned->made,
                                 .from = bytes,
                                 .to = bytes,
                                 .possible = ANY_ALGORITHM};
    } else {
        ctn_tuning_find(tuning, list, ANY_ALGORITHM, &facts, bytes, choice);
    }
    return choice->rule;
}

/** Replace an algorithm that cannot run here by the direct one. */
static void refuse(const ctn_alltoall_t *call, ctn_selection_t *s)
{
    const char *reason = refusal(call, call->topo, s->family);
    if (reason != NULL) {
        s->family = &families[CTN_ALGORITHM_DIRECT];
        s->reason = reason;
    }
}

const ctn_family_t *ctn_alltoall_requested(const ctn_selector_t *selector,
                                           const ctn_alltoall_t *call)
{
    return call->family != NULL ? call->family
                                : &families[selector->tuned[call->vector]
                                                .choice.rule->algorithm];
}

void ctn_alltoall_select(ctn_selector_t *selector, const ctn_alltoall_t *call)
{
    ctn_selection_t *s = &selector->last;
    if (call->family == NULL) {
        const ctn_rule_t *rule = find_rule(selector, call);
        bool typed = call->receive->types != NULL;
        *s = (ctn_selection_t){.family = &families[rule->algorithm],
                               .leaders = rule->leaders,
                               .radix = rule->radix,
                               .window = rule->window,
                               .direct_above = typed && rule->direct_above_w <
                                                            rule->direct_above
                                                   ? rule->direct_above_w
                                                   : rule->direct_above,
                               .rule = rule};
    } else {
        *s = (ctn_selection_t){.family = call->family,
                               .direct_above = SIZE_MAX,
                               .reason = "as asked for"};
    }
    refuse(call, s);
    s->leaders = call->leaders > 0 ? call->leaders : s->leaders;
    s->radix = call->radix > 0 ? call->radix : s->radix;
    s->window = call->window > 0 ? call->window : s->window;
    if (is_led(s->family) && (s->leaders == 0 || s->family->one_leader)) {
        s->leaders = s->family->one_leader ? 1 : default_leaders(call->topo);
    }
}

/* ---- explanation ---- */

void ctn_alltoall_explain(const catena_group_t *group, char *text, size_t bytes)
{
    const ctn_selector_t *selector =
        (const ctn_selector_t *)ctn_group_find(group, &selector_key);
    if (selector == NULL || selector->last.family == NULL) {
        snprintf(text, bytes, "algorithm=none reason=\"has not run yet\"");
        return;
    }
    const ctn_selection_t *s = &selector->last;
    char leaders[32] = "";
    char reason[80];
    snprintf(reason, sizeof(reason), "%s", s->reason != NULL ? s->reason : "");
    if (s->reason == NULL) {
        ctn_rule_describe(s->rule, reason, sizeof(reason));
    }
    if (is_led(s->family) && selector->nodes > 1) {
        snprintf(leaders, sizeof(leaders), " leaders=%u", s->leaders);
    }
    ctn_transport_t *network = group->exec->network;
    snprintf(text, bytes,
             "algorithm=%s%s nodes=%u ranks=%u transport=\"%s%s%s\" "
             "messages=%llu reason=\"%s\"",
             ctn_algorithm_names[s->family->name], leaders, selector->nodes,
             group->chain.place.size,
             group->exec->local->ops->describe(group->exec->local),
             selector->nodes > 1 ? " + " : "",
             selector->nodes > 1 && network != NULL
                 ? network->ops->describe(network)
                 : "",
             (unsigned long long)selector->messages, reason);
}

static bool is_alltoall(const char *collective)
{
    static const char *const all[] = {
#define CTN_ALLTOALL(NAME, name, ...) #name,
#include "core/calls.def"
    };
    size_t i = 0;
    while (i < sizeof(all) / sizeof(all[0]) &&
           strcmp(all[i], collective) != 0) {
        i++;
    }
    return i < sizeof(all) / sizeof(all[0]);
}

catena_status_t catena_group_explain(const catena_group_t *group,
                                     const char *collective, char *text,
                                     size_t bytes)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || collective == NULL || text == NULL) {
        return CTN_REFUSE_NULL(ctn_group_log(group), group, collective, text);
    }
    if (bytes == 0) {
        return ctn_refuse(group->exec->log, CATENA_ERR_ARG, __func__,
                          CTN_NO_BYTES);
    }
    ctn_selector_t *selector =
        (ctn_selector_t *)ctn_group_find(group, &selector_key);
    bool by_levels = selector != NULL && strcmp(collective, "alltoall") == 0 &&
                     ctn_alltoall_by_levels(group, selector);
    if (is_alltoall(collective) && !by_levels) {
        ctn_alltoall_explain(group, text, bytes);
        return CATENA_OK;
    }
    if (strcmp(collective, "barrier") == 0 &&
        group->barrier != CTN_BARRIER_LEVELS) {
        ctn_barrier_explain(group, text, bytes);
        return CATENA_OK;
    }
    if (strcmp(collective, "split") == 0) {
        ctn_split_explain(group, text, bytes);
        return CATENA_OK;
    }
    if (!ctn_ml_explain(group, collective, text, bytes)) {
        return ctn_refuse(
            group->exec->log, CATENA_ERR_ARG, __func__,
            "a group has no collective '%s'; expected alltoall, barrier, "
            "split, or another by its own name, such as gatherv",
            collective);
    }
    return CATENA_OK;
}
