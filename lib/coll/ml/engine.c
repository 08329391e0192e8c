/* Runs HIER-1 to HIER-10, what collectives are put together from; see ml.h.
 * Graham, Ladd, Gorentla Venkata: Hierarchy Aware Blocking and Nonblocking
 * Collective Communications, the Effects of Shared Memory in the Cray XT
 * environment, CUG 2011, section 3. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "coll/ml/ml.h"

/** Tables of a composition, in front of which this lies, or its scratch. */
typedef struct ctn_kept {
    struct ctn_kept *next;
    void *scratch; /* in the shared heap, or NULL */
    size_t scratch_bytes;
    _Alignas(16) unsigned char memory[];
} ctn_kept_t;

/* ---- for compositions ---- */

void ctn_ml_cut(ctn_ml_t *ml, size_t bytes, size_t unit)
{
    size_t most = CTN_SEGMENT_BYTES - CTN_SEGMENT_BYTES % unit;
    ml->segment_bytes = bytes < most ? bytes : most;
    ml->segments = bytes > 0 ? (bytes - 1) / ml->segment_bytes + 1 : 0;
}

static ctn_stage_t *add(ctn_segment_t *segment)
{
    assert(segment->stages < CTN_STAGES);
    ctn_stage_t *stage = &segment->stage[segment->stages++];
    memset(stage, 0, sizeof(*stage));
    return stage;
}

ctn_stage_t *ctn_ml_add(ctn_ml_t *ml, ctn_segment_t *segment, unsigned level,
                        ctn_basic_kind_t kind)
{
    ctn_stage_t *stage = add(segment);
    stage->module = ml->hierarchy->level[level];
    stage->kind = kind;
    stage->basic.by = ml->call.by;
    stage->basic.algorithm = ml->algorithm;
    stage->basic.segments = (uint32_t)ml->segments;
    return stage;
}

void ctn_ml_add_local(ctn_segment_t *segment, ctn_local_step_t step)
{
    add(segment)->before = step;
}

void *ctn_ml_keep(ctn_ml_t *ml, size_t bytes)
{
    ctn_kept_t *kept = bytes <= SIZE_MAX - sizeof(*kept)
                           ? malloc(sizeof(*kept) + bytes)
                           : NULL;
    if (kept == NULL) {
        return NULL;
    }
    kept->next = ml->kept;
    kept->scratch = NULL;
    ml->kept = kept;
    return kept->memory;
}

void *ctn_ml_scratch(ctn_ml_t *ml, size_t bytes)
{
    if (ctn_ml_keep(ml, 0) == NULL) {
        return NULL;
    }
    ml->kept->scratch = ctn_scratch_alloc(ml->exec, bytes);
    ml->kept->scratch_bytes = bytes;
    return ml->kept->scratch;
}

void ctn_ml_fold(ctn_ml_t *ml, const void *left, const void *right, void *out,
                 size_t bytes)
{
    ctn_exec_charge(ml->exec, CTN_WORK_REDUCE, bytes);
    if (!ml->exec->drop_data &&
        !ctn_reduce(&ml->call.by, left, right, out, bytes)) {
        ml->status = CATENA_ERR_NO_MEMORY;
    }
}

/* ---- stages ---- */

void ctn_ml_break(ctn_ml_t *ml)
{
    ctn_exec_break(ml->exec, CATENA_ERR_NO_MEMORY);
}

/** Segments begin in their order. */
static bool may_begin(ctn_ml_t *ml, const ctn_segment_t *segment)
{
    if (segment->index < ml->begun) {
        return true;
    }
    if (segment->index > ml->begun ||
        (segment->alone && ml->over < segment->index)) {
        return false;
    }
    ml->begun = segment->index + 1;
    return true;
}

/** Whether a stage sends invalid data. Those of a vector are invalid after any
 * error. Those of blocks are invalid if `unfit` is set, except at the root of a
 * scatter, which has all blocks. */
