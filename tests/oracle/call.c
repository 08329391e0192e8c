/* Buffers of one call, and their expected contents; see call.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/call_parts.h"
#include "oracle/random.h"

enum { MOST_BYTES = 1 << 24 };

/* ---- settings ---- */

static void choose(const oracle_t *oracle, const oracle_case_t *c,
                   catena_group_t *group, const char *what, const char *chosen)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_%s",
             oracle_setting_name(c->value[ORACLE_KIND]), what);
    ORACLE_CHECK(oracle, catena_group_set(group, name, chosen) == CATENA_OK);
}

void oracle_choose_hierarchy(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group)
{
    if (oracle_has_levels(c->value[ORACLE_KIND])) {
        choose(oracle, c, group, "hierarchy",
               oracle_hierarchy_name(c->value[ORACLE_HIERARCHY]));
    }
}

void oracle_choose_algorithm(const oracle_t *oracle, const oracle_case_t *c,
                             catena_group_t *group)
{
    unsigned kind = c->value[ORACLE_KIND];
    choose(oracle, c, group, "algorithm",
           oracle_algorithm_name(kind, c->value[ORACLE_ALGORITHM]));
    for (unsigned i = 0; oracle_pairs(kind) && i < ORACLE_PARAMETERS; i++) {
        choose(oracle, c, group, oracle_parameter_name(i),
               oracle_parameter_value(i, c->value[ORACLE_HIERARCHY]));
    }
}

/* ---- lengths ---- */

/** The amount that one rank sends to another, or has for all, if lengths
 * differ. */
static size_t own_count(const oracle_call_t *call, size_t from, size_t to)
{
    uint64_t h = oracle_hash(call->shape, from, to);
    size_t one = oracle_hash(call->shape, 1, 2) % call->view.size;
    bool is_one = call->shape % 2 == 0 ? from == one : to == one;
    if (call->apart > 0) {
        return call->count;
    }
    switch (oracle_value(call, ORACLE_COUNTS)) {
    case ORACLE_MIXED:
        return h % 4 == 0 ? 0 : (h >> 4) % (2 * call->count + 1);
    case ORACLE_SPARSE:
        return h % 8 != 0 ? 0 : (h >> 4) % (2 * call->count + 1);
    case ORACLE_HUB:
        return is_one ? 2 * call->count : (h >> 4) % 9 % (call->count + 1);
    default:
        return is_one ? (h >> 4) % (2 * call->count + 1) : 0;
    }
}

/** Elements of `from` for `to`. */
static size_t between(const oracle_call_t *call, size_t from, size_t to)
{
    if (call->view.kind == ORACLE_ALLTOALL) {
        return call->count;
    }
    bool turn =
        oracle_value(call, ORACLE_PLACE) == ORACLE_IN_PLACE && from > to;
    return turn ? own_count(call, to, from) : own_count(call, from, to);
}

static size_t before(const oracle_call_t *call, size_t rank)
{
    size_t sum = 0;
    for (size_t r = 0; r < rank; r++) {
        sum += call->share[r];
    }
    return sum;
}

/** Elements of a block of a buffer, without `wrong_by`. */
static size_t usual_elements(const oracle_call_t *call, bool receiving,
                             size_t block)
{
    unsigned kind = call->view.kind;
    size_t me = call->view.rank;
    if (!oracle_has_blocks(kind)) {
        return call->count;
    }
    if (oracle_pairs(kind)) {
        return receiving ? between(call, block, me) : between(call, me, block);
    }
    if (oracle_scatters_result(kind)) {
        return receiving && !oracle_in_place(call)
                   ? call->share[me]
                   : before(call, call->view.size);
    }
    return call->share[receiving == oracle_is_scatter(kind) ? me : block];
}

static size_t elements_in(const oracle_call_t *call, bool receiving,
                          size_t block)
{
    unsigned kind = call->view.kind;
    size_t usual = usual_elements(call, receiving, block);
    bool is_wrong = receiving == oracle_is_scatter(kind) &&
                    (!oracle_pairs(kind) || block == call->wrong_to);
    return is_wrong ? usual + (size_t)call->wrong_by : usual;
}

/** The next multiple of the units of an element. */
static size_t whole(const oracle_call_t *call, size_t units)
{
    return (units + call->units - 1) / call->units * call->units;
}

