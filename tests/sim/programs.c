/* Random programs: every rank takes the same random steps, and stops, polls and
 * completes what is in flight at times of its own. Operations of all kinds
 * follow each other on the same groups, so each runs next to any other one, and
 * slots are reused by operations of other kinds and lengths. */

#include <stdlib.h>
#include <string.h>

#include "oracle/neighborhood/neighborhood.h"
#include "sim/random.h"

enum {
    PLACES = 4,
    FLYING = 8,
    REPEATED = 2,
    SHORT_SIZES = 5, /* of ORACLE_SIZES */
    USUAL_SIZES = 9,
    FEW_RANKS = 9,
    GRAPH_RANKS = 40
};

/** What operations run on: a group, and maybe a neighborhood on it. */
typedef struct place {
    bool open; /* the same on all ranks */
    catena_group_t *group;
    catena_neighborhood_t *neighborhood;
    oracle_graph_t graph; /* if the group has `graphs` */
    bool graphs;
} place_t;

/** An operation in flight, or a persistent one. */
typedef struct flying {
    bool used; /* the same on all ranks */
    int place;
    bool member; /* this rank takes part */
    bool near;   /* on the neighborhood */
    unsigned mode;
    bool active; /* started, and not completed by this rank */
    uint64_t seed;
    oracle_call_t call;
    oracle_nbr_call_t nbr;
    catena_request_t *request;
} flying_t;

typedef struct program {
    rank_test_t *test;
    place_t place[PLACES];
    flying_t flying[FLYING];
    uint64_t own; /* of this rank */
    int busy;     /* how often this rank polls and pauses: 0 to 3 */
    bool brief;   /* the next operation is short */
    bool repeats; /* it is called again, so it must keep its types */
} program_t;

static bool chance(uint64_t *random, size_t one_in)
{
    return ctn_random_below(random, one_in) == 0;
}

/* ---- what a rank does at times of its own ---- */

static void check(program_t *program, flying_t *f)
{
    if (f->near) {
        oracle_nbr_check(&program->test->oracle, &f->nbr, "program: ");
    } else {
        oracle_call_check(&program->test->oracle, &f->call, "program: ");
    }
}

/** The call is to succeed. */
static void expect_ok(program_t *program, const flying_t *f,
                      catena_status_t status)
{
    char text[300];
    if (status == CATENA_OK) {
        return;
    }
    if (f->near) {
        oracle_nbr_describe(&f->nbr, text, sizeof(text));
    } else {
        oracle_describe(&f->call.c, text, sizeof(text));
    }
    rank_fail(program->test, "place %d, %s: %s", f->place, text,
              catena_status_string(status));
}

static void complete(program_t *program, flying_t *f)
{
    int done = 0;
    if (f->member && f->active) {
        while (!done && chance(&program->own, 2)) {
            expect_ok(program, f, catena_request_test(&f->request, &done));
        }
        expect_ok(program, f, catena_request_wait(&f->request));
        check(program, f);
    }
    f->active = false;
}

/** Pause, poll, or complete something, or none of these. */
static void dawdle(program_t *program)
{
    size_t what = ctn_random_below(&program->own, 16);
    flying_t *f = &program->flying[ctn_random_below(&program->own, FLYING)];
    int done;
    if ((int)(what / 4) >= program->busy) {
        return;
    }
    switch (what % 4) {
    case 0:
        rank_pause(program->test, (double)ctn_random_below(&program->own, 40));
        break;
    case 1:
        (void)catena_progress(program->test->context);
        break;
    case 2:
        if (f->active && f->member) {
            expect_ok(program, f, catena_request_test(&f->request, &done));
        }
        break;
    default:
        complete(program, f);
    }
}

/* ---- places ---- */

static void open_graph(program_t *program, place_t *place, uint64_t random)
{
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .reorder = chance(&random, 3)};
    int size = catena_group_size(place->group);
    if (size > GRAPH_RANKS) {
        return;
    }
    place->graphs = true;
    oracle_graph_draw_any(
        &place->graph,
        (oracle_graph_way_t)ctn_random_below(&random, ORACLE_GRAPH_WAYS), size,
        ctn_random(&random));
    RANK_CHECK(program->test,
               oracle_neighborhood_make(&place->graph, place->group, &info,
                                        &place->neighborhood) == CATENA_OK);
    if (place->neighborhood != NULL) {
        oracle_graph_settle(
            &place->graph,
            catena_group_rank(catena_neighborhood_group(place->neighborhood)));
    }
}

