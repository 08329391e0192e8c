/* Basic collectives of the component of flags and the shared heap, against
 * naive references, from members that all know what each contributes. usage:
 * test_bcol_shm, or as a rank under a launcher: test_bcol_shm --rank */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "subgroup.h"
#include "unit.h"

/* ---- values ---- */

/** How vectors are made and combined. Users' matrices: 2 x 2, of bytes, whose
 * product is associative and not commutative. */
typedef enum mode { SUMS, DOUBLES, MATRICES, MODES } fold_mode_t;

typedef struct matrix {
    uint8_t a, b, c, d;
} matrix_t;

static matrix_t product(matrix_t x, matrix_t y)
{
    return (matrix_t){
        (uint8_t)(x.a * y.a + x.b * y.c), (uint8_t)(x.a * y.b + x.b * y.d),
        (uint8_t)(x.c * y.a + x.d * y.c), (uint8_t)(x.c * y.b + x.d * y.d)};
}

static void multiply(const void *in, void *inout, size_t count,
                     catena_datatype_t type, void *argument)
{
    const matrix_t *left = in;
    matrix_t *right = inout;
    (void)type, (void)argument;
    for (size_t i = 0; i < count; i++) {
        right[i] = product(left[i], right[i]);
    }
}

/** What one test of a run uses. */
typedef struct kit {
    job_t *job;
    subgroup_t *s;
    uint64_t random; /* the same on all members */
    uint64_t own;    /* this member's own */
    catena_op_t product;
    catena_datatype_t matrix;
} kit_t;

/** One basic collective, from drawing its arguments to checking its result. */
typedef struct test {
    ctn_basic_kind_t kind;
    fold_mode_t mode;
    uint64_t salt;
    size_t bytes;
    bool in_place;
    unsigned char *in, *out; /* in->memory */
    bool in_heap, out_heap;
    ctn_basic_t basic;
    ctn_op_t *op;
} test_t;

enum { GUARD = 0x5a, GUARDS = 64 };

static size_t element_bytes(fold_mode_t mode)
{
    return mode == MATRICES ? sizeof(matrix_t)
           : mode == SUMS   ? sizeof(uint8_t)
                            : sizeof(double);
}

/** Element i of a member's vector, at `to`. */
static void contribute(const test_t *t, uint32_t member, size_t i, void *to)
{
    uint64_t state = t->salt * 1000003 + member * UINT64_C(65537) + i;
    uint64_t x = job_random(&state);
    uint8_t p = (uint8_t)x;
    uint8_t q = (uint8_t)(x >> 8);
    matrix_t matrix = {(uint8_t)(p * q + 1), p, q, 1};
    double real = (double)(x % 1000003);
    switch (t->mode) {
    case SUMS:
        memcpy(to, &p, sizeof(p));
        break;
    case DOUBLES:
        memcpy(to, &real, sizeof(real));
        break;
    default:
        memcpy(to, &matrix, sizeof(matrix));
        break;
    }
}

static void contribution(const test_t *t, uint32_t member, unsigned char *to)
{
    size_t width = element_bytes(t->mode);
    for (size_t i = 0; i < t->bytes / width; i++) {
        contribute(t, member, i, to + i * width);
    }
}

static void combine(fold_mode_t mode, unsigned char *left,
                    const unsigned char *right)
{
    matrix_t m[2];
    double d[2];
    switch (mode) {
    case SUMS:
        *left = (uint8_t)(*left + *right);
        break;
    case DOUBLES:
        memcpy(&d[0], left, sizeof(double));
        memcpy(&d[1], right, sizeof(double));
        d[0] += d[1];
        memcpy(left, &d[0], sizeof(double));
        break;
    default:
        memcpy(&m[0], left, sizeof(matrix_t));
        memcpy(&m[1], right, sizeof(matrix_t));
        m[0] = product(m[0], m[1]);
        memcpy(left, &m[0], sizeof(matrix_t));
        break;
    }
}