static void share_out(oracle_call_t *call)
{
    call->count = whole(call, call->count);
    call->share = oracle_zeros(call->view.size, sizeof(*call->share));
    call->elements = oracle_zeros(call->view.size, sizeof(*call->elements));
    for (size_t r = 0; r < call->view.size; r++) {
        call->share[r] = oracle_own_counts(call->view.kind)
                             ? whole(call, own_count(call, r, r))
                             : call->count;
        call->elements[r] = call->share[r] / call->units;
    }
}

/* ---- types ---- */

typedef struct side_of {
    const oracle_t *oracle;
    const oracle_call_t *call;
    oracle_side_t *side;
    bool receiving;
    uint64_t random;
} side_of_t;

static oracle_elements_t draw_elements(uint64_t random)
{
    return random % 8 == 0   ? ORACLE_BYTES
           : random % 8 == 1 ? ORACLE_ANY_FIXED
                             : ORACLE_DERIVED;
}

/** Types shared by many blocks. An alltoallw has several, one of them without
 * data. */
static void draw_types(side_of_t *s)
{
    unsigned kind = s->call->view.kind;
    oracle_elements_t elements = draw_elements(ctn_random(&s->random));
    if (kind == ORACLE_ALLTOALLW) {
        (void)oracle_side_draw(s->oracle, s->side, &s->random, elements, 0);
    }
    for (int i = 0; i < (kind == ORACLE_ALLTOALLW ? 3 : 1); i++) {
        size_t bytes =
            oracle_type_bytes(&s->random, elements, ORACLE_UNIT_BYTES);
        (void)oracle_side_draw(s->oracle, s->side, &s->random, elements, bytes);
    }
}

static const oracle_type_t *drawn_type(side_of_t *s, size_t bytes)
{
    oracle_side_t *side = s->side;
    if (s->call->view.kind != ORACLE_ALLTOALLW) {
        return &side->drawn[0];
    }
    if (bytes == 0 && ctn_random_below(&s->random, 2) == 0) {
        return &side->drawn[0];
    }
    if (bytes > 0 && side->drawings < ORACLE_OWN_TYPES &&
        ctn_random_below(&s->random, 3) == 0) {
        return oracle_side_draw(s->oracle, s->side, &s->random, ORACLE_DERIVED,
                                bytes); /* for this block only */
    }
    return &side->drawn[1 + ctn_random_below(&s->random, 3)];
}

/** The type of a block. In an alltoallw some blocks are of single bytes. */
static const oracle_type_t *type_for(side_of_t *s, size_t block, size_t bytes)
{
    unsigned type = oracle_value(s->call, ORACLE_TYPE);
    const oracle_type_t *table =
        s->receiving ? s->call->table->receive : s->call->table->send;
    if (type == ORACLE_DRAWN) {
        return drawn_type(s, bytes);
    }
    bool plain = s->call->view.kind == ORACLE_ALLTOALLW &&
                 oracle_hash(s->call->shape, block, s->receiving) % 3 == 0;
    return &table[plain ? ORACLE_BYTE : type];
}

/** Elements of a reduction: the same type on all ranks. */
static void draw_element(side_of_t *s)
{
    uint64_t shared = oracle_hash(s->call->shape, 72, 1);
    oracle_element_draw(s->oracle, &s->side->drawn[s->side->drawings++],
                        &shared, s->call->table,
                        oracle_value(s->call, ORACLE_TYPE), s->call->units,
                        oracle_value(s->call, ORACLE_ELEMENT));
}

static void choose_types(side_of_t *s)
{
    oracle_side_t *side = s->side;
    size_t unit = oracle_unit_bytes(oracle_value(s->call, ORACLE_TYPE));
    bool drawn = oracle_value(s->call, ORACLE_ELEMENT) != ORACLE_PLAIN;
    if (oracle_value(s->call, ORACLE_TYPE) == ORACLE_DRAWN) {
        draw_types(s);
    } else if (drawn) {
        draw_element(s);
    }
    for (size_t b = 0; b < side->blocks; b++) {
        size_t bytes = unit * elements_in(s->call, s->receiving, b);
        side->type[b] = drawn ? &side->drawn[0] : type_for(s, b, bytes);
        side->types[b] = side->type[b]->type;
        side->counts[b] = side->type[b]->bytes > 0
                              ? bytes / side->type[b]->bytes
                              : ctn_random_below(&s->random, 3);
    }
}