/** A duplicate, a split by color, or by node. */
static void open_place(program_t *program, place_t *place,
                       const place_t *parent, uint64_t random)
{
    rank_test_t *test = program->test;
    int colors = 1 + (int)ctn_random_below(&random, 3);
    int key = (int)ctn_random_below(&program->own, 3);
    size_t way = ctn_random_below(&random, 5);
    uint64_t graph = ctn_random(&random);
    bool graphs = chance(&random, 2);
    *place = (place_t){.open = true};
    if (parent->group == NULL) {
        return;
    }
    int rank = catena_group_rank(parent->group);
    int size = catena_group_size(parent->group);
    catena_status_t status;
    if (way == 0) {
        status = catena_group_dup(parent->group, &place->group);
    } else if (way == 1) {
        status = catena_group_split_level(parent->group, CATENA_LEVEL_NODE, key,
                                          &place->group);
    } else {
        int color = way == 2                    ? rank % colors
                    : way == 3                  ? rank * colors / size
                    : rank % 4 == 3 && size > 4 ? CATENA_UNDEFINED
                                                : 0;
        status = catena_group_split(parent->group, color, key, &place->group);
    }
    RANK_CHECK(test, status == CATENA_OK);
    if (place->group != NULL) {
        RANK_CHECK(test, catena_group_set(place->group, "subgroup",
                                          rank % 3 == 0 ? "red" : "blue") ==
                             CATENA_OK);
        if (graphs) {
            open_graph(program, place, graph);
        }
    }
}

static void land(program_t *program, flying_t *f);

static void close_place(program_t *program, int index)
{
    place_t *place = &program->place[index];
    for (int i = 0; i < FLYING; i++) {
        if (program->flying[i].used && program->flying[i].place == index) {
            land(program, &program->flying[i]);
        }
    }
    RANK_CHECK(program->test,
               place->neighborhood == NULL ||
                   catena_neighborhood_free(&place->neighborhood) == CATENA_OK);
    RANK_CHECK(program->test,
               place->group == NULL || index == 0 ||
                   catena_group_free(&place->group) == CATENA_OK);
    if (place->graphs) {
        oracle_graph_free(&place->graph);
    }
    place->open = false;
}

/* ---- operations ---- */

/** A collective of any length by any algorithm; the more ranks the shorter. */
static void draw_call(program_t *program, flying_t *f, unsigned kind,
                      unsigned mode, uint64_t *random)
{
    const oracle_t *oracle = &program->test->oracle;
    catena_group_t *group = program->place[f->place].group;
    oracle_case_t *c = &f->call.c;
    int size = catena_group_size(group);
    f->call = (oracle_call_t){.group = group,
                              .table = rank_table(program->test),
                              .shape = ctn_random(random)};
    oracle_draw(c, kind, true, random);
    bool any = size <= FEW_RANKS && chance(random, 3);
    bool usual = size <= 2 * FEW_RANKS && chance(random, 2);
    c->value[ORACLE_SIZE] %= program->brief ? SHORT_SIZES
                             : any          ? ORACLE_SIZES
                             : usual        ? USUAL_SIZES
                                            : SHORT_SIZES;
    c->value[ORACLE_MODE] = (uint8_t)mode;
    /* What the library chooses by itself runs most often. */
    if (chance(random, oracle_pairs(kind) ? 2 : 4)) {
        c->value[ORACLE_HIERARCHY] = 0;
    }
    if (chance(random, oracle_pairs(kind) ? 2 : 3)) {
        c->value[ORACLE_ALGORITHM] = 0;
    }
    if (chance(random, 3)) {
        c->value[ORACLE_MEMORY] = 0;
        c->value[ORACLE_PLACE] = ORACLE_APART;
    }
    if (program->repeats) {
        c->value[ORACLE_ELEMENT] = ORACLE_PLAIN;
        if (c->value[ORACLE_TYPE] == ORACLE_DRAWN ||
            (!oracle_reduces(kind) && chance(random, 2))) {
            c->value[ORACLE_TYPE] = ORACLE_BYTE;
        }
    }
    if (chance(random, 4)) {
        oracle_choose_hierarchy(oracle, c, group);
    }
    oracle_choose_algorithm(oracle, c, group);
    oracle_call_open(oracle, &f->call);
    oracle_call_fill(&f->call, f->seed);
}

