/* P2P-6: gather over messages. Bundles of short parts go up a tree: binomial,
 * of radix 4, or with all members below the root; long ones are put by their
 * owner straight into their place, when the root grants it. Thakur,
 * Rabenseifner, Gropp: Optimization of collective communication operations in
 * MPICH, IJHPCA 19 (1), 2005, section 3 describe the tree. Rounds: the depth of
 * the tree; for long parts two more. Messages: one per member; for a long part
 * a grant, and one for each 64 KiB of it. Memory: of a member, the short parts
 * of its subtree. Nobody but the root and its owner needs to know how long a
 * part is. */

#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

/** A child that is heard. */
typedef struct child {
    ctn_receive_handle_t letter;
    const unsigned char *at; /* the next record; NULL: it has not come */
    uint32_t place;          /* of that */
    uint32_t end;
} child_t;

typedef struct gather {
    ctn_p2p_call_t call; /* first */
    ctn_bundling_t bundling;
    catena_status_t status;               /* to end with */
    ctn_part_in_t part[CTN_BUNDLE_FLOWS]; /* of the root; 0 bytes: free */
    ctn_part_out_t own;                   /* when it is long */
    ctn_bundle_t bundle;
    child_t child[CTN_BUNDLE_CHILDREN];
} gather_t;

static ctn_address_t address_of(const gather_t *gather, uint32_t member)
{
    return gather->call.p2p->module.sbgp->member[member].memory;
}

static unsigned char *place_of(const ctn_basic_coll_t *basic, uint32_t member)
{
    return (unsigned char *)basic->out + basic->at[member];
}

/** So many bytes of a member go to its place: else nothing does. */
static bool agrees(ctn_op_t *op, gather_t *gather, uint32_t member,
                   size_t bytes)
{
    const size_t *at = &gather->call.basic->at[member];
    return ctn_p2p_agrees(op, &gather->status, member, bytes, at[1] - at[0]);
}

static void move_own(ctn_op_t *op, gather_t *gather)
{
    const ctn_basic_coll_t *basic = gather->call.basic;
    unsigned char *place = place_of(basic, basic->root);
    if (agrees(op, gather, basic->root, basic->bytes) && basic->bytes > 0 &&
        basic->in != place) {
        ctn_exec_copy(op->exec, place, basic->in, basic->bytes);
    }
}

static ctn_step_t begin(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_basic_coll_t *basic = gather->call.basic;
    ctn_bundling_t *bundling = &gather->bundling;
    ctn_p2p_begin(op);
    ctn_bundling_set(bundling, &gather->call);
    gather->status = gather->call.status;
    for (unsigned i = 0; i < bundling->tree.children; i++) {
        ctn_branch_t branch = ctn_ktree_child(&bundling->tree, i);
        gather->child[i] =
            (child_t){.place = branch.place, .end = branch.place + branch.span};
    }
    for (unsigned i = 0; i < CTN_BUNDLE_FLOWS; i++) {
        gather->part[i] = (ctn_part_in_t){.bytes = 0};
    }
    gather->own = (ctn_part_out_t){.data = basic->in, .bytes = 0};
    gather->bundle.memory = gather->bundle.small;
    gather->bundle.spare = false;
    ctn_outflow_open(&gather->own.flow, address_of(gather, basic->root),
                     bundling->slots);
    if (bundling->tree.place == 0) {
        move_own(op, gather);
    } else if (basic->bytes > bundling->limit &&
               gather->call.status == CATENA_OK) {
        gather->own.bytes = basic->bytes;
    }
    return CTN_STEP_NEXT;
}

/** Whether a child's bundle is here. */
static ctn_step_t hear(ctn_op_t *op, gather_t *gather, unsigned index)
{
    child_t *child = &gather->child[index];
    uint32_t member = ctn_ktree_member(&gather->bundling.tree, child->place);
    if (child->at != NULL) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_message_receive(op, address_of(gather, member), index,
                                          0, &child->letter);
    if (step == CTN_STEP_NEXT) {
        child->at = child->letter.data;
        op->exec->tally.rounds++;
    } else {
        op->waits_for = gather->call.p2p->module.sbgp->member[member].rank;
    }
    return step;
}

/* ---- the root ---- */

