#include "coll/alltoall.h"

#include <catena/coll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "type/datatype.h"

/* Choosing an algorithm: by facts that all members share. */

typedef struct ctn_family {
    const char *name;
    bool through_leaders;
    bool one_leader;
    ctn_placement_t placement;
    bool overlap;
} family_t;

static const family_t families[] = {
    {"direct", false, false, CTN_PLACE_FIRST, false},
    {"l-a2a", true, true, CTN_PLACE_FIRST, false},
    {"mpml", true, false, CTN_PLACE_FIRST, false},
    {"nmpml", true, false, CTN_PLACE_SPREAD, false},
    {"onmpml", true, false, CTN_PLACE_SPREAD, true},
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* Blocks from this size on travel without leaders: aggregation no longer pays
 * for the second copy. */
enum { LEADERS_UP_TO = 8192 };

static const family_t *family_named(const char *name)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(name, families[i].name) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

/** What will run, and why not something faster. */
typedef struct selection {
    const family_t *family;
    uint32_t leaders;
    const char *reason;
} selection_t;

/* What catena_group_set chose for a group, and what ran last. */
typedef struct choice {
    ctn_attachment_t attachment;
    const family_t *family; /* NULL: auto */
    uint32_t leaders;       /* 0: auto */
    selection_t last;       /* family NULL: nothing has run */
} choice_t;

static const char choice_key;

static void release_choice(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    free(attachment);
}

static choice_t *choice_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &choice_key);
    if (found != NULL) {
        return (choice_t *)found;
    }
    choice_t *choice = calloc(1, sizeof(*choice));
    if (choice != NULL) {
        choice->attachment.key = &choice_key;
        choice->attachment.release = release_choice;
        choice->family = family_named(group->config->alltoall);
        choice->leaders = group->config->leaders != CTN_CONFIG_AUTO
                              ? (uint32_t)group->config->leaders
                              : 0;
        ctn_group_attach(group, &choice->attachment);
    }
    return choice;
}

/** Leaders per node when nobody says how many: one for each NUMA domain that
 * members are bound to, as [Peng] (6.1) has it, at least one. Every member
 * sees the same roster, so all find the same number. */
static uint32_t default_leaders(const ctn_topo_t *topo)
{
    const ctn_roster_t *roster = &topo->roster;
    int32_t highest = 0;
    for (uint32_t i = 0; i < roster->size; i++) {
        int32_t domain = roster->member[i].numa;
        highest = domain > highest ? domain : highest;
    }
    uint32_t domains = (uint32_t)highest + 1;
    return domains < CTN_MAX_LEADERS ? domains : CTN_MAX_LEADERS;
}

static uint32_t leaders_for(const ctn_alltoall_t *call, const family_t *family,
                            const ctn_topo_t *topo)
{
    if (family->one_leader) {
        return 1;
    }
    return call->leaders > 0 ? call->leaders : default_leaders(topo);
}

static selection_t select_for(const ctn_alltoall_t *call,
                              const ctn_topo_t *topo)
{
    const family_t *direct = &families[0];
    const family_t *best = &families[FAMILIES - 1];
    const family_t *wanted = call->family;
    if (topo->nodes == 1) {
        bool refused = wanted != NULL && wanted->through_leaders;
        return (selection_t){direct, 0,
                             refused ? "one node: the shared heap is used "
                                       "directly"
                                     : "one node"};
    }
    if (wanted == NULL) {
        if (call->bytes > LEADERS_UP_TO) {
            return (selection_t){direct, 0,
                                 "large blocks: aggregation would only copy"};
        }
        if (topo->nodes == topo->roster.size) {
            return (selection_t){direct, 0, "one rank per node"};
        }
        wanted = best;
    }
    return (selection_t){
        wanted, wanted->through_leaders ? leaders_for(call, wanted, topo) : 0,
        call->family != NULL ? "as asked for"
                             : "small blocks, several "
                               "ranks per node"};
}

/* ---- the operation: find the topology, choose, become what was chosen ---- */

static ctn_step_t need_topology(ctn_op_t *op)
{
    const ctn_alltoall_t *call = ctn_op_state(op);
    ctn_topo_t *topo;
    return ctn_roster_need(op, call->group, &topo);
}