/** Unless another operation uses the neighborhood. */
static void choose_near(program_t *program, const flying_t *f, uint64_t *random)
{
    rank_test_t *test = program->test;
    place_t *place = &program->place[f->place];
    const char *algorithm =
        oracle_nbr_algorithms[ctn_random_below(random, ORACLE_NBR_ALGORITHMS)];
    bool idle = true; /* the same on all ranks */
    for (int i = 0; i < FLYING; i++) {
        const flying_t *other = &program->flying[i];
        idle = idle && (other == f || !other->used || !other->near ||
                        other->place != f->place);
    }
    if (idle && oracle_nbr_has(&test->oracle, &place->graph,
                               place->neighborhood, algorithm)) {
        RANK_CHECK(test,
                   catena_neighborhood_set(place->neighborhood, "algorithm",
                                           algorithm) == CATENA_OK);
    }
}

static void draw_near(program_t *program, flying_t *f, oracle_form_t form,
                      uint64_t *random)
{
    rank_test_t *test = program->test;
    place_t *place = &program->place[f->place];
    if (chance(random, 2)) { /* else as before */
        choose_near(program, f, random);
    }
    f->nbr = (oracle_nbr_call_t){.graph = &place->graph,
                                 .neighborhood = place->neighborhood,
                                 .table = rank_table(test)};
    oracle_nbr_draw(&f->nbr, random, &program->own,
                    program->brief                   ? 40
                    : place->graph.size <= FEW_RANKS ? 20000
                                                     : 700);
    f->nbr.form = form;
    oracle_nbr_open(&test->oracle, &f->nbr);
    oracle_nbr_fill(&f->nbr, f->seed);
}

/** Draw an operation. False: this rank takes no part. */
static bool draw(program_t *program, flying_t *f, int place, unsigned mode,
                 uint64_t random)
{
    static const oracle_form_t forms[ORACLE_MODES] = {
        ORACLE_FORM_BLOCKING, ORACLE_FORM_NONBLOCKING, ORACLE_FORM_PERSISTENT};
    const place_t *on = &program->place[place];
    *f = (flying_t){.used = true,
                    .place = place,
                    .mode = mode,
                    .seed = ctn_random(&random)};
    f->near = on->graphs && chance(&random, 2);
    if (on->group == NULL || (f->near && on->neighborhood == NULL)) {
        return false;
    }
    if (f->near) {
        draw_near(program, f, forms[mode], &random);
    } else {
        unsigned kind = chance(&random, 8)
                            ? ORACLE_ALLTOALL
                            : (unsigned)ctn_random_below(&random, ORACLE_KINDS);
        draw_call(program, f, kind, mode, &random);
    }
    return true;
}

static catena_status_t run(program_t *program, flying_t *f)
{
    return f->near ? oracle_nbr_run(&f->nbr)
                   : oracle_call_run(&program->test->oracle, &f->call);
}

static void close_call(program_t *program, flying_t *f)
{
    if (f->near) {
        oracle_nbr_close(&program->test->oracle, &f->nbr);
    } else {
        oracle_call_close(&program->test->oracle, &f->call);
    }
}

/** Draw an operation, and create its request if it is persistent. */
static void make(program_t *program, flying_t *f, int place, unsigned mode,
                 uint64_t random)
{
    f->member = draw(program, f, place, mode, random);
    if (f->member && mode == ORACLE_PERSISTENT) {
        expect_ok(program, f, run(program, f));
        f->request = f->near ? f->nbr.request : f->call.request;
    }
}

