#ifndef CTN_COLL_SBGP_SBGP_H
#define CTN_COLL_SBGP_SBGP_H

#include "group/group.h"

/* Subgroups ([Graham], section 3: SBGP). A rule gives each rank the name of
 * something that it shares, such as a NUMA domain; ranks with the same name
 * form a subgroup. A rule names a resource of the machine or has a function; a
 * new one takes its declaration below and two lines in coll/sbgp/sbgp.c. */

#define CTN_SBGP_NAME_BYTES 512u

/** A rule. */
typedef struct ctn_sbgp_rule {
    const char *name;     /* as in CATENA_HIERARCHY */
    const char *help;     /* which ranks form a subgroup, for users */
    catena_level_t level; /* the resource that the ranks of a subgroup share */
    /** Instead: write the name of this rank's subgroup to `name`; or NULL.
     * @return ERR_ARG (logged) */
    catena_status_t (*find)(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES]);
} ctn_sbgp_rule_t;

extern const ctn_sbgp_rule_t ctn_sbgp_core;
extern const ctn_sbgp_rule_t ctn_sbgp_l3;
extern const ctn_sbgp_rule_t ctn_sbgp_numa;
extern const ctn_sbgp_rule_t ctn_sbgp_socket;
extern const ctn_sbgp_rule_t ctn_sbgp_node;
extern const ctn_sbgp_rule_t ctn_sbgp_switch;  /* by a file */
extern const ctn_sbgp_rule_t ctn_sbgp_network; /* all of the group */
extern const ctn_sbgp_rule_t ctn_sbgp_user;    /* named by CATENA_SUBGROUP */

/** All rules; NULL-terminated. Rules of the machine come first, from the
 * smallest resource up to the network. */
extern const ctn_sbgp_rule_t *const ctn_sbgp_rules[];

/** Write the name of this rank's subgroup to `name`.
 * @return as ctn_locality_resource; logged */
catena_status_t ctn_sbgp_name(const ctn_sbgp_rule_t *rule,
                              const catena_group_t *group,
                              char name[CTN_SBGP_NAME_BYTES]);

/** Consecutive ranks of the group. */
typedef struct ctn_range {
    uint32_t first;
    uint32_t count;
} ctn_range_t;

/** A member of a subgroup. Above the lowest level, a member is the leader of a
 * subgroup below and represents all ranks of it. */
typedef struct ctn_sbgp_member {
    ctn_address_t memory;     /* of its module, in its arena */
    uint32_t rank;            /* in the group */
    uint32_t ranges;          /* number of entries in range */
    const ctn_range_t *range; /* [ranges]: the ranks that it represents,
                                 ascending */
} ctn_sbgp_member_t;

/** A subgroup, as its members know it. The ranges of all members are one array.
 * Member 0 is the leader: the only member that also takes part in the next
 * level. */
typedef struct ctn_sbgp {
    const ctn_sbgp_rule_t *rule;
    uint32_t size;  /* members */
    uint32_t me;    /* index of this rank among them */
    uint32_t nodes; /* on which the members are */
    uint32_t ppn;   /* members on the node that has most of them */
    /** Each member represents one range, which begins where the range of the
     * member before it ends. A reduction in the order of members is then a
     * reduction in the order of ranks. */
    bool in_order;
    /** in_order, and all members represent the same number of ranks, a power of
     * two. If the data of each member were combined by the balanced tree of its
     * ranks (type/balanced.h), combining them by the balanced tree of members
     * gives that of all ranks. */
    bool balanced;
    bool oversubscribed;       /* the host of some member has more ranks than
                                  cores */
    ctn_sbgp_member_t *member; /* [size] */
} ctn_sbgp_t;

/** Return the index of the member that represents a rank of the group; `size`:
 * there is none. */
uint32_t ctn_sbgp_find(const ctn_sbgp_t *sbgp, uint32_t rank);

/** Copy the ranges of all members, sorted by rank.
 * @param ranges memory for all of them; NULL: only count
 * @return number of ranges */
uint32_t ctn_sbgp_ranges(const ctn_sbgp_t *sbgp, ctn_range_t *ranges);

#endif
