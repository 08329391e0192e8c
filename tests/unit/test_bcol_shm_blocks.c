/* Blocks among members who share a node (gather, scatter, allgather,
 * reduce_scatter) against what each member knows of all. usage:
 * test_bcol_shm_blocks, or as a rank under a launcher:
 * test_bcol_shm_blocks --rank */

#include <catena/catena.h>
#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "subgroup.h"
#include "unit.h"

/* ---- what members contribute ---- */

static unsigned char byte_of(uint64_t salt, uint32_t member, size_t i)
{
    return (unsigned char)((salt ^ salt >> 17) + member * 37 + i * 31 +
                           (i >> 8) * 5);
}

/* 2 x 2 matrices, whose product is not commutative. */
typedef struct matrix {
    uint32_t a, b, c, d;
} matrix_t;

static matrix_t matrix_of(uint64_t salt, uint32_t member, size_t i)
{
    uint32_t x = (uint32_t)(salt + member * UINT64_C(65537) + i * 7) | 1;
    return (matrix_t){x * 3 + 1, x, 3, 1};
}

static matrix_t product(matrix_t x, matrix_t y)
{
    return (matrix_t){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d,
                      x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

static void multiply(const void *in, void *inout, size_t count,
                     catena_datatype_t type, void *argument)
{
    const unsigned char *left = in;
    unsigned char *right = inout;
    (void)type;
    (void)argument;
    for (size_t i = 0; i < count * sizeof(matrix_t); i += sizeof(matrix_t)) {
        matrix_t x, y;
        memcpy(&x, left + i, sizeof(x));
        memcpy(&y, right + i, sizeof(y));
        y = product(x, y);
        memcpy(right + i, &y, sizeof(y));
    }
}

/* ---- buffers ---- */

enum { GUARD = 0x5a, GUARD_BYTES = 64 };

typedef struct buffer {
    unsigned char *memory; /* guards before and behind the data */
    unsigned char *data;
    size_t bytes;
    bool heap;
} buffer_t;

static void take(job_t *job, buffer_t *b, size_t bytes, uint64_t random,
                 bool aligned)
{
    size_t all = bytes + 2 * GUARD_BYTES;
    b->bytes = bytes;
    b->heap = random % 2 == 0;
    b->memory = b->heap ? ctn_heap_alloc(job->exec->heap, 64, all)
                        : aligned_alloc(64, (all + 63) & ~(size_t)63);
    if (b->memory == NULL) {
        abort();
    }
    memset(b->memory, GUARD, all);
    b->data = b->memory + GUARD_BYTES - (aligned ? 0 : random / 2 % 8);
}

static bool untouched(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != GUARD) {
            return false;
        }
    }
    return true;
}

static void give(job_t *job, buffer_t *b)
{
    size_t before = (size_t)(b->data - b->memory);
    JOB_CHECK(job, untouched(b->memory, before));
    JOB_CHECK(job, untouched(b->data + b->bytes, 2 * GUARD_BYTES - before));
    if (b->heap) {
        ctn_heap_free(job->exec->heap, b->memory);
    } else {
        free(b->memory);
    }
}

/* ---- one collective ---- */

typedef struct trial {
    subgroup_t *s;
    ctn_basic_kind_t kind;
    uint64_t salt;
    bool in_place;
    size_t *at; /* [size + 1] */
    buffer_t in, out;
    ctn_basic_t basic;
    ctn_op_t *op;
} trial_t;

static const ctn_basic_kind_t kinds[] = {CTN_GATHER, CTN_SCATTER, CTN_ALLGATHER,
                                         CTN_REDUCE_SCATTER};

static const size_t lengths[] = {0,     1,     7,     8,     55,    56,   57,
                                 511,   2040,  2048,  2049,  5000,  8193, 4096,
                                 32760, 32768, 32769, 70000, 300000};

enum { LENGTHS = 19, SHORT_LENGTHS = 14, NO_SMALL = LENGTHS };

/** Length of a part: all alike or each its own; long ones are rare. */
static size_t draw_length(uint64_t *random)
{
    uint64_t x = job_random(random);
    return lengths[(x >> 8) % (x % 32 == 0 ? LENGTHS : SHORT_LENGTHS)];
}

static void draw_parts(trial_t *t, size_t alike)
{
    uint64_t random = t->salt;
    uint32_t size = t->s->sbgp.size;
    bool same = job_random(&random) % 2 == 0;
    size_t bytes = draw_length(&random);
    size_t unit = t->kind == CTN_REDUCE_SCATTER ? sizeof(matrix_t) : 1;
    t->at = calloc(size + 1, sizeof(*t->at));
    for (uint32_t i = 0; i < size; i++) {
        size_t part = same ? bytes : draw_length(&random);
        part = alike < NO_SMALL ? lengths[alike] : part;
        t->at[i + 1] = t->at[i] + part / unit * unit;
    }
}