/** Call or start it, with new contents. */
static void begin(program_t *program, flying_t *f)
{
    complete(program, f);
    if (!f->member) {
        return;
    }
    f->seed++;
    if (f->near) {
        oracle_nbr_fill(&f->nbr, f->seed);
    } else {
        oracle_call_fill(&f->call, f->seed);
    }
    if (f->mode == ORACLE_PERSISTENT) {
        expect_ok(program, f, catena_request_start(f->request));
    } else {
        expect_ok(program, f, run(program, f));
        f->request = f->near ? f->nbr.request : f->call.request;
    }
    f->active = f->mode != ORACLE_BLOCKING;
    if (!f->active) {
        check(program, f);
    }
}

/** A blocking call, several times: the same ranks run ahead of the others.
 * Where it is short and often repeated, some ranks begin so late that others
 * are ahead by more operations than there are generations. */
static void block(program_t *program, int place, uint64_t random)
{
    flying_t f;
    uint64_t own = random;
    bool ahead = chance(&own, 6);
    size_t times = ahead             ? 20 + ctn_random_below(&own, 30)
                   : chance(&own, 3) ? 2 + ctn_random_below(&own, 20)
                                     : 1;
    program->brief = ahead;
    make(program, &f, place, ORACLE_BLOCKING, ctn_random(&own));
    program->brief = false;
    if (!f.member) {
        return;
    }
    if (ahead && chance(&program->own, 4)) {
        rank_pause(program->test, (double)ctn_random_below(&program->own, 900));
    }
    for (size_t i = 0; i < times; i++) {
        dawdle(program);
        begin(program, &f);
    }
    close_call(program, &f);
}

/** An alltoall before and after so many barriers that, in a build with tiny
 * limits, the numbers of the operations repeat. */
static void repeat_numbers(program_t *program, int place, uint64_t random)
{
    enum { NUMBERS = 240, EPOCH_BARRIERS = 12 };
    catena_group_t *group = program->place[place].group;
    if (group == NULL || catena_group_size(group) > FEW_RANKS) {
        return;
    }
    unsigned kind = ORACLE_ALLTOALL + (unsigned)ctn_random_below(&random, 3);
    size_t barriers = NUMBERS - EPOCH_BARRIERS - ctn_random_below(&random, 20);
    flying_t f = {.place = place, .seed = ctn_random(&random)};
    draw_call(program, &f, kind, ORACLE_BLOCKING, &random);
    for (size_t i = 0; i < 16; i++) {
        for (size_t b = 0; i == 8 && b < barriers; b++) {
            expect_ok(program, &f, catena_barrier(group));
        }
        oracle_call_fill(&f.call, f.seed + i);
        dawdle(program);
        expect_ok(program, &f, run(program, &f));
        check(program, &f);
    }
    close_call(program, &f);
}

/** Complete it and release all of it. */
static void land(program_t *program, flying_t *f)
{
    complete(program, f);
    if (f->mode == ORACLE_PERSISTENT && f->member) {
        RANK_CHECK(program->test,
                   catena_request_free(&f->request) == CATENA_OK);
    }
    if (f->member) {
        close_call(program, f);
    }
    f->used = false;
}

/* ---- the program ---- */

static void step(program_t *program, uint64_t random)
{
    size_t what = ctn_random_below(&random, 32);
    int place = (int)ctn_random_below(&random, PLACES);
    int other = (int)ctn_random_below(&random, PLACES);
    flying_t *f = &program->flying[ctn_random_below(&random, FLYING)];
    uint64_t more = ctn_random(&random);
    if (!program->place[place].open) {
        place = 0;
    }
    if (what < 12) {
        block(program, place, more);
    } else if (what < 28 && f->used && f->mode == ORACLE_PERSISTENT &&
               what % 4 != 0) {
        begin(program, f);
    } else if (what < 28) {
        if (f->used) {
            land(program, f);
        }
        make(program, f, place,
             what < 24 ? ORACLE_NONBLOCKING : ORACLE_PERSISTENT, more);
        begin(program, f);
    } else if (other != 0 && other != place) {
        if (program->place[other].open) {
            close_place(program, other);
        }
        open_place(program, &program->place[other], &program->place[place],
                   more);
    } else if (SIM_TINY && chance(&more, 4)) {
        repeat_numbers(program, place, more);
    } else {
        RANK_CHECK(program->test,
                   program->place[place].group == NULL ||
                       catena_barrier(program->place[place].group) ==
                           CATENA_OK);
    }
}

