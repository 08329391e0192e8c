#ifndef CTN_COLL_HIERARCHY_HIERARCHY_H
#define CTN_COLL_HIERARCHY_HIERARCHY_H

#include "coll/bcol/bcol.h"
#include "coll/hierarchy/settings.h"
#include "topo/topo.h"

/* A hierarchy is a list of levels ([Graham], section 3). A level is a rule that
 * forms subgroups and a component that serves them. All ranks are in subgroups
 * of the first level, the leaders of these in subgroups of the second, and so
 * on until one subgroup is left. Subgroups of one member do nothing and are
 * left out. */

#define CTN_MOST_LEVELS 8u

/* A ticket lock. Each operation of the group that uses the same modules takes
 * a ticket when it starts. It starts its basic collectives when its ticket is
 * served, so all ranks start them in the same order. */
typedef struct ctn_tickets {
    uint64_t next;    /* the ticket of the next operation */
    uint64_t serving; /* the operation that may start its basic collectives */
} ctn_tickets_t;

typedef struct ctn_hierarchy {
    struct ctn_hierarchy *next; /* of the group */
    char *text;                 /* "numa:shm,node:shm", or "auto" */
    uint32_t subgroup_version;  /* version of the subgroup names that the rule
                                   "user" divides by; 0: the rule is not used */
    ctn_built_t state;
    catena_status_t status; /* why building failed; the same on all ranks unless
                               the network failed */
    /* The subgroups of this rank, the lowest level first. None if the rank is
     * alone in the group. */
    unsigned levels;
    ctn_module_t *level[CTN_MOST_LEVELS]; /* owned by the group */
    bool top;                             /* the last level joins all ranks */
    bool in_order; /* all subgroups on all ranks are in order: see ctn_sbgp_t */
    bool oversubscribed; /* some host has more ranks than cores */
    bool one_node;       /* all ranks share a heap */
    /* Hierarchies of a group with the same text have the same modules, and
     * share their tickets. */
    ctn_tickets_t *tickets;
    ctn_tickets_t own;
} ctn_hierarchy_t;

/** The hierarchy of a collective ("barrier", "bcast", ...: see
 * ctn_collective_names) in a group. The group's settings decide, then
 * CATENA_<COLLECTIVE>_HIERARCHY, then CATENA_HIERARCHY; "auto" defers to the
 * next. The first call, and the first call after a change of the group's
 * settings, starts an operation that builds the hierarchy. So all ranks must
 * call in the same order. The hierarchy may not be built when this returns.
 * Once built, it does not change and lives as long as the group.
 * @return ERR_ARG (invalid setting; logged with the reason and the valid
 * values), ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_of(catena_group_t *group, const char *collective,
                                 ctn_hierarchy_t **hierarchy);

/** Settings have changed: the next call of ctn_hierarchy_of builds anew. */
void ctn_hierarchy_forget(catena_group_t *group);

/** Whether a setting other than "auto" names the hierarchy. */
bool ctn_hierarchy_is_configured(const catena_group_t *group, ctn_coll_t of);

/** A hierarchy of one level, all ranks, p2p. It serves collectives that need
 * the order of ranks when the group's hierarchy does not keep it. */
catena_status_t ctn_hierarchy_flat(catena_group_t *group,
                                   ctn_hierarchy_t **hierarchy);

/** Set "hierarchy", "<collective>_hierarchy" or "subgroup" of a group.
 * @return false: `name` is none of them. *status: as catena_group_set. */
bool ctn_hierarchy_set(catena_group_t *group, const char *name,
                       const char *value, catena_status_t *status);

/** Set the algorithm of these collectives for a group. NULL leaves it as it is.
 * In either case the ranks agree on the settings again at the next of these
 * collectives. @return ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_set_algorithm(catena_group_t *group,
                                            ctn_coll_t of, const char *name);

/** The algorithm that the group's settings name, else
 * CATENA_<COLLECTIVE>_ALGORITHM; or "auto". */
const char *ctn_hierarchy_algorithm(const catena_group_t *group, ctn_coll_t of);

/** The name of this rank's subgroup for the rule "user". */
const char *ctn_hierarchy_subgroup(const catena_group_t *group);

/** Write this rank's levels and their sizes: "numa:shm(6) node:shm(2)". */
void ctn_hierarchy_describe(const ctn_hierarchy_t *hierarchy, char *text,
                            size_t bytes);

#endif
