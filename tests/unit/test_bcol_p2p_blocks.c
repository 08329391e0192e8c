/* Gather, scatter, allgather and reduce_scatter of the components of messages
 * against naive references: all algorithms and roots, parts of all lengths in
 * the heap and elsewhere, in place or not, many in flight. usage:
 * test_bcol_p2p_blocks, or as a rank under a launcher: test_bcol_p2p_blocks
 * --rank */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "parts.h"
#include "unit.h"

static void run(fixture_t *f, ctn_basic_kind_t kind, const char *algorithm,
                uint32_t root, lengths_t lengths)
{
    part_call_t call;
    part_prepare(&call, f, kind, algorithm, root, lengths);
    JOB_CHECK(f->job,
              subgroup_run(&f->subgroup, kind, &call.basic) == CATENA_OK);
    part_finish(&call);
}

/* ---- all of them ---- */

static const ctn_basic_kind_t kinds[] = {CTN_GATHER, CTN_SCATTER, CTN_ALLGATHER,
                                         CTN_REDUCE_SCATTER};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/** Long ones seldom: there are many roots and seeds. */
static lengths_t draw_lengths_of(fixture_t *f)
{
    uint32_t drawn = fixture_pick(&f->random, 12);
    return drawn == 0  ? LONG
           : drawn < 3 ? MIXED
           : drawn < 6 ? EQUAL
           : drawn < 7 ? NOTHING
                       : SHORT;
}

static void all_roots(fixture_t *f, ctn_basic_kind_t kind,
                      const char *algorithm)
{
    bool rooted = kind == CTN_GATHER || kind == CTN_SCATTER;
    uint32_t roots = rooted ? f->subgroup.sbgp.size : 2;
    uint32_t step = roots > 20 ? roots / 5 : 1;
    for (uint32_t root = 0; root < roots; root += step) {
        run(f, kind, algorithm, rooted ? root : 0, draw_lengths_of(f));
    }
    for (lengths_t lengths = NOTHING; lengths < LENGTHS; lengths++) {
        run(f, kind, algorithm, fixture_pick(&f->random, f->subgroup.sbgp.size),
            lengths);
    }
}

static void all_kinds(fixture_t *f)
{
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    for (unsigned i = 0; i < KINDS; i++) {
        const char *const *name = bcol->algorithms[kinds[i]];
        all_roots(f, kinds[i], NULL);
        run(f, kinds[i], "nonsense", 0, SHORT);
        for (; name != NULL && *name != NULL; name++) {
            all_roots(f, kinds[i], *name);
        }
    }
}

/* ---- who waits for whom ---- */

/** Somebody is late: nobody ends before it has begun, though there be nothing
 * to tell, by the clock that all share. */
static void meet(fixture_t *f, ctn_basic_kind_t kind, const char *algorithm,
                 lengths_t lengths)
{
    job_t *job = f->job;
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    uint32_t late = fixture_pick(&f->random, sbgp->size);
    double until = 0;
    part_call_t call;
    part_prepare(&call, f, kind, algorithm, 0, lengths);
    if (sbgp->me == late) {
        JOB_CHECK(job, catena_compute(job->context, 2e-4) == CATENA_OK);
        until = catena_time(job->context);
    }
    JOB_CHECK(job, subgroup_run(&f->subgroup, kind, &call.basic) == CATENA_OK);
    double through = catena_time(job->context);
    ctn_basic_t tell = {.root = late, .out = &until, .bytes = sizeof(until)};
    JOB_CHECK(job, subgroup_run(&f->subgroup, CTN_BCAST, &tell) == CATENA_OK);
    JOB_CHECK(job, through >= until);
    part_finish(&call);
}

static void meetings(fixture_t *f)
{
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    for (unsigned i = 2; i < KINDS; i++) {
        const char *const *name = bcol->algorithms[kinds[i]];
        for (; name != NULL && *name != NULL; name++) {
            meet(f, kinds[i], *name, NOTHING);
            meet(f, kinds[i], *name, SHORT);
        }
    }
}

/* ---- memory that is taken ---- */

/** Parts in the heap go straight from place to place, and other ones through
 * little memory, however long they are. */
static void take_little(fixture_t *f)
{
    enum { LITTLE = 8 * 65536 };
    ctn_tally_t *tally = &f->job->exec->tally;
    for (unsigned i = 0; i < KINDS; i++) {
        part_call_t call;
        part_prepare(&call, f, kinds[i], NULL, 0, LONG);
        tally->most_memory = tally->memory;
        JOB_CHECK(f->job, subgroup_run(&f->subgroup, kinds[i], &call.basic) ==
                              CATENA_OK);
        JOB_CHECK(f->job, tally->most_memory - tally->memory <= LITTLE);
        if (kinds[i] == CTN_ALLGATHER && call.out.in_heap) {
            JOB_CHECK(f->job, tally->most_memory - tally->memory <= 65536);
        }
        part_finish(&call);
    }
}

/** All at the same point, with nothing of the component's. */
static void await_all(fixture_t *f)
{
    JOB_CHECK(f->job, ctn_op_run(ctn_chain_barrier(
                          f->job->exec, f->subgroup.lane)) == CATENA_OK);
}

/** Some members have no memory left: who receives parts may fail for that, but
 * nobody waits for ever, and what comes next works. */
