/* The collectives on chains against naive references, which every member
 * computes from the seed. usage: test_chain, or as a rank under a launcher:
 * test_chain --rank */

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "oracle/content.h"
#include "unit/job.h"
#include "unit/unit.h"

/* ---- values ---- */

/* The oracle's elements, whose operation does not commute; a lost element
 * changes the result. */
enum { UNIT = 16 };

static void combine(void *inout, const void *in, size_t bytes, bool in_is_left,
                    void *argument)
{
    unsigned char *a = inout;
    const unsigned char *b = in;
    for (size_t i = 0; i < bytes; i += UNIT) {
        oracle_combine(ORACLE_PAIR, ORACLE_ORDERED, in_is_left ? b + i : a + i,
                       in_is_left ? a + i : b + i, a + i);
    }
    ++*(uint64_t *)argument;
}

/** Compute the value of members `first` to `last`. */
static void reference(uint64_t salt, uint32_t first, uint32_t last,
                      size_t count, unsigned char *value)
{
    oracle_reduced(ORACLE_PAIR, ORACLE_ORDERED, salt, first, last, 0, count,
                   value);
}

/* ---- the values of a case ---- */

typedef struct values {
    job_t *job;
    ctn_chain_t *chain;
    uint64_t salt;
    size_t count; /* of elements */
    size_t bytes;
    unsigned char *own;
    unsigned char *result;
    unsigned char *other;
    unsigned char *expected;
    uint64_t calls;
    ctn_operator_t by;
} values_t;

enum { GUARD = 0x5a };

static unsigned char *new_values(size_t bytes)
{
    unsigned char *values = malloc(bytes + 64);
    memset(values, GUARD, bytes + 64);
    return values;
}

static void open_values(values_t *v, job_t *job, ctn_chain_t *chain,
                        uint64_t salt, size_t count)
{
    *v = (values_t){.job = job, .chain = chain, .salt = salt, .count = count};
    v->bytes = count * UNIT;
    v->own = new_values(v->bytes);
    v->result = new_values(v->bytes);
    v->other = new_values(v->bytes);
    v->expected = new_values(v->bytes);
    v->by = (ctn_operator_t){combine, &v->calls};
    reference(salt, chain->place.rank, chain->place.rank, count, v->own);
}

static bool guarded(const values_t *v, const unsigned char *values)
{
    for (size_t i = 0; i < 64; i++) {
        if (values[v->bytes + i] != GUARD) {
            return false;
        }
    }
    return true;
}

static void close_values(values_t *v)
{
    JOB_CHECK(v->job, guarded(v, v->own) && guarded(v, v->result) &&
                          guarded(v, v->other));
    free(v->own);
    free(v->result);
    free(v->other);
    free(v->expected);
}

/** Return whether `values` is the value of members first to last; of no
 * members: unchanged. */
static bool holds(values_t *v, const unsigned char *values, int64_t first,
                  int64_t last)
{
    if (first > last) {
        memset(v->expected, GUARD, v->bytes);
    } else {
        reference(v->salt, (uint32_t)first, (uint32_t)last, v->count,
                  v->expected);
    }
    return memcmp(values, v->expected, v->bytes) == 0;
}

static void run(job_t *job, ctn_op_t *op)
{
    JOB_CHECK(job, ctn_op_run(job->exec, op) == CATENA_OK);
}

/* ---- scans and reductions ---- */

static void scans(values_t *v)
{
    ctn_exec_t *exec = v->job->exec;
    const ctn_chain_place_t *place = &v->chain->place;
    int64_t rank = place->rank;
    int64_t last = (int64_t)place->size - 1;
    run(v->job, ctn_chain_inclusive_scan(exec, v->chain, v->by, v->own,
                                         v->bytes, v->result));
    JOB_CHECK(v->job, holds(v, v->result, 0, rank));
    memset(v->result, GUARD, v->bytes);
    run(v->job, ctn_chain_exclusive_scan(exec, v->chain, v->by, v->own,
                                         v->bytes, v->result));
    JOB_CHECK(v->job, holds(v, v->result, 0, rank - 1));
    memset(v->result, GUARD, v->bytes);
    run(v->job, ctn_chain_double_scan(exec, v->chain, v->by, v->own, v->bytes,
                                      v->result, v->other));
    JOB_CHECK(v->job, holds(v, v->result, 0, rank - 1));
    JOB_CHECK(v->job, holds(v, v->other, rank + 1, last));
    run(v->job, ctn_chain_allreduce(exec, v->chain, v->by, v->own, v->bytes,
                                    v->result));
    JOB_CHECK(v->job, holds(v, v->result, 0, last));
    JOB_CHECK(v->job, holds(v, v->own, rank, rank));
}