static size_t part_bytes(const trial_t *t, uint32_t member)
{
    return t->at[member + 1] - t->at[member];
}

static size_t all_bytes(const trial_t *t)
{
    return t->at[t->s->sbgp.size];
}

static bool here(const trial_t *t)
{
    return t->s->sbgp.me == t->basic.root;
}

/** Bytes of this member's buffers. */
static size_t in_bytes(const trial_t *t)
{
    bool whole = t->kind == CTN_REDUCE_SCATTER || t->kind == CTN_SCATTER;
    return whole ? (t->kind == CTN_SCATTER && !here(t) ? 0 : all_bytes(t))
                 : part_bytes(t, t->s->sbgp.me);
}

static size_t out_bytes(const trial_t *t)
{
    bool whole = t->kind == CTN_ALLGATHER || t->kind == CTN_GATHER;
    return whole ? (t->kind == CTN_GATHER && !here(t) ? 0 : all_bytes(t))
                 : part_bytes(t, t->s->sbgp.me);
}

static void fill_bytes(const trial_t *t, uint32_t member, unsigned char *to)
{
    for (size_t i = 0; i < part_bytes(t, member); i++) {
        to[i] = byte_of(t->salt, member, i);
    }
}

/** What this member has to give. */
static void fill(const trial_t *t, unsigned char *to)
{
    uint32_t me = t->s->sbgp.me;
    if (t->kind == CTN_REDUCE_SCATTER) {
        for (size_t i = 0; i < all_bytes(t) / sizeof(matrix_t); i++) {
            matrix_t x = matrix_of(t->salt, me, i);
            memcpy(to + i * sizeof(x), &x, sizeof(x));
        }
    } else if (t->kind == CTN_SCATTER) {
        for (uint32_t i = 0; here(t) && i < t->s->sbgp.size; i++) {
            fill_bytes(t, i, to + t->at[i]);
        }
    } else {
        fill_bytes(t, me, to);
    }
}

/** In place: the part lies in the whole, where it belongs. */
static void place_buffers(trial_t *t)
{
    ctn_basic_t *basic = &t->basic;
    uint32_t me = t->s->sbgp.me;
    basic->in = t->in.data;
    basic->out = t->out.data;
    if (t->in_place && t->kind == CTN_SCATTER) {
        basic->out = t->in.data + t->at[me];
    } else if (t->in_place) {
        basic->in = t->out.data + t->at[me];
    }
    fill(t, (unsigned char *)(uintptr_t)basic->in);
}

/** What a caller may name: a way there is, one there is not, or none. */
static const char *draw_algorithm(const subgroup_t *s, ctn_basic_kind_t kind,
                                  uint64_t salt)
{
    const char *const *names = s->module->bcol->algorithms[kind];
    return salt % 5 == 0   ? names[0]
           : salt % 5 == 1 ? names[1]
           : salt % 5 == 2 ? "no such way"
                           : NULL;
}

static void open_trial(trial_t *t, subgroup_t *s, ctn_basic_kind_t kind,
                       uint64_t salt, size_t alike, catena_op_t op,
                       catena_datatype_t type)
{
    uint32_t me = s->sbgp.me;
    uint64_t random = salt * 31 + me + s->sbgp.size;
    uint64_t own = job_random(&random);
    *t = (trial_t){.s = s, .kind = kind, .salt = salt};
    t->basic = (ctn_basic_t){.root = (uint32_t)(salt % s->sbgp.size),
                             .by = {op, type},
                             .algorithm = draw_algorithm(s, kind, salt)};
    draw_parts(t, alike);
    bool rooted = kind == CTN_GATHER || kind == CTN_SCATTER;
    t->in_place =
        (own & 1) != 0 && kind != CTN_REDUCE_SCATTER && (!rooted || here(t));
    t->basic.bytes = part_bytes(t, me);
    t->basic.at = rooted && !here(t) ? NULL : t->at;
    bool aligned = kind == CTN_REDUCE_SCATTER;
    take(s->job, &t->in, in_bytes(t), own >> 8, aligned);
    take(s->job, &t->out, out_bytes(t), own >> 16, aligned);
    place_buffers(t);
}

static bool holds_part(const trial_t *t, uint32_t member,
                       const unsigned char *data)
{
    for (size_t i = 0; i < part_bytes(t, member); i++) {
        if (data[i] != byte_of(t->salt, member, i)) {
            return false;
        }
    }
    return true;
}

static bool holds_all(const trial_t *t, const unsigned char *data)
{
    for (uint32_t i = 0; i < t->s->sbgp.size; i++) {
        if (!holds_part(t, i, data + t->at[i])) {
            return false;
        }
    }
    return true;
}

