#include "component.h"

#include <catena/catena.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "oracle/content.h"

static const ctn_sbgp_rule_t whole_lane = {.name = "lane",
                                           .help = "all members"};

/** All members' memory, from what each of them tells. */
static catena_status_t exchange(component_t *c, ctn_address_t own)
{
    ctn_pieces_t pieces;
    catena_status_t status = ctn_op_run(ctn_chain_allgather(
        c->job->exec, c->lane, (ctn_piece_t){&own, sizeof(own)}, &pieces));
    if (status != CATENA_OK) {
        return status;
    }
    for (uint32_t i = 0; i < c->sbgp.size; i++) {
        ctn_sbgp_member_t *member = &c->sbgp.member[i];
        c->ranges[i] = (ctn_range_t){i, 1};
        *member = (ctn_sbgp_member_t){.rank = i,
                                      .ranks = 1,
                                      .before = i,
                                      .ranges = 1,
                                      .range = &c->ranges[i]};
        memcpy(&member->memory, pieces.piece[i].data, sizeof(own));
    }
    ctn_pieces_release(c->job->exec, &pieces);
    return CATENA_OK;
}

static void forget(component_t *c)
{
    oracle_table_close(&c->oracle, &c->table);
    free(c->sbgp.member);
    free(c->ranges);
    if (c->module != NULL) {
        c->module->bcol->destroy(c->module);
    }
}

static catena_status_t set_up(component_t *c, job_t *job, ctn_lane_t *lane,
                              const ctn_bcol_t *bcol)
{
    const ctn_chain_t *chain = &lane->chain;
    ctn_exec_t *exec = job->exec;
    /* Simulated ranks are never crowded, but their memory may be laid out, and
     * algorithms chosen, as if they were. */
    bool crowded = exec->virtual_time ? job->seed % 2 != 0 : exec->crowded;
    *c = (component_t){.job = job, .lane = lane, .random = job->seed * 89};
    c->own = c->random + job->rank + 1;
    c->oracle = job_oracle(job);
    oracle_table_open(&c->oracle, &c->table);
    c->sbgp = (ctn_sbgp_t){
        .rule = &whole_lane,
        .size = chain->size,
        .me = chain->rank,
        .ranks = chain->size,
        .in_order = true,
        .crowded = crowded,
        .member = calloc(chain->size, sizeof(ctn_sbgp_member_t)),
    };
    c->ranges = calloc(chain->size, sizeof(ctn_range_t));
    ctn_address_t own = {.process = chain->self.process};
    catena_status_t status =
        bcol->create(exec, chain->size, chain->rank, crowded,
                     job->seed % 3 == 1, &c->module, &own.offset);
    if (status == CATENA_OK) {
        status = exchange(c, own);
    }
    if (status == CATENA_OK) {
        status = bcol->link(c->module, &c->sbgp);
    }
    if (status == CATENA_OK) { /* all have linked theirs */
        status = ctn_op_run(ctn_chain_barrier(exec, lane));
    }
    if (status != CATENA_OK) {
        forget(c);
    }
    return status;
}

static void tear_down(component_t *c)
{
    ctn_channel_settle(c->job->exec, c->module->channel);
    ctn_exec_deliver(c->job->exec);
    (void)ctn_op_run(ctn_chain_barrier(c->job->exec, c->lane));
    forget(c);
}

void component_run(job_t *job, const ctn_bcol_t *bcol,
                   void (*body)(component_t *c))
{
    component_t c;
    catena_group_t *node = NULL;
    ctn_lane_t *lane = job->lane;
    if (bcol == &ctn_bcol_shm) {
        JOB_CHECK(job, catena_group_split_level(job->context->world,
                                                CATENA_LEVEL_NODE, 0,
                                                &node) == CATENA_OK);
        lane = &node->lane;
    }
    uint64_t memory = job->exec->tally.memory;
    catena_status_t status = set_up(&c, job, lane, bcol);
    if (bcol == &ctn_bcol_ucx && job->exec->network == NULL) {
        JOB_CHECK(job, status == CATENA_ERR_ARG);
        return;
    }
    JOB_CHECK(job, status == CATENA_OK);
    body(&c);
    tear_down(&c);
    JOB_CHECK(job, job->exec->tally.memory == memory);
    JOB_CHECK(job, node == NULL || catena_group_free(node) == CATENA_OK);
}