static void scans_in_place(values_t *v)
{
    ctn_exec_t *exec = v->job->exec;
    const ctn_chain_place_t *place = &v->chain->place;
    memcpy(v->result, v->own, v->bytes);
    run(v->job, ctn_chain_inclusive_scan(exec, v->chain, v->by, v->result,
                                         v->bytes, v->result));
    JOB_CHECK(v->job, holds(v, v->result, 0, place->rank));
    memcpy(v->result, v->own, v->bytes);
    run(v->job, ctn_chain_allreduce(exec, v->chain, v->by, v->result, v->bytes,
                                    v->result));
    JOB_CHECK(v->job, holds(v, v->result, 0, (int64_t)place->size - 1));
    memcpy(v->result, v->own, v->bytes);
    run(v->job, ctn_chain_exclusive_scan(exec, v->chain, v->by, v->result,
                                         v->bytes, v->result));
    JOB_CHECK(v->job, place->rank == 0
                          ? holds(v, v->result, 0, 0)
                          : holds(v, v->result, 0, (int64_t)place->rank - 1));
}

static void reduce_to(values_t *v, uint32_t root)
{
    const ctn_chain_place_t *place = &v->chain->place;
    bool here = place->rank == root;
    memset(v->result, GUARD, v->bytes);
    run(v->job, ctn_chain_reduce(v->job->exec, v->chain, root, v->by, v->own,
                                 v->bytes, here ? v->result : NULL));
    JOB_CHECK(v->job,
              holds(v, v->result, 0, here ? (int64_t)place->size - 1 : -1));
}

static void bcast_from(values_t *v, uint32_t root)
{
    memset(v->result, GUARD, v->bytes);
    if (v->chain->place.rank == root) {
        memcpy(v->result, v->own, v->bytes);
    }
    run(v->job,
        ctn_chain_bcast(v->job->exec, v->chain, root, v->result, v->bytes));
    JOB_CHECK(v->job, holds(v, v->result, root, root));
}

/* ---- blocks ---- */

/** Return the block of a member for another one, or for all: of lengths around
 * `most`, some of them 0. Freed by the caller. */
static ctn_rank_block_t text_of(uint64_t salt, uint32_t from, uint32_t to,
                                size_t most)
{
    uint64_t x = oracle_hash(salt, from, to);
    size_t bytes = x % 4 == 0 ? 0 : (size_t)((x >> 8) % (most + 1));
    unsigned char *data = malloc(bytes + 1);
    oracle_stream(salt, from, to, 0, bytes, data);
    return (ctn_rank_block_t){data, bytes};
}

static void drop(ctn_rank_block_t text)
{
    free((void *)(uintptr_t)text.data);
}

static bool same(ctn_rank_block_t block, uint64_t salt, uint32_t from,
                 uint32_t to, size_t most)
{
    ctn_rank_block_t text = text_of(salt, from, to, most);
    bool equal =
        block.bytes == text.bytes && (uintptr_t)block.data % 8 == 0 &&
        (text.bytes == 0 || memcmp(block.data, text.data, text.bytes) == 0);
    drop(text);
    return equal;
}

static void check_all(job_t *job, const ctn_chain_t *chain, uint64_t salt,
                      size_t most, ctn_rank_blocks_t *blocks)
{
    JOB_CHECK(job, blocks->count == chain->place.size);
    for (uint32_t i = 0; i < blocks->count; i++) {
        JOB_CHECK(job, same(blocks->block[i], salt, i, 0, most));
    }
    ctn_rank_blocks_release(job->exec, blocks);
}

