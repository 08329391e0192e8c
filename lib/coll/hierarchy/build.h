#ifndef CTN_COLL_HIERARCHY_BUILD_H
#define CTN_COLL_HIERARCHY_BUILD_H

#include "coll/hierarchy/levels.h"
#include "group/chain_coll.h"
#include "split/bins.h"
#include "topo/topo.h"

/* Shared by the files that build a hierarchy: build.c explains it and has its
 * phases before the first and after the last level, build_node.c those of a
 * group on one node, build_level.c those of a level. */

/* Flags of facts: set if true on any participant. */
enum {
    CTN_BUILD_DIFFER = 1u << 0,         /* digests of two ranks differ */
    CTN_BUILD_OVERSUBSCRIBED = 1u << 1, /* a host has more ranks than cores */
    CTN_BUILD_DISORDER = 1u << 2,  /* a subgroup is not in the order of ranks */
    CTN_BUILD_UNBALANCED = 1u << 3 /* a subgroup is not balanced */
};

/** The facts of one rank, or of consecutive ranks combined. All 0: of no rank.
 */
typedef struct ctn_build_facts {
    uint64_t digest; /* of the settings, on the rank nearest to this one */
    uint32_t ranks;  /* number */
    uint32_t flags;
    int32_t status; /* the worst */
    uint32_t nodes; /* see ctn_hierarchy_t; of the levels so far */
} ctn_build_facts_t;

/* Temporary chains: number 0 for the participants from the second level on, and
 * 1 + level for the subgroup of each level. */
enum {
    CTN_BUILD_CHAINS = 1 + CTN_MOST_LEVELS,
    CTN_BUILD_BLOCK_CHAINS =
        1 + CTN_SUBCHAINS, /* chains that a control block serves */
    CTN_BUILD_BLOCKS =
        (CTN_BUILD_CHAINS + CTN_BUILD_BLOCK_CHAINS - 1) / CTN_BUILD_BLOCK_CHAINS
};

/** State of the operation that builds a hierarchy. */
typedef struct ctn_hierarchy_build {
    /* arguments */
    ctn_hierarchies_t *all;        /* of the group */
    ctn_hierarchy_t *hierarchy;    /* the one to build */
    const ctn_hierarchy_t *after;  /* see ctn_hierarchy_build */
    ctn_hierarchy_levels_t levels; /* auto: none before the ranks agree */
    /* The names of this rank's subgroups when the hierarchy was requested:
     * settings may change before it is built. */
    char name[CTN_MOST_LEVELS][CTN_SBGP_NAME_BYTES];
    uint64_t digest; /* of all settings */
    /* working */
    catena_status_t status;      /* the worst on this rank so far */
    bool agreed;                 /* the status is the same on all ranks */
    const ctn_hierarchy_t *same; /* an equal hierarchy that is built; or NULL */
    unsigned used;               /* chains [0, used) have been opened */
    unsigned level;              /* the current one */
    ctn_control_block_t *block[CTN_BUILD_BLOCKS]; /* of the chains */
    ctn_chain_t chain[CTN_BUILD_CHAINS];
    ctn_member_record_t *record; /* of this rank */
    ctn_module_t *module;        /* of this level, not in `modules` yet */
    ctn_module_entry_t *modules; /* of the levels built */
    ctn_rank_blocks_t blocks;    /* records of the subgroup's members */
    /* Double scans: of this rank, of the ranks before and after it. */
    ctn_build_facts_t own, left, right;
    ctn_topo_t *topo; /* of a group on one node; see build_node.c */
    ctn_bins_t own_bins, left_bins, right_bins;
} ctn_hierarchy_build_t;

/* Indices of the phases. */
enum {
    CTN_BUILD_PHASE_WAIT,
    CTN_BUILD_PHASE_NODE,
    CTN_BUILD_PHASE_NODE_DECIDE,
    CTN_BUILD_PHASE_NODE_END,
    CTN_BUILD_PHASE_AGREE,
    CTN_BUILD_PHASE_DECIDE,
    CTN_BUILD_PHASE_SPLIT,
    CTN_BUILD_PHASE_AGREE_IN_SUBGROUP,
    CTN_BUILD_PHASE_EXCHANGE,
    CTN_BUILD_PHASE_TAKE,
    CTN_BUILD_PHASE_LEADERS,
    CTN_BUILD_PHASE_CLIMB,
    CTN_BUILD_PHASE_REPORT,
    CTN_BUILD_PHASE_HAND_OVER
};

