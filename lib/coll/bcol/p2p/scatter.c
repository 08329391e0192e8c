/* P2P-7: scatter over messages, the gather turned round: bundles of short parts
 * go down the tree, and the root puts long ones straight into their place when
 * their owner grants it. Rounds, messages and memory as there; beyond the first
 * 4 long parts, their owners are told one after the other where their grants
 * may go, which takes a message each. */

#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

#include "exec/slot.h"

/* Beside the slots that all have: of the owner of a long part, where its pieces
 * come in and where it is told of a slot for its grants. The root's slots for
 * grants are numbered likewise. */
enum { PIECES, TOLD };

/** To be told yet. */
enum { NO_SLOT = 255 };

typedef struct scatter {
    ctn_p2p_call_t call; /* first */
    ctn_bundling_t bundling;
    catena_status_t status; /* to end with */
    /* of the root */
    ctn_bundle_t bundle;
    ctn_part_out_t out[CTN_BUNDLE_FLOWS]; /* 0 bytes: free */
    uint32_t longs;                       /* found so far */
    uint32_t place;                       /* to look for the next one at */
    /* of others */
    ctn_receive_handle_t letter;
    ctn_part_in_t part;
    ctn_bundle_record_t own;
    /* of all: what children get */
    size_t sent[CTN_BUNDLE_CHILDREN];
} scatter_t;

static ctn_address_t address_of(const scatter_t *scatter, uint32_t member)
{
    return scatter->call.p2p->module.sbgp->member[member].memory;
}

static int64_t rank_of(const scatter_t *scatter, uint32_t member)
{
    return scatter->call.p2p->module.sbgp->member[member].rank;
}

/** What the root has for a member. */
static ctn_bundle_record_t part_of(const scatter_t *scatter, uint32_t member)
{
    const ctn_basic_coll_t *basic = scatter->call.basic;
    size_t bytes = basic->at[member + 1] - basic->at[member];
    return (ctn_bundle_record_t){
        scatter->call.status == CATENA_OK || bytes == 0 ? bytes
                                                        : CTN_BUNDLE_UNFIT,
        (const unsigned char *)basic->in + basic->at[member], NO_SLOT};
}

static bool is_long(const scatter_t *scatter, const ctn_bundle_record_t *part)
{
    return part->bytes > scatter->bundling.limit &&
           part->bytes != CTN_BUNDLE_UNFIT;
}

static ctn_step_t begin(ctn_op_t *op)
{
    scatter_t *scatter = ctn_op_state(op);
    ctn_p2p_begin(op);
    ctn_bundling_set(&scatter->bundling, &scatter->call);
    scatter->status = CATENA_OK;
    scatter->bundle.memory = scatter->bundle.small;
    scatter->bundle.spare = false;
    scatter->letter = (ctn_receive_handle_t){.data = NULL};
    scatter->part = (ctn_part_in_t){.bytes = 0};
    scatter->own = (ctn_bundle_record_t){.bytes = 0};
    for (unsigned i = 0; i < CTN_BUNDLE_FLOWS; i++) {
        scatter->out[i] = (ctn_part_out_t){.bytes = 0};
    }
    scatter->longs = 0;
    scatter->place = 1;
    return CTN_STEP_NEXT;
}

/* ---- bundles ---- */

/** Send each child its subtree's part of a bundle, the largest first. */
static catena_status_t send_bundles(ctn_op_t *op, const unsigned char *at)
{
    scatter_t *scatter = ctn_op_state(op);
    const ctn_ktree_t *tree = &scatter->bundling.tree;
    for (unsigned i = 0; i < tree->children; i++) {
        const unsigned char *from = at;
        ctn_bundle_record_t record;
        for (uint32_t n = ctn_ktree_child(tree, i).span; n > 0; n--) {
            at = ctn_bundle_record_get(&scatter->bundling, at, &record);
        }
        scatter->sent[i] = (size_t)(at - from);
    }
    catena_status_t status = CATENA_OK;
    for (unsigned i = tree->children; i-- > 0 && status == CATENA_OK;) {
        uint32_t place = ctn_ktree_child(tree, i).place;
        at -= scatter->sent[i];
        op->exec->tally.rounds++;
        status = ctn_message_send_zcopy(
            op, address_of(scatter, ctn_ktree_member(tree, place)), i, 0, at,
            scatter->sent[i]);
    }
    return status;
}