/** The value of members `first` to `end` - 1; of none: untouched memory. */
static void reference(const test_t *t, uint32_t first, uint32_t end,
                      unsigned char *to)
{
    size_t width = element_bytes(t->mode);
    unsigned char *right = malloc(t->bytes + 1);
    memset(to, GUARD, t->bytes);
    for (uint32_t member = first; member < end; member++) {
        contribution(t, member, member == first ? to : right);
        for (size_t i = 0; member > first && i < t->bytes / width; i++) {
            combine(t->mode, to + i * width, right + i * width);
        }
    }
    free(right);
}

/* ---- one collective ---- */

static unsigned char *new_buffer(kit_t *k, size_t bytes, bool *heap)
{
    *heap = job_random(&k->own) % 3 != 0;
    unsigned char *buffer =
        *heap ? ctn_heap_alloc(k->job->exec->heap, 64, bytes + GUARDS)
              : malloc(bytes + GUARDS);
    memset(buffer, GUARD, bytes + GUARDS);
    return buffer;
}

static void free_buffer(const kit_t *k, unsigned char *buffer, bool heap)
{
    if (heap) {
        ctn_heap_free(k->job->exec->heap, buffer);
    } else {
        free(buffer);
    }
}

static size_t draw_bytes(kit_t *k, fold_mode_t mode)
{
    static const size_t sizes[] = {0,    4,    8,     48,    49,   56,
                                   57,   2048, 2049,  4096,  8192, 100,
                                   1000, 9000, 16384, 32768, 32760};
    uint64_t x = job_random(&k->random);
    size_t most = x % 8 == 0 ? sizeof(sizes) / sizeof(sizes[0]) : 9;
    size_t bytes = sizes[(x >> 8) % most];
    return bytes - bytes % element_bytes(mode);
}

static ctn_reducer_t reducer_of(const kit_t *k, fold_mode_t mode)
{
    return mode == SUMS      ? (ctn_reducer_t){CATENA_SUM, CATENA_UINT8}
           : mode == DOUBLES ? (ctn_reducer_t){CATENA_SUM, CATENA_DOUBLE}
                             : (ctn_reducer_t){k->product, k->matrix};
}

/** An algorithm of the component's, one that it does not have, or none. */
static const char *draw_algorithm(kit_t *k, ctn_basic_kind_t kind)
{
    const char *const *names = k->s->module->bcol->algorithms[kind];
    uint64_t x = job_random(&k->random);
    uint32_t count = 0;
    if (names == NULL || x % 2 == 0) {
        return x % 16 == 0 ? "no such" : NULL;
    }
    while (names[count] != NULL) {
        count++;
    }
    return names[(x >> 8) % count];
}

/** Whether a member has a vector to give. */
static bool gives(const test_t *t, uint32_t member)
{
    return t->kind >= CTN_REDUCE ||
           (t->kind == CTN_BCAST && member == t->basic.root);
}

static bool gets(const test_t *t, uint32_t member)
{
    return t->kind == CTN_BCAST    ? member != t->basic.root
           : t->kind == CTN_REDUCE ? member == t->basic.root
                                   : t->kind > CTN_REDUCE;
}

static void prepare(kit_t *k, test_t *t, ctn_basic_kind_t kind)
{
    const ctn_sbgp_t *sbgp = &k->s->sbgp;
    *t = (test_t){.kind = kind, .salt = job_random(&k->random)};
    t->mode = (fold_mode_t)(job_random(&k->random) % MODES);
    t->bytes = draw_bytes(k, t->mode);
    t->in_place = job_random(&k->own) % 3 == 0;
    t->basic.root = (uint32_t)(job_random(&k->random) % sbgp->size);
    t->basic.bytes = t->bytes;
    t->basic.by = reducer_of(k, t->mode);
    t->basic.algorithm = draw_algorithm(k, kind);
    t->in = new_buffer(k, t->bytes, &t->in_heap);
    t->out = new_buffer(k, t->bytes, &t->out_heap);
}

