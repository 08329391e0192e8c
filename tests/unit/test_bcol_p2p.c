/* Vector collectives of the components of messages against naive references:
 * all algorithms, roots, sizes, in place or not, many in flight. usage:
 * test_bcol_p2p, or as a rank under a launcher: test_bcol_p2p --rank */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "exec/message.h"
#include "fixture.h"
#include "matrix.h"
#include "unit.h"

/* ---- elements ---- */

static uint64_t draw(uint64_t salt, uint32_t member, size_t i)
{
    uint64_t x = (salt + member * UINT64_C(0xbf58476d1ce4e5b9) + i) *
                 UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 32;
}

static uint32_t pick(fixture_t *f, uint32_t below)
{
    return fixture_pick(&f->random, below);
}

/* ---- one call ---- */

enum { GUARD = 0x5a, GUARD_BYTES = 32 };

/** A call and what is to come of it. */
typedef struct call {
    fixture_t *f;
    ctn_basic_kind_t kind;
    ctn_basic_t basic;
    uint64_t salt;
    bool matrices; /* else bytes, added */
    unsigned char *in;
    unsigned char *out;
    unsigned char *expected;
} call_t;

static const size_t sizes[] = {0,
                               1,
                               16,
                               48,
                               112,
                               113,
                               128,
                               1040,
                               2047,
                               8192,
                               8193,
                               4096,
                               32752,
                               CTN_SEGMENT_BYTES,
                               CTN_SEGMENT_BYTES - 1};

/** Long ones now and then. */
static size_t draw_size(fixture_t *f)
{
    return sizes[pick(f,
                      pick(f, 4) == 0 ? sizeof(sizes) / sizeof(sizes[0]) : 9)];
}

static unsigned char *new_vector(size_t bytes)
{
    unsigned char *vector =
        aligned_alloc(16, (bytes + 15 + GUARD_BYTES) & ~(size_t)15);
    memset(vector, GUARD, bytes + GUARD_BYTES);
    return vector;
}

/** What members first to last come to, combined. */
static void reference(const call_t *call, uint32_t first, uint32_t last,
                      unsigned char *vector)
{
    size_t bytes = call->basic.bytes;
    for (size_t i = 0; call->matrices && i < bytes / sizeof(matrix_t); i++) {
        matrix_t value = {1, 0, 0, 1};
        for (uint32_t member = first; member <= last; member++) {
            value =
                matrix_product(value, matrix_from(draw(call->salt, member, i)));
        }
        ((matrix_t *)(void *)vector)[i] = value;
    }
    for (size_t i = 0; !call->matrices && i < bytes; i++) {
        vector[i] = 0;
        for (uint32_t member = first; member <= last; member++) {
            vector[i] =
                (unsigned char)(vector[i] + draw(call->salt, member, i));
        }
    }
}

/** What is to be in this member's result; false: what was there before. */
static bool expect(call_t *call)
{
    const ctn_sbgp_t *sbgp = &call->f->subgroup.sbgp;
    uint32_t root = call->basic.root;
    uint32_t last = sbgp->size - 1;
    switch (call->kind) {
    case CTN_BCAST:
        reference(call, root, root, call->expected);
        return true;
    case CTN_REDUCE:
        if (sbgp->me == root) {
            reference(call, 0, last, call->expected);
        }
        return sbgp->me == root;
    case CTN_ALLREDUCE:
        reference(call, 0, last, call->expected);
        return true;
    case CTN_SCAN:
        reference(call, 0, sbgp->me, call->expected);
        return true;
    case CTN_EXSCAN:
        if (sbgp->me > 0) {
            reference(call, 0, sbgp->me - 1, call->expected);
        }
        return sbgp->me > 0;
    default:
        return false;
    }
}

static void prepare(call_t *call, fixture_t *f, ctn_basic_kind_t kind,
                    const char *algorithm, uint32_t root)
{
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    size_t bytes = draw_size(f);
    *call = (call_t){.f = f, .kind = kind};
    call->salt = job_random(&f->random);
    call->matrices = bytes % sizeof(matrix_t) == 0;
    bool in_place = kind != CTN_BCAST && pick(f, 3) == 0;
    call->basic =
        (ctn_basic_t){.root = root, .bytes = bytes, .algorithm = algorithm};
    call->basic.by = call->matrices ? (ctn_reducer_t){f->product, f->matrix}
                                    : (ctn_reducer_t){CATENA_SUM, CATENA_UINT8};
    call->in = new_vector(bytes);
    call->out = in_place ? call->in : new_vector(bytes);
    call->expected = new_vector(bytes);
    reference(call, sbgp->me, sbgp->me, call->in);
    if (kind == CTN_BCAST && sbgp->me == root) {
        memcpy(call->out, call->in, bytes);
    }
    call->basic.in = call->in;
    call->basic.out = call->out;
    if (kind == CTN_REDUCE && sbgp->me != root && !in_place) {
        call->basic.out = NULL; /* counts at the root only */
    }
}

