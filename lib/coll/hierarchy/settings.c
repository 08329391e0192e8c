/* The settings of hierarchies in the environment. */

#include "coll/hierarchy/settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "coll/hierarchy/levels.h"

/* Types of settings. */
static const ctn_setting_type_t levels_type = {
    .kind = CTN_SETTING_TEXT,
    .expected = "auto, or levels from the lowest up: "
                "rule:component,rule:component,..."};
static const ctn_setting_type_t algorithm_type = {
    .kind = CTN_SETTING_TEXT, .expected = "auto, or an algorithm's name"};

/* By ctn_algorithm_name_t. */
#define WORD(NAME, text) text,
static const char *const alltoall_words[] = {"auto",
                                             CTN_EACH_ALLTOALL(WORD) NULL};
static const ctn_setting_type_t alltoall_type = {.kind = CTN_SETTING_WORD,
                                                 .words = alltoall_words};

static const ctn_setting_t settings[] = {
    {"HIERARCHY", "auto",
     "Levels of collectives. Rules: core, l3, numa, socket, node, switch,\n"
     "network, user; components: shm, p2p, ucx. auto: "
     "numa:shm,node:shm,network:ucx,\n"
     "without numa if a host has more ranks than cores.",
     offsetof(ctn_hierarchy_config_t, levels), &levels_type},
    {"SUBGROUP", "", "Name of the subgroup of this rank for the rule \"user\".",
     offsetof(ctn_hierarchy_config_t, subgroup), &ctn_setting_text},
    {"REPRODUCIBLE", "off",
     "Sums and products of floats and complex numbers have the same bits for\n"
     "every algorithm, hierarchy, message size and layout of the ranks. The\n"
     "same on all ranks.",
     offsetof(ctn_hierarchy_config_t, reproducible), &ctn_setting_on},
#define CTN_CALL(NAME, name, send, recv, traits)                               \
    {#NAME "_HIERARCHY", "auto",                                               \
     "Levels of " #name "; auto: the value of CATENA_HIERARCHY.",              \
     offsetof(ctn_hierarchy_config_t, of[CTN_COLL_##NAME].levels),             \
     &levels_type},                                                            \
        {#NAME "_ALGORITHM", "auto",                                           \
         "Algorithm of " #name                                                 \
         ", for the components of its hierarchy that have it.",                \
         offsetof(ctn_hierarchy_config_t, of[CTN_COLL_##NAME].algorithm),      \
         &algorithm_type},
#include "core/calls.def"
    {"ALLTOALL_HIERARCHY", "auto",
     "Levels of alltoall; auto: the value of CATENA_HIERARCHY, or if that is\n"
     "auto, too, an algorithm without levels.",
     offsetof(ctn_hierarchy_config_t, of[CTN_COLL_ALLTOALL].levels),
     &levels_type},
    {"ALLTOALL_ALGORITHM", "auto",
     "Algorithm of alltoall. direct and bruck also apply to its levels.",
     offsetof(ctn_hierarchy_config_t, alltoall), &alltoall_type},
};

const ctn_setting_table_t ctn_hierarchy_settings =
    CTN_SETTING_TABLE(settings, ctn_hierarchy_config_t);

const char *const ctn_collective_names[] = {
#define CTN_CALL(NAME, name, send, recv, traits) #name,
#include "core/calls.def"
    "alltoall", NULL};

ctn_coll_t ctn_collective_named(const char *name, size_t length)
{
    int i = 0;
    while (i < CTN_COLL_COUNT &&
           (strlen(ctn_collective_names[i]) != length ||
            memcmp(ctn_collective_names[i], name, length) != 0)) {
        i++;
    }
    return (ctn_coll_t)i;
}

ctn_coll_t ctn_collective_of_setting(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    return length > strlen(suffix) &&
                   strcmp(name + length - strlen(suffix), suffix) == 0
               ? ctn_collective_named(name, length - strlen(suffix))
               : CTN_COLL_COUNT;
}

const char *ctn_hierarchy_setting(const ctn_config_t *config, int i,
                                  char name[CTN_HIERARCHY_NAME_BYTES])
{
    const ctn_hierarchy_config_t *set = ctn_hierarchy_config(config);
    const char *text = i < CTN_COLL_COUNT ? set->of[i].levels : set->levels;
    if (name != NULL) {
        snprintf(name, CTN_HIERARCHY_NAME_BYTES, "CATENA_%s%sHIERARCHY",
                 i < CTN_COLL_COUNT ? ctn_collective_names[i] : "",
                 i < CTN_COLL_COUNT ? "_" : "");
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
    }
    return strcasecmp(text, "auto") != 0 ? text : NULL;
}

catena_status_t ctn_hierarchy_check(const ctn_log_t *log,
                                    const ctn_config_t *config)
{
    const char *subgroup = ctn_hierarchy_config(config)->subgroup;
    char name[CTN_HIERARCHY_NAME_BYTES];
    ctn_hierarchy_levels_t levels;
    catena_status_t status = CATENA_OK;
    for (int i = 0; i <= CTN_COLL_COUNT && status == CATENA_OK; i++) {
        const char *text = ctn_hierarchy_setting(config, i, name);
        if (text != NULL) {
            status = ctn_hierarchy_levels_read(log, name, text, &levels);
        }
    }
    if (status == CATENA_OK && strlen(subgroup) >= CTN_SBGP_NAME_BYTES) {
        ctn_error(log, "CATENA_SUBGROUP has %zu bytes; expected less than %u",
                  strlen(subgroup), CTN_SBGP_NAME_BYTES);
        status = CATENA_ERR_ARG;
    }
    return status;
}

bool ctn_hierarchy_names(const ctn_config_t *config, const char *component)
{
    /* Errors have been logged by ctn_hierarchy_check. */
    static const ctn_log_t quiet = {.level = CTN_LOG_NOTHING, .rank = -1};
    ctn_hierarchy_levels_t levels;
    for (int i = 0; i <= CTN_COLL_COUNT; i++) {
        const char *text = ctn_hierarchy_setting(config, i, NULL);
        if (text == NULL || ctn_hierarchy_levels_read(&quiet, "auto", text,
                                                      &levels) != CATENA_OK) {
            continue;
        }
        for (unsigned level = 0; level < levels.count; level++) {
            if (strcmp(levels.level[level].bcol->name, component) == 0) {
                return true;
            }
        }
    }
    return false;
}
