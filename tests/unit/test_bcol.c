/* Basic collectives of each component, all algorithms, against the oracle; and
 * what cannot be seen through the groups' collectives: who waits for whom, how
 * much memory is taken, without memory, many held. usage: test_bcol, or as a
 * rank under a launcher: test_bcol --rank */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "exec/message.h"
#include "unit.h"

#define FIRST_DATA CTN_BCAST
enum { MOST_WAYS = 3 * CTN_BASICS * 6 };

/** An algorithm of a component; NULL: its choice. */
typedef struct way {
    const ctn_bcol_t *bcol;
    ctn_basic_kind_t kind;
    const char *algorithm;
} way_t;

static way_t way[MOST_WAYS];
static int ways;

static void add_way(const ctn_bcol_t *bcol, ctn_basic_kind_t kind,
                    const char *algorithm)
{
    if (ways == MOST_WAYS) {
        abort();
    }
    way[ways++] = (way_t){bcol, kind, algorithm};
}

static void list_ways(const ctn_bcol_t *bcol)
{
    for (ctn_basic_kind_t kind = 0; kind < CTN_BASICS; kind++) {
        const char *const *name = bcol->algorithms[kind];
        add_way(bcol, kind, NULL);
        add_way(bcol, kind, "nonsense");
        for (; name != NULL && *name != NULL; name++) {
            add_way(bcol, kind, *name);
        }
    }
}

static uint32_t pick(component_t *c, size_t below)
{
    return (uint32_t)oracle_below(&c->random, below);
}

static uint32_t pick_root(component_t *c)
{
    return pick(c, c->sbgp.size);
}

static ctn_basic_kind_t pick_kind(component_t *c)
{
    return FIRST_DATA + pick(c, CTN_BASICS - FIRST_DATA);
}

/** Long ones now and then. */
static size_t pick_lengths(component_t *c)
{
    uint32_t drawn = pick(c, 20);
    return drawn == 0 && c->sbgp.size < 10 ? LONG
           : drawn < 6                     ? MIXED
           : drawn < 10                    ? EQUAL
           : drawn < 11                    ? NOTHING
                                           : SHORT;
}

/* ---- one way ---- */

/** Somebody is late: those who may not end before it do not, by the clock that
 * all share. */
static void meet(component_t *c, const way_t *w, size_t lengths)
{
    job_t *job = c->job;
    uint32_t root = pick_root(c);
    uint32_t late = w->kind == CTN_FANOUT ? root : pick_root(c);
    double until = 0;
    basic_call_t call;
    basic_prepare(&call, c, w->kind, w->algorithm, root, lengths);
    basic_fill(&call);
    if (c->sbgp.me == late) {
        JOB_CHECK(job, catena_compute(job->context, 2e-4) == CATENA_OK);
        until = catena_time(job->context);
    }
    JOB_CHECK(job, basic_run(&call) == CATENA_OK);
    double through = catena_time(job->context);
    basic_check(&call);
    basic_drop(&call);
    ctn_basic_t tell = {
        .root = late, .in = &until, .out = &until, .bytes = sizeof(until)};
    JOB_CHECK(job, component_call(c, CTN_BCAST, &tell) == CATENA_OK);
    JOB_CHECK(job,
              (w->kind == CTN_FANIN && c->sbgp.me != root) || through >= until);
}

/** All members have the same bits, though sums are rounded. */
static void same_bits(component_t *c, const char *algorithm)
{
    enum { COUNT = 100 };
    float own[COUNT], sum[COUNT], first[COUNT];
    uint64_t random = oracle_random(&c->random) + c->sbgp.me;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t x = oracle_random(&random);
        own[i] = (float)x / (float)(1 + x % 1000000);
    }
    ctn_basic_t basic = {.in = own,
                         .out = sum,
                         .bytes = sizeof(own),
                         .by = {CATENA_SUM, CATENA_FLOAT},
                         .algorithm = algorithm};
    JOB_CHECK(c->job, component_call(c, CTN_ALLREDUCE, &basic) == CATENA_OK);
    memcpy(first, sum, sizeof(sum));
    ctn_basic_t tell = {.in = first, .out = first, .bytes = sizeof(first)};
    JOB_CHECK(c->job, component_call(c, CTN_BCAST, &tell) == CATENA_OK);
    JOB_CHECK(c->job, memcmp(first, sum, sizeof(sum)) == 0);
}

/** Data that have a size only. */
static void without_data(component_t *c, const way_t *w)
{
    basic_call_t call;
    basic_prepare(&call, c, w->kind, w->algorithm, pick_root(c), MIXED);
    c->job->exec->drop_data = true;
    JOB_CHECK(c->job, component_call(c, w->kind, &call.basic) == CATENA_OK);
    c->job->exec->drop_data = false;
    basic_drop(&call);
}