static bool guarded(const call_t *call, const unsigned char *vector)
{
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (vector[call->basic.bytes + i] != GUARD) {
            return false;
        }
    }
    return true;
}

static void check(call_t *call)
{
    job_t *job = call->f->job;
    uint32_t me = call->f->subgroup.sbgp.me;
    size_t bytes = call->basic.bytes;
    bool in_place = call->in == call->out;
    if (!expect(call)) {
        memset(call->expected, GUARD, bytes);
        if (in_place) {
            reference(call, me, me, call->expected);
        }
    }
    JOB_CHECK(job, memcmp(call->out, call->expected, bytes) == 0);
    JOB_CHECK(job, guarded(call, call->in) && guarded(call, call->out));
    if (!in_place) {
        reference(call, me, me, call->expected);
        JOB_CHECK(job, memcmp(call->in, call->expected, bytes) == 0);
    }
}

static void drop(call_t *call)
{
    if (call->in != call->out) {
        free(call->out);
    }
    free(call->in);
    free(call->expected);
}

static void finish(call_t *call)
{
    check(call);
    drop(call);
}

static void run(fixture_t *f, ctn_basic_kind_t kind, const char *algorithm,
                uint32_t root)
{
    call_t call;
    prepare(&call, f, kind, algorithm, root);
    JOB_CHECK(f->job,
              subgroup_run(&f->subgroup, kind, &call.basic) == CATENA_OK);
    finish(&call);
}

/* ---- all of them ---- */

static const ctn_basic_kind_t vectors[] = {CTN_BCAST, CTN_REDUCE, CTN_ALLREDUCE,
                                           CTN_SCAN, CTN_EXSCAN};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static void all_roots(fixture_t *f, ctn_basic_kind_t kind,
                      const char *algorithm)
{
    bool rooted = kind == CTN_BCAST || kind == CTN_REDUCE;
    uint32_t size = rooted ? f->subgroup.sbgp.size : 2;
    for (uint32_t root = 0; root < size; root++) {
        run(f, kind, algorithm, root);
    }
}

static void all_kinds(fixture_t *f)
{
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    for (unsigned i = 0; i < VECTORS; i++) {
        const char *const *name = bcol->algorithms[vectors[i]];
        all_roots(f, vectors[i], NULL);
        all_roots(f, vectors[i], "nonsense");
        for (; name != NULL && *name != NULL; name++) {
            all_roots(f, vectors[i], *name);
        }
    }
}

/* ---- who waits for whom ---- */

/** Somebody is late: those who may not end before it do not, by the clock that
 * all share. */
static void meet(fixture_t *f, ctn_basic_kind_t kind, const char *algorithm)
{
    job_t *job = f->job;
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    uint32_t root = pick(f, sbgp->size);
    uint32_t late = kind == CTN_FANOUT ? root : pick(f, sbgp->size);
    double until = 0;
    ctn_basic_t basic = {.root = root, .algorithm = algorithm};
    if (sbgp->me == late) {
        JOB_CHECK(job, catena_compute(job->context, 2e-4) == CATENA_OK);
        until = catena_time(job->context);
    }
    JOB_CHECK(job, subgroup_run(&f->subgroup, kind, &basic) == CATENA_OK);
    double through = catena_time(job->context);
    ctn_basic_t tell = {.root = late, .out = &until, .bytes = sizeof(until)};
    JOB_CHECK(job, subgroup_run(&f->subgroup, CTN_BCAST, &tell) == CATENA_OK);
    JOB_CHECK(job, (kind == CTN_FANIN && sbgp->me != root) || through >= until);
}

static void meetings(fixture_t *f)
{
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    static const ctn_basic_kind_t kinds[] = {CTN_BARRIER, CTN_FANIN,
                                             CTN_FANOUT};
    for (unsigned i = 0; i < 3; i++) {
        const char *const *name = bcol->algorithms[kinds[i]];
        meet(f, kinds[i], NULL);
        for (; name != NULL && *name != NULL; name++) {
            meet(f, kinds[i], *name);
        }
    }
}

/* ---- rounding ---- */

/** All members have the same bits. */
static void same_bits(fixture_t *f, const char *algorithm)
{
    enum { COUNT = 100 };
    job_t *job = f->job;
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    float own[COUNT];
    float sum[COUNT];
    float first[COUNT];
    uint64_t salt = job_random(&f->random);
    for (size_t i = 0; i < COUNT; i++) {
        own[i] = (float)draw(salt, sbgp->me, i) /
                 (float)(1 + draw(salt + 1, sbgp->me, i) % 1000000);
    }
    ctn_basic_t basic = {.in = own,
                         .out = sum,
                         .bytes = sizeof(own),
                         .by = {CATENA_SUM, CATENA_FLOAT},
                         .algorithm = algorithm};
    JOB_CHECK(job,
              subgroup_run(&f->subgroup, CTN_ALLREDUCE, &basic) == CATENA_OK);
    memcpy(first, sum, sizeof(sum));
    ctn_basic_t tell = {.out = first, .bytes = sizeof(first)};
    JOB_CHECK(job, subgroup_run(&f->subgroup, CTN_BCAST, &tell) == CATENA_OK);
    JOB_CHECK(job, memcmp(first, sum, sizeof(sum)) == 0);
}