void component_run_until_death(job_t *job, const ctn_bcol_t *bcol,
                               catena_status_t (*call)(component_t *c,
                                                       uint32_t turn))
{
    component_t c;
    if (set_up(&c, job, job->lane, bcol) != CATENA_OK) {
        return;
    }
    for (uint32_t turn = 0; call(&c, turn) == CATENA_OK; turn++) {
    }
    tear_down(&c);
}

void component_await_all(component_t *c)
{
    JOB_CHECK(c->job, ctn_op_run(ctn_chain_barrier(c->job->exec, c->lane)) ==
                          CATENA_OK);
}

catena_status_t component_call(const component_t *c, ctn_basic_kind_t kind,
                               const ctn_basic_t *basic)
{
    return ctn_op_run(c->module->bcol->make[kind](c->module, basic));
}

/* ---- one basic collective ---- */

enum { GUARD = 0x5a, GUARDS = 64, INT8 = 1, DOUBLE = 10 };

static bool has_parts(ctn_basic_kind_t kind)
{
    return kind >= CTN_GATHER;
}

static oracle_view_t view_of(const basic_call_t *call)
{
    static const oracle_kind_t kinds[CTN_BASICS] = {
        [CTN_BCAST] = ORACLE_BCAST,
        [CTN_REDUCE] = ORACLE_REDUCE,
        [CTN_ALLREDUCE] = ORACLE_ALLREDUCE,
        [CTN_SCAN] = ORACLE_SCAN,
        [CTN_EXSCAN] = ORACLE_EXSCAN,
        [CTN_GATHER] = ORACLE_GATHERV,
        [CTN_SCATTER] = ORACLE_SCATTERV,
        [CTN_ALLGATHER] = ORACLE_ALLGATHERV,
        [CTN_REDUCE_SCATTER] = ORACLE_REDUCE_SCATTER};
    return (oracle_view_t){kinds[call->kind], call->c->sbgp.size,
                           call->c->sbgp.me, call->basic.root};
}

/** Many single elements or many members cost much to check. */
static size_t draw_length(const basic_call_t *call, uint64_t *random,
                          size_t lengths)
{
    static const size_t some[] = {0,    1,    7,    8,    48,    55,   56,
                                  57,   112,  113,  128,  511,   1040, 2047,
                                  2048, 2049, 8192, 8193, 16384, 16385};
    size_t small = oracle_below(random, 4) == 0 ? 0 : oracle_below(random, 120);
    bool whole = !has_parts(call->kind);
    if (lengths == MIXED) {
        bool costly = call->type == INT8 || call->c->sbgp.size > 9;
        size_t one = some[oracle_below(random, costly ? 16 : 20)];
        return whole && one > CTN_SEGMENT_BYTES ? CTN_SEGMENT_BYTES : one;
    }
    if (lengths == LONG && whole) {
        return oracle_below(random, 2) == 0
                   ? CTN_SEGMENT_BYTES - oracle_below(random, 2)
                   : CTN_SEGMENT_BYTES / 4 +
                         oracle_below(random, 3 * CTN_SEGMENT_BYTES / 4);
    }
    if (lengths == LONG) {
        return oracle_below(random, call->c->sbgp.size) < 2
                   ? 150000 + oracle_below(random, 50001)
                   : oracle_below(random, 1000);
    }
    return lengths == NOTHING ? 0 : lengths >= AS_IS ? lengths : small;
}

static void draw_lengths(basic_call_t *call, size_t lengths)
{
    component_t *c = call->c;
    uint64_t drawn = oracle_random(&c->random);
    size_t unit =
        oracle_reduces(view_of(call).kind) ? oracle_unit_bytes(call->type) : 1;
    uint64_t one = drawn;
    size_t equal = draw_length(call, &one, one % 3 == 0 ? MIXED : SHORT);
    call->at = calloc(c->sbgp.size + 1, sizeof(*call->at));
    for (uint32_t i = 0; i < c->sbgp.size; i++) {
        size_t bytes =
            lengths == EQUAL ? equal : draw_length(call, &drawn, lengths);
        call->at[i + 1] = call->at[i] + bytes / unit * unit;
    }
}

static size_t part_bytes(const basic_call_t *call, size_t member)
{
    return call->at[member + 1] - call->at[member];
}