static bool is_unfit(const ctn_ml_t *ml)
{
    const ctn_call_t *call = &ml->call;
    return call->composition->vector
               ? ml->status != CATENA_OK
               : ml->unfit && (call->composition->whole != CTN_SCATTER ||
                               call->root != ctn_ml_rank(ml));
}

/** The stage it is at may run. */
static void let_go(ctn_ml_t *ml, ctn_segment_t *segment, ctn_stage_t *stage)
{
    if (stage->before != NULL) {
        stage->before(ml, segment);
    }
    stage->basic.unfit = is_unfit(ml);
    if (stage->op != NULL) {
        ctn_op_let_go(stage->op);
    }
    segment->let_go = true;
}

/** Give those up to `end` their numbers. */
static void start_stages(ctn_ml_t *ml, ctn_segment_t *segment, unsigned end)
{
    while (segment->started < end) {
        ctn_stage_t *stage = &segment->stage[segment->started++];
        if (stage->module == NULL) {
            continue;
        }
        stage->op = stage->module->bcol->make[stage->kind](stage->module,
                                                           &stage->basic);
        if (stage->op == NULL) {
            ctn_ml_break(ml);
        } else if (segment->at + 1 == segment->started &&
                   may_begin(ml, segment)) {
            let_go(ml, segment, stage); /* so it need not be held first */
            ctn_op_start(stage->op);
        } else {
            ctn_op_start_held(stage->op);
        }
    }
}

/** Take note of what became of it. */
static void end_stage(ctn_ml_t *ml, ctn_stage_t *stage)
{
    if (stage->op != NULL) {
        if (ml->status == CATENA_OK) {
            ml->status = stage->op->status;
        }
        ml->unfit |= stage->op->status != CATENA_OK;
        ctn_op_release(stage->op);
        stage->op = NULL;
    }
}

/** From stage to stage, as far as it goes. An error of one does not end the
 * others: members count on them. True: something was done. */
static bool advance(ctn_ml_t *ml, ctn_segment_t *segment)
{
    bool moved = false;
    if (!may_begin(ml, segment)) {
        return false;
    }
    while (segment->at < segment->started) {
        ctn_stage_t *stage = &segment->stage[segment->at];
        if (!segment->let_go) {
            let_go(ml, segment, stage);
            moved = true;
        }
        if (stage->op != NULL && stage->op->state != CTN_OP_DONE) {
            return moved;
        }
        end_stage(ml, stage);
        if (stage->after != NULL) {
            stage->after(ml, segment);
        }
        segment->at++;
        segment->let_go = false;
        moved = true;
    }
    return moved;
}

static ctn_segment_t *segment_of(ctn_ml_t *ml, uint64_t index)
{
    return ml->segment[index % CTN_SEGMENTS];
}

/** Make the next segment, in the place of one that is over. False: no
 * memory. */
static bool compose(ctn_ml_t *ml)
{
    ctn_segment_t **place = &ml->segment[ml->composed % CTN_SEGMENTS];
    if (*place == NULL) {
        *place = ctn_segment_take(ml->call.group);
        if (*place == NULL) {
            return false;
        }
        (*place)->scratch = NULL;
        (*place)->scratch_bytes = ml->scratch_bytes;
        if (ml->scratch_bytes > 0) {
            (*place)->scratch = ctn_scratch_alloc(ml->exec, ml->scratch_bytes);
            if ((*place)->scratch == NULL) {
                return false;
            }
        }
    }
    ctn_segment_t *segment = *place;
    segment->index = ml->composed++;
    segment->stages = segment->started = segment->at = 0;
    segment->down = UINT32_MAX;
    segment->alone = segment->let_go = false;
    ml->call.composition->compose(ml, segment);
    if (segment->down > segment->stages) {
        segment->down = segment->stages;
    }
    return true;
}

