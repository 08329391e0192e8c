/* Settings of hierarchies, and the hierarchies of a group that are in use.
 * build.c builds them. */

#include "coll/hierarchy/levels.h"
#include "core/refuse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char hierarchies_key; /* its address identifies the attachment */
static const char automatic[] = "auto";

/* The flat hierarchy, which keeps the order of ranks on any nodes. */
static const char flat_text[] = "network:p2p";

/* ---- the hierarchies of a group ---- */

/** Whether no module has an operation under way; see ctn_attachment_t. */
static bool quiet(const ctn_attachment_t *attachment)
{
    const ctn_hierarchies_t *all = (const ctn_hierarchies_t *)attachment;
    const ctn_module_entry_t *entry = all->modules;
    while (entry != NULL &&
           ctn_sequence_under_way(entry->module->sequence) == 0) {
        entry = entry->next;
    }
    return entry == NULL;
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_hierarchies_t *all = (ctn_hierarchies_t *)attachment;
    (void)exec;
    ctn_module_entries_destroy(&all->modules);
    while (all->first != NULL) {
        ctn_hierarchy_t *hierarchy = all->first;
        all->first = hierarchy->next;
        free(hierarchy->text);
        free(hierarchy);
    }
    for (int i = 0; i < CTN_COLL_COUNT; i++) {
        free(all->levels_of[i]);
        free(all->algorithm_of[i]);
    }
    free(all->levels);
    free(all->subgroup);
    free(all->reproducible);
    free(all);
}

/** The hierarchies of a group, made on first use. NULL: no memory. */
static ctn_hierarchies_t *hierarchies_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &hierarchies_key);
    if (found != NULL) {
        return (ctn_hierarchies_t *)found;
    }
    ctn_hierarchies_t *all = calloc(1, sizeof(*all));
    if (all != NULL) {
        all->attachment.key = &hierarchies_key;
        all->attachment.quiet = quiet;
        all->attachment.release = release;
        all->group = group;
        ctn_group_attach(group, &all->attachment);
    }
    return all;
}

/** The settings that hold for a group: those of its original, if it is a hidden
 * duplicate. NULL: none have been set. */
static const ctn_hierarchies_t *settings_of(const catena_group_t *group)
{
    return (const ctn_hierarchies_t *)ctn_group_find(ctn_group_original(group),
                                                     &hierarchies_key);
}

void ctn_hierarchy_forget(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &hierarchies_key);
    if (found != NULL) {
        ctn_hierarchies_t *all = (ctn_hierarchies_t *)found;
        memset(all->of, 0, sizeof(all->of));
        all->flat = NULL;
    }
}

const char *ctn_hierarchy_subgroup(const catena_group_t *group)
{
    const ctn_hierarchies_t *all = settings_of(group);
    return all != NULL && all->subgroup != NULL
               ? all->subgroup
               : ctn_hierarchy_config(group->exec->config)->subgroup;
}

/* ---- settings of a group ---- */