static void gather_to(job_t *job, ctn_chain_t *chain, uint32_t root,
                      uint64_t salt, size_t most)
{
    ctn_rank_block_t own = text_of(salt, chain->place.rank, 0, most);
    ctn_rank_blocks_t blocks = {.block = NULL};
    run(job, ctn_chain_gather(job->exec, chain, root, own, &blocks));
    if (chain->place.rank == root) {
        check_all(job, chain, salt, most, &blocks);
    }
    JOB_CHECK(job, blocks.block == NULL);
    drop(own);
}

static void allgather(job_t *job, ctn_chain_t *chain, uint64_t salt,
                      size_t most)
{
    ctn_rank_block_t own = text_of(salt, chain->place.rank, 0, most);
    ctn_rank_blocks_t blocks;
    run(job, ctn_chain_allgather(job->exec, chain, own, &blocks));
    check_all(job, chain, salt, most, &blocks);
    drop(own);
}

static void scatter_from(job_t *job, ctn_chain_t *chain, uint32_t root,
                         uint64_t salt, size_t most)
{
    uint32_t size = chain->place.size;
    bool here = chain->place.rank == root;
    ctn_rank_block_t *blocks = here ? calloc(size, sizeof(*blocks)) : NULL;
    for (uint32_t i = 0; here && i < size; i++) {
        blocks[i] = text_of(salt, root, i, most);
    }
    ctn_rank_blocks_t result;
    run(job, ctn_chain_scatter(job->exec, chain, root, blocks, &result));
    JOB_CHECK(job, result.count == 1);
    JOB_CHECK(job, same(result.block[0], salt, root, chain->place.rank, most));
    ctn_rank_blocks_release(job->exec, &result);
    for (uint32_t i = 0; here && i < size; i++) {
        drop(blocks[i]);
    }
    free(blocks);
}

/* ---- all of them ---- */

static const size_t counts[] = {0, 1, 5, 6, 7, 8, 100, 6250};

/** Draw a count: lengths that fit a slot and lengths that do not. */
static size_t draw_count(uint64_t *random)
{
    uint64_t x = ctn_random(random);
    return counts[x % 64 == 0 ? 7 : (x >> 8) % 7];
}

/** Values are folded once for each message that carries some. */
static void check_rounds(values_t *v)
{
    const ctn_tally_t *tally = &v->job->exec->tally;
    uint64_t rounds = 0;
    while (UINT64_C(1) << rounds < v->chain->place.size) {
        rounds++;
    }
    uint64_t before = tally->rounds;
    v->calls = 0;
    run(v->job, ctn_chain_inclusive_scan(v->job->exec, v->chain, v->by, v->own,
                                         v->bytes, v->result));
    JOB_CHECK(v->job, v->calls <= rounds);
    JOB_CHECK(v->job, tally->rounds - before <= rounds);
    if (v->chain->place.rank == 0 ||
        v->chain->place.rank + 1 == v->chain->place.size) {
        JOB_CHECK(v->job, tally->rounds - before == rounds);
    }
}

static void collectives(job_t *job, ctn_chain_t *chain, uint64_t *random)
{
    values_t v;
    uint64_t salt = ctn_random(random);
    open_values(&v, job, chain, salt, draw_count(random));
    scans(&v);
    scans_in_place(&v);
    check_rounds(&v);
    uint32_t size = chain->place.size;
    uint32_t step = size > 24 ? size / 5 : 1; /* all roots of small chains */
    for (uint32_t root = (uint32_t)(salt % step); root < size; root += step) {
        size_t most = root % 8 == 7 ? 2000 : ctn_random(random) % 300;
        reduce_to(&v, root);
        bcast_from(&v, root);
        gather_to(job, chain, root, salt + root, most);
        scatter_from(job, chain, root, salt + root, most);
        if (ctn_random(random) % 4 == 0) {
            run(job, ctn_chain_barrier(job->exec, chain));
        }
    }
    allgather(job, chain, salt, ctn_random(random) % 300);
    close_values(&v);
}

static void all_on_world(job_t *job)
{
    uint64_t random = job->seed;
    uint64_t memory = job->exec->tally.memory;
    collectives(job, job->chain, &random);
    ctn_log_chain_drop(job->chain);
    JOB_CHECK(job, job->exec->tally.memory == memory);
}