/** Start the second parts of segments up to `end`. */
static void lower(ctn_ml_t *ml, uint64_t end)
{
    while (ml->lowered < end) {
        ctn_segment_t *segment = segment_of(ml, ml->lowered++);
        start_stages(ml, segment, segment->stages);
    }
}

/** Start what there is place for; then it is the turn of the next operation. */
static bool start_segments(ctn_ml_t *ml)
{
    bool moved = false;
    while (ml->composed < ml->segments &&
           ml->composed - ml->over < CTN_SEGMENTS) {
        if (!compose(ml)) {
            ctn_ml_break(ml);
            return true;
        }
        ctn_segment_t *segment = segment_of(ml, ml->composed - 1);
        if (segment->alone) {
            lower(ml, segment->index);
        }
        start_stages(ml, segment, segment->down);
        if (segment->index >= CTN_LAG) {
            lower(ml, segment->index - CTN_LAG + 1);
        }
        moved = true;
    }
    if (ml->composed == ml->segments) {
        lower(ml, ml->segments);
        ml->hierarchy->turns->turn++;
        ml->passed = true;
    }
    return moved;
}

/* ---- phases ---- */

static bool is_turn(const ctn_hierarchy_t *hierarchy, uint64_t number)
{
    return hierarchy->state == CTN_BUILT && hierarchy->turns->turn == number;
}

/** Whether it may come to the flat hierarchy: then all ranks have to ask for it
 * now. Who is in a blocking call knows what the other one is (see
 * ctn_ml_enter), and asks only if that is of no use; so do those who need no
 * operation for it, and requests, which are alone in their groups. */
static bool may_need_flat(const ctn_call_t *call, const ctn_use_t *use)
{
    const ctn_hierarchy_t *hierarchy = use->hierarchy;
    bool known =
        (call->waits || call->group->hidden) && hierarchy->state == CTN_BUILT;
    return call->in_order &&
           !(known && (hierarchy->in_order || hierarchy->status != CATENA_OK));
}

