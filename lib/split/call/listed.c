/* A group of listed ranks, or of ranks that know their neighbors only, made by
 * these ranks alone.
 *
 * Each rank allocates its control block and sends the block's address to the
 * ranks before and after it, as a handshake (exec/handshake.h). With the
 * handshakes of these two its place in the chain is complete. A barrier of the
 * new chain ends the call.
 *
 * Why a handshake is taken before its sender writes to the same peer again. The
 * call blocks, so a rank is in one such call at a time. When the barrier is
 * complete on a rank, all members have begun it, hence have taken the
 * handshakes of both neighbors. So when a member begins another call, all
 * handshakes that it has sent are taken.
 *
 * Why a handshake need not say to which call it belongs. Take two calls in
 * which the same two ranks are neighbors. All ranks make their common calls in
 * the same order, and a call ends with a barrier. So each of the two ranks
 * takes the other's handshake of the first call before it begins the second. If
 * ranks make them in different orders, a digest of the list in the handshake
 * shows it; without a list it is one of the link between the two. Ranks go up
 * by one along links, and sizes are equal: so the links are those of one chain.
 * Rounds: 1, and ceil(log2 n) of the barrier. */

#include <stdlib.h>
#include <string.h>

#include <catena/chain.h>

#include "coll/barrier.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "exec/handshake.h"
#include "group/chain_coll.h"
#include "group/recovery.h"
#include "group/world_ranks.h"

typedef struct listed {
    /* arguments */
    const char *function; /* the public one, for messages */
    ctn_call_code_t code; /* for the recorder */
    int *world; /* [count] world ranks of the list, malloc'd; NULL: the new
                   group owns them, or there is no list */
    uint32_t count;
    uint32_t rank;        /* of this rank in the list and in the new group */
    int neighbor[2];      /* world ranks; significant where has_neighbor */
    uint64_t digest[2];   /* of the list, or of the link to each neighbor */
    uint64_t id;          /* of the new group */
    catena_group_t **out; /* where the caller wants the new group */
    /* working */
    catena_group_t *made;        /* the new group */
    ctn_recorded_call_t *record; /* this call as the first one of that */
    bool taken[2]; /* the handshakes of the left and right neighbor */
} listed_t;

/* A handshake has the digest in the upper 30 bits, of which the lowest is 1, so
 * that the word is not 0; and in the lower 34 bits the number of the page in
 * the sender's arena at which its control block starts. */
enum { PAGE_BITS = 34 };

/** @param from distinguishes lists of different parents: a handshake of a call
 * that has failed may still lie there */
