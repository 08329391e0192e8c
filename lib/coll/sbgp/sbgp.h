#ifndef CTN_COLL_SBGP_SBGP_H
#define CTN_COLL_SBGP_SBGP_H

#include "group/group.h"

/* Subgroups ([Graham], section 3: SBGP). A rule gives each rank the name of
 * what it shares; ranks with the same name are a subgroup. A new rule is one
 * file in coll/sbgp and a line in coll/sbgp/sbgp.c. */

#define CTN_SBGP_NAME_BYTES 512u

typedef struct ctn_sbgp_rule {
    const char *name; /* as in CATENA_HIERARCHY */
    const char *help;
    /** The name of what this rank shares, into `name`.
     * @return as ctn_locality_resource; logged */
    catena_status_t (*find)(const catena_group_t *group,
                            char name[CTN_SBGP_NAME_BYTES]);
} ctn_sbgp_rule_t;

extern const ctn_sbgp_rule_t ctn_sbgp_core;
extern const ctn_sbgp_rule_t ctn_sbgp_l3;
extern const ctn_sbgp_rule_t ctn_sbgp_numa;
extern const ctn_sbgp_rule_t ctn_sbgp_socket;
extern const ctn_sbgp_rule_t ctn_sbgp_node;
extern const ctn_sbgp_rule_t ctn_sbgp_network; /* all of the group */
extern const ctn_sbgp_rule_t ctn_sbgp_user;    /* by CATENA_SUBGROUP */

/** NULL-terminated; those of the machine first, from the smallest up to the
 * network. */
extern const ctn_sbgp_rule_t *const ctn_sbgp_rules[];

/** The name of this rank's resource of a level: ctn_locality_resource. */
catena_status_t ctn_sbgp_resource(const catena_group_t *group,
                                  catena_level_t level,
                                  char name[CTN_SBGP_NAME_BYTES]);

/** Ranks of the group that follow each other. */
typedef struct ctn_range {
    uint32_t first;
    uint32_t count;
} ctn_range_t;

/** A member of a subgroup. Above the lowest level it is the leader of a
 * subgroup below, and stands for all ranks under it. */
typedef struct ctn_sbgp_member {
    ctn_address_t memory;     /* of the component, in its arena */
    uint32_t rank;            /* in the group */
    uint32_t ranks;           /* it stands for, itself included */
    uint32_t before;          /* those that members before it stand for */
    uint32_t ranges;          /* the ranks it stands for, */
    const ctn_range_t *range; /* [ranges]: ascending */
} ctn_sbgp_member_t;

/** A subgroup, as its members know it. Member 0 is its leader, the only one
 * that is in the next level, too. */
typedef struct ctn_sbgp {
    const ctn_sbgp_rule_t *rule;
    uint32_t size;
    uint32_t me;
    uint32_t ranks; /* all members stand for */
    /** Each member stands for one range, which begins where that of the member
     * before it ends: reducing in the order of members is reducing in the order
     * of ranks. */
    bool in_order;
    bool oversubscribed;       /* a host of it has more ranks than cores */
    ctn_sbgp_member_t *member; /* [size] */
} ctn_sbgp_t;

/** Which member stands for a rank of the group; `size`: none. */
uint32_t ctn_sbgp_find(const ctn_sbgp_t *sbgp, uint32_t rank);

#endif