static bool holds_product(const trial_t *t, const unsigned char *data)
{
    uint32_t me = t->s->sbgp.me;
    size_t first = t->at[me] / sizeof(matrix_t);
    for (size_t i = 0; i < part_bytes(t, me) / sizeof(matrix_t); i++) {
        matrix_t x = matrix_of(t->salt, 0, first + i);
        for (uint32_t k = 1; k < t->s->sbgp.size; k++) {
            x = product(x, matrix_of(t->salt, k, first + i));
        }
        if (memcmp(&x, data + i * sizeof(x), sizeof(x)) != 0) {
            return false;
        }
    }
    return true;
}

static bool result_is_right(const trial_t *t)
{
    const unsigned char *out = t->basic.out;
    switch (t->kind) {
    case CTN_SCATTER:
        return holds_part(t, t->s->sbgp.me, out);
    case CTN_REDUCE_SCATTER:
        return holds_product(t, out);
    default:
        return out_bytes(t) == 0 || holds_all(t, out);
    }
}

/** What was read is as it was; what was not used, too. */
static bool rest_is_right(const trial_t *t)
{
    unsigned char *expected = malloc(t->in.bytes + 1);
    memset(expected, GUARD, t->in.bytes);
    if (!t->in_place || t->kind == CTN_SCATTER) {
        fill(t, expected);
    }
    bool equal = memcmp(expected, t->in.data, t->in.bytes) == 0;
    free(expected);
    return equal && (!t->in_place || t->kind != CTN_SCATTER ||
                     untouched(t->out.data, t->out.bytes));
}

static void close_trial(trial_t *t)
{
    job_t *job = t->s->job;
    JOB_CHECK(job, result_is_right(t));
    JOB_CHECK(job, rest_is_right(t));
    give(job, &t->in);
    give(job, &t->out);
    free(t->at);
}

/* ---- all of them ---- */

typedef struct tools {
    catena_datatype_t type;
    catena_op_t op;
} tools_t;

static void open_tools(job_t *job, tools_t *tools)
{
    JOB_CHECK(job, catena_type_contiguous(4, CATENA_UINT32, &tools->type) ==
                       CATENA_OK);
    JOB_CHECK(job,
              catena_op_create(multiply, NULL, 0, &tools->op) == CATENA_OK);
}

static void close_tools(job_t *job, tools_t *tools)
{
    JOB_CHECK(job, catena_type_free(&tools->type) == CATENA_OK);
    JOB_CHECK(job, catena_op_free(&tools->op) == CATENA_OK);
}

/** A blocking call, as a caller makes it who is alone. */
static void run_trial(trial_t *t)
{
    ctn_module_t *module = t->s->module;
    catena_status_t status;
    if (t->salt % 2 == 0 && module->bcol->quick != NULL &&
        module->bcol->quick(module, t->kind, &t->basic, &status)) {
        JOB_CHECK(t->s->job, status == CATENA_OK);
    } else {
        JOB_CHECK(t->s->job,
                  subgroup_run(t->s, t->kind, &t->basic) == CATENA_OK);
    }
}

static void one_by_one(subgroup_t *s, const tools_t *tools, uint64_t salt,
                       size_t alike)
{
    for (unsigned k = 0; k < 4; k++) {
        trial_t t;
        open_trial(&t, s, kinds[k], salt + k, alike, tools->op, tools->type);
        run_trial(&t);
        close_trial(&t);
    }
}

enum { AT_ONCE = 7 };

/** Several under way. Each member lets them go in an order of its own. */
static void at_once(subgroup_t *s, const tools_t *tools, uint64_t salt)
{
    trial_t t[AT_ONCE];
    uint64_t random = salt;
    for (unsigned k = 0; k < AT_ONCE; k++) {
        open_trial(&t[k], s, kinds[job_random(&random) % 4], salt + k, NO_SMALL,
                   tools->op, tools->type);
        t[k].op = s->module->bcol->make[t[k].kind](s->module, &t[k].basic);
        ctn_op_start_held(t[k].op);
    }
    random += s->sbgp.me;
    unsigned turn = (unsigned)(job_random(&random) % AT_ONCE);
    for (unsigned k = 0; k < AT_ONCE; k++) {
        ctn_op_let_go(t[(k * 3 + turn) % AT_ONCE].op);
        (void)ctn_exec_poll(s->job->exec);
    }
    for (unsigned k = 0; k < AT_ONCE; k++) {
        JOB_CHECK(s->job, ctn_op_wait(t[k].op) == CATENA_OK);
        ctn_op_release(t[k].op);
        close_trial(&t[k]);
    }
}

/** Groups of members on one node. */
static catena_group_t *node_group(job_t *job)
{
    catena_group_t *group = NULL;
    JOB_CHECK(job,
              catena_group_split_level(job->context->world, CATENA_LEVEL_NODE,
                                       0, &group) == CATENA_OK);
    return group;
}