/** 100 KB each. */
static void long_values(job_t *job)
{
    values_t v;
    uint32_t last = job->size - 1;
    open_values(&v, job, job->chain, job->seed, counts[7]);
    scans(&v);
    reduce_to(&v, last / 2);
    bcast_from(&v, last / 2);
    gather_to(job, job->chain, last, job->seed, 100000);
    scatter_from(job, job->chain, 0, job->seed, 100000);
    allgather(job, job->chain, job->seed, 100000);
    close_values(&v);
}

/* ---- in sequence, and concurrently ---- */

enum { IN_A_ROW = 12 };

/** Many non-synchronizing operations on one chain, with no other in between. */
static void many_in_a_row(job_t *job)
{
    values_t v;
    uint64_t random = job->seed;
    open_values(&v, job, job->chain, job->seed, draw_count(&random));
    for (int i = 0; i < IN_A_ROW; i++) {
        bcast_from(&v, (uint32_t)(ctn_random(&random) % job->size));
    }
    for (int i = 0; i < IN_A_ROW; i++) {
        reduce_to(&v, (uint32_t)(ctn_random(&random) % job->size));
    }
    for (int i = 0; i < IN_A_ROW; i++) {
        uint32_t root = (uint32_t)(ctn_random(&random) % job->size);
        gather_to(job, job->chain, root, random, 50);
        scatter_from(job, job->chain, root, random, 500);
    }
    close_values(&v);
}

/** No rank leaves a barrier before the last one has entered, by the shared
 * clock. */
static void barriers(job_t *job)
{
    uint64_t random = job->seed;
    for (int i = 0; i < 5; i++) {
        uint32_t late = (uint32_t)(ctn_random(&random) % job->size);
        double until = 0;
        if (job->rank == late) {
            JOB_CHECK(job, catena_compute(job->context, 1e-3) == CATENA_OK);
            until = catena_time(job->context);
        }
        run(job, ctn_chain_barrier(job->exec, job->chain));
        double through = catena_time(job->context);
        run(job, ctn_chain_bcast(job->exec, job->chain, late, &until,
                                 sizeof(until)));
        JOB_CHECK(job, through >= until);
    }
}

/** Two chains, one in reverse order. Ranks start on either in any order. */
static void two_chains(job_t *job)
{
    catena_group_t *other;
    uint64_t random = job->seed;
    JOB_CHECK(job, catena_group_split(job->context->world, 0, -(int)job->rank,
                                      &other) == CATENA_OK);
    ctn_chain_t *chain[2] = {job->chain, &other->chain};
    JOB_CHECK(job, other->chain.place.rank == job->size - 1 - job->rank);
    for (int i = 0; i < 4; i++) {
        values_t v[2];
        ctn_op_t *op[2];
        uint32_t root = (uint32_t)(ctn_random(&random) % job->size);
        size_t count = draw_count(&random);
        for (int k = 0; k < 2; k++) {
            open_values(&v[k], job, chain[k], random + (uint64_t)k, count);
            op[k] = i % 2 == 0
                        ? ctn_chain_allreduce(job->exec, chain[k], v[k].by,
                                              v[k].own, v[k].bytes, v[k].result)
                        : ctn_chain_reduce(job->exec, chain[k], root, v[k].by,
                                           v[k].own, v[k].bytes, v[k].result);
        }
        int first = (int)(random >> (job->rank % 50)) & 1;
        ctn_op_start(op[first]);
        ctn_op_start(op[!first]);
        for (int k = 0; k < 2; k++) {
            JOB_CHECK(job, ctn_op_wait(op[k]) == CATENA_OK);
            ctn_op_release(op[k]);
            if (i % 2 == 0 || chain[k]->place.rank == root) {
                JOB_CHECK(job,
                          holds(&v[k], v[k].result, 0, (int64_t)job->size - 1));
            }
            close_values(&v[k]);
        }
    }
    collectives(job, &other->chain, &random);
    JOB_CHECK(job, catena_group_free(&other) == CATENA_OK);
}

/* ---- errors ---- */

