#ifndef CTN_COLL_HIERARCHY_HIERARCHY_H
#define CTN_COLL_HIERARCHY_HIERARCHY_H

#include "coll/bcol/bcol.h"
#include "coll/hierarchy/settings.h"
#include "topo/topo.h"

/* A hierarchy is a list of levels ([Graham], section 3). A level is a rule that
 * forms subgroups and a component that serves them. All ranks are in subgroups
 * of the first level, the leaders of these in subgroups of the second, and so
 * on until one subgroup is left. A rank leaves out the levels in which it is
 * alone in its subgroup: there is nothing to do. */

#define CTN_MOST_LEVELS 8u

/** A ticket lock for operations of the group that use the same modules. Each of
 * them takes a ticket when it starts, and starts its basic collectives when its
 * ticket is served. So all ranks start them in the same order. */
typedef struct ctn_tickets {
    uint64_t next;    /* the ticket of the next operation */
    uint64_t serving; /* the operation that may start its basic collectives */
} ctn_tickets_t;

/** A hierarchy of a group, as one rank knows it. */
typedef struct ctn_hierarchy {
    struct ctn_hierarchy *next; /* in the list of the group's hierarchies */
    char *text;                 /* "numa:shm,node:shm", or "auto" */
    uint32_t subgroup_version;  /* version of the subgroup names that the rule
                                   "user" divides by; 0: the rule is not used */
    ctn_built_t state;
    catena_status_t status; /* why building failed; the same on all ranks unless
                               the network failed */
    bool agreed; /* building has ended with the same status on all ranks */
    bool differ; /* and has failed since their settings differ */
    /* The modules of this rank's subgroups, the lowest level first. None if the
     * rank is alone in the group. */
    unsigned levels;
    ctn_module_t *level[CTN_MOST_LEVELS]; /* [levels]; owned by the group */
    bool top;                             /* the last level joins all ranks */
    /** The most nodes of a subgroup, the same on all ranks: those of the group
     * if the levels below the top are within nodes. 0: a group of one rank. */
    uint32_t nodes;
    bool in_order; /* all subgroups on all ranks are in order: see ctn_sbgp_t */
    bool balanced; /* likewise balanced */
    /* Hierarchies of a group with the same text have the same modules, and
     * share their tickets. */
    ctn_tickets_t *tickets;
    ctn_tickets_t own; /* where `tickets` points if this is the first one */
} ctn_hierarchy_t;

/** Whether no settings name its levels. */
bool ctn_hierarchy_is_automatic(const ctn_hierarchy_t *hierarchy);

/** The module of a hierarchy with a single level, if no other operation uses
 * it. All ranks of the group must be members of this level: otherwise there is
 * a lower level, which this rank has left out because it is alone there.
 * @param ranks of the group
 * @return NULL: there is none, or the hierarchy is not built */
static inline ctn_module_t *
ctn_hierarchy_single(const ctn_hierarchy_t *hierarchy, uint32_t ranks)
{
    return hierarchy->state == CTN_BUILT && hierarchy->status == CATENA_OK &&
                   hierarchy->levels == 1 &&
                   hierarchy->level[0]->sbgp->size == ranks &&
                   hierarchy->tickets->next == hierarchy->tickets->serving
               ? hierarchy->level[0]
               : NULL;
}

/** Get the hierarchy of a collective ("barrier", "bcast", ...: see
 * ctn_collective_names) in a group. It is named by the group's settings or,
 * where these are "auto", by CATENA_<COLLECTIVE>_HIERARCHY or, where that is
 * "auto", by CATENA_HIERARCHY. The first call of this function, and the first
 * one after a change of the group's settings, starts an operation that builds
 * the hierarchy. So all ranks must call it at the same point in the order of
 * operations. The hierarchy may not be built yet when the function returns.
 * Once built, it does not change, and lives as long as the group.
 * @return ERR_ARG (invalid setting; logged with the reason and the valid
 * values), ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_of(catena_group_t *group, const char *collective,
                                 ctn_hierarchy_t **hierarchy);

/** Settings have changed: the next ctn_hierarchy_of builds a hierarchy again.
 */
void ctn_hierarchy_forget(catena_group_t *group);

/** Whether a setting names the hierarchy of these collectives. */
bool ctn_hierarchy_is_named(const catena_group_t *group, ctn_coll_t of);
/** Whether a setting names the hierarchy or the algorithm of these collectives:
 * a collective with settings of its own, and its variants. */
bool ctn_hierarchy_is_configured(const catena_group_t *group, ctn_coll_t of);

/** Get the flat hierarchy: one level with all ranks and the component p2p. It
 * serves collectives that must combine in the order of ranks, or by the
 * balanced tree, when their own hierarchy does not. Otherwise as
 * ctn_hierarchy_of.
 * @param after their own, if only ranks with some setting make this call; NULL:
 * all ranks do */
catena_status_t ctn_hierarchy_flat(catena_group_t *group,
                                   const ctn_hierarchy_t *after,
                                   ctn_hierarchy_t **hierarchy);

/** Whether reductions of the group are reproducible (HIER-13), by its settings
 * or else by CATENA_REPRODUCIBLE. */
bool ctn_hierarchy_reproducible(const catena_group_t *group);

/** Set "hierarchy", "<collective>_hierarchy", "subgroup" or "reproducible" of a
 * group.
 * @param[out] status as of catena_group_set
 * @return false: `name` is none of these settings */
bool ctn_hierarchy_set(catena_group_t *group, const char *name,
                       const char *value, catena_status_t *status);

/** Set the name of the algorithm of these collectives for a group; NULL: do not
 * change it. In both cases the ranks compare their settings again at the next
 * of these collectives.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_hierarchy_set_algorithm(catena_group_t *group,
                                            ctn_coll_t of, const char *name);

/** Return the name of the algorithm by the group's settings, or else by
 * CATENA_<COLLECTIVE>_ALGORITHM; it may be "auto". */
const char *ctn_hierarchy_algorithm(const catena_group_t *group, ctn_coll_t of);

/** Return the name of this rank's subgroup under the rule "user". */
const char *ctn_hierarchy_subgroup(const catena_group_t *group);

/** Write this rank's levels and their sizes: "numa:shm(6) node:shm(2)". */
void ctn_hierarchy_describe(const ctn_hierarchy_t *hierarchy, char *text,
                            size_t bytes);

#endif