static void with_subgroup(job_t *job,
                          void (*body)(subgroup_t *s, const tools_t *tools))
{
    subgroup_t s;
    tools_t tools;
    catena_group_t *group = node_group(job);
    uint64_t memory = job->exec->tally.memory;
    open_tools(job, &tools);
    JOB_CHECK(job,
              subgroup_open(&s, job, &group->lane, &ctn_bcol_shm) == CATENA_OK);
    body(&s, &tools);
    subgroup_close(&s);
    close_tools(job, &tools);
    JOB_CHECK(job, job->exec->tally.memory == memory);
    JOB_CHECK(job, catena_group_free(group) == CATENA_OK);
}

static void drawn(subgroup_t *s, const tools_t *tools)
{
    uint64_t random = s->job->seed;
    for (int i = 0; i < 6; i++) {
        one_by_one(s, tools, job_random(&random), NO_SMALL);
    }
    at_once(s, tools, job_random(&random));
}

static void every_root(subgroup_t *s, const tools_t *tools)
{
    for (uint32_t root = 0; root < s->sbgp.size; root++) {
        one_by_one(s, tools, s->job->seed * s->sbgp.size + root, NO_SMALL);
    }
}

static void every_length(subgroup_t *s, const tools_t *tools)
{
    for (size_t alike = 0; alike < LENGTHS; alike++) {
        one_by_one(s, tools, s->job->seed + alike, alike);
    }
}

/* ---- without memory ---- */

static void meet(subgroup_t *s)
{
    JOB_CHECK(s->job, ctn_op_run(ctn_chain_barrier(s->job->exec, s->lane)) ==
                          CATENA_OK);
}

/** Blocks that must be copied to more memory than there is: all hear of it, and
 * nobody waits for ever. */
static void without_memory(subgroup_t *s, const tools_t *tools)
{
    job_hoard_t *hoard = malloc(sizeof(*hoard));
    trial_t t[4];
    for (unsigned k = 0; k < 4; k++) {
        open_trial(&t[k], s, kinds[k], 0, LENGTHS - 1, tools->op, tools->type);
        JOB_CHECK(s->job, strcmp(t[k].basic.algorithm, "staged") == 0);
    }
    meet(s);
    job_take_heap(s->job, hoard);
    meet(s);
    for (unsigned k = 0; k < 4; k++) {
        ctn_op_t *op = s->module->bcol->make[kinds[k]](s->module, &t[k].basic);
        JOB_CHECK(s->job, ctn_op_run(op) == CATENA_ERR_NO_MEMORY);
    }
    meet(s);
    job_give_heap(s->job, hoard);
    meet(s);
    for (unsigned k = 0; k < 4; k++) {
        JOB_CHECK(s->job, subgroup_run(s, kinds[k], &t[k].basic) == CATENA_OK);
        close_trial(&t[k]);
    }
    free(hoard);
}

static void run_without_memory(job_t *job)
{
    with_subgroup(job, without_memory);
}

static void run_drawn(job_t *job)
{
    with_subgroup(job, drawn);
}

static void run_every_root(job_t *job)
{
    with_subgroup(job, every_root);
}

static void run_every_length(job_t *job)
{
    with_subgroup(job, every_length);
}

/* ---- runs ---- */

START_TEST(test_drawn)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint32_t ranks = (uint32_t)(seed + (uint64_t)_i * 3) % 17 + 1;
        ck_assert_int_eq(
            job_simulate_node(ranks, seed + 1000 * (uint64_t)_i, run_drawn), 0);
    }
}
END_TEST

START_TEST(test_roots)
{
    ck_assert_int_eq(
        job_simulate_node((uint32_t)_i, (uint64_t)_i, run_every_root), 0);
}
END_TEST

START_TEST(test_lengths)
{
    ck_assert_int_eq(
        job_simulate_node((uint32_t)_i, (uint64_t)_i, run_every_length), 0);
}
END_TEST

START_TEST(test_without_memory)
{
    ck_assert_int_eq(
        job_simulate_node((uint32_t)_i, (uint64_t)_i, run_without_memory), 0);
}
END_TEST

static void everything(job_t *job)
{
    run_drawn(job);
    run_every_root(job);
    run_every_length(job);
}

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_drawn, 0, 4);
    tcase_add_loop_test(tcase, test_roots, 1, 18);
    tcase_add_loop_test(tcase, test_lengths, 1, 18);
    tcase_add_loop_test(tcase, test_without_memory, 2, 6);
}

int main(int argc, char **argv)
{
    return job_is_rank(argc, argv)
               ? job_rank(1, everything)
               : unit_main("blocks in the shared heap", 100, add_cases);
}