static void take(component_t *c, basic_side_t *side, size_t bytes, size_t shift)
{
    side->bytes = bytes;
    side->in_heap = oracle_below(&c->own, 2) == 0;
    side->memory =
        oracle_take(&c->oracle, side->in_heap ? ORACLE_HEAP : ORACLE_MALLOC,
                    bytes + 2 * GUARDS);
    side->image = oracle_zeros(bytes + 2 * GUARDS, 1);
    side->data = side->memory + GUARDS - shift;
    memset(side->memory, GUARD, bytes + 2 * GUARDS);
}

static void give(component_t *c, basic_side_t *side)
{
    oracle_give(&c->oracle, side->in_heap ? ORACLE_HEAP : ORACLE_MALLOC,
                side->memory);
    free(side->image);
}

void basic_prepare(basic_call_t *call, component_t *c, ctn_basic_kind_t kind,
                   const char *algorithm, uint32_t root, size_t lengths)
{
    static const struct {
        unsigned type, op;
    } by[] = {{DOUBLE, ORACLE_SUM},
              {ORACLE_PAIR, ORACLE_ORDERED},
              {ORACLE_PAIR, ORACLE_ORDERED},
              {INT8, ORACLE_SUM}};
    uint32_t me = c->sbgp.me;
    size_t b = oracle_below(&c->random, lengths == LONG ? 2 : 4);
    *call = (basic_call_t){.c = c,
                           .kind = kind,
                           .seed = oracle_random(&c->random),
                           .type = by[b].type,
                           .op = by[b].op};
    call->basic = (ctn_basic_t){
        .root = root,
        .algorithm = algorithm,
        .by = {c->table.op[call->op], c->table.send[call->type].type}};
    draw_lengths(call, lengths);
    bool here = me == root;
    bool is_whole = kind == CTN_REDUCE_SCATTER || (kind == CTN_SCATTER && here);
    bool gets_whole = kind == CTN_ALLGATHER || (kind == CTN_GATHER && here);
    size_t part = part_bytes(call, has_parts(kind) ? me : 0);
    size_t whole = call->at[c->sbgp.size];
    call->basic.bytes = part;
    call->basic.at =
        (kind == CTN_GATHER || kind == CTN_SCATTER) && !here ? NULL : call->at;
    call->in_place = oracle_below(&c->own, 3) == 0;
    size_t shift =
        oracle_reduces(view_of(call).kind) ? 0 : oracle_below(&c->own, 8);
    take(c, &call->in, is_whole ? whole : part, shift);
    take(c, &call->out, gets_whole ? whole : part, shift);
}

/** Which of the buffers are used, and where. */
static void set_places(basic_call_t *call)
{
    ctn_basic_t *basic = &call->basic;
    const ctn_sbgp_t *sbgp = &call->c->sbgp;
    bool here = sbgp->me == basic->root;
    oracle_view_t view = view_of(call);
    bool reads = call->kind == CTN_BCAST ? here : oracle_blocks(&view, false);
    bool writes = oracle_blocks(&view, true) > 0;
    basic->in = reads ? call->in.data : NULL;
    basic->out = writes ? call->out.data : NULL;
    if (call->kind == CTN_BCAST && here) {
        basic->out = call->in.data;
    } else if (call->in_place && call->kind == CTN_SCATTER && here) {
        basic->out = call->in.data + call->at[sbgp->me];
    } else if (call->in_place && (call->kind == CTN_ALLGATHER ||
                                  (call->kind == CTN_GATHER && here))) {
        basic->in = call->out.data + call->at[sbgp->me];
    } else if (call->in_place && call->kind >= CTN_REDUCE &&
               call->kind < CTN_GATHER && writes) {
        basic->out = call->in.data;
    }
}

