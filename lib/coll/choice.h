#ifndef CTN_COLL_CHOICE_H
#define CTN_COLL_CHOICE_H

#include "coll/alltoall.h"

/* Which algorithm an alltoall runs: what the group's settings ask for, or what
 * is best by facts that all members share; and why. */

/* Larger blocks travel without leaders: aggregation no longer pays for the
 * second copy. */
#define CTN_LEADERS_UP_TO 8192u

typedef enum ctn_kind {
    CTN_KIND_DIRECT,
    CTN_KIND_SHIFT,
    CTN_KIND_BRUCK,
    CTN_KIND_MORTON,
    CTN_KIND_LEADERS
} ctn_kind_t;

typedef struct ctn_family {
    const char *name;
    ctn_kind_t kind;
    /* through leaders */
    bool one_leader;
    ctn_placement_t placement;
    bool overlap;
} ctn_family_t;

/** NULL: there is none of that name. */
const ctn_family_t *ctn_family_named(const char *name);

/** What will run, and why not something else. */
typedef struct ctn_selection {
    const ctn_family_t *family;
    uint32_t leaders;
    const char *reason;
} ctn_selection_t;

/** What catena_group_set chose for a group, and what ran last. */
typedef struct ctn_choice {
    ctn_attachment_t attachment;
    const ctn_family_t *family; /* NULL: auto */
    uint32_t leaders;           /* these: 0: auto */
    uint32_t radix;
    uint32_t window;
    ctn_selection_t last; /* family NULL: nothing has run */
} ctn_choice_t;

/** The choice of a group; NULL: no memory. */
ctn_choice_t *ctn_choice_of(catena_group_t *group);

/** By facts that all members share. The call's topology is there. */
ctn_selection_t ctn_alltoall_select(const ctn_alltoall_t *call);

#endif
