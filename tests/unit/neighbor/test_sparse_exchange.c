/* Records that ranks exchange along the log-chain, compared with what every
 * rank is known to send. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/create/sparse_exchange.h"
#include "neighbor/neighborhood.h"
#include "unit/job.h"
#include "unit/unit.h"

/* A record is its target and its origin, then words that name its origin and
 * its index. */
enum { MOST_WORDS = 8 };

static size_t words;   /* of a record */
static bool exhausted; /* the last rank has no memory for its records */

static uint32_t count_of(const job_t *job, uint32_t from)
{
    uint64_t random = job->seed * 131 + from;
    uint64_t kind = ctn_random(&random) % 4;
    return kind == 0   ? 0
           : kind == 1 ? 200 /* more than fits a slot */
                       : (uint32_t)(ctn_random(&random) % 10);
}

/** The target of record i of a rank. */
static uint32_t target_of(const job_t *job, uint32_t from, uint32_t i)
{
    uint64_t random = job->seed * 17 + from * UINT64_C(1000) + i;
    return (uint32_t)(ctn_random(&random) % job->size);
}

static void fill(uint32_t *record, uint32_t to, uint32_t from, uint32_t i)
{
    record[0] = to;
    record[1] = from;
    for (size_t word = 2; word < words; word++) {
        record[word] = from * 100003 + i * 101 + (uint32_t)word;
    }
}

/** By origin, then in the order of the origin's list. */
static void check_came(job_t *job, const uint32_t *came, size_t count)
{
    size_t at = 0;
    for (uint32_t from = 0; from < job->size; from++) {
        for (uint32_t i = 0; i < count_of(job, from); i++) {
            uint32_t expected[MOST_WORDS];
            if (target_of(job, from, i) != job->rank) {
                continue;
            }
            fill(expected, job->rank, from, i);
            JOB_CHECK(job,
                      at < count && memcmp(came + at * words + 1, expected + 1,
                                           (words - 1) * sizeof(*came)) == 0);
            at++;
        }
    }
    JOB_CHECK(job, at == count);
}

static void exchange_records(job_t *job)
{
    uint32_t count = count_of(job, job->rank);
    size_t bytes = words * sizeof(uint32_t);
    ctn_vector_t records = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *record = ctn_vector_add(&records, bytes);
        fill(record, target_of(job, job->rank, i), job->rank, i);
        record[1] = UINT32_MAX; /* the exchange sets the origin */
    }
    bool none = exhausted && job->rank == job->size - 1;
    catena_status_t status = ctn_sparse_exchange(
        job->context->world, none ? CATENA_ERR_NO_MEMORY : CATENA_OK, &records,
        bytes);
    JOB_CHECK(job, status == (exhausted ? CATENA_ERR_NO_MEMORY : CATENA_OK));
    JOB_CHECK(job, status == CATENA_OK || records.count == 0);
    if (status == CATENA_OK) {
        check_came(job, records.item, records.count);
    }
    ctn_vector_drop(&records);
}

START_TEST(records)
{
    for (uint64_t seed = 1; seed <= 60; seed += unit_step(5)) {
        words = 2 + seed % (MOST_WORDS - 1);
        uint32_t ranks = 1 + (uint32_t)(seed * 7 % 33);
        int failed = job_simulate(ranks, seed, exchange_records);
        ck_assert_msg(failed == 0, "seed %d: %d of %u failed", (int)seed,
                      failed, ranks);
    }
}
END_TEST

/** A rank without memory tells all ranks; then they can go on. */
static void exchange_twice(job_t *job)
{
    exhausted = true;
    exchange_records(job);
    (void)catena_barrier(job->context->world);
    exhausted = false;
    (void)catena_barrier(job->context->world);
    exchange_records(job);
}

START_TEST(no_memory)
{
    for (uint64_t seed = 1; seed <= 20; seed += unit_step(5)) {
        words = 3;
        uint32_t ranks = 1 + (uint32_t)(seed * 5 % 23);
        int failed = job_simulate(ranks, seed, exchange_twice);
        ck_assert_msg(failed == 0, "seed %d: %d of %u failed", (int)seed,
                      failed, ranks);
    }
}
END_TEST

/** Rank 0 has no memory for its message in round 0, which has records for all
 * other ranks. All ranks go on: the operation does not end the job. */
static void send_without_memory(job_t *job)
{
    static job_hoard_t hoard; /* of rank 0 */
    enum { EACH = 2000 };     /* more than the crumbs of the heap take */
    catena_group_t *world = job->context->world;
    ctn_vector_t sent = {0};
    for (uint32_t i = 0; job->rank == 0 && i < EACH * job->size; i++) {
        fill(ctn_vector_add(&sent, words * sizeof(uint32_t)), i % job->size, 0,
             i);
    }
    exhausted = false;
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    if (job->rank == 0) {
        job_take_heap(job, &hoard);
    }
    catena_status_t status =
        ctn_sparse_exchange(world, CATENA_OK, &sent, words * sizeof(uint32_t));
    ctn_vector_drop(&sent);
    if (job->rank == 0) {
        job_give_heap(job, &hoard);
    }
    JOB_CHECK(job, status == CATENA_ERR_NO_MEMORY ||
                       (status == CATENA_OK && job->rank > 0));
    JOB_CHECK(job, catena_barrier(world) == CATENA_OK);
    exchange_records(job);
}

START_TEST(no_memory_to_send)
{
    words = 3;
    for (uint64_t seed = 1; seed <= 5; seed += unit_step(3)) {
        int failed =
            job_simulate(2 + (uint32_t)seed, seed, send_without_memory);
        ck_assert_msg(failed == 0, "seed %d: %d failed", (int)seed, failed);
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, no_memory_to_send);
    tcase_add_test(tcase, records);
    tcase_add_test(tcase, no_memory);
}

UNIT_TEST(sparse_exchange)
{
    return unit_main("sparse_exchange", 100, add_cases);
}