static void run_way(component_t *c, const way_t *w)
{
    static const size_t lengths[] = {NOTHING, SHORT, MIXED, LONG, EQUAL};
    uint32_t roots = w->kind < CTN_ALLREDUCE || w->kind == CTN_GATHER ||
                             w->kind == CTN_SCATTER
                         ? c->sbgp.size
                         : 2;
    if (w->kind < FIRST_DATA) {
        for (int i = 0; i < 4; i++) {
            meet(c, w, NOTHING);
        }
        return;
    }
    for (uint32_t i = 0; i<roots; i += roots> 20 ? roots / 5 : 1) {
        basic_all(c, w->kind, w->algorithm, i % c->sbgp.size, pick_lengths(c));
    }
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        basic_all(c, w->kind, w->algorithm, pick_root(c), lengths[i]);
    }
    if (w->kind == CTN_ALLREDUCE) {
        same_bits(c, w->algorithm);
    }
    if (w->bcol != &ctn_bcol_shm &&
        (w->kind == CTN_ALLGATHER || w->kind == CTN_REDUCE_SCATTER)) {
        meet(c, w, NOTHING); /* though there be nothing to tell */
        meet(c, w, SHORT);
    }
    if (w->bcol != &ctn_bcol_shm && c->job->exec->virtual_time) {
        without_data(c, w);
    }
}

static const way_t *of_test;

static void test_of_way(component_t *c)
{
    run_way(c, of_test);
}

static void run_of_way(job_t *job)
{
    component_run(job, of_test->bcol, test_of_way);
}

static int simulate(const ctn_bcol_t *bcol, uint32_t ranks, uint64_t seed,
                    job_body_t body)
{
    return bcol == &ctn_bcol_shm ? job_simulate_node(ranks, seed, body)
                                 : job_simulate(ranks, seed, body);
}

static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/** With odd seeds memory is laid out as on a crowded host: every second way of
 * each size. */
START_TEST(test_way)
{
    of_test = &way[_i / SIZES];
    uint64_t seed = (uint64_t)(_i + _i / SIZES) + 1;
    ck_assert_msg(
        simulate(of_test->bcol, sizes[_i % SIZES], seed, run_of_way) == 0,
        "kind %d of %s by %s", (int)of_test->kind, of_test->bcol->name,
        of_test->algorithm);
}
END_TEST

/* ---- all together ---- */

enum { AT_ONCE = 11 };

static void in_flight(component_t *c)
{
    basic_call_t call[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++) {
        ctn_basic_kind_t kind = pick_kind(c);
        uint32_t root = pick_root(c);
        basic_prepare(&call[i], c, kind, NULL, root, pick_lengths(c));
    }
    basic_all_held(call, AT_ONCE);
}

/** Many that do not synchronize, with none in between; and the same again and
 * again, as persistent requests are. */
static void in_a_row(component_t *c)
{
    static const ctn_basic_kind_t loose[] = {
        CTN_BCAST, CTN_REDUCE, CTN_SCAN, CTN_EXSCAN, CTN_GATHER, CTN_SCATTER};
    ctn_module_t *module = c->module;
    for (unsigned i = 0; i < 40; i++) {
        basic_all(c, loose[i % 24 / 4], NULL, pick_root(c), SHORT);
    }
    for (ctn_basic_kind_t kind = FIRST_DATA; kind < CTN_BASICS; kind++) {
        basic_call_t call;
        basic_prepare(&call, c, kind, NULL, 0, pick_lengths(c));
        call.in_place = false;
        basic_fill(&call);
        ctn_op_t *op = module->bcol->make[kind](module, &call.basic);
        for (unsigned again = 0; again < 3; again++) {
            ctn_op_start(op);
            JOB_CHECK(c->job, ctn_op_wait(op) == CATENA_OK);
            basic_check(&call);
        }
        ctn_op_release(op);
        basic_drop(&call);
    }
}

/** Parts in the heap go straight from place to place, and other ones through
 * little memory, however long they are. */
static void take_little(component_t *c)
{
    enum { LITTLE = 8 * 65536 };
    ctn_tally_t *tally = &c->job->exec->tally;
    for (ctn_basic_kind_t kind = CTN_GATHER; kind < CTN_BASICS; kind++) {
        basic_call_t call;
        basic_prepare(&call, c, kind, NULL, 0, LONG);
        basic_fill(&call);
        tally->most_memory = tally->memory;
        JOB_CHECK(c->job, component_call(c, kind, &call.basic) == CATENA_OK);
        uint64_t taken = tally->most_memory - tally->memory;
        JOB_CHECK(c->job, taken <= (kind == CTN_ALLGATHER && call.out.in_heap
                                        ? 65536
                                        : LITTLE));
        basic_check(&call);
        basic_drop(&call);
    }
}