/** What need not be there before the operation is let go. */
static void fill_in(const kit_t *k, test_t *t)
{
    uint32_t me = k->s->sbgp.me;
    if (gives(t, me)) {
        contribution(t, me, t->in);
        t->basic.in = t->in;
    }
    if (gets(t, me)) {
        t->basic.out = t->in_place && t->kind >= CTN_REDUCE ? t->in : t->out;
    }
}

static void expect(const kit_t *k, const test_t *t, const unsigned char *found,
                   uint32_t first, uint32_t end)
{
    unsigned char *expected = malloc(t->bytes + 1);
    reference(t, first, end, expected);
    JOB_CHECK(k->job, memcmp(found, expected, t->bytes) == 0);
    free(expected);
}

static void check_result(const kit_t *k, const test_t *t)
{
    uint32_t me = k->s->sbgp.me;
    uint32_t size = k->s->sbgp.size;
    const unsigned char *out = t->basic.out;
    if (t->kind < CTN_BCAST) {
        return;
    }
    if (gives(t, me) && t->basic.out != t->in) {
        expect(k, t, t->in, me, me + 1);
    }
    if (!gets(t, me)) {
        expect(k, t, t->out, 0, 0);
    } else if (t->kind == CTN_BCAST) {
        expect(k, t, out, t->basic.root, t->basic.root + 1);
    } else if (t->kind == CTN_SCAN) {
        expect(k, t, out, 0, me + 1);
    } else if (t->kind == CTN_EXSCAN && me > 0) {
        expect(k, t, out, 0, me);
    } else if (t->kind == CTN_EXSCAN) {
        expect(k, t, out, 0, out == t->in); /* not written */
    } else {
        expect(k, t, out, 0, size);
    }
}

static void finish(const kit_t *k, test_t *t)
{
    check_result(k, t);
    for (size_t i = 0; i < GUARDS; i++) {
        JOB_CHECK(k->job, t->in[t->bytes + i] == GUARD &&
                              t->out[t->bytes + i] == GUARD);
    }
    free_buffer(k, t->in, t->in_heap);
    free_buffer(k, t->out, t->out_heap);
}

/* ---- runs ---- */

static ctn_basic_kind_t draw_kind(kit_t *k)
{
    return (ctn_basic_kind_t)(job_random(&k->random) % (CTN_EXSCAN + 1));
}

/** Blocking: at once where that is possible. */
static void one(kit_t *k, ctn_basic_kind_t kind)
{
    test_t t;
    ctn_module_t *module = k->s->module;
    catena_status_t status = CATENA_OK;
    prepare(k, &t, kind);
    fill_in(k, &t);
    if (job_random(&k->own) % 2 == 0 ||
        !module->bcol->quick(module, kind, &t.basic, &status)) {
        JOB_CHECK(k->job, subgroup_run(k->s, kind, &t.basic) == CATENA_OK);
    }
    JOB_CHECK(k->job, status == CATENA_OK);
    finish(k, &t);
}

enum { AT_ONCE = 6 };

/** All are started in one order, and let go in another by each member, one
 * after the other or together. */
static void several(kit_t *k)
{
    test_t t[AT_ONCE];
    unsigned order[AT_ONCE];
    const ctn_module_t *module = k->s->module;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        prepare(k, &t[i], draw_kind(k));
        t[i].op = module->bcol->make[t[i].kind](k->s->module, &t[i].basic);
        ctn_op_start_held(t[i].op);
        order[i] = i;
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        /* Not too far from the common order: those that are let go must be able
         * to end some time, beside SHM_FLIGHT of them that are held. */
        unsigned j = i + (unsigned)(job_random(&k->own) % 3);
        j = j < AT_ONCE ? j : i;
        unsigned swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
        test_t *next = &t[order[i]];
        fill_in(k, next);
        ctn_op_let_go(next->op);
        if (job_random(&k->own) % 4 == 0) {
            (void)ctn_exec_poll(k->job->exec);
        }
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        JOB_CHECK(k->job, ctn_op_wait(t[i].op) == CATENA_OK);
        ctn_op_release(t[i].op);
        finish(k, &t[i]);
    }
}