/** The root: all parts but its own. The owners of the first long ones know
 * where their grants may go. */
static catena_status_t bundle_up(ctn_op_t *op, scatter_t *scatter)
{
    const ctn_bundling_t *bundling = &scatter->bundling;
    const ctn_ktree_t *tree = &bundling->tree;
    size_t bytes = 0;
    for (uint32_t place = 1; place < tree->size; place++) {
        ctn_bundle_record_t part =
            part_of(scatter, ctn_ktree_member(tree, place));
        bytes += ctn_bundle_record_bytes(bundling, part.bytes);
    }
    catena_status_t status = ctn_bundle_make(op, &scatter->bundle, bytes, 0);
    unsigned char *at = scatter->bundle.memory;
    unsigned longs = 0;
    for (uint32_t place = 1; place < tree->size && status == CATENA_OK;
         place++) {
        ctn_bundle_record_t part =
            part_of(scatter, ctn_ktree_member(tree, place));
        if (is_long(scatter, &part) && longs < CTN_BUNDLE_FLOWS) {
            part.slot = bundling->slots + longs++;
        }
        at = ctn_bundle_record_put(op->exec, bundling, at, part);
    }
    return status;
}

/** Take the own part, if it has come, to its place. */
static void take_own(ctn_op_t *op, scatter_t *scatter,
                     const ctn_bundle_record_t *own)
{
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (own->bytes == CTN_BUNDLE_UNFIT) {
        scatter->status = CATENA_ERR_ARG;
    } else if (ctn_p2p_agrees(op, &scatter->status, basic->root, own->bytes,
                              basic->bytes) &&
               own->data != NULL && own->bytes > 0 && own->data != basic->out) {
        ctn_exec_copy(op->exec, basic->out, own->data, own->bytes);
    }
}