/* ---- places ---- */

static void place_blocks(side_of_t *s)
{
    oracle_side_t *side = s->side;
    unsigned kind = s->call->view.kind;
    bool lists = kind == ORACLE_GATHERV || kind == ORACLE_ALLGATHERV
                     ? s->receiving
                     : oracle_own_counts(kind) && oracle_pairs(kind);
    if (side->blocks > 0 &&
        (lists || (kind == ORACLE_SCATTERV && !s->receiving))) {
        oracle_side_place_anywhere(
            side, kind == ORACLE_ALLTOALLW ? 1 : side->type[0]->extent,
            s->call->apart, s->call->shape % 8 == 0, &s->random);
    } else {
        oracle_side_place_in_order(side);
    }
}

static void open_side(const oracle_t *oracle, oracle_call_t *call,
                      bool receiving)
{
    oracle_side_t *side = receiving ? &call->receive : &call->send;
    side_of_t s = {oracle, call, side, receiving, 0};
    s.random = oracle_hash(call->shape, call->view.rank, receiving);
    side->blocks =
        oracle_is_there(call, side) ? oracle_blocks(&call->view, receiving) : 0;
    oracle_side_open(side, call->view.size);
    choose_types(&s);
    place_blocks(&s);
    bool any = oracle_side_take(
        oracle, side, oracle_value(call, ORACLE_MEMORY) >= ORACLE_ODD);
    if (!any && oracle_pairs(call->view.kind) && call->view.rank % 2 == 0) {
        side->base = NULL;
    }
}

static void choose_operation(const oracle_t *oracle, oracle_call_t *call)
{
    unsigned op = oracle_value(call, ORACLE_OP);
    call->op = call->table->op[op];
    if (oracle_value(call, ORACLE_ELEMENT) != ORACLE_PLAIN &&
        op >= ORACLE_COMMUTING) {
        call->function = (oracle_function_t){
            op, oracle_value(call, ORACLE_TYPE), &call->send.drawn[0]};
        call->op = oracle_function_create(oracle, &call->function);
    }
}

void oracle_call_open(const oracle_t *oracle, oracle_call_t *call)
{
    size_t size = (size_t)catena_group_size(call->group);
    size_t rank = (size_t)catena_group_rank(call->group);
    unsigned root = oracle_value(call, ORACLE_ROOT);
    unsigned kind = oracle_value(call, ORACLE_KIND);
    size_t most = MOST_BYTES / size / size /
                  oracle_unit_bytes(oracle_value(call, ORACLE_TYPE));
    call->view = (oracle_view_t){.kind = (oracle_kind_t)kind,
                                 .size = size,
                                 .rank = rank,
                                 .root = root == ORACLE_FIRST  ? 0
                                         : root == ORACLE_LAST ? size - 1
                                                               : size / 2};
    call->count =
        call->exactly > 0 ? call->exactly : oracle_elements_of(&call->c);
    if (oracle_pairs(kind) && call->exactly == 0 && call->count > most) {
        call->count = most;
    }
    call->units = oracle_element_units(oracle_hash(call->shape, 73, 1),
                                       oracle_value(call, ORACLE_ELEMENT),
                                       oracle_value(call, ORACLE_TYPE));
    share_out(call);
    bool odd = rank % 2 == 1;
    unsigned memory = oracle_value(call, ORACLE_MEMORY);
    bool heap = memory == 0 || memory == ORACLE_ODD || (memory == 4 && odd);
    call->send.memory = heap || memory == 2 ? ORACLE_HEAP : ORACLE_MALLOC;
    call->receive.memory = heap || memory == 3 ? ORACLE_HEAP : ORACLE_MALLOC;
    open_side(oracle, call, false);
    open_side(oracle, call, true);
    choose_operation(oracle, call);
}

void oracle_call_close(const oracle_t *oracle, oracle_call_t *call)
{
    oracle_side_close(oracle, &call->send);
    oracle_side_close(oracle, &call->receive);
    oracle_call_release_op(oracle, call);
    free(call->share);
    free(call->elements);
}

/* ---- contents ---- */