/** The blocks that are given, or have to be received, at `to`. */
static void put_blocks(const basic_call_t *call, bool receiving,
                       unsigned char *to)
{
    oracle_view_t view = view_of(call);
    size_t unit = oracle_unit_bytes(call->type);
    size_t blocks = oracle_blocks(&view, receiving);
    bool whole = call->kind == CTN_REDUCE_SCATTER && !receiving;
    for (size_t b = 0; b < blocks; b++) {
        oracle_datum_t d =
            receiving ? oracle_expected(&view, b) : oracle_given(&view, b);
        bool all = blocks > 1 || view.size == 1;
        size_t at = all && has_parts(call->kind) ? call->at[b] : 0;
        size_t bytes = whole                          ? call->at[view.size]
                       : all && has_parts(call->kind) ? part_bytes(call, b)
                                                      : call->basic.bytes;
        if (d.what == ORACLE_STREAM) {
            oracle_stream(call->seed, d.from, d.to, 0, bytes, to + at);
        }
        if (d.what == ORACLE_ELEMENTS) {
            oracle_reduced(call->type, call->op, call->seed, d.from, d.to,
                           call->at[d.skip] / unit, bytes / unit, to);
        }
    }
}

void basic_fill(basic_call_t *call)
{
    set_places(call);
    unsigned char *in = (unsigned char *)(uintptr_t)call->basic.in;
    unsigned char *out = call->basic.out;
    if (call->kind != CTN_BCAST) {
        put_blocks(call, false, in);
    } else if (in != NULL) {
        put_blocks(call, true, in);
    }
    basic_side_t *sides[] = {&call->in, &call->out};
    for (int i = 0; i < 2; i++) {
        basic_side_t *s = sides[i];
        memcpy(s->image, s->memory, s->bytes + 2 * GUARDS);
        if (out >= s->memory && out < s->memory + s->bytes + 2 * GUARDS) {
            put_blocks(call, true, s->image + (out - s->memory));
        }
    }
}

catena_status_t basic_run(basic_call_t *call)
{
    ctn_module_t *module = call->c->module;
    catena_status_t status;
    if (oracle_below(&call->c->own, 2) == 0 && module->bcol->quick != NULL &&
        module->bcol->quick(module, call->kind, &call->basic, &status)) {
        return status;
    }
    return component_call(call->c, call->kind, &call->basic);
}

void basic_check(const basic_call_t *call)
{
    const basic_side_t *sides[] = {&call->in, &call->out};
    for (int s = 0; s < 2; s++) {
        const basic_side_t *side = sides[s];
        size_t bytes = side->bytes + 2 * GUARDS;
        size_t i = 0;
        while (memcmp(side->memory, side->image, bytes) != 0 &&
               side->memory[i] == side->image[i]) {
            i++;
        }
        JOB_CHECK(call->c->job, memcmp(side->memory, side->image, bytes) == 0);
        if (i > 0 && call->c->job->errors < 3) {
            fprintf(stderr,
                    "  %s of kind %d by %s, root %u, %zu bytes: byte "
                    "%td\n",
                    s == 0 ? "in" : "out", (int)call->kind,
                    call->basic.algorithm, call->basic.root, side->bytes,
                    side->memory + i - side->data);
        }
    }
}

void basic_drop(basic_call_t *call)
{
    give(call->c, &call->in);
    give(call->c, &call->out);
    free(call->at);
}

void basic_all(component_t *c, ctn_basic_kind_t kind, const char *algorithm,
               uint32_t root, size_t lengths)
{
    basic_call_t call;
    basic_prepare(&call, c, kind, algorithm, root, lengths);
    basic_fill(&call);
    JOB_CHECK(c->job, basic_run(&call) == CATENA_OK);
    basic_check(&call);
    basic_drop(&call);
}

void basic_all_held(basic_call_t *call, unsigned count)
{
    unsigned order[16];
    component_t *c = call->c;
    ctn_module_t *module = c->module;
    for (unsigned i = 0; i < count; i++) {
        call[i].running =
            module->bcol->make[call[i].kind](module, &call[i].basic);
        ctn_op_start_held(call[i].running);
        size_t at = oracle_below(&c->own, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (unsigned i = 0; i < count; i++) {
        basic_call_t *next = &call[order[i]];
        basic_fill(next);
        JOB_CHECK(c->job, next->running->state != CTN_OP_DONE);
        ctn_op_let_go(next->running);
        if (oracle_below(&c->own, 2) == 0) {
            JOB_CHECK(c->job, catena_progress(c->job->context) == CATENA_OK);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        JOB_CHECK(c->job, ctn_op_wait(call[i].running) == CATENA_OK);
        ctn_op_release(call[i].running);
        basic_check(&call[i]);
        basic_drop(&call[i]);
    }
}