static ctn_step_t send_all(ctn_op_t *op)
{
    scatter_t *scatter = ctn_op_state(op);
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (scatter->bundling.tree.place > 0) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = bundle_up(op, scatter);
    if (status == CATENA_OK) {
        status = send_bundles(op, scatter->bundle.memory);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ctn_bundle_record_t own = part_of(scatter, basic->root);
    take_own(op, scatter, &own);
    return CTN_STEP_NEXT;
}

static ctn_step_t receive(ctn_op_t *op)
{
    scatter_t *scatter = ctn_op_state(op);
    const ctn_ktree_t *tree = &scatter->bundling.tree;
    if (tree->place == 0) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = rank_of(scatter, tree->parent);
    ctn_step_t step = ctn_message_receive(op, address_of(scatter, tree->parent),
                                          tree->index, 0, &scatter->letter);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    op->exec->tally.rounds++;
    catena_status_t status = send_bundles(
        op, ctn_bundle_record_get(&scatter->bundling, scatter->letter.data,
                                  &scatter->own));
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    take_own(op, scatter, &scatter->own);
    return CTN_STEP_NEXT;
}

/* ---- long parts ---- */

/** The owner's slot at the root; NO_SLOT: it waits to be told. */
static unsigned slot_at_root(const ctn_op_t *op, const scatter_t *scatter)
{
    if (scatter->own.slot != NO_SLOT) {
        return scatter->own.slot;
    }
    const ctn_slot_t *told = ctn_op_slot(op, scatter->bundling.slots + TOLD);
    uint64_t word = ctn_word_load(&told->word[0]);
    return ctn_flag_matches(word, op->seq) ? ctn_flag_count(word) : NO_SLOT;
}

static ctn_step_t refuse_part(ctn_op_t *op, scatter_t *scatter, unsigned slot)
{
    catena_status_t status = ctn_part_refuse(
        op, address_of(scatter, scatter->call.basic->root), slot);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t receive_part(ctn_op_t *op, scatter_t *scatter)
{
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (scatter->own.bytes == 0 || scatter->own.data != NULL ||
        scatter->own.bytes == CTN_BUNDLE_UNFIT) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = rank_of(scatter, basic->root);
    if (scatter->part.bytes == 0) {
        unsigned slot = slot_at_root(op, scatter);
        if (slot == NO_SLOT) {
            return CTN_STEP_WAIT;
        }
        if (scatter->status != CATENA_OK) {
            return refuse_part(op, scatter, slot);
        }
        catena_status_t status = ctn_part_expect(
            op, &scatter->part, address_of(scatter, basic->root),
            scatter->bundling.slots + PIECES, slot, basic->out,
            scatter->own.bytes);
        if (status == CATENA_ERR_NO_MEMORY) { /* the root shall not wait */
            scatter->status = status;
            scatter->part.bytes = 0;
            return refuse_part(op, scatter, slot);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return ctn_part_receive(op, &scatter->part);
}

/** Begin with the next long part, by flow `index`. NEXT: there is none. */
static ctn_step_t begin_part(ctn_op_t *op, scatter_t *scatter, unsigned index)
{
    const ctn_ktree_t *tree = &scatter->bundling.tree;
    for (; scatter->place < tree->size; scatter->place++) {
        uint32_t member = ctn_ktree_member(tree, scatter->place);
        ctn_bundle_record_t part = part_of(scatter, member);
        if (!is_long(scatter, &part)) {
            continue;
        }
        unsigned slot = scatter->bundling.slots + index;
        catena_status_t status = CATENA_OK;
        if (scatter->longs++ >= CTN_BUNDLE_FLOWS) {
            ctn_outflow_clear(op, slot);
            status = ctn_op_send_count(op, address_of(scatter, member),
                                       scatter->bundling.slots + TOLD, slot,
                                       NULL, 0);
        }
        scatter->out[index] =
            (ctn_part_out_t){.data = part.data, .bytes = part.bytes};
        ctn_outflow_open(&scatter->out[index].flow, address_of(scatter, member),
                         slot);
        scatter->place++;
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    return CTN_STEP_NEXT;
}

/** The root. NEXT: all long parts are sent. */
static ctn_step_t send_parts(ctn_op_t *op, scatter_t *scatter)
{
    ctn_step_t result = CTN_STEP_NEXT;
    for (unsigned i = 0; i < CTN_BUNDLE_FLOWS; i++) {
        ctn_part_out_t *part = &scatter->out[i];
        ctn_step_t step = part->bytes > 0 ? ctn_part_send(op, part)
                                          : begin_part(op, scatter, i);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT && part->bytes > 0) {
            part->bytes = 0;
            step = CTN_STEP_MOVED;
        }
        if (step == CTN_STEP_MOVED || result == CTN_STEP_NEXT) {
            result = step;
        }
    }
    return result;
}

static ctn_step_t move_parts(ctn_op_t *op)
{
    scatter_t *scatter = ctn_op_state(op);
    return scatter->bundling.tree.place == 0 ? send_parts(op, scatter)
                                             : receive_part(op, scatter);
}

/* ---- the end ---- */

static ctn_step_t end(ctn_op_t *op)
{
    const scatter_t *scatter = ctn_op_state(op);
    for (unsigned i = 0; i < scatter->bundling.tree.children; i++) {
        if (!ctn_message_zcopy_done(op, i, 0, scatter->sent[i])) {
            return CTN_STEP_WAIT;
        }
    }
    return ctn_p2p_end(op, scatter->status);
}

static void finish(ctn_op_t *op)
{
    scatter_t *scatter = ctn_op_state(op);
    if (op->status == CATENA_OK) { /* else children may be fetching from it */
        ctn_receive_handle_release(op, &scatter->letter);
    }
    ctn_inflow_close(op, &scatter->part.flow);
    ctn_bundle_drop(op, &scatter->bundle);
}

static const ctn_phase_t phases[] = {
    {"begin", begin},           {"send", send_all}, {"receive", receive},
    {"long parts", move_parts}, {"end", end},       {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/scatter",
    .state_bytes = sizeof(scatter_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_p2p_scatter(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}