static uint64_t digest_of(const int *list, uint32_t count, uint64_t from)
{
    /* the offset and the prime of FNV-1a */
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ count ^ from;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ (uint32_t)list[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash >> PAGE_BITS | 1;
}

static ctn_chain_place_t *place_of(const listed_t *listed)
{
    return &listed->made->chain.place;
}

/** Return whether this rank has a neighbor on `side` (0: left, 1: right).
 * @param[out] process the neighbor's world rank */
static bool has_neighbor(const listed_t *listed, int side, uint64_t *process)
{
    if (side == 0 ? listed->rank == 0 : listed->rank + 1 == listed->count) {
        return false;
    }
    *process = (uint64_t)listed->neighbor[side];
    return true;
}

/* ---- phases ---- */

/** Create the new group, without neighbors in its chain. */
static catena_status_t open_group(ctn_exec_t *exec, listed_t *listed)
{
    catena_status_t status =
        ctn_group_create(exec, listed->count, &listed->made);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_barrier_set_hooks(listed->made);
    ctn_group_record(listed->made, listed->id);
    ctn_chain_place_t *place = place_of(listed);
    place->size = listed->count;
    place->rank = listed->rank;
    place->left = place->right = CTN_NO_ADDRESS;
    listed->record = ctn_call_enters(listed->made, listed->code, -1);
    if (listed->world != NULL) {
        status = ctn_world_ranks_set(listed->made, listed->world);
        listed->world = status == CATENA_OK ? NULL : listed->world;
    }
    return status;
}

/** Create the group; send both neighbors a handshake. */
static ctn_step_t send(ctn_op_t *op)
{
    listed_t *listed = ctn_op_state(op);
    catena_status_t status = open_group(op->exec, listed);
    for (int side = 0; status == CATENA_OK && side < 2; side++) {
        uint64_t process;
        uint64_t page = place_of(listed)->self.offset / CTN_MEMBER_ALIGNMENT;
        if (has_neighbor(listed, side, &process)) {
            status = ctn_handshake_send(
                op->exec, process, listed->digest[side] << PAGE_BITS | page);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Take the handshake of the neighbor on `side`, if it has arrived, and link to
 * this neighbor. */
static catena_status_t take(ctn_op_t *op, listed_t *listed, int side,
                            uint64_t process)
{
    uint64_t word = ctn_handshake_take(op->exec, process);
    if (word == 0) {
        return CATENA_OK;
    }
    if (word >> PAGE_BITS != listed->digest[side] && op->exec->deaths != NULL) {
        return CATENA_OK; /* of a call that has failed */
    }
    if (word >> PAGE_BITS != listed->digest[side]) {
        return ctn_refuse(
            op->exec->log, CATENA_ERR_ARG, listed->function,
            "world rank %llu has another list of ranks, or is no neighbor of "
            "this one; expected the same list, in the same order, on all "
            "ranks; or ranks %u and %u of a group of %u",
            (unsigned long long)process, listed->rank - (side == 0),
            listed->rank + (side == 1), listed->count);
    }
    ctn_chain_place_t *place = place_of(listed);
    *(side == 0 ? &place->left : &place->right) =
        (ctn_address_t){process, (word & ((UINT64_C(1) << PAGE_BITS) - 1)) *
                                     CTN_MEMBER_ALIGNMENT};
    listed->taken[side] = true;
    return CATENA_OK;
}

/** Wait for the handshakes of both neighbors. */
static ctn_step_t receive(ctn_op_t *op)
{
    listed_t *listed = ctn_op_state(op);
    bool linked = true;
    for (int side = 0; side < 2; side++) {
        uint64_t process;
        if (listed->taken[side] || !has_neighbor(listed, side, &process)) {
            continue;
        }
        catena_status_t status = take(op, listed, side, process);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        if (!listed->taken[side]) {
            op->waits_for = side == 0 ? listed->rank - 1 : listed->rank + 1;
            linked = false;
        }
    }
    return linked ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static ctn_step_t barrier(ctn_op_t *op)
{
    listed_t *listed = ctn_op_state(op);
    op->waits_for = -1;
    if (listed->made->recovery != NULL) { /* which synchronizes, too */
        return ctn_recovery_gather(op, listed->made);
    }
    return ctn_op_call(op, ctn_chain_barrier(op->exec, &listed->made->chain));
}

static void finish(ctn_op_t *op)
{
    listed_t *listed = ctn_op_state(op);
    free(listed->world);
    ctn_call_returns(op->exec, listed->record, CTN_RECORD_OVER, NULL);
    if (op->status == CATENA_OK) {
        *listed->out = listed->made;
        return;
    }
    /* Other members wait for this one, and may still put into its block, which
     * is kept until the heap is destroyed. */
    op->status = ctn_op_give_up(op, op->status);
    if (listed->made != NULL) {
        listed->made->stays = true;
        ctn_recovery_give_up(listed->made);
        ctn_group_release(listed->made);
    }
}

static const ctn_phase_t phases[] = {
    {"send", send}, {"receive", receive}, {"barrier", barrier}, {NULL, NULL}};

static const ctn_algorithm_t listed_algorithm = {
    .name = "group create",
    .state_bytes = sizeof(listed_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/* ---- arguments ---- */

/** Translate the list to world ranks. @return malloc'd; NULL: no memory */
static int *translate(const catena_group_t *parent, size_t count,
                      const int ranks[])
{
    int *world = malloc(count * sizeof(*world));
    for (size_t i = 0; world != NULL && i < count; i++) {
        world[i] = ctn_world_rank(parent, ranks[i]);
    }
    return world;
}

/** Check that the list has ranks of the parent, each once. */
static catena_status_t check_list(const catena_group_t *parent, size_t count,
                                  const int ranks[])
{
    uint32_t size = parent->chain.place.size;
    unsigned char *listed = calloc(size, 1);
    catena_status_t status =
        listed != NULL ? CATENA_OK
                       : ctn_exec_result(parent->exec, CATENA_ERR_NO_MEMORY);
    for (size_t i = 0; status == CATENA_OK && i < count; i++) {
        bool in_range = ranks[i] >= 0 && (uint32_t)ranks[i] < size;
        if (!in_range || listed[ranks[i]]) {
            status = ctn_refuse(
                parent->exec->log, CATENA_ERR_ARG, "catena_group_create",
                "rank %d%s; expected ranks of the parent, 0 to %u, each once",
                ranks[i], in_range ? " again" : "", size - 1);
        } else {
            listed[ranks[i]] = 1;
        }
    }
    free(listed);
    return status;
}

/** Return the index of this rank in the list; `count`: it is not listed. */
static size_t own_place(const catena_group_t *parent, size_t count,
                        const int ranks[])
{
    size_t own = 0;
    while (own < count && ranks[own] != (int)parent->chain.place.rank) {
        own++;
    }
    return own;
}

/** Check the arguments that both calls have. */
static catena_status_t check_parent(const char *function,
                                    const catena_group_t *parent,
                                    catena_group_t *const *out)
{
    if (CTN_UNUSABLE(parent, CTN_GROUP)) {
        return ctn_refuse_handle(function, "parent", parent);
    }
    if (out == NULL) {
        return ctn_refuse_null(parent->exec->log, function, "out");
    }
    if (!ctn_world_ranks_known(parent)) {
        return ctn_refuse(parent->exec->log, CATENA_ERR_STATE, function,
                          "the world ranks of the parent are not known; call "
                          "catena_group_world_ranks on all its ranks before");
    }
    return CATENA_OK;
}

/** The parent, for digest_of. */
static uint64_t origin_of(const catena_group_t *parent)
{
    return parent->recovery != NULL ? parent->recovery->id : 0;
}

static catena_status_t run(catena_group_t *parent, const listed_t *arguments)
{
    ctn_op_t *op = ctn_op_create(parent->exec, &listed_algorithm, NULL);
    if (op == NULL) {
        free(arguments->world);
        return ctn_group_give_up(parent, CATENA_ERR_NO_MEMORY);
    }
    op->failure = ctn_group_failure(parent); /* it has all members */
    *(listed_t *)ctn_op_state(op) = *arguments;
    return ctn_op_run(parent->exec, op);
}

catena_status_t catena_group_create(catena_group_t *parent, size_t count,
                                    const int ranks[], catena_group_t **out)
{
    CTN_ENTRY;
    if (!CTN_UNUSABLE(parent, CTN_GROUP) && ranks == NULL && count > 0) {
        return CTN_REFUSE_NULL(parent->exec->log, ranks);
    }
    catena_status_t status = check_parent(__func__, parent, out);
    if (status != CATENA_OK) {
        return status;
    }
    size_t own = own_place(parent, count, ranks);
    status = check_list(parent, count, ranks);
    if (status == CATENA_ERR_NO_MEMORY && own < count) {
        return ctn_group_give_up(parent, status); /* the others wait for it */
    }
    if (status != CATENA_OK) {
        return status;
    }
    if (own == count) {
        *out = NULL;
        return CATENA_OK;
    }
    int *world = translate(parent, count, ranks);
    if (world == NULL) {
        return ctn_group_give_up(parent, CATENA_ERR_NO_MEMORY);
    }
    /* Not a call of all of the parent's ranks. */
    uint64_t digest = digest_of(world, (uint32_t)count, 0);
    listed_t listed = {.function = __func__,
                       .code = CTN_CODE_GROUP_CREATE,
                       .world = world,
                       .count = (uint32_t)count,
                       .rank = (uint32_t)own,
                       .id = ctn_hash_add(CTN_SCOPE_FIRST, digest),
                       .out = out};
    for (int side = 0; side < 2; side++) {
        uint64_t process;
        if (has_neighbor(&listed, side, &process)) {
            listed.neighbor[side] = world[side == 0 ? own - 1 : own + 1];
        }
        listed.digest[side] =
            digest_of(world, (uint32_t)count, origin_of(parent));
    }
    return run(parent, &listed);
}

/** Check a place in the new group, and its neighbors. */
static catena_status_t check_place(const catena_group_t *parent,
                                   const int neighbor[2], int rank, int size)
{
    static const char *const names[] = {"left", "right"};
    const char *function = "catena_chain_create";
    int most = (int)parent->chain.place.size;
    if (size < 1 || size > most || rank < 0 || rank >= size) {
        return ctn_refuse(parent->exec->log, CATENA_ERR_ARG, function,
                          "rank %d of %d; expected a size from 1 to %d, and a "
                          "rank from 0 to below the size",
                          rank, size, most);
    }
    for (int side = 0; side < 2; side++) {
        bool is_end = side == 0 ? rank == 0 : rank + 1 == size;
        bool is_rank = neighbor[side] >= 0 && neighbor[side] < most &&
                       neighbor[side] != (int)parent->chain.place.rank;
        if (is_end ? neighbor[side] != CATENA_PROC_NULL : !is_rank) {
            return ctn_refuse(
                parent->exec->log, CATENA_ERR_ARG, function,
                is_end ? "%s is %d; expected CATENA_PROC_NULL at this end"
                       : "%s is %d; expected another rank of the parent, 0 to "
                         "%d",
                names[side], neighbor[side], most - 1);
        }
    }
    if (size > 2 && rank > 0 && rank + 1 < size && neighbor[0] == neighbor[1]) {
        return ctn_refuse(parent->exec->log, CATENA_ERR_ARG, function,
                          "left and right are both %d; expected two ranks",
                          neighbor[0]);
    }
    return CATENA_OK;
}

catena_status_t catena_chain_create(catena_group_t *parent, int left, int right,
                                    int rank, int size, catena_group_t **out)
{
    CTN_ENTRY;
    const int neighbor[2] = {left, right};
    catena_status_t status = check_parent(__func__, parent, out);
    if (status == CATENA_OK) {
        status = check_place(parent, neighbor, rank, size);
    }
    if (status != CATENA_OK) {
        return status;
    }
    listed_t listed = {.function = __func__,
                       .code = CTN_CODE_CHAIN_CREATE,
                       .count = (uint32_t)size,
                       .rank = (uint32_t)rank,
                       .id = CTN_SCOPE_UNKNOWN,
                       .out = out};
    int self = ctn_world_rank(parent, (int)parent->chain.place.rank);
    for (int side = 0; side < 2; side++) {
        uint64_t process;
        if (!has_neighbor(&listed, side, &process)) {
            continue;
        }
        int other = ctn_world_rank(parent, neighbor[side]);
        /* The same at both ends of the link. */
        const int link[] = {side == 0 ? other : self, side == 0 ? self : other,
                            side == 0 ? rank - 1 : rank};
        listed.neighbor[side] = other;
        listed.digest[side] =
            digest_of(link, 3, origin_of(parent) ^ (uint64_t)size << 32);
    }
    return run(parent, &listed);
}
