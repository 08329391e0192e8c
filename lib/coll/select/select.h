#ifndef CTN_COLL_SELECT_SELECT_H
#define CTN_COLL_SELECT_SELECT_H

#include "coll/alltoall/alltoall.h"
#include "model/tuning.h"

/* Selection of the algorithm of an alltoall: the one that the group's settings
 * request, or the best one by facts that all members share; and the reason. */

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
    /* of leader algorithms */
    bool one_leader;
    ctn_placement_t placement;
    bool overlap;
} ctn_family_t;

/** Values of the settings of this selection. */
typedef struct ctn_select_config {
    size_t leaders;  /* ALLTOALL_LEADERS: per node, auto */
    unsigned family; /* ALLTOALL_ALGORITHM: 0 auto, else 1 + its index */
} ctn_select_config_t;

extern const ctn_setting_table_t ctn_select_settings;

/** Check the settings of the environment.
 * @return ERR_ARG (logged) */
catena_status_t ctn_select_check(const ctn_log_t *log,
                                 const ctn_config_t *config);

/** NULL: no algorithm has this name. */
const ctn_family_t *ctn_family_named(const char *name);

/** The selected algorithm, its parameters and the reason. */
typedef struct ctn_selection {
    const ctn_family_t *family; /* NULL: none yet */
    uint32_t leaders;
    uint32_t radix;
    uint32_t window;
    size_t direct_above; /* leaders: larger vector blocks are sent directly */
    const char *reason;  /* valid as long as the selector */
} ctn_selection_t;

/** The tuning's result for one size, kept for the next call. */
typedef struct ctn_tuned {
    bool vector;
    size_t bytes;
    ctn_selection_t selection;
    size_t direct_above_w; /* alltoallw: the same limit */
    char reason[80];
} ctn_tuned_t;

/** The settings of a group by catena_group_set, and the last selection. */
typedef struct ctn_selector {
    ctn_attachment_t attachment;
    const ctn_family_t *family; /* NULL: auto */
    uint32_t leaders;           /* 0: auto */
    uint32_t radix;
    uint32_t window;
    ctn_topo_t *topo;     /* with its member table, once it exists */
    ctn_tuning_t *tuning; /* NULL: not opened yet */
    ctn_tuned_t tuned;
    ctn_selection_t last;
    uint32_t nodes; /* of the last run */
    /* A blocking call with blocks of this length, like the last call, can run
     * inline on one node; 0: none can. */
    size_t inline_bytes;
} ctn_selector_t;

/** The selector of a group; NULL: no memory. */
ctn_selector_t *ctn_selector_of(catena_group_t *group);

/** Select the algorithm for a call, by facts that all members share, into
 * selector->last. The call's topology exists. @return ERR_NO_MEMORY, ERR_ARG
 * (tuning) */
catena_status_t ctn_alltoall_select(ctn_selector_t *selector,
                                    const ctn_alltoall_t *call);

#endif
