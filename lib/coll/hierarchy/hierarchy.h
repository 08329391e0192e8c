#ifndef CTN_COLL_HIERARCHY_HIERARCHY_H
#define CTN_COLL_HIERARCHY_HIERARCHY_H

#include "coll/bcol/bcol.h"
#include "topo/topo.h"

/* A chain of levels ([Graham], section 3): each is a rule for subgroups and a
 * component that serves them. All ranks are in subgroups of the first level;
 * the leaders of these are in subgroups of the second, and so on, until one
 * subgroup is left. Subgroups of one member do nothing and are left out. */

#define CTN_MOST_LEVELS 8u

/* Operations of the group that use the same modules take their turn in making
 * their basic collectives, so that all ranks make them in the same order. */
typedef struct ctn_turns {
    uint64_t started; /* numbers given */
    uint64_t turn;    /* of which is this operation's */
} ctn_turns_t;

typedef struct ctn_hierarchy {
    struct ctn_hierarchy *next; /* of the group */
    char *text;                 /* "numa:shm,node:shm", or "auto" */
    uint32_t subgroup_version; /* of the names by which the rule "user" divides;
                     0: it does not */
    ctn_built_t state;
    catena_status_t status; /* why it could not be built; the same everywhere,
                               unless the network failed */
    /* Of this rank: the subgroups it is in, the lowest first; none when it is
     * alone in the group. */
    unsigned levels;
    ctn_module_t *level[CTN_MOST_LEVELS]; /* they are the group's */
    bool top;            /* the last of them is the one that joins all */
    bool in_order;       /* all subgroups on all ranks are: see ctn_sbgp_t */
    bool oversubscribed; /* some host has more ranks than cores */
    bool one_node;       /* all ranks share a heap */
    /* Those of a group that are of the same text have the same modules, and
     * take turns together. */
    ctn_turns_t *turns;
    ctn_turns_t own;
} ctn_hierarchy_t;

/** The hierarchy of a group and a collective ("barrier", "bcast", ...: see
 * ctn_collective_names), by the group's settings, else
 * CATENA_<COLLECTIVE>_HIERARCHY, else CATENA_HIERARCHY, each unless it is auto.
 * Not necessarily built yet: the first to ask, also the first after a change of
 * the group's settings, starts building, which goes on by itself; so all ranks
 * have to ask in the same order. It stays, as it was built, as long as the
 * group.
 * @return ERR_ARG (nonsense; logged with the reason and what there is),
 *         ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_of(catena_group_t *group, const char *collective,
                                 ctn_hierarchy_t **hierarchy);

/** Settings have changed: ask again. */
void ctn_hierarchy_forget(catena_group_t *group);

/** Whether settings say which it is: else it is "auto". */
bool ctn_hierarchy_is_configured(const catena_group_t *group, ctn_coll_t of);

/** A hierarchy of one level, all ranks, p2p: for what must go in the order of
 * ranks where the group's hierarchy does not. */
catena_status_t ctn_hierarchy_flat(catena_group_t *group,
                                   ctn_hierarchy_t **hierarchy);

/** Settings of a group: "hierarchy", "<collective>_hierarchy", "subgroup".
 * False: it is none of them. *status: as catena_group_set. */
bool ctn_hierarchy_set(catena_group_t *group, const char *name,
                       const char *value, catena_status_t *status);

/** The setting of a group for the algorithm of these collectives; NULL: it
 * stays as it is. In either case all ranks agree on settings again with the
 * next of these collectives. @return ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_set_algorithm(catena_group_t *group,
                                            ctn_coll_t of, const char *name);

/** The algorithm that is asked for, by the group's settings, else by
 * CATENA_<COLLECTIVE>_ALGORITHM; or "auto". */
const char *ctn_hierarchy_algorithm(const catena_group_t *group, ctn_coll_t of);

/** What names this rank's subgroup by the rule "user". */
const char *ctn_hierarchy_subgroup(const catena_group_t *group);

/** Whether the settings of the environment make sense.
 * @return ERR_ARG (logged) */
catena_status_t ctn_hierarchy_check(const ctn_log_t *log,
                                    const ctn_config_t *config);

/** Whether any of them names a component. */
bool ctn_hierarchy_names(const ctn_config_t *config, const char *component);

/** In words: "numa:shm(6) node:shm(2)": this rank's levels, with their sizes.
 */
void ctn_hierarchy_describe(const ctn_hierarchy_t *hierarchy, char *text,
                            size_t bytes);

#endif