static void starve(fixture_t *f, ctn_basic_kind_t kind, const char *algorithm,
                   lengths_t lengths, bool starves)
{
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    job_hoard_t *hoard = malloc(sizeof(*hoard));
    part_call_t call;
    part_prepare(&call, f, kind, algorithm, 0, lengths);
    bool receives = kind == (sbgp->me == 0 ? CTN_GATHER : CTN_SCATTER);
    hoard->count = 0;
    await_all(f);
    if (starves) {
        job_take_heap(f->job, hoard);
    }
    await_all(f);
    catena_status_t status = subgroup_run(&f->subgroup, kind, &call.basic);
    JOB_CHECK(f->job, status == CATENA_OK ||
                          (receives && status == CATENA_ERR_NO_MEMORY));
    await_all(f);
    job_give_heap(f->job, hoard);
    free(hoard);
    await_all(f);
    if (status == CATENA_OK) {
        part_finish(&call);
    } else {
        part_drop(&call);
    }
    run(f, kind, algorithm, 0, lengths);
}

static void without_memory(fixture_t *f)
{
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    for (unsigned i = 0; i < KINDS; i++) {
        const char *const *name = bcol->algorithms[kinds[i]];
        for (; *name != NULL; name++) {
            uint32_t who = fixture_pick(&f->random, 4);
            uint32_t me = f->subgroup.sbgp.me;
            starve(f, kinds[i], *name, LONG, me % 4 == who || who == 0);
            starve(f, kinds[i], *name, MIXED, me % 2 == who % 2);
        }
    }
}

/* ---- many at once ---- */

enum { AT_ONCE = 11 };

/** Started held, let go in an order of each member's own. */
static void in_flight(fixture_t *f)
{
    part_call_t call[AT_ONCE];
    ctn_op_t *op[AT_ONCE];
    ctn_module_t *module = f->subgroup.module;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        part_prepare(&call[i], f, kinds[fixture_pick(&f->random, KINDS)], NULL,
                     fixture_pick(&f->random, f->subgroup.sbgp.size),
                     draw_lengths_of(f));
        op[i] = module->bcol->make[call[i].kind](module, &call[i].basic);
    }
    fixture_run_held(f, op, AT_ONCE);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        part_finish(&call[i]);
    }
}

/** Many that do not synchronize, with none in between; and one of them again
 * and again. */
static void in_a_row(fixture_t *f)
{
    ctn_module_t *module = f->subgroup.module;
    for (unsigned i = 0; i < 24; i++) {
        run(f, kinds[i / 4 % 2], NULL,
            fixture_pick(&f->random, f->subgroup.sbgp.size), SHORT);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        part_call_t call;
        part_prepare(&call, f, kinds[i], NULL, 0, draw_lengths_of(f));
        ctn_op_t *op = module->bcol->make[kinds[i]](module, &call.basic);
        for (unsigned again = 0; again < 3; again++) {
            ctn_op_start(op);
            JOB_CHECK(f->job, ctn_op_wait(op) == CATENA_OK);
            part_check_out(&call);
        }
        ctn_op_release(op);
        part_finish(&call);
    }
}

/** Data that have a size only. */
static void without_data(fixture_t *f)
{
    ctn_exec_t *exec = f->job->exec;
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    for (unsigned i = 0; i < KINDS; i++) {
        const char *const *name = bcol->algorithms[kinds[i]];
        for (; name != NULL && *name != NULL; name++) {
            part_call_t call;
            part_prepare(&call, f, kinds[i], *name, 0, MIXED);
            exec->drop_data = true;
            JOB_CHECK(f->job, subgroup_run(&f->subgroup, kinds[i],
                                           &call.basic) == CATENA_OK);
            exec->drop_data = false;
            part_drop(&call);
        }
    }
}

/* ---- runs ---- */

static void all(fixture_t *f)
{
    all_kinds(f);
    meetings(f);
    take_little(f);
    without_memory(f);
    in_flight(f);
    in_a_row(f);
    in_flight(f);
    if (f->job->exec->virtual_time) {
        without_data(f);
    }
}

static void messages(job_t *job)
{
    fixture_run(job, &ctn_bcol_p2p, all);
}

static void everything(job_t *job)
{
    messages(job);
    fixture_run(job, &ctn_bcol_ucx, all);
}

static catena_status_t call_once(fixture_t *f, uint32_t turn)
{
    part_call_t call;
    part_prepare(&call, f, kinds[turn % KINDS], NULL,
                 turn % f->subgroup.sbgp.size, turn % 3 == 0 ? LONG : MIXED);
    catena_status_t status = subgroup_run(&f->subgroup, call.kind, &call.basic);
    if (status == CATENA_OK) {
        part_check_out(&call);
    }
    part_drop(&call);
    return status;
}

static void until_death(job_t *job)
{
    fixture_run_until_death(job, call_once);
}

/* 45 runs: fewer where there are many members and roots. */
enum { MEMBERS = 17 };

START_TEST(test_members)
{
    for (int seed = 0; seed <= (MEMBERS - _i) / 4; seed++) {
        ck_assert_int_eq(
            job_simulate((uint32_t)_i, (uint64_t)seed + 1, messages), 0);
    }
}
END_TEST

START_TEST(test_many)
{
    static const uint32_t many[] = {25, 31, 32, 64};
    ck_assert_int_eq(job_simulate(many[_i], (uint64_t)_i, messages), 0);
}
END_TEST

START_TEST(test_death)
{
    job_simulate_death(6, (uint64_t)_i, 200 + (uint64_t)(_i * _i) * 29,
                       until_death);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_members, 1, MEMBERS + 1);
    tcase_add_loop_test(tcase, test_many, 0, 4);
    tcase_add_loop_test(tcase, test_death, 1, 25);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv)
               ? job_rank(1, everything)
               : unit_main("bcol_p2p_blocks", 60, add_cases);
}
