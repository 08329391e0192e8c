#ifndef CTN_COLL_HIERARCHY_LEVELS_H
#define CTN_COLL_HIERARCHY_LEVELS_H

#include "coll/hierarchy/hierarchy.h"
#include "group/chain_coll.h"

/* Declarations that the files of this folder share. */

/* ---- levels as text ---- */

/** The levels that a text names. */
typedef struct ctn_hierarchy_levels {
    unsigned count;
    struct {
        const ctn_sbgp_rule_t *rule;
        const ctn_bcol_t *bcol;
    } level[CTN_MOST_LEVELS];
} ctn_hierarchy_levels_t;

#define CTN_HIERARCHY_LEVELS_BYTES 256u /* of a text, with its final NUL */

/** Parse "rule:component,rule:component,...".
 * @param what name of the setting in messages, such as "CATENA_HIERARCHY"
 * @return ERR_ARG: invalid; logged with the reason and the valid values */
catena_status_t ctn_hierarchy_levels_read(const ctn_log_t *log,
                                          const char *what, const char *text,
                                          ctn_hierarchy_levels_t *levels);

/** Write levels as text. Equal levels give equal texts. */
void ctn_hierarchy_levels_write(const ctn_hierarchy_levels_t *levels,
                                char text[CTN_HIERARCHY_LEVELS_BYTES]);

/* ---- the hierarchies of a group ---- */

/** A module and the subgroup that it serves. */
typedef struct ctn_module_entry {
    struct ctn_module_entry *next;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_sbgp_member_t
        member[]; /* [sbgp.size]; then the ranges of all members */
} ctn_module_entry_t;

/** All hierarchies of a group. */
typedef struct ctn_hierarchies {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_hierarchy_t *first;    /* list, the latest one first */
    uint32_t subgroup_version; /* incremented when the subgroup's name is set */
    ctn_module_entry_t *modules; /* of all hierarchies */
    /* Settings of the group; levels as ctn_hierarchy_levels_write writes them.
     * NULL: as the environment sets it. */
    char *levels;                    /* of all collectives */
    char *levels_of[CTN_COLL_COUNT]; /* of one of them; NULL: `levels` */
    char *algorithm_of[CTN_COLL_COUNT];
    char *subgroup;     /* the name under the rule "user" */
    char *reproducible; /* "on", "off" or, as the environment sets it, NULL */
    /* The hierarchies in use under these settings. NULL: not requested yet. */
    ctn_hierarchy_t *of[CTN_COLL_COUNT];
    ctn_hierarchy_t *flat;
} ctn_hierarchies_t;

/* For one collective in the text below: name, levels and algorithm. */
#define CTN_SETTING_BYTES (CTN_HIERARCHY_LEVELS_BYTES + 128u)

/** Write the hierarchies of the collectives that have one by the settings, with
 * the algorithm if the settings name one: "barrier=auto(flags)
 * bcast=node:shm,network:ucx". The text is empty if all are automatic.
 * @return as ctn_hierarchy_levels_read */
catena_status_t
ctn_hierarchies_write(const ctn_hierarchies_t *all,
                      char text[CTN_COLL_COUNT * CTN_SETTING_BYTES]);

/** Start an operation of the group that builds a hierarchy. It takes over the
 * modules of an earlier hierarchy that is the same, if there is one. The
 * operation is detached.
 * @param compare whether ranks with different settings fail
 * @param after   a hierarchy requested before, for which they are compared:
 * only ranks with some setting build this one. NULL: all ranks do
 * @return ERR_NO_MEMORY, ERR_ARG */
catena_status_t ctn_hierarchy_build(ctn_hierarchies_t *all,
                                    ctn_hierarchy_t *hierarchy, bool compare,
                                    const ctn_hierarchy_t *after);

/** Whether two hierarchies have the same subgroups and modules. */
bool ctn_hierarchy_same(const ctn_hierarchy_t *a, const ctn_hierarchy_t *b);

/* ---- member records ---- */

/** What a member sends to the others of its subgroup. */
typedef struct ctn_member_record {
    ctn_address_t memory; /* of its module */
    uint32_t rank;
    int32_t status; /* CATENA_OK: it has made its module */
    uint32_t ranges;
    uint32_t node;       /* hash of its name */
    ctn_range_t range[]; /* [ranges]: the ranks that it represents */
} ctn_member_record_t;

/** Bytes of a record with so many ranges. */
static inline size_t ctn_member_record_bytes(uint32_t ranges)
{
    return sizeof(ctn_member_record_t) + ranges * sizeof(ctn_range_t);
}

/** Make the record of a rank that represents only itself. Release it with free.
 * @return NULL: no memory */
ctn_member_record_t *ctn_member_record_of_rank(uint32_t rank);
/** Make the record of a subgroup's leader for the next level: it represents all
 * ranks that the members represent. Otherwise as the previous function. */
ctn_member_record_t *ctn_member_record_of_leader(const ctn_sbgp_t *sbgp);

/** The worst status among records. */
catena_status_t ctn_member_records_status(const ctn_rank_blocks_t *records);
/** Make the entry of a subgroup, without its module, from the records of all
 * its members.
 * @param me index of this rank among the members
 * @return NULL: no memory */
ctn_module_entry_t *ctn_module_entry_create(const ctn_rank_blocks_t *records,
                                            const ctn_sbgp_rule_t *rule,
                                            uint32_t me, bool oversubscribed);
/** Destroy all entries of a list, and their modules. */
void ctn_module_entries_destroy(ctn_module_entry_t **list);
/** Move all entries of a list to another list. */
void ctn_module_entries_move(ctn_module_entry_t **to,
                             ctn_module_entry_t **from);

#endif