/** A long part is not taken. */
static ctn_step_t refuse(ctn_op_t *op, const gather_t *gather, uint32_t member)
{
    catena_status_t status =
        ctn_part_refuse(op, address_of(gather, member), gather->bundling.slots);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Ask for a long part. WAIT: as many as may be are under way. */
static ctn_step_t ask(ctn_op_t *op, gather_t *gather, uint32_t member,
                      size_t bytes)
{
    unsigned i = 0;
    while (i < CTN_BUNDLE_FLOWS && gather->part[i].bytes > 0) {
        i++;
    }
    if (i == CTN_BUNDLE_FLOWS) {
        return CTN_STEP_WAIT;
    }
    unsigned slots = gather->bundling.slots;
    catena_status_t status = ctn_part_expect(
        op, &gather->part[i], address_of(gather, member), slots + i, slots,
        place_of(gather->call.basic, member), bytes);
    if (status == CATENA_ERR_NO_MEMORY) { /* its owner shall not wait for it */
        gather->status = status;
        gather->part[i].bytes = 0;
        return refuse(op, gather, member);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Take a part to its place, or have it sent, unless it is of another length.
 */
static ctn_step_t take(ctn_op_t *op, gather_t *gather, uint32_t member,
                       const ctn_bundle_record_t *record)
{
    if (record->bytes == CTN_BUNDLE_UNFIT) {
        gather->status = CATENA_ERR_ARG;
        return CTN_STEP_NEXT;
    }
    bool wanted = agrees(op, gather, member, record->bytes);
    if (record->data == NULL) {
        return wanted ? ask(op, gather, member, record->bytes)
                      : refuse(op, gather, member);
    }
    if (wanted && record->bytes > 0) {
        ctn_exec_copy(op->exec, place_of(gather->call.basic, member),
                      record->data, record->bytes);
    }
    return CTN_STEP_NEXT;
}

/** Take the parts of a bundle to their places. NEXT: all, or they are on their
 * way. */
static ctn_step_t unpack(ctn_op_t *op, gather_t *gather, child_t *child)
{
    while (child->place < child->end) {
        uint32_t member =
            ctn_ktree_member(&gather->bundling.tree, child->place);
        ctn_bundle_record_t record;
        const unsigned char *next =
            ctn_bundle_record_get(&gather->bundling, child->at, &record);
        ctn_step_t step = take(op, gather, member, &record);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        child->at = next;
        child->place++;
    }
    return CTN_STEP_NEXT;
}

/** Long parts. NEXT: none is under way; MOVED: one has come. */
static ctn_step_t receive_parts(ctn_op_t *op, gather_t *gather)
{
    ctn_step_t result = CTN_STEP_NEXT;
    for (unsigned i = 0; i < CTN_BUNDLE_FLOWS; i++) {
        ctn_part_in_t *part = &gather->part[i];
        if (part->bytes == 0) {
            continue;
        }
        ctn_step_t step = ctn_part_receive(op, part);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT) {
            part->bytes = 0;
            result = CTN_STEP_MOVED;
        } else if (result == CTN_STEP_NEXT) {
            result = CTN_STEP_WAIT;
        }
    }
    return result;
}

/* ---- all ---- */

/** Those below: the root takes what they have, others wait for all of it. */
static ctn_step_t collect(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_ktree_t *tree = &gather->bundling.tree;
    ctn_step_t result = receive_parts(op, gather);
    for (unsigned i = 0; i < tree->children && result != CTN_STEP_FAIL; i++) {
        child_t *child = &gather->child[i];
        uint32_t place = child->place;
        ctn_step_t step =
            place < child->end ? hear(op, gather, i) : CTN_STEP_NEXT;
        if (step == CTN_STEP_NEXT && tree->place == 0) {
            step = unpack(op, gather, child);
        }
        if (step == CTN_STEP_FAIL || child->place > place) {
            result = step == CTN_STEP_FAIL ? step : CTN_STEP_MOVED;
        } else if (step == CTN_STEP_WAIT && result == CTN_STEP_NEXT) {
            result = step;
        }
    }
    return result;
}

/** Lay the own part and those of the children end to end. */
static catena_status_t bundle_up(ctn_op_t *op, gather_t *gather)
{
    const ctn_bundling_t *bundling = &gather->bundling;
    size_t own = gather->call.status == CATENA_OK ? gather->call.basic->bytes
                                                  : CTN_BUNDLE_UNFIT;
    size_t bytes = ctn_bundle_record_bytes(bundling, own);
    for (unsigned i = 0; i < bundling->tree.children; i++) {
        bytes += gather->child[i].letter.bytes;
    }
    catena_status_t status =
        ctn_bundle_make(op, &gather->bundle, bytes, bundling->tree.children);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned char *at = ctn_bundle_record_put(
        op->exec, bundling, gather->bundle.memory,
        (ctn_bundle_record_t){own, gather->call.basic->in, 0});
    for (unsigned i = 0; i < bundling->tree.children; i++) {
        ctn_receive_handle_t *letter = &gather->child[i].letter;
        memcpy(at, letter->data, letter->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, letter->bytes);
        at += letter->bytes;
        ctn_receive_handle_release(op, letter);
    }
    return CATENA_OK;
}

static ctn_step_t pass_on(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_ktree_t *tree = &gather->bundling.tree;
    if (tree->place == 0) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = bundle_up(op, gather);
    if (status == CATENA_OK) {
        op->exec->tally.rounds++;
        status = ctn_message_send_zcopy(op, address_of(gather, tree->parent),
                                        tree->index, 0, gather->bundle.memory,
                                        gather->bundle.bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t send_part(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_basic_coll_t *basic = gather->call.basic;
    op->waits_for = gather->call.p2p->module.sbgp->member[basic->root].rank;
    return ctn_part_send(op, &gather->own);
}

static ctn_step_t end(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_ktree_t *tree = &gather->bundling.tree;
    return tree->place == 0 || ctn_message_zcopy_done(op, tree->index, 0,
                                                      gather->bundle.bytes)
               ? ctn_p2p_end(op, gather->status)
               : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    for (unsigned i = 0; i < gather->bundling.tree.children; i++) {
        ctn_receive_handle_release(op, &gather->child[i].letter);
    }
    for (unsigned i = 0; i < CTN_BUNDLE_FLOWS; i++) {
        ctn_inflow_close(op, &gather->part[i].flow);
    }
    ctn_bundle_drop(op, &gather->bundle);
}

static const ctn_phase_t phases[] = {
    {"begin", begin},         {"collect", collect}, {"pass on", pass_on},
    {"long part", send_part}, {"end", end},         {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/gather",
    .state_bytes = sizeof(gather_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_p2p_gather(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}
