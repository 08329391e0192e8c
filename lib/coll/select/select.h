#ifndef CTN_COLL_SELECT_SELECT_H
#define CTN_COLL_SELECT_SELECT_H

#include "coll/alltoall/alltoall.h"
#include "model/tuning.h"

/* Which algorithm an alltoall runs: what the group's settings ask for, or what
 * is best by facts that all members share; and why. */

typedef enum ctn_alltoall_kind {
    CTN_ALLTOALL_DIRECT,
    CTN_ALLTOALL_SHIFT,
    CTN_ALLTOALL_BRUCK,
    CTN_ALLTOALL_MORTON,
    CTN_ALLTOALL_LEADERS
} ctn_alltoall_kind_t;

typedef struct ctn_family {
    const char *name;
    ctn_alltoall_kind_t kind;
    /* through leaders */
    bool one_leader;
    ctn_placement_t placement;
    bool overlap;
} ctn_family_t;

/** NULL: there is none of that name. */
const ctn_family_t *ctn_family_named(const char *name);

/** What will run, and why not something else. */
typedef struct ctn_selection {
    const ctn_family_t *family; /* NULL: none yet */
    uint32_t leaders;
    uint32_t radix;
    uint32_t window;
    size_t direct_above; /* through leaders: larger vector blocks go directly */
    const char *reason;  /* as long as the choice */
} ctn_selection_t;

/** What the tuning says for one size; asked for again and again. */
typedef struct ctn_tuned {
    bool vector;
    size_t bytes;
    ctn_selection_t selection;
    size_t direct_above_w; /* alltoallw: leaders carry no larger blocks */
    char reason[80];
} ctn_tuned_t;

/** What catena_group_set chose for a group, and what ran last. */
typedef struct ctn_selector {
    ctn_attachment_t attachment;
    const ctn_family_t *family; /* NULL: auto */
    uint32_t leaders;           /* these: 0: auto */
    uint32_t radix;
    uint32_t window;
    ctn_topo_t *topo;     /* with its roster, once it is there */
    ctn_tuning_t *tuning; /* NULL: not asked yet */
    ctn_tuned_t tuned;
    ctn_selection_t last;
    uint32_t nodes;      /* where that ran */
    size_t inline_bytes; /* blocks of so many, as the last ones, go by rows on
                           one node; 0: they do not */
} ctn_selector_t;

/** The choice of a group; NULL: no memory. */
ctn_selector_t *ctn_selector_of(catena_group_t *group);

/** What this call is to run, by facts that all members share; in choice->last.
 * The call's topology is there. @return ERR_NO_MEMORY, ERR_ARG (tuning) */
catena_status_t ctn_alltoall_select(ctn_selector_t *selector,
                                    const ctn_alltoall_t *call);

#endif
