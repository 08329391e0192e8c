#ifndef CTN_COLL_HIERARCHY_LEVELS_H
#define CTN_COLL_HIERARCHY_LEVELS_H

#include "coll/hierarchy/hierarchy.h"
#include "group/chain_coll.h"

/* Declarations that the files of this folder share. */

/* ---- levels as text ---- */

typedef struct ctn_hierarchy_levels {
    unsigned count;
    struct {
        const ctn_sbgp_rule_t *rule;
        const ctn_bcol_t *bcol;
    } level[CTN_MOST_LEVELS];
} ctn_hierarchy_levels_t;

#define CTN_HIERARCHY_LEVELS_BYTES 256u /* of a text, with its terminator */

/** Parse "rule:component,rule:component,...".
 * @param what name of the setting in messages: "CATENA_HIERARCHY"
 * @return ERR_ARG: invalid; logged with the reason and the valid values */
catena_status_t ctn_hierarchy_levels_read(const ctn_log_t *log,
                                          const char *what, const char *text,
                                          ctn_hierarchy_levels_t *levels);

/** Write levels as text. Equal levels give equal texts. */
void ctn_hierarchy_levels_write(const ctn_hierarchy_levels_t *levels,
                                char text[CTN_HIERARCHY_LEVELS_BYTES]);

/* ---- of a group ---- */

/** A module and the subgroup that it serves. */
typedef struct ctn_module_entry {
    struct ctn_module_entry *next;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_sbgp_member_t member[]; /* the members' ranges follow */
} ctn_module_entry_t;

/** All hierarchies of a group. */
typedef struct ctn_hierarchies {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_hierarchy_t *first;    /* the latest */
    uint32_t subgroup_version; /* incremented when the subgroup's name is set */
    ctn_module_entry_t *modules; /* of all hierarchies */
    /* Settings of the group, as ctn_hierarchy_levels_write writes them. NULL:
     * auto. */
    char *levels;
    char *levels_of[CTN_COLL_COUNT];
    char *algorithm_of[CTN_COLL_COUNT]; /* NULL: as the environment sets it */
    char *subgroup;                     /* likewise */
    /* The hierarchies in use under these settings. NULL: not requested yet. */
    ctn_hierarchy_t *of[CTN_COLL_COUNT];
    ctn_hierarchy_t *flat;
} ctn_hierarchies_t;

#define CTN_SETTING_BYTES (CTN_HIERARCHY_LEVELS_BYTES + 128u)

/** Write the hierarchies of all collectives with the algorithms that the
 * settings name: "barrier=auto bcast=node:shm,network:ucx(lent) ...".
 * @return as ctn_hierarchy_levels_read */
catena_status_t
ctn_hierarchies_write(const ctn_hierarchies_t *all,
                      char text[CTN_COLL_COUNT * CTN_SETTING_BYTES]);

/** Start an operation of the group that builds a hierarchy. It takes the
 * modules of an earlier hierarchy if that is the same. Nobody waits for the
 * operation.
 * @return ERR_NO_MEMORY, ERR_ARG */
catena_status_t ctn_hierarchy_build(ctn_hierarchies_t *all,
                                    ctn_hierarchy_t *hierarchy);

/** Whether two hierarchies have the same subgroups and modules. */
bool ctn_hierarchy_same(const ctn_hierarchy_t *a, const ctn_hierarchy_t *b);

/* ---- member records ---- */

/** What a member sends to the others of its subgroup. */
typedef struct ctn_member_record {
    ctn_address_t memory; /* of its module */
    uint32_t rank;
    int32_t status; /* whether it has a module */
    uint32_t ranges;
    uint32_t unused;
    ctn_range_t range[]; /* that it represents */
} ctn_member_record_t;

static inline size_t ctn_member_record_bytes(uint32_t ranges)
{
    return sizeof(ctn_member_record_t) + ranges * sizeof(ctn_range_t);
}

/** The record of a rank that represents itself. Release it with free. @return
 * NULL: no memory */
ctn_member_record_t *ctn_member_record_of_rank(uint32_t rank);
/** The record of a subgroup's leader, which represents all ranks that its
 * members represent. */
ctn_member_record_t *ctn_member_record_of_leader(const ctn_sbgp_t *sbgp);

/** The worst status among records. */
catena_status_t ctn_member_records_status(const ctn_rank_blocks_t *records);
/** Make the table of a subgroup, without a module. @return NULL: no memory */
ctn_module_entry_t *ctn_module_entry_create(const ctn_rank_blocks_t *records,
                                            const ctn_sbgp_rule_t *rule,
                                            uint32_t me, bool oversubscribed);
/** Destroy all modules of a list with their subgroups. */
void ctn_module_entries_destroy(ctn_module_entry_t **list);
/** Move all entries of a list to another list. */
void ctn_module_entries_move(ctn_module_entry_t **to,
                             ctn_module_entry_t **from);

#endif