/** Some members have no memory left: those that receive parts may fail for
 * that, but nobody waits for ever, and what comes next works. */
static void starve(component_t *c, const way_t *w, size_t lengths, bool starves)
{
    job_hoard_t *hoard = calloc(1, sizeof(*hoard));
    basic_call_t call;
    basic_prepare(&call, c, w->kind, w->algorithm, 0, lengths);
    basic_fill(&call);
    component_await_all(c);
    if (starves) {
        job_take_heap(c->job, hoard);
    }
    component_await_all(c);
    catena_status_t status = component_call(c, w->kind, &call.basic);
    bool shm = w->bcol == &ctn_bcol_shm;
    bool receives = w->kind == (c->sbgp.me == 0 ? CTN_GATHER : CTN_SCATTER);
    JOB_CHECK(c->job, status == CATENA_OK ? !shm
                                          : status == CATENA_ERR_NO_MEMORY &&
                                                (shm || receives));
    component_await_all(c);
    job_give_heap(c->job, hoard);
    free(hoard);
    component_await_all(c);
    if (status == CATENA_OK) {
        basic_check(&call);
    }
    basic_drop(&call);
    basic_all(c, w->kind, w->algorithm, 0, lengths);
}

/** Blocks of shm that must be copied to more memory than there is fail on all;
 * messages can do with none. */
static void without_memory(component_t *c)
{
    for (int i = 0; i < ways; i++) {
        const way_t *w = &way[i];
        uint32_t who = pick(c, 4);
        bool named = w->algorithm != NULL && strcmp(w->algorithm, "nonsense");
        if (w->bcol != c->module->bcol || w->kind < CTN_GATHER || !named ||
            c->sbgp.size > 8) {
            continue;
        }
        if (w->bcol != &ctn_bcol_shm) {
            starve(c, w, LONG, c->sbgp.me % 4 == who || who == 0);
            starve(c, w, MIXED, c->sbgp.me % 2 == who % 2);
        } else if (strcmp(w->algorithm, "staged") == 0 && c->sbgp.size > 1) {
            starve(c, w, 200000, true);
        }
    }
}

static void all_together(component_t *c)
{
    in_flight(c);
    in_a_row(c);
    in_flight(c);
    if (c->module->bcol != &ctn_bcol_shm) {
        take_little(c);
    }
    without_memory(c);
}

static const ctn_bcol_t *together;

static void run_together(job_t *job)
{
    component_run(job, together, all_together);
}

static const uint32_t many[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                12, 13, 14, 15, 16, 17, 18, 25, 32, 33, 64};
enum { MANY = sizeof(many) / sizeof(many[0]) };

static void simulate_together(const ctn_bcol_t *bcol, int i)
{
    together = bcol;
    for (uint64_t seed = 1; seed <= (many[i] < 8 ? 2 : 1); seed++) {
        ck_assert_int_eq(simulate(bcol, many[i], seed, run_together), 0);
    }
}

START_TEST(test_shm_together)
{
    simulate_together(&ctn_bcol_shm, _i);
}
END_TEST

START_TEST(test_p2p_together)
{
    simulate_together(&ctn_bcol_p2p, _i);
}
END_TEST

static catena_status_t call_once(component_t *c, uint32_t turn)
{
    basic_call_t call;
    ctn_basic_kind_t kind = FIRST_DATA + turn % (CTN_BASICS - FIRST_DATA);
    basic_prepare(&call, c, kind, NULL, turn % c->sbgp.size,
                  turn % 3 == 0 ? LONG : MIXED);
    basic_fill(&call);
    catena_status_t status = basic_run(&call);
    if (status == CATENA_OK) {
        basic_check(&call);
    }
    basic_drop(&call);
    return status;
}

static void until_death(job_t *job)
{
    component_run_until_death(job, &ctn_bcol_p2p, call_once);
}

START_TEST(test_death)
{
    job_simulate_death(6, (uint64_t)_i, 200 + (uint64_t)(_i * _i) * 29,
                       until_death);
}
END_TEST

/* ---- of one component ---- */

/** Messages go by the heap where there is one in common, those of ucx never. */
static void transports(component_t *c)
{
    ctn_exec_t *exec = c->job->exec;
    ctn_basic_t basic = {.bytes = 0};
    ctn_op_t *op = c->module->bcol->make[CTN_BARRIER](c->module, &basic);
    for (uint32_t i = 0; i < c->sbgp.size; i++) {
        uint64_t process = c->sbgp.member[i].memory.process;
        bool near =
            c->module->bcol == &ctn_bcol_p2p && ctn_exec_is_near(exec, process);
        ctn_endpoint_t *endpoint;
        if (i != c->sbgp.me) {
            JOB_CHECK(c->job,
                      ctn_op_connect(op, process, &endpoint) == CATENA_OK);
            JOB_CHECK(c->job, endpoint->transport ==
                                  (near ? exec->local : exec->network));
        }
    }
    ctn_op_release(op);
}