static void open_program(program_t *program, rank_test_t *test, uint64_t random)
{
    *program =
        (program_t){.test = test,
                    .own = oracle_hash(random, 5, (uint64_t)test->place.rank)};
    program->busy = (int)ctn_random_below(&program->own, 4);
    program->place[0] = (place_t){.open = true, .group = test->world};
    RANK_CHECK(test,
               catena_group_set(test->world, "subgroup",
                                test->place.rank % 3 == 0 ? "red" : "blue") ==
                   CATENA_OK);
    open_place(program, &program->place[1], &program->place[0],
               ctn_random(&random));
}

static void close_program(program_t *program)
{
    for (int i = 0; i < PLACES; i++) {
        if (program->place[i].open) {
            close_place(program, i);
        }
    }
}

void programs(rank_test_t *test, draw_t *draw, uint64_t random)
{
    program_t program;
    int steps = draw->ranks > 64 ? 6 : draw->ranks > 16 ? 16 : 40;
    open_program(&program, test, random);
    for (int i = 0; i < steps && test->errors == 0; i++) {
        step(&program, ctn_random(&random));
        dawdle(&program);
    }
    close_program(&program);
}

/* ---- short calls, repeated: most of them begin inline ---- */

/** Complete the repeated calls in any order, by any function. */
static void complete_repeated(program_t *program)
{
    catena_request_t *request[REPEATED];
    flying_t *active[REPEATED];
    size_t count = 0;
    for (int i = 0; i < REPEATED; i++) {
        flying_t *f = &program->flying[i];
        if (f->active) {
            active[count] = f;
            request[count++] = f->request;
        }
    }
    int way = (int)ctn_random_below(&program->own, 2 * RANK_WAYS);
    if (count > 0) {
        rank_complete(program->test, request, count, way < RANK_WAYS ? way : 0);
    }
    for (size_t i = 0; i < count; i++) {
        active[i]->active = false;
        check(program, active[i]);
    }
}

/** Another algorithm, for all following operations of its place. */
static void change_algorithm(program_t *program, flying_t *f, uint64_t random)
{
    oracle_case_t *c = &f->call.c;
    if (f->member && f->near) {
        choose_near(program, f, &random);
    } else if (f->member) {
        unsigned all = oracle_algorithms(c->value[ORACLE_KIND]);
        size_t algorithm = ctn_random_below(&random, 2 * all);
        c->value[ORACLE_ALGORITHM] = (uint8_t)(algorithm < all ? algorithm : 0);
        oracle_choose_algorithm(&program->test->oracle, c, f->call.group);
    }
}

/** One call or two, several times. */
static void repeat(program_t *program, uint64_t random)
{
    size_t count = chance(&random, 3) ? REPEATED : 1;
    size_t times = 2 + ctn_random_below(&random, 12);
    program->brief = !chance(&random, 4);
    for (size_t i = 0; i < count; i++) {
        make(program, &program->flying[i], (int)ctn_random_below(&random, 2),
             (unsigned)ctn_random_below(&random, ORACLE_MODES),
             ctn_random(&random));
    }
    for (size_t t = 0; t < times && program->test->errors == 0; t++) {
        if (chance(&random, 8)) {
            change_algorithm(program,
                             &program->flying[ctn_random_below(&random, count)],
                             ctn_random(&random));
        }
        for (size_t i = 0; i < count; i++) {
            dawdle(program);
            begin(program, &program->flying[i]);
        }
        dawdle(program);
        complete_repeated(program);
    }
    for (size_t i = 0; i < count; i++) {
        land(program, &program->flying[i]);
    }
}

void short_calls(rank_test_t *test, draw_t *draw, uint64_t random)
{
    program_t program;
    int rounds = draw->ranks > 64 ? 4 : 16;
    open_program(&program, test, random);
    program.repeats = true;
    for (int i = 0; i < rounds && test->errors == 0; i++) {
        repeat(&program, ctn_random(&random));
    }
    close_program(&program);
}