/** Replace a text. NULL removes it. */
static catena_status_t replace(char **text, const char *by)
{
    char *copy = by != NULL ? strdup(by) : NULL;
    if (by != NULL && copy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    free(*text);
    *text = copy;
    return CATENA_OK;
}

/** Set a text of levels; "auto" removes it. */
static catena_status_t set_levels(const ctn_log_t *log, const char *name,
                                  const char *value, char **text)
{
    char value_text[CTN_HIERARCHY_LEVELS_BYTES];
    ctn_hierarchy_levels_t levels;
    if (strcasecmp(value, automatic) == 0) {
        return replace(text, NULL);
    }
    char what[2 * CTN_HIERARCHY_NAME_BYTES];
    snprintf(what, sizeof(what), "catena_group_set: %s", name);
    catena_status_t status =
        ctn_hierarchy_levels_read(log, what, value, &levels);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_hierarchy_levels_write(&levels, value_text);
    return replace(text, value_text);
}

static catena_status_t set_subgroup(ctn_hierarchies_t *all, const char *value)
{
    if (strlen(value) >= CTN_SBGP_NAME_BYTES) {
        return ctn_refuse(all->group->exec->log, CATENA_ERR_ARG,
                          "catena_group_set",
                          "subgroup has %zu bytes; expected less than %u",
                          strlen(value), CTN_SBGP_NAME_BYTES);
    }
    all->subgroup_version++;
    return replace(&all->subgroup, value);
}

/** "auto" removes it. */
static catena_status_t set_reproducible(ctn_hierarchies_t *all,
                                        const char *value)
{
    size_t on;
    if (strcasecmp(value, automatic) == 0) {
        return replace(&all->reproducible, NULL);
    }
    if (!ctn_setting_read_switch(value, &on)) {
        return ctn_refuse(
            all->group->exec->log, CATENA_ERR_ARG, "catena_group_set",
            "reproducible is '%s'; expected on, off or auto", value);
    }
    return replace(&all->reproducible, on != 0 ? "on" : "off");
}

/** @param all the settings of a group, or NULL
 * @param set those of the environment */
static bool is_reproducible(const ctn_hierarchies_t *all,
                            const ctn_hierarchy_config_t *set)
{
    return all != NULL && all->reproducible != NULL
               ? strcmp(all->reproducible, "on") == 0
               : set->reproducible != 0;
}

bool ctn_hierarchy_reproducible(const catena_group_t *group)
{
    return is_reproducible(settings_of(group),
                           ctn_hierarchy_config(group->exec->config));
}

bool ctn_hierarchy_set(catena_group_t *group, const char *name,
                       const char *value, catena_status_t *status)
{
    ctn_coll_t of = ctn_collective_of_setting(name, "_hierarchy");
    bool is_all = strcmp(name, "hierarchy") == 0;
    bool is_subgroup = strcmp(name, "subgroup") == 0;
    bool is_bits = strcmp(name, "reproducible") == 0;
    if (of == CTN_COLL_COUNT && !is_all && !is_subgroup && !is_bits) {
        return false;
    }
    ctn_hierarchies_t *all = hierarchies_of(group);
    if (all == NULL) {
        *status = CATENA_ERR_NO_MEMORY;
        return true;
    }
    *status = is_subgroup ? set_subgroup(all, value)
              : is_bits
                  ? set_reproducible(all, value)
                  : set_levels(group->exec->log, name, value,
                               is_all ? &all->levels : &all->levels_of[of]);
    /* Also if the value was invalid or is the old one: on other ranks it may
     * not be, and all ranks must start the same operations, here those that
     * build the hierarchies again. */
    ctn_hierarchy_forget(group);
    return true;
}

catena_status_t ctn_hierarchy_set_algorithm(catena_group_t *group,
                                            ctn_coll_t of, const char *name)
{
    ctn_hierarchies_t *all = hierarchies_of(group);
    if (all == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    all->of[of] = NULL;
    return name != NULL ? replace(&all->algorithm_of[of], name) : CATENA_OK;
}

/** @param all the settings of a group, or NULL
 * @param set those of the environment */
static const char *algorithm_of(const ctn_hierarchies_t *all,
                                const ctn_hierarchy_config_t *set,
                                ctn_coll_t of)
{
    return all != NULL && all->algorithm_of[of] != NULL ? all->algorithm_of[of]
           : of == CTN_COLL_ALLTOALL ? ctn_algorithm_names[set->alltoall]
                                     : set->of[of].algorithm;
}

const char *ctn_hierarchy_algorithm(const catena_group_t *group, ctn_coll_t of)
{
    return algorithm_of(settings_of(group),
                        ctn_hierarchy_config(group->exec->config), of);
}

/* ---- selection ---- */

/** Find the levels of a collective by the settings. *text is "auto", or as
 * ctn_hierarchy_levels_write writes them. */
static catena_status_t text_of(const catena_group_t *group, ctn_coll_t of,
                               char text[CTN_HIERARCHY_LEVELS_BYTES])
{
    const ctn_hierarchies_t *settings = settings_of(group);
    const char *set = settings == NULL ? NULL
                      : settings->levels_of[of] != NULL
                          ? settings->levels_of[of]
                          : settings->levels;
    if (set != NULL) {
        snprintf(text, CTN_HIERARCHY_LEVELS_BYTES, "%s", set);
        return CATENA_OK;
    }
    const ctn_config_t *config = group->exec->config;
    int from = ctn_hierarchy_setting(config, (int)of, NULL) != NULL
                   ? (int)of
                   : CTN_COLL_COUNT;
    if (ctn_hierarchy_setting(config, from, NULL) == NULL) {
        memcpy(text, automatic, sizeof(automatic));
        return CATENA_OK;
    }
    char name[CTN_HIERARCHY_NAME_BYTES];
    const char *value_text = ctn_hierarchy_setting(config, from, name);
    ctn_hierarchy_levels_t levels;
    catena_status_t status =
        ctn_hierarchy_levels_read(group->exec->log, name, value_text, &levels);
    if (status == CATENA_OK) {
        ctn_hierarchy_levels_write(&levels, text);
    }
    return status;
}

bool ctn_hierarchy_is_named(const catena_group_t *group, ctn_coll_t of)
{
    const ctn_hierarchies_t *all = settings_of(group);
    const ctn_hierarchy_config_t *set =
        ctn_hierarchy_config(group->exec->config);
    return (all != NULL &&
            (all->levels_of[of] != NULL || all->levels != NULL)) ||
           strcasecmp(set->of[of].levels, automatic) != 0 ||
           strcasecmp(set->levels, automatic) != 0;
}

bool ctn_hierarchy_is_configured(const catena_group_t *group, ctn_coll_t of)
{
    return ctn_hierarchy_is_named(group, of) ||
           strcasecmp(ctn_hierarchy_algorithm(group, of), automatic) != 0;
}

catena_status_t
ctn_hierarchies_write(const ctn_hierarchies_t *all,
                      char text[CTN_COLL_COUNT * CTN_SETTING_BYTES])
{
    char *at = text;
    *at = '\0';
    if (ctn_hierarchy_reproducible(all->group)) {
        at += snprintf(at, CTN_HIERARCHY_NAME_BYTES, "reproducible=on");
    }
    for (int i = 0; i < CTN_COLL_COUNT; i++) {
        char levels[CTN_HIERARCHY_LEVELS_BYTES];
        const char *algorithm =
            ctn_hierarchy_algorithm(all->group, (ctn_coll_t)i);
        catena_status_t status = text_of(all->group, (ctn_coll_t)i, levels);
        if (status != CATENA_OK) {
            return status;
        }
        bool chosen = strcasecmp(algorithm, automatic) == 0;
        if (chosen && strcmp(levels, automatic) == 0) {
            continue;
        }
        at += snprintf(
            at, CTN_HIERARCHY_LEVELS_BYTES + CTN_HIERARCHY_NAME_BYTES,
            "%s%s=%s", at > text ? " " : "", ctn_collective_names[i], levels);
        if (!chosen) {
            at += snprintf(at, CTN_HIERARCHY_NAME_BYTES, "(%.*s)",
                           CTN_HIERARCHY_NAME_BYTES - 3, algorithm);
        }
    }
    return CATENA_OK;
}

bool ctn_hierarchy_same(const ctn_hierarchy_t *a, const ctn_hierarchy_t *b)
{
    return a->subgroup_version == b->subgroup_version &&
           strcmp(a->text, b->text) == 0;
}

/** The tickets of an earlier hierarchy with the same levels, whatever its
 * status, since its modules may be shared; or else the hierarchy's own. */
static ctn_tickets_t *find_tickets(const ctn_hierarchies_t *all,
                                   ctn_hierarchy_t *hierarchy)
{
    const ctn_hierarchy_t *same = all->first;
    while (same != NULL && !ctn_hierarchy_same(same, hierarchy)) {
        same = same->next;
    }
    return same != NULL ? same->tickets : &hierarchy->own;
}

/** Make a new hierarchy and start to build it.
 * @param compare as for ctn_hierarchy_build */
static catena_status_t request_hierarchy(ctn_hierarchies_t *all,
                                         const char *text, bool compare,
                                         const ctn_hierarchy_t *after,
                                         ctn_hierarchy_t **out)
{
    ctn_hierarchy_t *hierarchy = calloc(1, sizeof(*hierarchy));
    if (hierarchy == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    hierarchy->text = strdup(text);
    if (hierarchy->text == NULL) {
        free(hierarchy);
        return CATENA_ERR_NO_MEMORY;
    }
    const ctn_hierarchies_t *settings = settings_of(all->group);
    uint32_t subgroup_version =
        settings != NULL ? settings->subgroup_version : 0;
    hierarchy->subgroup_version =
        strstr(text, "user:") != NULL ? 1 + subgroup_version : 0;
    hierarchy->tickets = find_tickets(all, hierarchy);
    hierarchy->next = all->first;
    all->first = hierarchy;
    catena_status_t status =
        ctn_hierarchy_build(all, hierarchy, compare, after);
    if (status == CATENA_OK) {
        *out = hierarchy;
    }
    return status;
}

catena_status_t ctn_hierarchy_of(catena_group_t *group, const char *collective,
                                 ctn_hierarchy_t **hierarchy)
{
    ctn_hierarchies_t *all = hierarchies_of(group);
    ctn_coll_t of = ctn_collective_named(collective, strlen(collective));
    if (all == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    if (of == CTN_COLL_COUNT) {
        ctn_error(group->exec->log, "'%s' has no hierarchy", collective);
        return CATENA_ERR_ARG;
    }
    if (all->of[of] == NULL) {
        char text[CTN_HIERARCHY_LEVELS_BYTES];
        catena_status_t status = text_of(group, of, text);
        if (status == CATENA_OK) {
            status = request_hierarchy(all, text, true, NULL, &all->of[of]);
        }
        if (status != CATENA_OK) {
            return ctn_group_result(group, status);
        }
    }
    *hierarchy = all->of[of];
    return CATENA_OK;
}

catena_status_t ctn_hierarchy_flat(catena_group_t *group,
                                   const ctn_hierarchy_t *after,
                                   ctn_hierarchy_t **hierarchy)
{
    ctn_hierarchies_t *all = hierarchies_of(group);
    if (all == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    if (all->flat == NULL) {
        /* A hidden duplicate requests it when another hierarchy is built, for
         * which the settings were compared. They may have changed since, on
         * some ranks. */
        catena_status_t status = request_hierarchy(
            all, flat_text, !group->hidden, after, &all->flat);
        if (status != CATENA_OK) {
            return ctn_group_result(group, status);
        }
    }
    *hierarchy = all->flat;
    return CATENA_OK;
}

bool ctn_hierarchy_is_automatic(const ctn_hierarchy_t *hierarchy)
{
    return strcmp(hierarchy->text, automatic) == 0;
}

void ctn_hierarchy_describe(const ctn_hierarchy_t *hierarchy, char *text,
                            size_t bytes)
{
    size_t used = 0;
    if (bytes > 0) {
        text[0] = '\0';
    }
    for (unsigned i = 0; i < hierarchy->levels && used < bytes; i++) {
        const ctn_module_t *module = hierarchy->level[i];
        int n = snprintf(text + used, bytes - used, "%s%s:%s(%u)",
                         i > 0 ? " " : "", module->sbgp->rule->name,
                         module->bcol->name, module->sbgp->size);
        used += n > 0 ? (size_t)n : 0;
    }
}
