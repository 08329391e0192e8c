#ifndef CTN_COLL_HIERARCHY_LEVELS_H
#define CTN_COLL_HIERARCHY_LEVELS_H

#include "coll/hierarchy/hierarchy.h"
#include "group/chain_coll.h"

/* What the files that make hierarchies share. */

/* ---- levels as text ---- */

typedef struct ctn_hierarchy_levels {
    unsigned count;
    struct {
        const ctn_sbgp_rule_t *rule;
        const ctn_bcol_t *bcol;
    } level[CTN_MOST_LEVELS];
} ctn_hierarchy_levels_t;

#define CTN_HIERARCHY_LEVELS_BYTES 256u /* of a text, with its end */

/** Read "rule:component,rule:component,...".
 * @param what it is, for messages: "CATENA_HIERARCHY"
 * @return ERR_ARG: nonsense; logged with the reason and what there is */
catena_status_t ctn_hierarchy_levels_read(const ctn_log_t *log,
                                          const char *what, const char *text,
                                          ctn_hierarchy_levels_t *levels);

/** Back into text, the same for the same levels. */
void ctn_hierarchy_levels_write(const ctn_hierarchy_levels_t *levels,
                                char text[CTN_HIERARCHY_LEVELS_BYTES]);

/* ---- of a group ---- */

/** A module at work, with the subgroup it serves. */
typedef struct ctn_module_entry {
    struct ctn_module_entry *next;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_sbgp_member_t member[]; /* their ranges follow */
} ctn_module_entry_t;

/** All hierarchies of a group. */
typedef struct ctn_hierarchies {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_hierarchy_t *first;      /* the latest */
    uint32_t subgroup_version;   /* counts the names of the subgroup */
    ctn_module_entry_t *modules; /* all modules */
    /* Settings of the group, as ctn_hierarchy_levels_write has them, or NULL:
     * auto. */
    char *levels;
    char *levels_of[CTN_COLL_COUNT];
    char *algorithm_of[CTN_COLL_COUNT]; /* NULL: as in the environment */
    char *subgroup;                     /* likewise */
    /* What was given out by these settings; NULL: nobody has asked yet. */
    ctn_hierarchy_t *of[CTN_COLL_COUNT];
    ctn_hierarchy_t *flat;
} ctn_hierarchies_t;

#define CTN_SETTING_BYTES (CTN_HIERARCHY_LEVELS_BYTES + 128u)

/** What all collectives' hierarchies are to be, with the algorithms that are
 * asked for: "barrier=auto bcast=node:shm,network:ucx(lent) ...".
 * @return as ctn_hierarchy_levels_read */
catena_status_t
ctn_hierarchies_write(const ctn_hierarchies_t *all,
                      char text[CTN_COLL_COUNT * CTN_SETTING_BYTES]);

/** Start an operation of the group that builds a hierarchy, of the modules of
 * an earlier one where that is the same, and goes on by itself.
 * @return ERR_NO_MEMORY, ERR_ARG */
catena_status_t ctn_hierarchy_build(ctn_hierarchies_t *all,
                                    ctn_hierarchy_t *hierarchy);

/** Whether two make the same of all ranks. */
bool ctn_hierarchy_same(const ctn_hierarchy_t *a, const ctn_hierarchy_t *b);

/* ---- who stands for whom ---- */

/** What a member tells the others of its subgroup. */
typedef struct ctn_member_record {
    ctn_address_t memory; /* of its module */
    uint32_t rank;
    int32_t status; /* whether it has one */
    uint32_t ranges;
    uint32_t unused;
    ctn_range_t range[]; /* it stands for */
} ctn_member_record_t;

static inline size_t ctn_member_record_bytes(uint32_t ranges)
{
    return sizeof(ctn_member_record_t) + ranges * sizeof(ctn_range_t);
}

/** Of a rank that stands for itself; free it with free. NULL: no memory. */
ctn_member_record_t *ctn_member_record_of_rank(uint32_t rank);
/** Of the leader of a subgroup, which stands for all that its members stand
 * for. */
ctn_member_record_t *ctn_member_record_of_leader(const ctn_sbgp_t *sbgp);

/** The worst status among claims. */
catena_status_t ctn_member_records_status(const ctn_rank_blocks_t *records);
/** The table of a subgroup, which has no module yet; NULL: no memory. */
ctn_module_entry_t *ctn_module_entry_create(const ctn_rank_blocks_t *records,
                                            const ctn_sbgp_rule_t *rule,
                                            uint32_t me, bool oversubscribed);
/** Destroy all modules of a list and forget their subgroups. */
void ctn_module_entries_destroy(ctn_module_entry_t **list);
/** Move all of a list to another one. */
void ctn_module_entries_move(ctn_module_entry_t **to,
                             ctn_module_entry_t **from);

#endif
