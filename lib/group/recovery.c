/* Failures of groups; see recovery.h. */

#include "group/recovery.h"
#include "core/entry.h"

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/refuse.h"
#include "group/chain_coll.h"
#include "group/check.h"
#include "group/world_ranks.h"

/* ---- failure ---- */

/** Store this rank's word at a member. */
static void tell(ctn_recovery_t *r, uint32_t i, bool connect)
{
    const ctn_exec_t *exec = r->exec;
    if (i == r->me || r->told[i] != 0 || ctn_member_is_dead(r, i) ||
        (!connect && !ctn_is_connected(exec, r->member[i]))) {
        return;
    }
    r->told[i] = 1;
    (void)ctn_deaths_notify(r->exec, r->member[i], connect,
                            r->offset[i] + r->me * sizeof(*r->word),
                            (uint64_t)-r->failure.status);
}

/** Tell all members that this rank has an endpoint to, and its neighbors in
 * the chain: these connect all. */
static void tell_all(ctn_recovery_t *r)
{
    for (uint32_t i = 0; i < r->size; i++) {
        tell(r, i, i + 1 == r->me || i == r->me + 1);
    }
}

/** Tell members that this rank accesses no memory of theirs any more. */
static void tell_others(ctn_recovery_t *r)
{
    if (!r->freed) { /* else members may have released their area */
        tell_all(r);
    }
}

/** This rank may be in the middle of a phase that goes on to access memory of
 * other members: then it tells them when that is over. */
static void fail(ctn_failure_t *failure, catena_status_t status)
{
    ctn_recovery_t *r = (ctn_recovery_t *)failure;
    if (failure->status != CATENA_OK) {
        return;
    }
    failure->status = status;
    r->since_ns = r->exec->virtual_time ? 0 : ctn_exec_time(r->exec);
    r->checks = r->exec->peer_checks;
    if (r->exec->deaths->depth > 0) {
        r->exec->deaths->untold = true;
    } else {
        tell_others(r);
    }
}

/** See ctn_deaths_t. */
static void outside(ctn_exec_t *exec)
{
    for (ctn_recovery_t *r = exec->deaths->upper; r != NULL; r = r->next) {
        if (r->failure.status != CATENA_OK) {
            tell_others(r);
        }
    }
}

/** Whether the wait for members that make no call is over. A simulated rank
 * waits until no event is left. */
static bool has_waited(const ctn_recovery_t *r)
{
    return r->exec->virtual_time
               ? r->exec->peer_checks != r->checks
               : ctn_exec_time(r->exec) - r->since_ns > CTN_STOP_NS;
}

/** Whether a member accesses no memory of this rank any more. Of a dead one
 * messages may be in the network. */
static bool has_stopped(const ctn_recovery_t *r, uint32_t i)
{
    uint64_t process = r->member[i];
    return i == r->me || !ctn_is_connected(r->exec, process) ||
           (ctn_member_is_dead(r, i) ? !ctn_uses_network(r->exec, process) ||
                                           r->exec->deaths->closed[process] != 0
                                     : ctn_word_load(&r->word[i]) != 0);
}

static bool stopped(ctn_failure_t *failure)
{
    ctn_recovery_t *r = (ctn_recovery_t *)failure;
    for (uint32_t i = 0; !r->stopped && !r->freed && i < r->size; i++) {
        if (!has_stopped(r, i) &&
            (!has_waited(r) || ctn_is_inside(r->exec, r->member[i]))) {
            return false;
        }
    }
    r->stopped = true;
    return true;
}

static void explain(const ctn_failure_t *failure)
{
    const ctn_recovery_t *r = (const ctn_recovery_t *)failure;
    uint32_t i = 0;
    while (i < r->size && !ctn_member_is_dead(r, i)) {
        i++;
    }
    if (failure->status == CATENA_ERR_PROC_FAILED && i < r->size) {
        ctn_error(ctn_log_kept(),
                  "rank %u of the group (rank %u of the job) has died, so "
                  "calls of the group fail; catena_group_shrink makes a group "
                  "of the living ranks",
                  i, r->member[i]);
    } else {
        ctn_error(ctn_log_kept(),
                  "the group was revoked, by catena_group_revoke or since a "
                  "rank could not do its part of a call, so its calls fail; "
                  "catena_group_shrink makes a new one");
    }
}

