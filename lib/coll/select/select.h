#ifndef CTN_COLL_SELECT_SELECT_H
#define CTN_COLL_SELECT_SELECT_H

#include "coll/alltoall/alltoall.h"
#include "model/tuning.h"

/* Selection of the algorithm of an alltoall, with the reason: the algorithm
 * that the group's settings request, or the one that the tuning names for facts
 * that all members share. */

/** The implementation of an algorithm. */
typedef enum ctn_alltoall_kind {
    CTN_ALLTOALL_DIRECT,  /* A2A-1 */
    CTN_ALLTOALL_SHIFT,   /* A2A-7 */
    CTN_ALLTOALL_BRUCK,   /* A2A-6 */
    CTN_ALLTOALL_MORTON,  /* A2A-8 */
    CTN_ALLTOALL_LEADERS, /* A2A-2 to A2A-5, which differ in the parameters */
    CTN_ALLTOALL_LEADERS_PLAIN /* A2A-9 to A2A-11, likewise */
} ctn_alltoall_kind_t;

/** An algorithm as users name it. */
typedef struct ctn_family {
    ctn_algorithm_name_t name;
    ctn_alltoall_kind_t kind;
    /* of leader algorithms, see ctn_leader_params_t: */
    bool one_leader; /* on each node, whatever the settings say */
    ctn_placement_t placement;
    bool overlap;
} ctn_family_t;

/** Values of the settings of the environment. */
typedef struct ctn_select_config {
    size_t leaders; /* ALLTOALL_LEADERS: on each node; CTN_CONFIG_AUTO */
} ctn_select_config_t;

extern const ctn_setting_table_t ctn_select_settings;

/** Check the settings of the environment.
 * @return ERR_ARG (logged) */
catena_status_t ctn_select_check(const ctn_log_t *log,
                                 const ctn_config_t *config);

/** The selected algorithm, its parameters and the reason. */
typedef struct ctn_selection {
    const ctn_family_t *family; /* NULL: none yet */
    uint32_t leaders; /* the rest as in ctn_alltoall_t; 0: the default */
    uint32_t radix;
    uint32_t window;
    size_t direct_above;    /* see ctn_leader_params_t */
    const ctn_rule_t *rule; /* that selected it; NULL: none */
    const char *reason;     /* NULL: the rule */
} ctn_selection_t;

/** What the tuning says, kept for the next call. */
typedef struct ctn_tuned_call {
    ctn_choice_t choice;
    ctn_rule_t made; /* by formulas */
} ctn_tuned_call_t;

/** Whether an alltoall runs through the levels of a hierarchy (HIER-14). */
typedef enum ctn_by_levels {
    CTN_BY_LEVELS_UNKNOWN, /* settings have changed */
    CTN_BY_LEVELS_NO,
    CTN_BY_LEVELS_YES
} ctn_by_levels_t;

/** The settings of a group, from catena_group_set or else the environment; and
 * its last selection. */
typedef struct ctn_selector {
    ctn_attachment_t attachment;
    const ctn_family_t *family; /* NULL: auto */
    uint32_t leaders;           /* 0: auto */
    uint32_t radix;             /* 0: auto */
    uint32_t window;            /* 0: auto */
    ctn_by_levels_t by_levels;
    ctn_topo_t *topo; /* of the group, with its member table; NULL before
                         the first alltoall */
    ctn_tuned_call_t tuned[2]; /* of alltoall; of alltoallv and alltoallw */
    ctn_selection_t last;
    /* For catena_group_explain: */
    uint32_t nodes;           /* of the group */
    uint64_t messages;        /* that this rank sent in the last alltoall */
    uint64_t messages_before; /* that it had sent before */
    /* The next blocking call can run inline if its blocks have this length;
     * 0: it cannot. */
    size_t inline_bytes;
} ctn_selector_t;

/** Return the selector of a group, made on first use; NULL: no memory. */
ctn_selector_t *ctn_selector_of(catena_group_t *group);

/** Whether an alltoall of the group runs through levels: settings name a
 * hierarchy, and no algorithm that has no levels. */
bool ctn_alltoall_by_levels(const catena_group_t *group,
                            ctn_selector_t *selector);

/** Select the algorithm for a call, by facts that all members share, and store
 * it in selector->last. The topology of the call is known. */
void ctn_alltoall_select(ctn_selector_t *selector, const ctn_alltoall_t *call);
/** The algorithm that settings or a rule name for a call that was selected,
 * even if it cannot run. */
const ctn_family_t *ctn_alltoall_requested(const ctn_selector_t *selector,
                                           const ctn_alltoall_t *call);

#endif