/** The same again and again, as persistent requests are. */
static void again(kit_t *k)
{
    test_t t;
    prepare(k, &t, CTN_ALLREDUCE);
    t.in_place = false;
    fill_in(k, &t);
    t.op = k->s->module->bcol->make[CTN_ALLREDUCE](k->s->module, &t.basic);
    for (int i = 0; i < 5; i++) {
        memset(t.out, GUARD, t.bytes);
        ctn_op_start(t.op);
        JOB_CHECK(k->job, ctn_op_wait(t.op) == CATENA_OK);
        check_result(k, &t);
    }
    ctn_op_release(t.op);
    finish(k, &t);
}

/** Who is last to come is the last to leave a barrier; a fan-in holds its root
 * and a fan-out the others. */
static void order_in_time(kit_t *k)
{
    job_t *job = k->job;
    uint32_t me = k->s->sbgp.me;
    for (ctn_basic_kind_t kind = CTN_BARRIER; kind <= CTN_FANOUT; kind++) {
        uint32_t late = (uint32_t)(job_random(&k->random) % k->s->sbgp.size);
        uint32_t root = (uint32_t)(job_random(&k->random) % k->s->sbgp.size);
        root = kind == CTN_FANOUT ? late : root;
        ctn_basic_t basic = {.root = root,
                             .algorithm = draw_algorithm(k, kind)};
        double until = 0;
        if (me == late) {
            JOB_CHECK(job, catena_compute(job->context, 1e-4) == CATENA_OK);
            until = catena_time(job->context);
        }
        JOB_CHECK(k->job, subgroup_run(k->s, kind, &basic) == CATENA_OK);
        double through = catena_time(job->context);
        ctn_basic_t tell = {
            .root = late, .in = &until, .out = &until, .bytes = sizeof(until)};
        JOB_CHECK(k->job, subgroup_run(k->s, CTN_BCAST, &tell) == CATENA_OK);
        JOB_CHECK(job, (kind == CTN_FANIN && me != root) || through >= until);
    }
}

static void everything(job_t *job)
{
    subgroup_t s;
    kit_t k = {.job = job,
               .s = &s,
               .random = job->seed,
               .own = job->seed * 100 + job->rank};
    JOB_CHECK(job,
              catena_op_create(multiply, NULL, 0, &k.product) == CATENA_OK);
    JOB_CHECK(job, catena_type_contiguous(sizeof(matrix_t), CATENA_UINT8,
                                          &k.matrix) == CATENA_OK);
    JOB_CHECK(job,
              subgroup_open(&s, job, job->lane, &ctn_bcol_shm) == CATENA_OK);
    for (int kind = CTN_BARRIER; kind <= CTN_EXSCAN; kind++) {
        for (int i = 0; i < 4; i++) {
            one(&k, (ctn_basic_kind_t)kind);
        }
    }
    for (int i = 0; i < 40; i++) {
        one(&k, draw_kind(&k));
    }
    for (int i = 0; i < 6; i++) {
        several(&k);
        again(&k);
    }
    order_in_time(&k);
    subgroup_close(&s);
    JOB_CHECK(job, catena_op_free(&k.product) == CATENA_OK);
    JOB_CHECK(job, catena_type_free(&k.matrix) == CATENA_OK);
}

/** A bcast of one element, at once if it can be, else as an operation. */
static void bcast_once(const subgroup_t *s, const ctn_basic_t *basic)
{
    catena_status_t status;
    if (!s->module->bcol->quick(s->module, CTN_BCAST, basic, &status)) {
        status = subgroup_run(s, CTN_BCAST, basic);
    }
    JOB_CHECK(s->job, status == CATENA_OK);
}