static void roundings(fixture_t *f)
{
    const char *const *name =
        f->subgroup.module->bcol->algorithms[CTN_ALLREDUCE];
    for (; *name != NULL; name++) {
        same_bits(f, *name);
    }
}

/* ---- many at once ---- */

enum { AT_ONCE = 11 };

/** Started held, let go in an order of each member's own. */
static void in_flight(fixture_t *f)
{
    call_t call[AT_ONCE];
    ctn_op_t *op[AT_ONCE];
    ctn_module_t *module = f->subgroup.module;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        prepare(&call[i], f, vectors[pick(f, VECTORS)], NULL,
                pick(f, f->subgroup.sbgp.size));
        op[i] = module->bcol->make[call[i].kind](module, &call[i].basic);
    }
    fixture_run_held(f, op, AT_ONCE);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        finish(&call[i]);
    }
}

/** Many that do not synchronize, with none in between. */
static void in_a_row(fixture_t *f)
{
    static const ctn_basic_kind_t loose[] = {CTN_BCAST, CTN_REDUCE, CTN_SCAN,
                                             CTN_EXSCAN};
    for (unsigned i = 0; i < 40; i++) {
        run(f, loose[i % 16 / 4], NULL, pick(f, f->subgroup.sbgp.size));
    }
}

/** Data that have a size only. */
static void without_data(fixture_t *f)
{
    ctn_exec_t *exec = f->job->exec;
    const ctn_bcol_t *bcol = f->subgroup.module->bcol;
    exec->drop_data = true;
    for (unsigned i = 0; i < VECTORS; i++) {
        const char *const *name = bcol->algorithms[vectors[i]];
        do {
            ctn_basic_t basic = {
                .root = pick(f, f->subgroup.sbgp.size),
                .bytes = draw_size(f) & ~(size_t)15,
                .by = {f->product, f->matrix},
                .algorithm = name != NULL ? *name : NULL,
            };
            JOB_CHECK(f->job, subgroup_run(&f->subgroup, vectors[i], &basic) ==
                                  CATENA_OK);
        } while (name != NULL && *name++ != NULL);
    }
    exec->drop_data = false;
}

/** Messages go by the heap where there is one in common, those of ucx never. */
static void ways(fixture_t *f)
{
    ctn_exec_t *exec = f->job->exec;
    ctn_module_t *module = f->subgroup.module;
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    ctn_basic_t basic = {.bytes = 0};
    ctn_op_t *op = module->bcol->make[CTN_BARRIER](module, &basic);
    for (uint32_t i = 0; i < sbgp->size; i++) {
        uint64_t process = sbgp->member[i].memory.process;
        bool near =
            module->bcol == &ctn_bcol_p2p && ctn_exec_is_near(exec, process);
        ctn_endpoint_t *endpoint;
        if (i != sbgp->me) {
            JOB_CHECK(f->job,
                      ctn_op_connect(op, process, &endpoint) == CATENA_OK);
            JOB_CHECK(f->job, endpoint->transport ==
                                  (near ? exec->local : exec->network));
        }
    }
    ctn_op_release(op);
}

/* ---- runs ---- */

static void all(fixture_t *f)
{
    bool simulated = f->job->exec->virtual_time;
    if (!simulated) {
        ways(f);
    }
    all_kinds(f);
    meetings(f);
    roundings(f);
    in_flight(f);
    in_a_row(f);
    in_flight(f);
    if (simulated) {
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
    call_t call;
    prepare(&call, f, vectors[turn % VECTORS], NULL,
            turn % f->subgroup.sbgp.size);
    catena_status_t status = subgroup_run(&f->subgroup, call.kind, &call.basic);
    if (status == CATENA_OK) {
        check(&call);
    }
    drop(&call);
    return status;
}

static void until_death(job_t *job)
{
    fixture_run_until_death(job, call_once);
}

enum { MEMBERS = 17, SEEDS = 12 }; /* 204 runs */

START_TEST(test_members)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, messages), 0);
    }
}
END_TEST

START_TEST(test_many)
{
    static const uint32_t many[] = {31, 32, 33, 64, 100};
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
    tcase_add_loop_test(tcase, test_many, 0, 5);
    tcase_add_loop_test(tcase, test_death, 1, 25);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, everything)
                                   : unit_main("bcol_p2p", 60, add_cases);
}