static inline ctn_hierarchy_build_t *ctn_build_of(ctn_op_t *op)
{
    return *(ctn_hierarchy_build_t **)ctn_op_state(op);
}

/** Keep the worst status of this rank. */
void ctn_build_note(ctn_hierarchy_build_t *build, catena_status_t status);
/** The same of the worst status of several ranks, which others have logged if
 * this one has none. */
void ctn_build_note_other(ctn_hierarchy_build_t *build, catena_status_t status);

/** The members of this rank's subgroup in this level. */
static inline ctn_chain_t *
ctn_build_chain_of_subgroup(ctn_hierarchy_build_t *build)
{
    return &build->chain[1 + build->level];
}

/** The participants of this level. */
static inline ctn_chain_t *
ctn_build_chain_of_level(ctn_hierarchy_build_t *build)
{
    return build->level == 0 ? &build->all->group->chain : &build->chain[0];
}

/** Whether the levels are "auto", and not chosen yet. */
static inline bool ctn_build_is_automatic(const ctn_hierarchy_build_t *build)
{
    return build->levels.count == 0;
}

/* ---- build.c ---- */

/** Combine the facts of all participants of a chain, by a double scan. */
ctn_step_t ctn_build_agree(ctn_op_t *op, ctn_chain_t *chain, uint64_t digest,
                           uint32_t flags);
/** The facts of all participants, when that scan has ended. */
ctn_build_facts_t ctn_build_agreed_facts(const ctn_hierarchy_build_t *build);
/** Initialize chain i, with this rank alone. */
void ctn_build_open_chain(ctn_hierarchy_build_t *build, unsigned i);
/** An earlier hierarchy with the same levels, or NULL. All operations begun
 * before this one are complete, and all ranks agreed on what was built, so all
 * ranks find the same one. */
const ctn_hierarchy_t *ctn_build_find_same(const ctn_hierarchy_build_t *build);
/** The levels are automatic: choose them. */
void ctn_build_choose_levels(ctn_hierarchy_build_t *build, bool oversubscribed);
/** Take the modules of an equal hierarchy. */
void ctn_build_take_over(ctn_hierarchy_t *hierarchy,
                         const ctn_hierarchy_t *same);
/** End the operation with a status. Called on all ranks, with the same status.
 */
ctn_step_t ctn_build_end_on_all(ctn_op_t *op, catena_status_t status);
/** The same where settings differ: log that they differ from those of the rank
 * before this one, if so. */
ctn_step_t ctn_build_end_different(ctn_op_t *op);

/* ---- build_node.c: phases of a group on one node ---- */

ctn_step_t ctn_build_exchange_on_node(ctn_op_t *op);
ctn_step_t ctn_build_decide_on_node(ctn_op_t *op);
ctn_step_t ctn_build_end_on_node(ctn_op_t *op);

/* ---- build_level.c ---- */

/** Make this rank's module of the level, unless there was an error, and
 * complete its record.
 * @param place in the subgroup */
void ctn_build_make_module(ctn_hierarchy_build_t *build,
                           const ctn_chain_place_t *place, bool oversubscribed);
/** Link the module of this level with those of the other members, and add it to
 * the hierarchy.
 * @param records of the subgroup's members
 * @param me index of this rank among them */
catena_status_t ctn_build_add_module(ctn_hierarchy_build_t *build,
                                     const ctn_rank_blocks_t *records,
                                     uint32_t me, bool oversubscribed);

/* Phases, in this order. */
ctn_step_t ctn_build_split_by_name(ctn_op_t *op);
ctn_step_t ctn_build_agree_in_subgroup(ctn_op_t *op);
ctn_step_t ctn_build_exchange(ctn_op_t *op);
ctn_step_t ctn_build_take(ctn_op_t *op);
ctn_step_t ctn_build_find_leaders(ctn_op_t *op);
ctn_step_t ctn_build_climb(ctn_op_t *op);

#endif