/** The member of this world rank; `size`: there is none. */
static uint32_t member_of(const ctn_recovery_t *r, uint64_t process)
{
    uint32_t i = 0;
    while (i < r->size && r->member[i] != process) {
        i++;
    }
    return i;
}

/** See ctn_deaths_t. */
static void died(ctn_exec_t *exec, uint64_t process)
{
    for (ctn_recovery_t *r = exec->deaths->upper; r != NULL; r = r->next) {
        if (member_of(r, process) < r->size) {
            fail(&r->failure, CATENA_ERR_PROC_FAILED);
            ctn_agree_died(r);
        }
    }
}

/** See ctn_deaths_t. Ranks that have joined may revoke the world before this
 * one has: it hears of that when it has joined, too. */
static void heard(ctn_exec_t *exec)
{
    if (exec->deaths->joining) {
        return;
    }
    for (ctn_recovery_t *r = exec->deaths->upper; r != NULL; r = r->next) {
        if (ctn_word_load(r->given_up) != 0) {
            fail(&r->failure, CATENA_ERR_REVOKED);
        }
        for (uint32_t i = 0; i < r->size; i++) {
            uint64_t word = ctn_word_load(&r->word[i]);
            if (word != 0) {
                fail(&r->failure, (catena_status_t) - (int64_t)word);
                tell(r, i, true);
            }
        }
        ctn_agree_news(r);
    }
}

/* ---- creation and release ---- */

static size_t words_bytes(uint32_t most)
{
    return most * sizeof(uint64_t);
}

static size_t votes_bytes(uint32_t most)
{
    return (size_t)most * 2 * sizeof(ctn_vote_t);
}

size_t ctn_recovery_area_bytes(uint32_t most)
{
    return words_bytes(most) + votes_bytes(most) + 2 * ctn_result_bytes(most);
}

/** Set the pointers into the area. */
static void lay_out(ctn_recovery_t *r, unsigned char *area)
{
    r->area = area;
    r->word = (void *)area;
    area += words_bytes(r->most);
    r->vote = (void *)area;
    area += votes_bytes(r->most);
    r->result[0] = (void *)area;
    r->result[1] = (void *)(area + ctn_result_bytes(r->most));
}

catena_status_t ctn_recovery_open(catena_group_t *group, uint32_t most,
                                  void *area)
{
    ctn_exec_t *exec = group->exec;
    if (exec->deaths == NULL) {
        return CATENA_OK;
    }
    ctn_recovery_t *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    r->failure.fail = fail;
    r->failure.stopped = stopped;
    r->failure.explain = explain;
    r->exec = exec;
    r->most = most;
    r->given_up = &ctn_group_block(group)->given_up;
    r->area_is_given = area != NULL;
    if (area == NULL) {
        area = ctn_heap_calloc(exec->heap, 64, ctn_recovery_area_bytes(most));
    }
    if (area == NULL) {
        free(r);
        return CATENA_ERR_NO_MEMORY;
    }
    lay_out(r, area);
    r->next = exec->deaths->upper;
    exec->deaths->upper = r;
    exec->deaths->died = died;
    exec->deaths->heard = heard;
    exec->deaths->outside = outside;
    group->recovery = r;
    group->sequence.failure = group->chain.sequence.failure = &r->failure;
    return CATENA_OK;
}

catena_status_t ctn_recovery_set(ctn_recovery_t *r, uint32_t size, uint32_t me,
                                 uint32_t *member, uint64_t *offset)
{
    uint8_t *told = calloc(size, 2);
    if (told == NULL || member == NULL || offset == NULL) {
        free(told);
        free(member);
        free(offset);
        return CATENA_ERR_NO_MEMORY;
    }
    r->member = member;
    r->offset = offset;
    r->told = told;
    r->replied = told + size;
    r->me = me;
    r->size = size;
    r->id = size;
    for (uint32_t i = 0; i < size; i++) {
        r->id = ctn_hash_add(r->id, offset[i]);
    }
    for (uint32_t i = 0; i < size; i++) { /* those that have died before */
        if (ctn_member_is_dead(r, i)) {
            fail(&r->failure, CATENA_ERR_PROC_FAILED);
        }
    }
    ctn_agree_died(r);
    if (r->failure.status != CATENA_OK) { /* a neighbor has given it up */
        tell_all(r);
    }
    heard(r->exec); /* words may have come before */
    return CATENA_OK;
}

