#ifndef CTN_COLL_LEVELS_H
#define CTN_COLL_LEVELS_H

#include "coll/hierarchy.h"

/* What the files that make hierarchies share. */

/* ---- levels as text ---- */

typedef struct ctn_levels {
    unsigned count;
    struct {
        const ctn_sbgp_rule_t *rule;
        const ctn_bcol_t *bcol;
    } level[CTN_MOST_LEVELS];
} ctn_levels_t;

#define CTN_LEVELS_BYTES 256u /* of a text, with its end */

/** Read "rule:component,rule:component,...".
 * @param what it is, for messages: "CATENA_HIERARCHY"
 * @return ERR_ARG: nonsense; logged with the reason and what there is */
catena_status_t ctn_levels_read(const ctn_log_t *log, const char *what,
                                const char *text, ctn_levels_t *levels);

/** Back into text, the same for the same levels. */
void ctn_levels_write(const ctn_levels_t *levels, char text[CTN_LEVELS_BYTES]);

/* ---- of a group ---- */

/** A module at work, with the subgroup it serves. */
typedef struct ctn_serving {
    struct ctn_serving *next;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_sbgp_member_t member[]; /* their ranges follow */
} ctn_serving_t;

/** All hierarchies of a group. */
typedef struct ctn_hierarchies {
    ctn_attachment_t attachment;
    catena_group_t *group;
    ctn_hierarchy_t *first; /* the latest */
    ctn_serving_t *serving; /* all modules */
    /* Settings of the group, as ctn_levels_write has them, or NULL: auto. */
    char *levels;
    char *levels_of[CTN_WAYS];
    char *subgroup; /* NULL: as in the environment */
    /* What was given out by these settings; NULL: nobody has asked yet. */
    ctn_hierarchy_t *of[CTN_WAYS];
    ctn_hierarchy_t *flat;
} ctn_hierarchies_t;

/** What a collective's hierarchy is to be.
 * @param[out] text "auto", or as ctn_levels_write has it
 * @return as ctn_levels_read */
catena_status_t ctn_hierarchy_text(const ctn_hierarchies_t *all, ctn_of_t of,
                                   char text[CTN_LEVELS_BYTES]);

/** Start an operation of the group that builds a hierarchy and goes on by
 * itself.
 * @param same one of the same text that was built, or is being built, before;
 *             NULL: none
 * @return ERR_NO_MEMORY, ERR_ARG */
catena_status_t ctn_hierarchy_build(ctn_hierarchies_t *all,
                                    ctn_hierarchy_t *hierarchy,
                                    const ctn_hierarchy_t *same);

/** Destroy a module and forget its subgroup. */
void ctn_serving_end(ctn_serving_t *serving);

#endif