/** Those who wait for the root of many that do not synchronize: when it comes
 * it runs ahead of them, but not round the generations.
 * @param before so many have ended, so fences come at other places */
static void run_ahead(component_t *c, uint32_t before)
{
    enum { AHEAD = 40 };
    job_t *job = c->job;
    ctn_op_t *op[AHEAD];
    ctn_basic_t basic[AHEAD];
    uint64_t value[AHEAD];
    bool late = c->sbgp.me == before % c->sbgp.size;
    for (uint32_t i = 0; i < before; i++) {
        basic_all(c, CTN_BCAST, NULL, 0, sizeof(value[0]));
    }
    if (late) {
        JOB_CHECK(job, catena_compute(job->context, 1e-4) == CATENA_OK);
    }
    for (uint32_t i = 0; i < AHEAD; i++) {
        value[i] = late ? i : AHEAD;
        basic[i] = (ctn_basic_t){.root = before % c->sbgp.size,
                                 .in = &value[i],
                                 .out = &value[i],
                                 .bytes = sizeof(value[i])};
        op[i] = c->module->bcol->make[CTN_BCAST](c->module, &basic[i]);
        ctn_op_start(op[i]);
    }
    for (uint32_t i = 0; i < AHEAD; i++) {
        JOB_CHECK(job, ctn_op_wait(op[i]) == CATENA_OK);
        JOB_CHECK(job, value[i] == i);
        ctn_op_release(op[i]);
    }
}

static void ahead(component_t *c)
{
    for (uint32_t before = 0; before < 16; before++) {
        run_ahead(c, before);
    }
}

static void run_all_ahead(job_t *job)
{
    component_run(job, &ctn_bcol_shm, ahead);
}

START_TEST(test_ahead)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ck_assert_int_eq(job_simulate_node((uint32_t)_i, seed, run_all_ahead),
                         0);
    }
}
END_TEST

/** Members on several nodes: refused. */
static void two_nodes(job_t *job)
{
    ctn_module_t *module;
    uint64_t offset;
    ctn_sbgp_member_t member[2] = {{.rank = 0}, {.rank = 1}};
    static const ctn_sbgp_rule_t rule = {.name = "network"};
    ctn_sbgp_t sbgp = {.rule = &rule,
                       .size = 2,
                       .me = job->rank,
                       .ranks = 2,
                       .member = member};
    JOB_CHECK(job, ctn_bcol_shm.create(job->exec, 2, job->rank, false, false,
                                       &module, &offset) == CATENA_OK);
    for (uint32_t i = 0; i < 2; i++) {
        member[i].memory = (ctn_address_t){i, offset};
    }
    JOB_CHECK(job, ctn_bcol_shm.link(module, &sbgp) == CATENA_ERR_ARG);
    ctn_bcol_shm.destroy(module);
}

START_TEST(test_two_nodes)
{
    ck_assert_int_eq(job_simulate_nodes(2, 2, 1, two_nodes), 0);
}
END_TEST

/* ---- as ranks ---- */

static void everything(component_t *c)
{
    if (c->module->bcol != &ctn_bcol_shm) {
        transports(c);
    }
    for (int i = 0; i < ways; i++) {
        if (way[i].bcol == c->module->bcol) {
            run_way(c, &way[i]);
        }
    }
    all_together(c);
}

static void all_components(job_t *job)
{
    component_run(job, &ctn_bcol_shm, everything);
    run_all_ahead(job);
    component_run(job, &ctn_bcol_p2p, everything);
    component_run(job, &ctn_bcol_ucx, everything);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_way, 0, ways * SIZES);
    tcase_add_loop_test(tcase, test_shm_together, 0, MANY);
    tcase_add_loop_test(tcase, test_p2p_together, 0, MANY);
    tcase_add_loop_test(tcase, test_death, 1, 25);
    tcase_add_loop_test(tcase, test_ahead, 2, 6);
    tcase_add_test(tcase, test_two_nodes);
}

int main(int argc, char **argv)
{
    bool is_rank = job_is_rank(argc, argv);
    list_ways(&ctn_bcol_shm);
    list_ways(&ctn_bcol_p2p);
    if (is_rank) {
        list_ways(&ctn_bcol_ucx);
    }
    return is_rank ? job_rank(1, all_components)
                   : unit_main("bcol", 60, add_cases);
}