catena_status_t ctn_recovery_of_world(catena_group_t *world)
{
    ctn_recovery_t *r = world->recovery;
    if (r == NULL) {
        return CATENA_OK;
    }
    uint32_t size = world->chain.place.size;
    uint32_t *member = malloc(size * sizeof(*member));
    uint64_t *offset = malloc(size * sizeof(*offset));
    for (uint32_t i = 0; member != NULL && offset != NULL && i < size; i++) {
        member[i] = size > 1 ? i : (uint32_t)world->chain.place.self.process;
        offset[i] = ctn_heap_offset(r->exec->heap, r->area);
    }
    return ctn_recovery_set(r, size, world->chain.place.rank, member, offset);
}

/** Take it from the list, so that nothing looks at its members any more.
 * @param last true if no operation and no request is left that may point to
 *             its failure; else the struct stays until finalize */
static void retire(ctn_recovery_t *r, bool area, bool last)
{
    ctn_deaths_t *deaths = r->exec->deaths;
    ctn_recovery_t **link = (ctn_recovery_t **)&deaths->upper;
    while (*link != r) {
        link = &(*link)->next;
    }
    *link = r->next;
    if (area && !r->area_is_given) {
        ctn_exec_free(r->exec, r->area);
    }
    free(r->member);
    free(r->offset);
    free(r->told);
    if (last) {
        free(r);
        return;
    }
    r->member = NULL;
    r->offset = NULL;
    r->told = NULL;
    r->size = 0;
    r->next = deaths->retired;
    deaths->retired = r;
}

static void release_list(void **list)
{
    while (*list != NULL) {
        ctn_recovery_t *r = *list;
        *list = r->next;
        free(r->member);
        free(r->offset);
        free(r->told);
        free(r);
    }
}

void ctn_recovery_close(catena_group_t *group)
{
    ctn_recovery_t *r = group->recovery;
    if (r == NULL) {
        return;
    }
    group->recovery = NULL;
    if (r->size == 0) {
        /* No group was made, so no operation has its failure. */
        retire(r, !group->stays, true);
    } else if (r->failure.status == CATENA_OK) {
        /* All members free the group. Its teardown has waited for its
         * operations and requests, except that of a permanent one. */
        retire(r, true, r->freed && !group->permanent);
    }
}

void ctn_recovery_release_all(ctn_exec_t *exec)
{
    if (exec->deaths != NULL) {
        release_list(&exec->deaths->upper);
        release_list(&exec->deaths->retired);
    }
}

/* ---- the members of a new group ---- */

/** What a member tells the others. */
typedef struct member {
    uint64_t process;
    uint64_t area; /* its offset */
} member_t;

typedef struct gather {
    catena_group_t *made;
    member_t *table; /* [size] in the shared heap */
} gather_t;

static size_t table_bytes(const gather_t *gather)
{
    return gather->made->chain.place.size * sizeof(member_t);
}