/** Many that do not synchronize, of one root, then of others. */
static void in_a_row(job_t *job)
{
    subgroup_t s;
    JOB_CHECK(job,
              subgroup_open(&s, job, job->lane, &ctn_bcol_shm) == CATENA_OK);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t value = i;
        ctn_basic_t basic = {.root = i < 100 ? 0 : i % job->size,
                             .in = &value,
                             .out = &value,
                             .bytes = sizeof(value)};
        value = job->rank == basic.root ? i : 0;
        if ((i + job->rank) % 3 == 0) {
            JOB_CHECK(job, subgroup_run(&s, CTN_BCAST, &basic) == CATENA_OK);
        } else {
            bcast_once(&s, &basic);
        }
        JOB_CHECK(job, value == i);
    }
    subgroup_close(&s);
}

/** All others wait for the root of many that do not synchronize: when it comes
 * it runs ahead of them, but not round the rings.
 * @param before so many have ended, so fences come at other places */
static void run_ahead(const subgroup_t *s, uint32_t before)
{
    enum { MANY = 40 };
    job_t *job = s->job;
    ctn_op_t *op[MANY];
    ctn_basic_t basic[MANY];
    uint64_t value[MANY];
    bool late = job->rank == before % job->size;
    for (uint32_t i = 0; i < before; i++) {
        ctn_basic_t one = {
            .in = value, .out = value, .bytes = sizeof(value[0])};
        bcast_once(s, &one);
    }
    if (late) {
        JOB_CHECK(job, catena_compute(job->context, 1e-4) == CATENA_OK);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        value[i] = late ? i : MANY;
        basic[i] = (ctn_basic_t){.root = before % job->size,
                                 .in = &value[i],
                                 .out = &value[i],
                                 .bytes = sizeof(value[i])};
        op[i] = s->module->bcol->make[CTN_BCAST](s->module, &basic[i]);
        ctn_op_start(op[i]);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        JOB_CHECK(job, ctn_op_wait(op[i]) == CATENA_OK);
        JOB_CHECK(job, value[i] == i);
        ctn_op_release(op[i]);
    }
}

static void ahead(job_t *job)
{
    subgroup_t s;
    JOB_CHECK(job,
              subgroup_open(&s, job, job->lane, &ctn_bcol_shm) == CATENA_OK);
    for (uint32_t before = 0; before < 16; before++) {
        run_ahead(&s, before);
    }
    subgroup_close(&s);
}

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
    JOB_CHECK(job, ctn_bcol_shm.create(job->exec, 2, job->rank, false, &module,
                                       &offset) == CATENA_OK);
    for (uint32_t i = 0; i < 2; i++) {
        member[i].memory = (ctn_address_t){i, offset};
    }
    JOB_CHECK(job, ctn_bcol_shm.link(module, &sbgp) == CATENA_ERR_ARG);
    ctn_bcol_shm.destroy(module);
}

START_TEST(test_all)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        ck_assert_int_eq(job_simulate_node((uint32_t)_i, seed, everything), 0);
    }
}
END_TEST

START_TEST(test_in_a_row)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ck_assert_int_eq(job_simulate_node((uint32_t)_i, seed, in_a_row), 0);
    }
}
END_TEST

START_TEST(test_ahead)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ck_assert_int_eq(job_simulate_node((uint32_t)_i, seed, ahead), 0);
    }
}
END_TEST

START_TEST(test_two_nodes)
{
    ck_assert_int_eq(job_simulate_nodes(2, 2, 1, two_nodes), 0);
}
END_TEST

static void all_on_world(job_t *job)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        job->seed = seed;
        everything(job);
    }
    in_a_row(job);
    ahead(job);
    ahead(job);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_all, 1, 18);
    tcase_add_loop_test(tcase, test_in_a_row, 1, 6);
    tcase_add_loop_test(tcase, test_ahead, 2, 6);
    tcase_add_test(tcase, test_two_nodes);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv) ? job_rank(1, all_on_world)
                                   : unit_main("bcol shm", 60, add_cases);
}
