#ifndef CTN_COLL_HIERARCHY_SETTINGS_H
#define CTN_COLL_HIERARCHY_SETTINGS_H

#include "core/config.h"
#include "model/algorithms.h"

/* The collectives that use hierarchies, and their settings in the
 * environment. */

/** The collectives with settings of their own: CATENA_<NAME>_HIERARCHY and
 * CATENA_<NAME>_ALGORITHM. Variants, such as gatherv of gather, share these
 * settings; see core/calls.def. */
typedef enum ctn_coll {
#define CTN_CALL(NAME, name, send, recv, traits) CTN_COLL_##NAME,
#include "core/calls.def"
    CTN_COLL_ALLTOALL, /* not alltoallv, alltoallw */
    CTN_COLL_COUNT
} ctn_coll_t;

/** "barrier", "bcast", ... in the order of ctn_coll_t; NULL-terminated. */
extern const char *const ctn_collective_names[];

/** Return the collective with this name of `length` characters; CTN_COLL_COUNT:
 * there is none. */
ctn_coll_t ctn_collective_named(const char *name, size_t length);
/** The same for the name of a setting, "<collective><suffix>". */
ctn_coll_t ctn_collective_of_setting(const char *name, const char *suffix);

/** Values of the settings of hierarchies. */
typedef struct ctn_hierarchy_config {
    char *levels;        /* HIERARCHY: "auto", or levels */
    char *subgroup;      /* SUBGROUP: name under the rule "user"; default "" */
    size_t reproducible; /* REPRODUCIBLE: 0 or 1 */
    unsigned alltoall;   /* ALLTOALL_ALGORITHM: a ctn_algorithm_name_t */
    struct {
        char *levels; /* <NAME>_HIERARCHY: "auto" (as HIERARCHY), or levels */
        char *algorithm; /* <NAME>_ALGORITHM: "auto", or a name; not of
                            alltoall */
    } of[CTN_COLL_COUNT];
} ctn_hierarchy_config_t;

extern const ctn_setting_table_t ctn_hierarchy_settings;

static inline const ctn_hierarchy_config_t *
ctn_hierarchy_config(const ctn_config_t *config)
{
    return ctn_config_values(config, &ctn_hierarchy_settings);
}

/** Check the settings of the environment.
 * @return ERR_ARG (logged) */
catena_status_t ctn_hierarchy_check(const ctn_log_t *log,
                                    const ctn_config_t *config);

/** Whether the levels of any setting name this component. */
bool ctn_hierarchy_names(const ctn_config_t *config, const char *component);

#define CTN_HIERARCHY_NAME_BYTES 64u /* of a setting's name in messages */

/** Read the setting of the environment for the levels of a collective.
 * @param i    a ctn_coll_t; CTN_COLL_COUNT: CATENA_HIERARCHY, for all
 *             collectives
 * @param name set to the name of the setting, unless NULL
 * @return the levels as text; NULL: auto */
const char *ctn_hierarchy_setting(const ctn_config_t *config, int i,
                                  char name[CTN_HIERARCHY_NAME_BYTES]);

#endif