static ctn_step_t gather(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    ctn_chain_t *chain = &gather->made->chain;
    gather->table = ctn_scratch_alloc(op->exec, table_bytes(gather));
    if (gather->table == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    member_t *own = &gather->table[chain->place.rank];
    *own = (member_t){
        chain->place.self.process,
        ctn_heap_offset(op->exec->heap, gather->made->recovery->area)};
    return ctn_op_call(op,
                       ctn_chain_allgather_table(op->exec, chain, own,
                                                 sizeof(*own), gather->table));
}

static ctn_step_t keep(ctn_op_t *op)
{
    const gather_t *gather = ctn_op_state(op);
    catena_group_t *made = gather->made;
    uint32_t size = made->chain.place.size;
    int *world = NULL;
    uint32_t *member = malloc(size * sizeof(*member));
    uint64_t *offset = malloc(size * sizeof(*offset));
    if (!ctn_world_ranks_known(made)) {
        world = malloc(size * sizeof(*world));
    }
    for (uint32_t i = 0; member != NULL && offset != NULL && i < size; i++) {
        member[i] = (uint32_t)gather->table[i].process;
        offset[i] = gather->table[i].area;
        if (world != NULL) {
            world[i] = (int)gather->table[i].process;
        }
    }
    catena_status_t status = CATENA_OK;
    if (!ctn_world_ranks_known(made)) {
        status = world != NULL ? ctn_world_ranks_set(made, world)
                               : CATENA_ERR_NO_MEMORY;
        if (status != CATENA_OK) {
            free(world);
        }
    }
    catena_status_t set = ctn_recovery_set(
        made->recovery, size, made->chain.place.rank, member, offset);
    status = status == CATENA_OK ? set : status;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    if (op->status == CATENA_ERR_NO_MEMORY) { /* other members wait for this */
        (void)ctn_op_give_up(op, op->status);
    }
    ctn_scratch_free(op->exec, gather->table, table_bytes(gather));
}

static const ctn_phase_t phases[] = {
    {"gather", gather}, {"keep", keep}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "members",
    .state_bytes = sizeof(gather_t),
    .phases = phases,
    .finish = finish,
};

ctn_step_t ctn_recovery_gather(ctn_op_t *op, catena_group_t *made)
{
    if (made->recovery == NULL) {
        return CTN_STEP_NEXT;
    }
    made->recovery->linked = true;
    ctn_op_t *child = ctn_op_create(op->exec, &algorithm, NULL);
    if (child != NULL) {
        ((gather_t *)ctn_op_state(child))->made = made;
    }
    return ctn_op_call(op, child);
}

void ctn_recovery_give_up(const catena_group_t *made)
{
    ctn_recovery_t *r = made->recovery;
    if (r == NULL || !r->linked || r->exec->status != CATENA_OK) {
        return;
    }
    fail(&r->failure, CATENA_ERR_REVOKED);
    const ctn_chain_place_t *place = &made->chain.place;
    const ctn_address_t *neighbors[] = {&place->left, &place->right};
    for (int side = 0; side < 2; side++) {
        if (neighbors[side]->process != CTN_NO_ADDRESS.process) {
            (void)ctn_deaths_notify(r->exec, neighbors[side]->process, true,
                                    neighbors[side]->offset +
                                        offsetof(ctn_control_block_t, given_up),
                                    (uint64_t)-CATENA_ERR_REVOKED);
        }
    }
}

/* ---- the calls ---- */

catena_status_t ctn_recovery_check(const catena_group_t *group,
                                   const char *function)
{
    if (group->recovery != NULL && group->recovery->size > 0) {
        return group->exec->status;
    }
    return ctn_refuse(group->exec->log, CATENA_ERR_UNSUPPORTED, function,
                      "failures end the job; set CATENA_FAILURES=return on all "
                      "ranks");
}

catena_status_t catena_group_revoke(catena_group_t *group)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    catena_status_t status = ctn_recovery_check(group, __func__);
    if (status == CATENA_OK) {
        group->recovery->failure.fail(&group->recovery->failure,
                                      CATENA_ERR_REVOKED);
        ctn_exec_wake(group->exec);
    }
    return status;
}

catena_status_t catena_group_failed(catena_group_t *group, size_t *count,
                                    int ranks[])
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || count == NULL) {
        return CTN_REFUSE_NULL(ctn_group_log(group), group, count);
    }
    const ctn_recovery_t *r = group->recovery;
    *count = 0;
    if (r == NULL) {
        return CATENA_OK; /* a failure ends the job */
    }
    ctn_deaths_look(group->exec);
    for (uint32_t i = 0; i < r->size; i++) {
        if (ctn_member_is_dead(r, i)) {
            if (ranks != NULL) {
                ranks[*count] = (int)i;
            }
            ++*count;
        }
    }
    return CATENA_OK;
}

catena_status_t catena_group_agree(catena_group_t *group, uint64_t *flags)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP) || flags == NULL) {
        if (!CTN_UNUSABLE(group, CTN_GROUP)) {
            (void)ctn_check_recovery_call(group, CTN_CODE_GROUP_AGREE, true);
        }
        return CTN_REFUSE_NULL(ctn_group_log(group), group, flags);
    }
    catena_status_t status = ctn_recovery_check(group, __func__);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_recorded_call_t *record =
        ctn_call_enters(group, CTN_CODE_GROUP_AGREE, -1);
    status = ctn_check_recovery_call(group, CTN_CODE_GROUP_AGREE, false);
    if (status != CATENA_OK) {
        ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
        return status;
    }
    uint64_t *result;
    status = ctn_agree(group->recovery, (ctn_vote_t){.flag = *flags}, &result);
    if (status == CATENA_OK) {
        *flags = ctn_result_flag(result);
    }
    ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
    return status;
}