/** Write the contents of a datum to a block of the image. */
static void put(const oracle_call_t *call, oracle_side_t *side, size_t block,
                oracle_datum_t datum, size_t elements)
{
    unsigned type = oracle_value(call, ORACLE_TYPE);
    size_t bytes = elements * oracle_unit_bytes(type);
    if (datum.what == ORACLE_NOTHING || bytes == 0) {
        return;
    }
    unsigned char *data = oracle_zeros(bytes, 1);
    if (datum.what == ORACLE_STREAM) {
        oracle_stream(call->seed, datum.from, datum.to, 0, bytes, data);
    } else {
        oracle_reduced(type, oracle_value(call, ORACLE_OP), call->seed,
                       datum.from, datum.to, before(call, datum.skip), elements,
                       data);
    }
    oracle_side_put(side, block, bytes, data);
    free(data);
}

/** Write this rank's data to a block of either side. */
static void give(oracle_call_t *call, oracle_side_t *side, size_t block)
{
    put(call, side, block, oracle_given(&call->view, block),
        elements_in(call, false, block));
}

static void fill_receive(oracle_call_t *call)
{
    oracle_side_t *side = &call->receive;
    unsigned kind = call->view.kind;
    if (kind == ORACLE_BCAST) {
        if (call->view.rank == call->view.root) {
            give(call, side, 0);
        }
        return;
    }
    if (!oracle_in_place(call) || oracle_is_scatter(kind)) {
        return;
    }
    for (size_t b = 0; b < side->blocks; b++) {
        if (oracle_pairs(kind) || oracle_reduces(kind) ||
            b == call->view.rank) {
            give(call, side, b);
        }
    }
}

void oracle_call_fill(oracle_call_t *call, uint64_t seed)
{
    call->seed = seed;
    memset(call->send.image, 0x5a, call->send.bytes);
    memset(call->receive.image, 0xa5, call->receive.bytes);
    for (size_t b = 0; b < call->send.blocks; b++) {
        give(call, &call->send, b);
    }
    fill_receive(call);
    memcpy(call->send.block, call->send.image, call->send.bytes);
    memcpy(call->receive.block, call->receive.image, call->receive.bytes);
}

/* ---- expectations ---- */

static size_t result_elements(const oracle_call_t *call, size_t block)
{
    return oracle_scatters_result(call->view.kind)
               ? call->share[call->view.rank]
               : elements_in(call, true, block);
}

/** In place a reduce_scatter may leave anything after its result. */
static void accept_rest(const oracle_call_t *call, oracle_side_t *side)
{
    const oracle_type_t *t = side->type[0];
    size_t used = result_elements(call, 0) / call->units;
    size_t rest = side->counts[0] - used;
    ptrdiff_t at = side->origin + (ptrdiff_t)used * t->extent;
    unsigned char *found = oracle_zeros(rest, t->bytes);
    oracle_type_get(t, side->block + at, rest, found);
    oracle_type_put(t, side->image + at, rest, found);
    free(found);
}

static void expect(oracle_call_t *call)
{
    oracle_side_t *side = &call->receive;
    for (size_t b = 0; b < side->blocks; b++) {
        put(call, side, b, oracle_expected(&call->view, b),
            result_elements(call, b));
    }
    if (oracle_reduces(call->view.kind) && side->blocks > 0) {
        accept_rest(call, side);
        oracle_side_normalize(side, oracle_value(call, ORACLE_TYPE),
                              elements_in(call, true, 0));
    }
}

static void compare(const oracle_t *oracle, const oracle_call_t *call,
                    const char *what)
{
    char text[256], all[360];
    oracle_describe(&call->c, text, sizeof(text));
    snprintf(all, sizeof(all), "%s%s, member %zu of %zu", what, text,
             call->view.rank, call->view.size);
    oracle_side_compare(oracle, &call->send, "send", all);
    oracle_side_compare(oracle, &call->receive, "receive", all);
}

void oracle_call_check(const oracle_t *oracle, oracle_call_t *call,
                       const char *what)
{
    expect(call);
    compare(oracle, call, what);
}

void oracle_call_check_around(const oracle_t *oracle, oracle_call_t *call,
                              const char *what)
{
    oracle_side_accept_blocks(&call->receive);
    compare(oracle, call, what);
}