static ctn_step_t choose(ctn_op_t *op)
{
    const ctn_alltoall_t *call = ctn_op_state(op);
    choice_t *choice = choice_of(call->group);
    if (choice == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    selection_t selection = select_for(call, ctn_topo_of(call->group));
    choice->last = selection;
    if (!selection.family->through_leaders) {
        return ctn_op_become(op, &ctn_alltoall_direct);
    }
    ctn_leading_t *leading = ctn_alltoall_leading(op);
    leading->leaders = selection.leaders;
    leading->placement = selection.family->placement;
    leading->overlap = selection.family->overlap;
    return ctn_op_become(op, &ctn_alltoall_leaders);
}

static const ctn_phase_t phases[] = {
    {"topology", need_topology}, {"choose", choose}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "alltoall",
    .state_bytes = sizeof(ctn_alltoall_t),
    .phases = phases,
    .synchronizing = true,
};

/* ---- public ---- */

void ctn_alltoall_explain(catena_group_t *group, char *text, size_t bytes)
{
    const choice_t *choice = choice_of(group);
    const ctn_topo_t *topo = ctn_topo_of(group);
    if (choice == NULL || topo == NULL || choice->last.family == NULL) {
        snprintf(text, bytes, "algorithm=none reason=\"has not run yet\"");
        return;
    }
    selection_t s = choice->last;
    char leaders[32] = "";
    if (s.family->through_leaders) {
        snprintf(leaders, sizeof(leaders), " leaders=%u", s.leaders);
    }
    ctn_transport_t *network = group->exec->network;
    snprintf(text, bytes,
             "algorithm=%s%s nodes=%u ranks=%u transport=\"%s%s%s\" "
             "reason=\"%s\"",
             s.family->name, leaders, topo->nodes, topo->roster.size,
             group->exec->local->ops->describe(group->exec->local),
             topo->nodes > 1 ? " + " : "",
             topo->nodes > 1 && network != NULL
                 ? network->ops->describe(network)
                 : "",
             s.reason);
}

/** Check the arguments and make the operation; *op is NULL when there is
 * nothing to do. */
static catena_status_t prepare(const void *send, void *receive, size_t count,
                               catena_datatype_t type, catena_group_t *group,
                               ctn_op_t **op)
{
    *op = NULL;
    if (group == NULL || type == NULL) {
        return CATENA_ERR_ARG;
    }
    size_t bytes;
    size_t all;
    if (__builtin_mul_overflow(count, type->bytes, &bytes) ||
        __builtin_mul_overflow(bytes, group->lane.chain.size, &all)) {
        ctn_error(group->exec->log,
                  "alltoall: %zu elements for each of %u ranks do not fit the "
                  "address space",
                  count, group->lane.chain.size);
        return CATENA_ERR_ARG;
    }
    if (bytes == 0) {
        return CATENA_OK;
    }
    if (send == NULL || receive == NULL || receive == CATENA_IN_PLACE) {
        return CATENA_ERR_ARG;
    }
    const choice_t *choice = choice_of(group);
    if (choice != NULL) {
        *op = ctn_op_create(group->exec, &algorithm, &group->channel);
    }
    if (*op == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    bool in_place = send == CATENA_IN_PLACE;
    *(ctn_alltoall_t *)ctn_op_state(*op) = (ctn_alltoall_t){
        .group = group,
        .send = in_place ? receive : send,
        .receive = receive,
        .bytes = bytes,
        .in_place = in_place,
        .family = choice->family,
        .leaders = choice->leaders,
    };
    return CATENA_OK;
}

catena_status_t catena_alltoall(const void *send, void *recv, size_t count,
                                catena_datatype_t type, catena_group_t *group)
{
    ctn_op_t *op;
    catena_status_t status = prepare(send, recv, count, type, group, &op);
    return op != NULL ? ctn_op_run(op) : status;
}

catena_status_t catena_ialltoall(const void *send, void *recv, size_t count,
                                 catena_datatype_t type, catena_group_t *group,
                                 catena_request_t **request)
{
    if (request == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_op_t *op;
    catena_status_t status = prepare(send, recv, count, type, group, &op);
    if (status == CATENA_OK) {
        if (op != NULL) {
            ctn_op_start(op);
        }
        *request = op; /* NULL counts as complete */
    }
    return status;
}

catena_status_t catena_alltoall_init(const void *send, void *recv, size_t count,
                                     catena_datatype_t type,
                                     catena_group_t *group,
                                     catena_request_t **request)
{
    if (request == NULL) {
        return CATENA_ERR_ARG;
    }
    ctn_op_t *op;
    catena_status_t status = prepare(send, recv, count, type, group, &op);
    if (status != CATENA_OK) {
        return status;
    }
    if (op == NULL) {
        op = ctn_op_create_empty(group->exec);
    }
    if (op == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    op->persistent = true;
    *request = op;
    return CATENA_OK;
}

/* ---- settings and explanations of a group ---- */

static catena_status_t set_family(catena_group_t *group, choice_t *choice,
                                  const char *value)
{
    const family_t *family = family_named(value);
    if (family == NULL && strcmp(value, "auto") != 0) {
        ctn_error(group->exec->log,
                  "alltoall_algorithm is '%s'; expected auto, direct, l-a2a, "
                  "mpml, nmpml or onmpml",
                  value);
        return CATENA_ERR_ARG;
    }
    choice->family = family;
    return CATENA_OK;
}

static catena_status_t set_leaders(catena_group_t *group, choice_t *choice,
                                   const char *value)
{
    char *end;
    unsigned long leaders = strtoul(value, &end, 10);
    if (strcmp(value, "auto") == 0) {
        leaders = 0;
    } else if (*end != '\0' || end == value || leaders == 0 ||
               leaders > CTN_MAX_LEADERS) {
        ctn_error(group->exec->log,
                  "alltoall_leaders is '%s'; expected auto or 1 to %u", value,
                  CTN_MAX_LEADERS);
        return CATENA_ERR_ARG;
    }
    choice->leaders = (uint32_t)leaders;
    return CATENA_OK;
}

catena_status_t catena_group_set(catena_group_t *group, const char *name,
                                 const char *value)
{
    if (group == NULL || name == NULL || value == NULL) {
        return CATENA_ERR_ARG;
    }
    choice_t *choice = choice_of(group);
    if (choice == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (strcmp(name, "alltoall_algorithm") == 0) {
        return set_family(group, choice, value);
    }
    if (strcmp(name, "alltoall_leaders") == 0) {
        return set_leaders(group, choice, value);
    }
    ctn_error(group->exec->log,
              "a group has no setting '%s'; there are alltoall_algorithm and "
              "alltoall_leaders",
              name);
    return CATENA_ERR_ARG;
}

catena_status_t catena_group_explain(catena_group_t *group,
                                     const char *collective, char *text,
                                     size_t bytes)
{
    if (group == NULL || collective == NULL || text == NULL || bytes == 0) {
        return CATENA_ERR_ARG;
    }
    if (strcmp(collective, "alltoall") == 0) {
        ctn_alltoall_explain(group, text, bytes);
        return CATENA_OK;
    }
    if (strcmp(collective, "barrier") == 0) {
        ctn_barrier_explain(group, text, bytes);
        return CATENA_OK;
    }
    return CATENA_ERR_ARG;
}