/** At once when it is started, so that all ranks number alike. */
static ctn_step_t enlist(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    const ctn_call_t *call = &ml->call;
    ctn_of_t of = call->composition->of;
    memset((unsigned char *)ml + sizeof(ml->call), 0,
           sizeof(*ml) - sizeof(ml->call));
    ml->exec = op->exec;
    catena_status_t status = ctn_use_find(call->group, of, false, &ml->use);
    if (status == CATENA_OK && call->group->hidden && call->in_order &&
        ml->use->hierarchy->state != CTN_BUILT) {
        return CTN_STEP_WAIT;
    }
    bool flat = status == CATENA_OK && may_need_flat(call, ml->use);
    if (flat) {
        status = ctn_use_find(call->group, of, true, &ml->use);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ml->algorithm = ml->use->algorithm;
    ml->main = ml->use->hierarchy;
    ml->number[0] = ml->main->turns->started++;
    if (flat && ml->use->flat->turns != ml->main->turns) {
        ml->flat = ml->use->flat;
        ml->number[1] = ml->flat->turns->started++;
    }
    call->group->composed++;
    ml->enlisted = true;
    return CTN_STEP_NEXT;
}

static ctn_step_t await_turn(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    if (!is_turn(ml->main, ml->number[0])) {
        return CTN_STEP_WAIT;
    }
    ml->hierarchy = ml->main;
    if (ml->flat != NULL && !ml->main->in_order &&
        ml->main->status == CATENA_OK) {
        ml->hierarchy = ml->flat;
        ml->main->turns->turn++;
    }
    return CTN_STEP_NEXT;
}

/** Its turn in the flat one it takes as well, whether it needs it or not. */
static ctn_step_t await_flat(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    if (ml->flat == NULL) {
        return CTN_STEP_NEXT;
    }
    if (!is_turn(ml->flat, ml->number[1])) {
        return CTN_STEP_WAIT;
    }
    if (ml->hierarchy != ml->flat) {
        ml->flat->turns->turn++;
    }
    return CTN_STEP_NEXT;
}

/** It ends before any stage; all ranks know. */
static ctn_step_t refuse(ctn_op_t *op, catena_status_t status)
{
    ctn_ml_t *ml = ctn_op_state(op);
    ml->hierarchy->turns->turn++;
    ml->passed = true;
    return ctn_op_fail(op, status);
}

static ctn_step_t plan(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    const ctn_composition_t *composition = ml->call.composition;
    catena_status_t status = ml->hierarchy->status;
    if (status != CATENA_OK) {
        return refuse(op, status);
    }
    status = composition->plan(ml);
    if (status == CATENA_ERR_UNSUPPORTED) {
        return refuse(op, status);
    }
    if (status != CATENA_OK) {
        ctn_ml_break(ml);
        return ctn_op_fail(op, status);
    }
    ctn_ml_note(ml);
    return CTN_STEP_NEXT;
}

/** The rank that the oldest segment's stage waits for. */
static int64_t missing(ctn_ml_t *ml)
{
    const ctn_segment_t *segment = segment_of(ml, ml->over);
    const ctn_op_t *waiting = segment != NULL && segment->at < segment->stages
                                  ? segment->stage[segment->at].op
                                  : NULL;
    return waiting != NULL ? waiting->waits_for : -1;
}

static ctn_step_t run(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    bool moved = !ml->passed && start_segments(ml);
    for (uint64_t s = ml->over; s < ml->composed; s++) {
        ctn_segment_t *segment = segment_of(ml, s);
        moved |= advance(ml, segment);
        if (s == ml->over && segment->at == segment->stages &&
            ml->lowered > s) {
            ml->over++;
            moved = true;
        }
    }
    if (ml->over == ml->segments && ml->passed) {
        return ml->status == CATENA_OK ? CTN_STEP_NEXT
                                       : ctn_op_fail(op, ml->status);
    }
    op->waits_for = moved ? -1 : missing(ml);
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

const ctn_phase_t ctn_ml_phases[] = {{"enlist", enlist},
                                     {"await turn", await_turn},
                                     {"await turn", await_flat},
                                     {"plan", plan},
                                     {"run", run},
                                     {NULL, NULL}};

/** After an error of the network stages may still be under way, which end by
 * themselves; what they look at stays with the group. True: there are some. */
static bool orphan_stages(ctn_segment_t *segment)
{
    bool some = false;
    for (unsigned i = segment->at; i < segment->started; i++) {
        ctn_op_t *op = segment->stage[i].op;
        if (op == NULL) {
            continue;
        }
        if (op->state == CTN_OP_DONE) {
            ctn_op_release(op);
            continue;
        }
        op->detached = true;
        op->channel->detached++;
        ctn_op_let_go(op);
        some = true;
    }
    return some;
}

void ctn_ml_finish(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_op_state(op);
    bool orphans = false;
    for (unsigned i = 0; i < CTN_SEGMENTS && ml->enlisted; i++) {
        ctn_segment_t *segment = ml->segment[i];
        if (segment == NULL) {
            continue;
        }
        if (orphan_stages(segment)) {
            orphans = true;
            continue;
        }
        ctn_scratch_free(ml->exec, segment->scratch, segment->scratch_bytes);
        ctn_segment_give(ml->call.group, segment);
    }
    while (ml->enlisted && ml->kept != NULL) {
        ctn_kept_t *kept = ml->kept;
        ml->kept = kept->next;
        if (orphans) {
            ctn_exec_keep(ml->exec, kept);
        } else {
            ctn_scratch_free(ml->exec, kept->scratch, kept->scratch_bytes);
            free(kept);
        }
    }
    if (ml->enlisted) {
        ml->call.group->composed--;
        ml->enlisted = false;
    }
}

void ctn_ml_release(ctn_op_t *op)
{
    ctn_call_drop(&((ctn_ml_t *)ctn_op_state(op))->call);
}