/** An invalid root: all members get the error, and the chain can still be
 * used. */
static void bad_roots(job_t *job)
{
    int value = 0;
    for (uint32_t root = job->size; root < job->size + 3; root++) {
        JOB_CHECK(job, ctn_op_run(job->exec,
                                  ctn_chain_bcast(job->exec, job->chain, root,
                                                  &value, sizeof(value))) ==
                           CATENA_ERR_ARG);
    }
    /* an operation that is never started */
    ctn_op_release(
        ctn_chain_bcast(job->exec, job->chain, 0, &value, sizeof(value)));
    run(job, ctn_chain_bcast(job->exec, job->chain, 0, &value, sizeof(value)));
}

static void until_death(job_t *job)
{
    values_t v;
    catena_status_t status = CATENA_OK;
    open_values(&v, job, job->chain, job->seed, 100);
    for (uint32_t i = 0; status == CATENA_OK; i++) {
        ctn_rank_blocks_t blocks;
        ctn_op_t *op =
            i % 3 == 0 ? ctn_chain_bcast(job->exec, job->chain, i % job->size,
                                         v.result, v.bytes)
            : i % 3 == 1
                ? ctn_chain_allreduce(job->exec, job->chain, v.by, v.own,
                                      v.bytes, v.result)
                : ctn_chain_allgather(job->exec, job->chain,
                                      (ctn_rank_block_t){v.own, v.bytes},
                                      &blocks);
        status = ctn_op_run(job->exec, op);
        if (status == CATENA_OK && i % 3 == 2) {
            ctn_rank_blocks_release(job->exec, &blocks);
        }
    }
    close_values(&v);
}

/* ---- runs ---- */

static const uint32_t large[] = {97, 128, 131};

static uint32_t size_of(int i)
{
    return i <= 64 ? (uint32_t)i : large[i - 65];
}

enum { SIZES_END = 68 };

START_TEST(test_all)
{
    for (uint64_t seed = 1; seed <= (_i <= 16 ? 2 : 1); seed++) {
        ck_assert_int_eq(job_simulate(size_of(_i), seed, all_on_world), 0);
    }
}
END_TEST

START_TEST(test_long)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13, 31};
    ck_assert_int_eq(job_simulate(sizes[_i], (uint64_t)_i, long_values), 0);
}
END_TEST

START_TEST(test_in_a_row)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, many_in_a_row), 0);
    }
}
END_TEST

START_TEST(test_barrier)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i * 3 + 1, seed, barriers), 0);
    }
}
END_TEST

START_TEST(test_two_chains)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        ck_assert_int_eq(job_simulate((uint32_t)_i, seed, two_chains), 0);
    }
}
END_TEST

START_TEST(test_failures)
{
    ck_assert_int_eq(job_simulate(7, (uint64_t)_i, bad_roots), 0);
    uint64_t event = 300 + (uint64_t)_i * (uint64_t)_i * 37;
    job_simulate_death(6, (uint64_t)_i, event, until_death);
}
END_TEST

static void everything(job_t *job)
{
    all_on_world(job);
    long_values(job);
    many_in_a_row(job);
    two_chains(job);
    bad_roots(job);
}

static void add_cases(TCase *tcase)
{
    for (int i = 1; i < SIZES_END; i += i < 9 ? 1 : unit_step(7)) {
        tcase_add_loop_test(tcase, test_all, i, i + 1);
    }
    tcase_add_loop_test(tcase, test_long, 0, 7);
    for (int i = 1; i < 20; i += i < 5 ? 1 : unit_step(4)) {
        tcase_add_loop_test(tcase, test_in_a_row, i, i + 1);
        tcase_add_loop_test(tcase, test_two_chains, i, i + 1);
    }
    for (int i = 0; i < 12; i += unit_step(3)) {
        tcase_add_loop_test(tcase, test_barrier, i, i + 1);
    }
    for (int i = 1; i < 25; i += unit_step(3)) {
        tcase_add_loop_test(tcase, test_failures, i, i + 1);
    }
}

UNIT_TEST(chain)
{
    return unit_as_rank ? job_rank("chain", everything)
                        : unit_main("chain", 60, add_cases);
}
